//! Programs that some tests need, and the plain test command.

use std::env;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::{finish, repository};

/// A program that some tests need and a machine with only a Rust toolchain may lack.
struct Program {
    name: &'static str,
    /// Its package on Debian.
    package: &'static str,
    needed: &'static str,
}

const PROGRAMS: &[Program] = &[
    Program { name: "python3", package: "python3", needed: "MCP servers of tests" },
    Program { name: "node", package: "nodejs", needed: "the plugin for OpenCode" },
    Program { name: "jq", package: "jq", needed: "hooks of tests that read their payload" },
];

/// The variable that names the file in which skipped tests are noted.
const SKIPPED: &str = "TOLLGATE_SKIPPED";

/// Runs the tests, and names what is missing before and what was skipped after.
pub(crate) fn test(arguments: &[String]) -> ExitCode {
    let install = arguments.iter().any(|argument| argument == "--install");
    let arguments: Vec<_> = arguments.iter().filter(|argument| *argument != "--install").collect();
    if install && !missing().is_empty() {
        let packages =
            missing().iter().map(|program| program.package).collect::<Vec<_>>().join(" ");
        println!("installing {packages}");
        let line =
            format!("apt-get update && apt-get install --yes --no-install-recommends {packages}");
        if !Command::new("sh").args(["-c", &line]).status().is_ok_and(|status| status.success()) {
            eprintln!(
                "error: cannot install {packages}; install them yourself, or run without --install"
            );
            return ExitCode::FAILURE;
        }
    }
    for program in missing() {
        println!(
            "`{}` is not installed ({}): tests that need it are skipped. `--install` installs `{}`.",
            program.name, program.needed, program.package
        );
    }
    let list = repository().join("target").join(format!("skipped-{}", std::process::id()));
    let _ = fs::create_dir_all(repository().join("target"));
    let _ = fs::remove_file(&list);
    let workspace =
        if arguments.iter().any(|argument| matches!(argument.as_str(), "-p" | "--package")) {
            [].as_slice()
        } else {
            ["--workspace"].as_slice()
        };
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ended = finish(
        Command::new(cargo)
            .args(["test", "--locked"])
            .args(workspace)
            .args(arguments)
            .env(SKIPPED, &list),
    );
    let skipped = fs::read_to_string(&list).unwrap_or_default();
    let _ = fs::remove_file(&list);
    let mut lines: Vec<_> = skipped.lines().collect();
    lines.sort_unstable();
    lines.dedup();
    if !lines.is_empty() {
        println!("\nskipped for want of a program: {} tests", lines.len());
        for line in lines {
            println!("  {line}");
        }
    }
    ended
}

fn missing() -> Vec<&'static Program> {
    PROGRAMS.iter().filter(|program| !is_installed(program.name)).collect()
}

fn is_installed(name: &str) -> bool {
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| is_program(&directory.join(name)))
}
