//! What the tests of this program share: who watches, who is asked, and a tool.

use std::collections::BTreeMap;
use std::future::ready;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tollgate_agent::permission::Resource;
use tollgate_agent::person::{Approval, Consent, Person};
use tollgate_core::event::{Question, Responses};
use tollgate_core::hook::{Ask, BoxFuture};
use tollgate_core::prelude::*;
use tollgate_tools::{Tool, function};

use crate::support::World;

/// How long something may take that happens at once.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A hook for all events that has no opinion, and what it has seen. What only inspectors see has been seen when the
/// session has stopped, in any order.
#[derive(Clone, Default)]
pub(crate) struct Events(Arc<Mutex<Vec<(Kind, Value)>>>);

impl Events {
    pub(crate) fn hook(&self) -> Registration {
        let watcher = Arc::new(self.clone());
        Kind::ALL.iter().fold(Registration::named("watcher"), |registration, kind| {
            registration.and_on_kind(*kind, Arc::clone(&watcher))
        })
    }

    /// The payloads of one event, in the order in which they were seen.
    pub(crate) fn of(&self, kind: Kind) -> Vec<Value> {
        let seen = self.0.lock().unwrap();
        seen.iter().filter(|(own, _)| *own == kind).map(|(_, payload)| payload.clone()).collect()
    }

    pub(crate) fn count(&self, kind: Kind) -> usize {
        self.of(kind).len()
    }
}

impl<E: Event> Handle<E> for Events {
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        if !ask.reask {
            let payload = serde_json::to_value(ask.event).unwrap();
            self.0.lock().unwrap().push((E::KIND, payload));
        }
        Box::pin(ready(Ok(Answer::none())))
    }
}

/// A person who always says the same, and what they were asked.
#[derive(Clone)]
pub(crate) struct Says {
    consent: Consent,
    responses: Option<Responses>,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Says {
    pub(crate) fn new(consent: Consent) -> Self {
        Self { consent, responses: None, asked: Arc::default() }
    }

    pub(crate) fn no(reason: &str) -> Self {
        Self::new(Consent::No { reason: reason.to_owned() })
    }

    pub(crate) fn answering(responses: Responses) -> Self {
        Self { responses: Some(responses), ..Self::no("only questions") }
    }

    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    fn note(&self, what: String) {
        self.asked.lock().unwrap().push(what);
    }
}

impl Person for Says {
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        let what = approval.call.text("CommandLine").unwrap_or(&approval.call.name);
        self.note(format!("{what}: {}", approval.reason));
        Box::pin(ready(self.consent.clone()))
    }

    fn permit<'a>(&'a self, resource: &'a Resource, reason: &'a str) -> BoxFuture<'a, Consent> {
        self.note(format!("{resource}: {reason}"));
        Box::pin(ready(self.consent.clone()))
    }

    fn answer<'a>(&'a self, questions: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        self.note(questions.iter().map(|asked| asked.question.as_str()).collect());
        Box::pin(ready(self.responses.clone()))
    }
}

/// A tool that gives back its argument `text`, or fails with its argument `fail`.
pub(crate) fn say() -> impl Tool {
    function("say", "Says it.", |args: BTreeMap<String, Value>, _: ToolContext| async move {
        match args.get("fail") {
            Some(why) => Err(why.as_str().unwrap_or_default().to_owned()),
            None => Ok(args.get("text").cloned().unwrap_or_default()),
        }
    })
}

/// What the model was told of its calls, in one request.
pub(crate) fn results(world: &World, request: usize) -> Vec<String> {
    let messages = world.messages(request).into_iter();
    messages.filter(|(role, _)| role == "tool").map(|(_, text)| text).collect()
}

/// Whether a message of this role and text was in a request.
pub(crate) fn was_sent(world: &World, request: usize, role: &str, text: &str) -> bool {
    world.messages(request).contains(&(role.to_owned(), text.to_owned()))
}

pub(crate) fn exists(path: &str) -> bool {
    Path::new(path).exists()
}

pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: never");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
