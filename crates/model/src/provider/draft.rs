//! A reply while it comes.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};

use serde_json::Value;

use crate::error::Failure;
use crate::message::Call;
use crate::model::{Finish, Heard, Part, Reply, Usage};

/// What a part of a stream cannot be taken for.
#[derive(Debug)]
pub(super) enum Fault {
    /// It is not what the provider's documents say.
    Unreadable(String),
    /// The provider says that something is wrong.
    Failed(Failure),
    /// The provider could not read a call that its model wrote.
    BadCall(String),
    /// This is more than so much.
    TooLarge(&'static str, usize),
    /// It ended before it was complete.
    Cut,
}

/// What is counted.
pub(super) const CALLS: &str = "the number of calls";

/// Reads the stream of one provider.
pub(super) trait Reader: Send {
    /// Reads one event or line. Whether the reply is complete, so that nothing more is read.
    fn read(&mut self, data: &str, heard: &Heard<'_>) -> Result<bool, Fault>;

    /// The reply, if it is complete, when the stream has ended or `read` says so.
    fn finish(&mut self, heard: &Heard<'_>) -> Result<Option<Reply>, Fault>;
}

/// A reply while it comes.
#[derive(Debug)]
pub(super) struct Draft {
    text: String,
    calls: Vec<Call>,
    limit: usize,
    pub(super) usage: Usage,
    pub(super) finish: Option<Finish>,
}

impl Draft {
    /// With a limit of calls.
    pub(super) fn new(limit: usize) -> Self {
        Self {
            text: String::new(),
            calls: Vec::new(),
            limit,
            usage: Usage::default(),
            finish: None,
        }
    }

    pub(super) fn text(&mut self, text: &str, heard: &Heard<'_>) {
        if !text.is_empty() {
            self.text.push_str(text);
            heard(Part::Text(text));
        }
    }

    pub(super) fn call(&mut self, mut call: Call, heard: &Heard<'_>) -> Result<(), Fault> {
        if self.calls.len() >= self.limit {
            return Err(Fault::TooLarge(CALLS, self.limit));
        }
        let is_taken = |id: &str| self.calls.iter().any(|call| call.id == id);
        if call.id.is_empty() || is_taken(&call.id) {
            call.id = made_up_id();
        }
        heard(Part::Call(&call));
        self.calls.push(call);
        Ok(())
    }

    pub(super) fn has_calls(&self) -> bool {
        !self.calls.is_empty()
    }

    /// The reply, if it is known why it ended. Providers differ in what they say of one with
    /// calls.
    pub(super) fn take(&mut self) -> Option<Reply> {
        let finish = match self.finish.take()? {
            Finish::Stop if self.has_calls() => Finish::Calls,
            finish => finish,
        };
        let (text, calls) = (std::mem::take(&mut self.text), std::mem::take(&mut self.calls));
        Some(Reply { text, calls, usage: self.usage, finish })
    }
}

/// What ids that were made up here begin with: some providers have none.
pub(super) const MADE_UP: &str = "tg-";

fn made_up_id() -> String {
    // Each of these has other keys, from random ones of the system.
    format!("{MADE_UP}{:016x}", RandomState::new().build_hasher().finish())
}

/// Reads JSON, or says what is wrong with it.
pub(super) fn parse<'a, T: serde::Deserialize<'a>>(data: &'a str) -> Result<T, Fault> {
    serde_json::from_str(data).map_err(|error| {
        let beginning: String = data.chars().take(120).collect();
        Fault::Unreadable(format!("{error} in `{beginning}`"))
    })
}

/// The parameters of a tool, as an object's schema: some refuse one that does not say so.
pub(super) fn schema(parameters: &Value) -> Value {
    let mut schema = parameters.clone();
    if let Value::Object(map) = &mut schema {
        map.entry("type").or_insert_with(|| Value::String("object".to_owned()));
    }
    schema
}

/// A message of the system for a provider that knows none.
pub(super) fn marked(text: &str) -> String {
    format!("<system-message>\n{text}\n</system-message>")
}
