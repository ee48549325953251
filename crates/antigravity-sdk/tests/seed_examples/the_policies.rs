//! The snippets on policies.

use super::call;

#[test]
fn builders() {
    use antigravity_sdk_rust::policy;

    // ── Single-tool policies ───────────────────────────────────────────
    let _ = policy::allow("read_file"); // Approve a specific tool
    let _ = policy::deny("run_command"); // Deny a specific tool
    let _ = policy::ask_user("run_command", |_tc| {
        // Return true = user approved, false = user denied
        true
    });

    // ── Wildcard policies ──────────────────────────────────────────────
    let _ = policy::allow_all(); // Approve all tools (wildcard)
    let _ = policy::deny_all(); // Deny all tools (wildcard)

    // ── Composite policies ────────────────────────────────────────────
    // Require user confirmation for RUN_COMMAND, allow everything else:
    let _ = policy::confirm_run_command(Some(std::sync::Arc::new(|_| true)));

    // Restrict filesystem tools to specific workspace directories:
    let _ = policy::workspace_only(vec!["/my/project".to_string()]);
}

#[tokio::test]
async fn about_mcp_servers() {
    use antigravity_sdk_rust::policy;
    use antigravity_sdk_rust::types::McpServerConfig;

    let server = McpServerConfig::Stdio {
        name: "math".to_string(),
        command: "math-server".to_string(),
        args: vec![],
        enabled_tools: None,
        disabled_tools: None,
    };

    // Allow all tools from the server
    let _ = policy::allow_mcp(&server, None);

    // Deny specific tools from the server
    let _ = policy::deny_mcp(&server, Some(&["dangerous_calc"]));

    // Ask user for specific MCP tools
    let _ = policy::ask_user_mcp(&server, Some(&["execute"]), |_| true);

    use antigravity_sdk_rust::hooks::Hook;
    let mut policies = policy::allow_mcp(&server, None);
    policies.extend(policy::deny_mcp(&server, Some(&["dangerous_calc"])));
    policies.extend(policy::ask_user_mcp(&server, Some(&["execute"]), |_| false));
    policies.push(policy::deny_all());
    let enforcer = policy::enforce(policies, Some(&[server])).unwrap();
    for (tool, allow, message) in [
        ("mcp_math_add", true, ""),
        ("mcp_math_dangerous_calc", false, "Denied by policy 'deny_math_dangerous_calc'."),
        ("run_command", false, "Denied by policy 'deny_all'."),
    ] {
        let result = enforcer.pre_tool_call(&call(tool)).await.unwrap();
        assert_eq!((result.allow, result.message.as_str()), (allow, message), "{tool}");
    }
    assert!(!enforcer.pre_tool_call(&call("mcp_math_execute")).await.unwrap().allow);
}

#[tokio::test]
async fn with_a_condition() {
    use antigravity_sdk_rust::policy;

    // Only deny run_command when the command contains "rm"
    let rule = policy::deny("run_command").when(|tc| {
        tc.args.get("CommandLine").and_then(|v| v.as_str()).map_or(false, |s| s.contains("rm"))
    });

    use antigravity_sdk_rust::hooks::Hook;
    let enforcer = policy::enforce(vec![rule], None).unwrap();
    let mut command = call("run_command");
    command.args = serde_json::json!({"CommandLine": "rm -rf /"});
    assert!(!enforcer.pre_tool_call(&command).await.unwrap().allow);
    command.args = serde_json::json!({"CommandLine": "ls"});
    assert!(enforcer.pre_tool_call(&command).await.unwrap().allow);
}

#[tokio::test]
async fn enforced() {
    use antigravity_sdk_rust::policy;

    // Without MCP servers
    let enforcer = policy::enforce(
        vec![policy::deny("run_command"), policy::allow_all()],
        None, // no MCP servers
    )
    .expect("policy validation failed");

    use antigravity_sdk_rust::hooks::Hook;
    assert!(!enforcer.pre_tool_call(&call("run_command")).await.unwrap().allow);
    assert!(enforcer.pre_tool_call(&call("view_file")).await.unwrap().allow);
}
