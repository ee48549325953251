//! Processes, services, interpreters.

use crate::effects::arg::{Arg, Piece};
use crate::effects::row::{A, DELETE, FORCE, LOOK, PATTERN};
use crate::effects::run::{Call, host_of};
use crate::effects::{Kind, Thing};
use crate::resolve::Input;

/// Services without which nobody can get at the machine.
const VITAL: &[&str] = &[
    "ssh",
    "sshd",
    "network",
    "networking",
    "NetworkManager",
    "systemd-networkd",
    "dbus",
    "systemd-logind",
    "firewalld",
    "ufw",
    "auditd",
    "apparmor",
    "systemd-journald",
    "iptables",
    "nftables",
    "fail2ban",
];

/// Programs that all others hang on.
const VITAL_PROCESSES: &[&str] =
    &["init", "systemd", "sshd", "dbus-daemon", "Xorg", "gnome-shell", "launchd", "WindowServer"];

pub(crate) fn init(call: &mut Call<'_, '_>) {
    if let Some(level) = call.operands.first() {
        let destroys = matches!(level.prefix(), "0" | "6" | "1" | "s" | "S") || level.is_unknown();
        call.thing(Thing::Power, level.text(), destroys);
    }
}

pub(crate) fn stop(call: &mut Call<'_, '_>) {
    let isolates = call.by.ends_with("isolate");
    for unit in std::mem::take(&mut call.operands) {
        let text = unit.text();
        let bare = text.strip_suffix(".service").unwrap_or(&text);
        let destroys = VITAL.contains(&bare) || isolates;
        call.thing(Thing::Service, text, destroys);
    }
}

/// What the machine starts with.
pub(crate) fn default_target(call: &mut Call<'_, '_>) {
    let name = call.operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
    let bare = name.strip_suffix(".target").unwrap_or(&name);
    let destroys =
        matches!(bare, "rescue" | "emergency" | "poweroff" | "reboot" | "halt" | "shutdown");
    call.thing(Thing::Setting, if destroys { name } else { String::new() }, destroys);
}

/// All services of the system, or of a person, at once.
pub(crate) fn bootout(call: &mut Call<'_, '_>) {
    for name in std::mem::take(&mut call.operands) {
        let text = name.text();
        let all = text == "system" || (text.starts_with("gui/") && text.matches('/').count() == 1);
        call.thing(Thing::Service, text, all);
    }
}

/// `fuser -k 3000/tcp` ends what is in the way; what uses a whole file system is another matter.
pub(crate) fn fuser(call: &mut Call<'_, '_>) {
    let names = std::mem::take(&mut call.operands);
    if !call.has(FORCE) {
        return;
    }
    let mounts = call.has(A);
    for name in names {
        let text = name.text();
        let vital = matches!(
            text.trim_end_matches('/'),
            "" | "/home" | "/usr" | "/var" | "/etc" | "/dev" | "/root" | "22/tcp"
        );
        call.thing(Thing::Process, text, mounts || vital);
    }
}

/// Accounts are changed. Without root's, or with a second root, nothing is safe.
pub(crate) fn account(call: &mut Call<'_, '_>) {
    if call.has(LOOK) {
        return;
    }
    let second_root = call.value_of(A).is_some_and(|id| id.is("0"));
    let forced = call.has(FORCE) || second_root;
    let names = std::mem::take(&mut call.operands);
    if names.is_empty() {
        call.thing(Thing::Account, "", forced);
    }
    for name in names {
        let destroys = forced || name.is("root");
        call.thing(Thing::Account, name.text(), destroys);
    }
}

/// `service name verb`, and those that have it the other way round.
pub(crate) fn service(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let looks = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "status" | "list" | "ls" | "logs" | "show" | "info" | "describe" | "list-sessions"
        )
    };
    if words.iter().any(looks) || words.is_empty() {
        return;
    }
    let verb = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "start"
                | "stop"
                | "restart"
                | "reload"
                | "force-reload"
                | "delete"
                | "enable"
                | "disable"
                | "update"
                | "shutdown"
                | "down"
                | "up"
                | "kill"
                | "once"
                | "add"
                | "del"
                | "on"
                | "off"
                | "remove"
        )
    };
    let stops = words.iter().any(|word| {
        matches!(word.prefix(), "stop" | "disable" | "off" | "del" | "down" | "remove")
    });
    let name = words.iter().find(|word| !verb(word)).map(|word| word.text().into_owned());
    let name = name.unwrap_or_default();
    let destroys = stops && VITAL.contains(&name.as_str());
    call.thing(Thing::Service, name, destroys);
}

pub(crate) fn kill(call: &mut Call<'_, '_>) {
    let mut words = std::mem::take(&mut call.operands).into_iter().peekable();
    match words.peek().map(|word| word.prefix()) {
        Some("-s" | "-n" | "--signal") => {
            words.next();
            words.next();
        }
        Some("-l" | "-L" | "--list" | "--table") => return,
        Some("--") => {}
        Some(signal) if signal.starts_with('-') => {
            // Signal 0 only asks whether the process is there.
            if signal == "-0" {
                return;
            }
            words.next();
        }
        _ => {}
    }
    for word in words {
        if word.is("--") {
            continue;
        }
        let text = word.text();
        // -1 is everything there is, 1 is what all others hang on.
        let globs = word.parts().any(|piece| matches!(piece, Piece::Glob(_)));
        let destroys = globs || text.starts_with("/proc") || matches!(text.as_ref(), "-1" | "1");
        call.thing(Thing::Process, text, destroys);
    }
}

pub(crate) fn pkill(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let mut of_user = false;
    let mut names = Vec::new();
    let mut index = 0;
    while let Some(word) = words.get(index) {
        index += 1;
        let prefix = word.prefix();
        match prefix {
            "-u" | "-U" | "-g" | "-G" | "-t" | "-P" | "-s" | "--user" | "--euid" | "--uid"
            | "--signal" | "-y" | "-o" | "-n" | "--session" | "--terminal" | "--parent" => {
                of_user |=
                    matches!(prefix, "-u" | "-U" | "-t" | "-G" | "--user" | "--euid" | "--uid");
                let takes = call.by != "pkill" || !matches!(prefix, "-o" | "-n");
                index += usize::from(takes);
            }
            "-0" | "-l" | "--list" => return,
            _ if prefix.starts_with('-') => {
                let of = ["-u", "-U", "--user=", "--euid=", "--uid="];
                of_user |= of.iter().any(|start| prefix.starts_with(start));
            }
            _ => names.push(*word),
        }
    }
    if names.is_empty() {
        call.thing(Thing::Process, "", of_user);
    }
    for name in names {
        let text = name.text();
        let all = matches!(text.as_ref(), "" | "." | ".*" | "*" | "^" | ".+")
            || VITAL_PROCESSES.contains(&text.as_ref());
        call.thing(Thing::Process, text, all);
    }
}

pub(crate) fn userdel(call: &mut Call<'_, '_>) {
    if call.has(DELETE) {
        for name in std::mem::take(&mut call.operands) {
            if let Some(name) = name.known() {
                call.path_text(Kind::Delete, &format!("/home/{name}"), true);
            }
        }
    }
}

/// `crontab -` takes what comes in for the whole table.
pub(crate) fn crontab(call: &mut Call<'_, '_>) {
    let nothing = call.operands.first().is_some_and(|file| file.is("/dev/null"));
    let known = matches!(call.command.input, Input::Text(_));
    if nothing || (known && call.operands.first().is_some_and(|file| file.is("-"))) {
        call.thing(Thing::Schedule, "", true);
    }
}

pub(crate) fn sysctl(call: &mut Call<'_, '_>) {
    let loads = call.has(A);
    for word in std::mem::take(&mut call.operands) {
        let text = word.text();
        if loads {
            call.path(Kind::Read, word, false);
        } else if let Some((name, _)) = text.split_once('=') {
            call.thing(Thing::Kernel, name.trim(), false);
        }
    }
    if loads {
        call.thing(Thing::Kernel, "", false);
    }
}

pub(crate) fn setting(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let verb = words.first().map_or("", |word| word.prefix());
    let clears = call.by == "nvram";
    let looks = !clears
        && matches!(
            verb,
            "" | "status"
                | "list"
                | "show"
                | "read"
                | "get"
                | "find"
                | "list-schemas"
                | "list-recursively"
                | "list-timezones"
                | "dump"
        );
    if looks {
        return;
    }
    let destroys = (matches!(verb, "delete" | "reset-recursively" | "reset") && words.len() < 3)
        || (call.by == "nvram" && call.command.argv.iter().any(|word| word.known() == Some("-c")));
    let name = words.get(1).map(|word| word.text().into_owned()).unwrap_or_default();
    call.thing(Thing::Setting, name, destroys);
}

pub(crate) fn openssl(call: &mut Call<'_, '_>) {
    if let Some(address) = call.value_of(A) {
        call.host(host_of(&address.text()));
    }
}

pub(crate) fn python(call: &mut Call<'_, '_>) {
    let module = call.value_of(A).and_then(Arg::known);
    match module {
        Some("pip" | "pip3") => {
            let words = std::mem::take(&mut call.operands);
            let verb = words.first().map(|word| word.prefix());
            if matches!(verb, Some("install" | "uninstall")) {
                for name in words.iter().skip(1) {
                    if !name.prefix().starts_with('-') {
                        call.thing(Thing::Package, name.text(), false);
                    }
                }
            }
            if matches!(verb, Some("install" | "download")) {
                call.host("pypi.org");
            }
        }
        Some("venv" | "virtualenv") => {
            for directory in std::mem::take(&mut call.operands) {
                call.path(Kind::Write, directory, true);
            }
        }
        Some(
            "json.tool" | "py_compile" | "compileall" | "this" | "site" | "sysconfig" | "platform",
        ) => {}
        Some("http.server") => serve(call),
        Some(module) => call.program(module),
        None => script(call),
    }
}

/// Everything below a directory is handed out to whoever asks.
fn serve(call: &mut Call<'_, '_>) {
    let words = &call.command.argv;
    let at = words.iter().position(|word| matches!(word.known(), Some("-d" | "--directory")));
    let directory = at.and_then(|at| words.get(at + 1)).map(Arg::new);
    match directory {
        Some(directory) => call.path(Kind::Read, directory, true),
        None => call.path_text(Kind::Read, ".", true),
    }
    call.send("$?");
}

pub(crate) fn node(call: &mut Call<'_, '_>) {
    script(call);
}

/// `perl -i` changes files where they are.
pub(crate) fn interpreter(call: &mut Call<'_, '_>) {
    if call.has(PATTERN) {
        let in_place = call.has(A) && matches!(&*call.by, "perl" | "ruby" | "raku");
        for file in std::mem::take(&mut call.operands) {
            if matches!(&*call.by, "perl" | "ruby" | "raku") {
                call.path(Kind::Read, file, false);
            }
            if in_place {
                call.path(Kind::Write, file, false);
            }
        }
        return;
    }
    script(call);
}

fn script(call: &mut Call<'_, '_>) {
    if call.has(PATTERN) {
        return;
    }
    if let Some(&file) = call.operands.first() {
        call.path(Kind::Execute, file, false);
        let text = file.text();
        let framework =
            matches!(text.rsplit('/').next(), Some("artisan" | "console" | "manage.py" | "rails"));
        if framework && call.operands.iter().skip(1).any(empties) {
            call.thing(Thing::Database, "", true);
        }
    }
}

/// Tasks of web frameworks that empty their database.
fn empties(task: &Arg<'_>) -> bool {
    matches!(
        task.prefix(),
        "flush"
            | "reset_db"
            | "migrate:fresh"
            | "migrate:reset"
            | "migrate:refresh"
            | "db:wipe"
            | "doctrine:schema:drop"
            | "doctrine:database:drop"
            | "db:drop"
            | "db:reset"
    )
}
