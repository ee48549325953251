//! `cargo xtask`: runs the test suites, benchmarks and generators of this repository.
//!
//! `cargo xtask test` is the plain test command. It names the programs that some tests need and this machine lacks, and
//! afterwards the tests that were skipped for want of them. `cargo xtask suites` lists everything else that can be run.
// A program for terminals.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod programs;
mod suites;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

const USAGE: &str = "\
Runs the checks of this repository.

  cargo xtask test [--install] [ARGUMENT…]   all tests; ARGUMENTs go to `cargo test`
  cargo xtask suites                         every suite, and when it runs
  cargo xtask run SUITE [ARGUMENT…]          one of them

Examples:
  cargo xtask test
  cargo xtask test -p tollgate-core
  cargo xtask run fuzz 60
";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let (command, rest) = match arguments.split_first() {
        Some((command, rest)) => (command.as_str(), rest),
        None => ("", [].as_slice()),
    };
    match command {
        "test" => programs::test(rest),
        "suites" if rest.is_empty() => {
            print!("{}", suites::text());
            ExitCode::SUCCESS
        }
        "run" => run(rest),
        "help" | "--help" | "-h" => {
            print!("{USAGE}");
            ExitCode::SUCCESS
        }
        _ => {
            eprint!("{USAGE}");
            ExitCode::from(2)
        }
    }
}

/// Runs one suite by its name.
fn run(arguments: &[String]) -> ExitCode {
    let suite =
        arguments.first().and_then(|name| suites::ALL.iter().find(|suite| suite.name == name));
    let (Some(suite), Some(rest)) = (suite, arguments.get(1..)) else {
        let names: Vec<_> = suites::ALL.iter().map(|suite| suite.name).collect();
        eprintln!("usage: cargo xtask run SUITE\nSUITE is one of: {}", names.join(", "));
        return ExitCode::from(2);
    };
    // A shell takes the variables and quotes of the command apart, and hands the arguments on.
    finish(
        Command::new("bash").args(["-c", &format!("{} \"$@\"", suite.command), "xtask"]).args(rest),
    )
}

/// Runs a command in the repository and ends as it does.
fn finish(command: &mut Command) -> ExitCode {
    match command.current_dir(repository()).status() {
        Ok(status) => match status.code().map(u8::try_from) {
            Some(Ok(code)) => ExitCode::from(code),
            _ => ExitCode::FAILURE,
        },
        Err(error) => {
            eprintln!("error: cannot start `{}`: {error}", command.get_program().display());
            ExitCode::FAILURE
        }
    }
}

/// Returns the directory of the repository.
fn repository() -> PathBuf {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest).to_path_buf()
}
