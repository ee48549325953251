//! A built-in hook that keeps an agent from its own hooks: it denies writes, by edit tools or by
//! the shell, to hook files, pinned scripts, the trust store, Tollgate's configuration and the
//! settings in which agents keep hooks, and calls of `tollgate trust`, `install`, `uninstall`.
//!
//! Edit tools name the file they write, so for them it is exact: links, `..`, relative paths,
//! capital letters and hard links lead nowhere else. A shell can be told the same thing in
//! endless ways, so for it the guard is careful: a command that mentions a protected place and is
//! not plainly a look at it is denied, also where it would have been harmless.
//!
//! # Limits
//!
//! A command whose text does not show what it does is not seen through: names that are put
//! together by programs, decoded (`base64 -d | sh`) or read from files, scripts that were written
//! before, and commands such as `git checkout` or `git stash` that change files they do not name.
//! For a project's own hooks, [trust](crate::trust) notices afterwards. What another program of
//! the same person does is outside of any agent, and of this.
//!
//! ```
//! use tollgate_config::guard::{Guard, Protected};
//! use tollgate_core::event::ToolCall;
//!
//! let guard = Guard::new(Protected::project("/work/app"));
//! let write = ToolCall::new("write_to_file").arg("TargetFile", "/work/app/.agents/hooks.json");
//! assert!(guard.refuses(&write, &[]).is_some());
//! let shell = |line: &str| ToolCall::new("run_command").arg("CommandLine", line);
//! assert!(guard.refuses(&shell("rm -rf .agents"), &[]).is_some());
//! assert!(guard.refuses(&shell("tollgate trust"), &[]).is_some());
//! assert!(guard.refuses(&shell("cat .agents/hooks.json"), &[]).is_none());
//! ```

mod calls;
mod mention;
mod places;
mod readers;
mod shell;

use std::fmt;
use std::path::PathBuf;

use serde_json::Value;
use tollgate_core::context::{Context, OperationContext};
use tollgate_core::dialect::{Dialect, Layer};
use tollgate_core::event::{ToolCall, ToolPre};
use tollgate_core::hook::decide;
use tollgate_core::tools::{self, Access};
use tollgate_core::{Decision, Registration};

use places::{Places, Relation, Spot};
use shell::Shell;

/// The name of the hook.
pub const NAME: &str = "tollgate-guard";

/// What is to be protected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Protected {
    /// The project.
    pub project: PathBuf,
    /// The person's home.
    pub home: Option<PathBuf>,
    /// Directories of configuration: `$XDG_CONFIG_HOME`, else `~/.config`.
    pub config: Vec<PathBuf>,
    /// The trust store.
    pub store: Option<PathBuf>,
    /// Further files and directories, with all that is in them: pinned scripts, for example.
    /// Relative ones are relative to the project.
    pub extra: Vec<PathBuf>,
}

impl Protected {
    /// A project and what is on every machine.
    pub fn project(root: impl Into<PathBuf>) -> Self {
        Self { project: root.into(), ..Self::default() }
    }
}

/// Why a call is denied.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It would write, move or remove something protected, or may do so.
    Write {
        /// What is protected.
        place: String,
    },
    /// It would have Tollgate trust or install something.
    Tollgate {
        /// The subcommand.
        subcommand: String,
    },
    /// It names more files than can be looked at.
    TooLong,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { place } => write!(
                f,
                "Hook files and Tollgate's own configuration are changed by people, not by the agent: \
                 `{place}` is protected. Ask the person to make this change."
            ),
            Self::Tollgate { subcommand } => write!(
                f,
                "Hooks are trusted, installed and removed by people, not by the agent. Ask the person \
                 to run `tollgate {subcommand}`."
            ),
            Self::TooLong => f.write_str(
                "The command names too many files to tell whether hook files are among them. Split it \
                 up.",
            ),
        }
    }
}

/// Denies an agent's writes to what decides about it.
#[derive(Debug, Clone)]
pub struct Guard {
    places: Places,
}

impl Guard {
    /// A guard of these places.
    pub fn new(protected: Protected) -> Self {
        Self { places: Places::new(protected) }
    }

    /// The hook, for a runner: of the system layer, before all others.
    pub fn into_registration(self) -> Registration {
        decide(NAME, move |cx: &OperationContext, call: &ToolPre| {
            match self.refuses(call, &cx.session().info().workspaces) {
                Some(refusal) => Decision::deny(refusal.to_string()),
                None => Decision::none(),
            }
        })
        .dialect(Dialect::Native)
        .layer(Layer::System)
        .priority(i64::MIN)
    }

    /// Why a call is denied, if it is. Relative paths are relative to the workspaces and to the
    /// project.
    pub fn refuses(&self, call: &ToolCall, workspaces: &[String]) -> Option<Refusal> {
        let has_server = call.server.as_deref().is_some_and(|server| !server.is_empty());
        let known = if has_server { None } else { tools::lookup(&call.name) };
        let access = known.map(|tool| tool.access);
        if matches!(access, Some(Access::Read | Access::Network | Access::Control)) {
            return None;
        }
        let check = Check { places: &self.places, spots: self.places.spots(), workspaces };
        match access {
            Some(Access::Write) => check.edit(call),
            Some(_) => check.execute(call),
            None => check.unknown(call),
        }
    }
}

impl From<Guard> for Registration {
    fn from(guard: Guard) -> Self {
        guard.into_registration()
    }
}

/// One look at a call, with the places as they are now.
struct Check<'a> {
    places: &'a Places,
    spots: Vec<Spot>,
    workspaces: &'a [String],
}

impl Check<'_> {
    /// The directories that a relative path may be relative to.
    fn bases(&self) -> Vec<PathBuf> {
        let workspaces = self.workspaces.iter().map(PathBuf::from).filter(|p| p.is_absolute());
        let mut bases: Vec<PathBuf> = workspaces.collect();
        bases.push(self.places.project().to_path_buf());
        bases.dedup();
        bases
    }

    fn write(&self, path: &str) -> Option<Refusal> {
        let found = self.places.written(&self.spots, &self.bases(), path)?;
        Some(Refusal::Write { place: found })
    }

    fn edit(&self, call: &ToolCall) -> Option<Refusal> {
        let by_table = tools::paths(call).unwrap_or_default();
        let refusal = by_table.iter().find_map(|touched| self.write(&touched.path));
        // Under another name a tool may have other arguments than the table says.
        let is_by_table = !by_table.is_empty()
            && tools::lookup(&call.name).is_some_and(|tool| tool.name == call.name);
        refusal.or_else(|| if is_by_table { None } else { self.any_path(call) })
    }

    fn any_path(&self, call: &ToolCall) -> Option<Refusal> {
        call.args.values().find_map(|value| texts(value).find_map(|text| self.write(text)))
    }

    fn execute(&self, call: &ToolCall) -> Option<Refusal> {
        let cwd = call.text("Cwd").or_else(|| call.text("cwd"));
        let by_table = call.text("CommandLine").map(|line| self.shell(line, cwd));
        by_table.unwrap_or_else(|| {
            let mut lines = call.args.values().flat_map(texts);
            lines.find_map(|line| self.shell(line, cwd))
        })
    }

    fn shell(&self, line: &str, cwd: Option<&str>) -> Option<Refusal> {
        Shell::new(self.places, &self.spots, self.bases(), cwd).refuses(line)
    }

    /// A tool that the table does not have: one of a host's own, or of an MCP server.
    fn unknown(&self, call: &ToolCall) -> Option<Refusal> {
        let cwd = call.args.iter().find(|(name, _)| calls::names_directory(name));
        let cwd = cwd.and_then(|(_, value)| value.as_str());
        for (name, value) in &call.args {
            if calls::names_command(name) {
                let line = match value {
                    Value::Array(_) => texts(value).collect::<Vec<_>>().join(" "),
                    Value::String(line) => line.clone(),
                    _ => continue,
                };
                if let Some(refusal) = self.shell(&line, cwd) {
                    return Some(refusal);
                }
            }
        }
        if calls::is_reader(&call.name) {
            return None;
        }
        let removes = calls::is_remover(&call.name);
        let given = call.args.values().flat_map(texts).chain(call.canonical_path.as_deref());
        for path in given {
            if let Some(refusal) = self.write(path) {
                return Some(refusal);
            }
            match self.places.relation(&self.spots, &self.bases(), path) {
                Some((Relation::Around, spot)) => return Some(spot.refusal()),
                Some((Relation::Above, spot)) if removes => return Some(spot.refusal()),
                _ => {}
            }
        }
        None
    }
}

/// Every text in a value.
fn texts(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::String(text) => Box::new(std::iter::once(text.as_str())),
        Value::Array(values) => Box::new(values.iter().flat_map(texts)),
        Value::Object(fields) => Box::new(fields.values().flat_map(texts)),
        Value::Null | Value::Bool(_) | Value::Number(_) => Box::new(std::iter::empty()),
    }
}
