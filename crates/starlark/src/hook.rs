//! A script as the handler of events.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use tollgate_config::dialect::harness::{Artifact, Code};
use tollgate_core::context::Context;
use tollgate_core::error::BoxError;
use tollgate_core::hook::{Ask, BoxFuture, Handle, HookResult};
use tollgate_core::ledger::{Effect, LogEntry, LogLevel};
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::{Answer, Event, EventRef};
use tollgate_exec::worker::Workers;

use crate::analysis::{self, CondError, Native};
use crate::answer::{asked, blocked, modified};
use crate::engine::load::compile;
use crate::engine::local::{AtOnce, run_on_thread};
use crate::engine::outside::Outside;
use crate::engine::remote::{Conversation, unexpected};
use crate::engine::{Generation, Known, limits_in_worker};
use crate::payload::{self, Glance, Local, Measure, Projected, Wanted, Whole, without_second_name};
use crate::protocol::{CodeId, Request, Response};
use crate::sandbox::{Decided, Failed, Limits, MakePayload, Part, Ran, SharedProgram};

/// A hook of a Markdown file.
pub(crate) struct ScriptHook {
    pub(crate) id: CodeId,
    pub(crate) artifact: Arc<Artifact>,
    pub(crate) generation: Arc<Generation>,
    pub(crate) condition: Condition,
    pub(crate) may_mutate: bool,
    /// Whether nothing of it changes its payload, so that it can have one together with others.
    pub(crate) shares_payload: bool,
    /// The fields of the payload that it looks at.
    pub(crate) wanted: Wanted,
    pub(crate) place: Where,
    /// Its native form, where it has one and may run here.
    pub(crate) native: Option<Native>,
    /// The largest payload, in bytes, on which it is known to be cheap.
    pub(crate) most: u64,
    /// How long it may compute.
    pub(crate) time: Duration,
}

/// How the condition is evaluated.
pub(crate) enum Condition {
    /// There is none.
    None,
    /// Without Starlark.
    Native {
        condition: analysis::Condition,
        /// Whether the event alone always tells if it holds.
        told: bool,
    },
    /// With the script.
    Script,
}

/// Whether a condition holds.
enum Held {
    Yes,
    No,
    /// Only the language can tell.
    AskScript,
}

/// Where a script runs.
pub(crate) enum Where {
    Here {
        program: Compiled,
        limits: Limits,
        /// Whether it may ask for what takes long.
        asks_outside: bool,
        /// Whether it is only known to be cheap on payloads that are not too large.
        only_small: bool,
    },
    Worker(Workers<Known>),
}

/// A script that is compiled, or will be when it is needed.
pub(crate) struct Compiled {
    cell: OnceLock<Result<SharedProgram, Failed>>,
}

impl Compiled {
    pub(crate) fn now(program: SharedProgram) -> Self {
        Self { cell: OnceLock::from(Ok(program)) }
    }

    pub(crate) const fn later() -> Self {
        Self { cell: OnceLock::new() }
    }
}

/// Why a script gave no answer.
#[derive(Debug)]
struct Unanswered(String);

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Unanswered {}

impl ScriptHook {
    /// By way of JSON.
    async fn answer<E: Event>(&self, ask: Ask<'_, E>) -> Result<Answer<E>, Unanswered> {
        let payload = projected(ask);
        payload.check().map_err(Unanswered)?;
        let with_when = match self.holds(ask.event, &payload)? {
            Held::No => return Ok(Answer::declined()),
            Held::Yes => false,
            Held::AskScript => true,
        };
        let ran = match &self.place {
            Where::Here { program, limits, asks_outside: false, only_small }
                if !only_small || payload.size() as u64 <= self.most =>
            {
                let only_small = *only_small;
                let host = AtOnce { generation: &self.generation, cx: ask.cx, only_small };
                let program = self.compiled(program, *limits)?;
                program.run(self.event(), &payload.fields, with_when, *limits, &host)
            }
            place => self.elsewhere(place, ask, &payload, with_when).await?,
        };
        self.answer_of(ask, ran)
    }

    /// The usual case, without a detour by JSON: the script runs here, the payload is small, and the
    /// condition is known to hold.
    fn at_once<E: Event>(&self, ask: Ask<'_, E>) -> Result<Option<Ran>, Unanswered> {
        let Where::Here { program, limits, asks_outside: false, only_small } = &self.place else {
            return Ok(None);
        };
        let view = ask.event.view();
        if let Some(ran) = self.natively(view, ask.cx, *only_small) {
            return Ok(Some(ran));
        }
        let local = ask.memo.get_or_make(|| Local::of(view, ask.cx));
        let Some(measure) = &local.measure else { return Ok(None) };
        if *only_small && measure.size as u64 > self.most {
            return Ok(None);
        }
        measure.check().map_err(Unanswered)?;
        let with_when = match &self.condition {
            // Nobody is asked whose `wants` has said no, or has failed.
            Condition::None | Condition::Native { told: true, .. } => false,
            Condition::Script => true,
            Condition::Native { condition, told: false } => {
                match Glance::at(view).holds(condition, self.event()) {
                    Some(Ok(true)) => false,
                    _ => return Ok(None),
                }
            }
        };
        let host = AtOnce { generation: &self.generation, cx: ask.cx, only_small: *only_small };
        let payload: &MakePayload<'_> = &|heap| {
            if self.shares_payload {
                local.shared(view, ask.cx, self.wanted, heap)
            } else {
                payload::on(view, ask.cx, &local.elapsed, Wanted::ALL, heap)
            }
        };
        let program = self.compiled(program, *limits)?;
        Ok(Some(program.run_on(self.event(), payload, with_when, *limits, &host)))
    }

    /// Without Starlark, where the condition is known to hold and the event alone is enough.
    fn natively(&self, event: EventRef<'_>, cx: &impl Context, only_small: bool) -> Option<Ran> {
        let native = self.native.as_ref()?;
        let condition = match &self.condition {
            // Nobody is asked whose `wants` has said no, or has failed.
            Condition::None | Condition::Native { told: true, .. } => None,
            Condition::Script => return None,
            Condition::Native { condition, told: false } => Some(condition),
        };
        let most = only_small.then_some(self.most);
        decide_natively(native, condition, self.event(), event, cx, most)
    }

    /// The script, compiled by now.
    fn compiled<'a>(
        &self,
        program: &'a Compiled,
        limits: Limits,
    ) -> Result<&'a SharedProgram, Unanswered> {
        let compiled = program.cell.get_or_init(|| {
            let when = self.artifact.when.as_ref().map(Code::text);
            compile((self.artifact.script.text(), when, self.may_mutate), limits)
        });
        compiled.as_ref().map_err(|failed| self.unanswered(failed))
    }

    /// What a run came to, as the answer of its event.
    fn answer_of<E: Event>(&self, ask: Ask<'_, E>, ran: Ran) -> Result<Answer<E>, Unanswered> {
        let Ran { decided, effects, changed_in_place } = ran;
        let decided = decided.map_err(|failed| self.unanswered(&failed))?;
        answer_of(ask, decided, effects, changed_in_place)
    }
    fn event(&self) -> &'static str {
        self.artifact.event.name
    }

    /// Whether the condition holds, as far as that can be told without the script.
    fn holds<E: Event>(&self, event: &E, payload: &Projected) -> Result<Held, Unanswered> {
        let condition = match &self.condition {
            Condition::None => return Ok(Held::Yes),
            Condition::Script => return Ok(Held::AskScript),
            Condition::Native { condition, .. } => condition,
        };
        let at_a_glance = Glance::at(event.view()).holds(condition, self.event());
        match at_a_glance.unwrap_or_else(|| condition.eval(self.event(), &Whole(&payload.fields))) {
            Ok(true) => Ok(Held::Yes),
            Ok(false) => Ok(Held::No),
            Err(CondError::NotNative) => Ok(Held::AskScript),
            Err(error) => Err(Unanswered(format!("`when` failed: {}", self.raised(&error)))),
        }
    }

    /// Runs it where it does not hold up the thread that dispatches.
    async fn elsewhere<E: Event>(
        &self,
        place: &Where,
        ask: Ask<'_, E>,
        payload: &Projected,
        with_when: bool,
    ) -> Result<Ran, Unanswered> {
        let outside = Outside {
            generation: &self.generation,
            hook: &self.artifact.name,
            cx: ask.cx,
            until: Instant::now() + ask.limit,
        };
        match place {
            Where::Worker(workers) => self.in_worker(workers, outside, payload, with_when).await,
            Where::Here { only_small: true, .. } => match self.generation.workers() {
                Some(workers) => self.in_worker(&workers, outside, payload, with_when).await,
                None => Err(Unanswered(format!(
                    "the payload has more than {} KiB, and there is no worker process to look at it",
                    self.most / 1024
                ))),
            },
            Where::Here { program, limits, .. } => {
                let program = Arc::clone(self.compiled(program, *limits)?);
                let fields = payload.fields.clone();
                run_on_thread(program, self.event(), fields, with_when, *limits, &outside)
                    .await
                    .map_err(Unanswered)
            }
        }
    }

    async fn in_worker<C: Context>(
        &self,
        workers: &Workers<Known>,
        outside: Outside<'_, C>,
        payload: &Projected,
        with_when: bool,
    ) -> Result<Ran, Unanswered> {
        let limits = limits_in_worker(self.time);
        let conversation = Conversation { workers, outside, limits };
        let load = || Request::Load {
            id: self.id,
            script: self.artifact.script.text().to_owned(),
            when: self.artifact.when.as_ref().map(|when| when.text().to_owned()),
            may_mutate: self.may_mutate,
            limits,
        };
        let event = self.event().to_owned();
        let request = Request::Run { id: self.id, event, when: with_when, limits };
        let answer = conversation.ask(self.id, load, &request, payload.text()).await;
        match answer.map_err(|failed| self.unanswered(&failed))? {
            Response::Ran(ran) => Ok(*ran),
            other => Err(self.unanswered(&unexpected(&other))),
        }
    }

    /// What a native condition has raised, and in which line of the file.
    fn raised(&self, error: &CondError) -> String {
        let place = self.artifact.when.as_ref().map(|when| when.whole().start);
        match place {
            Some(at) => format!("line {}: {error}", self.artifact.source.line(at)),
            None => error.to_string(),
        }
    }

    /// What went wrong, and in which line of the file.
    fn unanswered(&self, failed: &Failed) -> Unanswered {
        Unanswered(describe(&self.artifact, failed))
    }
}

/// What a script has decided, as the answer of its event.
fn answer_of<E: Event>(
    ask: Ask<'_, E>,
    decided: Decided,
    effects: Vec<Effect>,
    changed_in_place: bool,
) -> Result<Answer<E>, Unanswered> {
    let mut answer = match decided {
        Decided::Skip => return Ok(Answer::declined()),
        Decided::Allow => Answer::none(),
        Decided::Block(reason) => typed(blocked(E::KIND, reason))?,
        Decided::Ask(reason) => typed(asked(E::KIND, reason).map_err(Unanswered)?)?,
        Decided::Modify(patch) => {
            // What is changed is told by what was there.
            let mut answer =
                modified(E::KIND, patch, &projected(ask).fields).map_err(Unanswered)?;
            if let Some(Rewrite::AllArgs(args)) = &mut answer.rewrite {
                without_second_name(ask.event.view(), args);
            }
            typed(answer)?
        }
    };
    answer.effects = effects;
    if changed_in_place {
        say_in_place(&mut answer);
    }
    Ok(answer)
}

/// What a script in native form decides about an event whose condition holds, if the event alone is enough for both; of
/// no more than so many bytes, where it is only known to be cheap on these.
fn decide_natively(
    native: &Native,
    condition: Option<&analysis::Condition>,
    name: &str,
    event: EventRef<'_>,
    cx: &impl Context,
    most: Option<u64>,
) -> Option<Ran> {
    let measure = Measure::of_event(event, cx)?;
    measure.check().ok()?;
    if most.is_some_and(|most| measure.size as u64 > most) {
        return None;
    }
    let glance = Glance::of(event, cx.session().info());
    if let Some(condition) = condition
        && glance.holds(condition, name) != Some(Ok(true))
    {
        return None;
    }
    let (said, effects) = glance.tells(|payload| native.decide(name, payload))?;
    Some(Ran { decided: Ok(said.into()), effects, changed_in_place: false })
}

/// The answer of a script that has decided natively; nothing where only the language can tell.
pub(crate) fn native_answer<E: Event>(
    native: &Native,
    condition: Option<&analysis::Condition>,
    name: &str,
    ask: Ask<'_, E>,
) -> Option<HookResult<E>> {
    let ran = decide_natively(native, condition, name, ask.event.view(), ask.cx, None)?;
    let answer = answer_of(ask, ran.decided.ok()?, ran.effects, ran.changed_in_place);
    Some(answer.map_err(BoxError::from))
}

/// What went wrong in a hook, and in which line of its file.
pub(crate) fn describe(artifact: &Artifact, failed: &Failed) -> String {
    let code = match failed.at {
        Some((Part::Script, at)) => Some((&artifact.script, at)),
        Some((Part::When, at)) => artifact.when.as_ref().map(|when| (when, at)),
        None => None,
    };
    match code {
        Some((code, at)) => {
            let line = artifact.source.line(code.span(at..at).start);
            format!("line {line}: {}", failed.message)
        }
        None => failed.message.clone(),
    }
}

fn typed<E: Event>(answer: Neutral) -> Result<Answer<E>, Unanswered> {
    answer.into_answer().map_err(|error| Unanswered(error.to_string()))
}

/// The payload as JSON, made once for all hooks of a dispatch.
fn projected<E: Event>(ask: Ask<'_, E>) -> Arc<Projected> {
    let local = ask.memo.get_or_make(|| Local::of(ask.event.view(), ask.cx));
    ask.memo.get_or_make(|| Projected::of(ask.event.view(), ask.cx, &local.elapsed))
}

/// Tells the person that a hook has changed what nobody will look at.
fn say_in_place<E: Event>(answer: &mut Answer<E>) {
    const SAID: &str = "the hook changed its copy of the payload, which changes nothing: \
                        return modify({...}) with what is to be different";
    answer.detail = Some(SAID.into());
    answer.effects.push(Effect::Log(LogEntry {
        level: LogLevel::Warn,
        message: SAID.to_owned(),
        fields: serde_json::Map::new(),
    }));
}

impl<E: Event> Handle<E> for ScriptHook {
    fn wants(&self, event: &E) -> Result<bool, BoxError> {
        let Condition::Native { condition, .. } = &self.condition else { return Ok(true) };
        match Glance::at(event.view()).holds(condition, self.event()) {
            Some(held) => {
                held.map_err(|error| Box::new(Unanswered(self.raised(&error))) as BoxError)
            }
            // What the event alone does not tell is found out when the hook is asked.
            None => Ok(true),
        }
    }

    fn handle<'a>(&'a self, ask: Ask<'a, E>) -> BoxFuture<'a, HookResult<E>> {
        // What takes longer has a future of its own: this one is made for every question, and small.
        Box::pin(async move {
            let answer = match self.at_once(ask) {
                Ok(Some(ran)) => self.answer_of(ask, ran),
                Ok(None) => Box::pin(self.answer(ask)).await,
                Err(error) => Err(error),
            };
            answer.map_err(|error| Box::new(error) as BoxError)
        })
    }
}
