//! Viewing, writing, editing and listing files.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::os::unix::fs::{PermissionsExt, symlink};

use serde_json::json;
use support::{Scene, names};
use tollgate_tools::{Config, Limits, TaskLimits};

fn small() -> Scene {
    let limits = Limits {
        view_lines: 5,
        view_bytes: 3000,
        edit_bytes: 100,
        diff_bytes: 120,
        entries: 3,
        ..Limits::default()
    };
    Scene::with(&Config { limits, ..Config::default() }, TaskLimits::default())
}

#[tokio::test]
async fn a_file_is_viewed_by_lines() {
    let scene = Scene::new();
    scene.put("a.txt", "one\ntwo\r\nthree");
    let path = scene.path("a.txt");
    let view = async |start, end| {
        scene
            .text("view_file", json!({"AbsolutePath": path, "StartLine": start, "EndLine": end}))
            .await
    };
    let all = format!("{path}, lines 1-3 of 3:\n1: one\n2: two\n3: three\n");
    assert_eq!(view(None::<u32>, None::<u32>).await, all);
    assert_eq!(view(Some(0), Some(99)).await, all);
    assert_eq!(view(Some(2), Some(2)).await, format!("{path}, lines 2-2 of 3:\n2: two\n"));
    let text = scene.text("view_file", json!({"AbsolutePath": path, "StartLine": "3"})).await;
    assert_eq!(text, format!("{path}, lines 3-3 of 3:\n3: three\n"));
    let error = scene.error("view_file", json!({"AbsolutePath": path, "StartLine": 4})).await;
    assert_eq!(error, format!("`{path}` has 3 lines; StartLine is 4"));
    let error =
        scene.error("view_file", json!({"AbsolutePath": path, "StartLine": 3, "EndLine": 2})).await;
    assert_eq!(error, "EndLine (2) is before StartLine (3)");
    scene.put("empty", "");
    let text = scene.text("view_file", json!({"AbsolutePath": "empty"})).await;
    assert_eq!(text, format!("{} is empty.", scene.path("empty")));
    let error = scene.error("view_file", json!({"AbsolutePath": "."})).await;
    assert!(error.ends_with("is a directory; list it with list_dir"), "{error}");
    let error = scene.error("view_file", json!({"AbsolutePath": "no/such"})).await;
    let expected = format!("`no/such` does not exist: there is no `{}`", scene.path("no"));
    assert_eq!(error, expected);
}

#[tokio::test]
async fn what_is_left_out_of_a_view_is_told() {
    let scene = small();
    scene.put("many", "x\n".repeat(7));
    let text = scene.text("view_file", json!({"AbsolutePath": "many"})).await;
    assert!(text.contains("lines 1-5 of 7:\n1: x\n"), "{text}");
    assert!(text.ends_with("5: x\n(lines 6-7 left out; go on with StartLine 6)\n"), "{text}");
    let text = scene.text("view_file", json!({"AbsolutePath": "many", "StartLine": 6})).await;
    assert!(text.ends_with("lines 6-7 of 7:\n6: x\n7: x\n"), "{text}");
    scene.put("long", format!("{}\nshort\n", "é".repeat(5000)));
    let text = scene.text("view_file", json!({"AbsolutePath": "long"})).await;
    assert!(text.contains("éé… (8000 more bytes of this line)\n2: short\n"), "{text}");
    scene.put("wide", format!("{}\n", "a".repeat(1400)).repeat(3));
    let text = scene.text("view_file", json!({"AbsolutePath": "wide"})).await;
    assert!(text.ends_with("(lines 3-3 left out; go on with StartLine 3)\n"), "{text}");
}

#[tokio::test]
async fn binary_files_are_named() {
    let scene = Scene::new();
    scene.put("a.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    let text = scene.text("view_file", json!({"AbsolutePath": "a.png"})).await;
    let path = scene.path("a.png");
    assert_eq!(text, format!("{path} is a binary file (a PNG image, 16 bytes); it is not shown."));
    scene.put("latin", b"caf\xe9\n");
    let text = scene.text("view_file", json!({"AbsolutePath": "latin"})).await;
    assert!(text.ends_with("1: caf\u{fffd}\n"), "{text}");
}

#[tokio::test]
async fn a_new_file_gets_its_directories() {
    let scene = Scene::new();
    let args = json!({"TargetFile": scene.path("a/b/c.txt"), "CodeContent": "hello\n"});
    let text = scene.text("write_to_file", args.clone()).await;
    assert_eq!(text, format!("Created {} (1 line, 6 bytes).", scene.path("a/b/c.txt")));
    assert_eq!(scene.read("a/b/c.txt"), "hello\n");
    assert_eq!(names(&scene.root().join("a/b")), ["c.txt"]);
    let error = scene.error("write_to_file", args).await;
    assert!(error.contains("exists already; set Overwrite to true"), "{error}");
    let args = json!({"TargetFile": "a/b", "CodeContent": "", "Overwrite": true});
    let error = scene.error("write_to_file", args).await;
    assert!(error.ends_with("is a directory, not a file"), "{error}");
    let args = json!({"TargetFile": "a/b/c.txt/d", "CodeContent": ""});
    let error = scene.error("write_to_file", args).await;
    assert!(error.ends_with("which is no directory"), "{error}");
}

#[tokio::test]
async fn a_replaced_file_keeps_its_mode() {
    let scene = Scene::new();
    scene.put("run.sh", "#!/bin/sh\necho one\n");
    let path = scene.root().join("run.sh");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o750)).unwrap();
    let args = json!({
        "TargetFile": "run.sh", "CodeContent": "#!/bin/sh\necho two\n", "Overwrite": true,
    });
    let text = scene.text("write_to_file", args.clone()).await;
    assert!(text.ends_with("@@ -1,2 +1,2 @@\n #!/bin/sh\n-echo one\n+echo two\n"), "{text}");
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o7777, 0o750);
    assert_eq!(names(&scene.root()), ["run.sh"]);
    let text = scene.text("write_to_file", args.clone()).await;
    assert!(text.ends_with("nothing was changed."), "{text}");
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o444)).unwrap();
    let args = json!({"TargetFile": "run.sh", "CodeContent": "", "Overwrite": true});
    let error = scene.error("write_to_file", args).await;
    assert!(error.contains("is read-only"), "{error}");
}

#[tokio::test]
async fn sizes_have_a_bound() {
    let scene = small();
    let write = |length: usize| json!({"TargetFile": "a", "CodeContent": "x".repeat(length)});
    let error = scene.error("write_to_file", write(101)).await;
    assert!(error.contains("CodeContent has 101 bytes, and 100 is the limit"), "{error}");
    scene.text("write_to_file", write(100)).await;
    let edit = |with: &str| json!({"TargetFile": "a", "TargetContent": "x".repeat(100), "ReplacementContent": with});
    let error = scene.error("replace_file_content", edit(&"y".repeat(101))).await;
    assert!(error.contains("it would have 101 bytes, and 100 is the limit"), "{error}");
    assert_eq!(scene.read("a"), "x".repeat(100));
    scene.text("replace_file_content", edit(&"y\n".repeat(50))).await;
    let args = json!({
        "TargetFile": "a", "TargetContent": "y", "ReplacementContent": "z", "AllowMultiple": true,
    });
    let text = scene.text("replace_file_content", args).await;
    assert!(text.starts_with("Made 50 replacements in "), "{text}");
    assert!(text.contains(" lines of the diff left out)"), "{text}");
    scene.put("a", "x".repeat(101));
    let error = scene.error("replace_file_content", edit("")).await;
    assert!(error.contains("has more than 100 bytes"), "{error}");
}

const SOURCE: &str = "fn one() {\n    work();\n}\n\nfn two() {\n    work();\n}\n";

#[tokio::test]
async fn a_text_is_replaced_where_it_is() {
    let scene = Scene::new();
    scene.put("a.rs", SOURCE);
    let path = scene.path("a.rs");
    let edit = |target: &str, start: Option<u32>, end: Option<u32>| {
        json!({
            "TargetFile": path, "TargetContent": target, "ReplacementContent": "    rest();",
            "StartLine": start, "EndLine": end,
        })
    };
    let error = scene.error("replace_file_content", edit("    work();", None, None)).await;
    assert_eq!(
        error,
        format!(
            "`{path}` was not changed: it has TargetContent 2 times (at lines 2, 6); give more of \
             the text around it, narrow StartLine and EndLine, or set AllowMultiple"
        )
    );
    let error = scene.error("replace_file_content", edit("    work();", Some(3), Some(4))).await;
    assert!(
        error.ends_with("0 times within lines 3-4; outside of them it is at line 2, 6"),
        "{error}"
    );
    let text = scene.text("replace_file_content", edit("    work();", Some(5), None)).await;
    assert_eq!(
        text,
        format!(
            "Made 1 replacement in {path}.\n--- {path}\n+++ {path}\n@@ -4,4 +4,4 @@\n \n fn two() {{\n\
             -    work();\n+    rest();\n }}\n"
        )
    );
    assert_eq!(scene.read("a.rs"), SOURCE.replacen("two() {\n    work", "two() {\n    rest", 1));
    let error = scene.error("replace_file_content", edit("", None, None)).await;
    assert!(error.contains("empty TargetContent"), "{error}");
    let error = scene.error("replace_file_content", edit("    rest();", None, None)).await;
    assert!(error.ends_with("ReplacementContent is the same as TargetContent"), "{error}");
    let error = scene.error("replace_file_content", edit("x", Some(99), None)).await;
    assert!(error.ends_with("has StartLine 99, but there are only 7 lines"), "{error}");
}

#[tokio::test]
async fn near_misses_are_told() {
    let scene = Scene::new();
    scene.put("a.rs", SOURCE);
    let cases = [
        (
            "fn one() {\n  work();\n}",
            "line 1 is the same but for whitespace; line 2 is \"    work();\"",
        ),
        (
            "fn two() {\n    rest();",
            "line 5 begins like it, but line 6 is `    work();` and not `    rest();`",
        ),
        ("fn tow() {", "line 5 is similar: `fn two() {`"),
        ("0123456789", "nothing like it is there, view the file again"),
    ];
    for (target, expected) in cases {
        let args = json!({"TargetFile": "a.rs", "TargetContent": target, "ReplacementContent": ""});
        let error = scene.error("replace_file_content", args).await;
        assert!(error.contains(expected), "{target:?}: {error}");
    }
    assert_eq!(scene.read("a.rs"), SOURCE);
}

#[tokio::test]
async fn windows_line_ends_stay() {
    let scene = Scene::new();
    scene.put("a.txt", "one\r\ntwo\r\nthree\r\n");
    let args = json!({
        "TargetFile": "a.txt", "TargetContent": "one\ntwo", "ReplacementContent": "1\n2\n2b",
    });
    scene.text("replace_file_content", args).await;
    assert_eq!(scene.read("a.txt"), "1\r\n2\r\n2b\r\nthree\r\n");
}

#[tokio::test]
async fn chunks_are_all_replaced_or_none() {
    let scene = Scene::new();
    scene.put("a.rs", SOURCE);
    let chunk =
        |target: &str, with: &str| json!({"TargetContent": target, "ReplacementContent": with});
    let edit =
        |chunks: Vec<serde_json::Value>| json!({"TargetFile": "a.rs", "ReplacementChunks": chunks});
    let fits = chunk("fn one", "fn uno");
    let error = scene
        .error("multi_replace_file_content", edit(vec![fits.clone(), chunk("nope", "")]))
        .await;
    assert!(error.contains("was not changed: chunk 2 has TargetContent 0 times"), "{error}");
    let overlap = edit(vec![fits.clone(), chunk("one() {", "x")]);
    let error = scene.error("multi_replace_file_content", overlap).await;
    assert!(error.ends_with("chunk 2 overlaps with chunk 1 at line 1"), "{error}");
    assert_eq!(scene.read("a.rs"), SOURCE);
    // In whatever order they are given.
    let both = edit(vec![chunk("fn two", "fn due"), fits]);
    let text = scene.text("multi_replace_file_content", both).await;
    assert!(text.starts_with("Made 2 replacements in "), "{text}");
    assert_eq!(scene.read("a.rs"), SOURCE.replace("one", "uno").replace("two", "due"));
    let error = scene.error("multi_replace_file_content", edit(vec![])).await;
    assert!(error.contains("must have 1 to 1000"), "{error}");
    let error =
        scene.error("multi_replace_file_content", edit(vec![json!({"TargetContent": "a"})])).await;
    assert_eq!(
        error,
        "`ReplacementChunks[0].ReplacementContent` of `multi_replace_file_content` is missing"
    );
}

/// A small call that asks for a file of petabytes.
#[tokio::test]
async fn what_would_be_too_large_is_not_built() {
    let scene = Scene::new();
    scene.put("a", "x".repeat(100_000));
    let args = json!({
        "TargetFile": "a", "TargetContent": "x", "ReplacementContent": "y".repeat(1_000_000),
        "AllowMultiple": true,
    });
    let error = scene.error("replace_file_content", args.clone()).await;
    assert!(error.contains("it would have 100000000000 bytes"), "{error}");
    scene.put("a", "x".repeat(100_001));
    let error = scene.error("replace_file_content", args).await;
    assert!(error.contains("more than 100000 replacements"), "{error}");
    assert_eq!(scene.read("a").len(), 100_001);
}

#[tokio::test]
async fn a_directory_is_listed() {
    let scene = small();
    scene.put("b.txt", "12345");
    scene.put("a/x", "");
    symlink("b.txt", scene.root().join("c")).unwrap();
    let text = scene.text("list_dir", json!({"DirectoryPath": "."})).await;
    let root = scene.path("");
    let root = root.trim_end_matches('/');
    assert_eq!(text, format!("{root} has 3 entries.\na/\nb.txt (5 bytes)\nc (a link to b.txt)\n"));
    scene.put("d", "");
    let text = scene.text("list_dir", json!({"DirectoryPath": root})).await;
    assert!(text.ends_with("(1 more left out; find_by_name searches them)\n"), "{text}");
    let error = scene.error("list_dir", json!({"DirectoryPath": "b.txt"})).await;
    assert!(error.ends_with("is no directory"), "{error}");
}
