//! What goes between two programs.

use serde_json::Value;

/// What a program came to: its exit code and what it printed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// Its exit code.
    pub code: i32,
    /// What it printed.
    pub stdout: Vec<u8>,
    /// What it printed as an error.
    pub stderr: Vec<u8>,
}

impl Output {
    /// One that printed this JSON and succeeded.
    pub fn json(value: &Value) -> Self {
        let stdout = format!("{value}\n").into_bytes();
        Self { stdout, ..Self::default() }
    }

    /// One that printed nothing and succeeded.
    pub fn silent() -> Self {
        Self::default()
    }

    /// With this text as an error, and an exit code.
    pub fn failing(mut self, code: i32, stderr: &str) -> Self {
        self.code = code;
        self.stderr = format!("{stderr}\n").into_bytes();
        self
    }
}

/// The JSON in a text. A text in quotes is looked into once, as some hosts do.
pub(crate) fn json_in(text: &str) -> serde_json::Result<Value> {
    match serde_json::from_str(text) {
        Ok(Value::String(inner)) => serde_json::from_str(&inner),
        said => said,
    }
}

/// An event or an answer that is not one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct WireError {
    /// What is wrong, and what to do.
    pub message: String,
}

impl WireError {
    /// With what is wrong, and what to do.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into() }
    }
}
