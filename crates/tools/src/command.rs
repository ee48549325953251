//! `run_command`, and `manage_task` for what it leaves in the background.

mod manage;
mod variables;

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

pub use variables::Variables;

use crate::built_in::tool;
use crate::tasks::{Job, Task, TaskEnd};
use crate::tool::{Cx, Output, Tool, ToolFailure};

/// How long a command line may be. The system takes no more in one argument.
const COMMAND: usize = 128 * 1024 - 1;

/// Arguments of `run_command`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct RunCommand {
    /// The command, for bash.
    command_line: String,
    /// Absolute path of the directory to run it in. Default: the first workspace.
    cwd: Option<String>,
    /// How many milliseconds to wait for its end. If it runs longer it goes on in the background,
    /// and the answer has its task id.
    wait_ms_before_async: Option<u64>,
}

pub(crate) fn tools(variables: &Variables) -> Vec<Arc<dyn Tool>> {
    let variables = Arc::new(variables.clone());
    vec![
        tool(
            "run_command",
            "Runs a bash command and returns its exit code and output (stdout and stderr \
             together; of a long output, the beginning and the end). A command that takes longer \
             than WaitMsBeforeAsync goes on in the background; see manage_task.",
            move |cx, args: RunCommand| run(cx, args, Arc::clone(&variables)),
        ),
        manage::tool(),
    ]
}

async fn run(cx: Cx, args: RunCommand, variables: Arc<Variables>) -> Result<Output, ToolFailure> {
    let script = args.command_line;
    if script.trim().is_empty() || script.contains('\0') || script.len() > COMMAND {
        return Err(ToolFailure::Failed(format!(
            "CommandLine is empty, has a NUL byte in it, or is longer than {COMMAND} bytes; put a \
             long script into a file"
        )));
    }
    let place = cx.workspaces.to_read(args.cwd.as_deref().unwrap_or("."), false)?;
    if !place.is_directory() {
        return Err(ToolFailure::path(&place.path, "is no directory to run a command in"));
    }
    let limits = cx.tasks.limits();
    let wait = args.wait_ms_before_async.map_or(limits.default_wait, Duration::from_millis);
    let wait = wait.min(limits.wait);
    let job = Job {
        script,
        cwd: place.path,
        variables: variables.passed_on(),
        agent: cx.agent.to_string(),
    };
    let running = cx.tasks.start(job)?;
    let mut end = running.task.wait(wait).await;
    if end.is_none() && !running.let_go() {
        end = running.task.ended();
    }
    let Some((end, took)) = end else {
        let output = running.task.kept().text();
        return Ok(Output::new(format!(
            "Still running after {wait:?}; it goes on in the background as {}. You will be told \
             when it ends; see manage_task.\nOutput so far:\n{}",
            running.task.id,
            or_nothing(&output)
        )));
    };
    let text = report(&running.task, &end, took);
    Ok(match failure(&end) {
        None => Output::new(text),
        Some(error) => Output::new(text).with_error(error),
    })
}

/// What is told of a command that has ended.
fn report(task: &Task, end: &TaskEnd, took: Duration) -> String {
    let output = task.kept().text();
    let head = match end {
        TaskEnd::Exited(code) => format!("Exit code: {code}"),
        end => format!("The command {end}"),
    };
    format!("{head} (after {:.1} s)\nOutput:\n{}", took.as_secs_f64(), or_nothing(&output))
}

fn failure(end: &TaskEnd) -> Option<String> {
    match end {
        TaskEnd::Exited(0) => None,
        TaskEnd::Exited(code) => Some(format!("exit status {code}")),
        end => Some(format!("the command {end}")),
    }
}

fn or_nothing(output: &str) -> &str {
    if output.is_empty() { "(none)" } else { output }
}
