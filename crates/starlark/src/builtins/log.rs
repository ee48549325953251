//! `log`, which is a function and has `info` and `warn`; `print` is `log`.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    // Paging values out to disk, which nobody does here, is what would.
    clippy::panic
)]

use allocative::Allocative;
use serde_json::Map;
use starlark::any::ProvidesStaticType;
use starlark::collections::SmallMap;
use starlark::environment::{GlobalsBuilder, Methods, MethodsBuilder, MethodsStatic};
use starlark::eval::{Arguments, Evaluator};
use starlark::values::none::NoneType;
use starlark::values::tuple::UnpackTuple;
use starlark::values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};
use starlark::{starlark_module, starlark_simple_value};
use tollgate_core::ledger::LogLevel;

use super::running;
use crate::convert::to_json;

#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
struct Log;

starlark_simple_value!(Log);

impl std::fmt::Display for Log {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("log")
    }
}

#[starlark_value(type = "log")]
impl<'v> StarlarkValue<'v> for Log {
    fn get_methods() -> Option<&'static Methods> {
        static METHODS: MethodsStatic = MethodsStatic::new("log", methods);
        Some(METHODS.methods())
    }

    fn invoke(
        &self,
        _me: Value<'v>,
        args: &Arguments<'v, '_>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Value<'v>> {
        let words: Vec<Value<'v>> = args.positions(eval.heap())?.collect();
        let fields = args.names_map()?;
        let fields = fields.iter().map(|(name, value)| (name.as_str(), *value));
        write(LogLevel::Info, &words, fields, eval)?;
        Ok(Value::new_none())
    }
}

#[starlark_module]
fn methods(builder: &mut MethodsBuilder) {
    /// Something that is good to know.
    fn info<'v>(
        #[starlark(this)] _this: Value<'v>,
        #[starlark(args)] words: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] fields: SmallMap<&str, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<NoneType> {
        write(LogLevel::Info, &words.items, fields.into_iter(), eval)
    }

    /// Something that somebody should look at.
    fn warn<'v>(
        #[starlark(this)] _this: Value<'v>,
        #[starlark(args)] words: UnpackTuple<Value<'v>>,
        #[starlark(kwargs)] fields: SmallMap<&str, Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<NoneType> {
        write(LogLevel::Warn, &words.items, fields.into_iter(), eval)
    }
}

fn write<'v, 'n>(
    level: LogLevel,
    words: &[Value<'v>],
    fields: impl Iterator<Item = (&'n str, Value<'v>)>,
    eval: &Evaluator<'v, '_, '_>,
) -> anyhow::Result<NoneType> {
    let words: Vec<String> = words.iter().map(|word| word.to_str()).collect();
    let mut map = Map::new();
    for (name, value) in fields {
        let value = to_json(value).map_err(|why| anyhow::anyhow!("`{name}`: {why}"))?;
        map.insert(name.to_owned(), value);
    }
    running(eval)?.notes.log(level, words.join(" "), map).map_err(anyhow::Error::msg)?;
    Ok(NoneType)
}

pub(super) fn register(builder: &mut GlobalsBuilder) {
    builder.set("log", Log);
    builder.set("print", Log);
}
