//! A hook that has all nine methods, with the signatures of the documentation.

use std::sync::{Arc, Mutex};

use antigravity_sdk_rust::hooks::{DynHook, Hook, HookRunner};
use antigravity_sdk_rust::types::{
    AskQuestionEntry, ChatResponse, HookResult, QuestionHookResult, ToolCall, ToolResult,
};

#[derive(Default)]
struct All {
    seen: Mutex<Vec<&'static str>>,
}

impl All {
    fn saw(&self, what: &'static str) {
        self.seen.lock().unwrap().push(what);
    }
}

impl Hook for All {
    async fn on_session_start(&self) -> Result<(), anyhow::Error> {
        self.saw("on_session_start");
        Ok(())
    }
    async fn on_session_end(&self) -> Result<(), anyhow::Error> {
        self.saw("on_session_end");
        Ok(())
    }
    async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
        self.saw("pre_turn");
        Ok(HookResult { allow: true, message: String::new() })
    }
    async fn post_turn(&self, _response: &ChatResponse) -> Result<(), anyhow::Error> {
        self.saw("post_turn");
        Ok(())
    }
    async fn pre_tool_call(&self, _tool_call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        self.saw("pre_tool_call");
        Ok(HookResult { allow: true, message: String::new() })
    }
    async fn post_tool_call(&self, _result: &ToolResult) -> Result<(), anyhow::Error> {
        self.saw("post_tool_call");
        Ok(())
    }
    async fn on_tool_error(
        &self,
        error: &anyhow::Error,
    ) -> Result<(HookResult, Option<serde_json::Value>), anyhow::Error> {
        self.saw("on_tool_error");
        Ok((HookResult { allow: false, message: error.to_string() }, None))
    }
    async fn on_interaction(
        &self,
        _questions: &[AskQuestionEntry],
    ) -> Result<Option<QuestionHookResult>, anyhow::Error> {
        self.saw("on_interaction");
        Ok(None)
    }
    async fn on_compaction(&self, _summary: &str) -> Result<(), anyhow::Error> {
        self.saw("on_compaction");
        Ok(())
    }
}

#[tokio::test]
async fn all_nine_are_dispatched() {
    let hook = Arc::new(All::default());
    let runner = HookRunner::new();
    runner.register(hook.clone() as Arc<dyn DynHook>).await;
    runner.dispatch_session_start().await.unwrap();
    assert!(runner.dispatch_pre_turn().await.unwrap().allow);
    assert!(runner.dispatch_pre_tool_call(&super::call("t")).await.unwrap().allow);
    runner.dispatch_post_tool_call(&super::result("t")).await.unwrap();
    let error = anyhow::anyhow!("broken");
    let (refused, value) = runner.dispatch_on_tool_error(&error).await.unwrap();
    assert_eq!((refused.allow, refused.message.as_str(), value), (false, "broken", None));
    assert_eq!(runner.dispatch_interaction(&[]).await.unwrap(), None);
    runner.dispatch_on_compaction("short").await.unwrap();
    runner.dispatch_post_turn(&super::response("hi")).await.unwrap();
    runner.dispatch_session_end().await.unwrap();
    assert_eq!(
        *hook.seen.lock().unwrap(),
        [
            "on_session_start",
            "pre_turn",
            "pre_tool_call",
            "post_tool_call",
            "on_tool_error",
            "on_interaction",
            "on_compaction",
            "post_turn",
            "on_session_end",
        ]
    );
}
