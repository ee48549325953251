//! JSON Schemas of arguments, in the plain form that all models take.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

/// The schema of the arguments of a tool.
pub(crate) fn parameters<A: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        // Not every model follows references.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<A>().to_value();
    tidy(&mut schema, false);
    if let Value::Object(object) = &mut schema {
        // The description of a tool is its own; that of the struct is for its readers.
        object.remove("description");
        object.entry("type").or_insert_with(|| "object".into());
        object.entry("properties").or_insert_with(|| Map::new().into());
    }
    schema
}

/// Leaves out what says nothing to a model, and what some of them refuse. The keys of
/// `properties` are names of arguments and not words of the schema.
fn tidy(schema: &mut Value, are_names: bool) {
    match schema {
        Value::Object(object) => {
            if !are_names {
                for word in ["title", "format"] {
                    if object.get(word).is_some_and(Value::is_string) {
                        object.remove(word);
                    }
                }
                // An argument that may be missing need not be null as well.
                if object.get("default").is_some_and(Value::is_null) {
                    object.remove("default");
                }
                if let Some(Value::Array(types)) = object.get_mut("type") {
                    types.retain(|one| one != "null");
                    if let [one] = &types[..] {
                        let one = one.clone();
                        object.insert("type".to_owned(), one);
                    }
                }
                if let Some(Value::Array(values)) = object.get_mut("enum") {
                    values.retain(|one| !one.is_null());
                }
                collapse_nullable(object);
            }
            for (key, value) in object.iter_mut() {
                tidy(value, !are_names && matches!(key.as_str(), "properties" | "$defs"));
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|value| tidy(value, false)),
        _ => {}
    }
}

/// `anyOf: [X, null]` is X.
fn collapse_nullable(object: &mut Map<String, Value>) {
    let Some(Value::Array(any)) = object.get_mut("anyOf") else { return };
    any.retain(|one| one.get("type").is_none_or(|kind| kind != "null"));
    let [Value::Object(only)] = &any[..] else { return };
    let only = only.clone();
    object.remove("anyOf");
    for (key, value) in only {
        object.entry(key).or_insert(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Args {
        /// How many.
        #[serde(default)]
        count: Option<u32>,
        /// Which.
        kind: Option<Kind>,
        /// Its name is a word of schemas.
        title: String,
        inner: Vec<Inner>,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    #[serde(rename_all = "lowercase")]
    enum Kind {
        File,
        Any,
    }

    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        format: bool,
    }

    #[test]
    fn a_schema_is_plain() {
        let schema = parameters::<Args>();
        assert_eq!(
            schema,
            serde_json::json!({
                "type": "object",
                "properties": {
                    "count": {"description": "How many.", "type": "integer", "minimum": 0},
                    "kind": {
                        "description": "Which.", "type": "string", "enum": ["file", "any"],
                    },
                    "title": {
                        "description": "Its name is a word of schemas.", "type": "string",
                    },
                    "inner": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "properties": {"format": {"type": "boolean"}},
                            "required": ["format"],
                        },
                    },
                },
                "required": ["title", "inner"],
            })
        );
    }
}
