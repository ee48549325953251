//! Hooks in a file of JSON: which are there, and how ours come and go.

use std::path::Path;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use serde_json::{Map, Value, json};

use crate::InstallError;
use crate::command::{self, Call, CommandLine, Missing};
use crate::json::{self, Node};
use crate::splice::{self, Items, Layout};
use crate::target::{Field, GateValue, Groups, JsonForm, Start, Switch, Target};

/// How often ours may be in a file. More are no accident.
pub(crate) const MOST: usize = 200;

/// A hook that is configured.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Hook {
    pub(crate) event: String,
    /// The command, where it is one.
    pub(crate) command: Option<CommandLine>,
    pub(crate) ours: bool,
    /// Which tools it is for, where its group says so.
    pub(crate) matcher: Option<String>,
    /// All of it, with its group where it is the only one in it.
    pub(crate) whole: Value,
    /// What it says itself.
    pub(crate) entry: Map<String, Value>,
    /// What its group says besides; none where it is in none.
    pub(crate) group: Option<Map<String, Value>>,
    /// Its place among the elements of the event, and in its group.
    pub(crate) index: (usize, usize),
}

/// A file of hooks.
pub(crate) struct Settings<'a> {
    pub(crate) target: &'a Target,
    pub(crate) form: JsonForm,
    pub(crate) path: &'a Path,
}

/// One of ours in a text: the brackets around it, from the outermost, and its index in each.
type Chain = Vec<(Items, usize)>;

impl Settings<'_> {
    /// All hooks of a text.
    pub(crate) fn hooks(&self, text: &str) -> Result<Vec<Hook>, InstallError> {
        if is_blank(text) {
            return Ok(Vec::new());
        }
        let root = json::parse(self.path, text, self.form.syntax)?;
        Ok(self.located(&root).into_iter().map(|hook| self.hook(&hook)).collect())
    }

    fn hook(&self, hook: &Located<'_, '_>) -> Hook {
        let group = match hook.element {
            ast::Value::Object(group) if hook.grouped => {
                let mut group = json::plain(group);
                group.remove("hooks");
                Some(group)
            }
            _ => None,
        };
        let place = |back: usize| {
            hook.chain.iter().rev().nth(back).map(|(_, index)| *index).unwrap_or_default()
        };
        Hook {
            event: hook.event.to_owned(),
            command: self.command(hook.entry),
            ours: self.is_ours(hook.entry),
            matcher: matcher_of(hook),
            whole: if hook.alone {
                json::value(hook.element)
            } else {
                Value::Object(json::plain(hook.entry))
            },
            entry: json::plain(hook.entry),
            group,
            index: if hook.grouped { (place(1), place(0)) } else { (place(0), 0) },
        }
    }

    /// What of a text turns hooks off.
    pub(crate) fn switched_off(&self, text: &str) -> Result<Vec<&'static str>, InstallError> {
        if is_blank(text) {
            return Ok(Vec::new());
        }
        let root = Value::Object(json::plain(&json::parse(self.path, text, self.form.syntax)?));
        let is_off = |switch: &&Switch| root.pointer(switch.at).is_some_and(|it| switch.is_off(it));
        Ok(self.target.switches.iter().filter(is_off).map(|switch| switch.at).collect())
    }

    /// The text with hooks for these calls, beside whatever is there.
    pub(crate) fn with(&self, text: &str, calls: &[Call]) -> Result<String, InstallError> {
        if is_blank(text) {
            // Before what is ours, so that it is known for what was there: a new file has nothing there.
            return Ok(format!("\n{text}{}", self.new_file(calls)));
        }
        let mut text = text.to_owned();
        for call in calls {
            text = self.with_one(&text, call)?;
        }
        Ok(text)
    }

    /// A new file with hooks for these calls.
    pub(crate) fn new_file(&self, calls: &[Call]) -> String {
        let events = Node::Object(
            calls
                .iter()
                .map(|call| (call.registration.event.to_owned(), self.list(call)))
                .collect(),
        );
        let root = match self.form.under {
            Some(key) => {
                let mut pairs = vec![(key.to_owned(), events)];
                // Behind the hooks: who had a file with a version has it before them.
                if self.form.versioned {
                    pairs.push(("version".to_owned(), Node::Plain(json!(1))));
                }
                Node::Object(pairs)
            }
            None => events,
        };
        format!("{}\n", root.render("", "  ", "\n"))
    }

    /// The text without ours. None where all of it was ours.
    pub(crate) fn without(&self, text: &str) -> Result<Option<String>, InstallError> {
        if is_blank(text) {
            return Ok(Some(text.to_owned()));
        }
        let mut text = text.to_owned();
        for _ in 0..=MOST {
            let root = json::parse(self.path, &text, self.form.syntax)?;
            // From the end: what came last goes first.
            let Some(mut chain) = self.last_of_ours(&root) else { return Ok(Some(text)) };
            while let [.., _, (items, _)] = chain.as_slice() {
                if !splice::came_with(&text, items) {
                    break;
                }
                chain.pop();
            }
            if chain.len() == 1 && self.is_new_file(&text, &root) {
                let before = text.get(..root.start()).unwrap_or_default();
                return Ok(before.strip_prefix('\n').map(str::to_owned));
            }
            let Some((items, index)) = chain.last() else { return Ok(Some(text)) };
            text = splice::remove(&text, items, *index);
        }
        let problem = format!("Tollgate is in it more than {MOST} times; put that right by hand");
        Err(InstallError::refused(self.path, problem))
    }

    /// A hook for a call, as it is written.
    pub(crate) fn element(&self, call: &Call) -> Node {
        let entry = self.entry(call);
        let hooks = |entry| ("hooks".to_owned(), Node::List(vec![entry]));
        match self.form.groups {
            Groups::None => entry,
            Groups::Bare => Node::Object(vec![hooks(entry)]),
            Groups::EmptyMatcher => {
                let matcher = ("matcher".to_owned(), Node::Plain(json!("")));
                Node::Object(vec![matcher, hooks(entry)])
            }
            Groups::Matched(_) => match self.matcher(call) {
                Some(matcher) => {
                    let matcher = ("matcher".to_owned(), Node::Plain(json!(matcher)));
                    Node::Object(vec![matcher, hooks(entry)])
                }
                None => entry,
            },
        }
    }

    /// Whether a hook for a call is in a group.
    pub(crate) fn is_grouped(&self, call: &Call) -> bool {
        match self.form.groups {
            Groups::None => false,
            Groups::Bare | Groups::EmptyMatcher => true,
            Groups::Matched(_) => self.matcher(call).is_some(),
        }
    }

    /// The same without its group.
    pub(crate) fn entry(&self, call: &Call) -> Node {
        let mut pairs = Vec::new();
        for field in self.form.fields {
            let mut put =
                |key: &str, value: Value| pairs.push((key.to_owned(), Node::Plain(value)));
            match *field {
                Field::Type => put("type", json!("command")),
                Field::Name => put("name", json!("tollgate")),
                Field::Command(key) => put(key, json!(call.line())),
                // A host that knows no `args` would run a bare shell on its input.
                Field::Direct if call.missing == Missing::Warn => {
                    put("command", json!(call.line()));
                }
                Field::Direct => {
                    put("command", json!(call.program));
                    put("args", json!(call.arguments));
                }
                Field::Seconds(key) => put(key, json!(call.timeout)),
                Field::Milliseconds(key) => put(key, json!(call.timeout.saturating_mul(1000))),
                Field::WhenGate(key, value) if call.registration.gate => match value {
                    GateValue::Word(word) => put(key, json!(word)),
                    GateValue::True => put(key, json!(true)),
                },
                Field::WhenGate(..) => {}
            }
        }
        Node::Object(pairs)
    }

    /// Which tools a call is for, where this form says so.
    pub(crate) fn matcher<'m>(&self, call: &'m Call) -> Option<&'m str> {
        let Groups::Matched(matchers) = self.form.groups else { return None };
        let (_, usual) = matchers.iter().find(|(event, _)| *event == call.registration.event)?;
        Some(call.matcher.as_deref().unwrap_or(usual))
    }

    fn list(&self, call: &Call) -> Node {
        Node::List(vec![self.element(call)])
    }

    fn with_one(&self, text: &str, call: &Call) -> Result<String, InstallError> {
        let root = json::parse(self.path, text, self.form.syntax)?;
        let layout = Layout::of(text, &json::properties(&root));
        let add = |items: &Items, write: &dyn Fn(&str) -> String| {
            let indent = layout.indent(text, items);
            splice::add(text, items, &indent, &layout, &write(&indent))
        };
        let property = |key: &str, node: &Node, indent: &str| {
            json::property(key, node, indent, &layout.unit, layout.newline)
        };
        let events = match self.form.under {
            None => &root,
            Some(key) => match json::last(&root, key) {
                None => {
                    let event = (call.registration.event.to_owned(), self.list(call));
                    let node = Node::Object(vec![event]);
                    return Ok(add(&json::properties(&root), &|indent| {
                        property(key, &node, indent)
                    }));
                }
                Some((_, ast::Value::Object(events))) => events,
                Some((_, other)) => return Err(self.unexpected(text, other, key, "an object")),
            },
        };
        let event = call.registration.event;
        match json::last(events, event) {
            None => {
                let node = self.list(call);
                Ok(add(&json::properties(events), &|indent| property(event, &node, indent)))
            }
            Some((_, ast::Value::Array(array))) => {
                let node = self.element(call);
                let write = |indent: &str| node.render(indent, &layout.unit, layout.newline);
                Ok(add(&json::elements(array), &write))
            }
            Some((_, other)) => Err(self.unexpected(text, other, event, "a list")),
        }
    }

    fn unexpected(
        &self,
        text: &str,
        found: &ast::Value<'_>,
        key: &str,
        want: &str,
    ) -> InstallError {
        let title = self.target.title;
        InstallError::content(
            self.path,
            text,
            found.start(),
            format!("`{key}` is not {want}"),
            format!("{title} would not read it either; put that right and run the command again"),
        )
    }

    /// Every hook that is in a file.
    fn located<'a, 'b>(&self, root: &'b ast::Object<'a>) -> Vec<Located<'a, 'b>> {
        let mut all = Vec::new();
        let top = json::properties(root);
        match self.form.under {
            None => located_in(root, &Vec::new(), &mut all),
            // A key that is there twice counts once, but ours may be in either.
            Some(key) => {
                for (index, property) in root.properties.iter().enumerate() {
                    let is_here = self.form.named || property.name.as_str() == key;
                    if let (true, ast::Value::Object(events)) = (is_here, &property.value) {
                        located_in(events, &vec![(top.clone(), index)], &mut all);
                    }
                }
            }
        }
        all
    }

    /// The last of ours, and where it is.
    fn last_of_ours(&self, root: &ast::Object<'_>) -> Option<Chain> {
        let located = self.located(root);
        let index = located.iter().rposition(|hook| self.is_ours(hook.entry))?;
        let ours = located.get(index)?;
        let mut chain = ours.chain.clone();
        // A group in which nothing else is goes as a whole.
        let beside = located.iter().filter(|hook| hook.element.range() == ours.element.range());
        if ours.grouped && beside.clone().all(|hook| self.is_ours(hook.entry)) {
            chain.pop();
        }
        Some(chain)
    }

    /// Whether a file is one that was made for hooks, or was empty, and has no others.
    fn is_new_file(&self, text: &str, root: &ast::Object<'_>) -> bool {
        let items = json::properties(root);
        let before = text.get(..root.start()).unwrap_or_default();
        let outside = (before.is_empty() || before.starts_with('\n') && is_blank(before))
            && text.get(root.end()..).is_some_and(|rest| rest.trim().is_empty());
        if !outside || !self.form.versioned {
            return outside && splice::came_with(text, &items);
        }
        // The version came with the hooks, where it stands behind them.
        let is_first = json::last(root, "version").is_some_and(|(index, value)| {
            index == 1 && json::value(value) == json!(1) && items.each.len() == 2
        });
        let blank = |range: std::ops::Range<usize>| text.get(range).map(str::trim);
        match items.each.as_slice() {
            [hooks, version] if is_first => {
                hooks.start != items.open
                    && blank(items.open..hooks.start) == Some("")
                    && blank(hooks.end..version.start) == Some(",")
                    && blank(version.end..items.close) == Some("")
            }
            _ => splice::came_with(text, &items),
        }
    }

    fn is_ours(&self, entry: &ast::Object<'_>) -> bool {
        match self.command(entry) {
            Some(CommandLine::Shell { line, .. }) => command::is_ours(self.target.name, &line),
            Some(CommandLine::Direct { program, arguments }) => {
                let arguments: Vec<_> = arguments.iter().map(String::as_str).collect();
                command::is_ours_direct(self.target.name, &program, &arguments)
            }
            _ => false,
        }
    }

    /// The command of a hook, as the host runs it.
    fn command(&self, entry: &ast::Object<'_>) -> Option<CommandLine> {
        let word = |key| match json::last(entry, key) {
            Some((_, ast::Value::StringLit(text))) => Some(text.value.to_string()),
            _ => None,
        };
        let keys = self.form.fields.iter().filter_map(|field| match field {
            Field::Command(key) => Some(*key),
            Field::Direct => Some("command"),
            _ => None,
        });
        let line = keys.chain(["command"]).find_map(word)?;
        match json::last(entry, "args").map(|(_, args)| json::value(args)) {
            Some(Value::Array(args)) if self.target.start == Start::Direct => {
                let arguments = args.iter().filter_map(|arg| arg.as_str().map(str::to_owned));
                Some(CommandLine::Direct { program: line, arguments: arguments.collect() })
            }
            _ => Some(CommandLine::line(self.target.start, &line)),
        }
    }
}

/// Which tools a hook is for, where its group says so.
fn matcher_of(hook: &Located<'_, '_>) -> Option<String> {
    let ast::Value::Object(group) = hook.element else { return None };
    match json::last(group, "matcher").filter(|_| hook.grouped) {
        Some((_, ast::Value::StringLit(text))) => Some(text.value.to_string()),
        _ => None,
    }
}

/// Whether a file has nothing in it: people and programs make such files, and mean `{}`.
fn is_blank(text: &str) -> bool {
    text.chars().all(|c| matches!(c, ' ' | '\t' | '\r' | '\n'))
}

/// A hook in a file.
struct Located<'a, 'b> {
    event: &'b str,
    /// Its element in the list of the event: itself, or its group.
    element: &'b ast::Value<'a>,
    grouped: bool,
    /// Whether it is the only one in its group.
    alone: bool,
    entry: &'b ast::Object<'a>,
    chain: Chain,
}

fn located_in<'a, 'b>(events: &'b ast::Object<'a>, outer: &Chain, all: &mut Vec<Located<'a, 'b>>) {
    let in_events = json::properties(events);
    for (index, event) in events.properties.iter().enumerate() {
        let ast::Value::Array(elements) = &event.value else { continue };
        let in_list = json::elements(elements);
        for (place, element) in elements.elements.iter().enumerate() {
            let ast::Value::Object(object) = element else { continue };
            let mut chain = outer.clone();
            chain.extend([(in_events.clone(), index), (in_list.clone(), place)]);
            let event = event.name.as_str();
            let Some((_, ast::Value::Array(group))) = json::last(object, "hooks") else {
                let (grouped, alone) = (false, true);
                all.push(Located { event, element, grouped, alone, entry: object, chain });
                continue;
            };
            let in_group = json::elements(group);
            for (place, entry) in group.elements.iter().enumerate() {
                let ast::Value::Object(entry) = entry else { continue };
                let mut chain = chain.clone();
                chain.push((in_group.clone(), place));
                let (grouped, alone) = (true, group.elements.len() == 1);
                all.push(Located { event, element, grouped, alone, entry, chain });
            }
        }
    }
}
