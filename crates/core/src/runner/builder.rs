//! Setting up a runner.

use std::sync::Arc;
use std::time::Duration;

use super::inspect::Inspections;
use super::{Audit, Inner, Runner};
use crate::audit::AuditSink;
use crate::event::ToolCall;
use crate::exception::Exceptions;
use crate::mask::Masker;
use crate::policy::Policies;
use crate::registry::{HookSet, RegisterError, Registration};
use crate::runtime::Runtime;
use crate::sync::atomic::AtomicU64;
use crate::sync::{Mutex, Shared};
use crate::tools;

/// Checks a tool call whose arguments were rewritten; says what does not fit.
pub type Validator = dyn Fn(&ToolCall) -> Result<(), String> + Send + Sync;

/// The bounds of a runner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long a hook may take that sets no deadline of its own. Default: 30 s.
    pub hook: Duration,
    /// How long all hooks of a dispatch may take together. Default: 60 s.
    pub dispatch: Duration,
    /// How long a person may take to answer a policy that asks. Does not count to the dispatch.
    /// Default: 10 min.
    pub person: Duration,
    /// How long inspectors get to finish at the end of a turn or session. Default: 2 s.
    pub drain: Duration,
    /// How many dispatches may have inspectors under way. Default: 1,024.
    pub inspections: usize,
    /// How often in a row hooks may send the agent round again. Default: 8.
    pub rounds: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            hook: Duration::from_secs(30),
            dispatch: Duration::from_mins(1),
            person: Duration::from_mins(10),
            drain: Duration::from_secs(2),
            inspections: 1024,
            rounds: 8,
        }
    }
}

/// Sets up a [`Runner`].
#[must_use = "call `build` to get the runner"]
pub struct RunnerBuilder {
    registrations: Vec<Registration>,
    limits: Limits,
    runtime: Option<Arc<dyn Runtime>>,
    sink: Option<Arc<dyn AuditSink>>,
    masker: Option<Masker>,
    validator: Arc<Validator>,
    exceptions: Option<Arc<dyn Exceptions>>,
    reask: bool,
}

impl RunnerBuilder {
    pub(super) fn new() -> Self {
        Self {
            registrations: Vec::new(),
            limits: Limits::default(),
            runtime: None,
            sink: None,
            masker: None,
            validator: Arc::new(|call| tools::validate(call).map_err(|error| error.to_string())),
            exceptions: None,
            reask: true,
        }
    }

    /// Adds a hook.
    pub fn register(mut self, registration: Registration) -> Self {
        self.registrations.push(registration);
        self
    }

    /// Adds policies. They are asked behind all other hooks.
    pub fn policies(self, policies: Policies) -> Self {
        self.register(policies.into_registration())
    }

    /// Sets the bounds.
    ///
    /// ```
    /// use tollgate_core::prelude::*;
    ///
    /// let runner = Runner::builder().limits(|limits| limits.rounds = 3).build()?;
    /// # Ok::<(), tollgate_core::registry::RegisterError>(())
    /// ```
    pub fn limits(mut self, set: impl FnOnce(&mut Limits)) -> Self {
        set(&mut self.limits);
        self
    }

    /// Where the audit trail goes.
    pub fn audit(mut self, sink: Arc<dyn AuditSink>) -> Self {
        self.sink = Some(sink);
        self
    }

    /// What is masked in the audit trail.
    pub fn masker(mut self, masker: Masker) -> Self {
        self.masker = Some(masker);
        self
    }

    /// Checks tool calls whose arguments were rewritten. The default checks the tools of the
    /// table ([`crate::tools`]).
    pub fn validator(
        mut self,
        validator: impl Fn(&ToolCall) -> Result<(), String> + Send + Sync + 'static,
    ) -> Self {
        self.validator = Arc::new(validator);
        self
    }

    /// Sets the exceptions that a person has made ([`crate::exception`]).
    pub fn exceptions(mut self, exceptions: Arc<dyn Exceptions>) -> Self {
        self.exceptions = Some(exceptions);
        self
    }

    /// Whether hooks that have not seen the final payload are asked about it. On by default;
    /// without it the last writer wins, as in the Antigravity SDK.
    pub fn reask(mut self, reask: bool) -> Self {
        self.reask = reask;
        self
    }

    /// Time, and a place for inspectors, of one's own.
    pub fn runtime(mut self, runtime: Arc<dyn Runtime>) -> Self {
        self.runtime = Some(runtime);
        self
    }

    /// The runner, or what is wrong with a hook.
    pub fn build(mut self) -> Result<Runner, RegisterError> {
        let hooks = HookSet::new().with(std::mem::take(&mut self.registrations))?;
        #[cfg(feature = "tokio")]
        let runtime = self.runtime.take().unwrap_or_else(tokio_runtime);
        #[cfg(not(feature = "tokio"))]
        let runtime = self.runtime.take().ok_or(RegisterError::NoRuntime)?;
        Ok(self.assemble(hooks, runtime))
    }

    #[cfg(feature = "tokio")]
    pub(super) fn without_hooks(self) -> Runner {
        self.assemble(HookSet::new(), tokio_runtime())
    }

    fn assemble(self, hooks: HookSet, runtime: Arc<dyn Runtime>) -> Runner {
        let masker = self.masker;
        let audit =
            self.sink.map(|sink| Audit { sink, masker: Arc::new(masker.unwrap_or_default()) });
        let inner = Inner {
            hooks: Shared::new(hooks),
            registering: Mutex::new(()),
            limits: self.limits,
            reask: self.reask,
            runtime,
            inspections: Arc::new(Inspections::new(self.limits.inspections, audit.clone())),
            audit,
            validator: self.validator,
            exceptions: self.exceptions,
            dispatches: AtomicU64::new(0),
        };
        Runner { inner: Arc::new(inner) }
    }
}

#[cfg(feature = "tokio")]
fn tokio_runtime() -> Arc<dyn Runtime> {
    Arc::new(crate::runtime::TokioRuntime)
}

impl std::fmt::Debug for RunnerBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RunnerBuilder")
            .field("registrations", &self.registrations)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}
