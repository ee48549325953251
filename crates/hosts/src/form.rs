//! Answers in the form of Claude Code, which most hosts have taken over, each in its own way.
//!
//! A refusal is written so that it counts wherever any of them looks: the JSON on standard output, the
//! reason on standard error, and 2 for the exit code.

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::Args;
use tollgate_core::{EventRef, Kind};

use crate::fields::{self, Fields, Names};
use crate::host::{Host, HostEvent, Incoming, Wire};
use crate::output::{Output, WireError};
use crate::reply::{Reply, Rewritten, Verdict};

/// What a host says and is told that has taken over the form.
pub(crate) struct ClaudeLike(pub(crate) Rules);

impl Wire for ClaudeLike {
    fn read_event(
        &self,
        host: &'static Host,
        event: &'static HostEvent,
        input: Args,
    ) -> Result<Incoming, WireError> {
        Fields::new(host, &Names::SNAKE, input).read(event)
    }

    fn write_event(
        &self,
        host: &'static Host,
        event: EventRef<'_>,
        session: &SessionInfo,
    ) -> Option<Value> {
        fields::write(host, &Names::SNAKE, event, session)
    }

    fn write_answer(&self, event: &HostEvent, reply: &Reply) -> Output {
        write(self.0, event, reply)
    }

    fn read_answer(&self, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
        read(self.0, event, output)
    }
}

/// How a host differs in what it makes of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // each is a way in which hosts differ
pub(crate) struct Rules {
    /// An answer with a field that is not known, or with a decision that says nothing, is void.
    pub(crate) strict: bool,
    /// JSON counts whatever the exit code is, not at 0 alone.
    pub(crate) reads_json_when_failing: bool,
    /// Exit code 2 counts only where something is on standard error.
    pub(crate) refusal_needs_stderr: bool,
    /// `"decision": "block"` refuses a tool as well.
    pub(crate) block_refuses_tools: bool,
    /// An answer that names another event is void.
    pub(crate) checks_event_name: bool,
    /// `"permissionDecision": "ask"` asks.
    pub(crate) asks: bool,
    /// `updatedInput` counts.
    pub(crate) rewrites: bool,
    /// `updatedInput` counts only beside an allow.
    pub(crate) rewrite_needs_allow: bool,
    /// `updatedInput` has the prompt, where one was submitted.
    pub(crate) rewrites_prompts: bool,
    /// `updatedToolOutput` counts.
    pub(crate) rewrites_results: bool,
    /// `"decision": "block"` counts nowhere but where the agent would stop.
    pub(crate) block_only_resumes: bool,
    /// Text for the model is a reason to go on, where the agent would stop.
    pub(crate) text_resumes: bool,
    /// Exit code 3 ends everything.
    pub(crate) three_ends: bool,
}

impl Rules {
    /// Claude Code's.
    pub(crate) const CLAUDE: Self = Self {
        strict: false,
        reads_json_when_failing: true,
        refusal_needs_stderr: false,
        block_refuses_tools: true,
        checks_event_name: true,
        asks: true,
        rewrites: true,
        rewrite_needs_allow: false,
        rewrites_prompts: false,
        rewrites_results: true,
        block_only_resumes: false,
        text_resumes: true,
        three_ends: false,
    };
}

/// Writes an answer. What it cannot hold is not in a [`Reply`] that was made for the event.
pub(crate) fn write(rules: Rules, event: &HostEvent, reply: &Reply) -> Output {
    let mut own = Map::new();
    let mut outer = Map::new();
    let reason = reply.reason.as_str();
    let mut refused = false;
    match (event.kind, reply.verdict) {
        (_, Verdict::Silent) => {}
        (Kind::ToolPre, verdict) if event.name == "PermissionRequest" => {
            return permission(event, verdict, reason);
        }
        (Kind::ToolPre, Verdict::Allow) => put(&mut own, "permissionDecision", "allow"),
        (Kind::ToolPre, Verdict::Ask) => {
            put(&mut own, "permissionDecision", "ask");
            put(&mut own, "permissionDecisionReason", reason);
        }
        (Kind::ToolPre, Verdict::Refuse | Verdict::Resume) => {
            put(&mut own, "permissionDecision", "deny");
            put(&mut own, "permissionDecisionReason", reason);
            refused = true;
        }
        (_, Verdict::Allow | Verdict::Ask) => {}
        (_, Verdict::Refuse | Verdict::Resume) => {
            put(&mut outer, "decision", "block");
            put(&mut outer, "reason", reason);
            refused = true;
        }
    }
    match &reply.rewrite {
        Some(Rewritten::Input(input)) => {
            if reply.verdict == Verdict::Silent && rules.rewrite_needs_allow {
                put(&mut own, "permissionDecision", "allow");
            }
            own.insert("updatedInput".to_owned(), input.clone());
        }
        Some(Rewritten::Result(result)) => {
            own.insert("updatedToolOutput".to_owned(), result.clone());
        }
        Some(Rewritten::Prompt(prompt)) if rules.rewrites_prompts => {
            own.insert("updatedInput".to_owned(), json!({"prompt": prompt}));
        }
        Some(Rewritten::Prompt(prompt)) => put(&mut own, "updatedPrompt", prompt),
        None => {}
    }
    if !reply.context.is_empty() {
        put(&mut own, "additionalContext", &reply.context.join("\n\n"));
    }
    if !own.is_empty() {
        own.insert("hookEventName".to_owned(), event.name.into());
        outer.insert("hookSpecificOutput".to_owned(), Value::Object(own));
    }
    if !reply.lost.is_empty() {
        put(&mut outer, "systemMessage", &reply.lost.join("\n"));
    }
    let output =
        if outer.is_empty() { Output::silent() } else { Output::json(&Value::Object(outer)) };
    if refused { output.failing(2, reason) } else { output }
}

/// The person would be asked. Here an exit code says less than the JSON does.
pub(crate) fn permission(event: &HostEvent, verdict: Verdict, reason: &str) -> Output {
    let decision = match verdict {
        Verdict::Allow => json!({"behavior": "allow"}),
        Verdict::Refuse | Verdict::Resume => json!({"behavior": "deny", "message": reason}),
        Verdict::Silent | Verdict::Ask => return Output::silent(),
    };
    Output::json(
        &json!({"hookSpecificOutput": {"hookEventName": event.name, "decision": decision}}),
    )
}

fn put(fields: &mut Map<String, Value>, name: &str, text: &str) {
    fields.insert(name.to_owned(), text.into());
}

/// Reads an answer as a host does that has these rules.
pub(crate) fn read(rules: Rules, event: &HostEvent, output: &Output) -> Result<Reply, WireError> {
    let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    let stdout = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let said =
        (output.code == 0 || rules.reads_json_when_failing).then(|| json_in(&stdout)).flatten();
    // With the code of a refusal, JSON is looked at first where it counts at all.
    if output.code == 2 {
        let by_json = said.map(|said| answer(rules, event, said)).transpose().ok().flatten();
        if let Some(reply) = by_json.filter(|reply| reply.verdict != Verdict::Silent) {
            return Ok(reply);
        }
        if stderr.is_empty() && rules.refusal_needs_stderr {
            return Err(WireError::new("it exited with 2 and printed no reason on standard error"));
        }
        return Ok(refusal(event, stderr));
    }
    if output.code == 3 && rules.three_ends {
        return Ok(refusal(event, stderr));
    }
    if output.code != 0 {
        let reply = said.map(|said| answer(rules, event, said)).transpose()?;
        return reply.filter(|reply| reply.verdict != Verdict::Silent).ok_or_else(|| {
            WireError::new(format!("it exited with {}, which says nothing", output.code))
        });
    }
    match said {
        Some(said) => answer(rules, event, said),
        None if stdout.is_empty() => Ok(Reply::default()),
        // Where text for the model is all there is to say, plain text is that.
        None if matches!(event.kind, Kind::SessionStart | Kind::TurnStart)
            && !stdout.starts_with('{') =>
        {
            Ok(Reply { context: vec![stdout], ..Reply::default() })
        }
        None => Err(WireError::new("it printed something that is no JSON object")),
    }
}

fn json_in(text: &str) -> Option<Map<String, Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Object(fields)) => Some(fields),
        _ => None,
    }
}

/// What a refusal is at an event.
fn refusal(event: &HostEvent, reason: String) -> Reply {
    let verdict = if event.kind == Kind::Stop { Verdict::Resume } else { Verdict::Refuse };
    Reply { verdict, reason, ..Reply::default() }
}

/// Fields that a strict host knows, outside and inside.
const OUTER: &[&str] =
    &["continue", "stopReason", "systemMessage", "decision", "reason", "hookSpecificOutput"];
const INNER: &[&str] = &[
    "hookEventName",
    "permissionDecision",
    "permissionDecisionReason",
    "updatedInput",
    "additionalContext",
    "decision",
];

fn answer(
    rules: Rules,
    event: &HostEvent,
    mut outer: Map<String, Value>,
) -> Result<Reply, WireError> {
    let void = |what: &str| Err(WireError::new(format!("its answer is void: {what}")));
    if rules.strict && outer.keys().any(|name| !OUTER.contains(&name.as_str())) {
        return void("it has a field that is not known");
    }
    let mut own = match outer.remove("hookSpecificOutput") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(own)) => own,
        Some(_) => return void("`hookSpecificOutput` is no object"),
    };
    let knows = |name: &str| INNER.contains(&name) && !only_outer(event.kind);
    if rules.strict && own.keys().any(|name| !knows(name)) {
        return void("it has a field that is not known");
    }
    if rules.checks_event_name && !own.is_empty() && text(&own, "hookEventName") != Some(event.name)
    {
        return void("it is for another event");
    }
    let mut reply = Reply::default();
    if let Some(context) = text(&own, "additionalContext")
        && (event.kind != Kind::Stop || rules.text_resumes)
    {
        reply.context.push(context.to_owned());
    }
    if rules.strict && event.kind == Kind::ToolPre && stops(&outer) {
        return void("it wants to end more than the call");
    }
    let reason = text(&outer, "reason").unwrap_or_default().to_owned();
    match text(&outer, "decision") {
        Some("block") if blocks(rules, event.kind) => {
            if rules.strict && reason.trim().is_empty() {
                return void("it refuses without a reason");
            }
            let Reply { verdict, reason, .. } = refusal(event, reason);
            (reply.verdict, reply.reason) = (verdict, reason);
        }
        Some("approve") if rules.strict => return void("there is no `approve`"),
        None | Some("block" | "approve") => {}
        Some(_) if rules.strict || rules.checks_event_name => return void("`decision` is none"),
        Some(_) => {}
    }
    if event.kind == Kind::ToolPre {
        gate(rules, &mut own, &mut reply)?;
    }
    if rules.rewrites_prompts
        && event.kind == Kind::TurnStart
        && let Some(prompt) = own.get("updatedInput").and_then(|input| input.get("prompt"))
        && let Some(prompt) = prompt.as_str()
    {
        reply.rewrite = Some(Rewritten::Prompt(prompt.to_owned()));
    }
    if rules.rewrites_results
        && let Some(result) = own.remove("updatedToolOutput")
    {
        reply.rewrite = Some(Rewritten::Result(result));
    }
    if let Some(prompt) = text(&own, "updatedPrompt").filter(|_| event.kind == Kind::TurnStart) {
        reply.rewrite = Some(Rewritten::Prompt(prompt.to_owned()));
    }
    Ok(reply)
}

/// Whether `"decision": "block"` counts at an event.
fn blocks(rules: Rules, kind: Kind) -> bool {
    match kind {
        Kind::Stop => true,
        Kind::ToolPre => rules.block_refuses_tools,
        _ => !rules.block_only_resumes,
    }
}

/// Whether an event's answer has nothing of its own in it.
const fn only_outer(kind: Kind) -> bool {
    matches!(kind, Kind::Stop | Kind::SubagentStop | Kind::CompactionPre | Kind::CompactionPost)
}

/// Whether an answer says something about more than what it was asked about.
fn stops(outer: &Map<String, Value>) -> bool {
    outer.get("continue").and_then(Value::as_bool) == Some(false)
        || outer.contains_key("stopReason")
}

/// What an answer decides about a call.
fn gate(rules: Rules, own: &mut Map<String, Value>, reply: &mut Reply) -> Result<(), WireError> {
    let void = |what: &str| Err(WireError::new(format!("its answer is void: {what}")));
    if let Some(decision) = own.get("decision").and_then(|decision| decision.get("behavior")) {
        let message = own.get("decision").and_then(|decision| decision.get("message"));
        reply.verdict = match decision.as_str() {
            Some("allow") => Verdict::Allow,
            Some("deny") => Verdict::Refuse,
            _ => return void("`behavior` is none"),
        };
        message.and_then(Value::as_str).unwrap_or_default().clone_into(&mut reply.reason);
        return Ok(());
    }
    let reason = text(own, "permissionDecisionReason").unwrap_or_default().to_owned();
    let rewrites = own.contains_key("updatedInput");
    let decision = text(own, "permissionDecision").map(ToOwned::to_owned);
    let allowed = decision.as_deref() == Some("allow");
    let verdict = match decision.as_deref() {
        None if rules.strict && (rewrites || !reason.is_empty()) => {
            return void("it has no `permissionDecision`");
        }
        Some("allow") if rules.strict && !rewrites => {
            return void("an allow without `updatedInput`");
        }
        // With a rewrite it is what the rewrite needs.
        Some("allow") if rewrites && rules.rewrite_needs_allow => Verdict::Silent,
        Some("allow") => Verdict::Allow,
        Some("deny") if rules.strict && reason.trim().is_empty() => {
            return void("it refuses without a reason");
        }
        Some("deny") => Verdict::Refuse,
        Some("ask") if rules.asks => Verdict::Ask,
        Some("ask") if rules.strict => return void("there is no `ask`"),
        None | Some("ask") => Verdict::Silent,
        Some(_) => return void("`permissionDecision` is none"),
    };
    if verdict != Verdict::Silent && reply.verdict != Verdict::Refuse {
        (reply.verdict, reply.reason) = (verdict, reason);
    }
    if rules.rewrites
        && (allowed || !rules.rewrite_needs_allow)
        && let Some(input) = own.remove("updatedInput")
    {
        reply.rewrite = Some(Rewritten::Input(input));
    }
    Ok(())
}

fn text<'a>(fields: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    fields.get(name).and_then(Value::as_str)
}
