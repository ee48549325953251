//! What the engine makes of old hooks: failures close, names are one tool, links are followed.

#![allow(clippy::unwrap_used, clippy::panic, clippy::items_after_statements)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tollgate_antigravity_sdk::context::HookContext;
use tollgate_antigravity_sdk::hooks::{self, Hook, HookRunner};
use tollgate_antigravity_sdk::types::{
    AskQuestionEntry, ChatResponse, HookResult, QuestionHookResult, ToolCall, ToolResult,
    UsageMetadata,
};
use tollgate_core::audit::MemorySink;
use tollgate_core::prelude::{
    Registration, Runner, SessionContext, SessionInfo, ToolPre, TurnEnd, decide,
};
use tollgate_core::verdict::Level;
use tollgate_core::{Decision, prelude};

const CLOSED: &str = "A required check could not be completed, so this was not allowed.";

fn call(name: &str) -> ToolCall {
    ToolCall {
        id: "1".to_owned(),
        name: name.to_owned(),
        args: json!({"a": 1}),
        canonical_path: None,
    }
}

fn result(name: &str) -> ToolResult {
    ToolResult {
        name: name.to_owned(),
        id: Some("1".to_owned()),
        result: Some(json!("done")),
        error: None,
    }
}

fn allow() -> HookResult {
    HookResult { allow: true, message: String::new() }
}

async fn runner_with(hook: impl Hook + 'static) -> HookRunner {
    let runner = HookRunner::new();
    runner.register(Arc::new(hook)).await;
    runner
}

/// Fails wherever it is asked.
struct Failing;

impl Hook for Failing {
    async fn on_session_start(&self) -> Result<(), anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn post_tool_call(&self, _result: &ToolResult) -> Result<(), anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn on_tool_error(
        &self,
        _error: &anyhow::Error,
    ) -> Result<(HookResult, Option<Value>), anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn on_interaction(
        &self,
        _questions: &[AskQuestionEntry],
    ) -> Result<Option<QuestionHookResult>, anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn on_session_end(&self) -> Result<(), anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn post_turn(&self, _response: &ChatResponse) -> Result<(), anyhow::Error> {
        anyhow::bail!("no")
    }
    async fn on_compaction(&self, _summary: &str) -> Result<(), anyhow::Error> {
        anyhow::bail!("no")
    }
}

#[tokio::test]
async fn an_error_closes_the_gates_and_nothing_else() {
    let runner = runner_with(Failing).await;
    runner.dispatch_session_start().await.unwrap();
    let denied = HookResult { allow: false, message: CLOSED.to_owned() };
    assert_eq!(runner.dispatch_pre_turn().await.unwrap(), denied);
    assert_eq!(runner.dispatch_pre_tool_call(&call("t")).await.unwrap(), denied);
    runner.dispatch_post_tool_call(&result("t")).await.unwrap();
    let question =
        AskQuestionEntry { question: "?".to_owned(), options: vec![], is_multi_select: false };
    let answers = runner.dispatch_interaction(&[question]).await.unwrap().unwrap();
    assert!(answers.cancelled && answers.responses.len() == 1 && answers.responses[0].skipped);
    let broken = anyhow::anyhow!("broken");
    let (refused, value) = runner.dispatch_on_tool_error(&broken).await.unwrap();
    assert_eq!((refused.allow, refused.message.as_str(), value), (false, "broken", None));
    runner.dispatch_on_compaction("s").await.unwrap();
    runner.dispatch_post_turn(&ChatResponse::default()).await.unwrap();
    runner.dispatch_session_end().await.unwrap();
}

#[tokio::test]
async fn which_hook_failed_is_in_the_audit_trail_and_not_in_the_message() {
    let audit = Arc::new(MemorySink::new(10));
    let runner = HookRunner::from(Runner::builder().audit(audit.clone()).build().unwrap());
    runner.register(Arc::new(Failing)).await;
    let denied = runner.dispatch_pre_turn().await.unwrap();
    assert!(!denied.message.contains("Failing"));
    let trail = audit.entries()[0].value().to_string();
    assert!(trail.contains("behaviour::Failing"), "{trail}");
}

#[tokio::test]
async fn a_panic_denies() {
    struct Panicking;
    impl Hook for Panicking {
        async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
            panic!("at the disco")
        }
        async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            panic!("at the disco")
        }
    }
    let runner = runner_with(Panicking).await;
    assert!(!runner.dispatch_pre_turn().await.unwrap().allow);
    assert!(!runner.dispatch_pre_tool_call(&call("t")).await.unwrap().allow);
    assert!(HookContext::current().is_none());
}

#[tokio::test]
async fn a_hook_that_never_answers_denies_at_its_deadline() {
    struct Hanging;
    impl Hook for Hanging {
        async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            std::future::pending().await
        }
    }
    let limits = Runner::builder().limits(|limits| limits.hook = Duration::from_millis(20));
    let runner = HookRunner::from(limits.build().unwrap());
    runner.register(Arc::new(Hanging)).await;
    assert!(!runner.dispatch_pre_tool_call(&call("t")).await.unwrap().allow);
}

#[tokio::test]
async fn the_first_deny_ends_the_chain() {
    struct Deny;
    impl Hook for Deny {
        async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            Ok(HookResult { allow: false, message: "no".to_owned() })
        }
    }
    struct Behind(Arc<AtomicBool>);
    impl Hook for Behind {
        async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            self.0.store(true, Ordering::SeqCst);
            Ok(allow())
        }
    }
    let asked = Arc::new(AtomicBool::new(false));
    let runner = runner_with(Deny).await;
    runner.register(Arc::new(Behind(asked.clone()))).await;
    let denied = runner.dispatch_pre_tool_call(&call("t")).await.unwrap();
    assert_eq!(denied, HookResult { allow: false, message: "no".to_owned() });
    assert!(!asked.load(Ordering::SeqCst));
}

#[tokio::test]
async fn who_only_watches_is_done_when_the_dispatch_returns() {
    #[derive(Default)]
    struct Slow(Mutex<Vec<String>>);
    impl Slow {
        async fn note(&self, what: &str) -> Result<(), anyhow::Error> {
            tokio::time::sleep(Duration::from_millis(30)).await;
            self.0.lock().unwrap().push(what.to_owned());
            Ok(())
        }
    }
    impl Hook for Slow {
        async fn post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
            self.note(&result.name).await
        }
        async fn post_turn(&self, response: &ChatResponse) -> Result<(), anyhow::Error> {
            self.note(&response.text).await
        }
        async fn on_compaction(&self, summary: &str) -> Result<(), anyhow::Error> {
            self.note(summary).await
        }
        async fn on_session_end(&self) -> Result<(), anyhow::Error> {
            self.note("end").await
        }
    }
    let hook = Arc::new(Slow::default());
    let noted = || hook.0.lock().unwrap().last().cloned();
    let runner = runner_with(Failing).await; // in front, which must not matter
    runner.register(hook.clone()).await;
    runner.dispatch_post_tool_call(&result("tool")).await.unwrap();
    assert_eq!(noted().as_deref(), Some("tool"));
    let response = ChatResponse { text: "text".to_owned(), ..ChatResponse::default() };
    runner.dispatch_post_turn(&response).await.unwrap();
    assert_eq!(noted().as_deref(), Some("text"));
    runner.dispatch_on_compaction("summary").await.unwrap();
    assert_eq!(noted().as_deref(), Some("summary"));
    runner.dispatch_session_end().await.unwrap();
    assert_eq!(noted().as_deref(), Some("end"));
}

#[tokio::test]
async fn hooks_get_what_they_got() {
    #[derive(Default)]
    struct Seen {
        calls: Mutex<Vec<ToolCall>>,
        results: Mutex<Vec<ToolResult>>,
        responses: Mutex<Vec<ChatResponse>>,
        questions: Mutex<Vec<AskQuestionEntry>>,
    }
    impl Hook for Seen {
        async fn pre_tool_call(&self, call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            self.calls.lock().unwrap().push(call.clone());
            Ok(allow())
        }
        async fn post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
            self.results.lock().unwrap().push(result.clone());
            Ok(())
        }
        async fn post_turn(&self, response: &ChatResponse) -> Result<(), anyhow::Error> {
            self.responses.lock().unwrap().push(response.clone());
            Ok(())
        }
        async fn on_interaction(
            &self,
            questions: &[AskQuestionEntry],
        ) -> Result<Option<QuestionHookResult>, anyhow::Error> {
            self.questions.lock().unwrap().extend_from_slice(questions);
            Ok(Some(QuestionHookResult { responses: vec![], cancelled: false }))
        }
    }
    let hook = Arc::new(Seen::default());
    let runner = HookRunner::new();
    runner.register(hook.clone()).await;

    let mut calls = vec![call("own"), call("mcp_math_add")];
    calls[0].canonical_path = Some("/w/a".to_owned());
    calls[1].args = json!(["not", "an", "object"]);
    for call in &calls {
        assert!(runner.dispatch_pre_tool_call(call).await.unwrap().allow);
    }
    assert_eq!(*hook.calls.lock().unwrap(), calls);

    let failed =
        ToolResult { result: None, error: Some("broken".to_owned()), ..result("mcp_math_add") };
    for result in [&result("own"), &failed] {
        runner.dispatch_post_tool_call(result).await.unwrap();
    }
    assert_eq!(*hook.results.lock().unwrap(), [result("own"), failed]);

    let usage_metadata = UsageMetadata { total_token_count: 42, ..UsageMetadata::default() };
    let response = ChatResponse { usage_metadata, ..ChatResponse::default() };
    runner.dispatch_post_turn(&response).await.unwrap();
    assert_eq!(*hook.responses.lock().unwrap(), [response]);

    let question: AskQuestionEntry = serde_json::from_value(
        json!({"question": "?", "options": [{"id": "1", "text": "one"}], "is_multi_select": true}),
    )
    .unwrap();
    let answered = runner.dispatch_interaction(std::slice::from_ref(&question)).await.unwrap();
    assert!(!answered.unwrap().cancelled);
    assert_eq!(*hook.questions.lock().unwrap(), [question]);
}

#[tokio::test]
async fn a_recovery_is_the_first_that_is_allowed() {
    struct Recover(bool, Option<Value>, &'static str);
    impl Hook for Recover {
        async fn on_tool_error(
            &self,
            _error: &anyhow::Error,
        ) -> Result<(HookResult, Option<Value>), anyhow::Error> {
            Ok((HookResult { allow: self.0, message: self.2.to_owned() }, self.1.clone()))
        }
    }
    let error = anyhow::anyhow!("inner").context("outer");
    let runner = runner_with(Recover(false, Some(json!(1)), "first")).await;
    let (refused, value) = runner.dispatch_on_tool_error(&error).await.unwrap();
    assert_eq!((refused.allow, refused.message.as_str(), value), (false, "outer", None));

    runner.register(Arc::new(Recover(true, None, "second"))).await;
    runner.register(Arc::new(Recover(true, Some(json!(3)), "third"))).await;
    let (recovered, value) = runner.dispatch_on_tool_error(&error).await.unwrap();
    assert_eq!((recovered.allow, recovered.message.as_str()), (true, "second"));
    assert_eq!(value, Some(Value::Null));
}

#[tokio::test]
async fn contexts_reach_hooks() {
    #[derive(Default)]
    struct Counting(Mutex<Vec<Option<u32>>>);
    impl Hook for Counting {
        async fn on_session_start(&self) -> Result<(), anyhow::Error> {
            HookContext::current().unwrap().set("session", 1);
            Ok(())
        }
        async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
            HookContext::current().unwrap().set("turn", 2);
            Ok(allow())
        }
        async fn pre_tool_call(&self, _call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            HookContext::current().unwrap().set("operation", 3);
            Ok(allow())
        }
        async fn post_tool_call(&self, _result: &ToolResult) -> Result<(), anyhow::Error> {
            tokio::task::yield_now().await;
            let context = HookContext::current().unwrap();
            *self.0.lock().unwrap() =
                ["session", "turn", "operation"].map(|key| context.get(key)).to_vec();
            Ok(())
        }
    }
    let hook = Arc::new(Counting::default());
    let runner = HookRunner::new();
    runner.register(hook.clone()).await;
    runner.dispatch_session_start().await.unwrap();
    assert!(runner.dispatch_pre_turn().await.unwrap().allow);
    assert!(runner.dispatch_pre_tool_call(&call("t")).await.unwrap().allow);
    runner.dispatch_post_tool_call(&result("t")).await.unwrap();
    assert_eq!(*hook.0.lock().unwrap(), [Some(1), Some(2), Some(3)]);
    // Another call has its own.
    runner.dispatch_post_tool_call(&result("t")).await.unwrap();
    assert_eq!(*hook.0.lock().unwrap(), [Some(1), Some(2), None]);
}

#[tokio::test]
async fn an_old_hook_works_in_a_runner_of_the_engine() {
    #[derive(Default)]
    struct Old(Mutex<Vec<String>>);
    impl Hook for Old {
        async fn pre_tool_call(&self, call: &ToolCall) -> Result<HookResult, anyhow::Error> {
            anyhow::ensure!(call.name != "mcp_docs_broken", "no");
            Ok(HookResult { allow: call.name != "mcp_docs_delete", message: "Kept.".to_owned() })
        }
        async fn post_turn(&self, response: &ChatResponse) -> Result<(), anyhow::Error> {
            self.0.lock().unwrap().push(response.text.clone());
            Ok(())
        }
    }
    let hook = Arc::new(Old::default());
    let runner =
        Runner::builder().register(hooks::registration("old", hook.clone())).build().unwrap();
    let turn = SessionContext::new(SessionInfo::default()).turn();
    let reason = async |tool: &str| {
        let call = prelude::ToolCall::new(tool).server("docs");
        let outcome = runner.dispatch(&turn.operation(), ToolPre::from(call)).await;
        outcome.reason().to_owned()
    };
    assert_eq!(reason("delete").await, "Kept.");
    assert_eq!(reason("broken").await, CLOSED);
    assert_eq!(reason("read").await, "");
    let read = ToolPre::from(prelude::ToolCall::new("read").server("docs"));
    let outcome = runner.dispatch(&turn.operation(), read).await;
    assert_eq!(outcome.verdict.level, Level::None, "`allow: true` is no opinion");
    let outcome = runner.dispatch(&turn, TurnEnd::new("bye")).await;
    assert!(outcome.permit().is_granted());
    assert_eq!(*hook.0.lock().unwrap(), ["bye"]);
}

#[tokio::test]
async fn a_hook_of_the_engine_works_beside_old_ones() {
    let ask: Registration = decide("ask", |_cx, call: &ToolPre| match call.name.as_str() {
        "risky" => Decision::ask("It is risky."),
        "allowed" => Decision::allow(),
        _ => Decision::none(),
    });
    let runner = HookRunner::new();
    runner.runner().register(ask).unwrap();
    assert!(runner.dispatch_pre_tool_call(&call("harmless")).await.unwrap().allow);
    assert!(runner.dispatch_pre_tool_call(&call("allowed")).await.unwrap().allow);
    let nobody = runner.dispatch_pre_tool_call(&call("risky")).await.unwrap();
    assert!(!nobody.allow && nobody.message.ends_with("It is risky."), "{nobody:?}");
}
