//! Commands, and the environment they run in.

use std::env;
use std::ffi::{CString, OsStr, OsString, c_char};
use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use rustix::fs::{Access, access};

use crate::outcome::ExecError;

/// A command to run, once or many times.
///
/// Its strings are brought into the form the system takes when it is run for the first time, or
/// by [`prepare`](Self::prepare). Clones share what was prepared.
///
/// Not printed by `Debug`: the values of variables, which may be secrets.
#[derive(Clone)]
pub struct Command {
    parts: Arc<Parts>,
    prepared: Arc<OnceLock<Prepared>>,
}

#[derive(Clone)]
struct Parts {
    program: PathBuf,
    args: Vec<OsString>,
    cwd: Option<PathBuf>,
    environment: Environment,
    env: Vec<(OsString, OsString)>,
}

/// The variables that a command gets from ours.
#[derive(Clone, Debug)]
pub struct Environment {
    passed_on: PassedOn,
    without: fn(&OsStr) -> bool,
}

#[derive(Clone, Debug)]
enum PassedOn {
    All,
    Only(Vec<OsString>),
}

impl Environment {
    /// All variables we have when the command is prepared.
    pub const fn inherit() -> Self {
        Self { passed_on: PassedOn::All, without: nothing }
    }

    /// None of our variables.
    pub const fn empty() -> Self {
        Self { passed_on: PassedOn::Only(Vec::new()), without: nothing }
    }

    /// The variables with these names, as far as we have them when the command is prepared.
    pub fn only<N: Into<OsString>>(names: impl IntoIterator<Item = N>) -> Self {
        let names = names.into_iter().map(Into::into).collect();
        Self { passed_on: PassedOn::Only(names), without: nothing }
    }

    /// The same, without the variables whose names are of this sort.
    #[must_use]
    pub const fn without(mut self, sort: fn(&OsStr) -> bool) -> Self {
        self.without = sort;
        self
    }

    fn variables(&self) -> Vec<(OsString, OsString)> {
        let mut variables = self.passed_on();
        variables.retain(|(name, _)| !(self.without)(name));
        variables
    }

    fn passed_on(&self) -> Vec<(OsString, OsString)> {
        match &self.passed_on {
            PassedOn::All => env::vars_os().filter(|(name, _)| is_name(name)).collect(),
            PassedOn::Only(names) => names
                .iter()
                .filter(|name| is_name(name))
                .filter_map(|name| Some((name.clone(), env::var_os(name)?)))
                .collect(),
        }
    }
}

fn nothing(_name: &OsStr) -> bool {
    false
}

impl Default for Environment {
    fn default() -> Self {
        Self::inherit()
    }
}

impl Command {
    /// A program and no arguments. A name without a slash is looked up in `PATH`, when the command
    /// is prepared.
    pub fn new(program: impl AsRef<Path>) -> Self {
        Self {
            parts: Arc::new(Parts {
                program: program.as_ref().to_owned(),
                args: Vec::new(),
                cwd: None,
                environment: Environment::inherit(),
                env: Vec::new(),
            }),
            prepared: Arc::default(),
        }
    }

    /// A script for a shell: `SHELL -c SCRIPT`.
    pub fn shell(shell: impl AsRef<Path>, script: &str) -> Self {
        Self::new(shell).arg("-c").arg(script)
    }

    /// Adds an argument.
    pub fn arg(self, arg: impl AsRef<OsStr>) -> Self {
        self.with(|parts| parts.args.push(arg.as_ref().to_owned()))
    }

    /// Sets the directory it runs in. Otherwise it is the one we are in.
    pub fn cwd(self, dir: impl AsRef<Path>) -> Self {
        self.with(|parts| parts.cwd = Some(dir.as_ref().to_owned()))
    }

    /// Sets a variable, in addition to those passed on.
    pub fn env(self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.with(|parts| parts.env.push((name.as_ref().to_owned(), value.as_ref().to_owned())))
    }

    /// Chooses the variables to pass on. Otherwise it is all of them.
    pub fn environment(self, environment: Environment) -> Self {
        self.with(|parts| parts.environment = environment)
    }

    /// Prepares the command now: its variables are the ones we have at this moment.
    pub fn prepare(self) -> Self {
        // What is wrong with it is reported by each run.
        let _ = self.prepared();
        self
    }

    /// The program, as it was given.
    pub fn program(&self) -> &Path {
        &self.parts.program
    }

    fn with(mut self, change: impl FnOnce(&mut Parts)) -> Self {
        change(Arc::make_mut(&mut self.parts));
        self.prepared = Arc::default();
        self
    }

    pub(crate) fn prepared(&self) -> Result<&Prepared, ExecError> {
        if let Some(prepared) = self.prepared.get() {
            return Ok(prepared);
        }
        let prepared = Prepared::new(&self.parts)?;
        Ok(self.prepared.get_or_init(|| prepared))
    }
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.parts.env.iter().map(|(name, _)| name).collect();
        f.debug_struct("Command")
            .field("program", &self.parts.program)
            .field("args", &self.parts.args)
            .field("cwd", &self.parts.cwd)
            .field("environment", &self.parts.environment)
            .field("env", &names)
            .finish_non_exhaustive()
    }
}

/// A command in the form the system takes.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) program: CString,
    argv: Vec<CString>,
    pub(crate) cwd: Option<CString>,
    env: Vec<Variable>,
}

/// `NAME=VALUE`.
#[derive(Debug)]
struct Variable {
    text: CString,
    name_length: usize,
}

impl Variable {
    fn new(name: &OsStr, value: &OsStr) -> Result<Self, ExecError> {
        let what = || format!("the variable {:?}", name.to_string_lossy());
        if !is_name(name) {
            let problem = "has a name that is empty or contains '=' or NUL";
            return Err(ExecError::Invalid { what: what(), problem });
        }
        let mut text = name.as_bytes().to_vec();
        text.push(b'=');
        text.extend_from_slice(value.as_bytes());
        Ok(Self { text: c_string(text, what)?, name_length: name.len() })
    }

    fn name(&self) -> &[u8] {
        self.text.as_bytes().get(..self.name_length).unwrap_or_default()
    }
}

/// What the system does not tell apart from the rest of `NAME=VALUE` is not a name.
fn is_name(name: &OsStr) -> bool {
    !name.is_empty() && !name.as_bytes().iter().any(|byte| matches!(byte, b'=' | 0))
}

impl Prepared {
    fn new(parts: &Parts) -> Result<Self, ExecError> {
        let given = &parts.program;
        let program = if given.as_os_str().as_bytes().contains(&b'/') {
            given.clone()
        } else {
            find(given).ok_or_else(|| ExecError::NotFound { program: given.clone() })?
        };
        let mut argv = vec![c_string(given.as_os_str().as_bytes(), || "the program".into())?];
        for (place, arg) in parts.args.iter().enumerate() {
            argv.push(c_string(arg.as_bytes(), || format!("argument {}", place + 1))?);
        }
        let cwd = parts
            .cwd
            .as_ref()
            .map(|dir| c_string(dir.as_os_str().as_bytes(), || "the directory to run in".into()));
        let mut env = Vec::new();
        for (name, value) in parts.environment.variables() {
            env.push(Variable::new(&name, &value)?);
        }
        for (name, value) in &parts.env {
            let variable = Variable::new(name, value)?;
            env.retain(|other| other.name() != variable.name());
            env.push(variable);
        }
        Ok(Self {
            program: c_string(program.as_os_str().as_bytes(), || "the program".into())?,
            argv,
            cwd: cwd.transpose()?,
            env,
        })
    }

    pub(crate) fn program_path(&self) -> &Path {
        Path::new(OsStr::from_bytes(self.program.as_bytes()))
    }

    pub(crate) fn cwd_path(&self) -> &Path {
        let bytes = self.cwd.as_ref().map(CString::as_bytes).unwrap_or_default();
        Path::new(OsStr::from_bytes(bytes))
    }
}

/// A prepared command with the variables of one call, and the arrays of pointers to all of it.
pub(crate) struct Launch {
    command: Command,
    own: Vec<Variable>,
    argv: Vec<*const c_char>,
    envp: Vec<*const c_char>,
}

impl Launch {
    pub(crate) fn new(command: &Command, env: &[(String, String)]) -> Result<Self, ExecError> {
        let command = command.clone();
        let prepared = command.prepared()?;
        let mut own: Vec<Variable> = Vec::with_capacity(env.len());
        for (name, value) in env {
            let variable = Variable::new(name.as_ref(), value.as_ref())?;
            own.retain(|other| other.name() != variable.name());
            own.push(variable);
        }
        let ended = std::iter::once(std::ptr::null());
        let argv = prepared.argv.iter().map(|arg| arg.as_ptr()).chain(ended.clone()).collect();
        let envp = prepared
            .env
            .iter()
            .filter(|variable| own.iter().all(|other| other.name() != variable.name()))
            .chain(&own)
            .map(|variable| variable.text.as_ptr())
            .chain(ended)
            .collect();
        Ok(Self { command, own, argv, envp })
    }

    pub(crate) fn prepared(&self) -> Result<&Prepared, ExecError> {
        self.command.prepared()
    }

    pub(crate) fn argv(&self) -> *const *const c_char {
        self.argv.as_ptr()
    }

    pub(crate) fn envp(&self) -> *const *const c_char {
        self.envp.as_ptr()
    }

    /// How long arguments and environment are together, as the system counts.
    pub(crate) fn bytes(&self) -> usize {
        let prepared = self.prepared().ok();
        let arguments = prepared.iter().flat_map(|prepared| &prepared.argv).map(length);
        let passed_on = prepared.iter().flat_map(|prepared| &prepared.env);
        arguments.sum::<usize>()
            + passed_on.chain(&self.own).map(|variable| length(&variable.text)).sum::<usize>()
    }
}

fn length(text: &CString) -> usize {
    text.as_bytes_with_nul().len() + size_of::<*const c_char>()
}

fn c_string(
    bytes: impl Into<Vec<u8>>,
    what: impl FnOnce() -> String,
) -> Result<CString, ExecError> {
    CString::new(bytes)
        .map_err(|_| ExecError::Invalid { what: what(), problem: "contains a NUL byte" })
}

/// Looks a program up in `PATH`. A name with a slash is a path, and is only checked.
pub fn find_program(name: &str) -> Option<PathBuf> {
    find(Path::new(name))
}

fn find(name: &Path) -> Option<PathBuf> {
    if name.as_os_str().as_bytes().contains(&b'/') {
        return is_executable(name).then(|| name.to_owned());
    }
    if name.as_os_str().is_empty() {
        return None;
    }
    let path = env::var_os("PATH").unwrap_or_else(|| "/usr/local/bin:/usr/bin:/bin".into());
    env::split_paths(&path)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(name))
        .find(|program| is_executable(program))
}

fn is_executable(program: &Path) -> bool {
    program.is_file() && access(program, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(command: &Command, env: &[(&str, &str)]) -> Vec<String> {
        let env: Vec<_> = env.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let launch = Launch::new(command, &env).unwrap();
        let prepared = launch.prepared().unwrap();
        prepared
            .env
            .iter()
            .filter(|v| launch.own.iter().all(|other| other.name() != v.name()))
            .chain(&launch.own)
            .map(|variable| variable.text.to_str().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn the_last_value_of_a_variable_counts() {
        let command = Command::new("/bin/sh")
            .environment(Environment::empty())
            .env("A", "1")
            .env("B", "2")
            .env("A", "3");
        assert_eq!(variables(&command, &[]), ["B=2", "A=3"]);
        assert_eq!(variables(&command, &[("B", "4"), ("AB", "5")]), ["A=3", "B=4", "AB=5"]);
    }

    #[test]
    fn what_no_process_can_be_given_is_an_error() {
        let invalid =
            |command: Command| matches!(command.prepared(), Err(ExecError::Invalid { .. }));
        assert!(invalid(Command::new("/bin/s\0h")));
        assert!(invalid(Command::new("/bin/sh").arg("a\0")));
        assert!(invalid(Command::new("/bin/sh").cwd("\0")));
        assert!(invalid(Command::new("/bin/sh").env("A", "\0")));
        assert!(invalid(Command::new("/bin/sh").env("A=B", "")));
        assert!(invalid(Command::new("/bin/sh").env("", "")));
        let sound = Command::new("/bin/sh").environment(Environment::only(["", "A=", "\0"]));
        assert!(sound.prepared().is_ok());
    }

    #[test]
    fn values_are_not_printed() {
        let printed = format!("{:?}", Command::new("x").env("TOKEN", "hunter2").arg("-v"));
        assert!(printed.contains("TOKEN") && printed.contains("-v"));
        assert!(!printed.contains("hunter2"));
    }

    #[test]
    fn programs_are_found_in_the_path() {
        assert!(find_program("sh").unwrap().is_absolute());
        assert_eq!(find_program("/bin/sh"), Some("/bin/sh".into()));
        assert_eq!(find_program("no-such-program"), None);
        assert_eq!(find_program("/etc/passwd"), None);
        assert_eq!(find_program("/"), None);
        assert_eq!(find_program(""), None);
    }
}
