//! One command, from its start to its end.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;
use tollgate_exec::{Command, ExecError, Executor, Finished, Input, Limits, Running, Status};

use super::kept::Kept;
use super::line::{Line, Names, SCRIPT, Terminal, receive};
use super::{TaskEnd, TaskLimits};
use crate::tool::ToolFailure;

/// How long the rest of an output is waited for when its command has ended.
const REST: Duration = Duration::from_millis(500);

/// The most that can be typed into one command: whoever decides about it looks at all of it each time.
const TYPED: usize = 64 * 1024;

/// A command under way or ended.
#[derive(Debug)]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) command: String,
    pub(crate) cwd: PathBuf,
    pub(crate) began: Instant,
    /// The agent that has started it.
    pub(crate) agent: String,
    /// How many wait for its end, or have heard of it: nobody has to be told then.
    attended: AtomicUsize,
    kept: Mutex<Kept>,
    /// All that was typed into it.
    typed: Mutex<String>,
    terminal: Option<Terminal>,
    /// How it ended, once it has.
    end: watch::Sender<Option<(TaskEnd, Duration)>>,
    /// Set when it is to end.
    stop: watch::Sender<bool>,
}

/// What is to be run.
pub(crate) struct Job {
    pub(crate) script: String,
    pub(crate) cwd: PathBuf,
    pub(crate) variables: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    pub(crate) agent: String,
}

impl Task {
    /// Starts a command.
    pub(super) fn start(
        id: String,
        job: Job,
        executor: &Executor,
        limits: &TaskLimits,
    ) -> Result<Arc<Self>, ToolFailure> {
        let failed = |error: &dyn std::fmt::Display| {
            ToolFailure::Failed(format!("the command cannot be started: {error}"))
        };
        let shell = ["bash", "sh"].into_iter().find_map(tollgate_exec::find_program);
        let shell = shell.ok_or_else(|| failed(&"there is neither bash nor sh in PATH"))?;
        let line = Line::open().map_err(|error| failed(&error))?;
        let mut command = Command::shell("/bin/sh", SCRIPT)
            .arg("sh")
            .arg(&line.names.input)
            .arg(&line.names.output)
            .arg(&shell)
            .arg(&job.script)
            .cwd(&job.cwd)
            .environment(tollgate_exec::Environment::empty());
        for (name, value) in &job.variables {
            command = command.env(name, value);
        }
        let own = Limits { grace: limits.grace, ..Limits::default() };
        let running = executor.run(&command, Input::new(*b"", limits.time), own);
        let task = Arc::new(Self {
            id,
            command: job.script,
            cwd: job.cwd,
            began: Instant::now(),
            agent: job.agent,
            attended: AtomicUsize::new(0),
            kept: Mutex::new(Kept::new(limits.output)),
            typed: Mutex::default(),
            terminal: line.terminal,
            end: watch::Sender::new(None),
            stop: watch::Sender::new(false),
        });
        let attendant = Attendant {
            task: Arc::clone(&task),
            output: Some(line.output),
            names: Some(line.names),
            has_begun: false,
            grace: limits.grace,
        };
        tokio::spawn(attendant.attend(running));
        Ok(task)
    }

    pub(crate) fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How it ended and how long it took, if it has ended.
    pub(crate) fn ended(&self) -> Option<(TaskEnd, Duration)> {
        self.end.borrow().clone()
    }

    /// Waits for its end, no longer than this.
    pub(crate) async fn wait(&self, time: Duration) -> Option<(TaskEnd, Duration)> {
        let mut end = self.end.subscribe();
        // The sender is ours, so there is nothing but the time that could fail.
        let waited = timeout(time, end.wait_for(Option::is_some)).await;
        waited.ok().and_then(Result::ok).and_then(|end| end.clone())
    }

    /// Waits for its end as somebody who then knows of it.
    pub(crate) async fn attend(&self, time: Duration) -> Option<(TaskEnd, Duration)> {
        let attending = Attending::new(self);
        let end = self.wait(time).await;
        if end.is_some() {
            attending.for_good();
        }
        end
    }

    pub(super) fn is_attended(&self) -> bool {
        self.attended.load(Ordering::SeqCst) > 0
    }

    /// Tells it to end. It does in the background: asked first, then killed, with all it started.
    pub(crate) fn kill(&self) {
        self.stop.send_replace(true);
    }

    /// All that was typed into it so far.
    pub(crate) fn typed(&self) -> String {
        self.typed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Types into it.
    pub(crate) async fn type_in(&self, text: &str, time: Duration) -> Result<(), String> {
        let Some(terminal) = &self.terminal else {
            return Err("it has no input: there are no terminals on this machine".to_owned());
        };
        {
            // Before it is written: a part of it may get there even if not all of it does.
            let mut typed = self.typed.lock().unwrap_or_else(PoisonError::into_inner);
            if typed.len() + text.len() > TYPED {
                return Err(format!("more than {TYPED} bytes were typed into it; start another"));
            }
            typed.push_str(text);
        }
        match timeout(time, terminal.write(text.as_bytes())).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) => Err(format!("its input cannot be written to: {error}")),
            Err(_) => Err(format!("it did not take all of its input within {time:?}")),
        }
    }
}

/// Somebody who waits for the end of a command.
struct Attending<'a>(&'a AtomicUsize);

impl<'a> Attending<'a> {
    fn new(task: &'a Task) -> Self {
        task.attended.fetch_add(1, Ordering::SeqCst);
        Self(&task.attended)
    }

    /// They know now.
    fn for_good(self) {
        std::mem::forget(self);
    }
}

impl Drop for Attending<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Takes what a command prints, and sees it to its end.
struct Attendant {
    task: Arc<Task>,
    output: Option<pipe::Receiver>,
    /// Until the command has found its ends.
    names: Option<Names>,
    /// Whether the byte has come by which the command says so.
    has_begun: bool,
    grace: Duration,
}

impl Attendant {
    async fn attend(mut self, mut running: Running) {
        // If this task is itself dropped, with its runtime, whoever waits is told as well.
        let mut end = Ending { task: Arc::clone(&self.task), how: Some(TaskEnd::Killed) };
        let mut stop = self.task.stop.subscribe();
        let mut buffer = vec![0; 16 * 1024];
        let mut typed = vec![0; 1024];
        let task = Arc::clone(&self.task);
        let result = loop {
            let prompts = async {
                match &task.terminal {
                    Some(terminal) => terminal.read(&mut typed).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                result = &mut running => break Some(result),
                _ = stop.wait_for(|stop| *stop) => break None,
                read = next(self.output.as_ref(), &mut buffer) => self.take(&buffer, read),
                Ok(read) = prompts => task.kept().push(typed.get(..read).unwrap_or_default()),
            }
        };
        let (how, strays) = match result {
            Some(result) => self.read_result(result),
            None => (TaskEnd::Killed, 0),
        };
        end.how = Some(how);
        // Ends what is still there.
        drop(running);
        self.names = None;
        // All who could write are gone, or will be; then the pipe ends.
        let patience = if end.how == Some(TaskEnd::Killed) { self.grace + REST } else { REST };
        let _ = timeout(patience, async {
            while self.output.is_some() {
                let read = next(self.output.as_ref(), &mut buffer).await;
                self.take(&buffer, read);
            }
        })
        .await;
        if strays > 0 {
            let processes = crate::text::count(strays, "process", "processes");
            let note = format!(
                "(ended with the command: {processes} that it had left in the background; what is \
                 to go on must be waited for by its command, which then goes on as a task)\n"
            );
            self.task.kept().push(note.as_bytes());
        }
    }

    fn take(&mut self, buffer: &[u8], read: usize) {
        let mut bytes = buffer.get(..read).unwrap_or_default();
        if bytes.is_empty() {
            self.output = None;
            return;
        }
        if !self.has_begun {
            self.has_begun = true;
            self.names = None;
            bytes = bytes.get(1..).unwrap_or_default();
        }
        self.task.kept().push(bytes);
    }

    /// How it ended, and how many processes it had left behind.
    fn read_result(&self, result: Result<Finished, ExecError>) -> (TaskEnd, usize) {
        let complain = |bytes: &[u8]| {
            // Printed before it had its own outputs, or by what starts it.
            if !bytes.is_empty() {
                self.task.kept().push(bytes);
            }
        };
        match result {
            Ok(finished) => {
                complain(&finished.stderr);
                let end = match finished.status {
                    Status::Exited(code) => TaskEnd::Exited(code),
                    Status::Signaled(signal) => TaskEnd::Signaled(signal),
                };
                (end, usize::try_from(finished.strays).unwrap_or_default())
            }
            Err(ExecError::TimedOut { limit, stderr, .. }) => {
                complain(&stderr);
                (TaskEnd::TimedOut(limit), 0)
            }
            Err(error) => (TaskEnd::Failed(error.to_string()), 0),
        }
    }
}

/// What comes next of the output; nothing at its end. Pending where it has ended already.
async fn next(output: Option<&pipe::Receiver>, buffer: &mut [u8]) -> usize {
    match output {
        Some(output) => receive(output, buffer).await.unwrap_or(0),
        None => std::future::pending().await,
    }
}

/// Says how it ended, when everything else is done.
struct Ending {
    task: Arc<Task>,
    how: Option<TaskEnd>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        if let Some(how) = self.how.take() {
            self.task.end.send_replace(Some((how, self.task.began.elapsed())));
        }
    }
}
