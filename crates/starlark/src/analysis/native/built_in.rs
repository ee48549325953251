//! What scripts have beyond the language, where it computes or notes something and asks nobody.

use serde_json::{Map, Number, Value as Json};
use tollgate_core::ledger::LogLevel;

use super::expression::written;
use crate::analysis::condition::eval::Outcome;
use crate::analysis::condition::{CondError, View};
use crate::builtins::{Asked, Notes, commands, find_secrets, mask_text, told_view};
use crate::lexical;

/// A function that a native form has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::analysis) enum BuiltIn {
    DeletesUnder,
    Effects,
    FindSecrets,
    Incr,
    Inside,
    Json,
    Log(LogLevel),
    Mask,
    Normalize,
    Parse,
    ReachesNetwork,
    ReadsUnder,
    Risks,
    WritesUnder,
}

impl BuiltIn {
    pub(super) fn of(namespace: &str, name: &str) -> Option<Self> {
        Some(match (namespace, name) {
            ("effects", "deletes_under") => Self::DeletesUnder,
            ("effects", "of") => Self::Effects,
            ("effects", "reaches_network") => Self::ReachesNetwork,
            ("effects", "reads_under") => Self::ReadsUnder,
            ("effects", "risks") => Self::Risks,
            ("effects", "writes_under") => Self::WritesUnder,
            ("json", "encode") => Self::Json,
            ("", "log" | "print") | ("log", "info") => Self::Log(LogLevel::Info),
            ("log", "warn") => Self::Log(LogLevel::Warn),
            ("metrics", "incr") => Self::Incr,
            ("path", "inside") => Self::Inside,
            ("path", "normalize") => Self::Normalize,
            ("secrets", "find") => Self::FindSecrets,
            ("secrets", "mask") => Self::Mask,
            ("shell", "parse") => Self::Parse,
            _ => return None,
        })
    }

    /// Whether it can be called with so many arguments, by their places and by names.
    pub(super) const fn takes(self, places: usize, names: usize) -> bool {
        match self {
            Self::Log(_) => true,
            Self::Effects
            | Self::FindSecrets
            | Self::Json
            | Self::Mask
            | Self::Normalize
            | Self::ReachesNetwork
            | Self::Risks => places == 1 && names == 0,
            Self::Incr | Self::Parse => (places == 1 || places == 2) && names == 0,
            Self::DeletesUnder | Self::Inside | Self::ReadsUnder | Self::WritesUnder => {
                places == 2 && names == 0
            }
        }
    }
}

/// Calls it. What fails is the language's to tell.
pub(super) fn call<'a>(
    built_in: BuiltIn,
    arguments: &[View<'a>],
    fields: &[(&str, View<'a>)],
    notes: &Notes,
) -> Outcome<View<'a>> {
    let text = |place: usize| match arguments.get(place) {
        Some(View::Str(text)) => Ok(&**text),
        _ => Err(CondError::NotNative),
    };
    let first = || arguments.first().ok_or(CondError::NotNative);
    let asked = || match first()? {
        View::Dict(payload) => {
            Asked::of_view(*payload, |args| json(args).ok()).ok_or(CondError::NotNative)
        }
        _ => Err(CondError::NotNative),
    };
    // What a path is told under: those that fail are the language's.
    let below = || {
        let asked = asked()?;
        let path = asked.path("", text(1)?).map_err(|_| CondError::NotNative)?;
        Ok((asked.effects(), path))
    };
    Ok(match built_in {
        BuiltIn::Effects => asked()?.all(),
        BuiltIn::Risks => asked()?.risks(),
        BuiltIn::ReachesNetwork => told_view(asked()?.effects().reaches_network()),
        BuiltIn::WritesUnder => {
            below().map(|(found, path)| told_view(found.writes_under(&path)))?
        }
        BuiltIn::ReadsUnder => below().map(|(found, path)| told_view(found.reads_under(&path)))?,
        BuiltIn::DeletesUnder => {
            below().map(|(found, path)| told_view(found.deletes_under(&path)))?
        }
        BuiltIn::Parse => {
            let directory = match arguments.get(1) {
                None | Some(View::None) => None,
                Some(View::Str(directory)) => Some(&**directory),
                Some(_) => return Err(CondError::NotNative),
            };
            commands(text(0)?, directory)
        }
        BuiltIn::Inside => View::Bool(lexical::is_inside(text(0)?, text(1)?)),
        BuiltIn::Normalize => View::text(lexical::normalize(text(0)?)),
        BuiltIn::Json => View::text(json(first()?)?.to_string()),
        BuiltIn::FindSecrets => {
            View::list(find_secrets(&json(first()?)?).into_iter().map(View::text))
        }
        BuiltIn::Mask => View::text(mask_text(text(0)?).into_owned()),
        BuiltIn::Incr => {
            let by = match arguments.get(1) {
                None => 1,
                Some(View::Int(by)) => i64::try_from(*by).map_err(|_| CondError::NotNative)?,
                Some(_) => return Err(CondError::NotNative),
            };
            notes.incr(text(0)?, by).map_err(|_| CondError::NotNative)?;
            View::None
        }
        BuiltIn::Log(level) => {
            let words = arguments.iter().map(|word| written(word.clone()));
            let words = words.collect::<Outcome<Vec<_>>>()?;
            let field = |(name, value): &(&str, View<'a>)| Ok(((*name).to_owned(), json(value)?));
            let fields = fields.iter().map(field).collect::<Outcome<Map<_, _>>>()?;
            notes.log(level, words.join(" "), fields).map_err(|_| CondError::NotNative)?;
            View::None
        }
    })
}

/// How deep a value may be that a script hands out.
const DEEPEST: u32 = 100;

/// The JSON of a value, where it has one.
pub(super) fn json(value: &View<'_>) -> Outcome<Json> {
    json_within(value, DEEPEST)
}

/// As [`json`], for a field of a patch, which is a level of its own.
pub(super) fn json_in_patch(value: &View<'_>) -> Outcome<Json> {
    json_within(value, DEEPEST - 1)
}

fn json_within(value: &View<'_>, depth: u32) -> Outcome<Json> {
    let depth = depth.checked_sub(1).ok_or(CondError::NotNative)?;
    Ok(match value {
        View::None => Json::Null,
        View::Bool(value) => (*value).into(),
        View::Int(number) => match (i64::try_from(*number), u64::try_from(*number)) {
            (Ok(number), _) => number.into(),
            (_, Ok(number)) => number.into(),
            _ => return Err(CondError::NotNative),
        },
        View::Float(number) => Json::Number(Number::from_f64(*number).ok_or(CondError::NotNative)?),
        View::Str(text) => text.as_ref().into(),
        View::List(items) | View::Tuple(items) => {
            items.iter().map(|item| json_within(&item, depth)).collect::<Outcome<Vec<_>>>()?.into()
        }
        View::Dict(of) => {
            let (mut fields, mut wrong) = (Map::new(), None);
            of.each(&mut |key, value| match json_within(&value, depth) {
                Ok(value) => {
                    fields.insert(key.to_owned(), value);
                    true
                }
                Err(error) => {
                    wrong = Some(error);
                    false
                }
            });
            match wrong {
                None => fields.into(),
                Some(error) => return Err(error),
            }
        }
        View::Record(_) | View::Other => return Err(CondError::NotNative),
    })
}
