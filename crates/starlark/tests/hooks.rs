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
            let call = ToolCall::new("run_command").arg("command", command);
            let outcome = bench.dispatch(ToolPre::from(call)).await;
            assert_eq!(
                (&outcome.record.decision, &*outcome.record.reason),
                (&word, reason),
                "{isolation:?} {command}: {:?}",
                outcome.record
            );
        }
        assert_eq!(bench.session.ledger().metrics().get("audit.policy.deny"), Some(&json!(2)));
    }
}
