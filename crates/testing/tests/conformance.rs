//! The recorded cases pass, a case that is wrong fails, and what cannot be run is told from both.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::{Value, json};
use tollgate_testing::conformance::{InputError, Report, Request};

fn recorded(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/conformance").join(name)
}

fn run(kind: &str, files: &[PathBuf]) -> Report {
    let args = std::iter::once(kind.into()).chain(files.iter().cloned());
    Request::from_args(args).and_then(|request| request.run()).unwrap()
}

fn json_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

/// Files of a test's own, deleted with it.
struct Files(tempfile::TempDir);

impl Files {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn text(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    }

    fn json(&self, name: &str, value: &Value) -> PathBuf {
        self.text(name, &value.to_string())
    }

    /// A recorded file in which the case `id` was changed.
    fn doctored(&self, name: &str, id: &str, change: impl FnOnce(&mut Value)) -> PathBuf {
        let mut file = json_of(&recorded(name));
        let cases = file["cases"].as_array_mut().unwrap();
        change(cases.iter_mut().find(|case| case["id"] == id).unwrap());
        self.json(name, &file)
    }
}

/// Asserts that just this case failed, in just these respects.
fn assert_only(report: &Report, passed: usize, id: &str, what: &[&str]) {
    assert_eq!(report.passed, passed, "{report}");
    let failed: Vec<_> = report.failures.iter().map(|failure| failure.id.as_str()).collect();
    assert_eq!(failed, [id], "{report}");
    let differences = &report.failures[0].differences;
    let differences: Vec<_> = differences.iter().map(|one| one.what.as_str()).collect();
    assert_eq!(differences, what, "{report}");
}

#[test]
fn the_policy_cases_pass() {
    let report = run("policy", &[recorded("policy_cases.json")]);
    assert_eq!((report.passed, report.failures.len()), (569, 0), "{report}");
}

#[test]
fn the_harness_cases_pass() {
    let files = [recorded("harness_cases.json"), recorded("policy_cases.json")];
    let report = run("harness", &files);
    assert_eq!((report.passed, report.failures.len()), (216, 0), "{report}");
}

#[test]
fn the_hook_cases_pass() {
    let report = run("hooks", &[recorded("hook_cases.json")]);
    assert_eq!((report.passed, report.failures.len()), (374, 0), "{report}");
}

#[cfg(unix)]
#[test]
fn the_workspace_cases_pass() {
    let report = run("workspace", &[recorded("workspace_cases.json")]);
    assert_eq!((report.passed, report.failures.len()), (240, 0), "{report}");
}

#[test]
fn a_policy_case_that_is_wrong_fails() {
    let files = Files::new();
    let check = |id: &str, what: &[&str], change: fn(&mut Value)| {
        let file = files.doctored("policy_cases.json", id, change);
        assert_only(&run("policy", &[file]), 568, id, what);
    };
    check("names-015", &["allow"], |case| case["expect"]["allow"] = json!(true));
    check("names-015", &["kind"], |case| case["expect"]["kind"] = json!("user_denied"));
    check("names-015", &["message"], |case| case["expect"]["message"] = json!("Denied."));
    check("args-001", &["trace"], |case| case["expect"]["trace"] = json!([]));
    check("enforce-001", &["the rule that is refused"], |case| {
        case["expect"]["enforce_error"]["message"] = json!("ASK_USER policy 'other' is missing.");
    });
    check("enforce-010", &["the refusal", "the rule that is refused"], |case| {
        case["policies"] = json!([{"tool": "x", "decision": "ask_user"}]);
    });
    check("enforce-001", &["the rules"], |case| {
        case["policies"][0]["handler"] = json!({"answer": true});
    });
    check("args-001", &["the rules"], |case| {
        case["policies"][0]["decision"] = json!("ask_user");
    });
    check("same-level-012", &["message"], |case| {
        case["expect"]["message_prefix"] = json!("Policy evaluation failed for policy 'two': ");
    });
}

#[test]
fn a_harness_case_that_is_wrong_fails() {
    let files = Files::new();
    let policies = recorded("policy_cases.json");
    let check = |what: &[&str], change: fn(&mut Value)| {
        let file = files.doctored("harness_cases.json", "args-007", change);
        run_and_assert(&file, &policies, "args-007", what);
    };
    check(&["allow"], |case| case["allow"] = json!(true));
    check(&["trace"], |case| case["trace"] = json!([{"predicate": 1}]));
    let file = files.doctored("harness_cases.json", "args-007", |case| case["id"] = json!("none"));
    run_and_assert(&file, &policies, "none", &["the policy case it joins"]);
}

fn run_and_assert(file: &Path, policies: &Path, id: &str, what: &[&str]) {
    assert_only(&run("harness", &[file.to_owned(), policies.to_owned()]), 215, id, what);
}

#[test]
fn a_hook_case_that_is_wrong_fails() {
    let files = Files::new();
    let check = |id: &str, what: &[&str], change: fn(&mut Value)| {
        let file = files.doctored("hook_cases.json", id, change);
        assert_only(&run("hooks", &[file]), 373, id, what);
    };
    check("pre_turn-001", &["allow"], |case| case["expect"]["allow"] = json!(false));
    check("pre_turn-001", &["event"], |case| case["event"] = json!("pre_dream"));
    check("pre_turn-001", &["expect"], |case| {
        case["expect"].as_object_mut().unwrap().remove("message");
    });
    check("pre_tool_call-172", &["modified_args", "final_args"], |case| {
        case["expect"]["modified_args"] = json!(null);
        case["expect"]["final_args"] = json!({"a": 9, "z": {"n": [1]}});
    });
    check("tool_error-005", &["message"], |case| case["expect"]["message"] = json!(""));
    check("interaction-004", &["value"], |case| {
        case["expect"]["value"]["cancelled"] = json!(false);
    });
    check("stop-157", &["trace", "turn_state"], |case| {
        case["expect"]["trace"][2]["got"] = json!(1);
        case["expect"]["turn_state"] = json!({});
    });
    // Where the original's error leaves the dispatcher.
    check("pre_turn-004", &["the errors recorded"], |case| {
        case["expect"]["propagates"] = json!("bang");
    });
    check("pre_turn-004", &["the decision", "the errors recorded"], |case| {
        case["hooks"][0] = json!({"allow": true});
    });
    check("session_start-006", &["trace"], |case| {
        case["expect"]["trace"] = json!([{"hook": 1}, {"hook": 0}]);
    });
    check("session_end-003", &["the errors recorded"], |case| case["hooks"][0] = json!({}));
}

#[cfg(unix)]
#[test]
fn a_workspace_case_that_is_wrong_fails() {
    let files = Files::new();
    let check = |id: &str, what: &[&str], change: fn(&mut Value)| {
        let file = files.doctored("workspace_cases.json", id, change);
        assert_only(&run("workspace", &[file]), 239, id, what);
    };
    check("ws-001", &["allow"], |case| case["allow"] = json!(false));
    check("ws-022", &["message"], |case| case["message"] = json!("no"));
    check("ws-022", &["message"], |case| {
        case["message"] = json!("Policy evaluation failed for policy 'workspace_only': loop");
    });
    check("ws-022", &["allow", "message"], |case| {
        case["canonical_path"] = json!("${ROOT}/ws/a.txt");
    });
}

/// A rule with this condition denies the call, or it does not.
fn condition_case(when: &Value, args: &Value, holds: bool) -> Value {
    let message = if holds { "no" } else { "" };
    let kind = if holds { "denied" } else { "allowed" };
    json!({
        "id": format!("{when} of {args}"),
        "policies": [{"tool": "x", "decision": "deny", "reason": "no", "when": when, "later": 1}],
        "call": {"name": "x", "args": args, "later": 1},
        "expect": {"allow": !holds, "message": message, "kind": kind,
                   "trace": [{"predicate": 0}], "later": 1},
        "later": 1,
    })
}

#[test]
fn every_condition_is_known_and_unknown_fields_are_no_matter() {
    let contains = |value: &str| json!({"op": "contains", "arg": "a", "value": value});
    let equals = |value: Value| json!({"op": "equals", "arg": "a", "value": value});
    let has = json!({"op": "has", "arg": "a"});
    let cases = [
        condition_case(&json!({"op": "always"}), &json!({}), true),
        condition_case(&json!({"op": "never", "later": 1}), &json!({}), false),
        condition_case(&contains("b"), &json!({"a": "abc"}), true),
        condition_case(&contains("B"), &json!({"a": "abc"}), false),
        condition_case(&contains("b"), &json!({"a": ["b"]}), false),
        condition_case(&contains("b"), &json!({}), false),
        condition_case(&contains(""), &json!({}), true),
        condition_case(&equals(json!(3)), &json!({"a": 3.0}), true),
        condition_case(&equals(json!(3)), &json!({"a": "3"}), false),
        condition_case(&equals(json!([true, {"b": 0}])), &json!({"a": [1, {"b": 0.0}]}), true),
        condition_case(&equals(json!({"b": 1})), &json!({"a": {"c": 1}}), false),
        condition_case(&equals(json!(null)), &json!({}), true),
        condition_case(&has, &json!({"a": null}), true),
        condition_case(&has, &json!({}), false),
    ];
    let files = Files::new();
    let file = files.json("conditions.json", &json!({"cases": cases, "later": 1}));
    let report = run("policy", &[file]);
    assert_eq!((report.passed, report.failures.len()), (cases.len(), 0), "{report}");
}

#[test]
fn rules_that_are_passed_over_are_still_checked() {
    let rule = json!({"tool": "docs/*", "decision": "deny", "name": "workspace_only"});
    let refused = json!({"enforce_error": {"kind": "mcp_servers_required", "message": "…"}});
    let passed_over = json!({"allow": true, "message": "", "kind": "allowed", "trace": []});
    let case = |servers: Value, expect: &Value| {
        let call = json!({"name": "search", "server_name": "docs"});
        json!({"id": "", "policies": [rule], "mcp_servers": servers, "call": call, "expect": expect})
    };
    let cases = [case(json!(null), &refused), case(json!(["docs"]), &passed_over)];
    let files = Files::new();
    let report = run("policy", &[files.json("rules.json", &json!({"cases": cases}))]);
    assert_eq!((report.passed, report.failures.len()), (2, 0), "{report}");
}

#[test]
fn behind_a_watcher_that_fails_the_others_run_with_their_state() {
    let case = |event: &str, session: Value, turn: Value| {
        json!({
            "id": event,
            "event": event,
            "hooks": [
                {"set": {"a": 1}}, {"raise": "boom"}, {"get": "a", "set": {"b": 2}},
                {"raise": "bang"}, {"get": "none"},
            ],
            "expect": {"propagates": "boom", "trace": [{"hook": 0}, {"hook": 1}],
                       "session_state": session, "turn_state": turn},
        })
    };
    let none = || json!({});
    let cases = [
        case("session_start", json!({"a": 1}), none()),
        case("session_end", json!({"a": 1}), none()),
        case("post_turn", none(), json!({"a": 1})),
        case("post_tool_call", none(), none()),
        case("compaction", none(), none()),
    ];
    let files = Files::new();
    let report = run("hooks", &[files.json("watchers.json", &json!({"cases": cases}))]);
    assert_eq!((report.passed, report.failures.len()), (cases.len(), 0), "{report}");
}

#[test]
fn a_case_that_cannot_be_read_fails_alone() {
    let good = condition_case(&json!({"op": "always"}), &json!({}), true);
    let mut bad = good.clone();
    bad["id"] = json!("bad");
    bad["policies"][0]["decision"] = json!("maybe");
    let files = Files::new();
    let cases = files.json("cases.json", &json!({"cases": [good, bad, 7]}));
    let report = run("policy", &[cases]);
    assert_eq!((report.passed, report.failures.len()), (1, 2), "{report}");
    let text = report.to_string();
    assert!(text.contains("FAILED bad ("), "{text}");
    assert!(text.contains("unknown variant `maybe`"), "{text}");
    assert!(text.contains("FAILED cases[2] ("), "{text}");
    for kind in ["hooks", "workspace"] {
        let file = json!({"cases": [{"id": "x"}], "tree": {}});
        let report = run(kind, &[files.json("cases.json", &file)]);
        assert_eq!((report.passed, report.failures.len()), (0, 1), "{report}");
    }
}

#[cfg(unix)]
#[test]
fn a_tree_stays_in_its_directory() {
    let files = Files::new();
    let outside = files.0.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    let out = outside.to_str().unwrap();
    let trees = [
        json!({"dirs": [format!("{out}/made")]}),
        json!({"files": ["../made"]}),
        json!({"symlinks": {"a": out, "a/made": "b"}}),
    ];
    for tree in trees {
        let file = files.json("tree.json", &json!({"tree": tree, "cases": []}));
        let error = Request::from_args(["workspace".into(), file]).unwrap().run().unwrap_err();
        assert!(matches!(error, InputError::File { .. }), "{error}");
        assert!(error.to_string().contains("is not below the root"), "{error}");
    }
    assert_eq!(std::fs::read_dir(&outside).unwrap().count(), 0);
}

fn program(args: &[&str]) -> (Option<i32>, String, String) {
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_conformance")).args(args).output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (status.code(), text(stdout), text(stderr))
}

#[test]
fn the_program_sums_its_files_and_closes_with_the_count() {
    let files = Files::new();
    let good = recorded("policy_cases.json");
    let bad = files.doctored("policy_cases.json", "names-015", |case| {
        case["expect"]["message"] = json!("two\nlines");
    });
    let (good, bad) = (good.to_str().unwrap(), bad.to_str().unwrap());
    let (code, stdout, _) = program(&["policy", good, good]);
    assert_eq!((code, stdout.as_str()), (Some(0), "1138 passed, 0 failed\n"));
    let (code, stdout, _) = program(&["policy", good, bad]);
    assert_eq!(code, Some(1));
    let expected = format!(
        "FAILED names-015 ({bad})\n  message\n    expected: \"two\\nlines\"\n    \
         got:      \"Denied by policy '*'.\"\n\n1137 passed, 1 failed\n"
    );
    assert_eq!(stdout, expected);
}

#[test]
fn what_cannot_be_run_exits_with_two() {
    let files = Files::new();
    let broken = files.text("broken.json", "{\"cases\": [\n  {\"id\": }\n]}");
    let other = files.text("other.json", "{\"cases\": true}");
    let no_tree = files.text("no-tree.json", "{\"cases\": []}");
    let path = |path: &PathBuf| path.to_str().unwrap().to_owned();
    let (broken, other, no_tree) = (path(&broken), path(&other), path(&no_tree));
    let recorded = path(&recorded("policy_cases.json"));
    let checks: &[(&[&str], &str)] = &[
        (&[], "usage: conformance policy FILE"),
        (&["poetry", &recorded], "`poetry` is no kind of cases"),
        (&["hooks"], "which files?"),
        (&["harness", &recorded], "take two files"),
        (&["harness", &recorded, &recorded, &recorded], "take two files"),
        (&["policy", "nowhere.json"], "nowhere.json: cannot be read"),
        (&["policy", &recorded, &broken], "broken.json: is not JSON: expected value at line 2"),
        (&["hooks", &other], "other.json: is no file of cases: invalid type: boolean `true`"),
        (&["workspace", &no_tree], "no-tree.json: is no file of workspace cases"),
    ];
    for (args, message) in checks {
        let (code, stdout, stderr) = program(args);
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{args:?}: {stderr}");
        assert!(stderr.contains(message), "{args:?}: {stderr}");
    }
}
