//! `allow()`, `block(reason)`, `ask(reason)`, `modify(patch)`.

// The macros of the language's crate want things as they want them.
#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    // Paging values out to disk, which nobody does here, is what would.
    clippy::panic
)]

use std::sync::OnceLock;

use allocative::Allocative;
use serde_json::Value as Json;
use starlark::any::ProvidesStaticType;
use starlark::environment::GlobalsBuilder;
use starlark::starlark_module;
use starlark::starlark_simple_value;
use starlark::values::{
    FrozenHeap, FrozenHeapRef, FrozenValue, NoSerialize, StarlarkPagablePanic, StarlarkValue,
    Value, starlark_value,
};

use crate::convert::to_json;
use crate::sandbox::Decided;

/// What `handle` must return.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(crate) struct DecisionValue(#[allocative(skip)] pub(crate) Decided);

starlark_simple_value!(DecisionValue);

#[starlark_value(type = "decision")]
impl<'v> StarlarkValue<'v> for DecisionValue {}

impl std::fmt::Display for DecisionValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Decided::Allow | Decided::Skip => f.write_str("allow()"),
            Decided::Block(reason) => write!(f, "block({reason:?})"),
            Decided::Ask(reason) => write!(f, "ask({reason:?})"),
            Decided::Modify(patch) => {
                write!(f, "modify({})", serde_json::to_string(patch).unwrap_or_default())
            }
        }
    }
}

/// What `allow()` is, for as long as the process. Most hooks decide nothing else, and so need no memory.
struct Allowed {
    value: FrozenValue,
    _heap: FrozenHeapRef,
}

static ALLOWED: OnceLock<Allowed> = OnceLock::new();

impl Allowed {
    fn new() -> Self {
        let heap = FrozenHeap::new();
        let value = heap.alloc(DecisionValue(Decided::Allow));
        Self { value, _heap: heap.into_ref() }
    }
}

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// Pass through unchanged.
    fn allow() -> anyhow::Result<FrozenValue> {
        Ok(ALLOWED.get_or_init(Allowed::new).value)
    }

    /// Refuse, and tell the model why.
    fn block(reason: &str) -> anyhow::Result<DecisionValue> {
        Ok(DecisionValue(Decided::block(reason)))
    }

    /// Have a person decide, and tell them why.
    fn ask(reason: &str) -> anyhow::Result<DecisionValue> {
        Ok(DecisionValue(Decided::ask(reason)))
    }

    /// Rewrite these fields of the payload, and go on.
    fn modify<'v>(patch: Value<'v>) -> anyhow::Result<DecisionValue> {
        match to_json(patch).map_err(|why| anyhow::anyhow!("modify: {why}"))? {
            Json::Object(patch) => Ok(DecisionValue(Decided::Modify(patch))),
            _ => anyhow::bail!(
                "modify takes a dict of the fields to change, not a value of type `{}`",
                patch.get_type()
            ),
        }
    }
}
