//! Programs by what they do, as far as it matters here.

/// Programs that run code in a language in which a name can be put together from pieces.
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

/// Programs that delete what they are given or put something else there, beside those of which that is known.
pub(super) const REMOVERS: &[&str] =
    &["rimraf", "del", "trash", "trash-put", "srm", "rclone", "mount", "umount", "gio"];

/// Words of the shell itself that do nothing to files they name.
pub(super) const BUILTINS: &[&str] = &[
    "export",
    "declare",
    "typeset",
    "local",
    "readonly",
    "set",
    "unset",
    "alias",
    "hash",
    "trap",
    "read",
    "mapfile",
    "readarray",
    "let",
    "return",
    "shift",
    "getopts",
    "compgen",
    "complete",
];

/// Programs that do more with what they are given than is known of them.
pub(super) const TAKERS: &[&str] = &["git", "script", "rclone", "mount", "umount", "gio"];

/// Programs that put a file into a directory under a name that is not of their own choosing.
pub(super) const FETCHERS: &[&str] =
    &["cp", "gcp", "mv", "ln", "install", "rsync", "scp", "curl", "wget", "aria2c"];

/// Programs that leave the files in a directory as they are.
pub(super) const PLACERS: &[&str] = &["mkdir", "touch"];

/// Programs by which a text is known to be a command.
pub(super) const KNOWN: &[&str] = &[
    "sh", "bash", "zsh", "dash", "ksh", "fish", "eval", "source", ".", "xargs", "parallel", "sed",
    "ed", "ex", "vim", "vi", "read", "for", "tar", "at", "batch", "crontab", "ssh", "make", "rm",
    "rmdir", "shred", "unlink", "mv", "rsync", "mount", "cp", "tee", "dd", "install", "ln",
    "truncate", "touch", "chmod", "patch", "tollgate", "sudo", "env", "git", "curl", "wget", "cd",
    "nohup", "cargo",
];

/// Programs that write to everything in a directory, or to more of it than they name.
pub(super) const UNPACKERS: &[&str] = &[
    "tar", "bsdtar", "gtar", "unzip", "7z", "7za", "cpio", "rsync", "unar", "ditto", "chmod",
    "chown", "chgrp", "chattr", "setfacl",
];
