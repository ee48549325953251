//! Machines in machines and at a distance: what the words of their programs mean.

use crate::effects::arg::Arg;
use crate::effects::row::DELETE;
use crate::effects::run::Call;
use crate::effects::special::verbs;
use crate::effects::{Kind, Thing};

fn any(words: &[Arg<'_>], names: &[&str]) -> bool {
    words.iter().any(|word| names.iter().any(|name| word.text().eq_ignore_ascii_case(name)))
}

fn last(words: &[Arg<'_>]) -> String {
    words.last().map(|word| word.text().into_owned()).unwrap_or_default()
}

/// Taken out of the list it may keep its disk; with `--delete` it does not.
pub(crate) fn virtual_box(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let deletes = call.has(DELETE) || any(&words, &["delete", "closemedium"]);
    let off = any(&words, &["poweroff", "reset"]) && any(&words, &["controlvm"]);
    let looks = words.first().is_none_or(|word| verbs::looks(word.prefix()));
    if deletes || off || !looks {
        let name = words.get(1).map(|word| word.text().into_owned()).unwrap_or_default();
        call.thing(Thing::Container, name, deletes || off);
    }
}

pub(crate) fn nomad(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let gone = call.has(DELETE)
        || any(&words, &["purge", "delete", "gc"]) && !any(&words, &["status"])
        || words.first().is_some_and(|word| word.is("stop"));
    if gone {
        call.thing(Thing::Cluster, last(&words), true);
    } else {
        call.program("nomad");
    }
}

/// The small machine that turns the large one off.
pub(crate) fn far(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let off = [
        "off",
        "cycle",
        "reset",
        "soft",
        "diag",
        "powerdown",
        "powercycle",
        "hardreset",
        "graceshutdown",
        "racresetcfg",
    ];
    if any(&words, &["power", "serveraction", "racresetcfg"]) && any(&words, &off) {
        call.thing(Thing::Power, "", true);
    } else if any(&words, &["sel", "clrsel"]) && any(&words, &["clear", "clrsel"]) {
        call.thing(Thing::Log, "", true);
    }
    call.host("$?");
}

/// Messages to services: some of them turn the machine off.
pub(crate) fn bus(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let off = |word: &Arg<'_>| {
        let text = word.text();
        let method = text.rsplit('.').next().unwrap_or(&text);
        matches!(
            method,
            "PowerOff" | "Reboot" | "Halt" | "Suspend" | "Hibernate" | "KExec" | "HybridSleep"
        )
    };
    if words.iter().any(off) {
        call.thing(Thing::Power, "", true);
    }
    call.program(call.by.clone());
}

/// Tools of Windows, which can be reached from a shell there.
pub(crate) fn windows(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let first = words.first().map(|word| word.text().to_ascii_lowercase()).unwrap_or_default();
    let name = words.get(1).map(|word| word.text().into_owned()).unwrap_or_default();
    let tool = call.by.split('.').next().unwrap_or("").to_owned();
    match tool.as_str() {
        "wevtutil" if matches!(first.as_str(), "cl" | "clear-log") => {
            call.thing(Thing::Log, name, true);
        }
        "bcdedit" if matches!(first.as_str(), "/delete" | "/deletevalue") => {
            call.thing(Thing::Device, name, true);
        }
        "vssadmin" | "wbadmin" if first == "delete" => call.thing(Thing::Filesystem, name, true),
        "reg" if first == "delete" => call.thing(Thing::Setting, name, true),
        "format" if first.len() == 2 && first.ends_with(':') => {
            call.thing(Thing::Device, first, true);
        }
        "diskpart" => call.thing(Thing::Device, "", true),
        "icacls" if any(&words, &["/reset", "/deny", "/inheritance:r", "/remove"]) => {
            if let Some(&path) = words.first() {
                let tree = any(&words, &["/t"]) || path.is("/");
                call.path(Kind::Write, path, tree);
            }
        }
        _ => {}
    }
}

pub(crate) fn switch(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let gone = any(&words, &["del-br", "del-port", "emer-reset", "del-flows", "del-controller"]);
    let looks = words.first().is_none_or(|word| {
        matches!(word.prefix(), "show" | "dump-flows" | "dump-ports") || verbs::looks(word.prefix())
    });
    if gone || !looks {
        call.thing(Thing::Network, last(&words), gone);
    }
}

/// The way to the machine may be through it.
pub(crate) fn tunnel(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let verb = words.first().map_or("", |word| word.prefix());
    match verb {
        "down" | "logout" | "leave" | "disconnect" => {
            call.thing(Thing::Network, last(&words), true);
        }
        "up" | "login" | "set" | "join" | "connect" => call.thing(Thing::Network, "", false),
        _ => {}
    }
    call.host("$?");
}

pub(crate) fn directory(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let gone = any(&words, &["-delete", "-deleteUser", "userdel", "groupdel"]);
    let looks = any(&words, &["-list", "-read", "-search", "usershow", "-secureTokenStatus"]);
    if gone || !looks && !words.is_empty() {
        call.thing(Thing::Account, last(&words), gone);
    }
}

/// `create -f raw FILE SIZE`, `convert FROM TO`, `resize FILE SIZE`.
pub(crate) fn qemu_img(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let Some((verb, files)) = words.split_first() else { return };
    match verb.prefix() {
        "create" | "resize" | "commit" | "amend" | "rebase" | "snapshot" => {
            if let Some(&file) = files.first() {
                call.path(Kind::Write, file, false);
            }
        }
        "convert" | "dd" => {
            let Some((&target, sources)) = files.split_last() else { return };
            for &source in sources {
                call.path(Kind::Read, source, false);
            }
            call.path(Kind::Write, target, false);
        }
        _ => {
            for &file in files {
                call.path(Kind::Read, file, false);
            }
        }
    }
}
