//! Searching for names and for text.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::time::Duration;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::{Value, json};
use support::Scene;
use tollgate_tools::{Config, Limits, TaskLimits};

fn tree(scene: &Scene) {
    scene.put("src/main.rs", "fn main() {\n    needle();\n}\n");
    scene.put("src/lib/a.rs", "Needle\n");
    scene.put("src/lib/b.txt", "a.needle\nno\nneedle needle\n");
    scene.put("target/out.rs", "needle\n");
    scene.put(".gitignore", "target/\n*.log\n");
    scene.put("x.log", "needle\n");
    scene.put(".github/ci.yml", "needle: 1\n");
    scene.put(".git/config", "needle\n");
    scene.put("bin", b"needle\0needle\n");
}

async fn found(scene: &Scene, mut args: Value) -> Vec<String> {
    args["SearchDirectory"] = scene.path("").into();
    let text = scene.text("find_by_name", args).await;
    text.lines().skip(1).map(str::to_owned).collect()
}

#[tokio::test]
async fn names_are_found() {
    let scene = Scene::new();
    tree(&scene);
    let all = found(&scene, json!({})).await;
    assert_eq!(
        all,
        [
            ".github/",
            ".github/ci.yml (10 bytes)",
            ".gitignore (14 bytes)",
            "bin (14 bytes)",
            "src/",
            "src/lib/",
            "src/lib/a.rs (7 bytes)",
            "src/lib/b.txt (26 bytes)",
            "src/main.rs (28 bytes)",
        ]
    );
    let names = async |args: Value| -> Vec<String> {
        let lines = found(&scene, args).await;
        lines.iter().map(|line| line.split(" (").next().unwrap().to_owned()).collect()
    };
    assert_eq!(names(json!({"Pattern": "*.rs"})).await, ["src/lib/a.rs", "src/main.rs"]);
    assert_eq!(names(json!({"Pattern": "src/*.rs"})).await, ["src/main.rs"]);
    assert_eq!(names(json!({"Pattern": "src/**/*.rs"})).await, ["src/lib/a.rs", "src/main.rs"]);
    assert_eq!(names(json!({"Type": "directory"})).await, [".github/", "src/", "src/lib/"]);
    assert_eq!(names(json!({"Type": "file", "MaxDepth": 1})).await, [".gitignore", "bin"]);
    assert_eq!(
        names(json!({"Extensions": ["txt", ".yml"]})).await,
        [".github/ci.yml", "src/lib/b.txt"]
    );
    assert_eq!(
        names(json!({"Excludes": ["src/lib", "*.yml"], "Type": "file"})).await,
        [".gitignore", "bin", "src/main.rs"]
    );
    let text = scene.text("find_by_name", json!({"SearchDirectory": ".", "Pattern": "zzz"})).await;
    assert!(text.starts_with("Found 0 entries below "), "{text}");
    let error = scene.error("find_by_name", json!({"SearchDirectory": ".", "Pattern": "a["})).await;
    assert!(error.starts_with("Pattern: "), "{error}");
    let many = vec!["*.x"; 65];
    let error =
        scene.error("find_by_name", json!({"SearchDirectory": ".", "Excludes": many})).await;
    assert!(error.starts_with("Excludes: at most 64 globs"), "{error}");
    let error = scene.error("find_by_name", json!({"SearchDirectory": ".", "Type": "fille"})).await;
    assert!(error.starts_with("`Type` of `find_by_name` does not fit: "), "{error}");
}

async fn hits(scene: &Scene, mut args: Value) -> Vec<String> {
    if args.get("SearchPath").is_none() {
        args["SearchPath"] = ".".into();
    }
    let text = scene.text("grep_search", args).await;
    text.lines().skip(1).map(str::to_owned).collect()
}

#[tokio::test]
async fn text_is_found() {
    let scene = Scene::new();
    tree(&scene);
    assert_eq!(
        hits(&scene, json!({"Query": "needle"})).await,
        [
            ".github/ci.yml:1: needle: 1",
            "src/lib/b.txt:1: a.needle",
            "src/lib/b.txt:3: needle needle",
            "src/main.rs:2:     needle();",
        ]
    );
    // A dot is a dot, unless it is an expression.
    assert_eq!(hits(&scene, json!({"Query": "a.n"})).await, ["src/lib/b.txt:1: a.needle"]);
    assert_eq!(
        hits(&scene, json!({"Query": "^.eedle$", "IsRegex": true})).await,
        ["src/lib/a.rs:1: Needle"]
    );
    assert_eq!(
        hits(&scene, json!({"Query": "NEEDLE", "CaseInsensitive": true, "Includes": ["*.rs"]}))
            .await,
        ["src/lib/a.rs:1: Needle", "src/main.rs:2:     needle();"]
    );
    assert_eq!(
        hits(&scene, json!({"Query": "needle", "Includes": ["src/**", "!*.rs"]})).await.len(),
        2
    );
    assert_eq!(
        hits(&scene, json!({"Query": "needle", "MatchPerLine": false})).await,
        [".github/ci.yml", "src/lib/b.txt", "src/main.rs"]
    );
    // A file that is named is searched, also one that git ignores.
    assert_eq!(
        hits(&scene, json!({"Query": "needle", "SearchPath": "x.log"})).await,
        [format!("{}:1: needle", scene.path("x.log"))]
    );
    let error = scene.error("grep_search", json!({"SearchPath": ".", "Query": ""})).await;
    assert!(error.contains("Query is empty"), "{error}");
    let args = json!({"SearchPath": ".", "Query": "(", "IsRegex": true});
    let error = scene.error("grep_search", args).await;
    assert!(error.contains("set IsRegex to false"), "{error}");
    let args = json!({"SearchPath": ".", "Query": "(a{1000}){1000}", "IsRegex": true});
    let error = scene.error("grep_search", args).await;
    assert!(error.contains("Query cannot be searched for"), "{error}");
}

/// Whoever wrote the tree may have put rules into it that never end.
#[tokio::test]
async fn rules_that_cannot_be_read_leave_their_directory_out() {
    let scene = Scene::new();
    scene.put("a/file", "needle\n");
    scene.put("b/file", "needle\n");
    scene.put("b/.gitignore", "x\n".repeat(128 * 1024));
    scene.put("c/file", "needle\n");
    scene.put("c/.gitignore", "x\n".repeat(128 * 1024 + 1));
    let pipe = scene.root().join("a/.gitignore");
    mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
    assert_eq!(hits(&scene, json!({"Query": "needle"})).await, ["b/file:1: needle"]);
    // At the directory that is searched or above it, they do not count.
    scene.put("a/inner/file", "needle\n");
    let inner = json!({"Query": "needle", "SearchPath": "a/inner"});
    assert_eq!(hits(&scene, inner).await, ["file:1: needle"]);
    let text = scene.text("find_by_name", json!({"SearchDirectory": "a", "Pattern": "file"})).await;
    assert!(text.starts_with("Found 2 entries"), "{text}");
}

#[tokio::test]
async fn searches_have_bounds() {
    let limits = Limits { results: 2, line_bytes: 10, search_bytes: 100, ..Limits::default() };
    let scene =
        Scene::with(&Config { limits: limits.clone(), ..Config::default() }, TaskLimits::default());
    scene.put("a", "needle\n".repeat(2));
    let text = scene.text("grep_search", json!({"SearchPath": ".", "Query": "needle"})).await;
    assert!(!text.contains("there are more"), "{text}");
    scene.put("b", "needle in a long line\n");
    let text = scene.text("grep_search", json!({"SearchPath": ".", "Query": "needle"})).await;
    assert!(
        text.ends_with(
            "a:2: needle\n(there are more; make Query, Includes or SearchPath narrower)\n"
        ),
        "{text}"
    );
    let text = scene.text("grep_search", json!({"SearchPath": ".", "Query": "long"})).await;
    assert!(text.ends_with("b:1: needle in … (11 more bytes of this line)\n"), "{text}");
    let text = scene.text("find_by_name", json!({"SearchDirectory": "."})).await;
    assert!(!text.contains("there are more"), "{text}");
    scene.put("c", "x".repeat(101));
    let text = scene.text("find_by_name", json!({"SearchDirectory": "."})).await;
    assert!(
        text.ends_with("(there are more; make Pattern or SearchDirectory narrower)\n"),
        "{text}"
    );
    let text = scene.text("grep_search", json!({"SearchPath": ".", "Query": "x"})).await;
    assert!(text.ends_with("(1 file of more than 100 bytes not searched)\n"), "{text}");
    let error = scene.error("grep_search", json!({"SearchPath": "c", "Query": "x"})).await;
    assert!(error.ends_with("has more than 100 bytes, which is the limit"), "{error}");

    let limits = Limits { search_time: Duration::ZERO, ..limits };
    let scene = Scene::with(&Config { limits, ..Config::default() }, TaskLimits::default());
    scene.put("a", "needle\n");
    for (tool, args) in [
        ("grep_search", json!({"SearchPath": ".", "Query": "needle"})),
        ("find_by_name", json!({"SearchDirectory": "."})),
    ] {
        let text = scene.text(tool, args).await;
        assert!(text.contains("the search was ended after 0ns"), "{text}");
    }
}
