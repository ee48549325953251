//! What a script decided, as the answer of its event.
//!
//! `allow()` is no opinion: it undoes nothing and skips no prompt of the host. `block(reason)` is
//! the event's refusal; where the agent would stop, it makes it go on. `ask(reason)` puts a call of a
//! tool to a person. `modify(patch)` replaces
//! fields of the payload, by their names; what an event does not let a hook change, it cannot name
//! with another value.

use serde_json::{Map, Number, Value};
use tollgate_core::Kind;
use tollgate_core::event::Answers;
use tollgate_core::extra::Additions;
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::verdict::Word;

use crate::payload::{ALIAS, ARGS};

/// What `block(reason)` is, in neutral form.
pub(crate) fn blocked(kind: Kind, reason: String) -> Neutral {
    Neutral::new(refusal(kind), reason)
}

/// What `ask(reason)` is, in neutral form.
pub(crate) fn asked(kind: Kind, reason: String) -> Result<Neutral, String> {
    if kind == Kind::ToolPre { Ok(Neutral::new(Word::Ask, reason)) } else { Err(cannot_ask(kind)) }
}

/// What is said to a hook that asks where nobody can be asked.
pub(crate) fn cannot_ask(at: impl std::fmt::Display) -> String {
    format!("`ask` is for tool.pre, before a tool runs: at {at} there is nothing to ask about")
}

/// What `block` is at an event.
const fn refusal(kind: Kind) -> Word {
    match kind {
        Kind::Stop | Kind::TurnEnd => Word::Continue,
        _ => Word::Deny,
    }
}

/// The fields that a hook may change at an event.
const fn changeable(kind: Kind) -> &'static [&'static str] {
    match kind {
        Kind::ToolPre => &["args"],
        Kind::ToolPost | Kind::SubagentStop => &["result"],
        Kind::ToolError => &["result", "error"],
        Kind::TurnStart => &["prompt", "context"],
        Kind::TurnEnd => &["response"],
        Kind::ModelPre | Kind::SessionStart => &["context"],
        _ => &[],
    }
}

/// What a script can answer to an event.
///
/// ```
/// use tollgate_core::Kind;
///
/// let answers = tollgate_starlark::answers(Kind::ToolPre);
/// assert_eq!(answers.verdicts, ["none", "ask", "deny"]);
/// assert_eq!(answers.rewrites, Some("args"));
/// ```
pub fn answers(kind: Kind) -> Answers {
    let mut answers = kind.answers();
    let can_change = |field: &str| changeable(kind).contains(&field);
    answers.verdicts.retain(|name| match *name {
        "none" => true,
        "ask" => asked(kind, String::new()).is_ok(),
        "recover" => can_change("result"),
        name => name == refusal(kind).name(),
    });
    answers.additions.retain(|name| can_change(name));
    answers.rewrites = answers.rewrites.filter(|field| can_change(field));
    answers
}

/// What `modify(patch)` is, in neutral form.
pub(crate) fn modified(
    kind: Kind,
    patch: Map<String, Value>,
    payload: &Map<String, Value>,
) -> Result<Neutral, String> {
    let mut neutral = Neutral::default();
    let mut args: Option<Value> = None;
    for (name, value) in patch {
        let field = if name == ALIAS { ARGS } else { name.as_str() };
        // Who hands back the whole payload means what is different in it.
        if payload.get(field).is_some_and(|before| same(before, &value)) {
            continue;
        }
        if !changeable(kind).contains(&field) {
            return Err(cannot_change(kind, &name));
        }
        match field {
            "args" => match args {
                Some(other) if other != value => {
                    return Err("`args` and `arguments` are the same; they were changed to \
                                different values"
                        .to_owned());
                }
                _ => args = Some(value),
            },
            "context" => neutral.additions = context(value)?,
            "result" if kind == Kind::ToolError => neutral.word = Word::Recover(value),
            "result" => neutral.rewrite = Some(Rewrite::Result(value)),
            "error" => neutral.rewrite = Some(Rewrite::Error(text("error", value)?)),
            "prompt" => neutral.rewrite = Some(Rewrite::Prompt(text("prompt", value)?)),
            _ => neutral.rewrite = Some(Rewrite::Response(text("response", value)?)),
        }
    }
    match args {
        None => {}
        Some(Value::Object(args)) => neutral.rewrite = Some(Rewrite::AllArgs(args)),
        Some(_) => return Err("`args` must be changed to a dict".to_owned()),
    }
    Ok(neutral)
}

/// Whether a value came back from a script as it was, however its numbers were written: `1e2` comes
/// back as `100.0`.
fn same(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Number(one), Value::Number(other)) => one == other || written_anew(one) == *other,
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            let in_other = |(name, value): (&String, &Value)| {
                other.get(name).is_some_and(|other| same(value, other))
            };
            one.len() == other.len() && one.iter().all(in_other)
        }
        (before, after) => before == after,
    }
}

/// A number as it is written after it was one of the language.
fn written_anew(number: &Number) -> Number {
    if number.is_f64() {
        number.as_f64().and_then(Number::from_f64).unwrap_or_else(|| number.clone())
    } else {
        number.as_i64().map_or_else(|| number.clone(), Number::from)
    }
}

fn cannot_change(kind: Kind, name: &str) -> String {
    match changeable(kind) {
        [] => format!("a hook cannot change anything at {kind}; it tried `{name}`"),
        fields => {
            let fields: Vec<_> = fields.iter().map(|field| format!("`{field}`")).collect();
            let fields = fields.join(" and ");
            format!("a hook cannot change `{name}` at {kind}; it can change {fields}")
        }
    }
}

fn text(field: &str, value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        _ => Err(format!("`{field}` must be changed to a string")),
    }
}

/// Text for the model: one, or several.
fn context(value: Value) -> Result<Additions, String> {
    let texts = match value {
        Value::String(text) => vec![text],
        Value::Array(texts) => {
            texts.into_iter().map(|item| text("context", item)).collect::<Result<_, _>>()?
        }
        _ => return Err("`context` must be a string or a list of strings".to_owned()),
    };
    Ok(Additions { context: texts, ..Additions::default() })
}
