//! Arguments: from the JSON of a call to the struct of a tool.
//!
//! Names are taken exactly: what a hook or a policy has looked at is what the tool uses, so an
//! argument under another spelling is an error and not a guess. Values may be sloppy where that
//! changes nothing: a number may come as text, and an argument that may be missing as null.

use std::fmt::Write as _;

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// Why arguments do not fit a tool.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ArgsError {
    /// The tool has no such argument.
    #[error(
        "`{tool}` has no argument `{arg}`{}; it has {known}",
        meant.as_ref().map(|meant| format!(" (did you mean `{meant}`?)")).unwrap_or_default()
    )]
    Unknown {
        /// The tool.
        tool: String,
        /// The argument, with the way to it if it is inside another.
        arg: String,
        /// The nearest one that it has.
        meant: Option<String>,
        /// All that it has.
        known: String,
    },
    /// An argument is not there that has to be.
    #[error("`{arg}` of `{tool}` is missing")]
    Missing {
        /// The tool.
        tool: String,
        /// The argument, with the way to it if it is inside another.
        arg: String,
    },
    /// A value does not fit.
    #[error("{} of `{tool}` does not fit: {problem}", named(arg))]
    Unfit {
        /// The tool.
        tool: String,
        /// The argument, with the way to it if it is inside another; empty for all of them.
        arg: String,
        /// What is wrong with it.
        problem: String,
    },
}

fn named(arg: &str) -> String {
    if arg.is_empty() { "the call".to_owned() } else { format!("`{arg}`") }
}

/// Reads the arguments of a call to `tool`, whose schema is `schema`.
///
/// ```
/// use serde::Deserialize;
/// use schemars::JsonSchema;
/// use tollgate_tools::{Spec, read_args};
///
/// #[derive(Deserialize, JsonSchema)]
/// #[serde(rename_all = "PascalCase")]
/// struct Look {
///     start_line: Option<u32>,
/// }
///
/// let spec = Spec::of::<Look>("look", "Looks.");
/// let read = |args: serde_json::Value| read_args::<Look>(&spec, args.as_object().unwrap());
/// assert_eq!(read(serde_json::json!({"StartLine": "7"}))?.start_line, Some(7));
/// let error = read(serde_json::json!({"Startline": 7})).err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "`look` has no argument `Startline` (did you mean `StartLine`?); it has `StartLine`",
/// );
/// # Ok::<(), tollgate_tools::ArgsError>(())
/// ```
pub fn read_args<A: DeserializeOwned>(
    spec: &crate::Spec,
    args: &Map<String, Value>,
) -> Result<A, ArgsError> {
    let mut value = Value::Object(args.clone());
    fit(&spec.name, &mut value, &spec.parameters, &mut String::new())?;
    serde_path_to_error::deserialize(&value).map_err(|error| ArgsError::Unfit {
        tool: spec.name.clone(),
        arg: error.path().to_string().trim_start_matches('.').to_owned(),
        problem: error.inner().to_string(),
    })
}

/// Checks names, and brings values that differ only in form to the form of the schema.
fn fit(tool: &str, value: &mut Value, schema: &Value, way: &mut String) -> Result<(), ArgsError> {
    let kind = schema.get("type").and_then(Value::as_str);
    match (kind, value) {
        (Some("object"), Value::Object(fields)) => fit_object(tool, fields, schema, way),
        (Some("array"), Value::Array(items)) => {
            let Some(schema) = schema.get("items") else { return Ok(()) };
            for (index, item) in items.iter_mut().enumerate() {
                let length = way.len();
                let _ = write!(way, "[{index}]");
                fit(tool, item, schema, way)?;
                way.truncate(length);
            }
            Ok(())
        }
        (Some("integer"), value) => {
            if let Some(number) = whole(value) {
                *value = number;
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn fit_object(
    tool: &str,
    fields: &mut Map<String, Value>,
    schema: &Value,
    way: &mut String,
) -> Result<(), ArgsError> {
    let Some(Value::Object(known)) = schema.get("properties") else { return Ok(()) };
    // A struct that takes more than it names says so.
    let is_open =
        schema.get("additionalProperties").is_some_and(|more| more != &Value::Bool(false));
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    fields.retain(|name, value| {
        !value.is_null() || required.contains(&name.as_str()) || !known.contains_key(name)
    });
    let below = |way: &str, name: &str| {
        if way.is_empty() { name.to_owned() } else { format!("{way}.{name}") }
    };
    for (name, value) in fields.iter_mut() {
        let Some(schema) = known.get(name) else {
            if is_open {
                continue;
            }
            return Err(ArgsError::Unknown {
                tool: tool.to_owned(),
                arg: below(way, name),
                meant: nearest(name, known.keys()),
                known: list(known.keys()),
            });
        };
        let length = way.len();
        *way = below(way, name);
        fit(tool, value, schema, way)?;
        way.truncate(length);
    }
    match required.iter().find(|name| !fields.contains_key(**name)) {
        None => Ok(()),
        Some(name) => Err(ArgsError::Missing { tool: tool.to_owned(), arg: below(way, name) }),
    }
}

/// A whole number that was written as text or with a fraction of zero.
fn whole(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => {
            let text = text.trim();
            text.parse::<u64>()
                .map(Value::from)
                .or_else(|_| text.parse::<i64>().map(Value::from))
                .ok()
        }
        Value::Number(number) if !number.is_u64() && !number.is_i64() => {
            let text = number.to_string();
            let (whole, fraction) = text.split_once('.')?;
            let is_whole = fraction.bytes().all(|byte| byte == b'0');
            is_whole.then(|| whole.parse::<i64>().ok().map(Value::from))?
        }
        _ => None,
    }
}

/// The name that was probably meant.
fn nearest<'a>(name: &str, known: impl Iterator<Item = &'a String>) -> Option<String> {
    // Names are short; comparing takes the product of the lengths.
    let name: String = name.chars().take(64).collect::<String>().to_lowercase();
    known
        .map(|known| (strsim::jaro_winkler(&name, &known.to_lowercase()), known))
        .filter(|(likeness, _)| *likeness > 0.75)
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map(|(_, known)| known.clone())
}

fn list<'a>(names: impl Iterator<Item = &'a String>) -> String {
    let names: Vec<_> = names.map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use schemars::JsonSchema;
    use serde::Deserialize;
    use serde_json::json;

    use super::*;
    use crate::Spec;

    #[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "PascalCase")]
    struct Args {
        target_file: String,
        start_line: Option<u32>,
        chunks: Option<Vec<Chunk>>,
    }

    #[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
    #[serde(rename_all = "PascalCase")]
    struct Chunk {
        end_line: u32,
    }

    fn read(args: &Value) -> Result<Args, String> {
        let spec = Spec::of::<Args>("edit", "Edits.");
        read_args(&spec, args.as_object().unwrap()).map_err(|error| error.to_string())
    }

    #[test]
    fn what_is_sloppy_and_harmless_is_taken() {
        let expected = Args {
            target_file: "a".to_owned(),
            start_line: Some(3),
            chunks: Some(vec![Chunk { end_line: 4 }]),
        };
        for start in [json!(3), json!("3"), json!(" 3 "), json!(3.0)] {
            let args = json!({"TargetFile": "a", "StartLine": start, "Chunks": [{"EndLine": "4"}]});
            assert_eq!(read(&args), Ok(expected.clone()));
        }
        let args = json!({"TargetFile": "a", "StartLine": null, "Chunks": null});
        assert_eq!(
            read(&args),
            Ok(Args { target_file: "a".to_owned(), start_line: None, chunks: None })
        );
    }

    #[test]
    fn errors_name_the_field() {
        let cases = [
            (json!({}), "`TargetFile` of `edit` is missing"),
            (
                json!({"TargetFile": null}),
                "`TargetFile` of `edit` does not fit: invalid type: null, \
              expected a string",
            ),
            (
                json!({"TargetFile": "a", "Chunks": [{"EndLine": 1}, {"EndLin": 1}]}),
                "`edit` has no argument `Chunks[1].EndLin` (did you mean `EndLine`?); it has `EndLine`",
            ),
            (
                json!({"TargetFile": "a", "Chunks": [{}]}),
                "`Chunks[0].EndLine` of `edit` is missing",
            ),
        ];
        for (args, expected) in cases {
            assert_eq!(read(&args).unwrap_err(), expected);
        }
        let error = read(&json!({"TargetFile": "a", "StartLine": "x"})).unwrap_err();
        assert!(error.starts_with("`StartLine` of `edit` does not fit: "), "{error}");
        let error = read(&json!({"TargetFile": "a", "StartLine": -1})).unwrap_err();
        assert!(error.starts_with("`StartLine` of `edit` does not fit: "), "{error}");
    }
}
