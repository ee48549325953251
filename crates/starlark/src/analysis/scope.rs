//! Which names a piece of code binds.

use std::collections::HashSet;

use starlark_syntax::syntax::ast::{
    AssignTargetP, AstAssignTarget, AstParameter, AstStmt, ClauseP, ForClause, StmtP,
};

/// The names that one function, lambda, comprehension or module binds.
#[derive(Debug, Default)]
pub(super) struct Scope<'a> {
    pub(super) names: HashSet<&'a str>,
    /// The name of the payload, in the function that is given it, unless it is bound again there.
    pub(super) payload: Option<&'a str>,
}

impl<'a> Scope<'a> {
    /// What statements bind, not counting those of functions among them.
    pub(super) fn of_statement(statement: &'a AstStmt) -> Self {
        let mut scope = Scope::default();
        scope.statement(statement);
        scope
    }

    /// What a function binds: parameters, and all it assigns to.
    pub(super) fn of_function(parameters: &'a [AstParameter], body: &'a AstStmt) -> Self {
        let mut scope = Scope::of_statement(body);
        scope.parameters(parameters);
        scope
    }

    /// What a comprehension binds.
    pub(super) fn of_clauses(first: &'a ForClause, rest: &'a [ClauseP<NoPayload>]) -> Self {
        let mut scope = Scope::default();
        scope.target(&first.var);
        for clause in rest {
            if let ClauseP::For(clause) = clause {
                scope.target(&clause.var);
            }
        }
        scope
    }

    pub(super) fn parameters(&mut self, parameters: &'a [AstParameter]) {
        let names = parameters.iter().filter_map(|parameter| parameter.node.ident());
        self.names.extend(names.map(|name| name.node.ident.as_str()));
    }

    fn statement(&mut self, statement: &'a AstStmt) {
        match &statement.node {
            StmtP::Assign(assign) => self.target(&assign.lhs),
            StmtP::AssignModify(target, _, _) => self.target(target),
            StmtP::For(each) => {
                self.target(&each.var);
                self.statement(&each.body);
            }
            StmtP::Def(def) => {
                self.names.insert(&def.name.node.ident);
            }
            StmtP::Load(load) => {
                self.names.extend(load.args.iter().map(|arg| arg.local.node.ident.as_str()));
            }
            StmtP::Statements(statements) => {
                for statement in statements {
                    self.statement(statement);
                }
            }
            StmtP::If(_, then) => self.statement(then),
            StmtP::IfElse(_, branches) => {
                self.statement(&branches.0);
                self.statement(&branches.1);
            }
            StmtP::Break
            | StmtP::Continue
            | StmtP::Pass
            | StmtP::Return(_)
            | StmtP::Expression(_) => {}
        }
    }

    fn target(&mut self, target: &'a AstAssignTarget) {
        match &target.node {
            AssignTargetP::Tuple(targets) => {
                for target in targets {
                    self.target(target);
                }
            }
            AssignTargetP::Identifier(name) => {
                self.names.insert(&name.node.ident);
            }
            AssignTargetP::Index(_) | AssignTargetP::Dot(_, _) => {}
        }
    }
}

/// The syntax tree as the parser gives it.
pub(super) type NoPayload = starlark_syntax::syntax::ast::AstNoPayload;
