//! Finding the objections behind the one that ended a dispatch.

use std::time::{Duration, Instant};

use super::{Runner, call, run::Run};
use crate::context::OperationContext;
use crate::dialect::OnFailure;
use crate::event::ToolPre;
use crate::exception::{Objection, covering, is_objection};
use crate::record::{Answered, Record};
use crate::registry::Entry;
use crate::sync::keep;

/// The least time that has to be left before a hook without a deadline of its own is asked.
const LEAST: Duration = Duration::from_secs(1);

impl Runner {
    /// Asks about a refused call again, with the exceptions as they are now, to find out what else objects to it.
    ///
    /// Only hooks that are [repeatable](crate::registry::Registration::repeatable) are asked. `before` is the record of
    /// the dispatch that refused the call. A hook that has answered there and is not repeatable is passed over.
    ///
    /// Returns None if the decision cannot be found out this way: a hook comes next that is not repeatable, a hook
    /// rewrites the call, or a hook could take longer than `until`. No inspectors run, and nothing is audited. The
    /// outcome must not be used to let a call pass.
    pub async fn rehearse(
        &self,
        cx: &OperationContext,
        event: ToolPre,
        before: &Record,
        until: Instant,
    ) -> Option<super::Outcome<ToolPre>> {
        let inner = &*self.inner;
        let hooks = keep(inner.hooks.peek());
        if hooks.version != before.version || !before.rewrites.is_empty() {
            return None;
        }
        let chain = &hooks.chains.pre_tool_call;
        let matched = chain.matching(&event);
        let mut run = Run::new(inner, cx, chain, &hooks, &matched, event.clone());
        let mut is_known = true;
        for place in matched.hooks.iter().chain(&matched.last) {
            let Some(entry) = chain.entry(*place) else { continue };
            if entry.info.is_repeatable {
                let left = until.saturating_duration_since(inner.runtime.now());
                if left < entry.info.deadline.unwrap_or(LEAST) {
                    return None;
                }
                run.ask(*place).await;
            } else if let Some(answered) = before.last_of(*place) {
                // What it said is not repeated here. It may still count.
                is_known &= !is_objection(&answered.word) || self.covers(entry, answered, &event);
            } else {
                match call::wants(&*entry.handler, &event) {
                    Ok(true) => return None,
                    Err(_) if entry.on_failure == OnFailure::Close => {
                        run.refuse("A condition of a hook failed.".to_owned());
                    }
                    Ok(false) | Err(_) => {}
                }
            }
            if run.ended() {
                break;
            }
        }
        let is_final = run.ended();
        run.finish();
        let is_rewritten = !run.outcome.record.rewrites.is_empty();
        (!is_rewritten && (is_known || is_final)).then_some(run.outcome)
    }

    /// True if an exception covers what a hook has said about the call.
    fn covers(&self, entry: &Entry<ToolPre>, answered: &Answered, event: &ToolPre) -> bool {
        let (hook, call, word) = (&*entry.info, &event.call, &answered.word);
        let rule = answered.detail.as_deref().filter(|_| hook.is_policy);
        let exceptions = self.inner.exceptions.as_deref().filter(|_| answered.can_be_excepted);
        exceptions.is_some_and(|it| covering(it, &Objection { hook, rule, call, word }).is_some())
    }
}
