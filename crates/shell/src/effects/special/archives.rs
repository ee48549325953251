//! Archives: what is read, what is written where.

use crate::effects::arg::Arg;
use crate::effects::row::{A, B, C, DELETE, INPLACE, LOOK, TARGET, TREE};
use crate::effects::run::Call;
use crate::effects::{Kind, Thing};

pub(crate) fn tar(call: &mut Call<'_, '_>) {
    let archive = call.value_of(C);
    let directory = call.value_of(TARGET);
    let members = std::mem::take(&mut call.operands);
    if call.has(B) {
        if let Some(archive) = archive {
            call.path(Kind::Write, archive, false);
        }
        let delete = call.has(DELETE);
        for member in members {
            let kinds = [Some(Kind::Read), delete.then_some(Kind::Delete)];
            for kind in kinds.into_iter().flatten() {
                match (directory, member.known()) {
                    (Some(directory), Some(name)) if !name.starts_with('/') => {
                        call.path_in(kind, directory, name, true);
                    }
                    _ => call.path(kind, member, true),
                }
            }
        }
        return;
    }
    if let Some(archive) = archive {
        let kind = if call.has(DELETE) { Kind::Write } else { Kind::Read };
        call.path(kind, archive, false);
    }
    if call.has(A) && !call.has(LOOK) {
        call.unpack(directory);
        // Names in the archive may be absolute then.
        if call.has(INPLACE) {
            call.path_text(Kind::Write, "/", true);
        }
    }
}

pub(crate) fn unzip(call: &mut Call<'_, '_>) {
    let mut operands = std::mem::take(&mut call.operands).into_iter();
    // `unrar x file`: a letter comes first.
    let first = operands.next();
    let archive = match first {
        Some(letter) if call.by == "unrar" && letter.prefix().len() == 1 => operands.next(),
        first => first,
    };
    if let Some(archive) = archive {
        call.path(Kind::Read, archive, false);
    }
    if call.has(LOOK) {
        return;
    }
    let directory = call.value_of(TARGET);
    call.unpack(directory);
}

pub(crate) fn gzip(call: &mut Call<'_, '_>) {
    squeeze(call, !call.has(A));
}

pub(crate) fn gunzip(call: &mut Call<'_, '_>) {
    squeeze(call, false);
}

/// The file is replaced by another one, with an ending more or less.
fn squeeze(call: &mut Call<'_, '_>, smaller: bool) {
    let ending = match &*call.by {
        "bzip2" | "pbzip2" => ".bz2",
        "xz" => ".xz",
        "lzma" => ".lzma",
        "lzip" => ".lz",
        "zstd" => ".zst",
        "lz4" => ".lz4",
        "brotli" => ".br",
        "compress" => ".Z",
        _ => ".gz",
    };
    let (look, keep) =
        (call.has(LOOK), call.has(B) || call.by.contains("zst") || call.by.contains("lz4"));
    let tree = call.has(TREE);
    for file in std::mem::take(&mut call.operands) {
        call.path(Kind::Read, file, tree);
        if look {
            continue;
        }
        match file.known() {
            _ if tree => call.path(Kind::Write, file, true),
            Some(name) if smaller => call.path_text(Kind::Write, &format!("{name}{ending}"), false),
            Some(name) => {
                let plain = name.rsplit_once('.').map_or(name, |(plain, _)| plain);
                call.path_text(Kind::Write, plain, false);
            }
            None => call.path(Kind::Write, file, false),
        }
        if !keep {
            call.path(Kind::Delete, file, tree);
        }
    }
}

pub(crate) fn seven(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let Some((verb, rest)) = operands.split_first() else { return };
    let Some((&archive, files)) = rest.split_first() else { return };
    let target =
        call.command.argv.iter().map(Arg::new).find(|word| word.prefix().starts_with("-o"));
    let moves = call.command.argv.iter().any(|word| word.known() == Some("-sdel"));
    match verb.prefix() {
        "a" | "u" | "d" | "rn" => {
            call.path(Kind::Write, archive, false);
            for &file in files {
                call.path(Kind::Read, file, true);
                if moves {
                    call.path(Kind::Delete, file, true);
                }
            }
        }
        "x" | "e" => {
            call.path(Kind::Read, archive, false);
            call.unpack(target.map(|target| target.behind(2)));
        }
        _ => call.path(Kind::Read, archive, false),
    }
}

/// Backups are what one goes back to: what throws them away destroys.
pub(crate) fn backup(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let Some((verb, rest)) = operands.split_first() else { return };
    let name = rest.first().map(|name| name.text().into_owned()).unwrap_or_default();
    match verb.prefix() {
        "forget"
        | "prune"
        | "delete"
        | "purge"
        | "remove-older-than"
        | "remove-all-but-n-full"
        | "deletefile"
        | "sync"
        | "rmdirs"
        | "move"
        | "cleanup" => {
            call.thing(Thing::Filesystem, name, true);
        }
        "snapshot" | "key" | "manifest" | "policy"
            if rest.first().is_some_and(|verb| {
                matches!(verb.prefix(), "delete" | "remove" | "rm" | "expire")
            }) =>
        {
            call.thing(Thing::Filesystem, name, true);
        }
        "restore" | "extract" => call.unpack(None),
        _ => call.thing(Thing::Filesystem, name, false),
    }
    call.host("$?");
}
