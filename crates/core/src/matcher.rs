//! Which instances of an event a hook asks for, by the event's subject.

mod expression;
mod plain;

use std::fmt;
use std::sync::Arc;

pub(crate) use expression::{Expression, ExpressionSet};
pub(crate) use plain::{Piece, Rest};

use crate::target::{Key, Subject, Target, UNNAMED_SERVER, fused, plain};

/// What words for servers' tools begin with, whatever the host.
const FUSED: &str = "mcp_";

/// Which subjects a hook asks for. Compiled when it is registered, never when it is asked.
#[derive(Debug, Clone, Default)]
pub enum Matcher {
    /// Every one.
    #[default]
    All,
    /// Exactly these.
    Targets(Vec<Target>),
    /// What a pattern matches.
    Pattern(Pattern),
}

impl Matcher {
    /// One tool, as [`Target::parse`] reads it.
    pub fn tool(target: &str) -> Self {
        match Target::parse(target) {
            Target::Any => Self::All,
            target => Self::Targets(vec![target]),
        }
    }

    /// Any of these tools, each as [`Target::parse`] reads it. A hook that asks for none of them is
    /// refused where it is registered.
    ///
    /// ```
    /// use tollgate_core::matcher::Matcher;
    ///
    /// let matcher = Matcher::one_of(["run_command", "docs/search", "git/*"]);
    /// assert_eq!(matcher.to_string(), "run_command, docs/search, git/*");
    /// assert_eq!(Matcher::one_of(["run_command", "*"]).to_string(), "*");
    /// ```
    pub fn one_of<S: AsRef<str>>(targets: impl IntoIterator<Item = S>) -> Self {
        let targets = targets.into_iter().map(|target| Target::parse(target.as_ref()));
        let targets: Vec<_> = targets.collect();
        if targets.contains(&Target::Any) { Self::All } else { Self::Targets(targets) }
    }

    /// Whatever this regular expression matches from end to end.
    ///
    /// Names, lists of names and beginnings or ends of names (`run_command|view_.*`) cost nothing
    /// but a look-up, however many hooks have one.
    pub fn regex(pattern: &str) -> Result<Self, PatternError> {
        Pattern::regex(pattern).map(Self::Pattern)
    }

    /// Whatever this glob matches: `*` within a segment, `**` across segments, `?`, `[a-z]`.
    pub fn glob(pattern: &str) -> Result<Self, PatternError> {
        Pattern::glob(pattern).map(Self::Pattern)
    }

    /// Says how the author of a pattern names the tools of MCP servers. A pattern then matches
    /// either form; what is no pattern stays as it is.
    ///
    /// ```
    /// use tollgate_core::matcher::{Matcher, McpNames, Pattern};
    /// use tollgate_core::target::Subject;
    ///
    /// let Matcher::Pattern(pattern) = Matcher::glob("mcp__git__*")?.mcp(McpNames::Fused) else {
    ///     unreachable!("a glob is a pattern")
    /// };
    /// assert!(pattern.matches(Subject { server: Some("git"), name: "push", readings: &[] }));
    /// # Ok::<(), tollgate_core::matcher::PatternError>(())
    /// ```
    #[must_use]
    pub fn mcp(mut self, names: McpNames) -> Self {
        if let Self::Pattern(pattern) = &mut self {
            pattern.mcp = names;
        }
        self
    }

    /// Says how a pattern is shown, where it is not what its author wrote.
    ///
    /// ```
    /// use tollgate_core::matcher::Matcher;
    ///
    /// let matcher = Matcher::glob("{shell_exec,run_command}")?.shown_as("shell_exec");
    /// assert_eq!(matcher.to_string(), "shell_exec");
    /// # Ok::<(), tollgate_core::matcher::PatternError>(())
    /// ```
    #[must_use]
    pub fn shown_as(mut self, text: &str) -> Self {
        if let Self::Pattern(pattern) = &mut self {
            text.clone_into(&mut pattern.text);
        }
        self
    }
}

/// How a system names the tools of MCP servers, beside the `server/tool` that always holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum McpNames {
    /// By `server/tool` only.
    #[default]
    Path,
    /// By `mcp__server__tool`.
    Fused,
    /// All by the name of the one tool that calls them.
    Through(&'static str),
}

impl fmt::Display for Matcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("*"),
            Self::Targets(targets) => {
                const SHOWN: usize = 5;
                // What rules add for calls whose server is not known is not what anybody wrote.
                let added = |target: &&Target| matches!(target, Target::Server(server) if server == UNNAMED_SERVER);
                let written = || targets.iter().filter(|target| !added(target));
                for (place, target) in written().take(SHOWN).enumerate() {
                    let separator = if place > 0 { ", " } else { "" };
                    write!(f, "{separator}{target}")?;
                }
                match written().count().saturating_sub(SHOWN) {
                    0 => Ok(()),
                    more => write!(f, " and {more} more"),
                }
            }
            Self::Pattern(pattern) => f.write_str(&pattern.text),
        }
    }
}

/// A pattern that is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{pattern}` is not a valid {form}: {message}")]
pub struct PatternError {
    /// As it was written.
    pub pattern: String,
    /// What it should have been.
    pub form: &'static str,
    /// What is wrong with it.
    pub message: String,
}

/// A compiled pattern. It matches a subject from end to end; an MCP tool is matched as
/// `server/tool`, and as `mcp__server__tool` by a pattern with `mcp_` in it.
///
/// A pattern with the name of a server in it matches that server in the spelling of every host:
/// `my-server/.*` also matches the tools of `my_server`, which is what Codex makes of it.
#[derive(Debug, Clone)]
pub struct Pattern {
    text: String,
    form: Form,
    /// The same in the spelling of hosts that replace `-` and `.`, where that is another.
    plain: Option<Form>,
    mcp: McpNames,
}

/// What a pattern comes down to.
#[derive(Debug, Clone)]
pub(crate) enum Form {
    /// Names and parts of names, any of which may match.
    Plain(Vec<Piece>),
    Expression(Arc<Expression>),
}

impl Pattern {
    /// A regular expression.
    pub fn regex(text: &str) -> Result<Self, PatternError> {
        let form = |text: &str| {
            Ok(match plain::of_regex(text) {
                Some(pieces) => Form::Plain(pieces),
                None => Form::Expression(Expression::of_regex(text)?),
            })
        };
        Self::new(text, form, r"\.")
    }

    /// A glob.
    pub fn glob(text: &str) -> Result<Self, PatternError> {
        let form = |text: &str| {
            Ok(match plain::of_glob(text) {
                Some(pieces) => Form::Plain(pieces),
                None => Form::Expression(Expression::of_glob(text)?),
            })
        };
        Self::new(text, form, ".")
    }

    /// `dot` is how a pattern of this sort has a `.` in it.
    fn new(
        text: &str,
        form: impl Fn(&str) -> Result<Form, PatternError>,
        dot: &str,
    ) -> Result<Self, PatternError> {
        let own = form(text)?;
        let names_server = text.contains('/') || has_fused(text);
        // Between brackets a `-` is a range.
        let plain = (names_server && !text.contains('[') && text.contains(['-', '.']))
            .then(|| text.replace(dot, "_").replace(r"\-", "_").replace('-', "_"))
            .filter(|plain| plain != text)
            .and_then(|plain| form(&plain).ok());
        Ok(Self { text: text.to_owned(), form: own, plain, mcp: McpNames::default() })
    }

    pub(crate) fn form(&self) -> &Form {
        &self.form
    }

    pub(crate) fn mcp(&self) -> McpNames {
        self.mcp
    }

    /// True if it has to be tried on what hosts call a server's tool, beside `server/tool`. Most
    /// patterns are about the agent's own tools, and are not.
    pub(crate) fn has_other_spellings(&self) -> bool {
        self.plain.is_some() || self.may_be_fused()
    }

    /// Whether some fused name may match.
    fn may_be_fused(&self) -> bool {
        let alike = |text: &str| text.starts_with(FUSED) || FUSED.starts_with(text);
        has_fused(&self.text)
            || self.mcp == McpNames::Fused
                && match &self.form {
                    Form::Plain(pieces) => pieces.iter().any(|piece| match piece {
                        Piece::Everything | Piece::Suffix(..) => true,
                        Piece::Name(text) | Piece::Prefix(text, _) => alike(text),
                    }),
                    Form::Expression(_) => true,
                }
    }

    pub(crate) fn matches_text(&self, text: &str) -> bool {
        self.form.matches(text)
    }

    /// True if it matches a text that names a server's tool in the spelling of some host.
    fn matches_spelling(&self, text: &str) -> bool {
        let other = plain(text);
        let other = other.as_deref().unwrap_or(text);
        self.form.matches(text)
            || self.form.matches(other)
            || self.plain.as_ref().is_some_and(|form| form.matches(other))
    }

    /// True if it matches a tool in a spelling that its name does not have: that of another host for
    /// a server's tool, or for one word that may be such a tool.
    pub(crate) fn matches_other_spelling(&self, key: Key<'_>) -> bool {
        let Some(server) = key.server else {
            return key.name.starts_with(FUSED) && self.matches_spelling(key.name);
        };
        self.matches_spelling(&key.text())
            || self.may_be_fused()
                && fused(server, key.name).iter().any(|word| self.matches_spelling(word))
    }

    /// Whether it matches.
    pub fn matches(&self, subject: Subject<'_>) -> bool {
        subject.keys().any(|key| {
            let of_server = key.server.is_some();
            self.matches_text(&key.text())
                || (of_server || self.has_other_spellings()) && self.matches_other_spelling(key)
                || matches!(self.mcp, McpNames::Through(tool) if of_server && self.matches_text(tool))
        })
    }
}

/// True if a pattern has a word for a server's tool in it.
fn has_fused(text: &str) -> bool {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(FUSED)
        .any(|(at, _)| !text.get(..at).is_some_and(|before| before.ends_with(is_word)))
}

impl Form {
    fn matches(&self, text: &str) -> bool {
        match self {
            Self::Plain(pieces) => pieces.iter().any(|piece| piece.matches(text)),
            Self::Expression(expression) => expression.matches(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &Pattern, name: &str) -> bool {
        pattern.matches(Subject::named(name))
    }

    #[test]
    fn a_regex_matches_the_whole_name() {
        let pattern = Pattern::regex("run_command|view_.*").unwrap();
        assert!(matches(&pattern, "run_command"));
        assert!(matches(&pattern, "view_file"));
        assert!(!matches(&pattern, "run_command_now"));
        assert!(!matches(&pattern, "review_file"));
    }

    #[test]
    fn a_glob_knows_segments() {
        let pattern = Pattern::glob("file_edit_*").unwrap();
        assert!(matches(&pattern, "file_edit_search_replace"));
        assert!(!matches(&pattern, "file_read"));
        let pattern = Pattern::glob("docs/*").unwrap();
        let subject = |server, name| Subject { server: Some(server), name, readings: &[] };
        assert!(pattern.matches(subject("docs", "search")));
        assert!(!pattern.matches(subject("docs", "a/b")));
        assert!(Pattern::glob("docs/**").unwrap().matches(subject("docs", "a/b")));
        assert!(matches(&Pattern::glob("[a-c]?é*").unwrap(), "bxéü"));
    }

    #[test]
    fn a_name_cannot_hide_behind_a_line_break() {
        for pattern in [Pattern::regex(".*"), Pattern::glob("**"), Pattern::glob("a*")] {
            assert!(matches(&pattern.unwrap(), "a\nb"));
        }
        assert!(!matches(&Pattern::regex("a").unwrap(), "a\n"));
        assert!(!matches(&Pattern::regex("(?m)a").unwrap(), "a\nb"));
        assert!(matches(&Pattern::glob(r"a\\x41").unwrap(), r"a\x41"));
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        for (result, form) in [
            (Pattern::regex("*"), "regular expression"),
            (Pattern::regex("a)|(b"), "regular expression"),
            (Pattern::glob("[a"), "glob"),
            (Pattern::regex("(a{1000}){1000}"), "regular expression"),
        ] {
            let error = result.unwrap_err();
            assert_eq!(error.form, form);
            assert!(!error.message.is_empty());
        }
    }
}
