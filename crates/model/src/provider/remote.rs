//! A model at a provider: one call, from the request to the reply.

use std::fmt;
use std::sync::Arc;

use hyper::header::{HeaderName, HeaderValue};
use rustls::ClientConfig;
use tokio::time::timeout;
use url::Url;

use super::decode::Decoder;
use super::draft::Fault;
use super::endpoint::shown;
use super::key::Key;
use super::{Limits, Provider, anthropic, failure, gemini, ollama, openai};
use crate::error::{Failure, ModelError, Stage};
use crate::history;
use crate::http::{Answer, Post, Timeouts, Trouble};
use crate::message::Request;
use crate::model::{BoxFuture, Heard, Model, Reply};

/// How many bytes of a body that says what is wrong are read.
const ERROR_BODY: usize = 64 * 1024;

pub(super) struct Remote {
    pub(super) name: String,
    pub(super) model: String,
    pub(super) provider: Provider,
    /// Whether the base URL is not the provider's own.
    pub(super) is_elsewhere: bool,
    pub(super) url: Url,
    pub(super) key: Option<Key>,
    pub(super) tls: Arc<ClientConfig>,
    pub(super) timeouts: Timeouts,
    pub(super) limits: Limits,
}

impl fmt::Debug for Remote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = shown(&self.url);
        f.debug_struct("Remote")
            .field("name", &self.name)
            .field("url", &url)
            .finish_non_exhaustive()
    }
}

impl Model for Remote {
    fn name(&self) -> &str {
        &self.name
    }

    fn respond<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(async move {
            let whole = self.timeouts.whole;
            timeout(whole, self.ask(request, heard))
                .await
                .unwrap_or_else(|_| Err(self.trouble(Trouble::Late(Stage::Whole, whole), 0)))
        })
    }
}

impl Remote {
    async fn ask(&self, request: &Request, heard: &Heard<'_>) -> Result<Reply, ModelError> {
        let body = self.body(request)?;
        let post = Post { url: self.url.clone(), headers: self.headers(), body };
        let sent = post.send(&self.tls, self.timeouts).await;
        let answer = sent.map_err(|trouble| self.trouble(trouble, 0))?;
        if !answer.status.is_success() {
            return Err(self.refusal(answer).await);
        }
        self.check_kind(&answer)?;
        self.read(answer, heard).await
    }

    fn body(&self, request: &Request) -> Result<Vec<u8>, ModelError> {
        let turns = history::turns(request)?;
        let body = match self.provider {
            Provider::OpenAi => openai::body(&self.model, request, &turns, self.is_elsewhere),
            Provider::Anthropic => anthropic::body(&self.model, request, &turns)?,
            Provider::Gemini => gemini::body(&self.model, request, &turns)?,
            Provider::Ollama => ollama::body(&self.model, request, &turns),
        };
        let body = body.to_string().into_bytes();
        if body.len() > self.limits.request {
            return Err(self.too_large("the request in bytes", self.limits.request));
        }
        Ok(body)
    }

    fn headers(&self) -> Vec<(HeaderName, HeaderValue)> {
        let mut headers = vec![(
            hyper::header::USER_AGENT,
            HeaderValue::from_static(concat!("tollgate/", env!("CARGO_PKG_VERSION"))),
        )];
        if self.provider == Provider::Anthropic {
            let name = HeaderName::from_static("anthropic-version");
            headers.push((name, HeaderValue::from_static(anthropic::VERSION)));
        }
        let (name, before) = match self.provider {
            Provider::Anthropic => (HeaderName::from_static("x-api-key"), ""),
            Provider::Gemini => (HeaderName::from_static("x-goog-api-key"), ""),
            Provider::OpenAi | Provider::Ollama => (hyper::header::AUTHORIZATION, "Bearer "),
        };
        headers.extend(
            self.key.as_ref().and_then(|key| key.header(before)).map(|value| (name, value)),
        );
        headers
    }

    /// Something else than a stream is most often the page of whoever is at the wrong address.
    fn check_kind(&self, answer: &Answer) -> Result<(), ModelError> {
        let kind = answer.headers.get(hyper::header::CONTENT_TYPE);
        let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        let is_other = match self.provider {
            Provider::Ollama => kind == "text/html",
            _ => matches!(kind.as_str(), "text/html" | "application/json"),
        };
        if is_other {
            let why =
                format!("it is {kind} and no stream; check the base URL ({})", shown(&self.url));
            return Err(self.unreadable(&why));
        }
        Ok(())
    }

    async fn read(&self, mut answer: Answer, heard: &Heard<'_>) -> Result<Reply, ModelError> {
        let mut decoder = Decoder::new(self.provider, self.limits);
        loop {
            let bytes = decoder.bytes();
            let chunk = answer.chunk().await.map_err(|trouble| self.trouble(trouble, bytes))?;
            let reply = match chunk {
                Some(chunk) => decoder.push(&chunk, heard),
                None => decoder.end(heard).map(Some),
            };
            if let Some(reply) = reply.map_err(|fault| self.fault(fault, decoder.bytes()))? {
                return Ok(reply);
            }
        }
    }

    /// What an answer says that is none.
    async fn refusal(&self, answer: Answer) -> ModelError {
        let status = answer.status;
        let retry_after = failure::retry_after(&answer.headers);
        let location = answer.headers.get(hyper::header::LOCATION);
        let location = location.and_then(|value| value.to_str().ok()).map(failure::tidy);
        let mut failure = failure::in_body(&answer.excerpt(ERROR_BODY).await);
        failure.status = Some(status.as_u16());
        failure.retry_after = retry_after.or(failure.retry_after);
        if status.is_redirection() {
            let location = location.unwrap_or_default();
            let location = Url::parse(&location).map_or(location, |url| shown(&url));
            failure.message = format!("it redirects to `{location}`, which is not followed");
        }
        self.failed(failure)
    }

    fn failed(&self, mut failure: Failure) -> ModelError {
        if let Some(key) = &self.key {
            failure.message = key.masked_in(&failure.message);
            failure.kind = key.masked_in(&failure.kind);
        }
        failure.hint = self.hint(&failure);
        ModelError::Provider { model: self.name.clone(), failure }
    }

    /// What a person can do about it.
    fn hint(&self, failure: &Failure) -> String {
        if matches!(failure.kind.as_str(), "insufficient_quota" | "billing_hard_limit_reached") {
            return format!("the account at {} has no credit left", self.provider);
        }
        match (failure.status, self.provider.key_variable(), &self.key) {
            (Some(401 | 403), Some(variable), Some(_)) => {
                format!("check that {variable} holds a valid key that may use `{}`", self.model)
            }
            (Some(401 | 403), Some(variable), None) => format!("set {variable}"),
            (Some(300..=399), ..) => "set the base URL to where it leads".to_owned(),
            (Some(404), ..) => {
                let url = shown(&self.url);
                let pull = if self.provider == Provider::Ollama {
                    format!(", or run `ollama pull {}`", self.model)
                } else {
                    String::new()
                };
                format!(
                    "check the name of the model, `{}`, and the address, {url}{pull}",
                    self.model
                )
            }
            (Some(413), ..) => "the conversation is too long; shorten it".to_owned(),
            _ => String::new(),
        }
    }

    fn trouble(&self, trouble: Trouble, bytes: usize) -> ModelError {
        let model = self.name.clone();
        match trouble {
            Trouble::Late(stage, time) => ModelError::Deadline { model, stage, time },
            Trouble::Cut(why) => ModelError::Cut { model, bytes, why },
            Trouble::Unreadable(why) => ModelError::Unreadable { model, why },
            Trouble::Connect(why) => {
                let port = self.url.port_or_known_default().unwrap_or_default();
                let host = format!("{}:{port}", self.url.host_str().unwrap_or_default());
                ModelError::Connect { model, host, why }
            }
        }
    }

    fn fault(&self, fault: Fault, bytes: usize) -> ModelError {
        match fault {
            Fault::Unreadable(why) => self.unreadable(&why),
            Fault::Failed(failure) => self.failed(failure),
            Fault::BadCall(text) => ModelError::BadCall { model: self.name.clone(), text },
            Fault::TooLarge(what, limit) => self.too_large(what, limit),
            Fault::Cut => {
                let why = "it does not say that it is complete".to_owned();
                self.trouble(Trouble::Cut(why), bytes)
            }
        }
    }

    fn unreadable(&self, why: &str) -> ModelError {
        let why = self.key.as_ref().map_or_else(|| why.to_owned(), |key| key.masked_in(why));
        let why = failure::tidy(&why);
        ModelError::Unreadable { model: self.name.clone(), why }
    }

    fn too_large(&self, what: &'static str, limit: usize) -> ModelError {
        ModelError::TooLarge { model: self.name.clone(), what, limit }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::tls_config;

    #[test]
    fn nothing_shows_a_key() {
        let remote = Remote {
            name: "openai/x".to_owned(),
            model: "x".to_owned(),
            provider: Provider::OpenAi,
            is_elsewhere: true,
            url: Url::parse("https://g.test/v1?key=hunter2").unwrap(),
            key: Some(Key::new("hunter2".to_owned()).unwrap()),
            tls: tls_config(None).unwrap(),
            timeouts: Timeouts::default(),
            limits: Limits::default(),
        };
        let headers = remote.headers();
        assert!(headers.iter().any(|(_, value)| value == "Bearer hunter2"));
        let unreadable = remote.fault(Fault::Unreadable("in `hunter2`".to_owned()), 0);
        let shown = format!("{remote:?} {remote:#?} {:?} {headers:?} {unreadable}", remote.key);
        assert!(!shown.contains("hunter2"), "{shown}");
        let retry = crate::Retry::new(remote, crate::Policy::default());
        assert!(!format!("{retry:?}").contains("hunter2"));
    }
}
