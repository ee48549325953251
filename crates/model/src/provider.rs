//! Models that somebody else runs, by name.
//!
//! | Name | Format | Key | Other base URL |
//! | --- | --- | --- | --- |
//! | `openai/…` | chat completions, which many others speak too | `OPENAI_API_KEY` | `OPENAI_BASE_URL` |
//! | `anthropic/…` | messages | `ANTHROPIC_API_KEY` | `ANTHROPIC_BASE_URL` |
//! | `gemini/…` | `generateContent` | `GEMINI_API_KEY` | `GEMINI_BASE_URL`, `GOOGLE_GEMINI_BASE_URL` |
//! | `ollama/…` | chat | none | `OLLAMA_HOST` |
//! | `script:PATH` | [a script](crate::script) | none | |
//!
//! Keys come from the environment only, and only the provider is told. With another base URL, a
//! key is sent if there is one, and not asked for: servers of one's own often need none.
//! `SSL_CERT_FILE` names certificates to believe besides those that browsers do.
//!
//! Proxies that the environment names are not used; a gateway has a base URL.

mod anthropic;
mod decode;
mod draft;
mod endpoint;
mod failure;
mod gemini;
mod key;
mod ollama;
mod openai;
mod remote;

use std::fmt;
use std::path::PathBuf;

pub use crate::http::TlsError;
use crate::http::{Timeouts, tls_config};
use crate::model::Model;
use crate::retry::{Policy, Retry};
use crate::script::{ScriptError, Scripted};
use endpoint::Base;
use key::Key;
use remote::Remote;

/// How many tokens an answer may have where a provider wants to be told and the request does not
/// say.
pub const DEFAULT_MAX_TOKENS: u32 = 8192;

/// Who runs a model, and so how it is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Provider {
    /// OpenAI's chat completions, and whoever speaks like it.
    OpenAi,
    /// Anthropic's messages.
    Anthropic,
    /// Google's Gemini, `generateContent`.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

impl Provider {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::Anthropic, Self::Gemini, Self::Ollama];

    /// What names of its models begin with.
    pub fn name(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }

    /// The variable of the environment that holds the key.
    pub fn key_variable(self) -> Option<&'static str> {
        match self {
            Self::OpenAi => Some("OPENAI_API_KEY"),
            Self::Anthropic => Some("ANTHROPIC_API_KEY"),
            Self::Gemini => Some("GEMINI_API_KEY"),
            Self::Ollama => None,
        }
    }

    /// The variables of the environment that may hold another base URL. The first that is set
    /// counts.
    pub fn base_url_variables(self) -> &'static [&'static str] {
        match self {
            Self::OpenAi => &["OPENAI_BASE_URL"],
            Self::Anthropic => &["ANTHROPIC_BASE_URL"],
            Self::Gemini => &["GEMINI_BASE_URL", "GOOGLE_GEMINI_BASE_URL"],
            Self::Ollama => &["OLLAMA_HOST"],
        }
    }

    /// Where it is, unless somebody says otherwise.
    pub fn default_base_url(self) -> &'static str {
        match self {
            Self::OpenAi => "https://api.openai.com/v1",
            Self::Anthropic => "https://api.anthropic.com",
            Self::Gemini => "https://generativelanguage.googleapis.com",
            Self::Ollama => "http://127.0.0.1:11434",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// How much a call may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How many bytes a request may have.
    pub request: usize,
    /// How many bytes an answer may have in all.
    pub answer: usize,
    /// How many bytes one line or event of it may have. Some providers put all arguments of a
    /// call into one.
    pub line: usize,
    /// How many calls a reply may have.
    pub calls: usize,
}

impl Default for Limits {
    fn default() -> Self {
        const MEBIBYTE: usize = 1024 * 1024;
        Self { request: 64 * MEBIBYTE, answer: 32 * MEBIBYTE, line: 8 * MEBIBYTE, calls: 128 }
    }
}

/// How a model is opened.
#[derive(Clone, Default)]
pub struct Options {
    /// Where the provider is, instead of what the environment says.
    pub base_url: Option<String>,
    /// How long calls may take.
    pub timeouts: Timeouts,
    /// How large they may be.
    pub limits: Limits,
    /// How calls that failed are made again.
    pub retry: Policy,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A URL can have secrets in it.
        let base_url = self.base_url.as_deref().map(endpoint::shown_text);
        f.debug_struct("Options")
            .field("base_url", &base_url)
            .field("timeouts", &self.timeouts)
            .field("limits", &self.limits)
            .field("retry", &self.retry)
            .finish()
    }
}

/// Why a model cannot be opened.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// The name says nothing.
    #[error(
        "`{name}` names no model{}; write `openai/…`, `anthropic/…`, `gemini/…`, `ollama/…` or \
         `script:PATH`",
        hint.as_ref().map(|name| format!(" (`{name}`?)")).unwrap_or_default()
    )]
    Name {
        /// The name.
        name: String,
        /// What was perhaps meant.
        hint: Option<String>,
    },
    /// There is no key.
    #[error("`{model}` needs a key: set {variable} in the environment")]
    NoKey {
        /// The model.
        model: String,
        /// The variable.
        variable: &'static str,
    },
    /// The key cannot be one.
    #[error("{variable} holds no key: {why}")]
    BadKey {
        /// The variable.
        variable: &'static str,
        /// What is wrong with it, without saying what it is.
        why: &'static str,
    },
    /// The base URL cannot be used.
    #[error("{origin}: the base URL `{url}` cannot be used: {why}")]
    BaseUrl {
        /// Who said so: a variable, or the options.
        origin: &'static str,
        /// The URL, without secrets.
        url: String,
        /// What is wrong with it.
        why: String,
    },
    /// There can be no safe connections.
    #[error("SSL_CERT_FILE: {0}")]
    Tls(#[from] TlsError),
    /// The script is wrong.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

/// Opens a model by its name, with the environment of this process.
///
/// ```
/// use tollgate_model::provider::{self, Options};
///
/// let error = provider::open("claude-sonnet-4-5", &Options::default()).err().unwrap();
/// assert!(error.to_string().contains("(`anthropic/claude-sonnet-4-5`?)"));
/// ```
pub fn open(name: &str, options: &Options) -> Result<Box<dyn Model>, OpenError> {
    open_in(name, options, &|variable| std::env::var(variable).ok())
}

/// The same, with another environment.
///
/// ```
/// use tollgate_model::provider::{self, Options};
///
/// let error = provider::open_in("openai/gpt-5", &Options::default(), &|_| None).err().unwrap();
/// assert_eq!(
///     error.to_string(),
///     "`openai/gpt-5` needs a key: set OPENAI_API_KEY in the environment"
/// );
/// ```
pub fn open_in(
    name: &str,
    options: &Options,
    environment: &dyn Fn(&str) -> Option<String>,
) -> Result<Box<dyn Model>, OpenError> {
    if let Some(path) = name.strip_prefix("script:") {
        return Ok(Box::new(Scripted::open(path)?));
    }
    let (provider, model) = split(name)?;
    let is_set = |variable: &str| {
        environment(variable).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    };
    let said = options.base_url.clone().map(|url| ("options", url)).or_else(|| {
        let variables = provider.base_url_variables().iter();
        variables.copied().find_map(|variable| Some((variable, is_set(variable)?)))
    });
    let is_elsewhere = said.is_some();
    let base = match said {
        Some((origin, url)) => Base::read(provider, origin, &url)?,
        None => Base::read(provider, "default", provider.default_base_url())?,
    };
    let key = match provider.key_variable() {
        None => None,
        Some(variable) => match is_set(variable) {
            Some(text) => {
                let bad = |why| OpenError::BadKey { variable, why };
                Some(Key::new(text).map_err(bad)?)
            }
            None if is_elsewhere => None,
            None => return Err(OpenError::NoKey { model: name.to_owned(), variable }),
        },
    };
    let tls = tls_config(is_set("SSL_CERT_FILE").map(PathBuf::from))?;
    let remote = Remote {
        name: name.to_owned(),
        model: model.to_owned(),
        provider,
        is_elsewhere,
        url: base.url_for(provider, model),
        key,
        tls,
        timeouts: options.timeouts,
        limits: options.limits,
    };
    Ok(Box::new(Retry::new(remote, options.retry)))
}

fn split(name: &str) -> Result<(Provider, &str), OpenError> {
    let unknown = |hint| OpenError::Name { name: name.to_owned(), hint };
    match name.split_once('/') {
        Some((provider, model)) if !model.is_empty() => {
            let known = Provider::ALL.into_iter().find(|known| known.name() == provider);
            let meant = match provider.to_ascii_lowercase().as_str() {
                "google" | "google-ai" | "gemini" => Some("gemini"),
                "claude" | "anthropic" => Some("anthropic"),
                "gpt" | "open-ai" | "openai" => Some("openai"),
                "ollama" | "local" => Some("ollama"),
                _ => None,
            };
            known
                .map(|known| (known, model))
                .ok_or_else(|| unknown(meant.map(|meant| format!("{meant}/{model}"))))
        }
        _ => {
            let is_o_series = |name: &str| {
                name.strip_prefix('o')
                    .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
            };
            let meant = match name {
                _ if name.starts_with("claude") => Some("anthropic"),
                _ if name.starts_with("gpt") || is_o_series(name) => Some("openai"),
                _ if name.starts_with("gemini") => Some("gemini"),
                _ => None,
            };
            Err(unknown(meant.map(|provider| format!("{provider}/{name}"))))
        }
    }
}
