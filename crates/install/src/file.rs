//! Files as they are, and how they are replaced: as a whole or not at all.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{CWD, RenameFlags, renameat_with};

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

/// Replaces what is at a path, which has been followed, by this. Whatever another program writes there meanwhile is not
/// lost: if the file is not as it was `before`, it stays.
pub(crate) fn write(
    path: &Path,
    content: &[u8],
    executable: bool,
    before: Option<&[u8]>,
) -> Result<(), InstallError> {
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
    let written = fill(&file, content, there.as_ref())
        .map_err(InstallError::io(path, "written"))
        .and_then(|()| replace(&temporary, path, before));
    // After an exchange, this is what was there.
    let _ = fs::remove_file(&temporary);
    written?;
    // The file has its name by now, and an error would not take it back.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Removes a file, unless it is not as it was `before`.
pub(crate) fn remove(path: &Path, before: Option<&[u8]>) -> Result<(), InstallError> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    let aside = temporary(folder, 0o600).map_err(InstallError::io(folder, "written into"))?.0;
    if let Err(error) = fs::rename(path, &aside) {
        let _ = fs::remove_file(&aside);
        return Err(InstallError::io(path, "removed")(error));
    }
    if read(&aside).ok().flatten().as_deref() != before
        && rename(&aside, path, RenameFlags::NOREPLACE).is_ok()
    {
        return Err(InstallError::Changed(path.to_path_buf()));
    }
    fs::remove_file(&aside).map_err(InstallError::io(path, "removed"))
}

fn rename(from: &Path, to: &Path, flags: RenameFlags) -> io::Result<()> {
    Ok(renameat_with(CWD, from, CWD, to, flags)?)
}

/// Puts a file in the place of another in one step, and looks at what it has replaced. If that is not what was there
/// `before`, it is put back.
fn replace(temporary: &Path, path: &Path, before: Option<&[u8]>) -> Result<(), InstallError> {
    let changed = || InstallError::Changed(path.to_path_buf());
    let failed = InstallError::io(path, "written");
    let flags = if before.is_some() { RenameFlags::EXCHANGE } else { RenameFlags::NOREPLACE };
    match rename(temporary, path, flags) {
        Ok(()) if before.is_none() => Ok(()),
        Ok(()) if read(temporary).ok().flatten().as_deref() == before => Ok(()),
        Ok(()) => {
            rename(temporary, path, RenameFlags::EXCHANGE).map_err(failed)?;
            Err(changed())
        }
        Err(error)
            if matches!(error.kind(), io::ErrorKind::AlreadyExists | io::ErrorKind::NotFound) =>
        {
            Err(changed())
        }
        // Not each file system can do this in one step.
        Err(error) if matches!(error.raw_os_error(), Some(EINVAL | ENOSYS)) => {
            if read(path)?.as_deref() != before {
                return Err(changed());
            }
            fs::rename(temporary, path).map_err(failed)
        }
        Err(error) => Err(failed(error)),
    }
}

const EINVAL: i32 = rustix::io::Errno::INVAL.raw_os_error();
const ENOSYS: i32 = rustix::io::Errno::NOSYS.raw_os_error();

/// Time for which an unfinished file is kept, and maximum number of entries of a folder that are searched for one.
const UNFINISHED: Duration = Duration::from_hours(1);
const MOST_LOOKED_AT: usize = 4_000;

/// Removes files that were left by a process that was killed before it could give them their name.
fn remove_unfinished(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().take(MOST_LOOKED_AT);
    for entry in entries {
        let name = entry.file_name();
        let middle = name.to_str().and_then(|name| {
            name.strip_prefix(".tollgate-")?.strip_suffix(".tmp")?.split_once('-')
        });
        let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        let is_ours = middle.is_some_and(|(pid, number)| is_number(pid) && is_number(number));
        let modified = entry.metadata().and_then(|metadata| metadata.modified()).ok();
        let age = modified.and_then(|modified| modified.elapsed().ok());
        if is_ours && age.is_some_and(|age| age > UNFINISHED) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// A new file.
fn temporary(folder: &Path, mode: u32) -> io::Result<(PathBuf, File)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    remove_unfinished(folder);
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

#[cfg(test)]
// A test fails by panicking.
#[allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]
mod tests {
    use std::time::SystemTime;

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<_> =
            entries.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// What another program wrote after the plan was made is not lost, and nothing is left beside it.
    #[test]
    fn what_others_write_meanwhile_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        for (there, before) in
            [(Some("theirs"), None), (Some("theirs"), Some("old")), (None, Some("old"))]
        {
            let _ = fs::remove_file(&path);
            if let Some(there) = there {
                fs::write(&path, there).unwrap();
            }
            let written = write(&path, b"ours", false, before.map(str::as_bytes));
            assert!(
                matches!(written, Err(InstallError::Changed(_))),
                "{there:?} {before:?}: {written:?}"
            );
            assert_eq!(fs::read_to_string(&path).ok().as_deref(), there, "{before:?}");
            assert_eq!(names(folder.path()).len(), usize::from(there.is_some()));
        }
        fs::write(&path, "theirs").unwrap();
        assert!(matches!(remove(&path, Some(b"old")), Err(InstallError::Changed(_))));
        write(&path, b"ours", false, Some(b"theirs")).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        remove(&path, Some(b"ours")).unwrap();
        assert!(names(folder.path()).is_empty());
        write(&path, b"ours", false, None).unwrap();
        assert_eq!(names(folder.path()), ["settings.json"]);
    }

    #[test]
    fn what_a_killed_process_left_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let old = SystemTime::now() - Duration::from_hours(2);
        for (name, is_old) in [
            (".tollgate-1-0.tmp", true),
            (".tollgate-2-7.tmp", false),
            (".tollgate-x-7.tmp", true),
            ("notes.tmp", true),
        ] {
            let file = File::create(folder.path().join(name)).unwrap();
            if is_old {
                file.set_modified(old).unwrap();
            }
        }
        write(&folder.path().join("a"), b"x", false, None).unwrap();
        assert_eq!(
            names(folder.path()),
            [".tollgate-2-7.tmp", ".tollgate-x-7.tmp", "a", "notes.tmp"]
        );
    }
}
