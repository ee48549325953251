//! Names that a person or a lenient host takes for a known tool, and an exact comparison does not.

use smallvec::SmallVec;

use super::{SYNONYMS, TABLE, Tool};

/// The longest name that is compared. No known tool has a longer one.
const LONGEST: usize = 64;

/// The known name that `name` differs from only by case, blanks, control characters or characters
/// that are not displayed; none where `name` is known as it is.
///
/// A name that differs by case alone is compared with the names of the table that have several
/// words: `Schedule` may well be another tool than `schedule`, but `Run_Command` is no name that
/// anybody gives to another tool than `run_command`.
///
/// ```
/// use tollgate_core::tools::lookalike;
///
/// assert_eq!(lookalike("run_command\u{200b}"), Some("run_command"));
/// assert_eq!(lookalike(" Bash"), Some("Bash"));
/// assert_eq!(lookalike("Bash"), None);
/// assert_eq!(lookalike("Schedule"), None);
/// ```
pub fn lookalike(name: &str) -> Option<&'static str> {
    // All names of the table but its aliases in capitals are like this, and so are most others.
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    if name.bytes().all(plain) {
        return None;
    }
    let of_table = || TABLE.iter().flat_map(Tool::names);
    if name.chars().any(is_hidden) {
        let synonyms = SYNONYMS.iter().map(|synonym| synonym.name);
        return lookalike_of(name, of_table().chain(synonyms));
    }
    lookalike_of(name, of_table().filter(|known| known.contains('_')))
}

/// As [`lookalike`], among these names, whatever their form; they are ASCII. A name with a `*` at
/// its end is all that begin so.
pub fn lookalike_of<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> Option<&'k str> {
    let seen = seen(name)?;
    let mut like = None;
    for known in known {
        let (is_exact, is_like) = match known.strip_suffix('*') {
            Some(begin) => {
                let start = seen.get(..begin.len());
                let is_like = start.is_some_and(|it| it.eq_ignore_ascii_case(begin.as_bytes()));
                (name.starts_with(begin), is_like)
            }
            None => (name == known, seen.eq_ignore_ascii_case(known.as_bytes())),
        };
        if is_exact {
            return None;
        }
        like = like.or(is_like.then_some(known));
    }
    like
}

/// A name without what is not displayed, in one case; none where it is longer than any tool's.
fn seen(name: &str) -> Option<SmallVec<[u8; LONGEST]>> {
    let mut seen = SmallVec::new();
    for shown in name.chars().filter(|c| !is_hidden(*c)) {
        // To capitals first: some letters have the same capital as an ASCII letter.
        for letter in shown.to_uppercase().flat_map(char::to_lowercase) {
            let mut bytes = [0; 4];
            let bytes = letter.encode_utf8(&mut bytes).as_bytes();
            if seen.len() + bytes.len() > LONGEST {
                return None;
            }
            seen.extend_from_slice(bytes);
        }
    }
    (!seen.is_empty()).then_some(seen)
}

/// True if a character is blank, controls something, or is not displayed.
fn is_hidden(c: char) -> bool {
    // The characters that Unicode has displays ignore, and the braille blank.
    c.is_whitespace()
        || c.is_control()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_looks_like_a_known_name_is_found() {
        for (name, like) in [
            ("Run_Command", "run_command"),
            ("RUN_command", "run_command"),
            ("run_command\u{200b}", "run_command"),
            ("\u{feff}run_command", "run_command"),
            ("run\u{ad}_command", "run_command"),
            ("run_command ", "run_command"),
            ("run_command\n", "run_command"),
            ("run_command\0", "run_command"),
            ("run_command\u{1b}", "run_command"),
            ("run _command", "run_command"),
            (" bash", "Bash"),
            ("Bash\t", "Bash"),
            ("BASH\u{2060}", "Bash"),
            ("Write\u{e0041}", "Write"),
            ("view_fi\u{200d}le", "view_file"),
            ("View_File", "view_file"),
            // The Kelvin sign is lowercase `k` to some.
            ("manage_tas\u{212a}", "manage_task"),
            ("File_Edit_\u{200b}x", "file_edit_*"),
        ] {
            let found = lookalike(name);
            let same = |found: &str| found.eq_ignore_ascii_case(like);
            assert!(found.is_some_and(same), "{name:?}: {found:?}");
        }
    }

    #[test]
    fn what_may_be_another_tool_is_not() {
        let known = TABLE.iter().flat_map(Tool::names).chain(SYNONYMS.iter().map(|it| it.name));
        for name in known {
            assert_eq!(lookalike(name), None, "{name}");
        }
        for name in [
            "",
            " ",
            "\u{200b}",
            "Schedule",
            "RunCommand",
            "run-command",
            "run_command2",
            "Run Tests",
            "mcp__git__push",
            "deploy",
            "déploiement",
            "server-tool",
        ] {
            assert_eq!(lookalike(name), None, "{name:?}");
        }
    }

    #[test]
    fn long_names_take_one_pass() {
        let hidden = "\u{200b}".repeat(1 << 20);
        assert_eq!(lookalike(&format!("run_{hidden}command")), Some("run_command"));
        assert_eq!(lookalike(&"X_".repeat(1 << 20)), None);
    }
}
