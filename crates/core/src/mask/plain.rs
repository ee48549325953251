//! Secrets that are told by what stands around them: keys in blocks, headers, addresses.

use std::ops::Range;

use super::shape::{ALNUM, ANY64, BASE64, PATH, UPPER_NUM, WORD};
use super::text::Text;
use super::value::{
    is_code, is_nothing_but_example, is_password, is_placeholder, is_random, is_strong, is_value,
};

/// The longest key that is looked for the end of.
const LONGEST_KEY: usize = 32 * 1024;

/// The longest value of a header, and the longest beginning of an address.
const LONGEST: usize = 4096;

/// Finds a private key in a block: from its first line to its last or, where that is cut off, to the end of its lines.
pub(super) fn private_key(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let rest = text.all.get(hint.end..text.all.floor_char_boundary(hint.end + 64))?;
    let label = rest.find("-----").and_then(|end| rest.get(..end))?;
    let kind = label.strip_suffix(" BLOCK").unwrap_or(label);
    if !kind.ends_with("PRIVATE KEY") || label.contains(['\n', '{', '%']) {
        return None;
    }
    let from = hint.end + label.len() + "-----".len();
    let body = text.all.get(from..text.all.floor_char_boundary(from + LONGEST_KEY))?;
    // A program that reads keys has their first lines in it, and a manual dots.
    let is_key = |body: &str| {
        let mut lines = body.split(|c: char| !c.is_ascii() || !BASE64.has(c as u8));
        lines.any(is_strong) && !body.contains("...")
    };
    let lines = lines_of_key(body);
    let begun = body.get(..lines)?;
    let is_begun = begun.bytes().filter(|byte| ALNUM.has(*byte)).count() > 3 && is_random(begun);
    if !is_begun && !is_key(body.get(..body.floor_char_boundary(512))?) {
        return None;
    }
    let last = format!("-----END {label}-----");
    if let Some(end) = body.find(&last) {
        let is_whole = body.get(lines..end)?.trim().is_empty() && is_begun;
        return (is_whole || is_key(body.get(..end)?))
            .then_some(hint.start..from + end + last.len());
    }
    is_begun.then_some(hint.start..from + lines)
}

/// Returns the length of the lines that a key begins with: Base64 and headers. Line ends may be escaped.
fn lines_of_key(body: &str) -> usize {
    let mut length = 0;
    let part = |from: usize| {
        let rest = body.get(from..)?;
        rest.get(..rest.floor_char_boundary(256))?.split_inclusive(['\n', '\\']).next()
    };
    while let Some(line) = part(length) {
        let bare = line.trim_start_matches('n').trim_end_matches(['\n', '\r', '\\']).trim();
        let is_header = bare.split_once(": ").is_some_and(|(name, _)| name.len() <= 16);
        if !bare.bytes().all(|byte| BASE64.has(byte)) && !is_header {
            break;
        }
        length += line.len();
    }
    body.get(..length).unwrap_or_default().trim_end().len()
}

/// Finds the private lines of a key of `PuTTY`.
pub(super) fn putty(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let rest = text.all.get(hint.end..text.all.floor_char_boundary(hint.end + LONGEST_KEY))?;
    let head = rest.find('\n')? + 1;
    let body = rest.get(head..)?;
    let length: usize = body
        .split_inclusive('\n')
        .take_while(|line| line.trim_end().bytes().all(|byte| BASE64.has(byte)))
        .map(str::len)
        .sum();
    let body = body.get(..length)?.trim_end();
    let from = hint.end + head;
    (body.len() >= 32).then_some(from..from + body.len())
}

/// Finds the secret key of AWS that stands behind the id of its key.
pub(super) fn access_pair(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let rest = text.bytes().get(hint.end..)?;
    let id = UPPER_NUM.run(rest);
    let behind = rest.get(id..).filter(|_| id == 16)?;
    let between = behind.iter().take(4).take_while(|byte| b" \t\r\n,;:|\"'".contains(byte)).count();
    let key = BASE64.run(behind.get(between..)?);
    let from = hint.end + id + between;
    let secret = text.all.get(from..from + key)?;
    (between > 0 && key == 40 && is_strong(secret)).then_some(from..from + key)
}

/// Finds the value of an `Authorization` header, behind its scheme.
pub(super) fn authorization(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let bytes = text.bytes();
    let rest = bytes.get(hint.end..)?;
    let quotes = rest.iter().take(3).take_while(|byte| b"\\\"']".contains(byte)).count();
    let (at, ends) = header(bytes, hint.end + quotes)?;
    let rest = text.all.get(at..ends)?;
    let word = rest.bytes().take_while(|byte| ALNUM.has(*byte) || *byte == b'-').count();
    let scheme = rest.get(..word)?;
    let from = match bytes.get(at + word) {
        Some(b' ') if !scheme.is_empty() => at + word + 1,
        _ => at,
    };
    let value = value(text, from)?;
    if scheme.eq_ignore_ascii_case("basic") && from > at {
        return is_user(value.1).then_some(value.0);
    }
    let least = if from > at { 8 } else { usize::MAX };
    is_credential(value.1, least).then_some(value.0)
}

/// Finds what stands behind `Bearer`.
pub(super) fn bearer(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let (range, value) = value(text, hint.end)?;
    is_credential(value, 8).then_some(range)
}

/// Finds what stands behind `Basic`: a name and a password in Base64.
pub(super) fn basic(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let (range, value) = value(text, hint.end)?;
    is_user(value).then_some(range)
}

/// The word that begins at a place.
fn value<'a>(text: &Text<'a>, from: usize) -> Option<(Range<usize>, &'a str)> {
    let length = ANY64.and(b".~").run(text.bytes().get(from..)?).min(LONGEST);
    let range = from..from + length;
    let value = text.all.get(range.clone())?;
    let next = text.bytes().get(range.end);
    // `{`, `(` and `$` go on with code.
    let is_whole = !next.is_some_and(|byte| b"{($<%[".contains(byte));
    (is_whole && is_value(value)).then_some((range, value))
}

/// True if a value is random, or a password of so many characters.
fn is_credential(value: &str, least: usize) -> bool {
    (is_strong(value) || is_password(value, least)) && !is_code(value)
}

/// True if a value is a name and a password in Base64.
fn is_user(value: &str) -> bool {
    let Some(plain) = decoded(value) else { return false };
    let is_text = plain.chars().all(|c| !c.is_control());
    let password = plain.split_once(':').filter(|(name, _)| is_text && !name.is_empty());
    password.is_some_and(|(name, password)| name != password && is_password(password, 6))
}

/// Decodes Base64.
fn decoded(text: &str) -> Option<String> {
    let (mut bits, mut held) = (0_u32, 0);
    let mut plain = Vec::with_capacity(text.len());
    for byte in text.trim_end_matches('=').bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            plain.push(u8::try_from(bits >> held & 0xff).ok()?);
        }
    }
    String::from_utf8(plain).ok()
}

/// Returns where the value of a header begins that has its name before `at`, and where its line or its quotes end.
fn header(bytes: &[u8], at: usize) -> Option<(usize, usize)> {
    let blank = |at: usize| {
        let rest = bytes.get(at..).unwrap_or_default();
        rest.iter().take(8).take_while(|byte| b" \t".contains(byte)).count()
    };
    let sign = at + blank(at);
    if !matches!(bytes.get(sign), Some(b':' | b'=')) {
        return None;
    }
    let mut from = sign + 1 + blank(sign + 1);
    from += usize::from(bytes.get(from) == Some(&b'\\'));
    from += usize::from(matches!(bytes.get(from), Some(b'"' | b'\'')));
    let rest = bytes.get(from..)?.iter().take(LONGEST);
    let length = rest.take_while(|byte| !b"\r\n\"'\\".contains(byte)).count();
    Some((from, from + length))
}

/// What stands beside the value of a cookie.
const ATTRIBUTES: &[&str] =
    &["domain", "expires", "max-age", "path", "priority", "samesite", "version"];

/// Finds the cookies of a header, where one of them has a value that could be a secret.
pub(super) fn cookie(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let (from, end) = header(text.bytes(), hint.end)?;
    let line = text.all.get(from..end)?;
    let is_secret = line.split(';').any(|pair| {
        let (name, value) = pair.trim().split_once('=').unwrap_or_default();
        let value = value.split_whitespace().next().unwrap_or_default();
        let value = value.trim_end_matches([')', ']', '}', ',', '.']);
        let is_name = !name.is_empty() && name.bytes().all(|byte| PATH.has(byte));
        let is_attribute = ATTRIBUTES.iter().any(|it| name.eq_ignore_ascii_case(it));
        is_name && !is_attribute && is_credential(value, 8)
    });
    is_secret.then_some(from..from + line.trim_end().len())
}

/// Finds the signature of an address that is signed.
pub(super) fn signed(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let length = PATH.run(text.bytes().get(hint.end..)?).min(LONGEST);
    let range = hint.end..hint.end + length;
    let value = text.all.get(range.clone())?;
    (length >= 24 && is_strong(value)).then_some(range)
}

/// Finds the password in an address: up to the last `@` before the path.
pub(super) fn address(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let (from, user) = user(text, &hint)?;
    let (name, password) = user.split_once(':')?;
    let is_one = password != name && !is_filled(password) && is_of_address(password);
    let start = from + name.len() + 1;
    is_one.then_some(start..start + password.len())
}

/// Finds the token in an address that stands in the place of a user.
pub(super) fn address_token(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let (from, user) = user(text, &hint)?;
    let digits = user.bytes().filter(u8::is_ascii_digit).count();
    let is_one = !user.contains(':')
        && !is_filled(user)
        && (is_strong(user) || (digits >= 4 && !user.contains('%') && is_password(user, 12)));
    is_one.then_some(from..from + user.len())
}

/// True if a password in an address is one, and no word that manuals have there.
fn is_of_address(password: &str) -> bool {
    let is_word = password.bytes().all(|byte| byte.is_ascii_lowercase() || b"_-".contains(&byte));
    let is_likely = if is_word {
        password.len() >= 12 && !is_placeholder(password)
    } else {
        !is_nothing_but_example(password)
    };
    (6..=256).contains(&password.len())
        && is_likely
        && is_value(password)
        && password.bytes().any(|byte| ALNUM.has(byte))
}

/// True if something is yet to be filled in: `${user}`, `{password}`, `%s`.
fn is_filled(text: &str) -> bool {
    let inside = ["${", "$(", "#{", "{{", "{}", "%s", "%v", "**", "||"];
    text.starts_with(['$', '{', '<', '(', '[', '%', '*'])
        || inside.iter().any(|it| text.contains(it))
        || (text.contains('{') && text.contains('}'))
}

/// Finds the password that a command logs in with: `curl -u me:…`, `curl -ume:…`, `curl --proxy-user 'me:…'`.
pub(super) fn login(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    if !command_before(text, hint.start).contains("curl") {
        return None;
    }
    login_at(text, hint.end)
}

/// Finds the same behind options that are written as one: `curl -sSu me:…`.
pub(super) fn bundled_login(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let end = text.all.floor_char_boundary(hint.end.saturating_add(LONGEST));
    let rest = text.all.get(hint.end..end)?;
    let mut at = hint.end;
    for word in rest.split_inclusive(char::is_whitespace) {
        let options = word.trim_end().strip_prefix('-').unwrap_or_default();
        let is_bundle = options.len() > 1
            && options.ends_with(['u', 'U'])
            && options.bytes().all(|byte| byte.is_ascii_alphabetic());
        at += word.len();
        if is_bundle && let Some(found) = login_at(text, at) {
            return Some(found);
        }
    }
    None
}

/// Returns the beginning of a command before a place in it. A backslash at the end of a line continues it.
fn command_before<'a>(text: &Text<'a>, at: usize) -> &'a str {
    let from = text.all.floor_char_boundary(at.saturating_sub(LONGEST));
    let before = text.all.get(from..at).unwrap_or_default();
    let mut ends = before.rmatch_indices('\n').map(|(end, _)| end);
    let end = ends.find(|end| !before.get(..*end).is_some_and(|line| line.ends_with('\\')));
    end.and_then(|end| before.get(end + 1..)).unwrap_or(before)
}

/// Finds the password of `NAME:PASSWORD`, which stands behind blanks, in quotes or not. The option says that it is one,
/// whatever it looks like, unless it only stands for one.
fn login_at(text: &Text<'_>, at: usize) -> Option<Range<usize>> {
    let end = text.all.floor_char_boundary(at.saturating_add(LONGEST));
    let rest = text.all.get(at..end)?;
    let word = rest.trim_start_matches([' ', '\t', '\\', '\n']);
    let quote = word.chars().next().filter(|quote| matches!(quote, '"' | '\''));
    let word = quote.map_or(word, |quote| word.strip_prefix(quote).unwrap_or(word));
    let length = match quote {
        Some(quote) => word.find(quote)?,
        None => word
            .find(|c: char| c.is_whitespace() || "\"'`;|&<>()".contains(c))
            .unwrap_or(word.len()),
    };
    let start = at + rest.len() - word.len();
    let (name, password) = word.get(..length)?.split_once(':')?;
    let start = start + name.len() + 1;
    let is_one = !password.is_empty()
        && !name.contains(char::is_whitespace)
        && !is_filled(password)
        && !is_nothing_but_example(password)
        && !password.starts_with("//");
    is_one.then_some(start..start + password.len())
}

/// Finds a part of the key that unseals a vault: `Unseal Key 1: …`.
pub(super) fn unseal(text: &Text<'_>, hint: Range<usize>) -> Option<Range<usize>> {
    let rest = text.bytes().get(hint.end..)?;
    let number = rest.iter().take(4).take_while(|byte| byte.is_ascii_digit()).count();
    let between =
        rest.get(number..)?.iter().take(4).take_while(|byte| b": ".contains(byte)).count();
    let from = hint.end + number + between;
    let length = BASE64.run(text.bytes().get(from..)?);
    is_strong(text.all.get(from..from + length)?).then_some(from..from + length)
}

/// What stands before the `@` of an address, and where.
fn user<'a>(text: &Text<'a>, hint: &Range<usize>) -> Option<(usize, &'a str)> {
    let scheme = text.bytes().get(..hint.start)?.last()?;
    if !WORD.has(*scheme) {
        return None;
    }
    let rest = text.bytes().get(hint.end..)?.iter().take(LONGEST);
    let ends = |byte: u8| byte.is_ascii_whitespace() || b"/\"'`<>\\?".contains(&byte);
    let length = rest.take_while(|byte| !ends(**byte)).count();
    let host = text.all.get(hint.end..hint.end + length)?;
    let (user, _) = host.rsplit_once('@')?;
    Some((hint.end, user))
}
