//! A server's process: started with the environment it needs, ended with all of its group.

use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

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

/// How long the last words of a process that has ended may take to arrive, when something else
/// holds its standard error open.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// How long a process has to end by itself when its input is closed, and again when it is asked.
const GRACE: Duration = Duration::from_millis(1500);

/// A process that runs. It is killed, with its group, when this is dropped.
pub(crate) struct Process {
    group: Arc<Group>,
    ended: watch::Receiver<Option<String>>,
    stderr: Arc<Mutex<Tail>>,
}

/// Starts a program.
pub(crate) fn start(
    command: &str,
    args: &[String],
    env: &BTreeMap<String, String>,
    cwd: Option<&Path>,
) -> Result<(Process, ChildStdin, ChildStdout), String> {
    let mut program = Command::new(command);
    program
        .args(args)
        .env_clear()
        .envs(PASSED_ON.iter().filter_map(|name| Some((name, env::var_os(name)?))))
        .envs(env)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(cwd) = cwd {
        program.current_dir(cwd);
    }
    let mut child = program.spawn().map_err(|error| match cwd {
        Some(cwd) if !cwd.is_dir() => format!("its directory {} is not there", cwd.display()),
        _ => format!("`{command}` cannot be run: {error}"),
    })?;
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
        return Err(format!("`{command}` has no pipes"));
    };
    let pid = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    let group = Arc::new(Group { pid, is_gone: AtomicBool::new(false) });
    let tail = Arc::new(Mutex::new(Tail::new(STDERR)));
    let (told, ended) = watch::channel(None);
    tokio::spawn(attend(child, stderr, group.clone(), tail.clone(), told));
    Ok((Process { group, ended, stderr: tail }, stdin, stdout))
}

/// Reads what the process complains about, and clears up when it ends.
async fn attend(
    mut child: Child,
    mut stderr: ChildStderr,
    group: Arc<Group>,
    tail: Arc<Mutex<Tail>>,
    told: watch::Sender<Option<String>>,
) {
    // Also when the runtime ends before the process does.
    let _killed = KillOnDrop(group.clone());
    let mut buffer = [0; 4096];
    let mut is_open = true;
    let status = loop {
        tokio::select! {
            status = child.wait() => break status,
            read = stderr.read(&mut buffer), if is_open => is_open = keep(&tail, &buffer, &read),
        }
    };
    // What it left behind in its group. The group's number stays taken as long as there is
    // somebody in it, and numbers come round again only after all others.
    group.kill();
    let _ = timeout(LAST_WORDS, group.emptied()).await;
    group.is_gone.store(true, Ordering::Release);
    let rest = async {
        while is_open {
            let read = stderr.read(&mut buffer).await;
            is_open = keep(&tail, &buffer, &read);
        }
    };
    let _ = timeout(LAST_WORDS, rest).await;
    told.send_replace(Some(status.map_or_else(|error| error.to_string(), describe)));
}

/// Whether there may be more.
fn keep(tail: &Mutex<Tail>, buffer: &[u8], read: &std::io::Result<usize>) -> bool {
    let Ok(size @ 1..) = *read else { return false };
    let mut tail = tail.lock().unwrap_or_else(PoisonError::into_inner);
    tail.push(buffer.get(..size).unwrap_or_default());
    true
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("it ended with exit status {code}"),
        (None, Some(signal)) => format!("it was ended by signal {signal}"),
        (None, None) => "it ended".to_owned(),
    }
}

impl Process {
    /// Ends it and its group at once.
    pub(crate) fn kill(&self) {
        self.group.kill();
    }

    /// Its group, for whoever finds a reason to end it.
    pub(crate) fn group(&self) -> Arc<Group> {
        self.group.clone()
    }

    /// Ends it: in peace, if it goes when its input is closed or when it is asked.
    pub(crate) async fn end(&self) {
        if self.ended(GRACE).await.is_some() {
            return;
        }
        self.group.signal(Signal::TERM);
        if self.ended(GRACE).await.is_some() {
            return;
        }
        self.group.kill();
        self.ended(GRACE).await;
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
        self.group.kill();
    }
}

impl fmt::Debug for Process {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Process").field("pid", &self.group.pid).finish_non_exhaustive()
    }
}

/// The process group that a server runs in.
#[derive(Debug)]
pub(crate) struct Group {
    pid: Option<Pid>,
    is_gone: AtomicBool,
}

impl Group {
    pub(crate) fn kill(&self) {
        self.signal(Signal::KILL);
    }

    /// Waits until nobody is left in it. Being killed takes a moment, and nobody tells us when
    /// grandchildren are gone.
    async fn emptied(&self) {
        while self.pid.is_some_and(|pid| test_kill_process_group(pid).is_ok()) {
            sleep(Duration::from_millis(2)).await;
        }
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.pid
            && !self.is_gone.load(Ordering::Acquire)
        {
            // It may have ended by itself, which is as good.
            let _ = kill_process_group(pid, signal);
        }
    }
}

struct KillOnDrop(Arc<Group>);

impl Drop for KillOnDrop {
    fn drop(&mut self) {
        self.0.kill();
    }
}
