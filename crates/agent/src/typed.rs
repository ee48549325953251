//! What is typed into a command that runs in the background. To a shell that is a command as any other, so hooks and
//! policies are asked about it as about one: as `run_command`, with all that was typed into it so far.

use std::sync::Arc;

use serde_json::Value;
use tokio::sync::MutexGuard;
use tollgate_core::TurnContext;
use tollgate_core::event::ToolCall;
use tollgate_core::runner::Refusal;

use crate::session::{Actor, Session};

impl Session {
    /// Asks about what a call types into a command, if it does. What is returned is held until it was typed: what others
    /// type there at the same time belongs to the same line.
    pub(crate) async fn may_type(
        self: &Arc<Self>,
        actor: &Actor,
        turn: &TurnContext,
        call: &ToolCall,
    ) -> Result<Option<MutexGuard<'_, ()>>, Refusal> {
        let (Some(id), Some(text)) = (task_of(call), text_of(call)) else { return Ok(None) };
        let typing = self.typing.lock().await;
        let mut run = ToolCall::new("run_command");
        let line = match self.tools.tasks.typing(id) {
            Some(task) => {
                run = run.arg("Cwd", task.cwd.to_string_lossy().as_ref());
                tollgate_shell::typed_into(&task.command, &format!("{}{text}", task.typed))
            }
            // One that is not there yet may be there in a moment, and be a shell.
            None => text,
        };
        let mut run = run.arg("CommandLine", line.as_str());
        run.id.clone_from(&call.id);
        run.step = call.step;
        run.agent.clone_from(&call.agent);
        run.model.clone_from(&call.model);
        let approved = self.approve(actor, turn, &turn.operation(), run).await?;
        if approved.text("CommandLine") != Some(line.as_str()) {
            let reason = "a hook has made another command of what is typed, which cannot be typed any more: use \
                          run_command";
            return Err(Refusal { reason: reason.to_owned(), detail: reason.to_owned() });
        }
        Ok(Some(typing))
    }
}

/// The task that a call types into.
fn task_of(call: &ToolCall) -> Option<&str> {
    let types = call.server.is_none() && call.is("manage_task");
    let looks = matches!(call.text("Action"), Some("list" | "status" | "output" | "wait" | "kill"));
    if types && !looks { call.text("TaskId") } else { None }
}

fn text_of(call: &ToolCall) -> Option<String> {
    match call.args.get("Input")? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
