//! One dispatch of a case's event to its hooks.

use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use serde_json::Value;
use tollgate_core::audit::MemorySink;
use tollgate_core::mask::Masker;
use tollgate_core::prelude::*;

use super::super::report::Comparison;
use super::script::{Script, ScriptHook, SdkEvent};
use crate::lock;

/// How long hooks in the background get. They do nothing that takes time, but the machine may be
/// busy.
const DRAIN: Duration = Duration::from_mins(1);

/// The usual mask of the audit trail, made once for all cases.
static MASKER: LazyLock<Masker> = LazyLock::new(Masker::default);

/// The entries of a trace, in the order the hooks ran.
#[derive(Debug, Clone, Default)]
pub(super) struct Log(Arc<Mutex<Vec<Value>>>);

impl Log {
    pub(super) fn push(&self, entry: Value) {
        lock(&self.0).push(entry);
    }

    fn entries(&self) -> Vec<Value> {
        lock(&self.0).clone()
    }
}

/// What came of a dispatch.
pub(super) struct Dispatched<E: Event> {
    pub(super) outcome: Outcome<E>,
    pub(super) trace: Vec<Value>,
    /// The errors that were recorded, each with the place of its hook.
    pub(super) errors: Vec<(usize, String)>,
    scripts: Vec<Script>,
}

/// Dispatches `event` to the scripted hooks, and waits for those in the background.
pub(super) async fn dispatch<E: SdkEvent>(
    scripts: &[Script],
    cx: &E::Scope,
    event: E,
) -> Result<Dispatched<E>, String> {
    let log = Log::default();
    // One entry for the dispatch, one for its inspectors; the rest is to spare.
    let sink = Arc::new(MemorySink::new(16));
    // The original's last writer wins, so nobody is asked again.
    let mut builder = Runner::builder().reask(false).limits(|limits| limits.drain = DRAIN);
    // What came of hooks in the background stands nowhere else.
    let rule = E::KIND.rule(Dialect::AntigravitySdk);
    if rule.is_some_and(|rule| rule.mode == Mode::Inspect) {
        builder = builder.audit(sink.clone()).masker(MASKER.clone());
    }
    for (place, script) in scripts.iter().cloned().enumerate() {
        let hook = ScriptHook { place, script, log: log.clone() };
        let registration = Registration::on::<E, _>(name(place), hook);
        builder = builder.register(registration.dialect(Dialect::AntigravitySdk));
    }
    let runner = builder.build().map_err(|error| error.to_string())?;
    let outcome = runner.dispatch(cx, event).await;
    let cut_off = runner.drain(DRAIN).await;
    if let Some(inspection) = outcome.record.cut_off.iter().chain(&cut_off).next() {
        return Err(format!("{} was cut off", inspection.hook));
    }
    outcome.record.inspectors.as_ref().map_err(ToString::to_string)?;

    let errors = awaited_errors(&outcome)
        .chain(sink.entries().iter().flat_map(|entry| background_errors(entry.value())))
        .filter_map(|(hook, error)| Some((place_of(&hook, scripts.len())?, error)))
        .collect();
    Ok(Dispatched { outcome, trace: log.entries(), errors, scripts: scripts.to_vec() })
}

fn name(place: usize) -> String {
    format!("hook {place}")
}

fn place_of(hook: &str, hooks: usize) -> Option<usize> {
    (0..hooks).find(|place| name(*place) == hook)
}

/// The errors of hooks that were waited for.
fn awaited_errors<E: Event>(outcome: &Outcome<E>) -> impl Iterator<Item = (String, String)> {
    outcome.record.answers.iter().filter_map(|answered| {
        let hook = outcome.record.hook(answered)?;
        Some((hook.name.clone(), answered.error.as_ref()?.to_string()))
    })
}

/// The errors in an entry of the audit trail about hooks in the background.
fn background_errors(entry: &Value) -> Vec<(String, String)> {
    let inspections = entry.get("inspections").and_then(Value::as_array);
    let error = |inspection: &Value| {
        let hook = inspection.get("hook")?.as_str()?;
        let error = inspection.get("error")?;
        let message = error.get("message").and_then(Value::as_str);
        let text = message.map_or_else(|| error.to_string(), str::to_owned);
        Some((hook.to_owned(), text))
    };
    inspections.into_iter().flatten().filter_map(error).collect()
}

impl<E: Event> Dispatched<E> {
    /// The scripts of the hooks that ran, in order.
    pub(super) fn scripts_that_ran(&self) -> impl Iterator<Item = &Script> {
        self.trace.iter().filter_map(|entry| {
            let place = entry.get("hook").and_then(Value::as_u64)?;
            self.scripts.get(usize::try_from(place).ok()?)
        })
    }

    /// Exactly these hooks are to have failed, with this text where it is known.
    pub(super) fn compare_errors(
        &self,
        expected: &[(usize, Option<&str>)],
        comparison: &mut Comparison,
    ) {
        // The audit trail shows no secrets, not even in an error.
        let as_recorded =
            |recorded: &str, text: &str| recorded == text || recorded == MASKER.text(text);
        let matches = expected.len() == self.errors.len()
            && expected.iter().zip(&self.errors).all(|((place, text), (at, recorded))| {
                place == at && text.is_none_or(|text| as_recorded(recorded, text))
            });
        if !matches {
            let expected: Vec<_> = expected
                .iter()
                .map(|(place, text)| format!("{}: {}", name(*place), text.unwrap_or("any error")))
                .collect();
            let got: Vec<_> = self
                .errors
                .iter()
                .map(|(place, text)| format!("{}: {text}", name(*place)))
                .collect();
            comparison.differ("the errors recorded", expected.join("; "), got.join("; "));
        }
    }
}
