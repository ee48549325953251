//! Policy files from file to decision, in workers and in this process.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Bench, Isolation};
use tollgate_core::prelude::*;

/// One condition with a native form, one that only Starlark can evaluate.
const POLICY: &str = r#"
def is_dangerous(args):
    for word in args.get("CommandLine", "").split(" "):
        if word in ["dd", "mkfs"]:
            return True
    return False

policy.deny("*")
policy.allow("view_file")
policy.deny("run_command", when = lambda args: "rm" in args.get("CommandLine", ""), reason = "no deletes")
policy.deny("run_command", when = is_dangerous, reason = "no formatting")
policy.ask_user("run_command", reason = "really?")
policy.allow_mcp("docs")
"#;

#[tokio::test]
async fn a_policy_file_decides() {
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("policy.star", POLICY)]);
        for (tool, server, line, word, reason) in [
            ("view_file", None, "", Word::Allow, ""),
            ("run_command", None, "rm -rf build", Word::Deny, "no deletes"),
            ("run_command", None, "dd if=x", Word::Deny, "no formatting"),
            ("run_command", None, "ls", Word::Ask, "really?"),
            ("list_dir", None, "", Word::Deny, "Denied by policy '*'."),
            ("search", Some("docs"), "", Word::Allow, ""),
            ("search", Some("other"), "", Word::Deny, "Denied by policy '*'."),
        ] {
            let mut call = ToolCall::new(tool).arg("CommandLine", line);
            call.server = server.map(str::to_owned);
            let outcome = bench.dispatch(ToolPre::from(call)).await;
            assert_eq!(
                (&outcome.record.decision, &*outcome.record.reason),
                (&word, reason),
                "{isolation:?} {tool} {line}: {:?}",
                outcome.record
            );
        }
    }
}

#[tokio::test]
async fn a_condition_that_takes_too_much_denies() {
    // One native operation, which no count of steps ends.
    let greedy = "policy.allow(\"x\", when = lambda args: len(\"a\" * (1 << args[\"n\"])))\n";
    for isolation in [Isolation::Workers, Isolation::Mixed] {
        let bench = Bench::new(isolation, &[("policy.star", greedy)]);
        for (power, word) in [(1, Word::Allow), (36, Word::Deny), (2, Word::Allow)] {
            let call = ToolCall::new("x").arg("n", power);
            let outcome = bench.dispatch(ToolPre::from(call)).await;
            assert_eq!(outcome.record.decision, word, "{isolation:?} {:?}", outcome.record);
        }
    }
}

#[tokio::test]
async fn a_file_with_an_error_closes_the_gate_and_says_where() {
    for (text, place, message) in [
        ("policy.deny(\"x\")\npolicy.alow(\"y\")\n", "2:8", "`policy` has no `alow`"),
        ("from google.antigravity.hooks import policy\n", "1:1", "no imports"),
        ("\npolicy.deny(\"run_*\")\n", "2:1", "which no tool is called"),
        ("policy.deny(3)\n", "1:1", "`tool` is a text"),
        ("for x in [1]:\n    policy.deny(x)\n", "2:5", "`tool` is a text"),
    ] {
        for isolation in Isolation::ALL {
            let bench = Bench::unchecked(isolation.engine(), &[("policy.star", text)], "");
            let diagnostics = &bench.hooks.in_force().diagnostics;
            let found: Vec<String> =
                diagnostics.iter().map(tollgate_config::diagnostic::Diagnostic::line).collect();
            let told = |line: &String| {
                line.contains(&format!("policy.star:{place}:")) && line.contains(message)
            };
            assert!(found.iter().any(told), "{isolation:?} {text}: {found:#?}");
            let outcome = bench.dispatch(ToolPre::from(ToolCall::new("view_file"))).await;
            assert_eq!(outcome.record.decision, Word::Deny, "{isolation:?} {text}");
        }
    }
}

/// Which calls a rule of a file means is told by `cases/names`; here, what is said of the names.
#[tokio::test]
async fn names_of_other_agents_mean_the_tool_and_mistyped_ones_are_said() {
    let policy = r#"
policy.deny("Bash", reason = "no commands")
policy.deny("mcp__my-server__do-it", reason = "not this")
policy.deny("Monitor")
policy.ask_user("deploy")
for name in ["Wirte", "view_fil"]:
    policy.deny(name)
policy.deny("Run_Command")
"#;
    for isolation in Isolation::ALL {
        let bench = Bench::unchecked(isolation.engine(), &[("policy.star", policy)], "");
        let said = bench.hooks.in_force();
        let said: Vec<_> = said
            .diagnostics
            .iter()
            .map(|it| {
                let place = it.span.map_or(0, |span| it.file.line(span.start));
                (it.code.id(), it.is_error(), place, &*it.message, it.help.as_deref().unwrap_or(""))
            })
            .collect();
        assert_eq!(
            said,
            [
                ("TG038", false, 7, "no tool is called `Wirte`", "did you mean `Write`?"),
                ("TG038", false, 7, "no tool is called `view_fil`", "did you mean `view_file`?"),
                (
                    "TG038",
                    false,
                    8,
                    "no tool is called `Run_Command`",
                    "did you mean `run_command`?"
                ),
            ],
            "{isolation:?}"
        );
        for (call, word, reason) in [
            (ToolCall::new("run_command"), Word::Deny, "no commands"),
            (ToolCall::new("do_it").server("my_server"), Word::Deny, "not this"),
            (ToolCall::new("view_file"), Word::None, ""),
        ] {
            let outcome = bench.dispatch(ToolPre::from(call.clone())).await;
            let decided = (&outcome.record.decision, &*outcome.record.reason);
            assert_eq!(decided, (&word, reason), "{isolation:?} {call:?}");
        }
    }
}
