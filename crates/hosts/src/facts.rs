//! Measured facts about versions of hosts, as data. `docs/hosts-measured.md` tells how they were measured.

use std::fmt;
use std::time::Duration;

use crate::host::Host;

/// The version of a program: three numbers.
///
/// ```
/// use tollgate_hosts::Version;
///
/// let version = Version::find("codex-cli 0.166.0\n").ok_or("none")?;
/// assert_eq!(version, Version([0, 166, 0]));
/// assert!(version < Version([0, 166, 1]));
/// # Ok::<(), &str>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub [u32; 3]);

impl Version {
    /// Returns the first version in what a program prints; none if there is none.
    pub fn find(text: &str) -> Option<Self> {
        let mut words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
        words.find_map(Self::parse)
    }

    fn parse(word: &str) -> Option<Self> {
        let mut numbers = word.trim_matches('.').split('.').map(|it| it.parse().ok());
        let version = Self([numbers.next()??, numbers.next()??, numbers.next()??]);
        numbers.next().is_none().then_some(version)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self([major, minor, patch]) = self;
        write!(f, "{major}.{minor}.{patch}")
    }
}

/// Facts about a host that were measured by running it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// The host.
    pub host: &'static str,
    /// The version that was run.
    pub measured: Version,
    /// The lowest version that honours what `tollgate install` writes, and what older ones do instead. None if no version
    /// is known that does not.
    pub lowest: Option<(Version, &'static str)>,
    /// True if it reads the settings of a project when it is started in a subdirectory.
    pub reads_parents: bool,
    /// True if the rewrite of one hook is applied after all other hooks have seen the first input.
    pub rewrites_unseen: bool,
    /// How long it waits for a hook before a tool at most, whatever its settings say.
    pub longest: Option<Duration>,
}

impl Facts {
    const fn of(host: &'static str, measured: [u32; 3]) -> Self {
        Self {
            host,
            measured: Version(measured),
            lowest: None,
            reads_parents: true,
            rewrites_unseen: false,
            longest: None,
        }
    }
}

const ALL: &[Facts] = &[
    Facts {
        lowest: Some((
            Version([2, 1, 296]),
            "older versions ignore `onFailure` and run the call if the hook crashes, is killed or is missing",
        )),
        reads_parents: false,
        rewrites_unseen: true,
        ..Facts::of("claude", [2, 1, 325])
    },
    Facts { rewrites_unseen: true, ..Facts::of("codex", [0, 166, 0]) },
    Facts { reads_parents: false, rewrites_unseen: true, ..Facts::of("gemini", [0, 61, 0]) },
    Facts { reads_parents: false, ..Facts::of("copilot", [1, 0, 102]) },
    Facts {
        reads_parents: false,
        longest: Some(Duration::from_mins(1)),
        ..Facts::of("qwen", [0, 24, 4])
    },
    Facts::of("kimi", [2, 1, 0]),
    Facts::of("droid", [0, 215, 0]),
    Facts { longest: Some(Duration::from_mins(2)), ..Facts::of("cline", [3, 0, 65]) },
    Facts::of("opencode", [1, 18, 33]),
];

impl Host {
    /// Returns what was measured of it; none if it was never run for this.
    ///
    /// ```
    /// let claude = tollgate_hosts::by_name("claude").and_then(|host| host.facts()).ok_or("none")?;
    /// assert!(claude.lowest.is_some_and(|(lowest, _)| lowest < claude.measured));
    /// # Ok::<(), &str>(())
    /// ```
    pub fn facts(&self) -> Option<&'static Facts> {
        ALL.iter().find(|facts| facts.host == self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::{ALL, Version};

    #[test]
    fn versions_are_found_in_what_programs_print() {
        for (text, version) in [
            ("2.1.325 (Claude Code)", Some([2, 1, 325])),
            ("codex-cli 0.166.0", Some([0, 166, 0])),
            ("GitHub Copilot CLI 1.0.102.\nCommit: 1a2", Some([1, 0, 102])),
            ("v0.61.0-preview.1", Some([0, 61, 0])),
            ("1.2", None),
            ("1.2.3.4", None),
            ("99999999999.0.0", None),
            ("", None),
        ] {
            assert_eq!(Version::find(text), version.map(Version), "{text}");
        }
    }

    #[test]
    fn facts_are_of_hosts() {
        for facts in ALL {
            let host = crate::by_name(facts.host).unwrap();
            let row = format!("| {} | {} |", host.title, facts.measured);
            assert!(
                include_str!("../../../docs/hosts.md").contains(&row),
                "{row} is in docs/hosts.md"
            );
            assert!(facts.lowest.is_none_or(|(lowest, _)| lowest <= facts.measured));
        }
    }
}
