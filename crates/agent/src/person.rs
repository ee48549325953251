//! The person beside the agent: who approves calls and answers questions.

mod lines;
mod page;
mod terminal;

use std::fmt;

use tollgate_core::event::{Question, Responses, ToolCall};
use tollgate_core::hook::BoxFuture;

pub use page::plain;
pub use terminal::Terminal;

use crate::permission::Resource;

/// What a person is asked about a call.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Approval<'a> {
    /// The call, as it would be made.
    pub call: &'a ToolCall,
    /// Why the person is asked; may be empty.
    pub reason: &'a str,
    /// Which hook asks, and where it stands.
    pub detail: &'a str,
    /// What the call uses: what "always" would permit. Empty where that cannot be told.
    pub resources: &'a [Resource],
    /// What would become of a file, as a diff that the tool itself has made.
    pub diff: Option<&'a str>,
    /// Why the tool would refuse the call as things stand, where that is known.
    pub fails: Option<&'a str>,
    /// Whether "always" can be said. A hook may want the person to be asked each time.
    pub may_remember: bool,
}

/// What a person says to a call, or to a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Consent {
    /// Yes, this once.
    Once,
    /// Yes, and to all like it until the session ends.
    ForSession,
    /// No.
    No {
        /// What the model is told.
        reason: String,
    },
}

/// Whoever can be asked. [`Nobody`] is the default.
pub trait Person: Send + Sync + 'static {
    /// Whether a call may be made.
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent>;

    /// Whether the agent may use a resource, for a reason of its own.
    fn permit<'a>(&'a self, resource: &'a Resource, reason: &'a str) -> BoxFuture<'a, Consent>;

    /// The answers to questions; nothing where they cannot be put.
    fn answer<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Responses>>;
}

impl fmt::Debug for dyn Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Person")
    }
}

impl<P: Person + ?Sized> Person for Box<P> {
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        (**self).approve(approval)
    }

    fn permit<'a>(&'a self, resource: &'a Resource, reason: &'a str) -> BoxFuture<'a, Consent> {
        (**self).permit(resource, reason)
    }

    fn answer<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        (**self).answer(questions)
    }
}

/// Nobody is there: what would have to be asked is refused.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

const NOBODY: &str = "a person has to approve this, and nobody is there to ask";

impl Person for Nobody {
    fn approve<'a>(&'a self, _: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        Box::pin(std::future::ready(Consent::No { reason: NOBODY.to_owned() }))
    }

    fn permit<'a>(&'a self, _: &'a Resource, _: &'a str) -> BoxFuture<'a, Consent> {
        Box::pin(std::future::ready(Consent::No { reason: NOBODY.to_owned() }))
    }

    fn answer<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(std::future::ready(None))
    }
}
