//! The hook files of a directory.

use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use super::Folder;
use crate::diagnostic::{Code, Diagnostic};
use crate::read::{Directories, READABLE};

/// The most hook files of a directory.
const MOST_FILES: usize = 1_000;

/// The most entries of it that are looked at.
const MOST_ENTRIES: usize = 10_000;

/// The most that is said of files that are not read.
const MOST_SAID: usize = 20;

/// What a directory of hooks has.
#[derive(Debug, Default)]
pub(crate) struct Listing {
    /// Its hook files, by name.
    pub(crate) files: Vec<PathBuf>,
    /// Files that are not read, where their authors may think they are.
    pub(crate) slips: Vec<Diagnostic>,
}

/// Looks into a directory. One that is not there has nothing; one that cannot be told is a problem.
pub(crate) fn list(
    folder: &Folder,
    directories: &mut Directories,
) -> Result<Listing, Box<Diagnostic>> {
    let path = &folder.path;
    if directories.has_none_for(path) {
        return Ok(Listing::default());
    }
    let fail = |code, message: String, help: &str| {
        Err(Box::new(Diagnostic::of_file(path, code, message).help(help)))
    };
    let unreadable = |error: io::Error| {
        fail(Code::Unreadable, format!("the directory cannot be read: {error}"), READABLE)
    };
    let entries = match fs::read_dir(path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match directories.dangling(path) {
                None => Ok(Listing::default()),
                Some(link) => fail(
                    Code::Unreadable,
                    format!("`{}` is a link to nothing", link.display()),
                    "remove the link, or put the directory where it leads",
                ),
            };
        }
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            return match fs::metadata(path) {
                // What is on the way to it is no directory, so there is nothing.
                Err(_) => Ok(Listing::default()),
                Ok(_) => fail(
                    Code::Unreadable,
                    "this is no directory, where a directory of hooks should be".to_owned(),
                    "move it away, or put a directory in its place",
                ),
            };
        }
        Err(error) => return unreadable(error),
    };
    let mut listing = Listing::default();
    for (number, entry) in entries.enumerate() {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return unreadable(error),
        };
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        if name.ends_with(".md") {
            listing.files.push(entry.path());
        } else if let Some(help) = slip(&name) {
            listing.slips.push(not_read(&entry.path(), help));
        }
        if listing.files.len() > MOST_FILES || number >= MOST_ENTRIES {
            let what = if listing.files.len() > MOST_FILES {
                format!("more than {MOST_FILES} hook files")
            } else {
                format!("more than {MOST_ENTRIES} entries")
            };
            return fail(
                Code::TooManyFiles,
                format!("the directory has {what}"),
                "keep only hooks here, and make one of those that do the same",
            );
        }
    }
    // All are in one directory: to compare them part by part would take ten times as long.
    listing.files.sort_unstable_by(|one, other| one.as_os_str().cmp(other.as_os_str()));
    listing.slips.sort_by(|one, other| one.file.path().cmp(other.file.path()));
    listing.slips.truncate(MOST_SAID);
    Ok(listing)
}

/// What to do with a file whose name looks as if it was meant to be a hook.
fn slip(name: &str) -> Option<&'static str> {
    const RENAME: &str = "rename it to end in `.md`, or move it away";
    const CODE: &str = "a hook is Markdown: put the code into the frontmatter of a `.md` file";
    const ENDINGS: [(&str, &str); 7] = [
        (".md", RENAME),
        (".markdown", RENAME),
        (".mdown", RENAME),
        (".mkd", RENAME),
        (".mdx", RENAME),
        (".md.txt", RENAME),
        (".star", CODE),
    ];
    let name = name.to_lowercase();
    ENDINGS.iter().find(|(ending, _)| name.ends_with(ending)).map(|(_, help)| *help)
}

fn not_read(path: &Path, help: &str) -> Diagnostic {
    let message = "only files that end in `.md` are read here: this one is not";
    Diagnostic::of_file(path, Code::NotRead, message).help(help)
}
