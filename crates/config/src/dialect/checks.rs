//! What can be said of a command before it is run.

use tollgate_core::dialect::Layer;

use crate::diagnostic::{Code, Report};
use crate::source::Span;

/// Looks at the text of a command.
pub(super) fn check_command(report: &mut Report, command: &str, at: Span, layer: Layer) {
    if command.trim().is_empty() {
        report.add(Code::EmptyValue, at, "there is nothing to run").help("write a command");
    }
    if command.contains('\0') {
        report
            .add(Code::WrongType, at, "a command cannot contain a NUL character")
            .help("remove `\\u0000`");
    }
    if command.contains('\r') {
        report
            .add(Code::CarriageReturn, at, "the command contains a carriage return, which the shell takes for a part of a word")
            .help("write line breaks as `\\n` alone");
    }
    // A person's own file may well name a place of their machine.
    if layer == Layer::Project
        && let Some(path) = machine_path(command)
    {
        report
            .add(Code::MachinePath, at, format!("`{path}` exists on one person's machine"))
            .help("name it relative to this project, or by `$HOME`");
    }
}

/// A path into somebody's home.
fn machine_path(command: &str) -> Option<&str> {
    const HOMES: [&str; 3] = ["/Users/", "/home/", "C:\\Users\\"];
    let begin = HOMES.iter().filter_map(|home| command.find(home)).min()?;
    let rest = command.get(begin..)?;
    // In quotes, a path ends where they do.
    let quote = command.get(..begin)?.chars().next_back().filter(|c| matches!(c, '\'' | '"'));
    let ends = |c: char| match quote {
        Some(quote) => c == quote,
        None => c.is_whitespace() || "'\";|&)".contains(c),
    };
    let end = rest.find(ends).unwrap_or(rest.len());
    rest.get(..end)
}
