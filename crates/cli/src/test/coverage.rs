//! What no test exercised.

use std::collections::BTreeSet;
use std::path::PathBuf;

use serde::Serialize;
use tollgate_core::record::Asked;

use super::Outcome;
use crate::dispatch::{Fired, Ready};

/// A hook: its file and its name.
type Hook = (PathBuf, String);

/// What one case file could exercise, and what it did.
#[derive(Debug, Default)]
pub(super) struct Coverage {
    hooks: BTreeSet<Hook>,
    rules: BTreeSet<Hook>,
    asked: BTreeSet<Hook>,
    decided: BTreeSet<Hook>,
}

/// What no test exercised.
#[derive(Debug, Serialize)]
pub(super) struct Untested {
    /// Hooks that nobody tests.
    pub(super) hooks: Vec<String>,
    /// Rules of policies that decided in no case.
    pub(super) rules: Vec<String>,
    /// Lines of scripts, by file.
    pub(super) lines: Vec<(PathBuf, Vec<u32>)>,
}

impl Untested {
    pub(super) fn is_empty(&self) -> bool {
        self.hooks.is_empty() && self.rules.is_empty() && self.lines.is_empty()
    }
}

impl Coverage {
    /// The hooks and rules there are.
    pub(super) fn of(ready: &Ready) -> Self {
        let mut coverage = Self::default();
        let hooks = ready.in_force().catalogue.iter().filter(|hook| hook.enabled);
        coverage.hooks.extend(hooks.map(|hook| (hook.path.clone(), hook.name.clone())));
        coverage.rules.extend(ready.rules());
        coverage
    }

    /// What one case exercised.
    pub(super) fn fired(&mut self, fired: &Fired) {
        let record = &fired.outcome.record;
        for explained in fired.outcome.explain() {
            let Some(source) = &explained.source else { continue };
            if matches!(explained.asked, Asked::Yes { .. } | Asked::InBackground) {
                self.asked.insert((PathBuf::from(&*source.file), explained.hook));
            }
        }
        for answered in &record.answers {
            let Some(info) = record.hook(answered).filter(|info| info.is_policy) else { continue };
            let file = info.source.as_ref().map(|source| PathBuf::from(&*source.file));
            if let (Some(file), Some(rule)) = (file, &answered.detail) {
                self.decided.insert((file, rule.to_string()));
            }
        }
    }
}

/// What none of all the tests exercised.
pub(super) fn untested(outcomes: &[Outcome]) -> Untested {
    let mut hooks: BTreeSet<Hook> = BTreeSet::new();
    let mut rules: BTreeSet<Hook> = BTreeSet::new();
    for outcome in outcomes {
        hooks.extend(outcome.coverage.hooks.iter().cloned());
        rules.extend(outcome.coverage.rules.iter().cloned());
        if let (Some(hook), true) = (&outcome.hook, outcome.error.is_none()) {
            hooks.insert((outcome.file.clone(), hook.clone()));
        }
    }
    for outcome in outcomes {
        for hook in &outcome.coverage.asked {
            hooks.remove(hook);
        }
        for rule in &outcome.coverage.decided {
            rules.remove(rule);
        }
        if let (Some(hook), false) = (&outcome.hook, outcome.tests.is_empty()) {
            hooks.remove(&(outcome.file.clone(), hook.clone()));
        }
    }
    let shown = |(file, name): Hook| format!("{name} ({})", crate::place::shown(&file));
    let lines = outcomes.iter().filter(|outcome| !outcome.unreached.is_empty());
    Untested {
        hooks: hooks.into_iter().map(shown).collect(),
        rules: rules.into_iter().map(shown).collect(),
        lines: lines.map(|outcome| (outcome.file.clone(), outcome.unreached.clone())).collect(),
    }
}
