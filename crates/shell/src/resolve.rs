//! From the tree of a script to every simple command that could run, with its arguments.

mod arithmetic;
mod brace;
mod branches;
mod builtins;
mod code;
mod decode;
mod expand;
mod files;
mod glob;
mod output;
mod parameter;
mod programs;
mod project;
mod redirect;
mod state;
mod typed;
mod variables;
mod walk;

use std::sync::Arc;

use crate::effects::Source;
use crate::value::Value;
use walk::Walker;

pub use typed::typed_into;
pub(crate) use walk::risky_word;

/// Tells what a script would run.
///
/// ```
/// use tollgate_shell::resolve::{Surroundings, analyze};
///
/// let found = analyze(r#"x=m; sudo r$x -rf "/et"c"#, &Surroundings::default());
/// let argv: Vec<String> = found.commands[1].argv.iter().map(ToString::to_string).collect();
/// assert_eq!(argv, ["rm", "-rf", "/etc"]);
/// assert_eq!(found.commands[1].via, ["sudo"]);
/// assert!(found.unknowns.is_empty());
/// ```
pub fn analyze(script: &str, surroundings: &Surroundings) -> Analysis {
    let mut walker = Walker::new(surroundings);
    walker.whole(script);
    walker.out
}

/// Where a script runs, as far as it is known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// The working directory; absolute, or beginning with `~`. Paths stay relative without it.
    pub directory: Option<String>,
}

/// What a script would run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Analysis {
    /// Every simple command that could run, in the order of the text.
    pub commands: Vec<Command>,
    /// What could not be told. Where there is anything, other commands may run, too.
    pub unknowns: Vec<Unknown>,
    /// Code of other languages in files that are run.
    pub code: Vec<Code>,
}

/// A simple command that could run.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Command {
    /// The program and its arguments. Empty where there are only redirections.
    pub argv: Vec<Value>,
    /// The files that its redirections open.
    pub redirections: Vec<Redirection>,
    /// Variables that are set for it alone.
    pub variables: Vec<(String, Value)>,
    /// The directories it may run in: one, or several where a `cd` before may have failed. A
    /// relative one is relative to an unknown directory; empty means nothing is known.
    pub directories: Arc<Vec<Value>>,
    /// What comes to its standard input, where a pipe, a here-document or a here-string says so.
    pub input: Input,
    /// By what it is run: `sudo`, `xargs`, `sh -c`, from the outside in.
    pub via: Vec<String>,
    /// The host it runs on, where that is another one.
    pub host: Option<Value>,
    /// The file it stands in, if that is not the command line.
    pub script: Option<Arc<Source>>,
}

/// Code of another language in a file that is run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Code {
    /// The interpreter.
    pub by: String,
    /// The text.
    pub text: String,
    /// The file it is in.
    pub script: Option<Arc<Source>>,
    /// Where it runs.
    pub directories: Arc<Vec<Value>>,
}

/// Where standard input comes from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Input {
    /// From wherever the shell has its own from.
    #[default]
    Inherited,
    /// A file that a redirection names.
    File,
    /// Text that is known, in part or whole.
    Text(Value),
    /// What another command prints, which is not known.
    Pipe,
}

/// A file that is opened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirection {
    /// What for.
    pub access: Access,
    /// Which.
    pub target: Value,
}

/// What a file is opened for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// To read.
    Read,
    /// To write from the beginning: what was there is gone.
    Write,
    /// To add at the end.
    Append,
}

/// Something that could not be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unknown {
    /// What kind of thing.
    pub why: Why,
    /// The text it is about, shortened.
    pub text: String,
}

/// Why something could not be told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Why {
    /// The text is no valid script.
    Syntax,
    /// Two parsers read it differently.
    Ambiguous,
    /// It is nested deeper, is longer, or runs more than can be looked at.
    TooMuch,
    /// Which program runs is only known when it runs.
    Program,
    /// Code runs that is only known when it runs: downloaded, decoded, or from a variable.
    Code,
    /// A function that starts itself again and again, beside itself.
    Endless,
    /// A program is left to what is typed into it later.
    Typed,
    /// Code of another language does something that its text does not tell.
    Opaque,
    /// Code is fetched from another machine and run.
    Fetched,
    /// A shell does what another machine says.
    Remote,
}

impl Why {
    /// As one word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syntax => "syntax",
            Self::Ambiguous => "ambiguous",
            Self::TooMuch => "too_much",
            Self::Program => "program",
            Self::Code => "code",
            Self::Endless => "endless",
            Self::Typed => "typed",
            Self::Opaque => "opaque",
            Self::Fetched => "fetched",
            Self::Remote => "remote",
        }
    }
}
