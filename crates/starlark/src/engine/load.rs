//! One load: from the code of files to what runs it.

use std::ops::Range;
use std::sync::Arc;
use std::sync::OnceLock;
use std::sync::atomic::Ordering;
use std::time::Duration;

use serde_json::{Value as Json, json};
use starlark_syntax::syntax::AstModule;
use tollgate_config::diagnostic::{Code as Problems, Report};
use tollgate_config::dialect::harness::{Artifact, Code};
use tollgate_config::script::{Listed, Script, ScriptLoad};
use tollgate_config::settings::{Otherwise, Settings};
use tollgate_config::source::Span;
use tollgate_config::tools::in_condition;
use tollgate_core::dialect::Layer;
use tollgate_core::{Kind, Registration};

use super::remote::{NotCompiled, ProgramText};
use super::{
    DEFAULT_TIME, DEFAULT_TIME_OUTSIDE, Generation, Isolation, Shared, limits_here,
    limits_in_worker,
};
use crate::analysis::{
    self, Bounded, CheckedWhen, Facts, Problem, ProblemKind, bounded, compared_names, depth,
};
use crate::answer::cannot_ask;
use crate::hook::{Compiled, Condition, ScriptHook, Where};
use crate::payload::{Glance, Wanted};
use crate::sandbox::{Failed, Limits, Part, Program, SharedProgram};

pub(super) struct Load<'e> {
    shared: &'e Arc<Shared>,
    generation: Arc<Generation>,
}

impl<'e> Load<'e> {
    pub(super) fn new(shared: &'e Arc<Shared>, settings: &Settings) -> Self {
        let generation = Arc::new(Generation {
            shared: Arc::clone(shared),
            number: shared.loads.fetch_add(1, Ordering::Relaxed) + 1,
            client: OnceLock::new(),
            allow: settings.http.allow.clone(),
            catalogue: OnceLock::new(),
            otherwise: match settings.policy.otherwise {
                Otherwise::Open => tollgate_core::policy::Otherwise::Open,
                Otherwise::Closed => tollgate_core::policy::Otherwise::Closed,
            },
        });
        Self { shared, generation }
    }

    /// What a load has begun, taken up again.
    pub(super) fn of(shared: &'e Arc<Shared>, generation: &Arc<Generation>) -> Self {
        Self { shared, generation: Arc::clone(generation) }
    }

    pub(super) const fn parts(&self) -> (&Arc<Shared>, &Arc<Generation>) {
        (self.shared, &self.generation)
    }

    /// The largest payload on which a script is known to be cheap. To look into a command takes
    /// longer than all else; without workers there is no other place for it.
    fn largest(&self, script: &Facts, when: Option<&Facts>) -> u64 {
        let looks = |facts: &Facts| facts.uses("shell") || facts.uses("effects");
        match &self.shared.isolation {
            Isolation::Workers(Ok(_)) if looks(script) || when.is_some_and(looks) => {
                bounded::COMMAND
            }
            _ => bounded::PAYLOAD,
        }
    }
}

impl ScriptLoad for Load<'_> {
    fn hook(&mut self, artifact: &Arc<Artifact>, report: &mut Report) -> Option<Script> {
        let (hook, time) = self.make(artifact, report, false)?;
        Some(Script { handler: Arc::new(hook), time })
    }

    fn policy(&mut self, layer: Layer, report: &mut Report) -> Option<Registration> {
        super::policy::load(&self.generation, layer, report)
    }

    fn done(self: Box<Self>, catalogue: &Arc<[Listed]>) {
        let _ = self.generation.catalogue.set(Arc::clone(catalogue));
    }
}

impl Load<'_> {
    /// Checks and compiles a hook. Also tells how long it may take as a whole.
    ///
    /// Where it is to be made lazily and has a native form, it is compiled when that does not suffice: what is nothing
    /// but a function cannot fail before it is called.
    pub(super) fn make(
        &self,
        artifact: &Arc<Artifact>,
        report: &mut Report,
        lazily: bool,
    ) -> Option<(ScriptHook, Duration)> {
        let script = analysis::check_script(artifact.script.text(), &analysis::SCRIPT);
        let when = artifact
            .when
            .as_ref()
            .map(|when| (when, analysis::check_when(when.text(), &analysis::WHEN)));
        let script = script.map_err(|problems| tell(report, &artifact.script, problems)).ok();
        let when = match when {
            None => Some(None),
            Some((code, checked)) => {
                checked.map(Some).map_err(|problems| tell(report, code, problems)).ok()
            }
        };
        let (script, when) = (script?, when?);
        tell(report, &artifact.script, script.warnings);
        if !lazily {
            tell_of_tools(report, artifact, &script.ast, when.as_ref().map(|when| &when.ast));
        }
        if let Some(place) = script.asks.filter(|_| artifact.event.kinds != [Kind::ToolPre]) {
            tell_of_question(report, artifact, place);
            return None;
        }
        let asks_outside = script.facts.uses("http") || script.facts.uses("tools");
        let time = artifact.timeout.unwrap_or(DEFAULT_TIME);
        let whole =
            if asks_outside && artifact.timeout.is_none() { DEFAULT_TIME_OUTSIDE } else { time };
        let condition = condition(when.as_ref(), artifact);
        // A condition that has a native form is cheap.
        let in_script = when.as_ref().filter(|_| matches!(condition, Condition::Script));
        let expensive = expensive(&script.bounded, &artifact.script)
            .or_else(|| expensive(&in_script?.bounded, artifact.when.as_ref()?));
        // What the first give back is not bounded by the payload, and what a pattern costs is not
        // told by its length.
        let unbounded = ["hooks", "cache", "re", "glob"];
        let unbounded = unbounded.into_iter().find(|name| {
            script.facts.uses(name) || in_script.is_some_and(|when| when.facts.uses(name))
        });
        let expensive = expensive.or_else(|| {
            let why = format!("what `{}` takes cannot be told beforehand", unbounded?);
            Some((artifact.script.whole(), why))
        });
        let most = self.largest(&script.facts, in_script.map(|when| &when.facts));
        let shares_payload =
            !script.facts.may_mutate && !in_script.is_some_and(|when| when.facts.may_mutate);
        let reads = script.facts.reads;
        let reads = in_script.iter().fold(reads, |reads, when| reads.and(&when.facts.reads));
        let id = self.shared.next_code();
        let when_text = artifact.when.as_ref().map(Code::text);
        let program = (artifact.script.text(), when_text, script.facts.may_mutate);
        let is_cheap = expensive.is_none() && !self.shared.isolate_all;
        let in_process = matches!(self.shared.isolation, Isolation::InProcess);
        let native = script.native.filter(|_| is_cheap || in_process);
        let later = lazily && native.is_some();
        let place = match (&self.shared.isolation, expensive) {
            (Isolation::InProcess, _) => {
                here(program, limits_in_worker(time), asks_outside, false, later)
            }
            (_, None) if !self.shared.isolate_all => {
                here(program, limits_here(time), asks_outside, true, later)
            }
            (Isolation::Workers(Ok(workers)), expensive) => {
                let limits = limits_in_worker(time);
                match super::remote::load(workers, &self.generation, id, program, limits) {
                    Ok(()) => Ok(Where::Worker(workers.clone())),
                    Err(NotCompiled::Failed(failed)) => Err(failed),
                    Err(NotCompiled::NoWorker(error)) => {
                        let why = expensive.unwrap_or((artifact.script.whole(), String::new()));
                        no_worker(report, why.0, &why.1, &error);
                        return None;
                    }
                }
            }
            (Isolation::Workers(Err(error)), expensive) => {
                let (span, why) = expensive.unwrap_or((artifact.script.whole(), String::new()));
                no_worker(report, span, &why, &error.to_string());
                return None;
            }
        };
        let place = match place {
            Ok(place) => place,
            Err(failed) => {
                tell_of_failure(report, artifact, failed);
                return None;
            }
        };
        let hook = ScriptHook {
            id,
            artifact: Arc::clone(artifact),
            generation: Arc::clone(&self.generation),
            condition,
            may_mutate: script.facts.may_mutate,
            shares_payload,
            wanted: Wanted::by(&reads),
            place,
            native,
            most,
            time,
        };
        Some((hook, whole))
    }
}

/// How a condition is evaluated.
fn condition(when: Option<&CheckedWhen>, artifact: &Artifact) -> Condition {
    match when.map(|when| &when.condition) {
        None => Condition::None,
        Some(None) => Condition::Script,
        Some(Some(condition)) => Condition::Native {
            told: Glance::always_tells(condition, artifact.event.kinds),
            condition: condition.clone(),
        },
    }
}

/// A place here, with the script compiled by now, or when it is needed.
fn here(
    program: ProgramText<'_>,
    limits: Limits,
    asks_outside: bool,
    only_small: bool,
    later: bool,
) -> Result<Where, Failed> {
    let program = if later { Compiled::later() } else { Compiled::now(compile(program, limits)?) };
    Ok(Where::Here { program, limits, asks_outside, only_small })
}

/// Compiles a script, with as much stack as its depth may take.
pub(crate) fn compile(
    (script, when, may_mutate): ProgramText<'_>,
    limits: Limits,
) -> Result<SharedProgram, Failed> {
    let heights = [Some(script), when].into_iter().flatten().map(depth::height);
    let height = heights.filter_map(Result::ok).max().unwrap_or(0);
    let compile = || Program::compile(script, when, may_mutate, limits);
    let program = depth::with_stack(height, compile)
        .map_err(|error| Failed::new(format!("no thread could be started for it: {error}")))??;
    Ok(Arc::new(program))
}

/// Says that a script fails before it is asked.
fn tell_of_failure(report: &mut Report, artifact: &Artifact, failed: Failed) {
    let (code, at) = match failed.at {
        Some((Part::When, at)) => (artifact.when.as_ref().unwrap_or(&artifact.script), at),
        Some((Part::Script, at)) => (&artifact.script, at),
        None => (&artifact.script, 0),
    };
    report
        .add(Problems::ScriptFails, code.span(at..at), failed.message)
        .help("what stands outside of functions runs when the hook is loaded");
}

/// Says which names of tools a hook compares with that no call has.
fn tell_of_tools(
    report: &mut Report,
    artifact: &Artifact,
    script: &AstModule,
    when: Option<&AstModule>,
) {
    if !artifact.event.kinds.iter().all(|kind| kind.is_about_tool()) {
        return;
    }
    let when = when.zip(artifact.when.as_ref());
    let parts = when.into_iter().chain([(script, &artifact.script)]);
    let compared: Vec<_> = parts
        .flat_map(|(ast, code)| compared_names(ast).into_iter().map(move |found| (code, found)))
        .collect();
    let names: Vec<_> = compared.iter().map(|(_, (name, _))| name.as_str()).collect();
    for (place, remark) in in_condition(&names) {
        if let Some((code, (_, range))) = compared.get(place) {
            report.add(remark.code, code.span(range.clone()), remark.message).help(remark.help);
        }
    }
}

/// Says that a hook asks a person where there is nothing to ask about.
fn tell_of_question(report: &mut Report, artifact: &Artifact, place: Range<usize>) {
    let said = cannot_ask(artifact.event.name);
    let entry = report.add(Problems::AskElsewhere, artifact.script.span(place), said);
    entry.help("refuse with `block(reason)` where the event allows it, or ask at tool.pre");
}

/// Why a text cannot be relied on to be cheap.
fn expensive(bounded: &Bounded, code: &Code) -> Option<(Span, String)> {
    match bounded {
        Bounded::Yes => None,
        Bounded::No { range, why } => Some((code.span(range.clone()), why.clone())),
    }
}

pub(crate) fn no_worker(report: &mut Report, span: Span, why: &str, error: &str) {
    let because = if why.is_empty() { String::new() } else { format!(": {why}") };
    report
        .add(
            Problems::NoScriptEngine,
            span,
            format!("this has to run in a worker process, and there is none{because}"),
        )
        .help(format!(
            "{error}; call `tollgate_starlark::worker::init()` at the top of `main`, or choose \
             `Starlark::in_process()` where you trust the hook"
        ));
}

/// Puts problems of a text into the report of its file.
pub(crate) fn tell(report: &mut Report, code: &Code, problems: Vec<Problem>) {
    for Problem { kind, range, message, help, .. } in problems {
        let entry = report.add(code_of(kind), code.span(range), message);
        if let Some(help) = help {
            entry.help(help);
        }
    }
}

/// Problems of a file that is a script as a whole.
pub(crate) fn tell_of_file(report: &mut Report, problems: Vec<Problem>) {
    for Problem { kind, range, message, help, .. } in problems {
        let Range { start, end } = range;
        let entry = report.add(code_of(kind), Span { start, end }, message);
        if let Some(help) = help {
            entry.help(help);
        }
    }
}

const fn code_of(kind: ProblemKind) -> Problems {
    match kind {
        ProblemKind::TooLong => Problems::ScriptTooLong,
        ProblemKind::TooDeep => Problems::ScriptTooDeep,
        ProblemKind::Syntax => Problems::ScriptSyntax,
        ProblemKind::NotAllowed => Problems::NotAllowedInScript,
        ProblemKind::NoHandle => Problems::NoHandle,
        ProblemKind::HandleArity | ProblemKind::WrongArity => Problems::WrongArity,
        ProblemKind::UnknownName | ProblemKind::UnknownAttribute => Problems::UnknownName,
        ProblemKind::NotAnExpression => Problems::NotAnExpression,
        ProblemKind::NoDecision => Problems::NoDecision,
    }
}

/// A hook as `hooks.list()` shows it. What its file does not say is there and `None`.
pub(super) fn listed(hook: &Listed) -> Json {
    json!({
        "name": hook.name,
        "dialect": hook.dialect,
        "event": hook.event,
        "priority": hook.priority,
        "layer": hook.layer,
        "path": hook.path.to_string_lossy(),
        "line": hook.line,
        "when": hook.when,
        "timeout": hook.timeout.map(|time| time.as_secs_f64()),
        "description": hook.description,
        "enabled": hook.enabled,
        "has_tests": hook.has_tests,
    })
}
