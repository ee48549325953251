//! Takes options and operands apart.

use super::arg::Arg;
use super::row::{DRY, LIVE, Opt, Style, TREE, Takes, Tool};
use super::run::Call;
use crate::value::Value;

impl<'a> Call<'a, '_> {
    /// Takes options and operands apart. With `leading`, up to the first operand only. Tells how
    /// many words were used.
    pub(super) fn parse(
        &mut self,
        tool: &'static Tool,
        words: &'a [Value],
        leading: bool,
    ) -> usize {
        let leading = leading || matches!(tool.style, Style::Leading | Style::LeadingWords);
        let whole_words = matches!(tool.style, Style::Words | Style::LeadingWords);
        let mut index = 0;
        let mut options = tool.style != Style::Bare;
        while let Some(word) = words.get(index) {
            let arg = Arg::new(word);
            let prefix = arg.prefix();
            if options && prefix == "--" && arg.is("--") {
                options = false;
                index += 1;
                if leading && !tool.subs.is_empty() {
                    return index;
                }
                continue;
            }
            if tool.style == Style::Tar && index == 0 && !prefix.starts_with('-') {
                index += 1 + self.letters(prefix, words);
                continue;
            }
            let is_option =
                options && prefix.starts_with('-') && (prefix.len() > 1 || !arg.is("-"));
            if !is_option {
                if leading && !tool.subs.is_empty() {
                    return index;
                }
                if leading {
                    options = false;
                }
                self.operands.push(arg);
                index += 1;
                continue;
            }
            let next = words.get(index + 1).map(Arg::new);
            let used_next = if let Some(name) = prefix.strip_prefix("--") {
                self.long(arg, name, 2, next, !whole_words)
            } else if whole_words {
                self.long(arg, prefix.get(1..).unwrap_or(""), 1, next, false)
            } else {
                self.cluster(arg, prefix, next)
            };
            index += 1 + usize::from(used_next);
        }
        index
    }

    /// `--name`, `--name=value`, `--name value`. Whether the next word was its value.
    fn long(
        &mut self,
        arg: Arg<'a>,
        name: &'a str,
        dashes: usize,
        next: Option<Arg<'a>>,
        short_forms: bool,
    ) -> bool {
        let (name, attached) = match name.split_once('=') {
            Some((name, _)) => (name, Some(arg.behind(dashes + name.len() + 1))),
            None => (name, None),
        };
        // What is not known may be any option, so it may go deep.
        if attached.is_none() && arg.known().is_none() {
            self.bits |= TREE;
            return false;
        }
        let Some((option, takes)) = self.find_long(name, short_forms) else {
            if let Some(other) = name.strip_prefix("no-") {
                self.call_off(other);
            }
            return false;
        };
        let switched_off = attached.is_some_and(|value| value.is("false") || value.is("none"));
        match (attached, takes) {
            _ if switched_off && takes != Takes::Value => {
                self.call_off(name);
                return false;
            }
            (Some(value), _) => self.give(option, Some(value)),
            (None, Takes::Value) => {
                self.give(option, next);
                return next.is_some();
            }
            (None, _) => self.give(option, None),
        }
        false
    }

    /// An option is turned off: `--no-name`, `--name=false`.
    fn call_off(&mut self, name: &str) {
        if let Some((Some(option), _)) = self.find_long(name, false)
            && option.bits & DRY != 0
        {
            self.bits |= LIVE;
        }
    }

    /// `-abc`, `-ovalue`, `-o value`.
    fn cluster(&mut self, arg: Arg<'a>, prefix: &'a str, next: Option<Arg<'a>>) -> bool {
        for (at, letter) in prefix.char_indices().skip(1) {
            let Some((option, takes)) = self.find_short(letter) else { continue };
            let behind = at + letter.len_utf8();
            match takes {
                Takes::Nothing => self.give(option, None),
                Takes::Attached => {
                    let rest = arg.behind(behind);
                    self.give(option, (!rest.is_empty()).then_some(rest));
                    return false;
                }
                Takes::Value => {
                    let rest = arg.behind(behind);
                    if !rest.is_empty() {
                        self.give(option, Some(rest));
                        return false;
                    }
                    self.give(option, next);
                    return next.is_some();
                }
            }
        }
        if arg.known().is_none() {
            self.bits |= TREE;
        }
        false
    }

    /// `xzf`: letters without a dash, whose values are the words behind, one after the other.
    fn letters(&mut self, letters: &str, words: &'a [Value]) -> usize {
        let mut used = 0;
        for letter in letters.chars() {
            let Some((option, takes)) = self.find_short(letter) else { continue };
            if takes == Takes::Value {
                used += 1;
                self.give(option, words.get(used).map(Arg::new));
            } else {
                self.give(option, None);
            }
        }
        used
    }

    fn give(&mut self, option: Option<&'static Opt>, value: Option<Arg<'a>>) {
        let Some(option) = option else { return };
        self.bits |= option.bits;
        if let Some(value) = value {
            self.given.push((option, value));
        }
    }

    fn find_short(&self, letter: char) -> Option<(Option<&'static Opt>, Takes)> {
        for tool in self.rows.iter().rev().flatten() {
            for option in tool.options {
                if has_letter(option.short, letter) {
                    return Some((Some(option), option.takes));
                }
            }
            if has_letter(tool.valued, letter) {
                return Some((None, Takes::Value));
            }
        }
        None
    }

    fn find_long(&self, name: &str, short_forms: bool) -> Option<(Option<&'static Opt>, Takes)> {
        for tool in self.rows.iter().rev().flatten() {
            for option in tool.options {
                if option.long.contains(&name) {
                    return Some((Some(option), option.takes));
                }
            }
            if tool.valued_long.contains(&name) {
                return Some((None, Takes::Value));
            }
        }
        if !short_forms || name.is_empty() {
            return None;
        }
        for tool in self.rows.iter().rev().flatten() {
            for option in tool.options {
                // A guess is good enough to see more, and never to see less.
                if option.bits & DRY == 0 && option.long.iter().any(|long| long.starts_with(name)) {
                    return Some((Some(option), option.takes));
                }
            }
            if tool.valued_long.iter().any(|long| long.starts_with(name)) {
                return Some((None, Takes::Value));
            }
        }
        None
    }
}

/// All letters of the table are ASCII, so that bytes are enough.
fn has_letter(letters: &str, letter: char) -> bool {
    u8::try_from(letter)
        .is_ok_and(|letter| letter.is_ascii() && letters.as_bytes().contains(&letter))
}
