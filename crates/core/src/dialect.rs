//! The hook systems the engine runs, and what differs between them as data.
//!
//! Two things depend on the system a hook was written for: how much it may do at an event (its
//! [`Mode`]) and what follows when it fails ([`OnFailure`]). Both stand in the table of events
//! ([`crate::event::Kind::rule`]), one cell for each system and event; no other code asks which
//! system a hook comes from.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A system in which hooks are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Dialect {
    /// The Google Antigravity SDK, in Python or Rust.
    AntigravitySdk,
    /// Antigravity's `hooks.json`.
    HooksJson,
    /// AI Harness: Markdown with Starlark.
    Harness,
    /// Polytoken's `hooks.json`.
    Polytoken,
    /// Claude Code's settings.
    Claude,
    /// Codex's `hooks.json`.
    Codex,
    /// Gemini CLI's settings.
    Gemini,
    /// Tollgate's own hooks in Rust.
    Native,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::AntigravitySdk,
        Self::HooksJson,
        Self::Harness,
        Self::Polytoken,
        Self::Claude,
        Self::Codex,
        Self::Gemini,
        Self::Native,
    ];

    /// Returns the dialect of this name. `antigravity` is what people call that of Antigravity's `hooks.json`.
    ///
    /// ```
    /// use tollgate_core::Dialect;
    ///
    /// assert_eq!(Dialect::named("antigravity"), Some(Dialect::HooksJson));
    /// assert_eq!(Dialect::named("hooks-json"), Some(Dialect::HooksJson));
    /// assert_eq!(Dialect::named("emacs"), None);
    /// ```
    pub fn named(name: &str) -> Option<Self> {
        if name == "antigravity" {
            return Some(Self::HooksJson);
        }
        Self::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Its name, as in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AntigravitySdk => "antigravity-sdk",
            Self::HooksJson => "hooks-json",
            Self::Harness => "harness",
            Self::Polytoken => "polytoken",
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::Native => "native",
        }
    }
}

impl fmt::Display for Dialect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a hook may do. Each mode includes the ones before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Watch. It runs in the background on what really happened and can neither change nor delay
    /// anything; what it answers is not read.
    Inspect,
    /// Give a verdict and add to what the model sees. It cannot rewrite the payload: an answer
    /// that tries counts as a failure of the hook.
    Decide,
    /// Rewrite the payload as well.
    Transform,
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Inspect => "inspect",
            Self::Decide => "decide",
            Self::Transform => "transform",
        })
    }
}

/// What follows when a hook gives no usable answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OnFailure {
    /// The guarded action is blocked.
    Close,
    /// The action goes on and later hooks run; the failure is recorded.
    Open,
    /// The action goes on, and the chain ends here; the failure is recorded.
    End,
}

/// One cell of the table of systems and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// The most a hook of this system may do at this event.
    pub mode: Mode,
    /// What follows when it fails.
    pub on_failure: OnFailure,
}

/// Whose hook it is. Layers order hooks of the same priority.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// The machine's, set by its administrator.
    System,
    /// The person's.
    User,
    /// The repository's.
    Project,
    /// Registered by the program itself.
    #[default]
    Code,
}
