//! What scripts have beyond the language: decisions, counters, logs, a cache, the web, the other
//! hooks, tools, what commands run and calls do, secrets, and helpers for text. Nothing of it reads a file, a
//! clock or a random number.

mod decisions;
mod log;
mod metrics;
mod notes;
mod outside;
mod secrets;
mod shell;
mod text;

use starlark::environment::{Globals, GlobalsBuilder};
use starlark::eval::Evaluator;

pub(crate) use decisions::DecisionValue;
pub(crate) use notes::Notes;
pub(crate) use secrets::{find as find_secrets, mask_text};
pub(crate) use shell::{Asked, commands, told_view};
pub(crate) use text::LARGEST_SUBSTITUTED;

use crate::sandbox::Running;

/// All names that a script has.
pub(crate) fn globals() -> Globals {
    GlobalsBuilder::standard()
        .with(decisions::register)
        .with(log::register)
        .with_namespace("metrics", metrics::metrics)
        .with_namespace("cache", metrics::cache)
        .with_namespace("http", outside::http)
        .with_namespace("hooks", outside::hooks)
        .with_namespace("tools", outside::tools)
        .with_namespace("json", text::json)
        .with_namespace("re", text::re)
        .with_namespace("glob", text::glob)
        .with_namespace("path", text::path)
        .with_namespace("secrets", secrets::register)
        .with_namespace("shell", shell::shell)
        .with_namespace("effects", shell::effects)
        .build()
}

/// The run that a built-in is called in.
fn running<'a>(eval: &Evaluator<'_, 'a, '_>) -> anyhow::Result<&'a Running<'a>> {
    let extra = eval.extra.and_then(|extra| extra.downcast_ref::<Running<'_>>());
    extra.ok_or_else(|| anyhow::anyhow!("this cannot be called here"))
}
