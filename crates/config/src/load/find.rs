//! The files that are there, read as far as that goes.

use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use hashbrown::{HashMap, HashSet};
use tollgate_core::dialect::Layer;

use crate::diagnostic::{Code, Diagnostic, Report};
use crate::dialect::harness::{Artifact, LARGEST_SCRIPT, read_artifact, read_hook};
use crate::dialect::{FileHook, HookFile};
use crate::layers::{Format, Place, Places, list};
use crate::read::{Directories, ReadFile, read_knowing};
use crate::source::{SourceFile, Span};

/// A file that was found, read as far as that went.
pub(super) struct Found {
    pub(super) place: Place,
    pub(super) source: Arc<SourceFile>,
    pub(super) file: Option<Parsed>,
    pub(super) diagnostics: Vec<Diagnostic>,
    /// Whether it is a directory, of which it cannot be told what is in it.
    pub(super) is_folder: bool,
    /// How it looked before it was read, if it was.
    pub(super) seen: Option<Seen>,
}

/// How a file looked before it was read.
pub(super) struct Seen {
    /// When that was.
    pub(super) at: SystemTime,
    pub(super) before: Metadata,
    is_link: bool,
    /// Its path without links in it.
    pub(super) real: PathBuf,
}

/// What a file says.
pub(super) enum Parsed {
    Commands(HookFile),
    Hook(Arc<Artifact>),
    Policy,
}

impl Found {
    /// What it says of commands.
    pub(super) fn commands(&self) -> Option<&HookFile> {
        match &self.file {
            Some(Parsed::Commands(file)) => Some(file),
            _ => None,
        }
    }

    /// Whether it is a person's settings for another agent, without a hook in them, or a file of hooks
    /// in which there is none but Tollgate: nothing of it runs here, so nobody has to trust it.
    fn has_no_hooks(&self) -> bool {
        let Format::Commands(format) = self.place.format else { return false };
        self.commands().is_some_and(|file| {
            let is_empty = file.hooks.is_empty() && file.negations.is_empty();
            is_empty && (format.home().is_shared || file.has_tollgate)
        })
    }

    /// Its hooks that are commands.
    pub(super) fn hooks(&self) -> &[FileHook] {
        self.commands().map(|file| file.hooks.as_slice()).unwrap_or_default()
    }
}

/// Whether the tests in hook files are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tests {
    Read,
    /// They are of no use to who fires an event.
    PassedOver,
}

/// The files of all layers, in their order, and what is to be said of others.
pub(super) fn find_all(places: &Places, tests: Tests) -> (Vec<Found>, Vec<Diagnostic>) {
    let mut found: Vec<Found> = Vec::new();
    let mut said = Vec::new();
    let (policies, commands): (Vec<Place>, Vec<Place>) =
        places.files().into_iter().partition(|place| matches!(place.format, Format::Policy));
    let mut directories = Directories::default();
    found.extend(commands.into_iter().filter_map(|place| find(place, tests, &mut directories)));
    found.retain(|found| {
        if found.has_no_hooks() {
            said.extend(found.diagnostics.iter().cloned());
        }
        !found.has_no_hooks()
    });
    for folder in places.folders() {
        let place = |path| Place { layer: folder.layer, format: Format::Markdown, path };
        match list(&folder, &mut directories) {
            Ok(listing) => {
                said.extend(listing.slips);
                let places: Vec<Place> = listing.files.into_iter().map(place).collect();
                found.extend(find_each(&places, tests));
            }
            Err(diagnostic) => found.push(Found {
                place: place(folder.path.clone()),
                source: Arc::clone(&diagnostic.file),
                file: None,
                diagnostics: vec![*diagnostic],
                is_folder: true,
                seen: None,
            }),
        }
    }
    found.extend(policies.into_iter().filter_map(|place| find(place, tests, &mut directories)));
    found.sort_by_key(|found| found.place.layer);
    said.extend(no_file_twice(&mut found));
    said.extend(same_names(&found));
    (found, said)
}

/// Files that were named, in the order in which they were.
pub(super) fn find_named(places: &[Place], tests: Tests) -> (Vec<Found>, Vec<Diagnostic>) {
    let mut found = find_each(places, tests);
    let mut said = no_file_twice(&mut found);
    said.extend(same_names(&found));
    (found, said)
}

/// Reads files, as far as they are there. Many are read by two threads: most of that is waiting for the system, and who
/// fires an event waits for all of it.
fn find_each(places: &[Place], tests: Tests) -> Vec<Found> {
    const MANY: usize = 32;
    let all = |places: &[Place]| -> Vec<Found> {
        let mut directories = Directories::default();
        places.iter().filter_map(|place| find(place.clone(), tests, &mut directories)).collect()
    };
    if places.len() < MANY {
        return all(places);
    }
    let (first, later) = places.split_at(places.len() / 2);
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("tollgate-read".to_owned());
        let reading = builder.spawn_scoped(scope, || all(later));
        let mut found = all(first);
        match reading.map(thread::ScopedJoinHandle::join) {
            Ok(Ok(more)) => found.extend(more),
            // Files that are not read must not be taken for files that are not there.
            Ok(Err(panic)) => std::panic::resume_unwind(panic),
            // Where there can be no other thread, this one reads them all.
            Err(_) => found.extend(all(later)),
        }
        found
    })
}

/// Reads one file, as far as it is there.
fn find(place: Place, tests: Tests, directories: &mut Directories) -> Option<Found> {
    let at = SystemTime::now();
    let (source, seen, file, diagnostics) = match read_knowing(&place.path, directories) {
        Ok(None) => return None,
        Ok(Some(ReadFile { source, before, is_link })) => {
            let (file, diagnostics) = parse(&place, &source, tests);
            (source, Some(Seen { at, before, is_link, real: PathBuf::new() }), file, diagnostics)
        }
        Err(diagnostic) => (Arc::clone(&diagnostic.file), None, None, vec![diagnostic]),
    };
    Some(Found { place, source, file, diagnostics, is_folder: false, seen })
}

pub(super) fn parse(
    place: &Place,
    source: &Arc<SourceFile>,
    tests: Tests,
) -> (Option<Parsed>, Vec<Diagnostic>) {
    let mut report = Report::new(Arc::clone(source));
    let parsed = match place.format {
        Format::Commands(dialect) => dialect.parse(&mut report, place.layer).map(Parsed::Commands),
        Format::Markdown => {
            let (artifact, diagnostics) = match tests {
                Tests::Read => read_artifact(source),
                Tests::PassedOver => read_hook(source),
            };
            return (artifact.map(|artifact| Parsed::Hook(Arc::new(artifact))), diagnostics);
        }
        Format::Policy => {
            check_policy(&mut report);
            (!report.has_errors()).then_some(Parsed::Policy)
        }
    };
    (parsed, report.into_diagnostics())
}

/// What can be said of a policy without reading it as a script.
fn check_policy(report: &mut Report) {
    let file = Arc::clone(report.file());
    let length = file.text().len();
    if length > LARGEST_SCRIPT {
        report
            .add(
                Code::ScriptTooLong,
                None,
                format!(
                    "the policy has {length} bytes, and {} KiB are allowed",
                    LARGEST_SCRIPT >> 10
                ),
            )
            .help("one rule can stand for many: `policy.deny(\"server/*\")`");
    }
    if file.text().starts_with('\u{feff}') {
        report
            .add(
                Code::ByteOrderMark,
                Span { start: 0, end: 3 },
                "the file begins with a byte order mark",
            )
            .help("save it as UTF-8 without a byte order mark");
    }
}

/// Leaves out what is another name for a file that was found before.
fn no_file_twice(found: &mut Vec<Found>) -> Vec<Diagnostic> {
    let mut known: HashSet<OsString> = HashSet::with_capacity(found.len());
    let mut said = Vec::new();
    let mut folders: HashMap<PathBuf, PathBuf> = HashMap::new();
    found.retain_mut(|found| {
        let path = &found.place.path;
        let is_link = found.seen.as_ref().is_none_or(|seen| seen.is_link);
        let real = real_path(path, is_link, &mut folders);
        if !known.insert(real.clone().into_os_string()) {
            let message = format!("this is `{}`, which counts once", real.display());
            said.push(Diagnostic::of_file(path, Code::SameFileTwice, message));
            return false;
        }
        if let Some(seen) = &mut found.seen {
            seen.real = real;
        }
        true
    });
    said
}

/// A path without links in it. Files of one directory have most of it in common.
fn real_path(path: &Path, is_link: bool, folders: &mut HashMap<PathBuf, PathBuf>) -> PathBuf {
    let (Some(folder), Some(name), false) = (path.parent(), path.file_name(), is_link) else {
        return path.canonicalize().unwrap_or_else(|_| path.to_owned());
    };
    if let Some(real) = folders.get(folder) {
        return real.join(name);
    }
    let real = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    let path = real.join(name);
    folders.insert(folder.to_owned(), real);
    path
}

/// Markdown hooks of one layer that are called the same. Both run.
fn same_names(found: &[Found]) -> Vec<Diagnostic> {
    let mut seen: HashMap<(Layer, &str), &Found> = HashMap::new();
    let mut said = Vec::new();
    for found in found {
        let Some(Parsed::Hook(artifact)) = &found.file else { continue };
        let first = *seen.entry((found.place.layer, &artifact.name)).or_insert(found);
        if !std::ptr::eq(first, found) {
            let path = first.place.path.display();
            let message = format!("`{path}` is a hook of the same name; both run");
            let diagnostic = Diagnostic::of_file(&found.place.path, Code::DuplicateName, message)
                .help("rename one of the files: who asks for a hook by its name gets the first");
            said.push(diagnostic);
        }
    }
    said
}
