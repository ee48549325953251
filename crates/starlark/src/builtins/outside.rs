//! `http`, `hooks` and `tools`: what is asked of the program around the script.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    // Paging values out to disk, which nobody does here, is what would.
    clippy::panic
)]

use allocative::Allocative;
use serde_json::{Map, Value as Json};
use starlark::any::ProvidesStaticType;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::values::dict::UnpackDictEntries;
use starlark::values::none::NoneOr;
use starlark::values::{
    Heap, NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value,
};
use starlark::{starlark_module, starlark_simple_value};

use super::running;
use crate::convert::{to_json, to_starlark};
use crate::host::{Call, HttpCall};

/// What an address answered: `status`, `headers`, `body` and `url`, as attributes and as keys.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
struct ResponseValue(#[allocative(skip)] Map<String, Json>);

starlark_simple_value!(ResponseValue);

impl std::fmt::Display for ResponseValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "response({})", self.0.get("status").unwrap_or(&Json::Null))
    }
}

#[starlark_value(type = "response")]
impl<'v> StarlarkValue<'v> for ResponseValue {
    fn get_attr(&self, attribute: &str, heap: Heap<'v>) -> Option<Value<'v>> {
        self.0.get(attribute).map(|value| to_starlark(value, heap))
    }

    fn has_attr(&self, attribute: &str, _heap: Heap<'v>) -> bool {
        self.0.contains_key(attribute)
    }

    fn dir_attr(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    fn at(&self, index: Value<'v>, heap: Heap<'v>) -> starlark::Result<Value<'v>> {
        let found = index.unpack_str().and_then(|key| self.get_attr(key, heap));
        found.ok_or_else(|| {
            let known: Vec<_> = self.0.keys().map(|key| format!("`{key}`")).collect();
            let known = known.join(", ");
            starlark::Error::new_other(anyhow::anyhow!("a response has {known}, not `{index}`"))
        })
    }
}

type Headers<'v> = NoneOr<UnpackDictEntries<&'v str, &'v str>>;

fn ask<'v>(call: Call, eval: &Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
    let reply = running(eval)?.ask(call).map_err(anyhow::Error::msg)?;
    Ok(to_starlark(&reply, eval.heap()))
}

fn request<'v>(
    method: &str,
    url: &str,
    body: String,
    headers: Headers<'v>,
    eval: &Evaluator<'v, '_, '_>,
) -> anyhow::Result<Value<'v>> {
    let headers = headers.into_option().map(|headers| headers.entries).unwrap_or_default();
    let headers =
        headers.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let (method, url) = (method.to_owned(), url.to_owned());
    let call = Call::Http(HttpCall { method, url, headers, body });
    match running(eval)?.ask(call).map_err(anyhow::Error::msg)? {
        Json::Object(response) => Ok(eval.heap().alloc(ResponseValue(response))),
        _ => anyhow::bail!("there is no response"),
    }
}

#[starlark_module]
pub(super) fn http(builder: &mut GlobalsBuilder) {
    /// Gets a page: `status`, `headers`, `body`, and the `url` it came from.
    fn get<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] headers: Headers<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        request("GET", url, String::new(), headers, eval)
    }

    /// Posts a text, or a value as JSON.
    fn post<'v>(
        url: &str,
        #[starlark(default = NoneOr::None)] body: NoneOr<&'v str>,
        #[starlark(default = NoneOr::None)] headers: Headers<'v>,
        json: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let body = body.into_option().unwrap_or_default();
        let Some(json) = json.filter(|json| !json.is_none()) else {
            return request("POST", url, body.to_owned(), headers, eval);
        };
        if !body.is_empty() {
            anyhow::bail!("http.post takes `body` or `json`, not both");
        }
        let body = to_json(json).map_err(anyhow::Error::msg)?.to_string();
        let mut headers =
            headers.into_option().unwrap_or(UnpackDictEntries { entries: Vec::new() });
        let is_type = |name: &str| name.eq_ignore_ascii_case("content-type");
        if !headers.entries.iter().any(|(name, _)| is_type(name)) {
            headers.entries.push(("content-type", "application/json"));
        }
        request("POST", url, body, NoneOr::Other(headers), eval)
    }
}

#[starlark_module]
pub(super) fn hooks(builder: &mut GlobalsBuilder) {
    /// All hooks in force, in the order they run, as dicts.
    fn list<'v>(eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        ask(Call::Hooks, eval)
    }

    /// The hook of this name, or `None`.
    fn get<'v>(name: &str, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let all = running(eval)?.ask(Call::Hooks).map_err(anyhow::Error::msg)?;
        let named = |hook: &&Json| hook.get("name").and_then(Json::as_str) == Some(name);
        let hook = all.as_array().and_then(|all| all.iter().find(named));
        Ok(to_starlark(hook.unwrap_or(&Json::Null), eval.heap()))
    }
}

#[starlark_module]
pub(super) fn tools(builder: &mut GlobalsBuilder) {
    /// Calls a tool of the agent, through all its hooks, and returns its result.
    fn call<'v>(
        name: &str,
        args: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let args = match args.map(to_json).transpose().map_err(anyhow::Error::msg)? {
            None | Some(Json::Null) => Map::new(),
            Some(Json::Object(args)) => args,
            Some(_) => anyhow::bail!("the arguments of a tool are a dict"),
        };
        ask(Call::Tool { name: name.to_owned(), args }, eval)
    }
}
