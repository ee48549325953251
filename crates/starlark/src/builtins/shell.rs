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
use starlark::const_frozen_string;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::dict::DictRef;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::none::NoneOr;
use starlark::values::structs::AllocStruct;
use starlark::values::{Heap, Value};
use tollgate_core::event::ToolCall;
use tollgate_shell::effects::{Effect, Effects, Place, Target};
use tollgate_shell::policy::effects_of;
use tollgate_shell::resolve::{Access, Redirection};
use tollgate_shell::{Analysis, Command, Surroundings, Unknown, Why, analyze};

use crate::analysis::bounded;
use crate::convert::to_json;
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
        let directory = cwd.into_option().filter(|cwd| cwd.starts_with(['/', '~']));
        let found = if command.len() > LONGEST {
            Analysis { commands: Vec::new(), unknowns: vec![too_much("a command of this length")] }
        } else {
            analyze(command, &Surroundings { directory: directory.map(ToOwned::to_owned) })
        };
        Ok(analysis(&found, eval.heap()))
    }
}

#[starlark_module]
pub(super) fn effects(builder: &mut GlobalsBuilder) {
    /// What the call of a payload does, and what could not be told.
    fn of<'v>(payload: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let asked = Asked::about("effects.of", payload)?;
        Ok(all(&asked.effects(), &asked, eval.heap()))
    }

    /// Whether the call may write or delete at or below a path.
    fn writes_under<'v>(payload: Value<'v>, path: &str) -> anyhow::Result<bool> {
        let asked = Asked::about("effects.writes_under", payload)?;
        Ok(asked.effects().writes_under(&asked.path(path)?))
    }

    /// Whether the call may read at or below a path.
    fn reads_under<'v>(payload: Value<'v>, path: &str) -> anyhow::Result<bool> {
        let asked = Asked::about("effects.reads_under", payload)?;
        Ok(asked.effects().reads_under(&asked.path(path)?))
    }

    /// Whether the call may delete at or below a path.
    fn deletes_under<'v>(payload: Value<'v>, path: &str) -> anyhow::Result<bool> {
        let asked = Asked::about("effects.deletes_under", payload)?;
        Ok(asked.effects().deletes_under(&asked.path(path)?))
    }

    /// Whether the call may reach another machine.
    fn reaches_network<'v>(payload: Value<'v>) -> anyhow::Result<bool> {
        Ok(Asked::about("effects.reaches_network", payload)?.effects().reaches_network())
    }
}

/// A call that is asked about, from the payload of a hook.
struct Asked {
    function: &'static str,
    call: ToolCall,
    workspaces: Vec<String>,
}

impl Asked {
    fn about(function: &'static str, payload: Value<'_>) -> anyhow::Result<Self> {
        let wrong = || {
            anyhow::anyhow!(
                "{function} takes the payload of a call of a tool, with its `name` and `args`"
            )
        };
        let fields = DictRef::from_value(payload).ok_or_else(wrong)?;
        let text = |name: &str| fields.get_str(name).and_then(Value::unpack_str);
        let name = text("name").or_else(|| text("native_name")).ok_or_else(wrong)?;
        let args = fields.get_str(ARGS).or_else(|| fields.get_str(ALIAS));
        let args = match args.map(to_json).transpose().map_err(anyhow::Error::msg)? {
            Some(Json::Object(args)) => args,
            Some(Json::Null) => Map::new(),
            _ => return Err(wrong()),
        };
        let mut call = ToolCall::new(name);
        call.server = text("server").map(ToOwned::to_owned);
        call.args = args;
        with_own_name(&mut call);
        let workspaces = fields
            .get_str("session")
            .and_then(DictRef::from_value)
            .and_then(|session| session.get_str("workspaces"))
            .and_then(ListRef::from_value)
            .map(|all| all.iter().filter_map(Value::unpack_str).map(ToOwned::to_owned).collect())
            .unwrap_or_default();
        Ok(Self { function, call, workspaces })
    }

    fn effects(&self) -> Rc<Effects> {
        let longest = self.call.args.values().filter_map(|value| Some(value.as_str()?.len())).max();
        if self.call.is(COMMAND) && longest.is_some_and(|longest| longest > LONGEST) {
            let unknowns = vec![too_much("a command of this length")];
            return Rc::new(Effects { list: Vec::new(), unknowns });
        }
        effects_of(&self.call, &self.workspaces)
    }

    /// A path that somebody asks about: relative ones count from the first workspace.
    fn path(&self, path: &str) -> anyhow::Result<String> {
        if path.starts_with('/') || path == "~" || path.starts_with("~/") {
            return Ok(path.to_owned());
        }
        match self.workspaces.first() {
            Some(workspace) => Ok(format!("{workspace}/{path}")),
            None => anyhow::bail!(
                "{}: `{path}` is relative, and the session has no workspace that it could be \
                 relative to",
                self.function
            ),
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
const ELEMENT: usize = 16;

fn analysis<'v>(found: &Analysis, heap: Heap<'v>) -> Value<'v> {
    let size: usize = found.commands.iter().map(size_of_command).sum();
    let mut unknowns = unknown_values(&found.unknowns, heap);
    let commands: &[Command] = if size > LARGEST {
        unknowns.push(unknown_value(&too_much("more commands than can be handed out"), heap));
        &[]
    } else {
        &found.commands
    };
    let commands = commands.iter().map(|command| command_value(command, heap));
    heap.alloc(AllocStruct([
        (const_frozen_string!("commands"), heap.alloc(AllocList(commands))),
        (const_frozen_string!("unknown"), heap.alloc(AllocList(unknowns))),
    ]))
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

fn command_value<'v>(command: &Command, heap: Heap<'v>) -> Value<'v> {
    let text = |value: &tollgate_shell::Value| match value.known() {
        Some(text) => heap.alloc(text),
        None => heap.alloc(value.to_string()),
    };
    let program = command.argv.first().and_then(tollgate_shell::Value::known);
    let program = program.map(|path| path.rsplit('/').next().unwrap_or(path));
    let known = !command.argv.iter().any(tollgate_shell::Value::has_unknown);
    let via = command.via.iter().map(String::as_str);
    let redirects = command.redirections.iter().map(|Redirection { access, target }| {
        let access = match access {
            Access::Read => "read",
            Access::Write => "write",
            Access::Append => "append",
        };
        heap.alloc(AllocStruct([
            (const_frozen_string!("access"), heap.alloc(access)),
            (const_frozen_string!("target"), text(target)),
        ]))
    });
    heap.alloc(AllocStruct([
        (const_frozen_string!("program"), optional(program, heap)),
        (const_frozen_string!("argv"), heap.alloc(AllocList(command.argv.iter().map(text)))),
        (const_frozen_string!("known"), Value::new_bool(known)),
        (const_frozen_string!("via"), heap.alloc(AllocList(via))),
        (const_frozen_string!("host"), command.host.as_ref().map_or_else(Value::new_none, text)),
        (const_frozen_string!("redirects"), heap.alloc(AllocList(redirects))),
    ]))
}

fn optional<'v>(text: Option<&str>, heap: Heap<'v>) -> Value<'v> {
    text.map_or_else(Value::new_none, |text| heap.alloc(text))
}

fn unknown_values<'v>(unknowns: &[Unknown], heap: Heap<'v>) -> Vec<Value<'v>> {
    unknowns.iter().map(|unknown| unknown_value(unknown, heap)).collect()
}

fn unknown_value<'v>(unknown: &Unknown, heap: Heap<'v>) -> Value<'v> {
    heap.alloc(AllocStruct([
        (const_frozen_string!("why"), heap.alloc(unknown.why.name())),
        (const_frozen_string!("text"), heap.alloc(unknown.text.as_str())),
    ]))
}

fn all<'v>(effects: &Effects, asked: &Asked, heap: Heap<'v>) -> Value<'v> {
    let sizes = effects.list.iter().map(size_of_effect);
    let (size, largest) =
        sizes.fold((0, 0), |(sum, largest), size| (sum + size, size.max(largest)));
    let mut unknowns = unknown_values(&effects.unknowns, heap);
    let list: &[Effect] = if size > LARGEST || largest > LARGEST_EFFECT {
        unknowns.push(unknown_value(&too_much("more effects than can be handed out"), heap));
        &[]
    } else {
        &effects.list
    };
    let directory = asked.directory();
    let list = list.iter().map(|effect| {
        let place = match &effect.target {
            Target::Path(location) => {
                Some(Place::of(location, &asked.workspaces, directory.as_deref()).name())
            }
            _ => None,
        };
        effect_value(effect, place, heap)
    });
    heap.alloc(AllocStruct([
        (const_frozen_string!("list"), heap.alloc(AllocList(list))),
        (const_frozen_string!("unknown"), heap.alloc(AllocList(unknowns))),
    ]))
}

fn size_of_effect(effect: &Effect) -> usize {
    let target = match &effect.target {
        Target::Path(location) => location.text.len(),
        Target::Host(name) | Target::Program(name) => name.len(),
        Target::Thing { what, name } => what.len() + name.len(),
    };
    EFFECT + target + effect.by.len()
}

fn effect_value<'v>(effect: &Effect, place: Option<&str>, heap: Heap<'v>) -> Value<'v> {
    let (mut path, mut host, mut program, mut thing) = (None, None, None, None);
    match &effect.target {
        Target::Path(location) => path = Some(location),
        Target::Host(name) => host = Some(name.as_str()),
        Target::Program(name) => program = Some(name.as_str()),
        Target::Thing { what, name } => thing = Some((*what, name.as_str())),
    }
    let of_path = |flag: bool| path.map_or_else(Value::new_none, |_| Value::new_bool(flag));
    // A thing without a name is any of its kind.
    let name = thing.map(|(_, name)| name).filter(|name| !name.is_empty());
    heap.alloc(AllocStruct([
        (const_frozen_string!("kind"), heap.alloc(effect.kind.name())),
        (const_frozen_string!("path"), optional(path.map(|path| path.text.as_str()), heap)),
        (const_frozen_string!("place"), optional(place, heap)),
        (const_frozen_string!("host"), optional(host, heap)),
        (const_frozen_string!("program"), optional(program, heap)),
        (const_frozen_string!("what"), optional(thing.map(|(what, _)| what), heap)),
        (const_frozen_string!("name"), optional(name, heap)),
        (const_frozen_string!("tree"), of_path(effect.tree)),
        (const_frozen_string!("exact"), of_path(path.is_some_and(|path| path.exact))),
        (const_frozen_string!("destroys"), Value::new_bool(effect.destroys)),
        (const_frozen_string!("by"), heap.alloc(effect.by.as_str())),
    ]))
}
