//! Paths and links that want out.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, RenameFlags, mknodat, renameat_with};
use serde_json::{Value, json};
use support::{Scene, names};
use tollgate_tools::{Config, Cx, TaskLimits, Tasks, Workspaces, built_in};

/// A call of each tool that has a path.
fn calls(path: &str) -> Vec<(&'static str, Value)> {
    vec![
        ("write_to_file", json!({"TargetFile": path, "CodeContent": "evil", "Overwrite": true})),
        (
            "replace_file_content",
            json!({"TargetFile": path, "TargetContent": "secret", "ReplacementContent": "evil"}),
        ),
        (
            "multi_replace_file_content",
            json!({"TargetFile": path, "ReplacementChunks": [
                {"TargetContent": "secret", "ReplacementContent": "evil"},
            ]}),
        ),
        ("view_file", json!({"AbsolutePath": path})),
        ("list_dir", json!({"DirectoryPath": path})),
        ("find_by_name", json!({"SearchDirectory": path})),
        ("grep_search", json!({"SearchPath": path, "Query": "secret"})),
        ("run_command", json!({"CommandLine": "echo > evil", "Cwd": path})),
    ]
}

#[tokio::test]
async fn no_path_leads_out() {
    let scene = Scene::new();
    let root = scene.root();
    let outside = scene.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "secret").unwrap();
    // Begins like the workspace.
    std::fs::create_dir(scene.beside("ws-2")).unwrap();
    scene.put("inner/file", "secret");
    symlink(&outside, root.join("absolute")).unwrap();
    symlink("../outside", root.join("relative")).unwrap();
    symlink("../../outside", root.join("inner/deep")).unwrap();
    symlink("relative", root.join("chained")).unwrap();
    symlink(outside.join("file"), root.join("to_file")).unwrap();
    symlink(outside.join("new"), root.join("dangling")).unwrap();
    symlink("/proc/self/root", root.join("magic")).unwrap();
    symlink("/", root.join("slash")).unwrap();
    let text = |path: &Path| path.to_str().unwrap().to_owned();
    let paths = [
        text(&outside),
        text(&outside.join("file")),
        "../outside/file".to_owned(),
        "inner/../../outside/file".to_owned(),
        scene.path("../outside/file"),
        scene.path("inner/../../outside"),
        text(&scene.beside("ws-2/file")),
        "absolute/file".to_owned(),
        "absolute/new".to_owned(),
        "relative/file".to_owned(),
        "inner/deep/new/dir/file".to_owned(),
        "chained/file".to_owned(),
        "to_file".to_owned(),
        "dangling".to_owned(),
        format!("magic{}", text(&outside.join("file"))),
        format!("slash{}", text(&outside.join("file"))),
        "/etc/passwd".to_owned(),
        "/".to_owned(),
        "..".to_owned(),
        "/proc/self/cwd".to_owned(),
    ];
    for path in paths {
        for (tool, args) in calls(&path) {
            let error = scene.error(tool, args).await;
            assert!(error.contains("outside the workspaces"), "{tool} {path}: {error}");
        }
    }
    assert_eq!(names(&outside), ["file"]);
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "secret");
    for path in ["", "a\0b"] {
        for (tool, args) in calls(path) {
            scene.error(tool, args).await;
        }
    }
}

#[tokio::test]
async fn links_inside_are_followed_to_their_target() {
    let scene = Scene::new();
    let root = scene.root();
    scene.put("dir/real", "secret");
    symlink("dir/real", root.join("relative")).unwrap();
    symlink(root.join("dir"), root.join("absolute")).unwrap();
    symlink("../dir/../relative", root.join("dir/round")).unwrap();
    symlink("dir/new", root.join("dangling")).unwrap();
    for (path, contents) in [("relative", "1"), ("absolute/real", "2"), ("dir/round", "3")] {
        let args = json!({"TargetFile": path, "CodeContent": contents, "Overwrite": true});
        scene.text("write_to_file", args).await;
        assert_eq!(scene.read("dir/real"), contents, "{path}");
    }
    for link in ["relative", "absolute", "dir/round", "dangling"] {
        assert!(root.join(link).is_symlink(), "{link}");
    }
    scene.text("write_to_file", json!({"TargetFile": "dangling", "CodeContent": "4"})).await;
    assert_eq!(scene.read("dir/new"), "4");
    // The workspace by another name, and links in a circle.
    symlink(&root, scene.beside("alias")).unwrap();
    let cx = Cx::new(
        Workspaces::new([scene.beside("alias")]).unwrap(),
        Tasks::new(TaskLimits::default()),
    );
    for path in [scene.beside("alias").join("dir/real"), root.join("dir/real")] {
        let args = json!({"AbsolutePath": path});
        support::call(&scene.tools, &cx, "view_file", args).await.unwrap();
    }
    symlink("b", root.join("a")).unwrap();
    symlink("a", root.join("b")).unwrap();
    let error = scene.error("view_file", json!({"AbsolutePath": "a"})).await;
    assert!(error.ends_with("leads through more than 40 links"), "{error}");
}

#[tokio::test]
async fn a_link_leads_from_one_workspace_to_another() {
    let scene = Scene::new();
    let second = scene.beside("second");
    std::fs::create_dir(&second).unwrap();
    symlink(second.join("file"), scene.root().join("link")).unwrap();
    let cx = Cx::new(
        Workspaces::new([scene.root(), second.clone()]).unwrap(),
        Tasks::new(TaskLimits::default()),
    );
    let args = json!({"TargetFile": "link", "CodeContent": "x"});
    support::call(&scene.tools, &cx, "write_to_file", args).await.unwrap();
    assert_eq!(std::fs::read_to_string(second.join("file")).unwrap(), "x");
}

#[tokio::test]
async fn pipes_devices_and_sockets_are_refused() {
    let scene = Scene::new();
    let root = scene.root();
    mknodat(CWD, root.join("pipe"), FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    let _listener = UnixListener::bind(root.join("socket")).unwrap();
    for path in ["pipe", "socket"] {
        for (tool, args) in calls(path) {
            let error = scene.error(tool, args).await;
            let expected = error.contains("not a file") || error.contains("is no directory");
            assert!(expected, "{tool} {path}: {error}");
        }
        assert!(!root.join(path).is_file());
    }
    // They are passed over by searches.
    scene.put("file", "secret");
    let text = scene.text("grep_search", json!({"SearchPath": ".", "Query": "secret"})).await;
    assert!(text.starts_with("Found 1 line in 1 file"), "{text}");
    let cx = scene.cx.clone().read_outside(true);
    let args = json!({"AbsolutePath": "/dev/zero"});
    let error = support::call(&scene.tools, &cx, "view_file", args).await.unwrap_err();
    assert_eq!(error.to_string(), "`/dev/zero` is a device, not a file");
}

#[tokio::test]
async fn reading_outside_is_the_context_s_to_permit_and_writing_is_not() {
    let scene = Scene::new();
    let outside = scene.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "secret\n").unwrap();
    symlink(&outside, scene.root().join("link")).unwrap();
    let cx = scene.cx.clone().read_outside(true);
    for path in [outside.to_str().unwrap(), "../outside", "link"] {
        let file = format!("{path}/file");
        let calls: [(&str, Value); 4] = [
            ("view_file", json!({"AbsolutePath": file})),
            ("list_dir", json!({"DirectoryPath": path})),
            ("find_by_name", json!({"SearchDirectory": path})),
            ("grep_search", json!({"SearchPath": path, "Query": "secret"})),
        ];
        for (tool, args) in calls {
            let output = support::call(&scene.tools, &cx, tool, args).await.unwrap();
            let text = output.text();
            assert!(text.contains("secret") || text.contains("file"), "{tool} {path}: {text}");
        }
        let args = json!({"TargetFile": file, "CodeContent": "evil", "Overwrite": true});
        let error = support::call(&scene.tools, &cx, "write_to_file", args).await.unwrap_err();
        assert!(error.to_string().contains("outside the workspaces"), "{error}");
        let args = json!({"CommandLine": "true", "Cwd": path});
        let error = support::call(&scene.tools, &cx, "run_command", args).await.unwrap_err();
        assert!(error.to_string().contains("outside the workspaces"), "{error}");
    }
}

#[tokio::test]
async fn searches_do_not_follow_links() {
    let scene = Scene::new();
    let outside = scene.beside("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "secret").unwrap();
    symlink(&outside, scene.root().join("link")).unwrap();
    symlink(outside.join("file"), scene.root().join("file_link")).unwrap();
    let text = scene.text("grep_search", json!({"SearchPath": ".", "Query": "secret"})).await;
    assert!(text.starts_with("Nothing found"), "{text}");
    let text = scene.text("find_by_name", json!({"SearchDirectory": "."})).await;
    assert!(text.ends_with(":\nfile_link (a link)\nlink (a link)\n"), "{text}");
}

/// A thread swaps a directory for a link that leads out and back again, as fast as it can, while
/// files are written and read through it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_is_swapped_in_during_a_call_does_not_lead_out() {
    let scene = Scene::new();
    let (root, outside) = (scene.root(), scene.beside("outside"));
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("file"), "secret").unwrap();
    scene.put("dir/file", "harmless");
    symlink(&outside, root.join("link")).unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_over);
    let swapping = std::thread::spawn(move || {
        let (dir, link) = (root.join("dir"), root.join("link"));
        let mut swaps = 0_u64;
        while !stop.load(Ordering::Relaxed) {
            renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE).unwrap();
            swaps += 1;
        }
        swaps
    });
    let (mut inside, mut refused) = (0, 0);
    for round in 0..150 {
        let args = json!({"TargetFile": "dir/file", "CodeContent": "harmless", "Overwrite": true});
        let new = json!({"TargetFile": format!("dir/new-{round}"), "CodeContent": "evil"});
        let calls = [
            ("write_to_file", args),
            ("write_to_file", new),
            ("view_file", json!({"AbsolutePath": "dir/file"})),
            ("grep_search", json!({"SearchPath": ".", "Query": "secret"})),
        ];
        for (tool, args) in calls {
            match scene.call(tool, args).await {
                Ok(output) => {
                    assert!(!output.text().contains("1: secret"), "{tool}: {}", output.text());
                    inside += 1;
                }
                Err(_) => refused += 1,
            }
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let swaps = swapping.join().unwrap();
    assert_eq!(names(&outside), ["file"], "{inside} inside, {refused} refused, {swaps} swaps");
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "secret");
    assert!(swaps > 10 && inside > 0, "{inside} inside, {refused} refused, {swaps} swaps");
}

#[tokio::test]
async fn a_workspace_that_is_missing_is_told() {
    let scene = Scene::new();
    let error = Workspaces::new([scene.beside("none")]).unwrap_err().to_string();
    assert!(error.contains("none` cannot be used: "), "{error}");
    let none = Workspaces::new::<&str>([]).unwrap();
    let cx = Cx::new(none, Tasks::new(TaskLimits::default()));
    let tools = built_in(&Config::default());
    let args = json!({"AbsolutePath": "a"});
    let error = support::call(&tools, &cx, "view_file", args).await.unwrap_err().to_string();
    assert!(error.contains("(there are none)"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    })]

    /// Whatever a path is made of, what is outside stays as it is.
    #[test]
    fn no_combination_leads_out(
        paths in prop::collection::vec(
            prop::collection::vec(
                prop::sample::select(&["..", ".", "a", "b", "out", "up", "in", "round", "", "/"][..]),
                1..8,
            ),
            1..12,
        ),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let scene = Scene::new();
        let (root, outside) = (scene.root(), scene.beside("outside"));
        std::fs::create_dir_all(outside.join("a")).unwrap();
        std::fs::create_dir(root.join("a")).unwrap();
        symlink(&outside, root.join("out")).unwrap();
        symlink("..", root.join("a/up")).unwrap();
        symlink("../..", root.join("up")).unwrap();
        symlink(root.join("a"), root.join("in")).unwrap();
        symlink("../a/round", root.join("a/round")).unwrap();
        runtime.block_on(async {
            for path in &paths {
                let path = path.join("/");
                for path in [path.clone(), format!("{}/{path}", root.display())] {
                    let args = json!({"TargetFile": path, "CodeContent": "x", "Overwrite": true});
                    let _ = scene.call("write_to_file", args).await;
                }
            }
        });
        assert_eq!(names(root.parent().unwrap()), ["outside", "ws"]);
        assert_eq!(names(&outside), ["a"]);
        assert_eq!(names(&outside.join("a")), [""; 0]);
    }
}
