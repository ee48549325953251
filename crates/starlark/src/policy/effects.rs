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
use tollgate_core::policy::{self, AskHandler, Rule};
use tollgate_core::target::Target;
use tollgate_shell::policy::Deed as Done;

use super::builders::{is_plain, making};
use super::{Deed, Does, LARGEST_RULES, OnUnknown};

/// A condition on what a call does, as the file holds it.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
pub(super) struct DoesValue(#[allocative(skip)] pub(super) Does);

starlark_simple_value!(DoesValue);

#[starlark_value(type = "condition")]
impl<'v> StarlarkValue<'v> for DoesValue {}

impl fmt::Display for DoesValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0.what {
            Deed::WritesUnder(path) => write!(f, "writes_under({path:?})"),
            Deed::ReadsUnder(path) => write!(f, "reads_under({path:?})"),
            Deed::DeletesUnder(path) => write!(f, "deletes_under({path:?})"),
            Deed::ReachesNetwork => f.write_str("reaches_network()"),
        }
    }
}

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// Holds where a call writes or deletes at or below a path.
    fn writes_under<'v>(
        path: Value<'v>,
        #[starlark(default = "ask")] unknown: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        let what = Deed::WritesUnder(path_of("writes_under", path, eval)?);
        does("writes_under", what, unknown)
    }

    /// Holds where a call reads at or below a path.
    fn reads_under<'v>(
        path: Value<'v>,
        #[starlark(default = "ask")] unknown: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        let what = Deed::ReadsUnder(path_of("reads_under", path, eval)?);
        does("reads_under", what, unknown)
    }

    /// Holds where a call deletes at or below a path.
    fn deletes_under<'v>(
        path: Value<'v>,
        #[starlark(default = "ask")] unknown: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        let what = Deed::DeletesUnder(path_of("deletes_under", path, eval)?);
        does("deletes_under", what, unknown)
    }

    /// Holds where a call reaches another machine.
    fn reaches_network<'v>(
        #[starlark(default = "ask")] unknown: &str,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<DoesValue> {
        outside_conditions("reaches_network", eval)?;
        does("reaches_network", Deed::ReachesNetwork, unknown)
    }
}

fn does(function: &str, what: Deed, unknown: &str) -> anyhow::Result<DoesValue> {
    let Some(unknown) = OnUnknown::parse(unknown) else {
        anyhow::bail!("{function}: `unknown` is \"ask\", \"deny\" or \"ignore\", not `{unknown}`");
    };
    Ok(DoesValue(Does { what, unknown }))
}

/// Inside a condition it would be a value, and as such always true.
fn outside_conditions(function: &str, eval: &Evaluator<'_, '_, '_>) -> anyhow::Result<()> {
    match making(eval) {
        Some(_) => Ok(()),
        None => anyhow::bail!("`{function}` is a condition by itself: `when = {function}(…)`"),
    }
}

/// True for a path that is written out: in full, from the home on, or from the project on.
fn is_path(text: &str) -> bool {
    text == "~" || text.starts_with("~/") || is_plain(text)
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
    if !is_path(text) {
        anyhow::bail!(
            "{function}: `{text}` is no plain path: write it out in full, from the home on, which is \
             `~`, or from the project's folder on, which is `.`"
        );
    }
    Ok(text.to_owned())
}

impl Does {
    /// Reads what the functions above make, where the text of a file tells it.
    pub(super) fn plain(function: &str, path: Option<&str>, unknown: &str) -> Option<Self> {
        let path = || path.filter(|path| is_path(path)).map(str::to_owned);
        let what = match function {
            "writes_under" => Deed::WritesUnder(path()?),
            "reads_under" => Deed::ReadsUnder(path()?),
            "deletes_under" => Deed::DeletesUnder(path()?),
            "reaches_network" => Deed::ReachesNetwork,
            _ => return None,
        };
        Some(Self { what, unknown: OnUnknown::parse(unknown)? })
    }

    /// The rule for calls that do this, and the one for calls of which it cannot be told. Relative
    /// paths count from `base`. A rule of the machine that denies does so where it cannot tell.
    pub(super) fn rules(&self, rule: Rule, tool: &str, base: &Path, is_machine: bool) -> Vec<Rule> {
        let path = self.what.path();
        let path = if path.starts_with(['/', '~']) {
            path.to_owned()
        } else {
            base.join(path).to_string_lossy().into_owned()
        };
        let done = match self.what {
            Deed::WritesUnder(_) => Done::WritesUnder(path),
            Deed::ReadsUnder(_) => Done::ReadsUnder(path),
            Deed::DeletesUnder(_) => Done::DeletesUnder(path),
            Deed::ReachesNetwork => Done::ReachesNetwork,
        };
        let denies = rule.effect() == policy::Effect::Deny;
        let unknown = match self.unknown {
            OnUnknown::Ask if is_machine && denies => OnUnknown::Deny,
            unknown => unknown,
        };
        let label = rule.label();
        let doubt = |effect| {
            Rule::new(Target::parse(tool), effect)
                .reason(done.doubt())
                .named(&label)
                .when(done.clone().is_unknown())
        };
        let doubt = match unknown {
            OnUnknown::Ask => Some(doubt(policy::Effect::Ask).handler(AskHandler::host())),
            OnUnknown::Deny => Some(doubt(policy::Effect::Deny)),
            OnUnknown::Ignore => None,
        };
        std::iter::once(rule.when(done.clone().is_done())).chain(doubt).collect()
    }
}
