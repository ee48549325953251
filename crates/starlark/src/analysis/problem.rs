//! What is wrong, and where.

use std::ops::Range;

use starlark_syntax::codemap::Span;

use super::names::quoted;

/// Something that is wrong with a script, or deserves a look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// What kind of thing.
    pub kind: ProblemKind,
    /// Where: bytes of the text that was checked.
    pub range: Range<usize>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// The name that it is about, where there is one.
    pub name: Option<String>,
}

/// The kinds of problems.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ProblemKind {
    /// The text has too many bytes.
    TooLong,
    /// The text nests too deeply.
    TooDeep,
    /// The text is not Starlark.
    Syntax,
    /// Starlark, but not for scripts: `load`, types, statements outside functions.
    NotAllowed,
    /// There is no function `handle`.
    NoHandle,
    /// `handle` cannot be called with an event and a payload.
    HandleArity,
    /// Nothing has this name.
    UnknownName,
    /// A built-in has nothing by this name.
    UnknownAttribute,
    /// A built-in is called with arguments it does not take, or without those it needs.
    WrongArity,
    /// A condition that is not one expression.
    NotAnExpression,
    /// `handle` can end without a decision. A warning.
    NoDecision,
}

impl ProblemKind {
    /// Whether the script can be used all the same.
    pub fn is_warning(self) -> bool {
        self == ProblemKind::NoDecision
    }

    /// The kind by its name, as cases and reports write it.
    pub fn name(self) -> &'static str {
        match self {
            ProblemKind::TooLong => "too_long",
            ProblemKind::TooDeep => "too_deep",
            ProblemKind::Syntax => "syntax",
            ProblemKind::NotAllowed => "not_allowed",
            ProblemKind::NoHandle => "no_handle",
            ProblemKind::HandleArity => "handle_arity",
            ProblemKind::UnknownName => "unknown_name",
            ProblemKind::UnknownAttribute => "unknown_attribute",
            ProblemKind::WrongArity => "wrong_arity",
            ProblemKind::NotAnExpression => "not_an_expression",
            ProblemKind::NoDecision => "no_decision",
        }
    }
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, range: Range<usize>, message: impl Into<String>) -> Self {
        Problem { kind, range, message: message.into(), help: None, name: None }
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    pub(crate) fn about(mut self, name: &str) -> Self {
        self.name = Some(name.to_owned());
        self
    }

    /// Line and column of its beginning, both from 1, the column in characters.
    pub fn place(&self, text: &str) -> (usize, usize) {
        place(text, self.range.start)
    }
}

/// Line and column of a byte, both from 1, the column in characters.
pub(crate) fn place(text: &str, byte: usize) -> (usize, usize) {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = text.get(..end).unwrap_or_default();
    let line = before.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (line, column)
}

/// A span of the parser as bytes.
pub(crate) fn range(span: Span) -> Range<usize> {
    span.begin().get() as usize..span.end().get() as usize
}

/// What the parser or its lexer found, in our words.
pub(crate) fn syntax(error: &starlark_syntax::Error, text: &str) -> Problem {
    let range = error.span().map_or(0..0, |place| range(place.span));
    let mut range = range.start.min(text.len())..range.end.min(text.len());
    // What is wrong with an indentation begins, for the lexer, with the end of the line before.
    let lines = text.get(range.clone()).unwrap_or_default();
    let breaks = lines.len() - lines.trim_start_matches(['\r', '\n']).len();
    if breaks < lines.len() {
        range.start += breaks;
    }
    let said = error.without_diagnostic().to_string();
    let said = said.strip_prefix("Parse error: ").unwrap_or(&said);
    if let Some(word) = said.strip_prefix("cannot use reserved keyword ") {
        let problem = Problem::new(
            ProblemKind::Syntax,
            range,
            format!("{word} is a word that Starlark keeps for itself"),
        );
        return match in_place_of(word.trim_matches('`')) {
            Some(help) => problem.help(help),
            None => problem,
        };
    }
    let message =
        match said.strip_prefix("unexpected ").and_then(|it| it.rsplit_once(", expected ")) {
            Some((got, wanted)) => {
                let got = match got {
                    "new line" => "the line ends here".to_owned(),
                    "end of file" => "the script ends here".to_owned(),
                    "new indentation block" => "an indented block begins here".to_owned(),
                    "end of indentation block" => "the indented block ends here".to_owned(),
                    other => format!("unexpected {}", token(other)),
                };
                format!("{got}, expected {}", token(wanted))
            }
            None => lower_first(said),
        };
    if said == "tabs are not allowed" {
        // The lexer tells where the line before it ends.
        let tab =
            text.get(range.start..).and_then(|rest| rest.find('\t')).map(|at| range.start + at);
        let range = tab.map_or(range, |at| at..at + 1);
        return Problem::new(ProblemKind::Syntax, range, message).help("indent with spaces");
    }
    Problem::new(ProblemKind::Syntax, range, message)
}

/// A token as the parser prints it, as people write it.
fn token(printed: &str) -> String {
    let inner = |kind: &str| {
        printed
            .strip_prefix(kind)
            .and_then(|it| it.strip_prefix(" '"))
            .and_then(|it| it.strip_suffix('\''))
    };
    for kind in ["symbol", "keyword", "identifier", "integer literal", "float literal"] {
        if let Some(text) = inner(kind) {
            return quoted(text);
        }
    }
    match printed {
        "new line" => "the end of the line".to_owned(),
        "end of file" => "the end of the script".to_owned(),
        "new indentation block" => "an indented block".to_owned(),
        "end of indentation block" => "the end of an indented block".to_owned(),
        "expression" => "an expression".to_owned(),
        "identifier" => "a name".to_owned(),
        "'in' after 'not'" => "`in` after `not`".to_owned(),
        "assignment operator" => "an assignment".to_owned(),
        other => other.to_owned(),
    }
}

/// What Starlark has where Python has this word.
fn in_place_of(word: &str) -> Option<&'static str> {
    Some(match word {
        "while" => "Starlark has no endless loops: use `for … in range(n)`",
        "import" | "from" => "scripts stand alone: what they need is built in",
        "try" | "except" | "finally" => {
            "Starlark has no exceptions: ask first, with `in` or `.get(key, default)`"
        }
        "raise" | "assert" => "end with `fail(\"why\")`",
        "is" => "compare with `==`",
        "class" => "use a dict",
        "del" => "use `.pop(key)`",
        "global" | "nonlocal" => "return values instead: globals do not change",
        _ => return None,
    })
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => String::new(),
    }
}
