//! Values of a configuration that may be secrets, and keeping them to ourselves.

use std::fmt;
use std::str::FromStr;

/// A value of a configuration: text, with `${NAME}` where the value of an environment variable
/// goes. It is put together when the server is started.
///
/// Not printed by `Debug`, because it may be a secret.
///
/// ```
/// use tollgate_mcp::Text;
///
/// let text: Text = "Bearer ${TOKEN}".parse()?;
/// assert_eq!(text.variables().collect::<Vec<_>>(), ["TOKEN"]);
/// assert!("Bearer ${TOKEN".parse::<Text>().is_err());
/// assert_eq!(format!("{:?}", Text::literal("s3cret")), "Text(..)");
/// # Ok::<(), tollgate_mcp::TextError>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Text {
    parts: Vec<Part>,
}

#[derive(Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Variable(String),
}

/// Why a text is none.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`${{` must be followed by the name of an environment variable and `}}`, as in `${{TOKEN}}`"
)]
pub struct TextError;

impl Text {
    /// This text, as it is.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { parts: vec![Part::Literal(text.into())] }
    }

    /// The value of this environment variable.
    pub fn variable(name: impl Into<String>) -> Self {
        Self { parts: vec![Part::Variable(name.into())] }
    }

    /// The environment variables that it takes values from.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Literal(_) => None,
            Part::Variable(name) => Some(name.as_str()),
        })
    }

    /// The whole, or the name of the variable that is not set.
    pub(crate) fn expand(
        &self,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<String, String> {
        let mut whole = String::new();
        for part in &self.parts {
            match part {
                Part::Literal(text) => whole.push_str(text),
                Part::Variable(name) => {
                    whole.push_str(&variable(name).ok_or_else(|| name.clone())?);
                }
            }
        }
        Ok(whole)
    }
}

impl FromStr for Text {
    type Err = TextError;

    fn from_str(text: &str) -> Result<Self, TextError> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let (name, behind) = after.split_once('}').ok_or(TextError)?;
            if !is_variable(name) {
                return Err(TextError);
            }
            if !before.is_empty() {
                parts.push(Part::Literal(before.to_owned()));
            }
            parts.push(Part::Variable(name.to_owned()));
            rest = behind;
        }
        if !rest.is_empty() || parts.is_empty() {
            parts.push(Part::Literal(rest.to_owned()));
        }
        Ok(Self { parts })
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Text(..)")
    }
}

/// Whether this can be the name of a variable that somebody means.
pub(crate) fn is_variable(name: &str) -> bool {
    let mut bytes = name.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// What must not be told on, because it came from where secrets are.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Shorter ones are in every other word, and no secrets.
    const SHORTEST: usize = 6;

    pub(crate) fn add(&mut self, value: &str) {
        if value.len() >= Self::SHORTEST {
            self.0.push(value.to_owned());
            // `Bearer TOKEN`: the token alone is one as well.
            let words = value.split_whitespace().filter(|word| word.len() >= Self::SHORTEST);
            self.0.extend(words.filter(|word| *word != value).map(str::to_owned));
            self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        }
    }

    /// The text, without them.
    pub(crate) fn mask(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, secret| text.replace(secret, "[hidden]"))
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secrets(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expanded(text: &str) -> Result<String, String> {
        let variable = |name: &str| (name == "A").then(|| "1".to_owned());
        text.parse::<Text>().map_err(|error| error.to_string())?.expand(variable)
    }

    #[test]
    fn variables_are_put_in() {
        assert_eq!(expanded(""), Ok(String::new()));
        assert_eq!(expanded("a $A {A} $"), Ok("a $A {A} $".to_owned()));
        assert_eq!(expanded("x${A}y${A}"), Ok("x1y1".to_owned()));
        assert_eq!(expanded("${B}"), Err("B".to_owned()));
        for wrong in ["${", "${}", "${A", "${A-b}", "${1}", "${A${A}}"] {
            assert!(wrong.parse::<Text>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn secrets_are_hidden_and_so_are_their_words() {
        let mut secrets = Secrets::default();
        secrets.add("Bearer abcdefgh");
        secrets.add("no");
        assert_eq!(secrets.mask("got Bearer abcdefgh, no"), "got [hidden], no");
        assert_eq!(secrets.mask("token=abcdefgh"), "token=[hidden]");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            if let Ok(read) = text.parse::<Text>() {
                let back = read.expand(|name| Some(format!("${{{name}}}")));
                prop_assert_eq!(back, Ok(text));
            }
        }
    }
}
