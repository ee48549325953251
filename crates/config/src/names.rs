//! Names that people use, and the names they mean.

use std::sync::LazyLock;

use hashbrown::HashMap;
use smallvec::SmallVec;
use tollgate_core::tools;

/// The known name that is nearest to one that is not known, where it is near enough to be meant.
/// Case and separators do not count.
pub(crate) fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
    // Nobody mistypes a name of hundreds of letters, and the comparison is quadratic.
    if name.len() > 64 {
        return None;
    }
    let letters = |text: &str| -> String {
        let letters = text.chars().filter(|c| !matches!(c, '_' | '-' | '.' | ' '));
        letters.flat_map(char::to_lowercase).collect()
    };
    let wanted = letters(name);
    let allowed = allowed(wanted.len());
    let distances = known.iter().map(|candidate| {
        let letters = letters(candidate);
        (strsim::osa_distance(&wanted, &letters), *candidate)
    });
    let (distance, nearest) = distances.min()?;
    (distance <= allowed).then_some(nearest)
}

/// Names in backquotes, with commas.
pub(crate) fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// A name that another system has for something.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Foreign {
    pub(crate) name: &'static str,
    /// Whose name it is.
    pub(crate) system: &'static str,
    /// Antigravity's name for it.
    pub(crate) antigravity: Option<&'static str>,
    /// Polytoken's name for it.
    pub(crate) polytoken: Option<&'static str>,
    /// AI Harness's name for it. Tools have none: there they are called as anybody likes.
    pub(crate) harness: Option<&'static str>,
}

macro_rules! foreign {
    ($($name:literal $system:literal $antigravity:tt $polytoken:tt $($harness:literal)?;)*) => {
        &[$(Foreign {
            name: $name,
            system: $system,
            antigravity: foreign!(@ $antigravity),
            polytoken: foreign!(@ $polytoken),
            harness: foreign!(@ $($harness)?),
        },)*]
    };
    (@) => { None };
    (@ _) => { None };
    (@ $name:literal) => { Some($name) };
}

/// Events of other systems. An Antigravity or Polytoken name is one for the other of the two.
pub(crate) static EVENTS: &[Foreign] = foreign! {
    "PreToolUse" "Claude Code and Antigravity" _ "pre_tool_use" "tool.pre";
    "PostToolUse" "Claude Code and Antigravity" _ "post_tool_use" "tool.post";
    "PostToolUseFailure" "Claude Code" "PostToolUse" "post_tool_use_failure" "tool.post";
    "PreInvocation" "Antigravity" _ "pre_model_turn" "completion.pre";
    "PostInvocation" "Antigravity" _ "post_model_turn" "completion.post";
    "Stop" "Claude Code and Antigravity" _ "stop" "agent.stop";
    "SessionStart" "Claude Code and Antigravity" _ "session_start" "session.start";
    "UserPromptSubmit" "Claude Code" "PreInvocation" "pre_user_prompt" "turn.start";
    "PermissionRequest" "Claude Code" "PreToolUse" "pre_tool_use" "tool.pre";
    "Notification" "Claude Code" _ "notification";
    "SubagentStart" "Claude Code" _ "subagent_start";
    "SubagentStop" "Claude Code" _ "subagent_stop" "delegation.post_verify";
    "PreCompact" "Claude Code" _ "pre_compaction";
    "PostCompact" "Claude Code" _ "post_compaction";
    "SessionEnd" "Claude Code" _ _ "session.end";
    "BeforeTool" "Gemini CLI" "PreToolUse" "pre_tool_use" "tool.pre";
    "AfterTool" "Gemini CLI" "PostToolUse" "post_tool_use" "tool.post";
    "BeforeModel" "Gemini CLI" "PreInvocation" "pre_model_turn" "completion.pre";
    "AfterModel" "Gemini CLI" "PostInvocation" "post_model_turn" "completion.post";
    "BeforeToolSelection" "Gemini CLI" "PreInvocation" "pre_model_turn" "completion.pre";
    "BeforeAgent" "Gemini CLI" "PreInvocation" "pre_user_prompt" "turn.start";
    "AfterAgent" "Gemini CLI" "Stop" "stop" "agent.stop";
    "PreCompress" "Gemini CLI" _ "pre_compaction";
    "preToolUse" "Copilot" "PreToolUse" "pre_tool_use" "tool.pre";
    "postToolUse" "Copilot" "PostToolUse" "post_tool_use" "tool.post";
    "sessionStart" "Copilot" "SessionStart" "session_start" "session.start";
    "sessionEnd" "Copilot" _ _ "session.end";
    "userPromptSubmitted" "Copilot" "PreInvocation" "pre_user_prompt" "turn.start";
    "beforeShellExecution" "Cursor" "PreToolUse" "pre_tool_use" "tool.pre";
    "beforeMCPExecution" "Cursor" "PreToolUse" "pre_tool_use" "tool.pre";
    "beforeReadFile" "Cursor" "PreToolUse" "pre_tool_use" "tool.pre";
    "afterFileEdit" "Cursor" "PostToolUse" "post_tool_use" "tool.post";
    "beforeSubmitPrompt" "Cursor" "PreInvocation" "pre_user_prompt" "turn.start";
    "tool.execute.before" "OpenCode" "PreToolUse" "pre_tool_use" "tool.pre";
    "tool.execute.after" "OpenCode" "PostToolUse" "post_tool_use" "tool.post";
    "pre_tool_use" "Polytoken" "PreToolUse" _ "tool.pre";
    "post_tool_use" "Polytoken" "PostToolUse" _ "tool.post";
    "post_tool_use_failure" "Polytoken" "PostToolUse" _ "tool.post";
    "pre_model_turn" "Polytoken" "PreInvocation" _ "completion.pre";
    "post_model_turn" "Polytoken" "PostInvocation" _ "completion.post";
    "pre_user_prompt" "Polytoken" "PreInvocation" _ "turn.start";
    "stop" "Polytoken" "Stop" _ "agent.stop";
    "session_start" "Polytoken" "SessionStart" _ "session.start";
    "pre_compaction" "Polytoken" _ _;
    "post_compaction" "Polytoken" _ _;
    "notification" "Polytoken" _ _;
    "facet_switch" "Polytoken" _ _;
    "subagent_start" "Polytoken" _ _;
    "subagent_stop" "Polytoken" _ _ "delegation.post_verify";
    "tool.pre" "AI Harness" "PreToolUse" "pre_tool_use";
    "tool.post" "AI Harness" "PostToolUse" "post_tool_use";
    "turn.start" "AI Harness" "PreInvocation" "pre_user_prompt";
    "turn.end" "AI Harness" "Stop" "stop";
    "agent.stop" "AI Harness" "Stop" "stop";
    "session.start" "AI Harness" "SessionStart" "session_start";
    "completion.pre" "AI Harness" "PreInvocation" "pre_model_turn";
    "completion.post" "AI Harness" "PostInvocation" "post_model_turn";
    "pre_tool_call" "the Antigravity SDK" "PreToolUse" "pre_tool_use" "tool.pre";
    "post_tool_call" "the Antigravity SDK" "PostToolUse" "post_tool_use" "tool.post";
    "pre_turn" "the Antigravity SDK" "PreInvocation" "pre_user_prompt" "turn.start";
    "post_turn" "the Antigravity SDK" "Stop" "stop" "turn.end";
};

/// Tools of other systems.
pub(crate) static TOOLS: &[Foreign] = foreign! {
    "Bash" "Claude Code" "run_command" "shell_exec";
    "Read" "Claude Code" "view_file" "file_read";
    "Write" "Claude Code" "write_to_file" "file_write";
    "Edit" "Claude Code" "replace_file_content" "file_edit_*";
    "MultiEdit" "Claude Code" "multi_replace_file_content" "file_edit_*";
    "NotebookEdit" "Claude Code" "replace_file_content" "file_edit_*";
    "Glob" "Claude Code" "find_by_name" _;
    "Grep" "Claude Code" "grep_search" _;
    "LS" "Claude Code" "list_dir" _;
    "WebFetch" "Claude Code" "read_url_content" "web_fetch";
    "WebSearch" "Claude Code" "search_web" _;
    "Task" "Claude Code" "invoke_subagent" _;
    "TodoWrite" "Claude Code" _ _;
    "AskUserQuestion" "Claude Code" "ask_question" _;
    "run_shell_command" "Gemini CLI" "run_command" "shell_exec";
    "read_file" "Gemini CLI" "view_file" "file_read";
    "write_file" "Gemini CLI" "write_to_file" "file_write";
    "replace" "Gemini CLI" "replace_file_content" "file_edit_*";
    "search_file_content" "Gemini CLI" "grep_search" _;
    "web_fetch" "Gemini CLI" "read_url_content" _;
    "google_web_search" "Gemini CLI" "search_web" _;
    "Execute" "Droid" "run_command" "shell_exec";
    "ApplyPatch" "Droid" "replace_file_content" "file_edit_*";
    "apply_patch" "Codex" "replace_file_content" "file_edit_*";
    "shell" "Codex" "run_command" "shell_exec";
    "execute_command" "Cline" "run_command" "shell_exec";
    "run_commands" "Cline" "run_command" "shell_exec";
    "write_to_file" "Antigravity" _ "file_write";
    "replace_file_content" "Antigravity" _ "file_edit_*";
    "run_command" "Antigravity" _ "shell_exec";
    "view_file" "Antigravity" _ "file_read";
    "read_url_content" "Antigravity" _ "web_fetch";
    "shell_exec" "Polytoken" "run_command" _;
    "file_read" "Polytoken" "view_file" _;
    "file_write" "Polytoken" "write_to_file" _;
    "file_edit_search_replace" "Polytoken" "replace_file_content" _;
};

/// The entry of a name.
pub(crate) fn foreign(table: &'static [Foreign], name: &str) -> Option<&'static Foreign> {
    table.iter().find(|entry| entry.name == name)
}

/// The entry of an event's name that is not one of the dialect's own, nor near to one.
pub(crate) fn foreign_event(name: &str, own: &[&str]) -> Option<&'static Foreign> {
    foreign(EVENTS, name).or_else(|| {
        if nearest(name, own).is_some() {
            return None;
        }
        EVENTS.iter().find(|entry| entry.name.eq_ignore_ascii_case(name))
    })
}

/// The entry of a tool's name.
pub(crate) fn foreign_tool(name: &str) -> Option<&'static Foreign> {
    static BY_NAME: LazyLock<HashMap<&str, &Foreign>> =
        LazyLock::new(|| TOOLS.iter().map(|entry| (entry.name, entry)).collect());
    BY_NAME.get(name).copied()
}

/// The tool of the table whose name is nearest to one that is not known.
///
/// A file may name a thousand tools that are none of the table's, so what cannot be near is not
/// compared: what begins and ends otherwise, is of another length, or has too many letters that
/// the other has not.
pub(crate) fn nearest_tool(name: &str) -> Option<&'static str> {
    static TABLE: LazyLock<Vec<(u32, &str)>> =
        LazyLock::new(|| tools::TABLE.iter().map(|tool| (letters(tool.name), tool.name)).collect());
    let allowed = allowed(name.len());
    let own = letters(name);
    let same = |one: Option<&u8>, other: Option<&u8>| {
        one.map(u8::to_ascii_lowercase) == other.map(u8::to_ascii_lowercase)
    };
    let (first, last) = (name.as_bytes().first(), name.as_bytes().last());
    let near = TABLE.iter().filter(|(letters, tool)| {
        (own ^ letters).count_ones() as usize <= 2 * allowed
            && tool.len().abs_diff(name.len()) <= allowed + 2
            && (same(first, tool.as_bytes().first()) || same(last, tool.as_bytes().last()))
    });
    let near: SmallVec<[&str; 4]> = near.map(|(_, name)| *name).collect();
    if near.is_empty() { None } else { nearest(name, &near) }
}

/// Which letters a name has, a bit each.
fn letters(name: &str) -> u32 {
    let letters = name.bytes().filter(u8::is_ascii_alphabetic);
    letters.fold(0, |bits, byte| bits | 1 << (byte.to_ascii_lowercase() - b'a'))
}

/// How many letters may be wrong in a name of some length.
const fn allowed(length: usize) -> usize {
    match length / 3 {
        0 => 1,
        some if some > 3 => 3,
        some => some,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_near_is_found() {
        let known = ["PreToolUse", "PostToolUse", "Stop"];
        assert_eq!(nearest("PreTolUse", &known), Some("PreToolUse"));
        assert_eq!(nearest("pre_tool_use", &known), Some("PreToolUse"));
        assert_eq!(nearest("stop", &known), Some("Stop"));
        assert_eq!(nearest("SessionEnd", &known), None);
        assert_eq!(nearest(&"x".repeat(10_000), &known), None);
        assert_eq!(nearest("", &known), None);
    }
}
