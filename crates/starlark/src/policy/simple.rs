//! Files that do nothing but list rules.
//!
//! Such a file can be run where the host is: what its top level takes is in proportion to its text.
//! There are no loops and no calls but those of builders, each of which looks at its arguments one
//! level deep (two for `policy.enforce`). Values may be used several times, so that one that is
//! written out would be huge: nothing here writes a value out, compares it or takes its hash.

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignTargetP, AstExpr, AstLiteral, AstStmt, BinOp, ExprP, ParameterP, StmtP,
};

use super::check::{builder_call, is_builder};

/// Whether the top level of a file is bounded by the length of its text. Its conditions are not
/// part of that: they run later.
pub(crate) fn is_simple(ast: &AstModule) -> bool {
    statement(ast.statement())
}

fn statement(it: &AstStmt) -> bool {
    match &it.node {
        StmtP::Statements(statements) => statements.iter().all(statement),
        StmtP::Pass => true,
        StmtP::Expression(value) => expression(value),
        StmtP::Assign(assign) => {
            let name = match &assign.lhs.node {
                AssignTargetP::Identifier(name) => name.node.ident.as_str(),
                _ => return false,
            };
            name != "policy" && assign.ty.is_none() && expression(&assign.rhs)
        }
        _ => false,
    }
}

fn expression(it: &AstExpr) -> bool {
    match &it.node {
        ExprP::Literal(literal) => !matches!(literal, AstLiteral::Ellipsis),
        ExprP::Identifier(_) => true,
        ExprP::List(items) | ExprP::Tuple(items) => items.iter().all(expression),
        ExprP::Dict(entries) => entries.iter().all(|(key, value)| {
            matches!(&key.node, ExprP::Literal(AstLiteral::String(_))) && expression(value)
        }),
        ExprP::Lambda(lambda) => lambda.params.iter().all(|parameter| match &parameter.node {
            ParameterP::Normal(_, None, default) => default.as_deref().is_none_or(expression),
            ParameterP::Normal(..) => false,
            ParameterP::Args(_, ty) | ParameterP::KwArgs(_, ty) => ty.is_none(),
            ParameterP::Slash | ParameterP::NoArgs => true,
        }),
        ExprP::Op(..) => sum(it),
        ExprP::Call(..) => call(it),
        _ => false,
    }
}

fn call(it: &AstExpr) -> bool {
    builder_call(it).is_some_and(|(builder, arguments)| {
        is_builder(builder)
            && arguments.iter().all(|argument| match &argument.node {
                ArgumentP::Positional(value) | ArgumentP::Named(_, value) => expression(value),
                ArgumentP::Args(_) | ArgumentP::KwArgs(_) => false,
            })
    })
}

/// Lists may be put together as long as each is written where it is added: `x + x` doubles, and so
/// does the next line.
fn sum(it: &AstExpr) -> bool {
    match &it.node {
        ExprP::Op(left, BinOp::Add, right) => sum(left) && sum(right),
        ExprP::List(_) => expression(it),
        ExprP::Call(..) => call(it),
        _ => false,
    }
}
