//! What a command prints, where that can be told.

use super::Input;
use super::decode::{base32, base64, hex, translate, unescape};
use super::state::State;
use crate::value::{Part, Value};

/// What a program prints.
pub(super) fn of(state: &State, name: &str, arguments: &[Value], input: &Input) -> Value {
    let known = || arguments.iter().map(Value::known).collect::<Option<Vec<&str>>>();
    let text = match input {
        Input::Text(text) => Some(text),
        _ => None,
    };
    if prints_settings(name, arguments) {
        return Value::text("true\n");
    }
    match name {
        "echo" => echo(arguments),
        "printf" => known().map_or_else(Value::unknown, |known| printf(&known)),
        "cat" | "tac" => cat(state, arguments, text),
        "tee" | "sponge" | "pv" | "iconv" | "stdbuf" => passed(text),
        // Some of the lines. Of lines that are patterns, each stands for all that it matches.
        "head" | "tail" | "sort" | "uniq" | "grep" | "shuf"
            if text
                .is_some_and(|text| text.known().is_none_or(|text| text.lines().count() < 2))
                && operands(arguments).all(|operand| {
                    name == "grep"
                        || operand.known().is_some_and(|text| text.parse::<i64>().is_ok())
                }) =>
        {
            passed(text)
        }
        "base64" | "base32" | "gbase64" => {
            let decodes = known().is_some_and(|known| {
                known
                    .iter()
                    .any(|option| matches!(*option, "-d" | "-D" | "--decode" | "-di" | "--d"))
            });
            let by = if name == "base32" { base32 } else { base64 };
            decoded(decodes, operand_or(state, arguments, text), by)
        }
        "openssl" => {
            let decodes = known().is_some_and(|known| {
                known.contains(&"-d")
                    && known.iter().any(|option| matches!(*option, "base64" | "-base64" | "-a"))
            });
            decoded(decodes, text.cloned(), base64)
        }
        "xxd" => {
            let reverses = known().is_some_and(|known| {
                let options = known.concat();
                options.contains('r') && options.contains('p')
            });
            decoded(reverses, operand_or(state, arguments, text), hex)
        }
        "rev" => decoded(true, operand_or(state, arguments, text), |text| {
            Some(text.lines().map(|line| line.chars().rev().collect::<String>() + "\n").collect())
        }),
        "tr" => match (known().as_deref(), text.and_then(Value::known)) {
            (Some(known), Some(text)) => {
                translate(known, text).map_or_else(Value::unknown, Value::text)
            }
            _ => Value::unknown(),
        },
        "pwd" => state.directories.first().cloned().unwrap_or_else(Value::unknown),
        "basename" | "dirname" => {
            let text = known().and_then(|known| known.first().copied()).map(|path| {
                let path = path.trim_end_matches('/');
                let (directory, base) = path.rsplit_once('/').unwrap_or((".", path));
                if name == "basename" { base } else { directory }
            });
            text.map_or_else(Value::unknown, Value::text)
        }
        "which" => {
            known().and_then(|known| known.last().copied()).map_or_else(Value::unknown, Value::text)
        }
        "mktemp" => {
            let elsewhere = |option: &Value| {
                option.prefix().starts_with("-p") || option.prefix().starts_with("--tmpdir")
            };
            if arguments.iter().any(elsewhere) { Value::unknown() } else { made_up("/tmp/tmp.") }
        }
        "whoami" | "hostname" | "logname" => Value::text("user"),
        "uname" | "arch" | "nproc" | "date" | "seq" => made_up("1"),
        "find" => as_lines(&found(arguments)),
        "ls" | "fd" | "fdfind" | "rg" | "ag" | "locate" => names_below(arguments),
        "git" if arguments.iter().all(|argument| argument.known().is_some()) => {
            git(state, arguments)
        }
        "sleep" | "mkdir" | "touch" | "rm" | "cp" | "mv" | "chmod" | "chown" | "ln" | "kill"
        | "sync" => Value::default(),
        _ => Value::unknown(),
    }
}

/// Something that begins in a known way.
fn made_up(prefix: &str) -> Value {
    let mut value = Value::text(prefix);
    value.push(Part::Unknown);
    value
}

fn passed(text: Option<&Value>) -> Value {
    text.cloned().unwrap_or_else(Value::unknown)
}

fn operands(arguments: &[Value]) -> impl Iterator<Item = &Value> {
    arguments.iter().filter(|argument| !argument.prefix().starts_with('-'))
}

/// What a program reads that takes a file, or its input.
fn operand_or(state: &State, arguments: &[Value], text: Option<&Value>) -> Option<Value> {
    match operands(arguments).next() {
        Some(path) => path.known().and_then(|path| state.file(path)).cloned(),
        None => text.cloned(),
    }
}

fn cat(state: &State, arguments: &[Value], text: Option<&Value>) -> Value {
    let mut all = Value::default();
    let mut any = false;
    for path in operands(arguments) {
        any = true;
        let content = path.known().and_then(|path| state.file(path)).cloned();
        all.append(&content.unwrap_or_else(Value::unknown));
    }
    if any { all } else { passed(text) }
}

fn decoded(
    possible: bool,
    text: Option<Value>,
    decode: impl FnOnce(&str) -> Option<String>,
) -> Value {
    let text = text.filter(|_| possible);
    let text = text.as_ref().and_then(Value::known).and_then(decode);
    text.map_or_else(Value::unknown, Value::text)
}

fn echo(arguments: &[Value]) -> Value {
    let mut newline = true;
    let mut escapes = false;
    let mut rest = arguments;
    while let [first, tail @ ..] = rest
        && let Some(letters) = first.known().and_then(|text| text.strip_prefix('-'))
        && !letters.is_empty()
        && letters.chars().all(|c| "neE".contains(c))
    {
        newline &= !letters.contains('n');
        escapes |= letters.contains('e');
        rest = tail;
    }
    let mut out = Value::default();
    let mut all = super::builtins::joined(rest);
    if newline {
        all.push_str("\n");
    }
    for part in all.parts() {
        match part {
            // In another shell, `echo` decodes without being told: both are read as decoded where
            // that makes a difference to a program's name.
            Part::Text(text) if escapes => out.push_str(&unescape(text)),
            part => out.push(part.clone()),
        }
    }
    out
}

fn printf(arguments: &[&str]) -> Value {
    let arguments = match arguments {
        ["--", rest @ ..] => rest,
        all => all,
    };
    let Some((format, mut rest)) = arguments.split_first() else { return Value::default() };
    let mut out = String::new();
    loop {
        let before = rest.len();
        let Some(text) = formatted(format, &mut rest) else { return Value::unknown() };
        out.push_str(&text);
        // Formats are used again until the arguments are used up.
        if rest.is_empty() || rest.len() == before || out.len() > 64 * 1024 {
            return Value::text(out);
        }
    }
}

fn formatted(format: &str, arguments: &mut &[&str]) -> Option<String> {
    let mut out = String::new();
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (before, directive) = rest.split_at(at);
        out.push_str(&unescape(before));
        let directive = directive.get(1..)?;
        if let Some(after) = directive.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let end = directive.find(|c: char| c.is_alphabetic())?;
        let (flags, kind) = directive.split_at(end);
        if flags.contains('*') {
            return None;
        }
        let argument = arguments.split_first().map(|(first, tail)| {
            *arguments = tail;
            *first
        });
        let argument = argument.unwrap_or_default();
        let text = match kind.chars().next()? {
            's' => argument.to_owned(),
            'b' => unescape(argument),
            'c' => argument.chars().take(1).collect(),
            'd' | 'i' | 'u' => number(argument)?.to_string(),
            'x' => format!("{:x}", number(argument)?),
            'X' => format!("{:X}", number(argument)?),
            'o' => format!("{:o}", number(argument)?),
            _ => return None,
        };
        let width: usize = flags.trim_matches(['-', '0', '+', ' ', '#']).parse().unwrap_or(0);
        if width > 4096 {
            return None;
        }
        if flags.contains('.') {
            return None;
        }
        let fill = if flags.starts_with('0') { '0' } else { ' ' };
        let missing = width.saturating_sub(text.chars().count());
        let padding: String = std::iter::repeat_n(fill, missing).collect();
        if flags.starts_with('-') {
            out.push_str(&text);
            out.push_str(&padding);
        } else {
            out.push_str(&padding);
            out.push_str(&text);
        }
        rest = kind.get(1..)?;
    }
    out.push_str(&unescape(rest));
    Some(out)
}

fn number(text: &str) -> Option<i64> {
    if text.is_empty() {
        return Some(0);
    }
    if let Some(c) = text.strip_prefix(['\'', '"']) {
        return c.chars().next().map(|c| i64::from(u32::from(c)));
    }
    super::arithmetic::evaluate(text)
}

/// The paths that `find` prints: all begin with one of its starting points, and end as one of its
/// `-name`s says.
pub(super) fn found(arguments: &[Value]) -> Vec<Value> {
    let is_expression = |argument: &&Value| argument.prefix().starts_with(['-', '(', '!']);
    let options =
        arguments.iter().take_while(|a| matches!(a.known(), Some("-H" | "-L" | "-P"))).count();
    let arguments = arguments.get(options..).unwrap_or_default();
    let mut starts: Vec<Value> =
        arguments.iter().take_while(|argument| !is_expression(argument)).cloned().collect();
    let expression = arguments.get(starts.len()..).unwrap_or_default();
    if starts.is_empty() {
        starts.push(Value::text("."));
    }
    // What is pruned is not found.
    let words: Vec<&str> = expression.iter().map(|word| word.known().unwrap_or("?")).collect();
    let pruned = words.windows(2).rposition(|pair| matches!(pair, ["-prune", "-o" | "-or"]));
    let rest = pruned.map_or(0, |at| at + 2);
    let words = words.get(rest..).unwrap_or_default();
    let mut names = Vec::new();
    for (at, argument) in expression.iter().enumerate().skip(rest) {
        let pattern = at.checked_sub(1).and_then(|before| expression.get(before));
        if pattern.is_some_and(|word| matches!(word.known(), Some("-name" | "-iname"))) {
            names.push(as_pattern(argument));
        }
    }
    let alternatives = words.iter().filter(|word| matches!(**word, "-o" | "-or" | ",")).count();
    let negated = words.iter().any(|word| matches!(*word, "!" | "-not"));
    // With an alternative or a negation that has no name of its own, anything may be found.
    if negated || names.len() <= alternatives {
        names.clear();
    }
    let mut found = Vec::new();
    for start in starts.iter().take(8) {
        let mut below = start.clone();
        below.push_str("/");
        below.push(Part::Unknown);
        if names.is_empty() {
            found.push(below);
            continue;
        }
        for name in names.iter().take(8) {
            let mut path = below.clone();
            path.push_str("/");
            path.append(name);
            found.push(path);
        }
    }
    found
}

/// Values, one a line.
fn as_lines(values: &[Value]) -> Value {
    let mut all = Value::default();
    for value in values {
        all.append(value);
        all.push_str("\n");
    }
    all
}

/// Whether a program prints settings for a shell, which its own manual says to run.
fn prints_settings(name: &str, arguments: &[Value]) -> bool {
    let first = arguments.first().map_or(Some(""), Value::known);
    let Some(first) = first else { return false };
    let prints = matches!(
        (name, first),
        (_, "completion" | "completions" | "shell-init" | "shellenv")
            | ("direnv", "hook" | "export")
            | ("pyenv" | "rbenv" | "nodenv" | "goenv" | "jenv" | "starship" | "zoxide", "init")
            | (
                "ssh-agent"
                    | "dircolors"
                    | "register-python-argcomplete"
                    | "luarocks"
                    | "atuin"
                    | "thefuck",
                _
            )
            | ("opam" | "fnm" | "mise" | "rtx", "env" | "activate" | "config")
            | ("conda" | "mamba", "shell.bash" | "shell.zsh")
            | ("minikube", "docker-env" | "podman-env")
            | ("docker-machine", "env")
            | ("fzf", "--bash" | "--zsh")
    );
    prints && arguments.iter().all(|argument| argument.known().is_some())
}

/// Text that a program itself takes for a glob.
fn as_pattern(value: &Value) -> Value {
    let mut pattern = Value::default();
    for part in value.parts() {
        match part {
            Part::Text(text) if text.contains(['*', '?', '[']) => {
                pattern.push(Part::Glob(text.clone()));
            }
            part => pattern.push(part.clone()),
        }
    }
    pattern
}

/// Names of files below the directory.
fn names_below(arguments: &[Value]) -> Value {
    let globs: Vec<Value> =
        operands(arguments).filter(|operand| operand.has_glob()).cloned().collect();
    if !globs.is_empty() && globs.len() == operands(arguments).count() {
        return as_lines(&globs);
    }
    // `ls DIR` prints names in it, `ls DIR/*` paths: both may be meant.
    let absolute = operands(arguments).any(|operand| {
        matches!(operand.parts().first(), Some(Part::Home | Part::Unknown))
            || operand.prefix().starts_with(['/', '.'])
    });
    if absolute { Value::unknown() } else { made_up("./") }
}

fn git(state: &State, arguments: &[Value]) -> Value {
    let Some((first, rest)) = arguments.split_first() else { return Value::unknown() };
    match first.known().unwrap_or_default() {
        "rev-parse" if matches!(rest, [only] if only.known() == Some("--show-toplevel")) => {
            state.directories.first().cloned().unwrap_or_else(Value::unknown)
        }
        "rev-parse" | "describe" | "log" | "rev-list" | "branch" | "symbolic-ref" => made_up("ref"),
        "ls-files" | "diff" | "status" | "grep" => made_up("./"),
        _ => Value::unknown(),
    }
}
