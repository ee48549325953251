//! What hosts did with answers to events other than the gate before a tool.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tollgate_core::Kind;
use tollgate_hosts::{Output, Reply, Verdict};

use crate::host;

fn says_something(reply: &Reply) -> bool {
    reply.verdict != Verdict::Silent || reply.rewrite.is_some() || !reply.context.is_empty()
}

#[test]
fn rules_of_other_events_are_what_was_measured() {
    for (name, least) in [("copilot", 20), ("cline", 4)] {
        let host = host(name);
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join(format!("../../cases/hosts/{name}/answers.json"));
        let answers: Vec<Value> = serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
        let mut tried = 0;
        for answer in answers {
            let case = answer["case"].as_str().unwrap();
            let event = host.event(answer["event"].as_str().unwrap()).unwrap();
            let effect = &answer["effect"];
            // Those of the gate before a tool are compared elsewhere; an allow is about what else
            // the host was told.
            let (Some(marked), false) =
                (effect["marker_in_requests"].as_array(), case.contains("(no --"))
            else {
                continue;
            };
            tried += 1;
            let text = |name: &str| answer[name].as_str().unwrap_or_default().as_bytes().to_vec();
            let code = i32::try_from(answer["exit"].as_i64().unwrap()).unwrap();
            let output = Output { code, stdout: text("stdout"), stderr: text("stderr") };
            let reply = host.wire.read_answer(event, &output);
            let ours = reply.as_ref().is_ok_and(says_something);
            let theirs = if event.kind == Kind::ToolPre {
                effect["tool"] != "ran"
            } else {
                !marked.is_empty() || effect["model_requests"].as_u64() < Some(2)
            };
            assert_eq!(ours, theirs, "{name} {} at `{case}`: {reply:?}", event.name);
        }
        assert!(tried >= least, "{name}: {tried}");
    }
}
