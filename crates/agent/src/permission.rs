//! What the agent may use without a person being asked again.
//!
//! A grant is on a resource: `command(npm test)`, `read_file(/etc/hosts)`, `write_file(/work/src/**)`,
//! `read_url(https://docs.rs/*)`, `mcp(github/*)`. It comes from a person who said "always", or from a hook that permits a
//! resource, and lasts as long as the session. It satisfies an *ask*; never a *force ask*, and never a deny.
//!
//! What somebody writes as a grant can be a pattern. What a person has said "always" to is remembered as it was used, to
//! the letter: nobody who approves `rm *.tmp` has approved what else these letters could stand for.

mod pattern;

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
        let (what, pattern) = pattern::read(resource.kind, &resource.what, base);
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
        let base = self.base.as_deref();
        let directory = directory(call, base);
        for resource in self.resources(call).into_iter().flatten() {
            let is_command = resource.kind == ResourceKind::Command;
            let mut grant = Grant::exactly(resource, by.clone());
            if is_command {
                let Some(directory) = &directory else { continue };
                if base.and_then(real).as_ref() != Some(directory) {
                    grant.directory = Some(directory.to_string_lossy().into_owned());
                }
                grant.only_in = Some(directory.clone());
            }
            self.put(grant);
        }
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
            let (what, pattern) = match metadata.is_dir() {
                true => pattern::all_below(&place),
                false => (place, Pattern::Exactly),
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

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used, clippy::indexing_slicing)]

    use super::*;

    fn covers(grant: &str, call: &ToolCall) -> bool {
        let grants = Grants::default();
        grants.add(grant.parse().unwrap(), GrantedBy::Person);
        grants.cover(call)
    }

    #[test]
    fn a_grant_covers_what_it_names_and_nothing_beside_it() {
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

    fn run(line: &str) -> ToolCall {
        ToolCall::new("run_command").arg("CommandLine", line)
    }

    #[test]
    fn what_was_used_is_granted_to_the_letter() {
        let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
        let url = |url: &str| ToolCall::new("read_url_content").arg("Url", url);
        let mcp = |tool: &str| ToolCall::new(tool).server("github");
        for (used, other) in [
            (run("cat *"), run("cat /home/me/.ssh/id_rsa")),
            (run("rm *.tmp"), run("rm -rf precious x.tmp")),
            (run("rm -rf build/*"), run("rm -rf build/../../home/me")),
            (run("ls [ab]"), run("ls a")),
            (run("make"), run("make").arg("Cwd", "/elsewhere")),
            (run("ls"), run("ls\u{a0}")),
            (view("/nowhere/app/[id]/page.tsx"), view("/nowhere/app/i/page.tsx")),
            (view("/nowhere/*"), view("/nowhere/secret")),
            (url("https://h/s?q=1"), url("https://h/sxq=1")),
            (url("https://h/*"), url("https://h/x")),
            (mcp("*"), mcp("delete")),
        ] {
            let grants = Grants::below("/nowhere");
            grants.add_used(&used, GrantedBy::Person);
            assert!(grants.cover(&used), "{used:?}");
            assert!(!grants.cover(&other), "{used:?}: {other:?}");
            assert!(!grants.list().iter().any(|grant| grant.is_pattern));
        }
    }

    #[test]
    fn what_was_approved_and_what_was_written_as_a_pattern_are_two_things() {
        let grants = Grants::below("/nowhere");
        grants.add_used(&run("echo *"), GrantedBy::Person);
        grants.add("command(echo *)".parse().unwrap(), GrantedBy::Setup);
        grants.add("command(echo *)".parse().unwrap(), GrantedBy::Hook);
        assert!(grants.cover(&run("echo hi")));
        let listed = serde_json::to_value(grants.list()).unwrap();
        assert_eq!(
            listed,
            serde_json::json!([
                {"resource": "command(echo *)", "by": "person"},
                {"resource": "command(echo *)", "by": "setup", "is_pattern": true},
            ])
        );
    }

    #[test]
    fn a_command_is_granted_in_its_directory() {
        let grants = Grants::below("/nowhere");
        let there = run("make clean").arg("Cwd", "/elsewhere");
        grants.add_used(&there, GrantedBy::Person);
        assert!(grants.cover(&there) && !grants.cover(&run("make clean")));
        assert_eq!(grants.list()[0].directory.as_deref(), Some("/elsewhere"));
        // Who writes a grant means the command, wherever.
        assert!(covers("command(make *)", &there) && covers("command(make clean)", &there));
    }

    #[test]
    fn who_may_read_a_file_may_not_send_it_away() {
        let send = ToolCall::new("generate_image")
            .arg("Prompt", "a cat")
            .arg("ImagePaths", serde_json::json!(["/nowhere/a.png"]));
        let grants = Grants::default();
        grants.add("read_file(/nowhere/**)".parse().unwrap(), GrantedBy::Person);
        assert!(!grants.cover(&send));
        grants.add("tool(generate_image)".parse().unwrap(), GrantedBy::Person);
        assert!(grants.cover(&send));
        assert!(!covers("tool(generate_image)", &send));
    }

    #[test]
    fn a_star_in_an_address_stays_in_the_host_or_behind_it() {
        let url = |url: &str| ToolCall::new("read_url_content").arg("Url", url);
        for (grant, used, wanted) in [
            ("read_url(https://*.github.com/*)", "https://api.github.com/x", true),
            ("read_url(https://*.github.com/*)", "https://API.GitHub.com:443/x?y#z", true),
            ("read_url(https://*.github.com/*)", "https://evil.example/.github.com/x", false),
            ("read_url(https://*.github.com/*)", "https://evil.example?.github.com/x", false),
            ("read_url(https://*.github.com/*)", "https://evil.example\\.github.com/x", false),
            ("read_url(https://*.github.com/*)", "https://evil.example#.github.com/x", false),
            ("read_url(https://*.github.com/*)", "https://a.github.com@evil.example/x", false),
            ("read_url(https://*.github.com/*)", "https://me@a.github.com/x", false),
            ("read_url(https://*.github.com/*)", "https://a.github.com:8443/x", false),
            ("read_url(https://*.github.com/*)", "http://a.github.com/x", false),
            ("read_url(https://docs.rs/a/*)", "https://docs.rs/a/b", true),
            ("read_url(https://docs.rs/a/*)", "https://docs.rs/a/../b", false),
            ("read_url(https://docs.rs/a/*)", "https://docs.rs/a/%2e%2e/b", false),
            ("read_url(https://docs.rs/s?q=*)", "https://docs.rs/s?q=1", true),
            ("read_url(https://docs.rs/s?q=*)", "https://docs.rs/sxq=1", false),
            ("read_url(https://docs.rs)", "https://docs.rs/", true),
            ("read_url(*)", "https://docs.rs/", false),
            ("read_url(*://docs.rs/*)", "https://docs.rs/", false),
            ("read_url(https://docs.rs:*/)", "https://docs.rs:1/", false),
        ] {
            assert_eq!(covers(grant, &url(used)), wanted, "{grant}: {used}");
        }
        assert_eq!(resources(&url("no address"), None), None);
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
    fn what_is_asked_for_covers_what_it_says() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
        fs::create_dir_all(root.join("app/[id]")).unwrap();
        fs::write(root.join("app/[id]/page"), "").unwrap();
        std::os::unix::fs::symlink(root.join("app"), root.join("link")).unwrap();
        let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
        let list = |path: &str| ToolCall::new("list_dir").arg("DirectoryPath", path);
        let asked = |kind, target: &str| {
            let grants = Grants::below(&root);
            let grant = grants.asked_for(kind, target).unwrap();
            let shown = grant.resource.to_string();
            grants.put(grant);
            (grants, shown)
        };
        // A directory, however it is written, is all below it.
        for target in ["app", "./app/", "link", "app/**", "link/**", &path("app"), &path("link")] {
            let (grants, shown) = asked(ResourceKind::ReadFile, target);
            assert_eq!(shown, format!("read_file({}/**)", path("app")), "{target}");
            assert!(grants.cover(&view("app/[id]/page")) && grants.cover(&list("link")));
            assert!(!grants.cover(&view("other")) && !grants.cover(&list(".")), "{target}");
        }
        // What is there is meant, and not what its name could stand for.
        let (grants, _) = asked(ResourceKind::ReadFile, "app/[id]/page");
        assert!(grants.cover(&view("app/[id]/page")) && !grants.cover(&view("app/i/page")));
        let (grants, _) = asked(ResourceKind::ReadFile, "app/[id]");
        assert!(grants.cover(&view("link/[id]/page")) && !grants.cover(&view("app/i/page")));
        let (grants, _) = asked(ResourceKind::ReadFile, "link/*/page");
        assert!(grants.cover(&view("app/[id]/page")) && !grants.cover(&view("app/page")));
        let (grants, _) = asked(ResourceKind::Command, "npm *");
        assert!(grants.cover(&run("npm test")) && !grants.cover(&run("npm test; id")));
        let (grants, _) = asked(ResourceKind::Command, "npm");
        assert!(grants.cover(&run("npm")) && !grants.cover(&run("npm test")));
        let grants = Grants::below(&root);
        for (kind, target) in [
            (ResourceKind::ReadFile, " "),
            (ResourceKind::ReadFile, "app/*/../../**"),
            (ResourceKind::ReadUrl, "docs.rs"),
            (ResourceKind::ReadUrl, "*://docs.rs/*"),
        ] {
            assert!(grants.asked_for(kind, target).is_err(), "{target}");
        }
        assert!(Grants::default().asked_for(ResourceKind::ReadFile, "no-such").is_err());
    }

    #[test]
    fn what_is_no_resource_says_how_to_write_one() {
        for text in ["", "npm test", "command()", "command(x", "shell(x)"] {
            let error = text.parse::<Resource>().unwrap_err().to_string();
            assert!(error.contains("command(npm test)"), "{error}");
        }
    }
}
