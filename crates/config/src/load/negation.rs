//! Hooks that a project switches off.

use std::sync::Arc;

use tollgate_core::Dialect;
use tollgate_core::dialect::Layer;

use super::Found;
use super::trusted::Trust;
use crate::diagnostic::{Code, Report};

/// Rejects files that switch off what is not there, or what cannot be switched off.
pub(super) fn check_negations(found: &mut [Found], trust: &Trust) {
    let mut files = found.iter().filter_map(Found::commands);
    if files.all(|file| file.negations.is_empty()) {
        return;
    }
    let names: Vec<(Dialect, Layer, String)> = found
        .iter()
        .filter(|found| found.place.layer < Layer::Project)
        .flat_map(|found| {
            let place = &found.place;
            let hooks = found.hooks().iter();
            hooks.map(|hook| (place.format.dialect(), place.layer, hook.name.clone()))
        })
        .collect();
    let broken: Vec<Dialect> = found
        .iter()
        .filter(|found| found.place.layer < Layer::Project && found.file.is_none())
        .map(|found| found.place.format.dialect())
        .collect();
    for found in found.iter_mut().filter(|found| trust.admits(found.place.layer)) {
        let Some(file) = found.commands() else { continue };
        if file.negations.is_empty() {
            continue;
        }
        let dialect = found.place.format.dialect();
        let mut report = Report::new(Arc::clone(&found.source));
        for negation in &file.negations {
            let is = |layer| {
                names.iter().any(|(of, whose, name)| {
                    *of == dialect && *whose == layer && *name == negation.name
                })
            };
            if is(Layer::User) {
                continue;
            }
            let name = &negation.name;
            if broken.contains(&dialect) {
                // What it names may well be in the file that does not load.
                continue;
            }
            if is(Layer::System) {
                report
                    .add(
                        Code::NegationNotPossible,
                        negation.span,
                        format!(
                            "`{name}` is a hook of this machine, which a project cannot switch off"
                        ),
                    )
                    .help("remove the line, or ask whoever administers the machine");
            } else {
                report
                    .add(
                        Code::UnknownNegation,
                        negation.span,
                        format!("there is no global hook `{name}`"),
                    )
                    .help("remove the line, or correct the name");
            }
        }
        if report.has_errors() {
            found.file = None;
        }
        found.diagnostics.extend(report.into_diagnostics());
    }
}

/// The hooks that files in force switch off.
pub(super) fn negated(found: &[Found], trust: &Trust) -> Vec<(Dialect, String)> {
    found
        .iter()
        .filter(|found| trust.admits(found.place.layer))
        .flat_map(|found| {
            let dialect = found.place.format.dialect();
            let negations = found.commands().into_iter().flat_map(|file| &file.negations);
            negations.map(move |negation| (dialect, negation.name.clone()))
        })
        .collect()
}
