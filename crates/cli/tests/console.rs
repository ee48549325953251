//! Terminal sessions in Markdown, run: those in `tests/console`, and those that README and docs show.
//!
//! A block of `console` has commands behind `$ `, for bash, and what they print; `[exit 2]` where they end with
//! another code than 0. The sessions of a file run one after the other in one project that is made for it, with a home
//! of its own; a comment that begins with `setup` is run before. `SNAPSHOTS=overwrite cargo test -p tollgate-cli`
//! writes down what is printed now.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use snapbox::{Assert, Data, Redactions};

/// The repository.
fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// A place for one file's sessions.
struct World {
    root: tempfile::TempDir,
    directory: PathBuf,
}

impl World {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().canonicalize().unwrap();
        for folder in ["home", "project"] {
            fs::create_dir(path.join(folder)).unwrap();
        }
        Self { directory: path.join("project"), root }
    }

    fn in_repository() -> Self {
        Self { directory: repository(), ..Self::new() }
    }

    fn path(&self) -> PathBuf {
        self.root.path().canonicalize().unwrap()
    }

    /// Runs a line as a person would, and gives what they would see.
    fn run(&self, line: &str) -> String {
        let tollgate = Path::new(env!("CARGO_BIN_EXE_tollgate"));
        let bin = tollgate.parent().unwrap();
        // In the repository, people build it as they run it.
        let line = line.replace("cargo run -q -p tollgate-cli --", "tollgate");
        let output = Command::new("bash")
            .args(["-c", &format!("exec 2>&1\n{line}")])
            .current_dir(&self.directory)
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", bin.display()))
            .env("HOME", self.path().join("home"))
            .env("REPOSITORY", repository())
            .env("LANG", "C.UTF-8")
            .env("COLUMNS", "80")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let mut text = String::from_utf8(output.stdout).unwrap();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        match output.status.code() {
            Some(0) => {}
            Some(code) => writeln!(text, "[exit {code}]").unwrap(),
            None => text.push_str("[killed]\n"),
        }
        text
    }

    fn redactions(&self) -> Redactions {
        let mut redactions = Redactions::new();
        redactions.insert("[ROOT]", self.path()).unwrap();
        redactions.insert("[REPOSITORY]", repository()).unwrap();
        let pattern = regex::Regex::new(r"(?<redacted> *[0-9]+(\.[0-9]+)? (µs|ms|s)\b)").unwrap();
        redactions.insert("[TIME]", pattern).unwrap();
        let pattern = regex::Regex::new("\"micros\": (?<redacted>[0-9]+)").unwrap();
        redactions.insert("[MICROS]", pattern).unwrap();
        let pattern = regex::Regex::new(" time=\"(?<redacted>[0-9.]+)\"").unwrap();
        redactions.insert("[SECONDS]", pattern).unwrap();
        redactions
    }
}

/// The text of a file with what its sessions print now.
fn replay(text: &str, world: &World) -> String {
    let mut replayed = String::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        writeln!(replayed, "{line}").unwrap();
        if line == "<!-- setup" {
            let mut script = String::new();
            for line in lines.by_ref() {
                writeln!(replayed, "{line}").unwrap();
                if line == "-->" {
                    break;
                }
                writeln!(script, "{line}").unwrap();
            }
            let said = world.run(&format!("set -e\n{script}"));
            assert!(!said.contains("[exit"), "the setup failed: {said}");
        }
        if line != "```console" {
            continue;
        }
        // Whatever stands between commands is what they printed once.
        let mut session: Vec<&str> = Vec::new();
        for line in lines.by_ref() {
            if line == "```" {
                break;
            }
            session.push(line);
        }
        let mut session = session.into_iter().peekable();
        while let Some(line) = session.next() {
            let Some(first) = line.strip_prefix("$ ") else { continue };
            let mut command = first.to_owned();
            writeln!(replayed, "{line}").unwrap();
            while let Some(more) = session.peek().and_then(|line| line.strip_prefix("> ")) {
                writeln!(command, "\n{more}").unwrap();
                command.truncate(command.trim_end().len());
                writeln!(replayed, "> {more}").unwrap();
                session.next();
            }
            replayed.push_str(&world.run(&command));
        }
        replayed.push_str("```\n");
    }
    replayed
}

/// One after the other: what takes too long is refused, so that a busy machine shows in what is printed.
static ALONE: Mutex<()> = Mutex::new(());

fn holds(path: &Path, world: &World) {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let text = fs::read_to_string(path).unwrap();
    // What a shell reads has backslashes that are no paths.
    let assert = Assert::new()
        .action_env("SNAPSHOTS")
        .normalize_paths(false)
        .redact_with(world.redactions());
    assert.eq(replay(&text, world), Data::read_from(path, None));
}

macro_rules! sessions {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                let file = format!("tests/console/{}.md", stringify!($name).replace('_', "-"));
                holds(&Path::new(env!("CARGO_MANIFEST_DIR")).join(file), &World::new());
            }
        )*

        #[test]
        fn every_session_is_run() {
            let known = [$(stringify!($name)),*];
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/console");
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                let name = path.file_stem().unwrap().to_string_lossy().replace('-', "_");
                assert!(known.contains(&name.as_str()), "{name} is not in the list");
            }
        }
    };
}

sessions! { first_steps broken tampered fire events_and_schemas tests streams help demo setup }

#[test]
fn the_readme_shows_what_is_printed() {
    holds(&repository().join("README.md"), &World::in_repository());
}

#[test]
fn the_page_of_the_command_shows_what_is_printed() {
    holds(&repository().join("docs/cli.md"), &World::new());
}
