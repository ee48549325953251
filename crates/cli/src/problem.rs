//! What keeps a command from doing what it was asked to, and what to do about it.

use std::fmt::{self, Display};

use crate::out::{Out, styles};

/// A problem with the arguments or the surroundings of a command.
#[derive(Debug)]
pub(crate) struct Problem {
    message: String,
    help: Option<String>,
}

impl Problem {
    pub(crate) fn new(message: impl Display) -> Self {
        Self { message: message.to_string(), help: None }
    }

    /// With what to do about it.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// For a program that reads the result.
    pub(crate) fn report(&self) -> serde_json::Value {
        serde_json::json!({"error": {"message": self.message, "help": self.help}})
    }

    pub(crate) fn tell(&self, out: &mut Out) {
        let error = styles::ERROR;
        out.note(format!("{error}error:{error:#} {}", self.message));
        if let Some(help) = &self.help {
            let style = styles::HELP;
            out.note(format!("{style}help:{style:#} {help}"));
        }
    }
}

/// In one line.
impl Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        self.help.as_ref().map_or(Ok(()), |help| write!(f, " ({help})"))
    }
}

impl<E: std::error::Error> From<E> for Problem {
    fn from(error: E) -> Self {
        Self::new(error)
    }
}
