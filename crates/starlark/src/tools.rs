//! Tools that hooks may call by name, where the host offers any.

use serde_json::{Map, Value};
use tollgate_core::context::OperationContext;
use tollgate_core::hook::BoxFuture;

/// The tools that a host offers to hooks.
///
/// A hook that must change something calls a tool by name. The host carries the call out as it does
/// the model's: it fires `tool.pre` and `tool.post`, so that every hook and policy has its say.
///
/// ```
/// use serde_json::{Map, Value};
/// use tollgate_core::hook::BoxFuture;
/// use tollgate_starlark::{HookTools, ToolRequest};
///
/// struct Notes;
///
/// impl HookTools for Notes {
///     fn call<'a>(&'a self, request: ToolRequest<'a>) -> BoxFuture<'a, Result<Value, String>> {
///         Box::pin(async move {
///             // Here the host dispatches `tool.pre`, runs the tool, and dispatches `tool.post`.
///             match request.name {
///                 "remember" => Ok(Value::from(request.args.len())),
///                 other => Err(format!("there is no tool `{other}`")),
///             }
///         })
///     }
/// }
/// ```
pub trait HookTools: Send + Sync {
    /// Calls a tool through the whole pipeline. An error is raised in the script.
    fn call<'a>(&'a self, request: ToolRequest<'a>) -> BoxFuture<'a, Result<Value, String>>;
}

/// A call of a tool by a hook.
#[derive(Debug, Clone, Copy)]
pub struct ToolRequest<'a> {
    /// The tool.
    pub name: &'a str,
    /// Its arguments.
    pub args: &'a Map<String, Value>,
    /// The hook that calls.
    pub hook: &'a str,
    /// The operation of this call, which `tool.pre` and `tool.post` are to be dispatched in: it
    /// tells how deep hooks and tools are in each other.
    pub operation: &'a OperationContext,
}
