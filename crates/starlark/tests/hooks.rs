//! Markdown hooks from file to decision, in workers and in this process.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Bench, Isolation};
use serde_json::json;
use tollgate_core::prelude::*;

const COMMAND_GUARD: &str = r#"---
event: tool.pre
priority: 10
when: payload["name"] == "run_command"
script: |
  def handle(event, payload):
      cmd = payload.get("args", {}).get("command", "")
      dangerous = [
          "rm -rf /",
          ":(){ :|:& };:",
          "mkfs",
          "dd if=",
          "shutdown",
      ]
      for d in dangerous:
          if d in cmd:
              metrics.incr("audit.policy.deny")
              return block("dangerous command pattern blocked: '" + d + "'")
      return allow()
---

# command_guard

Hard-blocks well-known destructive shell patterns. Pair with the systemd
unit (`deploy/systemd/harness.service`) for real isolation.
"#;

#[tokio::test]
async fn the_command_guard_of_the_harness_blocks_what_it_says() {
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("command_guard.md", COMMAND_GUARD)]);
        for (command, word, reason) in [
            ("ls", Word::None, ""),
            ("shutdown now", Word::Deny, "dangerous command pattern blocked: 'shutdown'"),
            ("sudo mkfs.ext4 /dev/sda", Word::Deny, "dangerous command pattern blocked: 'mkfs'"),
        ] {
            // As AI Harness names the argument, and as Tollgate does.
            for argument in ["command", "CommandLine"] {
                let call = ToolCall::new("run_command").arg(argument, command);
                let outcome = bench.dispatch(ToolPre::from(call)).await;
                assert_eq!(
                    (&outcome.record.decision, &*outcome.record.reason),
                    (&word, reason),
                    "{isolation:?} {argument} {command}: {:?}",
                    outcome.record
                );
            }
        }
        assert_eq!(bench.session.ledger().metrics().get("audit.policy.deny"), Some(&json!(4)));
    }
}

/// What a condition asks about the payload as a whole is not answered by a part of it.
#[tokio::test]
async fn a_condition_means_the_whole_payload() {
    for (when, asked) in [
        (r#""error" not in payload"#, true),
        (r#""result" in payload"#, false),
        (r#""name" in payload and "args" in payload and "turn" in payload"#, true),
        (r#"payload.get("nothing") == None"#, true),
        (r#"payload.get("nothing", 1) == 1 and len(payload) > 5"#, true),
        (r#"payload["turn"] == 1 and payload["model"] == None"#, true),
        (r#"payload["session"]["id"] == """#, true),
        ("payload == {}", false),
        ("1 in [1] and\n  event == \"tool.pre\"", true),
    ] {
        let hook = format!(
            "---\nevent: tool.pre\nwhen: |\n  {when}\nscript: |\n  def handle(event, payload):\n      return block(\"asked\")\n---\n"
        );
        for isolation in Isolation::ALL {
            let bench = Bench::new(isolation, &[("hook.md", &hook)]);
            let outcome = bench.dispatch(ToolPre::from(ToolCall::new("view_file"))).await;
            let expected = if asked { Word::Deny } else { Word::None };
            assert_eq!(outcome.record.decision, expected, "{isolation:?} {when}");
        }
    }
}

/// To read a number takes time that grows with the square of its length, before any limit is set.
#[tokio::test]
async fn a_number_of_many_digits_takes_no_time() {
    let hook = "---\nevent: tool.pre\nscript: |\n  def handle(event, payload):\n      return allow()\n---\n";
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("hook.md", hook)]);
        for (digits, word) in [(1_000, Word::None), (2_000, Word::Deny), (400_000, Word::Deny)] {
            let number: serde_json::Value = serde_json::from_str(&"7".repeat(digits)).unwrap();
            let call = ToolCall::new("view_file").arg("n", number);
            let begun = std::time::Instant::now();
            let outcome = bench.dispatch(ToolPre::from(call)).await;
            assert!(begun.elapsed().as_secs() < 2);
            assert_eq!(outcome.record.decision, word, "{isolation:?} {digits}");
        }
    }
}

/// The command of `run_command` has two names in scripts, and one outside.
#[tokio::test]
async fn a_rewrite_under_the_second_name_counts() {
    for (change, expected) in [
        (r#"dict(payload["args"], command = "ls")"#, json!({"CommandLine": "ls", "Cwd": "/"})),
        (r#"dict(payload["args"], CommandLine = "ls")"#, json!({"CommandLine": "ls", "Cwd": "/"})),
        (r#"{"CommandLine": "ls"}"#, json!({"CommandLine": "ls"})),
        (r#"{"command": "ls"}"#, json!({"CommandLine": "ls"})),
        (r#"payload["args"]"#, json!({"CommandLine": "rm", "Cwd": "/"})),
    ] {
        let hook = format!(
            "---\nevent: tool.pre\nwhen: payload[\"args\"].get(\"command\") == \"rm\"\nscript: |\n  def handle(event, payload):\n      return modify({{\"args\": {change}}})\n---\n"
        );
        for isolation in Isolation::ALL {
            let bench = Bench::new(isolation, &[("hook.md", &hook)]);
            let call = ToolCall::new("run_command").arg("CommandLine", "rm").arg("Cwd", "/");
            let outcome = bench.dispatch(ToolPre::from(call)).await;
            let args = serde_json::Value::Object(outcome.event.args.clone());
            assert_eq!(args, expected, "{isolation:?} {change}: {:?}", outcome.record);
        }
    }
}

/// A script gets the same payload wherever it runs, in the same order.
#[tokio::test]
async fn the_payload_is_the_same_everywhere() {
    let hook = |event: &str| {
        format!(
            "---\nevent: {event}\nscript: |\n  def handle(event, payload):\n      log.info(str(payload.items()))\n      return allow()\n---\n"
        )
    };
    let (pre, post, start) = (hook("tool.pre"), hook("tool.post"), hook("turn.start"));
    let files = [("pre.md", &*pre), ("post.md", &*post), ("start.md", &*start)];
    let mut seen = Vec::new();
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &files);
        let info = SessionInfo {
            id: "s".to_owned(),
            workspaces: vec!["/work".to_owned(), "/other".to_owned()],
            transcript: Some("/t".to_owned()),
            artifacts: None,
        };
        let turn = SessionContext::new(info).turn();
        let args =
            json!({"z": [1, 2.5, null, {"b": true, "a": "Щ"}], "CommandLine": "ls", "dd": -1});
        let call = ToolCall {
            args: args.as_object().unwrap().clone(),
            model: Some("m".to_owned()),
            ..ToolCall::new("RUN_COMMAND").id("c").step(7)
        };
        let runner = bench.hooks.runner();
        let operation = turn.operation();
        let _ = runner.dispatch(&operation, ToolPre::from(call.clone())).await;
        let _ = runner.dispatch(&operation, ToolPost::new(call.clone(), json!({"r": []}))).await;
        let _ = runner.dispatch(&operation, ToolError::new(call.server("s"), "failed")).await;
        let _ = runner.dispatch(&turn, TurnStart::new("hello")).await;
        let logged: Vec<_> = turn.log().entries().into_iter().map(|entry| entry.message).collect();
        assert_eq!(logged.len(), 4);
        assert!(logged[0].contains(r#""command": "ls""#), "{}", logged[0]);
        seen.push(logged);
    }
    assert_eq!(seen[0], seen[1]);
    assert_eq!(seen[0], seen[2]);
}
