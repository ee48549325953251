//! How the worker's answer travels to its supervisor: whole, or not at all.
//!
//! `TGA1`, a byte for the kind, the code, the two lengths, the two texts, and a checksum of all of
//! it. What was cut off has no checksum, and what somebody else wrote into the pipe not the right
//! one.

use crate::supervisor::Answer;

const MAGIC: [u8; 4] = *b"TGA1";
const HEADER: usize = 4 + 1 + 4 + 8 + 8;
const CHECKSUM: usize = 8;

/// How much longer a frame is than what it carries.
pub(crate) const OVERHEAD: usize = HEADER + CHECKSUM;

/// What the worker has to say.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Message {
    Answer(Answer),
    /// It panicked, with this message.
    Panic(String),
}

/// What there is of a message.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unframed {
    Whole(Message),
    /// As far as it goes it is one.
    Part,
    /// Will never be one.
    Garbled,
}

pub(crate) fn frame(message: &Message) -> Vec<u8> {
    let (kind, code, first, second) = match message {
        Message::Answer(answer) => (0, answer.code, &*answer.stdout, &*answer.stderr),
        Message::Panic(message) => (1, 0, message.as_bytes(), &b""[..]),
    };
    let mut framed = Vec::with_capacity(OVERHEAD + first.len() + second.len());
    framed.extend_from_slice(&MAGIC);
    framed.push(kind);
    framed.extend_from_slice(&code.to_le_bytes());
    framed.extend_from_slice(&(first.len() as u64).to_le_bytes());
    framed.extend_from_slice(&(second.len() as u64).to_le_bytes());
    framed.extend_from_slice(first);
    framed.extend_from_slice(second);
    framed.extend_from_slice(&checksum(&framed).to_le_bytes());
    framed
}

pub(crate) fn unframe(bytes: &[u8]) -> Unframed {
    let known = bytes.len().min(MAGIC.len());
    if bytes.get(..known) != MAGIC.get(..known) {
        return Unframed::Garbled;
    }
    whole(bytes).unwrap_or(Unframed::Part)
}

/// Nothing: something is missing.
fn whole(bytes: &[u8]) -> Option<Unframed> {
    let (_, rest) = bytes.split_first_chunk::<4>()?;
    let (kind, rest) = rest.split_first()?;
    let (code, rest) = rest.split_first_chunk()?;
    let (first, rest) = rest.split_first_chunk()?;
    let (second, rest) = rest.split_first_chunk()?;
    let lengths = (usize::try_from(u64::from_le_bytes(*first)), u64::from_le_bytes(*second));
    let (Ok(first), Ok(second)) = (lengths.0, usize::try_from(lengths.1)) else {
        return Some(Unframed::Garbled);
    };
    let (stdout, rest) = rest.split_at_checked(first)?;
    let (stderr, rest) = rest.split_at_checked(second)?;
    let (sum, rest) = rest.split_first_chunk()?;
    let summed = bytes.get(..bytes.len() - rest.len() - CHECKSUM)?;
    if u64::from_le_bytes(*sum) != checksum(summed) || !rest.is_empty() {
        return Some(Unframed::Garbled);
    }
    Some(match kind {
        0 => Unframed::Whole(Message::Answer(Answer {
            stdout: stdout.to_vec(),
            stderr: stderr.to_vec(),
            code: i32::from_le_bytes(*code),
        })),
        1 => Unframed::Whole(Message::Panic(String::from_utf8_lossy(stdout).into_owned())),
        _ => Unframed::Garbled,
    })
}

/// FNV-1a.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer() -> Message {
        Message::Answer(Answer { stdout: b"{}".into(), stderr: b"no".into(), code: -2 })
    }

    #[test]
    fn a_whole_message_is_understood() {
        let framed = frame(&answer());
        assert_eq!(unframe(&framed), Unframed::Whole(answer()));
        let panic = Message::Panic("boo".into());
        assert_eq!(unframe(&frame(&panic)), Unframed::Whole(panic));
    }

    #[test]
    fn no_part_of_a_message_counts() {
        let framed = frame(&answer());
        for length in 0..framed.len() {
            assert_eq!(unframe(&framed[..length]), Unframed::Part, "{length}");
        }
    }

    #[test]
    fn a_changed_message_does_not_count() {
        let framed = frame(&answer());
        for place in 0..framed.len() {
            let mut changed = framed.clone();
            changed[place] ^= 0x40;
            assert!(!matches!(unframe(&changed), Unframed::Whole(_)), "{place}");
        }
        let longer = [&*framed, b"x"].concat();
        assert_eq!(unframe(&longer), Unframed::Garbled);
    }
}
