//! From a syntax tree to the native form, where there is one.

use starlark_syntax::lexer::TokenInt;
use starlark_syntax::syntax::ast::{ArgumentP, AstArgument, AstExpr, AstLiteral, BinOp, ExprP};

use super::view::{Elements, Items, Payload, View};
use crate::analysis::native::{self, Scope, ScriptNode};
use std::collections::BTreeMap;

/// An expression.
#[derive(Debug, Clone)]
pub(in crate::analysis) enum Node {
    Constant(Constant),
    Payload,
    Event,
    /// A variable of a script, by its place among them.
    Local(usize),
    /// What only scripts have.
    Script(Box<ScriptNode>),
    /// `of[key]`
    Index(Box<Node>, Key),
    /// `of.get(key)`, `of.get(key, default)`
    Get(Box<Node>, Box<str>, Option<Box<Node>>),
    In {
        item: Box<Node>,
        of: Box<Node>,
        not: bool,
    },
    Equal {
        left: Box<Node>,
        right: Box<Node>,
        not: bool,
    },
    Compare(Box<Node>, Order, Box<Node>),
    And(Box<Node>, Box<Node>),
    Or(Box<Node>, Box<Node>),
    Not(Box<Node>),
    If(Box<[Node; 3]>),
    /// `of.startswith(…)`, `of.endswith(…)`
    Affix {
        of: Box<Node>,
        any_of: Vec<Box<str>>,
        end: bool,
    },
    Text(Box<Node>, TextOp),
    Len(Box<Node>),
    Type(Box<Node>),
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::analysis) enum Constant {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Str(Box<str>),
    List(Constants),
    Tuple(Constants),
    Dict(Entries),
}

#[derive(Debug, Clone, PartialEq)]
pub(in crate::analysis) struct Constants(Vec<Constant>);

/// A dict whose keys are texts, in the order of the text.
#[derive(Debug, Clone, PartialEq, Default)]
pub(in crate::analysis) struct Entries {
    all: Vec<(Box<str>, Constant)>,
    /// Where the entry of a key is.
    places: BTreeMap<Box<str>, usize>,
}

#[derive(Debug, Clone)]
pub(in crate::analysis) enum Key {
    Str(Box<str>),
    Int(i32),
}

#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum Order {
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum TextOp {
    Lower,
    Upper,
    Strip,
    StripStart,
    StripEnd,
}

impl Constants {
    pub(super) fn new(items: Vec<Constant>) -> Self {
        Self(items)
    }
}

impl Node {
    pub(super) fn looks_only_at(&self, known: &dyn Fn(&str) -> bool) -> bool {
        let all = |parts: &[&Node]| parts.iter().all(|part| part.looks_only_at(known));
        match self {
            Node::Constant(constant) => constant.is_flat(2),
            // Only the run of a script knows what is in a variable.
            Node::Payload | Node::Local(_) | Node::Script(_) => false,
            Node::Event => true,
            Node::Index(of, key) => match (of.as_ref(), key) {
                (Node::Payload, Key::Str(key)) => known(key),
                (of, _) => all(&[of]),
            },
            Node::Get(of, key, default) => {
                let is_known = match of.as_ref() {
                    Node::Payload => known(key),
                    of => all(&[of]),
                };
                is_known && default.as_ref().is_none_or(|default| all(&[default]))
            }
            Node::In { item, of, .. } => match (item.as_ref(), of.as_ref()) {
                (Node::Constant(Constant::Str(key)), Node::Payload) => known(key),
                (item, of) => all(&[item, of]),
            },
            Node::Equal { left, right, .. }
            | Node::Compare(left, _, right)
            | Node::And(left, right)
            | Node::Or(left, right) => all(&[left, right]),
            Node::If(parts) => parts.iter().all(|part| part.looks_only_at(known)),
            Node::Not(of)
            | Node::Affix { of, .. }
            | Node::Text(of, _)
            | Node::Len(of)
            | Node::Type(of) => all(&[of]),
        }
    }
}

impl Constant {
    /// Whether it is nested at most so deep: what is deeper may be the language's to compare.
    fn is_flat(&self, depth: u32) -> bool {
        match self {
            Constant::List(Constants(items)) | Constant::Tuple(Constants(items)) => {
                depth > 0 && items.iter().all(|item| item.is_flat(depth - 1))
            }
            Constant::Dict(Entries { all, .. }) => {
                depth > 0 && all.iter().all(|(_, value)| value.is_flat(depth - 1))
            }
            _ => true,
        }
    }

    /// `self + other`, of texts and of lists.
    pub(in crate::analysis) fn plus(self, other: Self) -> Option<Self> {
        match (self, other) {
            (Self::Str(left), Self::Str(right)) => {
                Some(Self::Str((left.into_string() + &right).into()))
            }
            (Self::List(Constants(mut left)), Self::List(Constants(right))) => {
                left.extend(right);
                Some(Self::List(Constants(left)))
            }
            _ => None,
        }
    }

    pub(in crate::analysis) fn view(&self) -> View<'_> {
        match self {
            Constant::None => View::None,
            Constant::Bool(it) => View::Bool(*it),
            Constant::Int(it) => View::Int(*it),
            Constant::Float(it) => View::Float(*it),
            Constant::Str(it) => View::Str(it.as_ref().into()),
            Constant::List(items) => View::List(Elements::Of(items)),
            Constant::Tuple(items) => View::Tuple(Elements::Of(items)),
            Constant::Dict(entries) => View::Dict(entries),
        }
    }
}

impl Items for Constants {
    fn at(&self, index: usize) -> Option<View<'_>> {
        self.0.get(index).map(Constant::view)
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

impl Entries {
    /// Of these, where no key stands twice: that raises.
    fn new(all: Vec<(Box<str>, Constant)>) -> Option<Self> {
        let places: BTreeMap<_, _> =
            all.iter().enumerate().map(|(place, (key, _))| (key.clone(), place)).collect();
        (places.len() == all.len()).then_some(Self { all, places })
    }
}

impl Payload for Entries {
    fn get(&self, key: &str) -> Option<View<'_>> {
        let (_, value) = self.all.get(*self.places.get(key)?)?;
        Some(value.view())
    }

    fn len(&self) -> usize {
        self.all.len()
    }

    fn each<'a>(&'a self, visit: &mut dyn FnMut(&'a str, View<'a>) -> bool) {
        for (key, value) in &self.all {
            if !visit(key, value.view()) {
                return;
            }
        }
    }
}

/// Where an expression stands.
#[derive(Debug, Clone, Copy)]
pub(in crate::analysis) enum Within<'a> {
    /// It is a condition.
    Condition,
    /// It is a part of a script, in a function with these names.
    Script(&'a Scope<'a>),
}

impl Within<'_> {
    fn local(self, name: &str) -> Option<usize> {
        match self {
            Self::Condition => None,
            Self::Script(scope) => scope.local(name),
        }
    }

    /// Whether `payload` and `event` are what the hook is asked about.
    fn is_asked(self) -> bool {
        match self {
            Self::Condition => true,
            Self::Script(scope) => scope.is_asked(),
        }
    }

    /// What is no part of conditions.
    fn script(self, expression: &AstExpr) -> Option<Node> {
        match self {
            Self::Condition => None,
            Self::Script(scope) => native::node(expression, scope),
        }
    }
}

/// The native form of an expression. It is as deep as the expression, which [`super::super::parse`] has bounded.
pub(in crate::analysis) fn node(expression: &AstExpr, within: Within<'_>) -> Option<Node> {
    let node = |part: &AstExpr| node(part, within);
    let boxed = |part: &AstExpr| node(part).map(Box::new);
    if let Some(constant) = constant(expression) {
        return Some(Node::Constant(constant));
    }
    Some(match &expression.node {
        ExprP::Identifier(name) => match (within.local(&name.node.ident), &*name.node.ident) {
            (Some(place), _) => Node::Local(place),
            (None, "payload") if within.is_asked() => Node::Payload,
            (None, "event") if within.is_asked() => Node::Event,
            _ => within.script(expression)?,
        },
        ExprP::Index(parts) => {
            let key = match constant(&parts.1) {
                Some(Constant::Str(key)) => Key::Str(key),
                Some(Constant::Int(index)) => Key::Int(i32::try_from(index).ok()?),
                _ => return within.script(expression),
            };
            Node::Index(boxed(&parts.0)?, key)
        }
        ExprP::Not(of) => Node::Not(boxed(of)?),
        ExprP::If(parts) => Node::If(Box::new([node(&parts.0)?, node(&parts.1)?, node(&parts.2)?])),
        ExprP::Op(_, BinOp::Add | BinOp::Subtract, _) => within.script(expression)?,
        ExprP::Op(left, op, right) => {
            let (left, right) = (boxed(left)?, boxed(right)?);
            match op {
                BinOp::And => Node::And(left, right),
                BinOp::Or => Node::Or(left, right),
                BinOp::Equal => Node::Equal { left, right, not: false },
                BinOp::NotEqual => Node::Equal { left, right, not: true },
                BinOp::In => Node::In { item: left, of: right, not: false },
                BinOp::NotIn => Node::In { item: left, of: right, not: true },
                BinOp::Less => Node::Compare(left, Order::Less, right),
                BinOp::LessOrEqual => Node::Compare(left, Order::LessOrEqual, right),
                BinOp::Greater => Node::Compare(left, Order::Greater, right),
                BinOp::GreaterOrEqual => Node::Compare(left, Order::GreaterOrEqual, right),
                _ => return None,
            }
        }
        ExprP::Call(function, arguments) => match call(function, &arguments.args, within) {
            Some(call) => call.ok()?,
            None => within.script(expression)?,
        },
        _ => within.script(expression)?,
    })
}

/// What is in it has no native form.
struct NoForm;

/// A call that conditions have, if it is one of these: its native form, where it has one. What is in it is looked at once
/// it is known to be one, so that nothing is looked at twice.
fn call(
    function: &AstExpr,
    arguments: &[AstArgument],
    within: Within<'_>,
) -> Option<Result<Node, NoForm>> {
    let boxed = |part: &AstExpr| node(part, within).map(Box::new);
    let arguments = arguments
        .iter()
        .map(|argument| match &argument.node {
            ArgumentP::Positional(value) => Some(value),
            _ => None,
        })
        .collect::<Option<Vec<_>>>()?;
    let (of, method) = match (&function.node, arguments.as_slice()) {
        (ExprP::Identifier(name), [of]) => {
            return match name.node.ident.as_str() {
                "len" => Some(boxed(of).map(Node::Len).ok_or(NoForm)),
                "type" => Some(boxed(of).map(Node::Type).ok_or(NoForm)),
                _ => None,
            };
        }
        (ExprP::Dot(of, method), _) => (of, method.node.as_str()),
        _ => return None,
    };
    let text = |op: TextOp| Some(boxed(of).map(|of| Node::Text(of, op)).ok_or(NoForm));
    match (method, arguments.as_slice()) {
        ("get", [key, default @ ..]) => {
            let Constant::Str(key) = constant(key)? else { return None };
            let default = match default {
                [] => None,
                [default] => Some(default),
                _ => return None,
            };
            let get = || {
                let default = match default {
                    None => None,
                    Some(default) => Some(boxed(default)?),
                };
                Some(Node::Get(boxed(of)?, key, default))
            };
            Some(get().ok_or(NoForm))
        }
        ("startswith" | "endswith", [affix]) => {
            let any_of = match constant(affix)? {
                Constant::Str(affix) => vec![affix],
                Constant::Tuple(Constants(affixes)) => affixes
                    .into_iter()
                    .map(|affix| match affix {
                        Constant::Str(affix) => Some(affix),
                        _ => None,
                    })
                    .collect::<Option<Vec<_>>>()?,
                _ => return None,
            };
            let end = method == "endswith";
            Some(boxed(of).map(|of| Node::Affix { of, any_of, end }).ok_or(NoForm))
        }
        ("lower", []) => text(TextOp::Lower),
        ("upper", []) => text(TextOp::Upper),
        ("strip", []) => text(TextOp::Strip),
        ("lstrip", []) => text(TextOp::StripStart),
        ("rstrip", []) => text(TextOp::StripEnd),
        _ => None,
    }
}

/// A value that the text has in full.
pub(in crate::analysis) fn constant(expression: &AstExpr) -> Option<Constant> {
    let all =
        |items: &[AstExpr]| items.iter().map(constant).collect::<Option<Vec<_>>>().map(Constants);
    Some(match &expression.node {
        ExprP::Literal(AstLiteral::String(text)) => Constant::Str(text.node.as_str().into()),
        ExprP::Literal(AstLiteral::Int(number)) => match &number.node {
            TokenInt::I32(number) => Constant::Int((*number).into()),
            TokenInt::BigInt(number) if number.bits() < 64 => {
                Constant::Int(number.to_string().parse().ok()?)
            }
            TokenInt::BigInt(_) => return None,
        },
        ExprP::Literal(AstLiteral::Float(number)) => Constant::Float(number.node),
        ExprP::Minus(of) => match constant(of)? {
            Constant::Int(number) => Constant::Int(-number),
            Constant::Float(number) => Constant::Float(-number),
            _ => return None,
        },
        ExprP::Identifier(name) => match name.node.ident.as_str() {
            "None" => Constant::None,
            "True" => Constant::Bool(true),
            "False" => Constant::Bool(false),
            _ => return None,
        },
        ExprP::List(items) => Constant::List(all(items)?),
        ExprP::Tuple(items) => Constant::Tuple(all(items)?),
        ExprP::Dict(entries) => {
            let entry = |(key, value): &(AstExpr, AstExpr)| match constant(key)? {
                Constant::Str(key) => Some((key, constant(value)?)),
                _ => None,
            };
            Constant::Dict(Entries::new(entries.iter().map(entry).collect::<Option<_>>()?)?)
        }
        _ => return None,
    })
}
