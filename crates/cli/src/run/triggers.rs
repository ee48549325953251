//! What makes the agent work by itself: `--every` and `--on-change`.

use std::path::Path;
use std::time::Duration;

use tollgate_agent::AgentBuilder;
use tollgate_agent::trigger::{Every, Files, TriggerError, every, files};

use crate::problem::Problem;

/// How long it is quiet before changed files are told of: programs write several at once.
const QUIET: Duration = Duration::from_millis(500);

/// The triggers of a session.
pub(super) struct Triggers {
    timers: Vec<Every>,
    files: Vec<Files>,
}

/// Reads the triggers that were asked for: each is a time or a pattern, and a prompt. Patterns begin in the directory
/// that the agent works in.
pub(super) fn read(
    timers: &[String],
    changes: &[String],
    directory: &Path,
) -> Result<Triggers, Problem> {
    let directory = directory.canonicalize().unwrap_or_else(|_| directory.to_owned());
    let wrong = |error: TriggerError| Problem::new(error);
    let timer = |(time, prompt): (&str, &str)| every(duration(time)?, prompt).map_err(wrong);
    let change = |(pattern, prompt): (&str, &str)| {
        let here = directory.to_str().filter(|here| !here.contains(['*', '?', '[', '{']));
        let here = here.ok_or_else(|| {
            let directory = directory.display();
            Problem::new(format!(
                "`{directory}` looks like a pattern itself: --on-change cannot be used there"
            ))
        })?;
        let whole = Path::new(here).join(pattern);
        let files = files([whole.to_string_lossy()], QUIET, prompt).map_err(wrong)?;
        Ok(files.named(format!("a change of {pattern}")))
    };
    Ok(Triggers {
        timers: pairs("--every", timers)?.map(timer).collect::<Result<_, _>>()?,
        files: pairs("--on-change", changes)?.map(change).collect::<Result<_, Problem>>()?,
    })
}

/// Each with its prompt, which says something.
fn pairs<'a>(
    option: &str,
    given: &'a [String],
) -> Result<impl Iterator<Item = (&'a str, &'a str)>, Problem> {
    let pairs = given.chunks_exact(2).filter_map(|pair| match pair {
        [first, prompt] => Some((first.as_str(), prompt.as_str())),
        _ => None,
    });
    match pairs.clone().find(|(_, prompt)| prompt.trim().is_empty()) {
        Some((first, _)) => Err(Problem::new(format!("the prompt of `{option} {first}` is empty"))),
        None => Ok(pairs),
    }
}

impl Triggers {
    pub(super) fn is_empty(&self) -> bool {
        self.timers.is_empty() && self.files.is_empty()
    }

    pub(super) fn add(self, builder: AgentBuilder) -> AgentBuilder {
        let builder = self.timers.into_iter().fold(builder, AgentBuilder::trigger);
        self.files.into_iter().fold(builder, AgentBuilder::trigger)
    }
}

/// A time as people write it.
fn duration(text: &str) -> Result<Duration, Problem> {
    let wrong = || {
        let text = text.chars().take(60).collect::<String>();
        Problem::new(format!("`{text}` is no time: write `30s`, `10m`, `6h` or `1d`"))
    };
    let end = text.find(|c: char| !c.is_ascii_digit()).ok_or_else(wrong)?;
    let (number, unit) = text.split_at(end);
    let number: u32 = number.parse().map_err(|_| wrong())?;
    let unit = match unit.trim() {
        "ms" => Duration::from_millis(1),
        "s" => Duration::from_secs(1),
        "m" | "min" => Duration::from_mins(1),
        "h" => Duration::from_hours(1),
        "d" => Duration::from_hours(24),
        _ => return Err(wrong()),
    };
    Ok(unit.saturating_mul(number))
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        for (text, seconds) in
            [("30s", 30), ("10m", 600), ("10 min", 600), ("2h", 7200), ("1d", 86_400)]
        {
            assert_eq!(duration(text).unwrap(), Duration::from_secs(seconds), "{text}");
        }
        assert_eq!(duration("5ms").unwrap(), Duration::from_millis(5));
        for text in ["", "10", "m", "-5m", "1.5h", "10 parsecs", "99999999999s", "５m"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_trigger_is_refused() {
        let read = |timers: &[&str], changes: &[&str], directory: &str| {
            let texts =
                |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
            let read = read(&texts(timers), &texts(changes), Path::new(directory));
            read.err().map(|problem| problem.to_string())
        };
        assert_eq!(read(&["1m", "a", "2h", "b"], &["src/**", "c"], "/work"), None);
        let said = |problem: Option<String>| problem.unwrap();
        assert!(said(read(&["soon", "a"], &[], "/work")).starts_with("`soon` is no time"));
        assert!(said(read(&["0s", "a"], &[], "/work")).contains("a period of 0"));
        assert_eq!(said(read(&["1m", " "], &[], "/work")), "the prompt of `--every 1m` is empty");
        assert!(said(read(&[], &["src/[", "a"], "/work")).contains("cannot be watched"));
        assert!(said(read(&[], &["src", "a"], "/work/[x]")).contains("looks like a pattern"));
    }
}
