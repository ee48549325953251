//! Between JSON and the values of the language. No number and no depth makes it panic.

use num_bigint::BigInt;
use serde_json::{Map, Number, Value as Json};
use starlark::const_frozen_string;
use starlark::values::dict::{AllocDict, DictRef};
use starlark::values::float::UnpackFloat;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::none::NoneType;
use starlark::values::structs::AllocStruct;
use starlark::values::tuple::{AllocTuple, TupleRef};
use starlark::values::{
    AllocFrozenValue, AllocValue, FrozenHeap, FrozenValue, Heap, StringValue, UnpackValue as _,
    Value,
};

use crate::analysis::View;

/// How deep a value may be that a script hands out.
const DEEPEST: u32 = 100;

/// Where values of the language are made: on the heap of one run, or frozen, for any number of runs.
pub(crate) trait Ground: Copy {
    type Value: Copy;

    /// A value that has no others in it.
    fn put<T: AllocFrozenValue + for<'v> AllocValue<'v>>(self, value: T) -> Self::Value;

    fn list(self, items: impl IntoIterator<Item = Self::Value>) -> Self::Value;

    fn dict(self, fields: impl IntoIterator<Item = (Self::Value, Self::Value)>) -> Self::Value;
}

impl<'v> Ground for Heap<'v> {
    type Value = Value<'v>;

    fn put<T: AllocFrozenValue + for<'w> AllocValue<'w>>(self, value: T) -> Value<'v> {
        self.alloc(value)
    }

    fn list(self, items: impl IntoIterator<Item = Value<'v>>) -> Value<'v> {
        self.alloc(AllocList(items))
    }

    fn dict(self, fields: impl IntoIterator<Item = (Value<'v>, Value<'v>)>) -> Value<'v> {
        self.alloc(AllocDict(fields))
    }
}

impl Ground for &FrozenHeap {
    type Value = FrozenValue;

    fn put<T: AllocFrozenValue + for<'v> AllocValue<'v>>(self, value: T) -> FrozenValue {
        self.alloc(value)
    }

    fn list(self, items: impl IntoIterator<Item = FrozenValue>) -> FrozenValue {
        self.alloc(AllocList(items))
    }

    fn dict(self, fields: impl IntoIterator<Item = (FrozenValue, FrozenValue)>) -> FrozenValue {
        self.alloc(AllocDict(fields))
    }
}

/// A value of the language.
pub(crate) fn to_starlark<G: Ground>(value: &Json, ground: G) -> G::Value {
    match value {
        Json::Null => ground.put(NoneType),
        Json::Bool(value) => ground.put(*value),
        Json::Number(number) => number_to_starlark(number, ground),
        Json::String(text) => ground.put(text.as_str()),
        Json::Array(items) => ground.list(items.iter().map(|item| to_starlark(item, ground))),
        Json::Object(fields) => dict(fields, ground),
    }
}

/// A dict of the language.
pub(crate) fn dict<G: Ground>(fields: &Map<String, Json>, ground: G) -> G::Value {
    ground.dict(
        fields.iter().map(|(name, value)| (ground.put(name.as_str()), to_starlark(value, ground))),
    )
}

fn number_to_starlark<G: Ground>(number: &Number, ground: G) -> G::Value {
    if let Some(number) = number.as_i64() {
        return ground.put(number);
    }
    if let Some(number) = number.as_u64() {
        return ground.put(number);
    }
    let text = number.to_string();
    let is_whole = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match text.parse::<BigInt>() {
        Ok(number) if is_whole => ground.put(number),
        // One too large for a float is infinite.
        _ => ground.put(text.parse::<f64>().unwrap_or(f64::INFINITY)),
    }
}

/// What a built-in hands out, as a value of the language.
pub(crate) fn from_view<'v>(view: &View<'_>, heap: Heap<'v>) -> Value<'v> {
    match view {
        View::None | View::Other => Value::new_none(),
        View::Bool(value) => Value::new_bool(*value),
        View::Int(number) => match i64::try_from(*number) {
            Ok(number) => heap.alloc(number),
            Err(_) => heap.alloc(BigInt::from(*number)),
        },
        View::Float(number) => heap.alloc(*number),
        View::Str(text) => heap.alloc(&**text),
        View::List(items) => heap.alloc(AllocList(items.iter().map(|item| from_view(&item, heap)))),
        View::Tuple(items) => {
            heap.alloc(AllocTuple(items.iter().map(|item| from_view(&item, heap))))
        }
        View::Dict(of) => {
            let mut fields = Vec::with_capacity(of.len());
            of.each(&mut |key, value| {
                fields.push((key, from_view(&value, heap)));
                true
            });
            heap.alloc(AllocDict(fields))
        }
        View::Record(fields) => heap.alloc(AllocStruct(
            fields.iter().map(|(name, value)| (field_name(name, heap), from_view(value, heap))),
        )),
    }
}

/// The name of a field of a record. Those that are known are made and hashed once and for all.
fn field_name<'v>(name: &str, heap: Heap<'v>) -> StringValue<'v> {
    macro_rules! known {
        ($($known:literal)*) => {
            match name {
                $($known => const_frozen_string!($known).to_value_typed(),)*
                other => heap.alloc_str(other),
            }
        };
    }
    known! {
        "access" "argv" "by" "commands" "destroys" "exact" "host" "kind" "known" "list" "name" "path" "place"
        "program" "redirects" "target" "text" "tree" "unknown" "via" "what" "why"
    }
}

/// The JSON of a value, where it has one.
pub(crate) fn to_json(value: Value<'_>) -> Result<Json, String> {
    json_within(value, DEEPEST)
}

fn json_within(value: Value<'_>, depth: u32) -> Result<Json, String> {
    let Some(depth) = depth.checked_sub(1) else {
        return Err(format!("a value is nested more than {DEEPEST} deep"));
    };
    if value.is_none() {
        return Ok(Json::Null);
    }
    if let Some(value) = value.unpack_bool() {
        return Ok(Json::Bool(value));
    }
    if let Some(text) = value.unpack_str() {
        return Ok(Json::String(text.to_owned()));
    }
    if let Ok(Some(number)) = i64::unpack_value(value) {
        return Ok(number.into());
    }
    if let Some(dict) = DictRef::from_value(value) {
        return dict_to_json(&dict, depth).map(Json::Object);
    }
    if let Some(list) = ListRef::from_value(value) {
        return list.iter().map(|item| json_within(item, depth)).collect();
    }
    if let Some(tuple) = TupleRef::from_value(value) {
        return tuple.iter().map(|item| json_within(item, depth)).collect();
    }
    match value.get_type() {
        "int" => value.to_string().parse::<Number>().map(Json::Number).map_err(|e| e.to_string()),
        "float" => {
            // Not by its text, which has six digits of a large or small number.
            let float = UnpackFloat::unpack_value(value).ok().flatten();
            let number = float.and_then(|float| Number::from_f64(float.0));
            number.map(Json::Number).ok_or_else(|| format!("`{value}` is no number of JSON"))
        }
        other => Err(format!("a value of type `{other}` has no form in JSON")),
    }
}

fn dict_to_json(dict: &DictRef<'_>, depth: u32) -> Result<Map<String, Json>, String> {
    let field = |(key, value): (Value<'_>, Value<'_>)| match key.unpack_str() {
        Some(key) => Ok((key.to_owned(), json_within(value, depth)?)),
        None => Err(format!("a key of a dict is of type `{}`, not a string", key.get_type())),
    };
    dict.iter().map(field).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use starlark::environment::Module;

    fn round(text: &str) -> Result<Json, String> {
        let json: Json = serde_json::from_str(text).map_err(|error| error.to_string())?;
        Module::with_temp_heap(|module| to_json(to_starlark(&json, module.heap())))
    }

    #[test]
    fn there_and_back() {
        for text in [
            "null",
            "true",
            "-1",
            "9223372036854775807",
            "18446744073709551615",
            "123456789012345678901234567890",
            "1.5",
            "1234567.891",
            "1.2345678901e-6",
            "1.7976931348623157e308",
            "\"a\\u0000Щ\"",
            "[1, [2, {\"a\": {}}]]",
        ] {
            assert_eq!(round(text).map(|value| value.to_string()), {
                let json: Json = serde_json::from_str(text).unwrap_or_default();
                Ok(json.to_string())
            });
        }
    }

    #[test]
    fn what_has_no_form_is_said() {
        assert!(round("1e999").is_err_and(|error| error.contains("no number of JSON")));
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(round(&deep(100)).is_ok());
        assert!(round(&deep(101)).is_err());
    }
}
