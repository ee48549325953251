//! Registered hooks, compiled: who is asked about what, and in which order.
//!
//! # Order
//!
//! Hooks run by priority, lower numbers first (the default is 0); at the same priority by layer
//! (system, user, project, code); in the same layer in the order they were registered, which for
//! files is their place in the file; hooks that were loaded ([`Runner::reload`](crate::Runner))
//! come behind those of the same layer that were not. Hooks that are asked last
//! ([`Registration::last`]) come behind all others, and policies behind these; both see the final
//! arguments.
//!
//! ```
//! use tollgate_core::prelude::*;
//!
//! # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let say = |name: &str| inspect(name, |_cx, _call: &ToolPre| ());
//! let runner = Runner::builder()
//!     .register(say("second"))
//!     .register(say("third"))
//!     .register(say("first").priority(-1))
//!     .register(say("before second").layer(Layer::Project))
//!     .build()?;
//! let order: Vec<_> = runner.hooks(Kind::ToolPre).map(|hook| hook.name.clone()).collect();
//! assert_eq!(order, ["first", "before second", "second", "third"]);
//! # Ok(()) }
//! ```

mod chain;
mod index;
mod parts;
mod patterns;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use smallvec::SmallVec;

#[doc(hidden)] // named by the sealed side of `Event`; of no use outside
pub use chain::{Chain, Chains};
pub(crate) use chain::{Entry, HookSet};
pub(crate) use index::Asked;

use crate::dialect::{Dialect, Layer, Mode, Rule};
use crate::event::{Event, Kind};
use crate::hook::{DynHook, Handle, HandleEvery, Hook};
use crate::matcher::{Matcher, PatternError};
use crate::target::Target;

/// Where a hook stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Source {
    /// The file. Its hooks share the name.
    pub file: Arc<str>,
    /// The line in it, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.file),
            None => f.write_str(&self.file),
        }
    }
}

/// What is known of a registered hook.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
pub struct HookInfo {
    /// Its name.
    pub name: String,
    /// The system it is written for.
    pub dialect: Dialect,
    /// Whose it is.
    pub layer: Layer,
    /// Its priority; lower runs first.
    pub priority: i64,
    /// Where it stands.
    pub source: Option<Source>,
    /// The most it may do at any event.
    pub mode: Mode,
    /// Which instances of its events it asks for.
    pub matcher: Matcher,
    /// How long it may take; the runner's default where not set.
    pub deadline: Option<Duration>,
    /// True if it is asked after all other hooks, about the final payload. Only policies come later.
    pub is_last: bool,
    /// Whether it is one of the policies, which run last.
    pub is_policy: bool,
    /// True if a person can except single calls from what it says.
    pub takes_exceptions: bool,
    /// True if asking it has no effect outside of the process, so that it can be asked again.
    pub is_repeatable: bool,
    /// The rules of a policy, by the names that answers give for them.
    pub rules: Arc<[Arc<str>]>,
    /// Whether it came with [`Runner::reload`](crate::Runner::reload), and goes with the next one.
    pub loaded: bool,
}

/// A hook and how it is to be registered.
///
/// ```
/// use tollgate_core::prelude::*;
/// use std::time::Duration;
///
/// struct Audit;
/// impl Hook for Audit {}
///
/// let registration = Registration::hook("audit", Audit)
///     .priority(10)
///     .tool("run_command")
///     .mode(Mode::Inspect)
///     .deadline(Duration::from_secs(5));
/// # let _ = Runner::builder().register(registration).build();
/// ```
#[must_use = "a registration does nothing until it is given to a runner"]
pub struct Registration {
    info: HookInfo,
    install: Install,
    problem: Option<Problem>,
}

/// What was wrong with a registration before anybody could be told.
enum Problem {
    Pattern(PatternError),
    TwoMatchers,
}

/// Puts a hook into its chains, and says into how many.
type InstallFn =
    Box<dyn FnOnce(&Arc<HookInfo>, &mut Chains) -> Result<usize, RegisterError> + Send>;

struct Install(SmallVec<[InstallFn; 1]>);

impl fmt::Debug for Registration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registration").field("info", &self.info).finish_non_exhaustive()
    }
}

/// A hook that cannot be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RegisterError {
    /// The system the hook is written for has no such event.
    #[error("hook `{hook}`: {dialect} hooks cannot handle {event}")]
    NoSuchEvent {
        /// The hook.
        hook: String,
        /// Its system.
        dialect: Dialect,
        /// The event.
        event: Kind,
    },
    /// It asks for a tool that cannot be.
    #[error(
        "hook `{hook}` asks for `{target}`, which no tool is called: a `*` stands for all tools, or for all of a server as in `server/*`; for other patterns use a glob or a regular expression"
    )]
    NeverMatches {
        /// The hook.
        hook: String,
        /// What it asks for.
        target: String,
    },
    /// It asks for one of no tools.
    #[error("hook `{hook}` asks for one of no tools and would never run")]
    NoTargets {
        /// The hook.
        hook: String,
    },
    /// It has both a pattern and tools, or two patterns.
    #[error("hook `{hook}` has more than one matcher: give it tools or one pattern")]
    TwoMatchers {
        /// The hook.
        hook: String,
    },
    /// Its pattern is not valid.
    #[error("hook `{hook}`: {problem}")]
    Pattern {
        /// The hook.
        hook: String,
        /// What is wrong.
        #[source]
        problem: PatternError,
    },
    /// There is nothing to keep time with.
    #[error("a runner without the `tokio` feature needs a runtime: give it one")]
    NoRuntime,
    /// It has no name.
    #[error("a hook needs a name, so that what it does can be told")]
    NoName,
    /// It handles no event, so it would never run.
    #[error("hook `{hook}` handles no event and would never run")]
    NoEvents {
        /// The hook.
        hook: String,
    },
}

/// What the hook may do at an event, where its system has that event.
fn rule_for(info: &HookInfo, event: Kind) -> Result<Rule, RegisterError> {
    event.rule(info.dialect).ok_or_else(|| RegisterError::NoSuchEvent {
        hook: info.name.clone(),
        dialect: info.dialect,
        event,
    })
}

impl Registration {
    fn new(name: impl Into<String>, mode: Mode) -> Self {
        Self {
            info: HookInfo {
                name: name.into(),
                dialect: Dialect::Native,
                layer: Layer::Code,
                priority: 0,
                source: None,
                mode,
                matcher: Matcher::All,
                deadline: None,
                is_last: false,
                is_policy: false,
                takes_exceptions: true,
                is_repeatable: false,
                rules: Arc::default(),
                loaded: false,
            },
            install: Install(SmallVec::new()),
            problem: None,
        }
    }

    /// A hook for all the events it handles.
    pub fn hook(name: impl Into<String>, hook: impl Hook + 'static) -> Self {
        Self::shared(name, Arc::new(hook))
    }

    /// As [`hook`](Self::hook), for one that is shared.
    pub fn shared(name: impl Into<String>, hook: Arc<dyn DynHook>) -> Self {
        let mut registration = Self::new(name, hook.mode());
        registration
            .install
            .0
            .push(Box::new(move |info, chains| Ok(chains.install_hook(info, &hook))));
        registration
    }

    /// A handler of one event.
    pub fn on<E: Event, H: Handle<E> + 'static>(name: impl Into<String>, handler: H) -> Self {
        Self::new(name, Mode::Transform).and_on::<E>(Arc::new(handler))
    }

    /// A handler that has no event yet; add them with [`and_on`](Self::and_on).
    pub fn named(name: impl Into<String>) -> Self {
        Self::new(name, Mode::Transform)
    }

    /// Handles another event as well.
    pub fn and_on<E: Event>(mut self, handler: Arc<dyn Handle<E>>) -> Self {
        self.install.0.push(Box::new(move |info, chains| {
            let rule = rule_for(info, E::KIND)?;
            E::chain_mut(chains).push(info, rule, true, handler);
            Ok(1)
        }));
        self
    }

    /// Handles another event as well, whose kind is only known when the program runs.
    pub fn and_on_kind<H: HandleEvery + 'static>(mut self, kind: Kind, handler: Arc<H>) -> Self {
        self.install.0.push(Box::new(move |info, chains| {
            chains.install_kind(kind, info, rule_for(info, kind)?, handler);
            Ok(1)
        }));
        self
    }

    /// The system it is written for. That decides how much it may do at each event, and what its
    /// failure does there.
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.info.dialect = dialect;
        self
    }

    /// Whose it is.
    pub fn layer(mut self, layer: Layer) -> Self {
        self.info.layer = layer;
        self
    }

    /// Its priority; lower runs first.
    pub fn priority(mut self, priority: i64) -> Self {
        self.info.priority = priority;
        self
    }

    /// Nobody can except a call from what it says.
    pub fn without_exceptions(mut self) -> Self {
        self.info.takes_exceptions = false;
        self
    }

    /// Asking it has no effect outside of the process, so that [`Runner::rehearse`](crate::Runner::rehearse) may ask it
    /// again about a call that was refused.
    pub fn repeatable(mut self) -> Self {
        self.info.is_repeatable = true;
        self
    }

    /// Where it stands.
    pub fn source(mut self, file: impl Into<Arc<str>>, line: Option<u32>) -> Self {
        self.info.source = Some(Source { file: file.into(), line });
        self
    }

    /// The most it may do. It can only be lowered: a decider does not become a transformer.
    pub fn mode(mut self, mode: Mode) -> Self {
        self.info.mode = self.info.mode.min(mode);
        self
    }

    /// Which instances of its events it asks for.
    pub fn matching(mut self, matcher: Matcher) -> Self {
        self.info.matcher = matcher;
        self
    }

    /// Asks only for this tool: a name, `server/tool` or `server/*`.
    pub fn tool(mut self, target: &str) -> Self {
        let target = Target::parse(target);
        match &mut self.info.matcher {
            Matcher::Targets(targets) => targets.push(target),
            Matcher::All => self.info.matcher = Matcher::Targets(vec![target]),
            Matcher::Pattern(_) => self.problem = Some(Problem::TwoMatchers),
        }
        self
    }

    /// Asks only for what this regular expression matches from end to end.
    pub fn regex(self, pattern: &str) -> Self {
        self.pattern(Matcher::regex(pattern))
    }

    fn pattern(mut self, pattern: Result<Matcher, PatternError>) -> Self {
        match (pattern, &self.info.matcher) {
            (Ok(matcher), Matcher::All) => self.info.matcher = matcher,
            (Ok(_), _) => self.problem = Some(Problem::TwoMatchers),
            (Err(problem), _) => self.problem = Some(Problem::Pattern(problem)),
        }
        self
    }

    /// Asks only for what this glob matches.
    pub fn glob(self, pattern: &str) -> Self {
        self.pattern(Matcher::glob(pattern))
    }

    /// How long it may take.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.info.deadline = Some(deadline);
        self
    }

    /// Asks it after all other hooks and before the policies, about the payload as they left it. It can
    /// decide and not rewrite, because nobody would be asked about what it wrote.
    ///
    /// For a check that must see what is executed, and whose deny must not keep other hooks from seeing
    /// the attempt. Only a final verdict, at `tool.pre` a deny, ends the chain before it is asked.
    ///
    /// ```
    /// use serde_json::json;
    /// use tollgate_core::prelude::*;
    ///
    /// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let check = decide("check", |_cx, call: &ToolPre| match call.text("CommandLine") {
    ///     Some("ls") => Decision::none(),
    ///     _ => Decision::deny("Only `ls` may run."),
    /// });
    /// let rewrite = transform("rewrite", |_cx, _call: &ToolPre| {
    ///     Answer::set_args([("CommandLine", json!("ps"))])
    /// });
    /// let runner = Runner::builder().register(check.last()).register(rewrite).build()?;
    /// let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    /// let call = ToolCall::new("run_command").arg("CommandLine", "ls");
    /// let outcome = runner.dispatch(&operation, ToolPre::from(call)).await;
    /// assert_eq!(outcome.reason(), "Only `ls` may run.");
    /// # Ok(()) }
    /// ```
    pub fn last(mut self) -> Self {
        self.info.is_last = true;
        self.mode(Mode::Decide)
    }

    pub(crate) fn into_policy(mut self, rules: impl IntoIterator<Item = Arc<str>>) -> Self {
        self.info.is_policy = true;
        self.info.rules = rules.into_iter().collect();
        self
    }
}
