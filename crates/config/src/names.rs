//! Names that people use, and the names they mean. Those of tools are in [`crate::tools`].

/// Returns the known name that is nearest to an unknown one, if it is near enough to be a typing mistake.
/// Case and separators do not count.
pub fn nearest<'k>(name: &str, known: &[&'k str]) -> Option<&'k str> {
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
    /// AI Harness's name for it.
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
