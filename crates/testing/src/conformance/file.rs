//! A file of cases.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::InputError;
use super::report::{Difference, Failure};

/// A file that was read: a JSON object with a list of cases in it.
#[derive(Debug, Clone)]
pub struct CaseFile {
    path: PathBuf,
    cases: Vec<Value>,
    rest: Map<String, Value>,
}

/// The form of a file, with its cases still unread, so that one bad case spoils no other.
#[derive(Deserialize)]
struct Form {
    cases: Vec<Value>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl CaseFile {
    /// Reads a file.
    pub fn read(path: &Path) -> Result<Self, InputError> {
        let text = std::fs::read(path)
            .map_err(|error| InputError::file(path, format!("cannot be read: {error}")))?;
        Self::parse(path, &text)
    }

    /// Takes `text` as what is in the file at `path`, which need not exist.
    pub fn parse(path: &Path, text: &[u8]) -> Result<Self, InputError> {
        // Twice, because behind `flatten` an error does not know its line any more.
        let whole: Value = serde_json::from_slice(text)
            .map_err(|error| InputError::file(path, format!("is not JSON: {error}")))?;
        let Form { cases, rest } = serde_json::from_value(whole)
            .map_err(|error| InputError::file(path, format!("is no file of cases: {error}")))?;
        Ok(Self { path: path.to_owned(), cases, rest })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its cases, as JSON.
    pub fn cases(&self) -> &[Value] {
        &self.cases
    }

    /// A field beside the cases.
    pub(super) fn field(&self, name: &str) -> Option<&Value> {
        self.rest.get(name)
    }

    /// The id of a case, or where it stands.
    pub(super) fn id_of(&self, place: usize) -> String {
        let id = self.cases.get(place).and_then(|case| case.get("id")).and_then(Value::as_str);
        id.map_or_else(|| format!("cases[{place}]"), str::to_owned)
    }

    /// The failure of a case.
    pub(super) fn failure(&self, place: usize, differences: Vec<Difference>) -> Failure {
        Failure { file: self.path.clone(), id: self.id_of(place), differences }
    }

    /// A case in its form, or why it is not in it.
    pub(super) fn read_case<T: DeserializeOwned>(&self, place: usize) -> Result<T, Difference> {
        let unreadable = |problem: String| {
            Difference::new(format!("cases[{place}]"), "a case of this form", problem)
        };
        let case = self.cases.get(place).ok_or_else(|| unreadable("nothing".to_owned()))?;
        if !case.is_object() {
            return Err(unreadable(format!("no JSON object: {case}")));
        }
        T::deserialize(case).map_err(|error| unreadable(error.to_string()))
    }
}
