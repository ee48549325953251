//! Paths and patterns of paths.

use std::borrow::Cow;

use smallvec::SmallVec;

use super::arg::{Arg, Piece};
use super::{Answer, Location};
use crate::value::{Part, Value};

/// How what is not known is written.
pub(crate) const ANYTHING: &str = "$?";

/// Gives each path that `arg` may be, one for each of the directories if it is relative.
pub(crate) fn each(arg: Arg<'_>, directories: &[Value], mut give: impl FnMut(Location)) {
    let pattern = is_pattern(arg);
    if !is_relative(arg) || directories.is_empty() {
        give(build(None, arg, pattern));
        return;
    }
    for directory in directories {
        let pattern = pattern || is_pattern(Arg::new(directory));
        give(build(Some(Arg::new(directory)), arg, pattern));
    }
}

/// The same for a path that is written out: a leading `~` is the home.
pub(crate) fn each_of_text(path: &str, directories: &[Value], give: impl FnMut(Location)) {
    let value = from_text(path);
    each(Arg::new(&value), directories, give);
}

/// The same, as values.
pub(crate) fn each_value(arg: Arg<'_>, directories: &[Value], mut give: impl FnMut(Value)) {
    if !is_relative(arg) || directories.is_empty() {
        give(to_value(arg));
        return;
    }
    for directory in directories {
        let mut value = directory.clone();
        value.push_str("/");
        value.append(&to_value(arg));
        give(value);
    }
}

/// A value from text in which a leading `~` is the home.
pub(crate) fn from_text(path: &str) -> Value {
    match path.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            let mut value = Value::default();
            value.push(Part::Home);
            value.push_str(rest);
            value
        }
        _ => Value::text(path),
    }
}

fn to_value(arg: Arg<'_>) -> Value {
    let mut value = Value::default();
    for piece in arg.parts() {
        match piece {
            Piece::Text(text) => value.push_str(text),
            Piece::Glob(text) => value.push(Part::Glob(text.to_owned())),
            Piece::Home => value.push(Part::Home),
            Piece::Unknown => value.push(Part::Unknown),
        }
    }
    value
}

fn is_pattern(arg: Arg<'_>) -> bool {
    let mut before = None;
    for piece in arg.parts() {
        match (before, piece) {
            (_, Piece::Glob(_) | Piece::Unknown) | (Some(_), Piece::Home) => return true,
            (Some(Piece::Home), Piece::Text(text)) if !text.starts_with('/') => return true,
            (None, Piece::Text("")) => {}
            _ => before = Some(piece),
        }
    }
    false
}

fn is_relative(arg: Arg<'_>) -> bool {
    match arg.parts().find(|piece| *piece != Piece::Text("")) {
        Some(Piece::Text(text)) => !text.starts_with('/'),
        Some(Piece::Glob(_)) | None => true,
        Some(Piece::Home | Piece::Unknown) => false,
    }
}

fn build(directory: Option<Arg<'_>>, arg: Arg<'_>, pattern: bool) -> Location {
    if let (None, false, Some(text)) = (directory, pattern, arg.known()) {
        if !text.starts_with('~') {
            return Location { text: normal(text).into_owned(), exact: true };
        }
        // A name that begins with a tilde, and not the home.
        return Location { text: format!("./{}", normal(text)), exact: true };
    }
    let mut raw = String::with_capacity(48);
    if let Some(directory) = directory {
        write(&mut raw, directory, pattern);
        raw.push('/');
    }
    write(&mut raw, arg, pattern);
    let text = match normal(&raw) {
        Cow::Borrowed(text) if text.len() == raw.len() => raw,
        text => text.into_owned(),
    };
    Location { text, exact: !pattern }
}

/// Whether these are the parts of a home with more of a name right behind: `~.bak`.
fn goes_on(arg: Arg<'_>) -> bool {
    let mut parts = arg.parts();
    parts.next() == Some(Piece::Home)
        && match parts.next() {
            None => false,
            Some(Piece::Text(text)) => !text.starts_with('/'),
            Some(_) => true,
        }
}

fn write(raw: &mut String, arg: Arg<'_>, pattern: bool) {
    let home_goes_on = goes_on(arg);
    for (index, piece) in arg.parts().enumerate() {
        match piece {
            Piece::Text(text) if pattern && text.contains(['*', '?', '[', '\\']) => {
                for letter in text.chars() {
                    if matches!(letter, '*' | '?' | '[' | '\\') {
                        raw.push('\\');
                    }
                    raw.push(letter);
                }
            }
            Piece::Text(text) | Piece::Glob(text) => raw.push_str(text),
            Piece::Home if index == 0 && raw.is_empty() && !home_goes_on => raw.push('~'),
            Piece::Home | Piece::Unknown => raw.push_str(ANYTHING),
        }
    }
}

/// Without `.`, `..` and doubled slashes, as far as that can be told from the text.
pub(crate) fn normal(text: &str) -> Cow<'_, str> {
    if is_normal(text) {
        return Cow::Borrowed(text);
    }
    let absolute = text.starts_with('/');
    let mut kept: SmallVec<[&str; 16]> = SmallVec::new();
    for segment in text.split('/') {
        match segment {
            "" | "." => {}
            ".." => match kept.last() {
                None if absolute => {}
                // What is not known may have any depth, so that above it may be anywhere.
                Some(&last) if last == ANYTHING => return Cow::Borrowed(ANYTHING),
                // Above a home there is no telling.
                Some(&last) if last != ".." && (last != "~" || kept.len() > 1) => {
                    kept.pop();
                }
                _ => kept.push(segment),
            },
            _ => kept.push(segment),
        }
    }
    if kept.is_empty() {
        return Cow::Borrowed(if absolute { "/" } else { "." });
    }
    let mut normal = String::with_capacity(text.len());
    // A name that begins with a tilde, and not the home.
    if !absolute && text.starts_with('.') && kept.first().is_some_and(|name| name.starts_with('~'))
    {
        normal.push('.');
    }
    for segment in &kept {
        if absolute || !normal.is_empty() {
            normal.push('/');
        }
        normal.push_str(segment);
    }
    Cow::Owned(normal)
}

fn is_normal(text: &str) -> bool {
    match text {
        "/" | "." | "~" => return true,
        "" => return false,
        _ => {}
    }
    let rest = text.strip_prefix('/').unwrap_or(text);
    let (mut length, mut dots) = (0_usize, 0_usize);
    for byte in rest.bytes().chain(std::iter::once(b'/')) {
        if byte != b'/' {
            length += 1;
            dots += usize::from(byte == b'.');
            continue;
        }
        if length == 0 || length <= 2 && dots == length {
            return false;
        }
        (length, dots) = (0, 0);
    }
    true
}

impl Location {
    /// One path, from its text. A leading `~` is the home.
    pub fn path(text: &str) -> Self {
        Self { text: normal(text).into_owned(), exact: true }
    }

    /// The location of a value, in the first of the directories where it is relative.
    pub fn of(value: &Value, directories: &[Value]) -> Self {
        let mut found = None;
        each(Arg::new(value), directories, |location| {
            found.get_or_insert(location);
        });
        found.unwrap_or_else(|| Self::path("."))
    }

    /// Goes into the directory of this name.
    pub(crate) fn enter(&mut self, name: &str) {
        let mut text = std::mem::take(&mut self.text);
        text.push('/');
        text.push_str(name);
        self.exact &= !name.contains(ANYTHING) && !name.contains(['*', '?', '[']);
        self.text = normal(&text).into_owned();
    }

    /// Whether it may be at or below `dir`.
    ///
    /// Of a relative location nothing is known but its end, so that it may be anywhere, unless
    /// `dir` is relative, too. `~` may be any home.
    pub fn may_be_under(&self, dir: &str) -> bool {
        let dir = normal(dir);
        match self.meet(&dir) {
            Meeting::Anywhere | Meeting::Same | Meeting::Below => true,
            Meeting::Above | Meeting::Apart => false,
        }
    }

    /// Whether what is done to it is done to `dir`, too: it may be `dir`, or, where everything
    /// below is meant, lies above it.
    pub fn covers(&self, dir: &str, tree: bool) -> bool {
        let dir = normal(dir);
        match self.meet(&dir) {
            Meeting::Anywhere | Meeting::Same => true,
            Meeting::Above => tree,
            Meeting::Below | Meeting::Apart => false,
        }
    }

    /// Tells whether what is done to it, and where `tree` says so to all below, is done to something
    /// at or below `dir`.
    pub fn touches(&self, dir: &str, tree: bool) -> Answer {
        let dir = normal(dir);
        match self.meet(&dir) {
            Meeting::Anywhere => Answer::Unknown,
            Meeting::Apart => Answer::No,
            Meeting::Above if !tree => Answer::No,
            Meeting::Same | Meeting::Below | Meeting::Above if self.exact => Answer::Yes,
            Meeting::Same | Meeting::Below | Meeting::Above => self.pattern_touches(&dir),
        }
    }

    /// The same for a pattern that can mean something there.
    fn pattern_touches(&self, dir: &str) -> Answer {
        let is_open = |name: &str| name.contains(['*', '?', '[']) || name.contains(ANYTHING);
        let told = self.text.split('/').take_while(|name| !is_open(name));
        let told = told.collect::<Vec<_>>().join("/");
        let told = Self { text: normal(&told).into_owned(), exact: true };
        if !told.text.is_empty() && matches!(told.meet(dir), Meeting::Same | Meeting::Below) {
            return Answer::Yes;
        }
        if self.text.contains(ANYTHING) {
            return Answer::Unknown;
        }
        // As in a shell: a star at the beginning does not mean names with a dot there.
        let mut pairs = segments(&self.text).zip(segments(dir));
        let is_hidden = |(mine, theirs): (&str, &str)| {
            theirs.starts_with('.') && mine.starts_with(['*', '?', '['])
        };
        if self.text.contains("**") {
            return Answer::May;
        }
        if pairs.any(is_hidden) { Answer::No } else { Answer::Yes }
    }

    /// How it lies to a directory.
    fn meet(&self, dir: &str) -> Meeting {
        if !self.exact && self.text.starts_with(ANYTHING) {
            return Meeting::Anywhere;
        }
        let mine = Rooted::of(&self.text);
        let theirs = Rooted::of(dir);
        match (mine, theirs) {
            (Rooted::Nowhere(mine), Rooted::Nowhere(theirs))
            | (Rooted::Root(mine), Rooted::Root(theirs))
            | (Rooted::Home(mine), Rooted::Home(theirs)) => self.compare(mine, theirs),
            (Rooted::Nowhere(_), _) => Meeting::Anywhere,
            (_, Rooted::Nowhere(_)) => Meeting::Apart,
            (Rooted::Home(mine), Rooted::Root(theirs)) => {
                if mine.starts_with("..") {
                    return Meeting::Anywhere;
                }
                match home_in(theirs) {
                    Some(below) => self.compare(mine, below),
                    None if is_above_homes(theirs) => Meeting::Below,
                    None => Meeting::Apart,
                }
            }
            (Rooted::Root(mine), Rooted::Home(theirs)) if self.exact => match home_in(mine) {
                Some(below) => self.compare(below, theirs),
                None if is_above_homes(mine) => Meeting::Above,
                None => Meeting::Apart,
            },
            (Rooted::Root(mine), Rooted::Home(theirs)) => self.meet_homes(mine, theirs),
        }
    }

    /// How a pattern lies to what is below a home, which may be anybody's.
    fn meet_homes(&self, mine: &str, theirs: &str) -> Meeting {
        let (first, rest) = mine.split_once('/').unwrap_or((mine, ""));
        if first == "**" || first.contains(ANYTHING) {
            return Meeting::Same;
        }
        let in_home = if !matches(first, "home") && !matches(first, "Users") {
            Meeting::Apart
        } else {
            match rest.split_once('/') {
                _ if rest.is_empty() => Meeting::Above,
                Some((name, below)) if !name.contains(ANYTHING) && name != "**" => {
                    self.compare(below, theirs)
                }
                None if !rest.contains(ANYTHING) && rest != "**" => self.compare("", theirs),
                _ => Meeting::Same,
            }
        };
        let in_root =
            if matches(first, "root") { self.compare(rest, theirs) } else { Meeting::Apart };
        match (in_home, in_root) {
            (Meeting::Apart, other) | (other, Meeting::Apart) => other,
            (one, other) if one == other => one,
            _ => Meeting::Same,
        }
    }

    fn compare(&self, mine: &str, theirs: &str) -> Meeting {
        let mut mine = segments(mine);
        let mut theirs = segments(theirs);
        loop {
            match (mine.next(), theirs.next()) {
                (None, None) => return Meeting::Same,
                (Some(_), None) => return Meeting::Below,
                (None, Some(_)) => return Meeting::Above,
                (Some(mine_now), Some(theirs_now)) => {
                    if self.exact {
                        if mine_now != theirs_now {
                            return Meeting::Apart;
                        }
                        continue;
                    }
                    if mine_now == "**" {
                        return any_depth(mine.last(), theirs_now, theirs);
                    }
                    if let Some((start, _)) = mine_now.split_once(ANYTHING) {
                        // Its text may be several names, so there is no telling how deep it is.
                        return if matches_start(start, theirs_now) {
                            any_depth(mine.last(), theirs_now, theirs)
                        } else {
                            Meeting::Apart
                        };
                    }
                    if !matches(mine_now, theirs_now) {
                        return Meeting::Apart;
                    }
                }
            }
        }
    }
}

/// How `…/**/last` lies to a directory of which these names are left: at any depth, there is
/// something that has the last name.
fn any_depth<'a>(
    last: Option<&str>,
    first: &'a str,
    mut rest: impl Iterator<Item = &'a str>,
) -> Meeting {
    let Some(last) = last.filter(|last| !last.contains(ANYTHING)) else { return Meeting::Same };
    let mut name = first;
    let mut through = false;
    loop {
        let here = matches(last, name);
        match rest.next() {
            Some(next) => {
                through |= here;
                name = next;
            }
            None if here => return Meeting::Same,
            None if through => return Meeting::Above,
            None => return Meeting::Below,
        }
    }
}

/// How a location lies to a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Meeting {
    Anywhere,
    Same,
    Below,
    Above,
    Apart,
}

/// Where a path begins.
#[derive(Debug, Clone, Copy)]
enum Rooted<'a> {
    Root(&'a str),
    Home(&'a str),
    Nowhere(&'a str),
}

impl<'a> Rooted<'a> {
    fn of(text: &'a str) -> Self {
        if let Some(rest) = text.strip_prefix('/') {
            return Self::Root(rest);
        }
        match text.strip_prefix('~') {
            Some("") => Self::Home(""),
            Some(rest) => match rest.strip_prefix('/') {
                Some(rest) => Self::Home(rest),
                None => Self::Nowhere(text),
            },
            None if text == "." => Self::Nowhere(""),
            None => Self::Nowhere(text.strip_prefix("./").unwrap_or(text)),
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|segment| !segment.is_empty())
}

/// What is below the home that this path, without its leading slash, goes through.
fn home_in(path: &str) -> Option<&str> {
    if path == "root" {
        return Some("");
    }
    if let Some(below) = path.strip_prefix("root/") {
        return Some(below);
    }
    let rest = path.strip_prefix("home/").or_else(|| path.strip_prefix("Users/"))?;
    if rest.is_empty() {
        return None;
    }
    Some(rest.split_once('/').map_or("", |(_, below)| below))
}

fn is_above_homes(path: &str) -> bool {
    matches!(path, "" | "home" | "Users")
}

/// Whether a name may begin like this.
fn matches_start(start: &str, name: &str) -> bool {
    if start.is_empty() {
        return true;
    }
    // `$?` is cut off, so the rest is open.
    let mut open = start.to_owned();
    open.push('*');
    matches(&open, name)
}

/// Whether a glob matches a name. Sets are taken for any one letter, which is never too little.
pub(crate) fn matches(glob: &str, name: &str) -> bool {
    if !glob.contains(['*', '?', '[', '\\', '(']) {
        return glob == name;
    }
    if glob.contains('(') {
        // Extended patterns: anything, rather than guess.
        return true;
    }
    let (mut rest, mut left) = (glob, name);
    let mut retry: Option<(&str, &str)> = None;
    loop {
        let mut letters = rest.chars();
        let step = match letters.next() {
            None if left.is_empty() => return true,
            None => None,
            Some('*') => {
                retry = Some((letters.as_str(), left));
                rest = letters.as_str();
                continue;
            }
            Some(letter) => {
                let behind = match letter {
                    '[' => behind_set(letters.as_str()).map(|behind| (None, behind)),
                    '?' => Some((None, letters.as_str())),
                    '\\' => letters.next().map(|exact| (Some(exact), letters.as_str())),
                    _ => Some((Some(letter), letters.as_str())),
                };
                let behind = behind.or(Some((Some(letter), letters.as_str())));
                behind.and_then(|(wanted, behind)| {
                    let mut name = left.chars();
                    let got = name.next()?;
                    wanted.is_none_or(|wanted| wanted == got).then_some((behind, name.as_str()))
                })
            }
        };
        if let Some((glob, name)) = step {
            (rest, left) = (glob, name);
            continue;
        }
        let Some((glob, name)) = retry else { return false };
        let mut letters = name.chars();
        if letters.next().is_none() {
            return false;
        }
        retry = Some((glob, letters.as_str()));
        (rest, left) = (glob, letters.as_str());
    }
}

/// What is behind a set, given what is behind its `[`.
fn behind_set(text: &str) -> Option<&str> {
    let inner = text.strip_prefix(['!', '^']).unwrap_or(text);
    let inner = inner.strip_prefix(']').unwrap_or(inner);
    inner.split_once(']').map(|(_, behind)| behind)
}
