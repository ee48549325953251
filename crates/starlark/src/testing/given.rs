//! What a test gives the script instead of the program around it.

use std::sync::{Mutex, PoisonError};

use serde_json::{Value as Json, json};
use tollgate_config::dialect::harness::Given;

use crate::host::{Call, Host, HttpCall, Reply};

pub(super) struct GivenHost<'a> {
    given: &'a Given,
    /// What the test would have had to say.
    unanswered: Mutex<Option<String>>,
}

impl<'a> GivenHost<'a> {
    pub(super) fn new(given: &'a Given) -> Self {
        Self { given, unanswered: Mutex::default() }
    }

    /// What was asked for and not given.
    pub(super) fn unanswered(&self) -> Option<String> {
        self.unanswered.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn missing(&self, what: String) -> String {
        let mut unanswered = self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        *unanswered = Some(what.clone());
        what
    }
}

impl Host for GivenHost<'_> {
    fn call(&self, call: Call) -> Reply {
        let given = self.given;
        match call {
            Call::CacheGet(key) => {
                Ok(given.cache.get(&key).map_or(Json::Null, |value| json!([value])))
            }
            Call::Metrics => Ok(given.metrics.clone().into()),
            Call::Hooks => Ok(given.hooks.clone().into()),
            Call::Http(HttpCall { method, url, .. }) => {
                let wanted = format!("{method} {url}");
                let response = given.http.get(&wanted).ok_or_else(|| {
                    self.missing(format!(
                        "the test does not say what `{wanted}` answers: put it into `$given`"
                    ))
                })?;
                Ok(json!({
                    "status": response.status,
                    "headers": response.headers,
                    "body": response.body,
                    "url": url,
                }))
            }
            Call::Tool { name, .. } => given.tools.get(&name).cloned().ok_or_else(|| {
                self.missing(format!(
                    "the test does not say what the tool `{name}` returns: put it into `$given`"
                ))
            }),
        }
    }
}
