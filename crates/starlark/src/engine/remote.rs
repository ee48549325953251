//! Scripts in workers.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use tollgate_core::context::Context;
use tollgate_exec::worker::{Lease, Turn, WorkerError, Workers};

use super::Generation;
use super::outside::Outside;
use crate::host::{Call, Host, Reply};
use crate::protocol::{CodeId, Request, Response, read, write_reply, write_request};
use crate::sandbox::{Failed, Limits};

/// What a worker was sent.
#[derive(Debug, Default)]
pub(crate) struct Known {
    generation: u64,
    codes: HashSet<CodeId>,
}

/// How long a worker gets to compile something, beyond what the script's own limits allow.
const SLACK: Duration = Duration::from_millis(100);

/// The same while hooks are loaded or tested. Nobody waits for a decision then, and a hook that does
/// not load because the machine was busy closes its gates until the next load.
const SLACK_AT_LOAD: Duration = Duration::from_secs(2);

/// How much longer than it may compute a script may take by the clock on the wall: a busy machine is
/// no fault of the hook. The language holds it to what it computes; this is for what the language
/// does not interrupt.
const SCHEDULING: Duration = Duration::from_millis(150);

/// How long a script gets at the least to make something of a reply.
const LAST_WORD: Duration = Duration::from_millis(20);

/// The code of a hook: its script, its condition where that is part of it, and whether it may change
/// its payload.
pub(crate) type ProgramText<'a> = (&'a str, Option<&'a str>, bool);

/// Has a worker compile a hook, so that what is wrong with it shows when it is loaded.
pub(crate) fn load(
    workers: &Workers<Known>,
    generation: &Generation,
    id: CodeId,
    (script, when, may_mutate): ProgramText<'_>,
    limits: Limits,
) -> Result<(), NotCompiled> {
    let request = Request::Load {
        id,
        script: script.to_owned(),
        when: when.map(ToOwned::to_owned),
        may_mutate,
        limits,
    };
    match compile(workers, generation, id, &request, limits)? {
        Response::Loaded(loaded) => Ok(loaded?),
        other => Err(unexpected(&other).into()),
    }
}

/// Has a worker compile something while a load waits for it.
pub(crate) fn compile(
    workers: &Workers<Known>,
    generation: &Generation,
    id: CodeId,
    request: &Request,
    limits: Limits,
) -> Result<Response, NotCompiled> {
    let time = limits.time + SLACK_AT_LOAD;
    let lease = workers.lease(workers.limits().start).wait();
    let mut lease = lease.map_err(|error| NotCompiled::NoWorker(error.to_string()))?;
    if lease.state().generation != generation.number {
        let forget = write_request(&Request::Forget, "");
        lease.ask(&forget, time).wait().map_err(failed)?;
        *lease.state() = Known { generation: generation.number, codes: HashSet::new() };
    }
    let answer = lease.ask(&write_request(request, ""), time).wait().map_err(failed)?;
    lease.state().codes.insert(id);
    Ok(response(answer)?)
}

/// Puts one request to a worker, and answers what it asks, while the caller waits.
pub(crate) fn ask_once(
    workers: &Workers<Known>,
    request: &Request,
    payload: &str,
    limits: Limits,
    host: &dyn Host,
) -> Result<Response, NotCompiled> {
    let time = limits.time + SLACK_AT_LOAD;
    let lease = workers.lease(workers.limits().start).wait();
    let mut lease = lease.map_err(|error| NotCompiled::NoWorker(error.to_string()))?;
    let mut turn = lease.ask(&write_request(request, payload), time).wait().map_err(failed)?;
    while let Turn::Call(call) = turn {
        let reply = read(&call).and_then(|call| host.call(call));
        turn = lease.reply(&write_reply(&reply), time).wait().map_err(failed)?;
    }
    Ok(response(turn)?)
}

/// A conversation with a worker about code that it may have to be sent first.
pub(crate) struct Conversation<'a, C> {
    pub(crate) workers: &'a Workers<Known>,
    /// Who answers what the script asks.
    pub(crate) outside: Outside<'a, C>,
    pub(crate) limits: Limits,
}

impl<C: Context> Conversation<'_, C> {
    /// Puts a request about `id`, which `load` makes known to a worker that does not know it.
    pub(crate) async fn ask(
        &self,
        id: CodeId,
        load: impl Fn() -> Request,
        request: &Request,
        payload: &str,
    ) -> Result<Response, Failed> {
        let bytes = write_request(request, payload);
        let most = self.workers.limits().frame;
        if bytes.len() > most {
            let most = most / 1024 / 1024;
            return Err(Failed::new(format!(
                "the payload is larger than a hook may get, {most} MiB"
            )));
        }
        match self.attempt(id, &load, &bytes).await {
            // Somebody may have ended it while it was idle. A script that ends its own worker by
            // anything but its limits does so twice.
            Err(Ended::AtOnce(WorkerError::Died { .. })) => {
                self.attempt(id, &load, &bytes).await.map_err(Failed::from)
            }
            ended => ended.map_err(Failed::from),
        }
    }

    async fn attempt(
        &self,
        id: CodeId,
        load: &impl Fn() -> Request,
        bytes: &[u8],
    ) -> Result<Response, Ended> {
        let depth = usize::try_from(super::outside::depth(self.outside.cx)).unwrap_or(usize::MAX);
        if self.outside.left().is_zero() {
            return Err(Failed::new("its time was over before it could be asked").into());
        }
        let lease = self.workers.lease_nested(depth, self.outside.left());
        let mut lease = lease.await.map_err(Ended::AtOnce)?;
        self.prepare(&mut lease, id, load).await?;
        let mut own = self.limits.time;
        let mut begun = Instant::now();
        let first = lease.ask(bytes, (own + SCHEDULING).min(self.outside.left()));
        let mut turn = first.await.map_err(Ended::AtOnce)?;
        loop {
            own = own.saturating_sub(begun.elapsed());
            match turn {
                Turn::Answer(_) => return Ok(response(turn)?),
                Turn::Call(call) => {
                    let reply = write_reply(&self.reply(&call).await);
                    begun = Instant::now();
                    // Where what it asked for took all of its time, it may still say so.
                    let left = self.outside.left().max(LAST_WORD);
                    let time = (own + SCHEDULING).min(left);
                    turn = lease.reply(&reply, time).await.map_err(failed)?;
                }
            }
        }
    }

    async fn reply(&self, call: &[u8]) -> Reply {
        let call: Call = read(call)?;
        self.outside.answer(call).await
    }

    async fn prepare(
        &self,
        lease: &mut Lease<Known>,
        id: CodeId,
        load: &impl Fn() -> Request,
    ) -> Result<(), Ended> {
        let time = self.limits.time + SLACK;
        if lease.state().generation != self.outside.generation.number {
            let forget = write_request(&Request::Forget, "");
            lease.ask(&forget, time).await.map_err(Ended::AtOnce)?;
            *lease.state() =
                Known { generation: self.outside.generation.number, codes: HashSet::new() };
        }
        if !lease.state().codes.contains(&id) {
            let answer =
                lease.ask(&write_request(&load(), ""), time).await.map_err(Ended::AtOnce)?;
            match response(answer)? {
                Response::Loaded(Ok(())) | Response::Rules(Ok(_)) => {}
                Response::Loaded(Err(error)) | Response::Rules(Err(error)) => {
                    return Err(error.into());
                }
                other => return Err(unexpected(&other).into()),
            }
            lease.state().codes.insert(id);
        }
        Ok(())
    }
}

/// Why a conversation ended without an answer.
enum Ended {
    /// The worker ended before it had asked for anything: nothing has happened yet.
    AtOnce(WorkerError),
    Otherwise(Failed),
}

impl From<Failed> for Ended {
    fn from(failed: Failed) -> Self {
        Self::Otherwise(failed)
    }
}

impl From<Ended> for Failed {
    fn from(ended: Ended) -> Self {
        match ended {
            Ended::AtOnce(error) => failed(error),
            Ended::Otherwise(failed) => failed,
        }
    }
}

/// Why nothing was compiled.
pub(crate) enum NotCompiled {
    /// There is no worker to do it.
    NoWorker(String),
    /// It has an error.
    Failed(Failed),
}

impl From<Failed> for NotCompiled {
    fn from(failed: Failed) -> Self {
        Self::Failed(failed)
    }
}

fn response(turn: Turn) -> Result<Response, Failed> {
    match turn {
        Turn::Answer(bytes) => match read(&bytes).map_err(Failed::new)? {
            Response::Confused(why) => Err(Failed::new(why)),
            response => Ok(response),
        },
        Turn::Call(_) => Err(Failed::new("it asked for something while it was loaded")),
    }
}

pub(crate) fn unexpected(response: &Response) -> Failed {
    Failed::new(format!("the worker answered something else: {response:?}"))
}

/// What a worker's end means for the script in it.
#[allow(clippy::needless_pass_by_value)] // to be given to `map_err`
fn failed(error: WorkerError) -> Failed {
    Failed::new(match &error {
        WorkerError::TimedOut { .. } => "it took longer than it may".to_owned(),
        WorkerError::OutOfMemory { .. } => "it used more memory than a hook may".to_owned(),
        // Where the language asks for too much at once, it panics before anybody else can tell.
        WorkerError::Panicked { message }
            if message.contains("out of memory") || message.contains("capacity overflow") =>
        {
            "it used more memory than a hook may".to_owned()
        }
        error => error.to_string(),
    })
}
