//! Conditions of rules that need no Starlark.
//!
//! Most conditions are one expression over the arguments, written where the rule is. What the
//! parameter is called is the author's choice, so it is renamed to what [`Condition`] knows.

use std::collections::HashMap;
use std::ops::Range;

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    AssignTargetP, AstAssignTarget, AstExpr, AstParameter, AstStmt, Clause, ClauseP, ExprP,
    ForClause, ParameterP, StmtP,
};
use starlark_syntax::syntax::uniplate::Visit;

use super::RuleSpec;
use super::check::{argument, builder_call};
use crate::analysis::Condition;
use crate::analysis::problem::range;

/// The native conditions of a file, by the places of the rules that have them.
#[derive(Debug, Default)]
pub(crate) struct Natives(HashMap<usize, Condition>);

impl Natives {
    /// Those of a file.
    pub(crate) fn of(text: &str, ast: &AstModule) -> Self {
        Self(conditions(text, ast))
    }

    /// The native form of a rule's condition, where it has one.
    pub(crate) fn condition(&self, rule: &RuleSpec) -> Option<&Condition> {
        rule.when().and_then(|_| self.0.get(&rule.at()))
    }
}

/// The names that [`Condition`] knows the meaning of.
const KNOWN: &[&str] = &["None", "True", "False", "len", "type"];

fn conditions(text: &str, ast: &AstModule) -> HashMap<usize, Condition> {
    let mut file = File::default();
    file.statement(ast.statement());
    if KNOWN.iter().any(|name| file.bound.contains_key(name)) {
        return HashMap::new();
    }
    let native = |(at, when): &(usize, &AstExpr)| Some((*at, file.native(text, when)?));
    file.rules.iter().filter_map(native).collect()
}

/// What a file binds, and the conditions of its rules.
#[derive(Default)]
struct File<'a> {
    /// How often each name is bound, wherever that is.
    bound: HashMap<&'a str, usize>,
    /// Functions that are one expression of one parameter, by their names.
    functions: HashMap<&'a str, (&'a [AstParameter], &'a AstExpr)>,
    /// Where a rule is made, and the condition that it is given.
    rules: Vec<(usize, &'a AstExpr)>,
}

impl<'a> File<'a> {
    fn bind(&mut self, name: &'a str) {
        *self.bound.entry(name).or_default() += 1;
    }

    fn parameters(&mut self, parameters: &'a [AstParameter]) {
        for name in parameters.iter().filter_map(|parameter| parameter.node.ident()) {
            self.bind(&name.node.ident);
        }
    }

    fn statement(&mut self, statement: &'a AstStmt) {
        match &statement.node {
            StmtP::Assign(assign) => {
                assign.lhs.visit_lvalue(|name| self.bind(&name.node.ident));
                if let (Some(name), ExprP::Lambda(lambda)) =
                    (one_name(&assign.lhs), &assign.rhs.node)
                {
                    self.functions.insert(name, (&lambda.params, &lambda.body));
                }
            }
            StmtP::AssignModify(target, _, _) => {
                target.visit_lvalue(|name| self.bind(&name.node.ident));
            }
            StmtP::For(each) => each.var.visit_lvalue(|name| self.bind(&name.node.ident)),
            StmtP::Def(def) => {
                self.bind(&def.name.node.ident);
                self.parameters(&def.params);
                if let Some(value) = returned(&def.body) {
                    self.functions.insert(&def.name.node.ident, (&def.params, value));
                }
            }
            StmtP::Load(load) => {
                for name in &load.args {
                    self.bind(&name.local.node.ident);
                }
            }
            _ => {}
        }
        statement.visit_children(|child| match child {
            Visit::Stmt(statement) => self.statement(statement),
            Visit::Expr(expression) => self.expression(expression),
        });
    }

    fn expression(&mut self, expression: &'a AstExpr) {
        match &expression.node {
            ExprP::Lambda(lambda) => self.parameters(&lambda.params),
            ExprP::ListComprehension(_, first, rest) | ExprP::DictComprehension(_, first, rest) => {
                self.clauses(first, rest);
            }
            _ => {}
        }
        if let Some((builder, arguments)) = builder_call(expression)
            && let Some(when) = argument(builder, "when", arguments)
        {
            self.rules.push((range(expression.span).start, when));
        }
        expression.visit_expr(|part| self.expression(part));
    }

    fn clauses(&mut self, first: &'a ForClause, rest: &'a [Clause]) {
        first.var.visit_lvalue(|name| self.bind(&name.node.ident));
        for clause in rest {
            if let ClauseP::For(clause) = clause {
                clause.var.visit_lvalue(|name| self.bind(&name.node.ident));
            }
        }
    }

    /// The native form of what a rule is given for a condition.
    fn native(&self, text: &str, when: &AstExpr) -> Option<Condition> {
        match &when.node {
            ExprP::Lambda(lambda) => native(text, &lambda.params, &lambda.body),
            // A name that is bound once means what it is bound to, wherever it is used.
            ExprP::Identifier(name) if self.bound.get(name.node.ident.as_str()) == Some(&1) => {
                let (parameters, body) = self.functions.get(name.node.ident.as_str())?;
                native(text, parameters, body)
            }
            _ => None,
        }
    }
}

/// The name that is assigned to, where it is nothing but a name.
fn one_name(target: &AstAssignTarget) -> Option<&str> {
    match &target.node {
        AssignTargetP::Identifier(name) => Some(&name.node.ident),
        _ => None,
    }
}

/// What a function returns that does nothing else.
fn returned(body: &AstStmt) -> Option<&AstExpr> {
    match &body.node {
        StmtP::Return(Some(value)) => Some(value),
        StmtP::Statements(statements) => match statements.as_slice() {
            [one] => returned(one),
            _ => None,
        },
        _ => None,
    }
}

fn native(text: &str, parameters: &[AstParameter], body: &AstExpr) -> Option<Condition> {
    let [parameter] = parameters else { return None };
    let ParameterP::Normal(parameter, _, None) = &parameter.node else { return None };
    let mut places = Vec::new();
    find(body, &parameter.node.ident, &mut places)?;
    // A ternary has its condition first in the tree, and not in the text.
    places.sort_by_key(|place| place.start);
    // In brackets it may stand on several lines, as it could where it is.
    let mut renamed = String::from("(");
    let body = range(body.span);
    let mut from = body.start;
    for place in places {
        renamed.push_str(text.get(from..place.start)?);
        renamed.push_str("payload");
        from = place.end;
    }
    renamed.push_str(text.get(from..body.end)?);
    renamed.push_str("\n)");
    Condition::compile(&renamed)
}

/// Where the parameter is used. Nothing where the condition has parts in
/// which the name may mean something else, or other names that a native condition would take for
/// what they are not.
fn find(expression: &AstExpr, parameter: &str, places: &mut Vec<Range<usize>>) -> Option<()> {
    match &expression.node {
        ExprP::Identifier(name) if name.node.ident == parameter => {
            places.push(range(name.span));
        }
        ExprP::Identifier(name) if matches!(name.node.ident.as_str(), "payload" | "event") => {
            return None;
        }
        ExprP::Lambda(_)
        | ExprP::FString(_)
        | ExprP::ListComprehension(..)
        | ExprP::DictComprehension(..) => return None,
        _ => {}
    }
    let mut all = Some(());
    expression.visit_expr(|part| {
        if all.is_some() {
            all = find(part, parameter, places);
        }
    });
    all
}
