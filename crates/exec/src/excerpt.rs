//! The beginning and the end of an output of any length.

use std::collections::VecDeque;

/// Keeps so many bytes of what is pushed: half from the beginning, half from the end.
#[derive(Debug)]
pub(crate) struct Excerpt {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    head_limit: usize,
    tail_limit: usize,
    dropped: u64,
}

impl Excerpt {
    pub(crate) fn new(limit: usize) -> Self {
        let tail_limit = limit / 2;
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            head_limit: limit - tail_limit,
            tail_limit,
            dropped: 0,
        }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) {
        let room = self.head_limit - self.head.len();
        let (head, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(head);
        let (lost, kept) = rest.split_at(rest.len().saturating_sub(self.tail_limit));
        let old = (self.tail.len() + kept.len()).saturating_sub(self.tail_limit);
        self.tail.drain(..old.min(self.tail.len()));
        self.tail.extend(kept);
        self.dropped += (lost.len() + old) as u64;
    }

    /// The excerpt, with a line that says how much was left out.
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        let Self { mut head, tail, dropped, .. } = self;
        if dropped > 0 {
            head.extend_from_slice(format!("\n[{dropped} bytes left out]\n").as_bytes());
        }
        let (front, back) = tail.as_slices();
        head.extend_from_slice(front);
        head.extend_from_slice(back);
        head
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn excerpt(limit: usize, pushes: &[&[u8]]) -> String {
        let mut excerpt = Excerpt::new(limit);
        for bytes in pushes {
            excerpt.push(bytes);
        }
        String::from_utf8(excerpt.into_bytes()).unwrap()
    }

    #[test]
    fn what_fits_is_kept_whole() {
        assert_eq!(excerpt(8, &[b"abc", b"defgh"]), "abcdefgh");
        assert_eq!(excerpt(8, &[b"abcdefgh"]), "abcdefgh");
        assert_eq!(excerpt(8, &[]), "");
    }

    #[test]
    fn the_middle_is_left_out() {
        assert_eq!(excerpt(4, &[b"abcdefgh"]), "ab\n[4 bytes left out]\ngh");
        assert_eq!(excerpt(4, &[b"abcde", b"f", b"gh"]), "ab\n[4 bytes left out]\ngh");
        assert_eq!(excerpt(0, &[b"abc"]), "\n[3 bytes left out]\n");
    }
}
