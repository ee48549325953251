//! Hooks registered with the builder.

use antigravity_sdk_rust::agent::Agent;
use antigravity_sdk_rust::hooks::DynHook;
use std::sync::Arc;

// Assuming LoggingHook and RateLimitHook are defined as above
#[tokio::main]
async fn main() -> Result<(), anyhow::Error> {
    let agent = Agent::builder()
        // Register hooks via the builder
        .hook(Arc::new(LoggingHook) as Arc<dyn DynHook>)
        // .hook(Arc::new(RateLimitHook::new(100)) as Arc<dyn DynHook>)
        .allow_all()
        .build();

    let agent = agent.start().await?;
    let response = agent.chat("Hello!").await?;
    println!("{}", response.text);
    agent.stop().await?;
    Ok(())
}

struct LoggingHook;

impl antigravity_sdk_rust::hooks::Hook for LoggingHook {
    async fn on_session_start(&self) -> Result<(), anyhow::Error> {
        println!("Session started");
        Ok(())
    }
}

/// The example brings no model, and the agent has none of its own.
#[test]
fn without_a_model_it_says_what_to_do() {
    let error = main().unwrap_err().to_string();
    assert!(error.contains("`AgentBuilder::model`"), "{error}");
}

#[tokio::test]
async fn with_a_model_it_answers() -> Result<(), anyhow::Error> {
    let agent = Agent::builder()
        .hook(Arc::new(LoggingHook) as Arc<dyn DynHook>)
        .model(super::Parrot)
        .allow_all()
        .build();

    let agent = agent.start().await?;
    let response = agent.chat("Hello!").await?;
    assert_eq!(response.text, "Hello!");
    agent.stop().await?;
    Ok(())
}
