//! The function `handle`: that there is one, what it takes, and that it decides.

use starlark_syntax::codemap::Span;
use starlark_syntax::syntax::ast::{
    AssignTargetP, AstParameter, AstStmt, ExprP, ParameterP, StmtP,
};

use super::{Meaning, Walk};
use crate::analysis::names::nearest;
use crate::analysis::problem::{Problem, ProblemKind, range};

impl<'a> Walk<'a> {
    pub(super) fn handle(&mut self, module: &'a AstStmt, text: &str) {
        // A later definition replaces an earlier one.
        let defined =
            top_level(module).into_iter().rev().find_map(|statement| match &statement.node {
                StmtP::Def(def) if def.name.node.ident == "handle" => Some(Ok(def)),
                StmtP::Assign(assign) => match &assign.lhs.node {
                    AssignTargetP::Identifier(name) if name.node.ident == "handle" => {
                        Some(Err(assign))
                    }
                    _ => None,
                },
                _ => None,
            });
        match defined {
            Some(Ok(def)) => {
                self.two_arguments(&def.params, def.signature_span());
                if let Some(place) = without_value(&def.body) {
                    self.no_decision(place, "`handle` returns nothing here");
                } else if !ends(&def.body, &|name| {
                    matches!(self.meaning(name), Meaning::BuiltIn(_))
                }) {
                    self.no_decision(def.name.span, "`handle` can end without a decision");
                }
            }
            Some(Err(assign)) => match &assign.rhs.node {
                ExprP::Lambda(lambda) => {
                    self.two_arguments(&lambda.params, lambda.signature_span());
                }
                _ => self.report(
                    Problem::new(
                        ProblemKind::NoHandle,
                        range(assign.lhs.span),
                        "`handle` is not a function",
                    )
                    .help("define it: `def handle(event, payload):`"),
                ),
            },
            None => {
                let problem = Problem::new(
                    ProblemKind::NoHandle,
                    0..text.find('\n').unwrap_or(text.len()),
                    "the script has no function `handle`",
                );
                let functions = top_level(module).into_iter().filter_map(|it| match &it.node {
                    StmtP::Def(def) => Some(def.name.node.ident.as_str()),
                    _ => None,
                });
                let meant = functions.into_iter().find(|name| {
                    nearest(name, ["handle"]).is_some() || name.eq_ignore_ascii_case("handler")
                });
                self.report(problem.help(match meant {
                    Some(meant) => format!("did you mean `handle` by `{meant}`?"),
                    None => "define it: `def handle(event, payload):`".to_owned(),
                }));
            }
        }
    }

    fn no_decision(&mut self, place: Span, message: &str) {
        let problem = Problem::new(ProblemKind::NoDecision, range(place), message);
        self.report(problem.help("end with `return allow()`"));
    }

    fn two_arguments(&mut self, parameters: &[AstParameter], place: Span) {
        let (mut least, mut most, mut by_name_only) = (0_usize, 0_usize, false);
        for parameter in parameters {
            match &parameter.node {
                ParameterP::Normal(_, _, None) if by_name_only => least = usize::MAX,
                ParameterP::Normal(_, _, default) if !by_name_only => {
                    most = most.saturating_add(1);
                    least = least.saturating_add(usize::from(default.is_none()));
                }
                ParameterP::Args(..) => {
                    most = usize::MAX;
                    by_name_only = true;
                }
                ParameterP::NoArgs => by_name_only = true,
                ParameterP::Normal(..) | ParameterP::Slash | ParameterP::KwArgs(..) => {}
            }
        }
        if least > 2 || most < 2 {
            self.report(
                Problem::new(
                    ProblemKind::HandleArity,
                    range(place),
                    "`handle` is called with two arguments, and cannot take them",
                )
                .help("write `def handle(event, payload):`"),
            );
        }
    }
}

/// The statements outside functions.
fn top_level(module: &AstStmt) -> Vec<&AstStmt> {
    let mut found = Vec::new();
    let mut left = vec![module];
    while let Some(statement) = left.pop() {
        match &statement.node {
            StmtP::Statements(statements) => left.extend(statements.iter().rev()),
            _ => found.push(statement),
        }
    }
    found
}

/// Whether every way through a statement returns or fails. Loops are taken as not entered.
fn ends(statement: &AstStmt, is_built_in: &dyn Fn(&str) -> bool) -> bool {
    match &statement.node {
        StmtP::Return(_) => true,
        StmtP::Expression(expression) => match &expression.node {
            ExprP::Call(function, _) => match &function.node {
                ExprP::Identifier(name) => name.node.ident == "fail" && is_built_in("fail"),
                _ => false,
            },
            _ => false,
        },
        StmtP::Statements(statements) => statements.iter().any(|it| ends(it, is_built_in)),
        StmtP::IfElse(_, branches) => {
            ends(&branches.0, is_built_in) && ends(&branches.1, is_built_in)
        }
        _ => false,
    }
}

/// The first `return` of a function that returns nothing.
fn without_value(statement: &AstStmt) -> Option<Span> {
    match &statement.node {
        StmtP::Return(None) => Some(statement.span),
        StmtP::Return(Some(value)) => match &value.node {
            ExprP::Identifier(name) if name.node.ident == "None" => Some(statement.span),
            _ => None,
        },
        StmtP::Statements(statements) => statements.iter().find_map(without_value),
        StmtP::If(_, then) => without_value(then),
        StmtP::IfElse(_, branches) => {
            without_value(&branches.0).or_else(|| without_value(&branches.1))
        }
        StmtP::For(each) => without_value(&each.body),
        _ => None,
    }
}
