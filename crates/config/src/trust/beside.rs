//! Tells scripts that can run from a copy from those that need the files beside them.

use std::path::Path;

/// Words of scripts that look for files by their own place.
struct Language {
    /// Programs that run it.
    programs: &'static [&'static str],
    endings: &'static [&'static str],
    signs: &'static [&'static str],
    /// Says of a line whether it loads something from beside the script.
    loads: fn(&str) -> bool,
}

const LANGUAGES: &[Language] = &[
    Language {
        programs: &["sh", "bash", "dash", "ksh", "zsh", ".", "source"],
        endings: &["sh", "bash", "zsh", "ksh"],
        signs: &[
            "$0",
            "${0",
            "BASH_SOURCE",
            "dirname",
            "realpath",
            "readlink",
            ".sh.file",
            "%x",
            "%N",
        ],
        loads: |_| false,
    },
    Language {
        programs: &["python"],
        endings: &["py"],
        signs: &[
            "__file__",
            "sys.argv[0]",
            "sys.path",
            "importlib",
            "__import__",
            "__loader__",
            "__spec__",
            "inspect",
            "runpy",
            "pkgutil",
            "exec(",
            "from .",
        ],
        loads: loads_of_python,
    },
    Language {
        programs: &["node"],
        endings: &["mjs", "cjs", "js"],
        signs: &[
            "__dirname",
            "__filename",
            "import.meta",
            "require.main",
            "require.resolve",
            "createRequire",
            "process.argv[1]",
            "process.mainModule",
            "import(",
            "module.path",
        ],
        loads: loads_of_node,
    },
    Language {
        programs: &["perl"],
        endings: &["pl"],
        signs: &["$0", "FindBin", "__FILE__", "use lib", "@INC", "require ", "do \"", "do '"],
        loads: |_| false,
    },
    Language {
        programs: &["ruby"],
        endings: &["rb"],
        signs: &[
            "$0",
            "__FILE__",
            "__dir__",
            "require_relative",
            "PROGRAM_NAME",
            "LOAD_PATH",
            "$:",
            "load ",
            "autoload",
            "require \".",
            "require '.",
        ],
        loads: |_| false,
    },
    Language {
        programs: &["awk", "gawk", "mawk", "sed", "jq"],
        endings: &["awk", "sed", "jq"],
        signs: &["@include", "@load", "import", "include", "$__loc__"],
        loads: |_| false,
    },
];

/// Modules that Python has itself. Any other may be a file beside the script.
const PYTHON: &[&str] = &[
    "__future__",
    "abc",
    "argparse",
    "ast",
    "base64",
    "collections",
    "configparser",
    "contextlib",
    "copy",
    "csv",
    "dataclasses",
    "datetime",
    "difflib",
    "enum",
    "errno",
    "fnmatch",
    "functools",
    "getpass",
    "glob",
    "hashlib",
    "html",
    "http",
    "io",
    "ipaddress",
    "itertools",
    "json",
    "logging",
    "math",
    "operator",
    "os",
    "pathlib",
    "platform",
    "posixpath",
    "pwd",
    "random",
    "re",
    "select",
    "shlex",
    "shutil",
    "signal",
    "socket",
    "sqlite3",
    "ssl",
    "stat",
    "string",
    "subprocess",
    "sys",
    "tempfile",
    "textwrap",
    "threading",
    "time",
    "tomllib",
    "traceback",
    "types",
    "typing",
    "unicodedata",
    "urllib",
    "uuid",
    "warnings",
];

/// Modules that Node has itself.
const NODE: &[&str] = &[
    "assert",
    "buffer",
    "child_process",
    "crypto",
    "events",
    "fs",
    "fs/promises",
    "http",
    "https",
    "net",
    "os",
    "path",
    "process",
    "querystring",
    "readline",
    "stream",
    "string_decoder",
    "timers",
    "tty",
    "url",
    "util",
    "zlib",
];

fn loads_of_python(line: &str) -> bool {
    // Several statements may be in one line.
    line.split(';').map(str::trim_start).any(|statement| {
        let statement =
            statement.rsplit_once(": ").map_or(statement, |(_, after)| after.trim_start());
        let modules = if let Some(modules) = statement.strip_prefix("import ") {
            modules
        } else if let Some(from) = statement.strip_prefix("from ") {
            from.split_whitespace().next().unwrap_or_default()
        } else {
            return false;
        };
        modules.split(',').any(|module| {
            let top = module.split_whitespace().next().unwrap_or_default().split('.').next();
            !top.is_some_and(|top| PYTHON.contains(&top))
        })
    })
}

fn loads_of_node(line: &str) -> bool {
    let is_outside = |quoted: &str| {
        let quoted = quoted.trim_start();
        let Some(quote) = quoted.chars().next().filter(|c| matches!(c, '"' | '\'' | '`')) else {
            return true;
        };
        let name = quoted.get(1..).and_then(|rest| rest.split(quote).next()).unwrap_or_default();
        !(name.starts_with("node:") || NODE.contains(&name))
    };
    let after = |sign: &str| line.split(sign).skip(1).any(is_outside);
    let is_import = line.trim_start().starts_with("import ");
    after("require(")
        || after("require (")
        || is_import && {
            match line.rsplit_once(" from ") {
                Some((_, quoted)) => is_outside(quoted),
                None => line.trim_start().strip_prefix("import ").is_none_or(is_outside),
            }
        }
}

/// Why a script cannot run from a copy; none if it can. What is not known to be able to is taken
/// not to be.
pub(crate) fn needs_its_place(
    name: &str,
    content: &[u8],
    runner: Option<&str>,
) -> Option<&'static str> {
    const UNKNOWN: &str = "may need the files beside it";
    const BESIDE: &str = "finds files by its own place";
    let Ok(text) = std::str::from_utf8(content) else { return Some(UNKNOWN) };
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    let plain = |program: &str| {
        program
            .trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' && program.len() > 1)
            .to_owned()
    };
    let of_program = |program: &str| {
        let program = plain(program);
        LANGUAGES.iter().find(|language| language.programs.contains(&program.as_str()))
    };
    let of_ending = || {
        LANGUAGES.iter().find(|language| ending.is_some_and(|it| language.endings.contains(&it)))
    };
    let language = match (runner, shebang(text)) {
        (Some(runner), _) => of_program(runner),
        (None, Some(program)) => of_program(program),
        (None, None) => of_ending(),
    };
    let Some(language) = language else { return Some(UNKNOWN) };
    // Node goes by the `package.json` beside a file that ends so.
    let is_module = ending == Some("js") && text.lines().any(|line| line.starts_with("import "));
    let mut rest = text.to_owned();
    for name in ["basename \"$0\"", "basename $0", "basename -- \"$0\"", "${0##*/}"] {
        rest = rest.replace(name, "");
    }
    let has_sign = language.signs.iter().any(|sign| rest.contains(sign));
    (is_module || has_sign || text.lines().any(language.loads)).then_some(BESIDE)
}

/// The program that a script says it is for.
fn shebang(text: &str) -> Option<&str> {
    let line = text.strip_prefix("#!")?.lines().next()?;
    let mut words = line.split_whitespace();
    let program = words.next()?.rsplit('/').next()?;
    if program == "env" { words.find(|word| !word.starts_with('-')) } else { Some(program) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_finds_files_by_its_place_is_told() {
        for (name, text, runner, can_move) in [
            ("a.sh", "grep -q rm && exit 2\n", None, true),
            ("a.sh", "#!/bin/sh\n. ./lib.sh\n", None, true),
            ("a", "#!/usr/bin/env bash\necho \"$(basename \"$0\"): no\"\n", None, true),
            ("a", "#!/usr/bin/env -S bash -e\ncd \"$(dirname \"$0\")\"\n", None, false),
            ("a.sh", ". \"${BASH_SOURCE%/*}/lib.sh\"\n", Some("bash"), false),
            ("a.sh", "x=${0%/*}\n", Some("sh"), false),
            ("a", "echo\n", None, false),
            ("a", "echo\n", Some("bash"), true),
            ("a", "echo\n", Some("source"), true),
            ("a", "echo\n", Some("."), true),
            ("a.py", "import json, sys\nfrom os import path\n", Some("python3"), true),
            ("a.py", "import json, rules\n", Some("python3.12"), false),
            ("a.py", "try: import rules\nexcept: pass\n", Some("python3"), false),
            ("a.py", "from .rules import deny\n", Some("python3"), false),
            ("a.py", "open(__file__)\n", Some("python3"), false),
            (
                "a.mjs",
                "import fs from 'node:fs'\nimport { x } from \"path\";\n",
                Some("node"),
                true,
            ),
            ("a.mjs", "import { deny } from './rules.mjs'\n", Some("node"), false),
            (
                "a.cjs",
                "const x = require('fs'); const y = require('./rules')\n",
                Some("node"),
                false,
            ),
            ("a.cjs", "const x = require('fs')\n", Some("node"), true),
            ("a.js", "import fs from 'fs'\n", Some("node"), false),
            ("a.js", "x = __dirname\n", Some("node"), false),
            ("a.ts", "x\n", Some("tsx"), false),
            ("a.rb", "require 'json'\n", Some("ruby"), true),
            ("a.rb", "require_relative 'rules'\n", Some("ruby"), false),
            ("a.jq", ".x\n", Some("jq"), true),
            ("conf.toml", "x = 1\n", None, false),
        ] {
            let told = needs_its_place(name, text.as_bytes(), runner);
            assert_eq!(told.is_none(), can_move, "{name} {text:?} {told:?}");
        }
        assert!(needs_its_place("a.sh", b"\xff", None).is_some());
    }
}
