//! One dispatch under way.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::inspect::Whose;
use super::{Inner, Parts, call};
use crate::answer::Answer;
use crate::context::{Context, Marks, sealed::Node as _};
use crate::dialect::{Mode, OnFailure};
use crate::error::{HookError, panic_message};
use crate::event::{Event, Kind, to_value};
use crate::extra::{self, Extra};
use crate::hook::Ask;
use crate::patch::Patch;
use crate::record::{Answered, Record, Rewrite};
use crate::registry::{Chain, Entry, HookSet};
use crate::verdict::{Permission, Verdict};

/// What the model is told where a hook could not decide. Which hook, and why, is in the record,
/// for the person.
const CLOSED: &str = "A required check could not be completed, so this was not allowed.";

/// What the model is told where the continue budget is spent.
const BUDGET_SPENT: &str = "Stopped: it was sent back too many times in a row.";

pub(super) struct Run<'a, E: Event> {
    inner: &'a Inner,
    cx: &'a E::Scope,
    chain: &'a Chain<E>,
    pub(super) event: E,
    verdict: E::Verdict,
    extra: E::Extra,
    record: Record,
    /// When the first hook was asked, and when the latest was done.
    clock: Option<(Instant, Instant)>,
    ended: bool,
    /// How many rewrites there were.
    rewrites: u32,
    /// Which hook has seen the payload as it was after how many rewrites.
    seen: SmallVec<[(u32, u32); 4]>,
}

impl<'a, E: Event> Run<'a, E> {
    pub(super) fn new(inner: &'a Inner, cx: &'a E::Scope, chain: &'a Chain<E>, event: E) -> Self {
        Self {
            inner,
            cx,
            chain,
            event,
            verdict: E::Verdict::default(),
            extra: E::Extra::default(),
            record: Record::new(E::KIND),
            clock: None,
            ended: false,
            rewrites: 0,
            seen: SmallVec::new(),
        }
    }

    /// Whether the chain has ended.
    pub(super) fn ended(&self) -> bool {
        self.ended
    }

    /// Whether the payload was rewritten and hooks are to be asked about what it became.
    pub(super) fn rewritten(&self) -> bool {
        self.rewrites > 0 && self.reasks()
    }

    fn reasks(&self) -> bool {
        E::KIND.reasks() && self.inner.reask
    }

    /// Whether the hook has seen the payload as it is now.
    pub(super) fn has_seen_final(&self, place: u32) -> bool {
        self.seen
            .iter()
            .rev()
            .find(|seen| seen.0 == place)
            .is_some_and(|seen| seen.1 == self.rewrites)
    }

    /// Asks a hook about the payload as it is now.
    pub(super) async fn ask(&mut self, place: u32) {
        self.question(place, false).await;
    }

    /// Asks a hook about the final payload, for its verdict only.
    pub(super) async fn ask_again(&mut self, place: u32) {
        self.question(place, true).await;
    }

    async fn question(&mut self, place: u32, reask: bool) {
        let Some(entry) = self.chain.entry(place) else { return };
        let (answer, took) = match call::wants(&*entry.handler, &self.event) {
            Ok(false) => return,
            Ok(true) => self.answer_of(entry, reask).await,
            Err(error) => (Err(error), Duration::ZERO),
        };
        self.seen.push((place, self.rewrites));
        let answer = answer.and_then(|answer| self.admit(entry, place, answer, reask));
        let line = Answered { took, reask, ..Answered::by(place) };
        match answer {
            Ok(answer) => self.accept(answer, line),
            Err(error) => self.fail(entry, error, line),
        }
    }

    async fn answer_of(
        &mut self,
        entry: &Entry<E>,
        reask: bool,
    ) -> (Result<Answer<E>, HookError>, Duration) {
        let runtime = &*self.inner.runtime;
        let limits = self.inner.limits;
        let (begun, now) = *self.clock.get_or_insert_with(|| {
            let now = runtime.now();
            (now, now)
        });
        let left = limits.dispatch.saturating_sub(now.saturating_duration_since(begun));
        let own = entry.info.deadline.unwrap_or(limits.hook);
        let shared = own.min(left);
        // A person is given their own time; everybody else shares the dispatch's.
        let limit = if entry.info.is_policy { limits.person } else { shared };
        let timed_out = || {
            if limit < own {
                HookError::DispatchTimedOut { limit: limits.dispatch }
            } else {
                HookError::TimedOut { limit }
            }
        };
        if shared.is_zero() {
            return (Err(timed_out()), Duration::ZERO);
        }
        let marked = reask.then(|| self.cx.marked(Marks { reask, ..Marks::default() }));
        let cx = marked.as_ref().unwrap_or(self.cx);
        let ask = Ask { cx, event: &self.event, reask, runtime, limit: shared };
        let answer = call::ask(&*entry.handler, ask, limit).await;
        let done = runtime.now();
        let took = done.saturating_duration_since(now);
        self.clock = Some((begun, done));
        // An answer that a hook could not be kept from giving too late does not count.
        let answer = match answer {
            Err(HookError::TimedOut { .. }) => Err(timed_out()),
            Ok(_) if took > limit => Err(timed_out()),
            answer => answer,
        };
        (answer, took)
    }

    /// Holds an answer against the mode in force, and against what a second question allows.
    fn admit(
        &self,
        entry: &Entry<E>,
        place: u32,
        mut answer: Answer<E>,
        reask: bool,
    ) -> Result<Answer<E>, HookError> {
        let is_author = self.record.rewrites.last().is_some_and(|last| last.place == place);
        let mode = entry.mode;
        match &answer.patch {
            Some(_) if mode < Mode::Transform => {
                return Err(HookError::BeyondMode { mode, wanted: "rewrite" });
            }
            Some(patch) if reask => {
                // Who wrote the final payload may well be one to write again (it adds a flag, say);
                // only its verdict on its own work counts. Others were overruled, and object.
                if !is_author && patch.clone().apply(&mut self.event.clone()) {
                    return Err(HookError::RewroteAgain);
                }
                answer.patch = None;
            }
            _ => {}
        }
        if mode == Mode::Inspect && (answer.verdict.rank() > 0 || !answer.extra.is_empty()) {
            return Err(HookError::BeyondMode { mode, wanted: "decide" });
        }
        Ok(answer)
    }

    fn accept(&mut self, answer: Answer<E>, mut line: Answered) {
        let Answer { mut verdict, mut extra, patch, detail } = answer;
        line.detail = detail;
        line.word = verdict.word();
        verdict.reason().clone_into(&mut line.reason);
        // What a hook refuses it does not also rewrite.
        if let Some(patch) = patch.filter(|_| !verdict.is_final()) {
            let written = to_value(&patch);
            if patch.apply(&mut self.event) {
                self.rewrites += 1;
                if self.reasks() {
                    line.withdrawn = withdraw::<E>(&mut verdict, &mut extra);
                    self.withdraw_approvals();
                }
                self.record.rewrites.push(Rewrite { place: line.place, patch: written });
                line.rewrote = true;
            }
        }
        if (!line.reask || !E::Extra::OUTLIVES_REWRITE) && !extra.is_empty() {
            line.extra = extra::to_value(&extra);
            self.extra.append(extra);
        }
        self.ended |= verdict.is_final();
        self.join(verdict);
        self.record.answers.push(line);
    }

    /// What was approved is not what it was: an approval of it counts no more, and who gave it is
    /// asked again. What is stricter than an approval stays.
    fn withdraw_approvals(&mut self) {
        if withdraw::<E>(&mut self.verdict, &mut self.extra) {
            let word = E::Verdict::default().word();
            for line in self.record.answers.iter_mut().filter(|line| line.word != word) {
                line.withdrawn = true;
            }
        }
    }

    fn fail(&mut self, entry: &Entry<E>, error: HookError, mut line: Answered) {
        let rewrote_again = error == HookError::RewroteAgain;
        line.error = Some(error);
        let on_failure = if entry.mode == Mode::Inspect {
            OnFailure::Open
        } else if rewrote_again {
            OnFailure::Close
        } else {
            entry.on_failure
        };
        match on_failure {
            OnFailure::Open => {}
            OnFailure::End => self.ended = true,
            OnFailure::Close => self.close(&mut line),
        }
        self.record.answers.push(line);
    }

    fn close(&mut self, line: &mut Answered) {
        let verdict = E::Verdict::closed(CLOSED.to_owned());
        line.word = verdict.word();
        self.ended = true;
        self.join(verdict);
    }

    fn join(&mut self, verdict: E::Verdict) {
        self.verdict = std::mem::take(&mut self.verdict).join(verdict);
    }

    /// The payload is final now: checks that what was rewritten still fits.
    pub(super) fn freeze(&mut self) {
        if E::KIND != Kind::ToolPre || self.rewrites == 0 || self.ended {
            return;
        }
        let Some(call) = self.event.tool_call() else { return };
        let validate = || (self.inner.validator)(call);
        let valid = catch_unwind(AssertUnwindSafe(validate))
            .unwrap_or_else(|panic| Err(format!("the check panicked: {}", panic_message(panic))));
        if let Err(message) = valid {
            let place = self.record.rewrites.last().map_or(0, |rewrite| rewrite.place);
            let error = Some(HookError::InvalidRewrite { message });
            let mut line = Answered { error, reask: true, ..Answered::by(place) };
            self.close(&mut line);
            self.record.answers.push(line);
        }
    }

    /// Takes a round from the turn's budget where the verdict wants one.
    pub(super) fn spend_budget(&mut self) {
        if !self.verdict.goes_round() {
            return;
        }
        let Some(turn) = self.cx.current_turn() else { return };
        if !turn.take_round(self.inner.limits.rounds) {
            let verdict = std::mem::take(&mut self.verdict);
            self.verdict = verdict.without_budget(BUDGET_SPENT.to_owned());
            self.record.budget_spent = true;
        }
    }

    /// Sends the inspectors to work in the background, on a copy of what happened.
    pub(super) fn inspect_later(&mut self, hooks: &Arc<HookSet>, places: &[u32]) {
        self.record.id = self.inner.next_dispatch();
        let inspected = self.inner.inspections.submit(
            &self.inner.runtime,
            self.inner.limits.hook,
            self.record.id,
            hooks,
            places,
            self.cx.marked(Marks { reask: false, decided: Some(Arc::new(self.verdict.word())) }),
            self.event.clone(),
        );
        self.record.inspectors = inspected.map(|()| places.len());
    }

    /// Waits for the inspectors of what ends here.
    pub(super) async fn drain(&mut self, whose: Whose) {
        self.record.cut_off = self.inner.drain(whose, self.inner.limits.drain).await;
    }

    pub(super) fn finish(self) -> Parts<E> {
        let Self { event, verdict, extra, mut record, clock, .. } = self;
        record.decision = verdict.word();
        verdict.reason().clone_into(&mut record.reason);
        record.took =
            clock.map_or(Duration::ZERO, |(begun, done)| done.saturating_duration_since(begun));
        if record.id == 0 && self.inner.audit.is_some() {
            record.id = self.inner.next_dispatch();
        }
        Parts { verdict, extra, event, record }
    }
}

/// Takes an approval back, and what was permitted with it. Returns whether there was one.
fn withdraw<E: Event>(verdict: &mut E::Verdict, extra: &mut E::Extra) -> bool {
    if !E::Extra::OUTLIVES_REWRITE {
        *extra = E::Extra::default();
    }
    let approved = verdict.rank() > 0 && verdict.permission() == Permission::Granted;
    if approved {
        *verdict = E::Verdict::default();
    }
    approved
}
