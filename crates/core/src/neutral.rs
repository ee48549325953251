//! Answers in neutral form: what the codecs of dialects read and write, whatever the event.
//!
//! A handler's answer comes as text. Its dialect turns it into a [`Neutral`], and that becomes the
//! typed answer of its event here, in one place: a word, an addition or a rewrite that the event
//! does not know is an error of the hook, never ignored.

use std::sync::Arc;

use crate::answer::Answer;
use crate::event::{Event, Kind};
use crate::extra::{Additions, Extra};
use crate::patch::{Patch, Rewrite};
use crate::verdict::{Verdict, Word};

/// An answer to an event that is only known when the program runs.
///
/// ```
/// use tollgate_core::neutral::Neutral;
/// use tollgate_core::prelude::*;
///
/// let deny = Neutral::new(Word::Deny, "not on Fridays");
/// let answer: Answer<ToolPre> = deny.clone().into_answer()?;
/// assert_eq!(answer, Answer::deny("not on Fridays"));
/// assert_eq!(answer.to_neutral(), deny);
///
/// let error = deny.into_answer::<SessionEnd>().unwrap_err();
/// assert_eq!(error.to_string(), "`deny` is no answer to session.end");
/// # Ok::<(), tollgate_core::neutral::NotAnAnswer>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Neutral {
    /// What is decided.
    pub word: Word,
    /// What the model is told.
    pub reason: String,
    /// What is added.
    pub additions: Additions,
    /// What is rewritten.
    pub rewrite: Option<Rewrite>,
    /// More for the person.
    pub detail: Option<Arc<str>>,
}

/// An answer that its event does not know.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum NotAnAnswer {
    /// A decision of another event.
    #[error("`{word}` is no answer to {event}")]
    Word {
        /// The event.
        event: Kind,
        /// What was answered.
        word: Word,
    },
    /// An addition of another event.
    #[error("a hook cannot {what} at {event}")]
    Addition {
        /// The event.
        event: Kind,
        /// What it tried.
        what: &'static str,
    },
    /// A rewrite of another event.
    #[error("a hook cannot rewrite the {what} at {event}")]
    Rewrite {
        /// The event.
        event: Kind,
        /// What it tried to rewrite.
        what: &'static str,
    },
}

impl Neutral {
    /// A decision with its reason.
    pub fn new(word: Word, reason: impl Into<String>) -> Self {
        Self { word, reason: reason.into(), ..Self::default() }
    }

    /// The answer as its event has it.
    pub fn into_answer<E: Event>(self) -> Result<Answer<E>, NotAnAnswer> {
        let Self { word, reason, additions, rewrite, detail } = self;
        let event = E::KIND;
        let verdict = E::Verdict::from_word(word, reason)
            .map_err(|word| NotAnAnswer::Word { event, word })?;
        let extra = E::Extra::from_additions(additions)
            .map_err(|misplaced| NotAnAnswer::Addition { event, what: misplaced.0 })?;
        let patch = rewrite
            .map(E::Patch::from_rewrite)
            .transpose()
            .map_err(|rewrite| NotAnAnswer::Rewrite { event, what: rewrite.what() })?;
        Ok(Answer { extra, patch, detail, ..Answer::from_verdict(verdict) })
    }
}

impl<E: Event> Answer<E> {
    /// The answer in neutral form.
    pub fn to_neutral(&self) -> Neutral {
        Neutral {
            word: self.verdict.word(),
            reason: self.verdict.reason().to_owned(),
            additions: self.extra.additions(),
            rewrite: self.patch.as_ref().map(Patch::rewrite),
            detail: self.detail.clone(),
        }
    }
}
