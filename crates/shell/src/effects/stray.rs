//! Watched paths in words that the table says nothing about.
//!
//! There are more options that name a file than anybody can list, and more programs. So a watched
//! path as a word of a program, or in a string of code, may be read and written there, unless the
//! program takes words for text, or only uses the file as people do.

use std::borrow::Cow;

use super::location;
use super::run::Call;
use super::{Kind, Target};
use crate::resolve::Input;
use crate::value::Value;
use crate::watch::{Hit, Reason, Watch};
use crate::world;

/// Programs that take words for text, or use a file without showing it.
const USES: &[&str] = &[
    "echo",
    "printf",
    "grep",
    "egrep",
    "fgrep",
    "rg",
    "ag",
    "ack",
    "git",
    "hg",
    "jj",
    "gh",
    "glab",
    "sed",
    "awk",
    "gawk",
    "test",
    "[",
    "[[",
    "ls",
    "stat",
    "find",
    "fd",
    "file",
    "du",
    "tree",
    "ssh",
    "scp",
    "sftp",
    "rsync",
    "ssh-add",
    "ssh-keygen",
    "ssh-copy-id",
    "ssh-agent",
    "ln",
    "crontab",
    "gpg",
    "chmod",
    "chown",
    "chgrp",
    "touch",
    "mkdir",
    "cd",
    "pushd",
    "realpath",
    "readlink",
    "dirname",
    "basename",
    "which",
    "type",
    "command",
    "export",
    "declare",
    "local",
    "alias",
    "cmp",
    "diff",
    "tollgate",
    "claude",
    "codex",
    "gemini",
    "jq",
    "yq",
    "logger",
    "source",
    ".",
    "exec",
    "sudo",
    "env",
    "sh",
    "bash",
    "zsh",
    "dash",
    "read",
    "trap",
    "return",
    "exit",
    "set",
    "unset",
    "shellcheck",
    "shfmt",
];

/// How much text of one command is looked through.
const LONGEST: usize = 16 * 1024;

/// Notes watched paths that a command names, and that nothing else was found to be done to.
pub(super) fn look(call: &mut Call<'_, '_>, name: &str, words: &[Value]) {
    if matches!(name, "git" | "hg" | "jj" | "gh" | "glab") {
        // Messages may speak of any file; a word that is a path and nothing else is one.
        let is_path =
            |text: &str| text.starts_with(['/', '~']) && !text.contains(char::is_whitespace);
        for path in words.iter().map(ToString::to_string).filter(|text| is_path(text)) {
            note(call, &path);
        }
        return;
    }
    if USES.contains(&name) {
        return;
    }
    let mut left = LONGEST;
    written(call, words);
    for word in words {
        let text = word.to_string();
        left = left.saturating_sub(text.len());
        if left == 0 {
            return;
        }
        each_path(&text, |path| note(call, path));
    }
    // What is typed into a program of its own language names files as well.
    if let Input::Text(input) = &call.command.input {
        let text = input.to_string();
        if text.len() <= left && !super::is_reader(name) && is_told(name) {
            each_path(&text, |path| note(call, path));
        }
    }
}

/// Notes watched paths behind options by which programs are told where to write.
fn written(call: &mut Call<'_, '_>, words: &[Value]) {
    let is_output = |word: &Value| {
        let text = word.prefix();
        matches!(text, "-o" | "-O" | "-w" | "-of" | "-out")
            || ["--out", "--log", "--write", "--save", "--dump", "--to"]
                .iter()
                .any(|start| text.starts_with(start))
    };
    for pair in words.windows(2) {
        let [option, path] = pair else { continue };
        let is_new = |effect: &super::Effect| effect.kind == Kind::Write;
        if is_output(option) && !call.found().iter().any(is_new) {
            let path = path.to_string();
            if path.starts_with(['/', '~']) {
                note_write(call, &path);
            }
        }
    }
}

/// Notes watched paths in the strings of code that is run from a file.
pub(super) fn code(call: &mut Call<'_, '_>, text: &str) {
    let end = text.char_indices().nth(4 * LONGEST).map_or(text.len(), |(at, _)| at);
    each_path(text.get(..end).unwrap_or_default(), |path| note(call, path));
}

/// True for programs that do what their input says.
fn is_told(name: &str) -> bool {
    !matches!(
        name,
        "cat"
            | "tee"
            | "sort"
            | "wc"
            | "head"
            | "tail"
            | "tr"
            | "cut"
            | "dd"
            | "xargs"
            | "patch"
            | "base64"
    )
}

/// Calls for each path in a text: the text itself, and what stands between quotes, brackets and signs.
fn each_path(text: &str, mut give: impl FnMut(&str)) {
    each_piece(text, &mut give);
    if let Cow::Owned(folded) = folded(text) {
        each_piece(&folded, &mut give);
    }
}

fn each_piece(text: &str, give: &mut dyn FnMut(&str)) {
    let in_home = names_home(text);
    let between = |c: char| c.is_whitespace() || "\"'`()[]{}<>,;=|@+".contains(c);
    for piece in text.split(between) {
        let file = piece.strip_prefix("file://").or_else(|| piece.strip_prefix("file:"));
        let piece = file.unwrap_or(piece);
        // `HOME + "/.bashrc"`, `join(home, ".ssh", "id_rsa")`
        if in_home
            && let Some(path) =
                piece.split_once("/.").map(|(_, rest)| rest).or(piece.strip_prefix('.'))
        {
            give(&format!("~/.{path}"));
        }
        // Behind a letter of an option, or a colon.
        let at = piece.find(['/', '~']);
        let Some(path) = at.and_then(|at| piece.get(at..)) else { continue };
        let before = at.and_then(|at| piece.get(..at)).unwrap_or("");
        let is_option = before.starts_with('-') && before.len() == 2
            || before.ends_with(':') && !piece.contains("://");
        if path.len() > 2 && (before.is_empty() || is_option) {
            give(path);
        }
    }
}

/// A text in which strings that are put together are one: `'/.ss' + 'h'` is `'/.ssh'`.
fn folded(text: &str) -> Cow<'_, str> {
    let is_quote = |c: char| matches!(c, '"' | '\'');
    let mut pieces = text.split(is_quote).peekable();
    let joins = |piece: &str| {
        let sign = piece.trim();
        matches!(sign, "+" | "." | ".." | "," | "/") && (sign != "," || piece.len() <= 2)
    };
    if !text.split(is_quote).any(joins) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    while let Some(piece) = pieces.next() {
        if joins(piece) {
            // Names of a path are joined by a slash, texts by nothing.
            if matches!(piece.trim(), "," | "/") {
                out.push('/');
            }
            continue;
        }
        out.push_str(piece);
        let next_joins = pieces.peek().is_some_and(|next| joins(next));
        if pieces.peek().is_some() && !next_joins {
            out.push('"');
        }
    }
    Cow::Owned(out)
}

/// True if code works on a home.
fn names_home(text: &str) -> bool {
    ["HOME", "Path.home", "expanduser", "homedir", "Dir.home", "UserHomeDir", "home_dir"]
        .iter()
        .any(|home| text.contains(home))
}

fn note(call: &mut Call<'_, '_>, path: &str) {
    let mut found = Vec::new();
    location::each_of_text(path, &call.directories, |location| found.push(location));
    let watch = Watch { homes: &world::here().homes };
    for location in found {
        // To name a program is to run it.
        let is_watched = |reason| {
            watch
                .find(&location, reason)
                .is_some_and(|(hit, spot)| hit == Hit::At && !spot.is_program())
        };
        let (secret, runs) =
            (is_watched(Reason::Secret), is_watched(Reason::Runs) || is_watched(Reason::Record));
        let is_known = |effect: &super::Effect| matches!(&effect.target, Target::Path(other) if other.text == location.text);
        if !(secret || runs) || call.found().iter().any(is_known) {
            continue;
        }
        let text = location.text.clone();
        call.maybe(|call| {
            if secret {
                call.path_text(Kind::Read, &text, false);
            }
            if runs {
                call.path_text(Kind::Write, &text, false);
            }
        });
    }
}

/// The same for a path that is written to, as an option says.
fn note_write(call: &mut Call<'_, '_>, path: &str) {
    let mut found = Vec::new();
    location::each_of_text(path, &call.directories, |location| found.push(location));
    let watch = Watch { homes: &world::here().homes };
    for location in found {
        if matches!(watch.find(&location, Reason::Runs), Some((Hit::At, _))) {
            call.maybe(|call| call.path_text(Kind::Write, &location.text, false));
        }
    }
}
