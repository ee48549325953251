//! Matchers: regular expressions on the whole name of a tool.

use jsonc_parser::ast::Value;
use tollgate_core::matcher::{Matcher, McpNames, Pattern};
use tollgate_core::target::Subject;
use tollgate_core::tools;
use tollgate_hosts::antigravity::HOST;

use super::wire::MCP_TOOL;
use crate::diagnostic::{Code, Report};
use crate::json::{as_text, span};
use crate::names;
use crate::source::Span;
use crate::tools::{foreign, is_known, near};

/// Reads a matcher.
pub(super) fn matcher(value: &Value<'_>, report: &mut Report) -> Option<Matcher> {
    let text = as_text(value, "`matcher`", report)?;
    if text.is_empty() || text == "*" {
        return Some(Matcher::All);
    }
    match Matcher::regex(text) {
        Ok(matcher) => {
            tool_names(text, span(value), report);
            Some(matcher.mcp(McpNames::Through(MCP_TOOL)))
        }
        Err(error) => {
            let help = if text.starts_with('*') {
                format!(
                    "matchers are regular expressions: for any text write `.*`, as in `.{text}`"
                )
            } else {
                "matchers are regular expressions on the whole name of the tool".to_owned()
            };
            report
                .add(
                    Code::BadPattern,
                    span(value),
                    format!("not a regular expression: {}", error.message),
                )
                .help(help);
            None
        }
    }
}

/// What is said of the names in a matcher.
fn tool_names(matcher: &str, at: Span, report: &mut Report) {
    let alternatives = alternatives(matcher);
    for alternative in alternatives.iter().flatten() {
        if alternative.chars().all(is_name) {
            tool_name(alternative, at, report);
        } else if let Some(meant) = glob_meant(alternative) {
            let message = format!(
                "`*` repeats what stands before it: `{alternative}` does not match what begins so"
            );
            report
                .add(Code::NeverMatches, at, message)
                .help(format!("matchers are regular expressions: write `{meant}`"));
        }
    }
    // In an expression, only what is certainly a name is one.
    let parts = alternatives.unwrap_or_else(|| vec![matcher]);
    for part in parts.into_iter().filter(|part| !part.chars().all(is_name)) {
        let is_certain = |word: &str| {
            word.contains('_') && !word.ends_with('_') || word.contains(char::is_uppercase)
        };
        for word in part.split(|c| !is_name(c)).filter(|word| is_certain(word)) {
            if tools::lookup(word).is_none() && !matches_known(part) {
                foreign_name(word, at, report);
            }
        }
    }
    if matcher.contains(char::is_whitespace) || matcher.contains(',') {
        report
            .add(Code::NeverMatches, at, "no tool has a space or a comma in its name")
            .help("write `|` between names, without spaces: `run_command|view_file`");
    }
    if matcher.contains("mcp__") || matcher.starts_with("mcp_") {
        report
            .add(Code::ForeignTool, at, "this is how other systems name the tools of MCP servers")
            .help("here all of them are `call_mcp_tool`; one alone is matched as `server/tool`");
    }
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The alternatives of a matcher that is nothing but alternatives.
fn alternatives(matcher: &str) -> Option<Vec<&str>> {
    let inner = matcher.trim_start_matches('^').trim_end_matches('$');
    let inner = inner.strip_prefix('(').and_then(|it| it.strip_suffix(')')).unwrap_or(inner);
    let inner = inner.strip_prefix("?:").unwrap_or(inner);
    let bare = |part| str::trim_start_matches(part, '^').trim_end_matches('$');
    let parts = inner.split('|').map(bare).filter(|part| !part.is_empty());
    (!inner.contains(['(', ')'])).then(|| parts.collect())
}

fn tool_name(name: &str, at: Span, report: &mut Report) {
    if tools::lookup(name).is_some() || foreign_name(name, at, report) {
        return;
    }
    if let Some(near) = near(name) {
        report
            .add(Code::UnknownTool, at, format!("no tool is called `{name}`"))
            .help(format!("did you mean `{near}`?"));
    }
}

/// Says whose name it is, where it is another system's.
fn foreign_name(name: &str, at: Span, report: &mut Report) -> bool {
    let Some(foreign) = foreign(name).filter(|tool| tool.system != HOST.title) else {
        return is_known(name);
    };
    let help = match &*foreign.ours {
        [] => "there is no such tool here".to_owned(),
        [one] => format!("the tool here is `{one}`"),
        several => format!("the tools here are {}", names::list(several)),
    };
    report
        .add(Code::ForeignTool, at, format!("`{name}` is {}'s name of a tool", foreign.system))
        .help(help);
    true
}

/// True if an expression matches a tool that is known here.
fn matches_known(expression: &str) -> bool {
    let pattern = Pattern::regex(expression);
    let known =
        tools::TABLE.iter().flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases));
    let mut known = known.copied().chain([MCP_TOOL]);
    pattern.is_ok_and(|pattern| known.any(|name| pattern.matches(Subject::named(name))))
}

/// What was meant by an expression that is written as a glob: `browser_*` is `browser` and any number
/// of `_`, which no tool is called.
fn glob_meant(expression: &str) -> Option<String> {
    let begin = expression.strip_suffix('*')?;
    let is_plain = |c: char| is_name(c) || "-/".contains(c);
    (!begin.is_empty() && begin.chars().all(is_plain) && !matches_known(expression))
        .then(|| format!("{begin}.*"))
}
