//! Hooks that are compiled when they are asked.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::sync::Arc;

use common::{Bench, Isolation, Lazily};
use tollgate_core::prelude::*;

const WRONG: &str = "---\nevent: tool.pre\nwhen: payload[\"name\"] == \"run_command\"\nscript: |\n  \
                     def handle(event, payload):\n      return alow()\n---\n";

fn bench(files: &[(&str, &str)]) -> Bench {
    Bench::of(Arc::new(Lazily(Isolation::Mixed.engine())), files, "")
}

#[tokio::test]
async fn a_script_with_a_mistake_closes_its_gate_when_it_is_asked() {
    let bench = bench(&[("wrong.md", WRONG)]);
    assert!(bench.hooks.in_force().diagnostics.is_empty());
    let outcome = bench.dispatch(ToolPre::from(ToolCall::new("view_file"))).await;
    let asked = |line| outcome.record.hook(line).is_some_and(|hook| hook.name == "wrong");
    assert!(!outcome.record.answers.iter().any(asked));
    let outcome = bench.dispatch(ToolPre::from(ToolCall::new("run_command"))).await;
    let detail = outcome.record.detail();
    assert!(outcome.permit().is_refused());
    assert!(detail.contains("wrong.md:6:14: error TG081: `alow` is not defined"), "{detail}");
}

#[tokio::test]
async fn a_condition_with_a_mistake_closes_it_too() {
    let text = WRONG.replace("payload[\"name\"] == \"run_command\"", "payload.nam == 1");
    let bench = bench(&[("wrong.md", &text)]);
    let outcome = bench.dispatch(ToolPre::from(ToolCall::new("view_file"))).await;
    assert!(outcome.permit().is_refused());
}
