//! Files and directories.

use crate::effects::Kind;
use crate::effects::row::{
    A, B, C, DELETE, DRY, DRY_RUN, FORCE, NONE, ONE, PATTERN, Role, Style, TARGET, TREE, Tool,
    Which, attached, deletes, fills, fixed, fixed_tree, flag, lists, lists_all, plays, reads,
    sweeps, tool, value, writes,
};
use crate::effects::special::{files, find};

pub(super) const ROWS: &[Tool] = &[
    // Nothing that matters: they print, compute, or change the shell that runs them alone.
    tool(&[
        "echo",
        "printf",
        "true",
        "false",
        ":",
        "cd",
        "pushd",
        "popd",
        "dirs",
        "pwd",
        "exit",
        "return",
        "break",
        "continue",
        "shift",
        "export",
        "declare",
        "typeset",
        "local",
        "readonly",
        "unset",
        "set",
        "shopt",
        "alias",
        "unalias",
        "read",
        "mapfile",
        "readarray",
        "getopts",
        "let",
        "test",
        "[",
        "[[",
        "((",
        "type",
        "which",
        "whereis",
        "hash",
        "help",
        "jobs",
        "fg",
        "bg",
        "wait",
        "disown",
        "umask",
        "times",
        "enable",
        "bind",
        "complete",
        "compgen",
        "compopt",
        "caller",
        "seq",
        "yes",
        "sleep",
        "basename",
        "dirname",
        "expr",
        "bc",
        "dc",
        "factor",
        "cal",
        "uname",
        "arch",
        "nproc",
        "whoami",
        "id",
        "groups",
        "logname",
        "tty",
        "who",
        "w",
        "users",
        "uptime",
        "free",
        "ps",
        "top",
        "htop",
        "pgrep",
        "pidof",
        "pstree",
        "vmstat",
        "iostat",
        "lscpu",
        "lsmem",
        "lsusb",
        "lspci",
        "lsmod",
        "lsblk",
        "lsof",
        "blkid",
        "df",
        "getconf",
        "locale",
        "printenv",
        "clear",
        "reset",
        "tput",
        "stty",
        "man",
        "info",
        "apropos",
        "whatis",
        "tr",
        "dircolors",
        "numfmt",
        "env",
        "command",
        "builtin",
        "nohup",
        "nice",
        "ionice",
        "setsid",
        "stdbuf",
        "time",
        "timeout",
        "xargs",
        "sudo",
        "doas",
        "watch",
        "parallel",
        "trap",
        "suspend",
        "hostid",
        "mktemp",
        "fc",
        "getent",
        "ulimit",
        "realpath",
        "readlink",
        "figlet",
        "cowsay",
        "lolcat",
        "unbuffer",
        "busybox",
        "toybox",
        "exec",
        "eval",
        "taskset",
        "chrt",
        "flock",
        "setarch",
        "nsenter",
        "unshare",
        "runuser",
        "su",
        "pkexec",
        "faketime",
        "proxychains",
        "proxychains4",
        "torsocks",
        "fakeroot",
        "systemd-run",
        "dbus-run-session",
        "xvfb-run",
        "gosu",
        "su-exec",
        "setpriv",
        "prlimit",
        "cgexec",
        "firejail",
        "bwrap",
        "script",
        "expect",
        "ts",
        "lsattr",
        "getfattr",
        "getfacl",
        "namei",
        "pathchk",
        "sync",
        "locate",
        "plocate",
        "mlocate",
    ]),
    tool(&["date"])
        .options(&[plays("rf", &["reference", "file"], Role::Read), value("s", &["set"], A)])
        .valued("dI", &["date"])
        .special(files::date),
    tool(&["rm"])
        .options(&[
            flag("rR", &["recursive"], TREE),
            flag("f", &["force"], FORCE),
            attached("", &["interactive", "preserve-root"], 0),
            flag("", &["no-preserve-root", "one-file-system"], 0),
        ])
        .acts(&[deletes(Which::All)]),
    tool(&["rmdir", "unlink"]).acts(&[deletes(Which::All)]),
    tool(&["trash", "trash-put", "rmtrash"]).acts(&[deletes(Which::All)]),
    tool(&["rimraf", "del-cli"]).options(&[flag("rf", &[], TREE)]).acts(&[sweeps(Which::All)]),
    tool(&["srm", "wipe"])
        .options(&[flag("rR", &["recursive"], TREE)])
        .acts(&[deletes(Which::All)]),
    tool(&["shred"])
        .options(&[flag("u", &[], DELETE), attached("", &["remove"], DELETE)])
        .valued("ns", &["iterations", "size", "random-source"])
        .acts(&[writes(Which::All), deletes(Which::All).when(DELETE)]),
    tool(&["mv", "gmv"])
        .options(&[
            value("t", &["target-directory"], TARGET),
            flag("T", &["no-target-directory"], A),
        ])
        .valued("S", &["suffix"])
        .special(files::mv),
    tool(&["cp", "gcp"])
        .options(&[
            flag("rRa", &["recursive", "archive"], TREE),
            value("t", &["target-directory"], TARGET),
            flag("T", &["no-target-directory"], A),
        ])
        .valued("S", &["suffix", "no-preserve"])
        .special(files::cp),
    tool(&["install", "ginstall"])
        .options(&[
            flag("d", &["directory"], B),
            value("t", &["target-directory"], TARGET),
            flag("T", &["no-target-directory"], A),
        ])
        .valued("gmoS", &["group", "mode", "owner", "suffix", "strip-program"])
        .special(files::install),
    tool(&["ln", "gln"])
        .options(&[
            flag("s", &["symbolic"], C),
            flag("f", &["force"], FORCE),
            value("t", &["target-directory"], TARGET),
            flag("Tn", &["no-target-directory", "no-dereference"], A),
        ])
        .valued("S", &["suffix"])
        .special(files::ln),
    tool(&["link"]).acts(&[reads(Which::First), writes(Which::Second)]),
    tool(&["mkdir", "md"]).valued("m", &["mode"]).acts(&[writes(Which::All)]),
    tool(&["mkfifo", "mknod"]).valued("m", &["mode"]).acts(&[writes(Which::First)]),
    tool(&["touch"])
        .options(&[plays("r", &["reference"], Role::Read)])
        .valued("td", &["date", "time"])
        .acts(&[writes(Which::All)]),
    tool(&["truncate"])
        .options(&[plays("r", &["reference"], Role::Read)])
        .valued("s", &["size"])
        .acts(&[writes(Which::All)]),
    tool(&["fallocate"])
        .options(&[value("l", &["length"], A)])
        .valued("o", &["offset"])
        .acts(&[writes(Which::All)])
        .special(files::fallocate),
    tool(&["dd", "dcfldd"]).style(Style::Bare).special(files::dd),
    tool(&["chmod", "gchmod"])
        .options(&[
            flag("R", &["recursive"], TREE),
            flag("rwxXstugoa", &[], PATTERN),
            plays("", &["reference"], Role::Read).bits(PATTERN),
        ])
        .acts(&[writes(Which::All).when(PATTERN), writes(Which::Rest).unless(PATTERN)]),
    tool(&["chown", "chgrp", "gchown"])
        .options(&[
            flag("R", &["recursive"], TREE),
            plays("", &["reference"], Role::Read).bits(PATTERN),
        ])
        .valued("", &["from"])
        .acts(&[writes(Which::All).when(PATTERN), writes(Which::Rest).unless(PATTERN)]),
    tool(&["chattr", "chflags"]).style(Style::Bare).special(files::chattr),
    tool(&["setfacl"])
        .options(&[
            flag("R", &["recursive"], TREE),
            plays("", &["restore"], Role::Read),
            plays("MX", &["modify-file", "remove-file"], Role::Read),
        ])
        .valued("mx", &["modify", "remove", "set"])
        .acts(&[writes(Which::All)]),
    tool(&["setfattr", "xattr", "chcon", "restorecon", "setcap"])
        .options(&[flag("rR", &["recursive"], TREE)])
        .valued("nvxutl", &["user", "role", "type"])
        .acts(&[writes(Which::All)]),
    tool(&["find", "gfind", "bfs"]).style(Style::Bare).special(find::find),
    tool(&["fd", "fdfind"])
        .options(&[value("", &["base-directory"], TARGET), value("", &["search-path"], TARGET)])
        .valued(
            "dtesEcj",
            &[
                "max-depth",
                "min-depth",
                "exact-depth",
                "type",
                "extension",
                "size",
                "exclude",
                "color",
                "threads",
                "changed-within",
                "changed-before",
                "owner",
                "max-results",
            ],
        )
        .acts(&[
            fixed_tree(Kind::List, ".").when(NONE),
            fixed_tree(Kind::List, ".").when(ONE),
            lists_all(Which::Rest),
        ]),
    tool(&["ls", "dir", "vdir", "gls", "exa", "eza", "lsd"])
        .options(&[flag("R", &["recursive"], TREE)])
        .valued("Iw", &["ignore", "hide", "width", "tabsize"])
        .acts(&[
            lists(Which::All),
            fixed(Kind::List, ".").when(NONE).unless(TREE),
            fixed_tree(Kind::List, ".").when(NONE | TREE),
        ]),
    tool(&["du", "tree", "ncdu", "dust"])
        .options(&[
            plays("o", &[], Role::Write),
            plays("", &["files0-from"], Role::Read),
            flag("", &["du"], 0),
        ])
        .valued("dLIP", &["max-depth", "exclude", "threshold", "block-size", "filelimit"])
        .acts(&[lists_all(Which::All), fixed_tree(Kind::List, ".").when(NONE)]),
    tool(&["stat", "file"]).valued("cmfF", &["format", "printf"]).acts(&[lists(Which::All)]),
    tool(&["csplit"])
        .options(&[plays("f", &["prefix"], Role::Write)])
        .valued("bn", &["suffix-format", "digits"])
        .acts(&[reads(Which::First)]),
    tool(&["split"])
        .valued("abClnftk", &["suffix-length", "bytes", "lines", "number", "filter", "prefix"])
        .acts(&[reads(Which::First), writes(Which::Second)]),
    tool(&["rename", "prename", "file-rename", "mmv"])
        .options(&[flag("n", &["no-act", "nono"], DRY)])
        .acts(&[deletes(Which::Rest), writes(Which::Rest)]),
    tool(&["rsync-ssl"]).acts(&[fills(Which::Last)]),
    tool(&["stow"])
        .options(&[
            plays("t", &["target"], Role::WriteTree),
            plays("d", &["dir"], Role::ReadTree),
            DRY_RUN,
        ])
        .acts(&[reads(Which::All)]),
    tool(&["xdg-open", "open", "start"]).acts(&[reads(Which::All)]),
];
