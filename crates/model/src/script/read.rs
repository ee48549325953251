//! Reading a script, with the place of what is wrong.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{File, Line, Script, Whom};

/// How many bytes a script may have.
const LARGEST: u64 = 16 * 1024 * 1024;
/// How many milliseconds a reply may take.
const LONGEST_DELAY: u64 = 600_000;

/// Why a script cannot be played.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the script {} cannot be read: {why}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        why: String,
    },
    /// The text is no script.
    #[error("{script}:{line}:{column}: {}{why}", at(place))]
    Text {
        /// The script.
        script: String,
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// Where in the JSON, as `replies[2].say`.
        place: String,
        /// What is wrong.
        why: String,
    },
    /// The script makes no sense.
    #[error("{script}: {place}: {why}")]
    Sense {
        /// The script.
        script: String,
        /// Where in the JSON, as `replies[2]`.
        place: String,
        /// What is wrong.
        why: String,
    },
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!("{place}: ") }
}

impl Script {
    /// Reads a script from a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        let path = path.as_ref();
        let unreadable = |why: String| ScriptError::File { path: path.to_owned(), why };
        let file = std::fs::File::open(path).map_err(|error| unreadable(error.to_string()))?;
        let mut text = String::new();
        file.take(LARGEST + 1)
            .read_to_string(&mut text)
            .map_err(|error| unreadable(error.to_string()))?;
        if text.len() as u64 > LARGEST {
            return Err(unreadable(format!("it has more than {LARGEST} bytes")));
        }
        Self::read(&path.display().to_string(), &text)
    }

    /// Reads a script from its text. Errors call it by its name.
    ///
    /// ```
    /// use tollgate_model::Script;
    ///
    /// let error = Script::read("demo.json", "[\n {\"say\": 7}\n]").unwrap_err();
    /// let said = "demo.json:2:10: replies[0].say: invalid type: integer `7`, expected a string";
    /// assert_eq!(error.to_string(), said);
    /// ```
    pub fn read(name: &str, text: &str) -> Result<Self, ScriptError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let is_list = text.trim_start().starts_with('[');
        let (file, before) = if is_list {
            let replies = serde_path_to_error::deserialize::<_, Vec<Line>>(&mut json);
            (replies.map(|replies| File { replies, ..File::default() }), "replies")
        } else {
            (serde_path_to_error::deserialize::<_, File>(&mut json), "")
        };
        let file = file.map_err(|error| {
            let path = error.path().to_string();
            let path = if path == "." { String::new() } else { path };
            wrong(name, format!("{before}{path}"), &error.into_inner())
        })?;
        json.end().map_err(|error| wrong(name, String::new(), &error))?;
        check(name, &file)?;
        Ok(Self { name: name.to_owned(), file })
    }
}

fn wrong(script: &str, place: String, error: &serde_json::Error) -> ScriptError {
    let text = error.to_string();
    let why = text.rsplit_once(" at line ").map_or(text.as_str(), |(why, _)| why);
    let why = if error.is_data() { why.to_owned() } else { format!("this is no JSON: {why}") };
    let (line, column) = (error.line(), error.column());
    ScriptError::Text { script: script.to_owned(), line, column, place, why }
}

/// What the types do not say.
fn check(script: &str, file: &File) -> Result<(), ScriptError> {
    let refuse = |place: String, why: &str| {
        Err(ScriptError::Sense { script: script.to_owned(), place, why: why.to_owned() })
    };
    if file.replies.is_empty() && file.groups.is_empty() {
        return refuse("replies".to_owned(), "there are none");
    }
    let outside = file.replies.iter().enumerate().map(|(n, line)| (format!("replies[{n}]"), line));
    let inside = file.groups.iter().enumerate().flat_map(|(g, group)| {
        let lines = group.replies.iter().enumerate();
        lines.map(move |(n, line)| (format!("groups[{g}].replies[{n}]"), line))
    });
    for (place, line) in outside.chain(inside) {
        let is_silent = line.say.is_empty() && line.think.is_empty() && line.calls.is_empty();
        match &line.error {
            None if is_silent && line.finish.is_none() => {
                return refuse(place, "it does nothing; give it `say`, `calls` or `error`");
            }
            None if line.status.is_some() => {
                return refuse(place, "`status` is of an error; give it `error` too");
            }
            Some(_) if !is_silent || line.finish.is_some() => {
                return refuse(place, "an error is no reply; take away `error`, or the rest");
            }
            _ => {}
        }
        if line.status.is_some_and(|status| !(400..600).contains(&status)) {
            return refuse(place, "`status` is from 400 to 599");
        }
        if line.delay_ms > LONGEST_DELAY {
            return refuse(place, "`delay_ms` is at most 600000, ten minutes");
        }
    }
    for (index, group) in file.groups.iter().enumerate() {
        if matches!(group.whom, Whom { system_contains: None, first_user: None, has_tool: None }) {
            return refuse(format!("groups[{index}].for"), "it is for everybody; say for whom");
        }
    }
    Ok(())
}

/// The JSON Schema of scripts, for editors.
pub fn schema() -> Value {
    let file = schemars::schema_for!(File);
    let mut schema = file.to_value();
    if let Value::Object(map) = &mut schema {
        map.insert("title".to_owned(), "A scripted model".into());
        // The list of replies alone is a script too.
        let mut object = serde_json::Map::new();
        for name in ["type", "properties", "additionalProperties"] {
            if let Some(value) = map.remove(name) {
                object.insert(name.to_owned(), value);
            }
        }
        let list = object.get("properties").and_then(|all| all.get("replies")).cloned();
        let mut forms = vec![Value::Object(object)];
        forms.extend(list);
        map.insert("anyOf".to_owned(), forms.into());
    }
    schema
}
