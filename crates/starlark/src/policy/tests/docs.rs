//! What docs/policies.md shows is so.

use std::path::Path;

use serde_json::{Map, Value};
use tollgate_core::event::ToolCall;
use tollgate_core::policy::Otherwise;

use super::{BASE, How, Loaded, now, problems, written};

/// The fenced blocks of a page: the language and the text of each.
fn blocks(page: &str) -> Vec<(&str, String)> {
    let mut blocks = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(language) = line.strip_prefix("```") {
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            blocks.push((language, text.join("\n") + "\n"));
        }
    }
    blocks
}

/// `tool {"arg": …}`, with the server before the tool where there is one: `server/tool`.
fn call(text: &str) -> ToolCall {
    let (name, args) = text.trim().split_once(' ').unwrap_or((text.trim(), "{}"));
    let (server, name) = match name.split_once('/') {
        Some((server, name)) => (Some(server.to_owned()), name),
        None => (None, name),
    };
    let mut call = ToolCall::new(name);
    call.server = server;
    call.args = serde_json::from_str::<Map<String, Value>>(args).unwrap();
    call
}

#[test]
fn the_examples_of_the_documentation() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/policies.md");
    let page = std::fs::read_to_string(path).unwrap();
    let mut file = String::new();
    let mut checked = 0;
    for (language, text) in blocks(&page) {
        if language == "python" {
            file = text;
            continue;
        }
        if language != "text" {
            continue;
        }
        for line in text.lines() {
            checked += 1;
            if let Some(error) = line.strip_prefix("error at ") {
                assert_eq!(problems(&file), [error], "{file}");
                continue;
            }
            let (asked, expected) = line.split_once(" -> ").unwrap();
            let loaded = Loaded::new(&file).unwrap_or_else(|error| panic!("{error}\n{file}"));
            for how in [How::InStarlark, How::NativeWherePossible] {
                let policies = loaded.policies(how, Otherwise::Open, Path::new(BASE)).unwrap();
                let outcome = now(policies.decide(&call(asked)));
                assert_eq!(written(&outcome), expected, "{asked}\n{file}");
            }
        }
    }
    assert!(checked >= 20, "only {checked} lines were checked");
    // A file without outcomes is at least one that loads.
    for (language, text) in blocks(&page) {
        if language == "python" && !page.contains(&format!("{text}```\n\n```text\nerror")) {
            assert_eq!(problems(&text), [""; 0], "{text}");
        }
    }
}
