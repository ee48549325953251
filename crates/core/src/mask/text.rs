//! A text that is looked through.

use std::cell::{Cell, OnceCell};

use serde::de::IgnoredAny;

use super::shape::{Set, URL64};

/// A text, with what is worked out once where it is needed.
#[derive(Debug)]
pub(super) struct Text<'a> {
    pub(super) all: &'a str,
    is_settings: OnceCell<bool>,
    /// Runs of characters that were found last: of which set, from where, to where.
    runs: Cell<[(Set, usize, usize); 4]>,
}

const LONGEST_LINE: usize = 1024;

/// Runs that are shorter are soon found again.
const LONG_RUN: usize = 64;

impl<'a> Text<'a> {
    pub(super) const fn new(text: &'a str) -> Self {
        let runs = Cell::new([(URL64, 0, 0); 4]);
        Self { all: text, is_settings: OnceCell::new(), runs }
    }

    pub(super) const fn bytes(&self) -> &'a [u8] {
        self.all.as_bytes()
    }

    /// Returns where a run of characters ends that begins here. A text of nothing but beginnings would be gone through
    /// again from each of them.
    pub(super) fn run(&self, set: Set, at: usize) -> usize {
        let runs = self.runs.get();
        let is_known =
            |(other, from, to): &&(Set, usize, usize)| *other == set && *from <= at && at < *to;
        if let Some((_, _, end)) = runs.iter().find(is_known) {
            return *end;
        }
        let end = at + set.run(self.bytes().get(at..).unwrap_or_default());
        if end - at >= LONG_RUN {
            let [first, second, third, _] = runs;
            self.runs.set([(set, at, end), first, second, third]);
        }
        end
    }

    /// True if the text is one line, JSON, or nothing but settings: no program.
    pub(super) fn is_settings(&self) -> bool {
        *self.is_settings.get_or_init(|| {
            let text = self.all.trim();
            let is_json = || serde_json::from_str::<IgnoredAny>(text).is_ok();
            (!text.contains('\n') && text.len() <= LONGEST_LINE)
                || (text.starts_with(['{', '[']) && is_json())
                || text.lines().all(is_setting)
        })
    }

    /// Returns the line that a place is in, up to there; so much of it that the time stays linear.
    pub(super) fn line_before(&self, at: usize) -> &'a str {
        let from = self.all.floor_char_boundary(at.saturating_sub(LONGEST_LINE));
        let before = self.all.get(from..at).unwrap_or_default();
        before.rfind('\n').and_then(|end| before.get(end + 1..)).unwrap_or(before)
    }

    /// Returns the rest of the line that a place is in.
    pub(super) fn line_after(&self, at: usize) -> &'a str {
        let end = self.all.floor_char_boundary(at.saturating_add(LONGEST_LINE));
        let after = self.all.get(at..end).unwrap_or_default();
        after.find(['\n', '\r']).and_then(|end| after.get(..end)).unwrap_or(after)
    }
}

/// True for a line of a file of settings: nothing, a comment, a heading, an item, `name: value` or `NAME=value`.
fn is_setting(line: &str) -> bool {
    let line = line.trim();
    if line.is_empty() || line.starts_with(['#', ';', '[']) || line == "---" {
        return true;
    }
    let line = line.strip_prefix("export ").unwrap_or(line);
    if let Some(item) = line.strip_prefix("- ") {
        return !item.ends_with([',', ';', '{', '(', ')']);
    }
    let Some((name, value)) = line.split_once([':', '=']) else { return false };
    let name = name.trim_end().trim_matches(['"', '\'']);
    let value = value.trim();
    let is_name = |byte: u8| URL64.has(byte) || b"./ ".contains(&byte);
    name.len() <= 64
        && name.bytes().all(is_name)
        && !name.contains("  ")
        && !value.starts_with(['=', '>', ':'])
        && !value.ends_with([',', ';', '{', '(', ')'])
}
