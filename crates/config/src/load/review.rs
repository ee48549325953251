//! Loads the approved copy of a trusted project that has changed since.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tollgate_core::dialect::Layer;

use super::find::{Tests, parse};
use super::trusted::{from_here, surveyed};
use super::{Found, cwd};
use crate::diagnostic::{Code, Diagnostic};
use crate::dialect::FileDialect;
use crate::layers::{Format, Place, Places};
use crate::source::SourceFile;
use crate::trust::{
    AsRead, Change, ChangeKind, Content, Copies, Pin, PinKind, Project, Seal, Survey, SurveyError,
    needs_its_place, uses, with_words,
};

/// The help for a change.
pub(super) const HELP: &str = "look at what has changed, then trust it again: `tollgate trust`";

/// A project whose change waits for review.
pub(super) struct Review {
    /// What is different from what was approved.
    pub(super) changes: Vec<Change>,
    /// What was approved.
    pins: Vec<Pin>,
    copies: Copies,
    /// What the approved hook files would run, as it is now.
    survey: Survey,
    /// Why no command of the project can run, if none can.
    closed: Option<String>,
}

/// A command as it was approved.
pub(super) struct AsApproved {
    /// What to run.
    pub(super) command: String,
    /// What has to stay as it is.
    pub(super) seal: Option<Arc<Seal>>,
}

impl Review {
    /// Puts the approved hook files in the place of those that are there.
    pub(super) fn begin(
        places: &Places,
        found: &mut Vec<Found>,
        project: &Project,
        copies: Copies,
        changes: Vec<Change>,
    ) -> Result<Self, SurveyError> {
        let root = places.project.clone().unwrap_or_default();
        found.retain(|found| found.place.layer != Layer::Project);
        let approved = approved(places, &root, &project.pins, &copies);
        let contents: Vec<(PathBuf, Content)> = approved
            .iter()
            .filter_map(|(found, pin)| {
                Some((found.place.path.clone(), Content::of_copy(&copies.file(pin)?)?))
            })
            .collect();
        let files = approved.iter().filter_map(|(found, _)| {
            let (real, content) = contents.iter().find(|(path, _)| *path == found.place.path)?;
            Some((surveyed(found, &root)?, Some(AsRead { real, content: *content })))
        });
        let survey = Survey::of(&root, files)?;
        found.extend(approved.into_iter().map(|(found, _)| found));
        found.sort_by_key(|found| found.place.layer);
        let mut review = Self { changes, pins: project.pins.clone(), copies, survey, closed: None };
        review.closed = review.unnamed(found, &root);
        Ok(review)
    }

    /// The approved copy of a file of the project that is no hook file, such as its settings.
    pub(super) fn copy_of(&self, path: &Path, root: &Path) -> Option<PathBuf> {
        let pin = self.pins.iter().find(|pin| root.join(&pin.path) == path)?;
        self.copies.file(pin)
    }

    /// The files that were approved.
    pub(super) fn pins(&self) -> &[Pin] {
        &self.pins
    }

    fn pinned(&self, name: &str) -> Option<&Pin> {
        self.pins.iter().find(|pin| pin.kind != PinKind::HookFile && pin.path == name)
    }

    fn now(&self, name: &str) -> Option<&Pin> {
        self.survey.pins().find(|pin| pin.kind != PinKind::HookFile && pin.path == name)
    }

    fn is_known(&self, name: &str) -> bool {
        self.pinned(name).is_some() || self.now(name).is_some()
    }

    /// Something has changed and no word of any command is known to name it: then any of them may.
    fn unnamed(&self, found: &[Found], root: &Path) -> Option<String> {
        let of_project = found.iter().filter(|found| found.place.layer == Layer::Project);
        let in_commands: BTreeSet<String> = of_project
            .flat_map(|found| {
                let Format::Commands(format) = found.place.format else { return Vec::new() };
                let cwd = cwd(format, &found.place.path, Some(root));
                let commands = found.hooks().iter().map(|hook| from_here(format, &hook.command));
                commands
                    .flat_map(|text| uses(&self.survey, &text, &cwd, &|name| self.is_known(name)))
                    .map(|used| used.name)
                    .collect()
            })
            .collect();
        let mut pins = self.pins.iter().chain(self.survey.pins());
        let name = pins.find_map(|pin| {
            let is_such = pin.kind != PinKind::HookFile
                && self.change_of(&pin.path).is_some()
                && !in_commands.contains(&pin.path);
            is_such.then_some(&pin.path)
        })?;
        Some(format!("`{name}` has changed since it was approved, and any command may run it"))
    }

    /// What has happened to a file that commands name.
    fn change_of(&self, name: &str) -> Option<ChangeKind> {
        match (self.pinned(name), self.now(name)) {
            (Some(before), Some(now)) if before.hash != now.hash => Some(ChangeKind::Changed),
            (Some(before), Some(now)) if before.target != now.target => Some(ChangeKind::Moved),
            (Some(_), None) => Some(ChangeKind::Deleted),
            (None, Some(_)) => Some(ChangeKind::New),
            _ => None,
        }
    }

    /// A command as it was approved, or why it cannot run so.
    pub(super) fn command(
        &self,
        format: &dyn FileDialect,
        command: &str,
        cwd: &Path,
    ) -> Result<AsApproved, String> {
        if let Some(why) = &self.closed {
            return Err(why.clone());
        }
        let as_run = from_here(format, command);
        let used = uses(&self.survey, &as_run, cwd, &|name| self.is_known(name));
        let mut as_it_is = BTreeSet::new();
        let mut copies: BTreeMap<PathBuf, Vec<(usize, usize)>> = BTreeMap::new();
        for used in used {
            let name = &used.name;
            let what = match self.change_of(name) {
                None => {
                    as_it_is.insert(used.name);
                    continue;
                }
                Some(ChangeKind::New) => {
                    return Err(format!(
                        "`{name}` is new, and was not there when this was approved"
                    ));
                }
                Some(ChangeKind::Deleted) => "was deleted since it was approved",
                Some(ChangeKind::Changed | ChangeKind::Moved) => {
                    "was changed since it was approved"
                }
            };
            let kept = self.pinned(name).and_then(|pin| Some((pin, self.copies.read(pin)?)));
            let Some((pin, content)) = kept else {
                return Err(format!("`{name}` {what}, and no copy of it is kept"));
            };
            if let Some(why) = needs_its_place(name, &content, used.runner.as_deref()) {
                return Err(format!("`{name}` {what}, and {why}, so its copy cannot run"));
            }
            let (Some(word), Some(copy)) = (used.word, self.copies.file(pin)) else {
                return Err(format!("`{name}` {what}, and the command names it inside of a word"));
            };
            copies.entry(copy).or_default().push(word);
        }
        let mut seal = Seal::of_some(&self.survey, |pin| {
            pin.kind != PinKind::HookFile && as_it_is.contains(&pin.path)
        });
        let mut words = Vec::new();
        for (copy, places) in copies {
            let unreadable = |error| format!("`{}` cannot be read: {error}", copy.display());
            seal = seal.and_file(&copy).map_err(unreadable)?;
            let Some(text) = copy.to_str() else {
                return Err(format!("`{}` is not UTF-8", copy.display()));
            };
            // Programs may read their words as command lines once more.
            let is_safe = |c: char| c.is_ascii_alphanumeric() || "/._-+@:,%".contains(c);
            if !text.chars().all(is_safe) {
                return Err(format!("the path of its copy, `{text}`, needs quotes"));
            }
            words.extend(places.into_iter().map(|place| (place, text.to_owned())));
        }
        let command = if words.is_empty() {
            command.to_owned()
        } else {
            with_words(command, &as_run, &words)
                .ok_or("it cannot be told where its command names what has changed")?
        };
        let is_needed = seal.files().next().is_some();
        let seal = is_needed.then(|| Arc::new(seal));
        Ok(AsApproved { command, seal })
    }

    /// What is said of a change.
    pub(super) fn said(change: &Change, root: &Path) -> Diagnostic {
        let what = match (change.kind, change.what) {
            (PinKind::HookFile, ChangeKind::New) => "; it does not count until it is trusted",
            (_, ChangeKind::New) => "; what names it does not run until it is trusted",
            _ => "; it runs as it was approved until that is reviewed",
        };
        let path = root.join(&change.path);
        Diagnostic::of_file(path, Code::RunsAsApproved, format!("{change}{what}")).help(HELP)
    }
}

/// The hook files that were approved, in the order in which they are found.
fn approved(places: &Places, root: &Path, pins: &[Pin], copies: &Copies) -> Vec<(Found, Pin)> {
    let order: Vec<PathBuf> = places.files().into_iter().map(|place| place.path).collect();
    let hook_files = pins.iter().filter(|pin| pin.kind == PinKind::HookFile);
    let mut approved: Vec<(Found, Pin)> = hook_files
        .filter_map(|pin| {
            let place = places.place_of(&root.join(&pin.path))?;
            Some((from_copy(place, copies.read(pin)), pin.clone()))
        })
        .collect();
    approved.sort_by_key(|(found, _)| {
        let place = order.iter().position(|path| *path == found.place.path).unwrap_or_default();
        let rank = match found.place.format {
            Format::Commands(_) => 0,
            Format::Markdown => 1,
            Format::Policy => 2,
        };
        (rank, place, found.place.path.clone())
    });
    approved
}

/// A hook file as it was approved. Without its copy it is a file that does not load.
fn from_copy(place: Place, content: Option<Vec<u8>>) -> Found {
    let text = content.and_then(|bytes| String::from_utf8(bytes).ok());
    let is_kept = text.is_some();
    let source = Arc::new(SourceFile::new(&place.path, text.unwrap_or_default()));
    let (file, diagnostics) = if is_kept {
        parse(&place, &source, Tests::PassedOver)
    } else {
        let message =
            "what was approved of this project has changed, and no copy of this file is kept";
        let said = Diagnostic::of_file(&place.path, Code::ChangedSinceTrusted, message).help(HELP);
        (None, vec![said])
    };
    Found { place, source, file, diagnostics, is_folder: false, seen: None }
}
