//! Matchers: regular expressions on the whole name of a tool.

use jsonc_parser::ast::Value;
use tollgate_core::matcher::{Matcher, McpNames};
use tollgate_core::tools;

use super::wire::MCP_TOOL;
use crate::diagnostic::{Code, Report};
use crate::json::{as_text, span};
use crate::names;
use crate::source::Span;

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

/// Names in a matcher that are no tools here.
fn tool_names(matcher: &str, at: Span, report: &mut Report) {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for word in matcher.split(|c| !is_name(c)).filter(|word| !word.is_empty()) {
        if let Some(foreign) = names::foreign_tool(word)
            && tools::lookup(word).is_none()
        {
            let help = match foreign.antigravity {
                Some(ours) => format!("the tool here is `{ours}`"),
                None => "there is no such tool here".to_owned(),
            };
            report
                .add(
                    Code::ForeignTool,
                    at,
                    format!("`{word}` is {}'s name of a tool", foreign.system),
                )
                .help(help);
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
    let alternatives =
        matcher.split('|').map(|name| name.trim_start_matches('^').trim_end_matches('$'));
    for name in alternatives.filter(|name| !name.is_empty() && name.chars().all(is_name)) {
        if let Some(near) = names::nearest_tool(name)
            && tools::lookup(name).is_none()
            && names::foreign_tool(name).is_none()
        {
            report
                .add(Code::NeverMatches, at, format!("no tool is called `{name}`"))
                .help(format!("did you mean `{near}`?"));
        }
    }
}
