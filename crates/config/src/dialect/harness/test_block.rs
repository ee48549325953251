//! Tests in the body of a hook file.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::source::Span;

/// A test of a hook that stands in its own file, as a fenced block.
#[derive(Debug, Clone, PartialEq)]
pub struct TestBlock {
    /// What the hook has to do.
    pub expect: Expect,
    /// What the test is about: the words behind, which may be none.
    pub name: String,
    /// The payload as the script sees it.
    pub payload: Value,
    /// What the script finds around it.
    pub given: Given,
    /// What is expected beyond that.
    pub expected: Expected,
    /// The block.
    pub span: Span,
}

/// What a tested hook has to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expect {
    /// Let it pass unchanged.
    Allow,
    /// Block it.
    Block,
    /// Have a person decide.
    Ask,
    /// Rewrite it.
    Modify,
    /// Not be asked: its `when` is false.
    Skip,
    /// Fail.
    Error,
}

impl Expect {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Allow, Self::Block, Self::Ask, Self::Modify, Self::Skip, Self::Error];

    /// The word of the info string.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Block => "block",
            Self::Ask => "ask",
            Self::Modify => "modify",
            Self::Skip => "skip",
            Self::Error => "error",
        }
    }
}

/// What a test says of a text: of the reason of a block, or of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Said {
    /// It is this.
    Exactly(String),
    /// It has this in it.
    Contains(String),
}

impl Said {
    /// Whether a text is as it should be.
    pub fn fits(&self, text: &str) -> bool {
        match self {
            Self::Exactly(wanted) => text == wanted,
            Self::Contains(part) => text.contains(part.as_str()),
        }
    }
}

/// What a test expects beyond its word. None is said of what is left out.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Expected {
    /// Of a block or a question, its reason; of an error, its message.
    pub reason: Option<Said>,
    /// Of a rewrite, what is given to `modify`.
    pub patch: Option<Map<String, Value>>,
    /// What is logged, in order: texts, or objects with `level`, `message` and fields.
    pub logs: Option<Vec<Value>>,
    /// Metrics and their values afterwards.
    pub metrics: Option<Map<String, Value>>,
}

/// What a script finds in a test: `$given` in the payload.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Given {
    /// What the cache has.
    pub cache: Map<String, Value>,
    /// What the metrics are.
    pub metrics: Map<String, Value>,
    /// What is answered, by method and address: `GET https://…`.
    pub http: BTreeMap<String, GivenResponse>,
    /// What tools return, by name.
    pub tools: Map<String, Value>,
    /// What `hooks.list()` tells.
    pub hooks: Vec<Value>,
}

/// What an address answers in a test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenResponse {
    /// The status.
    pub status: u16,
    /// The body.
    pub body: String,
    /// Headers.
    pub headers: BTreeMap<String, String>,
}
