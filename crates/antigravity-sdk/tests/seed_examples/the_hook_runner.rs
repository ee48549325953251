//! The snippet on the runner.

#[tokio::test]
async fn example() {
    use antigravity_sdk_rust::hooks::{DynHook, HookRunner};
    use std::sync::Arc;

    let runner = HookRunner::new();
    // Register a hook
    // runner.register(Arc::new(my_hook)).await;

    struct MyHook;
    impl antigravity_sdk_rust::hooks::Hook for MyHook {}
    let my_hook = MyHook;
    runner.register(Arc::new(my_hook)).await;
    assert!(runner.dispatch_pre_turn().await.unwrap().allow);
}
