//! Everything that can be checked, measured or generated here.

use std::fmt::Write as _;

/// When a suite runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum When {
    /// In CI, for every commit.
    EveryCommit,
    /// When somebody asks for it.
    OnRequest,
}

/// A suite.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Suite {
    /// The name that `cargo xtask run` takes.
    pub(crate) name: &'static str,
    /// When it runs.
    pub(crate) when: When,
    /// What it checks, measures or generates.
    pub(crate) what: &'static str,
    /// The command, for bash, in the root of the repository. Arguments are appended.
    pub(crate) command: &'static str,
}

const fn every(name: &'static str, what: &'static str, command: &'static str) -> Suite {
    Suite { name, when: When::EveryCommit, what, command }
}

const fn asked(name: &'static str, what: &'static str, command: &'static str) -> Suite {
    Suite { name, when: When::OnRequest, what, command }
}

/// All suites, those of every commit first.
pub(crate) const ALL: &[Suite] = &[
    every("ci", "everything that runs for every commit", ".ci/run"),
    every(
        "test",
        "tests, documented examples, conformance cases",
        "cargo test --workspace --locked",
    ),
    every(
        "lint",
        "formatting and lints",
        "cargo fmt --all --check && cargo clippy --workspace --all-targets --locked -- -D warnings",
    ),
    every("hosts", "three real agents; name more to run them", "hosts/run"),
    every(
        "model",
        "interleavings of the engine",
        "RUSTFLAGS='--cfg shuttle' cargo test -p tollgate-core --test model --locked --target-dir target/shuttle",
    ),
    every("fuzz", "fuzz targets, for SECONDS each", "fuzz/run"),
    asked(
        "conformance",
        "recorded cases of other engines: KIND FILE…",
        "cargo run -q --release -p tollgate-testing --bin conformance --",
    ),
    asked(
        "everyday",
        "ordinary work and harm through the whole command; GUARD_CASES=sql for some",
        "cargo test -p tollgate-cli --test guards",
    ),
    asked(
        "guards",
        "the starter guards beside two others: CORPORA [--update docs/shell.md]",
        "bench/guards/run",
    ),
    asked(
        "guard-score",
        "the starter guards on the cases of the project",
        "cargo run -q --release -p tollgate-starlark --example guard_score --",
    ),
    asked("hook-bench", "the time of a hook call, beside two other guards", "bench/hook/run"),
    asked("start-bench", "the time of a start", "bench/start/run"),
    asked(
        "peers-bench",
        "the engine beside antigravity-sdk-rust",
        "cargo run --release --manifest-path bench/peers/Cargo.toml --",
    ),
    asked("benches", "speed of each crate", "cargo bench --workspace"),
    asked(
        "order",
        "functions of the command laid out in the order of their calls; --check compares",
        "bench/order/run",
    ),
    asked(
        "mcp-server",
        "MCP against a public server",
        "crates/mcp/tests/install-server && TOLLGATE_PUBLIC_SERVER=required cargo test -p tollgate-mcp",
    ),
    asked("schemas", "writes schemas/", "cargo run -q -p tollgate-config --example schemas"),
    asked(
        "sentences",
        "writes the reasons of guards into cases/guards",
        "UPDATE=1 cargo test -p tollgate-shell --test sentences",
    ),
    asked(
        "host-pages",
        "writes the tables of docs/hosts.md",
        "UPDATE=1 cargo test -p tollgate-hosts --test page",
    ),
    asked(
        "console",
        "writes what the command prints into its documented sessions",
        "SNAPSHOTS=overwrite cargo test -p tollgate-cli --test console",
    ),
    asked("demo", "an agent held by hooks of four systems", "cargo run -q -p tollgate-cli -- demo"),
];

/// Returns the list for a terminal.
pub(crate) fn text() -> String {
    let width = ALL.iter().map(|suite| suite.name.len()).max().unwrap_or(0);
    let mut text = String::new();
    for (when, title) in [(When::EveryCommit, "for every commit"), (When::OnRequest, "on request")]
    {
        let _ = writeln!(text, "{title}:");
        for suite in ALL.iter().filter(|suite| suite.when == when) {
            let _ = writeln!(
                text,
                "  {:width$}  {}\n  {:width$}    {}",
                suite.name, suite.what, "", suite.command
            );
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::{ALL, When};
    use crate::repository;

    #[test]
    fn names_are_unique_and_programs_are_there() {
        let names: BTreeSet<_> = ALL.iter().map(|suite| suite.name).collect();
        assert_eq!(names.len(), ALL.len());
        for suite in ALL {
            let program = suite.command.split_whitespace().find(|word| !word.contains('='));
            if let Some(path) = program.filter(|program| program.contains('/')) {
                assert!(repository().join(path).exists(), "{}: there is no `{path}`", suite.name);
            }
        }
    }

    #[test]
    fn the_architecture_page_lists_them() {
        let page =
            std::fs::read_to_string(repository().join("docs/ARCHITECTURE.md")).unwrap_or_default();
        for suite in ALL {
            let when = if suite.when == When::EveryCommit { "every commit" } else { "on request" };
            let row = format!("| `{}` | {when} | {} |", suite.name, suite.what);
            assert!(page.contains(&row), "docs/ARCHITECTURE.md lacks the line\n{row}");
        }
    }
}
