//! Texts of all sorts: who installs and uninstalls has what they had.

use std::path::Path;

use proptest::prelude::*;
use proptest::test_runner::Config;

use crate::command::{Call, Registration};
use crate::plan::Document;
use crate::target::{Form, Layer};
use crate::{Edit, Target};

const EVENTS: &[Registration] = &[
    Registration::gate("PreToolUse"),
    Registration::gate("BeforeTool"),
    Registration::gate("preToolUse"),
    Registration::gate("pre_run_command"),
    Registration::tells("Stop"),
    Registration::tells("New"),
];

/// Installs, looks at it, and uninstalls again.
fn there_and_back(target: &Target, text: &str) -> Result<(), String> {
    let path = Path::new("/file");
    let document = match target.place_of(Layer::User).unwrap().form {
        Form::Json(form) => Document::json(target, form, path),
        Form::Entries => Document::entries(target, path),
        _ => Document::toml(target, path),
    };
    let call =
        |event: &Registration| Call::new(target, Path::new("/bin/tollgate"), *event).unwrap();
    let calls: Vec<_> = EVENTS.iter().map(call).collect();
    let after = |edits: Vec<Edit>, what: &str| match &*edits {
        [edit] => Ok(edit.after.clone().map(|it| String::from_utf8(it).unwrap())),
        _ => Err(format!("{what}: {} edits of\n{text}", edits.len())),
    };
    let failed = |error: crate::InstallError| format!("{error} in\n{text}");
    let others = |text: &str| -> Result<Vec<_>, String> {
        let hooks = document.hooks(text).map_err(failed)?;
        Ok(hooks.into_iter().filter(|hook| !hook.ours).collect())
    };
    let edits = document.install(Some(text.to_owned()), &calls).map_err(failed)?;
    let installed = after(edits, "install")?.ok_or("removed")?;
    if others(&installed)? != others(text)? {
        return Err(format!("hooks of others\n{text}\n---\n{installed}"));
    }
    if !document.install(Some(installed.clone()), &calls).map_err(failed)?.is_empty() {
        return Err(format!("a second time\n{text}\n---\n{installed}"));
    }
    // Other events, and back.
    let fewer = calls.get(..2).unwrap_or_default();
    let edits = document.install(Some(installed.clone()), fewer).map_err(failed)?;
    let changed = after(edits, "fewer")?.ok_or("removed")?;
    for installed in [installed, changed] {
        let edits = document.uninstall(Some(installed.clone())).map_err(failed)?;
        let now = after(edits, "uninstall")?;
        if now.as_deref() != Some(text) {
            let now = now.unwrap_or_default();
            return Err(format!("{text}\n--- installed\n{installed}\n--- now\n{now}"));
        }
    }
    Ok(())
}

/// A value, and what it is written with between its parts.
#[derive(Debug, Clone)]
enum Tree {
    Word(&'static str),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

fn trees(keys: &'static [&'static str], depth: u32) -> BoxedStrategy<Tree> {
    let words = prop_oneof![
        Just("null"),
        Just("true"),
        Just("-1.5e3"),
        Just("\"a b\""),
        Just("\"// \\\" /* ,]}\""),
        Just("\"é\\n\""),
    ];
    words
        .prop_map(Tree::Word)
        .prop_recursive(depth, 24, 4, move |inner| {
            let key = proptest::sample::select(keys).prop_map(str::to_owned);
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Tree::List),
                proptest::collection::vec((key, inner), 0..4).prop_map(Tree::Object),
            ]
        })
        .boxed()
}

/// Hooks of others: events with lists of objects.
fn hooks(names: &'static [&'static str]) -> BoxedStrategy<Tree> {
    let entry = trees(&["type", "command", "timeout", "matcher", "x"], 2);
    let object = |tree: Tree| match tree {
        Tree::Object(_) => tree,
        other => Tree::Object(vec![("command".to_owned(), other)]),
    };
    let group = proptest::collection::vec(entry.clone().prop_map(object), 0..3)
        .prop_map(|hooks| Tree::Object(vec![("hooks".to_owned(), Tree::List(hooks))]));
    let element = prop_oneof![entry.prop_map(object), group];
    let list = proptest::collection::vec(element, 0..3).prop_map(Tree::List);
    let event = (proptest::sample::select(names).prop_map(str::to_owned), list);
    proptest::collection::vec(event, 0..4).prop_map(Tree::Object).boxed()
}

/// The whole of a file.
fn files(names: &'static [&'static str]) -> BoxedStrategy<Tree> {
    let others = proptest::collection::vec(
        (
            proptest::sample::select(&["a", "model", "version", "env"][..]).prop_map(str::to_owned),
            trees(&["b", "hooks", "c"], 2),
        ),
        0..3,
    );
    (others, proptest::option::of(hooks(names)), 0..4_usize)
        .prop_map(|(mut pairs, hooks, at)| {
            if let Some(hooks) = hooks {
                pairs.insert(at.min(pairs.len()), ("hooks".to_owned(), hooks));
            }
            Tree::Object(pairs)
        })
        .boxed()
}

/// A hook of somebody else in a list.
fn entries() -> BoxedStrategy<Tree> {
    let word = |key: &str, word| (key.to_owned(), Tree::Word(word));
    proptest::sample::select(&["\"pre_tool_use\"", "\"stop\"", "3"][..])
        .prop_map(move |event| {
            let handler = Tree::Object(vec![word("bash", "\"exit 0\"")]);
            Tree::Object(vec![word("event", event), ("handler".to_owned(), handler)])
        })
        .boxed()
}

/// Writes a value with blanks and comments as chance has it.
struct Writer<'a> {
    chance: std::iter::Cycle<std::slice::Iter<'a, u8>>,
    comments: bool,
    commas: bool,
}

/// Writes one part.
type Part<'a> = Box<dyn FnOnce(&mut Writer<'_>, &mut String) + 'a>;

impl Writer<'_> {
    fn chance(&mut self) -> u8 {
        *self.chance.next().unwrap()
    }

    fn between(&mut self) -> &'static str {
        const BLANKS: &[&str] = &["", " ", "\n", "\n  ", "\r\n\t", "", "\n\n    ", ""];
        const COMMENTS: &[&str] =
            &[" // c, }\n", "/* ] */", " /* a\n b */ ", "\n// x\n", " // y\r\n  ", "\n /**/\n"];
        let chance = usize::from(self.chance());
        if self.comments && chance.is_multiple_of(3) {
            COMMENTS[chance / 3 % COMMENTS.len()]
        } else {
            BLANKS[chance % BLANKS.len()]
        }
    }

    fn all(&mut self, out: &mut String, brackets: (char, char), parts: Vec<Part<'_>>) {
        out.push(brackets.0);
        let count = parts.len();
        for (index, part) in parts.into_iter().enumerate() {
            out.push_str(self.between());
            part(self, out);
            out.push_str(self.between());
            if index + 1 < count || self.commas && self.chance().is_multiple_of(2) {
                out.push(',');
            }
        }
        out.push_str(self.between());
        out.push(brackets.1);
    }

    fn write(&mut self, tree: &Tree, out: &mut String) {
        match tree {
            Tree::Word(word) => out.push_str(word),
            Tree::List(trees) => {
                let parts = trees.iter().map(|tree| {
                    let part: Part<'_> = Box::new(move |it, out| it.write(tree, out));
                    part
                });
                self.all(out, ('[', ']'), parts.collect());
            }
            Tree::Object(pairs) => {
                let parts = pairs.iter().map(|(key, tree)| {
                    let part: Part<'_> = Box::new(move |it, out| {
                        out.extend(["\"", key, "\""]);
                        out.push_str(it.between());
                        out.push(':');
                        out.push_str(it.between());
                        it.write(tree, out);
                    });
                    part
                });
                self.all(out, ('{', '}'), parts.collect());
            }
        }
    }
}

fn text(tree: &Tree, chance: &[u8], comments: bool, commas: bool) -> String {
    let mut writer = Writer { chance: chance.iter().cycle(), comments, commas };
    let mut out = writer.between().to_owned();
    writer.write(tree, &mut out);
    out.push_str(writer.between());
    out
}

proptest! {
    #![proptest_config(Config { cases: 256, failure_persistence: None, ..Config::default() })]

    #[test]
    fn json_of_all_sorts(
        tree in files(&["PreToolUse", "Stop", "SessionStart", "Other"]),
        chance in proptest::collection::vec(any::<u8>(), 1..60),
        host in proptest::sample::select(&["claude", "codex", "antigravity"][..]),
    ) {
        let text = text(&tree, &chance, false, false);
        there_and_back(Target::by_name(host).unwrap(), &text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn lists_of_all_sorts(
        elements in proptest::collection::vec(prop_oneof![entries(), trees(&["name", "event", "handler"], 2)], 0..4),
        chance in proptest::collection::vec(any::<u8>(), 1..60),
    ) {
        let text = text(&Tree::List(elements), &chance, false, false);
        there_and_back(Target::by_name("polytoken").unwrap(), &text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn json_with_comments_and_commas(
        tree in files(&["preToolUse", "stop", "pre_run_command", "BeforeTool", "SessionEnd"]),
        chance in proptest::collection::vec(any::<u8>(), 1..60),
        host in proptest::sample::select(&["gemini", "cursor", "windsurf"][..]),
    ) {
        let text = text(&tree, &chance, true, host != "gemini");
        there_and_back(Target::by_name(host).unwrap(), &text).map_err(TestCaseError::fail)?;
    }

    #[test]
    fn toml_of_all_sorts(
        lines in proptest::collection::vec(proptest::sample::select(&[
            "", "# c", "[a]", "b = 1", "[[hooks]]\nevent = \"Stop\"\ncommand = 'x'", "  ",
        ][..]), 0..8),
        crlf in any::<bool>(),
        end in any::<bool>(),
    ) {
        // A key or table of a name comes once.
        let mut seen = Vec::new();
        let lines: Vec<_> = lines.into_iter()
            .filter(|line| !line.contains(['a', 'b']) || line.contains("hooks") || {
                let new = !seen.contains(line);
                seen.push(*line);
                new
            })
            .collect();
        let newline = if crlf { "\r\n" } else { "\n" };
        let mut text = lines.join("\n").replace('\n', newline);
        if end {
            text.push_str(newline);
        }
        there_and_back(Target::by_name("kimi").unwrap(), &text).map_err(TestCaseError::fail)?;
    }
}
