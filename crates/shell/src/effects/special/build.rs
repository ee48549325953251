//! Builds.

use crate::effects::arg::Arg;
use crate::effects::row::INPLACE;
use crate::effects::run::Call;
use crate::effects::{Kind, Thing};

/// `cmake -E rm -rf x`: small tools of its own.
pub(crate) fn cmake(call: &mut Call<'_, '_>) {
    if !call.has(INPLACE) {
        call.program(call.by.clone());
        return;
    }
    let words = std::mem::take(&mut call.operands);
    let Some((verb, files)) = words.split_first() else { return };
    let tree = call.command.argv.iter().any(|word| {
        let prefix = word.prefix();
        prefix.starts_with('-') && !prefix.starts_with("--") && prefix.contains(['r', 'R'])
    });
    match verb.prefix() {
        "rm" | "remove" => {
            for &file in files {
                call.path(Kind::Delete, file, tree);
            }
        }
        "remove_directory" => {
            for &file in files {
                call.path(Kind::Delete, file, true);
            }
        }
        "make_directory" | "touch" => {
            for &file in files {
                call.path(Kind::Write, file, false);
            }
        }
        "copy" | "copy_directory" | "rename" | "copy_if_different" => {
            let Some((&target, sources)) = files.split_last() else { return };
            for &source in sources {
                let kind = if verb.is("rename") { Kind::Delete } else { Kind::Read };
                call.path(kind, source, true);
            }
            call.path(Kind::Write, target, true);
        }
        _ => {}
    }
}

/// `mvn deploy` publishes.
pub(crate) fn maven(call: &mut Call<'_, '_>) {
    let empties = |goal: &Arg<'_>| {
        let text = goal.text();
        let last = text.rsplit(':').next().unwrap_or(&text);
        matches!(last, "flywayClean" | "dropAll")
            || (last == "clean" && text.contains("flyway"))
            || (last == "drop" && text.contains(':'))
    };
    if call.operands.iter().any(empties) {
        call.thing(Thing::Database, "", true);
    }
    if call.operands.iter().any(|goal| goal.is("deploy")) {
        call.thing(Thing::Cloud, "", false);
        call.host("$?");
    }
    call.program(call.by.clone());
}

/// Frameworks whose tasks may empty a database.
pub(crate) fn server(call: &mut Call<'_, '_>) {
    let verb = call.operands.first().map_or("", |word| word.prefix());
    if matches!(verb, "flush" | "reset_db" | "sqlflush" | "drop_db") && verb != "sqlflush" {
        call.thing(Thing::Database, "", true);
    }
    call.program(call.by.clone());
}

/// Phones.
pub(crate) fn android(call: &mut Call<'_, '_>) {
    let verb = call.operands.first().map_or("", |word| word.prefix());
    let name = call.operands.get(1).map(|word| word.text().into_owned()).unwrap_or_default();
    match verb {
        "erase" | "format" | "flashall" | "-w" => call.thing(Thing::Device, name, true),
        "flash" | "reboot" | "install" | "uninstall" | "push" | "root" | "remount" | "oem"
        | "flashing" => {
            call.thing(Thing::Device, name, false);
        }
        _ => {}
    }
}
