//! `tollgate allow`: a person lets a call pass that was refused.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, IsTerminal as _, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_config::settings::{Excepting, Time};
use tollgate_core::mask::MASKED;
use tollgate_hosts as hosts;
use tollgate_record::exceptions::{Binding, Exception, Lasting, Look, Objector, Store, now};
use tollgate_record::{Code, Entry, Reader, Recorder, Refused, Revoked, Stored};

use crate::exception::{LINE, Pattern, is_permitted};
use crate::exit::Exit;
use crate::out::{Out, Table, count, styles};
use crate::place::{hook_shown, shown};
use crate::problem::Problem;
use crate::visible::visible;

/// Let a call pass that a hook refused, by the code at the end of the refusal
#[derive(Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("action").required(true).args(["code", "list", "revoke"]),
    after_help = "\
Examples:
  tollgate allow 7KQ2MX                # once, within a day
  tollgate allow 7KQ2MX --for 2h
  tollgate allow 7KQ2MX --always --as 'git push origin *'
  tollgate allow --list
  tollgate allow --revoke 7KQ2MX

An exception is for one call and the hooks that object to it: the same bytes, in
the same directory, with the files that the decision read unchanged. These hooks
then have no opinion about the call; other hooks decide as before. The command
shows the call and every objection, and asks you to confirm, so it needs a
terminal. An agent cannot run it.

Exit codes: 0 done; 1 nothing was allowed, or a problem."
)]
#[allow(clippy::struct_excessive_bools)] // each is an option of the command line
pub(crate) struct Args {
    /// The code of the refusal
    #[arg(value_name = "CODE")]
    code: Option<Code>,
    /// For one call, within a day (the default)
    #[arg(long, requires = "code", conflicts_with_all = ["time", "always"])]
    once: bool,
    /// For a time, such as `30m`, `2h` or `1d`; 30 days at the most
    #[arg(long = "for", value_name = "DURATION", requires = "code", conflicts_with = "always",
          value_parser = duration)]
    time: Option<Duration>,
    /// Until it is revoked
    #[arg(long, requires = "code")]
    always: bool,
    /// For all command lines like this, where `*` is one word
    #[arg(long = "as", value_name = "PATTERN", requires = "code")]
    pattern: Option<String>,
    /// Why, for the record
    #[arg(long, value_name = "TEXT", requires = "code")]
    reason: Option<String>,
    /// List the exceptions in force
    #[arg(long)]
    list: bool,
    /// End an exception
    #[arg(long, value_name = "ID")]
    revoke: Option<Code>,
    /// Print the list as JSON
    #[arg(long, requires = "list")]
    json: bool,
}

impl Args {
    /// True if nothing is changed.
    pub(crate) const fn only_shows(&self) -> bool {
        self.list
    }
}

const DAY: Duration = Duration::from_hours(24);
const SHORTEST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_hours(24 * 30);

/// The longest reason that a person may give, in bytes.
const LONGEST_REASON: usize = 500;

/// Number of refusals that are looked through.
const MOST_REFUSALS: usize = 10_000;

/// Parses a duration; days as well, unlike in settings.
fn duration(text: &str) -> Result<Duration, String> {
    let days = text.strip_suffix('d').and_then(|days| days.trim().parse::<u32>().ok());
    let parsed = match days {
        Some(days) => DAY.checked_mul(days),
        None => Time::parse(text).map(|time| time.0),
    };
    match parsed {
        None => Err("a duration is like `30m`, `2h` or `1d`".to_owned()),
        Some(time) if time < SHORTEST || time > LONGEST => {
            Err("a duration is from 1 second to 30 days".to_owned())
        }
        Some(time) => Ok(time),
    }
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let trust = Places::of_this_process(None).trust;
    let state = trust.as_deref().and_then(Path::parent).ok_or_else(|| {
        Problem::new("cannot find the exceptions: HOME is not set").help("set HOME")
    })?;
    if args.list {
        return list(args, state, out);
    }
    if let Some(id) = &args.revoke {
        return revoke(id, state, out);
    }
    match &args.code {
        Some(code) => allow(args, code, state, out),
        None => Err(Problem::new("no code was given").help("`tollgate allow CODE`")),
    }
}

fn allow(args: &Args, code: &Code, state: &Path, out: &mut Out) -> Result<Exit, Problem> {
    let (stored, refused) = find(code, state)?;
    let binding = refused
        .binding
        .clone()
        .ok_or_else(|| Problem::new(format!("the refusal `{code}` cannot be excepted")))?;
    let lasting = match args.time {
        Some(_) => Lasting::For,
        None if args.always => Lasting::Always,
        None => Lasting::Once,
    };
    permitted(lasting, &refused)?;
    let pattern = args.pattern.as_deref().map(|text| pattern(text, &refused)).transpose()?;
    let reason = args.reason.clone().filter(|reason| !reason.trim().is_empty());
    if reason.as_ref().is_some_and(|reason| reason.len() > LONGEST_REASON) {
        return Err(Problem::new(format!("the reason is longer than {LONGEST_REASON} bytes")));
    }
    let is_terminal = io::stdin().is_terminal() && io::stdout().is_terminal();
    if !is_terminal {
        return Err(Problem::new(
            "`tollgate allow` needs a terminal, because a person has to confirm it",
        )
        .help(format!("run `tollgate allow {code}` in a terminal of your own")));
    }
    let time = args.time.unwrap_or(DAY);
    show(code, &stored, &refused, &binding, pattern.as_ref(), out);
    out.line(format!("  {:10}{}", "lasts", lasts(lasting, time)));
    out.line("\nOther hooks decide as before. Type `yes` to allow this:");
    out.flush()?;
    if !is_confirmed() {
        out.line("Nothing was allowed.");
        return Ok(Exit::Problem);
    }
    let made = now();
    let until = (lasting != Lasting::Always).then(|| made.saturating_add(time.as_secs()));
    let exception = Exception {
        id: code.clone(),
        made,
        lasting,
        until,
        binding,
        pattern: pattern.map(|pattern| pattern.to_string()),
        shown: call_shown(&refused),
        reason,
    };
    let store = Store::new(state);
    store.add(exception.clone())?;
    let entry = Entry::ExceptionMade(Box::new(exception));
    if let Err(error) = Recorder::new(state).append(&entry) {
        store.revoke(code)?;
        return Err(Problem::new(format!("the exception cannot be recorded: {error}"))
            .help("nothing was allowed"));
    }
    let good = styles::GOOD;
    out.line(format!("{good}Allowed{good:#}: {}.", lasts(lasting, time)));
    out.hint(format!("To revoke it, run `tollgate allow --revoke {code}`."));
    Ok(Exit::Fine)
}

/// Finds the refusal with a code.
fn find(code: &Code, state: &Path) -> Result<(Stored, Refused), Problem> {
    let mut all = Reader::new(state).newest_refusals(MOST_REFUSALS)?;
    all.retain(|(_, refused)| refused.code.as_ref() == Some(code));
    let is_other =
        |(_, other): &(Stored, Refused)| all.first().is_some_and(|(_, refused)| refused != other);
    if all.iter().any(is_other) {
        return Err(Problem::new(format!("several refusals have the code `{code}`"))
            .help("have the agent try again, which gives the refusal a new code"));
    }
    let found = all.into_iter().next();
    found.ok_or_else(|| {
        Problem::new(format!("no refusal has the code `{code}`"))
            .help("the code is at the end of what the agent was told; old refusals are forgotten")
    })
}

/// Refuses what the settings of the project in which the call was refused forbid.
fn permitted(lasting: Lasting, refused: &Refused) -> Result<(), Problem> {
    let project = Some(PathBuf::from(&refused.project)).filter(|project| project.is_dir());
    let settings = Setup::new(Places::of_this_process(project)).settings.settings;
    let setting = settings.exceptions.allow;
    if is_permitted(lasting, setting) {
        return Ok(());
    }
    let by = settings.origin("exceptions.allow").first();
    let by = by.map_or_else(String::new, |origin| format!(" in {origin}"));
    let help = match setting {
        Excepting::None => "exceptions are forbidden there",
        Excepting::Once => "`--once` is permitted",
        Excepting::For | Excepting::Always => "`--once` and `--for DURATION` are permitted",
    };
    let name = setting.name();
    Err(Problem::new(format!("`exceptions.allow` is `\"{name}\"`{by}")).help(help))
}

/// Parses a pattern, which has to cover the call that was refused.
fn pattern(text: &str, refused: &Refused) -> Result<Pattern, Problem> {
    let pattern = Pattern::parse(text)?;
    let line = arguments(refused)
        .and_then(|arguments| arguments.get(LINE).and_then(Value::as_str).map(ToOwned::to_owned));
    let help = "leave `--as` out to allow exactly this call";
    let Some(line) = line else {
        return Err(Problem::new("a pattern is for command lines only").help(help));
    };
    if line.contains(MASKED) || !pattern.covers(&line) {
        let message = format!("the pattern does not cover `{}`", visible(&line));
        return Err(Problem::new(message).help(
            "the call has to be one command with plain words, without variables and redirections",
        ));
    }
    Ok(pattern)
}

fn arguments(refused: &Refused) -> Option<Map<String, Value>> {
    serde_json::from_str(&refused.arguments).ok()
}

/// Shows all that an exception would let pass.
fn show(
    code: &Code,
    stored: &Stored,
    refused: &Refused,
    binding: &Binding,
    pattern: Option<&Pattern>,
    out: &mut Out,
) {
    let heading = styles::HEADING;
    let host = hosts::by_name(&refused.host).map_or(refused.host.as_str(), |host| host.title);
    let ago = stored.time.elapsed().unwrap_or_default();
    out.line(format!(
        "{heading}{code}{heading:#}: {} was refused this {} ago",
        visible(host),
        about(ago)
    ));
    let mut row = |name: &str, text: &str| {
        let mut lines = text.lines();
        out.line(format!("  {name:10}{}", visible(lines.next().unwrap_or_default())));
        for line in lines {
            out.line(format!("  {:10}{}", "", visible(line)));
        }
    };
    let tool = refused.tool.as_deref().unwrap_or_default();
    let server = refused.server.as_ref().map(|server| format!(" of the MCP server {server}"));
    row("tool", &format!("{tool}{}", server.unwrap_or_default()));
    match arguments(refused) {
        Some(arguments) => {
            for (name, value) in &arguments {
                let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
                row(&format!("  {}", visible(name)), &text);
            }
        }
        None => row("arguments", &refused.arguments),
    }
    if let Some(pattern) = pattern {
        row(
            "as",
            &format!(
                "{pattern}\nEvery such command line; `*` is one word that does not begin with -, + or :"
            ),
        );
    }
    row("in", &shown(Path::new(&binding.directory)));
    for Objector { hook, source, rule, reason } in &binding.hooks {
        let rule = rule.as_ref().map(|rule| format!(", rule {rule}"));
        let source = source.as_ref().filter(|source| *source != hook);
        let source = source.map(|source| format!(" ({})", shown(Path::new(source))));
        let hook = hook_shown(hook);
        row("hook", &format!("{hook}{}{}", rule.unwrap_or_default(), source.unwrap_or_default()));
        row("reason", reason);
    }
    let mut files = Vec::new();
    for seen in binding.reads.iter().filter(|seen| seen.what != Look::Target) {
        let state = match (seen.what, &seen.digest) {
            (Look::Names, _) => " (its names)",
            (_, None) => " (not there)",
            _ => "",
        };
        files.push(format!("{}{state}", shown(Path::new(&seen.path))));
    }
    if !files.is_empty() {
        row("unchanged", &files.join("\n"));
    }
}

/// Returns a call in one line.
pub(crate) fn call_shown(refused: &Refused) -> String {
    let tool = refused.tool.as_deref().unwrap_or_default();
    let arguments = arguments(refused).unwrap_or_default();
    let line = arguments.get(LINE).and_then(Value::as_str);
    let text = line.map_or_else(|| format!("{tool} {}", refused.arguments), ToOwned::to_owned);
    let text: String = text.chars().take(500).collect();
    visible(&text.replace('\n', " ⏎ ")).into_owned()
}

fn lasts(lasting: Lasting, time: Duration) -> String {
    match lasting {
        Lasting::Once => "for one call, within a day".to_owned(),
        Lasting::For => format!("for {}", about(time)),
        Lasting::Always => "until you revoke it".to_owned(),
    }
}

/// Returns a duration in words, rounded down.
pub(crate) fn about(time: Duration) -> String {
    let seconds = time.as_secs();
    let (number, unit) = match seconds {
        0..60 => (seconds, "second"),
        60..3_600 => (seconds / 60, "minute"),
        3_600..172_800 => (seconds / 3_600, "hour"),
        _ => (seconds / 86_400, "day"),
    };
    count(usize::try_from(number).unwrap_or(usize::MAX), unit)
}

/// Reads the answer of the person.
fn is_confirmed() -> bool {
    let mut answer = String::new();
    let read = io::stdin().lock().take(100).read_line(&mut answer);
    read.is_ok() && answer.trim() == "yes"
}

fn revoke(id: &Code, state: &Path, out: &mut Out) -> Result<Exit, Problem> {
    if !Store::new(state).revoke(id)? {
        return Err(Problem::new(format!("no exception has the id `{id}`"))
            .help("`tollgate allow --list` lists them"));
    }
    Recorder::new(state).append(&Entry::ExceptionRevoked(Revoked { id: id.clone() }))?;
    out.line(format!("Revoked the exception {id}."));
    Ok(Exit::Fine)
}

/// An exception in the list.
#[derive(Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    exception: &'a Exception,
    /// Seconds until it ends.
    left: Option<u64>,
}

fn list(args: &Args, state: &Path, out: &mut Out) -> Result<Exit, Problem> {
    let exceptions = Store::new(state).list()?;
    let left = |exception: &Exception| exception.until.map(|until| until.saturating_sub(now()));
    if args.json {
        let listed: Vec<_> =
            exceptions.iter().map(|it| Listed { exception: it, left: left(it) }).collect();
        out.json(&listed);
        return Ok(Exit::Fine);
    }
    if exceptions.is_empty() {
        out.line("No exceptions are in force.");
        return Ok(Exit::Fine);
    }
    let mut table = Table::default();
    table.row(["ID", "ENDS", "HOOK", "IN", "CALL"]);
    for exception in &exceptions {
        let ends = match (exception.lasting, left(exception)) {
            (Lasting::Once, _) => "once".to_owned(),
            (_, Some(left)) => format!("in {}", about(Duration::from_secs(left))),
            (_, None) => "never".to_owned(),
        };
        let Binding { hooks, directory, .. } = &exception.binding;
        // Two rules of one policy are one hook here.
        let hooks: BTreeSet<_> = hooks.iter().map(|it| hook_shown(&it.hook)).collect();
        let hooks = hooks.into_iter().collect::<Vec<_>>().join(", ");
        let call = exception.pattern.as_ref().unwrap_or(&exception.shown);
        table.row([
            exception.id.to_string(),
            ends,
            visible(&hooks).into_owned(),
            visible(&shown(Path::new(directory))).into_owned(),
            visible(call).into_owned(),
        ]);
    }
    out.lines(&table);
    Ok(Exit::Fine)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_bounded() {
        assert_eq!(duration("1d"), Ok(DAY));
        assert_eq!(duration("2h"), Ok(Duration::from_hours(2)));
        assert_eq!(duration("30d"), Ok(LONGEST));
        for wrong in ["", "d", "0d", "31d", "1w", "-1d", "4000000000d", "999h", "10ms"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(about(Duration::from_secs(61)), "1 minute");
        assert_eq!(about(DAY), "24 hours");
        assert_eq!(about(3 * DAY), "3 days");
    }
}
