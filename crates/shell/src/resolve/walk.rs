//! Goes through a script as a shell would, except that it takes every branch.

use std::borrow::Cow;
use std::rc::Rc;
use std::sync::Arc;

use super::branches::looks_up;
use super::expand::{HOLE, HOME};
use super::parameter::World;
use super::redirect::takes_output;
use super::state::State;
use super::{Access, Analysis, Command, Input, Surroundings, Unknown, Why};
use crate::effects::Source;
use crate::syntax::{
    self, Agreement, Assignment, CommandKind, Connective, Pipeline, Redirect, Script, Statement,
    Word,
};
use crate::value::{Part, Value};

/// The most commands that are looked at.
const MOST_COMMANDS: usize = 1024;

/// The most text that is read, with all that is read again (`sh -c` in `sh -c`, loops around them).
const MOST_TEXT: usize = 512 * 1024;

/// The most work: commands that are gone through, and words, with what is copied for each. Loops,
/// functions and arrays can multiply without running a single program.
const MOST_WORK: usize = 16_384;

/// How deep things may be in one another: branches, functions, scripts in scripts.
const DEEPEST: usize = 32;

pub(super) struct Walker {
    pub(super) out: Analysis,
    pub(super) state: State,
    pub(super) world: World,
    pub(super) via: Vec<String>,
    pub(super) host: Option<Value>,
    /// The file that is being followed.
    pub(super) script: Option<Arc<Source>>,
    /// How many files were read.
    pub(super) files_read: u8,
    /// Set once an archive that was downloaded here has been unpacked.
    pub(super) unpacked: bool,
    /// The command that is being run, as long as nothing else is noted: most run nothing else.
    pending: Option<Rc<Command>>,
    /// Commands that are being run and have run others, each with the place that is kept for it.
    running: Vec<(usize, Rc<Command>)>,
    /// What is run at the end.
    pub(super) traps: Vec<Value>,
    /// Texts that were decoded. Who runs one has hidden it from readers.
    pub(super) decoded: Vec<String>,
    /// Functions that are being run.
    calls: Vec<Rc<syntax::Command>>,
    /// How many pipelines and background commands we are in.
    pub(super) spawning: usize,
    depth: usize,
    commands: usize,
    work: usize,
    text: usize,
    /// Whether a bound was reached: nothing more is looked at.
    full: bool,
}

impl Walker {
    pub(super) fn new(surroundings: &Surroundings) -> Self {
        let directory = surroundings.directory.as_deref().map_or_else(
            || Value::text("."),
            |directory| match directory.strip_prefix('~') {
                Some(rest) => {
                    let mut value = super::state::home();
                    value.push_str(rest);
                    value
                }
                None => Value::text(directory),
            },
        );
        Self {
            out: Analysis::default(),
            state: State::in_directory(directory),
            world: World::default(),
            via: Vec::new(),
            host: None,
            script: None,
            files_read: 0,
            unpacked: false,
            pending: None,
            running: Vec::new(),
            traps: Vec::new(),
            decoded: Vec::new(),
            calls: Vec::new(),
            spawning: 0,
            depth: 0,
            commands: 0,
            work: 0,
            text: 0,
            full: false,
        }
    }

    pub(super) fn unknown(&mut self, why: Why, text: &str) {
        const LONGEST: usize = 120;
        // People run the scripts of a project every day; what one does for sure is told all the same.
        let is_settled = self.script.as_ref().is_some_and(|script| script.is_settled);
        if is_settled && why != Why::Endless {
            return;
        }
        let end = text.char_indices().nth(LONGEST).map_or(text.len(), |(at, _)| at);
        let text = text.get(..end).unwrap_or_default().to_owned();
        let unknown = Unknown { why, text };
        if !self.out.unknowns.contains(&unknown) && self.out.unknowns.len() < 64 {
            self.out.unknowns.push(unknown);
        }
    }

    /// Counts work that a script causes. Past the bound, nothing more is looked at.
    pub(super) fn charge(&mut self, work: usize) {
        self.work = self.work.saturating_add(work);
        if self.work > MOST_WORK && !self.full {
            self.too_much("more than can be looked at");
        }
    }

    /// How much of the bounds is used up.
    pub(super) fn spent(&self) -> Spent {
        Spent { commands: self.commands, work: self.work, text: self.text, full: self.full }
    }

    /// Goes on with what was left of the bounds before.
    pub(super) fn refill(&mut self, spent: Spent) {
        if self.full && !spent.full {
            (self.commands, self.work) = (spent.commands, spent.work);
            (self.text, self.full) = (spent.text, spent.full);
        }
    }

    fn too_much(&mut self, what: &str) {
        self.full = true;
        self.unknown(Why::TooMuch, what);
    }

    /// A whole script, with what it leaves to be done at its end.
    pub(super) fn whole(&mut self, text: &str) {
        self.text(text, &Input::Inherited);
        self.run_traps();
    }

    pub(super) fn run_traps(&mut self) {
        // What is run at the end may leave something to be run at the end.
        for _ in 0..4 {
            for code in std::mem::take(&mut self.traps) {
                self.code(&code, &Input::Inherited);
            }
        }
    }

    /// Text that a shell reads.
    pub(super) fn text(&mut self, text: &str, input: &Input) -> Value {
        if self.full {
            return Value::unknown();
        }
        self.text += text.len();
        if self.text > MOST_TEXT {
            self.too_much("more text than can be read");
            return Value::unknown();
        }
        let script = match syntax::parse(text) {
            Ok(script) => script,
            Err(error) => {
                let why = if error.too_deep { Why::TooMuch } else { Why::Syntax };
                // What it is told by begins with the word that matters.
                let from = risky_word(text).unwrap_or(0);
                self.unknown(why, text.get(from..).unwrap_or(text));
                self.lines_before(text, input);
                return Value::unknown();
            }
        };
        match syntax::second_opinion(text, &script) {
            Agreement::Same => {}
            Agreement::Different => self.unknown(Why::Ambiguous, text),
            Agreement::NotAsked => self.unknown(Why::TooMuch, text),
        }
        self.script(&script, input)
    }

    /// A shell runs the lines before the one that it cannot read.
    fn lines_before(&mut self, text: &str, input: &Input) {
        const MOST: usize = 64;
        let ends = text.match_indices('\n').map(|(at, _)| at).collect::<Vec<_>>();
        for end in ends.into_iter().rev().take(MOST) {
            let before = text.get(..end).unwrap_or_default();
            if let Ok(script) = syntax::parse(before) {
                self.script(&script, input);
                return;
            }
        }
    }

    /// A value that a shell reads as a script: what is not known of it may be anything.
    pub(super) fn code(&mut self, value: &Value, input: &Input) -> Value {
        if let Some(text) = value.known() {
            if self.decoded.iter().any(|decoded| decoded.trim() == text.trim()) {
                self.unknown(Why::Code, "text that was decoded");
            }
            return self.text(text, input);
        }
        let mut text = String::new();
        for part in value.parts() {
            match part {
                Part::Text(part) | Part::Glob(part) => text.push_str(part),
                Part::Home => text.push(HOME),
                Part::Unknown => text.push(HOLE),
            }
        }
        if value.has_unknown() {
            // Where the script begins with what is known, what is not known is one of its words.
            let prefix = value.prefix();
            let is_word =
                !prefix.trim().is_empty() && !prefix.contains([';', '|', '\n', '`', '(', '{']);
            let why = if is_word { Why::Opaque } else { Why::Code };
            self.unknown(why, &value.to_string());
            if value.parts().len() == 1 {
                return Value::unknown();
            }
        }
        self.text(&text, input)
    }

    pub(super) fn script(&mut self, script: &Script, input: &Input) -> Value {
        if self.depth >= DEEPEST {
            self.too_much("commands nested very deep");
            return Value::unknown();
        }
        self.depth += 1;
        let mut output = Value::default();
        for statement in &script.statements {
            output.join(self.statement(statement, input));
        }
        self.depth -= 1;
        output
    }

    fn statement(&mut self, statement: &Statement, input: &Input) -> Value {
        if statement.background {
            self.spawning += 1;
            let output = self.apart(|walker| walker.and_or(statement, input));
            self.spawning -= 1;
            return output;
        }
        self.and_or(statement, input)
    }

    fn and_or(&mut self, statement: &Statement, input: &Input) -> Value {
        let mut output = self.pipeline(&statement.first, input);
        let mut before = &statement.first;
        for (connective, pipeline) in &statement.rest {
            // What comes next runs in one case only, so what it sets may be set or not.
            let skipped = self.state.clone();
            match connective {
                Connective::And => self.state.if_failed = None,
                Connective::Or => {
                    if let Some(directories) = self.state.if_failed.take() {
                        self.state.directories = directories;
                    }
                }
            }
            let entered = Arc::clone(&self.state.directories);
            let printed = self.pipeline(pipeline, input);
            // `which python || which python3` prints one path: the second is only asked for if the first printed nothing.
            if *connective == Connective::And || !(looks_up(before) && looks_up(pipeline)) {
                output.join(printed);
            }
            self.rejoin(*connective, skipped, entered);
            before = pipeline;
        }
        self.state.settle();
        output
    }

    /// What is so behind `a && b` or `a || b`, where `b` may not have run.
    fn rejoin(&mut self, connective: Connective, mut skipped: State, entered: Arc<Vec<Value>>) {
        match connective {
            // `cd x && a && b`: all the rest of the list runs in x. Behind the list, `cd` may have
            // failed.
            Connective::And => {
                let failed = skipped.if_failed.take();
                let elsewhere = self.state.if_failed.take();
                let directories = Arc::clone(&self.state.directories);
                let moved = !Arc::ptr_eq(&directories, &entered) && directories != entered;
                skipped.directories = Arc::clone(&directories);
                self.state.join(skipped);
                self.state.directories = directories;
                let all = [elsewhere, moved.then_some(entered), failed].into_iter().flatten();
                self.state.if_failed = all.filter(|all| !all.is_empty()).reduce(|mut all, more| {
                    Arc::make_mut(&mut all).extend(more.iter().cloned());
                    all
                });
            }
            Connective::Or => self.state.join(skipped),
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline, input: &Input) -> Value {
        if let [only] = pipeline.commands.as_slice() {
            let output = self.command(only, input);
            if pipeline.negated
                && let Some(others) = self.state.if_failed.take()
            {
                let directories = std::mem::replace(&mut self.state.directories, others);
                self.state.if_failed = Some(directories);
            }
            return output;
        }
        let Some((last, before)) = pipeline.commands.split_last() else {
            return Value::default();
        };
        self.spawning += 1;
        let mut input = Cow::Borrowed(input);
        for command in before {
            let output = self.apart(|walker| walker.command(command, &input));
            input = Cow::Owned(if output.parts() == [Part::Unknown] {
                Input::Pipe
            } else {
                Input::Text(output)
            });
        }
        let output = self.apart(|walker| walker.command(last, &input));
        self.spawning -= 1;
        output
    }

    /// Does something in a shell of its own: what it sets is gone afterwards.
    pub(super) fn apart<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        let state = self.state.clone();
        let world = std::mem::take(&mut self.world);
        let result = work(self);
        self.world = world;
        let inner = std::mem::replace(&mut self.state, state);
        self.state.take_files_of(&inner);
        result
    }

    pub(super) fn command(&mut self, command: &syntax::Command, input: &Input) -> Value {
        self.charge(1 + self.state.size());
        if self.full {
            return Value::unknown();
        }
        if let CommandKind::Simple { assignments, words } = &command.kind {
            return self.simple(assignments, words, &command.redirects, input);
        }
        // A function's redirections count where it is called.
        let (redirections, input) = self.redirections(&command.redirects, input);
        let output = self.compound(&command.kind, &input);
        if redirections.is_empty() {
            return output;
        }
        self.keep_output(&command.redirects, &redirections, &output);
        let writes = redirections.iter().any(|redirection| redirection.access != Access::Read);
        self.emit(Command { redirections, ..Command::default() });
        if writes { Value::default() } else { output }
    }

    fn simple(
        &mut self,
        assignments: &[Assignment],
        words: &[Word],
        redirects: &[Redirect],
        input: &Input,
    ) -> Value {
        // Without an expansion there is only one way that it can go.
        let expands = words.iter().any(Word::expands)
            || assignments.iter().any(|assignment| assignment.value.expands())
            || redirects.iter().any(|redirect| redirect.target.expands());
        if !expands {
            return self.once(assignments, words, redirects, input);
        }
        let outer = std::mem::take(&mut self.world);
        let before = self.state.clone();
        let only = self.once(assignments, words, redirects, input);
        if !self.world.next() || self.full {
            self.world = outer;
            return only;
        }
        let mut outputs = vec![only];
        let mut ends: Option<State> = None;
        loop {
            let after = std::mem::replace(&mut self.state, before.clone());
            ends = Some(joined(ends, after));
            outputs.push(self.once(assignments, words, redirects, input));
            if !self.world.next() || self.full {
                break;
            }
        }
        if let Some(ends) = ends {
            self.state.join(ends);
        }
        self.world = outer;
        either(outputs)
    }

    /// A simple command, with one combination of what its variables may hold.
    fn once(
        &mut self,
        assignments: &[Assignment],
        words: &[Word],
        redirects: &[Redirect],
        input: &Input,
    ) -> Value {
        let declares = super::variables::declares(words);
        let argv = if declares { self.declaration(words) } else { self.fields(words) };
        let (redirections, input) = self.redirections(redirects, input);
        if argv.is_empty() {
            for assignment in assignments {
                let value = self.assign(assignment);
                self.scripts_in_variable(&assignment.name, &value);
            }
            if redirections.is_empty() {
                return Value::default();
            }
            self.emit(Command { redirections, ..Command::default() });
            // `$(< file)` is what is in the file.
            return match input {
                Input::Text(text) => text,
                Input::File | Input::Pipe => Value::unknown(),
                Input::Inherited => Value::default(),
            };
        }
        let only_exec = matches!(argv.as_slice(), [only] if only.known() == Some("exec"));
        // They are there for this command only.
        let set_before: Vec<_> = assignments
            .iter()
            .map(|assignment| (assignment.name.as_str(), self.state.binding(&assignment.name)))
            .collect();
        let mut variables = Vec::new();
        for assignment in assignments {
            let value = self.assign(assignment);
            self.state.export(&assignment.name);
            variables.push((assignment.name.clone(), value));
        }
        for (name, value) in &variables {
            self.scripts_in_variable(name, value);
        }
        let writes = redirects.iter().any(takes_output);
        let opened = if writes { redirections.clone() } else { Vec::new() };
        let output =
            self.run(Command { argv, redirections, variables, input, ..Command::default() });
        if only_exec {
            self.keep_descriptors(redirects);
        }
        for (name, binding) in set_before {
            self.state.restore(name, binding);
        }
        if !writes {
            return output;
        }
        self.keep_output(redirects, &opened, &output);
        Value::default()
    }

    /// Notes a command that could run.
    pub(super) fn emit(&mut self, mut command: Command) {
        if !self.complete(&mut command) {
            return;
        }
        if !self.state.has_links() {
            self.out.commands.push(command);
            return;
        }
        let through_links: Vec<Value> = command
            .argv
            .iter()
            .map(|word| self.state.leads_to(word).unwrap_or_else(|| word.clone()))
            .collect();
        let mut redirections = command.redirections.clone();
        for redirection in &mut redirections {
            if let Some(target) = self.state.leads_to(&redirection.target) {
                redirection.target = target;
            }
        }
        if through_links != command.argv || redirections != command.redirections {
            let argv = through_links;
            self.out.commands.push(Command { argv, redirections, ..command.clone() });
        }
        self.out.commands.push(command);
    }

    /// Says where a command runs and by what. Tells whether it is to be noted.
    fn complete(&mut self, command: &mut Command) -> bool {
        if let Some(outer) = self.pending.take() {
            self.running.push((self.out.commands.len(), outer));
            self.out.commands.push(Command::default());
        }
        self.commands += 1;
        if self.commands > MOST_COMMANDS {
            self.too_much("more commands than can be looked at");
            return false;
        }
        command.directories = Arc::clone(&self.state.directories);
        command.via.clone_from(&self.via);
        command.host.clone_from(&self.host);
        command.script.clone_from(&self.script);
        // Loops and rounds give the same one again and again.
        !self.out.commands.iter().enumerate().rev().take(8).any(|(at, other)| {
            let running = self.running.iter().find(|(place, _)| *place == at);
            running.map_or(other, |(_, running)| &**running) == command
        })
    }

    /// Notes a command that could run, before whatever `work` notes, which is what it does.
    pub(super) fn emit_while(
        &mut self,
        mut command: Command,
        work: impl FnOnce(&mut Self, &Command) -> Value,
    ) -> Value {
        if self.state.has_links() {
            self.emit(command.clone());
            return work(self, &command);
        }
        if !self.complete(&mut command) {
            return work(self, &command);
        }
        let command = Rc::new(command);
        self.pending = Some(Rc::clone(&command));
        let output = work(self, &command);
        let noted = self.pending.take().is_none();
        let place = if noted { self.running.pop().map(|(place, _)| place) } else { None };
        // Nobody else has it any more.
        if let Ok(command) = Rc::try_unwrap(command) {
            match place.and_then(|place| self.out.commands.get_mut(place)) {
                Some(kept) => *kept = command,
                None => self.out.commands.push(command),
            }
        }
        output
    }

    /// Runs a command from inside another: what `via` runs.
    pub(super) fn inner(&mut self, via: &str, work: impl FnOnce(&mut Self) -> Value) -> Value {
        if self.depth >= DEEPEST {
            self.too_much("commands nested very deep");
            return Value::unknown();
        }
        self.depth += 1;
        self.via.push(via.to_owned());
        let output = work(self);
        self.via.pop();
        self.depth -= 1;
        output
    }

    /// Something that runs itself again: harmless, unless each one starts others beside itself.
    pub(super) fn runs_itself(&mut self, name: &str) {
        if self.spawning > 0 {
            self.unknown(Why::Endless, name);
        }
    }

    /// A function that was defined before.
    pub(super) fn function(&mut self, name: &str, arguments: &[Value], input: &Input) -> Value {
        let Some(body) = self.state.function(name) else { return Value::unknown() };
        // By what it does, not by its name, which it may have been given anew inside of itself.
        if self.calls.iter().any(|call| Rc::ptr_eq(call, &body)) {
            self.runs_itself(name);
            return Value::unknown();
        }
        self.calls.push(Rc::clone(&body));
        let positional = std::mem::replace(&mut self.state.positional, arguments.to_vec());
        let output = self.inner(name, |walker| walker.command(&body, input));
        self.state.positional = positional;
        self.calls.pop();
        output
    }
}

/// How much of the bounds is used up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spent {
    commands: usize,
    work: usize,
    text: usize,
    full: bool,
}

/// Where a text that is no valid script names a program that could do harm in one.
pub(crate) fn risky_word(text: &str) -> Option<usize> {
    const RISKY: &[&str] = &[
        "rm", "dd", "mkfs", "shred", "wipefs", "eval", "exec", "source", "curl", "wget", "nc",
        "sudo", "chmod", "chown", "base64", "truncate", "kill", "ssh", "scp",
    ];
    let is_of_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut at = 0;
    for word in text.split(|c: char| !is_of_name(c)) {
        if RISKY.contains(&word) {
            return Some(at);
        }
        // Behind a word is the one character that ends it.
        at += word.len();
        at += text.get(at..).and_then(|rest| rest.chars().next()).map_or(0, char::len_utf8);
    }
    None
}

pub(super) fn joined(one: Option<State>, mut other: State) -> State {
    if let Some(one) = one {
        other.join(one);
    }
    other
}

/// What is printed, where one of several things is.
pub(super) fn either(mut outputs: Vec<Value>) -> Value {
    let last = outputs.pop().unwrap_or_default();
    if outputs.iter().all(|other| *other == last) { last } else { Value::unknown() }
}
