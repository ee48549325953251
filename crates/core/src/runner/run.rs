//! One dispatch under way.

use std::future::Future;
use std::mem::take;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use smallvec::SmallVec;

use super::inspect::Whose;
use super::{Inner, Outcome, Parts, call};
use crate::answer::Answer;
use crate::context::{Context, Marks, sealed::Node as _};
use crate::dialect::{Mode, OnFailure};
use crate::error::{HookError, panic_message};
use crate::event::{Event, Kind, ToolCall, to_value};
use crate::exception::{ExceptionId, Objection, covering, is_objection};
use crate::extra::{self, Extra};
use crate::hook::Ask;
use crate::ledger::Effect;
use crate::memo::Memo;
use crate::patch::Patch;
use crate::record::{Answered, Rewrite};
use crate::registry::{Asked, Chain, Entry, HookInfo, HookSet};
use crate::tools;
use crate::verdict::{Permission, Verdict, Word};

/// The reason for the model if a hook could not decide. The record has the details, for the person.
const CLOSED: &str = "A required check could not be completed, so this was not allowed.";

/// What the model is told where the continue budget is spent.
const BUDGET_SPENT: &str = "Stopped: it was sent back too many times in a row.";

/// For how many answers there is room from the start, where as many are expected.
const FEW: usize = 8;

/// Why a call is refused whose tool is neither a known one nor plausibly another: its name differs
/// from a known one only by what rules compare and people do not see.
pub(super) fn no_tool(call: &ToolCall) -> Option<String> {
    let like = call.server_name().is_none().then(|| tools::lookalike(&call.name)).flatten()?;
    let shown: String = call.name.chars().take(80).flat_map(char::escape_debug).collect();
    Some(format!(
        "No tool is called `{shown}`: call `{}` by its exact name.",
        like.trim_end_matches('*')
    ))
}

/// Whether none of those who ask for the event wants this one.
pub(super) fn nobody<E: Event>(chain: &Chain<E>, matched: &Asked, event: &E) -> bool {
    let declines = |place: &u32| {
        chain.entry(*place).is_none_or(|entry| call::wants(&*entry.handler, event) == Ok(false))
    };
    matched.hooks.is_empty() && matched.inspectors.is_empty() && matched.last.iter().all(declines)
}

/// A question, and how long it took.
#[derive(Clone, Copy)]
struct Question {
    place: u32,
    reask: bool,
    took: Duration,
}

/// When a hook is asked, and how long it may take.
struct Time {
    begun: Instant,
    now: Instant,
    /// What the hook may take by itself, and what is left of that for it here.
    own: Duration,
    shared: Duration,
    /// What it is held to.
    limit: Duration,
}

/// The outcome as it grows, in the place it is returned from: payloads and records are large, and
/// a dispatch is short.
pub(super) struct Run<'a, E: Event> {
    inner: &'a Inner,
    cx: &'a E::Scope,
    chain: &'a Chain<E>,
    pub(super) outcome: Outcome<E>,
    /// When the first hook was asked, and when the latest was done.
    clock: Option<(Instant, Instant)>,
    ended: bool,
    /// How many rewrites there were.
    rewrites: u32,
    /// What hooks have worked out of the payload as it is now.
    memo: Memo,
    /// Which hook has seen the payload as it was after how many rewrites.
    seen: SmallVec<[(u32, u32); 4]>,
    /// How many hooks ask for the event.
    places: usize,
}

impl<'a, E: Event> Run<'a, E> {
    #[inline]
    pub(super) fn new(
        inner: &'a Inner,
        cx: &'a E::Scope,
        chain: &'a Chain<E>,
        hooks: &Arc<HookSet>,
        matched: &Asked,
        event: E,
    ) -> Self {
        Self {
            inner,
            cx,
            chain,
            outcome: Outcome::untouched(event, hooks.version, Some(Arc::clone(hooks))),
            clock: None,
            ended: false,
            rewrites: 0,
            memo: Memo::default(),
            seen: SmallVec::new(),
            places: matched.hooks.len() + matched.last.len(),
        }
    }

    /// Refuses before anybody is asked.
    pub(super) fn refuse(&mut self, reason: String) {
        self.ended = true;
        self.join(E::Verdict::closed(reason));
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
    pub(super) fn ask(&mut self, place: u32) -> impl Future<Output = ()> + Send {
        self.question(place, false)
    }

    /// Asks a hook about the final payload, for its verdict only.
    pub(super) fn ask_again(&mut self, place: u32) -> impl Future<Output = ()> + Send {
        self.question(place, true)
    }

    // An answer is large, and stays in the place it was put into: it is looked at and emptied there.
    async fn question(&mut self, place: u32, reask: bool) {
        let Some(entry) = self.chain.entry(place) else { return };
        let wants = call::wants(&*entry.handler, &self.outcome.parts.event);
        if wants == Ok(false) {
            return;
        }
        let mut question = Question { place, reask, took: Duration::ZERO };
        let time = match wants.and_then(|_| self.time_for(entry)) {
            Ok(time) => time,
            Err(error) => {
                self.seen.push((place, self.rewrites));
                return self.fail(entry, error, question);
            }
        };
        let marks = Marks { reask, ..Marks::default() };
        let marked = reask.then(|| Box::new(self.cx.marked(marks)));
        let mut without = Vec::new();
        loop {
            let ask = Ask {
                cx: marked.as_deref().unwrap_or(self.cx),
                event: &self.outcome.parts.event,
                reask,
                runtime: &*self.inner.runtime,
                memo: &self.memo,
                without: &without,
                limit: time.shared,
            };
            let mut answer = call::ask(&*entry.handler, ask, time.limit).await;
            question.took = self.in_time(&time, &mut answer);
            if matches!(&answer, Ok(given) if given.declined) {
                return;
            }
            self.seen.push((place, self.rewrites));
            let given = match &mut answer {
                Ok(given) => self.admit(entry, question, given).map(|()| given),
                Err(error) => Err(error.clone()),
            };
            match given {
                Ok(given) => self.accept(given, question),
                Err(error) => return self.fail(entry, error, question),
            }
            // The other rules of a policy are asked without those that were excepted.
            let last = self.outcome.parts.record.answers.last().filter(|_| entry.info.is_policy);
            match last.filter(|last| last.excepted.is_some()).and_then(|it| it.detail.clone()) {
                Some(rule) if !without.contains(&rule) => without.push(rule),
                _ => return,
            }
        }
    }

    /// How long the hook may take from now.
    fn time_for(&mut self, entry: &Entry<E>) -> Result<Time, HookError> {
        let limits = &self.inner.limits;
        let (begun, now) = *self.clock.get_or_insert_with(|| {
            let now = self.inner.runtime.now();
            (now, now)
        });
        let left = limits.dispatch.saturating_sub(now.saturating_duration_since(begun));
        let own = entry.info.deadline.unwrap_or(limits.hook);
        let shared = own.min(left);
        // A person is given their own time; everybody else shares the dispatch's.
        let limit = if entry.info.is_policy { limits.person } else { shared };
        let time = Time { begun, now, own, shared, limit };
        if shared.is_zero() { Err(self.timed_out(&time)) } else { Ok(time) }
    }

    fn timed_out(&self, time: &Time) -> HookError {
        if time.limit < time.own {
            HookError::DispatchTimedOut { limit: self.inner.limits.dispatch }
        } else {
            HookError::TimedOut { limit: time.limit }
        }
    }

    /// Takes the time. An answer that a hook could not be kept from giving too late does not count.
    fn in_time(&mut self, time: &Time, answer: &mut Result<Answer<E>, HookError>) -> Duration {
        let done = self.inner.runtime.now();
        let took = done.saturating_duration_since(time.now);
        self.clock = Some((time.begun, done));
        match answer {
            Err(HookError::TimedOut { .. }) => *answer = Err(self.timed_out(time)),
            Ok(_) if took > time.limit => *answer = Err(self.timed_out(time)),
            _ => {}
        }
        took
    }

    /// Holds an answer against the mode in force, and against what a second question allows.
    fn admit(
        &self,
        entry: &Entry<E>,
        question: Question,
        answer: &mut Answer<E>,
    ) -> Result<(), HookError> {
        let mode = entry.mode;
        if let Some(patch) = &answer.patch {
            if mode < Mode::Transform {
                return Err(HookError::BeyondMode { mode, wanted: "rewrite" });
            }
            if question.reask {
                // Who wrote the final payload may well be one to write again (it adds a flag, say);
                // only its verdict on its own work counts. Others were overruled, and object.
                let last = self.outcome.parts.record.rewrites.last();
                let is_author = last.is_some_and(|last| last.place == question.place);
                if !is_author && patch.clone().apply(&mut self.outcome.parts.event.clone()) {
                    return Err(HookError::RewroteAgain);
                }
                answer.patch = None;
            }
        }
        if mode == Mode::Inspect && (answer.verdict.rank() > 0 || !answer.extra.is_empty()) {
            return Err(HookError::BeyondMode { mode, wanted: "decide" });
        }
        Ok(())
    }

    /// Takes what is in an answer.
    fn accept(&mut self, answer: &mut Answer<E>, question: Question) {
        let (mut verdict, mut extra) = (take(&mut answer.verdict), take(&mut answer.extra));
        let (mut patch, detail) = (answer.patch.take(), answer.detail.take());
        let effects = take(&mut answer.effects);
        let Question { place, reask, took } = question;
        let (word, reason) = (verdict.word(), verdict.reason().to_owned());
        let can_be_excepted = !answer.without_exceptions
            && is_objection(&word)
            && E::KIND == Kind::ToolPre
            && self.hook(place).is_some_and(|it| it.takes_exceptions);
        let excepted =
            can_be_excepted.then(|| self.exception(place, &word, detail.as_deref())).flatten();
        if excepted.is_some() {
            // What it noted (counters, lines of a log) stays; its opinion does not.
            (verdict, extra, patch) = <_>::default();
        }
        let (mut rewrote, mut withdrawn) = (false, false);
        // What a hook refuses it does not also rewrite.
        if let Some(patch) = patch.filter(|_| !verdict.is_final()) {
            let written = to_value(&patch);
            if patch.apply(&mut self.outcome.parts.event) {
                rewrote = true;
                self.rewrites += 1;
                self.memo = Memo::default();
                if self.reasks() {
                    withdrawn = withdraw::<E>(&mut verdict, &mut extra);
                    self.withdraw_approvals();
                }
                self.outcome.parts.record.rewrites.push(Rewrite { place, patch: written });
            }
        }
        let mut added = None;
        if (!reask || !E::Extra::OUTLIVES_REWRITE) && !extra.is_empty() {
            added = extra::to_value(&extra);
            self.outcome.parts.extra.append(extra);
        }
        self.ended |= verdict.is_final();
        self.join(verdict);
        self.note(Answered {
            place,
            word,
            reason,
            detail,
            extra: added,
            effects,
            took,
            error: None,
            reask,
            rewrote,
            withdrawn,
            can_be_excepted,
            excepted,
        });
    }

    fn hook(&self, place: u32) -> Option<&HookInfo> {
        self.chain.entry(place).map(|entry| &*entry.info)
    }

    /// Returns the exception under which an objection does not count.
    fn exception(&self, place: u32, word: &Word, detail: Option<&str>) -> Option<ExceptionId> {
        let exceptions = self.inner.exceptions.as_deref()?;
        let call = self.outcome.parts.event.tool_call()?;
        let hook = self.hook(place)?;
        let objection = Objection { hook, rule: detail.filter(|_| hook.is_policy), call, word };
        covering(exceptions, &objection)
    }

    /// Withdraws approvals, because the payload that they were about has changed. Stricter verdicts stay.
    fn withdraw_approvals(&mut self) {
        if withdraw::<E>(&mut self.outcome.parts.verdict, &mut self.outcome.parts.extra) {
            let word = E::Verdict::default().word();
            for line in
                self.outcome.parts.record.answers.iter_mut().filter(|line| line.word != word)
            {
                line.withdrawn = true;
            }
        }
    }

    #[cold]
    fn fail(&mut self, entry: &Entry<E>, error: HookError, question: Question) {
        let Question { place, reask, took } = question;
        let mut line = Answered { took, reask, ..Answered::by(place) };
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
        self.note(line);
    }

    fn note(&mut self, line: Answered) {
        let answers = &mut self.outcome.parts.record.answers;
        if answers.capacity() == 0 {
            // A line is large, and most dispatches have one.
            answers.reserve_exact(self.places.clamp(1, FEW));
        }
        answers.push(line);
    }

    fn close(&mut self, line: &mut Answered) {
        let verdict = E::Verdict::closed(CLOSED.to_owned());
        line.word = verdict.word();
        self.ended = true;
        self.join(verdict);
    }

    fn join(&mut self, verdict: E::Verdict) {
        // As `join` has it, without moving the one that stays.
        if verdict.rank() > self.outcome.parts.verdict.rank() {
            self.outcome.parts.verdict = verdict;
        }
    }

    /// The payload is final now: checks that what was rewritten still fits.
    pub(super) fn freeze(&mut self) {
        if E::KIND != Kind::ToolPre || self.rewrites == 0 || self.ended {
            return;
        }
        let Some(call) = self.outcome.parts.event.tool_call() else { return };
        let validate = || (self.inner.validator)(call);
        let valid = catch_unwind(AssertUnwindSafe(validate))
            .unwrap_or_else(|panic| Err(format!("the check panicked: {}", panic_message(panic))));
        if let Err(message) = valid {
            let place =
                self.outcome.parts.record.rewrites.last().map_or(0, |rewrite| rewrite.place);
            let error = Some(HookError::InvalidRewrite { message });
            let mut line = Answered { error, reask: true, ..Answered::by(place) };
            self.close(&mut line);
            self.outcome.parts.record.answers.push(line);
        }
    }

    /// Takes a round from the turn's budget where the verdict wants one.
    pub(super) fn spend_budget(&mut self) {
        if !self.outcome.parts.verdict.goes_round() {
            return;
        }
        let Some(turn) = self.cx.current_turn() else { return };
        if !turn.take_round(self.inner.limits.rounds) {
            let verdict = take(&mut self.outcome.parts.verdict);
            self.outcome.parts.verdict = verdict.without_budget(BUDGET_SPENT.to_owned());
            self.outcome.parts.record.budget_spent = true;
        }
    }

    /// Sends the inspectors to work in the background, on a copy of what happened.
    pub(super) fn inspect_later(&mut self, hooks: &Arc<HookSet>, places: &[u32]) {
        self.outcome.parts.record.id = self.inner.next_dispatch();
        let inspected = self.inner.inspections.submit(
            &self.inner.runtime,
            self.inner.limits.hook,
            self.outcome.parts.record.id,
            hooks,
            places,
            self.cx.marked(Marks {
                reask: false,
                decided: Some(Arc::new(self.outcome.parts.verdict.word())),
            }),
            self.outcome.parts.event.clone(),
        );
        self.outcome.parts.record.inspectors = inspected.map(|()| places.len());
    }

    /// Waits for the inspectors of what ends here.
    pub(super) async fn drain(&mut self, whose: Whose) {
        self.outcome.parts.record.cut_off = self.inner.drain(whose, self.inner.limits.drain).await;
    }

    /// Writes down what hooks wanted written, once for each: what it said last counts.
    fn write_down(&self) {
        let answers = &self.outcome.parts.record.answers;
        for (at, line) in answers.iter().enumerate().filter(|(_, line)| !line.effects.is_empty()) {
            let mut later = answers.iter().skip(at + 1);
            if !later.any(|other| other.place == line.place && other.error.is_none()) {
                write_down(self.cx, &line.effects);
            }
        }
    }

    pub(super) fn finish(&mut self) {
        self.write_down();
        let Parts { verdict, record, .. } = &mut self.outcome.parts;
        record.decision = verdict.word();
        verdict.reason().clone_into(&mut record.reason);
        record.took = self
            .clock
            .map_or(Duration::ZERO, |(begun, done)| done.saturating_duration_since(begun));
        if record.id == 0 && self.inner.audit.is_some() {
            record.id = self.inner.next_dispatch();
        }
    }
}

/// Carries out what a hook wanted written down.
pub(super) fn write_down(cx: &impl Context, effects: &[Effect]) {
    cx.session().ledger().apply(effects);
    if let Some(turn) = cx.current_turn() {
        turn.log().apply(effects);
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
