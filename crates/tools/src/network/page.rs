//! `read_url_content`.

use std::fmt::Write as _;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use tollgate_fetch::{Client, Request, Response};
use url::Url;

use super::html;
use crate::blocking::blocking;
use crate::built_in;
use crate::config::Limits;
use crate::text::head;
use crate::tool::{Output, Tool, ToolFailure};

/// How much of an answer that is an error is shown.
const ERROR: usize = 2000;

/// Arguments of `read_url_content`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct ReadUrlContent {
    /// The address, beginning with https:// or http://.
    url: String,
}

pub(super) fn tool(client: &Client, limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let (client, limits) = (client.clone(), Arc::clone(limits));
    built_in::tool(
        "read_url_content",
        "Reads a page or text from the web. HTML is turned into plain text with its links; a long \
         text is cut.",
        move |_, args: ReadUrlContent| {
            let (client, limits) = (client.clone(), Arc::clone(&limits));
            async move { read(&client, &args.url, limits).await.map(Output::new) }
        },
    )
}

async fn read(client: &Client, url: &str, limits: Arc<Limits>) -> Result<String, ToolFailure> {
    let accept = "text/html, text/markdown, text/plain, application/json;q=0.9, */*;q=0.5";
    let request = Request::get(url)
        .header("accept", accept)
        .header("user-agent", concat!("tollgate/", env!("CARGO_PKG_VERSION")));
    let response = client.send(request, limits.fetch_time).await;
    let response = response.map_err(|error| ToolFailure::Failed(error.to_string()))?;
    // A large page takes a while.
    blocking(move |_| show(&response, &limits)).await
}

fn show(response: &Response, limits: &Limits) -> Result<String, ToolFailure> {
    let kind = response.header("content-type").unwrap_or("unknown").trim();
    let kind = head(kind, 100);
    let text = text(response, kind, limits.view_bytes);
    if !(200..300).contains(&response.status) {
        let body = text.as_deref().unwrap_or_default();
        let problem = format!("{} answered with status {}", response.url, response.status);
        return Err(ToolFailure::Failed(match body.trim() {
            "" => problem,
            body => format!("{problem}: {}", head(body, ERROR)),
        }));
    }
    let top = format!("{} ({kind}, {} bytes)", response.url, response.body.len());
    let Some(text) = text else {
        return Ok(format!("{top} is no text; it is not shown."));
    };
    let shown = head(&text, limits.view_bytes);
    let mut page = format!("{top}:\n\n{shown}\n");
    if shown.len() < text.len() {
        let _ = writeln!(page, "\n(cut after {} bytes)", shown.len());
    }
    Ok(page)
}

/// The body as text, if it is any.
fn text(response: &Response, kind: &str, bytes: usize) -> Option<String> {
    let essence = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let is_html = matches!(essence.as_str(), "text/html" | "application/xhtml+xml");
    let is_text = is_html
        || essence.starts_with("text/")
        || essence.ends_with("+json")
        || essence.ends_with("+xml")
        || matches!(
            essence.as_str(),
            "application/json"
                | "application/xml"
                | "application/javascript"
                | "application/x-ndjson"
                | "application/yaml"
                | "application/toml"
        )
        // Nobody said what it is.
        || essence == "unknown" && !response.body.contains(&0);
    if !is_text {
        return None;
    }
    let charset = kind.split(';').skip(1).find_map(|part| {
        let (name, value) = part.split_once('=')?;
        name.trim().eq_ignore_ascii_case("charset").then(|| value.trim().trim_matches('"'))
    });
    let encoding = charset.and_then(|label| encoding_rs::Encoding::for_label(label.as_bytes()));
    let encoding = encoding.unwrap_or(encoding_rs::UTF_8);
    let (decoded, ..) = encoding.decode(&response.body);
    Some(if is_html {
        html::to_text(&decoded, Url::parse(&response.url).ok().as_ref(), bytes)
    } else {
        decoded.into_owned()
    })
}
