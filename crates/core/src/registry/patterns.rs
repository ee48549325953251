//! Who asks for names by a pattern: by how they begin or end, or by an expression.

use std::hash::BuildHasher;
use std::sync::{Arc, OnceLock};

use hashbrown::{DefaultHashBuilder, HashMap};
use smallvec::SmallVec;

use super::index::{Asked, Matched, Role};
use crate::matcher::{Expression, ExpressionSet, Pattern, PatternError, Rest};
use crate::target::{Key, OwnedKey, plain};
use crate::tools;

/// All patterns of an event.
#[derive(Debug)]
pub(super) struct Patterns {
    prefixes: Affixes,
    suffixes: Affixes,
    expressions: Option<ExpressionSet>,
    /// Who has each of the expressions.
    by_expression: Vec<Asked>,
    /// Patterns on other spellings of servers' tools, tried one by one: few are, and what they match is
    /// remembered.
    spelled: Vec<(Pattern, u32, Role)>,
    remembered: Remembered,
}

impl Patterns {
    /// Adds who asks for this name, by its own text or, where it is another name of one of the
    /// agent's tools, by the name in use. A server's tool has several spellings.
    pub(super) fn add_matching(&self, key: Key<'_>, asked: &mut Asked) {
        let text = key.text();
        self.add_text(&text, asked);
        if key.server.is_some() {
            if let Some(plain) = plain(&text) {
                self.add_text(&plain, asked);
            }
        } else {
            for name in tools::names_in_use(key.name) {
                self.add_text(name, asked);
            }
        }
        for (pattern, place, role) in &self.spelled {
            if pattern.matches_other_spelling(key) {
                asked.add(*place, *role);
            }
        }
    }

    fn add_text(&self, text: &str, asked: &mut Asked) {
        self.prefixes.each(text, |len| text.split_at_checked(len), asked);
        let suffix = |len| {
            let (rest, suffix) = text.split_at_checked(text.len() - len)?;
            Some((suffix, rest))
        };
        self.suffixes.each(text, suffix, asked);
        if let Some(expressions) = &self.expressions {
            expressions.matching(text, |number| {
                if let Some(who) = self.by_expression.get(number) {
                    asked.add_all(who);
                }
            });
        }
    }

    /// Who asks for a name, together with who asks for it by that name, and for more than patterns
    /// say.
    pub(super) fn matching<'a>(
        &'a self,
        key: Key<'_>,
        broad: &'a Asked,
        by_name: &Asked,
    ) -> Matched<'a> {
        if let Some(asked) = self.remembered.get(key) {
            return Matched::Ready(asked);
        }
        let mut found = by_name.clone();
        self.add_matching(key, &mut found);
        let together = || {
            let mut together = broad.clone();
            together.add_all(&found);
            together
        };
        match self.remembered.keep(key, together) {
            Some(asked) => Matched::Ready(asked),
            None if found.is_nobody() => Matched::Ready(broad),
            None => Matched::Joined(Box::new(together())),
        }
    }
}

#[derive(Default)]
pub(super) struct PatternsBuilder {
    prefixes: Affixes,
    suffixes: Affixes,
    expressions: Vec<Arc<Expression>>,
    numbers: HashMap<*const Expression, usize>,
    by_expression: Vec<Asked>,
    spelled: Vec<(Pattern, u32, Role)>,
}

impl PatternsBuilder {
    pub(super) fn spelled(&mut self, pattern: &Pattern, place: u32, role: Role) {
        self.spelled.push((pattern.clone(), place, role));
    }

    pub(super) fn prefix(&mut self, text: &str, rest: Rest, place: u32, role: Role) {
        self.prefixes.add(text, Asker { rest, place, role });
    }

    pub(super) fn suffix(&mut self, text: &str, rest: Rest, place: u32, role: Role) {
        self.suffixes.add(text, Asker { rest, place, role });
    }

    /// Many hooks have the same expression, which is one of the set.
    pub(super) fn expression(&mut self, expression: &Arc<Expression>, place: u32, role: Role) {
        let number = *self.numbers.entry(Arc::as_ptr(expression)).or_insert_with(|| {
            self.expressions.push(Arc::clone(expression));
            self.by_expression.push(Asked::default());
            self.expressions.len() - 1
        });
        if let Some(asked) = self.by_expression.get_mut(number) {
            asked.add(place, role);
        }
    }

    pub(super) fn build(self) -> Result<Option<Patterns>, PatternError> {
        let Self { prefixes, suffixes, expressions, by_expression, spelled, .. } = self;
        let no_expressions = expressions.is_empty();
        let no_affixes = prefixes.lengths.is_empty() && suffixes.lengths.is_empty();
        if no_expressions && no_affixes && spelled.is_empty() {
            return Ok(None);
        }
        let expressions =
            if no_expressions { None } else { Some(ExpressionSet::new(&expressions)?) };
        let remembered = Remembered::new();
        Ok(Some(Patterns { prefixes, suffixes, expressions, by_expression, spelled, remembered }))
    }
}

/// Who asks for all that begins or ends in some way.
#[derive(Debug, Clone, Copy)]
struct Asker {
    rest: Rest,
    place: u32,
    role: Role,
}

/// Beginnings or ends of names. A look-up takes one hash for each length that occurs, so it is
/// bound by the length of the name and not by how many there are.
#[derive(Debug, Default)]
struct Affixes {
    askers: HashMap<String, SmallVec<[Asker; 2]>>,
    /// In order.
    lengths: Vec<usize>,
}

impl Affixes {
    fn add(&mut self, text: &str, asker: Asker) {
        self.askers.entry_ref(text).or_default().push(asker);
        if let Err(at) = self.lengths.binary_search(&text.len()) {
            self.lengths.insert(at, text.len());
        }
    }

    /// Adds who asks for `text`, which `cut` takes apart: the part of some length, and the rest.
    fn each<'a>(
        &self,
        text: &'a str,
        cut: impl Fn(usize) -> Option<(&'a str, &'a str)>,
        asked: &mut Asked,
    ) {
        for len in self.lengths.iter().take_while(|len| **len <= text.len()) {
            // Where that is within a character, no pattern ends there.
            let Some((affix, rest)) = cut(*len) else { continue };
            for asker in self.askers.get(affix).into_iter().flatten() {
                if asker.rest.allows(rest) {
                    asked.add(asker.place, asker.role);
                }
            }
        }
    }
}

/// A name and who asks for it, or nothing yet.
type Slot = OnceLock<Box<(OwnedKey, Asked)>>;

/// Who asks for names that came before, so that patterns are matched once for each.
///
/// Names come from the model, so there is a bound, and what is in stays in: whoever sends many
/// names can neither make this grow nor drive out others. Readers never wait.
#[derive(Debug)]
struct Remembered {
    hasher: DefaultHashBuilder,
    slots: Box<[Slot]>,
}

impl Remembered {
    const NAMES: usize = 256;
    /// In how many slots a name may be.
    const TRIES: usize = 8;
    /// No tool has a longer name.
    const LONGEST: usize = 128;

    fn new() -> Self {
        Self {
            hasher: DefaultHashBuilder::default(),
            slots: std::iter::repeat_with(OnceLock::new).take(Self::NAMES).collect(),
        }
    }

    fn slots(&self, key: Key<'_>) -> impl Iterator<Item = &Slot> {
        // Only the low bits count, whatever the size of a pointer.
        #[allow(clippy::cast_possible_truncation)]
        let first = self.hasher.hash_one(key) as usize % Self::NAMES;
        let places = (first..first + Self::TRIES).map(|place| place % Self::NAMES);
        places.filter_map(|place| self.slots.get(place))
    }

    fn get(&self, key: Key<'_>) -> Option<&Asked> {
        // Slots are filled one after the other, so behind an empty one there is nothing.
        let filled = self.slots(key).map_while(OnceLock::get);
        filled.map(|kept| &**kept).find(|(name, _)| name.is(key)).map(|(_, asked)| asked)
    }

    /// Puts in who asks for a name, where there is room for it.
    fn keep(&self, key: Key<'_>, asked: impl Fn() -> Asked) -> Option<&Asked> {
        if key.server.map_or(0, str::len) + key.name.len() > Self::LONGEST {
            return None;
        }
        self.slots(key).find_map(|slot| {
            // Another thread may be quicker, with the same name or another.
            let (name, kept) = &**slot.get_or_init(|| Box::new((key.into(), asked())));
            name.is(key).then_some(kept)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(place: u32) -> Asked {
        let mut asked = Asked::default();
        asked.add(place, Role::Hook);
        asked
    }

    #[test]
    fn a_name_is_remembered_with_its_server() {
        let remembered = Remembered::new();
        let own = Key { server: None, name: "a/b" };
        let of_a_server = Key { server: Some("a"), name: "b" };
        remembered.keep(own, || asked(1)).unwrap();
        assert!(remembered.get(of_a_server).is_none());
        remembered.keep(of_a_server, || asked(2)).unwrap();
        assert_eq!(remembered.get(own).unwrap().hooks.to_vec(), [1]);
        assert_eq!(remembered.get(of_a_server).unwrap().hooks.to_vec(), [2]);
        // Who comes second finds what is there.
        assert_eq!(remembered.keep(own, || asked(3)).unwrap().hooks.to_vec(), [1]);
    }

    #[test]
    fn many_names_neither_grow_it_nor_drive_out_others() {
        let remembered = Remembered::new();
        let first = Key { server: None, name: "first" };
        remembered.keep(first, || asked(7)).unwrap();
        for number in 0..10_000 {
            let name = format!("name_{number}");
            let key = Key { server: None, name: &name };
            let kept = remembered.keep(key, || asked(number));
            assert!(kept.is_none_or(|kept| kept.hooks.to_vec() == [number]));
            assert_eq!(remembered.get(key).is_some(), kept.is_some());
        }
        assert_eq!(remembered.get(first).unwrap().hooks.to_vec(), [7]);
        let filled = remembered.slots.iter().filter(|slot| slot.get().is_some()).count();
        assert_eq!((filled, remembered.slots.len()), (Remembered::NAMES, Remembered::NAMES));
    }

    #[test]
    fn long_names_are_not_kept() {
        let remembered = Remembered::new();
        let long = "x".repeat(Remembered::LONGEST);
        assert!(remembered.keep(Key { server: None, name: &long }, || asked(1)).is_some());
        assert!(remembered.keep(Key { server: Some("x"), name: &long }, || asked(1)).is_none());
    }
}
