//! A problem as a person sees it in a terminal.

use std::ops::Range;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};

use super::{Diagnostic, Severity};
use crate::source::{SourceFile, Span};

/// Whether the output is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Colours {
    /// Escape sequences of a terminal.
    Terminal,
    /// Plain text.
    #[default]
    None,
}

/// The most of a line that is shown to either side of the place.
const WINDOW: usize = 160;

/// Shows a problem with the lines it is about.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_config::diagnostic::{Code, Colours, Report, render};
/// use tollgate_config::source::{SourceFile, Span};
///
/// let file = Arc::new(SourceFile::new("hooks.json", "{\"a\": 1,}"));
/// let mut report = Report::new(file);
/// report.add(Code::TrailingComma, Span { start: 7, end: 8 }, "nothing follows this comma");
/// let text = render(&report.into_diagnostics()[0], Colours::None);
/// assert!(text.starts_with("error[TG008]: nothing follows this comma"));
/// assert!(text.contains("hooks.json:1:8"));
/// ```
pub fn render(diagnostic: &Diagnostic, colours: Colours) -> String {
    render_as(diagnostic, &diagnostic.file.path().to_string_lossy(), colours)
}

/// As [`render`], with another name for the file: the path as a person would write it.
pub fn render_as(diagnostic: &Diagnostic, path: &str, colours: Colours) -> String {
    let level = match diagnostic.severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
        Severity::Note => Level::NOTE,
    };
    let title = level.primary_title(&diagnostic.message).id(diagnostic.code.id());
    let mut group = Group::with_title(title);
    let windows = windows(diagnostic);
    for Window { part, annotations } in &windows {
        let file = &*diagnostic.file;
        let text = file.text().get(part.clone()).unwrap_or_default();
        let line = file.line(part.start);
        let mut snippet = Snippet::source(text).line_start(line as usize);
        if part.start == file.begin_of(line) {
            snippet = snippet.path(path);
        } else {
            // The columns of what is shown are not those of the line.
            let mark = annotations.first().map_or(0, |(range, _)| range.start);
            let at = file.position(part.start + mark);
            let origin = Origin::path(path).line(at.line as usize).char_column(at.column as usize);
            group = group.element(origin);
        }
        for (range, label) in annotations {
            let kind =
                if label.is_some() { AnnotationKind::Context } else { AnnotationKind::Primary };
            let annotation = kind.span(range.clone());
            snippet = snippet.annotation(match label {
                Some(label) => annotation.label(*label),
                None => annotation,
            });
        }
        group = group.element(snippet);
    }
    if windows.is_empty() {
        group = group.element(Origin::path(path));
    }
    if let Some(help) = &diagnostic.help {
        group = group.element(Level::HELP.message(help));
    }
    let renderer = match colours {
        Colours::Terminal => Renderer::styled(),
        Colours::None => Renderer::plain(),
    };
    renderer.render(&[group])
}

/// A part of the file that is shown, and the marks in it.
struct Window<'a> {
    part: Range<usize>,
    annotations: Vec<(Range<usize>, Option<&'a str>)>,
}

/// The lines of each place. A file may be one line of megabytes: no more than a window of it is
/// shown.
fn windows(diagnostic: &Diagnostic) -> Vec<Window<'_>> {
    let file = &*diagnostic.file;
    let mut places: Vec<(Span, Option<&str>)> =
        diagnostic.span.map(|span| (span, None)).into_iter().collect();
    places.extend(diagnostic.related.iter().map(|(span, label)| (*span, Some(label.as_str()))));
    let mut windows: Vec<Window<'_>> = Vec::new();
    for (span, label) in places {
        let part = lines_around(file, span);
        let end = span.end.clamp(span.start, part.end.max(span.start));
        let inside = |part: &Range<usize>| {
            span.start.saturating_sub(part.start)..end.saturating_sub(part.start)
        };
        let mark = inside(&part);
        if let Some(window) = windows.iter_mut().find(|window| window.part == part) {
            window.annotations.push((mark, label));
        } else {
            windows.push(Window { part, annotations: vec![(mark, label)] });
        }
    }
    windows
}

/// The lines that a place is in, without what is too far from it.
fn lines_around(file: &SourceFile, span: Span) -> Range<usize> {
    let text = file.text();
    let begin = file.begin_of(file.line(span.start)).max(span.start.saturating_sub(WINDOW));
    // A problem of many lines is shown by its first.
    let rest = text.get(span.start..).unwrap_or_default();
    let line_end = rest.find('\n').map_or(text.len(), |at| span.start + at);
    let line_end = match text.get(span.start..line_end) {
        Some(line) if line.ends_with('\r') => line_end - 1,
        _ => line_end,
    };
    let end = line_end.min(span.start.saturating_add(2 * WINDOW));
    boundary(text, begin)..boundary(text, end)
}

/// The nearest place at or before `at` that is between two characters.
fn boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|place| text.is_char_boundary(*place)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::diagnostic::{Code, Report};

    #[test]
    fn a_place_far_into_a_line_has_its_own_column() {
        let text = format!("{{\n\"ä\": \"{}\"}}\n", "x".repeat(500));
        let file = Arc::new(SourceFile::new("hooks.json", text.as_str()));
        for start in [9, 30, 150, 200, 260, 400] {
            let mut report = Report::new(Arc::clone(&file));
            report.add(Code::Syntax, Span { start, end: start + 3 }, "here");
            let diagnostic = &report.into_diagnostics()[0];
            let at = file.position(start);
            let shown = render(diagnostic, Colours::None);
            let wanted = format!("--> hooks.json:{}:{}\n", at.line, at.column);
            assert!(shown.contains(&wanted), "{wanted}{shown}");
            assert!(shown.contains("^^^"), "{shown}");
        }
    }
}
