//! Whether a hook did what its test expects.

use serde_json::{Map, Value as Json, json};
use tollgate_config::dialect::harness::{Artifact, Expect, Said, TestBlock};
use tollgate_core::ledger::{Effect, Ledger};

use crate::hook::describe;
use crate::sandbox::{Decided, Ran};

/// What is different from what was expected.
pub(super) fn failure(artifact: &Artifact, test: &TestBlock, ran: &Ran) -> Option<String> {
    let TestBlock { expect, expected, .. } = test;
    let decided = match (&ran.decided, expect) {
        (Ok(Decided::Allow), Expect::Allow)
        | (Ok(Decided::Skip), Expect::Skip)
        | (Ok(Decided::Block(_)), Expect::Block)
        | (Ok(Decided::Ask(_)), Expect::Ask)
        | (Ok(Decided::Modify(_)), Expect::Modify)
        | (Err(_), Expect::Error) => None,
        _ => Some(format!("expected {}, but {}", wanted(*expect), did(artifact, ran))),
    };
    decided
        .or_else(|| said(expected.reason.as_ref()?, artifact, ran))
        .or_else(|| patch(expected.patch.as_ref()?, ran))
        .or_else(|| logs(expected.logs.as_ref()?, ran))
        .or_else(|| metrics(expected.metrics.as_ref()?, test, ran))
        .or_else(|| {
            ran.changed_in_place.then(|| {
                "the hook changed its copy of the payload, which changes nothing: return \
                 modify({...})"
                    .to_owned()
            })
        })
}

const fn wanted(expect: Expect) -> &'static str {
    match expect {
        Expect::Allow => "that it allows",
        Expect::Block => "that it blocks",
        Expect::Ask => "that it asks",
        Expect::Modify => "that it modifies",
        Expect::Skip => "that its `when` is false",
        Expect::Error => "that it fails",
    }
}

fn did(artifact: &Artifact, ran: &Ran) -> String {
    match &ran.decided {
        Ok(Decided::Allow) => "it allowed".to_owned(),
        Ok(Decided::Skip) => "its `when` is false".to_owned(),
        Ok(Decided::Block(reason)) => format!("it blocked: {reason}"),
        Ok(Decided::Ask(reason)) => format!("it asked: {reason}"),
        Ok(Decided::Modify(patch)) => format!("it modified: {}", show(patch)),
        Err(failed) => format!("it failed: {}", describe(artifact, failed)),
    }
}

fn show(fields: &Map<String, Json>) -> String {
    serde_json::to_string(fields).unwrap_or_default()
}

fn said(wanted: &Said, artifact: &Artifact, ran: &Ran) -> Option<String> {
    let text = match &ran.decided {
        Ok(Decided::Block(reason) | Decided::Ask(reason)) => reason.clone(),
        Err(failed) => describe(artifact, failed),
        Ok(_) => String::new(),
    };
    let is_it = wanted.fits(&text);
    let wanted = match wanted {
        Said::Exactly(wanted) => format!("`{wanted}`"),
        Said::Contains(part) => format!("something with `{part}` in it"),
    };
    (!is_it).then(|| format!("it said `{text}`, not {wanted}"))
}

fn patch(wanted: &Map<String, Json>, ran: &Ran) -> Option<String> {
    match &ran.decided {
        Ok(Decided::Modify(patch)) if patch == wanted => None,
        Ok(Decided::Modify(patch)) => {
            Some(format!("it modified {}, not {}", show(patch), show(wanted)))
        }
        _ => None,
    }
}

/// Log entries are compared by what the test says of each: a text is a message.
fn logs(wanted: &[Json], ran: &Ran) -> Option<String> {
    let entries: Vec<Json> = ran
        .effects
        .iter()
        .filter_map(|effect| match effect {
            Effect::Log(entry) => {
                let mut shown = entry.fields.clone();
                shown.insert("level".to_owned(), json!(entry.level));
                shown.insert("message".to_owned(), entry.message.clone().into());
                Some(shown.into())
            }
            _ => None,
        })
        .collect();
    let fits = |(wanted, entry): (&Json, &Json)| match wanted {
        Json::Object(fields) => fields.iter().all(|(name, value)| entry.get(name) == Some(value)),
        text => entry.get("message") == Some(text),
    };
    let same = wanted.len() == entries.len() && wanted.iter().zip(&entries).all(fits);
    let show = |list: &[Json]| Json::from(list.to_vec()).to_string();
    (!same).then(|| format!("it logged {}, not {}", show(&entries), show(wanted)))
}

fn metrics(wanted: &Map<String, Json>, test: &TestBlock, ran: &Ran) -> Option<String> {
    let ledger = Ledger::default();
    for (name, value) in &test.given.metrics {
        let value = value.as_f64().unwrap_or_default();
        ledger.apply(&[Effect::Set { name: name.clone(), value }]);
    }
    ledger.apply(&ran.effects);
    let metrics = ledger.metrics();
    let wrong = wanted.iter().find(|(name, value)| {
        let is = metrics.get(*name).and_then(Json::as_f64);
        is.unwrap_or_default().total_cmp(&value.as_f64().unwrap_or_default()).is_ne()
    })?;
    let is = metrics.get(wrong.0).cloned().unwrap_or_default();
    Some(format!("`{}` is {is}, not {}", wrong.0, wrong.1))
}
