//! Protected places in a text of any kind, by their names.

use std::borrow::Cow;
use std::path::Path;

use super::places::{KEPT, Places};
use super::spots::{Base, PLACES, Place, has_usual_config};

/// A name to look for.
#[derive(Debug, Clone)]
struct Needle {
    text: Cow<'static, str>,
    /// Whether what is below it counts as well.
    is_whole: bool,
    shown: Cow<'static, str>,
}

/// The names of the protected places.
#[derive(Debug, Clone)]
pub(super) struct Needles(Vec<Needle>);

/// Directories that are there for hooks alone, or nearly: to name them is to mean what is in them.
const DIRECTORIES: &[&str] = &[
    ".agents",
    ".polytoken",
    ".harness",
    ".claude",
    ".codex",
    ".cursor",
    ".gemini",
    ".qwen",
    ".factory",
    ".kimi",
    ".kimi-code",
];

impl Needles {
    pub(super) fn new(places: &Places) -> Self {
        let constant = |text: &'static str, is_whole| Needle {
            text: text.into(),
            is_whole,
            shown: text.into(),
        };
        // Without a directory of its own a name is too common to look for.
        let is_telling = |place: &&Place| {
            !matches!(place.base, Base::Project | Base::Home) || place.mentioned.starts_with('.')
        };
        let mentioned = PLACES.iter().filter(is_telling);
        let mut needles: Vec<_> =
            mentioned.map(|place| constant(place.mentioned, place.is_whole)).collect();
        needles.extend(DIRECTORIES.iter().map(|directory| constant(directory, false)));
        let mut add = |text: &str, is_whole, shown: &str| {
            let text = text.to_lowercase().into();
            needles.push(Needle { text, is_whole, shown: shown.to_owned().into() });
        };
        for path in places.extra() {
            let path = path.strip_prefix(places.project()).unwrap_or(path);
            // A bare name such as `check` would be found in every other text.
            if path.components().count() > 1 {
                add(&path.to_string_lossy(), true, &path.to_string_lossy());
            }
        }
        if !has_usual_config(places) {
            for (config, place) in places.config().iter().flat_map(|config| {
                let own = PLACES.iter().filter(|place| place.base == Base::Config);
                own.map(move |place| (config, place))
            }) {
                let tail = Path::new(config.file_name().unwrap_or_default()).join(place.path);
                let shown = config.join(place.path);
                add(&tail.to_string_lossy(), place.is_whole, &shown.to_string_lossy());
            }
        }
        if let Some(store) = places.store() {
            let (parent, name) = (store.parent().unwrap_or(Path::new("/")), store.file_name());
            let tail = Path::new(parent.file_name().unwrap_or_default());
            let tail = tail.join(name.unwrap_or_default());
            add(&tail.to_string_lossy(), true, &store.to_string_lossy());
            if let Some(directory) = places.store_directory() {
                for kept in KEPT {
                    add(&format!("tollgate/{kept}"), true, &store.to_string_lossy());
                }
                add(&directory.to_string_lossy(), false, &store.to_string_lossy());
            }
        }
        Self(needles)
    }

    /// The place that a text mentions, if it does.
    pub(super) fn find(&self, text: &str) -> Option<&str> {
        self.search(text, false)
    }

    /// The same, also where a name follows on something else: `-o.agents`, `${f:-.agents}`.
    pub(super) fn anywhere(&self, text: &str) -> Option<&str> {
        self.search(text, true)
    }

    /// The place that a text mentions, which is in its [`normal`] form already.
    pub(super) fn find_in_normal(&self, text: &str) -> Option<&str> {
        self.search_normal(text, false)
    }

    fn search(&self, text: &str, is_loose: bool) -> Option<&str> {
        self.search_normal(&normal(text), is_loose)
    }

    fn search_normal(&self, text: &str, is_loose: bool) -> Option<&str> {
        self.search_counted(text, is_loose).0
    }

    /// Goes over the text once, whatever the number of names. Of those in it, the first of the list counts. Also returns
    /// how often a name was looked at.
    fn search_counted(&self, text: &str, is_loose: bool) -> (Option<&str>, usize) {
        let mut by_first: [Vec<(usize, &Needle)>; 256] = [const { Vec::new() }; 256];
        for (place, needle) in self.0.iter().enumerate() {
            let first = needle.text.bytes().next();
            let alike = first.and_then(|first| by_first.get_mut(usize::from(first)));
            // No name is empty.
            let Some(alike) = alike else { return (None, 0) };
            alike.push((place, needle));
        }
        let bytes = text.as_bytes();
        let mut best: Option<(usize, &Needle)> = None;
        let mut looked = 0;
        for (at, byte) in bytes.iter().enumerate() {
            let Some(wanted) = by_first.get(usize::from(*byte)).filter(|it| !it.is_empty()) else {
                continue;
            };
            let Some(here) = bytes.get(at..) else { continue };
            looked += wanted.len();
            for (place, needle) in wanted {
                if best.is_none_or(|(best, _)| *place < best)
                    && here.starts_with(needle.text.as_bytes())
                    && needle.is_at(text, at, is_loose)
                {
                    best = Some((*place, needle));
                }
            }
        }
        (best.map(|(_, needle)| needle.shown.as_ref()), looked)
    }
}

impl Needle {
    /// True if the name, which is in the text at this place, stands there for itself.
    fn is_at(&self, text: &str, at: usize, is_loose: bool) -> bool {
        let before = text.get(..at).and_then(|before| before.chars().next_back());
        let after = text.get(at + self.text.len()..).unwrap_or_default();
        let is_begin = is_loose || self.text.starts_with('/') || !before.is_some_and(is_of_name);
        is_begin && self.ends_before(after)
    }

    fn ends_before(&self, after: &str) -> bool {
        let mut after = after.chars();
        match after.next() {
            // A dot at the end of a sentence, or a name that goes on.
            Some('.') => !after.next().is_some_and(is_of_name),
            Some('/') if !self.is_whole => !after.next().is_some_and(is_of_name),
            Some(c) => !is_of_name(c),
            None => true,
        }
    }
}

fn is_of_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.')
}

/// A text in small letters, without quotes and backslashes, without what joins two pieces of text
/// in a program, and with one slash where there are many.
pub(super) fn normal(text: &str) -> String {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '`');
    let is_plain = |byte: u8| byte.is_ascii() && byte != b'\\' && !is_quote(char::from(byte));
    let mut normal = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let length = rest.bytes().position(|byte| !is_plain(byte)).unwrap_or(rest.len());
        let Some((plain, after)) = rest.split_at_checked(length) else { break };
        normal.push_str(plain);
        let mut characters = after.chars();
        let Some(c) = characters.next() else { break };
        rest = characters.as_str();
        if c == '\\' {
            rest = rest.strip_prefix('\n').unwrap_or(rest);
        } else if is_quote(c) {
            // `'.age' + 'nts'` is one name, and so it is with dots.
            let next =
                rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, '+' | '.'));
            let between = rest.get(..rest.len() - next.len()).unwrap_or_default();
            if between.contains(['+', '.']) {
                rest = next.strip_prefix(is_quote).unwrap_or(rest);
            }
        } else {
            normal.extend(c.to_lowercase());
        }
    }
    normal.make_ascii_lowercase();
    while normal.contains("//") || normal.contains("/./") {
        normal = normal.replace("/./", "/").replace("//", "/");
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Protected;

    /// A large text is gone over a few times, and not once for each name.
    #[test]
    fn large_texts_are_searched_in_one_go() {
        let needles = Needles::new(&Places::new(Protected::project("/w")));
        let text = "echo hello; ".repeat(1 << 17);
        let (found, looked) = needles.search_counted(&normal(&text), false);
        assert_eq!(found, None);
        // Work is counted, and not timed: the machine may be busy.
        let names = needles.0.len();
        assert!(names > 20, "{names}");
        assert!(looked < 2 * text.len(), "{looked} looks at {names} names in {} bytes", text.len());
        assert!(needles.find(&format!("{text}.agents/hooks.json")).is_some());
        assert!(needles.find(&"'a' + ".repeat(1 << 16)).is_none());
    }

    #[test]
    fn names_are_found_whole() {
        let needles = Needles::new(&Places::new(Protected::project("/w")));
        for text in [
            "open('.agents/hooks.json')",
            "'.age' + \"nts/hooks.json\"",
            "x/.Agents//./HOOKS.json",
            ".agents",
            "os.path.join('.agents', 'hooks.json')",
            ".tollgate/anything",
            "see .claude/settings.json.",
            "/etc/tollgate/config.toml",
        ] {
            assert!(needles.find(text).is_some(), "{text}");
        }
        for text in [
            "my.agents/hooks.json",
            ".agents/hooks.json.bak",
            ".agents/notes.md",
            ".agents-notes",
            ".claude/commands/x.md",
            "tollgate/x",
            ".github/workflows/ci.yml",
        ] {
            assert_eq!(needles.find(text), None, "{text}");
        }
    }
}
