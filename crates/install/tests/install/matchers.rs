//! Which tools Antigravity asks Tollgate about: what is written, what stays, and what is told of the rest.

use std::fs;

use serde_json::Value;
use tollgate_install::{
    Layer, Registration, Surroundings, Target, examine, install_for, uninstall,
};

use crate::{Machine, events};

fn matcher(text: &str) -> String {
    let file: Value = serde_json::from_str(text).unwrap();
    file["tollgate"]["PreToolUse"][0]["matcher"].as_str().unwrap().to_owned()
}

#[test]
fn what_only_reads_is_not_asked_about_and_told() {
    let machine = Machine::new();
    let target = Target::by_name("antigravity").unwrap();
    let plan = install_for(target, Layer::Project, &machine.here, &events(target)).unwrap();
    for tool in ["view_file", "list_dir", "grep_search", "find_by_name", "manage_task"] {
        assert!(plan.uncovered.contains(&tool), "{tool}: {:?}", plan.uncovered);
    }
    for tool in ["run_command", "write_to_file", "read_url_content", "call_mcp_tool"] {
        assert!(!plan.uncovered.contains(&tool), "{tool}: {:?}", plan.uncovered);
    }
    plan.apply().unwrap();
    let path = target.place(Layer::Project, &machine.here).unwrap();
    let file: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    let tollgate = &file["tollgate"];
    // Before and after a tool in groups, elsewhere not.
    assert!(tollgate["PreToolUse"][0]["hooks"][0]["command"].is_string(), "{file}");
    assert_eq!(tollgate["PostToolUse"][0]["matcher"], "*", "{file}");
    assert!(tollgate["Stop"][0]["command"].is_string(), "{file}");
    assert_eq!(tollgate["PostToolUse"].as_array().unwrap().len(), 1, "one name for both ends");
    let found = examine(target, &machine.here, &events(target));
    assert_eq!(found.layers[1].uncovered, plan.uncovered);
    assert!(found.layers[1].is_current());
}

#[test]
fn all_tools_are_asked_about_where_that_is_wanted() {
    let machine = Machine::new();
    let target = Target::by_name("antigravity").unwrap();
    let path = target.place(Layer::User, &machine.here).unwrap();
    let install = |events: &[Registration]| {
        let plan = install_for(target, Layer::User, &machine.here, events).unwrap();
        plan.apply().unwrap();
        (plan, fs::read_to_string(&path).unwrap())
    };
    install(&events(target));
    let all: Vec<_> = events(target).into_iter().map(Registration::for_all_tools).collect();
    let (plan, text) = install(&all);
    assert_eq!((&*matcher(&text), plan.uncovered.len()), ("*", 0));
    // What the person has said stays, also where they have written it themselves.
    let (plan, again) = install(&events(target));
    assert!(plan.is_empty() && plan.uncovered.is_empty() && again == text);
    let own = text.replacen("\"matcher\": \"*\"", "\"matcher\": \"run_command\"", 1);
    fs::write(&path, own.replace("bin/tollgate", "older/tollgate")).unwrap();
    let (plan, text) = install(&events(target));
    assert_eq!((plan.edits.len(), &*matcher(&text)), (1, "run_command"));
    assert!(plan.uncovered.contains(&"write_to_file"));
    uninstall(target, Layer::User, &machine.here).unwrap().apply().unwrap();
    assert!(!path.exists());
}

#[test]
fn ours_are_found_under_any_name_and_switched_off_under_ours() {
    let target = Target::by_name("antigravity").unwrap();
    let text = br#"{"mine": {"PreToolUse": [{"hooks": [{"command": "tollgate hook antigravity --event PreToolUse"}]}]},
        "tollgate": {"enabled": false}}"#;
    let (machine, _) = Machine::with(target, Layer::Project, text);
    let found = examine(target, &machine.here, &events(target));
    assert!(found.layers[1].is_installed() && !found.layers[1].is_current());
    assert!(found.layers[1].uncovered.is_empty(), "a group without a matcher is for all tools");
    assert_eq!(found.layers[1].switched_off.len(), 1);
}

#[test]
fn polytoken_says_where_its_configuration_is() {
    let target = Target::by_name("polytoken").unwrap();
    let here = Machine::new().here;
    let place = |here: &Surroundings| target.place(Layer::User, here).unwrap();
    assert_eq!(place(&here), here.home.join(".config/polytoken/hooks.json"));
    let here = here.with_variable("XDG_CONFIG_HOME", "/x");
    assert_eq!(place(&here).to_str(), Some("/x/polytoken/hooks.json"));
    let here = here.with_variable("POLYTOKEN_CONFIG_DIR", "/p");
    assert_eq!(place(&here).to_str(), Some("/p/hooks.json"));
}

#[test]
fn a_project_that_turns_polytokens_off_is_told() {
    let target = Target::by_name("polytoken").unwrap();
    let text = br#"["!tollgate-pre_tool_use"]"#;
    let (machine, path) = Machine::with(target, Layer::Project, text);
    install_for(target, Layer::User, &machine.here, &events(target)).unwrap().apply().unwrap();
    let found = examine(target, &machine.here, &events(target));
    assert_eq!(found.layers[0].switched_off.len(), 1);
    assert_eq!(found.layers[0].switched_off[0].0, path);
    assert!(found.layers[1].switched_off.is_empty() && !found.layers[1].is_installed());
}
