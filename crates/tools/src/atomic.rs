//! Writes a file as a whole or not at all.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Gid, Mode, OFlags, RenameFlags, Stat, Uid, fchmod, fchown, fstat, fsync, openat,
    renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::blocking::Cancel;
use crate::tool::ToolFailure;
use crate::workspace::{Kind, Place, kind_of};

/// What has to be there for a write to go on.
pub(crate) enum Expect<'a> {
    /// Nothing.
    Nothing,
    /// What it was when it was read.
    Unchanged(&'a Stat),
}

/// Puts `contents` at a place: into a temporary file beside it, onto the disk, and then in one
/// step under its name. A file that was there keeps its mode. Whatever fails, the file that was
/// there is whole, and there is nothing beside it.
pub(crate) fn write(
    place: &Place,
    contents: &[u8],
    expect: &Expect<'_>,
    cancel: &Cancel,
) -> Result<(), ToolFailure> {
    let before = match expect {
        Expect::Nothing => None,
        Expect::Unchanged(stat) => {
            check_target(place, stat)?;
            Some(*stat)
        }
    };
    let failed = |action| move |source: io::Error| ToolFailure::system(action, &place.path, source);
    let mut temporary = Temporary::create(place, before).map_err(failed("write beside"))?;
    // In pieces, so that a write that nobody wants any more ends soon.
    for piece in contents.chunks(1024 * 1024) {
        cancel.check()?;
        temporary.file.write_all(piece).map_err(failed("write"))?;
    }
    if let Some(stat) = before {
        temporary.take_after(stat).map_err(failed("keep the mode of"))?;
    }
    temporary.file.sync_all().map_err(failed("write"))?;
    if let Some(stat) = before {
        let now = statat(&place.dir, &place.name, AtFlags::SYMLINK_NOFOLLOW);
        if !now.is_ok_and(|now| is_same(&now, stat)) {
            let problem =
                "was changed by somebody else meanwhile; view it again and repeat the edit";
            return Err(ToolFailure::path(&place.path, problem));
        }
    }
    cancel.check()?;
    temporary.put(place, before.is_some())?;
    // What is on the disk by now is a matter of the name alone; an error would not take it back.
    if let Ok(dir) = openat(&place.dir, c".", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()) {
        let _ = fsync(dir);
    }
    Ok(())
}

/// Whether a file may be replaced.
fn check_target(place: &Place, stat: &Stat) -> Result<(), ToolFailure> {
    let kind = kind_of(stat);
    if kind != Kind::File {
        return Err(place.no_file(kind));
    }
    // To replace a file needs no permission of the file, but whoever took all of them meant it.
    if stat.st_mode & 0o222 == 0 {
        let problem = "is read-only; make it writable first if it really is to be changed";
        return Err(ToolFailure::path(&place.path, problem));
    }
    Ok(())
}

fn is_same(one: &Stat, other: &Stat) -> bool {
    let identity = |stat: &Stat| (stat.st_dev, stat.st_ino, stat.st_size, stat.st_mode);
    let time = |stat: &Stat| (stat.st_mtime, stat.st_mtime_nsec);
    identity(one) == identity(other) && time(one) == time(other)
}

/// A file that is removed unless it gets its name.
struct Temporary<'a> {
    dir: &'a OwnedFd,
    name: OsString,
    file: File,
    is_placed: bool,
}

impl<'a> Temporary<'a> {
    fn create(place: &'a Place, before: Option<&Stat>) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Nobody reads what will be private before it is.
        let mode = Mode::from_raw_mode(if before.is_some() { 0o600 } else { 0o666 });
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let name = OsString::from(format!(".tollgate-{}-{number}.tmp", std::process::id()));
            match openat(&place.dir, &name, flags, mode) {
                // Left by a process that was killed and had our number.
                Err(Errno::EXIST) => {}
                Err(error) => return Err(error.into()),
                Ok(handle) => {
                    let file = File::from(handle);
                    return Ok(Self { dir: &place.dir, name, file, is_placed: false });
                }
            }
        }
    }

    /// Takes over mode and owner of the file that is replaced.
    fn take_after(&self, before: &Stat) -> io::Result<()> {
        let now = fstat(&self.file)?;
        if (now.st_uid, now.st_gid) != (before.st_uid, before.st_gid) {
            // Only the superuser may; for others the file becomes theirs, as with most editors.
            let owner = (Uid::from_raw(before.st_uid), Gid::from_raw(before.st_gid));
            let _ = fchown(&self.file, Some(owner.0), Some(owner.1));
        }
        fchmod(&self.file, Mode::from_raw_mode(before.st_mode & 0o7777))?;
        Ok(())
    }

    fn put(mut self, place: &Place, replaces: bool) -> Result<(), ToolFailure> {
        let placed = if replaces {
            renameat(self.dir, &self.name, self.dir, &place.name)
        } else {
            self.put_new(place)
        };
        match placed {
            Ok(()) => {
                self.is_placed = true;
                Ok(())
            }
            Err(Errno::EXIST) => Err(exists(place)),
            Err(error) => Err(ToolFailure::system("write", &place.path, error)),
        }
    }

    /// Under a name that nobody has, also not since it was looked at.
    fn put_new(&self, place: &Place) -> Result<(), Errno> {
        let how = RenameFlags::NOREPLACE;
        match renameat_with(self.dir, &self.name, self.dir, &place.name, how) {
            // Not every file system knows it; a second name for a file is never given twice.
            Err(Errno::INVAL | Errno::NOSYS) => {
                let flags = AtFlags::empty();
                rustix::fs::linkat(self.dir, &self.name, self.dir, &place.name, flags)?;
                unlinkat(self.dir, &self.name, flags)
            }
            other => other,
        }
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.is_placed {
            let _ = unlinkat(self.dir, &self.name, AtFlags::empty());
        }
    }
}

/// The error that a file is there which was to be new.
pub(crate) fn exists(place: &Place) -> ToolFailure {
    let problem = "exists already; set Overwrite to true to replace all of it, or edit it with \
                   replace_file_content";
    ToolFailure::path(&place.path, problem)
}
