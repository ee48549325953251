//! The options of a program, as far as they stand before what it runs.

use crate::value::{Part, Value};

/// Whether an option ends a cluster of short ones: `-lc`.
pub(super) fn ends_cluster(argument: &Value, option: &str) -> bool {
    let Some(letter) = option.strip_prefix('-').filter(|letter| letter.len() == 1) else {
        return false;
    };
    let cluster = argument.known().and_then(|text| text.strip_prefix('-'));
    cluster.is_some_and(|cluster| {
        cluster.len() > 1
            && cluster.ends_with(letter)
            && cluster.chars().all(|c| c.is_ascii_alphabetic())
    })
}

/// Whether a word is an option, which may be written short where it is long: `--comm`.
pub(super) fn is_option(argument: &Value, option: &str) -> bool {
    argument.known().is_some_and(|text| {
        text == option || text.len() > 4 && option.starts_with("--") && option.starts_with(text)
    })
}

/// The value that stands behind an option in the same word: `--option=value`, `-ovalue`.
pub(super) fn value_of(argument: &Value, option: &str) -> Option<Value> {
    let (first, others) = argument.parts().split_first()?;
    let Part::Text(text) = first else { return None };
    let rest = match text.split_once('=') {
        Some((name, value)) if option.starts_with("--") && !option.ends_with('=') => {
            let is_short = name.len() > 4 && option.starts_with(name);
            (name == option || is_short).then_some(value)?
        }
        _ if option.starts_with("--") && !option.ends_with('=') => return None,
        _ => text.strip_prefix(option)?,
    };
    if rest.is_empty() && others.is_empty() {
        return None;
    }
    let mut value = Value::text(rest);
    for part in others {
        value.push(part.clone());
    }
    Some(value)
}

pub(super) fn is_assignment(value: &Value) -> bool {
    let Some((name, _)) = value.prefix().split_once('=') else { return false };
    !name.is_empty()
        && !name.starts_with('-')
        && name.chars().all(|c| c.is_alphanumeric() || c == '_')
}

/// How many of the arguments are options and their values.
pub(super) fn options_end(arguments: &[Value], valued: &[&str]) -> usize {
    let mut at = 0;
    while let Some(argument) = arguments.get(at) {
        let prefix = argument.prefix();
        if argument.known() == Some("--") {
            return at + 1;
        }
        if !prefix.starts_with('-') || prefix == "-" {
            return at;
        }
        let takes_next = argument.known().is_some_and(|text| {
            valued.contains(&text) || valued.iter().any(|option| ends_cluster(argument, option))
        });
        at += 1 + usize::from(takes_next);
    }
    arguments.len()
}

pub(super) fn mentions(arguments: &[Value], word: &str) -> bool {
    arguments.iter().any(|argument| argument.known() == Some(word))
}
