//! Markdown hooks and policy files of projects: they run once they are trusted, and as long as they
//! are what was trusted; and the agent cannot write them.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use stub::{Stub, call, codes, hook, runner, trust, write};
use tollgate_config::hooks::Hooks;
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, load};
use tollgate_core::prelude::*;

mod stub;

/// What is done to a trusted project, and what is said of it.
type Change = (&'static str, fn(&Path), &'static str);

#[tokio::test]
async fn a_trusted_project_that_is_something_else_now_denies_where_that_is_set() {
    const CHANGES: &[Change] = &[
        ("an edit", |p| write(&p.join(".harness/hooks/a.md"), &hook("priority: 1")), "TG061"),
        ("a hook comes", |p| write(&p.join(".harness/hooks/c.md"), &hook("")), "TG061"),
        ("a hook comes elsewhere", |p| write(&p.join(".tollgate/hooks/c.md"), &hook("")), "TG061"),
        ("a hook goes", |p| fs::remove_file(p.join(".harness/hooks/a.md")).unwrap(), "TG062"),
        ("all hooks go", |p| fs::remove_dir_all(p.join(".harness")).unwrap(), "TG062"),
        (
            "everything goes",
            |p| {
                fs::remove_dir_all(p.join(".harness")).unwrap();
                fs::remove_dir_all(p.join(".tollgate")).unwrap();
            },
            "TG062",
        ),
        (
            "a hook is renamed",
            |p| {
                fs::rename(p.join(".harness/hooks/a.md"), p.join(".harness/hooks/a.txt")).unwrap();
            },
            "TG062",
        ),
        ("the policy is edited", |p| write(&p.join(".tollgate/policy.star"), "allow 2"), "TG061"),
        ("the policy goes", |p| fs::remove_file(p.join(".tollgate/policy.star")).unwrap(), "TG062"),
        (
            "the directory is a link now",
            |p| {
                fs::rename(p.join(".harness/hooks"), p.join("elsewhere")).unwrap();
                symlink("../elsewhere", p.join(".harness/hooks")).unwrap();
            },
            "TG061",
        ),
    ];
    for (name, change, code) in CHANGES {
        let root = tempfile::tempdir().unwrap();
        let places = Places::below(root.path());
        let project = root.path().join("project");
        let user = places.user.as_ref().unwrap();
        write(&user.join("config.toml"), "[trust]\nchanged = \"closed\"\n");
        write(&project.join(".harness/hooks/a.md"), &hook(""));
        write(&project.join(".tollgate/hooks/b.md"), &hook("event: turn.start"));
        write(&project.join(".tollgate/policy.star"), "allow");
        trust(&places);
        let setup = Setup::new(places.clone()).scripts(Stub::default());
        let loaded = load(&setup);
        assert!(loaded.is_sound, "{name}: {:?}", loaded.diagnostics);
        assert!(call(&runner(loaded)).await.permit().is_granted(), "{name}");

        change(&project);
        let loaded = load(&setup);
        assert!(!loaded.is_sound, "{name}");
        assert!(codes(&loaded.diagnostics).contains(code), "{name}: {:?}", loaded.diagnostics);
        assert!(loaded.files.iter().all(|file| file.state == FileState::Changed), "{name}");
        assert!(call(&runner(loaded)).await.permit().is_refused(), "{name}");

        trust(&places);
        assert!(call(&runner(load(&setup))).await.permit().is_granted(), "{name}, trusted again");
    }
}

#[tokio::test]
async fn a_hook_in_force_denies_once_its_file_is_another() {
    for (file, text) in
        [(".harness/hooks/a.md", hook("")), (".tollgate/policy.star", "allow".to_owned())]
    {
        for how in ["edited", "deleted", "replaced"] {
            let root = tempfile::tempdir().unwrap();
            let places = Places::below(root.path());
            let path = root.path().join("project").join(file);
            write(&path, &text);
            trust(&places);
            let runner = runner(load(&Setup::new(places).scripts(Stub::default())));
            assert!(call(&runner).await.permit().is_granted(), "{file}");
            match how {
                "edited" => fs::write(&path, text.replace("allow", "alloW")).unwrap(),
                "deleted" => fs::remove_file(&path).unwrap(),
                _ => {
                    write(&root.path().join("other"), &text.replace("allow", "block"));
                    fs::rename(root.path().join("other"), &path).unwrap();
                }
            }
            let outcome = call(&runner).await;
            let detail = outcome.record.detail();
            assert!(detail.contains("until a person trusts it again"), "{file} {how}: {detail}");
            assert!(outcome.permit().is_refused(), "{file} {how}");
            // It stays so, whatever is put back.
            write(&path, &text);
            assert!(call(&runner).await.permit().is_refused(), "{file} {how}");
        }
    }
}

#[tokio::test]
async fn a_file_that_is_touched_stays_in_force() {
    let root = tempfile::tempdir().unwrap();
    let places = Places::below(root.path());
    let path = root.path().join("project/.harness/hooks/a.md");
    write(&path, &hook("script: block"));
    trust(&places);
    let runner = runner(load(&Setup::new(places).scripts(Stub::default())));
    write(&path, &hook("script: block"));
    assert_eq!(call(&runner).await.reason(), "a");
}

#[tokio::test]
async fn files_of_the_person_are_in_memory_until_the_next_load() {
    let root = tempfile::tempdir().unwrap();
    let path = root.path().join("home/.config/tollgate/hooks/a.md");
    write(&path, &hook("script: block"));
    let setup = Setup::new(Places::below(root.path())).scripts(Stub::default());
    let hooks = Hooks::open(setup).unwrap();
    write(&path, &hook("script: broken"));
    assert_eq!(call(hooks.runner()).await.reason(), "a");
    assert!(!hooks.reload().is_in_force);
    assert_eq!(call(hooks.runner()).await.reason(), "a");
    write(&path, &hook(""));
    assert!(hooks.reload().is_in_force);
    assert!(call(hooks.runner()).await.permit().is_granted());
}

#[tokio::test]
async fn a_directory_that_cannot_be_read_closes_the_gates() {
    use std::os::unix::fs::PermissionsExt;

    let root = tempfile::tempdir().unwrap();
    let places = Places::below(root.path());
    let folder = root.path().join("project/.harness/hooks");
    write(&folder.join("a.md"), &hook(""));
    trust(&places);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    // Permissions do not bind everybody.
    let is_bound = fs::read_dir(&folder).is_err();
    let loaded = load(&Setup::new(places).scripts(Stub::default()));
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    if is_bound {
        assert!(codes(&loaded.diagnostics).contains(&"TG001"), "{:?}", loaded.diagnostics);
        assert!(call(&runner(loaded)).await.permit().is_refused());
    }
}

#[tokio::test]
async fn what_links_lead_to_is_guarded() {
    let root = tempfile::tempdir().unwrap();
    let there = |path: &str| root.path().join(path);
    write(&there("dotfiles/hooks/a.md"), &hook(""));
    write(&there("dotfiles/b.md"), &hook(""));
    write(&there("shared/c.md"), &hook(""));
    write(&there("home/.config/tollgate/config.toml"), "");
    symlink(there("dotfiles/hooks"), there("home/.config/tollgate/hooks")).unwrap();
    fs::create_dir_all(there("system/hooks")).unwrap();
    symlink(there("dotfiles/b.md"), there("system/hooks/b.md")).unwrap();
    fs::create_dir_all(there("project/.tollgate")).unwrap();
    symlink(there("shared"), there("project/.tollgate/hooks")).unwrap();
    let places = Places::below(root.path());
    trust(&places);
    let runner = runner(load(&Setup::new(places).scripts(Stub::default())));
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    for (path, is_guarded) in [
        ("dotfiles/hooks/a.md", true),
        ("dotfiles/hooks/new.md", true),
        ("dotfiles/b.md", true),
        ("shared/c.md", true),
        ("shared/new.md", true),
        ("system/policy.star", true),
        ("home/.config/tollgate/hooks/new.md", true),
        ("dotfiles/notes.md", false),
        ("project/hooks/a.md", false),
    ] {
        let target = there(path).display().to_string();
        let write =
            ToolCall::new("write_to_file").arg("TargetFile", target).arg("CodeContent", "x");
        let outcome = runner.dispatch(&operation, ToolPre::from(write)).await;
        assert_eq!(outcome.permit().is_refused(), is_guarded, "{path}");
    }
}
