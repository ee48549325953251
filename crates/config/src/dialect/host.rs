//! Hook files of the agents that Tollgate stands behind: one form, in which they differ by data.
//!
//! What such an agent says to a hook and understands of its answers is in [`tollgate_hosts`], for
//! Tollgate as its hook. Here it is the other way round: Tollgate runs hooks that were written for
//! that agent, and says to them what the agent would.

mod answer;
mod condition;
mod file;
pub(super) mod handler;
mod input;
mod names;
mod schemas;

use std::path::Path;
use std::time::Duration;

use schemars::Schema;
use serde_json::Value;
use tollgate_core::context::SessionInfo;
use tollgate_core::dialect::Layer;
use tollgate_core::event::ToolCall;
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::{Dialect, EventRef, Kind};
use tollgate_hosts::{Host, HostEvent};

pub use condition::Condition;

use super::{
    Call, Codec, Cwd, Decoded, EventName, FileDialect, Home, HookFile, Output, Shell, WireError,
};
use crate::diagnostic::{Report, Severity};
use crate::read::read;

/// The hook files of an agent.
#[derive(Debug)]
pub struct HostDialect {
    pub(super) dialect: Dialect,
    pub(super) host: &'static Host,
    /// Its events that hooks are asked about here.
    pub(super) events: &'static [EventName],
    pub(super) home: Home,
    pub(super) shell: Shell,
    pub(super) time: Duration,
    pub(super) form: Form,
    /// The variables that it gives to a hook.
    pub(super) variables: fn(&Call<'_>) -> Vec<(&'static str, String)>,
    /// What it would call, and with what, where none of its tools is simply the one that is called.
    pub(super) instead: fn(&ToolCall) -> Option<(&'static str, Value)>,
    /// What its own tool would have come to, for one that came to a text.
    pub(super) result: fn(tool: &str, text: &str) -> Value,
}

/// Names of tools, and what else they are called in matchers.
type Aliases = &'static [(&'static str, &'static [&'static str])];

/// How the files of agents differ.
#[derive(Debug, Clone, Copy)]
pub(super) struct Form {
    /// Whether comments are read over, and a comma too many.
    pub(super) comments: bool,
    /// The time that a time-out is counted in.
    pub(super) unit: Duration,
    /// The field of the file, and its value, that switches all hooks off.
    pub(super) off: Option<(&'static str, bool)>,
    /// Keys beside the events, which are not about any hook.
    pub(super) beside: &'static [&'static str],
    pub(super) group: &'static [&'static str],
    pub(super) handler: &'static [&'static str],
    /// The characters of a matcher that is a list of names; any other makes it an expression.
    pub(super) list: Option<&'static str>,
    /// What tools are called in matchers beside their names.
    pub(super) aliases: Aliases,
    /// What matchers look at where the event is not about a tool: the field of what a hook reads.
    pub(super) subjects: &'static [(Kind, &'static str)],
}

impl HostDialect {
    /// The agent.
    pub const fn host(&self) -> &'static Host {
        self.host
    }

    /// The JSON Schema of the file, as far as it is about hooks.
    pub fn file_schema(&self) -> Schema {
        schemas::file(self)
    }

    /// The schema of what each handler reads.
    pub fn input_schemas(&self) -> Vec<(&'static str, Schema)> {
        schemas::inputs(self)
    }

    /// The schema of what each handler answers.
    pub fn answer_schemas(&self) -> Vec<(&'static str, Schema)> {
        schemas::answers(self)
    }

    /// Whether a project has hooks of this agent. One whose file cannot be read may have some.
    pub(crate) fn has_hooks_in(&self, project: &Path) -> bool {
        let folder = project.join(self.home.in_project);
        let mut files = std::iter::once(&self.home.file).chain(self.home.also_in_project);
        files.any(|file| match read(&folder.join(file)) {
            Ok(None) => false,
            Ok(Some(file)) => {
                let parsed = self.parse(&mut Report::new(file.source), Layer::Project);
                parsed.is_none_or(|file| !file.hooks.is_empty())
            }
            Err(_) => true,
        })
    }

    /// Which dialect it is.
    pub(crate) const fn dialect_of(&self) -> Dialect {
        self.dialect
    }

    /// Whether its handlers have a field of this name.
    pub(crate) fn has_field(&self, name: &str) -> bool {
        self.form.handler.contains(&name)
    }

    /// Whether hooks at an event that is about no tool can say which.
    pub(crate) fn has_subject(&self, kind: Kind) -> bool {
        self.form.subjects.iter().any(|(of, _)| *of == kind)
    }

    /// Whether it has a tool of this name, or one that is also called so.
    pub(crate) fn knows_tool(&self, name: &str) -> bool {
        self.host.tool(name).is_some()
            || self.form.aliases.iter().any(|(_, others)| others.contains(&name))
    }

    /// True if an expression is found in the name of one of its tools, or in what one is also called.
    fn finds(&self, expression: &str) -> bool {
        let aliases = self.form.aliases.iter().flat_map(|(_, others)| others.iter());
        let mut names = self.host.tools.iter().map(|tool| tool.native).chain(aliases.copied());
        names.any(|name| name.contains(expression))
    }

    /// A time as its files have it.
    pub(crate) fn in_units(&self, time: Duration) -> Value {
        let units = time.as_secs_f64() / self.form.unit.as_secs_f64();
        if units.fract() == 0.0 && units < 1e9 {
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // whole, and small
            return (units as u64).into();
        }
        units.into()
    }

    /// A matcher for these names, some of which may be expressions.
    pub(crate) fn matcher_of(&self, names: &[String], is_tool: bool) -> String {
        let is_plain = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let joined = names.join("|");
        let is_exact = !is_tool && names.len() == 1;
        if is_exact || self.form.list.is_some() && names.iter().all(is_plain) {
            return joined;
        }
        format!("^({joined})$")
    }

    /// The agent's own event of this kind.
    fn host_event(&self, kind: Kind) -> Option<&'static HostEvent> {
        self.name_of(kind).and_then(|name| self.host.event(name))
    }

    fn no_event(&self, what: &str) -> WireError {
        let known: Vec<_> = self.events.iter().map(|event| event.name).collect();
        let title = self.host.title;
        WireError::new(format!("{title} has no event for {what}: it has {}", known.join(", ")))
    }
}

impl FileDialect for HostDialect {
    fn parse(&self, report: &mut Report, layer: Layer) -> Option<HookFile> {
        file::parse(self, report, layer, Severity::Error)
    }

    fn parse_in_part(&self, report: &mut Report, layer: Layer) -> Option<HookFile> {
        file::parse(self, report, layer, Severity::Warning)
    }

    fn home(&self) -> Home {
        self.home
    }

    fn shell(&self) -> Shell {
        self.shell
    }

    fn cwd(&self) -> Cwd {
        Cwd::OfTheProject
    }

    fn time(&self) -> Duration {
        self.time
    }

    fn directory_variables(&self) -> &'static [&'static str] {
        self.host.project_variables
    }
}

impl Codec for HostDialect {
    fn dialect(&self) -> Dialect {
        self.dialect
    }

    fn events(&self) -> &'static [EventName] {
        self.events
    }

    fn encode_event(&self, event: EventRef<'_>, session: &SessionInfo) -> Option<Value> {
        input::encode(self, event, session)
    }

    fn environment(&self, _event: EventRef<'_>, call: &Call<'_>) -> Vec<(&'static str, String)> {
        (self.variables)(call)
    }

    fn decode_event(&self, event: &str, input: Value) -> Result<Decoded, WireError> {
        input::decode(self, event, input)
    }

    fn decode_answer(&self, event: Kind, output: &Output) -> Result<Neutral, WireError> {
        answer::decode(self, event, output)
    }

    fn unwrap_rewrite(&self, event: EventRef<'_>, rewrite: Rewrite) -> Result<Rewrite, WireError> {
        input::unwrap_rewrite(self, event, rewrite)
    }

    fn answer_to(&self, event: EventRef<'_>, output: &Output) -> Result<Neutral, WireError> {
        answer::to(self, event, output)
    }

    fn encode_answer(&self, event: Kind, answer: &Neutral) -> Result<Output, WireError> {
        answer::encode(self, event, answer)
    }
}
