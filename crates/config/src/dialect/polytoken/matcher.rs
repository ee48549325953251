//! Matchers: globs on the subject of an event.

use jsonc_parser::ast::Value;
use tollgate_core::Kind;
use tollgate_core::event::ToolCall;
use tollgate_core::matcher::{Matcher, McpNames, Pattern};
use tollgate_core::target::Subject;
use tollgate_core::tools;
use tollgate_hosts::polytoken::HOST;

use super::super::EventName;
use super::wire::native;
use crate::diagnostic::{Code, Report};
use crate::json::{as_text, span};
use crate::source::Span;
use crate::tools::{foreign, in_polytoken, is_of_server, near, shown};

/// Reads a matcher.
pub(super) fn matcher(
    value: &Value<'_>,
    event: &'static EventName,
    report: &mut Report,
) -> Option<Matcher> {
    let text = as_text(value, "`matcher`", report)?;
    let at = span(value);
    if text.is_empty() {
        report
            .add(Code::NeverMatches, at, "an empty glob matches nothing")
            .help("leave the matcher off, or write `*`");
        return None;
    }
    if text == "*" || text == "**" {
        return Some(Matcher::All);
    }
    let matcher = match Matcher::glob(text) {
        Ok(matcher) => matcher,
        Err(error) => {
            report
                .add(Code::BadPattern, at, format!("not a glob: {}", error.message))
                .help("`*` stands for any text within a segment, `**` for any text, `?` for one character, `[a-z]` for a range");
            return None;
        }
    };
    let about_tool = event.kinds.iter().all(|kind| kind.is_about_tool());
    if about_tool {
        tool_names(text, at, report);
        return Some(in_both_words(text).unwrap_or(matcher).mcp(McpNames::Fused));
    }
    if event.kinds.iter().any(|kind| matches!(kind, Kind::SubagentStart | Kind::SubagentStop)) {
        return Some(matcher);
    }
    // The subject is always the same, so whether it matches is known now.
    if Pattern::glob(text).is_ok_and(|glob| glob.matches(Subject::named(event.name))) {
        return Some(Matcher::All);
    }
    let said = format!(
        "the subject of this event is its own name, `{}`, so this never matches",
        event.name
    );
    report.add(Code::NeverMatches, at, said).help("leave the matcher off");
    None
}

/// What is said of the names in a matcher.
fn tool_names(matcher: &str, at: Span, report: &mut Report) {
    if is_expression(matcher) {
        report
            .add(Code::NeverMatches, at, "this is a regular expression, and matchers are globs")
            .help(match as_glob(matcher) {
                Some(glob) => format!("write `{glob}`"),
                None => "write a hook for each tool, or one glob for all: `file_edit_*`".to_owned(),
            });
    } else if matcher.contains('|') {
        report
            .add(Code::NeverMatches, at, "a glob has no `|`: this matches no tool")
            .help("write a hook for each, or one glob for all: `file_edit_*`");
    } else if matcher.contains(char::is_whitespace) || has_bare_comma(matcher) {
        report
            .add(Code::NeverMatches, at, "no tool has a space or a comma in its name")
            .help("write a hook for each tool, or one glob for all");
    } else {
        for name in alternatives(matcher).iter().filter(|glob| is_name(glob)) {
            tool_name(name, at, report);
        }
    }
}

fn tool_name(name: &str, at: Span, report: &mut Report) {
    if HOST.tool(name).is_some() || is_of_server(name) {
        return;
    }
    if let Some(foreign) = foreign(name) {
        let theirs = foreign.ours.iter().find_map(|tool| in_polytoken(tool));
        let help = match theirs {
            Some(theirs) => format!("in Polytoken the tool is `{theirs}`"),
            None => "Polytoken has no such tool".to_owned(),
        };
        report
            .add(Code::ForeignTool, at, format!("`{name}` is {}'s name of a tool", foreign.system))
            .help(help);
    } else if let Some(near) = near(name) {
        report
            .add(Code::UnknownTool, at, format!("no tool is called `{}`", shown(name)))
            .help(format!("did you mean `{near}`?"));
    }
}

/// A glob of Polytoken's tools, and the tools of the table that are these: whoever makes the call, a hook that asks for
/// `shell_exec` is asked about `run_command`. None where they are none.
fn in_both_words(glob: &str) -> Option<Matcher> {
    let pattern = Pattern::glob(glob).ok()?;
    let is_meant = |tool: &&tools::Tool| {
        let (native, _) = native(&ToolCall::new(tool.name));
        native != tool.name && pattern.matches(Subject::named(&native))
    };
    let meant = tools::TABLE.iter().filter(is_meant);
    let names: Vec<_> =
        meant.flat_map(|tool| std::iter::once(&tool.name).chain(tool.aliases).copied()).collect();
    if names.is_empty() {
        return None;
    }
    if has_bare_comma(glob) {
        return None;
    }
    let own = alternatives(glob).join(",");
    let matcher = Matcher::glob(&format!("{{{own},{}}}", names.join(","))).ok()?;
    Some(matcher.shown_as(glob))
}

/// The alternatives of a glob, each written out; the glob itself where it has none.
fn alternatives(glob: &str) -> Vec<String> {
    let written_out = || {
        let (before, rest) = glob.split_once('{')?;
        let (inside, after) = rest.split_once('}')?;
        let is_one_group = !inside.contains('{') && !after.contains(['{', '}']);
        let alternatives = inside.split(',').map(|part| format!("{before}{part}{after}"));
        is_one_group.then(|| alternatives.collect())
    };
    written_out().unwrap_or_else(|| vec![glob.to_owned()])
}

/// True if a glob is nothing but a name.
fn is_name(glob: &str) -> bool {
    !glob.is_empty() && !glob.contains(['*', '?', '[', ']', '{', '}', '\\'])
}

/// True if a matcher is a regular expression, and matches nothing as a glob.
fn is_expression(matcher: &str) -> bool {
    // Between brackets, all these are themselves.
    if matcher.contains('[') {
        return false;
    }
    let bare = without_anchors(matcher);
    // A `.` may be in the name of a tool, but no name begins with one, nor does a part of one.
    let mut dots = bare.match_indices('.').map(|(at, _)| bare.get(..at).unwrap_or_default());
    let begins_with_dot =
        dots.any(|before| before.is_empty() || before.ends_with(['_', '/', '{', ',']));
    bare.len() < matcher.len()
        || bare.contains('(') && bare.contains(')')
        || (bare.contains(".*") || bare.contains(".+"))
            && (begins_with_dot || !matches_known(bare) && matches_known(&stars(bare)))
}

/// The glob that was meant by a regular expression, where there is one.
fn as_glob(expression: &str) -> Option<String> {
    let glob = stars(without_anchors(expression));
    let is_glob = !glob.is_empty() && !glob.contains(['(', ')', '^', '$', '\\', '+', '|']);
    is_glob.then_some(glob)
}

fn without_anchors(expression: &str) -> &str {
    expression.trim_start_matches('^').trim_end_matches('$')
}

fn stars(expression: &str) -> String {
    expression.replace(".*", "*").replace(".+", "*")
}

/// True if a glob matches a tool that Polytoken is known to have.
fn matches_known(glob: &str) -> bool {
    let natives = HOST.tools.iter().map(|tool| tool.native.trim_end_matches('*'));
    let mut known = natives.chain(tools::TABLE.iter().map(|tool| tool.name));
    Pattern::glob(glob).is_ok_and(|glob| known.any(|name| glob.matches(Subject::named(name))))
}

/// Whether a glob has a comma outside of braces: it is a letter of a name there, and no alternative.
fn has_bare_comma(glob: &str) -> bool {
    let mut depth = 0_usize;
    glob.chars().any(|c| {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    })
}
