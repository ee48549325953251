//! What a Markdown hook costs, beside bare calls of the `starlark` crate.
//!
//! * `one`: a hook with a `when` that holds and `allow()`: bare, through the whole pipeline in this
//!   process, and in a worker.
//! * `language`: the same with a script that has no native form, so that the language runs it.
//! * `seven`: a chain of seven of them, likewise.
//! * `not_wanted`: a hook whose `when` does not hold.
//! * `guard`: a guard with a list of patterns, likewise.
//! * `load`: a hundred hooks, from their files to the runner.
// A benchmark fails by panicking.
#![allow(clippy::unwrap_used, clippy::unnecessary_wraps, missing_docs)]

use std::fs;
use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use serde_json::{Map, Value as Json, json};
use starlark::environment::{FrozenModule, Globals, GlobalsBuilder, Module};
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::syntax::{AstModule, Dialect};
use starlark::values::OwnedFrozenValue;
use tollgate_config::diagnostic::Report;
use tollgate_config::dialect::harness::read_artifact;
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_config::script::ScriptEngine as _;
use tollgate_config::settings::Settings;
use tollgate_config::source::SourceFile;
use tollgate_core::prelude::{
    Registration, Runner, SessionContext, SessionInfo, ToolCall, ToolPre,
};
use tollgate_starlark::{STEPS, Starlark};

const WHEN: &str = r#"payload["name"] == "run_command""#;
const ALLOW: &str = "def handle(event, payload):\n    return allow()\n";
/// What makes a list of what it finds is the language's to run.
const LANGUAGE: &str = "def handle(event, payload):\n    names = [payload[\"name\"]]\n    return allow() if len(names) == 1 else block(\"no\")\n";
const GUARD: &str = r#"
def handle(event, payload):
    command = payload["args"].get("CommandLine", "")
    for pattern in ["rm -rf /", ":(){ :|:& };:", "mkfs", "dd if=", "shutdown"]:
        if pattern in command:
            return block("dangerous command pattern blocked: '" + pattern + "'")
    return allow()
"#;

#[starlark_module]
fn decisions(builder: &mut GlobalsBuilder) {
    fn allow() -> anyhow::Result<&'static str> {
        Ok("")
    }
    fn block(reason: &str) -> anyhow::Result<String> {
        Ok(reason.to_owned())
    }
}

/// A hook as one would run it with the crate alone: compiled once, a fresh heap and a limit of steps
/// for each call, and what it decided is read.
struct Bare {
    when: OwnedFrozenValue,
    handle: OwnedFrozenValue,
}

impl Bare {
    fn new(globals: &Globals, script: &str) -> Self {
        let when = format!("def when(event, payload): return ({WHEN})\n");
        Self {
            when: compile(globals, &when).get("when").unwrap(),
            handle: compile(globals, script).get("handle").unwrap(),
        }
    }

    /// Whether it was asked and allowed it.
    fn ask(&self, payload: &Map<String, Json>) -> bool {
        Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            eval.set_max_tick_count(STEPS).unwrap();
            let heap = module.heap();
            let arguments = [heap.alloc("tool.pre"), heap.alloc(payload)];
            let when = heap.access_owned_frozen_value(&self.when);
            if !eval.eval_function(when, &arguments, &[]).unwrap().to_bool() {
                return false;
            }
            let handle = heap.access_owned_frozen_value(&self.handle);
            let decided = eval.eval_function(handle, &arguments, &[]).unwrap();
            decided.unpack_str().unwrap().is_empty()
        })
    }
}

fn compile(globals: &Globals, text: &str) -> FrozenModule {
    let ast = AstModule::parse("bench", text.to_owned(), &Dialect::Standard).unwrap();
    Module::with_temp_heap(|module| {
        Evaluator::new(&module).eval_module(ast, globals).unwrap();
        module.freeze().unwrap()
    })
}

fn markdown(script: &str) -> String {
    let script: String = script.lines().fold(String::new(), |text, line| text + "  " + line + "\n");
    format!("---\nevent: tool.pre\nwhen: {WHEN}\nscript: |\n{script}---\n")
}

fn places(directory: &Path, files: usize, script: &str) -> Places {
    let places = Places::below(directory);
    let folder = places.user.as_ref().unwrap().join("hooks");
    fs::create_dir_all(&folder).unwrap();
    for number in 0..files {
        fs::write(folder.join(format!("hook_{number:03}.md")), markdown(script)).unwrap();
    }
    places
}

/// These hooks and nothing else: the guard that is built in would be measured with them.
fn runner(engine: &Starlark, files: usize, script: &str) -> Runner {
    let mut load = engine.load(&Settings::default());
    let mut builder = Runner::builder();
    for number in 0..files {
        let name = format!("hook_{number}.md");
        let file = Arc::new(SourceFile::new(&name, markdown(script)));
        let (artifact, problems) = read_artifact(&file);
        assert!(problems.is_empty(), "{problems:?}");
        let mut report = Report::new(file);
        let script = load.hook(&Arc::new(artifact.unwrap()), &mut report).unwrap();
        let registration = Registration::named(name).dialect(tollgate_core::Dialect::Harness);
        builder = builder.register(registration.and_on::<ToolPre>(script.handler));
    }
    builder.build().unwrap()
}

fn with_worker() -> Starlark {
    Starlark::with_worker(env!("CARGO_BIN_EXE_tollgate-worker"))
}

fn call(name: &str) -> ToolPre {
    let call = ToolCall::new(name).arg("CommandLine", "cargo test --workspace").arg("Cwd", "/work");
    ToolPre::from(call)
}

/// What scripts get from us, as JSON that is there already.
fn payload(name: &str) -> Map<String, Json> {
    let line = "cargo test --workspace";
    let payload = json!({
        "name": name, "native_name": name, "server": null, "call": null, "step": null,
        "args": {"CommandLine": line, "Cwd": "/work", "command": line},
        "agent": {"id": "main", "depth": 0}, "model": null, "turn": 1,
        "session": {"id": "", "workspaces": []},
    });
    payload.as_object().unwrap().clone()
}

fn running(c: &mut Criterion) {
    let globals = GlobalsBuilder::standard().with(decisions).build();
    let session = SessionContext::new(SessionInfo::default());
    let turn = session.turn();
    for (group, files, script, tool) in [
        ("one", 1, ALLOW, "run_command"),
        ("language", 1, LANGUAGE, "run_command"),
        ("seven", 7, ALLOW, "run_command"),
        ("guard", 1, GUARD, "run_command"),
        ("not_wanted", 1, ALLOW, "view_file"),
    ] {
        let mut group = c.benchmark_group(group);
        let bare: Vec<_> = (0..files).map(|_| Bare::new(&globals, script)).collect();
        let given = payload(tool);
        group.bench_function("bare", |b| {
            b.iter(|| bare.iter().filter(|bare| bare.ask(black_box(&given))).count());
        });
        for (name, engine) in [("here", with_worker()), ("isolated", with_worker().isolate_all())] {
            let runner = runner(&engine, files, script);
            let (event, operation) = (call(tool), turn.operation());
            group.bench_function(name, |b| {
                b.iter_batched(
                    || event.clone(),
                    // An agent awaits it where it runs anyway: to enter a runtime is no part of it.
                    |event| pollster::block_on(runner.dispatch(&operation, event)),
                    // Few, as their outcomes are kept for so long: in use, the next dispatch has
                    // the memory of the last.
                    BatchSize::NumIterations(16),
                );
            });
        }
        group.finish();
    }
}

fn loading(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    let globals = GlobalsBuilder::standard().with(decisions).build();
    group.bench_function("bare/compile_100", |b| {
        b.iter(|| (0..100).map(|_| compile(&globals, GUARD)).collect::<Vec<_>>());
    });
    for (name, isolate_all) in [("here/100_hooks", false), ("isolated/100_hooks", true)] {
        let directory = tempfile::tempdir().unwrap();
        let places = places(directory.path(), 100, GUARD);
        let engine = with_worker();
        let engine = if isolate_all { engine.isolate_all() } else { engine };
        group.bench_function(name, |b| {
            b.iter(|| {
                let setup = Setup::new(places.clone()).scripts(engine.clone());
                Hooks::open(setup).unwrap()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, running, loading);
criterion_main!(benches);
