//! Secrets never reach a log: what is stored passes through here first.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use crate::matcher::PatternError;

/// What stands for a secret.
pub const MASKED: &str = "[masked]";

/// Finds secrets by the names of fields and by the look of values.
#[derive(Debug, Clone)]
pub struct Masker {
    /// `None` masks everything.
    patterns: Option<Patterns>,
}

#[derive(Debug, Clone)]
struct Patterns {
    fields: Regex,
    values: Vec<Regex>,
}

/// Names of fields whose whole value is secret.
const FIELDS: &str = r"(?i)(^|[_\-.])(passw(or)?d|passphrase|secret|secrets|token|api[_\-]?key|apikey|access[_\-]?key|private[_\-]?key|client[_\-]?secret|credentials?|authorization|cookie|session[_\-]?key)$";

/// What secrets look like inside a text. Where a pattern has a group, that part is the secret.
const VALUES: &[&str] = &[
    // Keys of well-known services, by their prefixes.
    r"\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_\-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_\-]{16,}",
    r"\bxox[abeoprs]-[A-Za-z0-9\-]{10,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_\-]{30,}",
    r"\bya29\.[0-9A-Za-z_\-]{20,}",
    r"\bnpm_[A-Za-z0-9]{30,}",
    // JSON web tokens.
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    // Private keys.
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
    // Headers, assignments and addresses that carry one.
    r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9_\-.~+/=]{8,})",
    r#"(?i)(?:passw(?:or)?d|secret|token|api[_\-]?key|access[_\-]?key)["']?\s*[=:]\s*["']?([^\s"'&;,]{4,})"#,
    r"(?i)--(?:password|token|secret|api-key)[= ]([^\s]+)",
    r"[a-z][a-z0-9+.\-]*://[^\s/:@]+:([^\s/@]+)@",
];

impl Default for Masker {
    fn default() -> Self {
        // Compiled once. The patterns are ours and a test compiles them; should one be broken
        // nonetheless, nothing is shown at all.
        static USUAL: LazyLock<Masker> =
            LazyLock::new(|| Masker::with([] as [&str; 0]).unwrap_or(Masker::everything()));
        USUAL.clone()
    }
}

impl Masker {
    /// The usual patterns and these. Where a pattern has a group, that part is masked.
    pub fn with<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, PatternError> {
        let compile = |pattern: &str| {
            Regex::new(pattern).map_err(|error| PatternError {
                pattern: pattern.to_owned(),
                form: "regular expression",
                message: error.to_string(),
            })
        };
        let mut values =
            VALUES.iter().map(|value| compile(value)).collect::<Result<Vec<_>, _>>()?;
        for pattern in patterns {
            values.push(compile(pattern.as_ref())?);
        }
        Ok(Self { patterns: Some(Patterns { fields: compile(FIELDS)?, values }) })
    }

    /// Masks every text.
    pub const fn everything() -> Self {
        Self { patterns: None }
    }

    /// A text without its secrets.
    ///
    /// ```
    /// use tollgate_core::mask::Masker;
    ///
    /// let masker = Masker::default();
    /// assert_eq!(masker.text("curl -H 'Authorization: Bearer abcdef123456'"),
    ///            "curl -H 'Authorization: Bearer [masked]'");
    /// assert_eq!(masker.text("nothing to hide"), "nothing to hide");
    /// ```
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let Some(patterns) = &self.patterns else { return Cow::Owned(MASKED.to_owned()) };
        let mut masked = Cow::Borrowed(text);
        for pattern in &patterns.values {
            if pattern.is_match(&masked) {
                let replaced = pattern.replace_all(&masked, |found: &regex::Captures<'_>| {
                    let whole = found.get(0).map_or("", |m| m.as_str());
                    match (found.get(0), found.get(1)) {
                        (Some(all), Some(secret)) => {
                            let before = whole.get(..secret.start() - all.start()).unwrap_or("");
                            let after = whole.get(secret.end() - all.start()..).unwrap_or("");
                            format!("{before}{MASKED}{after}")
                        }
                        _ => MASKED.to_owned(),
                    }
                });
                masked = Cow::Owned(replaced.into_owned());
            }
        }
        masked
    }

    fn is_secret_field(&self, name: &str) -> bool {
        self.patterns.as_ref().is_none_or(|patterns| patterns.fields.is_match(name))
    }

    /// Masks every text in a value, and whole fields by their names.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.value(item)),
            Value::Object(fields) => {
                for (name, field) in fields {
                    let secret = matches!(field, Value::String(_) | Value::Number(_))
                        && self.is_secret_field(name);
                    if secret {
                        *field = Value::String(MASKED.to_owned());
                    } else {
                        self.value(field);
                    }
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_pattern_of_ours_compiles() {
        assert!(Masker::with([] as [&str; 0]).is_ok());
        assert_eq!(Masker::everything().text("anything\nat all"), MASKED);
    }

    #[test]
    fn secrets_are_masked_and_the_rest_is_left() {
        let masker = Masker::default();
        let mask = |text: &str| masker.text(text).into_owned();
        assert_eq!(
            mask("export OPENAI_API_KEY=sk-abcdefghijklmnopqrstuv"),
            "export OPENAI_API_KEY=[masked]"
        );
        assert_eq!(
            mask("git clone https://me:hunter22@host/x"),
            "git clone https://me:[masked]@host/x"
        );
        assert_eq!(mask("ghp_abcdefghijklmnopqrstuvwx and more"), "[masked] and more");
        assert_eq!(mask("AKIAABCDEFGHIJKLMNOP"), "[masked]");
        assert_eq!(mask("mysql --password=tr0ub4dor -u x"), "mysql --password=[masked] -u x");
        assert_eq!(
            mask("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nrest"),
            "[masked]\nrest"
        );
        for harmless in ["rm -rf build", "the token ring", "sk-8", "author: me", "tokenizer=fast"] {
            assert_eq!(mask(harmless), harmless);
        }
    }

    #[test]
    fn fields_are_masked_by_name_at_any_depth() {
        let mut value = json!({"args": {"password": "x", "list": [{"api_key": "y", "n": 1}]}, "passwordless": "z"});
        Masker::default().value(&mut value);
        assert_eq!(
            value,
            json!({"args": {"password": MASKED, "list": [{"api_key": MASKED, "n": 1}]}, "passwordless": "z"})
        );
    }

    #[test]
    fn patterns_of_ones_own_are_added() {
        let masker = Masker::with([r"\bCUST-\d+"]).unwrap();
        assert_eq!(masker.text("for CUST-123"), "for [masked]");
        assert!(Masker::with(["("]).is_err());
    }
}
