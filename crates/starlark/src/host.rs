//! What a script asks of the program around it while it runs. Everything else it does stays inside.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One question of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Call {
    /// `cache.get`.
    CacheGet(String),
    /// `metrics.snapshot`.
    Metrics,
    /// `hooks.list`, and what `hooks.get` looks through.
    Hooks,
    /// `http.get` and `http.post`.
    Http(HttpCall),
    /// `tools.call`.
    Tool {
        /// The tool.
        name: String,
        /// Its arguments.
        args: Map<String, Value>,
    },
}

/// A request of a script.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct HttpCall {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// What came of a question: a value, or why there is none.
pub(crate) type Reply = Result<Value, String>;

/// Who answers a script's questions. A script waits for the reply.
pub(crate) trait Host {
    fn call(&self, call: Call) -> Reply;
}
