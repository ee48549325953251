//! A model, whoever runs it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::error::ModelError;
use crate::message::{Call, Message, Request};

/// A future that has been boxed.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Whoever listens while a model answers.
pub type Heard<'a> = dyn Fn(Part<'_>) + Send + Sync + 'a;

/// A model.
///
/// ```
/// use tollgate_model::{Model, Request, Scripted, script::Line};
///
/// # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
/// let model: Box<dyn Model> = Box::new(Scripted::new(vec![Line::say("Hello.")]));
/// let reply = model.respond(&Request::user("Hi"), &|_part| {}).await?;
/// assert_eq!(reply.text, "Hello.");
/// # Ok::<(), tollgate_model::ModelError>(())
/// # }).unwrap();
/// ```
pub trait Model: Send + Sync + 'static {
    /// What to call it, as `openai/gpt-5`.
    fn name(&self) -> &str;

    /// Asks the model. `heard` is told of each part as it comes; the reply has all of them.
    ///
    /// Dropping the future ends the call at once, and the connection with it.
    fn respond<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>>;
}

impl<M: Model + ?Sized> Model for Box<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn respond<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        (**self).respond(request, heard)
    }
}

impl<M: Model + ?Sized> Model for Arc<M> {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn respond<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        (**self).respond(request, heard)
    }
}

/// What is heard while a model answers.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Part<'a> {
    /// Some more of the text.
    Text(&'a str),
    /// What the model thinks on the way. It is no part of the reply.
    Thought(&'a str),
    /// A call, complete.
    Call(&'a Call),
    /// All that was heard so far is void: the call failed and is made again.
    Again {
        /// The number of the attempt that comes, from 2.
        attempt: u32,
        /// Why the last one failed.
        why: &'a ModelError,
        /// How long until then.
        wait: Duration,
    },
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// What it said.
    pub text: String,
    /// What it wants to have called, in its order.
    pub calls: Vec<Call>,
    /// What it cost.
    pub usage: Usage,
    /// Why it ended.
    pub finish: Finish,
}

impl Reply {
    /// The reply as a message of the conversation.
    pub fn into_message(self) -> Message {
        Message::Assistant { text: self.text, calls: self.calls }
    }
}

/// How many tokens a reply took. Zero where the provider did not say.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(default, deny_unknown_fields)]
pub struct Usage {
    /// Read by the model, those from a cache included.
    pub input: u64,
    /// Written by it, thoughts included.
    pub output: u64,
}

impl std::ops::Add for Usage {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
        }
    }
}

/// Why a reply ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Finish {
    /// The model had said all.
    Stop,
    /// It was cut off at the limit of tokens. The last call may be malformed for that.
    Length,
    /// It waits for the results of its calls.
    Calls,
    /// The model or its provider would not answer.
    Refused,
    /// Something else, in the provider's words.
    Other(String),
}
