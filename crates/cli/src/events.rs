//! `tollgate events`

mod host;

use std::collections::BTreeMap;

use serde::Serialize;
use tollgate_config::dialect::{self, harness};
use tollgate_core::dialect::{Mode, OnFailure};
use tollgate_core::event::Answers;
use tollgate_core::{Dialect, Kind};
use tollgate_hosts::Host;

use crate::exit::Exit;
use crate::hook::host_parser;
use crate::out::{Out, Table, styles};
use crate::place::{dialect_parser, event_parser};
use crate::problem::Problem;

/// Print the table of events: what hooks may answer, per dialect, and what an error does
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate events
  tollgate events tool.pre
  tollgate events --dialect polytoken
  tollgate events --host codex
  tollgate events --json")]
pub(crate) struct Args {
    /// Only this event, with all there is to say about it
    #[arg(value_parser = event_parser(), hide_possible_values = true)]
    event: Option<Kind>,
    /// Only this dialect, with its own names
    #[arg(long, value_name = "NAME", value_parser = dialect_parser(), conflicts_with = "event")]
    dialect: Option<Dialect>,
    /// What becomes of the answers under another agent that calls Tollgate as its hook
    #[arg(long, value_name = "HOST", value_parser = host_parser(), conflicts_with_all = ["event", "dialect"])]
    host: Option<&'static Host>,
    /// Print one object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Row {
    event: Kind,
    about: &'static str,
    answers: Answers,
    dialects: Vec<InDialect>,
}

#[derive(Serialize)]
struct InDialect {
    dialect: Dialect,
    /// What the dialect calls it.
    name: &'static str,
    mode: Mode,
    on_error: &'static str,
    /// What a hook in this dialect can say: not all that the event knows.
    answers: Answers,
}

#[allow(clippy::unnecessary_wraps)] // as all commands
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    if let Some(host) = args.host {
        host::tell(host, args.json, out);
        return Ok(Exit::Fine);
    }
    let wanted = |kind: &&Kind| args.event.is_none_or(|event| event == **kind);
    let events = Kind::ALL.iter().filter(wanted).map(|kind| event(*kind, args.dialect));
    let events: Vec<Row> =
        events.filter(|event| args.dialect.is_none() || !event.dialects.is_empty()).collect();
    if args.json {
        out.json(&BTreeMap::from([("events", events)]));
        return Ok(Exit::Fine);
    }
    if args.event.is_some() {
        for event in &events {
            one(event, out);
        }
    } else if args.dialect.is_some() {
        of_dialect(&events, out);
    } else {
        table(&events, out);
    }
    Ok(Exit::Fine)
}

fn event(kind: Kind, only: Option<Dialect>) -> Row {
    let answers = kind.answers();
    let dialects = Dialect::ALL.into_iter().filter(|dialect| only.is_none_or(|it| it == *dialect));
    let in_dialect = |dialect: Dialect| {
        let rule = kind.rule(dialect)?;
        // Agents share a column of the table, and have not all of its events.
        if dialect::of(dialect).is_some_and(|codec| codec.name_of(kind).is_none()) {
            return None;
        }
        let on_error = match rule.on_failure {
            OnFailure::Close => answers.closed.unwrap_or("goes on"),
            OnFailure::Open => "goes on",
            OnFailure::End => "ends the chain",
        };
        let answers = answers_in(kind, dialect);
        Some(InDialect { dialect, name: name(kind, dialect), mode: rule.mode, on_error, answers })
    };
    let dialects = dialects.filter_map(in_dialect).collect();
    Row { event: kind, about: kind.about(), answers, dialects }
}

/// What hooks in a dialect can answer.
fn answers_in(kind: Kind, dialect: Dialect) -> Answers {
    if let Some(codec) = dialect::of(dialect) {
        return dialect::answers(codec, kind);
    }
    let all = kind.answers();
    match dialect {
        Dialect::Harness => tollgate_starlark::answers(kind),
        // Its hooks allow or not, and have a value or an answer where something failed or is asked.
        Dialect::AntigravitySdk => {
            let is_gate = matches!(kind, Kind::TurnStart | Kind::ToolPre);
            let can = |name: &&str| match *name {
                "deny" => is_gate,
                name => matches!(name, "none" | "recover" | "reply"),
            };
            let verdicts = all.verdicts.into_iter().filter(can).collect();
            Answers { verdicts, additions: Vec::new(), rewrites: None, ..all }
        }
        _ => all,
    }
}

/// What a dialect calls an event.
fn name(kind: Kind, dialect: Dialect) -> &'static str {
    let of_file = dialect::of(dialect).and_then(|codec| codec.name_of(kind));
    match dialect {
        Dialect::HooksJson
        | Dialect::Polytoken
        | Dialect::Claude
        | Dialect::Codex
        | Dialect::Gemini => of_file.unwrap_or(kind.name()),
        Dialect::Harness => {
            let mut names = harness::EVENTS.iter();
            names.find(|name| name.kinds.contains(&kind)).map_or(kind.name(), |name| name.name)
        }
        Dialect::AntigravitySdk | Dialect::Native => kind.method(),
    }
}

/// What an answer in this mode can be.
fn words(answers: &Answers, mode: Mode) -> String {
    if mode == Mode::Inspect {
        return "watches only".to_owned();
    }
    let verdicts = answers.verdicts.iter().filter(|verdict| **verdict != "none");
    let mut parts: Vec<String> = verdicts.map(ToString::to_string).collect();
    parts.extend(answers.additions.iter().map(|addition| match *addition {
        "context" => "add context".to_owned(),
        "inject" => "inject steps".to_owned(),
        _ => "permission overrides".to_owned(),
    }));
    if let (Some(field), Mode::Transform) = (answers.rewrites, mode) {
        parts.push(format!("rewrite {field}"));
    }
    if parts.is_empty() { "nothing to decide".to_owned() } else { parts.join(", ") }
}

fn one(event: &Row, out: &mut Out) {
    out.line(format!("{0}{1}{0:#}  {2}", styles::HEADING, event.event, event.about));
    out.line("");
    let mut table = Table::default();
    table.row(["  DIALECT", "NAME", "MODE", "ON ERROR", "ANSWERS"]);
    for InDialect { dialect, name, mode, on_error, answers } in &event.dialects {
        let answers = words(answers, *mode);
        let dialect = format!("  {dialect}");
        table.row([&dialect, *name, &mode.to_string(), *on_error, &answers]);
    }
    out.lines(&table);
}

fn of_dialect(events: &[Row], out: &mut Out) {
    let mut table = Table::default();
    table.row(["EVENT", "NAME", "MODE", "ON ERROR", "ANSWERS"]);
    for event in events {
        for InDialect { name, mode, on_error, answers, .. } in &event.dialects {
            let answers = words(answers, *mode);
            table.row([event.event.name(), *name, &mode.to_string(), *on_error, &answers]);
        }
    }
    out.lines(&table);
}

/// All events and dialects: how much a hook may do, and `!` where its error closes the gate.
fn table(events: &[Row], out: &mut Out) {
    let mut table = Table::default();
    // In two lines, so that all of it has its place in 80 columns.
    let heads = Dialect::ALL.map(|dialect| match dialect {
        Dialect::AntigravitySdk => (String::new(), "SDK".to_owned()),
        other => match other.name().to_uppercase().split_once('-') {
            Some((first, second)) => (format!("{first}-"), second.to_owned()),
            None => (String::new(), other.name().to_uppercase()),
        },
    });
    table.row([String::new()].into_iter().chain(heads.iter().map(|(first, _)| first.clone())));
    table.row(["EVENT".to_owned()].into_iter().chain(heads.into_iter().map(|(_, second)| second)));
    for event in events {
        let cell = |dialect: Dialect| {
            let found = event.dialects.iter().find(|of| of.dialect == dialect);
            found.map_or_else(
                || "-".to_owned(),
                |of| {
                    let closes = if of.on_error == "goes on" { "" } else { "!" };
                    let mode = of.mode.to_string();
                    format!("{}{closes}", mode.get(..1).unwrap_or(&mode))
                },
            )
        };
        let cells = Dialect::ALL.map(cell);
        table.row([event.event.to_string()].into_iter().chain(cells));
    }
    out.lines(&table);
    out.line("");
    out.line("i: inspect, watches; d: decide, gives a verdict; t: transform, rewrites as well;");
    out.line("!: an error of the hook closes the gate; -: the dialect has no such event;");
    out.line("SDK: antigravity-sdk.");
    out.hint("`tollgate events EVENT` tells more of one, `--dialect NAME` of a dialect");
}
