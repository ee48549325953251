//! The names that a script compares with the name of a call's tool.
//!
//! That name is always the one of Tollgate's table, so a comparison with another one never holds. Only what is
//! certainly such a comparison is found: `payload["name"] == "…"`, `payload.get("name") in ["…"]`, and the same with
//! a name that is bound to nothing else.

use std::collections::HashMap;
use std::ops::Range;

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignTargetP, AstAssignTarget, AstExpr, AstLiteral, AstStmt, BinOp, ClauseP, ExprP,
    ForClause, Parameter, StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;

use super::problem::range;
use super::scope::NoPayload;

/// The most names that are looked at.
const MOST: usize = 1000;

/// A text of a script, and where it stands.
pub(crate) type Compared = (String, Range<usize>);

/// The texts that a script or a condition compares with the name of the tool.
pub(crate) fn compared_names(ast: &AstModule) -> Vec<Compared> {
    let mut bound = Bound::default();
    bound.statement(ast.statement());
    let mut finder = Finder { bound, found: Vec::new() };
    finder.statement(ast.statement());
    finder.found
}

/// What names of a script are bound to; nothing where one is bound twice, or to something else than a value.
#[derive(Default)]
struct Bound<'a>(HashMap<&'a str, Option<&'a AstExpr>>);

impl<'a> Bound<'a> {
    fn bind(&mut self, name: &'a str, value: Option<&'a AstExpr>) {
        self.0.entry(name).and_modify(|bound| *bound = None).or_insert(value);
    }

    fn target(&mut self, target: &'a AstAssignTarget) {
        target.visit_lvalue(|name| self.bind(&name.node.ident, None));
    }

    fn parameter(&mut self, parameter: &'a Parameter) {
        // The payload is called so by all, and is what this is about.
        if let Some(name) = parameter.ident().filter(|name| name.node.ident != "payload") {
            self.bind(&name.node.ident, None);
        }
    }

    fn statement(&mut self, statement: &'a AstStmt) {
        match &statement.node {
            StmtP::Assign(assign) => match &assign.lhs.node {
                AssignTargetP::Identifier(name) => {
                    self.bind(&name.node.ident, Some(&assign.rhs));
                }
                _ => self.target(&assign.lhs),
            },
            StmtP::AssignModify(target, ..) => self.target(target),
            StmtP::For(each) => self.target(&each.var),
            StmtP::Def(def) => {
                self.bind(&def.name.node.ident, None);
                for parameter in &def.params {
                    self.parameter(&parameter.node);
                }
            }
            _ => {}
        }
        statement.visit_children(|part| match part {
            Visit::Stmt(statement) => self.statement(statement),
            Visit::Expr(expression) => self.expression(expression),
        });
    }

    fn expression(&mut self, expression: &'a AstExpr) {
        match &expression.node {
            ExprP::Lambda(lambda) => {
                for parameter in &lambda.params {
                    self.parameter(&parameter.node);
                }
            }
            ExprP::ListComprehension(_, first, rest) | ExprP::DictComprehension(_, first, rest) => {
                self.clauses(first, rest);
            }
            _ => {}
        }
        expression.visit_expr(|part| self.expression(part));
    }

    fn clauses(&mut self, first: &'a ForClause, rest: &'a [ClauseP<NoPayload>]) {
        self.target(&first.var);
        for clause in rest {
            if let ClauseP::For(clause) = clause {
                self.target(&clause.var);
            }
        }
    }

    /// What an expression stands for: itself, or what its name is bound to.
    fn value(&self, expression: &'a AstExpr) -> &'a AstExpr {
        match &expression.node {
            ExprP::Identifier(name) => {
                self.0.get(name.node.ident.as_str()).copied().flatten().unwrap_or(expression)
            }
            _ => expression,
        }
    }

    fn is_payload(&self, expression: &AstExpr) -> bool {
        matches!(&expression.node, ExprP::Identifier(name)
            if name.node.ident == "payload" && !self.0.contains_key("payload"))
    }

    /// True if an expression is the name of the tool.
    fn is_name(&self, expression: &'a AstExpr) -> bool {
        let expression = self.value(expression);
        match &expression.node {
            ExprP::Index(parts) => {
                self.is_payload(&parts.0) && literal(&parts.1).is_some_and(|(key, _)| key == "name")
            }
            ExprP::Call(function, arguments) => {
                let ExprP::Dot(of, method) = &function.node else { return false };
                let first = arguments.args.first().map(|argument| &argument.node);
                let Some(ArgumentP::Positional(key)) = first else { return false };
                self.is_payload(of)
                    && method.node == "get"
                    && literal(key).is_some_and(|(key, _)| key == "name")
            }
            _ => false,
        }
    }
}

struct Finder<'a> {
    bound: Bound<'a>,
    found: Vec<Compared>,
}

impl<'a> Finder<'a> {
    fn statement(&mut self, statement: &'a AstStmt) {
        statement.visit_children(|part| match part {
            Visit::Stmt(statement) => self.statement(statement),
            Visit::Expr(expression) => self.expression(expression),
        });
    }

    fn expression(&mut self, expression: &'a AstExpr) {
        if let ExprP::Op(left, op, right) = &expression.node {
            match op {
                BinOp::Equal | BinOp::NotEqual if self.bound.is_name(left) => self.text(right),
                BinOp::Equal | BinOp::NotEqual if self.bound.is_name(right) => self.text(left),
                BinOp::In | BinOp::NotIn if self.bound.is_name(left) => self.texts(right),
                _ => {}
            }
        }
        expression.visit_expr(|part| self.expression(part));
    }

    fn text(&mut self, expression: &'a AstExpr) {
        let text = literal(self.bound.value(expression));
        self.found.extend(text.filter(|_| self.found.len() < MOST));
    }

    fn texts(&mut self, expression: &'a AstExpr) {
        match &self.bound.value(expression).node {
            ExprP::List(items) | ExprP::Tuple(items) => {
                for item in items {
                    self.text(item);
                }
            }
            ExprP::Dict(entries) => {
                for (key, _) in entries {
                    self.text(key);
                }
            }
            _ => {}
        }
    }
}

fn literal(expression: &AstExpr) -> Option<Compared> {
    match &expression.node {
        ExprP::Literal(AstLiteral::String(text)) => Some((text.node.clone(), range(text.span))),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let ast = parse(text).unwrap();
        let found = compared_names(&ast);
        for (name, place) in &found {
            assert!(text[place.clone()].contains(name.as_str()), "{text}: {name}");
        }
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn comparisons_with_the_tools_name_are_found() {
        for (condition, found) in [
            (r#"payload["name"] == "a""#, &["a"][..]),
            (r#""a" == payload["name"]"#, &["a"]),
            (r#"payload.get("name") != "a" and payload.get("name", "") == "b""#, &["a", "b"]),
            (r#"payload["name"] in ["a", "b"] or payload["name"] not in ("c",)"#, &["a", "b", "c"]),
            (r#"payload["name"] in {"a": 1}"#, &["a"]),
            (r#"not (payload["name"] == "a")"#, &["a"]),
            (r#"any([payload["name"] == name for name in ["a"]])"#, &[]),
            (r#"payload["native_name"] == "a""#, &[]),
            (r#"payload["args"]["name"] == "a""#, &[]),
            (r#"payload["name"].startswith("a")"#, &[]),
            (r#"payload["name"] == payload["server"]"#, &[]),
            (r#""a" in payload["name"]"#, &[]),
        ] {
            assert_eq!(names(condition), found, "{condition}");
        }
    }

    #[test]
    fn names_that_are_bound_once_are_what_they_are_bound_to() {
        let script =
            |body: &str| format!("TOOLS = [\"a\", \"b\"]\ndef handle(event, payload):\n{body}");
        for (body, found) in [
            ("    return payload[\"name\"] in TOOLS\n", &["a", "b"][..]),
            (
                "    name = payload[\"name\"]\n    return name == \"c\" or name in TOOLS\n",
                &["c", "a", "b"],
            ),
            (
                "    name = payload[\"name\"]\n    name = name.lower()\n    return name == \"c\"\n",
                &[],
            ),
            ("    for name in [1]:\n        if name == \"c\":\n            pass\n", &[]),
            ("    payload = {}\n    return payload[\"name\"] == \"c\"\n", &[]),
        ] {
            assert_eq!(names(&script(body)), found, "{body}");
        }
    }
}
