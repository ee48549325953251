//! `view_file`.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader};
use std::path::Path;

use memchr::memchr;

use super::ViewFile;
use crate::config::Limits;
use crate::text;
use crate::tool::{Cx, ToolFailure};

/// How much of a line is shown.
const LINE: usize = 2000;

/// In so many bytes of a text file there is no NUL.
const LOOKED_AT: usize = 8192;

pub(super) fn view(cx: &Cx, args: &ViewFile, limits: &Limits) -> Result<String, ToolFailure> {
    let place = cx.workspaces.to_read(&args.absolute_path, cx.read_outside)?;
    if place.is_directory() {
        return Err(ToolFailure::path(&place.path, "is a directory; list it with list_dir"));
    }
    let (file, stat) = place.open_file()?;
    let mut reader = BufReader::with_capacity(64 * 1024, file);
    let failed = |source| ToolFailure::system("read", &place.path, source);
    let beginning = reader.fill_buf().map_err(failed)?;
    let beginning = beginning.get(..LOOKED_AT.min(beginning.len())).unwrap_or_default();
    if beginning.contains(&0) {
        let kind = binary_kind(beginning);
        return Ok(format!(
            "{} is a binary file ({kind}, {} bytes); it is not shown.",
            place.path.display(),
            stat.st_size
        ));
    }
    let first = args.start_line.unwrap_or(1).max(1);
    let last = args.end_line.unwrap_or(u64::MAX);
    if last < first {
        return Err(ToolFailure::Failed(format!("EndLine ({last}) is before StartLine ({first})")));
    }
    let mut lines = Lines::new(first, last, limits);
    lines.read(&mut reader, limits.scan_bytes).map_err(failed)?;
    lines.show(&place.path)
}

/// The lines that were asked for, as far as there is room.
struct Lines {
    first: u64,
    last: u64,
    room: usize,
    room_for: usize,
    shown: String,
    /// The last line that is shown.
    shown_to: u64,
    /// The lines that the file has, as far as it was read.
    total: u64,
    is_whole: bool,
}

impl Lines {
    fn new(first: u64, last: u64, limits: &Limits) -> Self {
        Self {
            first,
            last,
            room: limits.view_bytes,
            room_for: limits.view_lines,
            shown: String::new(),
            shown_to: first - 1,
            total: 0,
            is_whole: true,
        }
    }

    fn read(&mut self, reader: &mut impl BufRead, most: u64) -> std::io::Result<()> {
        let mut line = Vec::new();
        let mut length = 0_usize;
        let mut read = 0_u64;
        loop {
            let chunk = reader.fill_buf()?;
            if chunk.is_empty() {
                if length > 0 {
                    self.push(&line, length);
                }
                return Ok(());
            }
            let end = memchr(b'\n', chunk);
            let used = end.map_or(chunk.len(), |end| end + 1);
            let text = chunk.get(..end.unwrap_or(used)).unwrap_or_default();
            // More of a line than is shown is not kept.
            let keep = text.len().min((LINE + 4).saturating_sub(line.len()));
            line.extend_from_slice(text.get(..keep).unwrap_or_default());
            length += text.len();
            reader.consume(used);
            read += used as u64;
            if end.is_some() {
                self.push(&line, length);
                line.clear();
                length = 0;
            }
            if read > most {
                self.is_whole = false;
                return Ok(());
            }
        }
    }

    fn push(&mut self, line: &[u8], length: usize) {
        self.total += 1;
        let number = self.total;
        let follows = self.shown_to + 1 == number;
        if !follows || number > self.last || self.room_for == 0 {
            return;
        }
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = String::from_utf8_lossy(line);
        let kept = text::head(&line, LINE);
        let left_out = length.saturating_sub(line.len()) + (line.len() - kept.len());
        let more = if left_out > 1 {
            format!("… ({left_out} more bytes of this line)")
        } else {
            String::new()
        };
        let entry = format!("{number}: {kept}{more}\n");
        if entry.len() > self.room {
            self.room_for = 0;
            return;
        }
        self.room -= entry.len();
        self.room_for -= 1;
        self.shown.push_str(&entry);
        self.shown_to = number;
    }

    fn show(self, path: &Path) -> Result<String, ToolFailure> {
        let name = path.display();
        let total = if self.is_whole {
            format!("{}", self.total)
        } else {
            format!("more than {}", self.total)
        };
        if self.total == 0 {
            return Ok(format!("{name} is empty."));
        }
        if self.first > self.total {
            let problem = format!("has {total} lines; StartLine is {}", self.first);
            return Err(ToolFailure::path(path, problem));
        }
        let mut text =
            format!("{name}, lines {}-{} of {total}:\n{}", self.first, self.shown_to, self.shown);
        let wanted = self.last.min(self.total);
        if self.shown_to < wanted || !self.is_whole && self.last > self.total {
            let _ = writeln!(
                text,
                "(lines {}-{} left out; go on with StartLine {})",
                self.shown_to + 1,
                if self.is_whole { wanted.to_string() } else { "…".to_owned() },
                self.shown_to + 1
            );
        }
        Ok(text)
    }
}

/// What a binary file is, by its first bytes.
fn binary_kind(beginning: &[u8]) -> &'static str {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
        (b"GIF8", "a GIF image"),
        (b"RIFF", "a WebP, WAV or AVI file"),
        (b"%PDF", "a PDF document"),
        (b"\x7fELF", "a program or library"),
        (b"PK\x03\x04", "a ZIP archive or office document"),
        (b"\x1f\x8b", "gzip data"),
        (b"\x28\xb5\x2f\xfd", "Zstandard data"),
        (b"SQLite format 3", "an SQLite database"),
        (b"\xff\xfe", "perhaps text in UTF-16"),
        (b"\xfe\xff", "perhaps text in UTF-16"),
        (b"\0asm", "a WebAssembly module"),
    ];
    KINDS.iter().find(|(magic, _)| beginning.starts_with(magic)).map_or("data", |(_, kind)| kind)
}
