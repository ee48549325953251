//! Conditions that need no Starlark.
//!
//! Most `when`s compare a few parts of the payload with constants. Those are compiled to a small tree and evaluated on
//! the payload as it is, without a heap and without building values first. They mean exactly what Starlark makes of
//! them, what raises an error included: a test holds random conditions and payloads against the real interpreter. What
//! is not covered has no native form, and Starlark evaluates it.

pub(super) mod compile;
pub(super) mod eval;
mod simple;
mod view;

pub use view::{Elements, Items, Payload, Record, View};

use compile::Within;
use starlark_syntax::syntax::ast::{AstExpr, StmtP};

/// A condition in native form.
///
/// ```
/// use serde_json::json;
/// use tollgate_starlark::analysis::{Condition, CondError};
///
/// let condition = Condition::compile(
///     r#"payload["name"] == "run_command" and "rm " in payload.get("args", {}).get("command", "")"#,
/// )
/// .unwrap();
/// let payload = json!({"name": "run_command", "args": {"command": "rm -rf /"}});
/// assert_eq!(condition.eval("tool.pre", payload.as_object().unwrap()), Ok(true));
///
/// // It raises what Starlark raises.
/// let payload = json!({});
/// let missing = condition.eval("tool.pre", payload.as_object().unwrap());
/// assert_eq!(missing, Err(CondError::NoKey("name".into())));
///
/// // What it does not cover, Starlark evaluates.
/// assert!(Condition::compile("any([x == 1 for x in payload['xs']])").is_none());
/// ```
#[derive(Debug, Clone)]
pub struct Condition {
    root: compile::Node,
}

impl Condition {
    /// The native form of a condition, where it has one.
    pub fn compile(text: &str) -> Option<Condition> {
        let ast = super::parse(text).ok()?;
        match &ast.statement().node {
            StmtP::Expression(expression) => Condition::of_expression(expression),
            _ => None,
        }
    }

    /// As [`compile`](Self::compile), for the plainest conditions alone, and without the language's parser.
    ///
    /// ```
    /// use tollgate_starlark::analysis::Condition;
    ///
    /// assert!(Condition::recognise(r#"payload["name"] in ["run_command", "view_file"]"#).is_some());
    /// assert!(Condition::recognise(r#"payload["name"].startswith("run")"#).is_none());
    /// ```
    pub fn recognise(text: &str) -> Option<Condition> {
        simple::node(text.trim_end_matches('\n')).map(|root| Condition { root })
    }

    pub(super) fn of_expression(expression: &AstExpr) -> Option<Condition> {
        Some(Condition { root: compile::node(expression, Within::Condition)? })
    }

    /// Whether it holds for an event, by its name, and a payload.
    pub fn eval(&self, event: &str, payload: &dyn Payload) -> Result<bool, CondError> {
        eval::holds(&self.root, event, payload)
    }

    /// Whether it asks for no fields of the payload but known ones, each by its name, and compares
    /// no values that only the language could compare.
    pub(crate) fn looks_only_at(&self, known: &dyn Fn(&str) -> bool) -> bool {
        self.root.looks_only_at(known)
    }
}

/// What Starlark would raise.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CondError {
    /// A dict has no such key.
    NoKey(String),
    /// A list or text has no such place.
    OutOfRange(i32),
    /// An operation is not for values of these types.
    WrongType {
        /// What was to be done.
        what: &'static str,
        /// With what: `int`, or `int` and `string`.
        with: String,
    },
    /// Not an error of the condition: it meets a value that only Starlark knows how to treat. Evaluate it there.
    NotNative,
}

impl std::fmt::Display for CondError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            CondError::NoKey(key) => write!(f, "there is no key `{key}`"),
            CondError::OutOfRange(index) => write!(f, "there is nothing at index `{index}`"),
            CondError::WrongType { what, with } => write!(f, "`{what}` does not work with {with}"),
            CondError::NotNative => f.write_str("only Starlark can evaluate this"),
        }
    }
}

impl std::error::Error for CondError {}
