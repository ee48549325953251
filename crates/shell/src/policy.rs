//! Conditions on what calls do, for the rules of [`tollgate_core::policy`].
//!
//! ```
//! use tollgate_core::event::ToolCall;
//! use tollgate_core::policy::{Policies, allow_all, deny};
//! use tollgate_shell::policy::{reaches_network, writes_under};
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let policies = Policies::builder()
//!     .rules([
//!         allow_all(),
//!         deny("*").when(writes_under("/etc")).reason("The system is not yours to set up."),
//!         deny("run_command").when(reaches_network()).reason("Stay on this machine."),
//!     ])
//!     .build()?;
//!
//! let run = |line: &str| ToolCall::new("run_command").arg("CommandLine", line).arg("Cwd", "/work");
//! let said = policies.decide(&run("echo x | sudo tee /etc/hosts")).await;
//! assert_eq!(said.message, "The system is not yours to set up.");
//! assert_eq!(policies.decide(&run("curl example.org")).await.message, "Stay on this machine.");
//! assert!(policies.decide(&run("make > /tmp/log")).await.is_allowed());
//!
//! let write = ToolCall::new("write_to_file").arg("TargetFile", "/work/../etc/hosts");
//! assert!(!policies.decide(&write).await.is_allowed());
//! # Ok(()) }
//! ```
//!
//! A condition holds for what a call does. What cannot be told is a question of its own
//! ([`Deed::is_unknown`]), for rules that ask about it or deny it.

use std::cell::RefCell;
use std::rc::Rc;

use tollgate_core::event::ToolCall;

use crate::effects::{Answer, Effects, of_call};

/// Something that a call may do. Paths are absolute or begin with `~`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Deed {
    /// Writes or deletes something at or below a path.
    WritesUnder(String),
    /// Reads something at or below a path.
    ReadsUnder(String),
    /// Deletes something at or below a path, or moves it away.
    DeletesUnder(String),
    /// Reaches another machine.
    ReachesNetwork,
}

impl Deed {
    /// Tells whether a call does it.
    pub fn answer(&self, call: &ToolCall) -> Answer {
        let effects = effects_of(call, &[]);
        match self {
            Self::WritesUnder(path) => effects.writes_under(path),
            Self::ReadsUnder(path) => effects.reads_under(path),
            Self::DeletesUnder(path) => effects.deletes_under(path),
            Self::ReachesNetwork => effects.reaches_network(),
        }
    }

    /// Returns a condition that holds where a call does it.
    pub fn is_done(self) -> impl Fn(&ToolCall) -> bool + Clone + Send + Sync + 'static {
        move |call: &ToolCall| self.answer(call).is_yes()
    }

    /// Returns a condition that holds where it cannot be told whether a call does it.
    pub fn is_unknown(self) -> impl Fn(&ToolCall) -> bool + Clone + Send + Sync + 'static {
        move |call: &ToolCall| self.answer(call) == Answer::Unknown
    }

    /// Says what cannot be told: "Cannot tell whether this writes under `/etc`."
    pub fn doubt(&self) -> String {
        match self {
            Self::WritesUnder(path) => format!("Cannot tell whether this writes under `{path}`."),
            Self::ReadsUnder(path) => format!("Cannot tell whether this reads under `{path}`."),
            Self::DeletesUnder(path) => format!("Cannot tell whether this deletes under `{path}`."),
            Self::ReachesNetwork => "Cannot tell whether this reaches another machine.".to_owned(),
        }
    }
}

/// Returns a condition that holds where a call writes or deletes at or below `path`.
pub fn writes_under(
    path: impl Into<String>,
) -> impl Fn(&ToolCall) -> bool + Clone + Send + Sync + 'static {
    Deed::WritesUnder(path.into()).is_done()
}

/// Returns a condition that holds where a call reads at or below `path`.
pub fn reads_under(
    path: impl Into<String>,
) -> impl Fn(&ToolCall) -> bool + Clone + Send + Sync + 'static {
    Deed::ReadsUnder(path.into()).is_done()
}

/// Returns a condition that holds where a call deletes at or below `path`, or moves it away.
pub fn deletes_under(
    path: impl Into<String>,
) -> impl Fn(&ToolCall) -> bool + Clone + Send + Sync + 'static {
    Deed::DeletesUnder(path.into()).is_done()
}

/// Returns a condition that holds where a call reaches another machine.
pub fn reaches_network() -> impl Fn(&ToolCall) -> bool + Clone + Send + Sync + 'static {
    Deed::ReachesNetwork.is_done()
}

/// What a call does, as [`of_call`] tells it. The answer to the last question of a thread is kept:
/// many rules ask about the same call.
pub fn effects_of(call: &ToolCall, workspaces: &[String]) -> Rc<Effects> {
    LAST.with(|last| {
        if let Some(kept) = last.borrow().as_ref().filter(|kept| kept.is_of(call, workspaces)) {
            return Rc::clone(&kept.effects);
        }
        let effects = Rc::new(of_call(call, workspaces));
        last.replace(Kept::new(call, workspaces, &effects));
        effects
    })
}

/// The largest command that is kept, in bytes.
const LARGEST_KEPT: usize = 64 * 1024;

thread_local! {
    static LAST: RefCell<Option<Kept>> = const { RefCell::new(None) };
}

/// A call, and what it does.
struct Kept {
    call: ToolCall,
    workspaces: Vec<String>,
    effects: Rc<Effects>,
}

impl Kept {
    fn new(call: &ToolCall, workspaces: &[String], effects: &Rc<Effects>) -> Option<Self> {
        let texts = call.args.values().map(|value| value.as_str().map_or(64, str::len));
        (texts.sum::<usize>() <= LARGEST_KEPT).then(|| Self {
            call: ToolCall {
                name: call.name.clone(),
                server: call.server.clone(),
                args: call.args.clone(),
                canonical_path: call.canonical_path.clone(),
                ..ToolCall::default()
            },
            workspaces: workspaces.to_vec(),
            effects: Rc::clone(effects),
        })
    }

    fn is_of(&self, call: &ToolCall, workspaces: &[String]) -> bool {
        self.call.name == call.name
            && self.call.server == call.server
            && self.call.canonical_path == call.canonical_path
            && self.workspaces == workspaces
            && self.call.args == call.args
    }
}
