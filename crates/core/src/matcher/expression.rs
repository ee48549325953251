//! Patterns that need a regular expression, alone and as sets.

use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use globset::GlobBuilder;
use hashbrown::HashMap;
use regex::bytes::{RegexSet, RegexSetBuilder};
use regex::{Regex, RegexBuilder};

use super::PatternError;

/// The most a compiled pattern may take, so that a hook file cannot exhaust memory.
const PATTERN_SIZE_LIMIT: usize = 1 << 20;
/// The most all patterns of an event may take together.
const SET_SIZE_LIMIT: usize = 64 << 20;
/// The longest pattern that is certain to be small when it is compiled, where no part of it is
/// repeated by a count and no class of it is a large one.
const CERTAINLY_SMALL: usize = 512;
/// Below the limit that the compiler has for groups in groups, as it gets one more of them.
const NESTED: u32 = 200;

/// A pattern in the form of a regular expression that matches from end to end.
///
/// It is known to compile. A set of them is compiled where hooks are registered; one alone is
/// only compiled for who asks it alone, because that takes more time than all else about a hook.
#[derive(Debug)]
pub(crate) struct Expression {
    pub(crate) source: String,
    alone: OnceLock<Option<Regex>>,
}

impl Expression {
    pub(crate) fn matches(&self, text: &str) -> bool {
        // A pattern that could not be compiled after all is one that a hook waits for; it is the
        // hook that decides then.
        let alone = self.alone.get_or_init(|| compile(&self.source).ok());
        alone.as_ref().is_none_or(|regex| regex.is_match(text))
    }

    fn compiled(source: String) -> Result<Self, regex::Error> {
        let alone = OnceLock::from(Some(compile(&source)?));
        Ok(Self { source, alone })
    }

    /// A regular expression, or what is wrong with it.
    pub(crate) fn of_regex(text: &str) -> Result<Arc<Self>, PatternError> {
        shared(Form::Regex, text, || {
            let source = format!("^(?:{text})$");
            if text.len() <= CERTAINLY_SMALL && !text.contains(['{', '\\', '#']) && parses(text) {
                return Ok(Self { source, alone: OnceLock::new() });
            }
            let error = |error: regex::Error| PatternError {
                pattern: text.to_owned(),
                form: "regular expression",
                message: last_line(&error.to_string()),
            };
            // Alone first: what is only valid inside the group is not valid.
            RegexBuilder::new(text).size_limit(PATTERN_SIZE_LIMIT).build().map_err(error)?;
            Self::compiled(source).map_err(error)
        })
    }

    /// A glob, or what is wrong with it.
    pub(crate) fn of_glob(text: &str) -> Result<Arc<Self>, PatternError> {
        shared(Form::Glob, text, || {
            let error = |message: String| PatternError {
                pattern: text.to_owned(),
                form: "glob",
                message: last_line(&message),
            };
            let glob = GlobBuilder::new(text)
                .literal_separator(true)
                .build()
                .map_err(|problem| error(problem.kind().to_string()))?;
            let source = as_text_expression(glob.regex());
            // A glob has neither counts nor large classes.
            if source.len() <= CERTAINLY_SMALL && parses(&source) {
                return Ok(Self { source, alone: OnceLock::new() });
            }
            Self::compiled(source).map_err(|problem| error(problem.to_string()))
        })
    }
}

fn compile(source: &str) -> Result<Regex, regex::Error> {
    RegexBuilder::new(source).dot_matches_new_line(true).size_limit(PATTERN_SIZE_LIMIT).build()
}

/// Whether an expression is valid, at a tenth of the time that compiling it takes.
fn parses(text: &str) -> bool {
    regex_syntax::ParserBuilder::new().nest_limit(NESTED).build().parse(text).is_ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Regex,
    Glob,
}

/// The expressions that somebody holds. A file has the same pattern many times, and is read again
/// while the hooks of its last reading are still in force.
#[derive(Default)]
struct Held {
    expressions: HashMap<(Form, String), Weak<Expression>>,
    /// At how many the dropped ones are cleared away.
    sweep_at: usize,
}

/// The expression of a text, made where nobody holds it.
fn shared(
    form: Form,
    text: &str,
    make: impl FnOnce() -> Result<Expression, PatternError>,
) -> Result<Arc<Expression>, PatternError> {
    static HELD: OnceLock<Mutex<Held>> = OnceLock::new();
    // Not one of `sync`: nothing happens under this lock that a model checker could interleave.
    let held = HELD.get_or_init(Mutex::default);
    let lock = || held.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (form, text.to_owned());
    if let Some(expression) = lock().expressions.get(&key).and_then(Weak::upgrade) {
        return Ok(expression);
    }
    let expression = Arc::new(make()?);
    let mut held = lock();
    if held.expressions.len() >= held.sweep_at {
        held.expressions.retain(|_, expression| expression.strong_count() > 0);
        held.sweep_at = (2 * held.expressions.len()).max(64);
    }
    held.expressions.insert(key, Arc::downgrade(&expression));
    Ok(expression)
}

/// Globs become expressions on bytes, in which `é` is `\xC3\xA9` and `?` is one byte. Ours match
/// text: this writes the characters back.
fn as_text_expression(bytes: &str) -> String {
    let source = bytes.replace("(?-u)", "");
    let mut text = String::with_capacity(source.len());
    let mut escaped = Vec::new();
    let mut rest = source.as_str();
    loop {
        let byte = rest.strip_prefix("\\x").and_then(|hex| hex.get(..2));
        if let Some(byte) = byte.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            escaped.push(byte);
            rest = rest.get(4..).unwrap_or_default();
            continue;
        }
        if !escaped.is_empty() {
            text.push_str(&regex::escape(&String::from_utf8_lossy(&escaped)));
            escaped.clear();
        }
        // An escaped backslash is not the beginning of an escaped byte.
        if rest.starts_with("\\\\") {
            text.push_str("\\\\");
            rest = rest.get(2..).unwrap_or_default();
            continue;
        }
        let Some(next) = rest.chars().next() else { return text };
        text.push(next);
        rest = rest.get(next.len_utf8()..).unwrap_or_default();
    }
}

fn last_line(message: &str) -> String {
    let line = message.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or(message);
    line.trim().trim_start_matches("error: ").to_owned()
}

/// Many expressions, matched in one pass.
///
/// Also where they are few: ten in a set are compiled in less than half the time of ten alone, and
/// matched in an eighth of it.
///
/// On bytes, which for text that is matched from end to end is the same: a set on text panics in
/// `is_match` where several patterns can match nothing at all (regex-automata 0.4.18).
#[derive(Debug)]
pub(crate) struct ExpressionSet {
    set: RegexSet,
}

impl ExpressionSet {
    pub(crate) fn new(expressions: &[Arc<Expression>]) -> Result<Self, PatternError> {
        let sources = expressions.iter().map(|expression| &expression.source);
        let set = RegexSetBuilder::new(sources)
            .dot_matches_new_line(true)
            .size_limit(SET_SIZE_LIMIT)
            .build()
            .map_err(|error| PatternError {
                pattern: format!("{} patterns of one event", expressions.len()),
                form: "set",
                message: last_line(&error.to_string()),
            })?;
        Ok(Self { set })
    }

    /// The numbers of the expressions that match, in their order.
    pub(crate) fn matching(&self, text: &str, found: impl FnMut(usize)) {
        // Asking whether any matches allocates nothing, and mostly none does.
        if self.set.is_match(text.as_bytes()) {
            self.set.matches(text.as_bytes()).iter().for_each(found);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_of_patterns_that_match_nothing_at_all_is_matched() {
        let expressions = ["é|[^a-z]", r"\b|x*"].map(|text| Expression::of_regex(text).unwrap());
        let set = ExpressionSet::new(&expressions).unwrap();
        for (name, numbers) in [("", vec![1]), ("é", vec![0]), ("xx", vec![1]), ("y", vec![])] {
            let mut found = Vec::new();
            set.matching(name, |number| found.push(number));
            assert_eq!(found, numbers, "{name}");
        }
    }

    #[test]
    fn an_expression_is_compiled_once_while_somebody_holds_it() {
        let first = Expression::of_regex("held_[a-z]").unwrap();
        let again = Expression::of_regex("held_[a-z]").unwrap();
        assert!(Arc::ptr_eq(&first, &again));
        // A glob of the same text is something else.
        let glob = Expression::of_glob("held_[a-z]").unwrap();
        assert!(!Arc::ptr_eq(&first, &glob));
        // What is only valid as part of another is not let in by it.
        let glob = Expression::of_glob("{a?},{b?}").unwrap();
        let inner = glob.source.trim_start_matches("^(?:").trim_end_matches(")$");
        assert!(Expression::of_regex(inner).is_err(), "{inner}");
    }

    /// What is taken to be small when compiled is: the largest of each kind.
    #[test]
    fn what_is_not_compiled_when_it_is_made_would_compile() {
        for unit in [".", ".+", "a.*|", "[^a]", "(?i)k", "[^é]|", "(.)", "[^acegikmoqsuwy]"] {
            let text = unit.repeat(CERTAINLY_SMALL / unit.len());
            assert!(text.len() > CERTAINLY_SMALL - unit.len());
            RegexBuilder::new(&text).size_limit(PATTERN_SIZE_LIMIT).build().unwrap();
            assert!(compile(&format!("^(?:{text})$")).is_ok(), "{unit}");
        }
        let glob = as_text_expression(
            GlobBuilder::new(&"?".repeat(CERTAINLY_SMALL / 4))
                .literal_separator(true)
                .build()
                .unwrap()
                .regex(),
        );
        compile(&glob).unwrap();
    }
}
