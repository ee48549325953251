//! What runs the scripts of hook files: the plug for [`tollgate_config`].

mod lazy;
pub(crate) mod load;
pub(crate) mod local;
pub(crate) mod outside;
mod policy;
pub(crate) mod remote;

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_config::script::{Listed, ScriptEngine, ScriptLoad};
use tollgate_config::settings::{Host, Settings};
use tollgate_exec::worker::{Start, WorkerError, Workers};
use tollgate_fetch::{Allowlist, Client};

use crate::analysis::bounded;
use crate::protocol::CodeId;
use crate::sandbox::Limits;
use crate::tools::HookTools;
use lazy::LazyLoad;
use load::Load;
pub(crate) use remote::Known;

/// How long a script may compute that says nothing else.
pub const DEFAULT_TIME: Duration = Duration::from_millis(100);

/// How long a hook may take that asks the web or calls tools, and says nothing else.
pub const DEFAULT_TIME_OUTSIDE: Duration = Duration::from_secs(10);

/// How many function calls and rounds of loops a script may make.
pub const STEPS: u64 = 1_000_000;

/// How much memory a script may use beyond what its worker needs by itself.
pub const MEMORY: usize = 16 * 1024 * 1024;

/// Runs the scripts of Markdown hooks and policy files.
///
/// A script that is known to be cheap whatever it is given (see [`bounded`](mod@crate::analysis::bounded)) runs
/// in this process. Every other runs in a worker: a process of its own, kept warm, whose time and
/// memory the operating system limits. This program can be its own worker where it calls
/// [`worker::init`](crate::worker::init) at the top of `main`; else a program that does can be
/// named. Without either, hooks that need a worker do not load.
///
/// ```no_run
/// use tollgate_config::hooks::Hooks;
/// use tollgate_config::layers::Places;
/// use tollgate_config::load::Setup;
/// use tollgate_starlark::Starlark;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     tollgate_starlark::worker::init();
///     let places = Places::of_this_process(Some("/work/project".into()));
///     let hooks = Hooks::open(Setup::new(places).scripts(Starlark::new()))?;
///     # let _ = hooks;
///     Ok(())
/// }
/// ```
#[derive(Clone)]
pub struct Starlark {
    shared: Arc<Shared>,
}

/// Where scripts run.
enum Isolation {
    /// Those known to be cheap here, the others in workers; none where there can be none.
    Workers(Result<Workers<Known>, WorkerError>),
    /// All here.
    InProcess,
}

/// What all hooks of an engine share.
pub(crate) struct Shared {
    isolation: Isolation,
    /// Whether those known to be cheap run in workers as well.
    isolate_all: bool,
    tools: Option<Arc<dyn HookTools>>,
    loads: AtomicU64,
    codes: AtomicU64,
}

impl Default for Starlark {
    fn default() -> Self {
        Self::new()
    }
}

impl Starlark {
    /// With this program as its own worker.
    pub fn new() -> Self {
        Self::with(Isolation::Workers(Start::this_program().map(workers)))
    }

    /// With another program as the worker: one that calls
    /// [`worker::init`](crate::worker::init).
    pub fn with_worker(program: impl Into<std::path::PathBuf>) -> Self {
        Self::with(Isolation::Workers(Ok(workers(Start::program(program)))))
    }

    /// Everything in this process.
    ///
    /// The limits are then the language's own. They stop a loop, and neither one operation that
    /// makes a text of gigabytes nor what follows of it. For hooks one has written oneself, and for
    /// a process that is itself under limits.
    pub fn in_process() -> Self {
        Self::with(Isolation::InProcess)
    }

    fn with(isolation: Isolation) -> Self {
        let shared = Shared {
            isolation,
            isolate_all: false,
            tools: None,
            loads: AtomicU64::new(0),
            codes: AtomicU64::new(0),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Offers tools to hooks.
    ///
    /// # Panics
    ///
    /// Never: an engine that is in use already is copied.
    #[must_use]
    pub fn tools(self, tools: Arc<dyn HookTools>) -> Self {
        self.change(|shared| shared.tools = Some(tools))
    }

    /// Runs every script in a worker, also those known to be cheap.
    #[must_use]
    pub fn isolate_all(self) -> Self {
        self.change(|shared| shared.isolate_all = true)
    }

    pub(crate) fn workers(&self) -> Option<Workers<Known>> {
        self.shared.workers()
    }

    fn change(self, change: impl FnOnce(&mut Shared)) -> Self {
        let mut shared = match Arc::try_unwrap(self.shared) {
            Ok(shared) => shared,
            Err(shared) => Shared {
                isolation: match &shared.isolation {
                    Isolation::Workers(Ok(workers)) => Isolation::Workers(Ok(workers.clone())),
                    Isolation::Workers(Err(_)) => {
                        Isolation::Workers(Start::this_program().map(workers))
                    }
                    Isolation::InProcess => Isolation::InProcess,
                },
                isolate_all: shared.isolate_all,
                tools: shared.tools.clone(),
                loads: AtomicU64::new(shared.loads.load(Ordering::Relaxed)),
                codes: AtomicU64::new(shared.codes.load(Ordering::Relaxed)),
            },
        };
        change(&mut shared);
        Self { shared: Arc::new(shared) }
    }
}

/// What a worker may keep from one script to the next: patterns, and room that is in pieces.
const KEPT: usize = 4 * 1024 * 1024;

fn workers(start: Start) -> Workers<Known> {
    let limits = tollgate_exec::worker::Limits {
        memory: (MEMORY + KEPT) as u64,
        ..tollgate_exec::worker::Limits::default()
    };
    Workers::for_this_machine(start, limits)
}

impl Shared {
    fn workers(&self) -> Option<Workers<Known>> {
        match &self.isolation {
            Isolation::Workers(Ok(workers)) => Some(workers.clone()),
            Isolation::Workers(Err(_)) | Isolation::InProcess => None,
        }
    }

    fn next_code(&self) -> CodeId {
        self.codes.fetch_add(1, Ordering::Relaxed) + 1
    }
}

/// What the hooks of one load share.
pub(crate) struct Generation {
    pub(crate) shared: Arc<Shared>,
    /// Its place among the loads; a worker forgets the code of others.
    pub(crate) number: u64,
    /// Made when a hook first asks the web: few do, and it takes its time.
    client: OnceLock<Client>,
    /// Whom hooks may ask.
    allow: Vec<Host>,
    /// All hooks, for those that govern the others.
    pub(crate) catalogue: OnceLock<Arc<[Listed]>>,
    pub(crate) otherwise: tollgate_core::policy::Otherwise,
}

impl Generation {
    /// What asks the web.
    pub(crate) fn client(&self) -> &Client {
        self.client.get_or_init(|| {
            let permit = Allowlist::new(self.allow.clone(), Host::allows);
            Client::new(tollgate_fetch::Limits::default(), permit)
        })
    }

    /// The workers, where there are any.
    pub(crate) fn workers(&self) -> Option<Workers<Known>> {
        self.shared.workers()
    }

    /// Whether everything is to run here.
    pub(crate) fn is_in_process(&self) -> bool {
        matches!(self.shared.isolation, Isolation::InProcess)
    }
}

impl ScriptEngine for Starlark {
    fn load<'a>(&'a self, settings: &Settings) -> Box<dyn ScriptLoad + 'a> {
        Box::new(Load::new(&self.shared, settings))
    }

    fn load_lazily<'a>(&'a self, settings: &Settings) -> Box<dyn ScriptLoad + 'a> {
        Box::new(LazyLoad::new(Load::new(&self.shared, settings)))
    }
}

impl fmt::Debug for Starlark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let isolation = match &self.shared.isolation {
            Isolation::Workers(Ok(_)) => "workers",
            Isolation::Workers(Err(_)) => "no worker",
            Isolation::InProcess => "in process",
        };
        f.debug_struct("Starlark").field("isolation", &isolation).finish_non_exhaustive()
    }
}

/// The limits of a script in a worker.
pub(crate) const fn limits_in_worker(time: Duration) -> Limits {
    Limits { steps: STEPS, heap: MEMORY, time, from_start: true }
}

/// The limits of a script in this process: those under which it is known to be cheap.
#[allow(clippy::cast_possible_truncation)] // 16 MiB
pub(crate) const fn limits_here(time: Duration) -> Limits {
    Limits { steps: bounded::TICKS, heap: bounded::HEAP as usize, time, from_start: false }
}
