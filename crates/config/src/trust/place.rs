//! The file that the trust store is in: who may have written it, and how it is written.

use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use super::store::StoreError;

/// The largest store that is read.
const LARGEST: u64 = 64 * 1024 * 1024;

/// How long another writer is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many links may lead to the store.
const MOST_LINKS: usize = 8;

/// Where the store really is.
#[derive(Debug, Clone)]
pub(super) struct Place {
    file: PathBuf,
    directory: PathBuf,
}

/// Nobody else writes the store while it is held.
pub(super) struct Locked<'a> {
    place: &'a Place,
    /// Unlocks when it is closed.
    _lock: File,
}

fn failed(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> StoreError {
    move |source| StoreError::Io { path: path.to_path_buf(), action, source }
}

fn refused(path: &Path, reason: impl Into<String>) -> StoreError {
    StoreError::Refused { path: path.to_path_buf(), reason: reason.into() }
}

fn us() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Refuses what others could have written.
fn check(path: &Path, metadata: &Metadata) -> Result<(), StoreError> {
    /// Writable for the group or for everybody.
    const OTHERS: u32 = 0o022;
    let owner = metadata.uid();
    if owner != us() && owner != 0 {
        let reason = format!("it belongs to user {owner}, who could trust anything in your name");
        return Err(refused(path, reason));
    }
    if metadata.mode() & OTHERS != 0 {
        let what = if metadata.is_dir() { "directory" } else { "file" };
        let reason = format!(
            "others may write this {what} (mode {:o}): `chmod go-w` it, once you know its content is yours",
            metadata.mode() & 0o7777
        );
        return Err(refused(path, reason));
    }
    Ok(())
}

/// Makes a directory that is only ours, whatever the umask says, with those on the way to it. One
/// that is there stays as it is.
pub fn private_directory(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Takes the rights of the group away from a directory of ours that was made with `umask 002`, if
/// nobody else is in the group: then nobody else can have written to it. Any other is left as it is.
fn repaired(directory: &Path, metadata: Metadata) -> Metadata {
    const BY_GROUP: u32 = 0o020;
    const BY_ALL: u32 = 0o002;
    let mode = metadata.mode();
    let is_such = metadata.is_dir()
        && metadata.uid() == us()
        && mode & (BY_GROUP | BY_ALL) == BY_GROUP
        && is_private_group(metadata.gid());
    if !is_such {
        return metadata;
    }
    let narrower = fs::Permissions::from_mode(mode & 0o7755);
    if fs::set_permissions(directory, narrower).is_err() {
        return metadata;
    }
    fs::symlink_metadata(directory).unwrap_or(metadata)
}

/// True if a group is the one that was made for our user and has no other member, as far as the
/// files of the system tell. Users of a network are in none of them, so a group of another name
/// than the user's is never taken for private.
fn is_private_group(group: u32) -> bool {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    is_private(&read("/etc/passwd"), &read("/etc/group"), us(), group)
}

fn is_private(users: &str, groups: &str, user: u32, group: u32) -> bool {
    let fields = |line: &'_ str| line.split(':').map(str::to_owned).collect::<Vec<_>>();
    let is = |fields: &[String], at: usize, number: u32| {
        fields.get(at).and_then(|field| field.parse().ok()) == Some(number)
    };
    let users: Vec<_> = users.lines().map(fields).collect();
    let groups: Vec<_> = groups.lines().map(fields).filter(|it| is(it, 2, group)).collect();
    let Some(own) = users.iter().find(|it| is(it, 2, user) && is(it, 3, group)) else {
        return false;
    };
    let others = users.iter().any(|it| is(it, 3, group) && !is(it, 2, user));
    let [of_group] = groups.as_slice() else { return false };
    let members = of_group.get(3).map(String::as_str).unwrap_or_default();
    let only_us =
        members.split(',').all(|name| name.is_empty() || own.first().is_some_and(|it| it == name));
    !others && only_us && own.first() == of_group.first()
}

/// Looks at a path without following it.
fn look(path: &Path) -> Result<Option<Metadata>, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(failed(path, "looked at")(error)),
    }
}

/// Follows links, as far as they are our own.
fn follow(path: &Path) -> Result<PathBuf, StoreError> {
    let mut path = path.to_path_buf();
    for _ in 0..MOST_LINKS {
        let Some(metadata) = look(&path)?.filter(Metadata::is_symlink) else { return Ok(path) };
        if metadata.uid() != us() {
            let reason = format!("it is a link that belongs to user {}", metadata.uid());
            return Err(refused(&path, reason));
        }
        let target = fs::read_link(&path).map_err(failed(&path, "looked at"))?;
        path = path.parent().unwrap_or(Path::new("/")).join(target);
    }
    Err(refused(&path, "too many links lead to it"))
}

impl Place {
    /// Finds the store, and refuses a place that others could have written.
    pub(super) fn find(path: &Path) -> Result<Self, StoreError> {
        let path = std::path::absolute(path).map_err(failed(path, "found"))?;
        let linked = |path: &Path| {
            let Some((directory, name)) = path.parent().zip(path.file_name()) else {
                return Err(refused(path, "it is no path of a file"));
            };
            Ok(follow(directory)?.join(name))
        };
        let file = linked(&follow(&linked(&path)?)?)?;
        let directory = file.parent().unwrap_or(Path::new("/")).to_path_buf();
        if let Some(metadata) = look(&directory)? {
            check(&directory, &repaired(&directory, metadata))?;
        }
        Ok(Self { file, directory })
    }

    /// The path, links followed.
    pub(super) fn path(&self) -> &Path {
        &self.file
    }

    /// The content; none where there is no store yet.
    pub(super) fn read(&self) -> Result<Option<Vec<u8>>, StoreError> {
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOFOLLOW;
        let opened = OpenOptions::new()
            .read(true)
            .custom_flags(i32::try_from(flags.bits()).unwrap_or(0))
            .open(&self.file);
        let file = match opened {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(failed(&self.file, "opened")(error)),
        };
        // What was opened is what is checked, whatever the path leads to by now.
        let metadata = file.metadata().map_err(failed(&self.file, "looked at"))?;
        if !metadata.is_file() {
            return Err(refused(&self.file, "it is not a regular file"));
        }
        check(&self.file, &metadata)?;
        // With room for one more, one call tells that this was all.
        let length = usize::try_from(metadata.len().min(LARGEST)).unwrap_or(0);
        let mut content = Vec::with_capacity(length + 1);
        file.take(LARGEST + 1).read_to_end(&mut content).map_err(failed(&self.file, "read"))?;
        if content.len() as u64 > LARGEST {
            return Err(refused(&self.file, "it is too large to be a trust store"));
        }
        Ok(Some(content))
    }

    /// Waits until nobody else writes.
    pub(super) fn lock(&self) -> Result<Locked<'_>, StoreError> {
        private_directory(&self.directory).map_err(failed(&self.directory, "made"))?;
        if let Some(metadata) = look(&self.directory)? {
            check(&self.directory, &metadata)?;
        }
        let path = self.beside(".lock");
        let no_follow = i32::try_from(rustix::fs::OFlags::NOFOLLOW.bits()).unwrap_or(0);
        let lock = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .custom_flags(no_follow)
            .open(&path)
            .map_err(failed(&path, "opened"))?;
        let begin = Instant::now();
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Locked { place: self, _lock: lock }),
                Err(TryLockError::WouldBlock) if begin.elapsed() < PATIENCE => {
                    thread::sleep(Duration::from_millis(5));
                }
                Err(TryLockError::WouldBlock) => return Err(StoreError::Busy(path)),
                Err(TryLockError::Error(error)) => return Err(failed(&path, "locked")(error)),
            }
        }
    }

    fn beside(&self, ending: &str) -> PathBuf {
        let mut name = self.file.file_name().unwrap_or_default().to_os_string();
        name.push(ending);
        self.directory.join(name)
    }
}

impl Locked<'_> {
    /// Replaces the store as a whole: who reads it, and who is cut off while writing it, sees the
    /// old one or the new one.
    pub(super) fn replace(&self, content: &[u8]) -> Result<(), StoreError> {
        // The name can be fixed, since only who holds the lock writes. One that a writer left
        // behind when it was killed goes first.
        let path = self.place.beside(".new");
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&path, "removed")(error));
            }
            _ => {}
        }
        let write = || {
            let mut file =
                OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
            file.write_all(content)?;
            file.sync_all()
        };
        write().map_err(failed(&path, "written"))?;
        let file = &self.place.file;
        fs::rename(&path, file).map_err(failed(file, "replaced"))?;
        let directory = &self.place.directory;
        File::open(directory)
            .and_then(|directory| directory.sync_all())
            .map_err(failed(directory, "synchronised"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_group_has_the_name_of_its_only_user() {
        const USERS: &str = "root:x:0:0::/:/bin/sh\nme:x:1000:1000::/home/me:/bin/sh\n\
                             you:x:1001:100::/home/you:/bin/sh\n";
        for (users, groups, expected) in [
            (USERS, "me:x:1000:\nusers:x:100:", true),
            (USERS, "me:x:1000:me", true),
            (USERS, "me:x:1000:me,you", false),
            (USERS, "staff:x:1000:", false),
            (USERS, "", false),
            (USERS, "me:x:1000:\nme:x:1000:you", false),
            ("me:x:1000:1000::\nyou:x:1001:1000::", "me:x:1000:", false),
            ("", "me:x:1000:", false),
        ] {
            assert_eq!(is_private(users, groups, 1000, 1000), expected, "{users} {groups}");
        }
        assert!(!is_private(USERS, "users:x:100:\nme:x:1000:", 1000, 100));
    }
}
