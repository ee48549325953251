//! What an agent and its model have said to each other.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tollgate_core::event::Agent;
use tollgate_model::Message;

use crate::transcript::{Entry, Transcript};

/// The history of one agent. Cheap to clone; all clones are of the same.
#[derive(Debug, Clone)]
pub struct Conversation {
    agent: Agent,
    state: Arc<Mutex<State>>,
    transcript: Option<Arc<Transcript>>,
}

#[derive(Debug, Default)]
struct State {
    messages: Vec<Message>,
    /// How many there have been, those included that a summary stands for.
    steps: u64,
    /// What the next model call sees and no later one.
    ephemeral: Vec<String>,
}

impl Conversation {
    pub(crate) fn new(
        agent: Agent,
        messages: Vec<Message>,
        transcript: Option<Arc<Transcript>>,
    ) -> Self {
        let steps = messages.len() as u64;
        let state = Arc::new(Mutex::new(State { messages, steps, ephemeral: Vec::new() }));
        Self { agent, state, transcript }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was said so far, as the model would see it.
    pub fn history(&self) -> Vec<Message> {
        self.lock().messages.clone()
    }

    /// How many steps there have been: what was said, and what came of calls.
    pub fn steps(&self) -> u64 {
        self.lock().steps
    }

    fn write(&self, entry: Entry) {
        if let Some(transcript) = &self.transcript {
            transcript.write(&self.agent, entry);
        }
    }

    pub(crate) fn push(&self, message: Message) {
        self.note(&message);
        self.keep(message);
    }

    /// Writes down what was said. It is kept later, when its turn has come.
    pub(crate) fn note(&self, message: &Message) {
        self.write(Entry::Message { message: message.clone() });
    }

    /// Keeps what was written down.
    pub(crate) fn keep(&self, message: Message) {
        let mut state = self.lock();
        state.messages.push(message);
        state.steps += 1;
    }

    /// Says something that the next model call sees and no later one.
    pub(crate) fn whisper(&self, text: String) {
        self.write(Entry::Ephemeral { text: text.clone() });
        self.lock().ephemeral.push(text);
    }

    /// What the next model call sees. What was only for it is gone afterwards.
    pub(crate) fn for_the_model(&self) -> Vec<Message> {
        let mut state = self.lock();
        let ephemeral = std::mem::take(&mut state.ephemeral);
        let mut messages = state.messages.clone();
        drop(state);
        messages.extend(ephemeral.into_iter().map(Message::System));
        messages
    }

    /// Puts a summary in the place of the first so many messages. Others may have been added at the end since they were
    /// counted.
    pub(crate) fn compact(&self, summary: String, old: usize) {
        let mut state = self.lock();
        let rest = state.messages.get(old..).unwrap_or_default();
        // No model takes a history in which nobody has said anything: then the summary is what was said.
        let has_user = rest.iter().any(|message| matches!(message, Message::User(_)));
        let first = if has_user { Message::System(summary) } else { Message::User(summary) };
        let mut messages = vec![first];
        messages.extend_from_slice(rest);
        state.messages.clone_from(&messages);
        drop(state);
        self.write(Entry::Compacted { messages });
    }

    /// Answers a call that a cancelled turn has left without an answer: no model takes such a history.
    pub(crate) fn cut_off(&self, call: String, name: String) {
        let content = "the turn was cancelled before this call was over".to_owned();
        self.push(Message::Tool { call, name, content, is_error: true });
    }

    /// The same for all that were not even begun.
    pub(crate) fn complete(&self) {
        let missing = unanswered(&self.lock().messages);
        for (call, name) in missing {
            self.cut_off(call, name);
        }
    }

    /// How many tokens the history has, roughly: four bytes each.
    pub(crate) fn tokens(&self) -> usize {
        self.lock().messages.iter().map(size).sum::<usize>() / 4
    }
}

/// How many of the last messages are kept as they are: those from the last one of a person on, where they are not too much
/// themselves.
pub(crate) fn tail(messages: &[Message], tokens: usize) -> usize {
    let mut kept = 0;
    let mut taken = 0;
    for (number, message) in messages.iter().rev().enumerate() {
        taken += size(message) / 4;
        if taken > tokens {
            break;
        }
        // A call is not kept without what came of it, nor the other way round.
        if matches!(message, Message::User(_)) {
            kept = number + 1;
        }
    }
    kept
}

fn size(message: &Message) -> usize {
    const EACH: usize = 16;
    let calls = match message {
        Message::Assistant { calls, .. } => {
            calls.iter().map(|call| serde_json::to_string(call).map_or(0, |text| text.len())).sum()
        }
        _ => 0,
    };
    EACH + message.text().len() + calls
}

/// The calls of the last message that has any, as far as nothing answers them: id and name.
pub(crate) fn unanswered(messages: &[Message]) -> Vec<(String, String)> {
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    let behind = last.and_then(|last| messages.get(last..)).unwrap_or_default();
    let Some(Message::Assistant { calls, .. }) = behind.first() else { return Vec::new() };
    let is_answered = |id: &str| {
        behind.iter().any(|message| matches!(message, Message::Tool { call, .. } if call == id))
    };
    let missing = calls.iter().filter(|call| !is_answered(&call.id));
    missing.map(|call| (call.id.clone(), call.name.clone())).collect()
}
