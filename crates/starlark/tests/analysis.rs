//! The cases of `cases/starlark/analysis`.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use serde_json::Value;
use tollgate_starlark::analysis::{
    self, Bounded, Problem, SCRIPT, WHEN, bounded, check_script, check_when, parse,
};

fn cases(name: &str) -> Value {
    let path = format!("{}/../../cases/starlark/analysis/{name}", env!("CARGO_MANIFEST_DIR"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Holds problems against `[kind, "line:column", help or null]`.
fn held(what: &str, text: &str, found: &[Problem], expected: &Value) {
    let shown = |problem: &Problem| {
        let (line, column) = problem.place(text);
        (problem.kind.name().to_owned(), format!("{line}:{column}"))
    };
    let expected = expected.as_array().unwrap();
    let wanted: Vec<_> = expected
        .iter()
        .map(|it| (it[0].as_str().unwrap().to_owned(), it[1].as_str().unwrap().to_owned()))
        .collect();
    assert_eq!(found.iter().map(shown).collect::<Vec<_>>(), wanted, "{what}: {found:#?}");
    for (problem, expected) in found.iter().zip(expected) {
        if let Some(help) = expected[2].as_str() {
            assert_eq!(problem.help.as_deref(), Some(help), "{what}");
        }
        // Messages begin in lower case, or with a name, and do not end as sentences do.
        let message = &problem.message;
        assert!(!message.starts_with(char::is_uppercase) && !message.ends_with('.'), "{message}");
    }
}

#[test]
fn scripts() {
    for case in cases("scripts.json").as_array().unwrap() {
        let name = case["name"].as_str().unwrap();
        let lines = case["script"].as_array().unwrap();
        let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
        let text = lines.join(
            "
",
        ) + "
";
        let found = match check_script(&text, &SCRIPT) {
            Ok(checked) => checked.warnings,
            Err(problems) => problems,
        };
        held(name, &text, &found, &case["problems"]);
        if let Some(message) = case["message"].as_str() {
            assert_eq!(found[0].message, message, "{name}");
        }
        let crlf = text.replace('\n', "\r\n");
        let found = match check_script(&crlf, &SCRIPT) {
            Ok(checked) => checked.warnings,
            Err(problems) => problems,
        };
        assert_eq!(found.len(), case["problems"].as_array().unwrap().len(), "{name} with CRLF");
    }
}

#[test]
fn whens() {
    for case in cases("whens.json").as_array().unwrap() {
        let text = case["when"].as_str().unwrap();
        match check_when(text, &WHEN) {
            Ok(checked) => {
                assert_eq!(case["problems"].as_array().unwrap().len(), 0, "{text}");
                assert_eq!(
                    checked.condition.is_some(),
                    case["native"].as_bool().unwrap(),
                    "{text}"
                );
                assert!(checked.bounded.is_yes(), "{text}: {:?}", checked.bounded);
                assert!(!checked.facts.may_mutate, "{text}");
            }
            Err(problems) => held(text, text, &problems, &case["problems"]),
        }
    }
}

#[test]
fn facts() {
    for case in cases("facts.json").as_array().unwrap() {
        let text = case["script"].as_str().unwrap();
        let facts = check_script(text, &SCRIPT).unwrap().facts;
        let uses: Vec<&str> = facts.uses.iter().copied().collect();
        assert_eq!(serde_json::json!(uses), case["uses"], "{text}");
        assert_eq!(facts.may_mutate, case["may_mutate"].as_bool().unwrap(), "{text}");
        assert_eq!(serde_json::json!(facts.lines), case["lines"], "{text}");
    }
}

#[test]
fn bounded_scripts() {
    let cases = cases("bounded.json");
    for case in cases["yes"].as_array().unwrap() {
        let text = case["script"].as_str().unwrap();
        let checked = check_script(text, &SCRIPT).unwrap();
        assert_eq!(checked.bounded, Bounded::Yes, "{}:\n{text}", case["name"]);
    }
    for case in cases["no"].as_array().unwrap() {
        let text = case["script"].as_str().unwrap();
        let answer = bounded(&parse(text).unwrap(), &SCRIPT);
        let Bounded::No { range, why } = answer else { panic!("{}:\n{text}", case["name"]) };
        assert!(!why.is_empty() && text.get(range.clone()).is_some(), "{}: {why}", case["name"]);
        if let Some(at) = case["at"].as_str() {
            let problem = Problem {
                kind: analysis::ProblemKind::NotAllowed,
                range,
                message: why,
                help: None,
                name: None,
            };
            let (line, column) = problem.place(text);
            assert_eq!(format!("{line}:{column}"), at, "{}: {}", case["name"], problem.message);
        }
    }
}

/// What scripts can use is what the table says: the standard names are Starlark's.
#[test]
fn the_standard_names_are_starlarks() {
    use tollgate_starlark::analysis::Names;
    let globals = starlark::environment::Globals::standard();
    let ours = SCRIPT.names();
    for (name, _) in globals.iter() {
        assert!(ours.contains(&name), "Starlark has `{name}`");
    }
}
