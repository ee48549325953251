//! Commands for people: those that change what is in force, so that an agent must not run them.
//!
//! A terminal is no proof of a person, because `script -c` and every agent with a pseudo-terminal have one,
//! and neither is a hash, because an agent can print it. But an agent cannot choose its ancestors. So
//! `tollgate hook` records the agent that calls it ([`record`]), and a command for people is refused if a
//! recorded agent is among the ancestors of its process ([`required`]).
//!
//! # Limits
//!
//! A process that leaves its ancestors behind is not recognised: a daemon that forks twice (`setsid --fork`),
//! or one that is started by another daemon (`at`, `tmux`, `systemd-run`, a container). Neither is an agent
//! that has not called `tollgate hook` yet, nor any on a system without `/proc`. And code that runs as the same user needs no command: it can edit the
//! trust store, the records and the settings of agents directly. The built-in guard refuses what it sees of
//! all this in the text of a call.

use std::collections::BTreeSet;
use std::env;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::parent_id;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_config::layers::Places;

use crate::problem::Problem;

/// The folder in the state directory for records of agents and sessions. The guard protects it.
pub(crate) const FOLDER: &str = "hosts";

/// Maximum number of ancestors that are looked at.
const MOST_ANCESTORS: usize = 64;

/// Maximum number of processes between an agent and the hook that it calls.
const MOST_BETWEEN: usize = 8;

/// Maximum number of bytes that are read of a file in `/proc`.
const LONGEST: u64 = 64 << 10;

/// Maximum age of a shell that was started for a hook when the hook starts, in clock ticks of `/proc` (10 ms).
const SAME_TIME: u64 = 100;

/// Time after which the record of a missing process is removed. The process may run in another container.
const KEPT: Duration = Duration::from_hours(24);

/// Maximum number of records that are looked at when old ones are removed.
const MOST_RECORDS: usize = 1_000;

const SHELLS: &[&str] =
    &["sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "ash", "busybox", "csh", "tcsh"];

/// Programs that run another program and wait for it.
const WRAPPERS: &[&str] = &["env", "timeout", "nice", "ionice", "stdbuf", "time", "sudo", "doas"];

/// A process, as `/proc` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Process {
    pid: u32,
    parent: u32,
    /// Start time in clock ticks since boot. Together with the id it identifies the process.
    started: u64,
    /// The name of its program, cut to 15 bytes by the system.
    name: String,
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(pid, &read(pid, "stat").ok()?)
    }

    /// Parses `/proc/PID/stat`. The name is in parentheses and may contain parentheses and blanks.
    fn parse(pid: u32, stat: &[u8]) -> Option<Self> {
        let stat = String::from_utf8_lossy(stat);
        let (name, fields) = stat.split_once('(')?.1.rsplit_once(')')?;
        let mut fields = fields.split_whitespace();
        let parent = fields.nth(1)?.parse().ok()?;
        let started = fields.nth(17)?.parse().ok()?;
        Some(Self { pid, parent, started, name: name.to_owned() })
    }

    /// Returns the directory it is in.
    pub(crate) fn directory(&self) -> Option<PathBuf> {
        fs::read_link(format!("/proc/{}/cwd", self.pid)).ok().filter(|path| path.is_dir())
    }

    /// Returns the file name of its record.
    pub(crate) fn record(&self) -> String {
        format!("agent-{}-{}", self.pid, self.started)
    }

    /// Returns its command line.
    fn arguments(&self) -> Vec<String> {
        let line = read(self.pid, "cmdline").unwrap_or_default();
        let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
        words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
    }

    /// Returns a variable of the environment that a process was started with.
    fn variable(environment: &[u8], name: &str) -> Option<PathBuf> {
        let value = environment
            .split(|byte| *byte == 0)
            .find_map(|variable| variable.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
        Some(PathBuf::from(OsStr::from_bytes(value)))
    }

    /// True if it is connected to a terminal. A shell may redirect its own input while a program runs, and then
    /// keeps the terminal at descriptor 10 (dash) or 255 (bash).
    fn has_terminal(&self) -> bool {
        let is_terminal = |file: PathBuf| {
            file.starts_with("/dev/pts") || file.as_os_str().as_bytes().starts_with(b"/dev/tty")
        };
        let mut files = [0, 1, 2, 10, 255].into_iter();
        files.any(|file| {
            fs::read_link(format!("/proc/{}/fd/{file}", self.pid)).is_ok_and(is_terminal)
        })
    }

    /// True if it runs the same program as this process.
    fn is_tollgate(&self) -> bool {
        let id = |path: String| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
        let own = id("/proc/self/exe".to_owned());
        own.is_some() && id(format!("/proc/{}/exe", self.pid)) == own
    }
}

fn read(pid: u32, file: &str) -> io::Result<Vec<u8>> {
    let mut text = Vec::with_capacity(1024);
    File::open(format!("/proc/{pid}/{file}"))?.take(LONGEST).read_to_end(&mut text)?;
    Ok(text)
}

/// Returns the ancestors of this process, from its parent upwards, up to the first that cannot be read.
fn ancestors() -> impl Iterator<Item = Process> {
    let mut next = parent_id();
    let above = std::iter::from_fn(move || {
        let process = Process::of(next).filter(|process| process.pid != process.parent)?;
        next = process.parent;
        Some(process)
    });
    above.take(MOST_ANCESTORS)
}

/// The role of an ancestor of a hook.
#[derive(Debug, PartialEq, Eq)]
enum Role {
    /// A shell or wrapper that was started for this one call.
    OfHook,
    /// A shell that a person types into.
    Person,
    /// The caller.
    Agent,
}

impl Role {
    /// Returns the role of an ancestor of a hook that started at this time. Its command line is only read if it
    /// may be a shell.
    fn of(
        process: &Process,
        started: u64,
        arguments: impl FnOnce() -> Vec<String>,
        has_terminal: impl FnOnce() -> bool,
    ) -> Self {
        let is_shell = SHELLS.contains(&process.name.as_str());
        if !is_shell && !WRAPPERS.contains(&process.name.as_str()) {
            return Self::Agent;
        }
        let arguments = arguments();
        if is_shell && !runs_something(&arguments) {
            return if has_terminal() { Self::Person } else { Self::OfHook };
        }
        // `sh -c '"$0" "$@"' tollgate hook claude`, `bash .clinerules/hooks/PreToolUse`
        let is_named = arguments.iter().any(|word| word.contains("hook"));
        let is_young = started.saturating_sub(process.started) <= SAME_TIME;
        if is_named || is_young { Self::OfHook } else { Self::Agent }
    }
}

/// True if a shell was started with a command or a script.
fn runs_something(arguments: &[String]) -> bool {
    let mut rest = arguments.iter().skip(1);
    while let Some(word) = rest.next() {
        match word.as_str() {
            "--rcfile" | "--init-file" | "-o" | "+o" | "-O" | "+O" => drop(rest.next()),
            word if word.starts_with(['-', '+']) => {}
            _ => return true,
        }
    }
    false
}

/// Returns the agent that called this hook; none if a person did.
pub(crate) fn caller() -> Option<Process> {
    let this = Process::of(std::process::id())?;
    let started = this.started;
    // The process that supervises this one has the same program and command line.
    let is_supervisor =
        |process: &Process| process.is_tollgate() && process.arguments() == this.arguments();
    for process in ancestors().skip_while(is_supervisor).take(MOST_BETWEEN) {
        match Role::of(&process, started, || process.arguments(), || process.has_terminal()) {
            Role::OfHook => {}
            Role::Person => return None,
            // `tollgate doctor` calls the hooks that it finds.
            Role::Agent => return (!process.is_tollgate() && process.pid > 1).then_some(process),
        }
    }
    None
}

/// True if Tollgate itself called this hook to see whether it refuses what it should.
pub(crate) fn is_canary() -> bool {
    let calls = ["doctor", "setup", "status"];
    let is_call = |process: &Process| {
        process.is_tollgate()
            && process.arguments().get(1).is_some_and(|word| calls.contains(&word.as_str()))
    };
    ancestors().take(MOST_BETWEEN).any(|process| is_call(&process))
}

/// Records the agent that called this hook. A failure is ignored, because the answer must not depend on it.
pub(crate) fn record(host: &str) {
    let Some(state) = Places::of_this_process(None).trust else { return };
    let Some(folder) = state.parent().map(|state| state.join(FOLDER)) else { return };
    let Some(agent) = caller() else { return };
    let file = folder.join(agent.record());
    if file.symlink_metadata().is_ok() {
        return;
    }
    let written = tollgate_config::trust::private_directory(&folder)
        .and_then(|()| File::options().write(true).create_new(true).open(&file))
        .and_then(|mut file| file.write_all(host.as_bytes()));
    if written.is_ok() {
        forget_ended(&folder);
    }
}

/// Removes the records of agents that have ended.
fn forget_ended(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_RECORDS);
    for entry in entries {
        let name = entry.file_name();
        let recorded = name.to_str().and_then(|name| name.strip_prefix("agent-"));
        let Some((pid, _)) = recorded.and_then(|recorded| recorded.split_once('-')) else {
            continue;
        };
        let now = pid.parse().ok().and_then(Process::of);
        if now.is_some_and(|now| name.to_str() == Some(&now.record())) {
            continue;
        }
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        if modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age > KEPT) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Returns the folders that may hold the record of an agent. The environments of the ancestors count as well as
/// that of this process, because `HOME=/tmp tollgate install` must not look elsewhere.
fn folders(environments: &[Vec<u8>]) -> BTreeSet<PathBuf> {
    let own = |name: &str| env::var_os(name).map(PathBuf::from);
    let mut places = vec![Places::of_this_process(None), Places::by(own, None)];
    for environment in environments {
        let all = |name: &str| Process::variable(environment, name);
        // Some agents pass only HOME on to their hooks.
        let home = |name: &str| if name == "HOME" { all(name) } else { None };
        places.extend([Places::by(all, None), Places::by(home, None)]);
    }
    let stores = places.into_iter().filter_map(|places| places.trust);
    stores.filter_map(|store| Some(store.parent()?.join(FOLDER))).collect()
}

/// Refuses a command for people if an agent is among the ancestors of this process.
pub(crate) fn required(subcommand: &str) -> Result<(), Problem> {
    let ancestors: Vec<Process> = ancestors().collect();
    let environments = ancestors.iter().filter_map(|process| read(process.pid, "environ").ok());
    let environments: Vec<Vec<u8>> = environments.collect();
    let folders = folders(&environments);
    let is_recorded = |process: &Process| {
        folders.iter().any(|folder| folder.join(process.record()).symlink_metadata().is_ok())
    };
    let agent = ancestors.iter().find(|process| is_recorded(process) || process.is_tollgate());
    match agent {
        None => Ok(()),
        Some(Process { name, pid, .. }) => Err(Problem::new(format!(
            "`tollgate {subcommand}` changes what an agent may do, and an agent started it: `{name}`, process {pid}"
        ))
        .help("run it in a terminal of your own, outside of the agent")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(name: &str, started: u64) -> Process {
        Process { pid: 7, parent: 1, started, name: name.to_owned() }
    }

    fn role(name: &str, line: &str, started: u64, has_terminal: bool) -> Role {
        let arguments: Vec<String> = line.split(' ').map(str::to_owned).collect();
        Role::of(&process(name, started), 10_000, || arguments, || has_terminal)
    }

    #[test]
    fn a_process_is_read_whatever_its_name_is() {
        let stat = b"7 (a) b (c) S 3 7 7 0 -1 4194304 90 0 0 0 1 2 0 0 20 0 1 0 4711 5 6";
        let read = Process::parse(7, stat).unwrap();
        assert_eq!((read.parent, read.started, &*read.name), (3, 4711, "a) b (c"));
        for broken in [&b""[..], b"7", b"7 (a", b"7 (a)", b"7 (a) S x", b") (", b"7 (a) S 3 7"] {
            assert_eq!(Process::parse(7, broken), None);
        }
    }

    #[test]
    fn its_own_parent_is_the_first_of_the_ancestors() {
        let ancestors: Vec<Process> = ancestors().collect();
        assert_eq!(ancestors.first().map(|first| first.pid), Some(parent_id()));
        assert!(ancestors.len() <= MOST_ANCESTORS);
    }

    #[test]
    fn what_was_started_for_the_hook_alone_is_no_agent() {
        assert_eq!(role("node", "node cli.js", 1, false), Role::Agent);
        assert_eq!(role("claude", "claude -p hook", 9_999, true), Role::Agent);
        // Shells and wrappers of the hook command.
        assert_eq!(role("sh", "sh -c tollgate hook claude", 1, false), Role::OfHook);
        assert_eq!(role("bash", "bash .clinerules/hooks/PreToolUse", 1, false), Role::OfHook);
        assert_eq!(role("timeout", "timeout 9 tollgate hook claude", 1, false), Role::OfHook);
        assert_eq!(role("sh", "sh guard.sh", 9_950, false), Role::OfHook);
        assert_eq!(role("bash", "bash", 1, false), Role::OfHook);
        // An agent that is a script is older than its hook.
        assert_eq!(role("bash", "bash agent.sh", 1, true), Role::Agent);
        // Shells of a person.
        assert_eq!(role("bash", "-bash", 1, true), Role::Person);
        assert_eq!(role("zsh", "zsh -l", 1, true), Role::Person);
        assert_eq!(role("bash", "bash --init-file integration.sh -i", 1, true), Role::Person);
    }

    #[test]
    fn records_are_looked_for_where_the_agent_has_its_state() {
        let environment = b"PATH=/bin\0HOME=/home/me\0XDG_STATE_HOME=/state\0HOMEBREW=1\0".to_vec();
        let folders = folders(&[environment]);
        for folder in ["/state/tollgate/hosts", "/home/me/.local/state/tollgate/hosts"] {
            assert!(folders.contains(Path::new(folder)), "{folders:?}");
        }
    }
}
