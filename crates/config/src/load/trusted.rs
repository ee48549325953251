//! Whether a project's hooks may run.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_core::dialect::Layer;

use super::review::Review;
use super::{Found, Tests, cwd, find_all};
use crate::diagnostic::{Code, Diagnostic};
use crate::dialect::FileDialect;
use crate::layers::{Format, Places};
use crate::settings::WhenChanged;
use crate::trust::{
    AsRead, Change, Content, Glimpse, Seal, Store, StoreError, Survey, SurveyError, Surveyed,
    SurveyedCommand,
};

/// Whether the project's hooks may run.
pub(super) enum Trust {
    /// There is nothing to trust.
    NoProject,
    /// All files count as trusted.
    Given,
    Untrusted,
    /// As it is. What holds it to that is made when a hook needs it.
    Trusted(Box<Survey>, OnceCell<Arc<Seal>>),
    Changed(Vec<Change>),
    /// It was trusted and has changed: what was approved runs while that waits for review.
    Review(Box<Review>),
    /// It cannot be told.
    Unknown(Box<Diagnostic>),
}

impl Trust {
    /// Finds out, and puts approved hook files in the place of those that have changed.
    pub(super) fn of(places: &Places, found: &mut Vec<Found>, then: WhenChanged) -> Self {
        let Some(root) = &places.project else { return Self::NoProject };
        let Some(path) = &places.trust else { return Self::Untrusted };
        // What was trusted is not known, not even whether there was anything.
        let unknown = |error: StoreError| Self::Unknown(Box::new(error.diagnostic()));
        let store = match Store::read(path) {
            Ok(store) => store,
            Err(error) => return unknown(error),
        };
        let survey = Survey::of(root, all_surveyed(places, &*found, root));
        let survey = match survey {
            Ok(survey) => match store.glance(&survey) {
                Some(Glimpse::Trusted) => {
                    return Self::Trusted(Box::new(survey), OnceCell::new());
                }
                Some(Glimpse::Unknown) => return Self::Untrusted,
                None => Ok(survey),
            },
            broken => broken,
        };
        let store = match store.open() {
            Ok(store) => store,
            Err(error) => return unknown(error),
        };
        match survey {
            Ok(survey) => match (store.changes(&survey), store.project(survey.root())) {
                (Some(changes), _) if changes.is_empty() => {
                    Self::Trusted(Box::new(survey), OnceCell::new())
                }
                (Some(changes), Some(project)) if then == WhenChanged::Approved => {
                    let copies = store.copies();
                    match Review::begin(places, found, project, copies, changes.clone()) {
                        Ok(review) => Self::Review(Box::new(review)),
                        Err(_) => Self::Changed(changes),
                    }
                }
                (Some(changes), _) => Self::Changed(changes),
                (None, _) if store.has_lost(survey.root()) => lost(path),
                (None, _) => Self::Untrusted,
            },
            Err(error) => {
                let root = root.canonicalize().unwrap_or_else(|_| root.clone());
                if store.has_lost(&root) {
                    return lost(path);
                }
                if store.project(&root).is_none() {
                    return Self::Untrusted;
                }
                let code = Code::ChangedSinceTrusted;
                Self::Unknown(Box::new(Diagnostic::of_file(root, code, error.to_string())))
            }
        }
    }

    /// Whether a file of this layer takes part.
    pub(super) const fn admits(&self, layer: Layer) -> bool {
        !matches!(layer, Layer::Project)
            || matches!(self, Self::Trusted(..) | Self::Given | Self::Review(_))
    }
}

/// A project that was trusted, of which the store does not know.
fn lost(store: &Path) -> Trust {
    let message = "this project was trusted, and the trust store does not know of it any more";
    let said = Diagnostic::of_file(store, Code::BrokenTrustStore, message).help(
        "restore the trust store, or review the project again: `tollgate trust`; if it is not to be \
         trusted: `tollgate trust --revoke`",
    );
    Trust::Unknown(Box::new(said))
}

/// The settings of the project that count: its file if the project is trusted as it is, and the
/// approved copy while a change waits for review.
pub(super) fn settings_in_force(places: &Places, then: WhenChanged) -> Option<PathBuf> {
    let file = places.settings().project?;
    let (mut found, _) = find_all(places, Tests::PassedOver);
    match Trust::of(places, &mut found, then) {
        Trust::Trusted(..) => Some(file),
        Trust::Review(review) => review.copy_of(&file, places.project.as_deref()?),
        _ => None,
    }
}

/// What is to be trusted of a project: its hook files, and its settings.
fn all_surveyed<'f>(
    places: &Places,
    found: &'f [Found],
    root: &Path,
) -> impl Iterator<Item = (Surveyed, Option<AsRead<'f>>)> {
    let hooks = found.iter().filter_map(move |found| {
        // What was read is what is pinned: it is what runs.
        let read = found.seen.as_ref().map(|seen| AsRead {
            real: &seen.real,
            content: Content::as_read(found.source.text().as_bytes(), &seen.before, seen.at),
        });
        Some((surveyed(found, root)?, read))
    });
    let settings = places
        .settings()
        .project
        .into_iter()
        .map(|file| (Surveyed { file, commands: Vec::new(), declared: Vec::new() }, None));
    hooks.chain(settings)
}

/// A file of the project and what it runs.
pub(super) fn surveyed(found: &Found, root: &Path) -> Option<Surveyed> {
    // Of a directory that cannot be read nothing can be pinned. Once it can, its files are new.
    if found.place.layer != Layer::Project || found.is_folder {
        return None;
    }
    let commands = match found.place.format {
        Format::Commands(format) => {
            let cwd = cwd(format, &found.place.path, Some(root));
            let command =
                |text: &String| SurveyedCommand { text: from_here(format, text), cwd: cwd.clone() };
            found.hooks().iter().map(|hook| command(&hook.command)).collect()
        }
        Format::Markdown | Format::Policy => Vec::new(),
    };
    Some(Surveyed { file: found.place.path.clone(), commands, declared: Vec::new() })
}

/// A command as it is where it runs: what stands in it for that directory is known, so that the files
/// it names can be pinned. Not where it may have been set to something else.
pub(super) fn from_here(format: &dyn FileDialect, command: &str) -> String {
    let mut text = command.to_owned();
    for name in format.directory_variables() {
        if text.contains(&format!("{name}=")) {
            continue;
        }
        text = text.replace(&format!("${{{name}}}"), ".");
        let written = format!("${name}");
        let mut parts = text.split(&written);
        let mut known = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let goes_on = part.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
            known.push_str(if goes_on { &written } else { "." });
            known.push_str(part);
        }
        text = known;
    }
    text
}

/// What a person would be asked to trust in a project: its hook files and what they run.
pub fn survey(places: &Places) -> Result<Survey, SurveyError> {
    let root = places.project.clone().unwrap_or_default();
    let (found, _) = find_all(places, Tests::PassedOver);
    Survey::of(&root, all_surveyed(places, &found, &root))
}
