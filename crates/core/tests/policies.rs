//! Policies: what the conformance cases do not cover.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod paused;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use paused::Paused;
use serde_json::json;
use tollgate_core::policy::{
    AskHandler, McpServer, Otherwise, OutcomeKind, PolicyError, allow, allow_all, allow_mcp,
    ask_user, ask_user_async, ask_user_mcp, confirm_run_command, deny, deny_mcp, enforce,
    safe_defaults, workspace_only,
};
use tollgate_core::prelude::*;
use tollgate_core::target::Reading;

async fn decided(policies: &Policies, call: ToolCall) -> (OutcomeKind, String) {
    let outcome = policies.decide(&call).await;
    (outcome.kind, outcome.message)
}

fn yes() -> AskHandler {
    AskHandler::new(|_| true)
}

#[tokio::test]
async fn conditions_and_handlers_may_be_futures() {
    let policies = enforce(
        [
            deny("run_command").when_async(|call| {
                let line = call.text("CommandLine").unwrap_or_default().to_owned();
                async move {
                    tokio::task::yield_now().await;
                    Ok::<_, io::Error>(line.contains("rm"))
                }
            }),
            ask_user_async("run_command", |request| {
                let yes = request.call.text("CommandLine") == Some("ls");
                async move {
                    tokio::task::yield_now().await;
                    yes
                }
            }),
        ],
        None,
    )
    .unwrap();
    let run = |line: &str| ToolCall::new("run_command").arg("CommandLine", line);
    assert_eq!(decided(&policies, run("rm x")).await.0, OutcomeKind::Denied);
    assert_eq!(decided(&policies, run("ls")).await.0, OutcomeKind::UserApproved);
    assert_eq!(
        decided(&policies, run("make")).await,
        (
            OutcomeKind::UserDenied,
            "User denied tool 'run_command' (policy 'run_command').".to_owned()
        )
    );
}

#[tokio::test]
async fn a_condition_that_fails_or_panics_denies_even_on_an_allow() {
    let policies = enforce(
        [
            allow("a").when(|_| Err::<bool, _>("boom")),
            allow("b").when(|_| -> bool { panic!("bang") }),
            ask_user("c", |_| -> bool { panic!("crash") }).named("asks"),
        ],
        None,
    )
    .unwrap();
    for (tool, message) in [
        ("a", "Policy evaluation failed for policy 'a': boom"),
        ("b", "Policy evaluation failed for policy 'b': panicked: bang"),
        ("c", "Policy evaluation failed for policy 'asks': panicked: crash"),
    ] {
        let expected = (OutcomeKind::EvaluationFailed, message.to_owned());
        assert_eq!(decided(&policies, ToolCall::new(tool)).await, expected);
    }
}

#[tokio::test(start_paused = true)]
async fn conditions_have_the_hooks_time_and_people_their_own() {
    let slow = |seconds| {
        move |_: &ToolCall| async move {
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            true
        }
    };
    let build =
        |policies| Runner::builder().runtime(Paused::runtime()).policies(policies).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = || ToolPre::from(ToolCall::new("t"));

    let runner = build(enforce([allow("t").when_async(slow(31))], None).unwrap());
    let outcome = runner.dispatch(&operation, call()).await;
    assert_eq!(outcome.reason(), "Policy evaluation failed for policy 't': no answer within 30 s");
    let minutes = |minutes: u64| {
        ask_user_async("t", move |_| async move {
            tokio::time::sleep(Duration::from_mins(minutes)).await;
            true
        })
    };
    let runner = build(enforce([minutes(9)], None).unwrap());
    assert!(runner.dispatch(&operation, call()).await.permit().is_granted(), "a person thinks");
    let runner = build(enforce([minutes(11)], None).unwrap());
    let outcome = runner.dispatch(&operation, call()).await;
    assert!(outcome.record.detail().contains("no answer within 600 s"));
    assert!(outcome.permit().is_refused());
}

#[tokio::test]
async fn a_closed_default_denies_what_no_rule_is_about() {
    let policies =
        Policies::builder().rule(allow("view_file")).otherwise(Otherwise::Closed).build().unwrap();
    assert!(policies.decide(&ToolCall::new("view_file")).await.is_allowed());
    assert_eq!(
        decided(&policies, ToolCall::new("run_command")).await,
        (OutcomeKind::Denied, "No policy allows tool 'run_command'.".to_owned())
    );
    let runner = Runner::builder().policies(policies).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("x"))).await;
    assert!(outcome.permit().is_refused());
}

#[tokio::test]
async fn an_open_default_is_no_opinion_and_an_allow_is_one() {
    use tollgate_core::verdict::Level;
    let runner = Runner::builder().policies(enforce([allow("a")], None).unwrap()).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let level = async |name: &str| {
        runner.dispatch(&operation, ToolPre::from(ToolCall::new(name))).await.verdict.level
    };
    assert_eq!(level("a").await, Level::Allow);
    assert_eq!(level("b").await, Level::None);
}

#[tokio::test]
async fn confirm_run_command_asks_or_denies() {
    let run = || ToolCall::new("RUN_COMMAND");
    let without = enforce(confirm_run_command(None), None).unwrap();
    assert_eq!(
        decided(&without, run()).await,
        (OutcomeKind::Denied, "Denied by policy 'confirm_run_command'.".to_owned())
    );
    assert_eq!(decided(&without, ToolCall::new("view_file")).await.0, OutcomeKind::Allowed);
    let with = enforce(confirm_run_command(Some(yes())), None).unwrap();
    assert_eq!(decided(&with, run()).await.0, OutcomeKind::UserApproved);
}

#[tokio::test]
async fn a_tool_is_one_tool_under_all_its_names_unless_names_are_exact() {
    let rules = || [deny("run_command"), deny("edit_file"), deny("start_subagent")];
    let policies = enforce(rules(), None).unwrap();
    let calls = ["RUN_COMMAND", "multi_replace_file_content", "invoke_subagent", "START_SUBAGENT"];
    for tool in calls {
        assert!(!policies.decide(&ToolCall::new(tool)).await.is_allowed(), "{tool}");
        let other = ToolCall::new(tool).server("docs");
        assert!(policies.decide(&other).await.is_allowed(), "{tool} of a server is another tool");
    }
    let exact = Policies::builder().rules(rules()).exact_names().build().unwrap();
    for tool in calls {
        assert!(exact.decide(&ToolCall::new(tool)).await.is_allowed(), "{tool}");
    }
    assert!(!exact.decide(&ToolCall::new("run_command")).await.is_allowed());
}

#[tokio::test]
async fn safe_defaults_let_reading_through_and_ask_about_the_rest() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let handler = AskHandler::new(move |_| {
        count.fetch_add(1, Ordering::Relaxed);
        false
    });
    let policies = enforce(safe_defaults(handler), None).unwrap();
    for tool in ["view_file", "list_dir", "grep_search", "find_by_name", "ask_question"] {
        assert_eq!(decided(&policies, ToolCall::new(tool)).await.0, OutcomeKind::Allowed, "{tool}");
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    for tool in ["write_to_file", "run_command", "read_url_content", "invoke_subagent", "new"] {
        assert_eq!(decided(&policies, ToolCall::new(tool)).await.0, OutcomeKind::UserDenied);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 5);
}

#[tokio::test]
async fn mcp_rules_are_about_a_server_and_its_tools() {
    let (docs, git) = (McpServer::new("docs"), McpServer::new("git"));
    let policies = Policies::builder()
        .rules(allow_mcp(&docs, None))
        .rules(deny_mcp(&docs, Some(&["delete"])))
        .rules(ask_user_mcp(&git, Some(&["push"]), &yes()))
        .rule(deny("*"))
        .servers([docs, git])
        .build()
        .unwrap();
    let call = |server: &str, tool: &str| ToolCall::new(tool).server(server);
    assert_eq!(decided(&policies, call("docs", "search")).await.0, OutcomeKind::Allowed);
    assert_eq!(
        decided(&policies, call("docs", "delete")).await.1,
        "Denied by policy 'deny_docs_delete'."
    );
    assert_eq!(decided(&policies, call("git", "push")).await.0, OutcomeKind::UserApproved);
    assert_eq!(decided(&policies, call("git", "pull")).await.0, OutcomeKind::Denied);
    assert_eq!(decided(&policies, ToolCall::new("docs/search")).await.0, OutcomeKind::Denied);
}

#[tokio::test]
async fn a_server_s_enabled_and_disabled_tools_hold() {
    let policies = Policies::builder()
        .rule(allow_all())
        .servers([
            McpServer::new("docs").enabled_tools(["search"]),
            McpServer::new("git").disabled_tools(["push"]),
        ])
        .build()
        .unwrap();
    let call = |server: &str, tool: &str| ToolCall::new(tool).server(server);
    assert!(policies.decide(&call("docs", "search")).await.is_allowed());
    assert_eq!(
        decided(&policies, call("docs", "delete")).await.1,
        "Tool 'delete' of MCP server 'docs' is not enabled."
    );
    assert!(policies.decide(&call("git", "pull")).await.is_allowed());
    assert!(!policies.decide(&call("git", "push")).await.is_allowed());
    assert!(policies.decide(&call("other", "push")).await.is_allowed());
}

#[tokio::test]
async fn of_the_readings_of_a_fused_name_any_deny_wins_and_an_allow_needs_all() {
    let fused = |name: &str| ToolCall {
        readings: Reading::all_of(name.trim_start_matches("mcp__"), "__"),
        ..ToolCall::new(name)
    };
    let policies = |rules: Vec<policy::Rule>| enforce(rules, Some(&[])).unwrap();
    let call = || fused("mcp__a__b__c");

    let any_deny = policies(vec![allow("a/*"), deny("a__b/c")]);
    assert_eq!(decided(&any_deny, call()).await.0, OutcomeKind::Denied);
    let one_allow = policies(vec![allow("a/*")]);
    assert_eq!(decided(&one_allow, call()).await.0, OutcomeKind::NoRule);
    let all_allow = policies(vec![allow("a/*"), allow("a__b/*")]);
    assert_eq!(decided(&all_allow, call()).await.0, OutcomeKind::Allowed);
    let ask = policies(vec![allow("a/*"), ask_user("a__b/*", |_| false)]);
    assert_eq!(decided(&ask, call()).await.0, OutcomeKind::UserDenied);
    let native = policies(vec![deny("mcp__a__b__c")]);
    assert_eq!(decided(&native, call()).await.0, OutcomeKind::Denied);
    let native_allow = policies(vec![allow("mcp__a__b__c"), deny("x/*")]);
    assert_eq!(decided(&native_allow, call()).await.0, OutcomeKind::Allowed);
    // A wider rule is outranked reading by reading, as it is for a call that names its server.
    let outranked = policies(vec![deny("*"), allow("a/*"), allow("a__b/c")]);
    assert_eq!(decided(&outranked, call()).await.0, OutcomeKind::Allowed);
    let half = policies(vec![deny("*"), allow("a/*")]);
    assert_eq!(decided(&half, call()).await.0, OutcomeKind::Denied);
    let closed = Policies::builder()
        .rule(allow("a/*"))
        .servers([])
        .otherwise(Otherwise::Closed)
        .build()
        .unwrap();
    assert_eq!(decided(&closed, call()).await.0, OutcomeKind::Denied);
    let gated = Policies::builder()
        .rule(allow_all())
        .servers([McpServer::new("a").disabled_tools(["b__c"])])
        .build()
        .unwrap();
    assert_eq!(decided(&gated, call()).await.0, OutcomeKind::Denied);
}

#[test]
fn what_cannot_be_enforced_is_refused_by_name() {
    let error = |result: Result<Policies, PolicyError>| result.unwrap_err();
    let ask = || policy::Rule::new(tollgate_core::target::Target::parse("x"), policy::Effect::Ask);
    assert_eq!(
        error(enforce([ask().named("gate")], None)),
        PolicyError::MissingHandler { rule: "gate".to_owned() }
    );
    assert_eq!(
        error(enforce([allow("docs/*")], None)),
        PolicyError::ServersRequired { rule: "docs/*".to_owned() }
    );
    let both = McpServer::new("d").enabled_tools(["x"]).disabled_tools(["y"]);
    assert_eq!(
        error(enforce([], Some(&[both]))),
        PolicyError::EnabledAndDisabled { server: "d".to_owned() }
    );
    assert!(enforce([], Some(&[McpServer::new("d"), McpServer::new("d")])).is_ok());
    let twice = [McpServer::new("d"), McpServer::new("d").disabled_tools(["x"])];
    assert_eq!(
        error(enforce([], Some(&twice))),
        PolicyError::DuplicateServer { server: "d".to_owned() }
    );
    assert_eq!(error(enforce([], Some(&[McpServer::new("")]))), PolicyError::UnnamedServer);
}

/// A file system with these links and nothing else that matters.
fn links(links: &[(&str, &str)]) -> impl Fn(PathBuf) -> io::Result<PathBuf> + use<> {
    let links: Vec<_> =
        links.iter().map(|(from, to)| (PathBuf::from(from), PathBuf::from(to))).collect();
    move |path| match links.iter().find(|(from, _)| *from == path) {
        Some((_, to)) => Ok(to.clone()),
        None if path.starts_with("/locked") => Err(io::ErrorKind::PermissionDenied.into()),
        None => Err(io::ErrorKind::InvalidInput.into()),
    }
}

#[tokio::test]
async fn workspace_only_covers_every_tool_with_a_path() {
    let links = links(&[("/w/out", "/etc"), ("/w/loop", "/w/loop"), ("/alias", "/w")]);
    let policies = Policies::builder()
        .rules(workspace_only(["/w", "/alias/sub"], links))
        .rule(allow_all())
        .build()
        .unwrap();
    let allowed = async |call: ToolCall| policies.decide(&call).await.is_allowed();
    let at = |tool: &str, arg: &str, path: &str| ToolCall::new(tool).arg(arg, path);
    for (tool, arg) in [
        ("view_file", "AbsolutePath"),
        ("write_to_file", "TargetFile"),
        ("create_file", "TargetFile"),
        ("replace_file_content", "TargetFile"),
        ("multi_replace_file_content", "TargetFile"),
        ("edit_file", "TargetFile"),
        ("list_dir", "DirectoryPath"),
        ("find_by_name", "SearchDirectory"),
        ("grep_search", "SearchPath"),
        ("search_directory", "SearchPath"),
        ("run_command", "Cwd"),
    ] {
        assert!(allowed(at(tool, arg, "/w/a/b.txt")).await, "{tool} inside");
        assert!(allowed(at(tool, arg, "/w/not/there/yet")).await, "{tool} inside, to be made");
        assert!(allowed(at(tool, arg, "/alias/x")).await, "{tool} by another name");
        for outside in [
            "/etc/passwd",
            "/w/../etc/passwd",
            "/w/out/passwd",
            "/w/nope/../../etc",
            "/w2/x",
            "/w/loop/x",
            "relative/path",
            "~/x",
            "file:///w/x",
            "/w/a\0b",
            "/locked/x",
        ] {
            assert!(!allowed(at(tool, arg, outside)).await, "{tool} at {outside:?}");
        }
        assert!(!allowed(ToolCall::new(tool).arg(arg, 7)).await, "{tool} with no path at all");
    }
    assert!(!allowed(ToolCall::new("view_file")).await, "without its path");
    assert!(allowed(ToolCall::new("run_command").arg("CommandLine", "ls")).await);
    let images =
        |paths| ToolCall::new("generate_image").arg("Prompt", "x").arg("ImagePaths", paths);
    assert!(allowed(images(json!(["/w/a.png"]))).await);
    assert!(!allowed(images(json!(["/w/a.png", "/etc/shadow"]))).await);
    let mut call = at("view_file", "AbsolutePath", "/w/a");
    call.canonical_path = Some("/etc/passwd".to_owned());
    assert!(!allowed(call).await, "what the host says of it counts too");
}

#[tokio::test]
async fn relative_paths_have_a_base_when_given() {
    let policies = Policies::builder()
        .rules(workspace_only(["/w"], links(&[])).relative_to("/w/sub"))
        .build()
        .unwrap();
    let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
    assert!(policies.decide(&view("a.txt")).await.is_allowed());
    assert!(policies.decide(&view("../a.txt")).await.is_allowed());
    assert!(!policies.decide(&view("../../a.txt")).await.is_allowed());
}
