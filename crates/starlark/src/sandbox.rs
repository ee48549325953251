//! A script, compiled once, and run with a fresh heap each time.
//!
//! This runs in the process that calls it. What is known to be cheap does so in the program that
//! embeds us; everything else in a worker (`worker.rs`), which is this same code in a process with
//! limits of its own.

use std::cell::Cell;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use starlark::any::ProvidesStaticType;
use starlark::environment::{FrozenModule, Globals, Module};
use starlark::eval::{Evaluator, ProfileMode};
use starlark::syntax::AstModule;
use starlark::values::dict::AllocDict;
use starlark::values::{Heap, OwnedFrozenValue, Value, ValueLike as _};
use tollgate_core::ledger::Effect;
use tollgate_exec::MemoryBound;

use crate::analysis::{self, Said};
use crate::builtins::{self, DecisionValue, Notes};
use crate::convert::to_starlark;
use crate::host::{Call, Host, Reply};
use crate::payload::{self, ALIAS, ARGS};

/// What a script may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Limits {
    /// Function calls and rounds of loops.
    pub(crate) steps: u64,
    /// Bytes on its heap, as far as the language counts them.
    pub(crate) heap: usize,
    pub(crate) time: Duration,
    /// Whether its time is counted from the start. To look at the clock takes a good part of a small
    /// script's.
    pub(crate) from_start: bool,
}

/// Maximum memory that one operation of a script may take that is not known to be cheap, where the process that it runs in is
/// supervised. The language looks at its heap between operations only.
const OPERATION: u64 = 64 << 20;

impl Limits {
    /// Limits the memory of this process while a script runs that is not known to be cheap.
    pub(crate) fn bound(self) -> Option<MemoryBound> {
        if self.from_start { MemoryBound::tighten(OPERATION) } else { None }
    }
}

/// What a script decided.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decided {
    Allow,
    Block(String),
    /// A person is to be asked.
    Ask(String),
    Modify(Map<String, Json>),
    /// Its condition does not hold.
    Skip,
}

impl Decided {
    /// Refused, and why.
    pub(crate) fn block(reason: &str) -> Self {
        let reason =
            if reason.trim().is_empty() { "Blocked, for no stated reason." } else { reason };
        Self::Block(reason.to_owned())
    }

    /// A person is to decide, and why.
    pub(crate) fn ask(reason: &str) -> Self {
        let reason = if reason.trim().is_empty() { "Asked, for no stated reason." } else { reason };
        Self::Ask(reason.to_owned())
    }
}

impl From<Said> for Decided {
    fn from(said: Said) -> Self {
        match said {
            Said::Allow => Self::Allow,
            Said::Block(reason) => Self::block(&reason),
            Said::Ask(reason) => Self::ask(&reason),
            Said::Modify(patch) => Self::Modify(patch),
        }
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Ran {
    pub(crate) decided: Result<Decided, Failed>,
    pub(crate) effects: Vec<Effect>,
    /// Whether the script changed its copy of the payload in place.
    pub(crate) changed_in_place: bool,
}

/// Why a script came to no decision, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Failed {
    pub(crate) message: String,
    /// In which of its texts, from which byte on.
    pub(crate) at: Option<(Part, usize)>,
}

/// One of the texts of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Part {
    When,
    Script,
}

impl Part {
    const fn file_name(self) -> &'static str {
        match self {
            Self::When => "when",
            Self::Script => "script",
        }
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Failed {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), at: None }
    }

    fn of(part: Part, error: &starlark::Error) -> Self {
        let message = error.without_diagnostic().to_string();
        let at = error.span().map(|place| (part, place.span.begin().get() as usize));
        Self { message: in_our_words(&message), at }
    }
}

/// What the language says of a limit, as a person would want to read it.
fn in_our_words(message: &str) -> String {
    let message = message.strip_prefix("error: ").unwrap_or(message).trim();
    // By how they begin: what a script says of tickets and limits is its own.
    if message.starts_with("Execution duration limit") {
        "it took more steps than a hook may".to_owned()
    } else if message.starts_with("Heap memory limit") {
        "it used more memory than a hook may".to_owned()
    } else if message == "Evaluation cancelled" {
        "it took longer than it may".to_owned()
    } else {
        let mut lines = message.lines();
        lines.next().unwrap_or("it failed").to_owned()
    }
}

/// What the built-ins of one run write to and ask.
#[derive(ProvidesStaticType)]
pub(crate) struct Running<'a> {
    host: &'a dyn Host,
    pub(crate) notes: Notes,
}

impl<'a> Running<'a> {
    fn new(host: &'a dyn Host) -> Self {
        Self { host, notes: Notes::default() }
    }

    /// Asks the program around it, and waits for the reply.
    pub(crate) fn ask(&self, call: Call) -> Reply {
        self.host.call(call)
    }
}

/// The names that scripts have, built when the first one is compiled: it takes milliseconds.
pub(crate) fn globals() -> &'static Globals {
    static GLOBALS: OnceLock<Globals> = OnceLock::new();
    GLOBALS.get_or_init(builtins::globals)
}

/// A script that was compiled, and its condition.
#[derive(Clone)]
pub(crate) struct Program {
    when: Option<OwnedFrozenValue>,
    handle: OwnedFrozenValue,
    may_mutate: bool,
}

impl fmt::Debug for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Program").field("may_mutate", &self.may_mutate).finish_non_exhaustive()
    }
}

/// The function that a condition becomes: it can then be called with each payload.
const CONDITION: &str = "def condition(event, payload): return (";

impl Program {
    /// Compiles the texts, and runs what stands at the top level of the script.
    pub(crate) fn compile(
        script: &str,
        when: Option<&str>,
        may_mutate: bool,
        limits: Limits,
    ) -> Result<Self, Failed> {
        let module = top_level(Part::Script, script, globals(), limits)?;
        let handle = module.get("handle").map_err(|_| Failed::new("it has no `handle`"))?;
        let when = when.map(|when| condition(when, limits)).transpose()?;
        Ok(Self { when, handle, may_mutate })
    }

    /// Asks the script about a payload, and its condition before, where nobody else has.
    pub(crate) fn run(
        &self,
        event: &str,
        payload: &Map<String, Json>,
        with_when: bool,
        limits: Limits,
        host: &dyn Host,
    ) -> Ran {
        self.run_on(event, &|heap| payload_value(payload, heap), with_when, limits, host)
    }

    /// As [`run`](Self::run), on a payload that is made where it is needed.
    pub(crate) fn run_on(
        &self,
        event: &str,
        payload: &MakePayload<'_>,
        with_when: bool,
        limits: Limits,
        host: &dyn Host,
    ) -> Ran {
        let running = Running::new(host);
        let _bound = limits.bound();
        let (decided, changed_in_place) = Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            eval.extra = Some(&running);
            if let Err(error) = limit(&mut eval, limits) {
                return (Err(error), false);
            }
            let access = |value| module.heap().access_owned_frozen_value(value);
            let when = self.when.as_ref().filter(|_| with_when).map(access);
            let functions = (when, access(&self.handle));
            ask(&mut eval, functions, event, payload, self.may_mutate)
        });
        ran(running, decided, changed_in_place)
    }
}

/// Compiles and asks in one go, and tells which lines of the script were reached.
pub(crate) fn run_covered(
    (script, when): (&str, Option<&str>),
    event: &str,
    payload: &Map<String, Json>,
    limits: Limits,
    host: &dyn Host,
) -> (Ran, Vec<u32>) {
    let running = Running::new(host);
    let mut lines = Vec::new();
    let covered = Module::with_temp_heap(|module| {
        let ast = parse(Part::Script, script)?;
        let when = when.map(|when| condition(when, limits)).transpose()?;
        let mut eval = Evaluator::new(&module);
        eval.extra = Some(&running);
        limit(&mut eval, limits)?;
        let coverage = eval.enable_profile(&ProfileMode::Coverage);
        coverage.map_err(|error| Failed::new(error.to_string()))?;
        eval.eval_module(ast, globals()).map_err(|error| Failed::of(Part::Script, &error))?;
        let handle = module.get("handle").ok_or_else(|| Failed::new("it has no `handle`"))?;
        let when = when.as_ref().map(|when| module.heap().access_owned_frozen_value(when));
        let make: &MakePayload<'_> = &|heap| payload_value(payload, heap);
        let (decided, changed) = ask(&mut eval, (when, handle), event, make, true);
        for reached in eval.coverage().into_iter().flatten() {
            if reached.file == Part::Script.file_name() {
                lines.push(u32::try_from(reached.span.begin.line + 1).unwrap_or(u32::MAX));
            }
        }
        Ok((decided, changed))
    });
    let (decided, changed) = covered.unwrap_or_else(|failed| (Err(failed), false));
    lines.sort_unstable();
    lines.dedup();
    (ran(running, decided, changed), lines)
}

fn ran(running: Running<'_>, decided: Result<Decided, Failed>, changed_in_place: bool) -> Ran {
    let mut effects = running.notes.into_effects();
    if decided.is_err() || decided == Ok(Decided::Skip) {
        effects.clear();
    }
    Ran { decided, effects, changed_in_place }
}

/// Makes the payload on the heap of a run.
pub(crate) type MakePayload<'a> = dyn for<'v> Fn(Heap<'v>) -> Value<'v> + 'a;

/// The condition, where there is one, and `handle`.
type Functions<'v> = (Option<Value<'v>>, Value<'v>);

/// Puts the payload to the condition and to `handle`. Also tells whether the script has changed its
/// copy of the payload for nothing.
fn ask<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    functions: Functions<'v>,
    event: &str,
    payload: &MakePayload<'_>,
    may_mutate: bool,
) -> (Result<Decided, Failed>, bool) {
    let heap = eval.heap();
    let arguments = [payload::event_value(event, heap), payload(heap)];
    let decided = decide(eval, functions, arguments);
    let [_, copy] = arguments;
    let changed = may_mutate
        && matches!(decided, Ok(Decided::Allow))
        && !copy.equals(payload(heap)).unwrap_or(false);
    (decided, changed)
}

/// The payload as the script gets it: the arguments of a call are there under two names.
pub(crate) fn payload_value<'v>(payload: &Map<String, Json>, heap: Heap<'v>) -> Value<'v> {
    let mut args = None;
    let mut fields = Vec::with_capacity(payload.len() + 1);
    for (name, value) in payload {
        let value = to_starlark(value, heap);
        if name == ARGS {
            args = Some(value);
        }
        fields.push((name.as_str(), value));
    }
    fields.extend(args.map(|args| (ALIAS, args)));
    heap.alloc(AllocDict(fields))
}

fn decide<'v>(
    eval: &mut Evaluator<'v, '_, '_>,
    (when, handle): Functions<'v>,
    arguments: [Value<'v>; 2],
) -> Result<Decided, Failed> {
    if let Some(when) = when {
        let holds = eval.eval_function(when, &arguments, &[]);
        if !holds.map_err(|error| condition_failed(&error))?.to_bool() {
            return Ok(Decided::Skip);
        }
    }
    let answer = eval
        .eval_function(handle, &arguments, &[])
        .map_err(|error| Failed::of(Part::Script, &error))?;
    match answer.downcast_ref::<DecisionValue>() {
        Some(DecisionValue(decided)) => Ok(decided.clone()),
        None if answer.is_none() => Err(Failed::new(
            "`handle` returned nothing; it must return allow(), block(reason) or modify(patch)",
        )),
        None => Err(Failed::new(format!(
            "`handle` returned a value of type `{}`; it must return allow(), block(reason) or \
             modify(patch)",
            answer.get_type()
        ))),
    }
}

/// Runs what stands at the top level of a text, and keeps what it defines.
pub(crate) fn top_level(
    part: Part,
    text: &str,
    globals: &Globals,
    limits: Limits,
) -> Result<FrozenModule, Failed> {
    let ast = parse(part, text)?;
    Module::with_temp_heap(|module| {
        {
            let nobody = Nobody;
            let running = Running::new(&nobody);
            let mut eval = Evaluator::new(&module);
            eval.extra = Some(&running);
            let _bound = limits.bound();
            limit(&mut eval, limits)?;
            eval.eval_module(ast, globals).map_err(|error| Failed::of(part, &error))?;
        }
        module.freeze().map_err(|error| Failed::new(format!("{error:?}")))
    })
}

fn parse(part: Part, text: &str) -> Result<AstModule, Failed> {
    AstModule::parse(part.file_name(), text.to_owned(), &analysis::dialect())
        .map_err(|error| Failed::of(part, &error))
}

fn condition(when: &str, limits: Limits) -> Result<OwnedFrozenValue, Failed> {
    // In brackets it may stand on several lines.
    let text = format!("{CONDITION}{when}\n)\n");
    let module = top_level(Part::When, &text, globals(), limits).map_err(in_condition)?;
    module.get("condition").map_err(|error| Failed::new(error.to_string()))
}

fn condition_failed(error: &starlark::Error) -> Failed {
    let failed = in_condition(Failed::of(Part::When, error));
    Failed { message: format!("`when` failed: {}", failed.message), ..failed }
}

/// A place in the condition, from a place in the function that it became.
fn in_condition(failed: Failed) -> Failed {
    let at = failed.at.map(|(part, at)| (part, at.saturating_sub(CONDITION.len())));
    Failed { at, ..failed }
}

fn limit(eval: &mut Evaluator<'_, '_, '_>, limits: Limits) -> Result<(), Failed> {
    let failed = |error: anyhow::Error| Failed::new(error.to_string());
    eval.set_max_tick_count(limits.steps).map_err(failed)?;
    eval.set_max_heap_size(limits.heap).map_err(failed)?;
    eval.set_check_cancelled(if limits.from_start {
        let begun = time_used();
        Box::new(move || time_used().saturating_sub(begun) > limits.time)
    } else {
        // It is asked every thousand steps, and at the end of a function that was called from here,
        // and begins to count when it is asked for the second time.
        let (was_asked, begun) = (Cell::new(false), Cell::new(None::<Duration>));
        Box::new(move || {
            if let Some(begun) = begun.get() {
                return time_used().saturating_sub(begun) > limits.time;
            }
            if was_asked.replace(true) {
                begun.set(Some(time_used()));
            }
            false
        })
    });
    Ok(())
}

/// How long this thread has computed. What it waited, for a reply or for a processor, is not the
/// script's time.
pub(crate) fn time_used() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// There is nobody to ask while a script is loaded.
struct Nobody;

impl Host for Nobody {
    fn call(&self, _call: Call) -> Reply {
        Err("this can only be asked inside `handle`".to_owned())
    }
}

/// A compiled program that may be shared.
pub(crate) type SharedProgram = Arc<Program>;

#[cfg(test)]
mod tests {
    use super::*;

    /// The clock that begins late still ends what goes on.
    #[test]
    fn time_is_up_in_a_loop_and_not_at_once() {
        let loops = |rounds: u32| {
            let script = format!(
                "def handle(event, payload):\n    for x in range({rounds}):\n        pass\n    \
                 return allow()\n"
            );
            let limits =
                Limits { steps: 1 << 40, heap: 1 << 20, time: Duration::ZERO, from_start: false };
            let program = Program::compile(&script, None, false, limits).unwrap();
            program.run("tool.pre", &Map::new(), false, limits, &Nobody).decided
        };
        assert_eq!(loops(10), Ok(Decided::Allow));
        let failed = loops(100_000).unwrap_err();
        assert_eq!(failed.message, "it took longer than it may");
    }

    #[test]
    fn the_names_of_events_are_what_they_say() {
        let events = tollgate_config::dialect::harness::EVENTS.iter().map(|event| event.name);
        for event in events.chain(["other"]) {
            Module::with_temp_heap(|module| {
                let value = payload::event_value(event, module.heap());
                assert_eq!(value.unpack_str(), Some(event));
                // Those that are known take no room.
                assert_eq!(module.heap().allocated_bytes() > 0, event == "other");
            });
        }
    }
}
