//! The frontmatter of a hook file: where it is, and its keys and values with their places.

mod plain;

use std::borrow::Cow;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, ScanError};

use crate::diagnostic::{Code, Report};
use crate::source::{SourceFile, Span};

/// The line that begins and ends frontmatter.
const FENCE: &str = "---";

/// The two parts of a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Parts {
    /// Between the two lines.
    pub(super) frontmatter: Span,
    /// Behind them.
    pub(super) body: Span,
}

/// Takes a file apart. Says what is wrong where that cannot be.
pub(super) fn parts(file: &SourceFile, report: &mut Report) -> Option<Parts> {
    let text = file.text();
    if text.starts_with('\u{feff}') {
        report
            .add(
                Code::ByteOrderMark,
                Span { start: 0, end: 3 },
                "the file begins with a byte order mark",
            )
            .help("save it as UTF-8 without a byte order mark");
        return None;
    }
    if text.trim().is_empty() {
        report
            .add(Code::NoFrontmatter, Span::at(0), "the file is empty")
            .help("delete the file, or write a hook: `---`, its keys, `---`, then what it is for");
        return None;
    }
    let mut lines = Lines { text, next: 0 };
    let first = lines.next().unwrap_or_default();
    if !is_fence(text, first) {
        no_frontmatter(text, first, report);
        return None;
    }
    let start = lines.next;
    let mut near = None;
    while let Some(line) = lines.next() {
        if is_fence(text, line) {
            let frontmatter = Span { start, end: line.start };
            return Some(Parts { frontmatter, body: Span { start: lines.next, end: text.len() } });
        }
        if near.is_none() && is_nearly_fence(text, line) {
            near = Some(line);
        }
    }
    let entry =
        report.add(Code::OpenFrontmatter, first, "the frontmatter begins here and does not end");
    match near {
        Some(near) => entry
            .related(
                near,
                "this is not the end: it has to be `---` alone, at the beginning of the line",
            )
            .help("write `---` there"),
        None => entry.help("write a line `---` behind its last key"),
    };
    None
}

fn no_frontmatter(text: &str, first: Span, report: &mut Report) {
    let written = text.get(first.start..first.end).unwrap_or_default().trim();
    let begins = text.lines().position(|line| line.trim_end() == FENCE);
    let help = if written.is_empty() && text.trim_start().starts_with(FENCE) {
        "remove the empty lines before `---`".to_owned()
    } else if written == "+++" {
        "write it in YAML, between two lines `---`: TOML is not read here".to_owned()
    } else if written.starts_with(FENCE) || written.starts_with("```") {
        "the line has to be `---` alone".to_owned()
    } else if begins.is_some() {
        "move what stands before `---` behind the frontmatter".to_owned()
    } else {
        "begin the file with `---`, `event: …`, `script: |` with the code below it, and `---`"
            .to_owned()
    };
    report
        .add(
            Code::NoFrontmatter,
            first,
            "a hook begins with its frontmatter: the first line has to be `---`",
        )
        .help(help);
}

fn is_fence(text: &str, line: Span) -> bool {
    text.get(line.start..line.end).is_some_and(|line| line.trim_end() == FENCE)
}

/// What people write where they mean the end.
fn is_nearly_fence(text: &str, line: Span) -> bool {
    let Some(line) = text.get(line.start..line.end) else { return false };
    let trimmed = line.trim();
    trimmed == "..." || (trimmed.len() >= 3 && trimmed.bytes().all(|byte| byte == b'-'))
}

/// The lines of a text, without their breaks.
struct Lines<'t> {
    text: &'t str,
    next: usize,
}

impl Iterator for Lines<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let start = self.next;
        let rest = self.text.get(start..).filter(|rest| !rest.is_empty())?;
        let length = rest.find('\n');
        self.next = start + length.map_or(rest.len(), |length| length + 1);
        Some(Span { start, end: start + length.unwrap_or(rest.len()) })
    }
}

/// A key and its value.
#[derive(Debug)]
pub(super) struct Entry<'t> {
    pub(super) key: Scalar<'t>,
    pub(super) value: Value<'t>,
}

/// A value, as far as it matters here.
#[derive(Debug)]
pub(super) enum Value<'t> {
    Scalar(Scalar<'t>),
    /// A list, by its beginning.
    List(Span),
    /// Keys and values, by their beginning.
    Map(Span),
    /// An alias, which was reported.
    Alias(Span),
}

impl Value<'_> {
    pub(super) fn span(&self) -> Span {
        match self {
            Self::Scalar(scalar) => scalar.span,
            Self::List(span) | Self::Map(span) | Self::Alias(span) => *span,
        }
    }
}

/// A text, number or the like.
#[derive(Debug)]
pub(super) struct Scalar<'t> {
    pub(super) text: Cow<'t, str>,
    pub(super) style: ScalarStyle,
    pub(super) span: Span,
}

impl Scalar<'_> {
    /// Whether nothing is written, or that there is nothing.
    pub(super) fn is_null(&self) -> bool {
        let is_null = matches!(&*self.text, "" | "~" | "null" | "Null" | "NULL");
        self.style == ScalarStyle::Plain && (is_null || self.span.start == self.span.end)
    }
}

/// The most keys that are looked at, and the most that is said of what is not read. There are
/// seven keys.
const MOST: usize = 64;

/// The keys and values of the frontmatter, in their order. None where they cannot be told; what
/// is wrong with them is said in any case.
pub(super) fn entries<'t>(
    file: &'t SourceFile,
    at: Span,
    report: &mut Report,
) -> Option<Vec<Entry<'t>>> {
    let text = file.text().get(at.start..at.end).unwrap_or_default();
    plain::entries(text, at.start).or_else(|| parsed(file, at, report))
}

/// The same, by a parser of YAML.
fn parsed<'t>(file: &'t SourceFile, at: Span, report: &mut Report) -> Option<Vec<Entry<'t>>> {
    let text = file.text().get(at.start..at.end).unwrap_or_default();
    let options = granit_parser::options! {
        disallow_directives: true,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
    };
    let mut reader = Reader {
        offset: at.start,
        report,
        depth: 0,
        documents: 0,
        features: 0,
        root: Root::None,
        entries: Vec::new(),
        key: Ahead::Key,
    };
    for event in Parser::new_from_str_with_options(text, options) {
        match event {
            Ok((event, span)) => {
                let span = reader.span(span);
                reader.event(event, span);
            }
            Err(error) => {
                reader.error(text, &error);
                return None;
            }
        }
    }
    match reader.root {
        Root::None | Root::Map => Some(reader.entries),
        Root::Other(span) => {
            reader
                .report
                .add(Code::WrongType, span, "the frontmatter has to be keys and values")
                .help("write `event: tool.pre`, and `script: |` with the code below it");
            None
        }
    }
}

/// What the frontmatter is.
enum Root {
    None,
    Map,
    Other(Span),
}

/// What comes next.
#[derive(Default)]
enum Ahead<'t> {
    #[default]
    Key,
    /// The value of this key.
    Value(Scalar<'t>),
    /// The value of a key that is none.
    Nothing,
}

struct Reader<'r, 't> {
    offset: usize,
    report: &'r mut Report,
    /// How many collections are open.
    depth: usize,
    documents: usize,
    /// How much there is that is not read here.
    features: usize,
    root: Root,
    entries: Vec<Entry<'t>>,
    /// What the next node is the value of.
    key: Ahead<'t>,
}

impl<'t> Reader<'_, 't> {
    /// A place in the file. The parser counts from the beginning of the frontmatter.
    fn span(&mut self, span: granit_parser::Span) -> Span {
        if let Some(tag) = span.tag_span().and_then(|tag| tag.byte_range()) {
            let tag = Span { start: tag.start + self.offset, end: tag.end + self.offset };
            self.feature(tag, "a tag", "remove it: the values here have the types they need");
        }
        let range = span.byte_range().unwrap_or_default();
        Span { start: range.start + self.offset, end: range.end + self.offset }
    }

    fn feature(&mut self, at: Span, what: &str, help: &str) {
        self.features += 1;
        if self.features > MOST {
            return;
        }
        self.report
            .add(Code::YamlFeature, at, format!("{what} is not read in frontmatter"))
            .help(help);
    }

    fn event(&mut self, event: Event<'t>, span: Span) {
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents == 2 {
                    self.feature(span, "a second document", "keep one: a file is one hook");
                }
            }
            Event::Anchor(..) => {
                self.feature(span, "an anchor", "remove it, and write each value out");
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                self.feature(span, "an alias", "write the value out");
                self.node(Value::Alias(span));
            }
            Event::Scalar(text, style, ..) => {
                self.node(Value::Scalar(Scalar { text, style, span }));
            }
            Event::SequenceStart(..) => {
                self.node(Value::List(span));
                self.depth += 1;
            }
            Event::MappingStart(..) => {
                if self.depth == 0 && self.documents == 1 && matches!(self.root, Root::None) {
                    self.root = Root::Map;
                } else {
                    self.node(Value::Map(span));
                }
                self.depth += 1;
            }
            Event::SequenceEnd | Event::MappingEnd => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
    }

    /// A key or a value, or something inside of one.
    fn node(&mut self, value: Value<'t>) {
        if self.documents > 1 {
            return;
        }
        match (&self.root, self.depth) {
            (Root::None, 0) => self.root = Root::Other(value.span()),
            (Root::Map, 1) => match (std::mem::take(&mut self.key), value) {
                (Ahead::Key, Value::Scalar(key)) => self.key = Ahead::Value(key),
                (Ahead::Key, other) => {
                    self.features += 1;
                    if self.features <= MOST {
                        self.report
                            .add(Code::WrongType, other.span(), "a key has to be a word")
                            .help("write `event`, `script` or another key of a hook");
                    }
                    self.key = Ahead::Nothing;
                }
                (Ahead::Value(key), value) if self.entries.len() < MOST => {
                    self.entries.push(Entry { key, value });
                }
                (Ahead::Value(_) | Ahead::Nothing, _) => {}
            },
            _ => {}
        }
    }

    fn error(&mut self, text: &str, error: &ScanError) {
        let at = error.marker().byte_offset().unwrap_or_default();
        let at = Span::at((at + self.offset).min(self.offset + text.len()));
        if matches!(error.kind(), ErrorKind::DirectiveDisallowed) {
            self.feature(at, "a directive", "remove the line");
            return;
        }
        if matches!(error.kind(), ErrorKind::RecursionLimitExceeded) {
            self.report
                .add(Code::TooDeep, at, "the frontmatter is nested deeper than 255 levels")
                .help("a hook needs one level");
            return;
        }
        let in_value = |name: &str| {
            matches!(&self.key, Ahead::Value(key) if key.text == name)
                || self.entries.last().is_some_and(|entry| entry.key.text == name)
        };
        let help = match error.kind() {
            ErrorKind::TabInBlockIndentation
            | ErrorKind::TabInIndentation
            | ErrorKind::TabNotAllowed
            | ErrorKind::TabAtBlockScalarStart => "indent with spaces: YAML has no tabs there",
            _ if in_value("when") => {
                "an expression that begins with a quote or a bracket, or has `: ` in it, stands \
                 below `when: |`, indented"
            }
            _ if in_value("script") => {
                "write `script: |`, and the code below it, each line indented"
            }
            _ => {
                "a key is `name: value`; a text that has `: ` in it, or begins with a sign, stands in quotes"
            }
        };
        let said = error.kind().to_string();
        self.report.add(Code::NotYaml, at, format!("not valid YAML: {said}")).help(help);
    }
}
