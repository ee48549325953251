//! A call that has to be refused, put to the command that an agent has in its configuration.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use tollgate_config::guard::Refusal;
use tollgate_core::AnyEvent;
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{ToolCall, ToolPre};
use tollgate_exec::{Command, Executor, Input, Limits, Status};
use tollgate_hosts::{Host, Output, Verdict};
use tollgate_install::CommandLine;

/// The results of the test calls.
#[derive(Debug, Serialize)]
pub(crate) struct Canary {
    command: String,
    /// True if the call that Tollgate always refuses was refused.
    refused: bool,
    /// True if it was Tollgate that refused it, and not what stands around it where it gives no answer.
    by_guard: bool,
    milliseconds: f64,
    /// Why not, or what the agent was told.
    said: String,
    /// The outcome of a destructive call: the first that was refused or asked about.
    destructive: Option<Destructive>,
}

/// A destructive call that a hook in force did not let pass.
#[derive(Debug, Serialize)]
struct Destructive {
    call: &'static str,
    /// True if it was refused, and not put to the person.
    refused: bool,
    milliseconds: f64,
    said: String,
}

/// The answer of a command to a call.
struct Answered {
    verdict: Verdict,
    said: String,
    milliseconds: f64,
}

/// For how long the command may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// A call that the built-in guard refuses whatever else is in force.
const CALL: &str = "tollgate trust --yes";

/// Calls that destroy something, and that the built-in guard has no opinion about: only guards refuse them. So none of
/// them deletes a directory that hooks, settings or Tollgate itself may be in, such as `/usr`.
const DESTRUCTIVE: &[&str] =
    &["mkfs.ext4 -F /dev/sda1", "rm -rf /boot", "git push --force origin main"];

impl Canary {
    /// Puts the calls to a command, as an agent would that was started in this directory.
    pub(super) fn sing(host: &'static Host, event: &str, line: &CommandLine, start: &Path) -> Self {
        let mut canary = Self {
            command: line.to_string(),
            refused: false,
            by_guard: false,
            milliseconds: 0.0,
            said: String::new(),
            destructive: None,
        };
        let first = match put(host, event, line, start, CALL) {
            Ok(answered) => answered,
            Err(why) => {
                canary.said = why;
                return canary;
            }
        };
        canary.milliseconds = first.milliseconds;
        canary.refused = first.verdict == Verdict::Refuse;
        // What the guard says. Others do not.
        let guards = Refusal::Tollgate { subcommand: "trust".to_owned() };
        canary.by_guard = canary.refused && first.said.contains(&guards.to_string());
        canary.said = first.said;
        if !canary.by_guard {
            return canary;
        }
        for call in DESTRUCTIVE {
            let Ok(answered) = put(host, event, line, start, call) else { continue };
            let Answered { verdict, said, milliseconds } = answered;
            let refused = verdict == Verdict::Refuse;
            if refused || verdict == Verdict::Ask && canary.destructive.is_none() {
                canary.destructive = Some(Destructive { call, refused, milliseconds, said });
            }
            if refused {
                break;
            }
        }
        canary
    }

    /// Returns what became of the destructive call, in words, if a hook in force held it.
    pub(super) fn held(&self) -> Option<String> {
        let Destructive { refused, milliseconds, .. } = self.destructive.as_ref()?;
        let how = if *refused { "refused" } else { "put to you" };
        Some(format!("test call {how} in {milliseconds:.0} ms"))
    }

    /// A plugin is loaded by the agent; what is tried is the program that it calls.
    pub(super) fn through_plugin(
        host: &'static Host,
        plugin: &CommandLine,
        program: String,
        start: &Path,
    ) -> Self {
        let gate = host.events.iter().find(|event| event.kind == tollgate_core::Kind::ToolPre);
        let arguments = vec!["hook".to_owned(), host.name.to_owned()];
        let direct = CommandLine::Direct { program, arguments };
        let canary = Self::sing(host, gate.map_or("", |gate| gate.name), &direct, start);
        Self { command: plugin.to_string(), ..canary }
    }

    /// What is wrong, if anything is.
    pub(super) fn problem(&self) -> Option<String> {
        let Self { command, said, .. } = self;
        let said = if said.is_empty() { "nothing" } else { said };
        match (self.refused, self.by_guard) {
            (false, _) => {
                Some(format!("a call that has to be refused was not: `{command}` said {said}"))
            }
            (true, false) => Some(format!(
                "a call was refused, but not by Tollgate's guard, so that every call may be: `{command}` said {said}"
            )),
            (true, true) => None,
        }
    }
}

/// Puts a call to a command, and reads what it answers as the agent would.
fn put(
    host: &'static Host,
    event: &str,
    line: &CommandLine,
    start: &Path,
    call: &str,
) -> Result<Answered, String> {
    let event =
        host.event(event).ok_or_else(|| format!("{} has no event `{event}`", host.title))?;
    let (program, arguments) =
        line.spawn().ok_or_else(|| "the agent runs it inside itself".to_owned())?;
    let directory = start.display().to_string();
    // Without an id, because nothing is kept of such a session.
    let session = SessionInfo { workspaces: vec![directory.clone()], ..SessionInfo::default() };
    let call = AnyEvent::from(ToolPre::from(
        ToolCall::new("run_command").arg("CommandLine", call).id("canary"),
    ));
    let payload = host.wire.write_event(host, call.view(), &session);
    let payload = payload.ok_or_else(|| format!("{} has no call to try", host.title))?;
    let mut command = Command::new(program).cwd(start);
    for argument in arguments {
        command = command.arg(argument);
    }
    for variable in host.project_variables {
        command = command.env(*variable, &directory);
    }
    let begun = Instant::now();
    let input = Input::new(payload.to_string().into_bytes(), PATIENCE);
    let finished = Executor::shared().run(&command, input, Limits::default()).wait();
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    let finished = finished.map_err(|error| error.to_string())?;
    let code = match finished.status {
        Status::Exited(code) => code,
        Status::Signaled(_) => -1,
    };
    let output = Output { code, stdout: finished.stdout, stderr: finished.stderr };
    let reply = host.wire.read_answer(event, &output).map_err(|error| error.to_string())?;
    Ok(Answered { verdict: reply.verdict, said: reply.reason, milliseconds })
}
