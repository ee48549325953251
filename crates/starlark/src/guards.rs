//! The guards that come with Tollgate: hooks like any other, in files that people read, copy and
//! change. They are in `hooks/` of the repository, and here.
//!
//! ```
//! use tollgate_starlark::guards;
//!
//! let guard = guards::named("command-guard").unwrap();
//! assert!(guard.text.contains("event: tool.pre"));
//! assert_eq!(guard.file_name(), "command-guard.md");
//! ```

/// A hook that comes with Tollgate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Guard {
    /// Its name.
    pub name: &'static str,
    /// Its file.
    pub text: &'static str,
}

macro_rules! guards {
    ($($name:literal),* $(,)?) => {
        &[$(Guard { name: $name, text: include_str!(concat!("../../../hooks/", $name, ".md")) }),*]
    };
}

/// All of them.
pub const ALL: &[Guard] = guards![
    "budget",
    "command-guard",
    "git-guard",
    "network-guard",
    "package-guard",
    "path-guard",
    "protected-paths",
    "secret-guard",
    "secret-redaction",
    "startup-guard",
];

/// The guards of a project that says nothing else: useful anywhere, and seldom in the way.
pub const STARTER: &[&str] =
    &["command-guard", "git-guard", "secret-guard", "secret-redaction", "startup-guard"];

/// The one of a name.
pub fn named(name: &str) -> Option<&'static Guard> {
    ALL.iter().find(|guard| guard.name == name)
}

impl Guard {
    /// What its file is called in `.tollgate/hooks`.
    pub fn file_name(&self) -> String {
        format!("{}.md", self.name)
    }
}
