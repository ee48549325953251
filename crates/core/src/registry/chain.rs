//! The hooks of each event, in order.

use std::fmt;
use std::sync::Arc;

use super::index::{Index, Matched, Member, NOBODY, Role};
use super::parts::{OfParts, Parts};
use super::{HookInfo, Problem, RegisterError, Registration};
use crate::dialect::{Layer, Mode, OnFailure, Rule};
use crate::event::{Event, Kind, for_each_event};
use crate::hook::{ByMethod, DynHook, Handle, HandleEvery};
use crate::matcher::{Matcher, PatternError};

/// A hook in the chain of one event.
pub(crate) struct Entry<E: Event> {
    pub(crate) info: Arc<HookInfo>,
    /// The mode in force here.
    pub(crate) mode: Mode,
    pub(crate) on_failure: OnFailure,
    /// Whether its matcher counts here.
    narrowed: bool,
    pub(crate) handler: Arc<dyn Handle<E>>,
}

impl<E: Event> Clone for Entry<E> {
    fn clone(&self) -> Self {
        Self {
            info: Arc::clone(&self.info),
            mode: self.mode,
            on_failure: self.on_failure,
            narrowed: self.narrowed,
            handler: Arc::clone(&self.handler),
        }
    }
}

impl<E: Event> Entry<E> {
    /// Which instances of the event it asks for.
    pub(crate) fn matcher(&self) -> &Matcher {
        if self.narrowed { &self.info.matcher } else { &Matcher::All }
    }

    /// The key of the one order: band, priority, layer. What is equal keeps its place, and what
    /// is loaded comes behind the rest, so that loading it again does not move it.
    fn order(&self) -> ((bool, bool), i64, Layer, bool) {
        let HookInfo { is_policy, is_last, priority, layer, loaded, .. } = &*self.info;
        ((*is_policy, *is_last), *priority, *layer, *loaded)
    }
}

/// The hooks of one event, in order, and who of them is asked about what.
pub struct Chain<E: Event> {
    entries: Vec<Entry<E>>,
    index: Arc<Index>,
    /// Whether the index is of other hooks.
    changed: bool,
}

impl<E: Event> Default for Chain<E> {
    fn default() -> Self {
        Self { entries: Vec::new(), index: Arc::default(), changed: false }
    }
}

impl<E: Event> Clone for Chain<E> {
    fn clone(&self) -> Self {
        Self {
            entries: self.entries.clone(),
            index: Arc::clone(&self.index),
            changed: self.changed,
        }
    }
}

impl<E: Event> Chain<E> {
    pub(super) fn push(
        &mut self,
        info: &Arc<HookInfo>,
        rule: Rule,
        narrowed: bool,
        mut handler: Arc<dyn Handle<E>>,
    ) {
        // Rules look at this themselves.
        if narrowed
            && !info.is_policy
            && let Some(parts) = Parts::of(&info.matcher)
        {
            handler = Arc::new(OfParts { parts, handler });
        }
        self.entries.push(Entry {
            info: Arc::clone(info),
            mode: info.mode.min(rule.mode),
            on_failure: rule.on_failure,
            narrowed,
            handler,
        });
        self.changed = true;
    }

    fn remove_loaded(&mut self) {
        let before = self.entries.len();
        self.entries.retain(|entry| !entry.info.loaded);
        self.changed |= self.entries.len() < before;
    }

    fn compile(&mut self) -> Result<(), PatternError> {
        if !std::mem::take(&mut self.changed) {
            return Ok(());
        }
        self.entries.sort_by_key(Entry::order);
        let members = self.entries.iter().enumerate().map(|(place, entry)| Member {
            place: u32::try_from(place).unwrap_or(u32::MAX),
            matcher: entry.matcher(),
            role: match (entry.mode, entry.info.is_policy || entry.info.is_last) {
                (Mode::Inspect, _) => Role::Inspector,
                (_, true) => Role::Last,
                (_, false) => Role::Hook,
            },
        });
        self.index = Arc::new(Index::new(&members.collect::<Vec<_>>())?);
        Ok(())
    }

    /// All hooks, in order.
    pub(crate) fn entries(&self) -> &[Entry<E>] {
        &self.entries
    }

    pub(crate) fn entry(&self, place: u32) -> Option<&Entry<E>> {
        self.entries.get(place as usize)
    }

    /// The hooks that ask for this event, in order.
    pub(crate) fn matching(&self, event: &E) -> Matched<'_> {
        // Most agents have hooks at few events.
        if self.entries.is_empty() {
            return Matched::Ready(&NOBODY);
        }
        self.index.matching(event.subject())
    }
}

/// All registered hooks, in one unchanging set. A new registration makes a new set.
pub(crate) struct HookSet {
    pub(crate) version: u64,
    pub(crate) chains: Chains,
}

impl fmt::Debug for HookSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HookSet").field("version", &self.version).finish_non_exhaustive()
    }
}

impl HookSet {
    pub(crate) fn new() -> Self {
        Self { version: 0, chains: Chains::default() }
    }

    /// This set with more hooks; nothing of it is changed where one of them cannot be added.
    pub(crate) fn with(
        &self,
        registrations: impl IntoIterator<Item = Registration>,
    ) -> Result<Self, RegisterError> {
        let mut chains = self.chains.clone();
        for registration in registrations {
            install(registration, &mut chains)?;
        }
        self.followed_by(chains)
    }

    /// This set with these loaded hooks in place of those it has.
    pub(crate) fn reloaded(
        &self,
        registrations: impl IntoIterator<Item = Registration>,
    ) -> Result<Self, RegisterError> {
        let mut chains = self.chains.clone();
        chains.remove_loaded();
        for mut registration in registrations {
            registration.info.loaded = true;
            install(registration, &mut chains)?;
        }
        self.followed_by(chains)
    }

    fn followed_by(&self, mut chains: Chains) -> Result<Self, RegisterError> {
        chains.compile()?;
        Ok(Self { version: self.version + 1, chains })
    }
}

/// Puts a hook into its chains, which are not compiled yet.
fn install(registration: Registration, chains: &mut Chains) -> Result<(), RegisterError> {
    let Registration { info, install, problem } = registration;
    if info.name.is_empty() {
        return Err(RegisterError::NoName);
    }
    match problem {
        Some(Problem::Pattern(problem)) => {
            return Err(RegisterError::Pattern { hook: info.name, problem });
        }
        Some(Problem::TwoMatchers) => {
            return Err(RegisterError::TwoMatchers { hook: info.name });
        }
        None => {}
    }
    if let (false, Matcher::Targets(targets)) = (info.is_policy, &info.matcher) {
        if targets.is_empty() {
            return Err(RegisterError::NoTargets { hook: info.name });
        }
        if let Some(target) = targets.iter().find(|target| target.means_nothing()) {
            let target = target.to_string();
            return Err(RegisterError::NeverMatches { hook: info.name, target });
        }
    }
    let info = Arc::new(info);
    let mut installed = 0;
    for install in install.0 {
        installed += install(&info, chains)?;
    }
    if installed == 0 {
        return Err(RegisterError::NoEvents { hook: info.name.clone() });
    }
    Ok(())
}

macro_rules! define_chains {
    ($(
        $(#[$doc:meta])*
        $event:ident = $name:literal {
            hook: $hook:ident, $($rest:tt)*
        }
    )*) => {
        /// The hooks of all events.
        #[derive(Clone, Default)]
        pub struct Chains {
            $(pub(crate) $hook: Chain<crate::event::$event>,)*
        }

        impl Chains {
            /// Adds a hook to every event that it handles and its system has, and says to how
            /// many. Its matcher is about tools, so it counts where a tool is called; a guard of
            /// commands that also looks at prompts sees all prompts.
            pub(super) fn install_hook(
                &mut self,
                info: &Arc<HookInfo>,
                hook: &Arc<dyn DynHook>,
            ) -> usize {
                let events = hook.events();
                let mut installed = 0;
                $(
                    if events.contains(&Kind::$event)
                        && let Some(rule) = Kind::$event.rule(info.dialect)
                    {
                        let handler = Arc::new(ByMethod(Arc::clone(hook)));
                        self.$hook.push(info, rule, Kind::$event.is_about_tool(), handler);
                        installed += 1;
                    }
                )*
                installed
            }

            /// Adds a handler of every event to one of them.
            pub(super) fn install_kind<H: HandleEvery + 'static>(
                &mut self,
                kind: Kind,
                info: &Arc<HookInfo>,
                rule: Rule,
                handler: Arc<H>,
            ) {
                match kind {
                    $(Kind::$event => {
                        self.$hook.push(info, rule, true, handler);
                    })*
                }
            }

            fn remove_loaded(&mut self) {
                $(self.$hook.remove_loaded();)*
            }

            fn compile(&mut self) -> Result<(), RegisterError> {
                $(
                    self.$hook.compile().map_err(|problem| RegisterError::Pattern {
                        hook: $name.to_owned(),
                        problem,
                    })?;
                )*
                Ok(())
            }

            /// A hook of an event, by its place.
            pub(crate) fn info(&self, kind: Kind, place: u32) -> Option<&HookInfo> {
                match kind {
                    $(Kind::$event => self.$hook.entry(place).map(|entry| &*entry.info),)*
                }
            }

            /// The hooks of an event, in order.
            pub(crate) fn infos(&self, kind: Kind) -> Vec<Arc<HookInfo>> {
                match kind {
                    $(Kind::$event => {
                        self.$hook.entries().iter().map(|entry| Arc::clone(&entry.info)).collect()
                    })*
                }
            }
        }

        impl fmt::Debug for Chains {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("Chains").finish_non_exhaustive()
            }
        }
    };
}

for_each_event!(define_chains);

impl<E: Event> fmt::Debug for Chain<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| &entry.info.name)).finish()
    }
}
