//! What a tool is, what it is called with, and what comes of a call.

use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde_json::{Map, Value};
use tollgate_core::context::ToolContext;
use tollgate_core::hook::BoxFuture;

use crate::args::ArgsError;
use crate::schema;
use crate::tasks::Tasks;
use crate::workspace::Workspaces;

/// What a model is told about a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Spec {
    /// Its name.
    pub name: String,
    /// What it does.
    pub description: String,
    /// The JSON Schema of its arguments: always an object.
    pub parameters: Value,
}

impl Spec {
    /// A tool that takes these arguments.
    ///
    /// ```
    /// use schemars::JsonSchema;
    /// use tollgate_tools::Spec;
    ///
    /// /// What to greet with.
    /// #[derive(JsonSchema)]
    /// struct Greet {
    ///     /// Whom.
    ///     name: String,
    /// }
    ///
    /// let spec = Spec::of::<Greet>("greet", "Says hello.");
    /// assert_eq!(spec.parameters["required"][0], "name");
    /// assert_eq!(spec.parameters["properties"]["name"]["description"], "Whom.");
    /// ```
    pub fn of<A: JsonSchema>(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            description: description.into(),
            parameters: schema::parameters::<A>(),
        }
    }
}

/// Something that an agent can do.
///
/// A tool asks nobody for permission: whoever calls it has done that. Dropping the future of a
/// call cancels it: its processes are ended and its temporary files removed.
pub trait Tool: Send + Sync + 'static {
    /// What a model is told about it.
    fn spec(&self) -> &Spec;

    /// Does it. To be polled on a tokio runtime with time and input and output.
    fn call<'a>(
        &'a self,
        cx: &'a Cx,
        args: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Output, ToolFailure>>;

    /// What a call would change in a file as things stand, as a diff, for the person who is asked about it; an error
    /// where it would come to nothing. It changes nothing itself. None for a tool that edits no file.
    ///
    /// A diff is only worth a look if it is the edit that would be made: a tool makes both with the same code.
    fn preview<'a>(
        &'a self,
        _cx: &'a Cx,
        _args: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Option<Result<String, ToolFailure>>> {
        Box::pin(std::future::ready(None))
    }
}

impl fmt::Debug for dyn Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tool").field(&self.spec().name).finish()
    }
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Output {
    /// What the model gets, and hooks see.
    pub value: Value,
    /// Set where the tool did its part, but what it did went wrong: `exit status 1` of a command.
    pub error: Option<String>,
}

impl Output {
    /// A result.
    pub fn new(value: impl Into<Value>) -> Self {
        Self { value: value.into(), error: None }
    }

    /// The same, of something that went wrong.
    pub fn with_error(mut self, error: impl Into<String>) -> Self {
        self.error = Some(error.into());
        self
    }

    /// What the model reads: the value if it is text, and otherwise its JSON.
    ///
    /// ```
    /// use tollgate_tools::Output;
    ///
    /// assert_eq!(Output::new("done").text(), "done");
    /// assert_eq!(Output::new(vec![1, 2]).text(), "[1,2]");
    /// ```
    pub fn text(&self) -> Cow<'_, str> {
        match &self.value {
            Value::String(text) => Cow::Borrowed(text),
            value => Cow::Owned(value.to_string()),
        }
    }
}

/// Why a call came to nothing. Its text is for the model: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ToolFailure {
    /// The arguments do not fit the tool.
    #[error(transparent)]
    Args(#[from] ArgsError),
    /// A path that leads out of the workspaces.
    #[error(
        "`{}` is outside the workspaces ({workspaces}), and this tool stays inside them",
        path.display()
    )]
    Outside {
        /// The path, as it was given.
        path: PathBuf,
        /// Where the tool could have gone.
        workspaces: String,
    },
    /// A file or directory is not what it would have to be.
    #[error("`{}` {problem}", path.display())]
    Path {
        /// Which one.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        problem: String,
    },
    /// The system refused.
    #[error("cannot {action} `{}`: {source}", path.display())]
    System {
        /// What was to be done.
        action: &'static str,
        /// To which file or directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl ToolFailure {
    pub(crate) fn path(path: impl AsRef<Path>, problem: impl Into<String>) -> Self {
        Self::Path { path: path.as_ref().to_owned(), problem: problem.into() }
    }

    pub(crate) fn system(
        action: &'static str,
        path: impl AsRef<Path>,
        source: impl Into<io::Error>,
    ) -> Self {
        Self::System { action, path: path.as_ref().to_owned(), source: source.into() }
    }
}

/// What a session's calls share. Cheap to clone.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Cx {
    /// The directories the agent works in.
    pub workspaces: Workspaces,
    /// The store of the session's tools.
    pub tools: ToolContext,
    /// The commands in the background.
    pub tasks: Tasks,
    /// The id of the session.
    pub session: Arc<str>,
    /// The id of the agent that calls: of the session's own, or of a subagent.
    pub agent: Arc<str>,
    /// The directory for what tools make, such as images.
    pub artifacts: Option<Arc<Path>>,
    /// Whether reading tools may leave the workspaces: where policies decide that for each call.
    /// Writing tools never do.
    pub read_outside: bool,
}

impl Cx {
    /// For a session in these workspaces.
    pub fn new(workspaces: Workspaces, tasks: Tasks) -> Self {
        Self {
            workspaces,
            tools: ToolContext::new(),
            tasks,
            session: Arc::from(""),
            agent: Arc::from(""),
            artifacts: None,
            read_outside: false,
        }
    }

    /// The same, with a store that exists already.
    pub fn tools(mut self, tools: ToolContext) -> Self {
        self.tools = tools;
        self
    }

    /// The same, for this session and agent.
    pub fn ids(mut self, session: impl Into<Arc<str>>, agent: impl Into<Arc<str>>) -> Self {
        self.session = session.into();
        self.agent = agent.into();
        self
    }

    /// The same, with a directory for what tools make. It is created when it is first needed.
    pub fn artifacts(mut self, dir: impl AsRef<Path>) -> Self {
        self.artifacts = Some(dir.as_ref().into());
        self
    }

    /// The same; reading tools may leave the workspaces, or may not.
    pub fn read_outside(mut self, yes: bool) -> Self {
        self.read_outside = yes;
        self
    }
}
