//! What a person is shown of an edit is the edit that is made.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use std::fmt::Write as _;
use std::time::Instant;

use serde_json::{Value, json};
use support::{LONG, Scene};
use tollgate_tools::ToolFailure;

async fn preview(scene: &Scene, tool: &str, args: &Value) -> Option<Result<String, ToolFailure>> {
    let tool = scene.tools.iter().find(|one| one.spec().name == tool).unwrap();
    tool.preview(&scene.cx, args.as_object().unwrap()).await
}

/// A file in which the same line is there twice.
fn twice() -> String {
    let mut text = String::new();
    for number in 1..=60 {
        let line = if matches!(number, 2 | 55) { "limit = 1" } else { "-" };
        writeln!(text, "{line} ").unwrap();
    }
    text
}

#[tokio::test]
async fn the_diff_of_an_edit_is_that_of_the_tool() {
    let scene = Scene::new();
    for (before, tool, args) in [
        // Within lines, and not where the text is first.
        (
            twice(),
            "replace_file_content",
            json!({"TargetContent": "limit = 1", "ReplacementContent": "limit = 2", "StartLine": 50}),
        ),
        // On the text as it was, whatever the chunk before has put in.
        (
            "one\ntwo\n".to_owned(),
            "multi_replace_file_content",
            json!({"ReplacementChunks": [
                {"TargetContent": "one", "ReplacementContent": "two\none", "StartLine": 1, "EndLine": 1},
                {"TargetContent": "two", "ReplacementContent": "three"},
            ]}),
        ),
        (
            "a\r\nb\r\n".to_owned(),
            "replace_file_content",
            json!({"TargetContent": "a\nb", "ReplacementContent": "a\nc"}),
        ),
        ("old\n".to_owned(), "write_to_file", json!({"CodeContent": "new\n", "Overwrite": true})),
    ] {
        scene.put("file", &before);
        let mut args = args;
        args["TargetFile"] = scene.path("file").into();
        let shown = preview(&scene, tool, &args).await.unwrap().unwrap();
        assert_eq!(scene.read("file"), before, "a preview changes nothing");
        let said = scene.text(tool, args).await;
        assert!(said.ends_with(&shown), "{tool}: {said}\n{shown}");
        assert!(shown.contains("@@"), "{shown}");
    }
}

#[tokio::test]
async fn what_the_tool_would_refuse_is_told() {
    let scene = Scene::new();
    scene.put("file", twice());
    for (tool, args) in [
        (
            "replace_file_content",
            json!({"TargetFile": "file", "TargetContent": "limit = 1", "ReplacementContent": "x"}),
        ),
        ("write_to_file", json!({"TargetFile": "file", "CodeContent": "new"})),
        ("write_to_file", json!({"TargetFile": "../out", "CodeContent": "new"})),
        ("write_to_file", json!({"TargetFile": 1})),
        ("multi_replace_file_content", json!({"TargetFile": "file", "ReplacementChunks": []})),
    ] {
        let refused = preview(&scene, tool, &args).await.unwrap().unwrap_err().to_string();
        assert_eq!(refused, scene.error(tool, args).await);
    }
    assert!(preview(&scene, "view_file", &json!({"AbsolutePath": "file"})).await.is_none());
}

#[tokio::test]
async fn a_file_in_a_new_directory_is_shown_and_nothing_is_made() {
    let scene = Scene::new();
    for name in ["new/deeper/file", "new/../other/./file", "new/deeper/../../file"] {
        let args = json!({"TargetFile": name, "CodeContent": "text\n"});
        let shown = preview(&scene, "write_to_file", &args).await.unwrap().unwrap();
        assert!(shown.contains("+text"), "{shown}");
        assert_eq!(std::fs::read_dir(scene.root()).unwrap().count(), 0);
        let made = scene.text("write_to_file", args).await;
        let path = made.strip_prefix("Created ").unwrap().split(' ').next().unwrap();
        assert!(shown.starts_with(&format!("--- {path}\n")), "{made}: {shown}");
        for entry in std::fs::read_dir(scene.root()).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) }
                .unwrap();
        }
    }
    let args = json!({"TargetFile": "new/../../out", "CodeContent": "text\n"});
    let refused = preview(&scene, "write_to_file", &args).await.unwrap();
    assert!(refused.unwrap_err().to_string().contains("outside the workspaces"));
}

#[tokio::test]
async fn a_large_edit_is_shown_in_time_and_in_part() {
    let scene = Scene::new();
    let lines = |step: usize| -> String {
        let mut text = String::new();
        for line in 0..60_000 {
            writeln!(text, "{}", line * step % 60_000).unwrap();
        }
        text
    };
    scene.put("file", lines(1));
    let args = json!({"TargetFile": "file", "CodeContent": lines(7919), "Overwrite": true});
    let began = Instant::now();
    let shown = preview(&scene, "write_to_file", &args).await.unwrap().unwrap();
    assert!(began.elapsed() < LONG, "{:?}", began.elapsed());
    assert!(shown.len() < 300 * 1024 && shown.ends_with("of the diff left out)\n"));
}
