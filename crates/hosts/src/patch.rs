//! Patches as models write them: `*** Begin Patch`, and below it a part for each file.
//!
//! What counts is that no file is missed: a header is one wherever the tools that apply such patches
//! might take it for one, also with blanks around it.

use serde_json::Value;
use tollgate_core::event::Args;

const ADD: &str = "*** Add File:";
const UPDATE: &str = "*** Update File:";
const DELETE: &str = "*** Delete File:";
const MOVE: &str = "*** Move to:";

/// The most files that a patch may touch. A larger one is a call without its path, which no guard of
/// paths lets pass.
const MOST_FILES: usize = 1000;

/// Whether there is a patch in a text.
pub(crate) fn is_in(text: &str) -> bool {
    text.contains("*** Begin Patch")
}

/// One call for each file that a patch touches: what it adds, what it replaces. To delete a file or to
/// move it away is to write to it.
pub(crate) fn calls(text: &str) -> Vec<(&'static str, Args)> {
    let mut files: Vec<File> = Vec::new();
    for line in text.lines() {
        let header = line.trim();
        let mut begin = |what, path: &str| files.push(File::new(what, path));
        if let Some(path) = header.strip_prefix(ADD) {
            begin(What::Add, path);
        } else if let Some(path) = header.strip_prefix(UPDATE) {
            begin(What::Update, path);
        } else if let Some(path) = header.strip_prefix(DELETE) {
            begin(What::Delete, path);
        } else if let Some(path) = header.strip_prefix(MOVE) {
            begin(What::Move, path);
        } else if let Some(file) = files.last_mut() {
            file.line(line);
        }
        if files.len() > MOST_FILES {
            return vec![("write_to_file", Args::new())];
        }
    }
    // What stands below the place it is moved to is the text of both.
    files.into_iter().map(File::into_call).collect()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum What {
    Add,
    Update,
    Delete,
    Move,
}

struct File {
    what: What,
    path: String,
    old: String,
    new: String,
}

impl File {
    fn new(what: What, path: &str) -> Self {
        Self { what, path: path.trim().to_owned(), old: String::new(), new: String::new() }
    }

    fn line(&mut self, line: &str) {
        let put = |text: &mut String, line: &str| {
            text.push_str(line);
            text.push('\n');
        };
        if let Some(added) = line.strip_prefix('+') {
            put(&mut self.new, added);
        } else if let Some(removed) = line.strip_prefix('-') {
            put(&mut self.old, removed);
        } else if let Some(kept) = line.strip_prefix(' ') {
            put(&mut self.old, kept);
            put(&mut self.new, kept);
        }
    }

    fn into_call(self) -> (&'static str, Args) {
        let Self { what, path, old, new } = self;
        let target = ("TargetFile", Value::String(path));
        let (name, args) = match what {
            What::Add | What::Delete | What::Move => (
                "write_to_file",
                vec![
                    target,
                    ("CodeContent", new.into()),
                    ("Overwrite", (what != What::Add).into()),
                ],
            ),
            What::Update => (
                "replace_file_content",
                vec![target, ("TargetContent", old.into()), ("ReplacementContent", new.into())],
            ),
        };
        (name, args.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(text: &str) -> Vec<(&'static str, String)> {
        let path = |args: &Args| args["TargetFile"].as_str().unwrap_or_default().to_owned();
        calls(text).iter().map(|(name, args)| (*name, path(args))).collect()
    }

    #[test]
    fn every_file_is_found() {
        let text = "*** Begin Patch\n*** Add File: new.txt\n+one\n  *** Update File: a.txt \n*** Move to: b.txt\n@@\n-x\n+y\n*** Delete File: /etc/c\n*** End Patch\n";
        assert_eq!(
            paths(text),
            [
                ("write_to_file", "new.txt".to_owned()),
                ("replace_file_content", "a.txt".to_owned()),
                ("write_to_file", "b.txt".to_owned()),
                ("write_to_file", "/etc/c".to_owned()),
            ]
        );
        assert_eq!(calls(text)[0].1["CodeContent"], "one\n");
        assert_eq!(calls(text)[2].1["CodeContent"], "y\n");
    }

    #[test]
    fn what_is_no_patch_has_no_files() {
        assert!(calls("").is_empty());
        assert!(calls("rm -rf /").is_empty());
        assert_eq!(paths("+*** Add File: no\n"), []);
        let many = "*** Delete File: x\n".repeat(MOST_FILES);
        assert_eq!(calls(&many).len(), MOST_FILES);
        let more = calls(&format!("{many}*** Delete File: y\n"));
        assert_eq!(more, [("write_to_file", Args::new())]);
    }
}
