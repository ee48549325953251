//! Programs by what they do, as far as it matters here.

/// Programs that do what their input, or another command's words, say, beside the [languages](LANGUAGES), which do as well.
pub(super) const FED: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "eval",
    "source",
    ".",
    "xargs",
    "parallel",
    "sed",
    "ed",
    "ex",
    "vim",
    "vi",
    "read",
    "mapfile",
    "readarray",
    "for",
    "cpio",
    "tar",
    "rsync",
    "at",
    "batch",
    "crontab",
    "ssh",
    "make",
];

/// Those that have a language in which a name can be put together from pieces.
pub(super) const LANGUAGES: &[&str] = &[
    "python",
    "python2",
    "python3",
    "perl",
    "ruby",
    "node",
    "deno",
    "bun",
    "php",
    "awk",
    "gawk",
    "lua",
    "tclsh",
    "expect",
    "osascript",
    "Rscript",
    "gcc",
    "cc",
    "clang",
    "tcc",
    "rustc",
    "go",
];

/// Programs that remove what they are given, with all that is in it.
pub(super) const REMOVERS: &[&str] =
    &["rm", "rmdir", "shred", "unlink", "trash", "srm", "mv", "rsync", "rclone", "mount"];

/// Programs that write what they are given.
pub(super) const WRITERS: &[&str] =
    &["cp", "tee", "dd", "install", "ln", "truncate", "touch", "chmod", "patch"];

/// Further programs by which a text is known to be a command.
pub(super) const OTHERS: &[&str] =
    &["tollgate", "sudo", "env", "git", "curl", "wget", "cd", "nohup", "cargo"];

/// Commands that set the variables they name.
pub(super) const SETTERS: &[&str] = &[
    "for",
    "select",
    "read",
    "mapfile",
    "readarray",
    "printf",
    "getopts",
    "declare",
    "typeset",
    "local",
    "unset",
];

/// Further programs that change a file they are given.
pub(super) const EDITORS: &[&str] = &[
    "sed", "perl", "ed", "ex", "vi", "vim", "nvim", "nano", "emacs", "strip", "objcopy",
    "patchelf", "upx", "chown", "chgrp", "chattr", "setfacl", "setcap", "curl", "wget", "gcc",
    "cc", "clang", "rustc", "sponge", "split", "sort", "base64",
];

/// Agents, by their programs, that can be told to leave out hooks.
pub(super) const AGENTS: &[&str] =
    &["claude", "codex", "copilot", "qwen", "gemini", "droid", "kimi"];

/// What they are told, in small letters and as it is written.
pub(super) const SWITCHES: &[(&str, &str)] = &[
    ("disableallhooks", "disableAllHooks"),
    ("dangerously-bypass-hook-trust", "--dangerously-bypass-hook-trust"),
    ("hooksconfig", "hooksConfig"),
    ("features.hooks", "features.hooks"),
    ("features.codex_hooks", "features.codex_hooks"),
];

/// Subcommands of git that take a message, which is prose.
pub(super) const MESSAGES: &[&str] = &["commit", "tag", "merge", "stash", "notes", "revert"];

/// Programs that write to everything in a directory, or to more of it than they name.
pub(super) const UNPACKERS: &[&str] = &[
    "tar", "bsdtar", "gtar", "unzip", "7z", "7za", "cpio", "rsync", "unar", "ditto", "chmod",
    "chown", "chgrp", "chattr", "setfacl",
];
