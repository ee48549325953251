//! What was decided, as one host can be told it.

use serde_json::Value;
use tollgate_core::extra::Step;
use tollgate_core::runner::AnyOutcome;
use tollgate_core::verdict::Word;
use tollgate_core::{AnyEvent, Kind};

use crate::host::{Form, Incoming};
use crate::{result, tools};

/// An answer to a host. Made by [`Reply::of`], it holds nothing that the host has no form for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reply {
    /// What becomes of the action.
    pub verdict: Verdict,
    /// Why; not empty where something is refused.
    pub reason: String,
    /// What is rewritten.
    pub rewrite: Option<Rewritten>,
    /// Texts for the model.
    pub context: Vec<String>,
    /// What hooks said that the host cannot be told, for the person.
    pub lost: Vec<String>,
    /// True if it is refused only because the host cannot ask the person.
    pub is_unasked: bool,
}

/// What becomes of an action.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing is said; the host goes on as it would.
    #[default]
    Silent,
    /// It goes on, and the host need not ask.
    Allow,
    /// The person decides.
    Ask,
    /// It does not happen.
    Refuse,
    /// The agent goes on instead of stopping, or tries again.
    Resume,
}

/// A rewrite in the host's own form.
#[derive(Debug, Clone, PartialEq)]
pub enum Rewritten {
    /// All of what its tool is called with.
    Input(Value),
    /// The prompt.
    Prompt(String),
    /// All of what its tool came to.
    Result(Value),
}

/// What a person may choose about answers that a host has no form for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a choice of its own
pub struct Choices {
    /// Where the host cannot ask: whether the action is refused, with how to approve it. Else it goes
    /// on, and the host's own prompts decide.
    pub refuse_unasked: bool,
    /// Where the host cannot rewrite: whether the action is refused, with what to do instead. Else it
    /// goes on as it is.
    pub refuse_unwritten: bool,
    /// Whether an explicit allow is passed on, so that the host does not ask. An allow undoes what
    /// other hooks of some hosts refuse.
    pub pass_allow: bool,
    /// Whether the host runs at a terminal, where a person can be asked.
    pub at_terminal: bool,
}

impl Default for Choices {
    fn default() -> Self {
        Self { refuse_unasked: true, refuse_unwritten: true, pass_allow: false, at_terminal: true }
    }
}

/// The most that a reason has, in bytes. Hosts lose longer answers, or hang.
const LONGEST_REASON: usize = 4 * 1024;

/// The most that all texts for the model have.
const LONGEST_CONTEXT: usize = 64 * 1024;

/// For a refusal without a reason: some hosts take one for none.
const NO_REASON: &str = "A hook refused this.";

impl Reply {
    /// A refusal.
    pub fn refuse(reason: &str) -> Self {
        let reason = if reason.trim().is_empty() { NO_REASON } else { reason };
        let reason = cut(reason, LONGEST_REASON);
        Self { verdict: Verdict::Refuse, reason, ..Self::default() }
    }

    /// What came of an event's parts, in the host's words. `outcomes` are those of the parts, in
    /// their order; fewer where one of them ended it.
    pub fn of(incoming: &Incoming, outcomes: &[AnyOutcome], choices: Choices) -> Self {
        let mut reply = joined(incoming, outcomes);
        let wanted = rewritten(incoming, outcomes);
        if reply.verdict == Verdict::Refuse && incoming.event.forms.rewrite == Form::Own {
            reply.rewrite = withheld(incoming, &reply.reason);
        }
        reply.weaken(incoming, wanted, choices);
        if incoming.event.kind != Kind::ToolPost
            && matches!(reply.verdict, Verdict::Refuse | Verdict::Resume)
        {
            // What does not happen is not rewritten either.
            reply.rewrite = None;
        }
        // To end a loop or to go on with it needs none.
        if incoming.event.kind != Kind::InvocationEnd
            && reply.verdict != Verdict::Silent
            && reply.reason.trim().is_empty()
        {
            NO_REASON.clone_into(&mut reply.reason);
        }
        // What stands for a result may be as long as one.
        let most =
            if incoming.event.kind == Kind::ToolPost { LONGEST_CONTEXT } else { LONGEST_REASON };
        reply.reason = cut(&reply.reason, most);
        reply.bound_context();
        reply
    }

    /// Gives what the host has no form for the strongest one it has.
    fn weaken(&mut self, incoming: &Incoming, wanted: Wanted, choices: Choices) {
        let mut forms = incoming.event.forms;
        if forms.ask == Form::Terminal {
            forms.ask = if choices.at_terminal { Form::Own } else { Form::Refused };
        }
        let title = incoming.host.title;
        match (self.verdict, wanted) {
            (_, Wanted::Nothing) | (Verdict::Refuse, _) => {}
            (_, Wanted::This(rewrite)) if forms.rewrite == Form::Own => {
                self.rewrite = Some(rewrite);
            }
            (_, Wanted::This(rewrite)) if forms.rewrite == Form::Told => {
                self.verdict = Verdict::Refuse;
                self.reason = cut(&rewrite.shown(), LONGEST_CONTEXT);
                return;
            }
            (_, Wanted::This(rewrite)) => {
                self.not_rewritten(&rewrite.shown(), title, forms.rewrite, choices);
            }
            (_, Wanted::Unsayable(shown)) => {
                self.not_rewritten(&shown, title, Form::Refused, choices);
            }
        }
        match self.verdict {
            Verdict::Ask if forms.ask != Form::Own => {
                let reason = if self.reason.is_empty() {
                    "A hook wants a person to decide."
                } else {
                    &self.reason
                };
                if forms.ask == Form::Refused && choices.refuse_unasked {
                    *self = Self::refuse(&format!(
                        "{reason} A person has to approve this, and a hook of {title} cannot ask one here: \
                         tell the person, who can do it themselves."
                    ));
                    self.is_unasked = true;
                } else {
                    self.lost.push(format!("{title} cannot ask from here: {reason}"));
                    self.verdict = Verdict::Silent;
                }
            }
            Verdict::Refuse if forms.refuse == Form::Beside => {
                self.lost
                    .push(format!("{title} gives the model the reason, and the result as well"));
            }
            Verdict::Refuse if forms.refuse != Form::Own => {
                self.lost.push(format!("{title} cannot be refused this: {}", self.reason));
                self.verdict = Verdict::Silent;
            }
            Verdict::Resume if forms.resume == Form::Refused => self.verdict = Verdict::Refuse,
            Verdict::Resume if forms.resume != Form::Own => {
                self.lost.push(format!("{title} cannot be made to go on here: {}", self.reason));
                self.verdict = Verdict::Silent;
            }
            Verdict::Allow if forms.allow != Form::Own || !choices.pass_allow => {
                self.verdict = Verdict::Silent;
            }
            _ => {}
        }
        if !self.context.is_empty() && forms.context != Form::Own {
            self.lost.push(format!("{title} takes no text for the model here"));
            self.context.clear();
        }
    }

    fn not_rewritten(&mut self, shown: &str, title: &str, form: Form, choices: Choices) {
        if form == Form::Refused && choices.refuse_unwritten {
            let lost = std::mem::take(&mut self.lost);
            *self = Self::refuse(&format!(
                "A hook changes this, and {title} cannot be told so. Use this instead: {shown}"
            ));
            self.lost = lost;
        } else {
            self.lost.push(format!("{title} cannot be told what a hook rewrote"));
        }
    }

    fn bound_context(&mut self) {
        let mut room = LONGEST_CONTEXT;
        for text in &mut self.context {
            *text = cut(text, room);
            room = room.saturating_sub(text.len());
        }
        self.context.retain(|text| !text.is_empty());
    }
}

/// What the model is given of a result that is refused: why.
fn withheld(incoming: &Incoming, reason: &str) -> Option<Rewritten> {
    let result = incoming.result.as_ref().filter(|_| incoming.event.kind == Kind::ToolPost)?;
    let reason = if reason.trim().is_empty() { NO_REASON } else { reason };
    result::replaced(result, &reason.into()).map(Rewritten::Result)
}

/// The strictest of what was decided about the parts, and all that was added.
fn joined(incoming: &Incoming, outcomes: &[AnyOutcome]) -> Reply {
    let mut reply = Reply::default();
    let mut all_allowed = outcomes.len() == incoming.parts.len();
    for outcome in outcomes {
        let verdict = verdict(&outcome.decision);
        all_allowed &= verdict == Verdict::Allow;
        let rank = |verdict| match verdict {
            Verdict::Silent | Verdict::Allow => 0,
            Verdict::Ask => 1,
            Verdict::Resume => 2,
            Verdict::Refuse => 3,
        };
        if rank(verdict) > rank(reply.verdict) {
            reply.verdict = verdict;
            reply.reason.clone_from(&outcome.reason);
        }
        reply.context.extend(outcome.additions.context.iter().cloned());
        for step in &outcome.additions.steps {
            match step {
                Step::UserMessage(text)
                | Step::EphemeralMessage(text)
                | Step::SystemMessage(text) => {
                    reply.context.push(text.clone());
                }
                _ => reply.lost.push("a hook cannot call a tool of another agent".to_owned()),
            }
        }
        if let Word::Recover(value) = &outcome.decision {
            let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
            reply.context.push(format!("Use this instead of the error: {text}"));
        }
    }
    if all_allowed && reply.verdict == Verdict::Silent {
        reply.verdict = Verdict::Allow;
    }
    reply
}

const fn verdict(word: &Word) -> Verdict {
    match word {
        Word::Allow => Verdict::Allow,
        Word::Ask | Word::ForceAsk => Verdict::Ask,
        Word::Deny | Word::Cancel | Word::Suppress | Word::Terminate => Verdict::Refuse,
        Word::Retry | Word::Continue => Verdict::Resume,
        _ => Verdict::Silent,
    }
}

/// A rewrite that hooks want.
enum Wanted {
    Nothing,
    This(Rewritten),
    /// One for which the host's tool has no arguments; as Tollgate's tool has them.
    Unsayable(String),
}

fn rewritten(incoming: &Incoming, outcomes: &[AnyOutcome]) -> Wanted {
    let mut input: Option<Value> = None;
    for (place, (part, outcome)) in incoming.parts.iter().zip(outcomes).enumerate() {
        match (&part.event, &outcome.event) {
            (AnyEvent::ToolPre(before), AnyEvent::ToolPre(after)) if before.args != after.args => {
                let native = before.native.as_ref().map(|native| &native.input);
                let Some(so_far) = input.as_ref().or(native) else {
                    return Wanted::Unsayable(shown(after.args.clone().into()));
                };
                match tools::back(part.tool, place, so_far, &before.args, &after.args) {
                    Some(changed) => input = Some(changed),
                    None => return Wanted::Unsayable(shown(after.args.clone().into())),
                }
            }
            (AnyEvent::TurnStart(before), AnyEvent::TurnStart(after))
                if before.prompt != after.prompt =>
            {
                return Wanted::This(Rewritten::Prompt(after.prompt.clone()));
            }
            (AnyEvent::ToolPost(before), AnyEvent::ToolPost(after))
                if before.result != after.result =>
            {
                let native = incoming.result.as_ref().unwrap_or(&before.result);
                return match result::replaced(native, &after.result) {
                    Some(result) => Wanted::This(Rewritten::Result(result)),
                    None => Wanted::Unsayable(shown(after.result.clone())),
                };
            }
            (AnyEvent::ToolError(before), AnyEvent::ToolError(after))
                if before.error != after.error =>
            {
                return Wanted::This(Rewritten::Result(after.error.clone().into()));
            }
            (AnyEvent::SubagentStop(before), AnyEvent::SubagentStop(after))
                if before.result != after.result =>
            {
                return Wanted::This(Rewritten::Result(after.result.clone().unwrap_or_default()));
            }
            (AnyEvent::TurnEnd(before), AnyEvent::TurnEnd(after))
                if before.response != after.response =>
            {
                return Wanted::This(Rewritten::Result(after.response.clone().into()));
            }
            _ => {}
        }
    }
    input.map_or(Wanted::Nothing, |input| Wanted::This(Rewritten::Input(input)))
}

impl Rewritten {
    fn shown(&self) -> String {
        match self {
            Self::Input(value) => shown(value.clone()),
            Self::Result(value) => shown(result::seen(value)),
            Self::Prompt(text) => text.clone(),
        }
    }
}

/// A value for a person or a model to read.
fn shown(value: Value) -> String {
    match value {
        Value::String(text) => text,
        Value::Object(fields) => {
            let names = ["command", "CommandLine", "command_line"];
            let lone = names.iter().find_map(|name| fields.get(*name));
            match lone.and_then(Value::as_str) {
                Some(command) => command.to_owned(),
                None => Value::Object(fields).to_string(),
            }
        }
        other => other.to_string(),
    }
}

/// At most so many bytes of a text, whole characters.
fn cut(text: &str, most: usize) -> String {
    if text.len() <= most {
        return text.to_owned();
    }
    let mut end = most.saturating_sub('…'.len_utf8());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let kept = text.get(..end).unwrap_or_default();
    if kept.is_empty() { String::new() } else { format!("{kept}…") }
}
