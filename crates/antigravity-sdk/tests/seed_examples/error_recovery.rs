//! A hook that has something to use instead of an error.

use antigravity_sdk_rust::hooks::Hook;
use antigravity_sdk_rust::types::HookResult;

struct ErrorRecoveryHook;

impl Hook for ErrorRecoveryHook {
    async fn on_tool_error(
        &self,
        error: &anyhow::Error,
    ) -> Result<(HookResult, Option<serde_json::Value>), anyhow::Error> {
        let msg = error.to_string();

        // Provide a fallback value for network-related errors
        if msg.contains("timeout") || msg.contains("connection refused") {
            println!("⚠️ Network error detected, providing fallback");
            Ok((
                HookResult {
                    allow: true,
                    message: "Recovered from network error with fallback".to_string(),
                },
                Some(serde_json::json!({
                    "error": "network_unavailable",
                    "fallback": true,
                    "message": "Service temporarily unavailable, using cached data"
                })),
            ))
        } else {
            // Let other hooks handle it, or propagate the error
            Ok((HookResult { allow: false, message: msg }, None))
        }
    }
}

#[tokio::test]
async fn a_network_error_gets_the_fallback_and_no_other_does() {
    let runner = antigravity_sdk_rust::hooks::HookRunner::new();
    runner.register(std::sync::Arc::new(ErrorRecoveryHook)).await;
    let error = anyhow::anyhow!("timeout after 30 s");
    let (result, value) = runner.dispatch_on_tool_error(&error).await.unwrap();
    assert!(result.allow);
    assert_eq!(result.message, "Recovered from network error with fallback");
    assert_eq!(value.unwrap()["fallback"], true);

    let error = anyhow::anyhow!("no such file");
    let (result, value) = runner.dispatch_on_tool_error(&error).await.unwrap();
    assert_eq!((result.allow, result.message.as_str(), value), (false, "no such file", None));
}
