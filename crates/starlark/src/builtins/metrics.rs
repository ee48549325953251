//! `metrics` and `cache`. What is written shows at once to the script that wrote it, and to others
//! when the dispatch is done.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names
)]

use serde_json::{Map, Value as Json};
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::float::UnpackFloat;
use starlark::values::none::NoneType;
use starlark::values::{Heap, Value};
use tollgate_core::ledger::{Effect, Ledger};

use super::running;
use crate::convert::{dict, to_json, to_starlark};
use crate::host::Call;
use crate::sandbox::Running;

#[starlark_module]
pub(super) fn metrics(builder: &mut GlobalsBuilder) {
    /// Adds to a counter.
    fn incr<'v>(
        name: &str,
        #[starlark(default = 1)] by: i64,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<NoneType> {
        running(eval)?.notes.incr(name, by).map_err(anyhow::Error::msg)?;
        Ok(NoneType)
    }

    /// Sets a gauge.
    fn set<'v>(
        name: &str,
        value: UnpackFloat,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<NoneType> {
        running(eval)?.notes.set(name, value.0).map_err(anyhow::Error::msg)?;
        Ok(NoneType)
    }

    /// All counters and gauges as they are now.
    fn snapshot<'v>(eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let running = running(eval)?;
        let metrics = running.ask(Call::Metrics).map_err(anyhow::Error::msg)?;
        let metrics = match metrics {
            Json::Object(metrics) => running.notes.so_far(|own| with_own(&metrics, own)),
            _ => Map::new(),
        };
        Ok(dict(&metrics, eval.heap()))
    }
}

/// The counters with what this run has added.
fn with_own(metrics: &Map<String, Json>, own: &[Effect]) -> Map<String, Json> {
    let ledger = Ledger::default();
    for (name, value) in metrics {
        let effect = match (value.as_i64(), value.as_f64()) {
            (Some(by), _) => Effect::Incr { name: name.clone(), by },
            (None, Some(value)) => Effect::Set { name: name.clone(), value },
            (None, None) => continue,
        };
        ledger.apply(&[effect]);
    }
    ledger.apply(own);
    ledger.metrics()
}

#[starlark_module]
pub(super) fn cache(builder: &mut GlobalsBuilder) {
    /// The value of a key, else the default.
    fn get<'v>(
        key: &str,
        default: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let found = cached(running(eval)?, key, eval.heap())?;
        Ok(found.or(default).unwrap_or_else(Value::new_none))
    }

    /// Puts a value into the cache.
    fn set<'v>(
        key: &str,
        value: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<NoneType> {
        let value = to_json(value).map_err(|why| anyhow::anyhow!("`{key}`: {why}"))?;
        running(eval)?.notes.keep(key, value).map_err(anyhow::Error::msg)?;
        Ok(NoneType)
    }
}

fn cached<'v>(
    running: &Running<'_>,
    wanted: &str,
    heap: Heap<'v>,
) -> anyhow::Result<Option<Value<'v>>> {
    let own = running.notes.so_far(|noted| {
        noted.iter().rev().find_map(|effect| match effect {
            Effect::Cache { key, value } if key == wanted => Some(to_starlark(value, heap)),
            _ => None,
        })
    });
    if own.is_some() {
        return Ok(own);
    }
    // A value that is not there comes as nothing at all, one that is `None` as a list of it.
    match running.ask(Call::CacheGet(wanted.to_owned())).map_err(anyhow::Error::msg)? {
        Json::Array(found) => Ok(found.first().map(|value| to_starlark(value, heap))),
        _ => Ok(None),
    }
}
