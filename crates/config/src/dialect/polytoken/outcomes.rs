//! The outcomes of each event: reading, writing and the schemas follow from one table, which Tollgate
//! also answers by as a hook of Polytoken.

use serde_json::{Map, Value, json};
use tollgate_core::Kind;
use tollgate_core::extra::Additions;
use tollgate_core::neutral::Neutral;
use tollgate_core::verdict::Word;
use tollgate_hosts::polytoken::outcomes::{self, Field, Meaning, Row, TABLE};

use super::super::text::{self, excerpt, take_text};
use super::super::{Output, WireError};
use super::EVENTS;

fn row(event: Kind) -> Result<&'static Row, WireError> {
    outcomes::row(event)
        .ok_or_else(|| WireError::new(format!("Polytoken has no event for {event}")))
}

/// Polytoken's name of an event.
fn name_of(event: Kind) -> &'static str {
    EVENTS.iter().find(|name| name.kinds.contains(&event)).map_or(event.name(), |name| name.name)
}

/// An outcome in neutral words.
const fn word(means: Meaning) -> Word {
    match means {
        Meaning::Proceed => Word::None,
        Meaning::Deny => Word::Deny,
        Meaning::Retry => Word::Retry,
        Meaning::Continue => Word::Continue,
        Meaning::Cancel => Word::Cancel,
        Meaning::Suppress => Word::Suppress,
    }
}

/// Reads what a handler came to.
pub(super) fn decode(event: Kind, output: &Output) -> Result<Neutral, WireError> {
    let row = row(event)?;
    match output.code {
        0 if row.waits => match text::answer(&output.stdout)? {
            None => Ok(Neutral::default()),
            Some(fields) => by_fields(row, fields),
        },
        // Nothing is read of it but that it could not do its work.
        0 => match text::answer(&output.stdout) {
            Ok(Some(fields)) if fields.get("outcome").is_some_and(|word| word == "error") => {
                by_fields(row, fields)
            }
            _ => Ok(Neutral::default()),
        },
        2 => by_exit(row, output),
        code => Err(WireError::new(format!("it exited with code {code}; {}", said(output)))),
    }
}

fn said(output: &Output) -> String {
    let said = excerpt(&output.stderr);
    let said = if said.is_empty() { excerpt(&output.stdout) } else { said };
    if said.is_empty() { "it said nothing".to_owned() } else { format!("it said: {said}") }
}

/// Exit code 2: the event's stop outcome, with what was printed.
fn by_exit(row: &Row, output: &Output) -> Result<Neutral, WireError> {
    let Some(stop) = row.stopping() else {
        return Err(WireError::new(format!(
            "it exited with code 2, which means to stop, and {} cannot be stopped; {}",
            name_of(row.event),
            said(output)
        )));
    };
    // Who says it both ways means one thing.
    if let Ok(Some(fields)) = text::answer(&output.stdout)
        && fields.get("outcome").is_some_and(|word| word == stop.name)
        && let Ok(answer) = by_fields(row, fields)
    {
        return Ok(answer);
    }
    let printed = [&output.stdout, &output.stderr].map(|bytes| captured(bytes));
    Ok(Neutral::new(word(stop.means), joined(printed.iter().map(String::as_str))))
}

/// The most of a program's output that the model is shown.
const CAPTURED: usize = 16 * 1024;

fn captured(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes.get(..CAPTURED).unwrap_or(bytes));
    let mut text = text.trim().to_owned();
    if bytes.len() > CAPTURED {
        text.push('…');
    }
    text
}

/// Texts on lines of their own, without the empty ones.
fn joined<'a>(texts: impl Iterator<Item = &'a str>) -> String {
    texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
}

fn by_fields(row: &Row, mut fields: Map<String, Value>) -> Result<Neutral, WireError> {
    let event = name_of(row.event);
    let Some(name) = take_text(&mut fields, "outcome")? else {
        return Err(WireError::new(format!(
            "its answer has no `outcome`: {event} takes {}",
            row.names()
        )));
    };
    if name == "error" {
        let message = take_text(&mut fields, "message")?.unwrap_or_default();
        refuse_others(&fields, "error", &["message"])?;
        let message = if message.is_empty() { "it did not say why" } else { &message };
        return Err(WireError::new(format!("it could not decide: {message}")));
    }
    let Some(outcome) = row.named(&name) else {
        return Err(WireError::new(format!(
            "`{}` is no outcome of {event}: it takes {}",
            excerpt(name.as_bytes()),
            row.names()
        )));
    };
    let mut told = Vec::new();
    let mut additions = Additions::default();
    for field in outcome.fields {
        let text = take_text(&mut fields, field.name())?.unwrap_or_default();
        if text.is_empty() {
            continue;
        }
        match field {
            Field::Text(_) => additions.context.push(text),
            Field::Reason | Field::Stdout | Field::Stderr => told.push(text),
        }
    }
    let known: Vec<_> = outcome.fields.iter().map(|field| field.name()).collect();
    refuse_others(&fields, outcome.name, &known)?;
    let reason = joined(told.iter().map(String::as_str));
    Ok(Neutral { additions, ..Neutral::new(word(outcome.means), reason) })
}

fn refuse_others(
    fields: &Map<String, Value>,
    outcome: &str,
    known: &[&str],
) -> Result<(), WireError> {
    let Some(name) = fields.keys().next() else { return Ok(()) };
    let takes = match known {
        [] => "takes no fields".to_owned(),
        known => format!("takes `{}`", known.join("`, `")),
    };
    Err(WireError::new(format!(
        "`{outcome}` has no field `{}`: it {takes}, and an unknown field is an error",
        excerpt(name.as_bytes())
    )))
}

/// Writes an answer.
pub(super) fn encode(event: Kind, answer: &Neutral) -> Result<Output, WireError> {
    let row = row(event)?;
    let cannot = |what: &str| {
        WireError::new(format!("Polytoken cannot be told to {what} at {}", name_of(event)))
    };
    if answer.rewrite.is_some() {
        return Err(cannot("rewrite"));
    }
    if !answer.additions.steps.is_empty() || !answer.additions.overrides.is_empty() {
        return Err(cannot("inject steps or override permissions"));
    }
    // It goes on in either case: Polytoken has no prompt of its own that an allow would skip.
    let said = if answer.word == Word::Allow { &Word::None } else { &answer.word };
    let Some(outcome) = row.outcomes.iter().find(|outcome| word(outcome.means) == *said) else {
        // To refuse a model call there is no outcome, and an error does just that.
        if answer.word == Word::Deny && event == Kind::ModelPre {
            return Ok(Output::json(&json!({"outcome": "error", "message": answer.reason})));
        }
        return Err(WireError::new(format!(
            "Polytoken cannot be told `{}` at {}",
            answer.word,
            name_of(event)
        )));
    };
    let takes_text = outcome.fields.iter().any(|field| matches!(field, Field::Text(_)));
    if !answer.additions.context.is_empty() && !takes_text {
        return Err(cannot("add context"));
    }
    let mut fields = Map::new();
    fields.insert("outcome".to_owned(), outcome.name.into());
    for field in outcome.fields {
        let text = match field {
            Field::Reason => answer.reason.clone(),
            Field::Text(_) => answer.additions.context.join("\n\n"),
            Field::Stdout | Field::Stderr => String::new(),
        };
        if !text.is_empty() {
            fields.insert(field.name().to_owned(), text.into());
        }
    }
    Ok(Output::json(&Value::Object(fields)))
}

/// The schema of what each handler answers.
pub fn schemas() -> Vec<(&'static str, schemars::Schema)> {
    TABLE.iter().map(|row| (name_of(row.event), schema(row))).collect()
}

fn schema(row: &Row) -> schemars::Schema {
    let describe = |field: &Field| match field {
        Field::Reason => "Why, for the model.",
        Field::Stdout => "What a program printed, for the model.",
        Field::Stderr => "What a program printed as an error, for the model.",
        Field::Text("prepend_to_prompt") => "Text before the summary.",
        Field::Text("append_to_output") => "Text after the summary.",
        Field::Text(_) => "Context for the model.",
    };
    let object = |name: &str, fields: Vec<(&str, &str)>| {
        let mut properties = Map::new();
        properties.insert("outcome".to_owned(), json!({"const": name}));
        for (field, description) in fields {
            properties.insert(
                field.to_owned(),
                json!({"type": ["string", "null"], "description": description}),
            );
        }
        json!({
            "type": "object",
            "properties": properties,
            "required": ["outcome"],
            "additionalProperties": false,
        })
    };
    let mut forms: Vec<_> = row
        .outcomes
        .iter()
        .map(|outcome| {
            let fields = outcome.fields.iter().map(|field| (field.name(), describe(field)));
            object(outcome.name, fields.collect())
        })
        .collect();
    forms.push(object("error", vec![("message", "Why it could not decide.")]));
    let mut schema = schemars::Schema::default();
    schema.insert("$schema".to_owned(), "https://json-schema.org/draft/2020-12/schema".into());
    schema.insert("title".to_owned(), format!("Answer to {}", name_of(row.event)).into());
    schema.insert("oneOf".to_owned(), forms.into());
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exit_code_two_stops_whatever_is_wrong_with_the_json_beside_it() {
        for printed in [
            "{\"outcome\": \"reject\", \"reason\": \"secret\", \"severity\": \"high\"}",
            "{\"outcome\": \"reject\", \"reason\": [\"a\"]}",
            "{\"outcome\": \"accept\"}",
            "no",
        ] {
            let stdout = printed.as_bytes().to_vec();
            let answer = decode(Kind::TurnStart, &Output { code: 2, stdout, stderr: Vec::new() });
            assert_eq!(answer, Ok(Neutral::new(Word::Deny, printed)), "{printed}");
        }
    }

    #[test]
    fn what_cannot_be_said_is_not_left_out() {
        let rewrite = tollgate_core::patch::Rewrite::Args(Map::new());
        let rewriting = Neutral { rewrite: Some(rewrite), ..Neutral::default() };
        assert!(encode(Kind::ToolPre, &rewriting).is_err());
        assert!(encode(Kind::ToolPre, &Neutral::new(Word::Ask, "")).is_err());
        let allowed = encode(Kind::ToolPre, &Neutral::new(Word::Allow, "")).unwrap();
        assert_eq!(allowed, Output::json(&json!({"outcome": "allow"})));
    }
}
