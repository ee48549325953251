//! Writes that fail half way leave the old file whole, and nothing beside it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::os::unix::fs::PermissionsExt;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;
use support::{Scene, names, until};

/// The disk is full: here, files may not grow beyond some blocks. That is a property of a process,
/// so the test runs itself again in one that has it.
#[test]
fn a_full_disk_leaves_the_old_file() {
    const INNER: &str = "TOLLGATE_TEST_LIMITED";
    if std::env::var_os(INNER).is_none() {
        // The signal about it (25) is ignored, so that it is an error.
        let script = "trap '' 25; ulimit -f 64; exec \"$0\" \"$@\"";
        let output = Command::new("sh")
            .args(["-c", script])
            .arg(std::env::current_exe().unwrap())
            .args(["--exact", "a_full_disk_leaves_the_old_file", "--nocapture"])
            .env(INNER, "1")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let is_well = output.status.success() && printed.contains("1 passed");
        assert!(is_well, "{printed}{}", String::from_utf8_lossy(&output.stderr));
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let scene = Scene::new();
        scene.put("a", "old");
        let large = "x".repeat(1024 * 1024);
        let args = json!({"TargetFile": "a", "CodeContent": large, "Overwrite": true});
        let error = scene.error("write_to_file", args).await;
        assert!(error.starts_with("cannot write `"), "{error}");
        let args = json!({"TargetFile": "a", "TargetContent": "old", "ReplacementContent": large});
        scene.error("replace_file_content", args).await;
        let args = json!({"TargetFile": "new", "CodeContent": large});
        scene.error("write_to_file", args).await;
        assert_eq!(scene.read("a"), "old");
        assert_eq!(names(&scene.root()), ["a"]);
    });
}

#[tokio::test]
async fn a_directory_that_cannot_be_written_to_leaves_the_old_file() {
    let scene = Scene::new();
    scene.put("dir/a", "old");
    let dir = scene.root().join("dir");
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o555)).unwrap();
    // The superuser may write there all the same.
    let is_root = rustix::process::geteuid().is_root();
    let args = json!({"TargetFile": "dir/a", "CodeContent": "new", "Overwrite": true});
    let result = scene.call("write_to_file", args).await;
    std::fs::set_permissions(&dir, PermissionsExt::from_mode(0o755)).unwrap();
    assert_eq!(result.is_ok(), is_root);
    assert_eq!(scene.read("dir/a"), if is_root { "new" } else { "old" });
    assert_eq!(names(&dir), ["a"]);
}

#[tokio::test]
async fn a_name_that_no_file_can_have_leaves_nothing() {
    let scene = Scene::new();
    let args = json!({"TargetFile": "x".repeat(256), "CodeContent": "new"});
    scene.error("write_to_file", args).await;
    assert_eq!(names(&scene.root()), [""; 0]);
    let deep = format!("{}x", "d/".repeat(65));
    let error = scene.error("write_to_file", json!({"TargetFile": deep, "CodeContent": ""})).await;
    assert!(error.contains("more than 64 directories"), "{error}");
}

/// Whoever reads the file while it is written sees the old or the new one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_never_see_half_a_file() {
    let scene = Scene::new();
    let texts = ["a".repeat(100_000), "b".repeat(100_000)];
    scene.put("file", &texts[0]);
    let (path, is_over) = (scene.root().join("file"), Arc::new(AtomicBool::new(false)));
    let stop = Arc::clone(&is_over);
    let reading = std::thread::spawn(move || {
        let mut reads = 0;
        while !stop.load(Ordering::Relaxed) {
            let text = std::fs::read_to_string(&path).unwrap();
            let first = text.chars().next().unwrap();
            assert!(text.len() == 100_000 && text.chars().all(|c| c == first));
            reads += 1;
        }
        reads
    });
    for round in 0..40 {
        let text = &texts[(round + 1) % 2];
        let args = json!({"TargetFile": "file", "CodeContent": text, "Overwrite": true});
        scene.text("write_to_file", args).await;
    }
    is_over.store(true, Ordering::Relaxed);
    assert!(reading.join().unwrap() > 0);
    assert_eq!(names(&scene.root()), ["file"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dropped_write_leaves_no_temporary_file() {
    let scene = Scene::new();
    scene.put("file", "old");
    let large = "x".repeat(8 * 1024 * 1024);
    for _ in 0..5 {
        let args = json!({"TargetFile": "file", "CodeContent": large, "Overwrite": true});
        let call = scene.call("write_to_file", args);
        let _ = tokio::time::timeout(std::time::Duration::from_millis(3), call).await;
    }
    let root = scene.root();
    until("the writes end", || names(&root) == ["file"]).await;
    let text = scene.read("file");
    assert!(text == "old" || text == large);
}
