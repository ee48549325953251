//! `shell` and `effects`: what a command would run, and what a call would do.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    // The bounds fit any number.
    clippy::cast_possible_truncation
)]

use std::rc::Rc;

use serde_json::{Map, Value as Json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::dict::DictRef;
use starlark::values::list::ListRef;
use starlark::values::none::NoneOr;
use tollgate_core::event::ToolCall;
use tollgate_shell::effects::hosts::reach;
use tollgate_shell::effects::{Answer, Effect, Effects, Kind, Place, Target};
use tollgate_shell::policy::effects_of;
use tollgate_shell::resolve::{Access, Redirection};
use tollgate_shell::risk::{Risk, Situation, risks};
use tollgate_shell::world;
use tollgate_shell::{Analysis, Command, Surroundings, Unknown, Why, analyze};

use crate::analysis::{Payload, View, bounded};
use crate::convert::{from_view, to_json};
use crate::payload::{ALIAS, ARGS};

/// The longest command that is looked at.
const LONGEST: usize = bounded::PAYLOAD as usize;

/// The largest result: what scripts that run in process are counted with.
const LARGEST: usize = LONGEST;

#[starlark_module]
pub(super) fn shell(builder: &mut GlobalsBuilder) {
    /// Every simple command that a command line could run, and what could not be told.
    fn parse<'v>(
        command: &str,
        #[starlark(default = NoneOr::None)] cwd: NoneOr<&str>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        Ok(from_view(&commands(command, cwd.into_option()), eval.heap()))
    }
}

/// Every simple command that a command line could run, and what could not be told.
pub(crate) fn commands(command: &str, directory: Option<&str>) -> View<'static> {
    let directory = directory.filter(|directory| directory.starts_with(['/', '~']));
    analysis(&if command.len() > LONGEST {
        Analysis { unknowns: vec![too_much("a command of this length")], ..Analysis::default() }
    } else {
        analyze(command, &Surroundings { directory: directory.map(ToOwned::to_owned) })
    })
}

#[starlark_module]
pub(super) fn effects(builder: &mut GlobalsBuilder) {
    /// What the call of a payload does, and what could not be told.
    fn of<'v>(payload: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        Ok(from_view(&about("effects.of", payload)?.all(), eval.heap()))
    }

    /// What of the call of a payload a guard has to stop, the worst first.
    fn risks<'v>(
        payload: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        Ok(from_view(&about("effects.risks", payload)?.risks(), eval.heap()))
    }

    /// True if the call writes or deletes at or below a path; `None` if that cannot be told.
    fn writes_under<'v>(payload: Value<'v>, path: &str) -> anyhow::Result<NoneOr<bool>> {
        let asked = about("effects.writes_under", payload)?;
        let path = asked.path("effects.writes_under", path).map_err(anyhow::Error::msg)?;
        Ok(told(asked.effects().writes_under(&path)))
    }

    /// True if the call reads at or below a path; `None` if that cannot be told.
    fn reads_under<'v>(payload: Value<'v>, path: &str) -> anyhow::Result<NoneOr<bool>> {
        let asked = about("effects.reads_under", payload)?;
        let path = asked.path("effects.reads_under", path).map_err(anyhow::Error::msg)?;
        Ok(told(asked.effects().reads_under(&path)))
    }

    /// True if the call deletes at or below a path; `None` if that cannot be told.
    fn deletes_under<'v>(payload: Value<'v>, path: &str) -> anyhow::Result<NoneOr<bool>> {
        let asked = about("effects.deletes_under", payload)?;
        let path = asked.path("effects.deletes_under", path).map_err(anyhow::Error::msg)?;
        Ok(told(asked.effects().deletes_under(&path)))
    }

    /// True if the call reaches another machine; `None` if that cannot be told.
    fn reaches_network<'v>(payload: Value<'v>) -> anyhow::Result<NoneOr<bool>> {
        Ok(told(about("effects.reaches_network", payload)?.effects().reaches_network()))
    }
}

/// An answer for a script: `None`, which counts as false, where it cannot be told.
fn told(answer: Answer) -> NoneOr<bool> {
    match answer {
        Answer::Yes => NoneOr::Other(true),
        Answer::No | Answer::May => NoneOr::Other(false),
        Answer::Unknown => NoneOr::None,
    }
}

/// The same in native form.
pub(crate) fn told_view(answer: Answer) -> View<'static> {
    match told(answer) {
        NoneOr::Other(answer) => View::Bool(answer),
        NoneOr::None => View::None,
    }
}

/// A call that is asked about, from the payload of a hook.
pub(crate) struct Asked {
    call: ToolCall,
    workspaces: Vec<String>,
}

/// The call of a payload of the language.
fn about(function: &'static str, payload: Value<'_>) -> anyhow::Result<Asked> {
    let wrong = || {
        anyhow::anyhow!(
            "{function} takes the payload of a call of a tool, with its `name` and `args`"
        )
    };
    let fields = DictRef::from_value(payload).ok_or_else(wrong)?;
    let text = |name: &str| fields.get_str(name).and_then(Value::unpack_str);
    let args = fields.get_str(ARGS).or_else(|| fields.get_str(ALIAS));
    let args = args.map(to_json).transpose().map_err(anyhow::Error::msg)?;
    let workspaces = fields
        .get_str("session")
        .and_then(DictRef::from_value)
        .and_then(|session| session.get_str("workspaces"))
        .and_then(ListRef::from_value)
        .map(|all| all.iter().filter_map(Value::unpack_str).map(ToOwned::to_owned).collect());
    let name = text("name").or_else(|| text("native_name"));
    Asked::new(name, text("server"), args, workspaces).ok_or_else(wrong)
}

impl Asked {
    fn new(
        name: Option<&str>,
        server: Option<&str>,
        args: Option<Json>,
        workspaces: Option<Vec<String>>,
    ) -> Option<Self> {
        let mut call = ToolCall::new(name?);
        call.server = server.map(ToOwned::to_owned);
        call.args = match args? {
            Json::Object(args) => args,
            Json::Null => Map::new(),
            _ => return None,
        };
        with_own_name(&mut call);
        Some(Self { call, workspaces: workspaces.unwrap_or_default() })
    }

    /// The call of a payload in native form, where it is one.
    pub(crate) fn of_view(
        payload: &dyn Payload,
        args_of: impl FnOnce(&View<'_>) -> Option<Json>,
    ) -> Option<Self> {
        let text = |name: &str| match payload.get(name) {
            Some(View::Str(text)) => Some(text),
            _ => None,
        };
        let args = payload.get(ARGS).or_else(|| payload.get(ALIAS))?;
        let workspaces = match payload.get("session") {
            Some(View::Dict(session)) => match session.get("workspaces") {
                Some(View::List(all)) => {
                    let text = |item| match item {
                        View::Str(text) => Some(text.into_owned()),
                        _ => None,
                    };
                    Some(all.iter().filter_map(text).collect())
                }
                _ => None,
            },
            _ => None,
        };
        let name = text("name").or_else(|| text("native_name"));
        Self::new(name.as_deref(), text("server").as_deref(), Some(args_of(&args)?), workspaces)
    }

    pub(crate) fn effects(&self) -> Rc<Effects> {
        let longest = self.call.args.values().filter_map(|value| Some(value.as_str()?.len())).max();
        if self.call.is(COMMAND) && longest.is_some_and(|longest| longest > LONGEST) {
            let unknowns = vec![too_much("a command of this length")];
            return Rc::new(Effects { list: Vec::new(), unknowns });
        }
        effects_of(&self.call, &self.workspaces)
    }

    /// A path that somebody asks about: relative ones count from the first workspace.
    pub(crate) fn path(&self, function: &str, path: &str) -> Result<String, String> {
        if path.starts_with('/') || path == "~" || path.starts_with("~/") {
            return Ok(path.to_owned());
        }
        match self.workspaces.first() {
            Some(workspace) => Ok(format!("{workspace}/{path}")),
            None => Err(format!(
                "{function}: `{path}` is relative, and the session has no workspace that it could be \
                 relative to"
            )),
        }
    }

    /// The directory of a command.
    fn directory(&self) -> Option<String> {
        let first = self.workspaces.first();
        match self.call.text("Cwd").filter(|cwd| !cwd.is_empty()) {
            Some(cwd) if cwd.starts_with(['/', '~']) => Some(cwd.to_owned()),
            Some(cwd) => first.map(|workspace| format!("{workspace}/{cwd}")),
            None => first.cloned(),
        }
    }
}

const COMMAND: &str = "run_command";

/// A test of a hook of AI Harness gives a command by the name it has there.
fn with_own_name(call: &mut ToolCall) {
    if call.is(COMMAND)
        && !call.args.contains_key("CommandLine")
        && let Some(command) = call.args.remove("command")
    {
        call.args.insert("CommandLine".to_owned(), command);
    }
}

fn too_much(what: &str) -> Unknown {
    Unknown { why: Why::TooMuch, text: what.to_owned() }
}

// What scripts are given. Each struct and each element counts, so that the limit also bounds how
// many there are.

const STRUCT: usize = bounded::STRUCT as usize;
const EFFECT: usize = bounded::EFFECT as usize;
const LARGEST_EFFECT: usize = bounded::LARGEST_EFFECT as usize;
const MOST_RISKS: usize = bounded::RISKS as usize;
const LARGEST_RISK: usize = bounded::LARGEST_RISK as usize;
const ELEMENT: usize = 16;

fn analysis(found: &Analysis) -> View<'static> {
    let size: usize = found.commands.iter().map(size_of_command).sum();
    let mut unknowns: Vec<_> = found.unknowns.iter().map(unknown_view).collect();
    let commands: &[Command] = if size > LARGEST {
        unknowns.push(unknown_view(&too_much("more commands than can be handed out")));
        &[]
    } else {
        &found.commands
    };
    View::record([
        ("commands", View::list(commands.iter().map(command_view))),
        ("unknown", View::list(unknowns)),
    ])
}

fn size_of_command(command: &Command) -> usize {
    let value = |value: &tollgate_shell::Value| {
        ELEMENT + value.parts().iter().map(|part| part.text().len() + 2).sum::<usize>()
    };
    let argv: usize = command.argv.iter().map(value).sum();
    let redirects = command.redirections.iter().map(|it| STRUCT + value(&it.target));
    let via = command.via.iter().map(|via| ELEMENT + via.len());
    let host = command.host.as_ref().map_or(0, value);
    STRUCT + 2 * argv + redirects.sum::<usize>() + via.sum::<usize>() + host
}

fn command_view(command: &Command) -> View<'static> {
    let text = |value: &tollgate_shell::Value| {
        View::text(value.known().map_or_else(|| value.to_string(), ToOwned::to_owned))
    };
    let program = command.argv.first().and_then(tollgate_shell::Value::known);
    let program = program.map(|path| path.rsplit('/').next().unwrap_or(path).to_owned());
    let known = !command.argv.iter().any(tollgate_shell::Value::has_unknown);
    let redirects = command.redirections.iter().map(|Redirection { access, target }| {
        let access = match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Append => "append",
        };
        View::record([("access", View::text(access)), ("target", text(target))])
    });
    View::record([
        ("program", View::optional(program)),
        ("argv", View::list(command.argv.iter().map(text))),
        ("known", View::Bool(known)),
        ("via", View::list(command.via.iter().map(|via| View::text(via.clone())))),
        ("host", command.host.as_ref().map_or(View::None, text)),
        ("redirects", View::list(redirects)),
    ])
}

fn unknown_view(unknown: &Unknown) -> View<'static> {
    View::record([
        ("why", View::text(unknown.why.name())),
        ("text", View::text(unknown.text.clone())),
    ])
}

impl Asked {
    /// What the call does, and what could not be told.
    pub(crate) fn all(&self) -> View<'static> {
        let effects = self.effects();
        let sizes = effects.list.iter().map(size_of_effect);
        let (size, largest) =
            sizes.fold((0, 0), |(sum, largest), size| (sum + size, size.max(largest)));
        let mut unknowns: Vec<_> = effects.unknowns.iter().map(unknown_view).collect();
        let list: &[Effect] = if size > LARGEST || largest > LARGEST_EFFECT {
            unknowns.push(unknown_view(&too_much("more effects than can be handed out")));
            &[]
        } else {
            &effects.list
        };
        let directory = self.directory();
        let list = list.iter().map(|effect| {
            let place = match &effect.target {
                Target::Path(location) => {
                    let homes = &world::here().homes;
                    let directory = directory.as_deref();
                    Some(Place::of(location, &self.workspaces, directory, homes).name())
                }
                _ => None,
            };
            effect_view(effect, place)
        });
        View::record([("list", View::list(list)), ("unknown", View::list(unknowns))])
    }
}

impl Asked {
    /// What of the call a guard has to stop, the worst first.
    pub(crate) fn risks(&self) -> View<'static> {
        let directory = self.directory();
        let situation = Situation {
            homes: &world::here().homes,
            workspaces: &self.workspaces,
            directory: directory.as_deref(),
            text: self.call.text("CommandLine").unwrap_or_default(),
        };
        let found = risks(&self.effects(), &situation);
        // Those that are left out are less bad than those that are handed out.
        View::list(found.iter().take(MOST_RISKS).map(risk_view))
    }
}

fn risk_view(risk: &Risk) -> View<'static> {
    let reason: String = risk.sentence.chars().take(LARGEST_RISK / 4).collect();
    View::record([
        ("kind", View::text(risk.class.name())),
        ("level", View::text(risk.level.name())),
        ("reason", View::text(reason)),
    ])
}

fn size_of_effect(effect: &Effect) -> usize {
    let target = match &effect.target {
        Target::Path(location) => location.text.len(),
        Target::Host(name) | Target::Program(name) => name.len(),
        Target::Thing { what, name } => what.len() + name.len(),
    };
    let script = effect.script.as_ref().map_or(0, |script| script.path.len());
    EFFECT + target + effect.by.len() + script
}

fn effect_view(effect: &Effect, place: Option<&'static str>) -> View<'static> {
    let (mut path, mut host, mut program, mut thing) = (None, None, None, None);
    match &effect.target {
        Target::Path(location) => path = Some(location),
        Target::Host(name) => host = Some(name.clone()),
        Target::Program(name) => program = Some(name.clone()),
        Target::Thing { what, name } => thing = Some((*what, name.clone())),
    }
    let of_path = |flag: bool| path.map_or(View::None, |_| View::Bool(flag));
    let what = thing.as_ref().map(|(what, _)| *what);
    // A thing without a name is any of its kind.
    let name = thing.map(|(_, name)| name).filter(|name| !name.is_empty());
    View::record([
        ("kind", View::text(effect.kind.name())),
        ("path", View::optional(path.map(|path| path.text.clone()))),
        ("place", View::optional(place)),
        ("reach", View::optional(host.as_deref().map(|host| reach(host).name()))),
        ("host", View::optional(host)),
        ("program", View::optional(program)),
        ("what", View::optional(what)),
        ("name", View::optional(name)),
        ("tree", of_path(effect.tree)),
        ("exact", of_path(path.is_some_and(|path| path.exact))),
        ("destroys", View::Bool(effect.destroys)),
        ("sends", View::Bool(effect.kind == Kind::Network && effect.sends)),
        ("sure", View::Bool(effect.sure)),
        ("by", View::text(effect.by.clone())),
        ("script", View::optional(effect.script.as_ref().map(|script| script.path.clone()))),
    ])
}
