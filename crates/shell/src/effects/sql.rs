//! Looks into SQL for what takes data away.

/// Whether a statement in the text drops, truncates, deletes or overwrites without a condition.
pub(crate) fn destroys(text: &str) -> bool {
    statements(text, gone)
}

/// Whether every statement only looks.
pub(crate) fn looks(text: &str) -> bool {
    !statements(text, |words| {
        let harmless = [
            "SELECT", "EXPLAIN", "PRAGMA", "SHOW", "DESCRIBE", "VALUES", ".TABLES", ".SCHEMA",
            ".DUMP", ".INDEXES", ".HEADERS", ".MODE",
        ];
        words
            .first()
            .is_some_and(|first| !harmless.iter().any(|word| first.eq_ignore_ascii_case(word)))
    })
}

/// Code that the text gives to a shell: behind `\!`, `system`, `.shell`, or from and to a
/// `PROGRAM`.
pub(crate) fn escapes(text: &str, mut each: impl FnMut(&str)) {
    for line in text.lines() {
        let line = line.trim();
        if let Some((_, code)) = line.split_once("\\!") {
            each(code);
            continue;
        }
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match first {
            ".shell" | ".system" | "system" | "host" | "HOST" | "!" => each(rest),
            ".output" | ".once" | ".o" | ".excel" | "\\o" | "\\g" => {
                if let Some(code) = rest.trim().trim_start_matches(['\'', '"']).strip_prefix('|') {
                    each(code.trim_end_matches(['\'', '"']));
                }
            }
            _ => {}
        }
    }
    let mut rest = text;
    while let Some(at) = find_word(rest, "program") {
        rest = rest.get(at + "program".len()..).unwrap_or("");
        if let Some(quoted) = rest.trim_start().strip_prefix('\'') {
            each(quoted.split_once('\'').map_or(quoted, |(code, _)| code));
        }
    }
}

/// Where a word is, whatever the case of its letters.
fn find_word(text: &str, word: &str) -> Option<usize> {
    text.as_bytes()
        .windows(word.len())
        .position(|window| window.eq_ignore_ascii_case(word.as_bytes()))
}

fn gone(words: &[&str]) -> bool {
    let is = |word: Option<&&str>, wanted: &[&str]| {
        word.is_some_and(|word| wanted.iter().any(|other| word.eq_ignore_ascii_case(other)))
    };
    let has_condition = condition(words);
    for (index, word) in words.iter().enumerate() {
        let next = words.get(index + 1);
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        if word.eq_ignore_ascii_case("DROP") {
            let what = [
                "TABLE",
                "DATABASE",
                "SCHEMA",
                "COLUMN",
                "TABLESPACE",
                "KEYSPACE",
                "COLLECTION",
                "USER",
                "ROLE",
                "MATERIALIZED",
                "OWNED",
                "PARTITION",
                "TEMPORARY",
                "STREAM",
                "CATALOG",
            ];
            if is(next, &what) {
                return true;
            }
        }
        if word.eq_ignore_ascii_case("TRUNCATE")
            && (index == 0 || is(before, &["THEN", "BEGIN", "AS"]))
        {
            return true;
        }
        if word.eq_ignore_ascii_case("DELETE") && is(next, &["FROM"]) && !has_condition {
            return true;
        }
        // `MATCH (n) DETACH DELETE n`, and `delete backup` where there are backups.
        if word.eq_ignore_ascii_case("DELETE")
            && (is(before, &["DETACH"])
                || is(next, &["BACKUP", "BACKUPSET", "ARCHIVELOG", "OBSOLETE"]))
            && !has_condition
        {
            return true;
        }
        let pair = [
            ("RESET", "MASTER"),
            ("PURGE", "BINARY"),
            ("PURGE", "MASTER"),
            ("SET", "PASSWORD"),
            ("SHUTDOWN", "IMMEDIATE"),
            ("SHUTDOWN", "ABORT"),
        ];
        let calls = ["pg_terminate_backend", "lo_unlink", "pg_drop_replication_slot"];
        if (index == 0
            && pair
                .iter()
                .any(|(first, second)| word.eq_ignore_ascii_case(first) && is(next, &[second])))
            || (word.eq_ignore_ascii_case("SHUTDOWN") && words.len() == 1)
            || is(Some(word), &calls)
        {
            return true;
        }
        if word.eq_ignore_ascii_case("UPDATE") && index == 0 && !has_condition && words.len() > 3 {
            return true;
        }
    }
    false
}

/// Whether there is a condition that leaves something over.
fn condition(words: &[&str]) -> bool {
    let at = words.iter().position(|word| word.eq_ignore_ascii_case("WHERE"));
    let Some(rest) = at.and_then(|at| words.get(at + 1..)) else {
        return false;
    };
    !matches!(rest, ["1" | "true" | "TRUE" | "1=1"] | ["1", "=", "1"] | ["true", "=", "true"])
}

/// Gives the words of each statement, without comments and quoted text, until one is what is
/// looked for.
fn statements(text: &str, mut found: impl FnMut(&[&str]) -> bool) -> bool {
    let mut words: Vec<&str> = Vec::new();
    let mut rest = text;
    loop {
        let Some(letter) = rest.chars().next() else { return !words.is_empty() && found(&words) };
        let behind = rest.get(letter.len_utf8()..).unwrap_or("");
        match letter {
            ';' => {
                if !words.is_empty() && found(&words) {
                    return true;
                }
                words.clear();
                rest = behind;
            }
            '\'' | '"' | '`' => {
                rest = behind.split_once(letter).map_or("", |(_, rest)| rest);
                words.push("''");
            }
            '-' if behind.starts_with('-') => {
                rest = rest.split_once('\n').map_or("", |(_, rest)| rest);
            }
            // What is in `/*!` runs.
            '/' if behind.starts_with("*!") => rest = behind.get(2..).unwrap_or(""),
            '/' if behind.starts_with('*') => {
                rest = rest.split_once("*/").map_or("", |(_, rest)| rest);
            }
            '=' => {
                words.push("=");
                rest = behind;
            }
            _ if is_word(letter) => {
                let end = rest.find(|letter| !is_word(letter)).unwrap_or(rest.len());
                let (word, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
                words.push(word);
                rest = behind;
            }
            _ => rest = behind,
        }
    }
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '_' | '.' | '$' | '?')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Vec<String> {
        let mut found = Vec::new();
        escapes(text, |code| found.push(code.trim().to_owned()));
        found
    }

    #[test]
    fn code_for_a_shell_is_found() {
        assert_eq!(code("\\! ls"), ["ls"]);
        assert_eq!(code("select 1;\n\\!ls -l\n"), ["ls -l"]);
        assert_eq!(code("system ls"), ["ls"]);
        assert_eq!(code(".shell ls"), ["ls"]);
        assert_eq!(code(".once '|sort -u'"), ["sort -u"]);
        assert_eq!(code("copy t from PROGRAM 'ls'; copy u to program 'wc'"), ["ls", "wc"]);
    }

    #[test]
    fn text_about_programs_is_no_code() {
        assert!(code("select program from t").is_empty());
        assert!(code(".output x.csv").is_empty());
        assert!(code("select 'a' as system").is_empty());
        assert!(code("program '").iter().all(String::is_empty));
    }

    #[test]
    fn conditions_that_leave_nothing_are_none() {
        assert!(destroys("delete from t where true"));
        assert!(destroys("delete from t limit 5"));
        assert!(!destroys("delete from t where id = 1"));
        assert!(!destroys("show binary logs"));
        assert!(!destroys("select shutdown from t"));
        assert!(destroys("shutdown"));
    }
}
