//! Projects that were trusted somewhere else, and stores that are gone.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use stub::{Stub, codes, hook, runner, trust, write};
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Loaded, Setup, load, survey};
use tollgate_config::trust::{Store, TrustState};

mod stub;

fn loaded(places: &Places) -> Loaded {
    load(&Setup::new(places.clone()).scripts(Stub::default()))
}

async fn passes(places: &Places) -> bool {
    stub::call(&runner(loaded(places))).await.permit().is_granted()
}

/// A linked working tree, as Git makes it.
fn link(main: &Path, tree: &Path) {
    let own = main.join(".git/worktrees/tree");
    write(&own.join("commondir"), "../..\n");
    write(&own.join("gitdir"), &format!("{}\n", tree.join(".git").display()));
    write(&tree.join(".git"), &format!("gitdir: {}\n", own.display()));
}

fn in_project(places: &Places, project: &Path) -> Places {
    Places { project: Some(project.to_owned()), ..places.clone() }
}

#[tokio::test]
async fn linked_working_trees_share_the_trust_of_their_repository() {
    for below in ["", "packages/one"] {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let (main, tree) = (root.join("project"), root.join("tree"));
        let write_hooks = |top: &Path| {
            write(&top.join(below).join(".tollgate/hooks/a.md"), &hook("script: block"));
            write(
                &top.join(below).join(".polytoken/hooks.json"),
                r#"[{"name": "lint", "event": "stop", "handler": {"bash": "make lint"}}]"#,
            );
        };
        write_hooks(&main);
        fs::create_dir_all(main.join(".git")).unwrap();
        write_hooks(&tree);
        let places = Places::below(&root);
        let of_main = in_project(&places, &main.join(below));
        let of_tree = in_project(&places, &tree.join(below));
        trust(&of_main);

        // A file that claims to be of the repository is not enough.
        write(
            &tree.join(".git"),
            &format!("gitdir: {}\n", main.join(".git/worktrees/x").display()),
        );
        assert!(passes(&of_tree).await, "{below}");
        assert_eq!(loaded(&of_tree).files[0].state, FileState::Untrusted);

        link(&main, &tree);
        assert!(!passes(&of_tree).await, "{below}");
        assert!(loaded(&of_tree).is_sound);
        let store = Store::open(places.trust.as_ref().unwrap()).unwrap();
        let state = store.state(&survey(&of_tree).unwrap());
        assert!(matches!(state, TrustState::Trusted(_)), "{state:?}");

        // There it runs as it was approved as well.
        fs::remove_dir_all(tree.join(below).join(".tollgate")).unwrap();
        assert!(!passes(&of_tree).await, "{below}");
        assert!(codes(&loaded(&of_tree).diagnostics).contains(&"TG078"));

        // And the other way round.
        let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
        store.revoke(&main.join(below)).unwrap();
        assert!(passes(&of_main).await, "{below}");
        write_hooks(&tree);
        trust(&of_tree);
        assert!(!passes(&of_main).await, "{below}");
    }
}

#[tokio::test]
async fn a_moved_project_is_known_by_its_content_if_all_it_runs_is_pinned() {
    const MARKDOWN: (&str, &str) =
        (".tollgate/hooks/a.md", "---\nevent: tool.pre\nscript: block\n---\n");
    let command = |text: &str| serde_json::json!({"g": {"Stop": [{"command": text}]}}).to_string();
    let guard = "#!/bin/sh\ngrep -q rm && exit 2\nexit 0\n";
    for (name, commands, script, is_known) in [
        ("Markdown alone", None, "", true),
        ("a script that only reads", Some("./guard.sh >> log"), guard, true),
        ("a shell with that script", Some("bash guard.sh"), guard, true),
        ("a command that only reads", Some("grep -q x"), guard, true),
        ("make", Some("make lint"), guard, false),
        ("npm", Some("./guard.sh && npm run lint"), guard, false),
        ("a script that runs npm", Some("./guard.sh"), "#!/bin/sh\nnpm run lint\n", false),
        ("a script that runs another", Some("./guard.sh"), "#!/bin/sh\n./more.sh\n", false),
        ("another language", Some("python3 guard.sh"), "import json\n", false),
        ("a program nobody knows", Some("terraform plan ./guard.sh"), guard, false),
    ] {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        for project in ["project", "clone", "other"] {
            write(&root.join(project).join(MARKDOWN.0), MARKDOWN.1);
            if let Some(text) = commands {
                write(&root.join(project).join(".agents/hooks.json"), &command(text));
                write(&root.join(project).join(".agents/guard.sh"), script);
            }
        }
        write(&root.join("other").join(MARKDOWN.0), &format!("{}\n", MARKDOWN.1));
        let places = Places::below(&root);
        trust(&places);
        let clone = in_project(&places, &root.join("clone"));
        assert_eq!(!passes(&clone).await, is_known, "{name}");
        let other = in_project(&places, &root.join("other"));
        assert!(passes(&other).await, "{name}");
        // Of a project that was moved the same is true.
        fs::remove_dir_all(root.join("project")).unwrap();
        assert_eq!(!passes(&clone).await, is_known, "{name}");
    }
}

#[tokio::test]
async fn a_store_that_is_gone_closes_the_gates_of_what_was_trusted() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let places = Places::below(&root);
    let store = places.trust.clone().unwrap();
    write(&root.join("project/.tollgate/hooks/a.md"), &hook(""));
    write(&root.join("fresh/.tollgate/hooks/a.md"), &hook("priority: 2"));
    let fresh = in_project(&places, &root.join("fresh"));
    trust(&places);
    assert!(passes(&places).await);
    let whole = fs::read(&store).unwrap();
    for content in [None, Some("{\"version\": 1, \"projects\": {}}")] {
        match content {
            None => fs::remove_file(&store).unwrap(),
            Some(text) => fs::write(&store, text).unwrap(),
        }
        let found = loaded(&places);
        assert_eq!(codes(&found.diagnostics), ["TG064"], "{:?}", found.diagnostics);
        assert!(found.diagnostics[0].message.contains("was trusted"), "{:?}", found.diagnostics);
        assert!(!passes(&places).await);
        // Without its hook files as well.
        fs::rename(root.join("project/.tollgate"), root.join("away")).unwrap();
        assert!(!passes(&places).await);
        fs::rename(root.join("away"), root.join("project/.tollgate")).unwrap();
        // One that nobody has trusted stays open.
        assert!(passes(&fresh).await);
    }
    // It can be put back, trusted anew, or revoked.
    fs::write(&store, &whole).unwrap();
    assert!(passes(&places).await);
    fs::remove_file(&store).unwrap();
    trust(&places);
    assert!(passes(&places).await);
    fs::remove_file(&store).unwrap();
    assert!(Store::open(&store).unwrap().revoke(&root.join("project")).unwrap());
    assert!(passes(&places).await);
}

#[tokio::test]
async fn an_untrusted_project_is_closed_where_that_is_set() {
    let place = tempfile::tempdir().unwrap();
    let root = place.path().canonicalize().unwrap();
    let places = Places::below(&root);
    fs::create_dir_all(root.join("project")).unwrap();
    let config = places.user.as_ref().unwrap().join("config.toml");
    write(&config, "[trust]\nuntrusted = \"closed\"\n");
    // There is nothing to trust.
    assert!(passes(&places).await);
    write(&root.join("project/.tollgate/hooks/a.md"), &hook(""));
    assert!(!passes(&places).await);
    let said = loaded(&places).diagnostics;
    assert!(said.iter().any(|said| said.message.contains("trust.untrusted")), "{said:?}");
    trust(&places);
    assert!(passes(&places).await);
}

/// Not a test of its own: what the next one runs with another umask.
#[test]
fn trusts_and_loads() {
    let Some(root) = std::env::var_os("TOLLGATE_TEST_UMASK_IN") else { return };
    let root = Path::new(&root);
    let places = Places::below(root);
    write(&root.join("project/.tollgate/hooks/a.md"), &hook("script: block"));
    let state = places.trust.as_ref().unwrap().parent().unwrap().to_owned();
    // What another part of Tollgate needs first.
    tollgate_config::trust::private_directory(&state.join("hosts")).unwrap();
    trust(&places);
    assert!(loaded(&places).is_sound);
    assert_eq!(loaded(&places).files[0].state, FileState::InForce);
}

#[test]
fn a_fresh_machine_is_not_locked_out_by_its_umask() {
    use std::os::unix::fs::PermissionsExt as _;

    for umask in ["000", "002", "022", "077"] {
        let place = tempfile::tempdir().unwrap();
        let root = place.path().canonicalize().unwrap();
        let test = std::env::current_exe().unwrap();
        let script = format!("umask {umask}; exec \"$0\" --exact trusts_and_loads");
        let output = std::process::Command::new("/bin/sh")
            .args(["-c", &script])
            .arg(test)
            .env("TOLLGATE_TEST_UMASK_IN", &root)
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success() && printed.contains("1 passed"), "{umask}: {printed}");
        let store = Places::below(&root).trust.unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&store), mode(store.parent().unwrap())), (0o600, 0o700), "{umask}");
    }
}
