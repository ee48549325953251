//! The rules for statements.

use starlark_syntax::codemap::Span;
use starlark_syntax::syntax::ast::{
    AssignOp, AssignTargetP, AstAssignTarget, AstExpr, AstLiteral, AstStmt, BinOp, ExprP,
    ParameterP, StmtP,
};

use super::{ENTRY, NUMBER, Outcome, Walk, refuse};
use crate::analysis::bounded::value::{Amount, Kind, Val};

impl<'a> Walk<'a> {
    pub(super) fn statement(&mut self, statement: &'a AstStmt) -> Outcome<()> {
        match &statement.node {
            StmtP::Break | StmtP::Continue | StmtP::Pass | StmtP::Return(None) => Ok(()),
            StmtP::Return(Some(value)) => {
                let val = self.at_the_end(value)?;
                let function = self.inside;
                let returned = self.returned.entry(function).or_insert(Val::NOTHING);
                *returned = returned.or(val.settled());
                Ok(())
            }
            StmtP::Expression(value) => {
                if self.is_fail(value) {
                    self.at_the_end(value)?
                } else {
                    self.expression(value)?
                };
                Ok(())
            }
            StmtP::Assign(assign) => self.assign(&assign.lhs, &assign.rhs),
            StmtP::AssignModify(target, AssignOp::Add, value) => {
                let AssignTargetP::Identifier(name) = &target.node else {
                    return refuse(statement.span, "it changes a part of something");
                };
                self.grow(&name.node.ident, value, statement.span)
            }
            StmtP::AssignModify(target, op, value) => {
                let AssignTargetP::Identifier(name) = &target.node else {
                    return refuse(statement.span, "it changes a part of something");
                };
                let name = name.node.ident.as_str();
                let val = self.expression(value)?;
                let held = self.read(name).unwrap_or(Val::NOTHING);
                match (op, held.is_number(), val.kind) {
                    (AssignOp::Subtract, true, Kind::Small { .. }) => {
                        self.charge_beside(Amount::flat(NUMBER), statement.span);
                        self.bind(self.inside, name, Val::count(), true);
                        Ok(())
                    }
                    _ => refuse(statement.span, "it computes with what could be large numbers"),
                }
            }
            StmtP::Statements(statements) => {
                statements.iter().try_for_each(|statement| self.statement(statement))
            }
            StmtP::If(condition, then) => {
                self.expression(condition)?;
                self.statement(then)
            }
            StmtP::IfElse(condition, branches) => {
                self.expression(condition)?;
                self.statement(&branches.0)?;
                self.statement(&branches.1)
            }
            StmtP::For(each) => {
                let over = self.expression(&each.over)?;
                self.over(&each.var, over, |walk| walk.statement(&each.body))
            }
            StmtP::Def(def) => {
                if !self.inside.is_empty() {
                    return refuse(def.name.span, "it has a function inside a function");
                }
                let name = def.name.node.ident.as_str();
                for parameter in &def.params {
                    if let ParameterP::Normal(parameter, _, Some(default)) = &parameter.node {
                        let val = self.expression(default)?;
                        self.bind(name, &parameter.node.ident, val, false);
                    }
                }
                Ok(())
            }
            StmtP::Load(_) => refuse(statement.span, "it loads a file"),
        }
    }

    /// An expression that ends the call, and so runs once for each, but perhaps with the largest of all elements.
    fn at_the_end(&mut self, value: &'a AstExpr) -> Outcome<Val> {
        let times = std::mem::replace(&mut self.times, self.called);
        let settled = self.sweeps.iter().map(|(name, val)| (*name, val.settled())).collect();
        let sweeps = std::mem::replace(&mut self.sweeps, settled);
        let val = self.expression(value)?;
        self.times = times;
        self.sweeps = sweeps;
        Ok(val)
    }

    fn is_fail(&self, expression: &'a AstExpr) -> bool {
        match &expression.node {
            ExprP::Call(function, _) => match &function.node {
                ExprP::Identifier(name) => {
                    name.node.ident == "fail"
                        && self.key("fail").is_none()
                        && !self.is_function("fail")
                }
                _ => false,
            },
            _ => false,
        }
    }

    fn assign(&mut self, target: &'a AstAssignTarget, value: &'a AstExpr) -> Outcome<()> {
        match &target.node {
            AssignTargetP::Identifier(name) => {
                let name = name.node.ident.as_str();
                // `x = x + …` is `x += …`, as far as sizes go.
                let mut added = Vec::new();
                let mut left = value;
                while let ExprP::Op(first, BinOp::Add, rest) = &left.node {
                    added.push(rest.as_ref());
                    left = first;
                }
                if let (ExprP::Identifier(first), false) = (&left.node, added.is_empty())
                    && first.node.ident == name
                {
                    for part in added.into_iter().rev() {
                        self.grow(name, part, value.span)?;
                    }
                    return Ok(());
                }
                let val = self.expression(value)?;
                self.bind(self.inside, name, val, is_new(value));
                Ok(())
            }
            AssignTargetP::Tuple(targets) => {
                let val = self.expression(value)?.any_element();
                targets.iter().try_for_each(|target| self.assign_part(target, val))
            }
            AssignTargetP::Index(parts) => {
                let key = self.expression(&parts.1)?;
                let val = self.expression(value)?;
                self.charge(Amount::flat(0), key.size, target.span);
                self.charge_beside(Amount::flat(ENTRY), target.span);
                self.add(&parts.0, key.or(val).in_a_list(1).with(key), target.span)
            }
            AssignTargetP::Dot(..) => refuse(target.span, "it assigns to an attribute"),
        }
    }

    fn assign_part(&mut self, target: &'a AstAssignTarget, val: Val) -> Outcome<()> {
        match &target.node {
            AssignTargetP::Identifier(name) => {
                self.bind(self.inside, &name.node.ident, val, false);
                Ok(())
            }
            AssignTargetP::Tuple(targets) => {
                targets.iter().try_for_each(|target| self.assign_part(target, val))
            }
            _ => refuse(target.span, "it changes a part of something"),
        }
    }

    /// `name += value`
    fn grow(&mut self, name: &'a str, value: &'a AstExpr, place: Span) -> Outcome<()> {
        let val = self.expression(value)?;
        let held = self.read(name).unwrap_or(Val::NOTHING);
        if held.is_number() && val.is_number() {
            return match val.kind {
                Kind::Small { .. } => {
                    self.charge_beside(Amount::flat(NUMBER), place);
                    self.bind(self.inside, name, Val::count(), true);
                    Ok(())
                }
                _ => refuse(place, "it computes with what could be large numbers"),
            };
        }
        let whole = held.with(val);
        self.charge(whole.size.plus(whole.count_of_items().times(8)).and(32), whole.size, place);
        if !is_text_or_list(value) {
            self.charge_beside(whole.size, place);
        }
        self.put(self.inside, name, val, place);
        Ok(())
    }
}

/// Whether a value is certainly a text or a list, so that what it is added to is one, or raises.
pub(in crate::analysis::bounded) fn is_text_or_list(expression: &AstExpr) -> bool {
    match &expression.node {
        ExprP::Literal(literal) => matches!(literal, AstLiteral::String(_)),
        ExprP::FString(_) | ExprP::List(_) | ExprP::Tuple(_) | ExprP::ListComprehension(..) => true,
        ExprP::Op(left, BinOp::Add, right) => is_text_or_list(left) || is_text_or_list(right),
        ExprP::Op(left, BinOp::Percent, _) => is_text_or_list(left),
        ExprP::Call(function, _) => match &function.node {
            ExprP::Dot(_, method) => TEXT_METHODS.contains(&method.node.as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// Methods that only texts have, and that give a text or a list.
const TEXT_METHODS: &[&str] = &[
    "capitalize",
    "format",
    "join",
    "lower",
    "lstrip",
    "replace",
    "rstrip",
    "split",
    "strip",
    "title",
    "upper",
];

/// Whether an expression makes something new, or something that cannot be changed.
fn is_new(expression: &AstExpr) -> bool {
    match &expression.node {
        ExprP::List(_)
        | ExprP::Dict(_)
        | ExprP::Tuple(_)
        | ExprP::Literal(_)
        | ExprP::FString(_)
        | ExprP::ListComprehension(..)
        | ExprP::DictComprehension(..) => true,
        ExprP::Op(_, op, _) => !matches!(op, BinOp::And | BinOp::Or),
        ExprP::Call(function, _) => match &function.node {
            // A script that gives these names to functions of its own is refused where they are called.
            ExprP::Identifier(name) => {
                matches!(name.node.ident.as_str(), "dict" | "list" | "sorted" | "len" | "str")
            }
            _ => false,
        },
        _ => false,
    }
}
