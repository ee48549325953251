//! Which fields of its payload a script looks at.
//!
//! A payload that nobody looks at need not be made. Sound means here: where a field is not named,
//! the script could not tell whether it was there. So the payload may only stand where one field is
//! asked for by a text in the script: `payload["name"]`, `payload.get("name")`, `"name" in payload`.
//! Wherever else it stands (passed on, walked through, bound to another name, kept by a function
//! inside), all of it is read.

use std::collections::BTreeSet;

use starlark_syntax::syntax::ast::{
    ArgumentP, AstExpr, AstLiteral, AstStmt, BinOp, DefP, ExprP, ParameterP, StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;

use super::scope::{NoPayload, Scope};

/// The fields of its payload that a script looks at.
///
/// ```
/// use tollgate_starlark::analysis::{Reads, SCRIPT, check_script};
///
/// let reads = |body: &str| {
///     let script = format!("def handle(event, payload):\n    {body}\n    return allow()\n");
///     check_script(&script, &SCRIPT).unwrap().facts.reads
/// };
/// assert_eq!(reads("pass"), Reads::Only([].into()));
/// assert_eq!(reads("log(payload[\"name\"])"), Reads::Only(["name".to_owned()].into()));
/// assert_eq!(reads("log(str(payload))"), Reads::All);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Reads {
    /// All of them, as far as can be told.
    #[default]
    All,
    /// None but these.
    Only(BTreeSet<String>),
}

impl Reads {
    /// What two pieces of code look at together.
    #[must_use]
    pub fn and(self, other: &Reads) -> Reads {
        match (self, other) {
            (Reads::Only(mut ours), Reads::Only(theirs)) => {
                ours.extend(theirs.iter().cloned());
                Reads::Only(ours)
            }
            _ => Reads::All,
        }
    }

    pub(super) fn of_script(module: &AstStmt) -> Reads {
        let Some(handle) = only_handle(module) else { return Reads::All };
        let [first, second, ..] = handle.params.as_slice() else { return Reads::All };
        // With any other parameter in their place, the payload goes somewhere else.
        let (ParameterP::Normal(..), ParameterP::Normal(payload, ..)) = (&first.node, &second.node)
        else {
            return Reads::All;
        };
        let payload = payload.node.ident.as_str();
        if Scope::of_statement(&handle.body).names.contains(payload) {
            return Reads::All;
        }
        let mut reader = Reader { payload, fields: BTreeSet::new() };
        match reader.statement(&handle.body, false) {
            Ok(()) => Reads::Only(reader.fields),
            Err(Escapes) => Reads::All,
        }
    }

    pub(super) fn of_condition(expression: &AstExpr) -> Reads {
        let mut reader = Reader { payload: "payload", fields: BTreeSet::new() };
        match reader.expression(expression, false) {
            Ok(()) => Reads::Only(reader.fields),
            Err(Escapes) => Reads::All,
        }
    }
}

/// The definition of `handle`, where nothing else in the module has that name.
fn only_handle(module: &AstStmt) -> Option<&DefP<NoPayload>> {
    let statements = match &module.node {
        StmtP::Statements(statements) => statements.as_slice(),
        _ => std::slice::from_ref(module),
    };
    let mut named = statements
        .iter()
        .filter(|statement| Scope::of_statement(statement).names.contains("handle"));
    match (&named.next()?.node, named.next()) {
        (StmtP::Def(def), None) => Some(def),
        _ => None,
    }
}

/// The payload stands where anything may happen to it.
struct Escapes;

struct Reader<'a> {
    /// What the payload is called.
    payload: &'a str,
    fields: BTreeSet<String>,
}

impl Reader<'_> {
    /// `kept` in what a function inside may do later.
    fn statement(&mut self, statement: &AstStmt, kept: bool) -> Result<(), Escapes> {
        let kept = kept || matches!(statement.node, StmtP::Def(_));
        statement.node.visit_children_err(|part| match part {
            Visit::Stmt(statement) => self.statement(statement, kept),
            Visit::Expr(expression) => self.expression(expression, kept),
        })
    }

    fn expression(&mut self, expression: &AstExpr, kept: bool) -> Result<(), Escapes> {
        match &expression.node {
            ExprP::Identifier(_) if self.is_payload(expression) => return Err(Escapes),
            ExprP::Index(parts) if !kept && self.is_payload(&parts.0) => {
                return self.field(&parts.1);
            }
            ExprP::Op(field, BinOp::In | BinOp::NotIn, of) if !kept && self.is_payload(of) => {
                return self.field(field);
            }
            ExprP::Call(function, arguments) if !kept => {
                if let ExprP::Dot(of, method) = &function.node
                    && method.node == "get"
                    && self.is_payload(of)
                {
                    let [first, rest @ ..] = arguments.args.as_slice() else {
                        return Err(Escapes);
                    };
                    let ArgumentP::Positional(field) = &first.node else { return Err(Escapes) };
                    self.field(field)?;
                    return rest
                        .iter()
                        .try_for_each(|argument| self.expression(argument.node.expr(), kept));
                }
            }
            ExprP::ListComprehension(_, first, rest) | ExprP::DictComprehension(_, first, rest)
                if Scope::of_clauses(first, rest).names.contains(self.payload) =>
            {
                return Err(Escapes);
            }
            _ => {}
        }
        let kept = kept || matches!(expression.node, ExprP::Lambda(_));
        expression.node.visit_expr_err(|part| self.expression(part, kept))
    }

    fn is_payload(&self, expression: &AstExpr) -> bool {
        matches!(&expression.node, ExprP::Identifier(name) if name.node.ident == self.payload)
    }

    fn field(&mut self, name: &AstExpr) -> Result<(), Escapes> {
        let ExprP::Literal(AstLiteral::String(name)) = &name.node else { return Err(Escapes) };
        self.fields.insert(name.node.clone());
        Ok(())
    }
}
