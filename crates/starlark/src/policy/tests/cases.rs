//! Files, calls and what is decided: cases/policy-star.

use std::fs;
use std::path::Path;

use serde::Deserialize;
use serde_json::{Map, Value};
use tollgate_core::event::ToolCall;
use tollgate_core::policy::Otherwise;

use super::{BASE, How, Loaded, check, now, problems, written};
use crate::policy::is_simple;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Cases {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    /// Lines.
    file: Vec<String>,
    #[serde(default)]
    closed: bool,
    #[serde(default)]
    calls: Vec<Call>,
    /// Each as `line:column message`.
    #[serde(default)]
    errors: Vec<String>,
    /// Whether its top level is bounded by its text.
    simple: Option<bool>,
    /// How many of its conditions have a native form, of how many.
    native: Option<(usize, usize)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Call {
    tool: String,
    server: Option<String>,
    #[serde(default)]
    args: Map<String, Value>,
    expect: String,
}

#[test]
fn all_cases() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/policy-star");
    let mut ran = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        let cases: Cases = serde_json::from_slice(&fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for case in &cases.cases {
            run(case);
            ran += 1;
        }
    }
    assert!(ran >= 50, "only {ran} cases ran");
}

fn run(case: &Case) {
    let name = &case.name;
    let text = case.file.join("\n") + "\n";
    assert_eq!(problems(&text), case.errors, "{name}");
    if let Some(simple) = case.simple {
        assert_eq!(is_simple(&check(&text).unwrap()), simple, "{name}");
    }
    if !case.errors.is_empty() {
        assert!(case.calls.is_empty(), "{name}: nothing is decided by a file with errors");
        return;
    }
    let loaded = Loaded::new(&text).unwrap();
    if let Some(expected) = case.native {
        let conditions = loaded.specs.iter().filter(|spec| spec.when().is_some());
        let natives = conditions.clone().filter(|spec| loaded.natives.condition(spec).is_some());
        assert_eq!((natives.count(), conditions.count()), expected, "{name}");
    }
    let otherwise = if case.closed { Otherwise::Closed } else { Otherwise::Open };
    for how in [How::InStarlark, How::NativeWherePossible] {
        let policies = loaded.policies(how, otherwise, Path::new(BASE)).unwrap();
        for call in &case.calls {
            let mut asked = ToolCall::new(&call.tool);
            asked.server.clone_from(&call.server);
            asked.args = call.args.clone();
            let outcome = written(&now(policies.decide(&asked)));
            let what = format!("{name}, {how:?}: {} {:?}", call.tool, call.args);
            // What an error says beyond that depends on where it was evaluated.
            match call.expect.strip_suffix('…') {
                Some(begin) => assert!(outcome.starts_with(begin), "{what}: {outcome}"),
                None => assert_eq!(outcome, call.expect, "{what}"),
            }
        }
    }
}
