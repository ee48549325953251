//! Values of fields, variables and options whose names say that they are secret.

use std::ops::Range;

use super::shape::{ALNUM, DIGIT, UPPER_NUM, URL64, WORD};
use super::text::Text;
use super::value::{
    is_code, is_password, is_phrase, is_placeholder, is_strong, is_template, is_value,
};

/// Names of secrets, in words joined by `_`.
const NAMES: &[&str] = &[
    "auth",
    "authorization",
    "bearer",
    "cookie",
    "cookies",
    "credential",
    "credentials",
    "creds",
    "passphrase",
    "passwd",
    "password",
    "passwords",
    "pw",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
];

/// Words that make a key a secret one: `api_key`, `apikey`.
const KEYS: &[&str] = &[
    "access",
    "account",
    "admin",
    "api",
    "auth",
    "encryption",
    "license",
    "master",
    "preshared",
    "private",
    "secret",
    "service",
    "session",
    "shared",
    "signing",
];

/// What a name may have behind that.
const ENDINGS: &[&str] = &["b64", "base64", "data", "header", "id", "key", "string", "value"];

/// Words before `token` that make it a place in a list.
const NO_SECRETS: &[&str] =
    &["next", "page", "continuation", "pagination", "cancellation", "cancel", "lock", "x_amz"];

/// Is in every name that [`is_secret`] is true of.
pub(super) const HINTS: &[&str] =
    &["auth", "bearer", "cookie", "cred", "key", "pass", "pw", "secret", "token"];

/// True if a name, in words joined by `_`, says that its value is secret.
pub(super) fn is_secret(words: &str) -> bool {
    if !HINTS.iter().any(|hint| words.contains(hint)) {
        return false;
    }
    let is_one = |words: &str| ends_with_word(words, NAMES) || is_key(words);
    let shorter = words.rsplit_once('_').filter(|(_, last)| ENDINGS.contains(last));
    is_one(words) || shorter.is_some_and(|(words, _)| is_one(words))
}

fn ends_with_word(words: &str, list: &[&str]) -> bool {
    list.iter().any(|word| {
        let rest = words.strip_suffix(word);
        let rest =
            rest.and_then(|rest| if rest.is_empty() { Some("") } else { rest.strip_suffix('_') });
        rest.is_some_and(|rest| !NO_SECRETS.iter().any(|other| rest.ends_with(other)))
    })
}

fn is_key(words: &str) -> bool {
    let key = words.strip_suffix("keys").or_else(|| words.strip_suffix("key"));
    key.is_some_and(|rest| ends_with_word(rest.strip_suffix('_').unwrap_or(rest), KEYS))
}

/// The words of a name, in lower case and joined by `_`: `dbPassword` and `DB-Password` are
/// `db_password`.
pub(super) fn words_of(name: &str) -> String {
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

const LONGEST_NAME: usize = 64;
/// How much of a value without quotes is looked at.
const LONGEST_VALUE: usize = 256;
const LONGEST_QUOTED: usize = 16 * 1024;

/// True if a value without quotes ends here.
const fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace()
        || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'&' | b'<' | b'>' | b'\\')
        || matches!(byte, b'(' | b')' | b'{' | b'}')
}

/// How a value is given to a name.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Given {
    /// `NAME=value`, in capitals and without blanks.
    Variable,
    /// `name=value` without blanks.
    Parameter,
    /// `--name value`, and `login me password value`.
    Option,
    /// `<name>value</name>`.
    Element,
    /// Any other way.
    Assigned,
}

/// Finds the value that is given to a name, of which a part stands at `hint`.
pub(super) fn assigned(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.bytes();
    let start = hint.start - name_before(bytes.get(..hint.start)?);
    let end = hint.end + name_behind(bytes.get(hint.end..)?);
    let closed = end + closing(bytes.get(end..)?);
    let blanks = blanks(bytes.get(closed..)?);
    let sign = sign(bytes.get(closed + blanks..)?);
    let is_element = bytes.get(end) == Some(&b'>') && bytes.get(..start)?.ends_with(b"<");
    // Most names are only mentioned.
    if sign == 0 && blanks == 0 && !is_element {
        return None;
    }
    let name = text.all.get(start..end)?;
    let words = words_of(name.trim_start_matches('-'));
    let words = words.trim_end_matches(|c: char| c.is_ascii_digit() || c == '_');
    if !is_secret(words) {
        return None;
    }
    let is_option = name.starts_with("--") || (name.starts_with('-') && sign == 0);
    let is_login = sign == 0 && blanks > 0 && is_login(text, start, words);
    let given = if is_element {
        Given::Element
    } else if is_login || (is_option && (sign == 0 && blanks == 1 || sign == 1 && blanks == 0)) {
        Given::Option
    } else if sign == 0 {
        return None;
    } else if closed == end && blanks == 0 && bytes.get(end) == Some(&b'=') {
        let is_variable = name.bytes().all(|byte| UPPER_NUM.has(byte) || byte == b'_');
        if is_variable { Given::Variable } else { Given::Parameter }
    } else {
        Given::Assigned
    };
    let signed = if is_element { end + 1 } else { closed + blanks + sign };
    let mut at = signed + self::blanks(bytes.get(signed..)?);
    let is_tight = at == signed;
    if sign == 1 && given == Given::Assigned {
        at = behind_type(bytes, at);
    }
    let value = Value::at(text.all, at)?;
    // `arn:aws:secretsmanager:…:secret:name`; `tokens = "a b"`.
    let is_path = sign == 1
        && bytes.get(closed + blanks) == Some(&b':')
        && bytes.get(..start)?.ends_with(b":");
    let is_list = words.ends_with('s') && !words.ends_with("credentials");
    let is_one = value.is_strong()
        || match given {
            _ if is_path || is_list => false,
            Given::Option => {
                let is_phrase = value.quoted && is_phrase(value.text);
                value.is_password(6) || is_phrase || value.ends_command(text)
            }
            Given::Element => {
                value.is_password(6) && text.all.get(value.range.end..)?.starts_with("</")
            }
            Given::Variable => is_tight && is_of_environment(text, &value, start),
            Given::Parameter => {
                let least = if text.is_in_list(start) { 6 } else { 8 };
                let is_lone = !value.quoted && text.is_parameter(start, &value.range);
                (is_lone && value.is_password(least)) || value.is_in_settings(text)
            }
            Given::Assigned => value.is_in_settings(text),
        };
    (is_one && !text.is_badge(start)).then(|| value.whole(bytes))
}

/// A value behind a name.
struct Value<'a> {
    text: &'a str,
    range: Range<usize>,
    quoted: bool,
    /// What stands behind it.
    next: Option<u8>,
}

impl<'a> Value<'a> {
    fn at(text: &'a str, at: usize) -> Option<Self> {
        let bytes = text.as_bytes();
        // `b"…"`, `r'…'`, `@"…"`.
        let is_prefix = matches!(bytes.get(at), Some(b'b' | b'r' | b'f' | b'u' | b'@'))
            && matches!(bytes.get(at + 1), Some(b'"' | b'\''));
        let at = if is_prefix { at + 1 } else { at };
        let escaped = matches!(bytes.get(at..at + 2), Some(b"\\\"" | b"\\'"));
        let open = at + usize::from(escaped);
        let quote = bytes.get(open).copied().filter(|byte| b"\"'`".contains(byte));
        let (from, quoted) = if quote.is_some() { (open + 1, true) } else { (at, false) };
        let ends = |byte: u8| match quote {
            Some(quote) => byte == quote || byte == b'\n' || (escaped && byte == b'\\'),
            None => ends_word(byte),
        };
        let most = if quoted { LONGEST_QUOTED } else { LONGEST_VALUE };
        let rest = bytes.get(from..)?.iter().take(most);
        let length = rest.take_while(|byte| !ends(**byte)).count();
        if quoted && !escaped && bytes.get(from + length) != quote.as_ref() {
            return None;
        }
        let range = from..from + length;
        let next = bytes.get(range.end).copied();
        Some(Self { text: text.get(range.clone())?, range, quoted, next })
    }

    /// True if it tells by itself that it is a secret, wherever it stands.
    fn is_strong(&self) -> bool {
        let is_call = matches!(self.next, Some(b'(' | b'{' | b'['));
        is_strong(self.text)
            && is_value(self.text)
            && (self.quoted || (!is_call && !is_code(self.text)))
    }

    fn is_password(&self, least: usize) -> bool {
        is_password(self.text, least)
    }

    /// True if it is the last word of a command that is the whole text: no manual, which says more behind it.
    fn ends_command(&self, text: &Text<'_>) -> bool {
        let is_last = text.bytes().len() == self.range.end && text.is_settings();
        let is_word =
            self.text.len() >= 4 && self.text.bytes().any(|byte| byte.is_ascii_lowercase());
        let kinds = ["file", "name", "path", "string", "text", "value"];
        is_last
            && is_word
            && is_value(self.text)
            && !is_code(self.text)
            && !is_placeholder(self.text)
            && !kinds.contains(&self.text)
    }

    /// All of it, where only a part was looked at.
    fn whole(self, bytes: &[u8]) -> Range<usize> {
        let rest = bytes.get(self.range.end..).unwrap_or_default().iter();
        let more = if self.quoted { 0 } else { rest.take_while(|byte| !ends_word(**byte)).count() };
        self.range.start..self.range.end + more
    }

    /// True if it is a password in a text that is no program.
    fn is_in_settings(&self, text: &Text<'_>) -> bool {
        let likely = self.is_password(6) || (self.quoted && is_phrase(self.text));
        likely && text.is_settings() && (self.quoted || self.ends_line(text))
    }

    /// True if nothing but a comment follows it in its line.
    fn ends_line(&self, text: &Text<'_>) -> bool {
        let quote = usize::from(self.quoted);
        let rest = text.line_after(self.range.end + quote);
        rest.trim().is_empty() || (rest.starts_with(' ') && rest.trim_start().starts_with('#'))
    }
}

/// True if the value of a name in capitals is a secret: `DB_PASSWORD=hunter2`. Alone in its line it is one of a file of
/// variables, where most is.
fn is_of_environment(text: &Text<'_>, value: &Value<'_>, start: usize) -> bool {
    let before = text.line_before(start).trim_start();
    let before = before.strip_prefix("export ").unwrap_or(before).trim_start();
    let word = value.text;
    let is_alone = before.is_empty() && value.ends_line(text);
    let is_plain =
        is_value(word) && !is_code(word) && !is_template(word) && !word.contains(['$', '(']);
    is_plain && (is_password(word, 6) || (is_alone && word.len() >= 6 && is_mixture(word)))
}

/// Letters together with digits or symbols, or many letters. A sentence has no digits.
fn is_mixture(word: &str) -> bool {
    let has_digit = word.bytes().any(|byte| byte.is_ascii_digit());
    let is_other = |byte: u8| !byte.is_ascii_alphabetic() && byte != b'_';
    let letters = word.bytes().any(|byte| byte.is_ascii_alphabetic());
    let is_one_word = !word.contains(' ') && (word.len() >= 16 || word.bytes().any(is_other));
    letters && (has_digit || is_one_word)
}

impl Text<'_> {
    /// True if a name is one of an address or of a connection string: `?token=…`, `;Password=…`.
    fn is_in_list(&self, start: usize) -> bool {
        let before = start.checked_sub(1).and_then(|at| self.bytes().get(at));
        matches!(before, Some(b'?' | b'&' | b';'))
    }

    /// True for the address of a picture: what is in it anybody may know.
    fn is_badge(&self, at: usize) -> bool {
        let before = self.line_before(at);
        before.contains("badge") || before.contains("shields.io")
    }

    /// True if `name=value` stands between blanks, or between others of an address or a list.
    fn is_parameter(&self, start: usize, value: &Range<usize>) -> bool {
        let before = start.checked_sub(1).and_then(|at| self.bytes().get(at));
        let after = self.bytes().get(value.end);
        let in_list = self.is_in_list(start);
        let begins = in_list || before.is_none_or(u8::is_ascii_whitespace);
        let ends = match after {
            None => true,
            Some(b'&' | b'"' | b'\'') => in_list,
            Some(b';') => in_list || before.is_some_and(|byte| *byte == b' '),
            Some(byte) => byte.is_ascii_whitespace(),
        };
        begins && ends
    }
}

/// `machine example.org login me password …`.
fn is_login(text: &Text<'_>, start: usize, words: &str) -> bool {
    words == "password" && text.line_before(start).contains("login ")
}

/// Returns how many characters of a name stand before a place.
fn name_before(before: &[u8]) -> usize {
    let from = before.len().saturating_sub(LONGEST_NAME);
    URL64.and(b".").run_back(before.get(from..).unwrap_or_default())
}

/// Returns how many characters of a name stand behind a place.
fn name_behind(behind: &[u8]) -> usize {
    URL64.run(behind.get(..LONGEST_NAME).unwrap_or(behind))
}

/// Returns the length of the quote that closes a name: `"`, `\"`, `']`.
fn closing(rest: &[u8]) -> usize {
    match rest {
        [b'\\', b'"' | b'\'', ..] | [b'"' | b'\'', b']', ..] => 2,
        [b'"' | b'\'', ..] => 1,
        _ => 0,
    }
}

/// Returns how many blanks there are.
fn blanks(rest: &[u8]) -> usize {
    rest.iter().take(LONGEST_NAME).take_while(|byte| b" \t".contains(byte)).count()
}

/// Returns the length of the sign that gives a value: `=`, `:`, `:=`, `=>`, but not `==`.
fn sign(rest: &[u8]) -> usize {
    match rest {
        [b'=', b'=', ..] | [b':', b':', ..] => 0,
        [b':', b'=', ..] | [b'=', b'>', ..] => 2,
        [b'=' | b':', ..] => 1,
        _ => 0,
    }
}

/// Returns where the value begins: behind `&str = ` where a type comes first.
fn behind_type(bytes: &[u8], at: usize) -> usize {
    let Some(rest) = bytes.get(at..) else { return at };
    let named = WORD.and(b"&'<>[]?*. ").run(rest.get(..LONGEST_NAME).unwrap_or(rest));
    let Some((kind, [b'=', behind @ ..])) = rest.split_at_checked(named) else { return at };
    let is_type = kind.ends_with(b" ")
        && kind.first().is_some_and(|byte| ALNUM.has(*byte) || b"&['*".contains(byte));
    if is_type && !behind.starts_with(b"=") && !kind.iter().all(|byte| DIGIT.has(*byte)) {
        at + named + 1 + blanks(behind)
    } else {
        at
    }
}
