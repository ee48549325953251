//! The places of subagents that run, and the queue of those that wait for one.
//!
//! A subagent that waits for the answer of one that it has started gives its place back meanwhile, so that a place is only
//! ever held by a subagent that can go on: a chain of subagents needs one place, however deep it is. When the answer is
//! there, it goes before those that have not begun.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// As many places as subagents may run at once.
#[derive(Debug)]
pub(crate) struct Places {
    most: usize,
    state: Mutex<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    taken: usize,
    waiting: VecDeque<oneshot::Sender<Place>>,
}

/// A place that is taken. Dropping it gives it to the next in the queue.
#[derive(Debug)]
pub(crate) struct Place(Option<Arc<Places>>);

/// A position in the queue. Dropping it leaves the queue.
#[derive(Debug)]
pub(crate) struct Ticket(oneshot::Receiver<Place>);

impl Places {
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, state: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Queues for a place, behind all others.
    pub(crate) fn queue(self: &Arc<Self>) -> Ticket {
        self.enter(VecDeque::push_back)
    }

    /// Queues for a place, before all others.
    fn queue_first(self: &Arc<Self>) -> Ticket {
        self.enter(VecDeque::push_front)
    }

    fn enter(
        self: &Arc<Self>,
        put: fn(&mut VecDeque<oneshot::Sender<Place>>, oneshot::Sender<Place>),
    ) -> Ticket {
        let (sender, receiver) = oneshot::channel();
        let mut state = self.lock();
        state.waiting.retain(|waiting| !waiting.is_closed());
        if state.taken < self.most {
            state.taken += 1;
            drop(state);
            // The receiver is here, so that this does not fail.
            let _ = sender.send(Place(Some(Arc::clone(self))));
        } else {
            put(&mut state.waiting, sender);
        }
        Ticket(receiver)
    }

    /// Gives a place to the next in the queue.
    fn hand_on(self: &Arc<Self>) {
        loop {
            let next = {
                let mut state = self.lock();
                let next = state.waiting.pop_front();
                if next.is_none() {
                    state.taken = state.taken.saturating_sub(1);
                }
                next
            };
            let Some(next) = next else { return };
            match next.send(Place(Some(Arc::clone(self)))) {
                Ok(()) => return,
                // The next has left the queue: this place is still ours to give.
                Err(mut place) => place.0 = None,
            }
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(places) = self.0.take() {
            places.hand_on();
        }
    }
}

impl Ticket {
    /// True if no place was free when it was taken.
    pub(crate) fn waits(&self) -> bool {
        self.0.is_empty()
    }

    /// Waits for the place.
    pub(crate) async fn place(&mut self) -> Option<Place> {
        (&mut self.0).await.ok()
    }
}

/// The place of one agent. The session's own agent needs none.
#[derive(Debug, Default)]
pub(crate) struct Seat {
    state: Mutex<Seated>,
    /// Held while a place is taken again: calls that end together take one place, not one each.
    resuming: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Seated {
    /// True if its task needs a place.
    is_at_work: bool,
    place: Option<Place>,
    /// Number of subagents that it waits for.
    waits_for: usize,
}

impl Seat {
    fn lock(&self) -> MutexGuard<'_, Seated> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has a place until what is returned is dropped, except while it waits for subagents.
    pub(crate) fn sit(&self, place: Place) -> impl Drop + '_ {
        {
            let mut state = self.lock();
            state.is_at_work = true;
            state.place = Some(place);
        }
        Sitting(self)
    }

    /// Begins to wait for a subagent, which lasts until what is returned is dropped.
    pub(crate) fn step_aside(&self) -> impl Drop + '_ {
        let place = {
            let mut state = self.lock();
            state.waits_for += 1;
            state.place.take()
        };
        // The next in the queue is told outside of the lock.
        drop(place);
        Aside(self)
    }

    /// Takes a place again once it waits for no subagent any more.
    pub(crate) async fn resume(&self, places: &Arc<Places>) {
        let _one_at_a_time = self.resuming.lock().await;
        {
            let state = self.lock();
            if !state.is_at_work || state.waits_for > 0 || state.place.is_some() {
                return;
            }
        }
        let Some(place) = places.queue_first().place().await else { return };
        let mut state = self.lock();
        if state.is_at_work && state.waits_for == 0 {
            state.place = Some(place);
        } else {
            // It waits for another one by now, and takes a place again after that.
            drop(state);
            drop(place);
        }
    }
}

struct Sitting<'a>(&'a Seat);

impl Drop for Sitting<'_> {
    fn drop(&mut self) {
        let place = {
            let mut state = self.0.lock();
            state.is_at_work = false;
            state.place.take()
        };
        drop(place);
    }
}

struct Aside<'a>(&'a Seat);

impl Drop for Aside<'_> {
    fn drop(&mut self) {
        let mut state = self.0.lock();
        state.waits_for = state.waits_for.saturating_sub(1);
    }
}
