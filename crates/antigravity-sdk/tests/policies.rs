//! Policies, alone and behind hooks.

#![allow(clippy::unwrap_used, clippy::panic, clippy::items_after_statements)]

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use serde_json::json;
use tollgate_antigravity_sdk::hooks::{self, Hook, HookRunner};
use tollgate_antigravity_sdk::policy::{self, Decision, Policy, PolicyEnforcer};
use tollgate_antigravity_sdk::types::{McpServerConfig, ToolCall};
use tollgate_core::policy::PolicyError;
use tollgate_core::prelude::{Runner, SessionContext, SessionInfo, ToolPre};

fn call(name: &str) -> ToolCall {
    ToolCall { id: String::new(), name: name.to_owned(), args: json!({}), canonical_path: None }
}

fn server(name: &str) -> McpServerConfig {
    McpServerConfig::Stdio {
        name: name.to_owned(),
        command: String::new(),
        args: vec![],
        enabled_tools: None,
        disabled_tools: None,
    }
}

/// What the policies say, asked by themselves and behind a runner: both must say the same.
async fn allows(enforcer: &PolicyEnforcer, call: &ToolCall) -> bool {
    let alone = enforcer.pre_tool_call(call).await.unwrap();
    let runner = HookRunner::new();
    runner.register(Arc::new(enforcer.clone())).await;
    assert_eq!(runner.dispatch_pre_tool_call(call).await.unwrap(), alone, "{call:?}");
    alone.allow
}

#[tokio::test]
async fn a_tool_is_the_same_under_all_its_names() {
    let policies = vec![policy::deny("run_command"), policy::deny("EDIT_FILE")];
    let enforcer = policy::enforce(policies, None).unwrap();
    for name in ["run_command", "RUN_COMMAND", "edit_file", "replace_file_content"] {
        assert!(!allows(&enforcer, &call(name)).await, "{name}");
    }
    assert!(allows(&enforcer, &call("view_file")).await);
    let confirm = policy::enforce(policy::confirm_run_command(None), None).unwrap();
    assert!(!allows(&confirm, &call("run_command")).await);
    assert!(!allows(&confirm, &call("RUN_COMMAND")).await);
    assert!(allows(&confirm, &call("LIST_DIR")).await);
}

#[tokio::test]
async fn a_policy_that_fails_denies() {
    let broken = policy::allow("a").when(|_| panic!("broken"));
    let enforcer = policy::enforce(vec![broken, policy::allow_all()], None).unwrap();
    let result = enforcer.pre_tool_call(&call("a")).await.unwrap();
    assert!(!result.allow);
    assert!(result.message.starts_with("Policy evaluation failed for policy 'a'"), "{result:?}");
    let broken = policy::ask_user("a", |_| panic!("broken"));
    assert!(!allows(&policy::enforce(vec![broken], None).unwrap(), &call("a")).await);
}

#[test]
fn what_cannot_be_enforced_is_an_error() {
    let problem = |policies, servers| {
        let error = policy::enforce(policies, servers).unwrap_err();
        error.downcast::<PolicyError>().unwrap()
    };
    let no_handler = Policy::new("a".to_owned(), Decision::AskUser, None, None, String::new());
    assert_eq!(
        problem(vec![no_handler], None),
        PolicyError::MissingHandler { rule: "a".to_owned() }
    );
    let needed = PolicyError::ServersRequired { rule: "deny_math_all".to_owned() };
    assert_eq!(problem(policy::deny_mcp(&server("math"), None), None), needed);
    assert_eq!(problem(policy::deny_mcp(&server("math"), None), Some(&[])), needed);
    let both = McpServerConfig::Sse {
        name: "math".to_owned(),
        url: String::new(),
        headers: None,
        enabled_tools: Some(vec![]),
        disabled_tools: Some(vec![]),
    };
    assert_eq!(
        problem(vec![], Some(&[both])),
        PolicyError::EnabledAndDisabled { server: "math".to_owned() }
    );
}

#[tokio::test]
async fn a_server_offers_only_what_is_enabled() {
    let only_add = McpServerConfig::Stdio {
        name: "math".to_owned(),
        command: String::new(),
        args: vec![],
        enabled_tools: Some(vec!["add".to_owned()]),
        disabled_tools: None,
    };
    let but_delete = McpServerConfig::Http {
        name: "docs".to_owned(),
        url: String::new(),
        headers: None,
        timeout: 1.0,
        sse_read_timeout: 1.0,
        terminate_on_close: true,
        enabled_tools: None,
        disabled_tools: Some(vec!["delete".to_owned()]),
    };
    let enforcer =
        policy::enforce(vec![policy::allow_all()], Some(&[only_add, but_delete])).unwrap();
    for (name, allowed) in [
        ("mcp_math_add", true),
        ("mcp_math_subtract", false),
        ("mcp_docs_search", true),
        ("mcp_docs_delete", false),
        ("own_tool", true),
    ] {
        assert_eq!(allows(&enforcer, &call(name)).await, allowed, "{name}");
    }
}

#[tokio::test]
async fn a_rule_about_a_server_is_stronger_than_one_about_everything() {
    let math = server("math");
    let mut policies = policy::allow_mcp(&math, None);
    policies.push(policy::deny_all());
    let enforcer = policy::enforce(policies, Some(&[math])).unwrap();
    assert!(allows(&enforcer, &call("mcp_math_add_two")).await);
    assert!(!allows(&enforcer, &call("mcp_maths_add")).await);
    assert!(!allows(&enforcer, &call("math_add")).await);
}

#[tokio::test]
async fn of_several_servers_a_name_could_mean_any_deny_wins() {
    // The call is `c` of `a_b`, or `b_c` of `a`.
    let servers = [server("a"), server("a_b")];
    for denied in &servers {
        let mut policies = policy::deny_mcp(denied, None);
        policies.push(policy::allow_all());
        let enforcer = policy::enforce(policies, Some(&servers)).unwrap();
        assert!(!allows(&enforcer, &call("mcp_a_b_c")).await, "{}", denied.name());
    }
    // And an allow has to hold for both.
    for allowed in &servers {
        let mut policies = policy::allow_mcp(allowed, None);
        policies.push(policy::deny_all());
        let enforcer = policy::enforce(policies, Some(&servers)).unwrap();
        assert!(!allows(&enforcer, &call("mcp_a_b_c")).await, "{}", allowed.name());
    }
    let mut policies: Vec<_> =
        servers.iter().flat_map(|server| policy::allow_mcp(server, None)).collect();
    policies.push(policy::deny_all());
    let enforcer = policy::enforce(policies, Some(&servers)).unwrap();
    assert!(allows(&enforcer, &call("mcp_a_b_c")).await);
}

#[tokio::test]
async fn a_rule_may_name_an_mcp_tool_as_calls_do() {
    for servers in [None, Some(&[server("math")][..]), Some(&[server("other")][..])] {
        let policies = vec![policy::deny("mcp_math_add"), policy::allow_all()];
        let enforcer = policy::enforce(policies, servers).unwrap();
        assert!(!allows(&enforcer, &call("mcp_math_add")).await, "{servers:?}");
        assert!(allows(&enforcer, &call("mcp_math_sub")).await, "{servers:?}");
    }
    for servers in [None, Some(&[server("math")][..])] {
        let policies = vec![policy::allow("mcp_math_add_two"), policy::deny_all()];
        let enforcer = policy::enforce(policies, servers).unwrap();
        assert!(allows(&enforcer, &call("mcp_math_add_two")).await, "{servers:?}");
        assert!(!allows(&enforcer, &call("mcp_math_add")).await, "{servers:?}");
    }
}

#[tokio::test]
async fn two_enforcers_that_know_different_servers_both_hold() {
    let runner = HookRunner::new();
    let by_name = vec![policy::deny("mcp_math_delete")];
    runner.register(Arc::new(policy::enforce(by_name, None).unwrap())).await;
    let by_server = policy::deny_mcp(&server("math"), Some(&["drop"]));
    let by_server = policy::enforce(by_server, Some(&[server("math")])).unwrap();
    runner.register(Arc::new(by_server)).await;
    for (name, allowed) in
        [("mcp_math_delete", false), ("mcp_math_drop", false), ("mcp_math_add", true)]
    {
        let result = runner.dispatch_pre_tool_call(&call(name)).await.unwrap();
        assert_eq!(result.allow, allowed, "{name}");
    }
}

#[tokio::test]
async fn conditions_and_handlers_get_the_call_as_it_came() {
    let asked = Arc::new(AtomicU32::new(0));
    let count = asked.clone();
    let mcp = ToolCall { id: "7".to_owned(), args: json!({"x": 1}), ..call("mcp_math_add") };
    let (expected, same) = (mcp.clone(), mcp.clone());
    let policies: Vec<_> = policy::ask_user_mcp(&server("math"), None, move |call| {
        count.fetch_add(1, Ordering::SeqCst);
        *call == expected
    })
    .into_iter()
    .map(|rule| {
        let same = same.clone();
        rule.when(move |call| *call == same)
    })
    .collect();
    let enforcer = policy::enforce(policies, Some(&[server("math")])).unwrap();
    assert!(enforcer.pre_tool_call(&mcp).await.unwrap().allow);
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_person_has_more_time_than_a_hook() {
    let slow = policy::ask_user("a", |_| {
        std::thread::sleep(Duration::from_millis(60));
        true
    });
    let limits = Runner::builder().limits(|limits| {
        limits.hook = Duration::from_millis(20);
        limits.dispatch = Duration::from_millis(30);
    });
    let runner = HookRunner::from(limits.build().unwrap());
    runner.register(Arc::new(policy::enforce(vec![slow], None).unwrap())).await;
    assert!(runner.dispatch_pre_tool_call(&call("a")).await.unwrap().allow);
}

#[tokio::test]
async fn policies_work_in_a_runner_of_the_engine() {
    let enforcer = || policy::enforce(vec![policy::deny("run_command")], None).unwrap();
    let runners = [
        Runner::builder().policies(enforcer().into_policies()).build().unwrap(),
        Runner::builder()
            .register(hooks::registration("enforcer", Arc::new(enforcer())))
            .build()
            .unwrap(),
    ];
    for runner in runners {
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let event = ToolPre { call: (&call("RUN_COMMAND")).into() };
        assert!(runner.dispatch(&operation, event).await.permit().is_refused());
    }
}

#[cfg(unix)]
#[tokio::test]
async fn files_stay_in_the_workspace_whatever_the_path_looks_like() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path();
    std::fs::create_dir(root.join("work")).unwrap();
    std::fs::create_dir(root.join("work/sub")).unwrap();
    std::fs::create_dir(root.join("secret")).unwrap();
    std::os::unix::fs::symlink(root.join("secret"), root.join("work/link")).unwrap();
    std::os::unix::fs::symlink("sub", root.join("work/inner")).unwrap();
    let workspace = root.join("work").to_str().unwrap().to_owned();
    let mut policies = policy::workspace_only(vec![workspace.clone()]);
    policies.push(policy::allow_all());
    let enforcer = policy::enforce(policies, None).unwrap();

    for (path, allowed) in [
        ("a.txt", true),
        ("inner/a.txt", true),
        ("link/a.txt", false),
        ("link", false),
        ("sub/../../secret/a.txt", false),
        ("../work/a.txt", true),
        ("/etc/passwd", false),
    ] {
        let path = std::path::Path::new(&workspace).join(path);
        let by_host =
            ToolCall { canonical_path: Some(path.display().to_string()), ..call("VIEW_FILE") };
        assert_eq!(allows(&enforcer, &by_host).await, allowed, "{}", path.display());
        let by_argument = ToolCall { args: json!({"AbsolutePath": path}), ..call("view_file") };
        assert_eq!(allows(&enforcer, &by_argument).await, allowed, "{}", path.display());
        let command = json!({"CommandLine": "ls", "Cwd": path});
        let command = ToolCall { args: command, ..call("RUN_COMMAND") };
        assert_eq!(allows(&enforcer, &command).await, allowed, "{}", path.display());
    }
    for outside in ["relative.txt", "~/x", "file:///etc/passwd"] {
        let by_host = ToolCall { canonical_path: Some(outside.to_owned()), ..call("EDIT_FILE") };
        assert!(!allows(&enforcer, &by_host).await, "{outside}");
    }
    assert!(!allows(&enforcer, &call("LIST_DIR")).await, "no path at all");
    let text = ToolCall { args: json!("/etc/passwd"), ..call("VIEW_FILE") };
    assert!(!allows(&enforcer, &text).await, "arguments that are no object");
    assert!(allows(&enforcer, &call("search_web")).await);
}
