//! Exceptions at a call of another agent: which ones cover it, and how a person makes one.
//!
//! A refusal is recorded, and its reason ends with a code. `tollgate allow CODE` makes an exception from it. At the
//! next call, hooks whose objections are covered have no opinion. Exceptions for one call are spent at the end, when
//! it is known that nothing else refuses the call: else a call to which two hooks object could never pass.
//!
//! The first deny ends the chain. So that one code is enough, the hooks are asked again as if the objections found so
//! far were excepted. Commands are not asked, because they may have effects: a command that objects later gives its own
//! code. If one of the objections cannot be excepted, there is no code.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::path::Path;
use std::sync::{Mutex, OnceLock, PoisonError};

use serde_json::Value;
use tollgate_config::settings::{Excepting, Settings};
use tollgate_core::AnyEvent;
use tollgate_core::exception::{ExceptionId, Exceptions, Objection};
use tollgate_core::mask::Masker;
use tollgate_core::record::Answered;
use tollgate_core::registry::HookInfo;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::verdict::Word;
use tollgate_hosts::{Incoming, Reply, Verdict};
use tollgate_record::exceptions::{Binding, Exception, Objector, Store};
use tollgate_record::{Code, Entry, Excepted, RecordError, Recorder, Refused};

use crate::exception::{binding, covers, is_bound, is_permitted, objector};
use crate::{person, world};

/// The longest arguments that are recorded in full. A person cannot judge what is not shown, so a longer call has no
/// code.
const LONGEST_ARGUMENTS: usize = 16 * 1024;

/// The longest text of a refusal that is recorded.
const LONGEST_TEXT: usize = 4 * 1024;

/// The longest reason of one of the objections that is recorded.
const LONGEST_OBJECTION: usize = 1_024;

/// The longest reason to which a code is added.
const LONGEST_REASON: usize = 3_850;

/// Maximum number of times that hooks are asked again about a refused call.
const MOST_ROUNDS: usize = 8;

/// Asks about a refused call again, with what is supposed to be excepted. None if the answer cannot be found out.
pub(super) type Again<'a> = dyn Fn(&AnyOutcome) -> Option<(AnyOutcome, Reply)> + 'a;

/// The binding of an exception from a refusal.
struct Bound {
    binding: Binding,
    /// True if nothing else objects to the call.
    is_all: bool,
}

/// The exceptions of the person at one call.
#[derive(Debug)]
pub(super) struct Grants {
    store: Option<Store>,
    recorder: Option<Recorder>,
    directory: Option<String>,
    setting: Excepting,
    list: OnceLock<Result<Vec<Exception>, RecordError>>,
    /// The exceptions that cover an objection, with the hooks that objected.
    used: Mutex<BTreeMap<Code, BTreeSet<String>>>,
    /// What is supposed to be excepted while hooks are asked again.
    supposed: Mutex<Option<Binding>>,
}

impl Grants {
    pub(super) fn new(incoming: &Incoming, state: Option<&Path>, settings: &Settings) -> Self {
        let said = incoming.cwd.clone().filter(|directory| Path::new(directory).is_absolute());
        let here = || env::current_dir().ok()?.into_os_string().into_string().ok();
        Self {
            store: state.map(Store::new),
            recorder: state.map(Recorder::new),
            directory: said.or_else(here),
            setting: settings.exceptions.allow,
            list: OnceLock::new(),
            used: Mutex::default(),
            supposed: Mutex::default(),
        }
    }

    fn list(&self) -> &[Exception] {
        let read = || self.store.as_ref().map_or_else(|| Ok(Vec::new()), Store::list);
        self.list.get_or_init(read).as_deref().unwrap_or_default()
    }

    /// Returns the exceptions that were used.
    fn used(&self) -> BTreeMap<Code, BTreeSet<String>> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Spends what was used, and refuses the call if that is not possible. Records a refusal, and adds its code.
    pub(super) fn settle(
        &self,
        incoming: &Incoming,
        outcomes: &[AnyOutcome],
        settings: &Settings,
        (project, again): (&Path, &Again<'_>),
        reply: &mut Reply,
    ) {
        if reply.verdict != Verdict::Refuse {
            if let Err(why) = self.spend(incoming) {
                *reply = Reply::refuse(&why);
            }
            return;
        }
        if let Some(Err(error)) = self.list.get() {
            reply.lost.push(format!("Tollgate: exceptions are not used: {error}"));
        }
        // A person looks for what an agent was refused.
        let Some(recorder) = self.recorder.as_ref().filter(|_| !person::is_canary()) else {
            return;
        };
        let Some(outcome) = decisive(outcomes) else { return };
        let masker = settings.masker().unwrap_or_else(|_| Masker::everything());
        let mut refused = refused(incoming, outcome, &masker, reply, project);
        refused.directory = self.directory.clone().unwrap_or_default();
        let is_whole = refused.arguments.len() <= LONGEST_ARGUMENTS;
        let bound = is_whole.then(|| self.bound(outcome, reply, &masker, again)).flatten();
        self.suppose(None);
        let mut unless = "";
        if let Some(Bound { binding, is_all }) = bound {
            refused.code = Code::random().ok();
            refused.binding = Some(binding);
            unless = if is_all { "" } else { " unless another hook refuses it," };
        }
        let code = refused.code.clone();
        let appended = recorder.append(&Entry::Refused(Box::new(refused.clone())));
        match (appended, code) {
            (Ok(_), Some(code)) => {
                reply.reason = cut(&reply.reason, LONGEST_REASON);
                let reason = reply.reason.trim_end();
                let end = if reason.ends_with(['.', '!', '?', '`', ':']) { "" } else { "." };
                reply.reason = format!(
                    "{reason}{end} To let exactly this call pass,{unless} a person can run `tollgate allow {code}`."
                );
            }
            (Err(RecordError::TooLarge(_)), _) => {
                // Without the call, so that at least the refusal is there.
                let short = Refused { code: None, binding: None, ..refused };
                let short = Refused { arguments: cut(&short.arguments, 1_024), ..short };
                let _ = recorder.append(&Entry::Refused(Box::new(short)));
            }
            _ => {}
        }
    }

    /// Spends the exceptions that let this call pass, and records that.
    fn spend(&self, incoming: &Incoming) -> Result<(), String> {
        let used = self.used();
        let (Some(store), Some(recorder)) = (&self.store, &self.recorder) else { return Ok(()) };
        if used.is_empty() {
            return Ok(());
        }
        let again = "Ask the person for a new exception if the call is still needed.";
        match store.spend(&used.keys().cloned().collect()) {
            Ok(true) => {}
            Ok(false) => {
                return Err(format!("The exception for this call was used up meanwhile. {again}"));
            }
            Err(error) => {
                return Err(format!("The exception for this call cannot be used: {error}"));
            }
        }
        for (id, hooks) in used {
            let hooks = hooks.into_iter().collect();
            let (host, session) = (incoming.host.name.to_owned(), incoming.session.id.clone());
            let session = cut(&session, LONGEST_TEXT);
            recorder.append(&Entry::Excepted(Excepted { id, host, session, hooks })).map_err(
                |error| format!("The use of an exception cannot be recorded: {error}. {again}"),
            )?;
        }
        Ok(())
    }

    /// Returns what an exception would bind: every hook that objects to the call, as far as that can be found out. None
    /// if one of the objections cannot be excepted.
    fn bound(
        &self,
        first: &AnyOutcome,
        reply: &Reply,
        masker: &Masker,
        again: &Again<'_>,
    ) -> Option<Bound> {
        let AnyEvent::ToolPre(event) = &first.event else { return None };
        let mut binding = binding(&event.call, self.directory.as_deref()?);
        binding.hooks.push(self.objector(first, reply, masker)?);
        let mut is_all = false;
        for _ in 0..MOST_ROUNDS {
            self.suppose(Some(binding.clone()));
            let Some((outcome, reply)) = again(first) else { break };
            if reply.verdict != Verdict::Refuse {
                is_all = true;
                break;
            }
            binding.hooks.push(self.objector(&outcome, &reply, masker)?);
        }
        binding.reads = world::seen()?;
        Some(Bound { binding, is_all })
    }

    fn suppose(&self, binding: Option<Binding>) {
        *self.supposed.lock().unwrap_or_else(PoisonError::into_inner) = binding;
    }

    /// Returns the hook whose objection decided. None if that cannot be excepted.
    fn objector(&self, outcome: &AnyOutcome, reply: &Reply, masker: &Masker) -> Option<Objector> {
        let (answered, hook) = deciding(outcome)?;
        let is_objection = match outcome.decision {
            Word::Deny => true,
            // Else the call is refused for something else: a rewrite that the host cannot be told, for example.
            Word::Ask | Word::ForceAsk => reply.is_unasked,
            _ => false,
        };
        if !is_objection || self.setting == Excepting::None || !answered.can_be_excepted {
            return None;
        }
        let reason = cut(&masker.text(&answered.reason), LONGEST_OBJECTION);
        Some(objector(hook, answered.detail.as_deref(), reason))
    }
}

impl Exceptions for Grants {
    fn covering(&self, objection: &Objection<'_>) -> Option<ExceptionId> {
        let directory = self.directory.as_deref()?;
        let supposed = self.supposed.lock().unwrap_or_else(PoisonError::into_inner);
        if supposed.as_ref().is_some_and(|it| is_bound(it, None, objection, directory)) {
            return Some("supposed".into());
        }
        drop(supposed);
        let covering = self.list().iter().find(|exception| {
            is_permitted(exception.lasting, self.setting) && covers(exception, objection, directory)
        })?;
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.entry(covering.id.clone()).or_default().insert(objection.hook.name.clone());
        Some(covering.id.as_str().into())
    }
}

/// Returns the outcome that decided: the first one that denies, else the first one that asks.
fn decisive(outcomes: &[AnyOutcome]) -> Option<&AnyOutcome> {
    let first = |words: &[Word]| outcomes.iter().find(|outcome| words.contains(&outcome.decision));
    first(&[Word::Deny, Word::Cancel, Word::Suppress, Word::Terminate])
        .or_else(|| first(&[Word::Ask, Word::ForceAsk]))
        .or_else(|| outcomes.last())
}

fn deciding(outcome: &AnyOutcome) -> Option<(&Answered, &HookInfo)> {
    let answered = outcome.record.decisive()?;
    Some((answered, outcome.record.hook(answered)?))
}

/// Returns what is recorded of a refusal, without its code.
fn refused(
    incoming: &Incoming,
    outcome: &AnyOutcome,
    masker: &Masker,
    reply: &Reply,
    project: &Path,
) -> Refused {
    let text = |text: &str| cut(&masker.text(text), LONGEST_TEXT);
    let call = match &outcome.event {
        AnyEvent::ToolPre(event) => Some(&event.call),
        _ => None,
    };
    let arguments = call.map(|call| {
        let mut arguments = Value::Object(call.args.clone());
        masker.value(&mut arguments);
        cut(&arguments.to_string(), LONGEST_ARGUMENTS + 1)
    });
    let (answered, hook) = deciding(outcome).unzip();
    let rule = answered.and_then(|answered| answered.detail.as_deref());
    Refused {
        host: incoming.host.name.to_owned(),
        session: text(&incoming.session.id),
        project: project.to_string_lossy().into_owned(),
        event: incoming.event.kind.name().to_owned(),
        tool: call.map(|call| text(&call.name)),
        server: call.and_then(|call| call.server.as_deref()).map(text),
        arguments: arguments.unwrap_or_default(),
        hook: hook.map(|hook| hook.name.clone()).unwrap_or_default(),
        rule: rule.filter(|_| hook.is_some_and(|hook| hook.is_policy)).map(text),
        word: outcome.decision.to_string(),
        reason: text(&reply.reason),
        detail: text(&outcome.record.detail()),
        ..Refused::default()
    }
}

/// Returns at most so many bytes of a text, whole characters.
fn cut(text: &str, most: usize) -> String {
    let mut end = most.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default().to_owned()
}
