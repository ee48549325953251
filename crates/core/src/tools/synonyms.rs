//! The names that hosts have for tools of the table, as people write them in rules.
//!
//! A call never has such a name here, because the host's names are translated before hooks see the
//! call. A rule, a matcher or a condition may have one: `deny("Bash")` is about `run_command`.
//! `tollgate-hosts` checks that every name of every host is here.

use serde::Serialize;

/// A name that some host has for a tool of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Synonym {
    /// The name. With a `*` at its end, every name that begins so.
    pub name: &'static str,
    /// The tools of the table it stands for. Several where the host's tool does the work of
    /// several.
    pub tools: &'static [&'static str],
    /// True if the host's tool is only one of its tools that the table has this one for. `Monitor`
    /// runs commands, but a rule about `Monitor` is not about all commands.
    pub part: bool,
}

impl Synonym {
    /// True if it stands for `name`.
    pub fn is_for(&self, name: &str) -> bool {
        match self.name.strip_suffix('*') {
            Some(begin) => name.len() > begin.len() && name.starts_with(begin),
            None => self.name == name,
        }
    }
}

/// One row for each tool, or set of tools: names that mean all of it, then names of parts.
macro_rules! synonyms {
    ($( $tools:expr => $($name:literal)* $(; parts $($part:literal)+)? , )*) => {
        &[$(
            $(Synonym { name: $name, tools: &$tools, part: false },)*
            $($(Synonym { name: $part, tools: &$tools, part: true },)+)?
        )*]
    };
}

/// All synonyms. No name of the table is here, and no alias in it.
pub const SYNONYMS: &[Synonym] = synonyms! {
    ["run_command"] =>
        "Bash" "bash" "Shell" "shell" "shell_exec" "local_shell" "run_shell_command" "Execute"
        "execute_command" "run_commands" "run_in_terminal" "runInTerminal" "runTerminalCommand"
        "PowerShell" "powershell"
        ; parts "Monitor" "monitor" "write_bash" "write_powershell" "send_to_terminal",
    ["view_file"] =>
        "Read" "read" "ReadFile" "read_file" "readFile" "read_files" "file_read" "read_code" "view"
        ; parts "NotebookRead" "ReadMediaFile" "read_many_files" "view_image" "zoom_image",
    ["write_to_file"] =>
        "Write" "write" "write_file" "file_write" "Create" "create" "createFile"
        ; parts "Delete" "create_directory" "createDirectory" "new_rule",
    // One edit or several of one file: most hosts have one tool for both.
    ["replace_file_content", "multi_replace_file_content"] =>
        "Edit" "edit" "replace" "StrReplace" "replace_in_file" "replace_string_in_file"
        "multi_replace_string_in_file" "insert_edit_into_file" "editFiles"
        "file_edit_search_replace"
        ; parts "NotebookEdit" "notebook_edit" "EditNotebook" "edit_notebook_file" "editNotebook"
        "file_edit_*",
    ["multi_replace_file_content"] => "MultiEdit" "multiedit",
    // These create, change and delete files.
    ["write_to_file", "replace_file_content", "multi_replace_file_content"] =>
        "apply_patch" "ApplyPatch" "patch" "editor" "str_replace_editor" "write_code",
    ["list_dir"] =>
        "LS" "list" "list_files" "listDirectory"
        ; parts "list_code_definition_names",
    ["find_by_name"] => "Glob" "glob" "file_search" "fileSearch",
    ["grep_search"] =>
        "Grep" "grep" "rg" "search_file_content" "search_files" "search_codebase" "textSearch",
    ["search_web"] =>
        "WebSearch" "web_search" "websearch" "google_web_search" "webrun"
        ; parts "codesearch",
    ["read_url_content"] =>
        "WebFetch" "web_fetch" "webfetch" "FetchUrl" "FetchURL" "fetch" "fetch_webpage"
        "fetch_web_content"
        ; parts "browser_action",
    ["generate_image"] => "image_genimagegen",
    ["invoke_subagent"] =>
        "Agent" "agent" "Task" "task" "spawn_agent" "collaborationspawn_agent" "invoke_agent"
        "use_subagents" "runSubagent"
        ; parts "AgentSwarm",
    ["send_message"] =>
        "SendMessage" "write_agent" "team_send_message" "multi_agent_v1send_input"
        "collaborationsend_message"
        ; parts "collaborationfollowup_task",
    ["manage_subagents"] =>
        ; parts "list_agents" "multi_agent_v1resume_agent" "multi_agent_v1wait_agent"
        "multi_agent_v1close_agent" "collaborationwait_agent" "collaborationlist_agents"
        "collaborationinterrupt_agent",
    ["manage_task"] => ; parts "TaskList" "TaskOutput" "TaskStop" "task_stop",
    ["schedule"] => ; parts "CronCreate" "CronDelete" "CronList" "cron_create" "loop_wakeup",
    ["ask_question"] =>
        "AskUserQuestion" "AskUser" "AskQuestion" "ask_user" "ask_user_question" "question"
        "ask_followup_question" "request_user_input" "vscode_askQuestions",
    ["ask_permission"] => "request_permissions",
};

/// The synonym of this name. `edit_file` and the like, which calls may have, are aliases in the
/// table and no synonyms.
///
/// ```
/// use tollgate_core::tools;
///
/// let bash = tools::synonym("Bash").ok_or("no such name")?;
/// assert_eq!((bash.tools, bash.part), (&["run_command"][..], false));
/// assert_eq!(tools::synonym("run_command"), None);
/// # Ok::<(), &str>(())
/// ```
pub fn synonym(name: &str) -> Option<&'static Synonym> {
    // A name that is written out goes before all that begin like it.
    let exact = SYNONYMS.iter().find(|synonym| synonym.name == name);
    exact.or_else(|| SYNONYMS.iter().find(|synonym| synonym.is_for(name)))
}

#[cfg(test)]
mod tests {
    use super::super::{TABLE, lookup};
    use super::*;

    #[test]
    fn no_name_is_twice_and_none_is_of_the_table() {
        for (place, synonym) in SYNONYMS.iter().enumerate() {
            let name = synonym.name;
            assert!(lookup(name).is_none(), "{name} is in the table");
            assert!(!SYNONYMS[..place].iter().any(|other| other.name == name), "{name} twice");
            assert!(!synonym.tools.is_empty(), "{name}");
            for tool in synonym.tools {
                assert!(TABLE.iter().any(|known| known.name == *tool), "{name}: {tool}");
            }
        }
    }

    #[test]
    fn a_family_is_all_that_begin_so() {
        let edits = &["replace_file_content", "multi_replace_file_content"][..];
        let of = |name| synonym(name).map(|found| (found.tools, found.part));
        assert_eq!(of("file_edit_insert"), Some((edits, true)));
        assert_eq!(of("file_edit_search_replace"), Some((edits, false)));
        assert_eq!(of("file_edit_"), None);
        assert_eq!(of("file_edit"), None);
    }
}
