//! Files as they are, and how they are replaced: as a whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::InstallError;

/// The largest configuration that is read.
const LARGEST: u64 = 4 * 1024 * 1024;

/// How many links may lead to a file.
const MOST_LINKS: usize = 16;

/// How many backups of one file there may be.
const MOST_BACKUPS: usize = 100;

/// Follows links to where the file is, or would be.
pub(crate) fn follow(path: &Path) -> Result<PathBuf, InstallError> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        match fs::symlink_metadata(&path) {
            Ok(it) if it.is_symlink() => {
                let target = fs::read_link(&path).map_err(InstallError::io(&path, "looked at"))?;
                path = path.parent().unwrap_or(Path::new("/")).join(target);
            }
            Ok(_) => return Ok(path),
            Err(error) if is_missing(&error) => return Ok(path),
            Err(error) => return Err(InstallError::io(&path, "looked at")(error)),
        }
    }
    Err(InstallError::refused(&path, "too many links lead to it"))
}

fn is_missing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// What is in a file; none where there is none.
pub(crate) fn read(path: &Path) -> Result<Option<Vec<u8>>, InstallError> {
    let path = follow(path)?;
    // What is no file could block when it is opened.
    match fs::symlink_metadata(&path) {
        Ok(it) if !it.is_file() => return Err(InstallError::refused(&path, "it is not a file")),
        Ok(_) => {}
        Err(error) if is_missing(&error) => return Ok(None),
        Err(error) => return Err(InstallError::io(&path, "looked at")(error)),
    }
    let mut content = Vec::new();
    let file = File::open(&path).map_err(InstallError::io(&path, "opened"))?;
    file.take(LARGEST + 1).read_to_end(&mut content).map_err(InstallError::io(&path, "read"))?;
    if content.len() as u64 > LARGEST {
        let problem = format!("it is larger than {} MiB", LARGEST >> 20);
        return Err(InstallError::refused(&path, problem));
    }
    Ok(Some(content))
}

/// The same, as text.
pub(crate) fn read_text(path: &Path) -> Result<Option<String>, InstallError> {
    let Some(content) = read(path)? else { return Ok(None) };
    String::from_utf8(content).map(Some).map_err(|error| {
        let good = String::from_utf8_lossy(error.as_bytes()).into_owned();
        let at = error.utf8_error().valid_up_to();
        InstallError::content(path, &good, at, "this is not UTF-8", "save the file as UTF-8 first")
    })
}

/// How many folders are missing for a file.
pub(crate) fn missing_folders(path: &Path) -> usize {
    path.ancestors().skip(1).take_while(|folder| !folder.exists()).count()
}

/// The folders above a file, the nearest first.
pub(crate) fn folders_above(path: &Path, count: usize) -> Vec<PathBuf> {
    path.ancestors().skip(1).take(count).map(Path::to_path_buf).collect()
}

/// Copies of a file that were made before, the oldest first.
fn backups(path: &Path) -> impl Iterator<Item = PathBuf> {
    (0..MOST_BACKUPS).map(move |number| {
        let mut name = path.file_name().unwrap_or_default().to_os_string();
        name.push(".tollgate-backup");
        if number > 0 {
            name.push(format!(".{number}"));
        }
        path.with_file_name(name)
    })
}

/// A backup with this content.
pub(crate) fn backup_of(path: &Path, content: &[u8]) -> Option<PathBuf> {
    let there = backups(path).take_while(|backup| fs::symlink_metadata(backup).is_ok());
    there.into_iter().find(|backup| read(backup).is_ok_and(|it| it.is_some_and(|it| it == content)))
}

/// Puts a copy beside a file, under a name that nothing has.
pub(crate) fn back_up(path: &Path, content: &[u8]) -> Result<PathBuf, InstallError> {
    let mode = fs::metadata(path).map_or(0o600, |it| it.permissions().mode() & 0o7777);
    for backup in backups(path) {
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&backup) {
            Ok(mut file) => {
                let written = file
                    .write_all(content)
                    .and_then(|()| file.set_permissions(fs::Permissions::from_mode(mode)))
                    .and_then(|()| file.sync_all());
                if let Err(error) = written {
                    let _ = fs::remove_file(&backup);
                    return Err(InstallError::io(&backup, "written")(error));
                }
                return Ok(backup);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(InstallError::io(&backup, "written")(error)),
        }
    }
    let problem = format!("there are {MOST_BACKUPS} backups of it already; remove some of them");
    Err(InstallError::refused(path, problem))
}

/// Replaces what is at a path, which has been followed, by this.
pub(crate) fn write(path: &Path, content: &[u8], executable: bool) -> Result<(), InstallError> {
    let there = fs::metadata(path).ok();
    // To replace a file needs no permission of the file, but whoever took all of them meant it.
    if there.as_ref().is_some_and(|it| it.permissions().mode() & 0o222 == 0) {
        return Err(InstallError::refused(path, "it is read-only; make it writable first"));
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder).map_err(InstallError::io(folder, "made"))?;
    // Nobody reads what will be private before it is.
    let mode = match (&there, executable) {
        (Some(_), _) => 0o600,
        (None, true) => 0o777,
        (None, false) => 0o666,
    };
    let (temporary, file) =
        temporary(folder, mode).map_err(InstallError::io(folder, "written into"))?;
    let written = fill(&file, content, there.as_ref()).and_then(|()| fs::rename(&temporary, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(InstallError::io(path, "written")(error));
    }
    // The file has its name by now, and an error would not take it back.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// A new file.
fn temporary(folder: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = folder.join(format!(".tollgate-{}-{number}.tmp", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(mode).open(&path) {
            Ok(file) => return Ok((path, file)),
            // Left by a process that was killed and had our number.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Writes the content, with mode and owner of the file that was there.
fn fill(mut file: &File, content: &[u8], there: Option<&Metadata>) -> io::Result<()> {
    file.write_all(content)?;
    if let Some(there) = there {
        let now = file.metadata()?;
        if (now.uid(), now.gid()) != (there.uid(), there.gid()) {
            // Only the superuser may; for others the file becomes theirs, as with most editors.
            let _ = std::os::unix::fs::fchown(file, Some(there.uid()), Some(there.gid()));
        }
        let mode = there.permissions().mode() & 0o7777;
        file.set_permissions(fs::Permissions::from_mode(mode))?;
    }
    file.sync_all()
}
