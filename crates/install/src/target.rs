//! Where a host has its hooks, and how one of them looks there.

use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tollgate_core::matcher::Pattern;
use tollgate_core::target::Subject;

use crate::{InstallError, Surroundings, targets};

/// Whose configuration it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Layer {
    /// The person's: for everything they do on this machine.
    User,
    /// The project's: for everybody who works on it.
    Project,
}

impl Layer {
    /// Both.
    pub const ALL: [Self; 2] = [Self::User, Self::Project];
}

impl fmt::Display for Layer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::User => "user",
            Self::Project => "project",
        })
    }
}

/// A host that Tollgate can be put into.
///
/// ```
/// use tollgate_install::{Layer, Surroundings, Target};
///
/// let here = Surroundings::new("/home/ann", "/work/shop", "/usr/bin/tollgate");
/// let claude = Target::by_name("claude")?;
/// let file = claude.place(Layer::Project, &here)?;
/// assert_eq!(file.to_str(), Some("/work/shop/.claude/settings.json"));
/// # Ok::<(), tollgate_install::InstallError>(())
/// ```
#[derive(Debug)]
pub struct Target {
    /// As people type it.
    pub name: &'static str,
    /// As its makers call it.
    pub title: &'static str,
    /// Whether it runs only what a person has trusted in it, and keeps a record of that.
    pub asks_for_trust: bool,
    /// What its program is called.
    pub(crate) programs: &'static [&'static str],
    /// Where it keeps what is the person's.
    pub(crate) home: Home,
    pub(crate) user: Option<Place>,
    pub(crate) project: Option<Place>,
    /// Other files in which it looks for hooks.
    pub(crate) also: &'static [(Layer, Place)],
    /// What it leaves in a home, where that is not the folder of its configuration.
    pub(crate) traces: &'static [&'static str],
    /// How a command is started.
    pub(crate) start: Start,
    /// How to refuse where Tollgate gives no answer.
    pub(crate) refusing: Refusing,
    /// For how long it waits at the most at an event, whatever it is told: seconds. No name is for all
    /// events.
    pub(crate) short: &'static [(&'static str, u64)],
    /// What in its configuration turns hooks off.
    pub(crate) switches: &'static [Switch],
    /// What another hook can undo.
    pub(crate) undoing: Option<&'static str>,
    pub(crate) needs: &'static [Need],
}

/// The folder in which a host keeps what is the person's.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Home {
    /// What says where it is, before all others.
    pub(crate) own_variable: Option<&'static str>,
    /// What says where it is, with others in it.
    pub(crate) variable: Option<&'static str>,
    /// What is to be added to that.
    pub(crate) below: &'static str,
    /// Where it is otherwise, in the home.
    pub(crate) folder: &'static str,
}

impl Home {
    pub(crate) const fn at(folder: &'static str) -> Self {
        Self { own_variable: None, variable: None, below: "", folder }
    }

    pub(crate) const fn by(variable: &'static str, folder: &'static str) -> Self {
        Self { own_variable: Some(variable), variable: None, below: "", folder }
    }

    pub(crate) fn path(&self, here: &Surroundings) -> PathBuf {
        let set = |name: Option<&str>| {
            let path = name.and_then(|name| here.variable(name)).map(Path::new);
            path.filter(|path| path.is_absolute())
        };
        let own = set(self.own_variable).map(Path::to_path_buf);
        let shared = || Some(set(self.variable)?.join(self.below));
        own.or_else(shared).unwrap_or_else(|| here.home.join(self.folder))
    }
}

/// A file, or a folder of files, with hooks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Place {
    /// From the folder of the host, or from the project.
    pub(crate) path: &'static str,
    pub(crate) form: Form,
}

/// What is at a place.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Form {
    /// A file of JSON.
    Json(JsonForm),
    /// A file of JSON that is one list of hooks.
    Entries,
    /// A file of TOML, with `[[hooks]]`.
    Toml,
    /// A file of TOML that has no hooks of ours, but may turn all of them off.
    Switches,
    /// A folder with a script for each event, which has its name.
    Scripts,
    /// A file of JavaScript, which is loaded.
    Plugin,
}

/// How hooks stand in JSON.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JsonForm {
    /// Under which key the events are; at the top where there is none.
    pub(crate) under: Option<&'static str>,
    /// Whether that key is a name, beside which hooks of others have theirs.
    pub(crate) named: bool,
    /// What the host reads.
    pub(crate) syntax: Syntax,
    /// Whether a file of it says its version.
    pub(crate) versioned: bool,
    /// Whether hooks are in groups.
    pub(crate) groups: Groups,
    /// What a hook says.
    pub(crate) fields: &'static [Field],
}

/// What of JSON a host reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Syntax {
    /// What the standard has.
    Strict,
    /// With comments.
    Comments,
    /// With comments and commas too many.
    Loose,
}

/// Whether hooks are in groups.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Groups {
    /// Each for itself.
    None,
    /// In groups that have a matcher or none. None is all tools.
    Bare,
    /// In groups with an empty matcher, which is all tools as well.
    EmptyMatcher,
    /// At these events in groups with this matcher, where the person has not written another one; at
    /// all others each for itself.
    Matched(&'static [(&'static str, &'static str)]),
}

/// A field of a hook.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Field {
    /// `"type": "command"`.
    Type,
    /// `"name": "tollgate"`.
    Name,
    /// The command, for a shell.
    Command(&'static str),
    /// The program, and its arguments beside it.
    Direct,
    /// For how long to wait, in seconds.
    Seconds(&'static str),
    /// For how long to wait, in milliseconds.
    Milliseconds(&'static str),
    /// What to say where a failure has to refuse.
    WhenGate(&'static str, GateValue),
}

/// The value of a field that gates have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GateValue {
    /// A word.
    Word(&'static str),
    /// `true`.
    True,
}

/// How a host starts a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// The program itself, without a shell.
    Direct,
    /// By this shell, with these arguments before the command.
    Shell(&'static [&'static str]),
    /// `bash FILE`.
    Script,
    /// From JavaScript.
    Plugin,
}

/// How a command refuses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusing {
    /// By exit code 2 and a reason, at every gate.
    Exit,
    /// As the host has it for the event.
    ItsWay,
}

/// What in a configuration turns hooks off.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Switch {
    /// Where it stands, as a JSON pointer.
    pub(crate) at: &'static str,
    pub(crate) is: Off,
}

impl Switch {
    /// Whether what stands there turns hooks off.
    pub(crate) fn is_off(&self, value: &Value) -> bool {
        match (self.is, value) {
            (Off::True, value) => *value == Value::Bool(true),
            (Off::False, value) => *value == Value::Bool(false),
            (Off::Names, Value::Array(names)) => {
                names.iter().any(|name| name.as_str() == Some("tollgate"))
            }
            (Off::Names, _) => false,
        }
    }
}

/// What turns hooks off.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Off {
    True,
    False,
    /// A list that names Tollgate.
    Names,
}

/// What the person still has to do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Need {
    /// Of which layer; of both where none is named.
    pub(crate) layer: Option<Layer>,
    pub(crate) words: &'static str,
}

impl Target {
    /// All hosts.
    pub fn all() -> &'static [Self] {
        targets::ALL
    }

    /// The host of this name.
    pub fn by_name(name: &str) -> Result<&'static Self, InstallError> {
        targets::ALL.iter().find(|target| target.name == name).ok_or_else(|| {
            let known: Vec<_> = targets::ALL.iter().map(|target| target.name).collect();
            let name = name.chars().take(80).collect();
            InstallError::UnknownHost { name, known: known.join(", ") }
        })
    }

    /// The file that Tollgate is put into, or the folder with its files.
    pub fn place(&self, layer: Layer, here: &Surroundings) -> Result<PathBuf, InstallError> {
        let place = self.place_of(layer)?;
        Ok(self.base(layer, here).join(place.path))
    }

    /// What the host still needs of the person once Tollgate is installed, in words.
    ///
    /// ```
    /// use tollgate_install::{Layer, Target};
    ///
    /// let needs = Target::by_name("codex")?.needs(Layer::User);
    /// assert!(needs.iter().any(|need| need.contains("/hooks")));
    /// # Ok::<(), tollgate_install::InstallError>(())
    /// ```
    pub fn needs(&self, layer: Layer) -> Vec<&'static str> {
        self.needs
            .iter()
            .filter(|need| need.layer.is_none_or(|it| it == layer))
            .map(|need| need.words)
            .collect()
    }

    /// The tools that it does not ask Tollgate about, where it is registered with these matchers.
    pub(crate) fn uncovered(&self, matchers: &[&str]) -> Vec<&'static str> {
        let Some(host) = tollgate_hosts::by_name(self.name) else { return Vec::new() };
        let covers = |matcher: &str, tool: &str| {
            let names = Pattern::regex(matcher);
            matches!(matcher, "" | "*") || names.is_ok_and(|it| it.matches(Subject::named(tool)))
        };
        let tools = host.tools.iter().map(|tool| tool.native).chain(host.wire.mcp_tool());
        tools.filter(|tool| !matchers.iter().any(|matcher| covers(matcher, tool))).collect()
    }

    pub(crate) fn place_of(&self, layer: Layer) -> Result<&Place, InstallError> {
        let place = match layer {
            Layer::User => &self.user,
            Layer::Project => &self.project,
        };
        place.as_ref().ok_or(InstallError::NoLayer { title: self.title, layer })
    }

    /// Returns how long it waits for a hook at an event, if the hook's settings say this.
    pub(crate) fn patience(&self, event: &str, configured: Option<Duration>) -> Option<Duration> {
        let host = tollgate_hosts::by_name(self.name)?;
        let short = self.short.iter().find(|(name, _)| name.is_empty() || *name == event);
        let short = short.map(|(_, seconds)| Duration::from_secs(*seconds));
        let longest = host.facts().and_then(|facts| facts.longest);
        let usual = configured.unwrap_or(host.patience);
        [short, longest].into_iter().flatten().chain([usual]).min()
    }

    /// What the paths of a layer begin with.
    pub(crate) fn base(&self, layer: Layer, here: &Surroundings) -> PathBuf {
        match layer {
            Layer::User => self.home.path(here),
            Layer::Project => here.project.clone(),
        }
    }
}
