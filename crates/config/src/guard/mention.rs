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

    fn search(&self, text: &str, is_loose: bool) -> Option<&str> {
        let text = normal(text);
        let found = |needle: &&Needle| {
            text.match_indices(&*needle.text).any(|(at, _)| {
                let before = text.get(..at).and_then(|before| before.chars().next_back());
                let after = text.get(at + needle.text.len()..).unwrap_or_default();
                let is_begin =
                    is_loose || needle.text.starts_with('/') || !before.is_some_and(is_of_name);
                is_begin && needle.ends_before(after)
            })
        };
        self.0.iter().find(found).map(|needle| needle.shown.as_ref())
    }
}

impl Needle {
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
    let characters: Vec<char> = text.chars().collect();
    let mut normal = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = characters.get(at).copied() {
        at += 1;
        match c {
            '\\' => {
                if characters.get(at) == Some(&'\n') {
                    at += 1;
                }
            }
            '"' | '\'' | '`' => {
                // `'.age' + 'nts'` is one name, and so it is with dots.
                let joins = |c: &&char| c.is_whitespace() || matches!(**c, '+' | '.');
                let between = characters.iter().skip(at).take_while(joins).count();
                let mut sign = characters.iter().skip(at).take(between);
                let has_plus = sign.any(|c| matches!(c, '+' | '.'));
                let next = characters.get(at + between);
                if has_plus && matches!(next, Some('"' | '\'' | '`')) {
                    at += between + 1;
                }
            }
            c => normal.extend(c.to_lowercase()),
        }
    }
    while normal.contains("//") || normal.contains("/./") {
        normal = normal.replace("/./", "/").replace("//", "/");
    }
    normal
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guard::Protected;

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
