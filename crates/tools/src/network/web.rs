//! `search_web`.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_fetch::{Client, Limits as FetchLimits, Request};
use url::Url;

use super::{EndpointError, client_for, endpoint};
use crate::built_in;
use crate::config::Limits;
use crate::text::head;
use crate::tool::{Output, Tool, ToolFailure};

/// How many results are shown.
const RESULTS: usize = 10;

/// How many bytes of each part of a result are shown.
const PART: usize = 500;

/// How long a query may be.
const QUERY: usize = 2000;

/// A search engine that answers like [SearXNG](https://docs.searxng.org/dev/search_api.html):
/// `?q=…&format=json`.
#[derive(Debug, Clone)]
pub struct WebSearch {
    url: Url,
    client: Client,
}

impl WebSearch {
    /// The engine at this address. Requests go to its host and nowhere else.
    ///
    /// ```
    /// use tollgate_tools::WebSearch;
    ///
    /// assert!(WebSearch::new("http://127.0.0.1:8888/search").is_ok());
    /// assert!(WebSearch::new("ftp://example.org/").is_err());
    /// ```
    pub fn new(address: &str) -> Result<Self, EndpointError> {
        let url = endpoint(address)?;
        let client = client_for(&url, FetchLimits::default());
        Ok(Self { url, client })
    }
}

/// Arguments of `search_web`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
struct SearchWeb {
    /// What to look for.
    query: String,
    /// Only results of this domain, such as `example.org`.
    domain: Option<String>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    results: Vec<Found>,
}

#[derive(Deserialize)]
struct Found {
    #[serde(default)]
    title: Option<String>,
    #[serde(default)]
    url: Option<String>,
    #[serde(default)]
    content: Option<String>,
}

pub(super) fn tool(search: &WebSearch, limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let (search, time) = (search.clone(), limits.fetch_time);
    built_in::tool(
        "search_web",
        "Searches the web and returns titles, addresses and excerpts.",
        move |_, args: SearchWeb| {
            let search = search.clone();
            async move { search.ask(&args, time).await.map(Output::new) }
        },
    )
}

impl WebSearch {
    async fn ask(
        &self,
        args: &SearchWeb,
        time: std::time::Duration,
    ) -> Result<String, ToolFailure> {
        let failed = |problem: String| ToolFailure::Failed(format!("the search failed: {problem}"));
        if args.query.trim().is_empty() || args.query.len() > QUERY {
            return Err(failed(format!("query is empty, or longer than {QUERY} bytes")));
        }
        let domain = args.domain.as_deref().map(str::trim).filter(|domain| !domain.is_empty());
        if domain.is_some_and(|domain| domain.contains(|c: char| c.is_whitespace() || c == ':')) {
            return Err(failed("domain is no name of a host".to_owned()));
        }
        let query = match domain {
            Some(domain) => format!("site:{domain} {}", args.query),
            None => args.query.clone(),
        };
        let mut url = self.url.clone();
        url.query_pairs_mut().append_pair("q", &query).append_pair("format", "json");
        let request = Request::get(url).header("accept", "application/json");
        let response =
            self.client.send(request, time).await.map_err(|error| failed(error.to_string()))?;
        if response.status != 200 {
            return Err(failed(format!("the engine answered with status {}", response.status)));
        }
        let answer: Answer = serde_json::from_slice(&response.body)
            .map_err(|error| failed(format!("the engine's answer is not as expected: {error}")))?;
        Ok(show(&query, &answer))
    }
}

fn show(query: &str, answer: &Answer) -> String {
    if answer.results.is_empty() {
        return format!("Nothing found for `{query}`.");
    }
    let shown = answer.results.len().min(RESULTS);
    let mut text = format!("{shown} of {} results for `{query}`:\n", answer.results.len());
    for (number, found) in answer.results.iter().take(RESULTS).enumerate() {
        let part = |part: &Option<String>| {
            let part = part.as_deref().unwrap_or_default();
            let part = part.split_whitespace().collect::<Vec<_>>().join(" ");
            head(&part, PART).to_owned()
        };
        let _ = write!(text, "\n{}. {}\n   {}\n", number + 1, part(&found.title), part(&found.url));
        let content = part(&found.content);
        if !content.is_empty() {
            let _ = writeln!(text, "   {content}");
        }
    }
    text
}
