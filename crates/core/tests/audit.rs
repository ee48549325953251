//! The audit trail: complete, masked, and harmless when its sink is not.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_core::audit::{AuditEntry, AuditSink, JsonLines, MemorySink};
use tollgate_core::prelude::*;

fn operation() -> OperationContext {
    let info = SessionInfo { id: "s-1".to_owned(), ..SessionInfo::default() };
    SessionContext::new(info).turn().operation()
}

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_dispatch_is_one_line_of_json_that_explains_it() {
    let buffer = Buffer::default();
    let runner = Runner::builder()
        .audit(Arc::new(JsonLines::new(buffer.clone())))
        .register(transform("sets", |_cx, _: &ToolPre| Answer::set_args([("a", json!(2))])))
        .register(decide("denies", |_cx, _: &ToolPre| Decision::deny("no")).source("g.md", None))
        .register(inspect("watches", |_cx, _: &ToolPre| ()))
        .build()
        .unwrap();
    let _ = runner.dispatch(&operation(), ToolPre::from(ToolCall::new("t").arg("a", 1))).await;
    runner.drain(Duration::from_secs(5)).await;
    let text = String::from_utf8(buffer.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let dispatch = lines.iter().find(|line| line["type"] == "dispatch").unwrap();
    let inspection = lines.iter().find(|line| line["type"] == "inspection").unwrap();
    assert_eq!(lines.len(), 2);
    assert!(dispatch["at"].is_u64());
    assert_eq!(dispatch["session"], "s-1");
    let record = &dispatch["record"];
    assert_eq!(record["event"], "tool.pre");
    assert_eq!(record["decision"], "deny");
    assert_eq!(record["reason"], "no");
    assert_eq!(record["detail"], "deny by hook `denies` (g.md): no");
    assert_eq!(record["rewrites"], json!([{"hook": "sets", "set": {"a": 2}}]));
    assert_eq!(record["inspectors"], 1);
    assert_eq!(record["version"], 1);
    let asked: Vec<_> = record["hooks"].as_array().unwrap().iter().map(|h| &h["name"]).collect();
    assert_eq!(asked, ["sets", "denies"]);
    assert_eq!(dispatch["payload"], json!({"name": "t", "args": {"a": 2}}));
    assert_eq!(inspection["dispatch"], record["id"]);
    assert_eq!(inspection["inspections"][0]["hook"], "watches");
}

#[tokio::test]
async fn secrets_reach_no_sink() {
    let sink = Arc::new(MemorySink::new(10));
    let runner = Runner::builder()
        .audit(sink.clone())
        .register(transform("sets", |_cx, _: &ToolPre| {
            Answer::set_args([("token", json!("tok-5ecret-1"))])
        }))
        .register(decide("leaks", |_cx, _: &ToolPre| {
            Decision::deny("the password=5ecret-2 is wrong")
        }))
        .build()
        .unwrap();
    let call = ToolCall::new("run_command").arg(
        "CommandLine",
        "curl -H 'Authorization: Bearer 5ecret-3-5ecret-3' https://u:5ecret-4@h/",
    );
    let _ = runner.dispatch(&operation(), ToolPre::from(call)).await;
    let _ = runner
        .dispatch(
            &operation(),
            ToolError { call: ToolCall::new("t"), error: "401 for token: 5ecret-5".to_owned() },
        )
        .await;
    let trail = serde_json::to_string(&sink.entries()).unwrap();
    assert!(!trail.contains("5ecret"), "{trail}");
    assert!(trail.contains("[masked]"));
}

#[tokio::test]
async fn memory_is_bounded_and_what_is_forgotten_is_counted() {
    let sink = Arc::new(MemorySink::new(3));
    let runner = Runner::builder().audit(sink.clone()).build().unwrap();
    for name in ["a", "b", "c", "d", "e"] {
        let _ = runner.dispatch(&operation(), ToolPre::from(ToolCall::new(name))).await;
    }
    let names: Vec<_> =
        sink.entries().iter().map(|entry| entry.value()["payload"]["name"].clone()).collect();
    assert_eq!(names, ["c", "d", "e"]);
    assert_eq!(sink.forgotten(), 2);
}

struct Full;

impl Write for Full {
    fn write(&mut self, _bytes: &[u8]) -> io::Result<usize> {
        Err(io::ErrorKind::StorageFull.into())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Panics;

impl AuditSink for Panics {
    fn write(&self, _entry: &AuditEntry) {
        panic!("in the sink");
    }
}

#[tokio::test]
async fn a_broken_sink_is_noticed_and_breaks_nothing() {
    let full = Arc::new(JsonLines::new(Full));
    let runner = Runner::builder().audit(full.clone()).build().unwrap();
    let outcome = runner.dispatch(&operation(), ToolPre::from(ToolCall::new("t"))).await;
    assert!(outcome.permit().is_granted());
    assert_eq!(full.lost(), 1);
    assert_eq!(full.take_error().unwrap().kind(), io::ErrorKind::StorageFull);

    let runner = Runner::builder().audit(Arc::new(Panics)).build().unwrap();
    let outcome = runner.dispatch(&operation(), ToolPre::from(ToolCall::new("t"))).await;
    assert!(outcome.permit().is_granted());
}
