//! What another parser makes of a text.

use std::borrow::Cow;
use std::slice::Iter;

use rable::{Node, NodeKind};
use smallvec::SmallVec;

use super::{
    Assignment, Clause, Command, CommandKind, Piece, Pipeline, Redirect, RedirectKind, Script, Word,
};

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
    if text.len() > LONGEST || depth::of(text, script) {
        return Agreement::NotAsked;
    }
    let Ok(nodes) = rable::parse(text, true) else { return Agreement::Different };
    let mut theirs = SmallVec::new();
    flatten_all(&nodes, &mut theirs);
    let mut both = Both { text, theirs: theirs.iter() };
    let same = both.script(script) && both.theirs.next().is_none();
    if same { Agreement::Same } else { Agreement::Different }
}

/// What is compared of their tree: words, assignments, redirections and here-documents.
type Leaves<'a> = SmallVec<[&'a Node; 32]>;

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

/// Goes through our tree, and beside it through what is compared of theirs.
struct Both<'a, 'n> {
    text: &'a str,
    theirs: Iter<'n, &'n Node>,
}

impl<'a> Both<'a, '_> {
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

    /// Their next one, which has to be a word.
    fn next_word(&mut self) -> Option<&str> {
        match &self.theirs.next()?.kind {
            NodeKind::Word { value, .. } => Some(value),
            _ => None,
        }
    }

    fn script(&mut self, script: &Script) -> bool {
        script.statements.iter().all(|statement| {
            self.pipeline(&statement.first)
                && statement.rest.iter().all(|(_, pipeline)| self.pipeline(pipeline))
        })
    }

    fn pipeline(&mut self, pipeline: &Pipeline) -> bool {
        pipeline.commands.iter().all(|command| self.command(command))
    }

    fn command(&mut self, command: &Command) -> bool {
        let inside = match &command.kind {
            CommandKind::Simple { assignments, words } => {
                assignments.iter().all(|assignment| self.assignment(assignment))
                    && words.iter().all(|word| self.word(word))
            }
            CommandKind::Subshell(script)
            | CommandKind::Group(script)
            | CommandKind::For { body: script, .. }
            | CommandKind::ForArithmetic { body: script, .. } => self.script(script),
            CommandKind::If { clauses, otherwise } => {
                clauses.iter().all(|clause| self.clause(clause))
                    && otherwise.as_ref().is_none_or(|script| self.script(script))
            }
            CommandKind::Loop(clause) => self.clause(clause),
            CommandKind::Case { arms, .. } => arms.iter().all(|arm| self.script(&arm.body)),
            CommandKind::Function { body, .. } | CommandKind::Coproc(body) => self.command(body),
            CommandKind::Arithmetic(_) | CommandKind::Test(_) | CommandKind::Empty => true,
        };
        inside && command.redirects.iter().all(|redirect| self.redirect(redirect))
    }

    fn clause(&mut self, clause: &Clause) -> bool {
        self.script(&clause.condition) && self.script(&clause.body)
    }

    fn word(&mut self, word: &Word) -> bool {
        let ours = self.written(word);
        self.next_word().is_some_and(|theirs| alike(&ours, theirs))
    }

    fn assignment(&mut self, assignment: &Assignment) -> bool {
        let mut text = assignment.name.clone();
        if let Some(subscript) = &assignment.subscript {
            text.push('[');
            text.push_str(self.raw(subscript));
            text.push(']');
        }
        text.push_str(if assignment.append { "+=" } else { "=" });
        text.push_str(&self.written(&assignment.value));
        self.next_word().is_some_and(|theirs| alike(&text, theirs))
    }

    fn redirect(&mut self, redirect: &Redirect) -> bool {
        // What `|&` stands for is not in the text.
        let implied =
            redirect.target.span.is_empty() && redirect.kind == RedirectKind::DuplicateOut;
        let target = if implied { "1" } else { self.raw(&redirect.target) };
        let Some(theirs) = self.theirs.next() else { return false };
        let operator = match redirect.kind {
            RedirectKind::HereDocument => {
                return matches!(&theirs.kind, NodeKind::HereDoc { content, .. } if alike(target, content));
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
        let NodeKind::Redirect { op, target: its_target, fd, varfd } = &theirs.kind else {
            return false;
        };
        let NodeKind::Word { value: its_target, .. } = &its_target.kind else { return false };
        let its = if op == ">|" { ">" } else { op.as_str() };
        // The other parser does not say which descriptor is closed or moved.
        if let Some(moved) = target.strip_suffix('-')
            && operator.ends_with('-')
        {
            return its.ends_with('-') || alike(moved, its_target);
        }
        let descriptor = redirect.descriptor.as_deref().unwrap_or_default();
        let same = match varfd {
            Some(name) => {
                let inner = descriptor.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
                inner == Some(name)
            }
            None if *fd < 0 => descriptor.is_empty(),
            None => match u8::try_from(*fd) {
                Ok(digit @ 0..=9) => descriptor.as_bytes() == [b'0' + digit],
                _ => descriptor == fd.to_string(),
            },
        };
        same && operator == its && alike(target, its_target)
    }
}

/// Their tree.
fn flatten<'a>(node: &'a Node, items: &mut Leaves<'a>) {
    match &node.kind {
        NodeKind::Word { .. } | NodeKind::HereDoc { .. } => items.push(node),
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
        NodeKind::Redirect { target, .. } => {
            if matches!(target.kind, NodeKind::Word { .. }) {
                items.push(node);
            }
        }
        _ => {}
    }
}

fn flatten_all<'a>(nodes: &'a [Node], items: &mut Leaves<'a>) {
    for node in nodes {
        flatten(node, items);
    }
}
