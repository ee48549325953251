//! Events as most hosts write them: one flat object, with a few names for each field.

use serde_json::{Map, Value, json};
use tollgate_core::context::SessionInfo;
use tollgate_core::event::{
    Agent, Args, CompactionPost, CompactionPre, Failure, ModelPost, ModelPre, Notification,
    SessionEnd, SessionStart, Stop, SubagentStart, SubagentStop, ToolCall, ToolError, ToolPost,
    ToolPre, TurnEnd, TurnStart,
};
use tollgate_core::{AnyEvent, EventRef, Kind};

use crate::host::{Host, HostEvent, Incoming, Part};
use crate::output::WireError;
use crate::{result, tools};

/// The names under which hosts have what an event tells. The first is the one that is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names {
    pub(crate) event: &'static str,
    pub(crate) session: &'static [&'static str],
    pub(crate) transcript: &'static [&'static str],
    pub(crate) agent: &'static [&'static str],
    pub(crate) agent_type: &'static [&'static str],
    pub(crate) tool: &'static [&'static str],
    pub(crate) input: &'static [&'static str],
    pub(crate) result: &'static [&'static str],
    pub(crate) call: &'static [&'static str],
    pub(crate) response: &'static [&'static str],
    pub(crate) summary: &'static [&'static str],
    pub(crate) notification: &'static [&'static str],
}

impl Names {
    /// Claude Code's, and those of the hosts that took over its form. Where they differ in a name, the
    /// other is there as well: no two mean different things by the same.
    pub(crate) const SNAKE: Self = Self {
        event: "hook_event_name",
        session: &["session_id", "sessionId"],
        transcript: &["transcript_path"],
        agent: &["agent_id"],
        agent_type: &["agent_type", "agent_name", "task_name"],
        tool: &["tool_name", "toolName"],
        input: &["tool_input", "toolInput"],
        result: &["tool_response", "tool_output", "tool_result"],
        call: &["tool_use_id", "tool_call_id"],
        response: &["last_assistant_message", "prompt_response", "response", "task_result"],
        summary: &["compact_summary"],
        notification: &["notification_type"],
    };
}

/// One input, of which fields are taken by name.
pub(crate) struct Fields<'a> {
    host: &'static Host,
    names: &'a Names,
    input: Args,
}

impl<'a> Fields<'a> {
    pub(crate) fn new(host: &'static Host, names: &'a Names, input: Args) -> Self {
        Self { host, names, input }
    }

    fn get(&self, names: &[&str]) -> Option<&Value> {
        names.iter().filter_map(|name| self.input.get(*name)).find(|value| !value.is_null())
    }

    fn text(&self, names: &[&str]) -> Option<String> {
        match self.get(names)? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }

    /// A text, also one in parts, or in a field of its own.
    fn any_text(&self, names: &[&str]) -> String {
        match self.get(names) {
            None => String::new(),
            Some(Value::Object(fields)) if fields.contains_key("message") => {
                fields.get("message").map(as_text).unwrap_or_default()
            }
            Some(value) => as_text(&result::seen(value)),
        }
    }

    fn agent(&self) -> Agent {
        self.text(self.names.agent)
            .filter(|id| !id.is_empty())
            .map_or_else(Agent::default, |id| Agent { id, depth: 1 })
    }

    fn model(&self) -> Option<String> {
        self.text(&["model"]).or_else(|| {
            let request = self.get(&["llm_request"])?;
            request.get("model").and_then(Value::as_str).map(ToOwned::to_owned)
        })
    }

    /// The event.
    pub(crate) fn read(self, event: &'static HostEvent) -> Result<Incoming, WireError> {
        let cwd = self.text(&["cwd"]);
        let session = SessionInfo {
            id: self.text(self.names.session).unwrap_or_default(),
            transcript: self.text(self.names.transcript),
            ..SessionInfo::default()
        };
        let result = self.get(self.names.result).cloned();
        let parts = self.parts(event, cwd.as_deref(), result.as_ref())?;
        Ok(Incoming { host: self.host, event, session, cwd, parts, result })
    }

    fn parts(
        &self,
        event: &HostEvent,
        cwd: Option<&str>,
        result: Option<&Value>,
    ) -> Result<Vec<Part>, WireError> {
        let agent = self.agent();
        let model = self.model();
        let kind = || self.text(self.names.agent_type).unwrap_or_default();
        let steps = || {
            let messages = self.get(&["llm_request"]).and_then(|request| request.get("messages"));
            messages.and_then(Value::as_array).map_or(0, |messages| messages.len() as u64)
        };
        let part = match event.kind {
            Kind::ToolPre => {
                return self.each_call(event, cwd, |call| ToolPre { call }.into());
            }
            Kind::ToolPost => {
                let result = result.map(result::seen).unwrap_or_default();
                return self.each_call(event, cwd, |call| {
                    ToolPost { call, result: result.clone() }.into()
                });
            }
            Kind::ToolError => {
                let error = self.any_text(&["error"]);
                return self
                    .each_call(event, cwd, |call| ToolError { call, error: error.clone() }.into());
            }
            Kind::SessionStart => Part::of(SessionStart { agent, model }),
            Kind::SessionEnd => Part::of(SessionEnd { agent, model }),
            Kind::TurnStart => Part::of(TurnStart { prompt: self.prompt(event)?, agent, model }),
            Kind::TurnEnd => {
                Part::of(TurnEnd { response: self.any_text(self.names.response), agent, model })
            }
            Kind::ModelPre => Part::of(ModelPre { invocation: 0, steps: steps(), agent, model }),
            Kind::ModelPost => Part::of(ModelPost { invocation: 0, steps: steps(), agent, model }),
            Kind::Stop => {
                let again = self.get(&["stop_hook_active"]).and_then(Value::as_bool) == Some(true);
                let running = self.get(&["background_tasks"]).and_then(Value::as_array);
                Part::of(Stop {
                    execution: u64::from(again),
                    reason: "model_stop".to_owned(),
                    error: None,
                    idle: running.is_none_or(Vec::is_empty),
                    agent,
                    model,
                })
            }
            Kind::CompactionPre => Part::of(CompactionPre { agent, model }),
            Kind::CompactionPost => Part::of(CompactionPost {
                summary: self.any_text(self.names.summary),
                agent,
                model,
            }),
            Kind::Notification => Part::of(Notification {
                kind: self.text(self.names.notification).unwrap_or_default(),
                message: self.any_text(&["message"]),
                agent,
                model,
            }),
            Kind::SubagentStart => Part::of(SubagentStart { kind: kind(), agent, model }),
            Kind::SubagentStop => {
                let result = self.get(self.names.response).cloned();
                Part::of(SubagentStop { kind: kind(), result, agent, model })
            }
            Kind::Failure => Part::of(Failure {
                error: self.any_text(&["error", "error_message"]),
                origin: None,
                agent,
                model,
            }),
            Kind::InvocationEnd | Kind::Interaction | Kind::FacetSwitch => {
                return Err(WireError::new(format!("no host tells {} so", event.kind)));
            }
        };
        Ok(vec![part])
    }

    fn prompt(&self, event: &HostEvent) -> Result<String, WireError> {
        if self.get(&["prompt"]).is_none() {
            return Err(self.missing(event, "prompt"));
        }
        Ok(self.any_text(&["prompt"]))
    }

    fn each_call(
        &self,
        event: &HostEvent,
        cwd: Option<&str>,
        of: impl Fn(ToolCall) -> AnyEvent,
    ) -> Result<Vec<Part>, WireError> {
        let names = self.names;
        let name = self.get(names.tool).and_then(Value::as_str).filter(|name| !name.is_empty());
        let name = name
            .ok_or_else(|| self.missing(event, names.tool.first().unwrap_or(&"tool")))?
            .to_owned();
        let input = self.get(names.input).cloned().unwrap_or_else(|| Map::new().into());
        // Some write their own object once more as a text.
        let input = match &input {
            Value::String(text) => match tollgate_core::json::from_str(text) {
                Ok(value) => value,
                // It is JSON, and has a duplicate key.
                Err(error) if error.is_data() => {
                    let what = format!("the arguments of `{name}` at `{}`", event.name);
                    return Err(WireError::new(format!("cannot read {what}: {error}")));
                }
                Err(_) => input,
            },
            _ => input,
        };
        let tool = self.host.tool(&name);
        if event.kind == Kind::ToolPre
            && let Some(like) = self.host.lookalike(&name)
        {
            return Err(self.no_tool(&name, like));
        }
        let calls = match tool {
            Some(tool) => tools::translate(self.host, tool, &name, &input, cwd),
            None => vec![self.other_call(&name, &input)],
        };
        // What has happened is told as far as it can be; what is about to happen has to be understood.
        if let (Kind::ToolPre, Some(tool)) = (event.kind, tool)
            && let Some(lacking) = tools::lacking(tool, &input, &calls)
        {
            return Err(self.missing(event, &format!("{name}.{lacking}")));
        }
        let finished = |call: ToolCall| {
            let call = ToolCall {
                id: self.text(names.call),
                agent: self.agent(),
                model: self.model(),
                ..call
            };
            Part { event: of(call), tool }
        };
        Ok(calls.into_iter().map(finished).collect())
    }

    /// A tool that the table does not have: a server's, or one that is passed as it is.
    fn other_call(&self, name: &str, input: &Value) -> ToolCall {
        let of = |outer: &str, inner: &str| {
            self.input.get(outer).and_then(|value| value.get(inner)).and_then(Value::as_str)
        };
        let server = of("mcp_context", "server_name").or_else(|| of("mcp_server", "name"));
        let call = self.host.mcp.call(name, server, of("mcp_context", "tool_name"));
        let args = match input {
            Value::Object(args) => args.clone(),
            // What is no object is one argument.
            other => Map::from_iter([("input".to_owned(), other.clone())]),
        };
        let native = tools::as_it_is(self.host, name, input);
        ToolCall { args, native: Some(native), ..call }
    }

    fn no_tool(&self, name: &str, like: &str) -> WireError {
        let shown: String = name.chars().take(80).flat_map(char::escape_debug).collect();
        WireError::new(format!(
            "{} has no tool `{shown}`: call `{}` by its exact name",
            self.host.title,
            like.trim_end_matches('*')
        ))
    }

    fn missing(&self, event: &HostEvent, field: &str) -> WireError {
        WireError::new(format!(
            "the payload is not understood: `{}` of {} came without `{field}`",
            event.name, self.host.title
        ))
    }
}

fn as_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Writes an event as a host of these names would.
pub(crate) fn write(
    host: &'static Host,
    names: &Names,
    event: EventRef<'_>,
    session: &SessionInfo,
) -> Option<Value> {
    let of_host = host.events.iter().find(|it| it.kind == event.kind() && it.registered);
    let of_host = of_host.or_else(|| host.events.iter().find(|it| it.kind == event.kind()))?;
    let mut fields = Map::new();
    let first = |names: &[&'static str]| names.first().copied().unwrap_or_default();
    let mut put = |name: &str, value: Value| {
        if !value.is_null() && !name.is_empty() {
            fields.insert(name.to_owned(), value);
        }
    };
    put(names.event, of_host.name.into());
    put(first(names.session), session.id.as_str().into());
    put(first(names.transcript), session.transcript.clone().into());
    put("cwd", session.workspaces.first().cloned().into());
    let call = |call: &ToolCall, put: &mut dyn FnMut(&str, Value)| {
        let (name, input) = host.native(call);
        put(first(names.tool), name.into());
        put(first(names.input), input);
        put(first(names.call), call.id.clone().into());
    };
    let (agent, model) = match event {
        EventRef::ToolPre(event) => {
            call(&event.call, &mut put);
            (&event.agent, &event.model)
        }
        EventRef::ToolPost(event) => {
            call(&event.call, &mut put);
            put(first(names.result), event.result.clone());
            (&event.agent, &event.model)
        }
        EventRef::ToolError(event) => {
            call(&event.call, &mut put);
            put("error", event.error.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::TurnStart(event) => {
            put("prompt", event.prompt.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::TurnEnd(event) => {
            put(first(names.response), event.response.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::Stop(event) => {
            put("stop_hook_active", (event.execution > 0).into());
            (&event.agent, &event.model)
        }
        EventRef::CompactionPre(event) => {
            put("trigger", "auto".into());
            (&event.agent, &event.model)
        }
        EventRef::CompactionPost(event) => {
            put(first(names.summary), event.summary.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::Notification(event) => {
            put(first(names.notification), event.kind.as_str().into());
            put("message", event.message.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::SubagentStart(event) => {
            put(first(names.agent_type), event.kind.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::SubagentStop(event) => {
            put(first(names.agent_type), event.kind.as_str().into());
            put(first(names.response), event.result.clone().unwrap_or_default());
            put("stop_hook_active", false.into());
            (&event.agent, &event.model)
        }
        EventRef::Failure(event) => {
            put("error", event.error.as_str().into());
            (&event.agent, &event.model)
        }
        EventRef::SessionStart(event) => {
            put("source", "startup".into());
            (&event.agent, &event.model)
        }
        EventRef::SessionEnd(event) => {
            put("reason", "other".into());
            (&event.agent, &event.model)
        }
        EventRef::ModelPre(event) => {
            put("llm_request", request(event.steps, event.model.as_deref()));
            (&event.agent, &event.model)
        }
        EventRef::ModelPost(event) => {
            put("llm_request", request(event.steps, event.model.as_deref()));
            (&event.agent, &event.model)
        }
        _ => return None,
    };
    if agent.depth > 0 {
        put(first(names.agent), agent.id.as_str().into());
    }
    put("model", model.clone().into());
    Some(Value::Object(fields))
}

/// A request to the model of which no more is known than how many messages it has.
fn request(steps: u64, model: Option<&str>) -> Value {
    const MOST_MESSAGES: u64 = 10_000;
    let messages: Vec<_> = (0..steps.min(MOST_MESSAGES)).map(|_| json!({})).collect();
    json!({"model": model, "messages": messages})
}
