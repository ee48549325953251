//! The outcomes of each event of Polytoken, as one table. Here Tollgate answers by it as a hook, and
//! `tollgate-config`, which runs hooks that were written for Polytoken, reads their answers by it.

use tollgate_core::Kind;

/// What a handler may say, and what it may say with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// As it stands in `outcome`.
    pub name: &'static str,
    /// What it means.
    pub means: Meaning,
    /// The fields it may have. Any other makes an error of it.
    pub fields: &'static [Field],
}

/// What an outcome means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// The action goes on.
    Proceed,
    /// It does not happen.
    Deny,
    /// The model is called again, with the reason.
    Retry,
    /// The agent goes on instead of handing back.
    Continue,
    /// The compaction is stopped.
    Cancel,
    /// The action is held back quietly.
    Suppress,
}

/// A field of an outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    /// Why.
    Reason,
    /// What a program printed.
    Stdout,
    /// What a program printed as an error.
    Stderr,
    /// A text for the model, under this name.
    Text(&'static str),
}

impl Field {
    /// What it is called.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Reason => "reason",
            Self::Stdout => "stdout",
            Self::Stderr => "stderr",
            Self::Text(name) => name,
        }
    }
}

/// The outcomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// The event.
    pub event: Kind,
    /// Whether the handler is waited for; else what it says is not read.
    pub waits: bool,
    /// What it may say.
    pub outcomes: &'static [Outcome],
    /// Which of them exit code 2 stands for.
    pub stop: Option<&'static str>,
}

impl Row {
    /// The outcome of this name.
    pub fn named(&self, name: &str) -> Option<&'static Outcome> {
        self.outcomes.iter().find(|outcome| outcome.name == name)
    }

    /// The outcome that exit code 2 stands for.
    pub fn stopping(&self) -> Option<&'static Outcome> {
        self.stop.and_then(|name| self.named(name))
    }

    /// The outcomes, for a message.
    pub fn names(&self) -> String {
        let names: Vec<_> = self.outcomes.iter().map(|outcome| outcome.name).collect();
        format!("`{}` or `error`", names.join("`, `"))
    }
}

/// The row of an event, where Polytoken has it.
pub fn row(event: Kind) -> Option<&'static Row> {
    TABLE.iter().find(|row| row.event == event)
}

const TOLD: &[Field] = &[Field::Reason, Field::Stdout, Field::Stderr];
const CONTEXT: &[Field] = &[Field::Text("additional_context")];

const fn outcome(name: &'static str, means: Meaning, fields: &'static [Field]) -> Outcome {
    Outcome { name, means, fields }
}

macro_rules! rows {
    (waits {$($event:ident { $($name:literal $means:ident $fields:expr;)* } stop $stop:expr;)*}
     background {$($background:ident)*}) => {
        &[
            $(Row {
                event: Kind::$event,
                waits: true,
                outcomes: &[$(outcome($name, Meaning::$means, $fields)),*],
                stop: $stop,
            },)*
            $(Row {
                event: Kind::$background,
                waits: false,
                outcomes: &[outcome("acknowledged", Meaning::Proceed, &[])],
                stop: None,
            },)*
        ]
    };
}

/// All events.
pub static TABLE: &[Row] = rows! {
    waits {
    ToolPre {
        "allow" Proceed &[];
        "deny" Deny TOLD;
    } stop Some("deny");
    TurnStart {
        "accept" Proceed CONTEXT;
        "reject" Deny TOLD;
    } stop Some("reject");
    ModelPre {
        "proceed" Proceed CONTEXT;
        "retry" Retry TOLD;
    } stop Some("retry");
    Stop {
        "stop" Proceed &[];
        "continue" Continue TOLD;
    } stop Some("continue");
    CompactionPre {
        "allow" Proceed &[Field::Text("prepend_to_prompt")];
        "cancel" Cancel &[Field::Reason];
        "suppress" Suppress &[Field::Reason];
    } stop Some("cancel");
    SessionStart {
        "allow" Proceed CONTEXT;
    } stop None;
    CompactionPost {
        "allow" Proceed &[Field::Text("append_to_output")];
    } stop None;
    Notification {
        "allow" Proceed &[];
        "suppress" Suppress &[Field::Reason];
    } stop Some("suppress");
    }
    background { ModelPost ToolPost ToolError FacetSwitch SubagentStart SubagentStop }
};
