//! Which agents are on a machine, and how Tollgate stands in them.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value};

use crate::command::{Call, CommandLine, Registration};
use crate::plan::{Document, our_scripts, registrations};
use crate::target::{Field, Form, Groups, JsonForm, Layer, Place, Target};
use crate::{InstallError, Surroundings, codex, compare, file, scripts};

/// An agent.
#[derive(Debug)]
pub struct Found {
    /// Which.
    pub target: &'static Target,
    /// Its program on the path.
    pub program: Option<PathBuf>,
    /// What it has left in the home.
    pub folder: Option<PathBuf>,
    /// Its layers, as far as it has them.
    pub layers: Vec<Installed>,
}

/// How Tollgate stands in a layer of an agent.
#[derive(Debug)]
pub struct Installed {
    /// The layer.
    pub layer: Layer,
    /// The file, or the folder of files.
    pub path: PathBuf,
    /// Tollgate's hooks. None means that it is not installed.
    pub commands: Vec<Configured>,
    /// Events that Tollgate should be registered for, and is not.
    pub missing: Vec<Registration>,
    /// Hooks that are not Tollgate's.
    pub others: Vec<Other>,
    /// What turns all hooks off: the file and the setting.
    pub switched_off: Vec<(PathBuf, &'static str)>,
    /// Tools that the host does not ask Tollgate about, by the matcher that it is registered with.
    pub uncovered: Vec<&'static str>,
    /// Why the host does not run the hooks all the same, as far as it keeps a record of it, in words.
    pub distrusted: Vec<String>,
    /// Files that cannot be read, by us or by the host.
    pub problems: Vec<InstallError>,
}

/// A hook of Tollgate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    /// The event.
    pub event: String,
    /// Whether something happens that should not, where nobody answers.
    pub gate: bool,
    /// As the host runs it.
    pub command: CommandLine,
    /// Whether it is what would be written now.
    pub is_current: bool,
    /// The program that it calls, where that can be told.
    pub program: Option<String>,
    /// Whether that program is there.
    pub is_there: bool,
    /// How it is weaker than what would be written now, in words: asked about less, or not heard.
    pub weaker: Vec<String>,
    /// Which tools it is asked about, in the host's words, where that is not all of them.
    pub matcher: Option<String>,
    /// When Tollgate answers at the latest, as the command says; none if it does not say.
    pub deadline: Option<Duration>,
    /// How long the host waits for it; none if that is not known.
    pub patience: Option<Duration>,
}

/// A hook of somebody else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Other {
    /// The file it is in.
    pub path: PathBuf,
    /// The event.
    pub event: String,
    /// As the host runs it, where it is a command.
    pub command: Option<CommandLine>,
    /// How it could undo what Tollgate says, in words.
    pub undoes: Option<&'static str>,
}

impl Installed {
    /// Whether Tollgate is there at all.
    pub fn is_installed(&self) -> bool {
        !self.commands.is_empty()
    }

    /// Whether all of it is there, and as it would be written now.
    pub fn is_current(&self) -> bool {
        self.is_installed()
            && self.missing.is_empty()
            && self.commands.iter().all(|command| command.is_current)
    }
}

impl Found {
    /// Whether the agent is on this machine.
    pub fn is_here(&self) -> bool {
        self.program.is_some() || self.folder.is_some()
    }
}

/// The agents that are on this machine, or that Tollgate is installed into all the same.
///
/// ```
/// use tollgate_install::{Surroundings, find};
///
/// let folder = tempfile::tempdir()?;
/// std::fs::create_dir(folder.path().join(".claude"))?;
/// let here = Surroundings::new(folder.path(), "/nowhere", "/usr/bin/tollgate");
/// let found = find(&here);
/// assert_eq!(found.len(), 1);
/// assert_eq!(found[0].target.name, "claude");
/// assert!(found[0].layers.iter().all(|layer| !layer.is_installed()));
/// # Ok::<(), std::io::Error>(())
/// ```
pub fn find(here: &Surroundings) -> Vec<Found> {
    let all = Target::all().iter().map(|target| {
        let events = registrations(target).unwrap_or_default();
        examine(target, here, &events)
    });
    let is_there = |found: &Found| found.layers.iter().any(Installed::is_installed);
    all.filter(|found| found.is_here() || is_there(found)).collect()
}

/// How Tollgate stands in an agent, if it is to be registered for these events.
pub fn examine(target: &'static Target, here: &Surroundings, events: &[Registration]) -> Found {
    let traces: Vec<_> = match target.traces {
        [] => vec![target.home.path(here)],
        traces => traces.iter().map(|trace| here.home.join(trace)).collect(),
    };
    let layers = Layer::ALL.into_iter().filter_map(|layer| {
        let place = target.place_of(layer).ok()?;
        Some(Examination { target, layer, here, events }.layer(place))
    });
    let mut layers: Vec<_> = layers.collect();
    // In a list, what a project turns off is what the person has.
    let is_list = |layer: &Installed| {
        let place = target.place_of(layer.layer);
        place.is_ok_and(|place| matches!(place.form, Form::Entries))
    };
    if let [user, project] = layers.as_mut_slice()
        && is_list(project)
    {
        user.switched_off.append(&mut project.switched_off);
    }
    Found {
        target,
        program: here.program_on_path(target.programs),
        folder: traces.into_iter().find(|folder| folder.is_dir()),
        layers,
    }
}

struct Examination<'a> {
    target: &'static Target,
    layer: Layer,
    here: &'a Surroundings,
    events: &'a [Registration],
}

impl Examination<'_> {
    fn layer(&self, place: &Place) -> Installed {
        let base = self.target.base(self.layer, self.here);
        let path = base.join(place.path);
        let mut installed = Installed {
            layer: self.layer,
            path: path.clone(),
            commands: Vec::new(),
            missing: Vec::new(),
            others: Vec::new(),
            switched_off: Vec::new(),
            uncovered: Vec::new(),
            distrusted: Vec::new(),
            problems: Vec::new(),
        };
        let result = match place.form {
            Form::Json(_) | Form::Entries | Form::Toml | Form::Switches => {
                self.document(&path, place, &mut installed)
            }
            Form::Scripts => self.scripts(&path, &mut installed),
            Form::Plugin => self.plugin(&path, &mut installed),
        };
        installed.problems.extend(result.err());
        if self.target.asks_for_trust && installed.is_installed() {
            installed.distrusted = codex::distrusted(self.target, self.layer, self.here);
        }
        for (layer, place) in self.target.also {
            if *layer == self.layer {
                let result = self.document(&base.join(place.path), place, &mut installed);
                installed.problems.extend(result.err());
            }
        }
        let has = |event: &Registration| {
            let mut commands = installed.commands.iter();
            // A plugin is there for all of them.
            commands
                .any(|it| it.event == event.event || matches!(it.command, CommandLine::Plugin(_)))
        };
        if let Form::Json(JsonForm { groups: Groups::Matched(_), .. }) = place.form {
            let gates = installed.commands.iter().filter(|command| command.gate);
            let matchers = gates.map(|command| command.matcher.as_deref().unwrap_or_default());
            installed.uncovered = self.target.uncovered(&matchers.collect::<Vec<_>>());
        }
        installed.missing = self.events.iter().filter(|event| !has(event)).copied().collect();
        installed
    }

    fn call(&self, event: &str) -> Option<Call> {
        self.call_of(&self.here.program, event)
    }

    fn call_of(&self, program: &Path, event: &str) -> Option<Call> {
        let registration = self.events.iter().find(|it| it.event == event)?;
        Call::new(self.target, program, *registration).ok()
    }

    fn is_gate(&self, event: &str) -> bool {
        self.events.iter().any(|it| it.event == event && it.gate)
    }

    fn other(&self, path: &Path, event: &str, command: Option<CommandLine>) -> Other {
        let undoes = self.target.undoing.filter(|_| self.is_gate(event));
        Other { path: path.to_path_buf(), event: event.to_owned(), command, undoes }
    }

    fn document(
        &self,
        path: &Path,
        place: &Place,
        installed: &mut Installed,
    ) -> Result<(), InstallError> {
        let Some(text) = file::read_text(path)? else { return Ok(()) };
        let document = match place.form {
            Form::Json(form) => Document::json(self.target, form, path),
            Form::Entries => Document::entries(self.target, path),
            _ => Document::toml(self.target, path),
        };
        let off = document.switched_off(&text)?.into_iter();
        installed.switched_off.extend(off.map(|at| (path.to_path_buf(), at)));
        if matches!(place.form, Form::Switches) {
            return Ok(());
        }
        for hook in document.hooks(&text)? {
            match hook.command {
                Some(ref command) if hook.ours => {
                    let mut call = self.call(&hook.event);
                    if let Some(call) = call.as_mut() {
                        call.keep_missing(Some(command));
                    }
                    let is_matched = matches!(
                        place.form,
                        Form::Json(JsonForm { groups: Groups::Matched(_), .. })
                    );
                    if let Some(call) = call.as_mut().filter(|_| is_matched) {
                        // Which tools it is for is the person's to say.
                        call.matcher.clone_from(&hook.matcher);
                    }
                    let is_current =
                        call.as_ref().map(|it| document.value(it)).as_ref() == Some(&hook.whole);
                    let weaker = call.map(|call| {
                        let (expected, group) = document.entry(&call);
                        compare::weaker(&hook, &call, &expected, group)
                    });
                    let matcher =
                        if is_matched { hook.matcher.clone() } else { compare::matcher(&hook) };
                    let program = command.calls(self.target.name);
                    let configured = waits(place.form, &hook.entry);
                    let patience = self.target.patience(&hook.event, configured);
                    installed.commands.push(Configured {
                        gate: self.is_gate(&hook.event),
                        command: command.clone(),
                        is_current,
                        is_there: program.as_ref().is_none_or(|it| self.here.has_program(it)),
                        program,
                        weaker: weaker.unwrap_or_default(),
                        matcher,
                        deadline: command.deadline(),
                        patience,
                        event: hook.event,
                    });
                }
                command => installed.others.push(self.other(path, &hook.event, command)),
            }
        }
        Ok(())
    }

    fn scripts(&self, folder: &Path, installed: &mut Installed) -> Result<(), InstallError> {
        for (path, text) in our_scripts(folder)? {
            let event = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            let write = |call: &Call, folders| scripts::script(self.target, call, folders);
            let command = CommandLine::Script(path.clone());
            installed.commands.push(self.file(event, event, command, &text, write));
        }
        // Of the others those count that have the name of an event: they are in our place.
        for event in self.events {
            let path = folder.join(event.event);
            let is_ours = installed.commands.iter().any(|it| it.event == event.event);
            if !is_ours && path.is_file() {
                let command = Some(CommandLine::Script(path.clone()));
                installed.others.push(self.other(&path, event.event, command));
            }
        }
        Ok(())
    }

    fn plugin(&self, path: &Path, installed: &mut Installed) -> Result<(), InstallError> {
        let Some(text) = file::read_text(path)? else { return Ok(()) };
        if scripts::folders(&text).is_none() {
            return Ok(());
        }
        let first = self.events.first().map(|event| event.event).unwrap_or_default();
        let write = |call: &Call, folders| scripts::plugin(self.target, call, folders);
        let command = CommandLine::Plugin(path.to_path_buf());
        let plugin = self.file("plugin", first, command, &text, write);
        installed.commands.push(Configured { gate: true, ..plugin });
        Ok(())
    }

    /// A file of ours, and whether it is as it would be written: with the program that it names itself.
    fn file(
        &self,
        name: &str,
        event: &str,
        command: CommandLine,
        text: &str,
        write: impl Fn(&Call, usize) -> String,
    ) -> Configured {
        let folders = scripts::folders(text).unwrap_or_default();
        let is = |call: Option<Call>| {
            call.is_some_and(|call| write(&scripts::kept(&call, Some(text)), folders) == text)
        };
        let program = scripts::program(text);
        let as_named = program.as_ref().and_then(|it| self.call_of(Path::new(it), event));
        let mut weaker = Vec::new();
        if !is(as_named) {
            weaker.push("the file is not the one of this version".to_owned());
        }
        Configured {
            event: name.to_owned(),
            gate: self.is_gate(name),
            command,
            is_current: is(self.call(event)),
            is_there: program.as_ref().is_none_or(|it| self.here.has_program(it)),
            program,
            weaker,
            matcher: None,
            // The file is compared with what would be written as a whole.
            deadline: None,
            patience: None,
        }
    }
}

/// Returns how long a host waits for a hook, as the hook's own fields say.
fn waits(form: Form, entry: &Map<String, Value>) -> Option<Duration> {
    let number = |key: &str| entry.get(key).and_then(Value::as_u64);
    let of_field = |field: &Field| match field {
        Field::Seconds(key) => number(key).map(Duration::from_secs),
        Field::Milliseconds(key) => number(key).map(Duration::from_millis),
        _ => None,
    };
    match form {
        Form::Json(form) => form.fields.iter().find_map(of_field),
        Form::Toml => number("timeout").map(Duration::from_secs),
        Form::Entries | Form::Switches | Form::Scripts | Form::Plugin => None,
    }
}
