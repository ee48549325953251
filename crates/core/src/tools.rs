//! The table of tools: their arguments, which of them is a path, and what a call does with it.
//! Everything that asks "which path, read or write?" asks here.

mod lookalike;
mod synonyms;

use std::borrow::Cow;

use serde::Serialize;
use serde_json::Value;

pub use lookalike::{lookalike, lookalike_of};
pub use synonyms::{SYNONYMS, Synonym, synonym};

use crate::event::ToolCall;

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Reads files.
    Read,
    /// Writes files.
    Write,
    /// Runs a program.
    Execute,
    /// Reaches out of the machine.
    Network,
    /// Directs the agent itself.
    Control,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgType {
    /// Text.
    Text,
    /// A whole number.
    Integer,
    /// True or false.
    Boolean,
    /// A list.
    List,
    /// Anything.
    Any,
}

/// An argument of a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Arg {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: ArgType,
    /// Whether a call without it makes no sense.
    pub required: bool,
    /// Whether it is a path, or a list of paths.
    pub is_path: bool,
}

/// A tool of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Tool {
    /// Its name.
    pub name: &'static str,
    /// Other names that calls of it may have. Names that only rules may have are [`SYNONYMS`].
    pub aliases: &'static [&'static str],
    /// Its arguments.
    pub args: &'static [Arg],
    /// What it does.
    pub access: Access,
}

/// One row of the table. An argument is `Name: Type`, `Name!: Type` where it is required, with
/// `path` behind it where it is one.
macro_rules! tools {
    ($(
        $name:literal $access:ident
            $([aliases $($alias:literal)*])?
            { $($arg:ident $(($required:ident))? : $kind:ident $($path:ident)?),* $(,)? }
    )*) => {
        &[$(Tool {
            name: $name,
            aliases: &[$($($alias),*)?],
            args: &[$(Arg {
                name: stringify!($arg),
                kind: ArgType::$kind,
                required: tools!(@given $($required)?),
                is_path: tools!(@given $($path)?),
            }),*],
            access: Access::$access,
        }),*]
    };
    (@given) => { false };
    (@given $word:ident) => { true };
}

/// All tools.
pub const TABLE: &[Tool] = tools! {
    "view_file" Read [aliases "VIEW_FILE"] {
        AbsolutePath(required): Text path, StartLine: Integer, EndLine: Integer,
    }
    "write_to_file" Write [aliases "create_file" "CREATE_FILE"] {
        TargetFile(required): Text path, CodeContent: Text, Overwrite: Boolean,
    }
    "replace_file_content" Write [aliases "edit_file" "EDIT_FILE"] {
        TargetFile(required): Text path, TargetContent: Text, ReplacementContent: Text,
        StartLine: Integer, EndLine: Integer, AllowMultiple: Boolean,
    }
    "multi_replace_file_content" Write [aliases "edit_file" "EDIT_FILE"] {
        TargetFile(required): Text path, ReplacementChunks: List,
    }
    "list_dir" Read [aliases "list_directory" "LIST_DIR"] {
        DirectoryPath(required): Text path,
    }
    "find_by_name" Read [aliases "find_file" "FIND_FILE"] {
        SearchDirectory(required): Text path, Pattern: Text, Type: Text, MaxDepth: Integer,
        Extensions: List, Excludes: List,
    }
    "grep_search" Read [aliases "search_directory" "SEARCH_DIR"] {
        SearchPath(required): Text path, Query: Text, IsRegex: Boolean, CaseInsensitive: Boolean,
        Includes: List, MatchPerLine: Boolean,
    }
    "run_command" Execute [aliases "RUN_COMMAND"] {
        CommandLine(required): Text, Cwd: Text path, WaitMsBeforeAsync: Integer,
    }
    "search_web" Network { query(required): Text, domain: Text }
    "read_url_content" Network { Url(required): Text }
    "generate_image" Network [aliases "GENERATE_IMAGE"] {
        Prompt(required): Text, ImageName: Text, ImagePaths: List path,
    }
    "manage_task" Control {}
    "schedule" Control {}
    "ask_question" Control {}
    "list_permissions" Control {}
    "ask_permission" Control {}
    "invoke_subagent" Control [aliases "start_subagent" "START_SUBAGENT"] {}
    "define_subagent" Control {}
    "send_message" Control {}
    "manage_subagents" Control {}
};

impl Tool {
    /// Whether the tool goes by this name.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.contains(&name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
        std::iter::once(self.name).chain(self.aliases.iter().copied())
    }
}

/// The tool of this name. `edit_file`, which stands for two, gives the first.
///
/// ```
/// use tollgate_core::tools::{self, Access};
///
/// assert_eq!(tools::lookup("create_file").map(|tool| tool.access), Some(Access::Write));
/// assert_eq!(tools::lookup("mystery"), None);
/// ```
pub fn lookup(name: &str) -> Option<&'static Tool> {
    // Most calls have the name of the table, and none of those is another tool's alias.
    let named = TABLE.iter().find(|tool| tool.name == name);
    named.or_else(|| TABLE.iter().find(|tool| tool.aliases.contains(&name)))
}

/// The names in the table of the tool that is called `alias` by some.
pub(crate) fn names_in_use(alias: &str) -> impl Iterator<Item = &'static str> {
    TABLE.iter().filter(move |tool| tool.aliases.contains(&alias)).map(|tool| tool.name)
}

/// True if two names are of one tool.
pub fn same(one: &str, other: &str) -> bool {
    one == other || TABLE.iter().any(|tool| tool.is_called(one) && tool.is_called(other))
}

/// The tools of the table that `name` means in a rule: by its name there, by an alias, or by the
/// name that a host has for it. Of a host's name for a part of a tool, the whole tool.
///
/// ```
/// use tollgate_core::tools;
///
/// let names = |name| tools::meant(name).map(|tool| tool.name).collect::<Vec<_>>();
/// assert_eq!(names("Bash"), ["run_command"]);
/// assert_eq!(names("edit"), ["replace_file_content", "multi_replace_file_content"]);
/// assert!(names("mystery").is_empty());
/// ```
pub fn meant(name: &str) -> impl Iterator<Item = &'static Tool> {
    let known = lookup(name).is_some();
    let synonym = if known { None } else { synonym(name) };
    TABLE.iter().filter(move |tool| match synonym {
        Some(synonym) => synonym.tools.contains(&tool.name),
        None => known && tool.is_called(name),
    })
}

/// True if `name` is a host's name for a part of what a tool of the table does.
pub(crate) fn is_part(name: &str) -> bool {
    lookup(name).is_none() && synonym(name).is_some_and(|synonym| synonym.part)
}

/// Every name that a call of a tool that `name` means may have, `name` itself first.
pub(crate) fn spellings(name: &str) -> Vec<&str> {
    let others = meant(name).flat_map(Tool::names);
    let mut seen = vec![name];
    for other in others {
        if !seen.contains(&other) {
            seen.push(other);
        }
    }
    seen
}

/// A path that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Touched<'a> {
    /// The path, as the call has it.
    pub path: Cow<'a, str>,
    /// What the call does with it.
    pub access: Access,
}

/// Why the paths of a call are not known.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathsUnknown {
    /// A path that the tool needs is missing.
    #[error("`{tool}` was called without `{arg}`")]
    Missing {
        /// The tool.
        tool: &'static str,
        /// The argument.
        arg: &'static str,
    },
    /// A path is not text.
    #[error("`{arg}` of `{tool}` is not a path")]
    NotText {
        /// The tool.
        tool: &'static str,
        /// The argument.
        arg: &'static str,
    },
}

/// Every path a call touches: by the table, and what the host itself says about it. Calls of
/// other tools, and of MCP servers' tools, touch none that are known here.
///
/// ```
/// use tollgate_core::event::ToolCall;
/// use tollgate_core::tools::{self, Access};
///
/// let call = ToolCall::new("write_to_file").arg("TargetFile", "/w/a.txt");
/// let touched = tools::paths(&call)?;
/// assert_eq!((touched[0].path.as_ref(), touched[0].access), ("/w/a.txt", Access::Write));
/// # Ok::<(), tools::PathsUnknown>(())
/// ```
pub fn paths(call: &ToolCall) -> Result<Vec<Touched<'_>>, PathsUnknown> {
    let tool = if call.server_name().is_none() { lookup(&call.name) } else { None };
    let access = tool.map_or(Access::Read, |tool| tool.access);
    let mut touched = Vec::new();
    if let Some(path) = call.canonical_path.as_deref().filter(|path| !path.is_empty()) {
        touched.push(Touched { path: path.into(), access });
    }
    let Some(tool) = tool else { return Ok(touched) };
    for arg in tool.args.iter().filter(|arg| arg.is_path) {
        let not_text = || PathsUnknown::NotText { tool: tool.name, arg: arg.name };
        // Images are read from disk before they are sent, whatever the tool does otherwise.
        let access = if tool.access == Access::Network { Access::Read } else { tool.access };
        match call.args.get(arg.name) {
            Some(Value::String(path)) if !path.is_empty() => {
                touched.push(Touched { path: path.into(), access });
            }
            Some(Value::Array(paths)) => {
                for path in paths {
                    let path = path.as_str().ok_or_else(not_text)?;
                    touched.push(Touched { path: path.into(), access });
                }
            }
            None | Some(Value::Null | Value::String(_)) => {
                if arg.required && touched.is_empty() {
                    return Err(PathsUnknown::Missing { tool: tool.name, arg: arg.name });
                }
            }
            Some(_) => return Err(not_text()),
        }
    }
    Ok(touched)
}

/// An argument that does not fit its tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("argument `{arg}` of `{tool}` {problem}")]
pub struct InvalidArg {
    /// The tool.
    pub tool: &'static str,
    /// The argument.
    pub arg: &'static str,
    /// What is wrong with it.
    pub problem: &'static str,
}

/// Checks the arguments of a call against the table. Tools and arguments that the table does not
/// know pass: they are their host's to check.
pub fn validate(call: &ToolCall) -> Result<(), InvalidArg> {
    if call.server_name().is_some() {
        return Ok(());
    }
    let Some(tool) = lookup(&call.name) else { return Ok(()) };
    // A call under an alias has the arguments of the system that calls it so.
    let strict = tool.name == call.name;
    for arg in tool.args {
        let invalid = |problem| InvalidArg { tool: tool.name, arg: arg.name, problem };
        match (call.args.get(arg.name), arg.kind) {
            (None, _) if arg.required && strict => return Err(invalid("is missing")),
            (Some(value), ArgType::Text) if !value.is_string() => {
                return Err(invalid("is not text"));
            }
            (Some(value), ArgType::Integer) if !value.is_i64() && !value.is_u64() => {
                return Err(invalid("is not a whole number"));
            }
            (Some(value), ArgType::Boolean) if !value.is_boolean() => {
                return Err(invalid("is not true or false"));
            }
            (Some(value), ArgType::List) if !value.is_array() => {
                return Err(invalid("is not a list"));
            }
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_table_is_the_one_of_the_documents() {
        let row = |tool: &Tool| {
            let path = tool.args.iter().find(|arg| arg.is_path).map(|arg| arg.name);
            (tool.name, path, tool.access)
        };
        let rows: Vec<_> = TABLE.iter().map(row).collect();
        assert_eq!(
            rows[..11],
            [
                ("view_file", Some("AbsolutePath"), Access::Read),
                ("write_to_file", Some("TargetFile"), Access::Write),
                ("replace_file_content", Some("TargetFile"), Access::Write),
                ("multi_replace_file_content", Some("TargetFile"), Access::Write),
                ("list_dir", Some("DirectoryPath"), Access::Read),
                ("find_by_name", Some("SearchDirectory"), Access::Read),
                ("grep_search", Some("SearchPath"), Access::Read),
                ("run_command", Some("Cwd"), Access::Execute),
                ("search_web", None, Access::Network),
                ("read_url_content", None, Access::Network),
                ("generate_image", Some("ImagePaths"), Access::Network),
            ]
        );
        assert!(
            rows[11..].iter().all(|(_, path, access)| (*path, *access) == (None, Access::Control))
        );
        assert_eq!(rows.len(), 20);
    }

    #[test]
    fn a_tool_is_found_by_any_of_its_names() {
        assert_eq!(lookup("RUN_COMMAND").map(|tool| tool.name), Some("run_command"));
        for tool in TABLE {
            assert_eq!(names_in_use(tool.name).count(), 0, "{}", tool.name);
        }
        assert_eq!(lookup("START_SUBAGENT").map(|tool| tool.name), Some("invoke_subagent"));
        let edit = spellings("edit_file");
        assert!(edit.contains(&"replace_file_content"), "{edit:?}");
        assert!(edit.contains(&"multi_replace_file_content"), "{edit:?}");
        assert_eq!(spellings("own_tool"), ["own_tool"]);
    }

    #[test]
    fn paths_come_from_the_arguments_and_from_the_host() {
        let paths_of = |call: ToolCall| {
            paths(&call).map(|touched| {
                touched.into_iter().map(|t| (t.path.into_owned(), t.access)).collect::<Vec<_>>()
            })
        };
        let mut call = ToolCall::new("view_file").arg("AbsolutePath", "/w/a");
        call.canonical_path = Some("/w/b".to_owned());
        assert_eq!(
            paths_of(call),
            Ok(vec![("/w/b".to_owned(), Access::Read), ("/w/a".to_owned(), Access::Read)])
        );
        assert_eq!(
            paths_of(ToolCall::new("generate_image").arg("ImagePaths", json!(["/x", "/y"]))),
            Ok(vec![("/x".to_owned(), Access::Read), ("/y".to_owned(), Access::Read)])
        );
        assert_eq!(
            paths_of(ToolCall::new("list_dir")),
            Err(PathsUnknown::Missing { tool: "list_dir", arg: "DirectoryPath" })
        );
        assert_eq!(
            paths_of(ToolCall::new("list_dir").arg("DirectoryPath", 3)),
            Err(PathsUnknown::NotText { tool: "list_dir", arg: "DirectoryPath" })
        );
        assert_eq!(paths_of(ToolCall::new("run_command").arg("CommandLine", "ls")), Ok(vec![]));
        let mcp = ToolCall::new("view_file").server("docs").arg("AbsolutePath", "/etc/passwd");
        assert_eq!(paths_of(mcp), Ok(vec![]));
    }

    #[test]
    fn arguments_are_checked_by_type() {
        let check = |call: ToolCall| validate(&call).map_err(|error| error.to_string());
        assert_eq!(check(ToolCall::new("run_command").arg("CommandLine", "ls")), Ok(()));
        assert_eq!(
            check(ToolCall::new("run_command").arg("CommandLine", 1)),
            Err("argument `CommandLine` of `run_command` is not text".to_owned())
        );
        assert_eq!(
            check(ToolCall::new("view_file").arg("StartLine", 1)),
            Err("argument `AbsolutePath` of `view_file` is missing".to_owned())
        );
        assert_eq!(check(ToolCall::new("edit_file").arg("path", "/x")), Ok(()));
        assert_eq!(check(ToolCall::new("anything").arg("x", json!(null))), Ok(()));
    }
}
