//! Files that do nothing but list rules.
//!
//! Such a file can be run where the host is: what its top level takes is in proportion to its text.
//! There are no loops and no calls but those of builders, each of which looks at its arguments one
//! level deep (two for `policy.enforce`). Values may be used several times, so that one that is
//! written out would be huge: nothing here writes a value out, compares it or takes its hash.
//!
//! Conditions run later and elsewhere, but they are compiled here, and the compiler computes what it
//! can: `"a" * (1 << 36)` when it sees it, and what is made of the file's own values when it is done.
//! So a condition must have nothing in it that grows, and no names but its own.

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignTargetP, AstExpr, AstLiteral, AstParameter, AstStmt, BinOp, ExprP, ParameterP,
    StmtP,
};

use super::check::{builder_call, does_call, is_builder, is_known};

/// Whether the top level of a file is bounded by the length of its text. Its conditions are not
/// part of that: they run later, and are only compiled.
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
            // What `True` means is what the rest of this relies on.
            name != "policy" && !is_known(name) && assign.ty.is_none() && expression(&assign.rhs)
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
        ExprP::Lambda(lambda) => {
            let own: Vec<&str> = lambda
                .params
                .iter()
                .filter_map(|parameter| Some(parameter.node.ident()?.node.ident.as_str()))
                .collect();
            let plain = |parameter: &AstParameter| match &parameter.node {
                ParameterP::Normal(_, None, default) => default.as_deref().is_none_or(expression),
                ParameterP::Normal(..) => false,
                ParameterP::Args(_, ty) | ParameterP::KwArgs(_, ty) => ty.is_none(),
                ParameterP::Slash | ParameterP::NoArgs => true,
            };
            lambda.params.iter().all(plain) && condition(&lambda.body, &own)
        }
        ExprP::Op(..) => sum(it),
        ExprP::Call(..) => call(it),
        _ => false,
    }
}

fn call(it: &AstExpr) -> bool {
    // Conditions on what a call does are kept as they are.
    does_call(it).or_else(|| builder_call(it)).is_some_and(|(name, arguments)| {
        (does_call(it).is_some() || is_builder(name))
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

/// Whether nothing in a condition can grow, whatever of it the compiler computes. `own` are its
/// parameters.
fn condition(it: &AstExpr, own: &[&str]) -> bool {
    let all = |parts: &[AstExpr]| parts.iter().all(|part| condition(part, own));
    match &it.node {
        ExprP::Literal(literal) => !matches!(literal, AstLiteral::Ellipsis),
        ExprP::Identifier(name) => {
            let name = name.node.ident.as_str();
            own.contains(&name) || matches!(name, "None" | "True" | "False")
        }
        ExprP::List(items) | ExprP::Tuple(items) => all(items),
        ExprP::Dict(entries) => entries.is_empty(),
        ExprP::Not(of) | ExprP::Minus(of) => condition(of, own),
        ExprP::If(parts) => {
            condition(&parts.0, own) && condition(&parts.1, own) && condition(&parts.2, own)
        }
        ExprP::Index(parts) => condition(&parts.0, own) && condition(&parts.1, own),
        ExprP::Op(left, op, right) => {
            let compares = matches!(
                op,
                BinOp::And
                    | BinOp::Or
                    | BinOp::Equal
                    | BinOp::NotEqual
                    | BinOp::In
                    | BinOp::NotIn
                    | BinOp::Less
                    | BinOp::LessOrEqual
                    | BinOp::Greater
                    | BinOp::GreaterOrEqual
            );
            compares && condition(left, own) && condition(right, own)
        }
        ExprP::Call(function, arguments) => {
            let asks = match &function.node {
                ExprP::Identifier(name) => {
                    matches!(name.node.ident.as_str(), "len" | "type" | "bool" | "any" | "all")
                }
                ExprP::Dot(of, method) => asks(of, &method.node, own),
                _ => false,
            };
            asks && arguments.args.iter().all(|argument| match &argument.node {
                ArgumentP::Positional(value) | ArgumentP::Named(_, value) => condition(value, own),
                ArgumentP::Args(_) | ArgumentP::KwArgs(_) => false,
            })
        }
        _ => false,
    }
}

/// Whether a method makes nothing that is larger than what it is called on.
fn asks(of: &AstExpr, method: &str, own: &[&str]) -> bool {
    let namespace = match &of.node {
        ExprP::Identifier(name) => name.node.ident.as_str(),
        _ => "",
    };
    match (namespace, method) {
        ("re", "match" | "search") | ("glob", "match") | ("path", "inside") => true,
        (
            _,
            "get" | "keys" | "values" | "startswith" | "endswith" | "lower" | "upper" | "strip"
            | "lstrip" | "rstrip",
        ) => condition(of, own),
        _ => false,
    }
}
