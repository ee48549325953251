//! What scripts ask of the program around them.

use std::time::{Duration, Instant};

use serde_json::{Map, Value as Json, json};
use tollgate_core::context::{Context, OperationContext};
use tollgate_fetch::{Method, Request};

use super::Generation;
use super::load::listed;
use crate::host::{Call, HttpCall, Reply};
use crate::tools::ToolRequest;

/// How deep tools that hooks call may lead to hooks that call tools.
pub(crate) const DEEPEST: u64 = 4;

/// How deep a hook is asked, kept in the operation of a tool call that a hook made.
const DEPTH: &str = "tollgate.tool_depth";

/// How deep in calls of tools by hooks a question is.
pub(crate) fn depth(cx: &impl Context) -> u64 {
    cx.get(DEPTH).ok().flatten().unwrap_or(0)
}

/// Answers the questions of one hook while it is asked about one event.
pub(crate) struct Outside<'a, C> {
    pub(crate) generation: &'a Generation,
    pub(crate) hook: &'a str,
    pub(crate) cx: &'a C,
    /// When all of it must be done.
    pub(crate) until: Instant,
}

impl<C: Context> Outside<'_, C> {
    /// Answers, however long it takes.
    pub(crate) async fn answer(&self, call: Call) -> Reply {
        match self.generation.at_once(call, self.cx) {
            Ok(reply) => reply,
            Err(Call::Http(call)) => self.generation.http(call, self.left()).await,
            Err(Call::Tool { name, args }) => {
                self.generation.tool(self.hook, &name, &args, self.cx).await
            }
            Err(_) => Err("this cannot be asked".to_owned()),
        }
    }

    /// How much time is left.
    pub(crate) fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }
}

impl Generation {
    /// Answers what can be answered at once; what may take long comes back.
    pub(crate) fn at_once(&self, call: Call, cx: &impl Context) -> Result<Reply, Call> {
        let ledger = cx.session().ledger();
        Ok(Ok(match call {
            // A value that is not there is nothing at all; one that is `None` is a list of it.
            Call::CacheGet(key) => {
                ledger.cache_get(&key).map_or(Json::Null, |value| json!([value]))
            }
            Call::Metrics => ledger.metrics().into(),
            Call::Hooks => {
                let all = self.catalogue.get().map(|all| all.iter().map(listed).collect());
                all.unwrap_or_else(|| json!([]))
            }
            call @ (Call::Http(_) | Call::Tool { .. }) => return Err(call),
        }))
    }

    async fn http(&self, call: HttpCall, time: Duration) -> Reply {
        let method: Method = call.method.parse().map_err(|_| "no such method".to_owned())?;
        let mut request = Request::new(method, call.url).body(call.body);
        request.headers = call.headers;
        let response =
            self.client().send(request, time).await.map_err(|error| error.to_string())?;
        let headers: Map<String, Json> = response
            .headers
            .iter()
            .map(|(name, value)| (name.clone(), value.as_str().into()))
            .collect();
        Ok(json!({
            "status": response.status,
            "headers": headers,
            "body": response.text(),
            "url": response.url,
        }))
    }

    async fn tool(
        &self,
        hook: &str,
        name: &str,
        args: &Map<String, Json>,
        cx: &impl Context,
    ) -> Reply {
        let Some(tools) = &self.shared.tools else {
            return Err("the host offers no tools to hooks".to_owned());
        };
        let depth = depth(cx);
        if depth >= DEEPEST {
            return Err(format!(
                "hooks and the tools they call are {DEEPEST} deep in each other; that is all"
            ));
        }
        let Some(turn) = cx.current_turn() else {
            return Err("tools can be called in a turn only".to_owned());
        };
        let operation: OperationContext = turn.operation();
        operation.set(DEPTH, depth + 1).map_err(|error| error.to_string())?;
        tools.call(ToolRequest { name, args, hook, operation: &operation }).await
    }
}
