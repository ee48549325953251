//! What a script has set so far: variables, functions, the directory.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use crate::syntax;
use crate::value::{Part, Value};

/// The most values that one variable is followed through.
const MOST_VALUES: usize = 8;

/// The longest value that is followed. Longer ones become unknown: a script can double a variable
/// in every line.
const LONGEST: usize = 64 * 1024;

/// What a variable holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Binding {
    /// One of these.
    Values(Vec<Value>),
    /// An array of these.
    Array(Vec<Value>),
}

impl Binding {
    pub(super) fn one(value: Value) -> Self {
        Self::Values(vec![if value.size() > LONGEST { Value::unknown() } else { value }])
    }

    /// Either this or that.
    fn or(self, other: Self) -> Self {
        match (self, other) {
            (Self::Values(mut all), Self::Values(more)) => {
                for value in more {
                    if !all.contains(&value) {
                        all.push(value);
                    }
                }
                if all.len() > MOST_VALUES {
                    all = vec![Value::unknown()];
                }
                Self::Values(all)
            }
            (one, other) if one == other => one,
            _ => Self::Values(vec![Value::unknown()]),
        }
    }
}

/// A variable that nobody has set here: most likely empty, and perhaps anything.
fn unset() -> Binding {
    Binding::Values(vec![Value::default(), Value::unknown()])
}

/// Something that is copied with every state and set by few scripts: nothing as long as it is empty,
/// and shared until it is changed.
#[derive(Debug)]
struct Shared<T>(Option<Rc<T>>);

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<T> Default for Shared<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Clone + Default> Shared<T> {
    fn get(&self) -> Option<&T> {
        self.0.as_deref()
    }

    fn change(&mut self) -> &mut T {
        Rc::make_mut(self.0.get_or_insert_default())
    }

    /// What is in the other one, unless it is this very one.
    fn unlike<'a>(&self, other: &'a Self) -> Option<&'a T> {
        let same = self.0.as_ref().zip(other.0.as_ref()).is_some_and(|(a, b)| Rc::ptr_eq(a, b));
        if same { None } else { other.get() }
    }
}

/// Names are copied with what they are names of.
type Names = BTreeSet<Rc<str>>;

/// A state is copied for every branch. What may be large in it is shared until it is changed.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    variables: Rc<BTreeMap<Rc<str>, Binding>>,
    /// What few scripts set.
    rest: Rc<Rest>,
    /// Where the next command may run.
    pub(super) directories: Arc<Vec<Value>>,
    /// Where it may run if the last command failed, where that makes a difference.
    pub(super) if_failed: Option<Arc<Vec<Value>>>,
    /// Where it ran before, once it has been anywhere else.
    previous: Option<Arc<Vec<Value>>>,
    /// `$1` and so on.
    pub(super) positional: Vec<Value>,
    /// Whether it ends at the first error.
    pub(super) stops_at_errors: bool,
}

/// What few scripts set.
#[derive(Debug, Clone, Default)]
struct Rest {
    /// Variables that programs get to see.
    exported: Shared<Names>,
    functions: Shared<BTreeMap<Rc<str>, Rc<syntax::Command>>>,
    aliases: Shared<BTreeMap<Rc<str>, Rc<str>>>,
    pushed: Shared<Vec<Arc<Vec<Value>>>>,
    /// `$0`, where it is known.
    script: Option<Value>,
    /// Files that were written here, and what is in them.
    files: Shared<Vec<(String, Value)>>,
    /// Variables with attributes that change what they hold: `declare -i`, `-l`, `-u`, `-n`.
    typed: Shared<Names>,
    /// Links that were made here, and where they lead.
    links: Shared<Vec<(String, Value)>>,
}

impl Rest {
    fn files(&self) -> &[(String, Value)] {
        self.files.get().map_or(&[], Vec::as_slice)
    }

    fn links(&self) -> &[(String, Value)] {
        self.links.get().map_or(&[], Vec::as_slice)
    }

    fn function(&self, name: &str) -> Option<&Rc<syntax::Command>> {
        self.functions.get()?.get(name)
    }

    fn exports(&self, name: &str) -> bool {
        self.exported.get().is_some_and(|names| names.contains(name))
    }

    /// Either this or that.
    fn join(&mut self, other: &Self) {
        if let Some(theirs) = self.functions.unlike(&other.functions) {
            let functions = self.functions.change();
            for (name, function) in theirs {
                functions.entry(Rc::clone(name)).or_insert_with(|| Rc::clone(function));
            }
        }
        if let Some(theirs) = self.aliases.unlike(&other.aliases) {
            let theirs = theirs.iter().map(|(name, text)| (Rc::clone(name), Rc::clone(text)));
            self.aliases.change().extend(theirs);
        }
        if let Some(theirs) = self.exported.unlike(&other.exported) {
            self.exported.change().extend(theirs.iter().cloned());
        }
        if let Some(theirs) = self.files.unlike(&other.files) {
            let files = self.files.change();
            for file in theirs {
                if !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
    }
}

impl State {
    pub(super) fn in_directory(directory: Value) -> Self {
        Self {
            variables: Rc::default(),
            rest: Rc::default(),
            directories: vec![directory].into(),
            if_failed: None,
            previous: None,
            positional: Vec::new(),
            stops_at_errors: false,
        }
    }

    /// What is changed rarely, to be changed.
    fn rest(&mut self) -> &mut Rest {
        Rc::make_mut(&mut self.rest)
    }

    /// Where it ran before.
    pub(super) fn previous(&self) -> &[Value] {
        self.previous.as_deref().map_or(&[], Vec::as_slice)
    }

    /// `$0`, where it is known.
    pub(super) fn script(&self) -> Option<&Value> {
        self.rest.script.as_ref()
    }

    pub(super) fn set_script(&mut self, script: Option<Value>) {
        if self.rest.script != script {
            self.rest().script = script;
        }
    }

    /// Remembers the directory, to come back to.
    pub(super) fn push_directory(&mut self) {
        let directories = Arc::clone(&self.directories);
        self.rest().pushed.change().push(directories);
    }

    /// The directory that was remembered last.
    pub(super) fn pop_directory(&mut self) -> Option<Arc<Vec<Value>>> {
        if self.rest.pushed.get().is_none() { None } else { self.rest().pushed.change().pop() }
    }

    /// What a variable may hold.
    pub(super) fn get(&self, name: &str) -> Binding {
        if let Some(binding) = self.variables.get(name) {
            return binding.clone();
        }
        let known = match name {
            "HOME" => home(),
            "PWD" => return Binding::Values(self.directories.to_vec()),
            "OLDPWD" if !self.previous().is_empty() => {
                return Binding::Values(self.previous().to_vec());
            }
            "TMPDIR" => Value::text("/tmp"),
            "IFS" => Value::text(" \t\n"),
            "SHELL" | "BASH" => Value::text("/bin/bash"),
            // Plain words and numbers, whatever they are.
            "USER" | "LOGNAME" => Value::text("user"),
            "HOSTNAME" => Value::text("host"),
            "UID" | "EUID" | "PPID" | "BASHPID" | "RANDOM" | "SECONDS" | "LINENO"
            | "EPOCHSECONDS" => Value::text("1234"),
            "OLDPWD" | "PATH" => Value::unknown(),
            _ => return unset(),
        };
        Binding::Values(vec![known])
    }

    /// What it was set to here, if it was.
    pub(super) fn binding(&self, name: &str) -> Option<Binding> {
        self.variables.get(name).cloned()
    }

    /// Takes back what was set for one command.
    pub(super) fn restore(&mut self, name: &str, binding: Option<Binding>) {
        match binding {
            Some(binding) => self.set(name, binding),
            None => {
                Rc::make_mut(&mut self.variables).remove(name);
            }
        }
    }

    /// As a program sees it that is another shell: without what was not exported.
    pub(super) fn in_program(&mut self) {
        let rest = &self.rest;
        if !self.variables.is_empty() {
            Rc::make_mut(&mut self.variables)
                .retain(|name, _| rest.exports(name) || &**name == "IFS");
        }
        self.positional.clear();
    }

    pub(super) fn set(&mut self, name: &str, binding: Binding) {
        Rc::make_mut(&mut self.variables).insert(name.into(), binding);
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.set(name, Binding::one(Value::default()));
        if self.rest.function(name).is_some() {
            self.rest().functions.change().remove(name);
        }
    }

    /// Goes to another directory, if that succeeds.
    pub(super) fn change_directory(&mut self, to: Vec<Value>) {
        let before = std::mem::replace(&mut self.directories, to.into());
        self.previous = Some(Arc::clone(&before));
        self.if_failed = Some(before);
    }

    /// The directories from which the script goes on, whether the last command failed or not.
    pub(super) fn settle(&mut self) {
        if let Some(others) = self.if_failed.take()
            && !self.stops_at_errors
        {
            self.add_directories(&others);
            if self.directories.len() > MOST_VALUES {
                self.directories = vec![Value::unknown()].into();
            }
        }
    }

    fn add_directories(&mut self, others: &Arc<Vec<Value>>) {
        if Arc::ptr_eq(&self.directories, others) {
            return;
        }
        for other in others.iter() {
            if !self.directories.contains(other) {
                Arc::make_mut(&mut self.directories).push(other.clone());
            }
        }
    }

    /// Either this state or that one.
    pub(super) fn join(&mut self, mut other: Self) {
        if !Rc::ptr_eq(&self.variables, &other.variables) {
            self.join_variables(&other);
        }
        self.settle();
        other.settle();
        self.add_directories(&other.directories);
        if !Rc::ptr_eq(&self.rest, &other.rest) {
            self.rest().join(&other.rest);
        }
        self.stops_at_errors &= other.stops_at_errors;
        if self.positional != other.positional {
            self.positional = vec![Value::unknown()];
        }
    }

    fn join_variables(&mut self, other: &Self) {
        let names: BTreeSet<&Rc<str>> =
            self.variables.keys().chain(other.variables.keys()).collect();
        let mut joined = Vec::new();
        for name in names {
            let (ours, theirs) = (self.get(name), other.get(name));
            if ours != theirs || !self.variables.contains_key(name) {
                joined.push((Rc::clone(name), ours.or(theirs)));
            }
        }
        Rc::make_mut(&mut self.variables).extend(joined);
    }

    /// About how much it takes to copy what was changed.
    pub(super) fn size(&self) -> usize {
        let functions = self.rest.functions.get().map_or(0, BTreeMap::len);
        let aliases = self.rest.aliases.get().map_or(0, BTreeMap::len);
        self.variables.len() + functions + aliases + self.files()
    }

    pub(super) fn export(&mut self, name: &str) {
        if !self.rest.exports(name) {
            self.rest().exported.change().insert(name.into());
        }
    }

    pub(super) fn function(&self, name: &str) -> Option<Rc<syntax::Command>> {
        self.rest.function(name).cloned()
    }

    pub(super) fn define(&mut self, name: &str, body: syntax::Command) {
        self.rest().functions.change().insert(name.into(), Rc::new(body));
    }

    pub(super) fn alias(&self, name: &str) -> Option<Rc<str>> {
        self.rest.aliases.get()?.get(name).cloned()
    }

    /// Lets a name stand for another text, or no longer.
    pub(super) fn set_alias(&mut self, name: &str, text: Option<&str>) {
        let aliases = self.rest().aliases.change();
        match text {
            Some(text) => aliases.insert(name.into(), text.into()),
            None => aliases.remove(name),
        };
    }

    /// Remembers what is in a file.
    pub(super) fn keep_file(&mut self, path: &str, content: Value) {
        const MOST_FILES: usize = 64;
        let content = if content.size() > LONGEST { Value::unknown() } else { content };
        if self.files() < MOST_FILES {
            self.rest().files.change().push((path.to_owned(), content));
        }
    }

    /// Remembers that a path leads to another one.
    pub(super) fn link(&mut self, from: &str, to: &Value) {
        if self.rest.links().len() < 8 {
            let from = from.trim_start_matches("./").to_owned();
            self.rest().links.change().push((from, to.clone()));
        }
    }

    pub(super) fn is_typed(&self, name: &str) -> bool {
        self.rest.typed.get().is_some_and(|names| names.contains(name))
    }

    pub(super) fn set_typed(&mut self, name: &str) {
        self.rest().typed.change().insert(name.into());
    }

    pub(super) fn has_links(&self) -> bool {
        self.rest.links.get().is_some()
    }

    /// Where else a path leads.
    pub(super) fn leads_to(&self, path: &Value) -> Option<Value> {
        if !self.has_links() {
            return None;
        }
        let (first, rest) = path.parts().split_first()?;
        let Part::Text(text) = first else { return None };
        self.rest.links().iter().find_map(|(from, to)| {
            let behind = text.trim_start_matches("./").strip_prefix(from.as_str())?;
            let whole = behind.is_empty() || behind.starts_with('/');
            let mut value = to.clone();
            value.push_str(behind);
            for part in rest {
                value.push(part.clone());
            }
            whole.then_some(value)
        })
    }

    pub(super) fn files(&self) -> usize {
        self.rest.files().len()
    }

    /// Files stay when a shell is left.
    pub(super) fn take_files_of(&mut self, other: &Self) {
        if !Rc::ptr_eq(&self.rest, &other.rest) {
            let rest = self.rest();
            rest.files.clone_from(&other.rest.files);
            rest.links.clone_from(&other.rest.links);
        }
    }

    /// The content of a file that was written here.
    pub(super) fn file(&self, path: &str) -> Option<&Value> {
        let path = path.trim_start_matches("./");
        let mut files = self.rest.files().iter().rev();
        files.find(|(name, _)| name.trim_start_matches("./") == path).map(|(_, text)| text)
    }
}

pub(super) fn home() -> Value {
    let mut home = Value::default();
    home.push(Part::Home);
    home
}
