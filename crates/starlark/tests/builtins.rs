//! What hooks share with each other, with other sessions and with the program: counters, logs and the
//! cache, and their bounds. What each built-in does is in `cases/starlark/hooks/builtins.json`.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use common::{Bench, Isolation};
use serde_json::{Value, json};
use tollgate_config::diagnostic::Code;
use tollgate_core::prelude::*;

/// A hook with this body at `tool.pre`, however busy the machine is.
fn hook(body: &str) -> String {
    format!(
        "---\nevent: tool.pre\ntimeout: 20s\nscript: |\n  def handle(event, payload):\n      {}\n---\n",
        body.replace('\n', "\n      ")
    )
}

async fn ask(bench: &Bench) -> Outcome<ToolPre> {
    bench.dispatch(ToolPre::from(ToolCall::new("view_file").arg("AbsolutePath", "/a"))).await
}

#[tokio::test]
async fn the_cache_is_shared_by_hooks_and_the_program_when_the_dispatch_is_done() {
    for isolation in Isolation::ALL {
        let first = hook("cache.set(\"n\", cache.get(\"n\", 0) + 1)\nreturn allow()");
        let second = hook("return block(str(cache.get(\"n\")))");
        let bench = Bench::new(isolation, &[("a.md", &first), ("b.md", &second)]);
        // What the first wrote is not there for the second until all is done.
        assert_eq!(ask(&bench).await.reason(), "None", "{isolation:?}");
        assert_eq!(ask(&bench).await.reason(), "1", "{isolation:?}");
        assert_eq!(bench.session.ledger().cache_get("n"), Some(json!(2)));
        bench.session.ledger().cache_set("n", json!(40));
        assert_eq!(ask(&bench).await.reason(), "40", "{isolation:?}");
        assert_eq!(bench.session.ledger().cache_get("n"), Some(json!(41)));
    }
}

#[tokio::test]
async fn each_session_has_its_own_cache_and_counters() {
    for isolation in Isolation::ALL {
        let text = hook("cache.set(\"k\", 1)\nmetrics.incr(\"m\")\nreturn allow()");
        let bench = Bench::new(isolation, &[("a.md", &text)]);
        let _ = ask(&bench).await;
        let other = SessionContext::new(SessionInfo::default());
        assert_eq!(bench.session.ledger().cache_get("k"), Some(json!(1)));
        assert_eq!(other.ledger().cache_get("k"), None);
        assert!(other.ledger().metrics().is_empty());
        let operation = other.turn().operation();
        let event = ToolPre::from(ToolCall::new("view_file"));
        let _ = bench.hooks.runner().dispatch(&operation, event).await;
        assert_eq!(other.ledger().metrics()["m"], 1);
        assert_eq!(bench.session.ledger().metrics()["m"], 1);
    }
}

#[tokio::test]
async fn the_cache_and_the_counters_have_an_end() {
    let text = hook(
        "start = cache.get(\"next\", 0)\nfor i in range(start, start + 400):\n    cache.set(\"k%d\" % i, i)\n    metrics.incr(\"m%d\" % i)\ncache.set(\"next\", start + 400)\nreturn allow()",
    );
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("a.md", &text)]);
        for _ in 0..3 {
            let outcome = ask(&bench).await;
            assert_eq!(outcome.record.decision, Word::None, "{isolation:?}: {:?}", outcome.record);
        }
        let ledger = bench.session.ledger();
        let kept = (0..1200).filter(|i| ledger.cache_get(&format!("k{i}")).is_some()).count();
        assert_eq!((kept, ledger.metrics().len()), (1023, 1024), "{isolation:?}");
        assert_eq!(ledger.cache_get("next"), Some(json!(1200)));
        assert_eq!(ledger.cache_get("k0"), None);
    }
}

#[tokio::test]
async fn the_log_of_a_turn_has_an_end_and_says_how_much_is_missing() {
    let text = hook("for i in range(400):\n    log(i)\nreturn allow()");
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("a.md", &text)]);
        for _ in 0..3 {
            let _ = ask(&bench).await;
        }
        let log = bench.turn.log();
        assert_eq!((log.entries().len(), log.left_out()), (1000, 200), "{isolation:?}");
    }
}

#[tokio::test]
async fn what_a_hook_writes_shows_to_itself_at_once() {
    let text = hook(
        "before = metrics.snapshot()\nmetrics.incr(\"a\", 2)\nmetrics.set(\"g\", 2.5)\nmetrics.incr(\"g\")\nreturn block(json.encode([before, metrics.snapshot()]))",
    );
    for isolation in Isolation::ALL {
        let bench = Bench::new(isolation, &[("a.md", &text)]);
        let told = |outcome: &Outcome<ToolPre>| -> Value {
            serde_json::from_str(outcome.reason()).unwrap()
        };
        let first = told(&ask(&bench).await);
        assert_eq!(first, json!([{}, {"a": 2, "g": 3.5}]), "{isolation:?}");
        let second = told(&ask(&bench).await);
        assert_eq!(second, json!([{"a": 2, "g": 3.5}, {"a": 4, "g": 3.5}]), "{isolation:?}");
    }
}

#[test]
fn nothing_is_asked_for_while_a_script_is_loaded() {
    for (top, code) in [
        ("X = cache.get(\"k\")", Code::NotAllowedInScript),
        ("X = metrics.snapshot()", Code::NotAllowedInScript),
        ("X = hooks.list()", Code::NotAllowedInScript),
        ("X = http.get(\"http://example.org\")", Code::NotAllowedInScript),
        ("X = tools.call(\"x\")", Code::NotAllowedInScript),
        ("f = lambda: cache.get(\"k\")\n  X = f()", Code::ScriptFails),
        ("f = lambda: tools.call(\"k\")\n  X = f()", Code::ScriptFails),
        ("X = open(\"/etc/passwd\")", Code::UnknownName),
        ("X = exec.run(\"ls\")", Code::UnknownName),
        ("X = fs.write(\"a\", \"b\")", Code::UnknownName),
        ("load(\"//x.star\", \"y\")", Code::NotAllowedInScript),
    ] {
        for isolation in Isolation::ALL {
            let text = format!(
                "---\nevent: tool.pre\nscript: |\n  {top}\n  def handle(event, payload):\n    return allow()\n---\n"
            );
            let bench = Bench::unchecked(isolation.engine(), &[("a.md", &text)], "");
            let found = bench.hooks.in_force();
            let first = &found.diagnostics[0];
            assert_eq!(first.code, code, "{isolation:?} {top}: {}", first.line());
            assert_eq!(first.file.line(first.span.unwrap().start), 4, "{top}: {}", first.line());
        }
    }
}

#[test]
fn a_condition_has_no_built_ins_that_ask_or_write() {
    for when in [
        "cache.get(\"k\")",
        "metrics.incr(\"m\")",
        "log(\"x\")",
        "http.get(\"http://example.org\")",
        "tools.call(\"x\")",
        "block(\"x\")",
    ] {
        let text = hook("return allow()").replace("timeout", &format!("when: {when}\ntimeout"));
        let bench = Bench::unchecked(Isolation::InProcess.engine(), &[("a.md", &text)], "");
        let found = bench.hooks.in_force();
        let codes: Vec<_> = found.diagnostics.iter().map(|found| found.code).collect();
        assert_eq!(codes, [Code::UnknownName], "{when}: {:?}", found.diagnostics);
    }
}
