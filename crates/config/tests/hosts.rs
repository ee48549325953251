//! The hook files of agents beside everything else: which of them count, and when.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use tollgate_config::diagnostic::Diagnostic;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Loaded, Setup, load, survey};
use tollgate_config::trust::Store;
use tollgate_core::{Dialect, Kind};

const HOOK: &str =
    r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "true"}]}]}}"#;
const OURS: &str = r#"{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "tollgate hook claude"}]}]}}"#;

fn write(root: &Path, path: &str, text: &str) {
    let path = root.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn trust(places: &Places) {
    let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
    store.trust(&survey(places).unwrap()).unwrap();
}

/// The hooks of files, by their paths below the root.
fn hooks(loaded: &Loaded, root: &Path) -> Vec<String> {
    let of = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
    let mut all: Vec<_> = loaded.catalogue.iter().map(|hook| of(&hook.path)).collect();
    all.sort();
    all
}

#[test]
fn every_place_counts() {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    let gemini = HOOK.replace("PreToolUse", "BeforeTool");
    let files = [
        ("system/claude/settings.json", HOOK),
        ("home/.config/tollgate/codex/hooks.json", HOOK),
        ("home/.claude/settings.json", HOOK),
        ("home/.codex/hooks.json", HOOK),
        ("home/.gemini/settings.json", &gemini),
        ("project/.claude/settings.json", HOOK),
        ("project/.claude/settings.local.json", HOOK),
        ("project/.codex/hooks.json", HOOK),
        ("project/.gemini/settings.json", &gemini),
    ];
    for (path, text) in files {
        write(&root, path, text);
    }
    let places = Places::below(&root);
    trust(&places);
    let loaded = load(&Setup::new(places.clone()));
    let mut wanted: Vec<_> = files.iter().map(|(path, _)| (*path).to_owned()).collect();
    wanted.sort();
    assert_eq!(hooks(&loaded, &root), wanted);
    assert!(loaded.is_sound);
    // Under an agent that runs its own, they are left to it; those of Tollgate's folders are not.
    let loaded = load(&Setup::new(places).without(&[Dialect::Claude]));
    wanted.retain(|path| !path.contains(".claude/"));
    assert_eq!(hooks(&loaded, &root), wanted);
    assert!(loaded.is_sound);
    assert!(loaded.diagnostics.iter().all(|said| !said.is_error()));
}

#[test]
fn a_file_without_hooks_is_none() {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    fs::create_dir_all(root.join("project")).unwrap();
    let places = Places::below(&root);
    for text in [OURS, "{\"permissions\": {\"allow\": [\"Bash\"]}}", "{\"hooks\": {}}", ""] {
        write(&root, "project/.claude/settings.json", text);
        let loaded = load(&Setup::new(places.clone()));
        assert!(loaded.files.is_empty() && loaded.diagnostics.is_empty(), "{text}");
        assert_eq!(survey(&places).unwrap().pins().count(), 0, "{text}");
    }
    // One with a hook has to be trusted, and once it is, taking the hook away is a change.
    write(&root, "project/.claude/settings.json", HOOK);
    let state = || load(&Setup::new(places.clone())).files[0].state;
    assert_eq!(state(), FileState::Untrusted);
    trust(&places);
    assert_eq!(state(), FileState::InForce);
    write(&root, "project/.claude/settings.json", "{}");
    assert_eq!(state(), FileState::InForce);
    let said = load(&Setup::new(places.clone())).diagnostics;
    assert!(said.iter().any(|said| said.code.id() == "TG078"), "{said:?}");
}

#[test]
fn what_is_left_to_the_agent_is_still_a_part_of_what_is_trusted() {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    write(&root, "project/.claude/settings.json", HOOK);
    write(&root, "project/.codex/hooks.json", HOOK);
    let places = Places::below(&root);
    trust(&places);
    let setup = Setup::new(places).without(&[Dialect::Claude]).only(Kind::ToolPre);
    assert!(load(&setup).is_sound);
    // One that is broken is the agent's to complain about; that it is another one is ours.
    write(&root, "project/.claude/settings.json", "{\"hooks\": ");
    let said = load(&setup).diagnostics;
    assert!(said.iter().any(|said| said.code.id() == "TG078"), "{said:?}");
}

#[test]
fn what_the_project_s_directory_names_is_pinned() {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    write(&root, "project/guard.sh", "exit 0\n");
    let places = Places::below(&root);
    for (command, is_pinned) in [
        (r#"\"$CLAUDE_PROJECT_DIR\"/guard.sh"#, true),
        ("sh ${CLAUDE_PROJECT_DIR}/guard.sh", true),
        ("sh $CLAUDE_PROJECT_DIRECTORY/guard.sh", false),
        ("CLAUDE_PROJECT_DIR=/x; sh $CLAUDE_PROJECT_DIR/guard.sh", false),
    ] {
        write(&root, "project/.claude/settings.json", &HOOK.replace("true", command));
        let survey = survey(&places).unwrap();
        let names = survey.pins().any(|pin| pin.path == "guard.sh");
        assert_eq!(names && survey.unpinned().is_empty(), is_pinned, "{command}");
    }
}

#[test]
fn a_project_is_where_the_hooks_of_an_agent_are() {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    fs::create_dir_all(root.join("app/.git")).unwrap();
    fs::create_dir_all(root.join("app/inner/deep")).unwrap();
    write(&root, "app/inner/.claude/settings.json", OURS);
    assert_eq!(Places::project_of(&root.join("app/inner/deep")), root.join("app"));
    write(&root, "app/inner/.claude/settings.json", HOOK);
    assert_eq!(Places::project_of(&root.join("app/inner/deep")), root.join("app/inner"));
}

#[test]
fn a_file_that_cannot_be_read_may_have_had_hooks() {
    let files = [".claude/settings.json", ".codex/hooks.json", ".gemini/settings.json"];
    for (file, text) in
        files.iter().flat_map(|file| [(file, "{"), (file, "[]"), (file, "nonsense")])
    {
        for layer in ["home", "project"] {
            let temporary = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(temporary.path()).unwrap();
            fs::create_dir_all(root.join("project")).unwrap();
            write(&root, &format!("{layer}/{file}"), text);
            let places = Places::below(&root);
            let state = || {
                let loaded = load(&Setup::new(places.clone()));
                let said = loaded.diagnostics.iter().any(Diagnostic::is_error);
                assert!(said, "{layer}/{file} {text}: {:?}", loaded.diagnostics);
                (loaded.files[0].state, loaded.is_sound)
            };
            if layer == "project" {
                // Nobody has said that what it was to forbid is to be forbidden.
                assert_eq!(state(), (FileState::Untrusted, true), "{file} {text}");
                trust(&places);
            }
            assert_eq!(state(), (FileState::Broken, false), "{layer}/{file} {text}");
        }
    }
}
