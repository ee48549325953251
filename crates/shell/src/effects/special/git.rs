//! What git does beyond its options.

use crate::effects::arg::Arg;
use crate::effects::row::{A, ALL, B, C, DELETE, FORCE, GLOBAL, INPLACE, LOOK, ONE};
use crate::effects::run::{Call, host_of};
use crate::effects::special::files;
use crate::effects::{Kind, Thing};

/// Whether a path means everything: `.`, `*`, `:/`, something above.
fn is_everything(arg: Arg<'_>) -> bool {
    let text = arg.text();
    let text = text.strip_prefix("./").filter(|rest| !rest.is_empty()).unwrap_or(&text);
    matches!(text.trim_end_matches('/'), "." | "*" | ":" | "" | ":/" | ":(top)" | "**")
        || text.starts_with("..")
        || text.starts_with('~')
        || text.starts_with("$?")
}

/// The machine of a remote, where it is an address.
fn reach(call: &mut Call<'_, '_>, remote: Option<Arg<'_>>) {
    let sends = call.name == "push";
    let text = remote.map(Arg::text).unwrap_or_default();
    let address = text.contains("://") || text.contains('@') || text.contains(':');
    if address && !text.starts_with("file://") {
        call.connect(host_of(&text), sends);
    } else if text.starts_with(['/', '.']) || text.starts_with("file://") {
        // Another directory of this machine.
        if call.name != "push" {
            call.path_text(Kind::Read, text.trim_start_matches("file://"), true);
        }
    } else if text.is_empty() {
        call.connect("remote", sends);
    } else if text.contains("$?") {
        call.connect("$?", sends);
    } else {
        call.connect(format!("remote {text}"), sends);
    }
}

pub(crate) fn other(call: &mut Call<'_, '_>) {
    if let Some(first) = call.operands.first().copied() {
        if matches!(first.prefix(), "obliterate" | "nuke" | "clear") {
            call.thing(Thing::History, "", true);
        }
        let name = format!("git {}", first.text());
        call.program(name);
    }
}

pub(crate) fn push(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let refs = operands.get(1..).unwrap_or(&[]);
    let forced = |reference: &Arg<'_>| {
        reference.prefix().starts_with('+')
            || (reference.prefix().starts_with(':') && !reference.is(":"))
    };
    // What others have built on the main branch is lost to them, whatever was looked at before.
    let is_main = |reference: &Arg<'_>| {
        let text = reference.text();
        let name = text.rsplit(':').next().unwrap_or(&text).trim_start_matches("refs/heads/");
        matches!(name, "main" | "master" | "trunk" | "develop" | "production" | "release")
    };
    let leased = call.has(A) && refs.iter().any(is_main);
    let destroys = call.has(FORCE | DELETE) || refs.iter().any(forced) || leased;
    if call.has(DELETE) {
        call.say("--delete");
    } else if destroys {
        call.say("--force");
    }
    let name = refs.first().map(|name| name.text().into_owned()).unwrap_or_default();
    call.thing(Thing::History, name, destroys);
    reach(call, operands.first().copied());
}

/// A branch that is set to something else, by force, loses the commits that only it has.
pub(crate) fn fetch(call: &mut Call<'_, '_>) {
    let overwrites = |reference: &Arg<'_>| {
        let text = reference.text();
        let (forced, text) = match text.strip_prefix('+') {
            Some(rest) => (true, rest),
            None => (call.has(FORCE), text.as_ref()),
        };
        let target = text.split_once(':').map_or("", |(_, target)| target);
        let kept = ["refs/remotes/", "refs/pull/", "refs/tags/", "refs/notes/"];
        forced && !target.is_empty() && !kept.iter().any(|start| target.starts_with(start))
    };
    let destroys = call.operands.iter().skip(1).any(overwrites);
    call.thing(Thing::Repository, "", destroys);
    remote(call);
}

/// One tag is soon set again; many of them, of names nobody has seen, are not.
pub(crate) fn tag(call: &mut Call<'_, '_>) {
    let names = std::mem::take(&mut call.operands);
    if call.has(LOOK) || (names.is_empty() && !call.has(DELETE)) {
        return;
    }
    let unseen = |name: &Arg<'_>| name.known().is_none();
    let destroys = call.has(DELETE) && (names.is_empty() || names.iter().any(unseen));
    call.thing(Thing::Repository, "", destroys);
}

pub(crate) fn update_ref(call: &mut Call<'_, '_>) {
    let name = call.operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
    let branch = name.starts_with("refs/heads/") || name == "HEAD";
    if call.has(DELETE) || branch {
        call.thing(Thing::History, "", true);
    } else {
        call.thing(Thing::Repository, "", false);
    }
}

/// `git bundle create FILE commits`.
pub(crate) fn bundle(call: &mut Call<'_, '_>) {
    call.path_text(Kind::Read, ".", true);
    if let [verb, file, ..] = call.operands.as_slice()
        && verb.is("create")
    {
        let file = *file;
        call.path(Kind::Write, file, false);
    }
}

/// What was once public stays known.
pub(crate) fn visibility(call: &mut Call<'_, '_>) {
    if call.name == "edit" && call.value_of(A).is_some_and(|to| to.is("public")) {
        call.thing(Thing::Cloud, "public", true);
    }
}

pub(crate) fn remote(call: &mut Call<'_, '_>) {
    let first = call.operands.first().copied();
    reach(call, first);
}

pub(crate) fn clone(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let Some(&source) = operands.first() else { return };
    if call.by.starts_with("git") {
        reach(call, Some(source));
    }
    if let Some(&target) = operands.get(1) {
        call.path(Kind::Write, target, true);
        return;
    }
    let name = files::base_name(source);
    let name = name.rsplit(':').next().unwrap_or(&name);
    let name = name.strip_suffix(".git").unwrap_or(name);
    call.path_text(Kind::Write, if name.is_empty() { "." } else { name }, true);
}

/// `git checkout branch`, `git checkout -- files`, `git checkout commit files`.
pub(crate) fn checkout(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let words = &call.command.argv;
    let dashes = words.iter().position(|word| word.known() == Some("--"));
    // Operands behind the two dashes are files; without them, all behind the first may be.
    let behind = dashes.map(|at| words.len() - at - 1);
    let files = match behind {
        Some(count) => operands.get(operands.len().saturating_sub(count)..),
        None if call.has(A) || call.name == "switch" => None,
        None => match operands.as_slice() {
            [only] if is_everything(*only) => operands.get(..),
            _ => operands.get(1..),
        },
    };
    let files = files.unwrap_or(&[]);
    let destroys = call.has(FORCE | C) || files.iter().any(|file| is_everything(*file));
    call.thing(Thing::Repository, "", destroys);
    if files.is_empty() {
        call.maybe(|call| call.path_text(Kind::Write, ".", true));
    }
    for &file in files {
        call.path(Kind::Write, file, is_everything(file));
    }
}

pub(crate) fn restore(call: &mut Call<'_, '_>) {
    let files = std::mem::take(&mut call.operands);
    // The index alone can be made again from the files.
    if call.has(A) && !call.has(B) {
        call.thing(Thing::Repository, "", false);
        return;
    }
    let destroys = files.iter().any(|file| is_everything(*file));
    call.thing(Thing::Repository, "", destroys);
    for file in files {
        call.path(Kind::Write, file, is_everything(file));
    }
}

pub(crate) fn clean(call: &mut Call<'_, '_>) {
    let paths = std::mem::take(&mut call.operands);
    // It refuses without force, unless a setting says otherwise.
    if !call.has(FORCE)
        && !call.command.argv.iter().any(|word| word.prefix().starts_with("clean.requireForce"))
    {
        return;
    }
    let destroys = paths.is_empty() || paths.iter().any(|path| is_everything(*path));
    call.thing(Thing::Repository, "", destroys);
    if paths.is_empty() {
        call.path_text(Kind::Delete, ".", true);
    }
    for path in paths {
        call.path(Kind::Delete, path, true);
    }
}

pub(crate) fn branch(call: &mut Call<'_, '_>) {
    let names = std::mem::take(&mut call.operands);
    // Renamed or copied over a branch that every repository has.
    let taken = |name: &Arg<'_>| {
        matches!(
            name.prefix(),
            "main" | "master" | "develop" | "dev" | "trunk" | "production" | "release" | "staging"
        )
    };
    if call.has(FORCE) {
        call.say("-D");
    }
    let replaces = call.has(B) && matches!(names.as_slice(), [_, new] if taken(new));
    let moves = call.has(C) && !call.has(LOOK) && !names.is_empty();
    let destroys = call.has(FORCE) || moves || replaces;
    // Behind the name of a branch that is made or moved is where it begins.
    let one = !call.has(FORCE | DELETE | B);
    if !destroys && !call.has(DELETE) && (names.is_empty() || call.has(LOOK)) {
        return;
    }
    for name in names.into_iter().take(if one { 1 } else { usize::MAX }) {
        call.thing(Thing::Repository, name.text(), destroys);
    }
}

/// Deleted where all others get it from, or here, as a change that can be taken back.
pub(crate) fn published(call: &mut Call<'_, '_>) {
    let force = call.has(FORCE);
    for target in std::mem::take(&mut call.operands) {
        if target.prefix().contains("://") || target.prefix().starts_with('^') {
            call.thing(Thing::History, target.text(), true);
        } else {
            call.path(Kind::Delete, target, force);
            call.thing(Thing::Repository, "", force);
        }
    }
}

pub(crate) fn mv(call: &mut Call<'_, '_>) {
    files::mv(call);
    call.thing(Thing::Repository, "", false);
}

pub(crate) fn gc(call: &mut Call<'_, '_>) {
    let now = call.value_of(A).is_some_and(|when| when.is("now") || when.is("all"));
    call.thing(if now { Thing::History } else { Thing::Repository }, "", now);
}

pub(crate) fn config(call: &mut Call<'_, '_>) {
    let looks = call.has(LOOK) || (call.has(ONE) && !call.has(INPLACE));
    let verb = call.operands.first().map(|first| first.prefix());
    if looks || matches!(verb, Some("get" | "list")) || call.operands.is_empty() {
        return;
    }
    let name = match verb {
        Some("set" | "unset" | "remove-section" | "rename-section" | "edit") => {
            call.operands.get(1)
        }
        _ => call.operands.first(),
    };
    let name = name.map(|name| name.text().into_owned()).unwrap_or_default();
    call.thing(Thing::Setting, name, false);
    // Which setting it is says more than the file it is in.
    call.maybe(|call| {
        if call.has(GLOBAL) {
            call.path_text(Kind::Write, "~/.gitconfig", false);
        } else if call.has(ALL) {
            call.path_text(Kind::Write, "/etc/gitconfig", false);
        }
    });
}

pub(crate) fn gh_api(call: &mut Call<'_, '_>) {
    api(call, "github.com");
}

pub(crate) fn glab_api(call: &mut Call<'_, '_>) {
    api(call, "gitlab.com");
}

fn api(call: &mut Call<'_, '_>, host: &str) {
    let deletes =
        call.value_of(A).is_some_and(|method| method.prefix().eq_ignore_ascii_case("delete"));
    let name = call.operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
    if deletes {
        call.thing(Thing::Cloud, name, true);
    } else if call.value_of(A).is_some_and(|method| !method.prefix().eq_ignore_ascii_case("get")) {
        call.thing(Thing::Cloud, name, false);
    }
    call.host(host);
}
