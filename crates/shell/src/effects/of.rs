//! What commands do.

use std::sync::Arc;

use super::arg::Arg;
use super::location;
use super::run::{Call, Out, host_of};
use super::special::{data, verbs};
use super::{Effect, Effects, Kind, Target, Thing, fetched, stray, table, verdicts};
use crate::names::base;
use crate::resolve::{Access, Analysis, Command, Redirection};
use crate::value::{Part, Value};

/// Where a program of the system is found. One of the same name elsewhere is another program.
const SYSTEM_DIRECTORIES: &[&str] = &[
    "/bin",
    "/usr/bin",
    "/usr/local/bin",
    "/sbin",
    "/usr/sbin",
    "/usr/local/sbin",
    "/opt/homebrew/bin",
    "/snap/bin",
    "/run/current-system/sw/bin",
];

/// What a command does, its redirections included.
pub fn of_command(command: &Command) -> Vec<Effect> {
    let mut effects = Out::default();
    add(command, &mut effects);
    effects.list
}

/// What a script does.
pub fn of_analysis(analysis: &Analysis) -> Effects {
    let mut effects = Out::default();
    effects.list.reserve(analysis.commands.len());
    for command in &analysis.commands {
        let before = effects.list.len();
        effects.script.clone_from(&command.script);
        add(command, &mut effects);
        if let Some(host) = &command.host {
            elsewhere(host, &mut effects.list, before);
        }
    }
    for code in &analysis.code {
        effects.script.clone_from(&code.script);
        let command = Command { directories: Arc::clone(&code.directories), ..Command::default() };
        stray::code(&mut Call::new(&command, &code.by, &mut effects), &code.text);
    }
    let mut unknowns = analysis.unknowns.clone();
    unknowns.append(&mut effects.unknowns);
    Effects { list: effects.list, unknowns }
}

/// What happens on another machine happens to other files: of these only deletions count, and in a
/// container that was made to be thrown away not even those. What else is destroyed there is
/// destroyed.
fn elsewhere(host: &Value, list: &mut Vec<Effect>, from: usize) {
    let in_container = host.prefix().starts_with("container ");
    let mut at = 0;
    list.retain(|effect| {
        at += 1;
        let is_path = matches!(effect.target, Target::Path(_));
        at <= from || !is_path || !in_container && effect.kind == Kind::Delete
    });
}

/// Adds what a command does.
pub(super) fn add(command: &Command, effects: &mut Out) {
    for redirection in &command.redirections {
        redirect(command, redirection, effects);
    }
    let Some((program, words)) = command.argv.split_first() else { return };
    let name = base_name(program);
    let own = is_own(program);
    if own {
        let mut call = Call::new(command, name.unwrap_or("$?"), effects);
        call.path(Kind::Execute, Arg::new(program), false);
    }
    match name.and_then(table::find) {
        Some(tool) if tool.is_idle() => {}
        Some(tool) => {
            Call::new(command, name.unwrap_or(""), effects).run(tool, words);
        }
        None => {
            let name = name.map_or_else(|| program.to_string(), str::to_owned);
            let mut call = Call::new(command, &name, effects);
            if !own && !name.is_empty() {
                call.program(name.as_str());
            }
            verbs::unlisted(&mut call, words);
        }
    }
    if let Some(name) = name {
        let mut call = Call::new(command, name, effects);
        let is_wired = |redirection: &Redirection| {
            let target = redirection.target.prefix();
            target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/")
        };
        if matches!(name, "sh" | "bash" | "zsh" | "dash" | "ksh" | "ash")
            && command.redirections.iter().any(is_wired)
        {
            call.is_remote();
        }
        through(&mut call);
        fetched::look(&mut call, name, words);
        verdicts::look(&mut call, name, words);
        let mut call = Call::new(command, name, effects);
        stray::look(&mut call, name, words);
        let prints = matches!(name, "env" | "printenv" | "set" | "export" | "declare" | "typeset");
        let all =
            |word: &Value| matches!(word.known(), Some("-p" | "-x" | "-px" | "-0" | "--null"));
        if prints && words.iter().all(all) {
            call.thing(Thing::Environment, "", false);
        }
    }
    endless(command, name, effects);
}

/// A file that is written without an end fills the disk.
fn endless(command: &Command, name: Option<&str>, effects: &mut Out) {
    let pours = |word: &Value| {
        matches!(word.known(), Some("/dev/zero" | "/dev/urandom" | "/dev/random" | "/dev/full"))
    };
    let words = command.argv.get(1..).unwrap_or(&[]);
    let without_end = match name {
        Some("cat" | "gcat" | "tac" | "pv" | "base64" | "xxd" | "od") => words.iter().any(pours),
        Some("yes") => true,
        _ => false,
    };
    // What stops it after a while is told by how it is run.
    if !without_end || command.via.iter().any(|by| by == "timeout") {
        return;
    }
    let kept = |redirection: &&Redirection| {
        redirection.access != Access::Read && !redirection.target.prefix().starts_with("/dev/")
    };
    if command.redirections.iter().any(|redirection| kept(&redirection)) {
        let mut call = Call::new(command, name.unwrap_or(""), effects);
        call.thing(Thing::Filesystem, "full disk", true);
    }
}

/// Variables by which a program goes through another machine, or gets its packages from there.
fn through(call: &mut Call<'_, '_>) {
    let command = call.command;
    for (name, value) in &command.variables {
        let lower = name.to_ascii_lowercase();
        let text = value.to_string();
        match lower.as_str() {
            "http_proxy" | "https_proxy" | "all_proxy" | "ftp_proxy" => {
                call.goes_through(host_of(&text));
            }
            "npm_config_registry"
            | "pip_index_url"
            | "pip_extra_index_url"
            | "uv_index_url"
            | "uv_default_index"
            | "goproxy"
            | "cargo_registries_crates_io_index" => {
                fetched::index(call, &text);
            }
            _ => {}
        }
    }
}

/// Bash itself connects to `/dev/tcp/host/port`.
fn redirect(command: &Command, redirection: &Redirection, effects: &mut Out) {
    let target = &redirection.target;
    let mut call = Call::new(command, "redirection", effects);
    let prefix = target.prefix();
    if let Some(rest) =
        prefix.strip_prefix("/dev/tcp/").or_else(|| prefix.strip_prefix("/dev/udp/"))
    {
        let host = if rest.is_empty() { "$?" } else { host_of(rest) };
        call.connect(host, redirection.access != Access::Read);
        if command.argv.iter().any(|word| data::flushes(&word.to_string())) {
            call.thing(Thing::Database, "", true);
        }
        return;
    }
    let kind = match redirection.access {
        Access::Read => Kind::Read,
        Access::Write | Access::Append => Kind::Write,
    };
    call.path(kind, Arg::new(target), false);
}

/// The name of a program without its directories, where it is known.
fn base_name(program: &Value) -> Option<&str> {
    match program.parts() {
        [Part::Text(text)] => Some(base(text)),
        [.., Part::Text(text)] => text.rsplit_once('/').map(|(_, name)| name),
        _ => None,
    }
}

/// Whether the program is a file that is not one of the system's.
fn is_own(program: &Value) -> bool {
    match program.known() {
        Some(text) if !text.as_bytes().contains(&b'/') => false,
        Some(text) => match text.rsplit_once('/') {
            Some((directory, _)) => !SYSTEM_DIRECTORIES.contains(&directory),
            None => false,
        },
        None => program.to_string().contains('/'),
    }
}

/// A location and what is done to it, for tools that are no commands.
pub(crate) fn on_path(kind: Kind, path: &str, directory: Option<&Value>, by: &str) -> Effect {
    let mut found = None;
    location::each_of_text(path, directory.map_or(&[], std::slice::from_ref), |location| {
        found.get_or_insert(location);
    });
    let location = found.unwrap_or_else(|| super::Location::path(path));
    let target = Target::Path(location);
    Effect::new(kind, target, by)
}
