//! Gates that are closed because a file cannot be relied on.

use std::sync::Arc;

use tollgate_core::dialect::{Layer, Mode, OnFailure, Rule};
use tollgate_core::{Dialect, Kind, Registration};

use crate::command::Closed;
use crate::layers::Format;

/// A hook that cannot decide, at all the gates that a file of this format can close.
pub(super) fn closed(format: Format, layer: Layer, name: &str, why: &str) -> Registration {
    match format {
        // Rules are about nothing but calls of tools.
        Format::Policy => closed_at(Dialect::Native, layer, name, why, &[Kind::ToolPre]),
        // Systems share a column of the table, and have not all of its events.
        Format::Commands(codec) => {
            let kinds = Kind::ALL.iter().copied().filter(|kind| codec.name_of(*kind).is_some());
            closed_at(codec.dialect(), layer, name, why, &kinds.collect::<Vec<_>>())
        }
        Format::Markdown => closed_at(format.dialect(), layer, name, why, Kind::ALL),
    }
}

fn closed_at(
    dialect: Dialect,
    layer: Layer,
    name: &str,
    why: &str,
    kinds: &[Kind],
) -> Registration {
    let handler = Arc::new(Closed { why: why.to_owned() });
    let mut registration = Registration::named(name).dialect(dialect).layer(layer).repeatable();
    for kind in kinds {
        if let Some(Rule { mode, on_failure: OnFailure::Close }) = kind.rule(dialect)
            && mode > Mode::Inspect
        {
            registration = registration.and_on_kind(*kind, Arc::clone(&handler));
        }
    }
    registration
}

/// Closes the gates of all dialects.
pub(crate) fn closed_for_all(why: &str) -> Vec<Registration> {
    let commands = crate::dialect::ALL.iter().map(|dialect| Format::Commands(*dialect));
    commands
        .chain([Format::Markdown])
        .map(|format| closed(format, Layer::System, "hook files", why))
        .collect()
}
