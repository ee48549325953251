//! What is found on a machine.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use tollgate_install::{CommandLine, Layer, Target, examine, find, install_for, uninstall};

use crate::{Machine, events, layers};

#[test]
fn an_agent_is_found_by_its_program_or_its_folder() {
    let mut machine = Machine::new();
    assert!(find(&machine.here).is_empty());
    let bin = machine.path().join("agents");
    fs::create_dir_all(machine.here.home.join(".gemini")).unwrap();
    fs::create_dir(&bin).unwrap();
    fs::write(bin.join("codex"), "not one to run").unwrap();
    machine.here =
        machine.here.clone().with_variable("PATH", format!("relative:/nowhere:{}", bin.display()));
    let names = |machine: &Machine| -> Vec<_> {
        find(&machine.here).iter().map(|found| (found.target.name, found.is_here())).collect()
    };
    assert_eq!(names(&machine), [("gemini", true)]);
    fs::set_permissions(bin.join("codex"), fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(names(&machine), [("codex", true), ("gemini", true)]);
    let found = find(&machine.here);
    assert_eq!(found[0].program.as_deref(), Some(&*bin.join("codex")));
    assert_eq!(found[1].folder.as_deref(), Some(&*machine.here.home.join(".gemini")));
    // Installed, and not there: somebody who works on the project may have it.
    let claude = Target::by_name("claude").unwrap();
    install_for(claude, Layer::Project, &machine.here, &events(claude)).unwrap().apply().unwrap();
    assert_eq!(names(&machine), [("claude", false), ("codex", true), ("gemini", true)]);
}

#[test]
fn what_is_installed_is_found_with_its_command() {
    for target in Target::all() {
        let machine = Machine::new();
        let events = events(target);
        for layer in layers(target, &machine.here) {
            let of_layer = |here| {
                let found = examine(target, here, &events);
                found.layers.into_iter().find(|it| it.layer == layer).unwrap()
            };
            let nothing = of_layer(&machine.here);
            assert!(!nothing.is_installed() && !nothing.is_current());
            assert_eq!(nothing.missing, events);
            install_for(target, layer, &machine.here, &events).unwrap().apply().unwrap();
            let installed = of_layer(&machine.here);
            assert!(installed.is_current(), "{} {layer}: {installed:?}", target.name);
            assert!(installed.others.is_empty() && installed.problems.is_empty());
            if !matches!(installed.commands[0].command, CommandLine::Plugin(_)) {
                assert_eq!(installed.commands.len(), events.len());
            }
            // What another Tollgate would write is another command.
            let mut other = machine.here.clone();
            other.program = "/elsewhere/tollgate".into();
            assert!(of_layer(&other).is_installed() && !of_layer(&other).is_current());
            uninstall(target, layer, &machine.here).unwrap().apply().unwrap();
        }
    }
}

#[test]
fn what_could_undo_it_is_told() {
    let theirs = json!({"hooks": {
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "approve"}]}],
        "Stop": [{"hooks": [{"type": "prompt", "prompt": "done?"}]}],
    }, "disableAllHooks": true});
    for (name, undoes) in [("qwen", true), ("droid", true), ("claude", false)] {
        let target = Target::by_name(name).unwrap();
        let (machine, path) = Machine::with(target, Layer::User, theirs.to_string().as_bytes());
        let events = events(target);
        install_for(target, Layer::User, &machine.here, &events).unwrap().apply().unwrap();
        let found = examine(target, &machine.here, &events);
        let user = &found.layers[0];
        assert_eq!(user.others.len(), 2, "{name}");
        assert_eq!(user.others[0].path, path);
        assert_eq!(user.others[0].command.as_ref().unwrap().to_string(), "approve");
        assert_eq!(user.others[0].undoes.is_some(), undoes, "{name}");
        assert_eq!(user.others[1].command, None);
        assert_eq!(user.others[1].undoes, None);
        let off = if name == "droid" { vec![] } else { vec![(path, "/disableAllHooks")] };
        assert_eq!(user.switched_off, off, "{name}");
    }
    let codex = Target::by_name("codex").unwrap();
    let machine = Machine::new();
    let config = machine.here.home.join(".codex/config.toml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    for (text, count) in [
        ("[features]\nhooks = false # for now\n[[hooks.Stop]]\n", 1),
        ("features.codex_hooks = false", 1),
        ("[features]\nhooks = true", 0),
        ("model = \"x\"", 0),
    ] {
        fs::write(&config, text).unwrap();
        let found = examine(codex, &machine.here, &events(codex));
        assert_eq!(found.layers[0].switched_off.len(), count, "{text}");
        assert!(found.layers[0].problems.is_empty());
    }
    let gemini = Target::by_name("gemini").unwrap();
    let text =
        b"{ // off\n\"hooksConfig\": {\"enabled\": false, \"disabled\": [\"x\", \"tollgate\"]}}";
    let (machine, _) = Machine::with(gemini, Layer::Project, text);
    let found = examine(gemini, &machine.here, &events(gemini));
    assert_eq!(found.layers[1].switched_off.len(), 2);
}

#[test]
fn other_files_of_a_host_are_looked_at() {
    let machine = Machine::new();
    let folder = machine.here.project.join(".claude");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("settings.local.json"), "{\"disableAllHooks\": true}").unwrap();
    fs::write(folder.join("settings.json"), "{\"hooks\": ").unwrap();
    let claude = Target::by_name("claude").unwrap();
    let found = examine(claude, &machine.here, &events(claude));
    let project = &found.layers[1];
    assert_eq!(project.switched_off.len(), 1);
    assert_eq!(project.problems.len(), 1);
    assert!(project.problems[0].to_string().contains("settings.json:1:"), "{:?}", project.problems);
}

#[test]
fn what_is_partly_there_is_missing_the_rest() {
    let machine = Machine::new();
    let codex = Target::by_name("codex").unwrap();
    let events = events(codex);
    install_for(codex, Layer::User, &machine.here, &events[..2]).unwrap().apply().unwrap();
    let found = examine(codex, &machine.here, &events);
    assert_eq!(found.layers[0].missing, events[2..]);
    assert!(found.layers[0].commands.iter().all(|command| command.is_current));
    assert!(!found.layers[0].is_current());
}
