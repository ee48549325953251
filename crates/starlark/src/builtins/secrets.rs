//! `secrets`: keys, tokens and passwords in values.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names
)]

use std::borrow::Cow;
use std::sync::LazyLock;

use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;
use starlark::values::list::AllocList;
use tollgate_core::mask::Masker;

use crate::convert::{to_json, to_starlark};

/// As records are masked.
static MASKER: LazyLock<Masker> = LazyLock::new(Masker::default);

/// A text with a mask in the place of each secret.
pub(crate) fn mask_text(text: &str) -> Cow<'_, str> {
    MASKER.text(text)
}

/// The kinds of secrets in a value, by their names.
pub(crate) fn find(value: &Json) -> Vec<&'static str> {
    MASKER.find(value)
}

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// A copy of a value with a mask in the place of each secret.
    fn mask<'v>(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        if let Some(text) = value.unpack_str() {
            return Ok(match mask_text(text) {
                Cow::Borrowed(_) => value,
                Cow::Owned(masked) => eval.heap().alloc(masked),
            });
        }
        let mut json = to_json(value).map_err(|why| anyhow::anyhow!("secrets.mask: {why}"))?;
        MASKER.value(&mut json);
        Ok(to_starlark(&json, eval.heap()))
    }

    /// The kinds of secrets in a value, by their names.
    fn find<'v>(value: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let json = to_json(value).map_err(|why| anyhow::anyhow!("secrets.find: {why}"))?;
        Ok(eval.heap().alloc(AllocList(MASKER.find(&json))))
    }
}
