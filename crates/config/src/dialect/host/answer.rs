//! What handlers answer.
//!
//! The agents take nearly everything for a yes that is no refusal: exit codes that they do not know,
//! text that is no JSON, decisions that are none. Here a handler that cannot be understood at a gate
//! has failed, and so the gate is closed.

use serde_json::{Map, Value, json};
use tollgate_core::extra::Additions;
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::verdict::Word;
use tollgate_core::{EventRef, Kind};
use tollgate_hosts::{Form, HostEvent, Reply, Rewritten, Verdict};

use super::super::text::{self, excerpt};
use super::super::{Codec as _, Output, WireError};
use super::HostDialect;

/// Reads an answer. What it adds may have no place at the event: [`to`] finds one.
pub(super) fn decode(
    dialect: &HostDialect,
    kind: Kind,
    output: &Output,
) -> Result<Neutral, WireError> {
    let event = dialect.host_event(kind).ok_or_else(|| dialect.no_event(kind.name()))?;
    let stdout = output.stdout.trim_ascii();
    if output.code == 0 && !stdout.is_empty() && !stdout.starts_with(b"{") {
        return plain(dialect, kind, event, output);
    }
    // Some read standard error where nothing else is there, and there it is mostly what was logged.
    let logged = stdout.is_empty() && !output.stderr.trim_ascii().starts_with(b"{");
    if output.code == 0 && logged {
        return Ok(Neutral::default());
    }
    let said = if stdout.is_empty() { &output.stderr } else { &output.stdout };
    let fields = match text::answer(said) {
        Ok(fields) => fields.unwrap_or_default(),
        Err(error) if output.code == 0 => return Err(error),
        Err(_) => Map::new(),
    };
    check_decision(&fields)?;
    if fields.get("continue").and_then(Value::as_bool) == Some(false) {
        return Ok(end(kind, &fields));
    }
    let reply = match dialect.host.wire.read_answer(event, output) {
        Err(_) if !matches!(output.code, 0 | 2) => return Err(exit_code(output)),
        reply => reply?,
    };
    if output.code != 0 && !matches!(reply.verdict, Verdict::Refuse | Verdict::Resume) {
        return Err(exit_code(output));
    }
    let mut answer = neutral(kind, reply)?;
    let message = fields.get("systemMessage").and_then(Value::as_str);
    answer.detail = message.filter(|message| !message.is_empty()).map(Into::into);
    Ok(answer)
}

/// Text that is no JSON. At a gate nobody can tell what it means; elsewhere agents show it.
fn plain(
    dialect: &HostDialect,
    kind: Kind,
    event: &HostEvent,
    output: &Output,
) -> Result<Neutral, WireError> {
    let shown = excerpt(&output.stdout);
    if kind == Kind::ToolPre {
        return Err(WireError::new(format!(
            "it printed text that is not JSON, which decides nothing: print the answer or nothing, \
             and send other text to stderr (`>&2`): `{shown}`"
        )));
    }
    match dialect.host.wire.read_answer(event, output) {
        Ok(reply) => neutral(kind, reply),
        Err(_) => Ok(Neutral {
            detail: Some(format!("it printed: {shown}").into()),
            ..Neutral::default()
        }),
    }
}

/// A decision that none of the agents knows is a slip, and not a yes.
fn check_decision(fields: &Map<String, Value>) -> Result<(), WireError> {
    match fields.get("decision") {
        None | Some(Value::Null) => Ok(()),
        Some(Value::String(word))
            if ["", "allow", "approve", "ask", "block", "deny"].contains(&word.as_str()) =>
        {
            Ok(())
        }
        Some(other) => Err(WireError::new(format!(
            "`{}` is no decision: there are block and deny, and to say nothing",
            excerpt(other.to_string().as_bytes())
        ))),
    }
}

/// `"continue": false`: all of it is to end. The strongest that an event has.
fn end(kind: Kind, fields: &Map<String, Value>) -> Neutral {
    let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::trim);
    let reason = text("stopReason").or(text("reason")).filter(|reason| !reason.is_empty());
    let reason = reason.unwrap_or("A hook ends this.");
    match refused(kind) {
        // It may come to its end.
        Word::None | Word::Continue => Neutral {
            detail: Some(format!("it wants all of it to end: {reason}").into()),
            ..Neutral::default()
        },
        word => Neutral::new(word, reason),
    }
}

/// What a refusal is at an event.
const fn refused(kind: Kind) -> Word {
    match kind {
        Kind::ToolPre | Kind::ToolPost | Kind::TurnStart | Kind::SubagentStop | Kind::ModelPre => {
            Word::Deny
        }
        Kind::Stop => Word::Continue,
        Kind::CompactionPre => Word::Cancel,
        _ => Word::None,
    }
}

fn neutral(kind: Kind, reply: Reply) -> Result<Neutral, WireError> {
    let word = match (reply.verdict, kind) {
        (Verdict::Allow, Kind::ToolPre) => Word::Allow,
        (Verdict::Ask, Kind::ToolPre) => Word::Ask,
        (Verdict::Silent | Verdict::Allow | Verdict::Ask, _) => Word::None,
        (Verdict::Refuse | Verdict::Resume, _) => refused(kind),
    };
    let is_refused = matches!(word, Word::Deny | Word::Continue | Word::Cancel);
    let reason = match &word {
        Word::None | Word::Allow => String::new(),
        _ if is_refused && reply.reason.trim().is_empty() => Reply::refuse("").reason,
        _ => reply.reason.trim().to_owned(),
    };
    let rewrite = match reply.rewrite {
        // What does not happen is not rewritten.
        _ if is_refused => None,
        None => None,
        Some(Rewritten::Input(Value::Object(input))) => Some(Rewrite::AllArgs(input)),
        Some(Rewritten::Input(other)) => {
            return Err(WireError::new(format!(
                "what it rewrites is {}, not an object of arguments",
                text::kind(&other)
            )));
        }
        Some(Rewritten::Prompt(prompt)) => Some(Rewrite::Prompt(prompt)),
        Some(Rewritten::Result(result)) => Some(Rewrite::Result(result)),
    };
    let context = reply.context.into_iter().filter(|text| !text.trim().is_empty()).collect();
    let additions = Additions { context, ..Additions::default() };
    Ok(Neutral { word, reason, additions, rewrite, detail: None })
}

fn exit_code(output: &Output) -> WireError {
    let said = excerpt(&output.stderr);
    let said = if said.is_empty() { excerpt(&output.stdout) } else { said };
    let said = if said.is_empty() { String::new() } else { format!("; it said: {said}") };
    WireError::new(format!(
        "it exited with code {}: a hook exits with 0, or with 2 to refuse{said}",
        output.code
    ))
}

/// Reads what a handler answered to this event, in Tollgate's words.
pub(super) fn to(
    dialect: &HostDialect,
    event: EventRef<'_>,
    output: &Output,
) -> Result<Neutral, WireError> {
    let kind = event.kind();
    let mut answer = decode(dialect, kind, output)?;
    if let Some(rewrite) = answer.rewrite.take() {
        answer.rewrite = Some(dialect.unwrap_rewrite(event, rewrite)?);
    }
    let takes_text = matches!(kind, Kind::TurnStart | Kind::SessionStart | Kind::ModelPre);
    if takes_text || answer.additions.context.is_empty() {
        return Ok(answer);
    }
    let context = std::mem::take(&mut answer.additions.context).join("\n\n");
    match event {
        // Behind a result is where the agents put it as well.
        EventRef::ToolPost(event) if answer.word == Word::None => {
            let result = match &answer.rewrite {
                Some(Rewrite::Result(result)) => result,
                _ => &event.result,
            };
            let result = match result {
                Value::String(text) => text.clone(),
                Value::Null => String::new(),
                other => other.to_string(),
            };
            let between = if result.is_empty() { "" } else { "\n\n" };
            answer.rewrite = Some(Rewrite::Result(format!("{result}{between}{context}").into()));
        }
        _ => {
            let shown = excerpt(context.as_bytes());
            let said = format!("what it adds for the model has no place at {kind}: {shown}");
            answer.detail.get_or_insert(said.into());
        }
    }
    Ok(answer)
}

/// Writes an answer as the agent reads it.
pub(super) fn encode(
    dialect: &HostDialect,
    kind: Kind,
    answer: &Neutral,
) -> Result<Output, WireError> {
    let event = dialect.host_event(kind).ok_or_else(|| dialect.no_event(kind.name()))?;
    let title = dialect.host.title;
    let verdict = match &answer.word {
        Word::None => Verdict::Silent,
        Word::Allow => Verdict::Allow,
        Word::Ask | Word::ForceAsk => Verdict::Ask,
        Word::Deny | Word::Cancel | Word::Suppress => Verdict::Refuse,
        Word::Continue | Word::Retry => Verdict::Resume,
        other => {
            return Err(WireError::new(format!("{title} cannot be told `{other}` at {kind}")));
        }
    };
    let rewrite = match answer.rewrite.clone() {
        None => None,
        Some(Rewrite::AllArgs(args) | Rewrite::Args(args)) => Some(Rewritten::Input(args.into())),
        Some(Rewrite::Prompt(prompt)) => Some(Rewritten::Prompt(prompt)),
        Some(Rewrite::Result(result)) => Some(Rewritten::Result(result)),
        Some(other) => {
            let what = other.what();
            return Err(WireError::new(format!("{title} cannot be told another {what} at {kind}")));
        }
    };
    let reason = answer.reason.clone();
    let forms = event.forms;
    let is_heard = forms.refuse == Form::Own || forms.resume == Form::Own;
    if matches!(verdict, Verdict::Refuse | Verdict::Resume) && !is_heard {
        // All that can be said there.
        return Ok(Output::json(&json!({"continue": false, "stopReason": reason})));
    }
    let context = answer.additions.context.clone();
    let reply = Reply { verdict, reason, rewrite, context, ..Reply::default() };
    Ok(dialect.host.write(event, &reply))
}
