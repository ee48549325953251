//! What is no longer what was written, and what the host is known not to run.

use std::fs;

use serde_json::Value;
use tollgate_install::{Configured, Layer, Surroundings, Target, examine, install_for};

use crate::{Machine, events, layers};

fn installed(name: &str, layer: Layer) -> (Machine, &'static Target) {
    let target = Target::by_name(name).unwrap();
    let machine = Machine::new();
    install_for(target, layer, &machine.here, &events(target)).unwrap().apply().unwrap();
    (machine, target)
}

fn edit(target: &Target, layer: Layer, here: &Surroundings, change: impl FnOnce(String) -> String) {
    let path = target.place(layer, here).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    let changed = change(text.clone());
    assert_ne!(changed, text, "{}", target.name);
    fs::write(path, changed).unwrap();
}

/// The first of ours at a layer.
fn first(target: &'static Target, layer: Layer, here: &Surroundings) -> Configured {
    let found = examine(target, here, &events(target));
    let layer = found.layers.into_iter().find(|it| it.layer == layer).unwrap();
    layer.commands.into_iter().next().unwrap()
}

#[test]
fn what_makes_a_gate_weaker_is_named() {
    let cases = [
        ("/matcher", Value::from("Read"), "`matcher` is \"Read\""),
        ("/hooks/0/async", Value::from(true), "`async` is true"),
        ("/hooks/0/if", Value::from("Bash(rm *)"), "`if` is \"Bash(rm *)\""),
        ("/hooks/0/once", Value::from(true), "`once` is true"),
        ("/hooks/0/type", Value::from("prompt"), "`type` is \"prompt\""),
        ("/hooks/0/onFailure", Value::from("continue"), "`onFailure` is \"continue\""),
        ("/hooks/0/onFailure", Value::Null, "`onFailure` is missing"),
        ("/hooks/0/timeout", Value::from(1), "`timeout` is 1"),
        ("/hooks/0/args", Value::from(vec!["hook", "claude", "--event", "Stop"]), "`args` is"),
        // As strong as it was.
        ("/matcher", Value::from("*"), ""),
        ("/matcher", Value::Null, ""),
        ("/hooks/0/timeout", Value::from(600), ""),
        ("/hooks/0/command", Value::from("/elsewhere/tollgate"), ""),
        ("/hooks/0/statusMessage", Value::from("asking"), ""),
    ];
    for (at, value, says) in cases {
        let (machine, claude) = installed("claude", Layer::Project);
        edit(claude, Layer::Project, &machine.here, |text| {
            let mut settings: Value = serde_json::from_str(&text).unwrap();
            let (parent, key) = at.rsplit_once('/').unwrap();
            let group = settings.pointer_mut(&format!("/hooks/PreToolUse/0{parent}")).unwrap();
            if value.is_null() {
                group.as_object_mut().unwrap().remove(key);
            } else {
                group[key] = value.clone();
            }
            settings.to_string()
        });
        let found = examine(claude, &machine.here, &events(claude));
        let mut commands = found.layers[1].commands.iter();
        let command = commands.find(|it| it.event == "PreToolUse").unwrap();
        assert!(!command.is_current, "{at}");
        if says.is_empty() {
            assert!(command.weaker.is_empty(), "{at}: {:?}", command.weaker);
        } else {
            assert_eq!(command.weaker.len(), 1, "{at}: {:?}", command.weaker);
            assert!(command.weaker[0].starts_with(says), "{at}: {:?}", command.weaker);
        }
        let narrow = says.starts_with("`matcher`").then(|| "Read".to_owned());
        assert_eq!(command.matcher, narrow, "{at}");
    }
}

#[test]
fn another_program_is_told_and_whether_it_is_there() {
    for target in Target::all() {
        let machine = Machine::new();
        for layer in layers(target, &machine.here) {
            let (machine, _) = installed(target.name, layer);
            let as_written = first(target, layer, &machine.here);
            assert_eq!(as_written.program, machine.here.program.to_str().map(str::to_owned));
            assert!(!as_written.is_there && as_written.weaker.is_empty(), "{as_written:?}");
            let mut elsewhere = machine.here.clone();
            elsewhere.program = "/bin/true".into();
            install_for(target, layer, &elsewhere, &events(target)).unwrap().apply().unwrap();
            let now = first(target, layer, &machine.here);
            assert_eq!(now.program.as_deref(), Some("/bin/true"), "{}", target.name);
            assert!(now.is_there && !now.is_current && now.weaker.is_empty(), "{now:?}");
        }
    }
}

#[test]
fn a_file_that_was_changed_is_not_ours_to_rely_on() {
    for (name, from, to) in [("opencode", "throw ", "void "), ("cline", "\"cancel\": true", "")] {
        let (machine, target) = installed(name, Layer::Project);
        let mut path = target.place(Layer::Project, &machine.here).unwrap();
        if path.is_dir() {
            path = path.join("PreToolUse");
        }
        let text = fs::read_to_string(&path).unwrap();
        assert!(text.contains(from), "{name}");
        fs::write(&path, text.replace(from, to)).unwrap();
        let found = examine(target, &machine.here, &events(target));
        let commands = &found.layers[1].commands;
        let weak: Vec<_> = commands.iter().filter(|it| !it.weaker.is_empty()).collect();
        assert_eq!(weak.len(), 1, "{name}: {commands:?}");
        assert!(weak[0].gate);
    }
}

#[test]
fn a_command_without_what_stands_around_it_is_weaker() {
    for name in ["codex", "gemini", "copilot", "qwen", "kimi", "droid", "windsurf"] {
        let (machine, target) = installed(name, Layer::User);
        let path = target.place(Layer::User, &machine.here).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("exit 2", "exit 0").replace("exit $0", "exit 0")).unwrap();
        let found = examine(target, &machine.here, &events(target));
        let gates: Vec<_> = found.layers[0].commands.iter().filter(|it| it.gate).collect();
        assert!(!gates.is_empty(), "{name}");
        assert!(gates.iter().all(|it| it.weaker.len() == 1), "{name}: {gates:?}");
    }
}

/// Codex runs nothing that it has no record of.
#[test]
fn codex_is_asked_what_it_trusts() {
    let (machine, codex) = installed("codex", Layer::User);
    let home = machine.here.home.join(".codex");
    let hooks = home.join("hooks.json");
    let of_user = || {
        let found = examine(codex, &machine.here, &events(codex));
        found.layers.into_iter().next().unwrap().distrusted
    };
    assert_eq!(of_user().len(), 1);
    assert!(of_user()[0].contains("not been told to trust"), "{:?}", of_user());
    assert!(of_user()[0].contains("/hooks"), "{:?}", of_user());
    let state = |hash: &str, enabled: &str| {
        let label = |event: &str| {
            let parts = event.chars().map(|c| {
                if c.is_uppercase() { format!("_{}", c.to_lowercase()) } else { c.to_string() }
            });
            parts.collect::<String>().trim_start_matches('_').to_owned()
        };
        let all = events(codex).into_iter().map(|it| {
            let key = format!("{}:{}:0:0", hooks.display(), label(it.event));
            format!("[hooks.state.\"{key}\"]\ntrusted_hash = \"{hash}\"\n{enabled}\n")
        });
        fs::write(home.join("config.toml"), all.collect::<Vec<_>>().join("\n")).unwrap();
    };
    state("sha256:00", "");
    assert_eq!(of_user().len(), 1);
    assert!(of_user()[0].contains("is not what these hooks are now"), "{:?}", of_user());
    state("sha256:00", "enabled = false");
    assert!(of_user()[0].contains("turned off"), "{:?}", of_user());
    // Of a project, the project itself has to be trusted too.
    let (machine, codex) = installed("codex", Layer::Project);
    let of_project = || {
        let found = examine(codex, &machine.here, &events(codex));
        found.layers.into_iter().nth(1).unwrap().distrusted
    };
    assert_eq!(of_project().len(), 2);
    assert!(of_project()[0].contains("this project"), "{:?}", of_project());
    fs::create_dir_all(machine.here.home.join(".codex")).unwrap();
    let project = machine.here.project.display();
    let config = format!("[projects.\"{project}\"]\ntrust_level = \"trusted\"\n");
    fs::write(machine.here.home.join(".codex/config.toml"), config).unwrap();
    assert_eq!(of_project().len(), 1);
}
