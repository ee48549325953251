//! `tollgate convert`

use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::builder::{PossibleValuesParser, TypedValueParser as _};
use tollgate_config::convert::{Converted, convert};
use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::dialect::{self, FileDialect};
use tollgate_config::source::SourceFile;

use crate::exit::Exit;
use crate::out::{Out, styles};
use crate::place::shown;
use crate::problem::Problem;

/// Turn a hook file of one dialect into one of another
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate convert claude gemini > .gemini/settings.json
  tollgate convert hooks-json claude .agents/hooks.json --out .claude/settings.json
  tollgate convert gemini codex --strict

Each hook is registered at the same event, for the same tools under their other names, with the same
time-out. Its command stays as it is and runs behind `tollgate translate`, which says to it what its
own agent would. What does not carry over is listed, each with its place.")]
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
}

/// Reads the name of a dialect whose hooks are commands in files.
pub(crate) fn format_parser()
-> impl clap::builder::TypedValueParser<Value = &'static dyn FileDialect> {
    let names = dialect::ALL.iter().map(|format| format.dialect().name());
    PossibleValuesParser::new(names).try_map(|name| {
        let mut all = dialect::ALL.iter().copied();
        all.find(|format| format.dialect().name() == name).ok_or("there is no such dialect")
    })
}

/// The most that is read.
const LARGEST: u64 = 4 << 20;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let source = Arc::new(source(args)?);
    let name = shown(source.path());
    let Converted { text, hooks, lost } = match convert(args.from, args.to, &source) {
        Ok(converted) => converted,
        Err(diagnostics) => {
            for said in diagnostics.iter().filter(|said| said.is_error()) {
                out.note(Diagnostic::line(said));
            }
            return Err(Problem::new(format!("`{name}` does not load"))
                .help("`tollgate check` tells more about it"));
        }
    };
    for lost in &lost {
        let style = styles::WARNING;
        out.note(format!("{name}:{}: {style}lost:{style:#} {}", lost.at, lost.what));
    }
    match &args.out {
        None => out.text(&text),
        Some(path) => {
            write(path, &text)?;
            out.note(format!("{} written to `{}`", count(hooks), shown(path)));
        }
    }
    Ok(if args.strict && !lost.is_empty() { Exit::Problem } else { Exit::Fine })
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
