//! What is kept of an output: its beginning and its end.

use std::collections::VecDeque;

/// The beginning and the end of an output, in a bounded amount of memory.
#[derive(Debug)]
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// How many bytes each of the two may have.
    half: usize,
    total: u64,
}

impl Kept {
    pub(crate) fn new(bytes: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), half: bytes / 2, total: 0 }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        self.total += bytes.len() as u64;
        let room = (self.half - self.head.len()).min(bytes.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        // Of what comes at once, no more than fits is looked at.
        let last = rest.get(rest.len().saturating_sub(self.half)..).unwrap_or_default();
        let over = (self.tail.len() + last.len()).saturating_sub(self.half);
        self.tail.drain(..over.min(self.tail.len()));
        self.tail.extend(last);
    }

    /// How many bytes there were.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The text of it, and how much of the middle was left out.
    pub(crate) fn text(&self) -> String {
        let kept = (self.head.len() + self.tail.len()) as u64;
        let left_out = self.total - kept;
        let (front, back) = self.tail.as_slices();
        if left_out == 0 {
            let all = [&self.head, front, back].concat();
            return String::from_utf8_lossy(&all).into_owned();
        }
        let tail = [front, back].concat();
        // A character may have been cut at either side.
        let begin = tail.iter().take(3).take_while(|byte| (0x80..0xc0).contains(*byte)).count();
        let head = String::from_utf8_lossy(&self.head);
        let tail = String::from_utf8_lossy(tail.get(begin..).unwrap_or_default());
        let head = head.trim_end_matches('\u{fffd}');
        format!("{head}\n… ({left_out} bytes left out) …\n{tail}")
    }

    /// The end of the text.
    pub(crate) fn tail(&self, bytes: usize) -> String {
        crate::text::tail(&self.text(), bytes).to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept() {
        let mut kept = Kept::new(8);
        for byte in b"0123456789abcdef" {
            kept.push(&[*byte]);
        }
        assert_eq!(kept.text(), "0123\n… (8 bytes left out) …\ncdef");
        let mut at_once = Kept::new(8);
        at_once.push(b"0123456789abcdef");
        assert_eq!(at_once.text(), kept.text());
        assert_eq!(at_once.total(), 16);
        let mut all = Kept::new(8);
        all.push(b"01234567");
        assert_eq!(all.text(), "01234567");
    }

    #[test]
    fn characters_are_not_cut() {
        let mut kept = Kept::new(8);
        kept.push("aéééééééé".as_bytes());
        let text = kept.text();
        assert!(!text.contains('\u{fffd}'), "{text}");
    }
}
