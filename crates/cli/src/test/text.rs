//! What came of tests, for a person.

use super::{Outcome, Report};
use crate::out::{Out, Table, count, styles};
use crate::place::shown;

pub(super) fn tell(report: &Report, out: &mut Out) {
    let mut table = Table::default();
    for suite in &report.suites {
        table.row([state(suite), &shown(&suite.file), &summary(suite)]);
    }
    for (suite, line) in report.suites.iter().zip(table.lines()) {
        let style = match state(suite) {
            "ok" => styles::GOOD,
            "none" => styles::WARNING,
            _ => styles::ERROR,
        };
        let (word, rest) = line.split_at(line.find(' ').unwrap_or(line.len()));
        out.line(format!("{style}{word}{style:#}{rest}"));
        if let Some(error) = &suite.error {
            out.line(format!("      {error}"));
        }
        for test in suite.tests.iter().filter(|test| test.failure.is_some()) {
            let line = test.line.map(|line| format!(":{line}")).unwrap_or_default();
            out.line(format!("      {}{line}: {}", shown(&suite.file), test.name));
            let failure = test.failure.as_deref().unwrap_or_default();
            for line in failure.lines() {
                out.line(format!("        {line}"));
            }
        }
    }
    untested(report, out);
    let total = report.passed + report.failed;
    let style = if report.failed + report.broken == 0 { styles::GOOD } else { styles::ERROR };
    let mut parts = vec![format!("{} passed", report.passed), format!("{} failed", report.failed)];
    if report.broken > 0 {
        parts.push(format!("{} could not be tested", count(report.broken, "file")));
    }
    out.line("");
    out.line(format!("{}: {style}{}{style:#}", count(total, "test"), parts.join(", ")));
}

fn state(suite: &Outcome) -> &'static str {
    if suite.error.is_some() {
        "broken"
    } else if suite.tests.is_empty() {
        "none"
    } else if suite.failed() > 0 {
        "failed"
    } else {
        "ok"
    }
}

fn summary(suite: &Outcome) -> String {
    let failed = suite.failed();
    match suite.tests.len() {
        _ if suite.error.is_some() => String::new(),
        0 => "no tests".to_owned(),
        all if failed > 0 => format!("{} passed, {failed} failed", all - failed),
        all => format!("{all} passed"),
    }
}

fn untested(report: &Report, out: &mut Out) {
    let untested = &report.untested;
    if untested.is_empty() {
        return;
    }
    out.line("");
    out.line(format!("{0}No test reaches{0:#}", styles::WARNING));
    for hook in &untested.hooks {
        out.line(format!("  hook {hook}"));
    }
    for rule in &untested.rules {
        out.line(format!("  rule {rule}"));
    }
    for (file, lines) in &untested.lines {
        let lines: Vec<_> = lines.iter().map(ToString::to_string).collect();
        out.line(format!("  {} line {}", shown(file), lines.join(", ")));
    }
}
