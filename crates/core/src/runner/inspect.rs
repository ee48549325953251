//! Inspectors at work in the background: one task a dispatch, in order inside it; a bound on how
//! many there are, and on how long they are waited for.

use std::collections::HashMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};
use std::time::Duration;

use super::run::write_down;
use super::{Audit, call};
use crate::context::Context;
use crate::error::HookError;
use crate::event::{Event, Kind};
use crate::hook::{Ask, BoxFuture};
use crate::memo::Memo;
use crate::record::Inspection;
use crate::registry::HookSet;
use crate::runtime::Runtime;
use crate::sync::{Mutex, lock};

/// Whose inspections.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Whose {
    All,
    Session(u64),
    Turn(u64),
}

/// The inspections under way.
pub(crate) struct Inspections {
    capacity: usize,
    audit: Option<Audit>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    jobs: HashMap<u64, Arc<Job>>,
    /// Who waits for jobs to be done.
    waiting: Vec<Waker>,
}

/// The inspectors of one dispatch.
struct Job {
    dispatch: u64,
    event: Kind,
    session: u64,
    turn: Option<u64>,
    inspectors: Vec<String>,
    progress: Mutex<Progress>,
}

#[derive(Default)]
struct Progress {
    done: Vec<Inspection>,
    cut: bool,
    /// Wakes the task, so that it sees that it was cut off.
    waker: Option<Waker>,
}

impl Job {
    fn belongs(&self, whose: Whose) -> bool {
        match whose {
            Whose::All => true,
            Whose::Session(session) => self.session == session,
            Whose::Turn(turn) => self.turn == Some(turn),
        }
    }

    fn inspection(&self, hook: &str, took: Duration, error: Option<HookError>) -> Inspection {
        Inspection {
            hook: hook.to_owned(),
            event: self.event,
            dispatch: self.dispatch,
            took,
            error,
        }
    }

    /// Notes that the next inspector is done; not once the job was cut off.
    fn note(&self, hook: &str, took: Duration, error: Option<HookError>) {
        let mut progress = lock(&self.progress);
        if !progress.cut {
            progress.done.push(self.inspection(hook, took, error));
        }
    }

    /// Ends the job, once, and reports it. What is not done by now is noted with an error:
    /// `running` for the inspector that was at work, `waiting` for those behind it.
    ///
    /// The report is made under the lock, so that whoever finds the job ended finds it reported.
    fn end(
        &self,
        running: &HookError,
        waiting: &HookError,
        report: impl FnOnce(&[Inspection]),
    ) -> Vec<Inspection> {
        let mut progress = lock(&self.progress);
        if progress.cut {
            return Vec::new();
        }
        progress.cut = true;
        let mut all = std::mem::take(&mut progress.done);
        let first = all.len();
        for (place, hook) in self.inspectors.iter().enumerate().skip(first) {
            let error = if place == first { running } else { waiting };
            all.push(self.inspection(hook, Duration::ZERO, Some(error.clone())));
        }
        report(&all);
        let waker = progress.waker.take();
        drop(progress);
        if let Some(waker) = waker {
            waker.wake();
        }
        all.split_off(first)
    }
}

impl Inspections {
    pub(super) fn new(capacity: usize, audit: Option<Audit>) -> Self {
        Self { capacity, audit, state: Mutex::default() }
    }

    pub(super) fn under_way(&self) -> usize {
        lock(&self.state).jobs.len()
    }

    /// Sends the inspectors of a dispatch to work, unless too many are at work already.
    #[allow(clippy::too_many_arguments)] // each is a different part of the one dispatch
    pub(super) fn submit<E: Event>(
        self: &Arc<Self>,
        runtime: &Arc<dyn Runtime>,
        limit: Duration,
        dispatch: u64,
        hooks: &Arc<HookSet>,
        places: &[u32],
        cx: E::Scope,
        event: E,
    ) -> Result<(), HookError> {
        let chain = E::chain(&hooks.chains);
        let name = |place: &u32| chain.entry(*place).map(|entry| entry.info.name.clone());
        let job = Arc::new(Job {
            dispatch,
            event: E::KIND,
            session: cx.session().id(),
            turn: cx.current_turn().map(crate::context::TurnContext::id),
            inspectors: places.iter().map(|place| name(place).unwrap_or_default()).collect(),
            progress: Mutex::default(),
        });
        {
            let mut state = lock(&self.state);
            if state.jobs.len() >= self.capacity {
                return Err(HookError::QueueFull { capacity: self.capacity });
            }
            state.jobs.insert(dispatch, Arc::clone(&job));
        }
        let work = inspect(
            Arc::clone(runtime),
            limit,
            Arc::clone(hooks),
            places.to_vec(),
            cx,
            event,
            Arc::clone(&job),
        );
        let task = JobTask {
            work: Box::pin(work),
            finish: Finish { job, inspections: Arc::clone(self), runtime: Arc::clone(runtime) },
        };
        runtime.spawn(Box::pin(task)).map_err(|message| HookError::NoBackground { message })
    }

    /// Waits until the inspections are done, `limit` at the most; cuts off the rest and returns
    /// those.
    pub(super) async fn drain(
        &self,
        runtime: &dyn Runtime,
        whose: Whose,
        limit: Duration,
    ) -> Vec<Inspection> {
        let mut timer: Option<BoxFuture<'static, ()>> = None;
        let left = poll_fn(|task| {
            {
                let mut state = lock(&self.state);
                if !state.jobs.values().any(|job| job.belongs(whose)) {
                    return Poll::Ready(Vec::new());
                }
                if !state.waiting.iter().any(|waker| waker.will_wake(task.waker())) {
                    state.waiting.push(task.waker().clone());
                }
            }
            let timer = timer.get_or_insert_with(|| runtime.sleep(limit));
            timer.as_mut().poll(task).map(|()| self.take(whose))
        })
        .await;
        let (running, waiting) = (HookError::CutOff { limit }, HookError::NotReached { limit });
        left.iter()
            .flat_map(|job| job.end(&running, &waiting, |all| self.write(runtime, all)))
            .collect()
    }

    fn take(&self, whose: Whose) -> Vec<Arc<Job>> {
        let (mut jobs, waiting) = {
            let mut state = lock(&self.state);
            let jobs: Vec<_> =
                state.jobs.values().filter(|job| job.belongs(whose)).cloned().collect();
            state.jobs.retain(|_, job| !job.belongs(whose));
            (jobs, std::mem::take(&mut state.waiting))
        };
        // Others may wait for the same jobs.
        waiting.into_iter().for_each(Waker::wake);
        jobs.sort_by_key(|job| job.dispatch);
        jobs
    }

    fn remove(&self, dispatch: u64) {
        let waiting = {
            let mut state = lock(&self.state);
            state.jobs.remove(&dispatch);
            std::mem::take(&mut state.waiting)
        };
        waiting.into_iter().for_each(Waker::wake);
    }

    fn write(&self, runtime: &dyn Runtime, inspections: &[Inspection]) {
        if let Some(audit) = &self.audit {
            audit.write(runtime, || {
                serde_json::json!({
                    "type": "inspection",
                    "dispatch": inspections.first().map(|inspection| inspection.dispatch),
                    "inspections": inspections,
                })
            });
        }
    }
}

/// Runs the inspectors of one dispatch, in order.
async fn inspect<E: Event>(
    runtime: Arc<dyn Runtime>,
    limit: Duration,
    hooks: Arc<HookSet>,
    places: Vec<u32>,
    cx: E::Scope,
    event: E,
    job: Arc<Job>,
) {
    let chain = E::chain(&hooks.chains);
    let memo = Memo::default();
    for place in places {
        let Some(entry) = chain.entry(place) else { continue };
        let limit = entry.info.deadline.unwrap_or(limit);
        let begun = runtime.now();
        let error = match call::wants(&*entry.handler, &event) {
            Ok(false) => None,
            Ok(true) => {
                let runtime = &*runtime;
                let (cx, event, memo) = (&cx, &event, &memo);
                let ask = Ask { cx, event, reask: false, runtime, memo, without: &[], limit };
                match call::ask(&*entry.handler, ask, limit).await {
                    Ok(answer) => {
                        write_down(cx, &answer.effects);
                        None
                    }
                    Err(error) => Some(error),
                }
            }
            Err(error) => Some(error),
        };
        job.note(&entry.info.name, runtime.now().saturating_duration_since(begun), error);
    }
}

/// The work of a job, which ends when it is done or cut off.
struct JobTask {
    work: BoxFuture<'static, ()>,
    finish: Finish,
}

impl Future for JobTask {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, task: &mut Task<'_>) -> Poll<()> {
        {
            let mut progress = lock(&self.finish.job.progress);
            if progress.cut {
                return Poll::Ready(());
            }
            progress.waker = Some(task.waker().clone());
        }
        self.work.as_mut().poll(task)
    }
}

/// Reports a job when its task is gone, for whichever reason.
struct Finish {
    job: Arc<Job>,
    inspections: Arc<Inspections>,
    runtime: Arc<dyn Runtime>,
}

impl Drop for Finish {
    fn drop(&mut self) {
        let gone = HookError::NoBackground { message: "the background work was ended".to_owned() };
        self.job.end(&gone, &gone, |all| self.inspections.write(&*self.runtime, all));
        self.inspections.remove(self.job.dispatch);
    }
}
