//! Case files: an event, its payload, and what hooks of any dialect have to decide.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;
use serde_json::error::Category;
use serde_json::value::RawValue;
use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::layers::{Format, Place, Places, named};
use tollgate_config::load::Setup;
use tollgate_core::Kind;
use tollgate_hosts as hosts;
use tollgate_starlark::Starlark;

use super::coverage::Coverage;
use super::find::CaseFile;
use super::{Outcome, Tested};
use crate::dispatch::Ready;
use crate::fire::{Report, decisive};
use crate::hook;
use crate::payload::Payload;

/// A file, as it is written.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File<'t> {
    /// Hook files, relative to this one; without, the project's.
    #[serde(default)]
    hooks: Vec<PathBuf>,
    /// Each for itself: what is wrong with one says nothing of the others.
    #[serde(borrow)]
    cases: Vec<&'t RawValue>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    #[serde(default)]
    name: String,
    /// In the words of any dialect or agent; may be left out if the payload names it.
    #[serde(default)]
    event: Option<String>,
    /// The agent whose payload it is, where its form does not tell.
    #[serde(default)]
    host: Option<String>,
    #[serde(default)]
    payload: Option<Value>,
    /// The decision, in the words of the event.
    decision: String,
    /// A regular expression for the reason.
    #[serde(default)]
    reason: Option<String>,
    /// What the payload has to hold in the end; what is not named may be anything.
    #[serde(default)]
    rewritten: Option<Value>,
}

/// The most that a case file may have.
const LARGEST: u64 = 16 << 20;

pub(super) fn run(engine: &Starlark, file: &CaseFile) -> Outcome {
    let mut outcome = Outcome {
        file: file.path.clone(),
        hook: None,
        tests: Vec::new(),
        error: None,
        unreached: Vec::new(),
        took: Duration::ZERO,
        coverage: Coverage::default(),
    };
    if let Err(error) = run_all(engine, file, &mut outcome) {
        outcome.error = Some(error);
    }
    outcome
}

fn run_all(engine: &Starlark, file: &CaseFile, outcome: &mut Outcome) -> Result<(), String> {
    let text = read(&file.path)?;
    let File { hooks, cases } = parsed(&text)?;
    if cases.is_empty() {
        return Err("it has no cases".to_owned());
    }
    let places = places(&hooks, file)?;
    let commands = places.iter().filter(|place| matches!(place.format, Format::Commands(_)));
    if let (Some(place), false) = (commands.into_iter().next(), file.may_run) {
        return Err(format!(
            "`{}` runs commands, and nobody has trusted the project: `tollgate trust`, or name \
             this file to run it anyway",
            place.path.display()
        ));
    }
    let project = Places::of_this_process(Some(file.project.clone()));
    let setup = Setup::new(project).scripts(engine.clone()).named(places);
    let ready = Ready::new(setup).map_err(|problem| problem.to_string())?;
    let in_force = ready.in_force();
    if let Some(error) = in_force.diagnostics.iter().find(|found| found.is_error()) {
        return Err(format!("a hook does not load: {}", Diagnostic::line(error)));
    }
    outcome.coverage = Coverage::of(&ready);
    for (place, raw) in cases.iter().enumerate() {
        let begin = (raw.get().as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
        let line = text.get(..begin).map_or(1, |before| 1 + before.matches('\n').count());
        let (name, line, failure) = match serde_json::from_str::<Case>(raw.get()) {
            Ok(case) => (case.name.clone(), line, failure(&ready, &case, &mut outcome.coverage)),
            Err(error) => {
                let said = error.to_string();
                let said = said.split(" at line ").next().unwrap_or(&said);
                let line = line + error.line().saturating_sub(1);
                (String::new(), line, Some(format!("it is no case: {said}")))
            }
        };
        let name = if name.is_empty() { format!("case {}", place + 1) } else { name };
        let line = u32::try_from(line).ok();
        outcome.tests.push(Tested { name, line, failure });
    }
    Ok(())
}

fn read(path: &Path) -> Result<String, String> {
    let size = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if size > LARGEST {
        return Err(format!("it has {size} bytes, and {} MiB are allowed", LARGEST >> 20));
    }
    fs::read_to_string(path).map_err(|error| error.to_string())
}

fn parsed(text: &str) -> Result<File<'_>, String> {
    let told = |error: serde_json::Error| match error.classify() {
        Category::Data => format!("it is no case file: {error}"),
        _ => format!("it is not valid JSON: {error}"),
    };
    // A bare list is a list of cases.
    if text.trim_start().starts_with('[') {
        let cases = serde_json::from_str(text).map_err(told)?;
        return Ok(File { hooks: Vec::new(), cases });
    }
    serde_json::from_str(text).map_err(told)
}

fn places(hooks: &[PathBuf], file: &CaseFile) -> Result<Vec<Place>, String> {
    let told = |error: tollgate_config::layers::NotNamed| error.to_string();
    if hooks.is_empty() {
        return named(&file.project, None).map_err(told);
    }
    let folder = file.path.parent().unwrap_or(Path::new("/"));
    let mut places = Vec::new();
    for hook in hooks {
        places.extend(named(&folder.join(hook), None).map_err(told)?);
    }
    Ok(places)
}

/// What is different from what was expected.
fn failure(ready: &Ready, case: &Case, coverage: &mut Coverage) -> Option<String> {
    let payload = case.payload.clone().unwrap_or_else(|| Value::Object(serde_json::Map::new()));
    let host = match case.host.as_deref().map(|name| (name, hosts::by_name(name))) {
        Some((name, None)) => return Some(format!("`{name}` is not an agent that Tollgate knows")),
        Some((_, host)) => host,
        None => None,
    };
    let payload = match Payload::of(case.event.as_deref(), host, payload) {
        Ok(payload) => payload,
        Err(problem) => return Some(problem.to_string()),
    };
    let event = match &payload {
        Payload::Own(input) => input.event.kind(),
        Payload::Host(incoming) => match incoming.parts.first() {
            Some(part) => part.event.kind(),
            None => return Some(format!("{} told nothing to decide about", incoming.host.title)),
        },
        Payload::Unasked { host } => {
            return Some(format!("{} asks no hook about this", host.title));
        }
    };
    let pattern = match case.reason.as_deref().map(Regex::new).transpose() {
        Ok(pattern) => pattern,
        Err(error) => return Some(format!("`reason` is no regular expression: {error}")),
    };
    let known = words(event);
    if !known.contains(&case.decision.as_str()) {
        let known = known.join(", ");
        return Some(format!("`{}` is no decision of {event}: {known}", case.decision));
    }
    let fired = match payload {
        Payload::Own(input) => ready.fire(*input),
        Payload::Host(incoming) => {
            let all = hook::fired(ready, &incoming);
            for fired in &all {
                coverage.fired(fired);
            }
            match decisive(&incoming, all) {
                Some((_, fired)) => fired,
                None => {
                    return Some(format!("{} told nothing to decide about", incoming.host.title));
                }
            }
        }
        Payload::Unasked { .. } => return None,
    };
    coverage.fired(&fired);
    let report = Report::of(&fired);
    let because = match (report.reason.as_str(), report.detail.as_str()) {
        ("", "") => String::new(),
        (_, detail) if !detail.is_empty() => format!(" ({detail})"),
        (reason, _) => format!(" ({reason})"),
    };
    if report.decision != case.decision {
        return Some(format!(
            "{} was expected, and it is {}{because}",
            case.decision, report.decision
        ));
    }
    if let Some(pattern) = pattern.filter(|pattern| !pattern.is_match(&report.reason)) {
        return Some(format!("the reason does not match `{pattern}`: {}", report.reason));
    }
    let wanted = case.rewritten.as_ref()?;
    difference(wanted, &report.payload, "payload")
}

/// The decisions of an event.
fn words(event: Kind) -> Vec<&'static str> {
    match event {
        Kind::ToolPre => vec!["none", "allow", "ask", "force_ask", "deny"],
        Kind::Stop => vec!["stop", "continue"],
        Kind::ModelPre => vec!["proceed", "retry", "deny"],
        Kind::CompactionPre | Kind::Notification => vec!["proceed", "cancel", "suppress"],
        _ => vec!["proceed", "deny"],
    }
}

/// Where a value does not hold what is wanted of it.
fn difference(wanted: &Value, found: &Value, at: &str) -> Option<String> {
    match (wanted, found) {
        (Value::Object(wanted), Value::Object(found)) => {
            wanted.iter().find_map(|(name, wanted)| {
                let at = format!("{at}.{name}");
                match found.get(name) {
                    Some(found) => difference(wanted, found, &at),
                    None => Some(format!("`{at}` is not there")),
                }
            })
        }
        (wanted, found) if wanted == found => None,
        (wanted, found) => Some(format!("`{at}` is {found}, and {wanted} was expected")),
    }
}
