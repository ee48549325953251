//! What hooks decide.
//!
//! Each event has one shape of verdict. All shapes are ranked: joining two keeps the stricter
//! one, and the earlier one where they are equally strict. So a fold over the answers of a chain
//! gives the strictest whatever their order, nothing undoes a deny, and a verdict of rank 0 (no
//! opinion) is neutral.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::event::Responses;

/// A decision about an event, ordered by strictness.
pub trait Verdict: Clone + Default + PartialEq + fmt::Debug + Send + Sync + 'static {
    /// How strict it is. The default has rank 0: no opinion.
    fn rank(&self) -> u8;

    /// Whether nothing stricter can follow, so that the chain ends here.
    fn is_final(&self) -> bool;

    /// The verdict of a hook that could not decide, where its failure closes.
    fn closed(reason: String) -> Self;

    /// Reads a neutral word; a word that this verdict does not know comes back as the error.
    fn from_word(word: Word, reason: String) -> Result<Self, Word>;

    /// The neutral word for it.
    fn word(&self) -> Word;

    /// What the model is told; empty where nothing is said.
    #[allow(clippy::unnecessary_literal_bound)] // others return what they hold
    fn reason(&self) -> &str {
        ""
    }

    /// Whether the guarded action may go on.
    fn permission(&self) -> Permission {
        Permission::Granted
    }

    /// Whether it sends the agent round again, which counts to the continue budget.
    fn goes_round(&self) -> bool {
        false
    }

    /// What it becomes when the continue budget is spent: the loop stops.
    fn without_budget(self, _reason: String) -> Self {
        self
    }

    /// The stricter of the two; the earlier one where they are equally strict.
    fn join(self, later: Self) -> Self {
        if later.rank() > self.rank() { later } else { self }
    }
}

/// Whether a guarded action may go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// It may.
    Granted,
    /// A person has to say yes first.
    Ask,
    /// It may not.
    Refused,
}

/// A verdict in neutral words, as dialects read and write it and records keep it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Word {
    /// No opinion.
    #[default]
    None,
    /// Allowed explicitly, which may skip the host's own prompt.
    Allow,
    /// Ask the person, unless "always allow" is remembered.
    Ask,
    /// Ask the person in any case.
    ForceAsk,
    /// Blocked.
    Deny,
    /// Try again, with the reason.
    Retry,
    /// Go on instead of stopping, with the reason.
    Continue,
    /// End the loop.
    Terminate,
    /// Hold the action back quietly.
    Suppress,
    /// Stop the action and say so.
    Cancel,
    /// A value to use instead of the error.
    Recover(Value),
    /// Answers to the questions.
    Reply(Responses),
}

impl Word {
    /// One of each.
    pub(crate) fn each() -> [Self; 12] {
        [
            Self::None,
            Self::Allow,
            Self::Ask,
            Self::ForceAsk,
            Self::Deny,
            Self::Retry,
            Self::Continue,
            Self::Terminate,
            Self::Suppress,
            Self::Cancel,
            Self::Recover(Value::Null),
            Self::Reply(Responses::default()),
        ]
    }

    /// The word itself, without what it carries.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Allow => "allow",
            Self::Ask => "ask",
            Self::ForceAsk => "force_ask",
            Self::Deny => "deny",
            Self::Retry => "retry",
            Self::Continue => "continue",
            Self::Terminate => "terminate",
            Self::Suppress => "suppress",
            Self::Cancel => "cancel",
            Self::Recover(_) => "recover",
            Self::Reply(_) => "reply",
        }
    }
}

impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Nothing to decide: the event only tells.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Observe;

impl Verdict for Observe {
    fn rank(&self) -> u8 {
        0
    }
    fn is_final(&self) -> bool {
        false
    }
    fn closed(_reason: String) -> Self {
        Self
    }
    fn from_word(word: Word, _reason: String) -> Result<Self, Word> {
        if word == Word::None { Ok(Self) } else { Err(word) }
    }
    fn word(&self) -> Word {
        Word::None
    }
}

/// How strictly a tool call is held.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// No opinion: the host's own flow stays as it is.
    #[default]
    None,
    /// Allowed explicitly.
    Allow,
    /// A person is asked, unless they said "always".
    Ask,
    /// A person is asked in any case.
    ForceAsk,
    /// Blocked.
    Deny,
}

/// The verdict on a tool call: no opinion < allow < ask < force ask < deny.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Gate {
    /// How strict.
    pub level: Level,
    /// What the model or the person is told; may be empty.
    pub reason: String,
}

impl Gate {
    /// A verdict of this level.
    pub fn new(level: Level, reason: impl Into<String>) -> Self {
        Self { level, reason: reason.into() }
    }
}

impl Verdict for Gate {
    fn rank(&self) -> u8 {
        self.level as u8
    }
    fn is_final(&self) -> bool {
        self.level == Level::Deny
    }
    fn closed(reason: String) -> Self {
        Self { level: Level::Deny, reason }
    }
    fn from_word(word: Word, reason: String) -> Result<Self, Word> {
        let level = match word {
            Word::None => Level::None,
            Word::Allow => Level::Allow,
            Word::Ask => Level::Ask,
            Word::ForceAsk => Level::ForceAsk,
            Word::Deny => Level::Deny,
            other => return Err(other),
        };
        Ok(Self { level, reason })
    }
    fn word(&self) -> Word {
        match self.level {
            Level::None => Word::None,
            Level::Allow => Word::Allow,
            Level::Ask => Word::Ask,
            Level::ForceAsk => Word::ForceAsk,
            Level::Deny => Word::Deny,
        }
    }
    fn reason(&self) -> &str {
        &self.reason
    }
    fn permission(&self) -> Permission {
        match self.level {
            Level::None | Level::Allow => Permission::Granted,
            Level::Ask | Level::ForceAsk => Permission::Ask,
            Level::Deny => Permission::Refused,
        }
    }
}

/// Defines a verdict whose variants, from the least to the most strict, are each a word with a
/// reason. `closed` is what a failure becomes.
macro_rules! ranked_verdict {
    (
        $(#[$doc:meta])*
        $name:ident {
            $(#[$first_doc:meta])* $first:ident,
            $($(#[$variant_doc:meta])* $variant:ident = $word:ident => $permission:ident,)+
        }
        closed: $closed:ident, final: $last:ident
        $(, round: $round:ident, without_budget: $spent:expr)?
    ) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq, Eq)]
        pub enum $name {
            $(#[$first_doc])*
            #[default]
            $first,
            $(
                $(#[$variant_doc])*
                $variant {
                    /// What the model is told; may be empty.
                    reason: String,
                },
            )+
        }

        impl Verdict for $name {
            fn rank(&self) -> u8 {
                #[allow(dead_code)]
                enum Rank { $first, $($variant),+ }
                match self {
                    Self::$first => Rank::$first as u8,
                    $(Self::$variant { .. } => Rank::$variant as u8,)+
                }
            }
            fn is_final(&self) -> bool {
                matches!(self, Self::$last { .. })
            }
            fn closed(reason: String) -> Self {
                Self::$closed { reason }
            }
            fn from_word(word: Word, reason: String) -> Result<Self, Word> {
                match word {
                    Word::None => Ok(Self::$first),
                    $(Word::$word => Ok(Self::$variant { reason }),)+
                    other => Err(other),
                }
            }
            fn word(&self) -> Word {
                match self {
                    Self::$first => Word::None,
                    $(Self::$variant { .. } => Word::$word,)+
                }
            }
            fn reason(&self) -> &str {
                match self {
                    Self::$first => "",
                    $(Self::$variant { reason } => reason,)+
                }
            }
            fn permission(&self) -> Permission {
                match self {
                    Self::$first => Permission::Granted,
                    $(Self::$variant { .. } => Permission::$permission,)+
                }
            }
            $(
                fn goes_round(&self) -> bool {
                    matches!(self, Self::$round { .. })
                }
                fn without_budget(self, reason: String) -> Self {
                    #[allow(clippy::redundant_closure_call)]
                    ($spent)(reason)
                }
            )?
        }
    };
}

ranked_verdict! {
    /// Whether something may go on: a prompt, a tool's result, a subagent's.
    Pass {
        /// It may.
        Proceed,
        /// It may not.
        Deny = Deny => Refused,
    }
    closed: Deny, final: Deny
}

ranked_verdict! {
    /// Whether the model may be called.
    Attempt {
        /// It may.
        Proceed,
        /// Not like this: again, with the reason before it.
        Retry = Retry => Refused,
        /// It may not.
        Deny = Deny => Refused,
    }
    closed: Deny, final: Deny,
    round: Retry, without_budget: |reason| Self::Deny { reason }
}

ranked_verdict! {
    /// Whether the agent may come to an end.
    Finish {
        /// It may.
        Stop,
        /// It goes on, with the reason as a message.
        Continue = Continue => Refused,
    }
    closed: Continue, final: Continue,
    round: Continue, without_budget: |_| Self::Stop
}

ranked_verdict! {
    /// What the loop does after the tool calls of a model call.
    Flow {
        /// What it would do anyway.
        Default,
        /// It goes on in any case.
        ForceContinue = Continue => Granted,
        /// It ends.
        Terminate = Terminate => Refused,
    }
    closed: Terminate, final: Terminate,
    round: ForceContinue, without_budget: |reason| Self::Terminate { reason }
}

ranked_verdict! {
    /// Whether the history may be compacted.
    Hold {
        /// It may.
        Proceed,
        /// It is skipped quietly.
        Suppress = Suppress => Refused,
        /// It is stopped.
        Cancel = Cancel => Refused,
    }
    closed: Cancel, final: Cancel
}

ranked_verdict! {
    /// Whether a notification is raised.
    Notice {
        /// It is.
        Raise,
        /// It is dropped.
        Suppress = Suppress => Refused,
    }
    closed: Suppress, final: Suppress
}

/// Defines a verdict that looks for the first hook with a value.
macro_rules! first_verdict {
    ($(#[$doc:meta])* $name:ident($value:ty) = $word:ident, nothing: $nothing:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Default, PartialEq)]
        pub enum $name {
            /// No hook has one yet.
            #[default]
            Nothing,
            /// The first one.
            Found {
                /// What it is.
                value: $value,
            },
            /// A hook could not tell, so there is none.
            Refused {
                /// What is said about it.
                reason: String,
            },
        }

        impl Verdict for $name {
            fn rank(&self) -> u8 {
                u8::from(!matches!(self, Self::Nothing))
            }
            fn is_final(&self) -> bool {
                !matches!(self, Self::Nothing)
            }
            fn closed(reason: String) -> Self {
                Self::Refused { reason }
            }
            fn from_word(word: Word, reason: String) -> Result<Self, Word> {
                match word {
                    Word::None => Ok(Self::Nothing),
                    Word::$word(value) => Ok(Self::Found { value }),
                    Word::Deny => Ok(Self::Refused { reason }),
                    other => Err(other),
                }
            }
            fn word(&self) -> Word {
                match self {
                    Self::Nothing => Word::None,
                    Self::Found { value } => Word::$word(value.clone()),
                    Self::Refused { .. } => Word::Deny,
                }
            }
            fn reason(&self) -> &str {
                match self {
                    Self::Nothing => $nothing,
                    Self::Found { .. } => "",
                    Self::Refused { reason } => reason,
                }
            }
            fn permission(&self) -> Permission {
                match self {
                    Self::Found { .. } => Permission::Granted,
                    Self::Nothing | Self::Refused { .. } => Permission::Refused,
                }
            }
        }
    };
}

first_verdict! {
    /// A value to use where a tool has failed; `null`, `""` and `false` are values too.
    Recovery(Value) = Recover, nothing: ""
}

first_verdict! {
    /// Answers to the agent's questions; where there are none, they are refused.
    Reply(Responses) = Reply, nothing: "No interaction hook handled the request"
}

/// Verdicts that can block.
pub trait CanDeny: Verdict {
    /// Blocks, and says why.
    fn deny(reason: impl Into<String>) -> Self {
        Self::closed(reason.into())
    }
}
impl CanDeny for Gate {}
impl CanDeny for Pass {}
impl CanDeny for Attempt {}
impl CanDeny for Recovery {}
impl CanDeny for Reply {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_verdicts_are_two_forms_of_the_same() {
        fn round<V: Verdict>(word: &Word) {
            if let Ok(verdict) = V::from_word(word.clone(), "why".to_owned()) {
                assert_eq!(verdict.word(), *word);
                assert_eq!(V::from_word(verdict.word(), verdict.reason().to_owned()), Ok(verdict));
            }
        }
        for word in Word::each() {
            round::<Observe>(&word);
            round::<Gate>(&word);
            round::<Pass>(&word);
            round::<Attempt>(&word);
            round::<Finish>(&word);
            round::<Flow>(&word);
            round::<Hold>(&word);
            round::<Notice>(&word);
            round::<Recovery>(&word);
            round::<Reply>(&word);
        }
    }

    #[test]
    fn a_word_of_another_event_comes_back() {
        assert_eq!(Gate::from_word(Word::Continue, String::new()), Err(Word::Continue));
        assert_eq!(Pass::from_word(Word::Allow, String::new()), Err(Word::Allow));
        assert_eq!(Notice::from_word(Word::Cancel, String::new()), Err(Word::Cancel));
        assert_eq!(Observe::from_word(Word::Deny, String::new()), Err(Word::Deny));
    }

    #[test]
    fn a_spent_budget_stops_the_loop() {
        let spent = || "enough".to_owned();
        let again = |reason: &str| reason.to_owned();
        assert_eq!(Finish::Continue { reason: again("x") }.without_budget(spent()), Finish::Stop);
        assert_eq!(
            Attempt::Retry { reason: again("x") }.without_budget(spent()),
            Attempt::Deny { reason: spent() }
        );
        assert_eq!(
            Flow::ForceContinue { reason: again("x") }.without_budget(spent()),
            Flow::Terminate { reason: spent() }
        );
    }
}
