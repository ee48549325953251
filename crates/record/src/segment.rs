//! A segment: frames that follow on each other, and what is torn or damaged between them.

use std::ops::Range;

use blake3::Hash;

use crate::entry::{Entry, Stored};
use crate::frame::{Frame, TRAILER, claimed, hash};

/// The last genuine frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Last {
    pub(crate) sequence: u64,
    pub(crate) hash: Hash,
}

/// A segment that was checked from its beginning.
#[derive(Debug, Default)]
pub(crate) struct Scan {
    /// The bodies of the genuine frames, each with its sequence number.
    pub(crate) bodies: Vec<(Range<usize>, u64)>,
    /// Where the segment is damaged, in bytes.
    pub(crate) damaged: Vec<Range<usize>>,
    /// The last genuine frame.
    pub(crate) last: Option<Last>,
    /// Where that frame ends.
    pub(crate) end: usize,
    /// The hash that the first frame says it follows on.
    pub(crate) follows: Option<Hash>,
}

impl Scan {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut scan = Self::default();
        let mut start = 0;
        // After a damaged frame, the hash that stands in it may be right, or the one that its body has.
        let mut candidates: Vec<Hash> = Vec::new();
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            let range = start..start + line.len();
            start = range.end;
            let frame = Frame::parse(line);
            if range.start == 0 {
                scan.follows = frame.as_ref().and_then(previous);
                candidates.extend(scan.follows);
            }
            match frame {
                Some(frame) if candidates.iter().any(|previous| frame.follows(previous)) => {
                    let body = range.start..range.end.saturating_sub(TRAILER);
                    scan.bodies.push((body, frame.sequence));
                    scan.last = Some(Last { sequence: frame.sequence, hash: frame.hash });
                    scan.end = range.end;
                    candidates = vec![frame.hash];
                }
                frame => {
                    scan.damaged.push(range);
                    let computed = |frame: Frame<'_>| {
                        let of = |previous| hash(previous, frame.sequence, frame.body);
                        candidates.iter().map(of).collect()
                    };
                    let mut next: Vec<Hash> = frame.map(computed).unwrap_or_default();
                    next.extend(claimed(line));
                    // The hash that was expected, if the whole line is foreign.
                    next.extend(scan.last.map(|last| last.hash));
                    next.truncate(4);
                    candidates = next;
                }
            }
        }
        scan
    }
}

/// Returns the hash that the first frame of a segment says it follows on.
fn previous(frame: &Frame<'_>) -> Option<Hash> {
    match Stored::parse(frame.body, None)?.entry {
        Entry::Began(began) => Hash::from_hex(began.previous).ok(),
        _ => None,
    }
}

/// Checks the last frame of a segment by its tail alone: it has to be whole, genuine, and behind another one. None
/// if the tail does not show that.
pub(crate) fn last(tail: &[u8]) -> Option<Last> {
    let before = tail.len().checked_sub(1)?;
    let start = tail.get(..before)?.iter().rposition(|byte| *byte == b'\n')? + 1;
    let frame = Frame::parse(tail.get(start..)?)?;
    let previous = claimed(tail.get(..start)?)?;
    let last = Last { sequence: frame.sequence, hash: frame.hash };
    frame.follows(&previous).then_some(last)
}
