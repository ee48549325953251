//! What the native harness decides: as policies do, but closed where no rule applies.
//!
//! A case has only the results; its rules and its call are those of the policy case of the same
//! id. The harness's messages are worded in another way and are not compared.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::{Value, json};
use tollgate_core::policy::Otherwise;

use super::file::CaseFile;
use super::policy::{Case, Rules};
use super::report::{Comparison, Difference, Report};

#[derive(Debug, Deserialize)]
struct Expected {
    id: String,
    allow: bool,
    trace: Value,
}

/// Runs the cases of a file, which are joined to those of `policies`.
pub async fn check(file: &CaseFile, policies: &CaseFile) -> Report {
    let mut places = HashMap::new();
    for (place, case) in policies.cases().iter().enumerate() {
        if let Some(id) = case.get("id").and_then(Value::as_str) {
            places.entry(id).or_insert(place);
        }
    }
    let mut report = Report::default();
    for place in 0..file.cases().len() {
        let differences = match file.read_case::<Expected>(place) {
            Ok(expected) => match places.get(expected.id.as_str()) {
                Some(joined) => match policies.read_case::<Case>(*joined) {
                    Ok(case) => differences(&case, &expected).await,
                    Err(unreadable) => vec![unreadable],
                },
                None => vec![Difference::new(
                    "the policy case it joins",
                    format!("a case `{}` in {}", expected.id, policies.path().display()),
                    "there is none",
                )],
            },
            Err(unreadable) => vec![unreadable],
        };
        report.count(file.failure(place, differences));
    }
    report
}

async fn differences(case: &Case, expected: &Expected) -> Vec<Difference> {
    let mut comparison = Comparison::default();
    match case.policies(Rules::All, Otherwise::Closed) {
        Ok((policies, trace)) => {
            let outcome = policies.decide(&case.call()).await;
            comparison.same("allow", &json!(expected.allow), &json!(outcome.is_allowed()));
            comparison.same("trace", &expected.trace, &trace.value());
        }
        Err(error) => comparison.differ("the rules", "they are accepted", error.to_string()),
    }
    comparison.differences
}
