//! Expressions that only scripts have.

use std::borrow::Cow;
use std::ops::Range;

use super::built_in::{self, BuiltIn};
use super::method::{self, Method};
use super::{Frame, Target, elements};
use crate::analysis::condition::compile::{Key, Node};
use crate::analysis::condition::eval::{Given, Outcome, eval as value_of, index, truth};
use crate::analysis::condition::{CondError, View};

/// An expression that no condition has.
#[derive(Debug, Clone)]
pub(in crate::analysis) enum ScriptNode {
    /// A value of the top level, by its place.
    Global(usize),
    Add(Node, Node),
    Subtract(Node, Node),
    /// `of[key]`, where the text does not tell the key.
    At(Node, Node),
    /// `of[from:to]`
    Slice(Node, Option<Node>, Option<Node>),
    /// `of.name`
    Field(Node, Box<str>),
    List(Vec<Node>),
    Each(Box<Each>),
    /// A text with values in it.
    Text(Vec<Piece>),
    /// `of.method(…)`
    Method(Method, Node, Vec<Node>),
    /// A function of the language.
    General(General, Vec<Node>),
    /// A function of the script, by its place.
    Own(usize, Vec<Node>),
    /// What scripts have beyond the language.
    BuiltIn(BuiltIn, Vec<Node>, Vec<(Box<str>, Node)>),
}

/// `[element for … in … if …]`
#[derive(Debug, Clone)]
pub(in crate::analysis) struct Each {
    /// Those of its variables.
    pub(super) places: Range<usize>,
    pub(super) element: Node,
    pub(super) clauses: Vec<Clause>,
}

#[derive(Debug, Clone)]
pub(in crate::analysis) enum Clause {
    For(Target, Node),
    If(Node),
}

/// A part of a text.
#[derive(Debug, Clone)]
pub(in crate::analysis) enum Piece {
    Text(Box<str>),
    Value(Node),
}

/// A function of the language.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum General {
    All,
    Any,
    Bool,
    List,
    Str,
}

impl General {
    pub(super) fn of(name: &str, arguments: usize) -> Option<Self> {
        Some(match (name, arguments) {
            ("all", 1) => Self::All,
            ("any", 1) => Self::Any,
            ("bool", 1) => Self::Bool,
            ("list", 1) => Self::List,
            ("str", 1) => Self::Str,
            _ => return None,
        })
    }
}

/// Evaluates it.
pub(in crate::analysis) fn eval<'a>(
    node: &'a ScriptNode,
    given: Given<'a, '_>,
) -> Outcome<View<'a>> {
    let frame = given.frame.ok_or(CondError::NotNative)?;
    let made = made_by(node, frame, given)?;
    if !matches!(node, ScriptNode::Global(_) | ScriptNode::At(..) | ScriptNode::Field(..)) {
        frame.run.made(&made)?;
    }
    Ok(made)
}

fn made_by<'a>(
    node: &'a ScriptNode,
    frame: &Frame<'a, '_>,
    given: Given<'a, '_>,
) -> Outcome<View<'a>> {
    let value = |node: &'a Node| value_of(node, given);
    let values = |nodes: &'a [Node]| nodes.iter().map(value).collect::<Outcome<Vec<_>>>();
    match node {
        ScriptNode::Global(place) => {
            let script = frame.run.script;
            script.globals.get(*place).map(|global| global.view()).ok_or(CondError::NotNative)
        }
        ScriptNode::Add(left, right) => {
            let left = value(left)?;
            add(left, value(right)?)
        }
        ScriptNode::Subtract(left, right) => match (value(left)?, value(right)?) {
            (View::Int(left), View::Int(right)) => {
                left.checked_sub(right).map(View::Int).ok_or(CondError::NotNative)
            }
            _ => Err(CondError::NotNative),
        },
        ScriptNode::At(of, key) => {
            let of = value(of)?;
            match value(key)? {
                View::Str(key) => index(of, &Key::Str(key.as_ref().into())),
                View::Int(key) => {
                    index(of, &Key::Int(i32::try_from(key).map_err(|_| CondError::NotNative)?))
                }
                _ => Err(CondError::NotNative),
            }
        }
        ScriptNode::Slice(of, from, to) => {
            let of = value(of)?;
            let bound = |node: &'a Option<Node>| match node {
                None => Ok(None),
                Some(node) => match value(node)? {
                    // What is larger raises.
                    View::Int(bound) if i32::try_from(bound).is_ok() => Ok(Some(bound)),
                    _ => Err(CondError::NotNative),
                },
            };
            let from = bound(from)?;
            slice(of, from, bound(to)?)
        }
        ScriptNode::Field(of, name) => match value(of)? {
            View::Record(fields) => {
                let field = fields.iter().find(|(field, _)| *field == &**name);
                field.map(|(_, value)| value.clone()).ok_or(CondError::NotNative)
            }
            _ => Err(CondError::NotNative),
        },
        ScriptNode::List(items) => Ok(View::list(values(items)?)),
        ScriptNode::Each(each) => {
            let mut made = Vec::new();
            frame.forget(each.places.clone());
            clauses(&each.clauses, &each.element, frame, given, &mut made)?;
            Ok(View::list(made))
        }
        ScriptNode::Text(pieces) => {
            let mut text = String::new();
            for piece in pieces {
                match piece {
                    Piece::Text(piece) => text.push_str(piece),
                    Piece::Value(node) => text.push_str(&written(value(node)?)?),
                }
            }
            Ok(View::text(text))
        }
        ScriptNode::Method(method, of, arguments) => {
            let of = value(of)?;
            method::call(*method, of, values(arguments)?)
        }
        ScriptNode::General(general, arguments) => {
            let mut arguments = values(arguments)?;
            let argument = arguments.pop().ok_or(CondError::NotNative)?;
            function(*general, argument)
        }
        ScriptNode::Own(place, arguments) => frame.call(*place, values(arguments)?, given),
        ScriptNode::BuiltIn(built_in, arguments, fields) => {
            let arguments = values(arguments)?;
            let field = |(name, node): &'a (Box<str>, Node)| Ok((&**name, value(node)?));
            let fields = fields.iter().map(field).collect::<Outcome<Vec<_>>>()?;
            built_in::call(*built_in, &arguments, &fields, &frame.run.notes)
        }
    }
}

/// `left + right`
pub(super) fn add<'a>(left: View<'a>, right: View<'a>) -> Outcome<View<'a>> {
    match (left, right) {
        (View::Str(left), View::Str(right)) => Ok(View::Str(left + right)),
        (View::Int(left), View::Int(right)) => {
            left.checked_add(right).map(View::Int).ok_or(CondError::NotNative)
        }
        (View::List(left), View::List(right)) => Ok(View::list(left.iter().chain(right.iter()))),
        _ => Err(CondError::NotNative),
    }
}

fn function(general: General, argument: View<'_>) -> Outcome<View<'_>> {
    Ok(match general {
        General::Bool => View::Bool(truth(&argument)?),
        General::Str => View::Str(written(argument)?),
        General::List => View::List(elements(argument)?),
        General::All | General::Any => {
            // One that settles it ends it.
            let settles = matches!(general, General::Any);
            for element in elements(argument)?.iter() {
                if truth(&element)? == settles {
                    return Ok(View::Bool(settles));
                }
            }
            View::Bool(!settles)
        }
    })
}

/// A value as `str` writes it, where that is plain.
pub(super) fn written(value: View<'_>) -> Outcome<Cow<'_, str>> {
    Ok(match value {
        View::Str(text) => text,
        View::None => "None".into(),
        View::Bool(true) => "True".into(),
        View::Bool(false) => "False".into(),
        View::Int(number) => number.to_string().into(),
        _ => return Err(CondError::NotNative),
    })
}

/// Runs the clauses of a comprehension from the first on.
fn clauses<'a>(
    rest: &'a [Clause],
    element: &'a Node,
    frame: &Frame<'a, '_>,
    given: Given<'a, '_>,
    made: &mut Vec<View<'a>>,
) -> Outcome<()> {
    match rest {
        [] => {
            made.push(value_of(element, given)?);
            Ok(())
        }
        [Clause::If(condition), rest @ ..] => {
            if truth(&value_of(condition, given)?)? {
                clauses(rest, element, frame, given, made)?;
            }
            Ok(())
        }
        [Clause::For(target, over), rest @ ..] => {
            for item in elements(value_of(over, given)?)?.iter() {
                frame.run.round()?;
                frame.set(target, item)?;
                clauses(rest, element, frame, given, made)?;
            }
            Ok(())
        }
    }
}

/// `of[from:to]`
fn slice(of: View<'_>, from: Option<i128>, to: Option<i128>) -> Outcome<View<'_>> {
    // Negative bounds count from the end, and what is beyond an end is that end.
    let range = |length: usize| {
        let whole = i128::try_from(length).unwrap_or(i128::MAX);
        let place = |bound: i128| {
            let place = if bound < 0 { whole.saturating_add(bound) } else { bound };
            usize::try_from(place.clamp(0, whole)).unwrap_or(length)
        };
        (from.map_or(0, place), to.map_or(length, place))
    };
    match of {
        View::List(items) => {
            let (from, to) = range(items.len());
            Ok(View::list((from..to).filter_map(|at| items.at(at))))
        }
        View::Str(text) => {
            let (from, to) = range(text.chars().count());
            let part: String = text.chars().skip(from).take(to.saturating_sub(from)).collect();
            Ok(View::text(part))
        }
        _ => Err(CondError::NotNative),
    }
}
