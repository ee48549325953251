//! Making room in a history that has grown too long.

use std::sync::atomic::Ordering;

use tollgate_core::TurnContext;
use tollgate_core::event::{CompactionPost, CompactionPre};
use tollgate_core::verdict::Hold;
use tollgate_model::{Message, Request};

use crate::conversation::tail;
use crate::session::{Actor, Session};
use crate::update::Update;

const INSTRUCTIONS: &str = "Summarise the conversation so far for yourself, as all but its last part will be gone. \
     Keep: what the user wants, what was decided and why, what was done to which files, what is still to do, and \
     every instruction that still holds. Write nothing else.";

impl Session {
    /// Puts a summary in the place of most of the history, where it is too long and hooks let it. The summary is asked of
    /// the model, so this comes behind `model.pre`: who denies the call of the model denies this one.
    pub(crate) async fn compact_if_needed(&self, actor: &Actor, turn: &TurnContext) {
        let limit = self.limits.history_tokens;
        let tokens = actor.conversation.tokens();
        if tokens < limit.max(actor.compact_from.load(Ordering::Relaxed)) {
            return;
        }
        let history = actor.conversation.history();
        let kept = tail(&history, limit / 4);
        let old = history.len().saturating_sub(kept);
        // A summary of a summary is no gain.
        if old < 2 {
            return;
        }
        // Where it does not work now, it works no better before the next step. All of the history is sent each time.
        actor.compact_from.store(tokens.saturating_add(limit / 10 + 1), Ordering::Relaxed);
        let operation = turn.operation();
        let model = Some(self.model.name().to_owned());
        let pre = CompactionPre { agent: actor.who.clone(), model: model.clone() };
        let outcome = self.dispatch(&actor.who, &operation, pre).await;
        match &outcome.verdict {
            Hold::Proceed => {}
            Hold::Suppress { .. } => return,
            Hold::Cancel { reason } => {
                let message = format!("the history is not compacted: {reason}");
                return self.tell(&Update::Notice { kind: "compaction", message: &message });
            }
        }
        let before = outcome.extra.0.clone();
        let mut messages: Vec<Message> = history.into_iter().take(old).collect();
        messages.push(Message::User(INSTRUCTIONS.to_owned()));
        let request = Request {
            system: actor.instructions.clone(),
            messages,
            tools: actor.toolbox().specs(),
            max_tokens: None,
        };
        let reply = match self.model.respond(&request, &|_| ()).await {
            Ok(reply) => reply,
            Err(error) => {
                let message = format!("the history could not be compacted: {error}");
                return self.failed(&actor.who, turn, "compaction", &message).await;
            }
        };
        self.spent.add(reply.usage);
        let summary = reply.text.trim().to_owned();
        if summary.is_empty() {
            let message = "the history could not be compacted: the model said nothing";
            return self.failed(&actor.who, turn, "compaction", message).await;
        }
        let post = CompactionPost { summary, agent: actor.who.clone(), model };
        let outcome = self.dispatch(&actor.who, &operation, post).await.into_parts();
        let mut parts = before;
        parts.push(format!("Summary of the conversation so far:\n{}", outcome.event.summary));
        parts.extend(outcome.extra.0);
        actor.conversation.compact(parts.join("\n\n"), old);
        actor.compact_from.store(0, Ordering::Relaxed);
        self.tell(&Update::Compacted { agent: &actor.who, messages: old });
    }
}
