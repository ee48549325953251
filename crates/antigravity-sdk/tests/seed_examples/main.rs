//! The code of the original's documentation, as it stands there, compiled and run.

// The code is the documentation's: what it prints, leaves unread or writes another way is its own.
#![allow(dead_code, unused_imports, unreachable_pub, missing_docs, missing_debug_implementations)]
#![allow(clippy::all, clippy::pedantic, clippy::print_stdout, clippy::unwrap_used)]
#![allow(clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

extern crate tollgate_antigravity_sdk as antigravity_sdk_rust;

mod audit;
mod builder_registration;
mod error_recovery;
mod logging;
mod rate_limit;
mod registration_after_construction;
mod the_hook_context;
mod the_hook_runner;
mod the_hook_trait;
mod the_policies;

use antigravity_sdk_rust::types::{ChatResponse, ToolCall, ToolResult};
use serde_json::json;

fn call(name: &str) -> ToolCall {
    ToolCall {
        id: "call-1".to_string(),
        name: name.to_string(),
        args: json!({}),
        canonical_path: None,
    }
}

fn result(name: &str) -> ToolResult {
    ToolResult {
        name: name.to_string(),
        id: Some("call-1".to_string()),
        result: Some(json!("done")),
        error: None,
    }
}

fn response(text: &str) -> ChatResponse {
    ChatResponse { text: text.to_string(), ..ChatResponse::default() }
}

/// Answers a prompt with the prompt.
struct Parrot;

impl antigravity_sdk_rust::agent::Model for Parrot {
    async fn respond(
        &self,
        prompt: &str,
        _tools: &antigravity_sdk_rust::agent::ToolGate,
    ) -> Result<ChatResponse, anyhow::Error> {
        Ok(response(prompt))
    }
}
