//! Whole-number arithmetic of what is known.

/// The value of an expression of numbers, brackets and the common operators, with variables
/// already put in.
pub(super) fn evaluate(text: &str) -> Option<i64> {
    let mut parser = Parser { text: text.as_bytes(), at: 0, depth: 0 };
    let value = parser.sum()?;
    parser.space();
    (parser.at == parser.text.len()).then_some(value)
}

struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn space(&mut self) {
        while self.peek().is_some_and(|c| c.is_ascii_whitespace()) {
            self.at += 1;
        }
    }

    fn takes(&mut self, c: u8) -> bool {
        self.space();
        let found = self.peek() == Some(c);
        self.at += usize::from(found);
        found
    }

    fn sum(&mut self) -> Option<i64> {
        let mut value = self.product()?;
        loop {
            if self.takes(b'+') {
                value = value.checked_add(self.product()?)?;
            } else if self.takes(b'-') {
                value = value.checked_sub(self.product()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn product(&mut self) -> Option<i64> {
        let mut value = self.atom()?;
        loop {
            if self.takes(b'*') {
                if self.peek() == Some(b'*') {
                    return None;
                }
                value = value.checked_mul(self.atom()?)?;
            } else if self.takes(b'/') {
                value = value.checked_div(self.atom()?)?;
            } else if self.takes(b'%') {
                value = value.checked_rem(self.atom()?)?;
            } else {
                return Some(value);
            }
        }
    }

    fn atom(&mut self) -> Option<i64> {
        self.depth += 1;
        if self.depth > 64 {
            return None;
        }
        let value = if self.takes(b'-') {
            self.atom()?.checked_neg()
        } else if self.takes(b'+') {
            self.atom()
        } else if self.takes(b'(') {
            let value = self.sum()?;
            self.takes(b')').then_some(value)
        } else {
            self.number()
        };
        self.depth -= 1;
        value
    }

    fn number(&mut self) -> Option<i64> {
        self.space();
        let begin = self.at;
        while self.peek().is_some_and(|c| c.is_ascii_alphanumeric() || c == b'#' || c == b'_') {
            self.at += 1;
        }
        let text = std::str::from_utf8(self.text.get(begin..self.at)?).ok()?;
        if let Some(hex) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
            return i64::from_str_radix(hex, 16).ok();
        }
        if let Some((base, digits)) = text.split_once('#') {
            let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
            return i64::from_str_radix(digits, base).ok();
        }
        if text.len() > 1 && text.starts_with('0') {
            return i64::from_str_radix(text, 8).ok();
        }
        text.parse().ok()
    }
}
