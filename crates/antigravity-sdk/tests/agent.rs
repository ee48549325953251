//! The session driver.

#![allow(clippy::unwrap_used, clippy::panic, clippy::items_after_statements)]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tollgate_antigravity_sdk::agent::{Agent, Model, ToolGate};
use tollgate_antigravity_sdk::hooks::{DynHook, Hook};
use tollgate_antigravity_sdk::policy;
use tollgate_antigravity_sdk::types::{ChatResponse, HookResult, ToolCall, ToolResult};
use tollgate_core::patch::ResultPatch;
use tollgate_core::prelude::{
    Answer, Runner, SessionStart, ToolPost, TurnEnd, TurnStart, decide, transform,
};
use tollgate_core::{Decision, verdict::Finish};

type Seen = Arc<Mutex<Vec<String>>>;

/// Notes every hook it is asked by.
struct Noting(Seen);

impl Noting {
    fn note(&self, what: impl Into<String>) {
        self.0.lock().unwrap().push(what.into());
    }
}

impl Hook for Noting {
    async fn on_session_start(&self) -> Result<(), anyhow::Error> {
        self.note("session_start");
        Ok(())
    }
    async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
        self.note("pre_turn");
        Ok(HookResult { allow: true, message: String::new() })
    }
    async fn pre_tool_call(&self, call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        self.note(format!("pre_tool_call {}", call.name));
        Ok(HookResult { allow: true, message: String::new() })
    }
    async fn post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
        self.note(format!("post_tool_call {}", result.name));
        Ok(())
    }
    async fn on_tool_error(
        &self,
        error: &anyhow::Error,
    ) -> Result<(HookResult, Option<Value>), anyhow::Error> {
        self.note(format!("on_tool_error {error}"));
        let recovers = error.to_string().contains("timeout");
        Ok((HookResult { allow: recovers, message: String::new() }, Some(json!("cached"))))
    }
    async fn on_compaction(&self, summary: &str) -> Result<(), anyhow::Error> {
        self.note(format!("on_compaction {summary}"));
        Ok(())
    }
    async fn post_turn(&self, response: &ChatResponse) -> Result<(), anyhow::Error> {
        self.note(format!("post_turn {}", response.text));
        Ok(())
    }
    async fn on_session_end(&self) -> Result<(), anyhow::Error> {
        self.note("session_end");
        Ok(())
    }
}

/// Calls the tools that the prompt names, and answers with what came of them.
struct Obedient;

impl Model for Obedient {
    async fn respond(&self, prompt: &str, tools: &ToolGate) -> Result<ChatResponse, anyhow::Error> {
        anyhow::ensure!(prompt != "fail", "the model is down");
        let mut came_to = Vec::new();
        for name in prompt.split_whitespace() {
            let call = ToolCall {
                id: "1".to_owned(),
                name: name.to_owned(),
                args: json!({}),
                canonical_path: None,
            };
            let done = tools
                .call(&call, |call| async move {
                    match call.name.as_str() {
                        "slow" => anyhow::bail!("timeout"),
                        "broken" => anyhow::bail!("it broke"),
                        name => Ok(json!(format!("{name} ran"))),
                    }
                })
                .await;
            came_to.push(match (done.result, done.error) {
                (Some(result), None) => result.as_str().unwrap_or_default().to_owned(),
                (None, Some(error)) => format!("error: {error}"),
                other => panic!("{other:?}"),
            });
        }
        assert_eq!(tools.ask(&[]).await, None);
        tools.compacted("short").await;
        Ok(ChatResponse { text: came_to.join("; "), ..ChatResponse::default() })
    }
}

#[tokio::test]
async fn a_session_fires_its_hooks_in_order() {
    let seen = Seen::default();
    let agent = Agent::builder()
        .hook(Arc::new(Noting(seen.clone())) as Arc<dyn DynHook>)
        .model(Obedient)
        .policies(vec![policy::deny("run_command"), policy::allow_all()])
        .conversation_id("c-1")
        .build();
    let agent = agent.start().await.unwrap();
    assert_eq!(agent.conversation_id(), "c-1");
    let response = agent.chat("own RUN_COMMAND slow broken").await.unwrap();
    let text =
        "own ran; error: Denied by policy 'run_command'.; cached; error: it broke".to_owned();
    assert_eq!(response.text, text);
    agent.stop().await.unwrap();
    agent.stop().await.unwrap();
    // Who only watches runs beside the rest, so what it notes is looked at by itself.
    let seen = seen.lock().unwrap();
    let (watched, decided): (Vec<&String>, Vec<&String>) = seen.iter().partition(|what| {
        ["post_", "on_compaction", "session_end"].iter().any(|start| what.starts_with(start))
    });
    assert_eq!(
        decided,
        [
            "session_start",
            "pre_turn",
            "pre_tool_call own",
            "pre_tool_call RUN_COMMAND",
            "pre_tool_call slow",
            "on_tool_error timeout",
            "pre_tool_call broken",
            "on_tool_error it broke",
        ]
    );
    let mut watched = watched;
    watched.sort();
    assert_eq!(
        watched,
        ["on_compaction short", "post_tool_call own", &format!("post_turn {text}"), "session_end"]
    );
}

#[tokio::test]
async fn what_goes_wrong_is_said() {
    let no_model = Agent::builder().allow_all().build().start().await.unwrap_err();
    assert!(no_model.to_string().contains("`AgentBuilder::model`"), "{no_model}");

    let about_a_server = vec![policy::deny("math/*")];
    let agent = Agent::builder().model(Obedient).policies(about_a_server).build();
    assert!(agent.start().await.is_err());

    struct Failing;
    impl Hook for Failing {
        async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
            anyhow::bail!("no database")
        }
    }
    let mut agent = Agent::builder().model(Obedient).allow_all().build();
    agent.register_hook(Arc::new(Failing));
    let agent = agent.start().await.unwrap();
    let refused = agent.chat("own").await.unwrap_err();
    assert!(!refused.to_string().contains("Failing"), "{refused}");
    let detail = format!("{refused:#}");
    assert!(detail.contains("Failing") && detail.contains("no database"), "{detail}");

    let agent = Agent::builder().model(Obedient).allow_all().build().start().await.unwrap();
    assert_eq!(agent.chat("fail").await.unwrap_err().to_string(), "the model is down");
    agent.stop().await.unwrap();
    assert_eq!(agent.chat("own").await.unwrap_err().to_string(), "this agent was stopped");
}

#[tokio::test]
async fn without_policies_commands_are_denied_and_without_allow_all_files_stay_here() {
    let agent = Agent::builder().model(Obedient).build_unchecked().start().await.unwrap();
    let denied = "error: Denied by policy 'confirm_run_command'.; own ran";
    assert_eq!(agent.chat("run_command own").await.unwrap().text, denied);

    let read_only = Agent::builder().model(Obedient).read_only().build().start().await.unwrap();
    let text = read_only.chat("own VIEW_FILE").await.unwrap().text;
    // Nothing says which file it is.
    assert_eq!(
        text,
        "error: Denied by policy 'deny_all'.; error: Denied by policy 'workspace_only'."
    );
}

#[tokio::test]
async fn hooks_of_the_engine_take_part() {
    let runner = Runner::builder()
        .register(decide("greet", |_cx, _start: &SessionStart| Decision::none().context("two")))
        .register(decide("remind", |_cx, _turn: &TurnStart| Decision::none().context("three")))
        .register(transform("redact", |_cx, done: &ToolPost| {
            Answer::rewrite(ResultPatch(json!(format!("[{}]", done.name))))
        }))
        .register(decide("again", |_cx, turn: &TurnEnd| match turn.response.as_str() {
            "[again]" => Decision::none(),
            _ => Decision::from_verdict(Finish::Continue { reason: "again".to_owned() }),
        }))
        .build()
        .unwrap();
    let agent = Agent::builder().model(Obedient).runner(runner).allow_all().build();
    let agent = agent.start().await.unwrap();
    // "one two three" goes round once, as "again".
    assert_eq!(agent.chat("one").await.unwrap().text, "[again]");
}
