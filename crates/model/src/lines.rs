//! Lines and server-sent events out of bytes that come as they come, within bounds.

/// What a stream of bytes cannot be read for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Garbled {
    /// A line, or the lines of one event, are longer than this.
    TooLong(usize),
    /// A line is not UTF-8.
    NotUtf8,
}

/// Takes lines out of bytes. Lines end with LF, CR, or both.
#[derive(Debug)]
pub(crate) struct Lines {
    line: Vec<u8>,
    limit: usize,
    /// The last byte was a CR: an LF belongs to it.
    is_after_cr: bool,
    is_first: bool,
}

impl Lines {
    pub(crate) fn new(limit: usize) -> Self {
        Self { line: Vec::new(), limit, is_after_cr: false, is_first: true }
    }

    /// The next line of these bytes, and what of them is left. Without a line, there is nothing
    /// left: what was there is kept for the bytes that come.
    pub(crate) fn take<'a>(
        &mut self,
        mut bytes: &'a [u8],
    ) -> Result<(Option<String>, &'a [u8]), Garbled> {
        if self.is_after_cr
            && let Some((first, rest)) = bytes.split_first()
        {
            self.is_after_cr = false;
            if *first == b'\n' {
                bytes = rest;
            }
        }
        let end = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
        let (begin, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        if self.line.len() + begin.len() > self.limit {
            return Err(Garbled::TooLong(self.limit));
        }
        self.line.extend_from_slice(begin);
        let Some((terminator, rest)) = rest.split_first() else { return Ok((None, rest)) };
        self.is_after_cr = *terminator == b'\r';
        let mut line =
            String::from_utf8(std::mem::take(&mut self.line)).map_err(|_| Garbled::NotUtf8)?;
        if std::mem::take(&mut self.is_first) && line.starts_with('\u{feff}') {
            line.remove(0);
        }
        Ok((Some(line), rest))
    }
}

/// Puts lines together to events, of which the data is what counts: every provider says in it
/// what the name of the event says.
#[derive(Debug)]
pub(crate) struct Events {
    data: Option<String>,
    limit: usize,
}

impl Events {
    pub(crate) fn new(limit: usize) -> Self {
        Self { data: None, limit }
    }

    /// The data of the event that this line ends.
    pub(crate) fn line(&mut self, line: &str) -> Result<Option<String>, Garbled> {
        if line.is_empty() {
            return Ok(self.data.take());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        if field == "data" {
            let value = value.strip_prefix(' ').unwrap_or(value);
            match &mut self.data {
                None => self.data = Some(value.to_owned()),
                Some(data) if data.len() + 1 + value.len() > self.limit => {
                    return Err(Garbled::TooLong(self.limit));
                }
                Some(data) => {
                    data.push('\n');
                    data.push_str(value);
                }
            }
        }
        Ok(None)
    }

    /// The data of an event that the end of the stream ends, which some servers leave it to.
    pub(crate) fn end(&mut self) -> Option<String> {
        self.data.take()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn events(chunks: &[&[u8]], limit: usize) -> Result<Vec<String>, Garbled> {
        let (mut lines, mut events) = (Lines::new(limit), Events::new(limit));
        let mut out = Vec::new();
        for chunk in chunks {
            let mut rest = *chunk;
            loop {
                let (line, left) = lines.take(rest)?;
                rest = left;
                let Some(line) = line else { break };
                out.extend(events.line(&line)?);
            }
        }
        out.extend(events.end());
        Ok(out)
    }

    #[test]
    fn events_are_read_however_lines_end() {
        let text = "\u{feff}event: a\ndata: one\ndata:two\n\n: comment\r\nid: 7\r\ndata:  x\r\n\r\ndata\r\rdata: end\n";
        let expected = ["one\ntwo", " x", "", "end"].map(str::to_owned);
        assert_eq!(events(&[text.as_bytes()], 100).unwrap(), expected);
        let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        assert_eq!(events(&bytes, 100).unwrap(), expected);
    }

    #[test]
    fn a_line_that_was_cut_is_no_line() {
        assert_eq!(events(&[b"data: a\n\ndata: {\"te"], 100).unwrap(), ["a"]);
    }

    #[test]
    fn the_limit_is_kept_to_the_byte() {
        let of = |length: usize| format!("data:{}\n\n", "x".repeat(length - 5));
        assert!(events(&[of(100).as_bytes()], 100).is_ok());
        assert_eq!(events(&[of(101).as_bytes()], 100), Err(Garbled::TooLong(100)));
        // Also for a line that never ends, and for one event of many lines.
        assert_eq!(events(&[&[b'x'; 60], &[b'x'; 60]], 100), Err(Garbled::TooLong(100)));
        assert_eq!(
            events(&["data: xxxxxxxxx\n".repeat(20).as_bytes()], 100),
            Err(Garbled::TooLong(100))
        );
    }

    #[test]
    fn characters_may_be_split_and_must_be_characters() {
        let text = "data: grüße 🦀\n\n".as_bytes();
        let bytes: Vec<&[u8]> = text.chunks(1).collect();
        assert_eq!(events(&bytes, 100).unwrap(), ["grüße 🦀"]);
        assert_eq!(events(&[b"data: \xff\n\n"], 100), Err(Garbled::NotUtf8));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn how_bytes_are_cut_up_changes_nothing(
            bytes in proptest::collection::vec(prop_oneof![
                Just(b'\n'), Just(b'\r'), Just(b':'), Just(b'd'), Just(b' '), any::<u8>()
            ], 0..200),
            at in 0_usize..200,
        ) {
            let whole = events(&[&bytes], 150);
            let (left, right) = bytes.split_at(at.min(bytes.len()));
            prop_assert_eq!(events(&[left, right], 150), whole);
        }
    }
}
