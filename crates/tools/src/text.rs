//! Pieces of text that fit a bound.

/// The beginning of a text, no longer than so many bytes and cut between characters.
pub(crate) fn head(text: &str, bytes: usize) -> &str {
    text.get(..text.floor_char_boundary(bytes)).unwrap_or(text)
}

/// The end of a text, no longer than so many bytes and cut between characters.
pub(crate) fn tail(text: &str, bytes: usize) -> &str {
    let from = text.len().saturating_sub(bytes);
    text.get(text.ceil_char_boundary(from)..).unwrap_or(text)
}

/// A line to be shown: its beginning, and how much more of it there is.
pub(crate) fn line(text: &str, bytes: usize) -> String {
    let shown = head(text, bytes);
    if shown.len() == text.len() {
        return text.to_owned();
    }
    format!("{shown}… ({} more bytes of this line)", text.len() - shown.len())
}

/// So many of something.
pub(crate) fn count(number: usize, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_between_characters() {
        assert_eq!((head("aé", 2), tail("éa", 2), head("abc", 9)), ("a", "a", "abc"));
        assert_eq!(line("ééé", 3), "é… (4 more bytes of this line)");
    }
}
