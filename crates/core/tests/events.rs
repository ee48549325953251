//! Events in JSON, both ways: `cases/events/`.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;
use tollgate_core::prelude::*;

#[derive(Deserialize)]
struct Case {
    event: Kind,
    payload: Value,
    error: Option<String>,
}

#[test]
fn payloads_are_read_and_written_back() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../../cases/events/payloads.json")).unwrap();
    for Case { event, payload, .. } in &cases {
        let read = AnyEvent::from_value(*event, payload.clone())
            .unwrap_or_else(|error| panic!("{payload}: {error}"));
        assert_eq!(read.kind(), *event);
        assert_eq!(read.to_value(), *payload);
        assert_eq!(AnyEvent::from_json(*event, &read.to_value().to_string()), Ok(read));
    }
    let covered: BTreeSet<Kind> = cases.iter().map(|case| case.event).collect();
    assert_eq!(covered.len(), Kind::ALL.len(), "every event has a case");
}

#[test]
fn what_is_no_payload_is_refused_with_its_place() {
    let cases: Vec<Case> =
        serde_json::from_str(include_str!("../../../cases/events/not-payloads.json")).unwrap();
    for Case { event, payload, error } in cases {
        let refused = AnyEvent::from_value(event, payload.clone()).unwrap_err();
        assert_eq!(Some(refused.to_string()), error, "{payload}");
    }
}

#[test]
fn names_are_read_and_unknown_ones_refused() {
    for kind in Kind::ALL {
        assert_eq!(kind.name().parse(), Ok(*kind));
    }
    let error = "tool.before".parse::<Kind>().unwrap_err().to_string();
    assert!(error.starts_with("unknown event `tool.before`; the events are session.start, "));
}

#[test]
fn deep_and_broken_json_is_an_error_not_a_crash() {
    let deep = format!("{{\"name\": \"t\", \"args\": {{\"a\": {}}}}}", "[".repeat(100_000));
    for text in [deep.as_str(), "", "{", "\u{0}", "{\"name\": \"t\"", "nul"] {
        let error = AnyEvent::from_json(Kind::ToolPre, text).unwrap_err().to_string();
        assert!(error.starts_with("tool.pre: "), "{error}");
    }
}
