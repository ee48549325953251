//! What a project would have Tollgate run: the files that are pinned, and what cannot be.

use std::borrow::{Borrow, Cow};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::declared;
use super::digest::Digest;
use super::executed::{Roles, is_shell, program, reads_only};
use super::hash::{Content, Hash, Unhashed};
use super::programs::{further_files, readings, runs};
use super::words::{Line, Word};

/// The largest file that is pinned.
pub(super) const LARGEST: u64 = 64 * 1024 * 1024;

/// A hook file and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Surveyed {
    /// The file.
    pub file: PathBuf,
    /// The commands it would have run.
    pub commands: Vec<SurveyedCommand>,
    /// Further files it says it depends on: globs, relative to the project.
    pub declared: Vec<String>,
}

/// A command of a hook file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SurveyedCommand {
    /// The command line.
    pub text: String,
    /// The directory it runs in.
    pub cwd: PathBuf,
}

/// A file of the project that was read before.
pub(crate) struct AsRead<'r> {
    /// Its path without links in it.
    pub(crate) real: &'r Path,
    pub(crate) content: Content,
}

/// What a pinned file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PinKind {
    /// A hook file.
    HookFile,
    /// A file that a command names.
    Script,
    /// A file that a hook file declares.
    Declared,
}

impl fmt::Display for PinKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HookFile => "hook file",
            Self::Script => "script",
            Self::Declared => "declared file",
        })
    }
}

/// A file with its hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pin {
    /// What it is.
    pub kind: PinKind,
    /// Where it is, relative to the project.
    pub path: String,
    /// Where it really is, where links lead elsewhere: relative to the project, or absolute where
    /// it is outside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    /// The hash of its content.
    pub hash: Hash,
}

/// A command, or a declared glob, that cannot be pinned or not wholly.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unpinned {
    /// The hook file, relative to the project.
    pub file: String,
    /// The command or glob.
    pub command: String,
    /// Why.
    pub reason: String,
}

/// Why a project cannot be surveyed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SurveyError {
    /// The project is not there, or not to be looked at.
    #[error("the project `{}` cannot be opened: {source}", root.display())]
    Root {
        /// The project.
        root: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A hook file is there and cannot be pinned.
    #[error("the hook file `{}` cannot be pinned: {reason}", path.display())]
    HookFile {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// A path is not UTF-8.
    #[error("the path `{}` is not UTF-8, which the trust store cannot hold", .0.display())]
    NotUtf8(PathBuf),
}

/// What a project would have Tollgate run, as it is now.
///
/// ```
/// use tollgate_config::trust::{Survey, Surveyed, SurveyedCommand};
///
/// # let project = tempfile::tempdir()?;
/// # let root = project.path();
/// std::fs::write(root.join("hooks.json"), "{}")?;
/// std::fs::write(root.join("check.sh"), "exit 0\n")?;
/// let file = Surveyed {
///     file: root.join("hooks.json"),
///     commands: vec![
///         SurveyedCommand { text: "bash ./check.sh --fast".into(), cwd: root.into() },
///         SurveyedCommand { text: "make lint".into(), cwd: root.into() },
///     ],
///     declared: vec![],
/// };
/// let survey = Survey::new(root, &[file])?;
/// let pinned: Vec<_> = survey.pins().map(|pin| pin.path.as_str()).collect();
/// assert_eq!(pinned, ["hooks.json", "check.sh"]);
/// assert_eq!(survey.unpinned()[0].command, "make lint");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Survey {
    root: PathBuf,
    /// The project as it was given, with any links in its path.
    given: PathBuf,
    pins: BTreeMap<(PinKind, String), Found>,
    unpinned: BTreeSet<Unpinned>,
    /// True if commands run nothing but what is pinned, and programs that only read.
    pub(super) runs_only_pins: bool,
}

/// A pin and what was seen when it was made.
#[derive(Debug, Clone)]
pub(super) struct Found {
    pub(super) pin: Pin,
    pub(super) content: Content,
    /// The hook files it belongs to.
    used_by: BTreeSet<String>,
}

impl Survey {
    /// Looks at the files of a project. A hook file that is not there is left out; of a trusted
    /// project it counts as deleted.
    pub fn new(root: &Path, files: &[Surveyed]) -> Result<Self, SurveyError> {
        Self::of(root, files.iter().map(|file| (file, None)))
    }

    /// As [`new`](Self::new), where some files were read before. What was read of them is what is pinned, so that no
    /// other text can have been read than the one that is trusted.
    pub(crate) fn of<'r>(
        root: &Path,
        files: impl IntoIterator<Item = (impl Borrow<Surveyed>, Option<AsRead<'r>>)>,
    ) -> Result<Self, SurveyError> {
        let unopened = |source| SurveyError::Root { root: root.to_path_buf(), source };
        let canonical = std::fs::canonicalize(root).map_err(unopened)?;
        if canonical.to_str().is_none() {
            return Err(SurveyError::NotUtf8(canonical));
        }
        let mut survey = Self {
            root: canonical,
            given: root.to_path_buf(),
            pins: BTreeMap::new(),
            unpinned: BTreeSet::new(),
            runs_only_pins: true,
        };
        for (surveyed, read) in files {
            let surveyed: &Surveyed = surveyed.borrow();
            let path = survey.place_of(&surveyed.file);
            let name = match survey.pin(PinKind::HookFile, &path, read, None) {
                Ok(name) => name,
                Err(NotPinned::Because(Unhashed::Gone)) => continue,
                Err(NotPinned::Because(reason)) => {
                    return Err(SurveyError::HookFile { path, reason: reason.to_string() });
                }
                Err(NotPinned::NotUtf8) => return Err(SurveyError::NotUtf8(path)),
            };
            for command in &surveyed.commands {
                survey.command(&name, command);
            }
            for glob in &surveyed.declared {
                survey.declared(&name, glob);
            }
        }
        Ok(survey)
    }

    /// The project, without links in its path.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The pinned files: hook files first, then scripts, then what is declared.
    pub fn pins(&self) -> impl Iterator<Item = &Pin> {
        self.pins.values().map(|found| &found.pin)
    }

    pub(super) fn found(&self) -> impl Iterator<Item = &Found> {
        self.pins.values()
    }

    /// The paths of the pins that a hook file needs, its own among them: what to
    /// [seal](super::Seal::for_files) its hooks with.
    pub fn paths_for(&self, hook_file: &Path) -> Vec<&str> {
        let name = self.name_of(&self.place_of(hook_file));
        let belongs = |found: &&Found| name.as_ref().is_some_and(|n| found.used_by.contains(n));
        let paths: BTreeSet<&str> =
            self.pins.values().filter(belongs).map(|found| found.pin.path.as_str()).collect();
        paths.into_iter().collect()
    }

    /// What cannot be pinned, or not wholly.
    pub fn unpinned(&self) -> Vec<&Unpinned> {
        self.unpinned.iter().collect()
    }

    /// A hash over all pins and all that is not pinned. It does not depend on where the project
    /// is, so that one that was seen on one machine can be trusted on another.
    pub fn digest(&self) -> Digest {
        const CONTEXT: &str = "tollgate, survey of a project, version 1";
        // In one go: there are hundreds of short ones.
        let mut all = Vec::new();
        let mut field = |bytes: &[u8]| {
            all.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
            all.extend_from_slice(bytes);
        };
        for pin in self.pins() {
            field(pin.kind.to_string().as_bytes());
            field(pin.path.as_bytes());
            field(pin.target.as_deref().unwrap_or_default().as_bytes());
            field(pin.hash.to_string().as_bytes());
        }
        for Unpinned { file, command, reason } in &self.unpinned {
            for text in [file, command, reason] {
                field(text.as_bytes());
            }
        }
        Digest::of(&blake3::Hash::from_bytes(blake3::derive_key(CONTEXT, &all)))
    }

    /// Where a path is: one below the project as it was given is below the project as it is.
    pub(super) fn place_of(&self, path: &Path) -> PathBuf {
        self.root.join(below(&self.given, path).unwrap_or(path))
    }

    /// A path as it is named here: relative to the project where it is in it. None where it is
    /// not UTF-8.
    pub(super) fn name_of(&self, path: &Path) -> Option<String> {
        let plain = plainly(path);
        // `link/../file` is not `file` where the link leads out of the directory.
        let same =
            plain == path || std::fs::canonicalize(&plain).ok() == std::fs::canonicalize(path).ok();
        let path = if same { plain } else { path.to_path_buf() };
        let name = path.strip_prefix(&self.root).unwrap_or(&path);
        name.to_str().map(str::to_owned)
    }

    /// Pins a file, and says what it is called.
    fn pin(
        &mut self,
        kind: PinKind,
        path: &Path,
        known: Option<AsRead<'_>>,
        used_by: Option<&str>,
    ) -> Result<String, NotPinned> {
        let (real, content) = match known {
            Some(known) => (Cow::Borrowed(known.real), Some(known.content)),
            None => (std::fs::canonicalize(path).map_err(Unhashed::from)?.into(), None),
        };
        let real_name = below(&self.root, &real).unwrap_or(&real);
        let real_name = real_name.to_str().ok_or(NotPinned::NotUtf8)?;
        let name = if real.as_os_str() == path.as_os_str() {
            // As it is written, there is nothing to follow.
            real_name.to_owned()
        } else {
            self.name_of(path).ok_or(NotPinned::NotUtf8)?
        };
        let used_by = used_by.unwrap_or(&name).to_owned();
        let key = (kind, name.clone());
        if let Some(found) = self.pins.get_mut(&key) {
            found.used_by.insert(used_by);
            return Ok(name);
        }
        let content = match content {
            Some(content) => content,
            None => Content::of(&real, LARGEST)?,
        };
        let target = (real_name != name).then(|| real_name.to_owned());
        let pin = Pin { kind, path: name.clone(), target, hash: content.hash };
        self.pins.insert(key, Found { pin, content, used_by: BTreeSet::from([used_by]) });
        Ok(name)
    }

    fn add_unpinned(&mut self, file: &str, command: &str, reason: impl Into<String>) {
        let (file, command) = (file.to_owned(), command.to_owned());
        self.unpinned.insert(Unpinned { file, command, reason: reason.into() });
    }

    fn declared(&mut self, file: &str, glob: &str) {
        let found = match declared::files(&self.root, glob) {
            Ok(found) => found,
            Err(reason) => return self.add_unpinned(file, glob, reason),
        };
        let mut left = declared::MOST_BYTES;
        for path in &found {
            let name = match self.pin(PinKind::Declared, path, None, Some(file)) {
                Ok(name) => name,
                Err(error) => {
                    self.add_unpinned(file, glob, format!("`{}`: {error}", path.display()));
                    continue;
                }
            };
            let size = self.pins.get(&(PinKind::Declared, name)).map_or(0, |f| f.content.size);
            let Some(rest) = left.checked_sub(size) else {
                let reason = format!(
                    "the files it matches have more than {} MiB together",
                    declared::MOST_BYTES / (1024 * 1024)
                );
                return self.add_unpinned(file, glob, reason);
            };
            left = rest;
        }
        if found.is_empty() {
            self.add_unpinned(file, glob, "it matches no file");
        }
    }

    fn command(&mut self, file: &str, command: &SurveyedCommand) {
        let mut look = Look {
            bases: vec![self.place_of(&command.cwd), self.root.clone()],
            reasons: Vec::new(),
            pinned: 0,
            only_reads: true,
        };
        self.text(file, &command.text, &mut look, (0, false));
        // What only reads and prints is in the hook file as a whole.
        if look.pinned == 0 && !look.only_reads {
            look.reasons.push("no word of it is a file of the project".to_owned());
        }
        look.reasons.dedup();
        if !look.reasons.is_empty() {
            self.add_unpinned(file, &command.text, look.reasons.join("; "));
        }
    }

    /// Pins what a text names; `look` collects what was found.
    fn text(&mut self, file: &str, text: &str, look: &mut Look, (depth, may_run): (usize, bool)) {
        const DEEPEST: usize = 3;
        let line = Line::parse(text);
        let roles = Roles::of(&line, may_run);
        look.only_reads &= roles.only_reads;
        let within = (depth + 1, roles.may_run());
        for command in &line.commands {
            let changes_directory = runs(command, &["cd", "pushd"]);
            let pinned = look.pinned;
            for word in &command.words {
                if roles.is_data(command, word) {
                    continue;
                }
                self.word(file, word, changes_directory, look);
                // A word with spaces may be a script: `bash -c 'a && b'`.
                let is_script = word.text.contains([' ', '\n', ';', '\t']);
                if is_script && depth < DEEPEST {
                    self.text(file, &word.text, look, within);
                }
            }
            look.reasons.extend(further_files(command));
            self.runs_only_pins &= reads_only(command)
                || changes_directory
                || program(command).is_none_or(|(name, _)| {
                    look.pinned > pinned && (name.text.contains('/') || is_shell(name))
                });
        }
        if depth < DEEPEST {
            for document in &line.documents {
                self.text(file, document, look, within);
            }
        }
    }

    fn word(&mut self, file: &str, word: &Word, changes_directory: bool, look: &mut Look) {
        for (candidate, unknown) in readings(word) {
            for base in look.bases.clone() {
                let path = base.join(&candidate);
                let Ok(metadata) = std::fs::metadata(&path) else { continue };
                if !self.is_of_project(&path) {
                    continue;
                }
                if metadata.is_dir() {
                    if changes_directory && !look.bases.contains(&path) {
                        look.bases.push(path);
                    } else if !changes_directory && plainly(&path) != self.root {
                        look.reasons.push(format!("`{candidate}` is a directory"));
                    }
                    continue;
                }
                match self.pin(PinKind::Script, &path, None, Some(file)) {
                    Ok(_) => look.pinned += 1,
                    Err(error) => look.reasons.push(format!("`{candidate}`: {error}")),
                }
            }
            if let Some(hole) = unknown {
                look.reasons.push(format!("where `{candidate}` is depends on {hole}"));
            }
        }
        if word.holes.is_empty() && word.text.contains(['*', '?', '[']) && word.text.contains('/') {
            look.reasons.push(format!("`{}` is a pattern of many files", word.text));
        }
    }

    /// Whether a path is the project's: by how it is written, or by where it leads.
    fn is_of_project(&self, path: &Path) -> bool {
        plainly(path).starts_with(&self.root)
            || std::fs::canonicalize(path).is_ok_and(|real| real.starts_with(&self.root))
    }
}

/// What is known of a command while its words are looked at.
struct Look {
    /// The directories that its words may be relative to.
    bases: Vec<PathBuf>,
    reasons: Vec<String>,
    pinned: usize,
    /// True if none of its programs runs anything that its words name.
    only_reads: bool,
}

/// Why a file was not pinned.
#[derive(Debug, thiserror::Error)]
enum NotPinned {
    #[error("{0}")]
    Because(#[from] Unhashed),
    #[error("its path is not UTF-8")]
    NotUtf8,
}

/// What of a path is below a directory. Where both are written alike, as nearly always, that is seen without taking
/// them apart.
fn below<'p>(directory: &Path, path: &'p Path) -> Option<&'p Path> {
    let bytes = path.as_os_str().as_bytes();
    let rest = bytes.strip_prefix(directory.as_os_str().as_bytes());
    match rest.and_then(|rest| rest.strip_prefix(b"/")) {
        Some(rest) if !rest.starts_with(b"/") => Some(Path::new(OsStr::from_bytes(rest))),
        _ => path.strip_prefix(directory).ok(),
    }
}

/// A path without `.` and `..`, as far as its text tells.
fn plainly(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}
