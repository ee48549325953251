//! Reading a hook file: bounded, and never from what is no file.

use std::fs::{self, Metadata, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic};
use crate::source::SourceFile;

/// The most that a hook file may have. A thousand hooks take a quarter of a megabyte.
pub(crate) const LARGEST: u64 = 4 << 20;

/// A file that was read.
#[derive(Debug)]
pub(crate) struct ReadFile {
    pub(crate) source: Arc<SourceFile>,
    /// How it looked before.
    pub(crate) before: Metadata,
    /// Whether its path is a link to it.
    pub(crate) is_link: bool,
}

/// What is known of directories, for as long as files are looked for: most places where one could be are below a
/// directory that is not there.
#[derive(Debug, Default)]
pub(crate) struct Directories {
    there: Vec<PathBuf>,
    absent: Vec<PathBuf>,
}

impl Directories {
    /// Whether a path is below a directory that is not there.
    pub(crate) fn has_none_for(&self, path: &Path) -> bool {
        path.ancestors().skip(1).any(|folder| is_among(folder, &self.absent))
    }

    /// The link to nothing that a path is, or goes through.
    pub(crate) fn dangling<'p>(&mut self, path: &'p Path) -> Option<&'p Path> {
        let mut absent = None;
        for part in path.ancestors().filter(|part| !part.as_os_str().is_empty()) {
            if is_among(part, &self.there) {
                break;
            }
            match fs::symlink_metadata(part) {
                Ok(found) if found.is_symlink() && fs::metadata(part).is_err() => {
                    return Some(part);
                }
                // It was reached, so that nothing on the way to it can lead to nothing.
                Ok(_) => {
                    self.there.push(part.to_owned());
                    break;
                }
                Err(_) => absent = Some(part),
            }
        }
        self.absent.extend(absent.map(Path::to_owned));
        None
    }
}

fn is_among(path: &Path, known: &[PathBuf]) -> bool {
    known.iter().any(|known| known.as_os_str() == path.as_os_str())
}

/// A file; none where there is no such file.
pub(crate) fn read(path: &Path) -> Result<Option<ReadFile>, Diagnostic> {
    read_knowing(path, &mut Directories::default())
}

/// As [`read`], with what is known of directories.
pub(crate) fn read_knowing(
    path: &Path,
    directories: &mut Directories,
) -> Result<Option<ReadFile>, Diagnostic> {
    if directories.has_none_for(path) {
        return Ok(None);
    }
    let fail = |code, message: String, help: &str| {
        Err(Diagnostic::of_file(path, code, message).help(help))
    };
    // Looked at before it is opened: to open a pipe would wait for somebody to write to it.
    let looked = fs::symlink_metadata(path);
    let is_link = looked.as_ref().is_ok_and(Metadata::is_symlink);
    let looked = if is_link { fs::metadata(path) } else { looked };
    let before = match looked {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let link = match path.parent() {
                _ if is_link => Some(path),
                Some(folder) => directories.dangling(folder),
                None => None,
            };
            return match link {
                Some(link) if link == path => fail(
                    Code::Unreadable,
                    "the file is a link to nothing".to_owned(),
                    "remove the link, or put the file where it leads",
                ),
                Some(link) => fail(
                    Code::Unreadable,
                    format!("`{}` is a link to nothing", link.display()),
                    "remove the link, or put the directory where it leads",
                ),
                None => Ok(None),
            };
        }
        // A path through something that is no directory: there is no such file either.
        Err(error) if error.kind() == ErrorKind::NotADirectory => return Ok(None),
        Err(error) => {
            return fail(Code::Unreadable, format!("the file cannot be read: {error}"), READABLE);
        }
    };
    if !before.is_file() {
        let what = if before.is_dir() { "a directory" } else { "no ordinary file" };
        return fail(
            Code::NotAFile,
            format!("this is {what}, where a hook file should be"),
            "move it away, or put a file in its place",
        );
    }
    let too_large = |size: u64| {
        fail(
            Code::TooLarge,
            format!("the file has {size} bytes, and {} MiB are allowed", LARGEST >> 20),
            "a thousand hooks take a quarter of a megabyte: is this a hook file?",
        )
    };
    if before.len() > LARGEST {
        return too_large(before.len());
    }
    let mut bytes = Vec::new();
    // Should it be a pipe by now, nobody waits for a writer.
    let flags = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let opened = OpenOptions::new().read(true).custom_flags(flags).open(path);
    let read = opened.and_then(|file| read_all(&file, before.len(), &mut bytes));
    if let Err(error) = read {
        return fail(Code::Unreadable, format!("the file cannot be read: {error}"), READABLE);
    }
    if bytes.len() as u64 > LARGEST {
        return too_large(bytes.len() as u64);
    }
    match String::from_utf8(bytes) {
        Ok(text) => {
            let source = Arc::new(SourceFile::new(path, text));
            Ok(Some(ReadFile { source, before, is_link }))
        }
        Err(error) => {
            let at = error.utf8_error().valid_up_to();
            let is_utf16 = matches!(error.as_bytes(), [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
            let what = if is_utf16 { ": it looks like UTF-16" } else { "" };
            fail(
                Code::NotUtf8,
                format!("the file is not UTF-8 from byte {at} on{what}"),
                "save it as UTF-8",
            )
        }
    }
}

/// Reads a file that should have so many bytes, and no more than may be. One call of the system suffices where it has:
/// what is left of its buffer tells that there is no more.
fn read_all(mut file: &fs::File, length: u64, bytes: &mut Vec<u8>) -> io::Result<()> {
    bytes.resize(usize::try_from(length).unwrap_or(0) + 1, 0);
    let mut filled = 0;
    loop {
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
        match file.read(bytes.get_mut(filled..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(more) => {
                filled += more;
                if filled as u64 == length {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
        if filled as u64 > LARGEST {
            break;
        }
    }
    bytes.truncate(filled);
    Ok(())
}

pub(crate) const READABLE: &str = "make it readable for the user who runs the agent, or remove it";
