//! The original's data as the engine's, and back.

use serde_json::Value;
use tollgate_core::event::{self, Args, Choice, Question, Response, Responses, ToolPost};
use tollgate_core::target::Reading;

use crate::types::{
    AskQuestionEntry, AskQuestionOption, QuestionHookResult, QuestionResponse, ToolCall, ToolResult,
};

/// How the name of an MCP server's tool begins.
const MCP_PREFIX: &str = "mcp_";

/// What arguments that are no object are called: the engine's arguments all have names.
const UNNAMED: &str = "";

/// Every server and tool that `name` could mean; none where it is not that of an MCP tool.
pub(crate) fn readings(name: &str) -> Vec<Reading> {
    name.strip_prefix(MCP_PREFIX).map(|fused| Reading::all_of(fused, "_")).unwrap_or_default()
}

/// The call as the engine has it. Of the ways to read the name of an MCP tool those count whose
/// server is one of `servers`; where none is, all of them do, so that no rule about a server is
/// passed by.
pub(crate) fn call_with_servers(call: &ToolCall, servers: &[String]) -> event::ToolCall {
    let mut converted = event::ToolCall {
        name: call.name.clone(),
        args: args(&call.args),
        canonical_path: call.canonical_path.clone(),
        id: Some(call.id.clone()).filter(|id| !id.is_empty()),
        ..event::ToolCall::default()
    };
    let all = readings(&call.name);
    let known: Vec<Reading> =
        all.iter().filter(|reading| servers.contains(&reading.server)).cloned().collect();
    match known.as_slice() {
        [] => converted.readings = all,
        [first, rest @ ..] => {
            // Named by its server, the call is matched by what it is and not by how it is written.
            converted.server = Some(first.server.clone());
            converted.name.clone_from(&first.tool);
            if !rest.is_empty() {
                converted.readings = known;
            }
        }
    }
    converted
}

fn args(args: &Value) -> Args {
    match args {
        Value::Object(args) => args.clone(),
        Value::Null => Args::new(),
        other => Args::from_iter([(UNNAMED.to_owned(), other.clone())]),
    }
}

impl From<&ToolCall> for event::ToolCall {
    /// Arguments that are `null` become none, and arguments that are neither an object nor `null`
    /// one argument with an empty name. Where the name is that of an MCP server's tool, every way
    /// to read it is among the [readings](event::ToolCall::readings).
    fn from(call: &ToolCall) -> Self {
        call_with_servers(call, &[])
    }
}

impl From<&event::ToolCall> for ToolCall {
    /// A server's tool is written `mcp_<server>_<tool>`.
    fn from(call: &event::ToolCall) -> Self {
        let name = match call.server.as_deref() {
            None | Some("") => call.name.clone(),
            Some(server) => format!("{MCP_PREFIX}{server}_{}", call.name),
        };
        let args = match call.args.get(UNNAMED) {
            // An object is never put under this name, so one that is there was there before.
            Some(value) if call.args.len() == 1 && !value.is_object() => value.clone(),
            _ => Value::Object(call.args.clone()),
        };
        Self {
            id: call.id.clone().unwrap_or_default(),
            name,
            args,
            canonical_path: call.canonical_path.clone(),
        }
    }
}

impl From<&ToolPost> for ToolResult {
    fn from(event: &ToolPost) -> Self {
        let ToolCall { name, .. } = ToolCall::from(&event.call);
        let result = Some(surfaced(&event.call, &event.result));
        Self { name, id: event.call.id.clone(), result, error: None }
    }
}

/// What the original's hooks are told of a result: of a search how much was found, of an image its name. Of all other
/// tools that is what the model gets.
fn surfaced(call: &event::ToolCall, result: &Value) -> Value {
    let Some(text) = result.as_str() else { return result.clone() };
    let found = if call.is("grep_search") {
        // As the agent's own tool says it; another host says what it likes.
        match text.split_whitespace().collect::<Vec<_>>().as_slice() {
            ["Nothing", "found", ..] => Some("0"),
            ["Found", "in", number, ..] | ["Found", number, ..] => {
                number.bytes().all(|byte| byte.is_ascii_digit()).then_some(*number)
            }
            _ => None,
        }
    } else if call.is("generate_image") {
        let path = text.strip_prefix("Saved the image as ");
        let path = path.and_then(|rest| rest.rsplit_once(" (")).map(|(path, _)| path);
        path.and_then(|path| path.rsplit('/').next())
    } else {
        None
    };
    found.map_or_else(|| result.clone(), Value::from)
}

impl From<&AskQuestionEntry> for Question {
    fn from(entry: &AskQuestionEntry) -> Self {
        let choice = |option: &AskQuestionOption| Choice {
            id: option.id.clone(),
            text: option.text.clone(),
        };
        Self {
            question: entry.question.clone(),
            options: entry.options.iter().map(choice).collect(),
            is_multi_select: entry.is_multi_select,
        }
    }
}

impl From<&Question> for AskQuestionEntry {
    fn from(question: &Question) -> Self {
        let option = |choice: &Choice| AskQuestionOption {
            id: choice.id.clone(),
            text: choice.text.clone(),
        };
        Self {
            question: question.question.clone(),
            options: question.options.iter().map(option).collect(),
            is_multi_select: question.is_multi_select,
        }
    }
}

impl From<QuestionHookResult> for Responses {
    fn from(result: QuestionHookResult) -> Self {
        let response = |response: QuestionResponse| Response {
            selected_option_ids: response.selected_option_ids,
            freeform_response: response.freeform_response,
            skipped: response.skipped,
        };
        Self {
            responses: result.responses.into_iter().map(response).collect(),
            cancelled: result.cancelled,
        }
    }
}

impl From<Responses> for QuestionHookResult {
    fn from(responses: Responses) -> Self {
        let response = |response: Response| QuestionResponse {
            selected_option_ids: response.selected_option_ids,
            freeform_response: response.freeform_response,
            skipped: response.skipped,
        };
        Self {
            responses: responses.responses.into_iter().map(response).collect(),
            cancelled: responses.cancelled,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(name: &str, args: Value) -> ToolCall {
        ToolCall { id: "7".to_owned(), name: name.to_owned(), args, canonical_path: None }
    }

    #[test]
    fn a_call_comes_back_as_it_went() {
        for args in [json!({"a": 1}), json!({}), json!("text"), json!([1, 2]), json!(3)] {
            let call = call("own_tool", args);
            assert_eq!(ToolCall::from(&event::ToolCall::from(&call)), call);
        }
        let object_under_the_empty_name = call("own_tool", json!({"": {"a": 1}}));
        let there = event::ToolCall::from(&object_under_the_empty_name);
        assert_eq!(ToolCall::from(&there), object_under_the_empty_name);
        let nothing = event::ToolCall::from(&call("own_tool", Value::Null));
        assert_eq!(ToolCall::from(&nothing).args, json!({}));
    }

    #[test]
    fn a_server_that_is_known_is_named() {
        let servers = ["math".to_owned()];
        let call = call("mcp_math_add_two", json!({}));
        let read = call_with_servers(&call, &servers);
        assert_eq!((read.server.as_deref(), read.name.as_str()), (Some("math"), "add_two"));
        assert_eq!(read.readings, []);
        assert_eq!(ToolCall::from(&read), call);
    }

    #[test]
    fn a_name_that_could_be_of_two_servers_is_read_both_ways() {
        let servers = ["a".to_owned(), "a_b".to_owned()];
        let call = call("mcp_a_b_c", json!({}));
        let read = call_with_servers(&call, &servers);
        assert_eq!(read.readings, Reading::all_of("a_b_c", "_"));
        assert_eq!(ToolCall::from(&read), call);
    }

    #[test]
    fn a_server_that_is_not_known_is_read_in_every_way() {
        let read = call_with_servers(&call("mcp_a_b_c", json!({})), &["math".to_owned()]);
        assert_eq!((read.server, read.name.as_str()), (None, "mcp_a_b_c"));
        assert_eq!(read.readings, Reading::all_of("a_b_c", "_"));
        assert_eq!(event::ToolCall::from(&call("mcp_", json!({}))).readings, []);
    }
}

#[cfg(test)]
mod surfaced_tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn hooks_are_told_what_the_original_tells_them() {
        for (tool, result, told) in [
            ("grep_search", json!("Found 3 lines in 2 files in /w:\na:1: x\n"), json!("3")),
            ("grep_search", json!("Found in 2 files in /w:\na\nb\n"), json!("2")),
            ("grep_search", json!("Nothing found in /w.\n"), json!("0")),
            ("grep_search", json!("a:1: x"), json!("a:1: x")),
            ("search_directory", json!("Nothing found in /w.\n"), json!("0")),
            (
                "generate_image",
                json!("Saved the image as /w/a/cat.png (12 bytes)."),
                json!("cat.png"),
            ),
            ("run_command", json!("Found 3 lines"), json!("Found 3 lines")),
            ("view_file", json!({"a": 1}), json!({"a": 1})),
        ] {
            let event = ToolPost::new(event::ToolCall::new(tool), result);
            assert_eq!(ToolResult::from(&event).result, Some(told), "{tool}");
        }
        let call = event::ToolCall::new("grep_search").server("docs");
        let event = ToolPost::new(call, "Found 3 lines");
        assert_eq!(ToolResult::from(&event).result, Some(json!("Found 3 lines")));
    }
}
