//! One hash for a whole survey.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A hash over everything in a survey, by which it can be trusted without being shown: what is
/// trusted is then what was looked at elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest(String);

/// How many digits a digest has: 160 bits, so that nobody finds two surveys with the same.
const DIGITS: usize = 40;

impl Digest {
    pub(super) fn of(hash: &blake3::Hash) -> Self {
        Self(hash.to_hex().chars().take(DIGITS).collect())
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A text that is no digest.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no digest of a survey: it has {DIGITS} digits from 0 to f")]
pub struct NotADigest(String);

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let digits = text.trim().to_ascii_lowercase();
        if digits.len() == DIGITS && digits.chars().all(|c| c.is_ascii_hexdigit()) {
            Ok(Self(digits))
        } else {
            Err(NotADigest(text.chars().take(80).collect()))
        }
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.0
    }
}
