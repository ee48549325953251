//! Commands in the background, and when they end.

mod kept;
mod line;
mod task;

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tollgate_exec::{Executor, Status};

pub(crate) use task::{Job, Task};

use crate::tool::ToolFailure;

/// How much commands may take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskLimits {
    /// How many run at once.
    pub at_once: usize,
    /// How long one may run, in the background too.
    pub time: Duration,
    /// The longest that a call waits for a command, whatever it asks for.
    pub wait: Duration,
    /// How long a call waits for a command if it does not say.
    pub default_wait: Duration,
    /// How many bytes are kept of an output: half from its beginning, half from its end.
    pub output: usize,
    /// How many that have ended are remembered.
    pub remembered: usize,
    /// The time between being asked to end and being killed.
    pub grace: Duration,
}

impl Default for TaskLimits {
    fn default() -> Self {
        Self {
            at_once: 16,
            time: Duration::from_hours(12),
            wait: Duration::from_mins(10),
            default_wait: Duration::from_secs(30),
            output: 32 * 1024,
            remembered: 64,
            grace: Duration::from_secs(2),
        }
    }
}

/// How a command ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TaskEnd {
    /// It exited with this code.
    Exited(i32),
    /// This signal ended it.
    Signaled(i32),
    /// It was told to end.
    Killed,
    /// It had run for this long, which is the limit.
    TimedOut(Duration),
    /// It could not be run, for this reason.
    Failed(String),
}

impl TaskEnd {
    /// Whether it exited with code 0.
    pub fn is_success(&self) -> bool {
        matches!(self, Self::Exited(0))
    }
}

impl fmt::Display for TaskEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => Status::Exited(*code).fmt(f),
            Self::Signaled(signal) => Status::Signaled(*signal).fmt(f),
            Self::Killed => f.write_str("was ended on request"),
            Self::TimedOut(limit) => write!(f, "was ended after {limit:?}, which is the limit"),
            Self::Failed(why) => write!(f, "could not be run: {why}"),
        }
    }
}

/// A command that has ended in the background.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Ended {
    /// The id that the model knows it by.
    pub id: String,
    /// The command.
    pub command: String,
    /// How it ended.
    pub end: TaskEnd,
    /// The agent that has started it.
    pub agent: String,
}

/// A command into which something may be typed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Typing {
    /// The command.
    pub command: String,
    /// Where it was started.
    pub cwd: std::path::PathBuf,
    /// All that was typed into it so far.
    pub typed: String,
}

/// The commands of a session. Cheap to clone; when the last clone is dropped, what still runs is
/// ended, with all it started.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// use tollgate_tools::{TaskLimits, Tasks};
///
/// let tasks = Tasks::new(TaskLimits::default());
/// assert!(tasks.idle());
/// tasks.shutdown().await;
/// # }
/// ```
#[derive(Clone)]
pub struct Tasks {
    shared: Arc<Shared>,
}

struct Shared {
    limits: TaskLimits,
    executor: Executor,
    state: Mutex<State>,
    ended: broadcast::Sender<Ended>,
    /// How many run.
    running: Arc<watch::Sender<usize>>,
}

#[derive(Default)]
struct State {
    /// In the order in which they began.
    tasks: Vec<Arc<Task>>,
    number: u64,
    is_closed: bool,
}

impl Tasks {
    /// None yet.
    pub fn new(limits: TaskLimits) -> Self {
        Self {
            shared: Arc::new(Shared {
                executor: Executor::new(limits.at_once.max(1)),
                limits,
                state: Mutex::default(),
                ended: broadcast::Sender::new(64),
                running: Arc::new(watch::Sender::new(0)),
            }),
        }
    }

    /// Whether nothing runs.
    pub fn idle(&self) -> bool {
        *self.shared.running.borrow() == 0
    }

    /// Waits until nothing runs.
    pub async fn wait_idle(&self) {
        // It cannot be closed: the sender is held here.
        let _ = self.shared.running.subscribe().wait_for(|running| *running == 0).await;
    }

    /// Tells of every command that ends in the background from now on, unless `manage_task` was just waiting for its
    /// end. Whoever does not listen for long loses the oldest.
    pub fn subscribe(&self) -> broadcast::Receiver<Ended> {
        self.shared.ended.subscribe()
    }

    /// What a command in the background runs, and what was typed into it: whoever decides about what is typed next has to
    /// know both. None where no such command runs.
    pub fn typing(&self, id: &str) -> Option<Typing> {
        let task = self.get(id).filter(|task| task.ended().is_none())?;
        let (command, cwd) = (task.command.clone(), task.cwd.clone());
        Some(Typing { command, cwd, typed: task.typed() })
    }

    /// Ends all commands and waits until they are gone; none can be started any more. For the end
    /// of a session.
    pub async fn shutdown(&self) {
        let tasks = {
            let mut state = self.lock();
            state.is_closed = true;
            state.tasks.clone()
        };
        for task in &tasks {
            task.kill();
        }
        let patience = self.shared.limits.grace + Duration::from_secs(2);
        let _ = tokio::time::timeout(patience, self.wait_idle()).await;
    }

    pub(crate) fn limits(&self) -> &TaskLimits {
        &self.shared.limits
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.shared.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a command. It is ended when the guard is dropped, unless that has let it go.
    pub(crate) fn start(&self, job: Job) -> Result<Foreground, ToolFailure> {
        let limits = &self.shared.limits;
        let mut state = self.lock();
        if state.is_closed {
            return Err(ToolFailure::Failed("the session has ended".to_owned()));
        }
        let running = state.tasks.iter().filter(|task| task.ended().is_none()).count();
        if running >= limits.at_once {
            return Err(ToolFailure::Failed(format!(
                "{running} commands are running, which is the limit; end one with manage_task, or \
                 wait for it"
            )));
        }
        state.number += 1;
        let id = format!("task-{}", state.number);
        let task = Task::start(id, job, &self.shared.executor, limits)?;
        let count = Arc::clone(&self.shared.running);
        count.send_modify(|running| *running += 1);
        let (watched, ended) = (Arc::clone(&task), self.shared.ended.clone());
        let is_waited_for = watch::Sender::new(true);
        let in_front = is_waited_for.subscribe();
        // The task has its own notice of its end, also when its runtime goes.
        let counted = Counted(count);
        tokio::spawn(async move {
            let end = watched.wait(Duration::MAX).await;
            drop(counted);
            if let Some((end, _)) = end
                && !*in_front.borrow()
                && !watched.is_attended()
            {
                let (id, command) = (watched.id.clone(), watched.command.clone());
                let told = Ended { id, command, end, agent: watched.agent.clone() };
                // Nobody has to listen.
                let _ = ended.send(told);
            }
        });
        state.tasks.push(Arc::clone(&task));
        Ok(Foreground { tasks: self.clone(), task, is_waited_for })
    }

    /// Those that run or are remembered.
    pub(crate) fn all(&self) -> Vec<Arc<Task>> {
        self.lock().tasks.clone()
    }

    pub(crate) fn get(&self, id: &str) -> Option<Arc<Task>> {
        self.lock().tasks.iter().find(|task| task.id == id).cloned()
    }

    fn forget(&self, task: &Arc<Task>) {
        self.lock().tasks.retain(|other| !Arc::ptr_eq(other, task));
    }

    /// Of those that have ended, only the last are remembered.
    fn tidy(&self) {
        let mut state = self.lock();
        let ended = state.tasks.iter().filter(|task| task.ended().is_some()).count();
        let mut over = ended.saturating_sub(self.shared.limits.remembered);
        state.tasks.retain(|task| {
            let goes = over > 0 && task.ended().is_some();
            over -= usize::from(goes);
            !goes
        });
    }
}

impl fmt::Debug for Tasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tasks").field("running", &*self.shared.running.borrow()).finish()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        for task in &state.tasks {
            task.kill();
        }
    }
}

/// Counts a command that runs.
struct Counted(Arc<watch::Sender<usize>>);

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.send_modify(|running| *running = running.saturating_sub(1));
    }
}

/// A command that a call waits for.
pub(crate) struct Foreground {
    tasks: Tasks,
    pub(crate) task: Arc<Task>,
    is_waited_for: watch::Sender<bool>,
}

impl Foreground {
    /// Lets it go on in the background, unless it has ended this moment. Returns whether it goes
    /// on.
    pub(crate) fn let_go(&self) -> bool {
        self.is_waited_for.send_replace(false);
        // Whoever ended before that saw itself in the foreground, and told nobody.
        if self.task.ended().is_some() {
            self.tasks.forget(&self.task);
            return false;
        }
        self.tasks.tidy();
        true
    }
}

impl Drop for Foreground {
    fn drop(&mut self) {
        if *self.is_waited_for.borrow() {
            self.task.kill();
            self.tasks.forget(&self.task);
        }
    }
}
