//! What would be changed, before it is.

use std::path::{Path, PathBuf};

use similar::TextDiff;

use crate::command::{Call, Registration};
use crate::entries::Entries;
use crate::settings::{Hook, Settings};
use crate::target::{Form, Groups, JsonForm, Layer, Target};
use crate::toml::Tables;
use crate::{InstallError, Surroundings, file, scripts};

/// What is to be done to the files of a host.
///
/// ```
/// use tollgate_install::{Layer, Surroundings, Target, install, uninstall};
///
/// let folder = tempfile::tempdir()?;
/// let here = Surroundings::new(folder.path(), folder.path(), "/usr/bin/tollgate");
/// let claude = Target::by_name("claude")?;
///
/// let plan = install(claude, Layer::User, &here)?;
/// assert!(plan.diff().contains("+            \"command\": \"/usr/bin/tollgate\""));
/// plan.apply()?;
/// assert!(install(claude, Layer::User, &here)?.is_empty());
///
/// uninstall(claude, Layer::User, &here)?.apply()?;
/// assert_eq!(folder.path().read_dir()?.count(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// The edits, in their order.
    pub edits: Vec<Edit>,
    /// Tools that the host will not ask about, by the matcher that is written. Where it asks about
    /// all, or cannot be told which, there are none.
    pub uncovered: Vec<&'static str>,
}

/// What is to be done to a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edit {
    /// The file.
    pub path: PathBuf,
    /// What is in it now; none where there is no such file.
    pub before: Option<Vec<u8>>,
    /// What will be in it; none where it is removed.
    pub after: Option<Vec<u8>>,
    /// What changes, in words.
    pub changes: Vec<String>,
    /// Whether a new file is one to run.
    pub(crate) executable: bool,
    /// What the file would be without Tollgate.
    pub(crate) without: Option<Vec<u8>>,
    /// True if it puts back what was there before, so that nothing new has to be kept.
    pub(crate) reverts: bool,
    /// Folders that go with the file if nothing else is in them, the nearest first.
    pub(crate) folders: Vec<PathBuf>,
}

impl Plan {
    /// Whether everything is as it should be.
    pub fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The edits as a unified diff.
    pub fn diff(&self) -> String {
        self.edits.iter().map(Edit::diff).collect()
    }
}

impl Edit {
    /// The edit as a unified diff.
    pub fn diff(&self) -> String {
        let text = |content: &Option<Vec<u8>>| {
            content.as_deref().map(String::from_utf8_lossy).unwrap_or_default().into_owned()
        };
        let name = |content: &Option<Vec<u8>>| match content {
            Some(_) => self.path.display().to_string(),
            None => "/dev/null".to_owned(),
        };
        let (before, after) = (text(&self.before), text(&self.after));
        TextDiff::from_lines(&before, &after)
            .unified_diff()
            .header(&name(&self.before), &name(&self.after))
            .to_string()
    }
}

/// The events of a host that Tollgate is registered for.
pub fn registrations(target: &Target) -> Result<Vec<Registration>, InstallError> {
    let events = tollgate_hosts::by_name(target.name).map_or(&[][..], |host| host.events);
    let registered: Vec<_> =
        events.iter().filter(|event| event.registered).map(Registration::from).collect();
    if registered.is_empty() {
        return Err(InstallError::NoEvents { title: target.title });
    }
    Ok(registered)
}

/// Plans to put Tollgate into a host, or to bring it up to date there. Nothing is changed by planning.
pub fn install(target: &Target, layer: Layer, here: &Surroundings) -> Result<Plan, InstallError> {
    install_for(target, layer, here, &registrations(target)?)
}

/// The same for these events.
pub fn install_for(
    target: &Target,
    layer: Layer,
    here: &Surroundings,
    events: &[Registration],
) -> Result<Plan, InstallError> {
    let place = target.place_of(layer)?;
    let path = target.base(layer, here).join(place.path);
    let calls = events.iter().map(|event| Call::new(target, &here.program, *event));
    let mut calls = calls.collect::<Result<Vec<_>, _>>()?;
    let mut uncovered = Vec::new();
    let edits = match place.form {
        Form::Json(form) => {
            let document = Document::json(target, form, &path);
            let text = file::read_text(&path)?;
            if let Some(text) = &text {
                keep_choices(&document.hooks(text)?, &mut calls);
            }
            if let (Groups::Matched(_), Document::Json(settings)) = (form.groups, &document) {
                let gates = calls.iter().filter(|call| call.registration.gate);
                let matchers: Vec<_> = gates.filter_map(|call| settings.matcher(call)).collect();
                uncovered = target.uncovered(&matchers);
            }
            document.install(text, &calls)?
        }
        Form::Entries | Form::Toml => {
            let document = match place.form {
                Form::Entries => Document::entries(target, &path),
                _ => Document::toml(target, &path),
            };
            let text = file::read_text(&path)?;
            if let Some(text) = &text {
                keep_choices(&document.hooks(text)?, &mut calls);
            }
            document.install(text, &calls)?
        }
        Form::Switches => Vec::new(),
        Form::Scripts => install_scripts(target, &path, &calls)?,
        Form::Plugin => install_plugin(target, &path, &calls)?,
    };
    Ok(Plan { edits, uncovered })
}

/// Keeps what the person has chosen before: which tools Tollgate is asked about, and what happens where the program is
/// missing.
fn keep_choices(hooks: &[Hook], calls: &mut [Call]) {
    for call in calls.iter_mut() {
        let event = call.registration.event;
        let same = || hooks.iter().filter(|hook| hook.ours && hook.event == event);
        if call.matcher.is_none() {
            call.matcher = same().find_map(|hook| hook.matcher.clone());
        }
        call.keep_missing(same().next().and_then(|hook| hook.command.as_ref()));
    }
}

/// Plans to take Tollgate out of a host. Nothing is changed by planning.
pub fn uninstall(target: &Target, layer: Layer, here: &Surroundings) -> Result<Plan, InstallError> {
    let place = target.place_of(layer)?;
    let path = target.base(layer, here).join(place.path);
    let edits = match place.form {
        Form::Json(form) => {
            Document::json(target, form, &path).uninstall(file::read_text(&path)?)?
        }
        Form::Entries => Document::entries(target, &path).uninstall(file::read_text(&path)?)?,
        Form::Switches => Vec::new(),
        Form::Toml => Document::toml(target, &path).uninstall(file::read_text(&path)?)?,
        Form::Scripts => {
            let ours = our_scripts(&path)?.into_iter();
            ours.map(|(path, text)| remove_file(&path, text)).collect()
        }
        Form::Plugin => match file::read_text(&path)? {
            Some(text) if scripts::folders(&text).is_some() => {
                vec![remove_file(&path, text)]
            }
            _ => Vec::new(),
        },
    };
    Ok(Plan { edits, uncovered: Vec::new() })
}

/// A file with hooks of several people in it.
pub(crate) enum Document<'a> {
    Json(Settings<'a>),
    Entries(Entries<'a>),
    Toml(Tables<'a>),
}

impl<'a> Document<'a> {
    pub(crate) fn json(target: &'a Target, form: JsonForm, path: &'a Path) -> Self {
        Self::Json(Settings { target, form, path })
    }

    pub(crate) fn entries(target: &'a Target, path: &'a Path) -> Self {
        Self::Entries(Entries { target, path })
    }

    pub(crate) fn toml(target: &'a Target, path: &'a Path) -> Self {
        Self::Toml(Tables { target, path })
    }

    fn target(&self) -> &'a Target {
        match self {
            Self::Json(it) => it.target,
            Self::Entries(it) => it.target,
            Self::Toml(it) => it.target,
        }
    }

    fn path(&self) -> &'a Path {
        match self {
            Self::Json(it) => it.path,
            Self::Entries(it) => it.path,
            Self::Toml(it) => it.path,
        }
    }

    pub(crate) fn hooks(&self, text: &str) -> Result<Vec<Hook>, InstallError> {
        match self {
            Self::Json(it) => it.hooks(text),
            Self::Entries(it) => it.hooks(text),
            Self::Toml(it) => it.hooks(text),
        }
    }

    /// What of a text turns hooks off.
    pub(crate) fn switched_off(&self, text: &str) -> Result<Vec<&'static str>, InstallError> {
        match self {
            Self::Json(it) => it.switched_off(text),
            Self::Entries(it) => it.switched_off(text),
            Self::Toml(it) => it.switched_off(text),
        }
    }

    /// What a hook for a call says itself, and whether it would be in a group.
    pub(crate) fn entry(&self, call: &Call) -> (serde_json::Map<String, serde_json::Value>, bool) {
        let (value, group) = match self {
            Self::Json(it) => (it.entry(call).value(), it.is_grouped(call)),
            Self::Entries(_) => return (Entries::entry(call), false),
            Self::Toml(_) => (Tables::value(call), false),
        };
        (value.as_object().cloned().unwrap_or_default(), group)
    }

    /// A hook for a call, as a value.
    pub(crate) fn value(&self, call: &Call) -> serde_json::Value {
        match self {
            Self::Json(it) => it.element(call).value(),
            Self::Entries(_) => Entries::element(call).value(),
            Self::Toml(_) => Tables::value(call),
        }
    }

    fn with(&self, text: &str, calls: &[Call]) -> Result<String, InstallError> {
        match self {
            Self::Json(it) => it.with(text, calls),
            Self::Entries(it) => it.with(text, calls),
            Self::Toml(it) => it.with(text, calls),
        }
    }

    /// A new file. How many folders come with it stands in it too, so that they can go with it: JSON has
    /// no comments, so there it is the number of empty lines at its end.
    fn new_file(&self, calls: &[Call], folders: usize) -> Result<String, InstallError> {
        match self {
            Self::Json(it) => Ok(it.new_file(calls) + &"\n".repeat(folders)),
            Self::Entries(_) => Ok(Entries::new_file(calls) + &"\n".repeat(folders)),
            Self::Toml(it) => it.with(&scripts::mark("#", it.target, folders), calls),
        }
    }

    /// The text without ours; or none, and how many folders go with the file.
    fn without(&self, text: &str) -> Result<(Option<String>, usize), InstallError> {
        let lines = text.len() - text.trim_end_matches('\n').len();
        let folders = lines.saturating_sub(1);
        match self {
            Self::Json(it) => Ok((it.without(text)?, folders)),
            Self::Entries(it) => Ok((it.without(text)?, folders)),
            Self::Toml(it) => {
                let rest = it.without(text)?;
                match scripts::folders(&rest) {
                    Some(folders) if rest.trim_end().lines().count() == 1 => Ok((None, folders)),
                    _ => Ok((Some(rest), 0)),
                }
            }
        }
    }

    /// Whether a text has what it should, and nothing of ours that it should not.
    fn is_current(&self, hooks: &[Hook], calls: &[Call]) -> bool {
        let ours: Vec<_> = hooks.iter().filter(|hook| hook.ours).collect();
        ours.len() == calls.len()
            && calls.iter().all(|call| {
                let event = call.registration.event;
                let whole = self.value(call);
                ours.iter().any(|hook| hook.event == event && hook.whole == whole)
            })
    }

    /// What is to be done to a file with this in it.
    pub(crate) fn install(
        &self,
        text: Option<String>,
        calls: &[Call],
    ) -> Result<Vec<Edit>, InstallError> {
        let path = self.path();
        let events: Vec<_> = calls.iter().map(|call| call.registration.event).collect();
        let registers = format!("registers Tollgate for {}", events.join(", "));
        let Some(text) = text else {
            let after = self.new_file(calls, file::missing_folders(path))?;
            return Ok(vec![Edit::new(path, None, Some(after), vec![registers])]);
        };
        let hooks = self.hooks(&text)?;
        if self.is_current(&hooks, calls) {
            return Ok(Vec::new());
        }
        let older = hooks.iter().filter(|hook| hook.ours).count();
        let (rest, folders) = self.without(&text)?;
        let after = match &rest {
            Some(rest) => self.with(rest, calls)?,
            None => self.new_file(calls, folders)?,
        };
        // What was written has to be what the host reads.
        if !self.is_current(&self.hooks(&after)?, calls) {
            let problem = "its hooks are written in a way that Tollgate cannot add to";
            return Err(InstallError::refused(path, problem));
        }
        let mut changes = vec![registers];
        if older > 0 {
            changes.push(format!("replaces {older} older registrations of Tollgate"));
        }
        let mut edit = Edit::new(path, Some(text), Some(after), changes);
        edit.without = rest.map(String::into_bytes);
        Ok(vec![edit])
    }

    /// The same, to take ours out of it.
    pub(crate) fn uninstall(&self, text: Option<String>) -> Result<Vec<Edit>, InstallError> {
        let path = self.path();
        let Some(text) = text else { return Ok(Vec::new()) };
        let ours = self.hooks(&text)?.iter().filter(|hook| hook.ours).count();
        if ours == 0 {
            return Ok(Vec::new());
        }
        let (rest, folders) = self.without(&text)?;
        let Some(rest) = rest else { return Ok(vec![remove_file_with(path, text, folders)]) };
        if self.hooks(&rest)?.iter().any(|hook| hook.ours) {
            let name = self.target().name;
            let problem = format!("`tollgate hook {name}` has to be taken out of it by hand");
            return Err(InstallError::refused(path, problem));
        }
        let changes = vec![format!("removes {ours} registrations of Tollgate")];
        let mut edit = Edit::new(path, Some(text), Some(rest.clone()), changes);
        edit.without = Some(rest.into_bytes());
        Ok(vec![edit])
    }
}

impl Edit {
    fn new(
        path: &Path,
        before: Option<String>,
        after: Option<String>,
        changes: Vec<String>,
    ) -> Self {
        Self {
            path: path.to_path_buf(),
            before: before.map(String::into_bytes),
            after: after.map(String::into_bytes),
            changes,
            executable: false,
            without: None,
            reverts: false,
            folders: Vec::new(),
        }
    }
}

fn remove_file(path: &Path, text: String) -> Edit {
    let folders = scripts::folders(&text).unwrap_or_default();
    remove_file_with(path, text, folders)
}

fn remove_file_with(path: &Path, text: String, folders: usize) -> Edit {
    let changes = vec!["removes the file, which was made for Tollgate alone".to_owned()];
    let mut edit = Edit::new(path, Some(text), None, changes);
    edit.folders = file::folders_above(path, folders);
    edit
}

/// The scripts in a folder that are ours.
pub(crate) fn our_scripts(folder: &Path) -> Result<Vec<(PathBuf, String)>, InstallError> {
    /// How many files are looked at.
    const MOST: usize = 1000;
    let Ok(entries) = folder.read_dir() else { return Ok(Vec::new()) };
    let mut ours = Vec::new();
    for entry in entries.take(MOST) {
        let path = entry.map_err(InstallError::io(folder, "read"))?.path();
        // What is no text is not ours, and what cannot be read neither.
        if let Ok(Some(text)) = file::read_text(&path)
            && scripts::folders(&text).is_some()
        {
            ours.push((path, text));
        }
    }
    ours.sort();
    Ok(ours)
}

fn install_scripts(
    target: &Target,
    folder: &Path,
    calls: &[Call],
) -> Result<Vec<Edit>, InstallError> {
    let ours = our_scripts(folder)?;
    let made = ours.first().and_then(|(_, text)| scripts::folders(text));
    let mut edits = Vec::new();
    for call in calls {
        let event = call.registration.event;
        let path = folder.join(event);
        let before = file::read_text(&path)?;
        let folders = made.unwrap_or_else(|| file::missing_folders(&path));
        let call = &scripts::kept(call, before.as_deref());
        let after = scripts::script(target, call, folders);
        match &before {
            Some(text) if *text == after => continue,
            Some(text) if scripts::folders(text).is_none() => {
                let problem = format!(
                    "{} has one hook for each event, and this one is not Tollgate's: put what it does into \
                     a hook of Tollgate, or move it away, and run the command again",
                    target.title
                );
                return Err(InstallError::refused(&path, problem));
            }
            _ => {}
        }
        let changes = vec![format!("registers Tollgate for {event}")];
        let mut edit = Edit::new(&path, before, Some(after), changes);
        edit.executable = true;
        edits.push(edit);
    }
    for (path, text) in ours {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if !calls.iter().any(|call| call.registration.event == name) {
            let mut edit = remove_file_with(&path, text, 0);
            edit.changes = vec![format!("Tollgate is not registered for {name} any more")];
            edits.push(edit);
        }
    }
    Ok(edits)
}

fn install_plugin(target: &Target, path: &Path, calls: &[Call]) -> Result<Vec<Edit>, InstallError> {
    let Some(call) = calls.first() else {
        return Err(InstallError::NoEvents { title: target.title });
    };
    let before = file::read_text(path)?;
    let made = before.as_deref().map(scripts::folders);
    let folders = match made {
        None => file::missing_folders(path),
        Some(Some(folders)) => folders,
        Some(None) => {
            let problem = "it is a plugin of somebody else; move it away and run the command again";
            return Err(InstallError::refused(path, problem));
        }
    };
    let after = scripts::plugin(target, &scripts::kept(call, before.as_deref()), folders);
    if before.as_deref() == Some(&*after) {
        return Ok(Vec::new());
    }
    let changes = vec![format!("{} loads Tollgate as a plugin", target.title)];
    Ok(vec![Edit::new(path, before, Some(after), changes)])
}
