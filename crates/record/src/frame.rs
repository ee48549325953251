//! One frame of a segment.

use blake3::{Hash, Hasher};

/// The largest body.
pub(crate) const LONGEST_BODY: usize = 64 * 1024;

/// `\t`, 16 digits, `\t`, 8 digits, `\t`, 64 digits, `\n`.
pub(crate) const TRAILER: usize = 1 + 16 + 1 + 8 + 1 + 64 + 1;

/// The hash before the first frame of a record.
pub(crate) const NOTHING: Hash = Hash::from_bytes([0; 32]);

/// A frame with a well-formed trailer. Whether it is genuine depends on the frame before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) body: &'a [u8],
    pub(crate) sequence: u64,
    /// The hash that stands in it.
    pub(crate) hash: Hash,
}

/// Returns the hash of a frame.
pub(crate) fn hash(previous: &Hash, sequence: u64, body: &[u8]) -> Hash {
    let mut hasher = Hasher::new();
    hasher.update(previous.as_bytes());
    hasher.update(&sequence.to_be_bytes());
    hasher.update(blake3::hash(body).as_bytes());
    hasher.finalize()
}

/// Adds a frame to a buffer and returns its hash. The body has no line feed.
pub(crate) fn write(buffer: &mut Vec<u8>, body: &[u8], sequence: u64, previous: &Hash) -> Hash {
    let hash = hash(previous, sequence, body);
    buffer.extend_from_slice(body);
    let trailer = format!("\t{sequence:016x}\t{:08x}\t{}\n", body.len(), hash.to_hex());
    buffer.extend_from_slice(trailer.as_bytes());
    hash
}

/// Returns the hash in a trailer at the end of a line, whatever the rest of the line is.
pub(crate) fn claimed(line: &[u8]) -> Option<Hash> {
    let digits = line.strip_suffix(b"\n")?;
    let digits = digits.get(digits.len().checked_sub(64)?..)?;
    Hash::from_hex(digits).ok()
}

impl<'a> Frame<'a> {
    /// Parses a line, with its line feed.
    pub(crate) fn parse(line: &'a [u8]) -> Option<Self> {
        let (body, trailer) = line.split_at_checked(line.len().checked_sub(TRAILER)?)?;
        let trailer = std::str::from_utf8(trailer).ok()?.strip_suffix('\n')?;
        let mut fields = trailer.strip_prefix('\t')?.split('\t');
        let (sequence, length, hash) = (fields.next()?, fields.next()?, fields.next()?);
        let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let is_exact = fields.next().is_none()
            && sequence.len() == 16
            && length.len() == 8
            && [sequence, length, hash].iter().all(|field| field.bytes().all(is_digit));
        if !is_exact || usize::from_str_radix(length, 16).ok()? != body.len() {
            return None;
        }
        let sequence = u64::from_str_radix(sequence, 16).ok()?;
        Some(Self { body, sequence, hash: Hash::from_hex(hash).ok()? })
    }

    /// True if it is genuine and follows on a frame with this hash.
    pub(crate) fn follows(&self, previous: &Hash) -> bool {
        hash(previous, self.sequence, self.body) == self.hash
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_read_as_it_was_written() {
        let mut buffer = Vec::new();
        let hash = write(&mut buffer, b"{}", 7, &NOTHING);
        assert_eq!(buffer.len(), 2 + TRAILER);
        let frame = Frame::parse(&buffer).unwrap();
        assert_eq!((frame.body, frame.sequence, frame.hash), (&b"{}"[..], 7, hash));
        assert!(frame.follows(&NOTHING) && !frame.follows(&hash));
        assert_eq!(claimed(&buffer), Some(hash));
    }

    #[test]
    fn no_cut_and_no_flipped_bit_is_a_frame() {
        let mut whole = Vec::new();
        write(&mut whole, br#"{"v":1}"#, 1, &NOTHING);
        for end in 0..whole.len() {
            assert_eq!(Frame::parse(&whole[..end]), None, "cut at {end}");
        }
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut flipped = whole.clone();
                flipped[at] ^= 1 << bit;
                let genuine = Frame::parse(&flipped).is_some_and(|it| it.follows(&NOTHING));
                assert!(!genuine, "byte {at}, bit {bit}");
            }
        }
    }
}
