//! A secret.

use std::fmt;

use hyper::header::HeaderValue;

/// How many characters a secret has at least.
const SHORTEST: usize = 6;

/// A key, which is shown to nobody but the provider.
#[derive(Clone)]
pub(super) struct Key(String);

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[key]")
    }
}

impl Key {
    /// A key, if it can be sent as one.
    pub(super) fn new(text: String) -> Result<Self, &'static str> {
        if text.bytes().all(|byte| byte.is_ascii_graphic()) {
            Ok(Self(text))
        } else {
            Err("a key consists of visible ASCII characters, without spaces between them")
        }
    }

    /// The value of a header, which shows itself to nobody either.
    pub(super) fn header(&self, before: &str) -> Option<HeaderValue> {
        let mut value = HeaderValue::try_from(format!("{before}{}", self.0)).ok()?;
        value.set_sensitive(true);
        Some(value)
    }

    /// A text without the key, should somebody have put it there: some servers say in an error
    /// what they were sent.
    pub(super) fn masked_in(&self, text: &str) -> String {
        // Servers of one's own often take anything for a key; a word as short is no secret.
        if self.0.len() < SHORTEST {
            return text.to_owned();
        }
        text.replace(&self.0, "[key]")
    }
}
