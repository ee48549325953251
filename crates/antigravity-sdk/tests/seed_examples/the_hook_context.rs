//! The snippet on contexts.

#[test]
fn example() {
    use antigravity_sdk_rust::context::HookContext;
    use std::sync::Arc;

    // Session-level context (root)
    let session = Arc::new(HookContext::new());
    session.set("user_id", "user-42");

    // Turn-level context
    let turn = Arc::new(HookContext::child(session.clone()));
    turn.set("turn_number", 1u32);

    // Operation-level context
    let operation = HookContext::child(turn.clone());
    operation.set("tool_name", "read_file");

    // get() walks up the chain:
    assert_eq!(operation.get::<String>("tool_name"), Some("read_file".to_string()));
    assert_eq!(operation.get::<u32>("turn_number"), Some(1));
    assert_eq!(operation.get::<String>("user_id"), Some("user-42".to_string()));

    // set() is local-only — parent is unchanged:
    operation.set("user_id", "override");
    assert_eq!(operation.get::<String>("user_id"), Some("override".to_string()));
    assert_eq!(session.get::<String>("user_id"), Some("user-42".to_string()));

    assert_eq!((session.has_parent(), operation.has_parent()), (false, true));
}
