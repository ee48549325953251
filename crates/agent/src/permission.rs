//! What the agent may use without a person being asked again.
//!
//! A grant is on a resource: `command(npm test)`, `read_file(/etc/hosts)`, `write_file(/work/src/**)`,
//! `read_url(https://docs.rs/*)`, `mcp(github/*)`. It comes from a person who said "always", or from a hook that permits a
//! resource, and lasts as long as the session. It satisfies an *ask*; never a *force ask*, and never a deny.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use globset::{GlobBuilder, GlobMatcher};
use serde::{Serialize, Serializer};
use tollgate_core::event::ToolCall;
use tollgate_core::policy::resolve;
use tollgate_core::tools::{self, Access};

/// The sort of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResourceKind {
    /// A command line.
    Command,
    /// A file or directory to read.
    ReadFile,
    /// A file to write.
    WriteFile,
    /// An address to read.
    ReadUrl,
    /// A tool of an MCP server: `server/tool`.
    Mcp,
    /// Any other tool, by its name.
    Tool,
}

impl ResourceKind {
    const ALL: [Self; 6] =
        [Self::Command, Self::ReadFile, Self::WriteFile, Self::ReadUrl, Self::Mcp, Self::Tool];

    const fn name(self) -> &'static str {
        match self {
            Self::Command => "command",
            Self::ReadFile => "read_file",
            Self::WriteFile => "write_file",
            Self::ReadUrl => "read_url",
            Self::Mcp => "mcp",
            Self::Tool => "tool",
        }
    }
}

/// Something that a call uses, or a pattern of such things.
///
/// ```
/// use tollgate_agent::permission::Resource;
///
/// let resource: Resource = "command(npm test)".parse()?;
/// assert_eq!(resource.to_string(), "command(npm test)");
/// assert!("npm test".parse::<Resource>().is_err());
/// # Ok::<(), tollgate_agent::permission::NotAResource>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Resource {
    /// Its sort.
    pub kind: ResourceKind,
    /// Which one.
    pub what: String,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", self.kind.name(), self.what)
    }
}

impl Serialize for Resource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A text that names no resource.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` names no resource: write one as `command(npm test)`, `read_file(/path)`, `write_file(/path)`, \
     `read_url(https://host/*)`, `mcp(server/tool)` or `tool(name)`"
)]
pub struct NotAResource(String);

impl FromStr for Resource {
    type Err = NotAResource;

    fn from_str(text: &str) -> Result<Self, NotAResource> {
        let wrong = || NotAResource(text.chars().take(200).collect());
        let (name, rest) = text.trim().split_once('(').ok_or_else(wrong)?;
        let what = rest.strip_suffix(')').map(str::trim).filter(|what| !what.is_empty());
        let kind = ResourceKind::ALL.into_iter().find(|kind| kind.name() == name);
        match (kind, what) {
            (Some(kind), Some(what)) => Ok(Self { kind, what: what.to_owned() }),
            _ => Err(wrong()),
        }
    }
}

/// What a call uses, where paths that do not begin at the root begin at `base`. Nothing where that cannot be told: no
/// grant covers it then, and a person is asked.
pub fn resources(call: &ToolCall, base: Option<&Path>) -> Option<Vec<Resource>> {
    if let Some(server) = call.server.as_deref().filter(|server| !server.is_empty()) {
        return Some(vec![Resource {
            kind: ResourceKind::Mcp,
            what: format!("{server}/{}", call.name),
        }]);
    }
    let one = |kind, what: &str| Some(vec![Resource { kind, what: what.to_owned() }]);
    if call.is("run_command") {
        return one(ResourceKind::Command, call.text("CommandLine")?.trim());
    }
    if call.is("read_url_content") {
        return one(ResourceKind::ReadUrl, call.text("Url")?);
    }
    // What is typed into a command may be anything: whoever has said yes once has not said yes to that.
    if call.is("manage_task") && call.args.contains_key("Input") {
        return None;
    }
    let touched = tools::paths(call).ok()?;
    if touched.is_empty() {
        return one(ResourceKind::Tool, &call.name);
    }
    let resource = |touched: &tools::Touched<'_>| {
        let kind = match touched.access {
            Access::Read => ResourceKind::ReadFile,
            _ => ResourceKind::WriteFile,
        };
        let path = Path::new(&*touched.path);
        let path = base.map_or_else(|| path.to_owned(), |base| base.join(path));
        Some(Resource { kind, what: real(&path)?.to_str()?.to_owned() })
    };
    touched.iter().map(resource).collect()
}

/// Where a path leads. A grant is on a place, not on one of the names of it.
fn real(path: &Path) -> Option<PathBuf> {
    let links = |path: PathBuf| fs::read_link(path);
    resolve(&links, path).ok()
}

/// Who has granted something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum GrantedBy {
    /// A person, for this session.
    Person,
    /// A hook.
    Hook,
    /// Whoever set up the agent.
    Setup,
}

/// A resource that may be used.
#[derive(Debug, Clone, Serialize)]
pub struct Grant {
    /// The resource, or a pattern of them.
    pub resource: Resource,
    /// Who has granted it.
    pub by: GrantedBy,
    #[serde(skip)]
    pattern: Pattern,
}

#[derive(Debug, Clone)]
enum Pattern {
    Exactly,
    Like(GlobMatcher),
}

impl Grant {
    fn new(resource: Resource, by: GrantedBy) -> Self {
        let has_pattern = resource.what.contains(['*', '?', '[']);
        // `*` in a path ends at a slash, as in a shell; in a command or an address it does not.
        let is_path = matches!(resource.kind, ResourceKind::ReadFile | ResourceKind::WriteFile);
        let glob = GlobBuilder::new(&resource.what).literal_separator(is_path).build();
        let pattern = match glob {
            Ok(glob) if has_pattern => Pattern::Like(glob.compile_matcher()),
            _ => Pattern::Exactly,
        };
        Self { resource, by, pattern }
    }

    fn covers(&self, used: &Resource) -> bool {
        if self.resource.kind != used.kind {
            return false;
        }
        if self.resource.what == used.what {
            return true;
        }
        // `npm *` is npm with arguments, and not whatever else a shell makes of the rest of the line.
        let is_plain = used.kind != ResourceKind::Command || is_plain_command(&used.what);
        match &self.pattern {
            Pattern::Like(glob) => is_plain && glob.is_match(&used.what),
            Pattern::Exactly => false,
        }
    }
}

/// Whether a shell takes a command line for one command and its arguments, as they are written.
fn is_plain_command(line: &str) -> bool {
    line.chars().all(|c| c.is_alphanumeric() || " ./_-=:,@%+".contains(c))
}

/// The grants of a session. Cheap to share; safe from many tasks.
///
/// ```
/// use tollgate_agent::permission::{GrantedBy, Grants};
/// use tollgate_core::event::ToolCall;
///
/// let grants = Grants::default();
/// grants.add("command(cargo *)".parse()?, GrantedBy::Person);
/// let run = |line: &str| ToolCall::new("run_command").arg("CommandLine", line);
/// assert!(grants.cover(&run("cargo test")));
/// assert!(!grants.cover(&run("cargo test; rm -rf /")));
/// # Ok::<(), tollgate_agent::permission::NotAResource>(())
/// ```
#[derive(Debug, Default)]
pub struct Grants {
    grants: Mutex<Vec<Grant>>,
    /// Where paths begin that do not begin at the root.
    base: Option<PathBuf>,
}

/// The most grants of a session: who grants more grants everything.
const MOST: usize = 1_000;

impl Grants {
    /// None yet, for an agent that works in this directory: paths that do not begin at the root begin there.
    pub fn below(directory: impl Into<PathBuf>) -> Self {
        Self { base: Some(directory.into()), ..Self::default() }
    }

    /// What a call uses.
    pub fn resources(&self, call: &ToolCall) -> Option<Vec<Resource>> {
        resources(call, self.base.as_deref())
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Grants a resource. The same one counts once.
    pub fn add(&self, resource: Resource, by: GrantedBy) {
        let mut grants = self.lock();
        if grants.len() < MOST && grants.iter().all(|grant| grant.resource != resource) {
            grants.push(Grant::new(resource, by));
        }
    }

    /// Whether all that a call uses is granted.
    pub fn cover(&self, call: &ToolCall) -> bool {
        self.cover_with(call, &[])
    }

    /// The same, where more is granted for this call.
    pub(crate) fn cover_with(&self, call: &ToolCall, more: &[Resource]) -> bool {
        let Some(used) = self.resources(call) else { return false };
        let grants = self.lock();
        used.iter().all(|used| {
            let more = more
                .iter()
                .any(|more| more == used || Grant::new(more.clone(), GrantedBy::Hook).covers(used));
            more || grants.iter().any(|grant| grant.covers(used))
        })
    }

    /// All of them, in the order in which they were granted.
    pub fn list(&self) -> Vec<Grant> {
        self.lock().clone()
    }
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn covers(grant: &str, call: &ToolCall) -> bool {
        let grants = Grants::default();
        grants.add(grant.parse().unwrap(), GrantedBy::Person);
        grants.cover(call)
    }

    #[test]
    fn a_grant_covers_what_it_names_and_nothing_beside_it() {
        let run = |line: &str| ToolCall::new("run_command").arg("CommandLine", line);
        let write = |path: &str| {
            ToolCall::new("write_to_file").arg("TargetFile", path).arg("CodeContent", "")
        };
        let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
        let url = |url: &str| ToolCall::new("read_url_content").arg("Url", url);
        let mcp = |tool: &str| ToolCall::new(tool).server("github");
        for (grant, call, wanted) in [
            ("command(npm test)", run("npm test"), true),
            ("command(npm test)", run(" npm test "), true),
            ("command(npm test)", run("npm test --all"), false),
            ("command(npm *)", run("npm test --all"), true),
            ("command(npm *)", run("npm test && rm -rf ~"), false),
            ("command(npm *)", run("npm test $(id)"), false),
            ("command(npm *)", run("npm test > /etc/passwd"), false),
            ("command(npm *)", run("npm test\nid"), false),
            ("command(*)", run("npmx"), true),
            ("read_file(/nowhere/a)", view("/nowhere/a"), true),
            ("read_file(/nowhere/*)", view("/nowhere/a"), true),
            ("read_file(/nowhere/*)", view("/nowhere/a/b"), false),
            ("read_file(/nowhere/**)", view("/nowhere/a/b"), true),
            ("read_file(/nowhere/**)", view("/nowhere/../elsewhere/b"), false),
            ("read_file(/nowhere/a)", write("/nowhere/a"), false),
            ("write_file(/nowhere/a)", view("/nowhere/a"), false),
            ("write_file(/nowhere/a)", write("/nowhere/a"), true),
            ("read_url(https://docs.rs/*)", url("https://docs.rs/x/y"), true),
            ("read_url(https://docs.rs/*)", url("https://docs.rs.evil.example/x"), false),
            ("mcp(github/*)", mcp("delete"), true),
            ("mcp(github/list)", mcp("delete"), false),
            ("mcp(git/*)", mcp("list"), false),
            ("tool(schedule)", ToolCall::new("schedule"), true),
        ] {
            assert_eq!(covers(grant, &call), wanted, "{grant}: {call:?}");
        }
    }

    #[test]
    fn a_link_is_not_the_place_it_leads_to() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::os::unix::fs::symlink("/etc/hosts", root.join("link")).unwrap();
        let grant = format!("read_file({}/*)", root.display());
        let view = |name: &str| {
            ToolCall::new("view_file").arg("AbsolutePath", root.join(name).to_str().unwrap())
        };
        assert!(covers(&grant, &view("file")));
        assert!(!covers(&grant, &view("link")));
    }

    #[test]
    fn a_path_that_does_not_begin_at_the_root_is_below_the_workspace() {
        let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
        let grants = Grants::below("/nowhere");
        grants.add("read_file(/nowhere/a)".parse().unwrap(), GrantedBy::Person);
        assert!(grants.cover(&view("a")) && grants.cover(&view("./b/../a")));
        assert!(!grants.cover(&view("../a")));
        assert!(!covers("read_file(/nowhere/a)", &view("a")));
    }

    #[test]
    fn what_is_no_resource_says_how_to_write_one() {
        for text in ["", "npm test", "command()", "command(x", "shell(x)"] {
            let error = text.parse::<Resource>().unwrap_err().to_string();
            assert!(error.contains("command(npm test)"), "{error}");
        }
    }
}
