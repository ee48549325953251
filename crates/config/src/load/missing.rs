//! What was trusted of a project and is not there, or does not count.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hashbrown::HashSet;
use tollgate_core::dialect::Layer;

use super::closed::closed_for_all;
use super::review::{HELP, Review};
use super::trusted::Trust;
use super::{FileState, LoadedFile, Loader};
use crate::diagnostic::{Code, Diagnostic};
use crate::settings::WhenUntrusted;
use crate::source::SourceFile;
use crate::trust::{Change, ChangeKind};

impl Loader<'_> {
    /// Files of the project that were trusted and are gone: what they guarded is guarded no more.
    pub(super) fn missing(&mut self, trust: &Trust) {
        if let Trust::Unknown(diagnostic) = trust {
            self.loaded.registrations.extend(closed_for_all(&diagnostic.line()));
            self.loaded.diagnostics.push((**diagnostic).clone());
            self.loaded.is_sound = false;
        }
        self.settings_not_trusted(trust);
        self.untrusted(trust);
        let Trust::Changed(changes) = trust else { return };
        let Some(root) = &self.setup.places.project else { return };
        let there: HashSet<PathBuf> =
            self.loaded.files.iter().map(|file| file.path.clone()).collect();
        for change in changes {
            let path = root.join(&change.path);
            let place = self.setup.places.place_of(&path);
            let place = place.filter(|it| it.layer == Layer::Project && !there.contains(&path));
            let Some(place) = place else {
                self.changed(path, change);
                continue;
            };
            let source = Arc::new(SourceFile::new(&path, ""));
            self.refuse(&source, &place, change.code(), &change.to_string());
            self.loaded.files.push(LoadedFile {
                path,
                dialect: place.format.dialect(),
                layer: place.layer,
                state: FileState::Changed,
                hooks: 0,
            });
        }
    }

    /// A project that nobody has trusted, where that closes its gates.
    fn untrusted(&mut self, trust: &Trust) {
        let closes = self.setup.settings.settings.trust.untrusted == WhenUntrusted::Closed;
        let settings = self.setup.places.settings().project;
        let has_files = self.loaded.files.iter().any(|file| file.layer == Layer::Project)
            || settings.is_some_and(|file| file.symlink_metadata().is_ok());
        let Some(root) = self.setup.places.project.as_ref().filter(|_| closes && has_files) else {
            return;
        };
        if matches!(trust, Trust::Untrusted) {
            let message = "nobody has trusted this project, and `trust.untrusted` is `\"closed\"`";
            let said = Diagnostic::of_file(root, Code::NotTrusted, message)
                .help("look at it, then trust it: `tollgate trust`");
            self.loaded.registrations.extend(closed_for_all(&said.line()));
            self.loaded.diagnostics.push(said);
        }
    }

    /// Says of a file that it is not what was trusted.
    fn changed(&mut self, path: PathBuf, change: &Change) {
        // That is said already, with what follows from it.
        if self.setup.places.settings().project.as_ref() == Some(&path) {
            return;
        }
        let said = Diagnostic::of_file(path, change.code(), change.to_string()).help(HELP);
        self.loaded.diagnostics.push(said);
    }

    /// Says what has changed of a project whose approved files run.
    pub(super) fn reviewed(&mut self, trust: &Trust) {
        let (Trust::Review(review), Some(root)) = (trust, &self.setup.places.project) else {
            return;
        };
        let settings = self.setup.places.settings().project;
        let is_said = |change: &&Change| {
            // Settings that are gone close the gates, and that is said with it.
            change.what == ChangeKind::Deleted && settings == Some(root.join(&change.path))
        };
        for change in review.changes.iter().filter(|change| !is_said(change)) {
            self.loaded.diagnostics.push(Review::said(change, root));
        }
    }

    /// The project's settings, where nobody has trusted them, or where they are all that was.
    fn settings_not_trusted(&mut self, trust: &Trust) {
        let Some(file) = self.setup.places.settings().project else { return };
        let root = file.parent().and_then(Path::parent).unwrap_or(Path::new("/"));
        let changes = match trust {
            Trust::Untrusted if file.symlink_metadata().is_ok() => {
                let message = "nobody has trusted the settings of this project: they do not count";
                let said = Diagnostic::of_file(file, Code::NotTrusted, message)
                    .help("look at them, then trust them: `tollgate trust`");
                self.loaded.diagnostics.push(said);
                return;
            }
            Trust::Changed(changes) => changes,
            // Its copy counts. Without the file, nobody has looked for one.
            Trust::Review(review)
                if file.symlink_metadata().is_ok() && review.copy_of(&file, root).is_some() =>
            {
                return;
            }
            Trust::Review(review) => &review.changes,
            _ => return,
        };
        let is_new =
            |change: &&Change| matches!(trust, Trust::Review(_)) && change.what == ChangeKind::New;
        let mut changes = changes.iter().filter(|change| !is_new(change));
        if let Some(change) = changes.find(|change| root.join(&change.path) == file) {
            let said = Diagnostic::of_file(&file, change.code(), change.to_string()).help(HELP);
            self.loaded.registrations.extend(closed_for_all(&said.line()));
            self.loaded.diagnostics.push(said);
            self.loaded.is_sound = false;
        }
    }
}
