//! Text that programs decode: escapes, base64, base32, hexadecimal, `tr`.

/// Text with its backslash sequences replaced, as `printf` and `echo -e` do.
pub(super) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        let (before, escape) = rest.split_at(at);
        bytes.extend_from_slice(before.as_bytes());
        let escape = escape.get(1..).unwrap_or_default();
        let Some(c) = escape.chars().next() else {
            bytes.push(b'\\');
            return String::from_utf8_lossy(&bytes).into_owned();
        };
        let after = escape.get(c.len_utf8()..).unwrap_or_default();
        let digits = |text: &str, radix: u32, most: usize| {
            text.chars().take(most).take_while(|c| c.is_digit(radix)).count()
        };
        rest = after;
        match c {
            'n' => bytes.push(b'\n'),
            't' => bytes.push(b'\t'),
            'r' => bytes.push(b'\r'),
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'f' => bytes.push(12),
            'v' => bytes.push(11),
            'e' | 'E' => bytes.push(27),
            '\\' => bytes.push(b'\\'),
            '0'..='7' => {
                let digits_text = if c == '0' { after } else { escape };
                let count = digits(digits_text, 8, 3);
                let (number, tail) = digits_text.split_at(count);
                let value = u32::from_str_radix(number, 8).unwrap_or(0) & 0xff;
                bytes.push(u8::try_from(value).unwrap_or_default());
                rest = tail;
            }
            'x' | 'u' | 'U' => {
                let most = match c {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let count = digits(after, 16, most);
                let (number, tail) = after.split_at(count);
                match u32::from_str_radix(number, 16) {
                    Ok(value) if c == 'x' => bytes.push(u8::try_from(value).unwrap_or_default()),
                    Ok(value) => {
                        let c = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
                        bytes.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    }
                    Err(_) => bytes.extend_from_slice(&[b'\\', u8::try_from(c).unwrap_or(b'x')]),
                }
                rest = tail;
            }
            'c' => return String::from_utf8_lossy(&bytes).into_owned(),
            other => {
                bytes.push(b'\\');
                bytes.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes());
            }
        }
    }
    bytes.extend_from_slice(rest.as_bytes());
    String::from_utf8_lossy(&bytes).into_owned()
}

pub(super) fn base64(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    let (mut buffer, mut bits) = (0_u32, 0);
    for c in text.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            c if c.is_ascii_whitespace() => continue,
            _ => return None,
        };
        buffer = (buffer << 6 | u32::from(value)) & 0xff_ffff;
        bits += 6;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8(bytes).ok()
}

pub(super) fn base32(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len() * 5 / 8);
    let (mut buffer, mut bits) = (0_u32, 0);
    for c in text.bytes() {
        let value = match c {
            b'A'..=b'Z' => c - b'A',
            b'2'..=b'7' => c - b'2' + 26,
            b'=' => break,
            c if c.is_ascii_whitespace() => continue,
            _ => return None,
        };
        buffer = (buffer << 5 | u32::from(value)) & 0xffff;
        bits += 5;
        if bits >= 8 {
            bits -= 8;
            bytes.push(u8::try_from(buffer >> bits & 0xff).unwrap_or_default());
        }
    }
    String::from_utf8(bytes).ok()
}

pub(super) fn hex(text: &str) -> Option<String> {
    let digits: Vec<u32> = text.chars().filter_map(|c| c.to_digit(16)).collect();
    let byte = |pair: &[u32]| match pair {
        [high, low] => u8::try_from(high * 16 + low).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = digits.chunks(2).map(byte).collect();
    String::from_utf8(bytes?).ok()
}

/// `tr`: characters of one set become those of another.
pub(super) fn translate(arguments: &[&str], text: &str) -> Option<String> {
    match arguments {
        ["-d", set] => {
            let set = members(set)?;
            Some(text.chars().filter(|c| !set.contains(c)).collect())
        }
        [from, to] if !from.starts_with('-') => {
            let (from, to) = (members(from)?, members(to)?);
            let last = *to.last()?;
            let change = |c: char| match from.iter().position(|other| *other == c) {
                Some(at) => to.get(at).copied().unwrap_or(last),
                None => c,
            };
            Some(text.chars().map(change).collect())
        }
        _ => None,
    }
}

fn members(set: &str) -> Option<Vec<char>> {
    let set = match set {
        "[:upper:]" => "A-Z".to_owned(),
        "[:lower:]" => "a-z".to_owned(),
        "[:space:]" => " \t\n\r".to_owned(),
        set if set.starts_with("[:") => return None,
        set => unescape(set),
    };
    let chars: Vec<char> = set.chars().collect();
    let mut all = Vec::new();
    let mut at = 0;
    while let Some(c) = chars.get(at) {
        match (chars.get(at + 1), chars.get(at + 2)) {
            (Some('-'), Some(end)) if end >= c => {
                all.extend(*c..=*end);
                at += 3;
            }
            _ => {
                all.push(*c);
                at += 1;
            }
        }
        if all.len() > 1024 {
            return None;
        }
    }
    Some(all)
}
