//! `tollgate convert`

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use serde_json::{Value, json};
use tollgate_config::convert::{Behind, Converted, convert};
use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::dialect::{self, FileDialect};
use tollgate_config::source::SourceFile;
use tollgate_core::Dialect;
use tollgate_install::{Registration, closed_line};

use crate::exit::Exit;
use crate::out::{Out, styles};
use crate::place::{dialect_value, shown};
use crate::problem::Problem;

/// Turn a hook file of one dialect into one of another
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate convert claude gemini > .gemini/settings.json
  tollgate convert hooks-json claude --out .claude/settings.json
  tollgate convert gemini codex --strict

Each hook is registered at the same event, for the same tools under their other
names. Its command stays as it is, has the same time, and runs behind `tollgate
translate`, which says to it what its own agent would, and refuses where it
gives no answer. What does not carry over is listed, each with its place.")]
pub(crate) struct Args {
    /// The dialect it is in
    #[arg(value_parser = format_parser())]
    from: &'static dyn FileDialect,
    /// The dialect it is to be in
    #[arg(value_parser = format_parser())]
    to: &'static dyn FileDialect,
    /// The file [default: the project's of that dialect; `-` is standard input]
    file: Option<PathBuf>,
    /// Write the result to a file, which must not be there yet
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Exit with 1 where anything is lost
    #[arg(long)]
    strict: bool,
    /// Print one object
    #[arg(long)]
    json: bool,
}

/// Reads the name of a dialect whose hooks are commands in files.
pub(crate) fn format_parser()
-> impl clap::builder::TypedValueParser<Value = &'static dyn FileDialect> {
    let names = dialect::ALL.iter().map(|format| dialect_value(format.dialect()));
    PossibleValuesParser::new(names).try_map(|name| {
        let wanted = Dialect::named(&name);
        let mut all = dialect::ALL.iter().copied();
        all.find(|format| Some(format.dialect()) == wanted).ok_or("there is no such dialect")
    })
}

/// The most that is read.
const LARGEST: u64 = 4 << 20;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let source = Arc::new(source(args)?);
    let name = shown(source.path());
    let program = std::env::current_exe()?;
    let line = |call: Behind<'_>| closed(&program, call);
    let Converted { text, hooks, lost } = match convert(args.from, args.to, &source, &line) {
        Ok(converted) => converted,
        Err(diagnostics) => {
            for said in diagnostics.iter().filter(|said| said.is_error()) {
                out.note(Diagnostic::line(said));
            }
            return Err(Problem::new(format!("`{name}` does not load"))
                .help("`tollgate check` tells more about it"));
        }
    };
    if let Some(path) = &args.out {
        write(path, &text)?;
    }
    let exit = if args.strict && !lost.is_empty() { Exit::Problem } else { Exit::Fine };
    if args.json {
        let lost: Vec<_> = lost
            .iter()
            .map(|lost| json!({"line": lost.at.line, "column": lost.at.column, "what": lost.what}))
            .collect();
        // What a person wrote with comments is a text and no value.
        let file: Value = serde_json::from_str(&text).unwrap_or_else(|_| text.into());
        out.json(&json!({"file": file, "hooks": hooks, "lost": lost, "written": args.out}));
        return Ok(exit);
    }
    for lost in &lost {
        let style = styles::WARNING;
        out.note(format!("{name}:{}: {style}lost:{style:#} {}", lost.at, lost.what));
    }
    match &args.out {
        None => out.text(&text),
        Some(path) => {
            out.note(format!("{} written to `{}`", count(hooks), shown(path)));
        }
    }
    Ok(exit)
}

/// The call of Tollgate as the other agent is to run it: one that fails refuses at a gate, a program that
/// is gone included.
fn closed(program: &Path, call: Behind<'_>) -> String {
    let host = match call.to.dialect() {
        Dialect::HooksJson => "antigravity",
        other => other.name(),
    };
    let registration =
        if call.gate { Registration::gate(call.event) } else { Registration::tells(call.event) };
    // A path that cannot stand in a file is one that no shell could run.
    closed_line(host, program, registration, call.arguments).unwrap_or_else(|_| call.plain())
}

fn count(hooks: usize) -> String {
    if hooks == 1 { "1 hook".to_owned() } else { format!("{hooks} hooks") }
}

fn source(args: &Args) -> Result<SourceFile, Problem> {
    let home = args.from.home();
    let usual = || Path::new(home.in_project).join(home.file);
    let path = args.file.clone().unwrap_or_else(usual);
    let unreadable =
        |error: io::Error| Problem::new(format!("`{}` cannot be read: {error}", path.display()));
    let mut text = String::new();
    if path == Path::new("-") {
        io::stdin().lock().take(LARGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let file = fs::File::open(&path).map_err(unreadable)?;
        file.take(LARGEST + 1).read_to_string(&mut text).map_err(unreadable)?;
    }
    if text.len() as u64 > LARGEST {
        return Err(Problem::new(format!(
            "`{}` is larger than a hook file can be",
            path.display()
        )));
    }
    Ok(SourceFile::new(path, text))
}

/// Writes a file where there is none.
fn write(path: &Path, text: &str) -> Result<(), Problem> {
    let written = OpenOptions::new().write(true).create_new(true).open(path);
    written.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| {
        let problem = Problem::new(format!("`{}` cannot be written: {error}", path.display()));
        if error.kind() == io::ErrorKind::AlreadyExists {
            problem.help("without `--out` the result is printed, and can be put into that file")
        } else {
            problem
        }
    })
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn a_converted_hook_refuses_where_tollgate_is_gone() {
        let text = r#"{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [
            {"type": "command", "command": "./guard.sh"}]}]}}"#;
        let source = Arc::new(SourceFile::new("settings.json", text));
        let claude = dialect::of(Dialect::Claude).unwrap();
        for &to in dialect::ALL.iter().filter(|to| to.dialect() != Dialect::Claude) {
            let lines = std::cell::RefCell::new(Vec::new());
            let gone = |call: Behind<'_>| {
                let line = closed(Path::new("/nowhere/tollgate"), call);
                lines.borrow_mut().push(line.clone());
                line
            };
            convert(claude, to, &source, &gone).unwrap();
            for line in lines.take() {
                let ended = Command::new("sh").args(["-c", &line]).output().unwrap();
                let (said, why) = (
                    String::from_utf8_lossy(&ended.stdout),
                    String::from_utf8_lossy(&ended.stderr),
                );
                // Some are refused in words, others by the exit code.
                let is_refused = ended.status.code() == Some(2) || said.contains("\"deny\"");
                assert!(is_refused, "{line}: {said} {why}");
                assert!(format!("{said}{why}").contains("Tollgate gave no answer"), "{said} {why}");
            }
        }
    }
}
