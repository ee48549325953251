//! A dispatch as a person reads it.

use std::time::Duration;

use serde_json::Value;
use similar::{ChangeTag, TextDiff};
use tollgate_core::EventRef;
use tollgate_core::extra::Step;

use super::report::{HookLine, Report};
use crate::dispatch::Fired;
use crate::out::{Out, Table, count, micros, styles};
use crate::place::{hook_shown, shown};

pub(super) fn tell(report: &Report, before: &Value, fired: &Fired, out: &mut Out) {
    let subject = match fired.outcome.event.view() {
        EventRef::ToolPre(event) => format!(" {}", event.call.name),
        EventRef::ToolPost(event) => format!(" {}", event.call.name),
        EventRef::ToolError(event) => format!(" {}", event.call.name),
        _ => String::new(),
    };
    let style = match report.decision {
        "deny" | "cancel" => styles::ERROR,
        "ask" | "force_ask" | "retry" | "continue" | "suppress" => styles::WARNING,
        _ => styles::GOOD,
    };
    let (style, word) = (Out::style(style), report.decision);
    out.line(format!("{}{subject}: {style}{word}{style:#}  ({})", report.event, time(fired.took)));
    if let Some(host) = &report.host {
        field(out, "host", &format!("{} {}: {}", host.title, host.event, host.verdict));
        if !host.reason.is_empty() && host.reason != report.reason {
            field(out, "told", &host.reason);
        }
    }
    // What the model is told is not told twice.
    let told = format!(": {}", report.reason);
    let detail = report.detail.strip_suffix(&told).unwrap_or(&report.detail);
    for (name, text) in [("reason", report.reason.as_str()), ("detail", detail)] {
        if !text.is_empty() {
            field(out, name, text);
        }
    }
    if let Some(termination) = report.termination {
        field(out, "loop", termination);
    }
    if let Some(value) = &report.value {
        field(out, "value", &value.to_string());
    }
    for text in &report.context {
        field(out, "context", text);
    }
    for step in &report.inject {
        field(out, "inject", &step_text(step));
    }
    for resource in &report.overrides {
        field(out, "permits", resource);
    }
    difference(before, &report.payload, out);
    hooks(&report.hooks, out);
}

/// A field, its later lines below its first.
fn field(out: &mut Out, name: &str, text: &str) {
    let mut lines = text.lines();
    out.line(format!("  {name:<8} {}", lines.next().unwrap_or_default()));
    for line in lines {
        out.line(format!("  {:<8} {line}", ""));
    }
}

fn step_text(step: &Step) -> String {
    serde_json::to_string(step).unwrap_or_default()
}

/// What was rewritten, line by line.
fn difference(before: &Value, after: &Value, out: &mut Out) {
    if before == after {
        return;
    }
    let (before, after) = (format!("{before:#}\n"), format!("{after:#}\n"));
    out.line("");
    out.line(format!("{0}rewritten{0:#}", styles::HEADING));
    let diff = TextDiff::from_lines(&before, &after);
    for group in diff.grouped_ops(2) {
        for operation in &group {
            for change in diff.iter_changes(operation) {
                let line = change.value().trim_end_matches('\n');
                out.line(match change.tag() {
                    ChangeTag::Delete => format!("  {0}- {line}{0:#}", styles::ERROR),
                    ChangeTag::Insert => format!("  {0}+ {line}{0:#}", styles::GOOD),
                    ChangeTag::Equal => format!("    {line}"),
                });
            }
        }
    }
}

fn hooks(lines: &[HookLine], out: &mut Out) {
    let asked = lines.iter().filter(|line| line.matched && line.why.is_none()).count();
    if lines.is_empty() {
        return;
    }
    out.line("");
    let heading = format!("{} of {} asked", asked, count(lines.len(), "hook"));
    out.styled(Out::style(styles::HEADING), &[&heading]);
    let mut table = Table::default();
    for line in lines {
        let answer = match (&line.why, line.answer) {
            (Some(_), _) => "-",
            (None, Some(answer)) => answer,
            (None, None) => "watches",
        };
        let took = match line.why {
            Some(_) => "        ".to_owned(),
            None => format!("{:>8}", micros(line.micros)),
        };
        let mut source = line.source.as_ref().map_or_else(
            || "built in".to_owned(),
            |source| shown(std::path::Path::new(&*source.file)),
        );
        if let Some(number) = line.source.as_ref().and_then(|source| source.line) {
            source.push(':');
            source.push_str(&number.to_string());
        }
        let name = ["  ", &hook_shown(&line.name)].concat();
        table.row([name, answer.to_owned(), took, source]);
    }
    // Of most hooks all that is said is why they were not asked, and there may be hundreds.
    let (quiet, error) = (Out::style(styles::QUIET), Out::style(styles::ERROR));
    for (line, text) in lines.iter().zip(table.lines()) {
        match line.answer {
            _ if line.why.is_some() => out.styled(quiet, &["", &text]),
            _ if line.error.is_some() => out.styled(error, &["", &text]),
            _ => out.line(text),
        }
        if let Some(why) = &line.why {
            out.styled(quiet, &["      ", why]);
        }
        if let Some(error) = &line.error {
            out.line(format!("      error: {error}"));
        }
    }
}

fn time(took: Duration) -> String {
    micros(u64::try_from(took.as_micros()).unwrap_or(u64::MAX))
}
