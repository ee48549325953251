//! Brace expansion: `{a,b}`, `{1..9..2}`.

use crate::syntax::Piece;

/// The most words that one word may become.
const MOST_WORDS: usize = 512;

/// A character without quotes, or a piece that braces have no meaning in.
#[derive(Clone)]
enum Unit<'a> {
    Char(char),
    Piece(&'a Piece),
}

/// More words than can be looked at.
pub(super) struct TooMany;

/// Whether there is a brace that could mean anything.
pub(super) fn has_braces(pieces: &[Piece]) -> bool {
    // Without a choice or a range between them, they mean themselves: `{}`.
    if let [Piece::Text(text)] = pieces {
        return text.contains('{') && (text.contains(',') || text.contains(".."));
    }
    let opens = |piece: &Piece| matches!(piece, Piece::Text(text) if text.contains('{'));
    pieces.iter().any(opens)
}

/// The words that a word becomes.
pub(super) fn expand(pieces: &[Piece]) -> Result<Vec<Vec<Piece>>, TooMany> {
    let mut units = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Text(text) => units.extend(text.chars().map(Unit::Char)),
            other => units.push(Unit::Piece(other)),
        }
    }
    let mut words = Vec::new();
    expand_units(&units, &mut words, 0)?;
    Ok(words.iter().map(|units| pieces_of(units)).collect())
}

fn pieces_of(units: &[Unit<'_>]) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    for unit in units {
        match (unit, pieces.last_mut()) {
            (Unit::Char(c), Some(Piece::Text(text))) => text.push(*c),
            (Unit::Char(c), _) => pieces.push(Piece::Text(c.to_string())),
            (Unit::Piece(piece), _) => pieces.push((*piece).clone()),
        }
    }
    pieces
}

fn expand_units<'a>(
    units: &[Unit<'a>],
    words: &mut Vec<Vec<Unit<'a>>>,
    depth: usize,
) -> Result<(), TooMany> {
    if depth > 16 {
        return Err(TooMany);
    }
    let Some((open, close, choices)) = first_group(units) else {
        words.push(units.to_vec());
        return if words.len() > MOST_WORDS { Err(TooMany) } else { Ok(()) };
    };
    let before = units.get(..open).unwrap_or_default();
    let mut tails = Vec::new();
    expand_units(units.get(close + 1..).unwrap_or_default(), &mut tails, depth + 1)?;
    let mut middles = Vec::new();
    for choice in choices {
        expand_units(&choice, &mut middles, depth + 1)?;
    }
    if middles.len() * tails.len() + words.len() > MOST_WORDS {
        return Err(TooMany);
    }
    for middle in &middles {
        for tail in &tails {
            words.push([before, middle, tail].concat());
        }
    }
    Ok(())
}

/// The first group that means something: where it opens and closes, and its choices.
fn first_group<'a>(units: &[Unit<'a>]) -> Option<(usize, usize, Vec<Vec<Unit<'a>>>)> {
    for (open, unit) in units.iter().enumerate() {
        // `${` is a piece of its own, so this is never one.
        if matches!(unit, Unit::Char('{'))
            && let Some((close, choices)) = group_at(units, open)
        {
            return Some((open, close, choices));
        }
    }
    None
}

fn group_at<'a>(units: &[Unit<'a>], open: usize) -> Option<(usize, Vec<Vec<Unit<'a>>>)> {
    let mut depth = 0_usize;
    let mut choices: Vec<Vec<Unit<'a>>> = vec![Vec::new()];
    for (at, unit) in units.iter().enumerate().skip(open + 1) {
        match unit {
            Unit::Char('{') => depth += 1,
            Unit::Char('}') if depth == 0 => {
                if choices.len() > 1 {
                    return Some((at, choices));
                }
                let range = choices.first().and_then(|only| range_of(only));
                return range.map(|choices| (at, choices));
            }
            Unit::Char('}') => depth -= 1,
            Unit::Char(',') if depth == 0 => {
                choices.push(Vec::new());
                continue;
            }
            _ => {}
        }
        choices.last_mut()?.push(unit.clone());
    }
    None
}

/// `1..9`, `a..e`, `01..10..2`.
fn range_of<'a>(units: &[Unit<'a>]) -> Option<Vec<Vec<Unit<'a>>>> {
    let mut text = String::new();
    for unit in units {
        match unit {
            Unit::Char(c) => text.push(*c),
            Unit::Piece(_) => return None,
        }
    }
    let mut parts = text.split("..");
    let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let step: i64 = step.map_or(Some(1), |step| step.parse().ok())?;
    let step = step.checked_abs()?.max(1);
    let (first, last, letters) = match (from.parse::<i64>(), to.parse::<i64>()) {
        (Ok(from), Ok(to)) => (from, to, false),
        _ => (letter(from)?, letter(to)?, true),
    };
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    let width = if padded(from) || padded(to) { from.len().max(to.len()) } else { 0 };
    // One more than allowed is enough to be told that it is too much.
    let count =
        (last.checked_sub(first)?.checked_abs()? / step).min(i64::try_from(MOST_WORDS).ok()?);
    let mut choices = Vec::new();
    for index in 0..=count {
        let offset = index.checked_mul(step)?;
        let value = if last >= first { first.checked_add(offset)? } else { first - offset };
        let text = if letters {
            u32::try_from(value).ok().and_then(char::from_u32)?.to_string()
        } else {
            format!("{value:0width$}")
        };
        choices.push(text.chars().map(Unit::Char).collect());
    }
    Some(choices)
}

fn letter(text: &str) -> Option<i64> {
    let mut chars = text.chars();
    let c = chars.next().filter(char::is_ascii_alphabetic)?;
    chars.next().is_none().then_some(c as i64)
}
