//! What a command gets to see of the environment.

use std::ffi::{OsStr, OsString};
use std::fmt;

/// Which variables are passed on to commands: all but those that look like secrets.
///
/// This keeps secrets out of what a command prints and hands on. It does not keep a command from
/// looking for them: it runs as the same user, who may read `/proc/PID/environ` of this process
/// unless that has made itself undumpable.
///
/// ```
/// use tollgate_tools::Variables;
///
/// let variables = Variables::default().pass("CI_TOKEN").set("LANG", "C.UTF-8");
/// assert!(!variables.passes("OPENAI_API_KEY", ""));
/// assert!(!variables.passes("DATABASE_URL", "postgres://me:hunter2@db/app"));
/// assert!(variables.passes("CI_TOKEN", "") && variables.passes("HOME", "/home/me"));
/// ```
#[derive(Clone, Default)]
pub struct Variables {
    pass: Vec<String>,
    hide: Vec<String>,
    set: Vec<(OsString, OsString)>,
}

/// Programs that think that a person is watching page, colour and ask.
const QUIET: &[(&str, &str)] = &[
    ("TERM", "dumb"),
    ("PAGER", "cat"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("NO_COLOR", "1"),
];

/// Words of names whose values are secrets.
const SECRET: &[&str] = &[
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "APIKEY",
    "KEY",
    "KEYS",
    "COOKIE",
    "COOKIES",
    "AUTH",
    "BEARER",
    "PAT",
];

/// Ends of names, without any word before them, that say the same.
const ENDS: &[&str] = &["APIKEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "PASSPHRASE"];

/// Names that only look like it.
const HARMLESS: &[&str] = &["PWD", "OLDPWD", "SSH_AUTH_SOCK"];

impl Variables {
    /// The same, with this variable passed on although it looks like a secret.
    pub fn pass(mut self, name: impl Into<String>) -> Self {
        self.pass.push(name.into());
        self
    }

    /// The same, without this variable.
    pub fn hide(mut self, name: impl Into<String>) -> Self {
        self.hide.push(name.into());
        self
    }

    /// The same, with this variable set.
    pub fn set(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.set.push((name.into(), value.into()));
        self
    }

    /// Whether a variable with this value is passed on.
    pub fn passes(&self, name: &str, value: &str) -> bool {
        if self.hide.iter().any(|hidden| hidden == name) {
            return false;
        }
        self.pass.iter().any(|passed| passed == name)
            || !(is_secret_name(name) || has_password(name, value))
    }

    /// The variables for a command that is started now.
    pub(crate) fn passed_on(&self) -> Vec<(OsString, OsString)> {
        let fits = |text: &OsStr| !text.is_empty() && !text.to_string_lossy().contains(['=', '\0']);
        let quiet = QUIET.iter().map(|(name, value)| (OsString::from(name), OsString::from(value)));
        std::env::vars_os()
            .filter(|(name, _)| fits(name))
            .filter(|(name, value)| self.passes(&name.to_string_lossy(), &value.to_string_lossy()))
            .chain(quiet)
            .chain(self.set.iter().cloned())
            .collect()
    }
}

fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if HARMLESS.contains(&name.as_str()) {
        return false;
    }
    name.split(['_', '-', '.']).any(|word| SECRET.contains(&word))
        || ENDS.iter().any(|end| name.ends_with(end))
        || name.contains("SECRET")
}

/// Whether a URL has a password in it. Those of proxies are needed to reach anything.
fn has_password(name: &str, value: &str) -> bool {
    if name.to_ascii_uppercase().ends_with("_PROXY") {
        return false;
    }
    let Some((_, rest)) = value.split_once("://") else { return false };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    host.rsplit_once('@').is_some_and(|(user, _)| {
        user.split_once(':').is_some_and(|(_, password)| !password.is_empty())
    })
}

/// Without values, which may be secrets.
impl fmt::Debug for Variables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set: Vec<_> = self.set.iter().map(|(name, _)| name).collect();
        f.debug_struct("Variables")
            .field("pass", &self.pass)
            .field("hide", &self.hide)
            .field("set", &set)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_stay() {
        let variables = Variables::default();
        for name in [
            "OPENAI_API_KEY",
            "GITHUB_TOKEN",
            "AWS_SECRET_ACCESS_KEY",
            "AWS_ACCESS_KEY_ID",
            "DB_PASSWORD",
            "npm_config__authToken",
            "CLIENT_SECRET",
            "MYSECRETTHING",
            "GH_PAT",
            "SSH_KEY",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "PGPASSWORD",
        ] {
            assert!(!variables.passes(name, "x"), "{name}");
        }
        for name in ["PATH", "HOME", "PWD", "SSH_AUTH_SOCK", "LANG", "CARGO_HOME", "KEYBOARD"] {
            assert!(variables.passes(name, "x"), "{name}");
        }
        assert!(!variables.passes("REDIS_URL", "redis://:pw@host/0"));
        assert!(variables.passes("REDIS_URL", "redis://host/0"));
        assert!(variables.passes("https_proxy", "http://u:p@proxy:3128"));
        assert!(!Variables::default().hide("PATH").passes("PATH", ""));
        let shown = format!("{:?}", Variables::default().set("X", "hunter2"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
