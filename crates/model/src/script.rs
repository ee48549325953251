//! A model that says what a file says, for demos and tests: no key, no network.
//!
//! A script is a list of replies:
//!
//! ```
//! use tollgate_model::{Model, Request, Script, Scripted};
//!
//! let script = Script::read("demo.json", r#"[
//!     {"say": "Let me look.", "calls": [{"name": "run_command", "args": {"command": "ls"}}]},
//!     {"when": {"last_tool": "run_command"}, "say": "There is {{last_tool.content}}"}
//! ]"#)?;
//! let model = Scripted::from(script);
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let reply = model.respond(&Request::user("What is here?"), &|_| {}).await?;
//! assert_eq!(reply.calls[0].name, "run_command");
//! # Ok::<(), tollgate_model::ModelError>(())
//! # }).unwrap();
//! # Ok::<(), tollgate_model::ScriptError>(())
//! ```
//!
//! **The first reply that is not used up and whose condition holds is given.** One without `when`
//! always holds, and is used up when it was given; so a plain list plays in order. One with `when`
//! stays, unless it says `"once": true`; and one without says `"once": false` to stay. When no
//! reply is left, that is an error which names the script.
//!
//! Of a condition, all that it says must hold:
//!
//! | Field | Holds if |
//! | --- | --- |
//! | `last_user` | this regular expression matches the last message of a person |
//! | `last_tool` | a tool of this name has answered since the model last spoke |
//! | `contains` | this text is in a message since the model last spoke |
//! | `turn` | the model is about to speak for the nth time, from 1 |
//!
//! `say`, `think` and the texts in `args` may quote: `{{last_user}}`, `{{last_system}}`,
//! `{{last_tool.name}}`, `{{last_tool.content}}`, `{{turn}}`. Braces that are meant as such are
//! written `\{{`. What there is not is an error.
//!
//! Agents that share a model, as subagents do, are told apart by groups. The first group whose
//! `for` holds answers, with its own replies; without one, the replies outside do:
//!
//! ```json
//! {
//!   "replies": [{"calls": [{"name": "delegate", "args": {"task": "review"}}]}, {"say": "Done."}],
//!   "groups": [
//!     {"name": "reviewer", "for": {"system_contains": "You review"}, "replies": [{"say": "Fine."}]}
//!   ]
//! }
//! ```

mod play;
mod read;
mod scripted;
mod template;

use regex::Regex;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

#[cfg(feature = "server")]
pub(crate) use play::{Chosen, Play};
pub use read::{ScriptError, schema};
pub use scripted::Scripted;

use crate::model::{Finish, Usage};

/// What a scripted model says.
#[derive(Debug, Clone, Default)]
pub struct Script {
    name: String,
    file: File,
}

impl Script {
    /// A script of these replies.
    pub fn new(replies: Vec<Line>) -> Self {
        Self { name: "script".to_owned(), file: File { replies, ..File::default() } }
    }

    /// The same, with replies for those that a condition tells apart.
    pub fn with_group(mut self, group: Group) -> Self {
        self.file.groups.push(group);
        self
    }

    /// The file, or what else errors call it.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A script in a file: this, or the list of replies alone.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    expecting = "a list of replies, or an object that has them as `replies`"
)]
struct File {
    /// The schema, for editors.
    #[serde(rename = "$schema", default)]
    #[allow(dead_code)] // it is for others
    schema: Option<String>,
    /// What is said to whoever is in no group.
    #[serde(default)]
    replies: Vec<Line>,
    /// Replies for those that a condition tells apart.
    #[serde(default)]
    groups: Vec<Group>,
}

/// Replies for an agent among several that share a model.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What errors call it.
    pub name: String,
    /// Whom it is for.
    #[serde(rename = "for")]
    pub whom: Whom,
    /// What is said to them.
    pub replies: Vec<Line>,
}

/// How an agent is told from others. All that it says must hold.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Whom {
    /// This text is in the system prompt, or in a system message before the model first spoke.
    pub system_contains: Option<String>,
    /// This regular expression matches the first message of a person, which is the task.
    pub first_user: Option<Pattern>,
    /// There is a tool of this name.
    pub has_tool: Option<String>,
}

/// One reply of a script.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a reply, as `{\"say\": \"Hello.\"}`")]
pub struct Line {
    /// When it is given. Always, without it.
    pub when: Option<When>,
    /// What is said.
    #[serde(deserialize_with = "template::checked")]
    pub say: String,
    /// What is thought first.
    #[serde(deserialize_with = "template::checked")]
    pub think: String,
    /// What is called.
    pub calls: Vec<CallLine>,
    /// There is no reply, but this error.
    pub error: Option<String>,
    /// The HTTP status of the error, which says whether it may pass: 429 may, 400 does not.
    pub status: Option<u16>,
    /// Why the reply ends, if not for the usual reason.
    pub finish: Option<Finish>,
    /// What it cost.
    pub usage: Usage,
    /// How long the model takes, in milliseconds; at most ten minutes.
    #[schemars(range(max = 600_000))]
    pub delay_ms: u64,
    /// Whether it is used up when it was given. Without it, a reply with `when` is not, and one
    /// without is.
    pub once: Option<bool>,
}

impl Line {
    /// A reply that says something.
    pub fn say(text: impl Into<String>) -> Self {
        Self { say: text.into(), ..Self::default() }
    }

    /// A reply that calls something.
    pub fn call(name: impl Into<String>, args: Value) -> Self {
        Self::default().and_call(name, args)
    }

    /// No reply, but an error.
    pub fn error(text: impl Into<String>) -> Self {
        Self { error: Some(text.into()), ..Self::default() }
    }

    /// The same with another call.
    pub fn and_call(mut self, name: impl Into<String>, args: Value) -> Self {
        self.calls.push(CallLine { id: None, name: name.into(), args });
        self
    }

    /// The same, given when this holds.
    pub fn when(mut self, when: When) -> Self {
        self.when = Some(when);
        self
    }

    fn is_used_up_by_one(&self) -> bool {
        self.once.unwrap_or(self.when.is_none())
    }
}

/// A call of a reply.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CallLine {
    /// What the result refers to. Without it, one is made up.
    #[serde(default)]
    pub id: Option<String>,
    /// The tool.
    pub name: String,
    /// With what: an object, or a text that is none, as a model writes that got it wrong.
    #[serde(default, deserialize_with = "template::checked_value")]
    pub args: Value,
}

/// When a reply is given. All that it says must hold.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct When {
    /// This regular expression matches the last message of a person.
    pub last_user: Option<Pattern>,
    /// A tool of this name has answered since the model last spoke.
    pub last_tool: Option<String>,
    /// This text is in a message since the model last spoke.
    pub contains: Option<String>,
    /// The model is about to speak for the nth time, from 1.
    pub turn: Option<usize>,
}

/// A regular expression.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(try_from = "String")]
pub struct Pattern(#[schemars(with = "String")] Regex);

impl Pattern {
    /// Compiles one.
    pub fn new(text: &str) -> Result<Self, regex::Error> {
        Ok(Self(Regex::new(text)?))
    }

    fn matches(&self, text: &str) -> bool {
        self.0.is_match(text)
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        // The message is a drawing of several lines; its last says what is wrong.
        Self::new(&text).map_err(|error| {
            let error = error.to_string();
            let said = error.lines().next_back().unwrap_or_default();
            format!("`{text}` is no regular expression: {}", said.trim_start_matches("error: "))
        })
    }
}
