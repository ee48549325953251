//! A hook registered after the agent was built.

#[test]
fn example() {
    use antigravity_sdk_rust::agent::Agent;
    use antigravity_sdk_rust::hooks::DynHook;
    use std::sync::Arc;

    struct MyHook;
    impl antigravity_sdk_rust::hooks::Hook for MyHook {}

    let mut agent = Agent::builder().allow_all().build();
    agent.register_hook(Arc::new(MyHook) as Arc<dyn DynHook>);
    // agent.start().await?;
}

#[tokio::test]
async fn the_hook_is_asked() -> Result<(), anyhow::Error> {
    use antigravity_sdk_rust::agent::Agent;
    use antigravity_sdk_rust::hooks::{DynHook, Hook};
    use antigravity_sdk_rust::types::HookResult;
    use std::sync::Arc;

    struct Never;
    impl Hook for Never {
        async fn pre_turn(&self) -> Result<HookResult, anyhow::Error> {
            Ok(HookResult { allow: false, message: "Not today.".to_string() })
        }
    }

    let mut agent = Agent::builder().model(super::Parrot).allow_all().build();
    agent.register_hook(Arc::new(Never) as Arc<dyn DynHook>);
    let agent = agent.start().await?;
    assert_eq!(agent.chat("Hello!").await.unwrap_err().to_string(), "Not today.");
    Ok(())
}
