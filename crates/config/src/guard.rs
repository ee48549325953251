//! A built-in hook that keeps an agent from what decides about it: hook files, pinned scripts, the trust store,
//! Tollgate's configuration and program, the settings in which agents keep hooks, the subcommands for people
//! ([`FOR_PEOPLE`]), and command lines that start an agent without its hooks.
//!
//! Edit tools name the file they write, so for them it is exact: links, `..`, relative paths, capital letters and
//! hard links lead nowhere else.
//!
//! A command line is resolved to the commands that a shell would make of it ([`tollgate_shell::analyze`]), behind
//! variables, patterns, decoders and other programs. It is denied
//!
//! - if an effect of a command changes a place, or deletes a directory that a place is in;
//! - if a command that may do anything names a place: a program of which it is not known what it does with that
//!   word, or code in another language;
//! - if it mentions a place, and something in it is not known before it runs;
//! - if it calls Tollgate with a subcommand for people. The program is known by its name and by its file, also as
//!   a copy.
//!
//! A pattern stands only for files that are there, and those of a shell not for hidden ones.
//!
//! # Limits
//!
//! What is not in the text of a command is not seen:
//!
//! - what it reads from files, from the network, or from scripts that were written before;
//! - names that code in another language computes, beyond texts that it puts side by side;
//! - archives and copies that are unpacked over a project, and commands such as `git checkout` or
//!   `git stash` that change files they do not name, or take a list of them from elsewhere than
//!   `find`, `grep` and the like (`git ls-files | xargs`).
//!
//! For a project's own hooks, [trust](crate::trust) notices afterwards. Commands for people are also refused by the
//! command line itself, below a process that asks Tollgate. A build that replaces Tollgate's program does not name
//! it. What another program of the same person does is outside of any agent, and of this.
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

mod agents;
mod calls;
mod code;
mod command_line;
mod copies;
mod kept;
mod mention;
mod own;
mod places;
mod program;
mod programs;
mod readers;
mod refusal;
mod search;
mod spots;
mod words;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::OnceLock;

use serde_json::Value;
use tollgate_core::context::{Context, OperationContext};
use tollgate_core::dialect::{Dialect, Layer};
use tollgate_core::event::{ToolCall, ToolPre};
use tollgate_core::hook::decide;
use tollgate_core::tools::{self, Access};
use tollgate_core::{Decision, Registration};

pub use refusal::Refusal;

use command_line::{CommandLine, is_about_us};
use kept::Kept;
use mention::Needles;
use places::{Places, Relation};

/// The name of the hook.
pub const NAME: &str = "tollgate-guard";

/// Subcommands of Tollgate that change what is in force, and are therefore for people. The guard refuses a
/// call of them, and the command line asks for a person.
pub const FOR_PEOPLE: &[&str] = &["setup", "trust", "install", "uninstall", "allow"];

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
    /// Tollgate's own program, by every name that it is run by. Who may replace it decides what it says.
    pub programs: Vec<PathBuf>,
}

impl Protected {
    /// A project and what is on every machine.
    pub fn project(root: impl Into<PathBuf>) -> Self {
        Self { project: root.into(), ..Self::default() }
    }
}

/// Denies an agent's writes to what decides about it.
#[derive(Debug, Clone)]
pub struct Guard {
    places: Places,
    needles: Needles,
}

/// The longest command line that is looked into. No one writes longer ones but to carry a file.
const LONGEST_LINE: usize = 64 * 1024;

impl Guard {
    /// A guard of these places, which are looked for now: a call is compared with where they were
    /// found. Relative paths are relative to the directory of this process.
    pub fn new(protected: Protected) -> Self {
        let places = Places::new(protected);
        let needles = Needles::new(&places);
        Self { places, needles }
    }

    /// The hook, for a runner: of the system layer, after all others and before policies. So hooks that log
    /// calls see what it denies, and it sees the payload as others have rewritten it.
    pub fn into_registration(self) -> Registration {
        let made = OnceLock::new();
        let _ = made.set(self);
        Self::when_needed(made, Protected::default())
    }

    /// As [`into_registration`](Self::into_registration), for places that are looked for when the
    /// first call comes. To look takes a while, and an agent has changed nothing before its first
    /// call.
    pub fn registration_of(protected: Protected) -> Registration {
        Self::when_needed(OnceLock::new(), protected)
    }

    fn when_needed(made: OnceLock<Self>, protected: Protected) -> Registration {
        decide(NAME, move |cx: &OperationContext, call: &ToolPre| {
            let guard = made.get_or_init(|| Self::new(protected.clone()));
            match guard.refuses(call, &cx.session().info().workspaces) {
                Some(refusal) => Decision::deny(refusal.to_string()),
                None => Decision::none(),
            }
        })
        .dialect(Dialect::Native)
        .layer(Layer::System)
        .priority(i64::MIN)
        .without_exceptions()
        .repeatable()
        .last()
    }

    /// Why a call is denied, if it is. Relative paths are relative to the workspaces and to the
    /// project.
    pub fn refuses(&self, call: &ToolCall, workspaces: &[String]) -> Option<Refusal> {
        let has_server = call.server.as_deref().is_some_and(|server| !server.is_empty());
        let known = if has_server { None } else { tools::lookup(&call.name) };
        let access = known.map(|tool| tool.access);
        if matches!(access, Some(Access::Read | Access::Network)) {
            return None;
        }
        let check = Check { places: &self.places, needles: &self.needles, workspaces };
        match access {
            Some(Access::Write) => check.edit(call),
            Some(Access::Control) => check.control(call),
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

/// One look at a call.
struct Check<'a> {
    places: &'a Places,
    needles: &'a Needles,
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
        let found = self.places.written(&self.bases(), path)?;
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
        let mut given = named(call);
        given.find_map(|text| self.write(text).or_else(|| self.patch(text)))
    }

    /// A text that is a patch of something protected.
    fn patch(&self, text: &str) -> Option<Refusal> {
        calls::patched(text).find_map(|path| self.write(path))
    }

    /// A tool that steers the agent, and may have it run a command later.
    fn control(&self, call: &ToolCall) -> Option<Refusal> {
        if calls::asks(&call.name) {
            return None;
        }
        if calls::types_in(&call.name) {
            return self.typed(call);
        }
        let cwd = directory(call);
        call.args.iter().find_map(|(name, value)| {
            let is_command = |line: &str| calls::names_command(name) || calls::is_command(line);
            let mut lines = lines(value).into_iter();
            lines.find_map(|line| {
                // Most of what is said here is prose, also about hooks.
                let counts =
                    (cwd.is_some() || is_about_us(self.needles, &line)) && is_command(&line);
                if counts { self.shell(&line, cwd) } else { None }
            })
        })
    }

    /// What is typed into a program that runs: a shell takes it for a command line, whatever it looks like.
    fn typed(&self, call: &ToolCall) -> Option<Refusal> {
        let mut lines = call.args.values().flat_map(lines);
        lines.find_map(|line| {
            let line = line.replace(['\r', '\u{4}'], "\n");
            // Of other languages it is only known that brackets call something.
            let code = line.contains('(').then(|| format!("python3 <<'TYPED'\n{line}\nTYPED\n"));
            let as_code = || self.shell(&code?, directory(call));
            self.shell(&line, directory(call)).or_else(as_code)
        })
    }

    fn execute(&self, call: &ToolCall) -> Option<Refusal> {
        let cwd = call.text("Cwd").or_else(|| call.text("cwd"));
        let by_table = call.text("CommandLine").map(|line| self.shell(line, cwd));
        by_table.unwrap_or_else(|| {
            let mut lines = call.args.values().flat_map(lines);
            lines.find_map(|line| self.shell(&line, cwd))
        })
    }

    fn shell(&self, line: &str, cwd: Option<&str>) -> Option<Refusal> {
        if line.len() > LONGEST_LINE {
            return is_about_us(self.needles, line).then_some(Refusal::TooLong);
        }
        let bases = self.bases();
        let in_it = |base: &PathBuf| cwd.map_or_else(|| base.clone(), |cwd| base.join(cwd));
        let directories: Vec<PathBuf> = bases.iter().map(in_it).collect();
        let kept = Kept::new(self.places, bases);
        CommandLine::new(&kept, self.needles, line).refusal(&directories)
    }

    /// A tool that the table does not have: one of a host's own, or of an MCP server.
    fn unknown(&self, call: &ToolCall) -> Option<Refusal> {
        if calls::types_in(&call.name) {
            return self.typed(call);
        }
        let cwd = directory(call);
        let mut commands = call.args.iter().filter(|(name, _)| calls::names_command(name));
        let refusal = commands
            .find_map(|(_, value)| lines(value).into_iter().find_map(|l| self.shell(&l, cwd)));
        if refusal.is_some() {
            return refusal;
        }
        if calls::is_reader(&call.name) {
            return None;
        }
        let removes = calls::is_remover(&call.name);
        let given = named(call).chain(call.canonical_path.as_deref());
        for path in given {
            if let Some(refusal) = self.write(path).or_else(|| self.patch(path)) {
                return Some(refusal);
            }
            match self.places.relation(&self.bases(), path) {
                Some((Relation::Around, spot)) => return Some(spot.refusal()),
                Some((Relation::Above, _)) if removes => {
                    let below = self.places.below(&self.bases(), path, |_| true);
                    if let Some(spot) = below {
                        return Some(spot.refusal_with(path));
                    }
                }
                _ => {}
            }
        }
        None
    }
}

/// The directory that a call's commands run in, if it names one.
fn directory(call: &ToolCall) -> Option<&str> {
    let (_, value) = call.args.iter().find(|(name, _)| calls::names_directory(name))?;
    value.as_str()
}

/// The command lines that a value may be. A list may hold the words of one, or be one of many.
fn lines(value: &Value) -> Vec<Cow<'_, str>> {
    match value {
        Value::Array(_) => {
            let words: Vec<&str> = texts(value).collect();
            vec![words.join(" ").into(), words.join("\n").into()]
        }
        Value::Object(fields) => fields.values().flat_map(lines).collect(),
        _ => texts(value).map(Cow::Borrowed).collect(),
    }
}

/// Every text in a call, and the names of its fields, which may be paths as well.
fn named(call: &ToolCall) -> impl Iterator<Item = &str> {
    let names = call.args.values().flat_map(names).chain(call.args.keys().map(String::as_str));
    call.args.values().flat_map(texts).chain(names)
}

/// The name of every field in a value.
fn names(value: &Value) -> Box<dyn Iterator<Item = &str> + '_> {
    match value {
        Value::Array(values) => Box::new(values.iter().flat_map(names)),
        Value::Object(fields) => Box::new(
            fields.iter().flat_map(|(name, v)| std::iter::once(name.as_str()).chain(names(v))),
        ),
        _ => Box::new(std::iter::empty()),
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
