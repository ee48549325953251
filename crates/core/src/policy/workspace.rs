//! `workspace_only`: file tools stay in the workspace, whatever the path looks like.

use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use super::rule::{Effect, Rule};
use crate::error::BoxError;
use crate::event::ToolCall;
use crate::target::Target;
use crate::tools::{self, PathsUnknown};

/// How many symbolic links a path may go through, as in Linux.
const MAX_LINKS: usize = 40;

/// Reads a symbolic link. The engine has no file system; `std::fs::read_link` is the usual one.
pub trait ReadLink: Send + Sync {
    /// The target of the link at `path`. An error of the kind `InvalidInput` says that it is no
    /// link, `NotFound` that it is not there.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;
}

// By value, because only so `std::fs::read_link` itself fits.
impl<F: Fn(PathBuf) -> io::Result<PathBuf> + Send + Sync> ReadLink for F {
    fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self(path.to_path_buf())
    }
}

/// A path that cannot be resolved.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResolveError {
    /// It is not absolute.
    #[error("`{0}` is not an absolute path")]
    Relative(String),
    /// It has a zero byte in it.
    #[error("`{0:?}` has a zero byte in it")]
    ZeroByte(String),
    /// It goes through too many links, or in circles.
    #[error("`{}` goes through more than {MAX_LINKS} symbolic links", .0.display())]
    TooManyLinks(PathBuf),
    /// A part of it cannot be looked at.
    #[error("`{}` cannot be resolved: {source}", path.display())]
    Unreadable {
        /// The part.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
}

/// Where an absolute path really leads: links followed, `.` and `..` taken away. What does not
/// exist yet is taken as it is written, below the deepest part that does.
pub fn resolve(links: &dyn ReadLink, path: &Path) -> Result<PathBuf, ResolveError> {
    if !path.is_absolute() {
        return Err(ResolveError::Relative(path.display().to_string()));
    }
    if path.as_os_str().as_encoded_bytes().contains(&0) {
        return Err(ResolveError::ZeroByte(path.display().to_string()));
    }
    let mut resolved = PathBuf::new();
    let mut followed = 0;
    let mut ahead: Vec<Part> = parts(path);
    while let Some(part) = ahead.pop() {
        match part {
            Part::Root(root) => resolved = root,
            Part::Up => {
                resolved.pop();
            }
            Part::Name(name) => {
                resolved.push(&name);
                match links.read_link(&resolved) {
                    Ok(target) => {
                        followed += 1;
                        if followed > MAX_LINKS {
                            return Err(ResolveError::TooManyLinks(path.to_path_buf()));
                        }
                        resolved.pop();
                        ahead.extend(parts(&target));
                    }
                    Err(error) if is_no_link(&error) => {}
                    Err(source) => {
                        return Err(ResolveError::Unreadable { path: resolved, source });
                    }
                }
            }
        }
    }
    Ok(resolved)
}

/// Whether the error says that there is no link: something else is there, or nothing.
fn is_no_link(error: &io::Error) -> bool {
    /// Windows: the file is no reparse point.
    const NOT_A_REPARSE_POINT: i32 = 4390;
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    ) || error.raw_os_error() == Some(NOT_A_REPARSE_POINT)
}

enum Part {
    Root(PathBuf),
    Up,
    Name(OsString),
}

/// The parts of a path, last first.
fn parts(path: &Path) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut root = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir => root.push(component),
            Component::CurDir => {}
            Component::ParentDir => parts.push(Part::Up),
            Component::Normal(name) => parts.push(Part::Name(name.to_os_string())),
        }
    }
    if !root.as_os_str().is_empty() {
        parts.insert(0, Part::Root(root));
    }
    parts.reverse();
    parts
}

/// Rules that keep file tools in a workspace.
///
/// ```
/// use tollgate_core::policy::{Policies, allow_all, workspace_only};
///
/// let policies = Policies::builder()
///     .rules(workspace_only(["/my/project"], std::fs::read_link))
///     .rule(allow_all())
///     .build()?;
/// # Ok::<(), tollgate_core::policy::PolicyError>(())
/// ```
#[derive(Clone)]
#[must_use = "give its rules to `Policies`"]
pub struct WorkspaceOnly {
    roots: Vec<PathBuf>,
    links: Arc<dyn ReadLink>,
    base: Option<PathBuf>,
    as_in_the_sdk: bool,
}

/// Denies every call of a tool of the table that touches a path outside all of `roots`.
///
/// Links and `..` are followed on the call's path and on the roots, each time. A call is denied,
/// too, where its paths are not known: a missing argument, a relative path without a
/// [base](WorkspaceOnly::relative_to), `~` or a `file:` address.
///
/// What a link leads to can change between the check and the call; only the operating system can
/// rule that out.
pub fn workspace_only<P: Into<PathBuf>>(
    roots: impl IntoIterator<Item = P>,
    links: impl ReadLink + 'static,
) -> WorkspaceOnly {
    WorkspaceOnly {
        roots: roots.into_iter().map(Into::into).collect(),
        links: Arc::new(links),
        base: None,
        as_in_the_sdk: false,
    }
}

impl WorkspaceOnly {
    /// What relative paths are relative to.
    pub fn relative_to(mut self, base: impl Into<PathBuf>) -> Self {
        self.base = Some(base.into());
        self
    }

    /// Covers what the Antigravity SDK covers and no more: viewing, creating and editing a file,
    /// by the path the host gives. Listing, searching and finding are free, and so is a call
    /// without a path; `~` and `file:` count as relative.
    pub fn as_in_the_sdk(mut self) -> Self {
        self.as_in_the_sdk = true;
        self
    }

    /// Whether the call touches a path outside; an error where that cannot be told.
    pub fn is_outside(&self, call: &ToolCall) -> Result<bool, BoxError> {
        if self.as_in_the_sdk {
            return match call.canonical_path.as_deref() {
                Some("") => Ok(false),
                Some(path) => Ok(self.path_is_outside(path)?),
                // A call that was rewritten has no path of the host's any more; it has arguments.
                None => match tools::paths(call) {
                    Ok(touched) => match touched.first() {
                        Some(touched) => Ok(self.path_is_outside(&touched.path)?),
                        None => Ok(false),
                    },
                    Err(PathsUnknown::Missing { .. }) => Ok(false),
                    Err(unknown) => Err(unknown.into()),
                },
            };
        }
        for touched in tools::paths(call)? {
            let path = touched.path.as_ref();
            if path.starts_with('~')
                || path.get(..5).is_some_and(|s| s.eq_ignore_ascii_case("file:"))
            {
                return Err(format!("`{path}` is no plain path").into());
            }
            if self.path_is_outside(path)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn path_is_outside(&self, path: &str) -> Result<bool, ResolveError> {
        if self.roots.is_empty() {
            return Ok(true);
        }
        let target = self.resolve(Path::new(path))?;
        for root in &self.roots {
            let root = self.resolve(root)?;
            if target.starts_with(root) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn resolve(&self, path: &Path) -> Result<PathBuf, ResolveError> {
        match &self.base {
            Some(base) if path.is_relative() => resolve(&*self.links, &base.join(path)),
            _ => resolve(&*self.links, path),
        }
    }

    fn rules(self) -> Vec<Rule> {
        let covered: Vec<&str> = if self.as_in_the_sdk {
            vec!["view_file", "create_file", "edit_file"]
        } else {
            let has_path = |tool: &&tools::Tool| tool.args.iter().any(|arg| arg.is_path);
            tools::TABLE.iter().filter(has_path).map(|tool| tool.name).collect()
        };
        let as_in_the_sdk = self.as_in_the_sdk;
        let workspace = Arc::new(self);
        let rule = |tool: &str| {
            let workspace = Arc::clone(&workspace);
            Rule::new(Target::Tool(tool.to_owned()), Effect::Deny)
                .under_all_names(!as_in_the_sdk)
                .named("workspace_only")
                .when(move |call| workspace.is_outside(call))
        };
        covered.into_iter().map(rule).collect()
    }
}

impl IntoIterator for WorkspaceOnly {
    type Item = Rule;
    type IntoIter = std::vec::IntoIter<Rule>;
    fn into_iter(self) -> Self::IntoIter {
        self.rules().into_iter()
    }
}

impl std::fmt::Debug for WorkspaceOnly {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("WorkspaceOnly")
            .field("roots", &self.roots)
            .field("base", &self.base)
            .field("as_in_the_sdk", &self.as_in_the_sdk)
            .finish_non_exhaustive()
    }
}
