//! Making schemas say what is read.

use schemars::Schema;
use schemars::transform::{Transform, transform_subschemas};
use serde_json::Value;

/// A field that may be left out must not be `null` all the same.
pub(super) fn without_null(mut schema: Schema) -> Schema {
    NoNull.transform(&mut schema);
    schema
}

struct NoNull;

impl Transform for NoNull {
    fn transform(&mut self, schema: &mut Schema) {
        if let Some(Value::Array(types)) = schema.get_mut("type") {
            types.retain(|name| name != "null");
            if let [one] = types.as_slice() {
                let one = one.clone();
                schema.insert("type".to_owned(), one);
            }
        }
        if let Some(Value::Array(forms)) = schema.get_mut("anyOf") {
            forms.retain(|form| form.get("type").is_none_or(|name| name != "null"));
            if let [Value::Object(only)] = forms.as_slice() {
                let only = only.clone();
                schema.remove("anyOf");
                for (name, value) in only {
                    schema.insert(name, value);
                }
            }
        }
        transform_subschemas(self, schema);
    }
}
