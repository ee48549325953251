//! Finds commands that mean to print JSON and print something else.

/// What `echo` or `printf` in a command prints, where that was meant to be JSON and the shell has
/// taken its quotes away: `echo {"decision":"allow"}` prints `{decision:allow}`.
pub(super) fn printed_without_quotes(command: &str) -> Option<String> {
    // In a here-document quotes stay.
    if command.contains("<<") {
        return None;
    }
    for (program, at) in ["echo ", "printf "]
        .iter()
        .flat_map(|program| command.match_indices(program).map(move |(at, _)| (program, at)))
    {
        let begins_word =
            command.get(..at)?.chars().next_back().is_none_or(|c| !c.is_alphanumeric());
        let arguments = command.get(at + program.len()..)?;
        if begins_word
            && let Some(printed) = print(arguments)
            && is_spoilt(&printed)
        {
            return Some(printed);
        }
    }
    None
}

/// The first argument that is neither an option nor empty, as the shell makes it.
fn print(arguments: &str) -> Option<String> {
    let mut printed = String::new();
    let mut quote = None;
    let mut characters = arguments.chars().peekable();
    while let Some(c) = characters.next() {
        match (quote, c) {
            (None, '\'' | '"') => quote = Some(c),
            (Some(open), c) if c == open => quote = None,
            (None, '\\') => printed.extend(characters.next()),
            (Some('"'), '\\') => match characters.peek() {
                Some('"' | '\\' | '$' | '`') => printed.extend(characters.next()),
                _ => printed.push('\\'),
            },
            // Behind an operator another command begins.
            (None, ';' | '|' | '&' | '\n' | '>' | ')') => break,
            // What is filled in when it runs cannot be told.
            (None | Some('"'), '$' | '`') => return None,
            (_, c) => printed.push(c),
        }
    }
    let printed = printed.trim();
    printed.starts_with('{').then(|| printed.to_owned())
}

/// Whether a text looks like an object whose names have lost their quotes.
fn is_spoilt(printed: &str) -> bool {
    let inside = printed.trim_start_matches('{').trim_start();
    let name: String = inside.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
    !name.is_empty()
        && inside.get(name.len()..).is_some_and(|rest| rest.trim_start().starts_with(':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_quotes_are_noticed() {
        for (command, printed) in [
            (r#"echo {"decision":"allow"}"#, "{decision:allow}"),
            (r#"echo "{"decision": "allow"}""#, "{decision: allow}"),
            (
                r#"cat >/dev/null; echo "{"decision":"deny","reason":"x"}""#,
                "{decision:deny,reason:x}",
            ),
            (r#"printf {"decision":"allow"}"#, "{decision:allow}"),
            (r"echo {decision:allow}", "{decision:allow}"),
        ] {
            assert_eq!(printed_without_quotes(command).as_deref(), Some(printed), "{command}");
        }
    }

    #[test]
    fn json_that_arrives_is_left_alone() {
        for command in [
            r#"echo '{"decision":"allow"}'"#,
            r#"echo "{\"decision\": \"allow\"}""#,
            r#"printf '%s' '{"decision":"allow"}'"#,
            r#"echo {\"decision\":\"allow\"}"#,
            r#"jq -n "{decision: \"allow\"}""#,
            r#"echo "$ANSWER""#,
            "cat <<EOF\n{\"decision\": \"allow\"}\nEOF",
            "echo '{}'",
            "echo done",
            "./echo-it {a:b}",
        ] {
            assert_eq!(printed_without_quotes(command), None, "{command}");
        }
    }
}
