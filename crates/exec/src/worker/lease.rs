//! A worker on loan, and one turn of the conversation with it.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::running::block_on;
use crate::worker::board::{Board, Look, Said, Side, kind};
use crate::worker::error::WorkerError;
use crate::worker::pool::Pool;
use crate::worker::process::Worker;
use crate::worker::queue::Held;

/// How long an answer is waited for without giving up the thread. Most are there by then, and to
/// be woken later takes about as long.
const MOMENT: Duration = Duration::from_micros(50);

/// A worker for one conversation at a time.
///
/// Dropping it gives the worker back. One that is in the middle of a conversation is killed
/// instead: nobody knows what state it is in.
pub struct Lease<T> {
    /// Taken when it is dropped.
    held: Option<Held<T>>,
    worker: Arc<Worker>,
    pool: Arc<Pool<T>>,
    nested: bool,
    phase: Phase,
}

/// How far the conversation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The host may ask.
    Open,
    /// The worker has the turn.
    Asked,
    /// The worker waits for the reply to its call.
    Called,
    /// The worker has been given up.
    Broken,
}

/// What a worker says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// It calls its host, and waits for the [reply](Lease::reply).
    Call(Vec<u8>),
    /// It has answered.
    Answer(Vec<u8>),
}

impl<T> Lease<T> {
    pub(crate) fn new(held: Held<T>, pool: Arc<Pool<T>>, nested: bool) -> Self {
        let worker = Arc::clone(&held.worker);
        Self { held: Some(held), worker, pool, nested, phase: Phase::Open }
    }

    /// The number of this worker. None that is started later has the same.
    pub fn id(&self) -> u64 {
        self.worker.id
    }

    /// Whether it can be asked or replied to.
    pub fn is_usable(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Called) && !self.worker.has_ended()
    }

    /// Sends a request. It begins at once, not when the future is polled; the worker has so much
    /// time for its first call or its answer.
    pub fn ask(&mut self, request: &[u8], time: Duration) -> Asking<'_, T> {
        self.turn(Phase::Open, "request", request, time)
    }

    /// Replies to a call. The worker has so much time until its next call or its answer.
    pub fn reply(&mut self, reply: &[u8], time: Duration) -> Asking<'_, T> {
        self.turn(Phase::Called, "reply", reply, time)
    }

    fn turn(
        &mut self,
        phase: Phase,
        what: &'static str,
        bytes: &[u8],
        time: Duration,
    ) -> Asking<'_, T> {
        let refused = self.post(phase, what, bytes).err();
        let deadline = Instant::now().checked_add(time);
        Asking { lease: self, refused, limit: time, deadline, looked: false, registered: false }
    }

    fn post(&mut self, phase: Phase, what: &'static str, bytes: &[u8]) -> Result<(), WorkerError> {
        if self.phase != phase {
            return Err(out_of_order(self.phase));
        }
        if let Some(error) = self.worker.why_ended() {
            self.phase = Phase::Broken;
            return Err(error);
        }
        let limit = self.worker.board.capacity();
        if bytes.len() > limit {
            return Err(WorkerError::TooLarge { what, bytes: bytes.len() as u64, limit });
        }
        let Some(held) = &mut self.held else { return Err(out_of_order(Phase::Broken)) };
        held.turn = held.turn.wrapping_add(2);
        held.large |= Board::is_large(bytes.len());
        self.worker.board.say(Side::Host, kind::SAID, bytes);
        self.worker.board.to_worker(held.turn);
        self.phase = Phase::Asked;
        Ok(())
    }

    /// The turn that was handed to the worker.
    fn handed(&self) -> u32 {
        self.held.as_ref().map_or(0, |held| held.turn)
    }

    /// The worker has handed the turn back.
    fn hear(&mut self) -> Result<Turn, WorkerError> {
        let Said { kind, length, bytes } = self.worker.board.hear_worker();
        let Some(held) = &mut self.held else { return Err(out_of_order(Phase::Broken)) };
        if held.large || Board::is_large(bytes.len()) {
            held.large = false;
            self.worker.board.shrink();
        }
        let limit = self.worker.board.capacity();
        let whole = bytes.len() as u64 == length;
        let too_large = |what| WorkerError::TooLarge { what, bytes: length, limit };
        match kind {
            kind::ANSWER if whole => {
                held.served = held.served.saturating_add(1);
                self.phase = Phase::Open;
                Ok(Turn::Answer(bytes))
            }
            kind::CALL if whole => {
                self.phase = Phase::Called;
                Ok(Turn::Call(bytes))
            }
            kind::LONG_ANSWER if !whole => {
                held.served = held.served.saturating_add(1);
                self.phase = Phase::Open;
                Err(too_large("answer"))
            }
            kind::LONG_CALL if !whole => Err(self.give_up(too_large("call"))),
            kind::PANIC if whole => {
                let message = String::from_utf8_lossy(&bytes).into_owned();
                Err(self.give_up(WorkerError::Panicked { message }))
            }
            _ => Err(self.give_up(WorkerError::Protocol { reason: GARBLED })),
        }
    }

    fn give_up(&mut self, error: WorkerError) -> WorkerError {
        self.phase = Phase::Broken;
        self.worker.kill();
        error
    }
}

impl<T: Default> Lease<T> {
    /// What its user has noted down about this worker: at first, the default.
    pub fn state(&mut self) -> &mut T {
        // There is always one before the drop.
        let held = self.held.get_or_insert_with(|| Held::new(Arc::clone(&self.worker)));
        held.note.get_or_insert_default()
    }
}

const GARBLED: &str = "what the worker said was garbled, and it was killed";

fn out_of_order(phase: Phase) -> WorkerError {
    WorkerError::Protocol {
        reason: match phase {
            Phase::Open => "there is no call to reply to: ask first",
            Phase::Called => "the worker waits for the reply to its call, not for a request",
            Phase::Asked | Phase::Broken => "this worker was given up: lease another",
        },
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        let Some(held) = self.held.take() else { return };
        if self.phase == Phase::Open && !self.worker.has_ended() {
            self.pool.give_back(Some(held), self.nested);
        } else {
            self.worker.kill();
            self.pool.give_back(None, self.nested);
        }
    }
}

impl<T> fmt::Debug for Lease<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lease")
            .field("id", &self.id())
            .field("phase", &self.phase)
            .finish_non_exhaustive()
    }
}

/// The worker has the turn. Resolves when it calls or answers, when it ends, or when its time is
/// up, which ends it.
///
/// Needs no particular async runtime, and none at all with [`wait`](Self::wait). Dropping it
/// before it has resolved kills the worker.
#[must_use = "dropping it kills the worker"]
pub struct Asking<'a, T> {
    lease: &'a mut Lease<T>,
    refused: Option<WorkerError>,
    limit: Duration,
    deadline: Option<Instant>,
    looked: bool,
    registered: bool,
}

impl<T> Asking<'_, T> {
    /// Waits for it, blocking this thread.
    pub fn wait(self) -> Result<Turn, WorkerError> {
        block_on(self)
    }

    fn finish(&mut self) -> Result<Turn, WorkerError> {
        if std::mem::take(&mut self.registered) && self.lease.worker.unregister() {
            // The answer came at the same moment, and the worker is gone.
            return Err(self.lease.give_up(WorkerError::TimedOut { limit: self.limit }));
        }
        self.lease.hear()
    }

    fn fail(&mut self, error: WorkerError) -> Result<Turn, WorkerError> {
        if std::mem::take(&mut self.registered) {
            self.lease.worker.unregister();
        }
        Err(self.lease.give_up(error))
    }
}

impl<T> Future for Asking<'_, T> {
    type Output = Result<Turn, WorkerError>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        if let Some(refused) = this.refused.take() {
            return Poll::Ready(Err(refused));
        }
        if this.lease.phase != Phase::Asked {
            return Poll::Ready(Err(out_of_order(this.lease.phase)));
        }
        let handed = this.lease.handed();
        if !std::mem::replace(&mut this.looked, true) {
            let moment = MOMENT.min(this.limit);
            match this.lease.worker.board.linger(handed, moment) {
                Look::Mine => return Poll::Ready(this.finish()),
                Look::Theirs => {}
                Look::Garbled => {
                    return Poll::Ready(this.fail(WorkerError::Protocol { reason: GARBLED }));
                }
            }
        }
        let first = !std::mem::replace(&mut this.registered, true);
        this.lease.worker.register(cx.waker(), this.deadline);
        this.lease.worker.board.want_bell();
        // Its end is looked for before its answer: what it has said before it ended counts.
        let ended = this.lease.worker.why_ended();
        let error = match this.lease.worker.board.look(handed) {
            Look::Mine => return Poll::Ready(this.finish()),
            Look::Garbled => Some(WorkerError::Protocol { reason: GARBLED }),
            Look::Theirs if this.lease.worker.timed_out() => {
                Some(WorkerError::TimedOut { limit: this.limit })
            }
            Look::Theirs => ended,
        };
        if let Some(error) = error {
            return Poll::Ready(this.fail(error));
        }
        if first {
            this.lease.pool.wake_by(this.deadline);
        }
        Poll::Pending
    }
}

impl<T> Drop for Asking<'_, T> {
    fn drop(&mut self) {
        if std::mem::take(&mut self.registered) {
            self.lease.worker.unregister();
        }
        if self.lease.phase == Phase::Asked {
            self.lease.worker.kill();
            self.lease.phase = Phase::Broken;
        }
    }
}

impl<T> fmt::Debug for Asking<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asking").field("lease", &self.lease).finish_non_exhaustive()
    }
}
