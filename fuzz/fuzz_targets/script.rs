//! Any text as a Markdown hook and as a policy file: it loads or says why not, with a place in the
//! file. What is known to be cheap runs, and is: time and memory are the fuzzer's to watch.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use serde_json::json;
use tollgate_config::diagnostic::{Colours, Diagnostic, Report, render};
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::script::ScriptEngine as _;
use tollgate_config::settings::Settings;
use tollgate_config::source::SourceFile;
use tollgate_core::dialect::Layer;
use tollgate_core::prelude::*;
use tollgate_fuzz::{block_on, runner};
use tollgate_starlark::{Starlark, analysis};

fn shown(text: &str, problems: &[Diagnostic]) {
    for problem in problems {
        assert!(render(problem, Colours::None).contains(problem.code.id()));
        if let Some(span) = problem.span {
            assert!(text.get(span.start..span.end).is_some(), "{span:?}");
        }
    }
}

/// A payload of some size, with what scripts like to look at.
fn call() -> ToolCall {
    let call = ToolCall::new("run_command").arg("CommandLine", "rm -rf build && make");
    let list: Vec<_> = (0..200).map(|n| json!({"n": n, "text": "x".repeat(50)})).collect();
    call.arg("list", list).arg("big", "ab ".repeat(5000))
}

fn hook(text: &str) {
    let file = Arc::new(SourceFile::new("hook.md", text));
    let (artifact, problems) = read_artifact(&file);
    shown(text, &problems);
    let Some(artifact) = artifact else { return };
    let artifact = Arc::new(artifact);
    // Without a worker, only what is known to be cheap loads.
    let engine = Starlark::new();
    let mut report = Report::new(Arc::clone(&file));
    let script = engine.load(&Settings::default()).hook(&artifact, &mut report);
    assert_eq!(script.is_none(), report.has_errors());
    shown(text, &report.into_diagnostics());
    let Some(script) = script else { return };
    let mut registration = Registration::named("hook").dialect(Dialect::Harness);
    for kind in artifact.event.kinds {
        let handler = Arc::clone(&script.handler);
        registration = match kind {
            Kind::ToolPre => registration.and_on::<ToolPre>(handler),
            Kind::ToolPost => registration.and_on::<ToolPost>(handler),
            Kind::TurnStart => registration.and_on::<TurnStart>(handler),
            Kind::TurnEnd => registration.and_on::<TurnEnd>(handler),
            _ => return,
        };
    }
    let Ok(runner) = runner().register(registration).build() else { return };
    let session = SessionContext::new(SessionInfo::default());
    let turn = session.turn();
    let first = block_on(runner.dispatch(&turn.operation(), ToolPre::from(call())));
    let again = block_on(runner.dispatch(&session.turn().operation(), ToolPre::from(call())));
    // The same payload gives the same answer, but for what the hook itself has kept in the cache
    // and the counters.
    if !text.contains("cache") && !text.contains("metrics") && !text.contains("turn") {
        assert_eq!(first.record.decision, again.record.decision);
        assert_eq!(first.record.reason, again.record.reason);
        assert_eq!(first.event, again.event);
    }
    let _ = block_on(runner.dispatch(&turn.operation(), ToolPost::new(call(), "result")));
    let _ = block_on(runner.dispatch(&turn, TurnStart::new("hello")));
}

fn policy(text: &str) {
    let file = Arc::new(SourceFile::new("policy.star", text));
    let mut report = Report::new(file);
    let engine = Starlark::new();
    let registration = engine.load(&Settings::default()).policy(Layer::User, &mut report);
    assert_eq!(registration.is_none(), report.has_errors());
    shown(text, &report.into_diagnostics());
    if let Some(registration) = registration
        && let Ok(runner) = runner().register(registration).build()
    {
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let _ = block_on(runner.dispatch(&operation, ToolPre::from(call())));
    }
}

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match text.split_at_checked(1) {
        Some(("p", rest)) => policy(rest),
        Some(("w", rest)) => {
            let _ = analysis::check_when(rest, &analysis::WHEN);
        }
        Some(("s", rest)) => {
            // A script by itself, so that not every change of a byte breaks the frontmatter.
            let indented: String =
                rest.lines().fold(String::new(), |text, line| text + "  " + line + "\n");
            hook(&format!("---\nevent: tool.pre\nscript: |\n{indented}---\n"));
        }
        _ => hook(text),
    }
});
