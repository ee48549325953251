//! What hooks cost in a turn: ten calls of a tool that returns at once, by a model that answers at once, with twenty
//! hooks and without.
//!
//! Turns with and without hooks alternate, so that whatever else the machine does meets both. `cargo bench -p
//! tollgate-agent` prints the median of each and the share of the turn that is the hooks'.

// A program that measures fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout, clippy::cast_precision_loss)]

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;
use tollgate_agent::{Agent, AgentBuilder, Started};
use tollgate_core::context::ToolContext;
use tollgate_core::prelude::*;
use tollgate_model::provider::{Options, Provider, open_in};
use tollgate_model::script::{Line, Script, Scripted, When};
use tollgate_model::server::Server;
use tollgate_tools::function;

const CALLS: usize = 10;

/// Turns of a session, until the next begins: its history must not be what is measured.
const TURNS: usize = 20;

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Look {
    path: String,
}

/// Ten calls, and then an answer, turn after turn.
fn script() -> Script {
    let when = When { last_tool: Some("look".to_owned()), ..When::default() };
    let calls = (0..CALLS).fold(Line::default(), |line, number| {
        line.and_call("look", json!({"path": format!("/work/src/file{number}.rs")}))
    });
    Script::new(vec![
        Line::say("All of them are there.").when(when),
        Line { once: Some(false), ..calls },
    ])
}

fn builder() -> AgentBuilder {
    let look = function("look", "Says what is there.", |args: Look, _: ToolContext| async move {
        Ok::<_, String>(format!("{} has 120 lines", args.path))
    });
    Agent::builder().tool(look).enabled_tools(["look"])
}

/// Twenty hooks as people write them: most look at calls, some at what surrounds them.
fn hooks() -> Vec<Registration> {
    let mut hooks = Vec::new();
    for number in 0..8 {
        hooks.push(decide(format!("guard {number}"), |_cx, call: &ToolPre| {
            if call.text("path").is_some_and(|path| path.contains("/etc/")) {
                Decision::deny("not there")
            } else {
                Decision::none()
            }
        }));
    }
    for number in 0..4 {
        hooks.push(transform(format!("redact {number}"), |_cx, done: &ToolPost| {
            match done.result.as_str().filter(|text| text.contains("hunter2")) {
                Some(text) => Answer::rewrite(ResultPatch(text.replace("hunter2", "•••").into())),
                None => Answer::none(),
            }
        }));
    }
    for number in 0..2 {
        hooks.push(decide(format!("prompt {number}"), |_cx, turn: &TurnStart| {
            if turn.prompt.is_empty() { Decision::deny("nothing") } else { Decision::none() }
        }));
        hooks.push(decide(format!("model {number}"), |_cx, pre: &ModelPre| {
            if pre.invocation > 1_000_000 { Decision::deny("enough") } else { Decision::none() }
        }));
        hooks.push(decide(format!("stop {number}"), |_cx, stop: &Stop| {
            if stop.execution == 0 { Decision::go_on("not yet") } else { Decision::none() }
        }));
        hooks.push(decide(format!("end {number}"), |_cx, turn: &TurnEnd| {
            if turn.response.is_empty() { Decision::go_on("say it") } else { Decision::none() }
        }));
    }
    hooks
}

async fn start(builder: AgentBuilder) -> Agent<Started> {
    builder.build().start().await.unwrap()
}

/// The time of a turn.
async fn turn(agent: &Agent<Started>) -> Duration {
    let began = Instant::now();
    let response = agent.chat("Which of them are there?").await.unwrap();
    let took = began.elapsed();
    assert_eq!(response.text, "All of them are there.");
    took
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).unwrap().as_secs_f64() * 1e6
}

/// Measures `rounds` sessions with hooks and as many without, turn by turn.
async fn measure(what: &str, rounds: usize, plain: impl Fn() -> AgentBuilder) {
    let (mut with, mut without) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let hooked = start(plain().hooks(hooks())).await;
        let bare = start(plain()).await;
        for number in 0..TURNS {
            let times = if number % 2 == 0 {
                let first = turn(&hooked).await;
                (first, turn(&bare).await)
            } else {
                let first = turn(&bare).await;
                (turn(&hooked).await, first)
            };
            with.push(times.0);
            without.push(times.1);
        }
        hooked.stop().await;
        bare.stop().await;
    }
    let (with, without) = (median(with), median(without));
    let cost = with - without;
    println!(
        "{what}: {with:.1} µs with hooks, {without:.1} µs without; hooks take {cost:.1} µs, {:.1}% of the turn",
        100.0 * cost / with
    );
}

fn in_process() -> AgentBuilder {
    builder().model(Scripted::from(script()))
}

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let directory = tempfile::tempdir().unwrap();
    let session = |path: &Path| path.join("session");
    // As it is built for tests, it only has to run.
    let rounds = if std::env::args().any(|arg| arg == "--bench") { 100 } else { 1 };
    runtime.block_on(async {
        measure("nothing is written down", rounds, in_process).await;
        measure("with a transcript", rounds, || {
            in_process().session_directory(session(directory.path()))
        })
        .await;
        let server = Server::start(Provider::OpenAi, script()).unwrap();
        measure("with a model server on loopback", rounds.div_ceil(5), || {
            let model = open_in("openai/test", &Options::default(), &server.environment());
            builder().model(model.unwrap()).session_directory(session(directory.path()))
        })
        .await;
    });
}
