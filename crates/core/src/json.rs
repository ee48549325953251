//! Reads JSON, and refuses objects with duplicate keys.
//!
//! The standard leaves open which value of a duplicate key counts. A hook that reads `ls` where the
//! agent runs `rm -rf ~` has approved something else, so such a text is an error at any depth.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::map::Entry;
use serde_json::{Map, Number, Value};

/// The key under which `serde_json` passes on a number where it keeps all of its digits.
const NUMBER: &str = "$serde_json::private::Number";

/// The longest key that an error shows.
const LONGEST_KEY: usize = 60;

/// Parses a text.
///
/// ```
/// use tollgate_core::json;
///
/// assert_eq!(json::from_slice(br#"{"a": [1, {"b": null}]}"#)?["a"][0], 1);
/// let error = json::from_slice(br#"{"a": {"b": 1, "b": 2}}"#).unwrap_err();
/// assert_eq!(error.to_string(), "duplicate key `b` at line 1 column 18");
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn from_slice(text: &[u8]) -> Result<Value, serde_json::Error> {
    serde_json::from_slice::<Strict>(text).map(|strict| strict.0)
}

/// Parses a text, as [`from_slice`] does.
pub fn from_str(text: &str) -> Result<Value, serde_json::Error> {
    serde_json::from_str::<Strict>(text).map(|strict| strict.0)
}

/// A value without duplicate keys, for a [`Deserializer`](serde_json::Deserializer) that the caller sets up.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strict(pub Value);

impl<'de> Deserialize<'de> for Strict {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StrictVisitor).map(Self)
    }
}

struct StrictVisitor;

impl<'de> Visitor<'de> for StrictVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(value.into())
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut array = Vec::new();
        while let Some(Strict(item)) = items.next_element()? {
            array.push(item);
        }
        Ok(array.into())
    }
    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut object = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            if key == NUMBER && object.is_empty() {
                let number: Number =
                    entries.next_value::<String>()?.parse().map_err(Error::custom)?;
                return Ok(number.into());
            }
            match object.entry(key) {
                Entry::Vacant(place) => {
                    place.insert(entries.next_value::<Strict>()?.0);
                }
                Entry::Occupied(place) => {
                    let shown: String = place.key().chars().take(LONGEST_KEY).collect();
                    let shown = shown.escape_debug();
                    return Err(Error::custom(format!("duplicate key `{shown}`")));
                }
            }
        }
        Ok(object.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_duplicates_is_what_serde_json_reads() {
        for text in [
            r#"{"a": [1, -2, 0.5, 1e400, 123456789012345678901234567890, null, true, "x\u0000"]}"#,
            r#"[{"a": 1}, {"a": 1}, {"a": {"a": {}}}]"#,
            "7",
            r#"" ""#,
        ] {
            let usual = serde_json::from_str::<Value>(text).ok();
            assert_eq!(from_str(text).ok(), usual, "{text}");
            assert_eq!(from_slice(text.as_bytes()).ok(), usual, "{text}");
        }
    }

    #[test]
    fn a_duplicate_key_is_refused_at_any_depth_and_in_any_spelling() {
        for text in [
            r#"{"a":1,"a":1}"#,
            r#"{"x":[{"y":{"a":1,"b":2,"a":3}}]}"#,
            r#"{"a":1,"\u0061":2}"#,
            r#"{"":1,"":2}"#,
        ] {
            let error = from_str(text).unwrap_err().to_string();
            assert!(error.starts_with("duplicate key `"), "{error}");
        }
        let long = "k\n".repeat(500);
        let text = serde_json::to_string(&long).unwrap();
        let error = from_str(&format!("{{{text}:1,{text}:2}}")).unwrap_err().to_string();
        assert!(error.len() < 200 && !error.contains('\n'), "{error}");
    }
}
