//! Secrets never reach a log: what is stored passes through here first.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

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
    /// Further names, in the same form.
    named: Vec<String>,
    values: Vec<Regex>,
}

/// Names of fields whose whole value is secret, in words joined by `_`.
const FIELDS: &str = r"(^|_)(passw(or)?d|passwd|pwd|passphrase|secrets?|tokens?|api_?keys?|access_?keys?|account_?keys?|private_?keys?|secret_?keys?|session_?keys?|credentials?|creds|auth|authorization|cookies?|bearer)($|_(string|value|key|id|header|data|b64|base64)$)";

/// What secrets look like inside a text. Where a pattern has a group, that part is the secret.
const VALUES: &[&str] = &[
    // Keys of well-known services, by their prefixes.
    r"\b(?:sk|pk|rk)[-_](?:live|test|ant|proj|or)?[-_]?[A-Za-z0-9_\-]{16,}",
    r"\bgh[pousr]_[A-Za-z0-9]{20,}",
    r"\bgithub_pat_[A-Za-z0-9_]{20,}",
    r"\bglpat-[A-Za-z0-9_\-]{16,}",
    r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9\-]{10,}",
    r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b",
    r"\bAIza[0-9A-Za-z_\-]{30,}",
    r"\bya29\.[0-9A-Za-z_\-]{20,}",
    r"\b(?:npm|hf)_[A-Za-z0-9]{30,}",
    // JSON web tokens.
    r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    // Private keys.
    r"-----BEGIN [A-Z ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY(?: BLOCK)?-----|$)",
    // Headers, to the end of their line or text.
    r#"(?i)\b(?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?(?:[a-z]+\s+)?([^\s"'\\]+)"#,
    r#"(?i)\b(?:set-)?cookie\s*:\s*([^\r\n"']+)"#,
    r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9_\-.~+/=]{8,})",
    // Assignments: a value in quotes to its end, escaped quotes as well, else a word.
    r#"(?i)(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key)[a-z0-9_\-]*(?:\\?["'])?\s*[=:]\s*\\?"([^"\\]+)"#,
    r#"(?i)(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key)[a-z0-9_\-]*(?:\\?["'])?\s*[=:]\s*'([^']+)"#,
    r#"(?i)(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key)["']?\s*[=:]\s*["']?([^\s"'&;,]{4,})"#,
    // Options of commands.
    r#"(?i)--?(?:password|passwd|token|secret|api-key|auth)[= ]"([^"]+)"#,
    r"(?i)--?(?:password|passwd|token|secret|api-key|auth)[= ]'([^']+)",
    r#"(?i)--(?:password|passwd|token|secret|api-key|auth)[= ]([^\s"'][^\s]*)"#,
    // Addresses that carry one: a password, to the last `@` of the host's part; or a user alone,
    // where it is long enough to be a token.
    r"[a-zA-Z][a-zA-Z0-9+.\-]*://[^\s/:@]*:([^\s/]+)@",
    r"[a-zA-Z][a-zA-Z0-9+.\-]*://([^\s/:@]{12,})@",
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
        let named = Vec::new();
        Ok(Self { patterns: Some(Patterns { fields: compile(FIELDS)?, named, values }) })
    }

    /// Hides what stands under these names as well, however they are written: `userId` is
    /// `user_id`.
    ///
    /// ```
    /// use tollgate_core::mask::Masker;
    ///
    /// let mut value = serde_json::json!({"userId": "ada", "city": "Turin"});
    /// Masker::default().and_fields(["user_id"]).value(&mut value);
    /// assert_eq!(value, serde_json::json!({"userId": "[masked]", "city": "Turin"}));
    /// ```
    #[must_use]
    pub fn and_fields<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        if let Some(patterns) = &mut self.patterns {
            patterns.named.extend(names.into_iter().map(|name| words_of(name.as_ref())));
        }
        self
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
        let words = words_of(name);
        self.patterns.as_ref().is_none_or(|patterns| {
            patterns.fields.is_match(&words) || patterns.named.contains(&words)
        })
    }

    /// Masks every text in a value, and everything under a name that says it is secret.
    pub fn value(&self, value: &mut Value) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.text(text) {
                    *text = masked;
                }
            }
            Value::Array(items) => {
                // `["--password", "x"]`: what stands behind such a word is its value.
                let mut secret = false;
                for item in items {
                    let option = item.as_str().filter(|text| text.starts_with('-'));
                    let names_secret = option
                        .is_some_and(|text| self.is_secret_field(text.trim_start_matches('-')));
                    if secret && !names_secret {
                        hide(item);
                    } else {
                        self.value(item);
                    }
                    secret = names_secret;
                }
            }
            Value::Object(fields) => self.fields(fields),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>) {
        // `{"name": "Authorization", "value": …}`: one field tells what the other holds.
        let told = ["name", "key", "header"]
            .iter()
            .filter_map(|field| fields.get(*field)?.as_str())
            .any(|name| self.is_secret_field(name));
        let odd_keys: Vec<String> =
            fields.keys().filter(|key| matches!(self.text(key), Cow::Owned(_))).cloned().collect();
        for (name, field) in fields.iter_mut() {
            if self.is_secret_field(name) || (told && name == "value") {
                hide(field);
            } else {
                self.value(field);
            }
        }
        for key in odd_keys {
            if let Some(field) = fields.remove(&key) {
                fields.insert(self.text(&key).into_owned(), field);
            }
        }
    }
}

/// Hides a value and all in it. What says nothing but that it is there stays.
fn hide(value: &mut Value) {
    if !matches!(value, Value::Null | Value::Bool(_)) {
        *value = Value::String(MASKED.to_owned());
    }
}

/// The words of a name, in lower case and joined by `_`: `dbPassword` and `DB-Password` are
/// `db_password`.
fn words_of(name: &str) -> String {
    let mut words = String::with_capacity(name.len() + 4);
    let mut lower = false;
    for c in name.chars() {
        if c.is_alphanumeric() {
            if c.is_uppercase() && lower {
                words.push('_');
            }
            lower = c.is_lowercase() || c.is_numeric();
            words.extend(c.to_lowercase());
        } else {
            words.push('_');
            lower = false;
        }
    }
    words
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
        for (text, masked) in [
            ("export OPENAI_API_KEY=sk-abcdefghijklmnopqrstuv", "export OPENAI_API_KEY=[masked]"),
            ("git clone https://me:hunter22@host/x", "git clone https://me:[masked]@host/x"),
            ("ghp_abcdefghijklmnopqrstuvwx and more", "[masked] and more"),
            ("AKIAABCDEFGHIJKLMNOP", "[masked]"),
            ("mysql --password=tr0ub4dor -u x", "mysql --password=[masked] -u x"),
            ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nrest", "[masked]\nrest"),
            ("redis://:5ecret@host", "redis://:[masked]@host"),
            ("https://u:p@5ecret@host/x", "https://u:[masked]@host/x"),
            ("https://abcdef0123456789@host/x", "https://[masked]@host/x"),
            ("password=\"my 5ecret phrase\" x", "password=\"[masked]\" x"),
            ("password='my 5ecret phrase' x", "password='[masked]' x"),
            ("x --password 'two 5ecrets' y", "x --password '[masked]' y"),
            (r#"{\"password\":\"5ecret\"}"#, r#"{\"password\":\"[masked]\"}"#),
            ("Authorization: Token 5ecret", "Authorization: Token [masked]"),
            ("Authorization: Bearer ab", "Authorization: Bearer [masked]"),
            ("Cookie: a=5ecret; b=5ecret", "Cookie: [masked]"),
            ("AccountKey=5ecret5ecret==", "AccountKey=[masked]"),
        ] {
            assert_eq!(mask(text), masked);
        }
        for harmless in [
            "rm -rf build",
            "the token ring",
            "sk-8",
            "author: me",
            "tokenizer=fast",
            "https://example.org/a@b",
            "see ssh://git@host/x",
            "basic idea",
        ] {
            assert_eq!(mask(harmless), harmless);
        }
    }

    #[test]
    fn fields_are_masked_by_name_with_all_below_them() {
        let mut value = json!({
            "args": {"password": "x", "list": [{"api_key": "y", "n": 1}]},
            "passwordless": "z", "monkey": "k", "authToken": "t", "dbPassword": 7,
            "SecretString": "s", "credentials": {"user": "u", "pw": ["x"]}, "Cookie": ["a"],
            "argv": ["mysql", "--password", "x", "-u", "me"],
            "headers": [{"name": "Authorization", "value": "Token x"}],
            "token": null, "has_token": true, "author": "me", "tokens_used": 12,
            "ghp_abcdefghijklmnopqrstuvwx": 1,
        });
        Masker::default().value(&mut value);
        assert_eq!(
            value,
            json!({
                "args": {"password": MASKED, "list": [{"api_key": MASKED, "n": 1}]},
                "passwordless": "z", "monkey": "k", "authToken": MASKED, "dbPassword": MASKED,
                "SecretString": MASKED, "credentials": MASKED, "Cookie": MASKED,
                "argv": ["mysql", "--password", MASKED, "-u", "me"],
                "headers": [{"name": "Authorization", "value": MASKED}],
                "token": null, "has_token": true, "author": "me", "tokens_used": 12,
                "[masked]": 1,
            })
        );
    }

    #[test]
    fn patterns_of_ones_own_are_added() {
        let masker = Masker::with([r"\bCUST-\d+"]).unwrap();
        assert_eq!(masker.text("for CUST-123"), "for [masked]");
        assert!(Masker::with(["("]).is_err());
    }
}
