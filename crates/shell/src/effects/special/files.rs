//! Copying, moving, linking.

use crate::effects::arg::{Arg, Piece};
use crate::effects::row::{A, B, C, TARGET, TREE};
use crate::effects::run::Call;
use crate::effects::{Kind, Thing};

/// Directories that are there on every machine: what is copied to them goes into them.
const KNOWN_DIRECTORIES: &[&str] = &[
    "/",
    "/tmp",
    "/var/tmp",
    "/dev/shm",
    "/etc",
    "/usr",
    "/usr/bin",
    "/usr/local",
    "/usr/local/bin",
    "/usr/lib",
    "/usr/share",
    "/bin",
    "/sbin",
    "/lib",
    "/opt",
    "/srv",
    "/var",
    "/var/log",
    "/var/lib",
    "/home",
    "/root",
    "/boot",
    "/mnt",
    "/media",
    "/dev",
    "/run",
    "/etc/systemd/system",
    "/etc/nginx",
    "/usr/sbin",
    "/usr/local/sbin",
];

pub(crate) fn date(call: &mut Call<'_, '_>) {
    if call.has(A) {
        call.thing(Thing::Setting, "time", false);
    }
}

pub(crate) fn cp(call: &mut Call<'_, '_>) {
    let tree = call.has(TREE);
    transfer(call, tree, |call, source| call.path(Kind::Read, source, tree));
}

pub(crate) fn mv(call: &mut Call<'_, '_>) {
    transfer(call, true, |call, source| call.path(Kind::Delete, source, true));
}

pub(crate) fn install(call: &mut Call<'_, '_>) {
    if call.has(B) {
        for directory in std::mem::take(&mut call.operands) {
            call.path(Kind::Write, directory, false);
        }
        return;
    }
    transfer(call, false, |call, source| call.path(Kind::Read, source, false));
}

pub(crate) fn ln(call: &mut Call<'_, '_>) {
    let symbolic = call.has(C);
    // A symbolic link does not touch what it points to.
    if let [only] = call.operands.as_slice()
        && !call.has(TARGET)
    {
        let only = *only;
        if !symbolic {
            call.path(Kind::Read, only, false);
        }
        let name = base_name(only);
        call.path_text(Kind::Write, &name, false);
        return;
    }
    transfer(call, false, |call, source| {
        if !symbolic {
            call.path(Kind::Read, source, false);
        }
    });
}

/// Takes sources and a destination apart.
pub(crate) fn transfer<'a>(
    call: &mut Call<'a, '_>,
    tree: bool,
    mut from: impl FnMut(&mut Call<'a, '_>, Arg<'a>),
) {
    let mut sources = std::mem::take(&mut call.operands);
    let target = call.value_of(TARGET);
    let (target, into) = if let Some(target) = target {
        (target, true)
    } else {
        let Some(target) = sources.pop() else { return };
        if sources.is_empty() {
            // One operand alone is an error, and still a name to know of.
            call.path(Kind::Read, target, false);
            return;
        }
        (target, !call.has(A) && (sources.len() > 1 || is_directory(target)))
    };
    for &source in &sources {
        from(call, source);
    }
    for &source in &sources {
        if into {
            let name = base_name(source);
            call.path_in(Kind::Write, target, &name, tree);
        } else {
            call.path(Kind::Write, target, tree);
        }
    }
}

/// Whether it is a directory for sure, by how it is written.
pub(crate) fn is_directory(target: Arg<'_>) -> bool {
    let text = target.text();
    text.ends_with('/')
        || matches!(text.rsplit('/').next(), Some("." | ".."))
        || KNOWN_DIRECTORIES.contains(&text.as_ref())
        || target.parts().last() == Some(Piece::Home)
}

/// The last name of a path. Of a directory's contents (`a/.`, `.`) there is none.
pub(crate) fn base_name(source: Arg<'_>) -> String {
    let text = source.text();
    let name = text.trim_end_matches('/').rsplit('/').next().unwrap_or("");
    match name {
        "." | ".." | "~" => String::new(),
        _ => name.to_owned(),
    }
}

/// So much that no disk has it.
pub(crate) fn fallocate(call: &mut Call<'_, '_>) {
    let huge = |size: Arg<'_>| {
        let text = size.text();
        text.trim_end_matches(['i', 'B']).ends_with(['T', 'P', 'E', 'Z', 'Y'])
            || text.len() > 13 && text.chars().all(|letter| letter.is_ascii_digit())
    };
    if call.value_of(A).is_some_and(huge) {
        call.thing(Thing::Filesystem, "full disk", true);
    }
}

/// `if=` and `of=`.
pub(crate) fn dd(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let has = |start: &str| words.iter().any(|word| word.prefix().starts_with(start));
    let pours = ["if=/dev/zero", "if=/dev/urandom", "if=/dev/random"];
    let counts = has("count=");
    if !counts && has("of=") && !has("of=/dev/") && pours.iter().any(|start| has(start)) {
        call.thing(Thing::Filesystem, "full disk", true);
    }
    for arg in words {
        if arg.prefix().starts_with("if=") {
            call.path(Kind::Read, arg.behind(3), false);
        } else if arg.prefix().starts_with("of=") {
            call.path(Kind::Write, arg.behind(3), false);
        }
    }
}

/// `+i`, `-R`, `=a`, then files.
pub(crate) fn chattr(call: &mut Call<'_, '_>) {
    let mut tree = false;
    let mut modes = call.by != "chflags";
    let mut skip = false;
    for arg in std::mem::take(&mut call.operands) {
        let prefix = arg.prefix();
        if std::mem::take(&mut skip) {
            continue;
        }
        if prefix.starts_with('-') && prefix.contains('R') {
            tree = true;
        } else if matches!(prefix, "-p" | "-v") {
            skip = true;
        } else if modes && prefix.starts_with(['+', '-', '=']) {
        } else if !modes {
            // The flags come first, as a word.
            modes = true;
        } else {
            call.path(Kind::Write, arg, tree);
        }
    }
}
