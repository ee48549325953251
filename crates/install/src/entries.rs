//! Hooks in a file of JSON that is one list: each with its name, its event and its handler.

use std::path::Path;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value, json};

use crate::InstallError;
use crate::command::{self, Call, CommandLine};
use crate::json::{self, Node};
use crate::settings::{Hook, MOST};
use crate::splice::{self, Layout};
use crate::target::{Syntax, Target};

/// What the names of ours begin with.
const NAME: &str = "tollgate-";

/// A negation of one of ours, as it is told.
const NEGATED: &str = "!tollgate-…";

/// A file of hooks.
pub(crate) struct Entries<'a> {
    pub(crate) target: &'a Target,
    pub(crate) path: &'a Path,
}

impl Entries<'_> {
    fn parse<'t>(&self, text: &'t str) -> Result<ast::Array<'t>, InstallError> {
        json::parse_list(self.path, text, Syntax::Strict)
    }

    /// All hooks of a text.
    pub(crate) fn hooks(&self, text: &str) -> Result<Vec<Hook>, InstallError> {
        let root = self.parse(text)?;
        let hook = |(place, element): (usize, &ast::Value<'_>)| {
            let ast::Value::Object(entry) = element else { return None };
            let line = line(element);
            let ours = line.as_deref().is_some_and(|line| command::is_ours(self.target.name, line));
            Some(Hook {
                event: text_of(entry, "event").unwrap_or_default(),
                command: line.map(|line| CommandLine::line(self.target.start, &line)),
                ours,
                matcher: None,
                whole: json::value(element),
                entry: flat(json::value(element)),
                group: None,
                index: (place, 0),
            })
        };
        Ok(root.elements.iter().enumerate().filter_map(hook).collect())
    }

    /// What of a text turns hooks of the person off: a project's file may have their names with a `!`.
    pub(crate) fn switched_off(&self, text: &str) -> Result<Vec<&'static str>, InstallError> {
        let root = self.parse(text)?;
        let is_ours = |element: &ast::Value<'_>| match element {
            ast::Value::StringLit(word) => {
                word.value.strip_prefix('!').is_some_and(|name| name.starts_with(NAME))
            }
            _ => false,
        };
        Ok(root.elements.iter().any(is_ours).then_some(NEGATED).into_iter().collect())
    }

    /// A hook for a call, as it is written.
    pub(crate) fn element(call: &Call) -> Node {
        let event = call.registration.event;
        let plain = |key: &str, text: String| (key.to_owned(), Node::Plain(json!(text)));
        let handler = Node::Object(vec![plain("bash", call.line())]);
        Node::Object(vec![
            plain("name", format!("{NAME}{event}")),
            plain("event", event.to_owned()),
            ("handler".to_owned(), handler),
        ])
    }

    /// What it says, with what its handler says.
    pub(crate) fn entry(call: &Call) -> Map<String, Value> {
        flat(Self::element(call).value())
    }

    /// The text with hooks for these calls behind whatever is there.
    pub(crate) fn with(&self, text: &str, calls: &[Call]) -> Result<String, InstallError> {
        let mut text = text.to_owned();
        for call in calls {
            let items = json::elements(&self.parse(&text)?);
            let layout = Layout::of(&text, &items);
            let indent = layout.indent(&text, &items);
            let element = Self::element(call).render(&indent, &layout.unit, layout.newline);
            text = splice::add(&text, &items, &indent, &layout, &element);
        }
        Ok(text)
    }

    /// A new file with hooks for these calls.
    pub(crate) fn new_file(calls: &[Call]) -> String {
        let list = Node::List(calls.iter().map(Self::element).collect());
        format!("{}\n", list.render("", "  ", "\n"))
    }

    /// The text without ours. None where all of it was ours.
    pub(crate) fn without(&self, text: &str) -> Result<Option<String>, InstallError> {
        let mut text = text.to_owned();
        for _ in 0..=MOST {
            let root = self.parse(&text)?;
            let items = json::elements(&root);
            // From the end: what came last goes first.
            let Some(index) = root.elements.iter().rposition(|element| self.is_ours(element))
            else {
                return Ok(Some(text));
            };
            let alone = text.get(..root.start()).is_some_and(str::is_empty)
                && text.get(root.end()..).is_some_and(|rest| rest.trim().is_empty());
            if alone && splice::came_with(&text, &items) {
                return Ok(None);
            }
            text = splice::remove(&text, &items, index);
        }
        let problem = format!("Tollgate is in it more than {MOST} times; put that right by hand");
        Err(InstallError::refused(self.path, problem))
    }

    fn is_ours(&self, element: &ast::Value<'_>) -> bool {
        line(element).is_some_and(|line| command::is_ours(self.target.name, &line))
    }
}

/// The fields of a hook and of its handler as one, so that each can be compared.
fn flat(hook: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = hook else { return Map::new() };
    if let Some(Value::Object(handler)) = fields.remove("handler") {
        fields.extend(handler);
    }
    fields
}

/// The command of a hook.
fn line(element: &ast::Value<'_>) -> Option<String> {
    let ast::Value::Object(entry) = element else { return None };
    match json::last(entry, "handler") {
        Some((_, ast::Value::Object(handler))) => text_of(handler, "bash"),
        _ => None,
    }
}

fn text_of(object: &ast::Object<'_>, key: &str) -> Option<String> {
    match json::last(object, key) {
        Some((_, ast::Value::StringLit(text))) => Some(text.value.to_string()),
        _ => None,
    }
}
