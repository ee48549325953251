//! What a test gives the script instead of the program around it.

use serde_json::{Value as Json, json};
use tollgate_config::dialect::harness::Given;

use crate::host::{Call, Host, HttpCall, Reply};

pub(super) struct GivenHost<'a> {
    pub(super) given: &'a Given,
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
                    format!("the test does not say what `{wanted}` answers: put it into `$given`")
                })?;
                Ok(json!({
                    "status": response.status,
                    "headers": response.headers,
                    "body": response.body,
                    "url": url,
                }))
            }
            Call::Tool { name, .. } => given.tools.get(&name).cloned().ok_or_else(|| {
                format!(
                    "the test does not say what the tool `{name}` returns: put it into `$given`"
                )
            }),
        }
    }
}
