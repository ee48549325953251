//! A hook that logs.

use antigravity_sdk_rust::hooks::Hook;
use antigravity_sdk_rust::types::{ChatResponse, HookResult, ToolCall, ToolResult};

struct LoggingHook;

impl Hook for LoggingHook {
    async fn on_session_start(&self) -> Result<(), anyhow::Error> {
        println!("🟢 Session started");
        Ok(())
    }

    async fn on_session_end(&self) -> Result<(), anyhow::Error> {
        println!("🔴 Session ended");
        Ok(())
    }

    async fn pre_tool_call(&self, tool_call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        println!("🔧 Calling tool: {}", tool_call.name);
        Ok(HookResult { allow: true, message: String::new() })
    }

    async fn post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
        println!("✅ Tool {} completed", result.name);
        Ok(())
    }

    async fn post_turn(&self, response: &ChatResponse) -> Result<(), anyhow::Error> {
        println!("💬 Response length: {} chars", response.text.len());
        Ok(())
    }
}

#[tokio::test]
async fn it_lets_everything_through() {
    let runner = antigravity_sdk_rust::hooks::HookRunner::new();
    runner.register(std::sync::Arc::new(LoggingHook)).await;
    runner.dispatch_session_start().await.unwrap();
    assert!(runner.dispatch_pre_tool_call(&super::call("t")).await.unwrap().allow);
    runner.dispatch_post_tool_call(&super::result("t")).await.unwrap();
    runner.dispatch_post_turn(&super::response("hi")).await.unwrap();
    runner.dispatch_session_end().await.unwrap();
}
