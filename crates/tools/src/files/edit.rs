//! `replace_file_content` and `multi_replace_file_content`.

use std::borrow::Cow;
use std::ops::Range;

use rustix::fs::Stat;

use super::{Chunk, diff, misses};
use crate::atomic::{self, Expect};
use crate::blocking::Cancel;
use crate::config::Limits;
use crate::text::count;
use crate::tool::{Cx, ToolFailure};
use crate::workspace::{Missing, Place};

/// How many chunks one call may have.
const CHUNKS: usize = 1000;

/// How many pieces one call may replace.
const REPLACEMENTS: usize = 100_000;

/// A piece of the file that is replaced.
struct Piece {
    range: Range<usize>,
    /// By what this chunk says.
    chunk: usize,
}

/// An edit that can be made.
struct Planned {
    place: Place,
    stat: Stat,
    old: String,
    new: String,
    /// How many pieces are replaced.
    pieces: usize,
}

pub(super) fn edit(
    cx: &Cx,
    target: &str,
    chunks: &[Chunk],
    limits: &Limits,
    cancel: &Cancel,
) -> Result<String, ToolFailure> {
    let Planned { place, stat, old, new, pieces } = plan(cx, target, chunks, limits, cancel)?;
    atomic::write(&place, new.as_bytes(), &Expect::Unchanged(&stat), cancel)?;
    Ok(format!(
        "Made {} in {}.\n{}",
        count(pieces, "replacement", "replacements"),
        place.path.display(),
        diff::unified(&place.path, &old, &new, limits.diff_bytes)
    ))
}

/// The diff that an edit would make.
pub(super) fn preview(
    cx: &Cx,
    target: &str,
    chunks: &[Chunk],
    limits: &Limits,
    cancel: &Cancel,
) -> Result<String, ToolFailure> {
    let planned = plan(cx, target, chunks, limits, cancel)?;
    Ok(diff::unified(&planned.place.path, &planned.old, &planned.new, diff::PREVIEW))
}

/// All of an edit but the writing.
fn plan(
    cx: &Cx,
    target: &str,
    chunks: &[Chunk],
    limits: &Limits,
    cancel: &Cancel,
) -> Result<Planned, ToolFailure> {
    if chunks.is_empty() || chunks.len() > CHUNKS {
        return Err(ToolFailure::Failed(format!(
            "ReplacementChunks has {} entries; it must have 1 to {CHUNKS}",
            chunks.len()
        )));
    }
    let place = cx.workspaces.to_write(target, Missing::Leave)?;
    if place.stat.is_none() {
        return Err(ToolFailure::path(target, "does not exist; create it with write_to_file"));
    }
    let (old, stat) = place.read(limits.edit_bytes)?;
    let old = String::from_utf8(old).map_err(|_| {
        ToolFailure::path(&place.path, "is no UTF-8 text, which is all that this tool edits")
    })?;
    let refused = |chunk: usize, problem: String| {
        let which = if chunks.len() > 1 {
            format!("was not changed: chunk {} {problem}", chunk + 1)
        } else {
            format!("was not changed: it {problem}")
        };
        ToolFailure::path(&place.path, which)
    };
    let (mut pieces, mut with) = (Vec::new(), Vec::new());
    for (chunk, given) in chunks.iter().enumerate() {
        cancel.check()?;
        let (ranges, replacement) = find(&old, given).map_err(|problem| refused(chunk, problem))?;
        pieces.extend(ranges.into_iter().map(|range| Piece { range, chunk }));
        with.push(replacement);
        if pieces.len() > REPLACEMENTS {
            let problem = format!("makes it more than {REPLACEMENTS} replacements");
            return Err(refused(chunk, problem));
        }
    }
    pieces.sort_by_key(|piece| piece.range.start);
    for pair in pieces.windows(2) {
        if let [one, other] = pair
            && one.range.end > other.range.start
        {
            let line = line_of(&old, other.range.start);
            let problem = format!("overlaps with chunk {} at line {line}", one.chunk + 1);
            return Err(refused(other.chunk, problem));
        }
    }
    // Known before it is built: a small call can ask for a very large file.
    let size = pieces.iter().fold(old.len(), |size, piece| {
        let grown = size.saturating_add(with.get(piece.chunk).map_or(0, |with| with.len()));
        grown.saturating_sub(piece.range.len())
    });
    if size > limits.edit_bytes {
        let limit = limits.edit_bytes;
        let problem =
            format!("was not changed: it would have {size} bytes, and {limit} is the limit");
        return Err(ToolFailure::path(&place.path, problem));
    }
    let new = apply(&old, &pieces, &with);
    if new == old {
        let problem = "was not changed: ReplacementContent is the same as TargetContent";
        return Err(ToolFailure::path(&place.path, problem));
    }
    Ok(Planned { place, stat, new, pieces: pieces.len(), old })
}

/// Finds what a chunk is about, and what comes in its place. An error goes on a sentence about the
/// chunk.
fn find<'a>(old: &str, chunk: &'a Chunk) -> Result<(Vec<Range<usize>>, Cow<'a, str>), String> {
    if chunk.target_content.is_empty() {
        return Err("has an empty TargetContent, which is everywhere".to_owned());
    }
    let range = lines_range(old, chunk)?;
    let (target, with, found) = occurrences(old, &range, chunk);
    match found.len() {
        0 => return Err(misses::explain(old, &range, &target)),
        1 => {}
        _ if chunk.allow_multiple => {}
        many => {
            let lines: Vec<_> =
                found.iter().take(10).map(|start| line_of(old, *start).to_string()).collect();
            let more = if many > 10 { ", …" } else { "" };
            return Err(format!(
                "has TargetContent {many} times (at lines {}{more}); give more of the text around \
                 it, narrow StartLine and EndLine, or set AllowMultiple",
                lines.join(", ")
            ));
        }
    }
    let ranges = found.into_iter().map(|start| start..start + target.len()).collect();
    Ok((ranges, with))
}

/// Where the target is, without overlaps. In a file with Windows line ends, a target without any
/// means them, and so does what is put in.
fn occurrences<'a>(
    old: &str,
    range: &Range<usize>,
    chunk: &'a Chunk,
) -> (Cow<'a, str>, Cow<'a, str>, Vec<usize>) {
    let text = old.get(range.clone()).unwrap_or_default();
    let starts = |target: &str| -> Vec<usize> {
        text.match_indices(target).map(|(start, _)| range.start + start).collect()
    };
    let (target, with) = (chunk.target_content.as_str(), chunk.replacement_content.as_str());
    let found = starts(target);
    let is_windows = old.contains("\r\n");
    if is_windows && !target.contains('\r') && !with.contains('\r') {
        let windows = |text: &str| text.replace('\n', "\r\n");
        if !target.contains('\n') {
            return (target.into(), windows(with).into(), found);
        }
        if found.is_empty() {
            let target = windows(target);
            let found = starts(&target);
            return (target.into(), windows(with).into(), found);
        }
    }
    (target.into(), with.into(), found)
}

/// The bytes of the lines that a chunk is to be found in.
fn lines_range(old: &str, chunk: &Chunk) -> Result<Range<usize>, String> {
    let first = chunk.start_line.unwrap_or(1).max(1);
    let last = chunk.end_line.unwrap_or(u64::MAX);
    if last < first {
        return Err(format!("has EndLine ({last}) before StartLine ({first})"));
    }
    let (mut number, mut at) = (1, 0);
    let mut start = (first == 1).then_some(0);
    for line in old.split_inclusive('\n') {
        if number == first {
            start = Some(at);
        }
        at += line.len();
        if number == last {
            return Ok(start.unwrap_or(at)..at);
        }
        number += 1;
    }
    start.map(|start| start..old.len()).ok_or_else(|| {
        let lines = old.lines().count();
        format!("has StartLine {first}, but there are only {lines} lines")
    })
}

fn apply(old: &str, pieces: &[Piece], with: &[Cow<'_, str>]) -> String {
    let mut new = String::with_capacity(old.len());
    let mut at = 0;
    for Piece { range, chunk } in pieces {
        new.push_str(old.get(at..range.start).unwrap_or_default());
        new.push_str(with.get(*chunk).map_or("", |with| with));
        at = range.end;
    }
    new.push_str(old.get(at..).unwrap_or_default());
    new
}

/// The number of the line that a byte is in.
pub(super) fn line_of(text: &str, at: usize) -> usize {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    memchr::memchr_iter(b'\n', before).count() + 1
}
