//! The reasons to deny a call, as the model reads them.

use std::fmt;

/// The reason to deny a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// It would write, move or remove something protected, or may do so.
    Write {
        /// What is protected.
        place: String,
    },
    /// It would delete or move a directory that something protected is in.
    Delete {
        /// The directory.
        directory: String,
        /// The protected file or directory in it.
        place: String,
    },
    /// It would run a subcommand for people.
    Tollgate {
        /// The subcommand.
        subcommand: String,
    },
    /// It would start an agent without the hooks in force or without permission prompts.
    Off {
        /// The option or variable.
        switch: String,
    },
    /// It is too long or names too many files to be resolved.
    TooLong,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { place } => write!(
                f,
                "This changes or may change `{place}`, which decides what an agent may do: only a person \
                 changes it. Leave it out, or ask the person to make this change."
            ),
            Self::Delete { directory, place } => write!(
                f,
                "This deletes or moves `{directory}`, and with it `{place}`, which decides what an agent may \
                 do: only a person does that. Name only what has to go, or ask the person to do this."
            ),
            Self::Tollgate { subcommand } => write!(
                f,
                "`tollgate {subcommand}` changes what an agent may do: only a person runs it. Ask the person \
                 to run it in a terminal of their own."
            ),
            Self::Off { switch } => write!(
                f,
                "`{switch}` starts an agent without the hooks or the questions that hold here: only a person \
                 does that. Start the agent without it, or ask the person to run this."
            ),
            Self::TooLong => f.write_str(
                "The command is too long, or names too many files, to tell whether it changes hook files. \
                 Split it into several.",
            ),
        }
    }
}
