//! What the agent may use without a person being asked again.
//!
//! A grant is on a resource: `command(npm test)`, `read_file(/etc/hosts)`, `write_file(/work/src/**)`,
//! `read_url(https://docs.rs/*)`, `mcp(github/*)`. It comes from a person who said "always", or from a hook that permits a
//! resource, and lasts as long as the session. It satisfies an *ask*; never a *force ask*, and never a deny.
//!
//! What somebody writes as a grant can be a pattern. What a person has said "always" to is remembered as it was used, to
//! the letter: nobody who approves `rm *.tmp` has approved what else these letters could stand for.

mod pattern;
#[cfg(test)]
mod tests;

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::{Serialize, Serializer};
use serde_json::Value;
use tollgate_core::event::ToolCall;
use tollgate_core::policy::resolve;
use tollgate_core::tools::{self, Access};
use url::Url;

use pattern::Pattern;

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
        // What a shell takes for blanks, and no other blanks.
        let line = call.text("CommandLine")?.trim_matches([' ', '\t', '\n']);
        return one(ResourceKind::Command, line);
    }
    if call.is("read_url_content") {
        // As it is asked for: what is written in two ways is one address.
        return one(ResourceKind::ReadUrl, Url::parse(call.text("Url")?).ok()?.as_str());
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
    let mut used = touched.iter().map(resource).collect::<Option<Vec<_>>>()?;
    // Who may read a file may not send it away: the tool that does is a thing to be granted by itself.
    let access = tools::lookup(&call.name).map(|tool| tool.access);
    if !matches!(access, Some(Access::Read | Access::Write)) {
        used.push(Resource { kind: ResourceKind::Tool, what: call.name.clone() });
    }
    Some(used)
}

/// Where a path leads. A grant is on a place, not on one of the names of it.
fn real(path: &Path) -> Option<PathBuf> {
    let links = |path: PathBuf| fs::read_link(path);
    resolve(&links, path).ok()
}

/// Who has granted something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
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
    /// Whether it is a pattern: else it is this resource to the letter.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_pattern: bool,
    /// The directory that a command may be run in, where it is another than that of the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The directory that it was approved for; a command that was granted in advance may be run in any.
    #[serde(skip)]
    only_in: Option<PathBuf>,
    #[serde(skip)]
    pattern: Pattern,
}

impl Grant {
    fn new(resource: Resource, by: GrantedBy, base: Option<&Path>) -> Self {
        let (what, pattern) = pattern::read(resource.kind, resource.what, base);
        Self::of(resource.kind, what, pattern, by)
    }

    fn exactly(resource: Resource, by: GrantedBy) -> Self {
        Self::of(resource.kind, resource.what, Pattern::Exactly, by)
    }

    fn of(kind: ResourceKind, what: String, pattern: Pattern, by: GrantedBy) -> Self {
        Self {
            resource: Resource { kind, what },
            by,
            is_pattern: !pattern.is_exact(),
            directory: None,
            only_in: None,
            pattern,
        }
    }

    /// Whether it covers a resource that is used in a directory.
    fn covers(&self, used: &Resource, directory: Option<&Path>) -> bool {
        if self.resource.kind != used.kind {
            return false;
        }
        let is_there = self.only_in.is_none() || self.only_in.as_deref() == directory;
        is_there && (self.resource.what == used.what || self.pattern.covers(used.kind, &used.what))
    }

    /// What it covers, in words.
    pub(crate) fn explained(&self) -> &'static str {
        match (&self.pattern, self.resource.kind) {
            (Pattern::Exactly, ResourceKind::Command) => "this command line and no other",
            (Pattern::Exactly, _) => "this and nothing else",
            (Pattern::Below { .. }, _) => "what is below that directory and like this",
            (_, ResourceKind::Command) => {
                "* stands for arguments, as long as they have no quotes, variables or operators"
            }
            (_, ResourceKind::ReadUrl) => "* in the host stays in the host",
            _ => "* stands for any text",
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.resource == other.resource
            && self.is_pattern == other.is_pattern
            && self.only_in == other.only_in
    }
}

/// The directory that a command is run in. None where that cannot be told.
fn directory(call: &ToolCall, base: Option<&Path>) -> Option<PathBuf> {
    let given = match call.args.get("Cwd") {
        None | Some(Value::Null) => "",
        Some(given) => given.as_str()?,
    };
    let path = base.map_or_else(|| PathBuf::from(given), |base| base.join(given));
    // The host's own, of which nothing is known.
    if path.as_os_str().is_empty() { Some(path) } else { real(&path) }
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

    /// Grants a resource, or a pattern of them. The same one counts once.
    pub fn add(&self, resource: Resource, by: GrantedBy) {
        self.put(Grant::new(resource, by, self.base.as_deref()));
    }

    /// Grants what a call uses: that to the letter, and nothing that only looks like it. A command is granted in the
    /// directory that it is run in.
    ///
    /// ```
    /// use tollgate_agent::permission::{GrantedBy, Grants};
    /// use tollgate_core::event::ToolCall;
    ///
    /// let grants = Grants::below("/work");
    /// let run = |line: &str| ToolCall::new("run_command").arg("CommandLine", line);
    /// grants.add_used(&run("cat *"), GrantedBy::Person);
    /// assert!(grants.cover(&run("cat *")));
    /// assert!(!grants.cover(&run("cat /home/me/.ssh/id_rsa")));
    /// assert!(!grants.cover(&run("cat *").arg("Cwd", "/elsewhere")));
    /// ```
    pub fn add_used(&self, call: &ToolCall, by: GrantedBy) {
        for grant in self.for_used(call, by) {
            self.put(grant);
        }
    }

    /// The grants on what a call uses as things stand, to be shown to a person before they count. Where a path leads may
    /// be another place by then.
    pub(crate) fn for_used(&self, call: &ToolCall, by: GrantedBy) -> Vec<Grant> {
        let base = self.base.as_deref();
        let directory = directory(call, base);
        let grant = |resource: Resource| {
            let is_command = resource.kind == ResourceKind::Command;
            let mut grant = Grant::exactly(resource, by);
            if is_command {
                let directory = directory.as_ref()?;
                if base.and_then(real).as_ref() != Some(directory) {
                    grant.directory = Some(directory.to_string_lossy().into_owned());
                }
                grant.only_in = Some(directory.clone());
            }
            Some(grant)
        };
        self.resources(call).into_iter().flatten().filter_map(grant).collect()
    }

    /// The grant that somebody asks for, to be shown to a person before it counts. A directory stands for all below it.
    /// An error where it would cover nothing, whoever grants it.
    pub(crate) fn asked_for(&self, kind: ResourceKind, target: &str) -> Result<Grant, String> {
        let target = target.trim();
        if target.is_empty() {
            return Err("Target is empty".to_owned());
        }
        let base = self.base.as_deref();
        let is_path = matches!(kind, ResourceKind::ReadFile | ResourceKind::WriteFile);
        let path = base.map_or_else(|| PathBuf::from(target), |base| base.join(target));
        // What is there is meant as it is called, also where its name looks like a pattern.
        let metadata = if is_path { fs::metadata(&path).ok() } else { None };
        if let Some(metadata) = metadata {
            let place = real(&path).and_then(|place| place.to_str().map(str::to_owned));
            let place = place.ok_or_else(|| format!("`{target}` cannot be followed to its end"))?;
            let (what, pattern) = if metadata.is_dir() {
                pattern::all_below(&place)
            } else {
                (place, Pattern::Exactly)
            };
            return Ok(Grant::of(kind, what, pattern, GrantedBy::Person));
        }
        let resource = Resource { kind, what: target.to_owned() };
        let grant = Grant::new(resource, GrantedBy::Person, base);
        let is_wrong = grant.pattern.is_exact()
            && match kind {
                ResourceKind::ReadFile | ResourceKind::WriteFile => {
                    !Path::new(&grant.resource.what).is_absolute() || target.contains('*')
                }
                ResourceKind::ReadUrl => Url::parse(target).is_err() || target.contains('*'),
                ResourceKind::Command | ResourceKind::Mcp | ResourceKind::Tool => false,
            };
        if is_wrong {
            return Err(match kind {
                ResourceKind::ReadUrl => format!(
                    "`{target}` is no address: write `https://host/path`, or `https://host/*` for all of a host"
                ),
                _ => format!(
                    "`{target}` is no path: write `/dir/file`, or `/dir/**` for all below it"
                ),
            });
        }
        Ok(grant)
    }

    /// Grants a resource to the letter.
    pub(crate) fn add_exactly(&self, resource: Resource, by: GrantedBy) {
        self.put(Grant::exactly(resource, by));
    }

    pub(crate) fn put(&self, grant: Grant) {
        let mut grants = self.lock();
        if grants.len() < MOST && !grants.iter().any(|known| known.is_same(&grant)) {
            grants.push(grant);
        }
    }

    /// Whether all that a call uses is granted.
    pub fn cover(&self, call: &ToolCall) -> bool {
        self.cover_with(call, &[])
    }

    /// The same, where more is granted for this call.
    pub(crate) fn cover_with(&self, call: &ToolCall, more: &[Resource]) -> bool {
        let Some(used) = self.resources(call) else { return false };
        let directory = directory(call, self.base.as_deref());
        let more: Vec<_> = more
            .iter()
            .map(|more| Grant::new(more.clone(), GrantedBy::Hook, self.base.as_deref()))
            .collect();
        let grants = self.lock();
        used.iter().all(|used| {
            let is_covered = |grant: &Grant| grant.covers(used, directory.as_deref());
            more.iter().any(is_covered) || grants.iter().any(is_covered)
        })
    }

    /// All of them, in the order in which they were granted.
    pub fn list(&self) -> Vec<Grant> {
        self.lock().clone()
    }
}
