//! `manage_task`.

use std::sync::Arc;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{or_nothing, report};
use crate::built_in;
use crate::tasks::Task;
use crate::text::{count, line};
use crate::tool::{Cx, Output, Tool, ToolFailure};

/// How much can be typed at once; a terminal holds no more for a program that does not read.
const INPUT: usize = 4000;

/// How long a program has to take its input.
const INPUT_TIME: Duration = Duration::from_secs(2);

/// How much of the output a status has.
const STATUS: usize = 2000;

/// How much of a command a list has.
const COMMAND: usize = 200;

/// Arguments of `manage_task`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct ManageTask {
    /// What to do. `list`: all tasks; `status`: whether it runs, and the end of its output;
    /// `output`: all that is kept of its output; `wait`: wait for its end; `send_input`: type
    /// Input into it; `kill`: end it, with all it started.
    action: Action,
    /// The task, such as `task-1`. For all actions but `list`.
    task_id: Option<String>,
    /// What to type, for `send_input`. End it with a newline to enter a line; a line of its own
    /// with `\u0004` ends the input.
    input: Option<String>,
    /// How many milliseconds to wait at the most, for `wait`. Default: 30000.
    wait_ms: Option<u64>,
}

/// What to do with a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    List,
    Status,
    Output,
    Wait,
    SendInput,
    Kill,
}

pub(super) fn tool() -> Arc<dyn Tool> {
    built_in::tool(
        "manage_task",
        "Works with commands that run_command has left in the background.",
        manage,
    )
}

async fn manage(cx: Cx, args: ManageTask) -> Result<Output, ToolFailure> {
    if args.action == Action::List {
        return Ok(Output::new(list(&cx)));
    }
    let task = find(&cx, args.task_id.as_deref())?;
    let limits = cx.tasks.limits();
    match args.action {
        Action::List | Action::Status => Ok(Output::new(status(&task))),
        Action::Output => {
            let output = task.kept().text();
            Ok(Output::new(format!("{}\nOutput:\n{}", state(&task), or_nothing(&output))))
        }
        Action::Wait => {
            let wait = args.wait_ms.map_or(limits.default_wait, Duration::from_millis);
            if let Some((end, took)) = task.attend(wait.min(limits.wait)).await {
                return Ok(Output::new(report(&task, &end, took)));
            }
            Ok(Output::new(status(&task)))
        }
        Action::SendInput => {
            let input = args.input.filter(|input| !input.is_empty()).ok_or_else(|| {
                ToolFailure::Failed("`Input` of `manage_task` is missing".to_owned())
            })?;
            send(&task, &input).await
        }
        Action::Kill => {
            if task.ended().is_some() {
                return Ok(Output::new(format!("Nothing to do: {}", state(&task))));
            }
            task.kill();
            task.attend(limits.grace + Duration::from_secs(2)).await;
            Ok(Output::new(state(&task)))
        }
    }
}

async fn send(task: &Task, input: &str) -> Result<Output, ToolFailure> {
    let failed = |why: String| ToolFailure::Failed(format!("{}: {why}", task.id));
    if task.ended().is_some() {
        return Err(failed("it has ended, and takes no input any more".to_owned()));
    }
    if input.len() > INPUT {
        return Err(failed(format!("Input has more than {INPUT} bytes; send it in pieces")));
    }
    task.type_in(input, INPUT_TIME).await.map_err(failed)?;
    let sent = count(input.len(), "byte", "bytes");
    let hint = if input.ends_with(['\n', '\u{4}']) {
        ""
    } else {
        " The line is not finished: a program sees it when a newline was sent."
    };
    Ok(Output::new(format!("Sent {sent} to {}.{hint}", task.id)))
}

fn find(cx: &Cx, id: Option<&str>) -> Result<Arc<Task>, ToolFailure> {
    let known = || {
        let ids: Vec<_> = cx.tasks.all().iter().map(|task| task.id.clone()).collect();
        if ids.is_empty() { "there are none".to_owned() } else { ids.join(", ") }
    };
    let Some(id) = id else {
        let problem = format!("`TaskId` of `manage_task` is missing; tasks: {}", known());
        return Err(ToolFailure::Failed(problem));
    };
    cx.tasks
        .get(id)
        .ok_or_else(|| ToolFailure::Failed(format!("there is no task `{id}`; tasks: {}", known())))
}

fn list(cx: &Cx) -> String {
    let tasks = cx.tasks.all();
    let mut text = format!("{}.\n", count(tasks.len(), "task", "tasks"));
    for task in tasks {
        text.push_str(&state(&task));
        text.push('\n');
    }
    text
}

/// Whether a task runs, and the end of its output.
fn status(task: &Task) -> String {
    let output = task.kept().tail(STATUS);
    format!("{}\nEnd of its output:\n{}", state(task), or_nothing(&output))
}

/// One line about a task.
fn state(task: &Task) -> String {
    let command = line(&task.command.replace('\n', " "), COMMAND);
    let about = format!("`{command}` in {}", task.cwd.display());
    let bytes = task.kept().total();
    let (what, time) = match task.ended() {
        Some((end, took)) => (format!("{end} after"), took),
        None => ("has been running for".to_owned(), task.began.elapsed()),
    };
    let seconds = time.as_secs_f64();
    format!("{} {what} {seconds:.1} s, {bytes} bytes of output: {about}", task.id)
}
