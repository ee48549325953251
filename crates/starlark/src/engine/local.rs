//! Scripts in this process.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use serde_json::{Map, Value as Json};
use tollgate_core::context::Context;

use super::Generation;
use super::outside::Outside;
use crate::analysis::bounded;
use crate::host::{Call, Host, Reply};
use crate::payload::Measure;
use crate::sandbox::{Limits, Program, Ran};

/// Answers at once, on the thread that runs the script.
pub(crate) struct AtOnce<'a, C> {
    pub(crate) generation: &'a Generation,
    pub(crate) cx: &'a C,
    /// Whether the script is only known to be cheap on what is not too large.
    pub(crate) only_small: bool,
}

impl<C: Context> Host for AtOnce<'_, C> {
    fn call(&self, call: Call) -> Reply {
        let reply = self.generation.at_once(call, self.cx);
        let reply = reply.map_err(|_| "this script was not expected to ask that".to_owned())??;
        if self.only_small && Measure::of(&reply).size as u64 > bounded::PAYLOAD {
            return Err(format!("what it asked for has more than {} KiB", bounded::PAYLOAD / 1024));
        }
        Ok(reply)
    }
}

/// Runs a script that asks for what takes long, on a thread of its own: it waits there for replies,
/// while the thread that dispatches goes on.
pub(crate) async fn run_on_thread<C: Context>(
    program: Arc<Program>,
    event: &'static str,
    payload: Map<String, Json>,
    with_when: bool,
    limits: Limits,
    outside: &Outside<'_, C>,
) -> Result<Ran, String> {
    let mailbox = Arc::new(Mailbox::default());
    let (replies, inbox) = sync_channel(1);
    let host = Waiting { mailbox: Arc::clone(&mailbox), inbox };
    let started = std::thread::Builder::new().name("tollgate-script".to_owned()).spawn(move || {
        let ran = program.run(event, &payload, with_when, limits, &host);
        host.mailbox.put(Message::Done(Box::new(ran)));
    });
    started.map_err(|error| format!("no thread could be started for it: {error}"))?;
    converse(&mailbox, &replies, outside).await
}

async fn converse<C: Context>(
    mailbox: &Mailbox,
    replies: &SyncSender<Reply>,
    outside: &Outside<'_, C>,
) -> Result<Ran, String> {
    loop {
        match poll_fn(|task| mailbox.poll(task.waker())).await {
            Message::Done(ran) => return Ok(*ran),
            Message::Call(call) => {
                let reply = outside.answer(call).await;
                replies.send(reply).map_err(|_| "the script is gone".to_owned())?;
            }
            Message::Gone => return Err("the script ended without an answer".to_owned()),
        }
    }
}

enum Message {
    Call(Call),
    Done(Box<Ran>),
    /// The thread has ended, by a panic if nothing else was said before.
    Gone,
}

/// What the thread says to the task that waits for it.
#[derive(Default)]
struct Mailbox {
    state: Mutex<(VecDeque<Message>, Option<Waker>)>,
}

impl Mailbox {
    fn lock(&self) -> MutexGuard<'_, (VecDeque<Message>, Option<Waker>)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn put(&self, message: Message) {
        let mut state = self.lock();
        state.0.push_back(message);
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }

    fn poll(&self, waker: &Waker) -> Poll<Message> {
        let mut state = self.lock();
        if let Some(message) = state.0.pop_front() {
            return Poll::Ready(message);
        }
        state.1 = Some(waker.clone());
        Poll::Pending
    }
}

/// The script's side: it waits for each reply.
struct Waiting {
    mailbox: Arc<Mailbox>,
    inbox: Receiver<Reply>,
}

impl Host for Waiting {
    fn call(&self, call: Call) -> Reply {
        self.mailbox.put(Message::Call(call));
        // Whoever asked may have given up.
        self.inbox.recv().unwrap_or_else(|_| Err("nobody waits for the answer".to_owned()))
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.mailbox.put(Message::Gone);
    }
}
