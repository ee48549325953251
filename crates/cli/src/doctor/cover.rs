//! Which tools a hook is not asked about, by its matcher.

use regex::Regex;
use tollgate_hosts::Host;

/// The tools of a host, among those that are known, that a matcher leaves out.
pub(super) fn left_out(host: &Host, matcher: &str) -> Vec<&'static str> {
    let names: Vec<_> = matcher.split(['|', ',']).map(str::trim).collect();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_|, ".contains(c);
    // Some hosts take plain words for whole names, and one every pattern; the others find them in names.
    let by_name = matches!(host.name, "claude" | "codex") && matcher.chars().all(is_plain);
    let pattern = match host.name {
        "copilot" => Regex::new(&format!("^(?:{matcher})$")),
        _ => Regex::new(matcher),
    };
    let is_asked = |tool: &str| match &pattern {
        _ if by_name => names.contains(&tool),
        Ok(pattern) => pattern.is_match(tool),
        // What is no pattern never matches.
        Err(_) => false,
    };
    host.tools.iter().map(|tool| tool.native).filter(|tool| !is_asked(tool)).collect()
}

/// Names, in a sentence: the first few.
pub(super) fn few(names: &[&str]) -> String {
    const FEW: usize = 6;
    let first: Vec<_> = names.iter().take(FEW).copied().collect();
    match names.len().checked_sub(FEW) {
        None | Some(0) => first.join(", "),
        Some(more) => format!("{} and {more} more", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::{few, left_out};

    #[test]
    fn names_and_patterns() {
        let out = |host: &str, matcher: &str| {
            let host = tollgate_hosts::by_name(host).unwrap();
            (left_out(host, matcher).len(), host.tools.len())
        };
        let (missed, all) = out("claude", "Read");
        assert_eq!(missed + 1, all, "a name is a whole name");
        assert_eq!(out("claude", ".*").0, 0);
        assert_eq!(out("claude", "(").0, all);
        let (missed, all) = out("gemini", "read");
        assert!(missed + 1 < all, "a pattern is found in names");
        let (missed, all) = out("copilot", "e");
        assert_eq!(missed, all, "or is all of them");
        assert_eq!(few(&["a", "b"]), "a, b");
        assert_eq!(few(&["a"; 8]), "a, a, a, a, a, a and 2 more");
    }
}
