//! What a grant covers that was written as a pattern.
//!
//! In a path, `*`, `?` and `[…]` end at a slash as in a shell, and `**` does not. In all else only `*` means something:
//! a `?` belongs to an address, and a `[` to a command. What stands before the first of them in a path is a place, and
//! is not matched but compared; the host of an address is matched by itself.

use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use url::{Position, Url};

use super::{ResourceKind, real};

#[derive(Debug, Clone)]
pub(super) enum Pattern {
    /// What is used has to be the same text.
    Exactly,
    /// A command, or the name of a tool.
    Text(Wildcard),
    /// All below a directory that is like this from there on.
    Below { directory: String, like: Tail },
    /// Addresses.
    Address { scheme: String, host: Wildcard, port: Option<u16>, rest: Wildcard },
}

/// What comes behind a directory.
#[derive(Debug, Clone)]
pub(super) enum Tail {
    /// All of it, and the directory itself.
    All,
    Like(GlobMatcher),
}

/// What a text written as a grant stands for: the text as it is kept, and what it covers. Where paths do not begin at
/// the root they begin at `base`.
pub(super) fn read(kind: ResourceKind, text: String, base: Option<&Path>) -> (String, Pattern) {
    let read = match kind {
        ResourceKind::ReadFile | ResourceKind::WriteFile => path(&text, base),
        ResourceKind::ReadUrl => address(&text),
        ResourceKind::Command | ResourceKind::Mcp | ResourceKind::Tool => {
            text.contains('*').then(|| (text.clone(), Pattern::Text(Wildcard::new(&text))))
        }
    };
    // What cannot be told apart is what it is, and stands for nothing else.
    read.unwrap_or((text, Pattern::Exactly))
}

/// All below a directory, whatever its name looks like.
pub(super) fn all_below(directory: &str) -> (String, Pattern) {
    let text = format!("{}/**", directory.trim_end_matches('/'));
    (text, Pattern::Below { directory: directory.to_owned(), like: Tail::All })
}

fn path(text: &str, base: Option<&Path>) -> Option<(String, Pattern)> {
    let is_pattern = |part: &Component<'_>| {
        part.as_os_str().to_str().is_none_or(|it| it.contains(['*', '?', '[']))
    };
    let mut parts = Path::new(text).components().peekable();
    let mut place = base.map(Path::to_owned).unwrap_or_default();
    while let Some(part) = parts.next_if(|part| !is_pattern(part)) {
        place.push(part);
    }
    if !place.is_absolute() {
        return None;
    }
    let place = real(&place)?.to_str()?.to_owned();
    let rest: PathBuf = parts.collect();
    if rest.as_os_str().is_empty() {
        return Some((place, Pattern::Exactly));
    }
    // There is no way back from what is not known.
    if rest.components().any(|part| part == Component::ParentDir) {
        return None;
    }
    let rest = rest.to_str()?;
    if rest == "**" {
        return Some(all_below(&place));
    }
    let like = GlobBuilder::new(rest).literal_separator(true).build().ok()?.compile_matcher();
    let text = format!("{}/{rest}", place.trim_end_matches('/'));
    Some((text, Pattern::Below { directory: place, like: Tail::Like(like) }))
}

fn address(text: &str) -> Option<(String, Pattern)> {
    let url = Url::parse(text).ok()?;
    let text = url.to_string();
    if !text.contains('*') {
        return Some((text, Pattern::Exactly));
    }
    let host = url.host_str().filter(|_| !has_user(&url))?;
    let pattern = Pattern::Address {
        scheme: url.scheme().to_owned(),
        host: Wildcard::new(host),
        port: url.port_or_known_default(),
        rest: Wildcard::new(&url[Position::BeforePath..]),
    };
    Some((text, pattern))
}

/// Whether an address has a name or a password in it, which look like a host to some.
fn has_user(url: &Url) -> bool {
    !url.username().is_empty() || url.password().is_some()
}

impl Pattern {
    pub(super) const fn is_exact(&self) -> bool {
        matches!(self, Self::Exactly)
    }

    /// Whether it covers what is used. What is used exactly is compared elsewhere.
    pub(super) fn covers(&self, kind: ResourceKind, used: &str) -> bool {
        match self {
            Self::Exactly => false,
            // `npm *` is npm with arguments, and not whatever else a shell makes of the rest of the line.
            Self::Text(like) => {
                (kind != ResourceKind::Command || is_plain_command(used)) && like.matches(used)
            }
            Self::Below { directory, like } => {
                match (Path::new(used).strip_prefix(directory), like) {
                    (Err(_), _) => false,
                    (Ok(_), Tail::All) => true,
                    (Ok(rest), Tail::Like(like)) => {
                        !rest.as_os_str().is_empty() && like.is_match(rest)
                    }
                }
            }
            Self::Address { scheme, host, port, rest } => Url::parse(used).is_ok_and(|url| {
                !has_user(&url)
                    && url.scheme() == scheme
                    && url.port_or_known_default() == *port
                    && url.host_str().is_some_and(|used| host.matches(used))
                    && rest.matches(&url[Position::BeforePath..])
            }),
        }
    }
}

/// Whether a shell takes a command line for one command and its arguments, as they are written.
fn is_plain_command(line: &str) -> bool {
    line.chars().all(|c| c.is_alphanumeric() || " ./_-=:,@%+".contains(c))
}

/// A text in which `*` stands for any other, or none.
#[derive(Debug, Clone)]
pub(super) struct Wildcard(Vec<String>);

impl Wildcard {
    fn new(text: &str) -> Self {
        Self(text.split('*').map(str::to_owned).collect())
    }

    fn matches(&self, text: &str) -> bool {
        let Some((first, others)) = self.0.split_first() else { return text.is_empty() };
        let Some(mut text) = text.strip_prefix(first.as_str()) else { return false };
        let Some((last, between)) = others.split_last() else { return text.is_empty() };
        for piece in between {
            let Some((_, rest)) = text.split_once(piece.as_str()) else { return false };
            text = rest;
        }
        text.ends_with(last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_and_nothing_else_does() {
        for (pattern, text, wanted) in [
            ("*", "", true),
            ("*", "anything", true),
            ("a*", "a", true),
            ("a*", "ba", false),
            ("*a", "ba", true),
            ("a*a", "a", false),
            ("a*a", "aa", true),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a**c", "abc", true),
            ("a?c", "abc", false),
            ("a[b]c", "abc", false),
        ] {
            assert_eq!(Wildcard::new(pattern).matches(text), wanted, "{pattern}: {text}");
        }
    }
}
