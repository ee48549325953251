//! Functions of the host as tools.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use support::{Scene, call};
use tollgate_core::context::ToolContext;
use tollgate_tools::{Tool, function};

#[derive(Deserialize, JsonSchema)]
struct Add {
    /// The first number.
    first: i64,
    /// The second.
    second: Option<i64>,
}

async fn add(args: Add, cx: ToolContext) -> Result<Value, String> {
    let calls = cx.update("calls", |calls: Option<u32>| calls.unwrap_or(0) + 1);
    let second = args.second.ok_or("there is nothing to add")?;
    assert!(second != 13, "thirteen");
    Ok(json!({"sum": args.first + second, "calls": calls.unwrap()}))
}

#[tokio::test]
async fn a_function_is_a_tool() {
    let scene = Scene::new();
    let tools: Vec<Arc<dyn Tool>> = vec![Arc::new(function("add", "Adds.", add))];
    let add = async |args: Value| {
        let output = call(&tools, &scene.cx, "add", args).await;
        output.map(|output| output.value).map_err(|error| error.to_string())
    };
    assert_eq!(add(json!({"first": "2", "second": 3})).await, Ok(json!({"sum": 5, "calls": 1})));
    assert_eq!(scene.cx.tools.get::<u32>("calls").unwrap(), Some(1));
    assert_eq!(add(json!({"first": 2})).await, Err("there is nothing to add".to_owned()));
    assert_eq!(add(json!({"second": 3})).await, Err("`first` of `add` is missing".to_owned()));
    let error = add(json!({"first": 1, "secnd": 2})).await.unwrap_err();
    assert!(error.contains("did you mean `second`?"), "{error}");
    let error = add(json!({"first": 1, "second": [2]})).await.unwrap_err();
    assert!(error.starts_with("`second` of `add` does not fit: "), "{error}");
    let error = add(json!({"first": 1, "second": 13})).await.unwrap_err();
    assert_eq!(error, "`add` broke off: it has a bug");
}
