//! Secrets never reach a log: what is stored passes through here first.

mod kinds;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use serde_json::{Map, Value};

use crate::matcher::PatternError;
use kinds::{KINDS, NAMED, is_value};

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
    /// Names beside the usual ones, in words joined by `_`.
    named: Vec<String>,
    /// Patterns beside the usual ones.
    own: Vec<Regex>,
}

/// What every masker looks for.
#[derive(Debug)]
struct Usual {
    fields: Lazy,
    /// What is in every text that has a secret in it. Most have nothing of it, and are done then.
    hints: Vec<&'static str>,
    /// All of them as one automaton, once there is enough text for it.
    automaton: OnceLock<Option<AhoCorasick>>,
    /// How many bytes were looked at without it.
    looked_at: AtomicUsize,
    /// For each of the hints, which kinds it may be.
    hinted: Vec<Found>,
    kinds: Vec<Lazy>,
}

/// A pattern of ours, compiled when a text first hints at it: most never do, and a program that is started for one event
/// would wait for all of them.
#[derive(Debug)]
struct Lazy {
    pattern: &'static str,
    compiled: OnceLock<Option<Regex>>,
}

impl Lazy {
    const fn new(pattern: &'static str) -> Self {
        Self { pattern, compiled: OnceLock::new() }
    }

    /// None where it is broken; a test compiles them all.
    fn get(&self) -> Option<&Regex> {
        self.compiled.get_or_init(|| Regex::new(self.pattern).ok()).as_ref()
    }
}

/// How much text is looked at for each hint on its own before the automaton of all is built: to build it takes longer
/// than to look at a few short texts, and a program that is started for one event has no more than these.
const WITHOUT_AUTOMATON: usize = 4096;

/// Which kinds: a bit for each.
type Found = u64;

/// The bit for what is not among the usual kinds.
const OWN: Found = 1 << 63;

const _: () = assert!(KINDS.len() < 63);

/// Names of fields whose whole value is secret, in words joined by `_`.
const FIELDS: &str = r"(^|_)(passw(or)?d|passwd|pwd|passphrase|secrets?|tokens?|api_?keys?|access_?keys?|account_?keys?|private_?keys?|secret_?keys?|session_?keys?|credentials?|creds|auth|authorization|cookies?|bearer)($|_(string|value|key|id|header|data|b64|base64)$)";

/// What is in every name that [`FIELDS`] matches.
const FIELD_HINTS: &[&str] =
    &["pass", "pwd", "secret", "token", "key", "cred", "auth", "cookie", "bearer"];

fn compile(pattern: &str) -> Result<Regex, PatternError> {
    Regex::new(pattern).map_err(|error| wrong(pattern, &error))
}

fn wrong(pattern: &str, error: &dyn std::fmt::Display) -> PatternError {
    PatternError {
        pattern: pattern.to_owned(),
        form: "regular expression",
        message: error.to_string(),
    }
}

impl Usual {
    /// Made once, and not before there is something to mask.
    fn get() -> &'static Self {
        static USUAL: LazyLock<Usual> = LazyLock::new(Usual::new);
        &USUAL
    }

    fn new() -> Self {
        let kinds = KINDS.iter().map(|kind| Lazy::new(kind.pattern)).collect();
        let mut hints: Vec<&'static str> = Vec::new();
        let mut hinted: Vec<Found> = Vec::new();
        for (place, kind) in KINDS.iter().enumerate() {
            for hint in kind.hints {
                let known = hints.iter().position(|known| known == hint);
                if let Some(found) = known.and_then(|at| hinted.get_mut(at)) {
                    *found |= 1 << place;
                } else {
                    hints.push(hint);
                    hinted.push(1 << place);
                }
            }
        }
        let (automaton, looked_at) = (OnceLock::new(), AtomicUsize::new(0));
        Self { fields: Lazy::new(FIELDS), hints, automaton, looked_at, hinted, kinds }
    }

    /// The kinds that may be in a text.
    fn possible(&self, text: &str) -> Found {
        let looked_at = self.looked_at.fetch_add(text.len(), Ordering::Relaxed);
        if looked_at.saturating_add(text.len()) <= WITHOUT_AUTOMATON {
            return self.possible_one_by_one(text);
        }
        let Some(automaton) = self.automaton() else { return self.possible_one_by_one(text) };
        let hints = automaton.find_overlapping_iter(text);
        let kinds = hints.filter_map(|hint| self.hinted.get(hint.pattern().as_usize()));
        kinds.fold(0, |found, kinds| found | kinds)
    }

    /// All hints at once; none where it cannot be built, and a test builds it.
    fn automaton(&self) -> Option<&AhoCorasick> {
        let build = || AhoCorasick::builder().ascii_case_insensitive(true).build(&self.hints).ok();
        self.automaton.get_or_init(build).as_ref()
    }

    fn possible_one_by_one(&self, text: &str) -> Found {
        let text = text.as_bytes();
        let is_in = |hint: &str| {
            text.windows(hint.len()).any(|part| part.eq_ignore_ascii_case(hint.as_bytes()))
        };
        let hints = self.hints.iter().zip(&self.hinted);
        hints.filter(|(hint, _)| is_in(hint)).fold(0, |found, (_, kinds)| found | kinds)
    }
}

impl Default for Masker {
    fn default() -> Self {
        Self { patterns: Some(Patterns { named: Vec::new(), own: Vec::new() }) }
    }
}

impl Masker {
    /// The usual patterns and these. Where a pattern has a group, that part is masked.
    pub fn with<S: AsRef<str>>(
        patterns: impl IntoIterator<Item = S>,
    ) -> Result<Self, PatternError> {
        let own = patterns.into_iter().map(|pattern| compile(pattern.as_ref()));
        let own = own.collect::<Result<_, _>>()?;
        Ok(Self { patterns: Some(Patterns { named: Vec::new(), own }) })
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
        self.scan(text, &mut 0)
    }

    /// The kinds of secrets in a value, each once.
    ///
    /// ```
    /// use serde_json::json;
    /// use tollgate_core::mask::Masker;
    ///
    /// let masker = Masker::default();
    /// let found = masker.find(&json!({"command": "git clone https://me:hunter22@host/x"}));
    /// assert_eq!(found, ["address with a password"]);
    /// assert!(masker.find(&json!(["curl -H \"Authorization: Bearer $TOKEN\""])).is_empty());
    /// ```
    pub fn find(&self, value: &Value) -> Vec<&'static str> {
        let mut found = 0;
        self.mask(&mut value.clone(), &mut found);
        let usual = KINDS.iter().enumerate().filter(|(place, _)| found & (1 << place) != 0);
        let mut names: Vec<&str> = usual.map(|(_, kind)| kind.name).collect();
        names.extend((found & OWN != 0).then_some("custom pattern"));
        // Those of one name need not stand side by side.
        let mut seen = Vec::with_capacity(names.len());
        names.retain(|name| {
            !seen.contains(name) && {
                seen.push(*name);
                true
            }
        });
        names
    }

    /// A text without its secrets, and which kinds they were.
    fn scan<'a>(&self, text: &'a str, found: &mut Found) -> Cow<'a, str> {
        // Should a pattern of ours be broken, nothing is shown at all.
        let (Some(patterns), usual) = (&self.patterns, Usual::get()) else {
            *found |= OWN;
            return Cow::Owned(MASKED.to_owned());
        };
        let mut masked = Cow::Borrowed(text);
        let mut apply = |regex: &Regex, is_one: fn(&str) -> bool, bit: Found| {
            if let Some(replaced) = replace(regex, is_one, &masked) {
                masked = Cow::Owned(replaced);
                *found |= bit;
            }
        };
        let possible = usual.possible(text);
        if possible != 0 {
            for (place, (kind, regex)) in KINDS.iter().zip(&usual.kinds).enumerate() {
                if possible & (1 << place) != 0 {
                    let Some(regex) = regex.get() else {
                        *found |= OWN;
                        return Cow::Owned(MASKED.to_owned());
                    };
                    apply(regex, kind.is_one, 1 << place);
                }
            }
        }
        for regex in &patterns.own {
            apply(regex, |_| true, OWN);
        }
        masked
    }

    fn is_secret_field(&self, name: &str) -> bool {
        let words = words_of(name);
        let (Some(patterns), usual) = (&self.patterns, Usual::get()) else { return true };
        let is_usual = FIELD_HINTS.iter().any(|hint| words.contains(hint))
            && usual.fields.get().is_none_or(|fields| fields.is_match(&words));
        is_usual || patterns.named.contains(&words)
    }

    /// Masks every text in a value, and everything under a name that says it is secret.
    pub fn value(&self, value: &mut Value) {
        self.mask(value, &mut 0);
    }

    fn mask(&self, value: &mut Value, found: &mut Found) {
        match value {
            Value::String(text) => {
                if let Cow::Owned(masked) = self.scan(text, found) {
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
                        hide(item, found);
                    } else {
                        self.mask(item, found);
                    }
                    secret = names_secret;
                }
            }
            Value::Object(fields) => self.fields(fields, found),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn fields(&self, fields: &mut Map<String, Value>, found: &mut Found) {
        // `{"name": "Authorization", "value": …}`: one field tells what the other holds.
        let told = ["name", "key", "header"]
            .iter()
            .filter_map(|field| fields.get(*field)?.as_str())
            .any(|name| self.is_secret_field(name));
        let mut odd_keys: Vec<(String, String)> = Vec::new();
        for key in fields.keys() {
            if let Cow::Owned(masked) = self.scan(key, found) {
                odd_keys.push((key.clone(), masked));
            }
        }
        for (name, field) in fields.iter_mut() {
            if self.is_secret_field(name) || (told && name == "value") {
                hide(field, found);
            } else {
                self.mask(field, found);
            }
        }
        for (key, masked) in odd_keys {
            if let Some(field) = fields.remove(&key) {
                fields.insert(masked, field);
            }
        }
    }
}

/// The text with the secrets of one kind masked, where there are any.
fn replace(regex: &Regex, is_one: fn(&str) -> bool, text: &str) -> Option<String> {
    let mut masked = String::new();
    let mut from = 0;
    for found in regex.captures_iter(text) {
        let Some(secret) = found.get(1).or_else(|| found.get(0)) else { continue };
        if is_one(secret.as_str()) {
            masked.push_str(text.get(from..secret.start()).unwrap_or_default());
            masked.push_str(MASKED);
            from = secret.end();
        }
    }
    (from > 0).then(|| masked + text.get(from..).unwrap_or_default())
}

/// Hides a value and all in it. What says nothing but that it is there stays.
fn hide(value: &mut Value, found: &mut Found) {
    if matches!(value, Value::Null | Value::Bool(_)) {
        return;
    }
    let is_one = match value {
        Value::String(text) => is_value(text),
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => true,
    };
    if is_one && let Some(place) = KINDS.iter().position(|kind| kind.name == NAMED) {
        *found |= 1 << place;
    }
    *value = Value::String(MASKED.to_owned());
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
