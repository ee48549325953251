//! From a syntax tree to the native form of a script, where it has one.

use std::cell::RefCell;

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignOp, AssignTargetP, AstArgument, AstAssignTarget, AstExpr, AstLiteral, AstStmt,
    BinOp, CallArgsP, ClauseP, DefP, ExprP, ForClauseP, ForP, ParameterP, StmtP,
};

use super::built_in::BuiltIn;
use super::expression::{Clause, Each, General, Piece, ScriptNode};
use super::method::Method;
use super::{Function, Native, Step, Target};
use crate::analysis::condition::compile::{Constant, Node, Within, constant, node as whole};
use crate::analysis::names::{Names as _, SCRIPT};
use crate::analysis::scope::NoPayload;

/// What means the same throughout. A script that gives one of them another meaning is left to the language.
const KEPT: &[&str] = &["allow", "block", "ask", "modify", "len", "type", "None", "True", "False"];

/// What `handle` is asked about.
const ASKED: &[&str] = &["event", "payload"];

/// The names at the top level of a script.
#[derive(Debug, Default)]
struct File<'s> {
    globals: Vec<(&'s str, Constant)>,
    functions: Vec<&'s DefP<NoPayload>>,
}

/// The names of the function that an expression stands in.
#[derive(Debug)]
pub(in crate::analysis) struct Scope<'s> {
    file: &'s File<'s>,
    /// Its variables, those of comprehensions among them. One that is out of reach has no name any more.
    names: RefCell<Vec<String>>,
    /// Whether it is `handle`.
    is_handle: bool,
}

impl Scope<'_> {
    pub(in crate::analysis) fn local(&self, name: &str) -> Option<usize> {
        self.names.borrow().iter().rposition(|local| *local == name)
    }

    /// Whether `payload` and `event` are what the hook is asked about.
    pub(in crate::analysis) const fn is_asked(&self) -> bool {
        self.is_handle
    }

    /// Whether a variable may have a name. It hides what is built in, except for what has a form of its own.
    fn is_free(&self, name: &str) -> bool {
        let is_asked_about = self.is_handle && ASKED.contains(&name);
        !KEPT.contains(&name) && !is_asked_about
    }

    fn target(&self, target: &AstAssignTarget) -> Option<Target> {
        match &target.node {
            AssignTargetP::Identifier(name) => self.local(&name.node.ident).map(Target::One),
            AssignTargetP::Tuple(targets) => {
                let targets = targets.iter().map(|target| self.target(target));
                targets.collect::<Option<_>>().map(Target::Each)
            }
            AssignTargetP::Index(_) | AssignTargetP::Dot(..) => None,
        }
    }

    fn value(&self, expression: &AstExpr) -> Option<Node> {
        whole(expression, Within::Script(self))
    }

    fn values(&self, expressions: &[&AstExpr]) -> Option<Vec<Node>> {
        expressions.iter().map(|expression| self.value(expression)).collect()
    }
}

impl Native {
    /// The native form of a script that is values and functions, all of which have one.
    pub(in crate::analysis) fn of(ast: &AstModule) -> Option<Self> {
        let mut file = File::default();
        for statement in flat(ast.statement()) {
            match &statement.node {
                StmtP::Expression(expression) if is_text(expression) => {}
                StmtP::Assign(assign) if assign.ty.is_none() => {
                    let AssignTargetP::Identifier(name) = &assign.lhs.node else { return None };
                    let value = known(&assign.rhs, &file.globals)?;
                    file.globals.push((&name.node.ident, value));
                }
                StmtP::Def(def) => file.functions.push(def),
                _ => return None,
            }
        }
        let functions = file.functions.iter().map(|def| def.name.node.ident.as_str());
        let names: Vec<&str> =
            file.globals.iter().map(|global| global.0).chain(functions).collect();
        let twice =
            |place: usize| names.iter().skip(place + 1).any(|name| Some(name) == names.get(place));
        let is_taken = |name: &&str| SCRIPT.find(name).is_some() || ASKED.contains(name);
        if names.iter().any(is_taken) || (0..names.len()).any(twice) {
            return None;
        }
        let handle = file.functions.iter().position(|def| def.name.node.ident == "handle")?;
        let function =
            |(place, def): (usize, &&DefP<NoPayload>)| function(def, place == handle, &file);
        let functions = file.functions.iter().enumerate().map(function).collect::<Option<_>>()?;
        let globals = file.globals.into_iter().map(|(_, value)| value).collect();
        Some(Self { globals, functions, handle })
    }
}

/// A value of the top level, which may be made of those above it.
fn known(expression: &AstExpr, above: &[(&str, Constant)]) -> Option<Constant> {
    match &expression.node {
        ExprP::Op(left, BinOp::Add, right) => known(left, above)?.plus(known(right, above)?),
        ExprP::Identifier(name) => {
            match above.iter().find(|(other, _)| *other == name.node.ident) {
                Some((_, value)) => Some(value.clone()),
                None => constant(expression),
            }
        }
        _ => constant(expression),
    }
}

fn function(def: &DefP<NoPayload>, is_handle: bool, file: &File<'_>) -> Option<Function> {
    let mut names = Vec::new();
    for parameter in &def.params {
        let ParameterP::Normal(name, None, None) = &parameter.node else { return None };
        names.push(name.node.ident.as_str());
    }
    if def.return_type.is_some() || is_handle && names != ASKED {
        return None;
    }
    let parameters = names.len();
    if is_handle {
        // Those are not variables, but what it is asked about.
        names = vec![""; parameters];
    }
    assigned(&def.body, &mut names)?;
    let scope = Scope { file, names: RefCell::new(Vec::new()), is_handle };
    if names.iter().any(|name| !scope.is_free(name)) {
        return None;
    }
    scope.names.replace(names.into_iter().map(ToOwned::to_owned).collect());
    let body = steps(&def.body, &scope)?;
    let locals = scope.names.borrow().len();
    Some(Function { parameters, locals, body })
}

/// Statements, one after the other.
fn flat(statement: &AstStmt) -> Vec<&AstStmt> {
    match &statement.node {
        StmtP::Statements(all) => all.iter().flat_map(flat).collect(),
        StmtP::Pass => Vec::new(),
        _ => vec![statement],
    }
}

/// The names that are assigned to: they are variables throughout.
fn assigned<'s>(statement: &'s AstStmt, names: &mut Vec<&'s str>) -> Option<()> {
    match &statement.node {
        StmtP::Assign(assign) => bound(&assign.lhs, names),
        StmtP::AssignModify(target, _, _) => bound(target, names),
        StmtP::For(ForP { var, body, .. }) => {
            bound(var, names)?;
            assigned(body, names)
        }
        StmtP::Statements(all) => all.iter().try_for_each(|statement| assigned(statement, names)),
        StmtP::If(_, then) => assigned(then, names),
        StmtP::IfElse(_, both) => {
            assigned(&both.0, names)?;
            assigned(&both.1, names)
        }
        StmtP::Return(_) | StmtP::Expression(_) | StmtP::Pass | StmtP::Break | StmtP::Continue => {
            Some(())
        }
        StmtP::Def(_) | StmtP::Load(_) => None,
    }
}

fn bound<'s>(target: &'s AstAssignTarget, names: &mut Vec<&'s str>) -> Option<()> {
    match &target.node {
        AssignTargetP::Identifier(name) => {
            if !names.contains(&name.node.ident.as_str()) {
                names.push(&name.node.ident);
            }
            Some(())
        }
        AssignTargetP::Tuple(targets) => targets.iter().try_for_each(|it| bound(it, names)),
        AssignTargetP::Index(_) | AssignTargetP::Dot(..) => None,
    }
}

fn is_text(expression: &AstExpr) -> bool {
    matches!(expression.node, ExprP::Literal(AstLiteral::String(_)))
}

fn steps(statement: &AstStmt, scope: &Scope<'_>) -> Option<Vec<Step>> {
    // A text is what documents a function.
    let statements = flat(statement)
        .into_iter()
        .filter(|statement| !matches!(&statement.node, StmtP::Expression(value) if is_text(value)));
    statements.map(|statement| step(statement, scope)).collect()
}

fn step(statement: &AstStmt, scope: &Scope<'_>) -> Option<Step> {
    Some(match &statement.node {
        StmtP::Assign(assign) if assign.ty.is_none() => {
            Step::Set(scope.target(&assign.lhs)?, scope.value(&assign.rhs)?)
        }
        StmtP::AssignModify(target, AssignOp::Add, value) => match scope.target(target)? {
            Target::One(place) => Step::Add(place, scope.value(value)?),
            Target::Each(_) => return None,
        },
        StmtP::If(condition, then) => {
            Step::If(scope.value(condition)?, steps(then, scope)?, Vec::new())
        }
        StmtP::IfElse(condition, both) => {
            Step::If(scope.value(condition)?, steps(&both.0, scope)?, steps(&both.1, scope)?)
        }
        StmtP::For(ForP { var, over, body }) => {
            Step::For(scope.target(var)?, scope.value(over)?, steps(body, scope)?)
        }
        StmtP::Expression(value) => Step::Do(scope.value(value)?),
        StmtP::Break => Step::Break,
        StmtP::Continue => Step::Continue,
        StmtP::Return(Some(decision)) if scope.is_handle => ending(decision, scope)?,
        StmtP::Return(value) if !scope.is_handle => Step::Return(match value {
            Some(value) => Some(scope.value(value)?),
            None => None,
        }),
        _ => return None,
    })
}

/// `allow()`, `block(reason)`, `ask(reason)`, `modify({…})`, or one of them by a condition.
fn ending(decision: &AstExpr, scope: &Scope<'_>) -> Option<Step> {
    match &decision.node {
        ExprP::If(parts) => {
            let (condition, then, otherwise) = &**parts;
            let then = vec![ending(then, scope)?];
            Some(Step::If(scope.value(condition)?, then, vec![ending(otherwise, scope)?]))
        }
        ExprP::Call(function, CallArgsP { args }) => {
            let ExprP::Identifier(name) = &function.node else { return None };
            match (name.node.ident.as_str(), by_place(args)?.as_slice()) {
                ("allow", []) => Some(Step::Allow),
                ("block", [reason]) => scope.value(reason).map(Step::Block),
                ("ask", [reason]) => scope.value(reason).map(Step::Ask),
                ("modify", [patch]) => {
                    let ExprP::Dict(fields) = &patch.node else { return None };
                    let mut all: Vec<(Box<str>, Node)> = Vec::with_capacity(fields.len());
                    for (name, value) in fields {
                        let Constant::Str(name) = constant(name)? else { return None };
                        // That raises.
                        if all.iter().any(|(other, _)| *other == name) {
                            return None;
                        }
                        all.push((name, scope.value(value)?));
                    }
                    Some(Step::Modify(all))
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// The arguments of a call, where all are given by their places.
fn by_place(arguments: &[AstArgument]) -> Option<Vec<&AstExpr>> {
    arguments
        .iter()
        .map(|argument| match &argument.node {
            ArgumentP::Positional(value) => Some(value),
            _ => None,
        })
        .collect()
}

/// The native form of an expression that only scripts have.
pub(in crate::analysis) fn node(expression: &AstExpr, scope: &Scope<'_>) -> Option<Node> {
    let value = |part: &AstExpr| scope.value(part);
    let optional = |part: &Option<Box<AstExpr>>| match part {
        None => Some(None),
        Some(part) => scope.value(part).map(Some),
    };
    let node = match &expression.node {
        ExprP::Identifier(name) => {
            let global = |(other, _): &(&str, Constant)| *other == name.node.ident;
            ScriptNode::Global(scope.file.globals.iter().position(global)?)
        }
        ExprP::Op(left, BinOp::Add, right) => ScriptNode::Add(value(left)?, value(right)?),
        ExprP::Op(left, BinOp::Subtract, right) => {
            ScriptNode::Subtract(value(left)?, value(right)?)
        }
        ExprP::Index(parts) => ScriptNode::At(value(&parts.0)?, value(&parts.1)?),
        ExprP::Slice(of, from, to, None) => {
            ScriptNode::Slice(value(of)?, optional(from)?, optional(to)?)
        }
        ExprP::Dot(of, name) => ScriptNode::Field(value(of)?, name.node.as_str().into()),
        ExprP::List(items) => ScriptNode::List(items.iter().map(value).collect::<Option<_>>()?),
        ExprP::ListComprehension(element, first, rest) => {
            ScriptNode::Each(Box::new(comprehension(element, first, rest, scope)?))
        }
        ExprP::FString(text) => {
            let parts = text.node.expressions.iter().map(value).collect::<Option<Vec<_>>>()?;
            ScriptNode::Text(pieces(&text.node.format.node, parts)?)
        }
        ExprP::Call(function, CallArgsP { args }) => call(function, args, scope)?,
        _ => return None,
    };
    Some(Node::Script(Box::new(node)))
}

/// A text with a value for each `{}`, where it has no other brackets.
fn pieces(format: &str, values: Vec<Node>) -> Option<Vec<Piece>> {
    let texts: Vec<&str> = format.split("{}").collect();
    if texts.len() != values.len() + 1 || texts.iter().any(|text| text.contains(['{', '}'])) {
        return None;
    }
    let mut pieces = Vec::with_capacity(texts.len() + values.len());
    let mut values = values.into_iter();
    for text in texts {
        pieces.push(Piece::Text(text.into()));
        pieces.extend(values.next().map(Piece::Value));
    }
    Some(pieces)
}

fn comprehension(
    element: &AstExpr,
    first: &ForClauseP<NoPayload>,
    rest: &[ClauseP<NoPayload>],
    scope: &Scope<'_>,
) -> Option<Each> {
    // What the first goes over is outside. All else sees the variables of all.
    let over = scope.value(&first.over)?;
    let mut names = Vec::new();
    bound(&first.var, &mut names)?;
    for clause in rest {
        if let ClauseP::For(clause) = clause {
            bound(&clause.var, &mut names)?;
        }
    }
    if names.iter().any(|name| !scope.is_free(name)) {
        return None;
    }
    let before = scope.names.borrow().len();
    scope.names.borrow_mut().extend(names.into_iter().map(ToOwned::to_owned));
    let after = scope.names.borrow().len();
    let mut clauses = vec![Clause::For(scope.target(&first.var)?, over)];
    for clause in rest {
        clauses.push(match clause {
            ClauseP::For(clause) => {
                Clause::For(scope.target(&clause.var)?, scope.value(&clause.over)?)
            }
            ClauseP::If(condition) => Clause::If(scope.value(condition)?),
        });
    }
    let element = scope.value(element)?;
    for name in scope.names.borrow_mut().iter_mut().take(after).skip(before) {
        name.clear();
    }
    Some(Each { places: before..after, element, clauses })
}

fn call(function: &AstExpr, arguments: &[AstArgument], scope: &Scope<'_>) -> Option<ScriptNode> {
    match &function.node {
        ExprP::Identifier(name) => {
            let name = name.node.ident.as_str();
            if scope.local(name).is_some() {
                return None;
            }
            let own = scope.file.functions.iter().position(|def| def.name.node.ident == name);
            if let Some(place) = own {
                return Some(ScriptNode::Own(place, scope.values(&by_place(arguments)?)?));
            }
            if let Some(built_in) = BuiltIn::of("", name) {
                return acting(built_in, arguments, scope);
            }
            let arguments = scope.values(&by_place(arguments)?)?;
            Some(ScriptNode::General(General::of(name, arguments.len())?, arguments))
        }
        ExprP::Dot(of, name) => {
            let name = name.node.as_str();
            if let ExprP::Identifier(namespace) = &of.node
                && SCRIPT.find(&namespace.node.ident).is_some()
                && scope.local(&namespace.node.ident).is_none()
            {
                return acting(BuiltIn::of(&namespace.node.ident, name)?, arguments, scope);
            }
            let values = by_place(arguments)?;
            if let (ExprP::Literal(AstLiteral::String(format)), "format") = (&of.node, name) {
                return pieces(&format.node, scope.values(&values)?).map(ScriptNode::Text);
            }
            let method = Method::of(name, values.len())?;
            Some(ScriptNode::Method(method, scope.value(of)?, scope.values(&values)?))
        }
        _ => None,
    }
}

/// A call of what scripts have beyond the language.
fn acting(built_in: BuiltIn, arguments: &[AstArgument], scope: &Scope<'_>) -> Option<ScriptNode> {
    let (mut values, mut fields): (Vec<Node>, Vec<(Box<str>, Node)>) = (Vec::new(), Vec::new());
    for argument in arguments {
        match &argument.node {
            ArgumentP::Positional(value) if fields.is_empty() => values.push(scope.value(value)?),
            ArgumentP::Named(name, value) => {
                let name = name.node.as_str();
                if fields.iter().any(|(other, _)| &**other == name) {
                    return None;
                }
                fields.push((name.into(), scope.value(value)?));
            }
            _ => return None,
        }
    }
    let fits = built_in.takes(values.len(), fields.len());
    fits.then_some(ScriptNode::BuiltIn(built_in, values, fields))
}
