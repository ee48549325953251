//! Shells and interpreters that run files.

use crate::effects::row::{
    A, PATTERN, RUNS, Role, Style, TREE, Tool, Which, attached, executes, flag, plays, tool, value,
};
use crate::effects::special::system;

pub(super) const ROWS: &[Tool] = &[
    tool(&[
        "sh",
        "bash",
        "dash",
        "zsh",
        "ksh",
        "mksh",
        "fish",
        "ash",
        "rbash",
        "tcsh",
        "csh",
        "yash",
        "nu",
        "elvish",
        "pwsh",
        "powershell",
    ])
    .style(Style::Leading)
    .options(&[
        value("c", &["command"], PATTERN),
        flag("s", &[], PATTERN),
        plays("", &["rcfile", "init-file"], Role::Execute),
        plays("", &["File"], Role::Execute),
    ])
    .valued("oO", &[])
    .acts(&[executes(Which::First).unless(PATTERN)]),
    tool(&["python", "python2", "python3", "pypy", "pypy3", "ipython"])
        .versions()
        .style(Style::Leading)
        .options(&[value("c", &[], PATTERN), value("m", &[], PATTERN | A)])
        .valued("WXQ", &["check-hash-based-pycs"])
        .special(system::python),
    tool(&["node", "nodejs", "iojs", "qjs", "electron"])
        .versions()
        .style(Style::Leading)
        .options(&[
            value("ep", &["eval", "print"], PATTERN),
            plays("r", &["require", "import", "loader"], Role::Execute),
            plays("", &["env-file"], Role::Read),
            plays("c", &["check"], Role::Read).bits(PATTERN),
        ])
        .valued("C", &["conditions", "title"])
        .special(system::node),
    tool(&[
        "perl",
        "ruby",
        "php",
        "lua",
        "luajit",
        "Rscript",
        "R",
        "julia",
        "tclsh",
        "wish",
        "guile",
        "racket",
        "scheme",
        "clojure",
        "groovy",
        "scala",
        "kotlin",
        "osascript",
        "gjs",
        "crystal",
        "elixir",
        "erl",
        "escript",
        "ocaml",
        "ghci",
        "runghc",
        "swipl",
        "octave",
        "raku",
        "janet",
        "irb",
        "jshell",
        "sbcl",
        "clisp",
    ])
    .versions()
    .style(Style::Leading)
    .options(&[
        value("eEr", &["eval"], PATTERN),
        plays("f", &["file"], Role::Execute).bits(PATTERN),
        attached("i", &[], A),
        attached("0lFxID", &[], 0),
    ])
    .valued("MmdS", &[])
    .special(system::interpreter),
    tool(&["java", "javaw"])
        .style(Style::LeadingWords)
        .options(&[plays("", &["jar"], Role::Execute).bits(PATTERN)])
        .valued(
            "",
            &[
                "cp",
                "classpath",
                "class-path",
                "p",
                "module-path",
                "m",
                "module",
                "add-modules",
                "add-opens",
                "add-exports",
            ],
        )
        .acts(&[RUNS.unless(PATTERN)]),
    tool(&[
        "wine",
        "mono",
        "qemu-system-x86_64",
        "qemu-x86_64",
        "gdb",
        "lldb",
        "strace",
        "ltrace",
        "valgrind",
        "perf",
        "rr",
        "hyperfine",
    ])
    .options(&[plays("o", &["output"], Role::Write), flag("r", &["recursive"], TREE)])
    .style(Style::Leading)
    .acts(&[RUNS]),
];
