//! A command as the handler of an event: written to, run and read by its dialect's codec.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_core::context::Context;
use tollgate_core::error::BoxError;
use tollgate_core::hook::{Ask, BoxFuture, Handle, HookResult};
use tollgate_core::neutral::NotAnAnswer;
use tollgate_core::{Event, Kind};
use tollgate_exec::{Command, Environment, ExecError, Executor, Finished, Input, Limits, Status};

use crate::dialect::host::Condition;
use crate::dialect::{Call, FileDialect, Output, WireError, excerpt};
use crate::trust::{Seal, Tampered};

/// How long a handler gets, once its time is over, to be ended in good order.
pub(crate) const GRACE: Duration = Duration::from_millis(400);

/// What all handlers of a load have in common.
#[derive(Debug, Clone)]
pub(crate) struct Surroundings {
    pub(crate) executor: Executor,
    pub(crate) limits: Limits,
    pub(crate) project: Option<PathBuf>,
    pub(crate) interactive: bool,
}

/// What all handlers of a file have in common.
#[derive(Debug)]
pub(crate) struct Origin {
    pub(crate) cwd: PathBuf,
    pub(crate) environment: Environment,
    /// Variables that are set in any case.
    pub(crate) variables: Vec<(&'static str, OsString)>,
    pub(crate) seal: Option<Arc<Seal>>,
}

/// A handler that is run as a process.
pub(crate) struct CommandHook {
    pub(crate) name: String,
    pub(crate) dialect: &'static dyn FileDialect,
    pub(crate) script: String,
    pub(crate) shell: PathBuf,
    pub(crate) origin: Arc<Origin>,
    /// Which of the events it is really about.
    pub(crate) condition: Option<Arc<Condition>>,
    /// Variables of its own.
    pub(crate) variables: Vec<(String, String)>,
    /// The script as a command, made when it first runs.
    pub(crate) command: OnceLock<Command>,
    pub(crate) time: Duration,
    pub(crate) surroundings: Arc<Surroundings>,
}

/// Why a handler gave no answer.
#[derive(Debug, thiserror::Error)]
enum Unanswered {
    #[error(transparent)]
    Tampered(#[from] Tampered),
    #[error("it {error}{}", said(.error.stderr()))]
    NotRun { error: ExecError },
    #[error("it {status}{}", said(.stderr))]
    Killed { status: Status, stderr: Vec<u8> },
    #[error(transparent)]
    Unreadable(#[from] WireError),
    #[error(transparent)]
    NotOfTheEvent(#[from] NotAnAnswer),
    #[error("{0} has no such event")]
    NoSuchEvent(Kind),
}

/// The end of what a program said, for the person.
fn said(stderr: &[u8]) -> String {
    let said = excerpt(stderr);
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}

impl CommandHook {
    /// A file may have a thousand hooks of which few ever run, so this waits until one does.
    fn command(&self) -> &Command {
        self.command.get_or_init(|| {
            let Origin { cwd, environment, variables, .. } = &*self.origin;
            let mut command =
                Command::shell(&self.shell, &self.script).cwd(cwd).environment(environment.clone());
            for (name, value) in &self.variables {
                command = command.env(name, value);
            }
            for (name, value) in variables {
                command = command.env(name, value);
            }
            command
        })
    }

    async fn run<E: Event>(&self, ask: Ask<'_, E>) -> Result<tollgate_core::Answer<E>, Unanswered> {
        let surroundings = &*self.surroundings;
        let event = ask.event.view();
        let session = ask.cx.session().info();
        let input =
            self.dialect.encode_event(event, session).ok_or(Unanswered::NoSuchEvent(E::KIND))?;
        if self.condition.as_ref().is_some_and(|condition| !condition.holds(&input)) {
            return Ok(tollgate_core::Answer::none());
        }
        if let Some(seal) = &self.origin.seal {
            seal.check()?;
        }
        let project = surroundings.project.as_deref().map(Path::to_string_lossy);
        let call = Call {
            hook: &self.name,
            session,
            project: project.as_deref(),
            interactive: surroundings.interactive,
        };
        let variables = self.dialect.environment(event, &call).into_iter();
        let mut env: Vec<_> =
            variables.map(|(name, value)| (name.to_owned(), value.replace('\0', ""))).collect();
        if ask.reask {
            env.push(("TOLLGATE_REASK".to_owned(), "1".to_owned()));
        }
        let mut input = Input::new(input.to_string().into_bytes(), self.time.min(ask.limit));
        input.env = env;
        let running = surroundings.executor.run(self.command(), input, surroundings.limits);
        let Finished { status, stdout, stderr, .. } =
            running.await.map_err(|error| Unanswered::NotRun { error })?;
        // It may have waited for a free place, and been changed meanwhile.
        if let Some(seal) = &self.origin.seal {
            seal.check()?;
        }
        let code = match status {
            Status::Exited(code) => code,
            Status::Signaled(_) => return Err(Unanswered::Killed { status, stderr }),
        };
        let answer = self.dialect.answer_to(event, &Output { code, stdout, stderr })?;
        Ok(answer.into_answer()?)
    }
}

impl<E: Event> Handle<E> for CommandHook {
    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        Box::pin(async move { self.run(ask).await.map_err(|error| Box::new(error) as BoxError) })
    }
}

/// Stands for a file that does not load: it cannot decide, so it closes what its dialect can close.
pub(crate) struct Closed {
    pub(crate) why: String,
}

impl<E: Event> Handle<E> for Closed {
    fn handle<'a>(&'a self, _ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        Box::pin(std::future::ready(Err(self.why.as_str().into())))
    }
}
