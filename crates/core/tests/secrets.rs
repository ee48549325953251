//! Secrets by their form, and programs that have none, as `cases/secrets` has them.

// A test fails by panicking.
#![allow(clippy::expect_used)]

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::json;
use tollgate_core::mask::{MASKED, Masker};

/// A secret that nobody has. It is stored in pieces, so that no scanner takes the file for a leak.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Format {
    /// The name of its kind.
    name: String,
    pieces: Vec<String>,
}

fn formats() -> Vec<Format> {
    let lines = include_str!("../../../cases/secrets/formats.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).expect(line)).collect()
}

/// Programs in twelve languages, about tokens, passwords and keys.
const SOURCES: &[(&str, &str)] = &[
    ("C", include_str!("../../../cases/secrets/source/auth.c")),
    ("TypeScript", include_str!("../../../cases/secrets/source/client.ts")),
    ("shell", include_str!("../../../cases/secrets/source/deploy.sh")),
    ("Markdown", include_str!("../../../cases/secrets/source/guide.md")),
    ("Rust", include_str!("../../../cases/secrets/source/lexer.rs")),
    ("Java", include_str!("../../../cases/secrets/source/Login.java")),
    ("Python", include_str!("../../../cases/secrets/source/session.py")),
    ("Kotlin", include_str!("../../../cases/secrets/source/Session.kt")),
    ("Go", include_str!("../../../cases/secrets/source/token.go")),
    ("PHP", include_str!("../../../cases/secrets/source/TokenGuard.php")),
    ("Ruby", include_str!("../../../cases/secrets/source/users_controller.rb")),
    ("YAML", include_str!("../../../cases/secrets/source/values.yaml")),
];

#[test]
fn every_format_is_found_wherever_it_stands() {
    let masker = Masker::default();
    for Format { name, pieces } in formats() {
        let secret = pieces.concat();
        for text in [
            secret.clone(),
            format!("2030-01-01T10:00:00Z INFO worker 7: used {secret} for the request"),
            format!("line 1\n{secret}\nline 3"),
            format!("fn main() {{\n    call();\n}}\n// {secret}\n"),
            format!("value=\"{secret}\","),
            format!("({secret})"),
        ] {
            let found = masker.find(&json!(text));
            assert!(found.contains(&name.as_str()), "{name} in {text:?}: {found:?}");
            let hidden = masker.text(&text);
            assert!(hidden.contains(MASKED) && !hidden.contains(&secret), "{hidden}");
            assert_eq!(masker.text(&hidden), hidden, "{name}");
        }
    }
}

#[test]
fn the_cases_are_of_more_than_two_hundred_kinds() {
    let formats = formats();
    let names: BTreeSet<&str> = formats.iter().map(|format| format.name.as_str()).collect();
    assert!(names.len() >= 200 && formats.len() >= 500, "{} of {}", formats.len(), names.len());
    for format in &formats {
        // Whoever adds one splits it where its beginning ends.
        assert!(format.pieces.len() > 1, "{}", format.name);
    }
}

#[test]
fn programs_stay_as_they_are() {
    let masker = Masker::default();
    let lines: usize = SOURCES.iter().map(|(_, text)| text.lines().count()).sum();
    assert!(lines >= 1000, "{lines} lines");
    for (language, text) in SOURCES {
        assert_eq!(masker.text(text), *text, "{language}");
        assert!(masker.find(&json!({ "result": text })).is_empty(), "{language}");
        // A part of a file is read as well, and one line of it.
        let lines: Vec<&str> = text.lines().collect();
        for size in [1, 3, 10] {
            for part in lines.windows(size) {
                let part = part.join("\n");
                assert_eq!(masker.text(&part), part, "{language}");
            }
        }
    }
}
