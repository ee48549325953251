//! The model that plays a script.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::play::{Chosen, Play};
use super::{Line, Script, ScriptError};
use crate::error::ModelError;
use crate::history;
use crate::message::Request;
use crate::model::{BoxFuture, Heard, Model, Part, Reply};

/// How many requests are kept.
const KEPT: usize = 1024;

/// A model that says what a [script](crate::script) says.
///
/// It refuses the conversations that real providers refuse, and speaks in parts as they do.
#[derive(Debug)]
pub struct Scripted {
    name: String,
    play: Play,
    /// What it was asked, if somebody may want to know.
    requests: Option<Mutex<VecDeque<Request>>>,
}

impl Scripted {
    /// One that gives these replies, and remembers what it was asked.
    pub fn new(replies: Vec<Line>) -> Self {
        Self { requests: Some(Mutex::default()), ..Self::from(Script::new(replies)) }
    }

    /// One that plays a file.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, ScriptError> {
        Script::open(path).map(Self::from)
    }

    /// The same, remembering what it is asked.
    pub fn recording(mut self) -> Self {
        self.requests.get_or_insert_default();
        self
    }

    /// What it was asked, the last 1024 of it, if it [records](Self::recording) that.
    pub fn requests(&self) -> Vec<Request> {
        let kept = |requests: &Mutex<VecDeque<Request>>| {
            requests.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
        };
        self.requests.as_ref().map(kept).unwrap_or_default()
    }

    fn remember(&self, request: &Request) {
        if let Some(requests) = &self.requests {
            let mut requests = requests.lock().unwrap_or_else(PoisonError::into_inner);
            if requests.len() >= KEPT {
                requests.pop_front();
            }
            requests.push_back(request.clone());
        }
    }
}

impl From<Script> for Scripted {
    fn from(script: Script) -> Self {
        Self { name: format!("script:{}", script.name()), play: Play::new(script), requests: None }
    }
}

impl Model for Scripted {
    fn name(&self) -> &str {
        &self.name
    }

    fn respond<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            self.remember(request);
            history::turns(request)?;
            let Chosen { delay, thought, reply } = self.play.choose(request)?;
            if !delay.is_zero() {
                tokio::time::sleep(delay).await;
            }
            let reply = reply?;
            if !thought.is_empty() {
                heard(Part::Thought(&thought));
            }
            reply.text.split_inclusive(' ').for_each(|word| heard(Part::Text(word)));
            reply.calls.iter().for_each(|call| heard(Part::Call(call)));
            Ok(reply)
        })
    }
}
