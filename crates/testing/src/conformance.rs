//! Recorded cases of other engines, run against this one.
//!
//! Each kind of case has a module. They take any file of their form, not just the ones in
//! `cases/conformance`, whose `README.md` describes the forms.
//!
//! A file that cannot be used as a whole is an [`InputError`]. A single case that cannot be read
//! fails, and the others are still run.
//!
//! ```no_run
//! use tollgate_testing::conformance::Request;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let request = Request::from_args(["policy", "cases/conformance/policy_cases.json"])?;
//! let report = request.run()?;
//! println!("{report}");
//! # Ok(()) }
//! ```

mod file;
pub mod harness;
pub mod hooks;
pub mod policy;
pub mod report;
pub mod workspace;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

pub use file::CaseFile;
pub use report::{Difference, Failure, Report};

/// How the program is called.
pub const USAGE: &str = "\
usage: conformance policy FILE…
       conformance harness HARNESS_FILE POLICY_FILE
       conformance hooks FILE…
       conformance workspace FILE…";

/// Which sort of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// What policies decide; see [`policy`].
    Policy,
    /// What the native harness decides; see [`harness`].
    Harness,
    /// What hooks come to; see [`hooks`].
    Hooks,
    /// Which paths are in a workspace; see [`workspace`].
    Workspace,
}

/// Cases that cannot be run at all.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum InputError {
    /// The program was not called as it is meant to be.
    Usage {
        /// What is wrong.
        problem: String,
    },
    /// A file cannot be used.
    File {
        /// The file.
        file: PathBuf,
        /// What is wrong with it, and where in it.
        problem: String,
    },
    /// Something the cases need is not to be had on this machine.
    Setup {
        /// What, and why not.
        problem: String,
    },
}

impl InputError {
    fn usage(problem: impl Into<String>) -> Self {
        Self::Usage { problem: problem.into() }
    }

    fn file(file: &Path, problem: impl Into<String>) -> Self {
        Self::File { file: file.to_owned(), problem: problem.into() }
    }

    fn setup(problem: impl Into<String>) -> Self {
        Self::Setup { problem: problem.into() }
    }
}

impl std::fmt::Display for InputError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Usage { problem } => write!(f, "{problem}\n{USAGE}"),
            Self::File { file, problem } => write!(f, "{}: {problem}", file.display()),
            Self::Setup { problem } => f.write_str(problem),
        }
    }
}

impl std::error::Error for InputError {}

/// Which files to run, as what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    kind: Kind,
    files: Vec<PathBuf>,
}

impl Request {
    /// Reads the arguments of the program, without its name.
    pub fn from_args<A: Into<OsString>>(
        args: impl IntoIterator<Item = A>,
    ) -> Result<Self, InputError> {
        let mut args = args.into_iter().map(Into::into);
        let Some(kind) = args.next() else {
            return Err(InputError::usage("which kind of cases?"));
        };
        let kind = match kind.to_str() {
            Some("policy") => Kind::Policy,
            Some("harness") => Kind::Harness,
            Some("hooks") => Kind::Hooks,
            Some("workspace") => Kind::Workspace,
            _ => {
                let problem = format!("`{}` is no kind of cases", kind.display());
                return Err(InputError::usage(problem));
            }
        };
        let files: Vec<PathBuf> = args.map(PathBuf::from).collect();
        match (kind, files.len()) {
            (Kind::Harness, 2) => {}
            (Kind::Harness, _) => {
                let problem =
                    "harness cases take two files: theirs, and the policy cases they join";
                return Err(InputError::usage(problem));
            }
            (_, 0) => return Err(InputError::usage("which files?")),
            _ => {}
        }
        Ok(Self { kind, files })
    }

    /// Runs the cases of all files.
    pub fn run(&self) -> Result<Report, InputError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_time()
            .build()
            .map_err(|error| InputError::setup(format!("no runtime for the hooks: {error}")))?;
        let files =
            self.files.iter().map(|file| CaseFile::read(file)).collect::<Result<Vec<_>, _>>()?;
        runtime.block_on(self.check(&files))
    }

    async fn check(&self, files: &[CaseFile]) -> Result<Report, InputError> {
        if let (Kind::Harness, [cases, policies]) = (self.kind, files) {
            return Ok(harness::check(cases, policies).await);
        }
        let mut report = Report::default();
        for file in files {
            report.add(match self.kind {
                Kind::Policy | Kind::Harness => policy::check(file).await,
                Kind::Hooks => hooks::check(file).await,
                Kind::Workspace => workspace::check(file).await?,
            });
        }
        Ok(report)
    }
}
