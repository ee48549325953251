//! A hook that limits turns.

use antigravity_sdk_rust::hooks::Hook;
use antigravity_sdk_rust::types::HookResult;
use std::sync::atomic::{AtomicU32, Ordering};

struct RateLimitHook {
    max_turns: u32,
    turn_count: AtomicU32,
}

impl RateLimitHook {
    fn new(max_turns: u32) -> Self {
        Self { max_turns, turn_count: AtomicU32::new(0) }
    }
}

impl Hook for RateLimitHook {
    async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
        let count = self.turn_count.fetch_add(1, Ordering::SeqCst);
        if count >= self.max_turns {
            Ok(HookResult {
                allow: false,
                message: format!("Rate limit exceeded: {} of {} turns used", count, self.max_turns),
            })
        } else {
            Ok(HookResult { allow: true, message: String::new() })
        }
    }
}

#[tokio::test]
async fn it_denies_the_turn_beyond_the_limit() {
    let runner = antigravity_sdk_rust::hooks::HookRunner::new();
    runner.register(std::sync::Arc::new(RateLimitHook::new(2))).await;
    assert!(runner.dispatch_pre_turn().await.unwrap().allow);
    assert!(runner.dispatch_pre_turn().await.unwrap().allow);
    let third = runner.dispatch_pre_turn().await.unwrap();
    assert!(!third.allow);
    assert_eq!(third.message, "Rate limit exceeded: 2 of 2 turns used");
}
