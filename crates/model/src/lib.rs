//! Language models behind one trait.
//!
//! [`Model`] is asked with a [`Request`] and gives a [`Reply`], of which the parts are heard as
//! they come. [`provider::open`] finds one by its name: at OpenAI or whoever speaks like it, at
//! Anthropic, at Google, in an Ollama, or in a [script](mod@script) that needs nobody.
//!
//! ```no_run
//! use tollgate_model::{Part, Request, provider};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let model = provider::open("anthropic/claude-sonnet-4-5", &provider::Options::default())?;
//! let heard = |part: Part<'_>| {
//!     if let Part::Text(text) = part {
//!         print!("{text}");
//!     }
//! };
//! let reply = model.respond(&Request::user("Hello!"), &heard).await?;
//! println!("\n{} tokens", reply.usage.output);
//! # Ok(())
//! # }
//! ```
//!
//! What holds for all of them:
//!
//! - A reply is complete. One that was cut off on the way is an error, never a short answer.
//! - A call that a model got wrong arrives as it was written ([`Args::Malformed`]).
//! - Calls that fail for a reason that may pass are made again ([`Retry`]); who listens is told.
//! - Everything has a bound: the time of each stage and of all, the size of either side, of one
//!   line, the number of calls, of attempts ([`Timeouts`], [`provider::Limits`], [`Policy`]).
//! - A call ends when its future is dropped, and its connection with it.
//! - Keys are in no error, and shown by nothing.

#![allow(clippy::doc_markdown)] // OpenAI is a company, and no item of this crate

mod error;
mod history;
mod http;
mod lines;
mod message;
mod model;
pub mod provider;
mod retry;
pub mod script;
#[cfg(feature = "server")]
pub mod server;

pub use error::{Failure, ModelError, Stage};
pub use http::Timeouts;
pub use message::{Args, Call, Message, Request, ToolSpec};
pub use model::{BoxFuture, Finish, Heard, Model, Part, Reply, Usage};
pub use retry::{Policy, Retry};
pub use script::{Script, ScriptError, Scripted};
