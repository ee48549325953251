//! Why a text was not found, and what comes nearest.

use std::fmt::Write as _;
use std::ops::Range;

use super::edit::line_of;
use crate::text;

/// How many lines are compared by likeness; more take too long.
const COMPARED: usize = 20_000;

/// How much of a line is compared and shown.
const LINE: usize = 120;

/// From this on two lines are alike.
const ALIKE: f64 = 0.7;

/// Explains that `target` is not in a range of the text. Goes on a sentence about the text.
pub(super) fn explain(old: &str, range: &Range<usize>, target: &str) -> String {
    let narrowed = range.start > 0 || range.end < old.len();
    let mut problem = "has TargetContent 0 times".to_owned();
    if narrowed {
        let (first, last) = (line_of(old, range.start), line_of(old, range.end.saturating_sub(1)));
        let _ = write!(problem, " within lines {first}-{last}");
        let elsewhere: Vec<_> = old
            .match_indices(target)
            .take(5)
            .map(|(start, _)| line_of(old, start).to_string())
            .collect();
        if !elsewhere.is_empty() {
            let lines = elsewhere.join(", ");
            let _ = write!(problem, "; outside of them it is at line {lines}");
            return problem;
        }
    }
    let nearest = nearest(old, target);
    if nearest.is_empty() {
        problem.push_str("; nothing like it is there, view the file again");
    }
    for miss in nearest {
        problem.push_str("; ");
        problem.push_str(&miss);
    }
    problem
}

/// Up to three places that come near.
fn nearest(old: &str, target: &str) -> Vec<String> {
    let wanted: Vec<&str> = target.lines().collect();
    let Some(skipped) = wanted.iter().position(|line| !line.trim().is_empty()) else {
        return Vec::new();
    };
    let Some(first) = wanted.get(skipped).copied() else { return Vec::new() };
    let lines: Vec<&str> = old.lines().collect();
    let same = lines.iter().enumerate().filter(|(_, line)| is_same(line, first));
    let found: Vec<String> =
        same.take(3).map(|(at, _)| compare(&lines, at.saturating_sub(skipped), &wanted)).collect();
    if !found.is_empty() {
        return found;
    }
    let first = text::head(first.trim(), LINE);
    let mut alike: Vec<_> = lines
        .iter()
        .enumerate()
        .take(COMPARED)
        .map(|(at, line)| (strsim::jaro_winkler(text::head(line.trim(), LINE), first), at, line))
        .filter(|(likeness, ..)| *likeness >= ALIKE)
        .collect();
    alike.sort_by(|one, other| other.0.total_cmp(&one.0));
    alike
        .into_iter()
        .take(2)
        .map(|(_, at, line)| {
            format!("line {} is similar: `{}`", at + 1, text::line(line.trim(), LINE))
        })
        .collect()
}

/// The same but for whitespace around it, or up to where the target goes on in the line.
fn is_same(line: &str, wanted: &str) -> bool {
    let (line, wanted) = (line.trim(), wanted.trim());
    line == wanted
}

/// Where the lines from `at` on begin to differ from those that were wanted.
fn compare(lines: &[&str], at: usize, wanted: &[&str]) -> String {
    let mut whitespace = None;
    for (step, want) in wanted.iter().enumerate() {
        let number = at + step + 1;
        let Some(line) = lines.get(at + step) else {
            return format!("line {} begins like it, but the file ends before it does", at + 1);
        };
        if line == want {
            continue;
        }
        if line.trim() == want.trim() {
            whitespace.get_or_insert(number);
            continue;
        }
        return format!(
            "line {} begins like it, but line {number} is `{}` and not `{}`",
            at + 1,
            text::line(line, LINE),
            text::line(want, LINE)
        );
    }
    match whitespace {
        Some(number) => {
            let line = lines.get(number - 1).copied().unwrap_or_default();
            format!(
                "line {} is the same but for whitespace; line {number} is {:?}",
                at + 1,
                text::head(line, LINE)
            )
        }
        None => format!("line {} is the same but for how its lines end", at + 1),
    }
}
