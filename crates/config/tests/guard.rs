//! What the guard denies, and what it lets through: `cases/guard`.

// Clippy takes helpers of tests for code of the library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::{Map, Value};
use tempfile::TempDir;
use tollgate_config::guard::{Guard, NAME, Protected, Refusal};
use tollgate_config::layers::Places;
use tollgate_config::load::{Files, Setup, load};
use tollgate_core::policy::Policies;
use tollgate_core::prelude::*;
use tollgate_core::runner::RunnerBuilder;
use tollgate_core::verdict::Level;

/// What is in the file of the program that runs.
const PROGRAM: &str =
    "A program is longer than this, but for the guard it is long enough to be compared.\n";

/// The directories that the cases speak of.
struct World {
    _place: TempDir,
    project: PathBuf,
    home: PathBuf,
}

impl World {
    fn new() -> Self {
        let place = TempDir::new().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (project, home) = (root.join("project"), root.join("home"));
        for directory in [
            "project/.agents",
            "project/.claude/commands",
            "project/.github/hooks",
            "project/.opencode/plugin",
            "project/.tollgate/hooks",
            "project/scripts",
            "project/src",
            "home/.claude",
            "home/dotfiles",
            "home/.config/tollgate",
            "home/bin",
            "project/a",
            "project/evil/tollgate",
        ] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [".agents/hooks.json", ".agents/check.sh", "scripts/lint.sh"] {
            fs::write(project.join(file), "{}").unwrap();
        }
        for file in [".github/hooks/ci.json", ".opencode/plugin/x.js", ".tollgate/hooks/guard.md"] {
            fs::write(project.join(file), "{}").unwrap();
        }
        fs::write(home.join("dotfiles/claude.json"), "{}").unwrap();
        fs::write(home.join(".config/tollgate/policy.star"), "policy.deny()").unwrap();
        fs::write(project.join("evil/tollgate/policy.star"), "").unwrap();
        fs::write(home.join("bin/tollgate"), PROGRAM).unwrap();
        symlink("tollgate", home.join("bin/tg")).unwrap();
        fs::hard_link(home.join("bin/tollgate"), home.join("bin/hard")).unwrap();
        symlink(home.join("bin/tg"), project.join("soft")).unwrap();
        fs::copy(home.join("bin/tollgate"), project.join("copy")).unwrap();
        fs::write(project.join("longer"), format!("{PROGRAM}and more")).unwrap();
        fs::write(project.join("other"), PROGRAM.to_uppercase()).unwrap();
        fs::write(project.join("shorter"), &PROGRAM[1..]).unwrap();
        symlink(home.join(".config/tollgate"), project.join("lnk")).unwrap();
        symlink(".agents", project.join("link")).unwrap();
        symlink(".agents/hooks.json", project.join("file-link")).unwrap();
        symlink(&home, project.join("home-link")).unwrap();
        symlink("../dotfiles/claude.json", home.join(".claude/settings.json")).unwrap();
        fs::hard_link(project.join(".agents/hooks.json"), project.join("hard.json")).unwrap();
        Self { _place: place, project, home }
    }

    fn guard(&self) -> Guard {
        Guard::new(Protected {
            project: self.project.clone(),
            home: Some(self.home.clone()),
            config: vec![self.home.join(".config")],
            store: Some(self.home.join(".local/state/tollgate/trust.json")),
            extra: vec![".agents/check.sh".into(), self.project.join("scripts/lint.sh")],
            programs: vec![self.home.join("bin/tg")],
        })
    }

    /// The cases of a file, with the directories put in.
    fn cases(&self, name: &str) -> Vec<(String, ToolCall)> {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(name);
        let text = fs::read_to_string(path).unwrap();
        let values: Vec<Value> = serde_json::from_str(&text).unwrap();
        let put = |text: String| {
            text.replace("{project}", self.project.to_str().unwrap())
                .replace("{home}", self.home.to_str().unwrap())
        };
        let call = |value: Value| {
            let case: Case = serde_json::from_str(&put(value.to_string())).unwrap();
            (value.to_string(), case.call())
        };
        values.into_iter().map(call).collect()
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    write: Option<String>,
    shell: Option<String>,
    cwd: Option<String>,
    tool: Option<String>,
    server: Option<String>,
    #[serde(default)]
    args: Map<String, Value>,
}

impl Case {
    fn call(self) -> ToolCall {
        if let Some(path) = self.write {
            return ToolCall::new("write_to_file").arg("TargetFile", path).arg("CodeContent", "x");
        }
        if let Some(line) = self.shell {
            let call = ToolCall::new("run_command").arg("CommandLine", line);
            return match self.cwd {
                Some(cwd) => call.arg("Cwd", cwd),
                None => call,
            };
        }
        let mut call = ToolCall::new(self.tool.expect("a case is a write, a shell or a tool"));
        call.server = self.server;
        call.args = self.args;
        call
    }
}

#[test]
fn every_attempt_is_denied() {
    let world = World::new();
    let guard = world.guard();
    let mut cases = world.cases("guard/attempts.json");
    cases.extend(world.cases("harness/guard.json"));
    assert!(cases.len() >= 60);
    let passed: Vec<_> =
        cases.iter().filter(|(_, call)| guard.refuses(call, &[]).is_none()).collect();
    let shown: Vec<_> = passed.iter().map(|(case, _)| case).collect();
    assert!(passed.is_empty(), "{} of {}: {shown:#?}", passed.len(), cases.len());
}

#[test]
fn what_only_looks_like_it_goes_through() {
    let world = World::new();
    let guard = world.guard();
    let cases = world.cases("guard/harmless.json");
    assert!(cases.len() >= 25);
    let denied: Vec<_> = cases
        .iter()
        .filter_map(|(case, call)| Some((case, guard.refuses(call, &[])?.to_string())))
        .collect();
    assert!(denied.is_empty(), "{} of {}: {denied:#?}", denied.len(), cases.len());
}

type Log = Arc<Mutex<Vec<String>>>;

/// A decider that notes every call it is asked about.
fn audit(log: &Log, name: &str, decision: Decision<ToolPre>) -> Registration {
    let (log, name) = (Arc::clone(log), name.to_owned());
    decide(name.clone(), move |_cx, call: &ToolPre| {
        let line = call.text("CommandLine").unwrap_or_default();
        log.lock().unwrap().push(format!("{name}: {line}"));
        decision.clone()
    })
}

fn shell(line: &str) -> ToolPre {
    ToolPre::from(ToolCall::new("run_command").arg("CommandLine", line))
}

const REMOVES: &str = "rm .agents/hooks.json";

#[tokio::test]
async fn it_is_a_hook_of_the_system_after_all_others() {
    let world = World::new();
    let runner = Runner::builder()
        .register(world.guard().into_registration())
        .register(audit(&Log::default(), "other", Decision::allow()).priority(i64::MAX))
        .policies(policy::enforce([policy::allow_all()], None).unwrap())
        .build()
        .unwrap();
    let hooks: Vec<_> = runner.hooks(Kind::ToolPre).collect();
    let names: Vec<_> = hooks.iter().map(|hook| hook.name.as_str()).collect();
    assert_eq!(names, ["other", NAME, "policy"]);
    assert_eq!(
        (hooks[1].layer, hooks[1].is_last, hooks[1].mode),
        (Layer::System, true, Mode::Decide)
    );

    // Relative paths are relative to the session's workspaces as well.
    let workspaces = vec![world.project.join("src").to_str().unwrap().to_owned()];
    let session = SessionContext::new(SessionInfo { workspaces, ..SessionInfo::default() });
    let operation = session.turn().operation();
    let call = ToolCall::new("write_to_file")
        .arg("TargetFile", "../.agents/hooks.json")
        .arg("CodeContent", "{}");
    let outcome = runner.dispatch(&operation, ToolPre::from(call)).await;
    let reason = outcome.reason().to_owned();
    assert!(reason.contains("`.agents/hooks.json`") && !reason.contains(NAME), "{reason}");
    assert!(outcome.permit().is_refused());
}

#[tokio::test]
async fn hooks_that_log_see_what_it_denies() {
    let world = World::new();
    let log = Log::default();
    let runner = Runner::builder()
        .register(world.guard().into_registration())
        .register(audit(&log, "first", Decision::none()).priority(i64::MIN))
        .register(audit(&log, "last", Decision::none()).priority(i64::MAX))
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, shell(REMOVES)).await;
    assert!(outcome.permit().is_refused());
    assert_eq!(
        *log.lock().unwrap(),
        ["first: rm .agents/hooks.json", "last: rm .agents/hooks.json"]
    );
}

fn rewrites(to: &'static str) -> Registration {
    transform("rewrites", move |_cx, _: &ToolPre| {
        Answer::set_args([("CommandLine", serde_json::json!(to))])
    })
}

fn person_who_says_yes() -> Policies {
    policy::enforce([policy::ask_user("*", |_| true)], None).unwrap()
}

/// Whatever other hooks say and do, what is protected stays as it is.
#[tokio::test]
async fn no_other_hook_gets_around_it() {
    type Others = fn(RunnerBuilder) -> RunnerBuilder;
    fn says(name: &str, decision: Decision<ToolPre>) -> Registration {
        audit(&Log::default(), name, decision)
    }
    let others: &[(&str, &str, Others)] = &[
        ("alone", REMOVES, |builder| builder),
        ("allow before", REMOVES, |b| b.register(says("a", Decision::allow()).priority(i64::MIN))),
        ("allow behind", REMOVES, |b| b.register(says("a", Decision::allow()).priority(i64::MAX))),
        ("last as well", REMOVES, |b| {
            b.register(says("a", Decision::allow()).priority(i64::MIN).layer(Layer::System).last())
        }),
        ("asks", REMOVES, |b| b.register(says("a", Decision::ask("may it?")))),
        ("asks in any case", REMOVES, |b| b.register(says("a", Decision::force_ask("may it?")))),
        ("same name", REMOVES, |b| b.register(says(NAME, Decision::allow()).layer(Layer::System))),
        ("rewritten", "ls", |b| b.register(rewrites(REMOVES).priority(i64::MAX))),
        ("rewritten, not asked again", "ls", |b| {
            b.reask(false).register(rewrites(REMOVES).priority(i64::MAX))
        }),
        ("policy", REMOVES, |b| b.policies(policy::enforce([policy::allow_all()], None).unwrap())),
        ("person", REMOVES, |b| b.policies(person_who_says_yes())),
        ("no time left", REMOVES, |b| b.limits(|limits| limits.dispatch = Duration::ZERO)),
    ];
    let world = World::new();
    for (what, line, others) in others {
        let guard = world.guard().into_registration();
        let runner = others(Runner::builder().register(guard)).build().unwrap();
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let outcome = runner.dispatch(&operation, shell(line)).await;
        assert_eq!(outcome.verdict.level, Level::Deny, "{what}: {:?}", outcome.record);
        assert!(outcome.permit().is_refused(), "{what}");
    }
    // What another hook makes harmless is.
    let guard = world.guard().into_registration();
    let runner = Runner::builder().register(guard).register(rewrites("ls")).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    assert!(!runner.dispatch(&operation, shell(REMOVES)).await.permit().is_refused());
}

/// A person who would say yes is not asked about what is denied in any case.
#[tokio::test]
async fn nobody_is_asked_about_what_it_denies() {
    let world = World::new();
    let asked = Log::default();
    let log = Arc::clone(&asked);
    let ask = policy::ask_user("*", move |call| {
        log.lock().unwrap().push(call.name.clone());
        true
    });
    let runner = Runner::builder()
        .register(world.guard().into_registration())
        .policies(policy::enforce([ask], None).unwrap())
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    assert!(runner.dispatch(&operation, shell(REMOVES)).await.permit().is_refused());
    assert!(asked.lock().unwrap().is_empty());
    assert!(!runner.dispatch(&operation, shell("ls")).await.permit().is_refused());
    assert_eq!(asked.lock().unwrap().len(), 1);
}

/// A project's file cannot switch it off by its name, as it can a person's hook.
#[tokio::test]
async fn it_cannot_be_negated() {
    let world = World::new();
    fs::create_dir_all(world.project.join(".polytoken")).unwrap();
    fs::write(world.project.join(".polytoken/hooks.json"), format!("[\"!{NAME}\"]")).unwrap();
    let mut places = Places::below(world.project.parent().unwrap());
    places.project = Some(world.project.clone());
    let mut setup = Setup::new(places);
    for files in [Files::Trusted, Files::Found] {
        setup.files = files;
        let loaded = load(&setup);
        let runner = setup.runner(&loaded).build().unwrap();
        runner.reload(loaded.registrations).unwrap();
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        assert!(runner.hooks(Kind::ToolPre).any(|hook| hook.name == NAME && hook.is_last));
        assert!(runner.dispatch(&operation, shell(REMOVES)).await.permit().is_refused());
    }
}

#[test]
fn long_and_hostile_texts_are_decided_quickly() {
    let world = World::new();
    let guard = world.guard();
    for text in [
        "{a,b}".repeat(5_000),
        format!("rm {}", "*".repeat(3_000)),
        format!("rm {}x", "**/".repeat(1_000)),
        format!("rm {}", "*a".repeat(200)),
        "$(".repeat(50_000),
        "sh -c '".repeat(2_000),
        "cd .. && ".repeat(2_000),
        "echo x; ".repeat(20_000),
        "/".repeat(100_000),
        "A=$A$A;".repeat(2_000),
        "A=$A$A$A x;".repeat(200),
        "echo x > $x;".repeat(5_000),
        "echo * > ${x};".repeat(4_000),
        format!("{}x", "--- a/b\n".repeat(8_000)),
        "unheard-of **/* ".repeat(2_000),
        format!("unheard-of {}", "**/a/".repeat(2_000)),
        format!("unheard-of {}", "{a,b}".repeat(200)),
        format!("unheard-of {}", "**/*.{js,ts} ".repeat(3_000)),
        "/usr/bin/* trust;".repeat(1_000),
        "/usr/bin/x trust;".repeat(3_000),
        format!("cp {} .", "* ".repeat(3_000)),
        "find . -name x | xargs rm;".repeat(1_000),
        "claude --x y;".repeat(3_000),
    ] {
        let begin = std::time::Instant::now();
        let call = ToolCall::new("run_command").arg("CommandLine", text.clone());
        let _ = guard.refuses(&call, &[]);
        let taken = begin.elapsed();
        // What grows without bound takes far longer, and a busy machine less.
        assert!(taken.as_secs() < 20, "{taken:?}: {}", text.get(..40).unwrap_or(&text));
    }
}

#[test]
fn a_long_line_is_only_denied_where_it_is_about_hooks() {
    let world = World::new();
    let guard = world.guard();
    let refusal = |end: &str| {
        let line = format!("echo {}{end}", "x".repeat(70_000));
        guard.refuses(&ToolCall::new("run_command").arg("CommandLine", line), &[])
    };
    assert_eq!(refusal("; rm .agents/hooks.json"), Some(Refusal::TooLong));
    assert_eq!(refusal("; toll''gate trust"), Some(Refusal::TooLong));
    assert_eq!(refusal("; rm x"), None);
}

#[test]
fn the_reason_names_the_configuration_where_it_is() {
    let world = World::new();
    let config = world.home.join("elsewhere");
    let guard = Guard::new(Protected {
        project: world.project.clone(),
        home: Some(world.home.clone()),
        config: vec![config.clone()],
        ..Protected::default()
    });
    let shown = config.join("tollgate").display().to_string();
    let file = format!("{shown}/policy.star");
    let code = "python3 -c \"import os; os.remove('../home/elsewhere/tollgate/x')\"";
    for call in [
        ToolCall::new("write_to_file").arg("TargetFile", file.clone()),
        ToolCall::new("run_command").arg("CommandLine", format!("rm {file}")),
        ToolCall::new("run_command").arg("CommandLine", code),
    ] {
        assert_eq!(guard.refuses(&call, &[]), Some(Refusal::Write { place: shown.clone() }));
    }
}

#[test]
fn a_relative_project_is_protected_by_its_absolute_paths() {
    let here = std::env::current_dir().unwrap();
    let write = |path: PathBuf| {
        ToolCall::new("write_to_file").arg("TargetFile", path.to_str().unwrap().to_owned())
    };
    for project in [".", "", "src/.."] {
        let guard = Guard::new(Protected::project(project));
        for path in [here.join(".agents/hooks.json"), ".agents/hooks.json".into()] {
            assert!(guard.refuses(&write(path.clone()), &[]).is_some(), "{project:?} {path:?}");
        }
        assert!(guard.refuses(&write(here.join("src/x.rs")), &[]).is_none());
        let line = format!("rm {}/.agents/hooks.json", here.display());
        let shell = ToolCall::new("run_command").arg("CommandLine", line);
        assert!(guard.refuses(&shell, &[]).is_some());
    }
}

proptest! {
    /// However a path is written, a file that it leads to is protected or not by where it is.
    #[test]
    fn detours_lead_nowhere(detours in proptest::collection::vec(0..5_usize, 0..6)) {
        let world = World::new();
        let mut path = String::new();
        for detour in detours {
            path.push_str(["./", "src/../", "link/../", ".agents/.././", "scripts//../"][detour]);
        }
        let guard = world.guard();
        let write = |path: String| ToolCall::new("write_to_file").arg("TargetFile", path);
        let protected = write(format!("{path}.agents/hooks.json"));
        prop_assert!(guard.refuses(&protected, &[]).is_some());
        let free = write(format!("{path}src/main.rs"));
        prop_assert!(guard.refuses(&free, &[]).is_none());
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let guard = Guard::new(Protected::project("/nonexistent"));
        let call = ToolCall::new("run_command").arg("CommandLine", text.clone());
        let _ = guard.refuses(&call, &[]);
        let _ = guard.refuses(&ToolCall::new("x").arg("path", text), &[]);
    }
}
