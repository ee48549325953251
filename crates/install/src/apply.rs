//! Does what was planned.

use std::fs;
use std::path::{Path, PathBuf};

use crate::{Edit, InstallError, Plan, file};

/// What was done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The file, links followed.
    pub path: PathBuf,
    /// Where what was in it before is kept. None where nothing was in it but what is Tollgate's, or where
    /// an older backup has it.
    pub backup: Option<PathBuf>,
    /// A backup that was removed, since the file is again what is in it.
    pub removed_backup: Option<PathBuf>,
}

/// Plans to put a file back to what was in it before an installation; none if it was not there. The backup of that
/// content goes as well.
pub fn revert(path: &Path, before: Option<Vec<u8>>) -> Result<Plan, InstallError> {
    let now = file::read(path)?;
    if now == before {
        return Ok(Plan::default());
    }
    let edit = Edit {
        path: path.to_path_buf(),
        before: now,
        without: before.clone(),
        after: before,
        changes: vec!["puts back what was there before".to_owned()],
        executable: false,
        reverts: true,
        folders: Vec::new(),
    };
    Ok(Plan { edits: vec![edit], uncovered: Vec::new() })
}

impl Plan {
    /// Does it. A file is replaced as a whole, keeps its mode, and what was in it is kept beside it. If one
    /// of several files cannot be written, those before it are put back.
    pub fn apply(&self) -> Result<Vec<Applied>, InstallError> {
        let mut done: Vec<(&Edit, Applied)> = Vec::new();
        for edit in &self.edits {
            match edit.apply() {
                Ok(applied) => done.push((edit, applied)),
                Err(error) => {
                    for (edit, applied) in done.iter().rev() {
                        edit.undo(applied);
                    }
                    return Err(error);
                }
            }
        }
        let applied: Vec<_> = done.into_iter().map(|(edit, applied)| edit.clean(applied)).collect();
        for folder in self.edits.iter().flat_map(|edit| &edit.folders) {
            // Only what is empty is removed.
            let _ = fs::remove_dir(folder);
        }
        Ok(applied)
    }
}

impl Edit {
    fn apply(&self) -> Result<Applied, InstallError> {
        let path = file::follow(&self.path)?;
        if file::read(&path)? != self.before {
            return Err(InstallError::Changed(path));
        }
        let backup = self.back_up(&path)?;
        let written = match &self.after {
            Some(after) => file::write(&path, after, self.executable, self.before.as_deref()),
            None => file::remove(&path, self.before.as_deref()),
        };
        if let Err(error) = written {
            if let Some(backup) = backup {
                let _ = fs::remove_file(backup);
            }
            return Err(error);
        }
        Ok(Applied { path, backup, removed_backup: None })
    }

    /// Keeps what was in the file, unless it is Tollgate's alone, or kept already.
    fn back_up(&self, path: &Path) -> Result<Option<PathBuf>, InstallError> {
        let Some(before) = self.before.as_ref().filter(|_| !self.reverts) else { return Ok(None) };
        let Some(without) = &self.without else { return Ok(None) };
        let is_kept = [before, without].iter().any(|it| file::backup_of(path, it).is_some());
        if is_kept { Ok(None) } else { file::back_up(path, before).map(Some) }
    }

    /// Puts the file back as it was. What went wrong before is what has to be told.
    fn undo(&self, applied: &Applied) {
        let undone = match &self.before {
            Some(before) => {
                file::write(&applied.path, before, self.executable, self.after.as_deref()).is_ok()
            }
            None => file::remove(&applied.path, self.after.as_deref()).is_ok(),
        };
        if let (true, Some(backup)) = (undone, &applied.backup) {
            let _ = fs::remove_file(backup);
        }
    }

    /// Removes the backup that the file is a copy of again.
    fn clean(&self, mut applied: Applied) -> Applied {
        if let (Some(after), true) = (&self.after, self.after == self.without)
            && let Some(backup) = file::backup_of(&applied.path, after)
            && fs::remove_file(&backup).is_ok()
        {
            applied.removed_backup = Some(backup);
        }
        applied
    }
}
