//! What a script has set so far: variables, functions, the directory.

use std::collections::{HashMap, HashSet};
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

/// A state is copied for every branch. What may be large in it is shared until it is changed.
#[derive(Debug, Clone, Default)]
pub(super) struct State {
    variables: Rc<HashMap<String, Binding>>,
    /// Variables that programs get to see.
    exported: Rc<HashSet<String>>,
    functions: Rc<HashMap<String, Rc<syntax::Command>>>,
    aliases: Rc<HashMap<String, String>>,
    /// Where the next command may run.
    pub(super) directories: Arc<Vec<Value>>,
    /// Where it may run if the last command failed, where that makes a difference.
    pub(super) if_failed: Option<Arc<Vec<Value>>>,
    pub(super) previous: Arc<Vec<Value>>,
    pub(super) pushed: Vec<Arc<Vec<Value>>>,
    /// `$0`, where it is known.
    pub(super) script: Option<Value>,
    /// `$1` and so on.
    pub(super) positional: Vec<Value>,
    /// Files that were written here, and what is in them.
    files: Rc<Vec<(String, Value)>>,
    /// Variables with attributes that change what they hold: `declare -i`, `-l`, `-u`, `-n`.
    typed: Rc<HashSet<String>>,
    /// Links that were made here, and where they lead.
    links: Vec<(String, Value)>,
    /// Whether it ends at the first error.
    pub(super) stops_at_errors: bool,
}

impl State {
    pub(super) fn in_directory(directory: Value) -> Self {
        Self { directories: vec![directory].into(), ..Self::default() }
    }

    /// What a variable may hold.
    pub(super) fn get(&self, name: &str) -> Binding {
        if let Some(binding) = self.variables.get(name) {
            return binding.clone();
        }
        let known = match name {
            "HOME" => home(),
            "PWD" => return Binding::Values(self.directories.to_vec()),
            "OLDPWD" if !self.previous.is_empty() => {
                return Binding::Values(self.previous.to_vec());
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
        let exported = &self.exported;
        if !self.variables.is_empty() {
            Rc::make_mut(&mut self.variables)
                .retain(|name, _| exported.contains(name) || name == "IFS");
        }
        self.positional.clear();
    }

    pub(super) fn set(&mut self, name: &str, binding: Binding) {
        Rc::make_mut(&mut self.variables).insert(name.to_owned(), binding);
    }

    pub(super) fn unset(&mut self, name: &str) {
        self.set(name, Binding::one(Value::default()));
        if self.functions.contains_key(name) {
            Rc::make_mut(&mut self.functions).remove(name);
        }
    }

    /// Goes to another directory, if that succeeds.
    pub(super) fn change_directory(&mut self, to: Vec<Value>) {
        let before = std::mem::replace(&mut self.directories, to.into());
        self.previous = Arc::clone(&before);
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
        if !Rc::ptr_eq(&self.functions, &other.functions) {
            let functions = Rc::make_mut(&mut self.functions);
            for (name, function) in other.functions.iter() {
                functions.entry(name.clone()).or_insert_with(|| Rc::clone(function));
            }
        }
        if !Rc::ptr_eq(&self.aliases, &other.aliases) {
            let theirs = other.aliases.iter().map(|(name, text)| (name.clone(), text.clone()));
            Rc::make_mut(&mut self.aliases).extend(theirs);
        }
        if !Rc::ptr_eq(&self.exported, &other.exported) {
            Rc::make_mut(&mut self.exported).extend(other.exported.iter().cloned());
        }
        if !Rc::ptr_eq(&self.files, &other.files) {
            let files = Rc::make_mut(&mut self.files);
            for file in other.files.iter() {
                if !files.contains(file) {
                    files.push(file.clone());
                }
            }
        }
        self.stops_at_errors &= other.stops_at_errors;
        if self.positional != other.positional {
            self.positional = vec![Value::unknown()];
        }
    }

    fn join_variables(&mut self, other: &Self) {
        let names: HashSet<&String> = self.variables.keys().chain(other.variables.keys()).collect();
        let mut joined = Vec::new();
        for name in names {
            let (ours, theirs) = (self.get(name), other.get(name));
            if ours != theirs || !self.variables.contains_key(name) {
                joined.push((name.clone(), ours.or(theirs)));
            }
        }
        Rc::make_mut(&mut self.variables).extend(joined);
    }

    /// About how much it takes to copy what was changed.
    pub(super) fn size(&self) -> usize {
        self.variables.len() + self.functions.len() + self.aliases.len() + self.files.len()
    }

    pub(super) fn export(&mut self, name: &str) {
        if !self.exported.contains(name) {
            Rc::make_mut(&mut self.exported).insert(name.to_owned());
        }
    }

    pub(super) fn function(&self, name: &str) -> Option<Rc<syntax::Command>> {
        self.functions.get(name).cloned()
    }

    pub(super) fn define(&mut self, name: &str, body: syntax::Command) {
        Rc::make_mut(&mut self.functions).insert(name.to_owned(), Rc::new(body));
    }

    pub(super) fn alias(&self, name: &str) -> Option<String> {
        self.aliases.get(name).cloned()
    }

    /// Lets a name stand for another text, or no longer.
    pub(super) fn set_alias(&mut self, name: &str, text: Option<&str>) {
        let aliases = Rc::make_mut(&mut self.aliases);
        match text {
            Some(text) => aliases.insert(name.to_owned(), text.to_owned()),
            None => aliases.remove(name),
        };
    }

    /// Remembers what is in a file.
    pub(super) fn keep_file(&mut self, path: &str, content: Value) {
        const MOST_FILES: usize = 64;
        let content = if content.size() > LONGEST { Value::unknown() } else { content };
        if self.files.len() < MOST_FILES {
            Rc::make_mut(&mut self.files).push((path.to_owned(), content));
        }
    }

    /// Remembers that a path leads to another one.
    pub(super) fn link(&mut self, from: &str, to: &Value) {
        if self.links.len() < 8 {
            self.links.push((from.trim_start_matches("./").to_owned(), to.clone()));
        }
    }

    pub(super) fn is_typed(&self, name: &str) -> bool {
        self.typed.contains(name)
    }

    pub(super) fn set_typed(&mut self, name: &str) {
        Rc::make_mut(&mut self.typed).insert(name.to_owned());
    }

    pub(super) fn has_links(&self) -> bool {
        !self.links.is_empty()
    }

    /// Where else a path leads.
    pub(super) fn leads_to(&self, path: &Value) -> Option<Value> {
        let (first, rest) = path.parts().split_first()?;
        let Part::Text(text) = first else { return None };
        self.links.iter().find_map(|(from, to)| {
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
        self.files.len()
    }

    /// Files stay when a shell is left.
    pub(super) fn take_files_of(&mut self, other: &Self) {
        self.files = Rc::clone(&other.files);
        self.links.clone_from(&other.links);
    }

    /// The content of a file that was written here.
    pub(super) fn file(&self, path: &str) -> Option<&Value> {
        let plain = |path: &'_ str| path.trim_start_matches("./").to_owned();
        let path = plain(path);
        self.files.iter().rev().find(|(name, _)| plain(name) == path).map(|(_, text)| text)
    }
}

pub(super) fn home() -> Value {
    let mut home = Value::default();
    home.push(Part::Home);
    home
}
