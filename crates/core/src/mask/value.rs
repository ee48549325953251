//! Values: which could be secrets, and which stand for one or are code.

use super::MASKED;
use super::shape::{ALNUM, ANY_HEX, DIGIT, LOWER, UPPER, UPPER_NUM, WORD};

/// Digits, or letters of both cases: no word of a language.
pub(super) fn is_random(text: &str) -> bool {
    let upper = text.bytes().skip(1).any(|byte| UPPER.has(byte));
    let lower = text.bytes().any(|byte| LOWER.has(byte));
    text.bytes().any(|byte| DIGIT.has(byte)) || (upper && lower)
}

/// Digits and letters of both cases.
pub(super) fn is_mixed(text: &str) -> bool {
    [DIGIT, LOWER, UPPER].iter().all(|set| text.bytes().any(|byte| set.has(byte)))
}

/// How much of a value is looked at for what it is made of.
const ENOUGH: usize = 256;

/// The shortest value whose characters alone can tell that it is random.
const SHORTEST_STRONG: usize = 16;

/// What random values are made of.
fn is_of_key(byte: u8) -> bool {
    ALNUM.has(byte) || b"_-+/=.~!@#$^&*%:".contains(&byte)
}

/// True if the characters of a text follow each other as in a random one. Names of programs have long words in them,
/// in capitals, in humps or with separators; numbers and sequences have few changes, too.
pub(super) fn is_strong(text: &str) -> bool {
    let text = text.get(..text.floor_char_boundary(ENOUGH)).unwrap_or(text);
    let bytes = text.as_bytes();
    if bytes.len() < SHORTEST_STRONG
        || !bytes.iter().all(|byte| is_of_key(*byte))
        || text.contains("://")
        || text.starts_with("urn:")
        || text.starts_with(['$', '%', '@', '.', '#', '&', '+'])
        || is_hole(text)
    {
        return false;
    }
    if is_uuid(bytes) {
        return distinct(bytes) >= 8;
    }
    let solid = bytes.iter().filter(|byte| ALNUM.has(**byte)).count();
    // A path or a list has more separators than a key.
    let symbols = bytes.iter().filter(|byte| !ALNUM.has(**byte)).count();
    let digits = bytes.iter().filter(|byte| DIGIT.has(**byte)).count();
    let is_base64 = solid >= 32 && text.contains(['+', '/', '=']);
    let few = match digits {
        0 => 3,
        _ if is_base64 => 5,
        _ => 4,
    };
    distinct(bytes) >= 8 && symbols * 3 <= solid && changes(bytes) * few >= solid
}

/// Returns how often a digit follows a letter, a letter a digit, or a capital a small letter.
fn changes(bytes: &[u8]) -> usize {
    let solid = || bytes.iter().filter(|byte| ALNUM.has(**byte));
    let pairs = solid().zip(solid().skip(1));
    pairs
        .filter(|(one, next)| {
            DIGIT.has(**one) != DIGIT.has(**next) || (LOWER.has(**one) && UPPER.has(**next))
        })
        .count()
}

/// Returns how many different characters there are.
fn distinct(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0_u128, |seen, byte| seen | 1 << (byte & 127)).count_ones()
}

/// `01234567-89ab-cdef-0123-456789abcdef`.
fn is_uuid(bytes: &[u8]) -> bool {
    bytes.len() == 36
        && bytes.iter().enumerate().all(|(place, byte)| match place {
            8 | 13 | 18 | 23 => *byte == b'-',
            _ => ANY_HEX.has(*byte),
        })
}

/// True if a text could be a password that a person has chosen: at least so many characters, letters together with
/// digits or symbols, and nothing that belongs to code.
pub(super) fn is_password(text: &str, least: usize) -> bool {
    let bytes = text.as_bytes();
    let is_mark = |byte: &u8| byte.is_ascii_digit() || b"!#$%^&*+?~".contains(byte);
    (least..=128).contains(&bytes.len())
        && bytes.iter().any(u8::is_ascii_alphabetic)
        && bytes.iter().any(is_mark)
        && bytes.iter().all(|byte| byte.is_ascii_graphic() && !b"\"'`(){}[]<>\\|,;".contains(byte))
        && is_value(text)
        && !is_code(text)
        && !is_template(text)
        && !is_nothing_but_example(text)
}

/// The same with blanks in it.
pub(super) fn is_phrase(text: &str) -> bool {
    text.len() >= 8
        && text.contains(' ')
        && is_value(text)
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.chars().all(|c| c.is_alphanumeric() || " .,!?'-".contains(c))
        && !is_placeholder(text)
}

/// Words in examples and tests.
const PLACEHOLDERS: &[&str] =
    &["fake", "foo", "invalid", "mock", "pass", "passwd", "password", "secret", "test", "token"];

/// Words in templates, which say that something else goes here.
const TEMPLATES: &[&str] = &[
    "change",
    "default",
    "dummy",
    "example",
    "fixme",
    "placeholder",
    "redacted",
    "replace",
    "sample",
    "todo",
    "xxx",
    "your",
];

/// True if a word in the text says that something else goes there.
pub(super) fn is_template(text: &str) -> bool {
    let word = text.to_ascii_lowercase();
    TEMPLATES.iter().any(|template| word.contains(template))
}

/// True if a word in the text tells that it is none.
pub(super) fn is_placeholder(text: &str) -> bool {
    let word = spelled(text);
    PLACEHOLDERS.iter().any(|placeholder| word.contains(placeholder))
        || is_nothing_but_example(text)
}

/// True if the text is nothing but a word for what stands there, whatever it is decorated with: `p@ssw0rd!`, `secret123`.
pub(super) fn is_nothing_but_example(text: &str) -> bool {
    let sequence = "0123456789abcdefghijklmnopqrstuvwxyz0123456789";
    let spelled = spelled(text);
    let word: String = spelled.chars().filter(char::is_ascii_alphabetic).collect();
    let start = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    let letters = text.get(..start).unwrap_or_default().to_ascii_lowercase();
    let is_one = |word: &str| PLACEHOLDERS.contains(&word) || TEMPLATES.contains(&word);
    let is_sequence = text.len() >= 6 && sequence.contains(&text.to_ascii_lowercase());
    is_one(&word) || is_one(&letters) || is_sequence
}

/// A word in lower case, with letters in the places of the digits and symbols that stand for them.
fn spelled(text: &str) -> String {
    let letter = |c: char| match c.to_ascii_lowercase() {
        '0' => 'o',
        '@' => 'a',
        '$' => 's',
        c => c,
    };
    text.chars().map(letter).collect()
}

/// True if a value is one, and does not only stand for it: `$TOKEN`, `<token>`, `xxxx`.
pub(super) fn is_value(text: &str) -> bool {
    !text.is_empty() && !text.contains(MASKED) && !is_variable(text) && !is_hole(text)
}

/// `$TOKEN`, `${TOKEN}`, `$user:$password`, `$(command)`, `${{ secrets.TOKEN }}`, `{{ token }}`, `%TOKEN%`, `#{token}`,
/// `%s`, `@TOKEN@`.
fn is_variable(text: &str) -> bool {
    let is_first = |c: char| c.is_ascii_alphabetic() || c == '_';
    let is_name =
        |name: &str| name.starts_with(is_first) && name.bytes().all(|byte| WORD.has(byte));
    let inside = |start: char, end: char| text.strip_prefix(start)?.strip_suffix(end);
    // Some may have blanks in them, so that their ends are not here.
    let starts = ["$(", "${", "{{", "#{", "%(", "%{", "<%", "{%", "@{", "!Ref", "!Sub", "ENC["];
    text.strip_prefix('$').is_some_and(|rest| rest.starts_with(is_first))
        || inside('%', '%').is_some_and(is_name)
        || inside('@', '@').is_some_and(is_name)
        || inside('{', '}').is_some_and(is_name)
        || starts.iter().any(|start| text.starts_with(start))
        || matches!(text, "%s" | "%v" | "%q" | "%d" | "{}" | "?")
}

/// `<token>`, `xxxx`, `****`, `...`, `ghp_xxxxxxxxxxxx`.
pub(super) fn is_hole(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('<') {
        let name = rest.strip_suffix('>').unwrap_or(rest);
        return name.bytes().all(|byte| WORD.has(byte) || b"- .".contains(&byte));
    }
    let bytes = text.as_bytes();
    let of_one = |run: &[u8]| run.first().is_some_and(|first| run.iter().all(|byte| byte == first));
    let is_filler = |run: &[u8]| run.first().is_some_and(|first| b"xX*".contains(first));
    (bytes.len() >= 3
        && of_one(bytes)
        && bytes.first().is_some_and(|byte| b"xX*.-_?0".contains(byte)))
        || bytes.windows(6).any(|run| is_filler(run) && of_one(run))
        || text.contains('…')
        || text.ends_with("...")
}

/// `std::env::var`, `args.token`, `user->password`, `/run/secrets/token`, `C:\token`, `SECRET_KEY_2`, `refresh-token-2`.
pub(super) fn is_code(text: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|byte| WORD.has(byte))
    };
    let inside = ["::", "->", "://", ":\\", "?.", "()"];
    let before = ["/", "./", "../", "~/", "&", "*", "@"];
    inside.iter().any(|it| text.contains(it))
        || before.iter().any(|it| text.starts_with(it))
        || (text.contains('.') && text.split('.').all(is_name))
        || is_constant(text)
        || is_numbered(text)
        || text.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('*')
}

/// `SECRET_KEY_2`.
fn is_constant(text: &str) -> bool {
    let is_part = |part: &str| !part.is_empty() && part.bytes().all(|byte| UPPER_NUM.has(byte));
    text.contains('_') && text.split('_').all(is_part)
}

/// `refresh-token-2`: words, and a small number.
fn is_numbered(text: &str) -> bool {
    let is_word = |part: &str| part.bytes().all(|byte| LOWER.has(byte));
    text.rsplit_once(['-', '_']).is_some_and(|(words, number)| {
        number.len() <= 2
            && number.bytes().all(|byte| byte.is_ascii_digit())
            && words.split(['-', '_']).all(is_word)
    })
}
