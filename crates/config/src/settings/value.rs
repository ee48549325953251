//! Durations and sizes as they are written and shown.

use std::fmt;
use std::time::Duration;

use super::{Excepting, Otherwise, WhenChanged, WhenUntrusted};

/// A value that is one of a few words.
pub(super) trait Choice: Copy + PartialEq + 'static {
    /// The words and what they mean, the widest first.
    const WORDS: &'static [(&'static str, Self)];

    /// Returns its place among the words: the later, the narrower.
    fn rank(self) -> usize {
        Self::WORDS.iter().position(|(_, value)| *value == self).unwrap_or(Self::WORDS.len())
    }

    /// Returns the word for it.
    fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(_, value)| *value == self).map_or("", |(word, _)| word)
    }
}

impl Choice for Otherwise {
    const WORDS: &'static [(&'static str, Self)] =
        &[("open", Self::Open), ("closed", Self::Closed)];
}

impl Choice for WhenChanged {
    const WORDS: &'static [(&'static str, Self)] =
        &[("approved", Self::Approved), ("closed", Self::Closed)];
}

impl Choice for WhenUntrusted {
    const WORDS: &'static [(&'static str, Self)] =
        &[("open", Self::Open), ("closed", Self::Closed)];
}

impl Choice for Excepting {
    const WORDS: &'static [(&'static str, Self)] =
        &[("always", Self::Always), ("for", Self::For), ("once", Self::Once), ("none", Self::None)];
}

/// A duration as it is written: `500ms`, `10s`, `2m`, `1h`.
///
/// ```
/// use std::time::Duration;
/// use tollgate_config::settings::Time;
///
/// assert_eq!(Time::parse("90s").map(|time| time.0), Some(Duration::from_secs(90)));
/// assert_eq!(Time(Duration::from_secs(120)).to_string(), "2m");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(pub Duration);

/// The units of time, in milliseconds, the shortest first.
const TIMES: &[(&str, u64)] = &[("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000)];

/// The units of size, in bytes, the smallest first.
const SIZES: &[(&str, u64)] = &[
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("B", 1),
    ("KB", 1_000),
    ("MB", 1_000_000),
];

impl Time {
    /// Reads one; none where the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_suffix("in").filter(|text| text.ends_with('m')).unwrap_or(text);
        in_units(text, TIMES).map(|milliseconds| Self(Duration::from_millis(milliseconds)))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = u64::try_from(self.0.as_millis()).unwrap_or(u64::MAX);
        show(f, milliseconds, TIMES)
    }
}

/// A size as it is written: `64KiB`, `1MiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bytes(pub u64);

impl Bytes {
    /// Reads one; none where the text is none.
    pub fn parse(text: &str) -> Option<Self> {
        in_units(text, SIZES).map(Self)
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binary = SIZES.get(..3).unwrap_or_default();
        if binary.iter().any(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            show(f, self.0, binary)
        } else {
            write!(f, "{}B", self.0)
        }
    }
}

fn in_units(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at_checked(digits)?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit.trim_start())?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

/// In the largest unit that needs no fraction.
fn show(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    let fits = |(_, factor): &&(&str, u64)| value > 0 && value.is_multiple_of(*factor);
    match units.iter().rev().find(fits).or_else(|| units.first()) {
        Some((unit, factor)) => write!(f, "{}{unit}", value / factor),
        None => write!(f, "{value}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_can_be_read() {
        for text in ["500ms", "10s", "2m", "1h", "90s", "36h"] {
            assert_eq!(Time::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Time::parse("2min"), Time::parse("2m"));
        assert_eq!(Time::parse("10 s"), Time::parse("10s"));
        for text in
            ["", "s", "10", "-1s", "1.5s", "10 seconds", "10S", "99999999999999999999h", "in"]
        {
            assert_eq!(Time::parse(text), None, "{text}");
        }
        for text in ["64KiB", "1MiB", "3GiB", "1000B", "1B"] {
            assert_eq!(Bytes::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Bytes::parse("2 KB"), Some(Bytes(2_000)));
        assert_eq!(Bytes(0).to_string(), "0B");
    }
}
