//! Reads an argument list by a row of the table, and tells what it does.

use std::borrow::Cow;
use std::sync::Arc;

use super::arg::Arg;
use super::row::{Act, DRY, Deep, LIVE, NONE, ONE, Opt, Role, TREE, Tool, What, Which};
use super::{Effect, Kind, Location, Source, Target, Thing, location, of};
use crate::resolve::{Command, Surroundings, Unknown, Why, analyze};
use crate::value::Value;

/// Deepest nesting of subcommands: `aws` `s3api` `…`.
const LEVELS: usize = 4;

/// How deep code in an argument may hold code in an argument.
const DEEPEST: u8 = 3;

/// How often code in arguments is looked at, for all commands together: it takes time.
const MOST: u8 = 32;

/// Programs that write what they get from other machines.
const FETCHERS: &[&str] = &[
    "curl",
    "wget",
    "wget2",
    "aria2c",
    "axel",
    "http",
    "https",
    "xh",
    "scp",
    "sftp",
    "aws s3 cp",
    "gsutil",
];

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Out {
    pub(super) list: Vec<Effect>,
    /// True while what is found is only what may be done.
    unsure: bool,
    /// The file that the commands are in, if they are not on the command line.
    pub(super) script: Option<Arc<Source>>,
    /// What could not be told of what was looked at.
    pub(super) unknowns: Vec<Unknown>,
    /// How deep in code within code it is.
    depth: u8,
    /// How often such code was looked at.
    shells: u8,
}

/// A call of a tool while it is looked at.
#[derive(Debug)]
pub(crate) struct Call<'a, 'o> {
    /// The command it is.
    pub(crate) command: &'a Command,
    /// The name as a person knows it, subcommands included.
    pub(crate) by: Cow<'a, str>,
    /// The words that are no options.
    pub(crate) operands: Vec<Arg<'a>>,
    /// The options that have values.
    pub(crate) given: Vec<(&'static Opt, Arg<'a>)>,
    /// What the options turn on.
    pub(crate) bits: u32,
    /// The name of the subcommand; empty where there is none.
    pub(crate) name: &'static str,
    /// Where it works.
    pub(crate) directories: Cow<'a, [Value]>,
    pub(super) rows: [Option<&'static Tool>; LEVELS],
    out: &'o mut Out,
}

impl<'a, 'o> Call<'a, 'o> {
    pub(crate) fn new(command: &'a Command, by: &'a str, out: &'o mut Out) -> Self {
        Self {
            command,
            by: Cow::Borrowed(by),
            operands: Vec::new(),
            given: Vec::new(),
            bits: 0,
            name: "",
            directories: Cow::Borrowed(&command.directories),
            rows: [None; LEVELS],
            out,
        }
    }

    /// Tells what the call does that has these words behind the program's name.
    pub(crate) fn run(&mut self, tool: &'static Tool, words: &'a [Value]) {
        let mut tool = tool;
        let mut words = words;
        for level in 0..LEVELS {
            if let Some(row) = self.rows.get_mut(level) {
                *row = Some(tool);
            }
            if asks_for_help(words) {
                return;
            }
            if tool.subs.is_empty() {
                break;
            }
            // Options before the subcommand are the program's own.
            let used = self.parse(tool, words, true);
            let rest = words.get(used..).unwrap_or(&[]);
            let sub = rest.first().and_then(Value::known).and_then(|name| find(tool.subs, name));
            let Some(((sub, name), behind)) = sub.zip(rest.get(1..)) else {
                words = rest;
                break;
            };
            self.say(name);
            self.name = name;
            tool = sub;
            words = behind;
        }
        self.parse(tool, words, false);
        self.change_directory();
        self.bits |= match self.operands.len() {
            0 => NONE,
            1 => ONE,
            _ => 0,
        };
        if let Some((option, _)) = tool.says.filter(|(_, bits)| self.has(*bits)) {
            self.say(option);
        }
        let before = self.out.list.len();
        self.play_roles();
        for act in tool.acts {
            self.act(act);
        }
        if let Some(special) = tool.special {
            special(self);
        }
        if FETCHERS.iter().any(|name| *self.by == **name) {
            self.fetched(before);
        }
        if self.has(DRY) && !self.has(LIVE) {
            let mut index = 0;
            self.out.list.retain(|effect| {
                index += 1;
                index <= before || matches!(effect.kind, Kind::Read | Kind::List)
            });
        }
    }

    /// Adds a word to the name that a person knows it by.
    pub(crate) fn say(&mut self, word: &str) {
        let mut by = String::with_capacity(self.by.len() + 1 + word.len());
        by.push_str(&self.by);
        by.push(' ');
        by.push_str(word);
        self.by = Cow::Owned(by);
    }

    /// Whether one of these is turned on.
    pub(crate) fn has(&self, bits: u32) -> bool {
        self.bits & bits != 0
    }

    /// The last value of an option with one of these bits.
    pub(crate) fn value_of(&self, bits: u32) -> Option<Arg<'a>> {
        self.given.iter().rev().find(|(option, _)| option.bits & bits != 0).map(|(_, arg)| *arg)
    }

    /// Every value of options with one of these bits.
    pub(crate) fn values_of(&self, bits: u32) -> Vec<Arg<'a>> {
        let wanted = self.given.iter().filter(|(option, _)| option.bits & bits != 0);
        wanted.map(|(_, arg)| *arg).collect()
    }

    /// Something is done to a file.
    pub(crate) fn path(&mut self, kind: Kind, arg: Arg<'_>, tree: bool) {
        if arg.is_empty() || (arg.is("-") && kind != Kind::Delete) {
            return;
        }
        let (by, out) = (&self.by, &mut *self.out);
        location::each(arg, &self.directories, |location| {
            out.path(by, kind, location, tree);
        });
    }

    /// The same for a path that is written out.
    pub(crate) fn path_text(&mut self, kind: Kind, path: &str, tree: bool) {
        let (by, out) = (&self.by, &mut *self.out);
        location::each_of_text(path, &self.directories, |location| {
            out.path(by, kind, location, tree);
        });
    }

    /// The same for a path in a directory.
    pub(crate) fn path_in(&mut self, kind: Kind, directory: Arg<'_>, name: &str, tree: bool) {
        let (by, out) = (&self.by, &mut *self.out);
        location::each(directory, &self.directories, |mut location| {
            location.enter(name);
            out.path(by, kind, location, tree);
        });
    }

    /// The same for a pattern in a directory.
    pub(crate) fn pattern_in(&mut self, kind: Kind, directory: Arg<'_>, pattern: &str, tree: bool) {
        let (by, out) = (&self.by, &mut *self.out);
        location::each(directory, &self.directories, |mut location| {
            location.enter(pattern);
            location.exact = false;
            out.path(by, kind, location, tree);
        });
    }

    /// Files of names that are not known are written to a directory, or to the one it works in.
    pub(crate) fn unpack(&mut self, directory: Option<Arg<'_>>) {
        let here = Value::text(".");
        let directory = directory.unwrap_or(Arg::new(&here));
        self.maybe(|call| call.path(Kind::Write, directory, true));
    }

    /// All that was found so far.
    pub(crate) fn found(&self) -> &[Effect] {
        &self.out.list
    }

    /// Notes what `work` finds as something that the command may do.
    pub(crate) fn maybe(&mut self, work: impl FnOnce(&mut Self)) {
        let before = std::mem::replace(&mut self.out.unsure, true);
        work(self);
        self.out.unsure = before;
    }

    /// Something is done to what is no file.
    pub(crate) fn thing(&mut self, thing: Thing, name: impl Into<String>, destroys: bool) {
        let target = Target::Thing { what: thing.name(), name: name.into() };
        let effect = Effect { destroys, ..Effect::new(Kind::System, target, &*self.by) };
        self.out.push(effect);
    }

    /// Another machine is reached.
    pub(crate) fn host(&mut self, name: impl Into<String>) {
        let effect = Effect::new(Kind::Network, Target::Host(name.into()), &*self.by);
        self.out.push(effect);
    }

    /// Marks the files that were written since `from` as fetched from another machine.
    pub(crate) fn fetched(&mut self, from: usize) {
        let new = self.out.list.get_mut(from..).unwrap_or_default();
        for effect in new.iter_mut().filter(|effect| effect.kind == Kind::Write) {
            effect.fetches = true;
        }
    }

    /// Another machine is reached, and data is sent there or not.
    pub(crate) fn connect(&mut self, name: impl Into<String>, sends: bool) {
        if sends { self.send(name) } else { self.host(name) }
    }

    /// True if something comes to the standard input that is not the terminal.
    pub(crate) fn is_given_input(&self) -> bool {
        use crate::resolve::{Access, Input};
        let opens = |redirection: &crate::resolve::Redirection| redirection.access == Access::Read;
        !matches!(self.command.input, Input::Inherited)
            || self.command.redirections.iter().any(opens)
    }

    /// What is sent and fetched goes by way of another machine, which can read and change it.
    pub(crate) fn goes_through(&mut self, host: &str) {
        self.thing(Thing::Network, format!("via {host}"), false);
    }

    /// A shell does what another machine says.
    pub(crate) fn is_remote(&mut self) {
        self.out.unknowns.push(Unknown { why: Why::Remote, text: self.by.clone().into_owned() });
    }

    /// Code is fetched from elsewhere and run.
    pub(crate) fn fetches_code(&mut self, what: impl Into<String>) {
        let unknown = Unknown { why: Why::Fetched, text: what.into() };
        if !self.out.unknowns.contains(&unknown) {
            self.out.unknowns.push(unknown);
        }
    }

    /// Data is sent to another machine.
    pub(crate) fn send(&mut self, name: impl Into<String>) {
        let target = Target::Host(name.into());
        let effect = Effect { sends: true, ..Effect::new(Kind::Network, target, &*self.by) };
        self.out.push(effect);
    }

    /// A program runs.
    pub(crate) fn program(&mut self, name: impl Into<String>) {
        let effect = Effect::new(Kind::Execute, Target::Program(name.into()), &*self.by);
        self.out.push(effect);
    }

    /// Code for a shell that is within what a tool is given: `\! rm -rf x` of a database's client.
    pub(crate) fn shell(&mut self, code: &str) {
        let code = code.trim();
        if code.is_empty() {
            return;
        }
        self.program("sh");
        if self.out.depth >= DEEPEST || self.out.shells >= MOST {
            // What nobody would write, and cannot be told, is taken for the worst.
            self.thing(Thing::Process, "sh", true);
            return;
        }
        let directory = match &*self.directories {
            [only] => only.known().map(str::to_owned),
            _ => None,
        };
        let found = analyze(code, &Surroundings { directory });
        self.out.depth += 1;
        self.out.shells += 1;
        for command in &found.commands {
            of::add(command, self.out);
        }
        self.out.depth -= 1;
        if !found.unknowns.is_empty() {
            self.program("$?");
            self.out.unknowns.extend(found.unknowns);
        }
    }

    /// Whether the operands come from a list that is not known: `xargs tool`.
    pub(crate) fn is_fed(&self) -> bool {
        self.command.via.iter().any(|by| by == "xargs" || by == "parallel")
    }

    fn act(&mut self, act: &Act) {
        if self.bits & act.when != act.when || self.has(act.unless) {
            return;
        }
        match act.what {
            What::Path(kind, which, deep) => {
                let tree = self.is_deep(deep);
                for index in self.range(which) {
                    if let Some(&arg) = self.operands.get(index) {
                        self.path(kind, arg, tree);
                    }
                }
            }
            What::Fixed(kind, path, deep) => {
                let tree = self.is_deep(deep);
                self.path_text(kind, path, tree);
            }
            What::MayFill(path) => self.maybe(|call| call.path_text(Kind::Write, path, true)),
            What::Thing(thing, destroys) => self.thing(thing, "", destroys),
            What::Each(thing, which, destroys) => {
                let range = self.range(which);
                if range.is_empty() {
                    self.thing(thing, "", destroys);
                }
                for index in range {
                    if let Some(arg) = self.operands.get(index) {
                        let name = arg.text();
                        self.thing(thing, name, destroys);
                    }
                }
            }
            What::Joined(thing, destroys) => {
                let mut name = String::new();
                for operand in &self.operands {
                    if !name.is_empty() {
                        name.push(' ');
                    }
                    name.push_str(&operand.text());
                }
                self.thing(thing, name, destroys);
            }
            What::Host(which) => {
                for index in self.range(which) {
                    if let Some(arg) = self.operands.get(index) {
                        self.host(host_of(&arg.text()));
                    }
                }
            }
            What::Net(host) => self.host(host),
            What::Runs => self.program(self.by.clone()),
        }
    }

    fn is_deep(&self, deep: Deep) -> bool {
        match deep {
            Deep::Flat => false,
            Deep::Tree => true,
            Deep::Option => self.has(TREE),
        }
    }

    fn range(&self, which: Which) -> std::ops::Range<usize> {
        let count = self.operands.len();
        match which {
            Which::All => 0..count,
            Which::First => 0..count.min(1),
            Which::Second => 1.min(count)..2.min(count),
            Which::Rest => 1.min(count)..count,
            Which::Last => count.saturating_sub(1)..count,
        }
    }

    fn play_roles(&mut self) {
        for index in 0..self.given.len() {
            let Some(&(option, arg)) = self.given.get(index) else { continue };
            match option.role {
                Role::Plain | Role::Base => {}
                Role::Read => self.path(Kind::Read, arg, false),
                Role::ReadTree => self.path(Kind::Read, arg, true),
                Role::Write => self.path(Kind::Write, arg, false),
                Role::WriteTree => self.path(Kind::Write, arg, true),
                Role::Execute => self.path(Kind::Execute, arg, false),
            }
        }
    }

    fn change_directory(&mut self) {
        for index in 0..self.given.len() {
            let Some(&(option, arg)) = self.given.get(index) else { continue };
            if option.role != Role::Base {
                continue;
            }
            let mut directories = Vec::new();
            location::each_value(arg, &self.directories, |value| directories.push(value));
            self.directories = Cow::Owned(directories);
        }
    }
}

/// The machine in an address: of a URL, `user@host:path`, `host:port`, `host`.
pub(crate) fn host_of(address: &str) -> &str {
    let rest = address.split_once("://").map_or(address, |(_, rest)| rest);
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    // What is not known is written `$?`, and that is no query.
    let end = if rest.get(..end).is_some_and(|part| part.ends_with('$')) {
        rest.find('/').unwrap_or(rest.len())
    } else {
        end
    };
    let machine = rest.get(..end).unwrap_or(rest);
    let machine = machine.rsplit_once('@').map_or(machine, |(_, host)| host);
    if let Some(inner) = machine.strip_prefix('[') {
        return inner.split_once(']').map_or(inner, |(host, _)| host);
    }
    machine.split_once(':').map_or(machine, |(host, _)| host)
}

impl Out {
    fn path(&mut self, by: &str, kind: Kind, location: Location, tree: bool) {
        // A device file that is gone is missed by all that need it, even where it keeps nothing.
        let destroys = kind == Kind::Delete
            && location.text.starts_with("/dev/")
            && !location.text.starts_with("/dev/shm/");
        self.push(Effect { tree, destroys, ..Effect::new(kind, Target::Path(location), by) });
    }

    pub(super) fn push(&mut self, mut effect: Effect) {
        effect.sure &= !self.unsure;
        effect.script.clone_from(&self.script);
        if !self.list.contains(&effect) {
            self.list.push(effect);
        }
    }
}

fn find(subs: &'static [Tool], name: &str) -> Option<(&'static Tool, &'static str)> {
    subs.iter().find_map(|sub| {
        let name = sub.names.iter().find(|other| **other == name)?;
        Some((sub, *name))
    })
}

fn asks_for_help(words: &[Value]) -> bool {
    // Alone it asks for the version; with more behind it, it may be the option of a subcommand.
    match words.first().and_then(Value::known) {
        Some("--help") => true,
        Some("--version") => words.len() == 1,
        _ => false,
    }
}
