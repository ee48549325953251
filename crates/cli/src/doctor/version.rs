//! The versions of agents, as their programs tell them.

use std::time::Duration;

use tollgate_exec::{Command, Executor, Input, Limits};
use tollgate_hosts::{Host, Version};
use tollgate_install::Found;

/// Time limit for a program to print its version.
const PATIENCE: Duration = Duration::from_secs(10);

/// Runs `AGENT --version` for each agent that was measured, all at once. None where there is no such program, or it tells
/// none in time.
pub(super) fn all(found: &[Found]) -> Vec<Option<Version>> {
    let begin = |found: &Found| {
        tollgate_hosts::by_name(found.target.name)?.facts()?;
        let command = Command::new(found.program.as_ref()?).arg("--version");
        let input = Input::new(Vec::new(), PATIENCE);
        Some(Executor::shared().run(&command, input, Limits::default()))
    };
    let running: Vec<_> = found.iter().map(begin).collect();
    let version = |running: tollgate_exec::Running| {
        let finished = running.wait().ok()?;
        let told = |bytes: &[u8]| Version::find(&String::from_utf8_lossy(bytes));
        told(&finished.stdout).or_else(|| told(&finished.stderr))
    };
    running.into_iter().map(|running| running.and_then(version)).collect()
}

/// Returns what is wrong with a version, and what is good to know about it.
pub(super) fn judged(host: &Host, version: Option<Version>) -> (Option<String>, Option<String>) {
    let Some(facts) = host.facts() else { return (None, None) };
    let (title, measured) = (host.title, facts.measured);
    let Some(version) = version else {
        return match facts.lowest {
            Some((lowest, why)) => (
                None,
                Some(format!("cannot tell its version; it has to be {lowest} or newer: {why}")),
            ),
            None => (None, None),
        };
    };
    match facts.lowest {
        Some((lowest, why)) if version < lowest => (
            Some(format!("{title} {version} is too old: {why}; update it to {lowest} or newer")),
            None,
        ),
        _ if version < measured => (
            None,
            Some(format!(
                "{title} {version} is older than the version that Tollgate was tested with, {measured}"
            )),
        ),
        _ => (None, None),
    }
}
