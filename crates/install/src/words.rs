//! Words of a shell: how they are written, and how they are read.

/// Writes a word so that every shell reads it as it is.
pub(crate) fn quote(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-./+,@%:=".contains(c);
    // What has a `=` in the first word would be an assignment, and zsh expands one at the begin.
    if !word.is_empty() && word.chars().all(is_plain) && !word.contains('=') {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Reads the words of a simple command; a `~` stays one. None where it is more than that: what a shell would expand,
/// join or redirect is nobody's plain call.
pub(crate) fn split(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = command.chars();
    while let Some(c) = chars.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        '"' => break,
                        '$' | '`' => return None,
                        '\\' => match chars.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => word.extend(['\\', c]),
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(chars.next().filter(|c| *c != '\n')?),
            ';' | '|' | '&' | '<' | '>' | '$' | '`' | '(' | ')' | '{' | '}' | '*' | '?' | '['
            | '#' | '\n' | '\r' => return None,
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

#[cfg(test)]
mod tests {
    use super::{quote, split};

    #[test]
    fn what_is_quoted_is_read_again() {
        for word in
            ["/usr/bin/tollgate", "", "a b", "it's", "'", "a\"b$c`d\\e", "a=b", "é;|&", "~x"]
        {
            let line = format!("{} {}", quote(word), quote("hook"));
            assert_eq!(split(&line), Some(vec![word.to_owned(), "hook".to_owned()]), "{line}");
        }
    }

    #[test]
    fn more_than_a_simple_command_is_none() {
        for line in ["a; b", "a | b", "a && b", "$A b", "a > b", "a \"$b\"", "a 'b", "a\nb", "(a)"]
        {
            assert_eq!(split(line), None, "{line}");
        }
        assert_eq!(split("  "), Some(Vec::new()));
    }
}
