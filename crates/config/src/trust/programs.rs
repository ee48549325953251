//! What the words of a command say about the files it needs.

use super::executed::program;
use super::words::{Command, HOLE, Hole, Word};

/// The paths that a word may mean, and what that depends on.
pub(super) fn readings(word: &Word) -> Vec<(String, Option<String>)> {
    let mut readings = Vec::new();
    let mut add = |text: &str, unknown: Option<String>| {
        for part in [Some(text), text.split_once('=').map(|(_, value)| value)] {
            let part = part.map(|part| part.strip_prefix('@').unwrap_or(part));
            if let Some(part) = part.filter(|part| !part.is_empty() && !part.contains(HOLE)) {
                readings.push((part.to_owned(), unknown.clone()));
            }
        }
    };
    match (word.text.rsplit_once(HOLE), word.holes.last()) {
        (Some((before, rest)), Some(hole)) => {
            let rest = rest.trim_start_matches('/');
            let alone = before.is_empty() || before.ends_with('=');
            let unknown = match hole {
                Hole::Variable(name) if name == "PWD" && alone => None,
                Hole::Output(text) if text.trim() == "pwd" && alone => None,
                Hole::Variable(name) => Some(format!("`${name}`")),
                Hole::Output(text) => Some(format!("what `{}` says", text.trim())),
            };
            add(rest, unknown);
        }
        _ => add(&word.text, None),
    }
    readings
}

/// Programs that stand before the program that is meant.
pub(super) const WRAPPERS: &[&str] =
    &["env", "exec", "command", "nohup", "nice", "sudo", "timeout", "time", "setsid", "xargs"];

/// Programs that run what further files of the project say.
const RUNNERS: &[&str] = &[
    "make",
    "gmake",
    "just",
    "task",
    "npm",
    "npx",
    "pnpm",
    "pnpx",
    "yarn",
    "bun",
    "bunx",
    "deno",
    "cargo",
    "go",
    "gradle",
    "gradlew",
    "mvn",
    "mvnw",
    "ant",
    "rake",
    "bundle",
    "composer",
    "tox",
    "nox",
    "uv",
    "uvx",
    "poetry",
    "pipenv",
    "pdm",
    "hatch",
    "pre-commit",
    "bazel",
    "meson",
    "ninja",
    "cmake",
    "docker",
    "podman",
    "docker-compose",
    "nix",
    "direnv",
    "mise",
    "dotnet",
    "mix",
    "sbt",
    "lein",
    "stack",
    "cabal",
    "eval",
];

/// Interpreters, and the options with which they run something else than a file.
pub(super) const INTERPRETERS: &[(&str, &[&str])] = &[
    ("python", &["-m", "-c"]),
    ("node", &["-e", "--eval", "-p", "--print", "--import", "--require", "-r"]),
    ("ruby", &["-e", "-r"]),
    ("perl", &["-e", "-E", "-M"]),
    ("php", &["-r"]),
    ("sh", &["-c"]),
    ("bash", &["-c"]),
    ("zsh", &["-c"]),
    ("dash", &["-c"]),
    ("ksh", &["-c"]),
    ("fish", &["-c"]),
];

/// Whether a command runs one of these programs.
pub(super) fn runs(command: &Command, programs: &[&str]) -> bool {
    let (_, words) = command.parts();
    words.first().is_some_and(|word| programs.contains(&word.base_name()))
}

/// Why a command reads more of the project than its words name, if it does.
pub(super) fn further_files(command: &Command) -> Option<String> {
    // `env X=1 timeout 5 make`: what is before the program does not matter.
    let (program, words) = program(command)?;
    let name = program.base_name();
    if RUNNERS.contains(&name) {
        return Some(format!("`{name}` reads further files"));
    }
    // `python3.12` is python.
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let (_, options) = INTERPRETERS.iter().find(|(interpreter, _)| *interpreter == plain)?;
    let matches = |word: &str, option: &str| {
        let is_short = option.len() == 2;
        let letter = option.chars().next_back().unwrap_or_default();
        let is_cluster = is_short && !word.starts_with("--") && word.contains(letter);
        word == option || (word.starts_with('-') && is_cluster)
    };
    let found = words
        .into_iter()
        .take_while(|word| word.text.starts_with('-'))
        .find_map(|word| options.iter().find(|option| matches(&word.text, option)))?;
    Some(format!("`{name} {found}` runs what is in no file, or in files it finds itself"))
}
