//! The command that a host is given.
//!
//! Nearly every host lets the tool run when its hook is missing, killed, or fails in a way that is not
//! the one it knows. Where a host has a setting against that, it is used. Elsewhere a few words of shell
//! stand between the two: for an event that is a gate they turn whatever is no answer into a refusal, and
//! for the others into silence.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tollgate_core::Kind;
use tollgate_hosts::{HostEvent, Reply};

use crate::InstallError;
use crate::target::{Refusing, Start, Target};
use crate::words;

/// For how long a host is told to wait, in seconds.
pub(crate) const PATIENCE: u64 = 60;

/// How much earlier Tollgate is to be done, in seconds, so that it is the one to say what happens.
const MARGIN: u64 = 10;

/// The shell that every system has. It is named in the command, so that the shell which the host takes,
/// and which may be one with words of its own, has nothing to do but to start it.
const SHELL: &str = "/bin/sh";

/// Refuses what is no answer. Neither quotes nor backslashes are in it that shells disagree about.
const REFUSING: &str = "\"$0\" \"$@\"; s=$?; case $s in 0|2) exit $s;; esac; \
     echo \"refused: Tollgate gave no answer (status $s of $0); tollgate doctor tells why\" >&2; exit 2";

/// The same for a host in which that is no refusal, or not at every event, or not one that holds against
/// other hooks. It is given the host's own refusal as well: exit code, output and error. What was printed
/// before the end would spoil that, and is dropped.
const REFUSING_ITS_WAY: &str = "o=$1 r=$2; shift 2; exec 3>&1; \
     e=$({ a=$(\"$@\" 3>&-); s=$?; case $s in 0|$0) printf %s \"$a\" >&3; exit $s;; esac; exit 99; } 2>&1); \
     s=$?; case $s in 0) exit 0;; 99) printf %s \"$o\"; printf %s \"$r\" >&2; exit $0;; esac; \
     printf \"%s\\n\" \"$e\" >&2; exit $s";

/// What a host is told in its own way.
const NO_ANSWER: &str = "Tollgate gave no answer, so this is refused; tollgate doctor tells why";

/// Is silent about what is no answer: what was printed before the end is dropped as well.
const SILENT: &str = "exec 3>&1; e=$({ o=$(\"$0\" \"$@\" 3>&-); s=$?; \
     case $s in 0|2) printf %s \"$o\" >&3; exit $s;; esac; } 2>&1); s=$?; \
     [ $s = 2 ] && printf \"%s\\n\" \"$e\" >&2; exit $s";

/// Precedes the call where a missing program gives a warning instead of a refusal. Parameters: what to print, the
/// error to print, and the program; then the command that runs where the program is found.
const WARNING: &str = "command -v \"$2\" >/dev/null 2>&1 || \
     { printf %s \"$0\"; printf %s \"$1\" >&2; exit 0; }; shift 2; exec \"$@\"";

/// The text of that warning.
pub(crate) const NOT_HERE: &str = "Tollgate is not on the PATH of this machine, so the guards of this project do not run. \
     Install it, or ask whoever maintains this project.";

/// The choice for a machine without the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Missing {
    /// Every gate refuses.
    #[default]
    Refuse,
    /// Calls go on without guards, and the host shows a warning as far as it can.
    Warn,
}

/// An event that Tollgate is registered for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Registration {
    /// What the host calls it.
    pub event: &'static str,
    /// Whether something happens that should not, where nobody answers.
    pub gate: bool,
    /// Whether it is for every tool, also where Tollgate would leave some out of its own accord.
    pub all_tools: bool,
    /// The choice for a machine without the program. None keeps what is configured, and refuses where nothing is.
    pub missing: Option<Missing>,
}

impl Registration {
    /// An event at which a failure has to refuse.
    pub const fn gate(event: &'static str) -> Self {
        Self { event, gate: true, all_tools: false, missing: None }
    }

    /// An event at which a failure has to be silent.
    pub const fn tells(event: &'static str) -> Self {
        Self { event, gate: false, all_tools: false, missing: None }
    }

    /// For every tool.
    #[must_use]
    pub const fn for_all_tools(mut self) -> Self {
        self.all_tools = true;
        self
    }

    /// Sets what happens where the program is missing.
    #[must_use]
    pub const fn with_missing(mut self, missing: Missing) -> Self {
        self.missing = Some(missing);
        self
    }
}

impl From<&HostEvent> for Registration {
    fn from(event: &HostEvent) -> Self {
        if event.gate { Self::gate(event.name) } else { Self::tells(event.name) }
    }
}

/// One call of Tollgate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) registration: Registration,
    /// The program, as it is written.
    pub(crate) program: String,
    /// What it is given.
    pub(crate) arguments: Vec<String>,
    /// For how long the host waits, in seconds.
    pub(crate) timeout: u64,
    /// When Tollgate is done, in seconds.
    pub(crate) deadline: u64,
    /// The matcher that the person has written, or that they want.
    pub(crate) matcher: Option<String>,
    /// The choice for a machine without the program.
    pub(crate) missing: Missing,
    /// What is printed, and what is printed as an error, where it is missing and that is a warning.
    pub(crate) warning: (String, String),
    /// What stands between the host's shell and the program: a script, and what it is given besides.
    script: Vec<String>,
}

impl Call {
    pub(crate) fn new(
        target: &Target,
        program: &Path,
        registration: Registration,
    ) -> Result<Self, InstallError> {
        let event = registration.event;
        let timeout = target.short.iter().find(|(name, _)| name.is_empty() || *name == event);
        let timeout = timeout.map_or(PATIENCE, |(_, seconds)| *seconds);
        let deadline = if timeout > 2 * MARGIN { timeout - MARGIN } else { (timeout / 2).max(1) };
        let program = written(program)?;
        let seconds = deadline.to_string();
        let arguments = ["hook", target.name, "--event", event, "--deadline", &seconds];
        let arguments = arguments.map(str::to_owned).to_vec();
        let script = script(Some(target), registration);
        let matcher = registration.all_tools.then(|| "*".to_owned());
        let missing = registration.missing.unwrap_or_default();
        let warning = warning(target, event);
        Ok(Self {
            registration,
            program,
            arguments,
            timeout,
            deadline,
            matcher,
            missing,
            warning,
            script,
        })
    }

    /// As one line for a shell.
    pub(crate) fn line(&self) -> String {
        let line = line(&self.script, &self.program, &self.arguments);
        match self.missing {
            Missing::Refuse => line,
            Missing::Warn => {
                let (output, error) = &self.warning;
                let words = [SHELL, "-c", WARNING, output.as_str(), error, &self.program];
                let words: Vec<_> = words.into_iter().map(words::quote).collect();
                format!("{} {line}", words.join(" "))
            }
        }
    }

    /// Keeps what a configured hook does where the program is missing, unless the registration says it.
    pub(crate) fn keep_missing(&mut self, configured: Option<&CommandLine>) {
        if let (None, Some(CommandLine::Shell { line, .. })) =
            (self.registration.missing, configured)
        {
            self.missing = missing_in(line);
        }
    }
}

/// Whether a program is named by one word, for whoever runs it to find on their path.
fn is_bare(program: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
    program.starts_with(|c: char| c.is_ascii_alphanumeric()) && program.chars().all(is_plain)
}

/// A line for a host's shell that runs this program with these arguments as its hook, and in which a
/// program that is missing or gives no answer is as closed as in what [`install`](crate::install) writes.
/// For a host that nothing is installed into, exit code 2 is the refusal.
///
/// ```
/// use std::path::Path;
/// use tollgate_install::{Registration, closed_line};
///
/// let arguments = ["translate".to_owned()];
/// let gate = Registration::gate("PreToolUse");
/// let line = closed_line("codex", Path::new("/usr/bin/tollgate"), gate, &arguments)?;
/// assert!(line.starts_with("/bin/sh -c ") && line.ends_with(" /usr/bin/tollgate translate"));
/// # Ok::<(), tollgate_install::InstallError>(())
/// ```
pub fn closed_line(
    host: &str,
    program: &Path,
    registration: Registration,
    arguments: &[String],
) -> Result<String, InstallError> {
    let script = script(Target::by_name(host).ok(), registration);
    Ok(line(&script, &written(program)?, arguments))
}

/// A program's path as it can stand in any file.
fn written(program: &Path) -> Result<String, InstallError> {
    let written = program.to_str().filter(|text| !text.contains(['\n', '\r', '\0']));
    match written {
        Some(text) if program.is_absolute() || is_bare(text) => Ok(text.to_owned()),
        _ => Err(InstallError::Program(program.to_path_buf())),
    }
}

/// What stands between a host's shell and the program.
fn script(target: Option<&Target>, registration: Registration) -> Vec<String> {
    match target {
        _ if !registration.gate => vec![SILENT.to_owned()],
        Some(target) if matches!(target.refusing, Refusing::ItsWay) => {
            its_way(target, registration.event)
        }
        _ => vec![REFUSING.to_owned()],
    }
}

fn line(script: &[String], program: &str, arguments: &[String]) -> String {
    let script = script.iter().map(String::as_str);
    let words = [SHELL, "-c"].into_iter().chain(script).chain([program]);
    let words = words.chain(arguments.iter().map(String::as_str));
    words.map(words::quote).collect::<Vec<_>>().join(" ")
}

/// A refusal in the host's own way, and the script that gives it.
fn its_way(target: &Target, event: &str) -> Vec<String> {
    let Some(host) = tollgate_hosts::by_name(target.name) else { return vec![REFUSING.to_owned()] };
    let refusal = host.refusal(Some(event), NO_ANSWER);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let (output, error) = (text(&refusal.stdout), text(&refusal.stderr));
    vec![REFUSING_ITS_WAY.to_owned(), refusal.code.to_string(), output, error]
}

/// Returns what a host prints to go on with an event where the program is missing: the warning, at one kind of event
/// alone, so that a person does not see it at each call.
fn warning(target: &Target, event: &str) -> (String, String) {
    let Some(host) = tollgate_hosts::by_name(target.name) else { return Default::default() };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim_end().to_owned();
    let written = |event: &HostEvent, lost: Vec<String>| {
        let output = host.write(event, &Reply { lost, ..Reply::default() });
        (text(&output.stdout), text(&output.stderr))
    };
    let registered = || host.events.iter().filter(|event| event.registered);
    let kinds = [Kind::SessionStart, Kind::TurnStart, Kind::ToolPre];
    let told = kinds.iter().filter_map(|kind| registered().find(|event| event.kind == *kind));
    let shown = told
        .clone()
        .find(|event| written(event, vec![NOT_HERE.to_owned()]) != written(event, Vec::new()));
    let chosen = shown.or_else(|| told.clone().next());
    let Some(event) = host.event(event) else { return Default::default() };
    if chosen != Some(event) {
        return written(event, Vec::new());
    }
    let (output, error) = written(event, vec![NOT_HERE.to_owned()]);
    // A host that has no form for it may still log what is printed as an error.
    if shown.is_some() { (output, error) } else { (output, NOT_HERE.to_owned()) }
}

/// Returns what a line of ours does where the program is missing.
pub(crate) fn missing_in(line: &str) -> Missing {
    let words = words::split(line).unwrap_or_default();
    match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [SHELL, "-c", WARNING, ..] => Missing::Warn,
        _ => Missing::Refuse,
    }
}

/// Whether a line is a call of Tollgate for this host: one of ours, of today or of an older form, or the
/// plain one that people write themselves.
pub(crate) fn is_ours(host: &str, line: &str) -> bool {
    let Some(words) = words::split(line) else { return false };
    let words: Vec<_> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        // Before the program there may be more for the script.
        [SHELL, "-c", script, rest @ ..] => {
            let mut calls = (1..rest.len()).filter_map(|at| rest.get(at..));
            script.contains("\"$@\"") && calls.any(|arguments| is_our_call(host, arguments))
        }
        [program, arguments @ ..] => is_ours_direct(host, program, arguments),
        [] => false,
    }
}

/// The program that a line of ours calls.
fn program_in(host: &str, line: &str) -> Option<String> {
    let words = words::split(line)?;
    let at = words
        .windows(2)
        .position(|pair| matches!(pair, [hook, name] if hook == "hook" && name == host))?;
    words.get(at.checked_sub(1)?).cloned()
}

/// Whether a program with these arguments is a call of Tollgate for this host.
pub(crate) fn is_ours_direct(host: &str, program: &str, arguments: &[&str]) -> bool {
    let name = Path::new(program).file_name().and_then(|name| name.to_str());
    match arguments {
        ["hook", name_of_host, rest @ ..] if *name_of_host == host => {
            // Under whatever name: nobody else is called like this.
            name == Some("tollgate") || is_our_call(host, arguments) && rest.contains(&"--deadline")
        }
        _ => false,
    }
}

fn is_our_call(host: &str, arguments: &[&str]) -> bool {
    matches!(arguments, ["hook", name, "--event", _, ..] if *name == host)
}

/// A command as a host runs it.
///
/// ```
/// use tollgate_install::CommandLine;
///
/// let command = CommandLine::Shell {
///     shell: vec!["/bin/sh".into(), "-c".into()],
///     line: "tollgate hook kimi".into(),
/// };
/// let (program, arguments) = command.spawn().ok_or("not one to run")?;
/// assert_eq!((program.to_str(), arguments.len()), (Some("/bin/sh"), 2));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandLine {
    /// The program itself.
    Direct {
        /// The program.
        program: String,
        /// What it is given.
        arguments: Vec<String>,
    },
    /// A line that a shell reads.
    Shell {
        /// The shell and what it is given before the line.
        shell: Vec<String>,
        /// The line.
        line: String,
    },
    /// A file that bash runs.
    Script(PathBuf),
    /// A file that the host loads into itself.
    Plugin(PathBuf),
}

impl CommandLine {
    /// The program and its arguments. None where the host runs it inside itself.
    pub fn spawn(&self) -> Option<(PathBuf, Vec<OsString>)> {
        match self {
            Self::Direct { program, arguments } => {
                Some((program.into(), arguments.iter().map(OsString::from).collect()))
            }
            Self::Shell { shell, line } => {
                let (program, before) = shell.split_first()?;
                let arguments = before.iter().chain([line]).map(OsString::from).collect();
                Some((program.into(), arguments))
            }
            Self::Script(path) => Some(("/bin/bash".into(), vec![path.into()])),
            Self::Plugin(_) => None,
        }
    }

    /// The program that a hook of ours for this host calls, where the command tells.
    pub(crate) fn calls(&self, host: &str) -> Option<String> {
        match self {
            Self::Direct { program, .. } => Some(program.clone()),
            Self::Shell { line, .. } => program_in(host, line),
            Self::Script(_) | Self::Plugin(_) => None,
        }
    }

    /// The deadline that the command sets, where it tells.
    pub(crate) fn deadline(&self) -> Option<Duration> {
        let words = match self {
            Self::Direct { arguments, .. } => arguments.clone(),
            Self::Shell { line, .. } => words::split(line)?,
            Self::Script(_) | Self::Plugin(_) => return None,
        };
        let seconds = words.windows(2).rev().find_map(|pair| match pair {
            [name, seconds] if name == "--deadline" => seconds.parse().ok(),
            _ => None,
        });
        seconds.map(Duration::from_secs)
    }

    /// A line for the shell of this host.
    pub(crate) fn line(start: Start, line: &str) -> Self {
        let shell = match start {
            Start::Shell(words) => words,
            Start::Direct | Start::Script | Start::Plugin => &[SHELL, "-c"],
        };
        let shell = shell.iter().map(|word| (*word).to_owned()).collect();
        Self::Shell { shell, line: line.to_owned() }
    }
}

impl std::fmt::Display for CommandLine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Direct { program, arguments } => {
                f.write_str(&words::quote(program))?;
                arguments.iter().try_for_each(|word| write!(f, " {}", words::quote(word)))
            }
            Self::Shell { line, .. } => f.write_str(line),
            Self::Script(path) | Self::Plugin(path) => write!(f, "{}", path.display()),
        }
    }
}
