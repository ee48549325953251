//! What another parser makes of a text.

use std::borrow::Cow;

use rable::{Node, NodeKind};

use super::{Assignment, Command, CommandKind, Piece, Redirect, RedirectKind, Script, Word};

mod depth;

/// Longer texts are not given to the other parser.
const LONGEST: usize = 64 * 1024;

/// Whether two parsers read a text alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Agreement {
    /// They do.
    Same,
    /// They do not.
    Different,
    /// The other one was not asked: the text is too long, or nested too deep for it.
    NotAsked,
}

/// Compares what this parser made of a text with what another one makes of it: the words,
/// assignments and redirections of all simple commands outside of substitutions.
///
/// The other parser needs much of the stack for each construct in another, and the time it takes
/// doubles with every substitution in another. It is only asked where neither can be much.
pub fn second_opinion(text: &str, script: &Script) -> Agreement {
    if text.len() > LONGEST || depth::of_text(text) || depth::of_script(text, script) {
        return Agreement::NotAsked;
    }
    let Ok(nodes) = rable::parse(text, true) else { return Agreement::Different };
    let mut ours = Ours { text, items: Vec::new() };
    ours.script(script);
    let mut theirs = Vec::with_capacity(ours.items.len());
    for node in &nodes {
        flatten(node, &mut theirs);
    }
    let same = ours.items.len() == theirs.len()
        && ours.items.iter().zip(&theirs).all(|(ours, theirs)| ours.is(theirs));
    if same { Agreement::Same } else { Agreement::Different }
}

/// What is compared.
#[derive(Debug)]
enum Item<'a> {
    /// A word or an assignment.
    Word(Cow<'a, str>),
    /// Descriptor, operator, target.
    Redirect(Cow<'a, str>, Cow<'a, str>, Cow<'a, str>),
    /// The text of a here-document.
    Document(Cow<'a, str>),
}

impl Item<'_> {
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Word(one), Self::Word(other)) | (Self::Document(one), Self::Document(other)) => {
                alike(one, other)
            }
            (Self::Redirect(fd, operator, target), Self::Redirect(its_fd, its, its_target)) => {
                // The other parser does not say which descriptor is closed or moved.
                if let Some(moved) = target.strip_suffix('-')
                    && operator.ends_with('-')
                {
                    return its.ends_with('-') || alike(moved, its_target);
                }
                fd == its_fd && operator == its && alike(target, its_target)
            }
            _ => false,
        }
    }
}

/// Whether texts are the same but for blanks and line continuations, which the other parser does
/// not always keep.
fn alike(one: &str, other: &str) -> bool {
    one == other || essence(one).eq(essence(other))
}

fn essence(text: &str) -> impl Iterator<Item = u8> {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n');
    let bytes = text.as_bytes();
    bytes.iter().enumerate().filter_map(move |(at, byte)| {
        let continued = *byte == b'\\' && bytes.get(at + 1) == Some(&b'\n');
        (!blank(byte) && !continued).then_some(*byte)
    })
}

/// Our tree.
struct Ours<'a> {
    text: &'a str,
    items: Vec<Item<'a>>,
}

impl<'a> Ours<'a> {
    fn raw(&self, word: &Word) -> &'a str {
        self.text.get(word.span.clone()).unwrap_or_default()
    }

    /// A word as the other parser has it, which keeps no comments in arrays.
    fn written(&self, word: &Word) -> Cow<'a, str> {
        let (mut text, words) = match word.pieces.as_slice() {
            [Piece::Array(words)] => (String::new(), words),
            [Piece::Text(name), Piece::Array(words)] => (name.clone(), words),
            _ => return Cow::Borrowed(self.raw(word)),
        };
        text.push('(');
        for word in words {
            text.push_str(self.raw(word));
        }
        text.push(')');
        Cow::Owned(text)
    }

    fn script(&mut self, script: &Script) {
        for statement in &script.statements {
            let rest = statement.rest.iter().map(|(_, pipeline)| pipeline);
            for pipeline in std::iter::once(&statement.first).chain(rest) {
                for command in &pipeline.commands {
                    self.command(command);
                }
            }
        }
    }

    fn command(&mut self, command: &Command) {
        match &command.kind {
            CommandKind::Simple { assignments, words } => {
                for assignment in assignments {
                    self.assignment(assignment);
                }
                for word in words {
                    self.items.push(Item::Word(self.written(word)));
                }
            }
            CommandKind::Subshell(script)
            | CommandKind::Group(script)
            | CommandKind::For { body: script, .. }
            | CommandKind::ForArithmetic { body: script, .. } => self.script(script),
            CommandKind::If { clauses, otherwise } => {
                for clause in clauses {
                    self.script(&clause.condition);
                    self.script(&clause.body);
                }
                if let Some(script) = otherwise {
                    self.script(script);
                }
            }
            CommandKind::Loop(clause) => {
                self.script(&clause.condition);
                self.script(&clause.body);
            }
            CommandKind::Case { arms, .. } => {
                for arm in arms {
                    self.script(&arm.body);
                }
            }
            CommandKind::Function { body, .. } | CommandKind::Coproc(body) => self.command(body),
            CommandKind::Arithmetic(_) | CommandKind::Test(_) | CommandKind::Empty => {}
        }
        for redirect in &command.redirects {
            self.redirect(redirect);
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        let mut text = assignment.name.clone();
        if let Some(subscript) = &assignment.subscript {
            text.push('[');
            text.push_str(self.raw(subscript));
            text.push(']');
        }
        text.push_str(if assignment.append { "+=" } else { "=" });
        text.push_str(&self.written(&assignment.value));
        self.items.push(Item::Word(Cow::Owned(text)));
    }

    fn redirect(&mut self, redirect: &Redirect) {
        // What `|&` stands for is not in the text.
        let implied =
            redirect.target.span.is_empty() && redirect.kind == RedirectKind::DuplicateOut;
        let target = if implied { "1" } else { self.raw(&redirect.target) };
        let operator = match redirect.kind {
            RedirectKind::HereDocument => {
                self.items.push(Item::Document(Cow::Borrowed(target)));
                return;
            }
            RedirectKind::DuplicateIn | RedirectKind::DuplicateOut if target.ends_with('-') => {
                ">&-"
            }
            RedirectKind::Read => "<",
            RedirectKind::Write => ">",
            RedirectKind::Append => ">>",
            RedirectKind::ReadWrite => "<>",
            RedirectKind::DuplicateIn => "<&",
            RedirectKind::DuplicateOut => ">&",
            RedirectKind::Both => "&>",
            RedirectKind::BothAppend => "&>>",
            RedirectKind::HereString => "<<<",
        };
        let descriptor = redirect.descriptor.clone().unwrap_or_default();
        let target = Cow::Borrowed(target);
        self.items.push(Item::Redirect(Cow::Owned(descriptor), Cow::Borrowed(operator), target));
    }
}

/// Their tree.
fn flatten<'a>(node: &'a Node, items: &mut Vec<Item<'a>>) {
    match &node.kind {
        NodeKind::Word { value, .. } => items.push(Item::Word(Cow::Borrowed(value))),
        NodeKind::Command { assignments, words, redirects } => {
            flatten_all(assignments, items);
            flatten_all(words, items);
            flatten_all(redirects, items);
        }
        NodeKind::Pipeline { commands, .. } => flatten_all(commands, items),
        NodeKind::List { items: list } => {
            for item in list {
                flatten(&item.command, items);
            }
        }
        NodeKind::If { condition, then_body, else_body, redirects } => {
            flatten(condition, items);
            flatten(then_body, items);
            if let Some(body) = else_body {
                flatten(body, items);
            }
            flatten_all(redirects, items);
        }
        NodeKind::While { condition, body, redirects }
        | NodeKind::Until { condition, body, redirects } => {
            flatten(condition, items);
            flatten(body, items);
            flatten_all(redirects, items);
        }
        NodeKind::For { body, redirects, .. }
        | NodeKind::ForArith { body, redirects, .. }
        | NodeKind::Select { body, redirects, .. }
        | NodeKind::Subshell { body, redirects }
        | NodeKind::BraceGroup { body, redirects } => {
            flatten(body, items);
            flatten_all(redirects, items);
        }
        NodeKind::Case { patterns, redirects, .. } => {
            for pattern in patterns {
                if let Some(body) = &pattern.body {
                    flatten(body, items);
                }
            }
            flatten_all(redirects, items);
        }
        NodeKind::Function { body: inner, .. }
        | NodeKind::Coproc { command: inner, .. }
        | NodeKind::Negation { pipeline: inner }
        | NodeKind::Time { pipeline: inner, .. } => flatten(inner, items),
        NodeKind::ArithmeticCommand { redirects, .. }
        | NodeKind::ConditionalExpr { redirects, .. } => flatten_all(redirects, items),
        NodeKind::HereDoc { content, .. } => items.push(Item::Document(Cow::Borrowed(content))),
        NodeKind::Redirect { op, target, fd, varfd } => {
            let NodeKind::Word { value, .. } = &target.kind else { return };
            let descriptor = match varfd {
                Some(name) => Cow::Owned(format!("{{{name}}}")),
                None if *fd < 0 => Cow::Borrowed(""),
                None => Cow::Owned(fd.to_string()),
            };
            let operator = if op == ">|" { ">" } else { op };
            let target = Cow::Borrowed(value.as_str());
            items.push(Item::Redirect(descriptor, Cow::Borrowed(operator), target));
        }
        _ => {}
    }
}

fn flatten_all<'a>(nodes: &'a [Node], items: &mut Vec<Item<'a>>) {
    for node in nodes {
        flatten(node, items);
    }
}
