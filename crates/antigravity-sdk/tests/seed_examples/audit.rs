//! A hook that keeps records.

use antigravity_sdk_rust::hooks::Hook;
use antigravity_sdk_rust::types::{HookResult, ToolCall, ToolResult};
use std::sync::Mutex;

struct AuditRecord {
    tool_name: String,
    success: bool,
    timestamp: std::time::Instant,
}

struct AuditHook {
    records: Mutex<Vec<AuditRecord>>,
}

impl AuditHook {
    fn new() -> Self {
        Self { records: Mutex::new(Vec::new()) }
    }
}

impl Hook for AuditHook {
    async fn pre_tool_call(&self, tool_call: &ToolCall) -> Result<HookResult, anyhow::Error> {
        println!("📋 Audit: tool '{}' invoked", tool_call.name);
        Ok(HookResult { allow: true, message: String::new() })
    }

    async fn post_tool_call(&self, result: &ToolResult) -> Result<(), anyhow::Error> {
        let record = AuditRecord {
            tool_name: result.name.clone(),
            success: result.error.is_none(),
            timestamp: std::time::Instant::now(),
        };
        if let Ok(mut records) = self.records.lock() {
            records.push(record);
        }
        Ok(())
    }
}

#[tokio::test]
async fn what_is_recorded_is_there_when_the_dispatch_returns() {
    let hook = std::sync::Arc::new(AuditHook::new());
    let runner = antigravity_sdk_rust::hooks::HookRunner::new();
    runner.register(hook.clone()).await;
    assert!(runner.dispatch_pre_tool_call(&super::call("one")).await.unwrap().allow);
    runner.dispatch_post_tool_call(&super::result("one")).await.unwrap();
    let mut failed = super::result("two");
    failed.error = Some("broken".to_string());
    failed.result = None;
    runner.dispatch_post_tool_call(&failed).await.unwrap();
    let records = hook.records.lock().unwrap();
    let records: Vec<_> = records.iter().map(|r| (r.tool_name.as_str(), r.success)).collect();
    assert_eq!(records, [("one", true), ("two", false)]);
}
