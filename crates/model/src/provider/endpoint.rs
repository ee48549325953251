//! Where a provider is.

use std::net::{Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use super::{OpenError, Provider};

/// Ollama's own port, which people leave out.
const OLLAMA_PORT: u16 = 11434;

/// A base URL that can be used.
#[derive(Debug)]
pub(super) struct Base(Url);

impl Base {
    /// Reads what somebody wrote. Without a scheme, it is http on this machine; elsewhere, people
    /// must say that what is sent may be read on the way.
    pub(super) fn read(
        provider: Provider,
        origin: &'static str,
        text: &str,
    ) -> Result<Self, OpenError> {
        let text = text.trim();
        let has_scheme = text.contains("://");
        let full = if has_scheme { text.to_owned() } else { format!("http://{text}") };
        let refuse =
            |url: &str, why: String| OpenError::BaseUrl { origin, url: url.to_owned(), why };
        // What does not parse may have a password anywhere, so it is not shown.
        let mut url = Url::parse(&full).map_err(|error| refuse("…", error.to_string()))?;
        if !url.username().is_empty() || url.password().is_some() {
            let why = match provider.key_variable() {
                Some(variable) => {
                    format!("it has a name or password; the key belongs in {variable}")
                }
                None => "it has a name or password, which are not sent".to_owned(),
            };
            return Err(refuse("…", why));
        }
        let shown = shown(&url);
        if !matches!(url.scheme(), "http" | "https") {
            return Err(refuse(&shown, "it must begin with https:// or http://".to_owned()));
        }
        // A server's own setting: it listens everywhere, and is reached here.
        match url.host() {
            None => return Err(refuse(&shown, "it has no host".to_owned())),
            Some(Host::Ipv4(Ipv4Addr::UNSPECIFIED)) => {
                let _ = url.set_host(Some("127.0.0.1"));
            }
            Some(Host::Ipv6(Ipv6Addr::UNSPECIFIED)) => {
                let _ = url.set_host(Some("[::1]"));
            }
            Some(_) => {}
        }
        if !has_scheme {
            if !is_loopback(&url) {
                let why = format!(
                    "it has no scheme, and `{text}` is not this machine; write `https://{text}`, \
                     or `http://{text}` if others on the way may read what is sent"
                );
                return Err(refuse(&shown, why));
            }
            if provider == Provider::Ollama && url.port().is_none() {
                let _ = url.set_port(Some(OLLAMA_PORT));
            }
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    /// The URL to send requests for this model to.
    pub(super) fn url_for(&self, provider: Provider, model: &str) -> Url {
        let mut url = self.0.clone();
        let path = url.path().trim_end_matches('/').to_owned();
        let last = path.rsplit('/').next().unwrap_or_default();
        let has_version =
            last.starts_with('v') && last.chars().nth(1).is_some_and(|c| c.is_ascii_digit());
        let version = |name: &'static str| if has_version { "" } else { name };
        match provider {
            // What people set there has its version in it, by custom.
            Provider::OpenAi => url.set_path(&format!("{path}/chat/completions")),
            Provider::Anthropic => url.set_path(&format!("{path}{}/messages", version("/v1"))),
            Provider::Ollama => {
                let path = path.strip_suffix("/api").unwrap_or(&path);
                url.set_path(&format!("{path}/api/chat"));
            }
            Provider::Gemini => {
                url.set_path(&format!("{path}{}", version("/v1beta")));
                let model = model.strip_prefix("models/").unwrap_or(model);
                let (folder, model) = match model.split_once('/') {
                    Some((folder, model)) => (folder, model),
                    None => ("models", model),
                };
                if let Ok(mut segments) = url.path_segments_mut() {
                    segments.pop_if_empty().push(folder);
                    segments.push(&format!("{model}:streamGenerateContent"));
                }
                url.query_pairs_mut().append_pair("alt", "sse");
            }
        }
        url
    }
}

/// What somebody wrote as a URL, as it may be shown.
pub(super) fn shown_text(text: &str) -> String {
    Url::parse(text).map_or_else(|_| "…".to_owned(), |url| shown(&url))
}

/// A URL as it may be shown: the name, the password and the query can be secrets.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.to_string()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name.eq_ignore_ascii_case("localhost")
                || name.to_ascii_lowercase().ends_with(".localhost")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(provider: Provider, base: &str, model: &str) -> String {
        Base::read(provider, "options", base).unwrap().url_for(provider, model).to_string()
    }

    #[test]
    fn paths_are_added_as_each_provider_has_them() {
        use Provider::{Anthropic, Gemini, Ollama, OpenAi};
        let default = |provider: Provider| url(provider, provider.default_base_url(), "m-1");
        assert_eq!(default(OpenAi), "https://api.openai.com/v1/chat/completions");
        assert_eq!(default(Anthropic), "https://api.anthropic.com/v1/messages");
        let gemini = "https://generativelanguage.googleapis.com/v1beta/models/m-1:streamGenerateContent?alt=sse";
        assert_eq!(default(Gemini), gemini);
        assert_eq!(default(Ollama), "http://127.0.0.1:11434/api/chat");

        assert_eq!(url(Anthropic, "https://g.test/a/v1/", "m"), "https://g.test/a/v1/messages");
        assert_eq!(
            url(OpenAi, "https://g.test/x?api-version=2", "m"),
            "https://g.test/x/chat/completions?api-version=2"
        );
        assert_eq!(
            url(Gemini, "https://g.test/v1", "tunedModels/a b/../c?"),
            "https://g.test/v1/tunedModels/a%20b%2F..%2Fc%3F:streamGenerateContent?alt=sse"
        );
    }

    #[test]
    fn ollamas_host_is_what_ollama_takes_for_one() {
        for (host, expected) in [
            ("127.0.0.1", "http://127.0.0.1:11434/api/chat"),
            ("0.0.0.0:9", "http://127.0.0.1:9/api/chat"),
            ("[::]:9", "http://[::1]:9/api/chat"),
            ("localhost", "http://localhost:11434/api/chat"),
            ("http://gpu.test:9/", "http://gpu.test:9/api/chat"),
            ("https://gpu.test", "https://gpu.test/api/chat"),
        ] {
            assert_eq!(url(Provider::Ollama, host, "m"), expected);
        }
    }

    #[test]
    fn what_is_wrong_with_a_base_url_is_said_without_its_secrets() {
        for (base, said) in [
            ("gpu.test:9", "write `https://gpu.test:9`, or `http://gpu.test:9`"),
            ("ftp://g.test", "it must begin with https:// or http://"),
            ("https://me:hunter2@g.test", "the key belongs in OPENAI_API_KEY"),
            ("https://hunter2@[g", "invalid"),
            ("http://", "empty host"),
        ] {
            let error =
                Base::read(Provider::OpenAi, "OPENAI_BASE_URL", base).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
            assert!(error.starts_with("OPENAI_BASE_URL: "), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
