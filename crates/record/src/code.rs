//! Short codes that a person can type.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::folder::{RecordError, random};

/// The digits of Crockford's base 32: no I, L, O or U.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Number of characters of a code.
const LENGTH: usize = 6;

/// A code of six characters that names a refusal, and the exception that is made from it.
///
/// Codes are random: an agent cannot make a call whose code is one that a person has seen before.
///
/// ```
/// use tollgate_record::Code;
///
/// let code: Code = "7kq-2mx".parse()?;
/// assert_eq!(code.as_str(), "7KQ2MX");
/// assert_eq!("OIL000".parse::<Code>()?.as_str(), "011000");
/// assert!("7KQ2M".parse::<Code>().is_err());
/// # Ok::<(), tollgate_record::NotACode>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Code(String);

/// The error for a text that is not a code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a code: a code has {LENGTH} letters and digits, such as `7KQ2MX`")]
pub struct NotACode(String);

impl Code {
    /// Returns a new random code.
    pub fn random() -> Result<Self, RecordError> {
        let mut number = random()?;
        let mut text = String::with_capacity(LENGTH);
        for _ in 0..LENGTH {
            let digit = usize::try_from(number % 32).unwrap_or(0);
            text.push(DIGITS.get(digit).copied().map_or('0', char::from));
            number /= 32;
        }
        Ok(Self(text))
    }

    /// Returns the code as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for Code {
    type Err = NotACode;

    fn from_str(text: &str) -> Result<Self, NotACode> {
        let wrong = || NotACode(text.chars().take(20).collect());
        let digit = |c: char| match c.to_ascii_uppercase() {
            'O' => Some('0'),
            'I' | 'L' => Some('1'),
            c => u8::try_from(c).ok().filter(|c| DIGITS.contains(c)).map(char::from),
        };
        let typed = text.trim().chars().filter(|c| *c != '-');
        let code: Option<String> = typed.map(digit).collect();
        code.filter(|code| code.len() == LENGTH).map(Self).ok_or_else(wrong)
    }
}

impl TryFrom<String> for Code {
    type Error = NotACode;

    fn try_from(text: String) -> Result<Self, NotACode> {
        text.parse()
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.0
    }
}
