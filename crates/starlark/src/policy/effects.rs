//! `writes_under` and its kin: conditions on what a call does. They are evaluated natively.

#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    clippy::panic
)]

use std::fmt;
use std::path::Path;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::starlark_simple_value;
use starlark::values::{NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, starlark_value};
use tollgate_core::policy::Rule;
use tollgate_shell::policy;

use super::builders::{is_plain, making};
use super::{Does, LARGEST_RULES};

/// A condition on what a call does, as the file holds it.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(super) struct DoesValue(#[allocative(skip)] pub(super) Does);

starlark_simple_value!(DoesValue);

#[starlark_value(type = "condition")]
impl<'v> StarlarkValue<'v> for DoesValue {}

impl fmt::Display for DoesValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Does::WritesUnder(path) => write!(f, "writes_under({path:?})"),
            Does::ReadsUnder(path) => write!(f, "reads_under({path:?})"),
            Does::DeletesUnder(path) => write!(f, "deletes_under({path:?})"),
            Does::ReachesNetwork => f.write_str("reaches_network()"),
        }
    }
}

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// Whether a call may write or delete at or below a path.
    fn writes_under<'v>(
        path: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        Ok(DoesValue(Does::WritesUnder(path_of("writes_under", path, eval)?)))
    }

    /// Whether a call may read at or below a path.
    fn reads_under<'v>(
        path: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        Ok(DoesValue(Does::ReadsUnder(path_of("reads_under", path, eval)?)))
    }

    /// Whether a call may delete at or below a path.
    fn deletes_under<'v>(
        path: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        Ok(DoesValue(Does::DeletesUnder(path_of("deletes_under", path, eval)?)))
    }

    /// Whether a call may reach another machine.
    fn reaches_network<'v>(eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<DoesValue> {
        outside_conditions("reaches_network", eval)?;
        Ok(DoesValue(Does::ReachesNetwork))
    }
}

/// Inside a condition it would be a value, and as such always true.
fn outside_conditions(function: &str, eval: &Evaluator<'_, '_, '_>) -> anyhow::Result<()> {
    match making(eval) {
        Some(_) => Ok(()),
        None => anyhow::bail!("`{function}` is a condition by itself: `when = {function}(…)`"),
    }
}

fn path_of(
    function: &str,
    path: Value<'_>,
    eval: &Evaluator<'_, '_, '_>,
) -> anyhow::Result<String> {
    outside_conditions(function, eval)?;
    let Some(text) = path.unpack_str() else {
        anyhow::bail!("{function} takes a path, a text; this is of type `{}`", path.get_type());
    };
    if text.len() > LARGEST_RULES {
        anyhow::bail!("{function}: no path is this long");
    }
    let below_home = text == "~" || text.starts_with("~/");
    if !below_home && !is_plain(text) {
        anyhow::bail!(
            "{function}: `{text}` is no plain path: write it out in full, from the home on, which is \
             `~`, or from the project's folder on, which is `.`"
        );
    }
    Ok(text.to_owned())
}

impl Does {
    /// Has a rule apply where a call does this. Relative paths count from `base`.
    pub(super) fn of(&self, rule: Rule, base: &Path) -> Rule {
        let path = self.path();
        let path = if path.starts_with(['/', '~']) {
            path.to_owned()
        } else {
            base.join(path).to_string_lossy().into_owned()
        };
        match self {
            Self::WritesUnder(_) => rule.when(policy::writes_under(path)),
            Self::ReadsUnder(_) => rule.when(policy::reads_under(path)),
            Self::DeletesUnder(_) => rule.when(policy::deletes_under(path)),
            Self::ReachesNetwork => rule.when(policy::reaches_network()),
        }
    }
}
