//! Code of other languages on the command line: `python -c`, `perl -e`, `awk '…'`.
//!
//! It is not parsed, only looked over for calls that run programs, change files or reach the
//! network, and for what hides such calls. Code without any of it computes and prints.

mod arguments;
mod calls;
mod lexer;
mod signs;

use super::expand::{HOLE, HOME};
use super::typed::{self, is_own_input, is_terminal};
use super::walk::Walker;
use super::{Command, Input, Why, project};
use crate::names::Index;
use crate::value::{Part, Value};
use arguments::{Argument, arguments};
use calls::{Meaning, meaning};
use lexer::{Token, tokens};
use signs::{dumps_environment, hides, is_backdoor, names_home, only_prints};

/// A language of which code may stand on the command line.
struct Language {
    names: &'static [&'static str],
    /// Options of which the value is code.
    options: &'static [&'static str],
    /// Other options that take a value.
    valued: &'static [&'static str],
    /// Whether the first operand is the code.
    operand: bool,
    /// Whether nothing is known of the language but that code may print.
    is_other: bool,
}

static LANGUAGES: &[Language] = &[
    Language {
        names: &["python", "pypy", "ipython", "bpython"],
        options: &["-c"],
        valued: &["-W", "-X", "-m", "-Q"],
        operand: false,
        is_other: false,
    },
    Language {
        names: &["perl"],
        options: &["-e", "-E"],
        valued: &["-I", "-M"],
        operand: false,
        is_other: false,
    },
    Language {
        names: &["ruby", "irb", "jruby"],
        options: &["-e"],
        valued: &["-I", "-r", "-C"],
        operand: false,
        is_other: false,
    },
    Language {
        names: &["node", "nodejs", "bun", "tsx", "ts-node"],
        options: &["-e", "--eval", "-p", "--print", "-pe"],
        valued: &["-r", "--require", "--import", "--loader"],
        operand: false,
        is_other: false,
    },
    Language { names: &["deno"], options: &["eval"], valued: &[], operand: false, is_other: false },
    Language {
        names: &["php"],
        options: &["-r", "-B", "-R", "-E"],
        valued: &["-d", "-c"],
        operand: false,
        is_other: false,
    },
    Language {
        names: &["lua", "luajit"],
        options: &["-e"],
        valued: &["-l"],
        operand: false,
        is_other: false,
    },
    Language {
        names: &[
            "Rscript",
            "R",
            "julia",
            "groovy",
            "ghc",
            "raku",
            "elixir",
            "erl",
            "swipl",
            "scala",
            "jshell",
            "guile",
            "racket",
            "sbcl",
            "emacs",
            "osascript",
            "jrunscript",
            "runghc",
            "iex",
            "emacsclient",
            "ocaml",
            "swift",
            "kotlin",
        ],
        options: &["-e", "-E", "--eval", "-eval", "-g", "--execute", "-f"],
        valued: &[],
        operand: false,
        is_other: true,
    },
    Language {
        names: &["awk", "gawk", "mawk", "nawk", "original-awk"],
        options: &["-e", "--source"],
        valued: &["-F", "-v", "--assign", "--field-separator", "-f", "--file", "-i", "-l"],
        operand: true,
        is_other: false,
    },
    Language {
        names: &["tclsh", "wish", "expect"],
        options: &["-c"],
        valued: &[],
        operand: false,
        is_other: true,
    },
];

/// By their names.
#[expect(clippy::indexing_slicing, reason = "runs when it is compiled, never later")]
static BY_NAME: Index<128> = {
    let mut names: [&[&str]; LANGUAGES.len()] = [&[]; LANGUAGES.len()];
    let mut row = 0;
    while row < LANGUAGES.len() {
        names[row] = LANGUAGES[row].names;
        row += 1;
    }
    Index::new(&names)
};

fn language(name: &str) -> Option<&'static Language> {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let named = |name: &str| {
        let row =
            BY_NAME.find(name, |row| LANGUAGES.get(row).is_some_and(|it| it.names.contains(&name)));
        row.and_then(|row| LANGUAGES.get(row))
    };
    named(plain).or_else(|| if plain == name { None } else { named(name) })
}

/// Whether a name is that of an interpreter known here.
pub(super) fn speaks(name: &str) -> bool {
    language(name).is_some()
}

/// Follows an interpreter. Gives nothing where it is none.
pub(super) fn run(walker: &mut Walker, name: &str, argv: &[Value], input: &Input) -> Option<Value> {
    let language = language(name)?;
    let arguments = argv.get(1..).unwrap_or_default();
    let mut found = false;
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        at += 1;
        let prefix = argument.prefix();
        let known = argument.known().unwrap_or_default();
        if known == "--" {
            break;
        }
        let code = code_option(language, argument);
        match code {
            CodeOption::Next => {
                let code = arguments.get(at).cloned();
                at += 1;
                found = true;
                if let Some(code) = code {
                    walker.inner(name, |walker| {
                        look(walker, name, &code);
                        Value::unknown()
                    });
                }
            }
            CodeOption::Here(code) => {
                found = true;
                walker.inner(name, |walker| {
                    look(walker, name, &code);
                    Value::unknown()
                });
            }
            CodeOption::None if prefix.starts_with('-') && prefix != "-" => {
                if known == "-m" {
                    let module = arguments.get(at).and_then(Value::known).unwrap_or_default();
                    // Modules that run code which they are given; others have arguments of their own.
                    if matches!(
                        module,
                        "timeit" | "pdb" | "trace" | "cProfile" | "profile" | "code"
                    ) {
                        for code in arguments.get(at + 1..).unwrap_or_default() {
                            walker.inner(name, |walker| {
                                look(walker, name, code);
                                Value::unknown()
                            });
                        }
                    }
                    project::run(walker, name, argv, input);
                    return Some(Value::unknown());
                }
                let from_file = language.operand && (known.starts_with("-f") || known == "--file");
                found |= from_file;
                let file = arguments.get(at).and_then(Value::known).filter(|_| from_file);
                if let Some(run) = file.and_then(|path| walker.run_file(path)) {
                    project::look(walker, name, &run);
                }
                at += usize::from(language.valued.contains(&known));
            }
            CodeOption::None => {
                at -= 1;
                break;
            }
        }
    }
    let operand = arguments.get(at);
    let is_file = |operand: &&Value| {
        let reads = |path: &str| path == "-" || is_own_input(path) || is_terminal(path);
        !operand.known().is_some_and(reads)
    };
    if !found && let Some(operand) = operand.filter(is_file) {
        if language.operand {
            let code = operand.clone();
            walker.inner(name, |walker| {
                look(walker, name, &code);
                Value::unknown()
            });
        } else if let Some(run) = operand.known().and_then(|path| walker.run_file(path)) {
            project::look(walker, name, &run);
        }
    } else if !found {
        match input {
            Input::Text(text) => {
                let text = text.clone();
                walker.inner(name, |walker| {
                    look(walker, name, &text);
                    Value::unknown()
                });
            }
            Input::Pipe => walker.unknown(Why::Code, &format!("what is piped into {name}")),
            Input::Inherited
                if language.operand || typed::is_busy(is_python(name), name, arguments) => {}
            Input::Inherited => walker.typed_into(name),
            Input::File => {}
        }
    }
    Some(Value::unknown())
}

enum CodeOption {
    None,
    /// The next word is code.
    Next,
    /// The rest of this word is.
    Here(Value),
}

fn code_option(language: &Language, argument: &Value) -> CodeOption {
    for option in language.options {
        if argument.known() == Some(option) {
            return CodeOption::Next;
        }
        if let Some((Part::Text(text), others)) = argument.parts().split_first()
            && let Some(rest) = text.strip_prefix(option)
        {
            let rest = if option.starts_with("--") {
                match rest.strip_prefix('=') {
                    Some(rest) => rest,
                    None => continue,
                }
            } else {
                rest
            };
            // `-pe`: a cluster that goes on is looked at below.
            let mut code = Value::text(rest);
            for part in others {
                code.push(part.clone());
            }
            let is_cluster = rest.len() < 3 && rest.chars().all(|c| c.is_ascii_alphabetic());
            if !is_cluster && option.starts_with('-') {
                return CodeOption::Here(code);
            }
        }
    }
    // `-ne`, `-lane`, `-i.bak` is none of them.
    let cluster = argument.known().and_then(|text| text.strip_prefix('-'));
    let letters = |option: &str| {
        option.strip_prefix('-').filter(|letter| letter.len() == 1).map(str::to_owned)
    };
    if let Some(cluster) = cluster
        && cluster.len() > 1
        && cluster.chars().all(|c| c.is_ascii_alphanumeric())
        && language
            .options
            .iter()
            .filter_map(|option| letters(option))
            .any(|letter| cluster.ends_with(&letter))
    {
        return CodeOption::Next;
    }
    CodeOption::None
}

/// Looks code over.
pub(super) fn look(walker: &mut Walker, name: &str, code: &Value) {
    if code.parts() == [Part::Unknown] {
        walker.unknown(Why::Code, &format!("code of {name}"));
        return;
    }
    // What is not known inside of known code: nothing tells what it makes of it.
    if code.has_unknown() {
        walker.unknown(Why::Opaque, &code.to_string());
    }
    let text: String = code
        .parts()
        .iter()
        .map(|part| match part {
            Part::Text(text) | Part::Glob(text) => text.clone(),
            Part::Home => HOME.to_string(),
            Part::Unknown => HOLE.to_string(),
        })
        .collect();
    if language(name).is_some_and(|language| language.is_other) && !only_prints(&text) {
        walker.unknown(hides(&text), &code.to_string());
    }
    // Quotes in quotes in quotes are read as nobody means them.
    if text.matches(" -c ").count() + text.matches(" -e ").count() >= 2 && text.contains("\\\"") {
        walker.unknown(Why::Code, "code in code in code");
    }
    if dumps_environment(&text) {
        synthesized(walker, vec![Value::text("env")]);
    }
    if is_backdoor(&text) {
        walker.unknown(Why::Remote, "a shell that another machine talks to");
    }
    let is_awk = language(name).is_some_and(|language| language.operand);
    let tokens = tokens(&text, name);
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            Token::Shell(script) => {
                let script = script.clone();
                walker.code(&script, &Input::Inherited);
            }
            Token::Text(script) if is_awk => {
                let around = [at.checked_sub(1).and_then(|at| tokens.get(at)), tokens.get(at + 1)];
                if around.iter().flatten().any(|token| **token == Token::Sign('|')) {
                    let script = script.clone();
                    walker.code(&script, &Input::Pipe);
                } else if around.first().is_some_and(|token| *token == Some(&Token::Sign('>'))) {
                    synthesized(walker, vec![Value::text("tee"), script.clone()]);
                }
            }
            Token::Name(called) => {
                let called = called.clone();
                named(walker, name, &called, tokens.get(at + 1..).unwrap_or_default(), &text);
            }
            // A command that is passed on, whatever it is passed to, unless that prints it.
            Token::Text(script) => {
                let prints = |token: &Token| {
                    matches!(token, Token::Name(name) if
                        ["print", "puts", "echo", "say", "log", "info", "warn", "printf", "test", "write", "split", "quote", "parse", "match", "search"]
                            .contains(&name.rsplit(['.', ':']).next().unwrap_or(name)))
                };
                let before = tokens.get(at.saturating_sub(3)..at).unwrap_or_default();
                let text = script.prefix();
                let deletes = ["rm -", "sudo rm", "mkfs", "dd if=", "shred "].iter();
                let passed = matches!(before.last(), Some(Token::Sign('(' | ',' | '[' | '=')));
                if passed
                    && !before.iter().any(prints)
                    && deletes.clone().any(|begin| text.starts_with(begin))
                {
                    let script = script.clone();
                    walker.code(&script, &Input::Inherited);
                }
            }
            Token::Sign(_) => {}
        }
        at += 1;
    }
}

/// A call, or what looks like one.
fn named(walker: &mut Walker, language: &str, name: &str, after: &[Token], text: &str) {
    let Some(meaning) = meaning(language, name) else { return };
    // `from shutil import rmtree as r`
    if matches!(after.first(), Some(Token::Name(word)) if word == "as") {
        walker.unknown(hides(text), text);
        return;
    }
    let bracketless =
        ["perl", "ruby", "irb", "jruby"].iter().any(|name| language.starts_with(name));
    let bare = bracketless && !name.contains(['.', ':']);
    let called = match after.first() {
        Some(Token::Sign('(') | Token::Text(_)) => true,
        // `system $x`, `unlink`, `eval URI.open(…)`: brackets are not needed everywhere.
        Some(Token::Name(_)) => bare,
        Some(Token::Sign('{')) => false,
        _ => bare && matches!(meaning, Meaning::Deletes | Meaning::DeletesTree),
    };
    if !called && meaning == Meaning::Forks {
        let why = if text.contains("while") { Why::Endless } else { Why::Opaque };
        walker.unknown(why, text);
        return;
    }
    if !called {
        // A word like that may be anything's name; a function that is passed on is not called here.
        let passed =
            matches!(meaning, Meaning::Runs | Meaning::Opaque) && name.contains(['.', ':']);
        let is_module = matches!(after.first(), Some(Token::Sign('{')));
        let deletes = matches!(meaning, Meaning::Deletes | Meaning::DeletesTree);
        if (passed || deletes && name.contains(['.', ':'])) && !is_module {
            walker.unknown(hides(text), text);
        }
        return;
    }
    let arguments = arguments(after);
    match meaning {
        Meaning::Runs => runs(walker, &arguments, text),
        Meaning::DeletesTree | Meaning::Deletes => {
            let option = if meaning == Meaning::DeletesTree { "-rf" } else { "-f" };
            let targets: Vec<Value> = arguments.iter().filter_map(Argument::path).collect();
            // `Path("x").unlink()` has its path before the call.
            if targets.is_empty() && names_home(text) {
                walker.unknown(Why::Code, "a deletion in a home whose names are computed");
            }
            let targets = if targets.is_empty() { vec![Value::unknown()] } else { targets };
            let mut argv = vec![Value::text("rm"), Value::text(option), Value::text("--")];
            argv.extend(targets.into_iter().take(1));
            synthesized(walker, argv);
        }
        Meaning::Writes => {
            let target = arguments.first().and_then(Argument::path);
            synthesized(walker, vec![Value::text("tee"), target.unwrap_or_else(Value::unknown)]);
        }
        Meaning::Opens => {
            let mode = match arguments.get(1) {
                Some(Argument::Text(mode)) => mode.known().unwrap_or("w").to_owned(),
                Some(_) | None => "r".to_owned(),
            };
            let target = arguments.first().and_then(Argument::path);
            let target = target.unwrap_or_else(Value::unknown);
            let writes = mode.contains(['w', 'a', 'x', '+', '>']);
            let program = if writes { "tee" } else { "cat" };
            synthesized(walker, vec![Value::text(program), target]);
        }
        Meaning::Moves => {
            let mut argv = vec![Value::text("mv")];
            argv.extend(arguments.iter().take(2).map(|a| a.path().unwrap_or_else(Value::unknown)));
            synthesized(walker, argv);
        }
        Meaning::Connects => {
            let target = arguments.first().and_then(Argument::path);
            let mut argv = vec![Value::text("curl"), target.unwrap_or_else(Value::unknown)];
            let sends = ["POST", "PUT", "data=", ".post(", ".put(", "body:", "sendall", "json="];
            if sends.iter().any(|word| text.contains(word)) {
                argv.extend(["-d", "data"].map(Value::text));
            }
            synthesized(walker, argv);
        }
        Meaning::Forks if text.contains("while") => walker.unknown(Why::Endless, text),
        Meaning::Forks => walker.unknown(Why::Opaque, text),
        Meaning::Opaque => match arguments.as_slice() {
            [Argument::Text(code)] if !code.has_unknown() => {
                let code = code.clone();
                walker.inner(name, |walker| {
                    look(walker, language, &code);
                    Value::unknown()
                });
            }
            _ => walker.unknown(hides(text), text),
        },
    }
}

fn is_python(language: &str) -> bool {
    ["python", "pypy", "ipython", "bpython"].iter().any(|name| language.starts_with(name))
}

fn synthesized(walker: &mut Walker, argv: Vec<Value>) {
    walker.run(Command { argv, input: Input::Pipe, ..Command::default() });
}

fn runs(walker: &mut Walker, arguments: &[Argument], text: &str) {
    match arguments {
        [Argument::List(argv), ..] if !argv.is_empty() => synthesized(walker, argv.clone()),
        [Argument::Text(program), Argument::List(rest), ..] => {
            let mut argv = vec![program.clone()];
            argv.extend(rest.iter().cloned());
            synthesized(walker, argv);
        }
        [Argument::Text(script), rest @ ..] => {
            let script = script.clone();
            walker.code(&script, &Input::Inherited);
            let texts: Vec<Value> = rest.iter().filter_map(Argument::path).collect();
            if !texts.is_empty() {
                let mut argv = vec![script];
                argv.extend(texts);
                // `execl(path, name, …)` says the name twice.
                if argv.get(1).is_some_and(|name| {
                    argv.first().is_some_and(|path| path.to_string().ends_with(&name.to_string()))
                }) {
                    argv.remove(1);
                }
                synthesized(walker, argv);
            }
        }
        _ => walker.unknown(hides(text), text),
    }
}
