//! The end of an output of any length.

use std::collections::VecDeque;

/// Keeps the last so many bytes of what is pushed.
#[derive(Debug)]
pub(crate) struct Tail {
    bytes: VecDeque<u8>,
    limit: usize,
    is_cut: bool,
}

impl Tail {
    pub(crate) fn new(limit: usize) -> Self {
        Self { bytes: VecDeque::new(), limit, is_cut: false }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let (lost, kept) = bytes.split_at(bytes.len().saturating_sub(self.limit));
        let old = (self.bytes.len() + kept.len()).saturating_sub(self.limit);
        self.bytes.drain(..old.min(self.bytes.len()));
        self.bytes.extend(kept);
        self.is_cut |= !lost.is_empty() || old > 0;
    }

    /// The end, as text. Where it is cut, from its first whole line on.
    pub(crate) fn text(&self) -> String {
        let bytes: Vec<u8> = self.bytes.iter().copied().collect();
        let text = String::from_utf8_lossy(&bytes);
        let whole = match text.split_once('\n') {
            Some((_, rest)) if self.is_cut && !rest.trim().is_empty() => rest,
            _ => &text,
        };
        whole.trim().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tail(limit: usize, pushes: &[&str]) -> String {
        let mut tail = Tail::new(limit);
        for text in pushes {
            tail.push(text.as_bytes());
        }
        tail.text()
    }

    #[test]
    fn the_end_is_kept() {
        assert_eq!(tail(8, &[]), "");
        assert_eq!(tail(8, &["abc\n", "def\n"]), "abc\ndef");
        assert_eq!(tail(8, &["abc\n", "def\n", "ghi\n"]), "ghi");
        assert_eq!(tail(4, &["abcdefgh"]), "efgh");
        assert_eq!(tail(0, &["abc"]), "");
    }
}
