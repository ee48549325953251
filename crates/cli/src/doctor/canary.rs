//! A call that has to be refused, put to the command that an agent has in its configuration.

use std::fmt;
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

/// What came of it.
#[derive(Debug, Serialize)]
pub(super) struct Canary {
    command: String,
    /// Whether the call was refused.
    refused: bool,
    /// Whether it was Tollgate that refused it, and not what stands around it where it gives no answer.
    by_guard: bool,
    milliseconds: f64,
    /// Why not, or what the agent was told.
    said: String,
}

/// For how long the command may take.
const PATIENCE: Duration = Duration::from_mins(1);

/// What the agent would run: the built-in guard refuses it whatever else is in force.
const CALL: &str = "tollgate trust --yes";

impl Canary {
    /// Puts the call to a command.
    pub(super) fn sing(
        host: &'static Host,
        event: &str,
        line: &CommandLine,
        project: &Path,
    ) -> Self {
        let mut canary = Self {
            command: line.to_string(),
            refused: false,
            by_guard: false,
            milliseconds: 0.0,
            said: String::new(),
        };
        let Some(event) = host.event(event) else {
            canary.said = format!("{} has no event `{event}`", host.title);
            return canary;
        };
        let Some((program, arguments)) = line.spawn() else {
            "the agent runs it inside itself".clone_into(&mut canary.said);
            return canary;
        };
        let directory = project.display().to_string();
        // Without an id: nothing is kept of it.
        let session = SessionInfo { workspaces: vec![directory.clone()], ..SessionInfo::default() };
        let call = AnyEvent::from(ToolPre::from(
            ToolCall::new("run_command").arg("CommandLine", CALL).id("canary"),
        ));
        let Some(payload) = host.wire.write_event(host, call.view(), &session) else {
            canary.said = format!("{} has no call to try", host.title);
            return canary;
        };
        let mut command = Command::new(program).cwd(project);
        for argument in arguments {
            command = command.arg(argument);
        }
        for variable in host.project_variables {
            command = command.env(*variable, &directory);
        }
        let begun = Instant::now();
        let input = Input::new(payload.to_string().into_bytes(), PATIENCE);
        let finished = Executor::shared().run(&command, input, Limits::default()).wait();
        canary.milliseconds = begun.elapsed().as_secs_f64() * 1e3;
        match finished {
            Ok(finished) => {
                let code = match finished.status {
                    Status::Exited(code) => code,
                    Status::Signaled(_) => -1,
                };
                let output = Output { code, stdout: finished.stdout, stderr: finished.stderr };
                match host.wire.read_answer(event, &output) {
                    Ok(reply) => {
                        canary.refused = reply.verdict == Verdict::Refuse;
                        // What the guard says. Others do not.
                        let answer = Refusal::Tollgate { subcommand: "trust".to_owned() };
                        canary.by_guard =
                            canary.refused && reply.reason.contains(&answer.to_string());
                        canary.said = reply.reason;
                    }
                    Err(error) => canary.said = error.to_string(),
                }
            }
            Err(error) => canary.said = error.to_string(),
        }
        canary
    }

    /// A plugin is loaded by the agent; what is tried is the program that it calls.
    pub(super) fn through_plugin(
        host: &'static Host,
        plugin: &CommandLine,
        program: String,
        project: &Path,
    ) -> Self {
        let gate = host.events.iter().find(|event| event.kind == tollgate_core::Kind::ToolPre);
        let arguments = vec!["hook".to_owned(), host.name.to_owned()];
        let direct = CommandLine::Direct { program, arguments };
        let canary = Self::sing(host, gate.map_or("", |gate| gate.name), &direct, project);
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

impl fmt::Display for Canary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let verb = if self.refused { "refuses" } else { "does not refuse" };
        write!(f, "{verb} a canary call, in {:.0} ms", self.milliseconds)
    }
}
