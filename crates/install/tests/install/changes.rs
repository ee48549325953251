//! What is changed in files, and what is not.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tollgate_install::{
    InstallError, Layer, Registration, Surroundings, Target, install_for, uninstall,
};

use crate::{Machine, events};

fn target(name: &str) -> &'static Target {
    Target::by_name(name).unwrap()
}

fn backup(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}.tollgate-backup{ending}", path.display()))
}

fn settings(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn an_older_form_is_replaced_and_not_doubled() {
    let before = json!({"a": 1, "hooks": {
        "PreToolUse": [
            {"matcher": "Bash", "hooks": [{"type": "command", "command": "mine"}]},
            {"hooks": [{"type": "command", "command": "/old/tollgate hook codex"}]},
        ],
        "PermissionRequest": [{"hooks": [{"type": "command", "command": "tollgate hook codex"}]}],
        "Stop": [{"hooks": [
            {"type": "command", "command": "theirs"},
            {"type": "command", "command": "tollgate hook codex"},
        ]}],
    }});
    let (machine, path) =
        Machine::with(target("codex"), Layer::User, before.to_string().as_bytes());
    let wanted = [Registration::gate("PreToolUse"), Registration::tells("Stop")];
    let plan = install_for(target("codex"), Layer::User, &machine.here, &wanted).unwrap();
    assert!(plan.edits[0].changes.iter().any(|it| it.contains("replaces 3 older")), "{plan:?}");
    plan.apply().unwrap();
    let after = settings(&path);
    assert_eq!(after["a"], 1);
    let hooks = &after["hooks"];
    assert_eq!(hooks["PreToolUse"].as_array().unwrap().len(), 2);
    assert_eq!(hooks["PreToolUse"][0], before["hooks"]["PreToolUse"][0]);
    assert_eq!(hooks["Stop"][0]["hooks"], json!([{"type": "command", "command": "theirs"}]));
    assert_eq!(hooks["Stop"].as_array().unwrap().len(), 2);
    // In compact JSON nobody can tell whether an empty list was there before.
    assert!(hooks["PermissionRequest"].as_array().is_none_or(Vec::is_empty));
    assert!(install_for(target("codex"), Layer::User, &machine.here, &wanted).unwrap().is_empty());
}

#[test]
fn another_program_and_other_events_are_brought_up_to_date() {
    for target in Target::all() {
        let machine = Machine::new();
        let layer = if target.name == "kimi" { Layer::User } else { Layer::Project };
        let before = machine.everything();
        let old =
            Surroundings::new(&machine.here.home, &machine.here.project, "/old/it's/tollgate");
        let mut wanted = events(target);
        wanted.push(Registration::tells("OfOldTimes"));
        install_for(target, layer, &old, &wanted).unwrap().apply().unwrap();
        let now = events(target);
        let plan = install_for(target, layer, &machine.here, &now).unwrap();
        assert!(!plan.is_empty(), "{}", target.name);
        plan.apply().unwrap();
        let all = machine.everything();
        let texts = all.iter().filter_map(|(_, it)| it.as_ref());
        for text in texts.map(|it| String::from_utf8_lossy(it)) {
            assert!(!text.contains("/old/") && !text.contains("OfOldTimes"), "{text}");
        }
        assert!(install_for(target, layer, &machine.here, &now).unwrap().is_empty());
        uninstall(target, layer, &machine.here).unwrap().apply().unwrap();
        assert_eq!(machine.everything(), before, "{}: nor is a backup left", target.name);
    }
}

/// Claude Code and others write their settings anew when something is set in them.
#[test]
fn what_a_host_has_written_anew_is_still_ours() {
    for (name, layer) in
        [("claude", Layer::User), ("gemini", Layer::User), ("droid", Layer::Project)]
    {
        let (machine, path) = Machine::with(target(name), layer, b"{\"model\": \"x\"}\n");
        install_for(target(name), layer, &machine.here, &events(target(name)))
            .unwrap()
            .apply()
            .unwrap();
        for pretty in [true, false] {
            let mut now = settings(&path);
            now["theme"] = json!("dark");
            let text = if pretty {
                serde_json::to_string_pretty(&now)
            } else {
                serde_json::to_string(&now)
            };
            fs::write(&path, text.unwrap()).unwrap();
            let again =
                install_for(target(name), layer, &machine.here, &events(target(name))).unwrap();
            assert!(again.is_empty(), "{name}: {}", again.diff());
        }
        uninstall(target(name), layer, &machine.here).unwrap().apply().unwrap();
        let now = settings(&path);
        assert_eq!((&now["model"], &now["theme"]), (&json!("x"), &json!("dark")));
        assert!(!now.to_string().contains("tollgate"), "{now}");
    }
}

#[test]
fn hooks_that_came_later_stay() {
    let (machine, path) = Machine::with(target("claude"), Layer::User, b"{\n  \"a\": 1\n}\n");
    let claude = target("claude");
    install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap().apply().unwrap();
    let mut now = settings(&path);
    let theirs = json!({"matcher": "Bash", "hooks": [{"type": "command", "command": "theirs"}]});
    now["hooks"]["PreToolUse"].as_array_mut().unwrap().push(theirs.clone());
    now["hooks"]["Stop"][0]["hooks"].as_array_mut().unwrap().push(theirs["hooks"][0].clone());
    fs::write(&path, serde_json::to_string_pretty(&now).unwrap()).unwrap();
    let done = uninstall(claude, Layer::User, &machine.here).unwrap().apply().unwrap();
    assert!(done[0].backup.is_some() || backup(&path, "").exists());
    let hooks =
        json!({"PreToolUse": [theirs], "Stop": [{"matcher": "", "hooks": [theirs["hooks"][0]]}]});
    assert_eq!(settings(&path), json!({"a": 1, "hooks": hooks}));
}

/// Wherever people have put things, what is left can be read, and a comment stays with what it is about.
#[test]
fn comments_stay_where_they_are() {
    let gemini = target("gemini");
    let ours = "{\"hooks\": [{\"type\": \"command\", \"command\": \"tollgate hook gemini\"}]}";
    for (before, after) in [
        ("[{\"command\": \"x\"}, // mine\n OURS]", "[{\"command\": \"x\"} // mine\n]"),
        ("[ // none\n OURS]", "[ // none\n]"),
        (
            "[{\"command\": \"x\"}, OURS, // theirs\n {\"command\": \"y\"}]",
            "[{\"command\": \"x\"}, // theirs\n {\"command\": \"y\"}]",
        ),
        (
            "[/* a */ OURS /* b */ , /* c */ {\"command\": \"y\"}]",
            "[/* a */ /* b */  /* c */ {\"command\": \"y\"}]",
        ),
    ] {
        let whole =
            |list: &str| format!("{{\"hooks\": {{\"BeforeTool\": {list}}}}}").replace("OURS", ours);
        let (machine, path) = Machine::with(gemini, Layer::User, whole(before).as_bytes());
        uninstall(gemini, Layer::User, &machine.here).unwrap().apply().unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole(after));
        install_for(gemini, Layer::User, &machine.here, &events(gemini)).unwrap();
    }
    let (machine, path) =
        Machine::with(gemini, Layer::User, b"{\n  \"a\": 1 // one\n  // end\n}\n");
    install_for(gemini, Layer::User, &machine.here, &events(gemini)).unwrap().apply().unwrap();
    let text = fs::read_to_string(path).unwrap();
    assert!(
        text.starts_with("{\n  \"a\": 1, // one\n  \"hooks\": {\n    \"BeforeTool\": [\n"),
        "{text}"
    );
}

#[test]
fn what_was_there_is_kept_beside_it() {
    let text = b"{\n  \"secret\": 1\n}\n";
    let (machine, path) = Machine::with(target("claude"), Layer::User, text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o640)).unwrap();
    fs::write(backup(&path, ""), "older").unwrap();
    let claude = target("claude");
    let plan = install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap();
    let done = plan.apply().unwrap();
    assert_eq!(done[0].backup.as_deref(), Some(&*backup(&path, ".1")), "an older one stays");
    assert_eq!(fs::read_to_string(backup(&path, "")).unwrap(), "older");
    assert_eq!(fs::read(backup(&path, ".1")).unwrap(), text);
    for file in [&path, &backup(&path, ".1")] {
        assert_eq!(fs::metadata(file).unwrap().permissions().mode() & 0o7777, 0o640);
    }
    let done = uninstall(claude, Layer::User, &machine.here).unwrap().apply().unwrap();
    assert_eq!(done[0].removed_backup.as_deref(), Some(&*backup(&path, ".1")));
    assert_eq!(fs::read(&path).unwrap(), text);
    assert!(backup(&path, "").exists() && !backup(&path, ".1").exists());
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        2,
        "and nothing else is left"
    );
}

#[test]
fn a_hundred_backups_are_enough() {
    let (machine, path) = Machine::with(target("claude"), Layer::User, b"{}");
    for number in 0..100 {
        let ending = if number == 0 { String::new() } else { format!(".{number}") };
        fs::write(backup(&path, &ending), "older").unwrap();
    }
    let claude = target("claude");
    let plan = install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap();
    assert!(plan.apply().unwrap_err().to_string().contains("backups"));
    assert_eq!(fs::read(&path).unwrap(), b"{}");
}

#[test]
fn a_link_leads_to_the_file() {
    let machine = Machine::new();
    let claude = target("claude");
    let path = claude.place(Layer::User, &machine.here).unwrap();
    let real = machine.path().join("dotfiles/claude.json");
    fs::create_dir_all(real.parent().unwrap()).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&real, "{}\n").unwrap();
    symlink("../../dotfiles/claude.json", &path).unwrap();
    let done =
        install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap().apply().unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert!(fs::read_to_string(&real).unwrap().contains("onFailure"));
    assert!(done[0].path.ends_with("dotfiles/claude.json"));
    uninstall(claude, Layer::User, &machine.here).unwrap().apply().unwrap();
    assert!(fs::symlink_metadata(&path).unwrap().is_symlink());
    assert_eq!(fs::read_to_string(&real).unwrap(), "{}\n");
    // One that leads nowhere yet, and one that leads round in a circle.
    fs::remove_file(&real).unwrap();
    install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap().apply().unwrap();
    assert!(real.exists());
    uninstall(claude, Layer::User, &machine.here).unwrap().apply().unwrap();
    assert!(!real.exists() && fs::symlink_metadata(&path).unwrap().is_symlink());
    symlink(&path, &real).unwrap();
    let error = install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap_err();
    assert!(error.to_string().contains("too many links"), "{error}");
}

#[test]
fn what_is_no_file_to_edit_is_refused() {
    let claude = target("claude");
    let planned =
        |machine: &Machine| install_for(claude, Layer::User, &machine.here, &events(claude));
    let (machine, path) = Machine::with(claude, Layer::User, b"{\"a\": \"\xff\"}");
    let error = planned(&machine).unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:1:8: this is not UTF-8", path.display())), "{error}");
    fs::remove_file(&path).unwrap();
    fs::create_dir(&path).unwrap();
    assert!(planned(&machine).unwrap_err().to_string().contains("not a file"));
    fs::remove_dir(&path).unwrap();
    fs::write(&path, format!("{{\"a\": \"{}\"}}", "x".repeat(4 << 20))).unwrap();
    assert!(planned(&machine).unwrap_err().to_string().contains("larger than 4 MiB"));
    fs::write(&path, format!("{{\"a\": \"{}\"}}", "x".repeat((4 << 20) - 9))).unwrap();
    planned(&machine).unwrap();
    fs::write(&path, format!("{{\"a\": {}1{}}}", "[".repeat(100_000), "]".repeat(100_000)))
        .unwrap();
    assert!(planned(&machine).is_err(), "deeper than anybody writes");
    fs::write(&path, "{}").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
    let error = planned(&machine).unwrap().apply().unwrap_err();
    assert!(error.to_string().contains("read-only"), "{error}");
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "no backup is left either"
    );
}

#[test]
fn ours_hundreds_of_times_are_no_accident() {
    let ours = json!({"hooks": [{"type": "command", "command": "tollgate hook codex"}]});
    let text = json!({"hooks": {"Stop": vec![ours; 201]}}).to_string();
    let (machine, path) = Machine::with(target("codex"), Layer::User, text.as_bytes());
    let error = uninstall(target("codex"), Layer::User, &machine.here).unwrap_err();
    assert!(error.to_string().contains("more than 200 times"), "{error}");
    assert_eq!(fs::read_to_string(path).unwrap(), text);
}

#[test]
fn what_changed_meanwhile_is_not_overwritten() {
    let (machine, path) = Machine::with(target("claude"), Layer::User, b"{}");
    let claude = target("claude");
    let plan = install_for(claude, Layer::User, &machine.here, &events(claude)).unwrap();
    fs::write(&path, "{\"new\": 1}").unwrap();
    assert!(matches!(plan.apply(), Err(InstallError::Changed(_))));
    assert_eq!(fs::read_to_string(&path).unwrap(), "{\"new\": 1}");
}

#[test]
fn of_several_files_all_are_written_or_none() {
    let machine = Machine::new();
    let cline = target("cline");
    let plan = install_for(cline, Layer::Project, &machine.here, &events(cline)).unwrap();
    let last = &plan.edits.last().unwrap().path;
    fs::create_dir_all(last.parent().unwrap()).unwrap();
    fs::write(last, "theirs").unwrap();
    let before = machine.everything();
    assert!(matches!(plan.apply(), Err(InstallError::Changed(_))));
    assert_eq!(machine.everything(), before);
    let error = install_for(cline, Layer::Project, &machine.here, &events(cline)).unwrap_err();
    assert!(error.to_string().contains("one hook for each event"), "{error}");
}

#[test]
fn scripts_can_be_run() {
    let machine = Machine::new();
    let cline = target("cline");
    install_for(cline, Layer::User, &machine.here, &events(cline)).unwrap().apply().unwrap();
    let folder = cline.place(Layer::User, &machine.here).unwrap();
    let mut count = 0;
    for file in fs::read_dir(&folder).unwrap() {
        count += 1;
        assert_ne!(file.unwrap().metadata().unwrap().permissions().mode() & 0o100, 0);
    }
    assert_eq!(count, events(cline).len());
    // One of somebody else, for an event that is not ours, stays.
    fs::write(folder.join("Other"), "#!/bin/sh\n").unwrap();
    uninstall(cline, Layer::User, &machine.here).unwrap().apply().unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 1);
}

#[test]
fn a_plugin_knows_the_program() {
    let machine = Machine::new();
    let opencode = target("opencode");
    let wanted = [Registration::gate("tool.execute.before")];
    let plan = install_for(opencode, Layer::Project, &machine.here, &wanted).unwrap();
    let text = String::from_utf8(plan.edits[0].after.clone().unwrap()).unwrap();
    let program = serde_json::to_string(machine.here.program.to_str().unwrap()).unwrap();
    assert!(
        text.contains(&format!("[{program},\"hook\",\"opencode\",\"--deadline\",\"50\"]")),
        "{text}"
    );
    let path = opencode.place(Layer::Project, &machine.here).unwrap();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, "export const mine = 1\n").unwrap();
    let error = install_for(opencode, Layer::Project, &machine.here, &wanted).unwrap_err();
    assert!(error.to_string().contains("somebody else"), "{error}");
    assert!(uninstall(opencode, Layer::Project, &machine.here).unwrap().is_empty());
}

#[test]
fn a_program_has_a_whole_path_or_a_bare_name() {
    let machine = Machine::new();
    let here = Surroundings::new(&machine.here.home, &machine.here.project, "tollgate");
    for target in Target::all() {
        let layer = if target.name == "kimi" { Layer::User } else { Layer::Project };
        let plan = install_for(target, layer, &here, &events(target)).unwrap();
        plan.apply().unwrap();
        assert!(install_for(target, layer, &here, &events(target)).unwrap().is_empty());
        uninstall(target, layer, &here).unwrap().apply().unwrap();
        assert!(uninstall(target, layer, &here).unwrap().is_empty(), "{}", target.name);
    }
    for program in ["./tollgate", "", "/a\nb/tollgate", "a b", "-x", "$x"] {
        let machine = Machine::new();
        let here = Surroundings::new(&machine.here.home, &machine.here.project, program);
        let error = install_for(target("codex"), Layer::User, &here, &events(target("codex")));
        assert!(matches!(error, Err(InstallError::Program(_))), "{program:?}");
    }
}

#[test]
fn variables_say_where_a_configuration_is() {
    let here = Surroundings::new("/home/ann", "/work", "/bin/tollgate")
        .with_variable("CODEX_HOME", "/etc/codex")
        .with_variable("XDG_CONFIG_HOME", "/cfg")
        .with_variable("KIMI_CODE_HOME", "relative")
        .with_variable("CLAUDE_CONFIG_DIR", "");
    let place =
        |name: &str, layer| target(name).place(layer, &here).map(|it| it.display().to_string());
    assert_eq!(place("codex", Layer::User).unwrap(), "/etc/codex/hooks.json");
    assert_eq!(place("codex", Layer::Project).unwrap(), "/work/.codex/hooks.json");
    assert_eq!(place("opencode", Layer::User).unwrap(), "/cfg/opencode/plugin/tollgate.js");
    assert_eq!(place("kimi", Layer::User).unwrap(), "/home/ann/.kimi-code/config.toml");
    assert_eq!(place("claude", Layer::User).unwrap(), "/home/ann/.claude/settings.json");
    let error = place("kimi", Layer::Project).unwrap_err().to_string();
    assert!(error.contains("Kimi Code has no hooks in a project configuration"), "{error}");
    assert!(Target::by_name("emacs").unwrap_err().to_string().contains("claude, codex"));
}
