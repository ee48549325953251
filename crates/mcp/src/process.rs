//! A server's process: started with the environment it needs, under a keeper that ends it with all it started, also when
//! our own process is killed.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::{oneshot, watch};
use tokio::time::timeout;
use tollgate_exec::{Command, Environment, ExecError, Service, Status};

use crate::tail::Tail;

/// What a program needs to run and to find its things. Everything else may be somebody's secret.
const PASSED_ON: [&str; 13] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LOGNAME",
    "PATH",
    "SHELL",
    "TERM",
    "TMPDIR",
    "TZ",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
];

/// How many bytes of its standard error are kept.
const STDERR: usize = 4 * 1024;

/// Time limit for the last words of a process that has ended to arrive, if something else holds
/// its standard error open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long a process has to end by itself when its input is closed, and again when it is asked.
const GRACE: Duration = Duration::from_millis(1500);

/// A process that runs. It is killed, with all it started, when this is dropped.
pub(crate) struct Process {
    service: Arc<Service>,
    ended: watch::Receiver<Option<String>>,
    stderr: Arc<Mutex<Tail>>,
}

/// Starts a program.
pub(crate) fn start(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    cwd: Option<&Path>,
) -> Result<(Process, Sender, Receiver), String> {
    let mut program = Command::new(command).environment(Environment::only(PASSED_ON));
    for arg in args {
        program = program.arg(arg);
    }
    for (name, value) in env {
        program = program.env(name, value);
    }
    if let Some(cwd) = cwd {
        if !cwd.is_dir() {
            return Err(format!("its directory {} is not there", cwd.display()));
        }
        program = program.cwd(cwd);
    }
    let (told, how) = oneshot::channel();
    let on_end = move |ended| {
        // Nobody may be interested any more.
        let _ = told.send(ended);
    };
    let (service, streams) = Service::start(&program, GRACE, on_end)
        .map_err(|error| format!("`{command}` cannot be run: {error}"))?;
    let service = Arc::new(service);
    let piped = |error: std::io::Error| format!("`{command}` has no pipes: {error}");
    let stdin = Sender::from_owned_fd(streams.stdin).map_err(piped)?;
    let stdout = Receiver::from_owned_fd(streams.stdout).map_err(piped)?;
    let stderr = Receiver::from_owned_fd(streams.stderr).map_err(piped)?;
    let tail = Arc::new(Mutex::new(Tail::new(STDERR)));
    let (told, ended) = watch::channel(None);
    let attended = Attended { command: command.to_owned(), service: service.clone(), how };
    tokio::spawn(attended.attend(stderr, tail.clone(), told));
    Ok((Process { service, ended, stderr: tail }, stdin, stdout))
}

/// A process, as the task sees it that waits for its end.
struct Attended {
    command: String,
    service: Arc<Service>,
    how: oneshot::Receiver<Result<Status, ExecError>>,
}

impl Attended {
    /// Reads what the process complains about, and tells when it has ended.
    async fn attend(
        mut self,
        mut stderr: Receiver,
        tail: Arc<Mutex<Tail>>,
        told: watch::Sender<Option<String>>,
    ) {
        let mut buffer = [0; 4096];
        let mut is_open = true;
        let how = loop {
            tokio::select! {
                how = &mut self.how => break how,
                read = stderr.read(&mut buffer), if is_open => {
                    is_open = keep(&tail, &buffer, &read);
                }
            }
        };
        let rest = async {
            while is_open {
                let read = stderr.read(&mut buffer).await;
                is_open = keep(&tail, &buffer, &read);
            }
        };
        let _ = timeout(LAST_WORDS, rest).await;
        told.send_replace(Some(match how {
            Ok(Ok(status)) => describe(status),
            Ok(Err(ExecError::Lost { .. })) | Err(_) => "it ended".to_owned(),
            Ok(Err(error)) => format!("`{}` cannot be run: {error}", self.command),
        }));
    }
}

impl Drop for Attended {
    fn drop(&mut self) {
        // Also when the runtime ends before the process does.
        self.service.kill();
    }
}

/// Returns whether there may be more.
fn keep(tail: &Mutex<Tail>, buffer: &[u8], read: &std::io::Result<usize>) -> bool {
    let Ok(size @ 1..) = *read else { return false };
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.push(buffer.get(..size).unwrap_or_default());
    true
}

fn describe(status: Status) -> String {
    match status {
        Status::Exited(code) => format!("it ended with exit status {code}"),
        Status::Signaled(signal) => format!("it was ended by signal {signal}"),
    }
}

impl Process {
    /// Ends it and all it started at once.
    pub(crate) fn kill(&self) {
        self.service.kill();
    }

    /// The handle of it, for the code that finds a reason to end it.
    pub(crate) fn service(&self) -> Arc<Service> {
        self.service.clone()
    }

    /// Ends it: in peace, if it goes when its input is closed or when it is asked.
    pub(crate) async fn end(&self) {
        if self.ended(GRACE).await.is_some() {
            return;
        }
        // It is asked now, and killed after the same time.
        self.service.end();
        if self.ended(GRACE * 2).await.is_none() {
            self.service.kill();
            self.ended(GRACE).await;
        }
    }

    /// How it ended, if it does within this time.
    pub(crate) async fn ended(&self, within: Duration) -> Option<String> {
        let mut ended = self.ended.clone();
        let how = timeout(within, ended.wait_for(Option::is_some)).await.ok()?.ok()?;
        how.clone()
    }

    /// The end of what it wrote to its standard error.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.lock().unwrap_or_else(PoisonError::into_inner).text()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.service.kill();
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("service", &self.service).finish_non_exhaustive()
    }
}
