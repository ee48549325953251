//! Files found in their places, loaded, and fired through the engine.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Loaded, Setup, load, survey};
use tollgate_config::trust::Store;
use tollgate_core::prelude::*;

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn runner(loaded: Loaded) -> Runner {
    let mut builder = Runner::builder();
    for registration in loaded.registrations {
        builder = builder.register(registration);
    }
    builder.build().unwrap()
}

async fn call(runner: &Runner, tool: &str, line: &str) -> Outcome<ToolPre> {
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolCall::new(tool).arg("CommandLine", line);
    runner.dispatch(&operation, ToolPre::from(call)).await
}

fn antigravity(command: &str) -> String {
    let hooks = serde_json::json!({"guard": {"PreToolUse": [
        {"matcher": "run_command", "hooks": [{"command": command, "timeout": 5}]}
    ]}});
    hooks.to_string()
}

#[tokio::test]
async fn a_hook_of_the_person_runs_in_the_directory_of_its_file() {
    let root = tempfile::tempdir().unwrap();
    let places = Places::below(root.path());
    let folder = root.path().join("home/.gemini/config");
    write(&folder.join("hooks.json"), &antigravity("./guard.sh"));
    write(
        &folder.join("guard.sh"),
        "#!/bin/sh\ngrep -q rm && echo '{\"decision\": \"deny\", \"reason\": \"no deletes\"}' \
         || echo '{\"decision\": \"allow\"}'\n",
    );
    std::process::Command::new("chmod").arg("+x").arg(folder.join("guard.sh")).status().unwrap();
    let loaded = load(&Setup::new(places));
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    assert_eq!(loaded.files[0].state, FileState::InForce);
    let runner = runner(loaded);
    let outcome = call(&runner, "run_command", "rm notes.txt").await;
    assert_eq!((outcome.verdict.level, outcome.reason()), (Level::Deny, "no deletes"));
    let outcome = call(&runner, "run_command", "ls").await;
    assert_eq!(outcome.verdict.level, Level::Allow);
    let outcome = call(&runner, "view_file", "rm").await;
    assert_eq!(outcome.verdict.level, Level::None);
}

#[tokio::test]
async fn a_projects_hooks_run_once_they_are_trusted_and_as_long_as_they_are_the_same() {
    let root = tempfile::tempdir().unwrap();
    let places = Places::below(root.path());
    let file = root.path().join("project/.agents/hooks.json");
    write(&file, &antigravity("cat >/dev/null; echo '{\"decision\": \"ask\"}'"));
    let setup = Setup::new(places.clone());

    let loaded = load(&setup);
    assert_eq!(loaded.files[0].state, FileState::Untrusted);
    assert_eq!(loaded.diagnostics[0].code.id(), "TG060");
    // The guard is there in any case.
    assert_eq!(loaded.registrations.len(), 1);

    let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
    store.trust(&survey(&places).unwrap()).unwrap();
    let loaded = load(&setup);
    assert_eq!(loaded.files[0].state, FileState::InForce);
    let before = runner(loaded);
    assert_eq!(call(&before, "run_command", "ls").await.verdict.level, Level::Ask);

    write(&file, &antigravity("echo '{\"decision\": \"allow\"}'"));
    let outcome = call(&before, "run_command", "ls").await;
    assert_eq!(outcome.verdict.level, Level::Deny);
    assert!(outcome.record.detail().contains("hooks.json"), "{}", outcome.record.detail());

    // Loaded anew, it runs as it was approved.
    let loaded = load(&setup);
    assert_eq!(loaded.diagnostics[0].code.id(), "TG078");
    assert_eq!(call(&runner(loaded), "run_command", "ls").await.verdict.level, Level::Ask);

    let config = places.user.as_ref().unwrap().join("config.toml");
    write(&config, "[trust]\nchanged = \"closed\"\n");
    let setup = Setup::new(places);
    let loaded = load(&setup);
    assert_eq!(loaded.files[0].state, FileState::Changed);
    let after = runner(loaded);
    assert_eq!(call(&after, "view_file", "").await.verdict.level, Level::Deny);

    fs::remove_file(&file).unwrap();
    let loaded = load(&setup);
    assert_eq!(loaded.files[0].state, FileState::Changed);
    assert_eq!(loaded.diagnostics[0].code.id(), "TG062");
    assert_eq!(call(&runner(loaded), "view_file", "").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn an_edit_counts_at_the_next_reload_and_only_if_it_is_right() {
    use tollgate_config::hooks::Hooks;

    let root = tempfile::tempdir().unwrap();
    let file = root.path().join("home/.gemini/config/hooks.json");
    write(&file, &antigravity("echo '{\"decision\": \"ask\"}'"));
    let setup = Setup::new(Places::below(root.path()));
    let hooks = Hooks::open(setup).unwrap();
    let level = async || call(hooks.runner(), "run_command", "ls").await.verdict.level;
    assert_eq!(level().await, Level::Ask);

    write(&file, &antigravity("echo '{\"decision\": \"deny\"}'"));
    assert_eq!(level().await, Level::Ask);
    assert!(hooks.reload().is_in_force);
    assert_eq!(level().await, Level::Deny);

    write(&file, "{\"guard\": {\"PreTolUse\": []}}");
    let reloaded = hooks.reload();
    assert!(!reloaded.is_in_force);
    assert_eq!(reloaded.found.diagnostics[0].code.id(), "TG023");
    assert_eq!(level().await, Level::Deny);
    assert!(hooks.in_force().diagnostics.is_empty());

    write(&file, "{}");
    assert!(hooks.reload().is_in_force);
    assert_eq!(level().await, Level::None);
}

#[tokio::test]
async fn a_broken_file_of_the_person_closes_the_gates_of_its_dialect() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("home/.config/polytoken/hooks.json"), "[{\"name\": \"x\"}]");
    let loaded = load(&Setup::new(Places::below(root.path())));
    assert_eq!(loaded.files[0].state, FileState::Broken);
    let runner = runner(loaded);
    let outcome = call(&runner, "run_command", "ls").await;
    assert_eq!(outcome.verdict.level, Level::Deny);
    let detail = outcome.record.detail();
    assert!(detail.contains("polytoken/hooks.json:1:2: error TG021"), "{detail}");
    // A prompt is none of the gates that Polytoken's hooks close.
    let turn = SessionContext::new(SessionInfo::default()).turn();
    let outcome = runner.dispatch(&turn, TurnStart::new("hello")).await;
    assert!(outcome.permit().is_granted());
}

#[tokio::test]
async fn the_agent_cannot_change_what_decides_about_it() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("project")).unwrap();
    let runner = runner(load(&Setup::new(Places::below(root.path()))));
    for line in [
        "echo '{}' > .agents/hooks.json",
        "tollgate trust",
        "rm -rf .polytoken",
        "sed -i s/deny/allow/ ~/.gemini/config/hooks.json",
    ] {
        let outcome = call(&runner, "run_command", line).await;
        assert_eq!(outcome.verdict.level, Level::Deny, "{line}");
        assert!(outcome.reason().contains("only a person"), "{}", outcome.reason());
    }
    let state = Places::below(root.path()).trust.unwrap();
    let approved = state.parent().unwrap().join("approved").display().to_string();
    for line in [
        format!("rm -rf {approved}"),
        format!("echo 'exit 0' > {approved}/0a/guard.sh"),
        format!("rm {approved}/projects/*"),
        format!("mv {approved} /tmp/x"),
    ] {
        let outcome = call(&runner, "run_command", &line).await;
        assert_eq!(outcome.verdict.level, Level::Deny, "{line}");
        assert!(outcome.reason().contains("only a person"), "{line}: {}", outcome.reason());
    }
    assert_eq!(
        call(&runner, "run_command", "cat .agents/hooks.json").await.verdict.level,
        Level::None
    );
}

#[tokio::test]
async fn a_broken_configuration_of_the_person_closes_the_gates() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("home/.config/tollgate/config.toml"), "[limits]\nhok = 3\n");
    let loaded = load(&Setup::new(Places::below(root.path())));
    assert!(loaded.has_errors());
    let outcome = call(&runner(loaded), "run_command", "ls").await;
    assert_eq!(outcome.verdict.level, Level::Deny);
    assert!(outcome.record.detail().contains("config.toml:2"), "{}", outcome.record.detail());
}

#[tokio::test]
async fn a_trust_store_that_cannot_be_read_closes_the_gates() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("project")).unwrap();
    let places = Places::below(root.path());
    write(places.trust.as_ref().unwrap(), "{");
    let loaded = load(&Setup::new(places));
    assert_eq!(loaded.diagnostics[0].code.id(), "TG064");
    assert_eq!(call(&runner(loaded), "run_command", "ls").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn a_project_that_nobody_trusted_is_reported_and_closes_nothing() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("project/.agents/hooks.json")).unwrap();
    write(&root.path().join("project/.polytoken/hooks.json"), "[");
    let loaded = load(&Setup::new(Places::below(root.path())));
    let codes: Vec<_> = loaded.diagnostics.iter().map(|found| found.code.id()).collect();
    assert_eq!(codes, ["TG002", "TG060", "TG006", "TG060"]);
    assert_eq!(call(&runner(loaded), "run_command", "ls").await.verdict.level, Level::None);
}

/// Whether a process runs that has this word on its command line.
fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .any(|line| line.windows(word.len()).any(|part| part == word.as_bytes()))
}

#[tokio::test]
async fn a_dispatch_that_is_given_up_ends_its_handler() {
    let root = tempfile::tempdir().unwrap();
    let word = format!("given-up-{}", root.path().file_name().unwrap().display());
    let started = root.path().join("started");
    let script = format!(": {word}; touch '{}'; sleep 1000; true", started.display());
    write(&root.path().join("home/.gemini/config/hooks.json"), &antigravity(&script));
    let runner = runner(load(&Setup::new(Places::below(root.path()))));
    {
        let dispatch = std::pin::pin!(call(&runner, "run_command", "ls"));
        let begun = async {
            while !started.exists() {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            _ = dispatch => panic!("the handler takes longer than that"),
            () = begun => assert!(runs(&word)),
        }
    }
    let given_up = std::time::Instant::now();
    while runs(&word) {
        assert!(given_up.elapsed().as_secs() < 5, "it still runs");
        tokio::task::yield_now().await;
    }
}

/// A file of the person whose handler always refuses, at the gate of Polytoken.
fn refusing(root: &Path, script: &str) {
    let hook = serde_json::json!([
        {"name": "gate", "event": "pre_tool_use", "handler": {"bash": script}}
    ]);
    write(&root.join("home/.config/polytoken/hooks.json"), &hook.to_string());
}

#[tokio::test]
async fn the_settings_of_a_project_count_once_it_is_trusted() {
    let root = tempfile::tempdir().unwrap();
    let places = Places::below(root.path());
    let config = root.path().join("project/.tollgate/config.toml");
    write(&config, "[limits]\nhook = \"1s\"\n");
    let hook = |setup: &Setup| setup.settings.settings.limits.hook.as_secs();
    let setup = Setup::new(places.clone());
    assert_eq!(hook(&setup), 30);
    let codes: Vec<_> = load(&setup).diagnostics.iter().map(|it| it.code.id()).collect();
    assert_eq!(codes, ["TG060"]);

    let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
    store.trust(&survey(&places).unwrap()).unwrap();
    let setup = Setup::new(places.clone());
    assert_eq!(hook(&setup), 1);
    assert!(load(&setup).is_sound);

    // What narrowed is gone: whether it was meant to go is for a person to say.
    fs::remove_file(&config).unwrap();
    let loaded = load(&Setup::new(places));
    assert_eq!(loaded.diagnostics[0].code.id(), "TG062");
    assert_eq!(call(&runner(loaded), "view_file", "").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn a_link_that_leads_elsewhere_later_runs_nothing_else() {
    let root = tempfile::tempdir().unwrap();
    for (release, decision) in [("r1", "deny"), ("r2", "allow")] {
        let folder = root.path().join(release).join(".agents");
        write(&folder.join("hooks.json"), &antigravity("sh ./gate.sh"));
        write(&folder.join("gate.sh"), &format!("echo '{{\"decision\": \"{decision}\"}}'"));
    }
    let link = root.path().join("current");
    std::os::unix::fs::symlink(root.path().join("r1"), &link).unwrap();
    let places = Places { project: Some(link.clone()), ..Places::below(root.path()) };
    let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
    store.trust(&survey(&places).unwrap()).unwrap();
    let runner = runner(load(&Setup::new(places)));
    assert_eq!(call(&runner, "run_command", "ls").await.verdict.level, Level::Deny);
    fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink(root.path().join("r2"), &link).unwrap();
    assert_eq!(call(&runner, "run_command", "ls").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn an_untrusted_project_does_not_keep_a_reload_from_counting() {
    use tollgate_config::hooks::Hooks;

    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("project/.agents/hooks.json"), "not JSON");
    let hooks = Hooks::open(Setup::new(Places::below(root.path()))).unwrap();
    refusing(root.path(), "exit 2");
    assert!(hooks.reload().is_in_force);
    assert_eq!(call(hooks.runner(), "run_command", "ls").await.verdict.level, Level::Deny);
}

#[tokio::test]
async fn the_scripts_of_a_persons_gates_are_guarded() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("home/.gemini/config");
    write(&folder.join("hooks.json"), &antigravity("sh ./gate.sh"));
    write(&folder.join("gate.sh"), "echo '{\"decision\": \"allow\"}'");
    let runner = runner(load(&Setup::new(Places::below(root.path()))));
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let target = folder.join("gate.sh").display().to_string();
    let write = ToolCall::new("write_to_file").arg("TargetFile", target).arg("CodeContent", "x");
    let outcome = runner.dispatch(&operation, ToolPre::from(write)).await;
    assert_eq!(outcome.verdict.level, Level::Deny, "{}", outcome.record.detail());
}

#[tokio::test]
async fn a_python_module_of_the_project_is_not_taken_by_a_persons_gate() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("project/json.py"), "import os\nos._exit(0)\n");
    refusing(
        root.path(),
        "command -v python3 >/dev/null || exit 2; python3 -c 'import json, sys; sys.exit(2)'",
    );
    let runner = runner(load(&Setup::new(Places::below(root.path()))));
    let outcome = call(&runner, "run_command", "ls").await;
    assert_eq!(outcome.verdict.level, Level::Deny, "{}", outcome.record.detail());
}

#[tokio::test]
async fn a_hook_that_sets_no_time_has_at_most_that_of_the_settings() {
    let root = tempfile::tempdir().unwrap();
    write(&root.path().join("home/.config/tollgate/config.toml"), "[limits]\nhook = \"300ms\"\n");
    fs::create_dir_all(root.path().join("project")).unwrap();
    refusing(root.path(), "sleep 1000");
    let runner = runner(load(&Setup::new(Places::below(root.path()))));
    let outcome = call(&runner, "run_command", "ls").await;
    let detail = outcome.record.detail();
    assert!(detail.contains("did not end within 300ms"), "{detail}");
}

#[test]
fn a_link_to_a_directory_that_is_gone_is_said() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("home")).unwrap();
    std::os::unix::fs::symlink("/no/such/place", root.path().join("home/.gemini")).unwrap();
    let loaded = load(&Setup::new(Places::below(root.path())));
    assert_eq!(loaded.diagnostics[0].code.id(), "TG001");
    assert_eq!(loaded.files[0].state, FileState::Broken);
}

mod named {
    use std::fs;

    use tollgate_config::layers::{NotNamed, Places, named};
    use tollgate_config::load::{Setup, load};
    use tollgate_core::Dialect;

    const NOTHING: &str = "{}";

    fn dialects(root: &std::path::Path, path: &str) -> Vec<Dialect> {
        let places = named(&root.join(path), None).unwrap();
        places.iter().map(|place| place.format.dialect()).collect()
    }

    #[test]
    fn a_file_is_known_by_its_place_and_shape() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("a/.polytoken/hooks.json", NOTHING);
        write("a/.agents/hooks.json", "[]");
        write("a/.tollgate/policy.star", "");
        write("b/hooks.json", "\n [ ]");
        write("b/other.json", NOTHING);
        write("b/one.md", "---\n---\n");
        write("b/README.md", "# No hook\n");
        write("b/policy.star", "");
        write("c/empty.txt", "");
        // To open it would wait for somebody to write to it.
        fs::create_dir(root.path().join("e")).unwrap();
        let pipe = root.path().join("e/pipe.md");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, rustix::fs::Mode::RUSR).unwrap();
        let dialects = |path| dialects(root.path(), path);
        // By its place, whatever is in it.
        assert_eq!(dialects("a/.polytoken/hooks.json"), [Dialect::Polytoken]);
        assert_eq!(dialects("a/.agents/hooks.json"), [Dialect::HooksJson]);
        // By its shape.
        assert_eq!(dialects("b/hooks.json"), [Dialect::Polytoken]);
        assert_eq!(dialects("b/other.json"), [Dialect::HooksJson]);
        // A project, a directory, and Tollgate's own.
        assert_eq!(dialects("a"), [Dialect::HooksJson, Dialect::Polytoken, Dialect::Native]);
        assert_eq!(dialects("b"), [Dialect::Polytoken, Dialect::Harness, Dialect::Native]);
        assert_eq!(dialects("a/.tollgate"), [Dialect::Native]);
        assert_eq!(dialects("e"), [Dialect::Harness]);
        // As it is said.
        let said = named(&root.path().join("b/other.json"), Some(Dialect::Polytoken)).unwrap();
        assert_eq!(said[0].format.dialect(), Dialect::Polytoken);
        let refused = |path: &str, dialect| named(&root.path().join(path), dialect).unwrap_err();
        assert!(matches!(refused("c/empty.txt", None), NotNamed::UnknownFormat(_)));
        assert!(matches!(refused("c", None), NotNamed::NothingIn(_)));
        assert!(matches!(refused("d", None), NotNamed::Unreadable { .. }));
        let sdk = Some(Dialect::AntigravitySdk);
        assert!(matches!(refused("b/one.md", sdk), NotNamed::NoFiles(_)));
    }

    #[test]
    fn named_files_are_trusted_and_nothing_else_is_looked_for() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(root.path());
        let user = places.user.clone().unwrap().join("antigravity");
        fs::create_dir_all(&user).unwrap();
        let hook = r#"{"guard": {"Stop": [{"command": "true"}]}}"#;
        fs::write(user.join("hooks.json"), hook).unwrap();
        let project = places.project.clone().unwrap();
        fs::create_dir_all(&project).unwrap();
        // What it switches off was not looked for, so nobody can tell whether it is there.
        fs::write(project.join("hooks.json"), r#"["!somebody"]"#).unwrap();
        fs::write(project.join("other.json"), hook).unwrap();
        let mut files = named(&project.join("hooks.json"), None).unwrap();
        files.extend(named(&project.join("other.json"), None).unwrap());
        let loaded = load(&Setup::new(places).named(files));
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        assert_eq!(loaded.files.len(), 2);
        // Not even the guard that is built in.
        assert_eq!(loaded.registrations.len(), 1);
    }
}
