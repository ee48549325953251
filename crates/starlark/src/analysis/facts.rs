//! What a script uses and does.

use std::collections::{BTreeSet, HashMap, HashSet};

use starlark_syntax::codemap::CodeMap;
use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    AssignTargetP, AstAssignTarget, AstExpr, AstLiteral, AstStmt, BinOp, ClauseP, ExprP, Parameter,
    ParameterP, StmtP,
};

use super::names::Names;
use super::reads::Reads;
use super::scope::{NoPayload, Scope};

/// What there is to know about a script beyond that it is right.
///
/// ```
/// use tollgate_starlark::analysis::{SCRIPT, check_script};
///
/// let script = "def handle(event, payload):\n    log(\"seen\")\n    return allow()\n";
/// let facts = check_script(script, &SCRIPT).unwrap().facts;
/// assert!(facts.uses("log") && !facts.uses("http"));
/// assert!(!facts.may_mutate);
/// assert_eq!(facts.lines, [2, 3]);
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// The built-ins that its text mentions, whether or not it gets to them.
    pub uses: BTreeSet<&'static str>,
    /// Whether it could change its payload in place. When in doubt, yes.
    pub may_mutate: bool,
    /// The fields of its payload that it looks at: all, where it could change them.
    pub reads: Reads,
    /// The lines of its functions at which statements begin, from 1, in order.
    pub lines: Vec<usize>,
}

impl Facts {
    /// Whether the text mentions a built-in.
    pub fn uses(&self, name: &str) -> bool {
        self.uses.contains(name)
    }

    pub(super) fn of_script(ast: &AstModule, names: &dyn Names) -> Facts {
        let mut finder = Finder { names, facts: Facts::default(), fresh: HashMap::new() };
        // What runs when a script is loaded sees no payload.
        finder.statement(ast.statement(), false);
        // Whether something is fresh is told by these names, so they must be the built-ins.
        finder.facts.may_mutate |= binds_any(ast.statement(), MAKES_NEW);
        let codemap = ast.file_span(ast.statement().span).file;
        let mut lines = BTreeSet::new();
        for_each_function(ast.statement(), &mut |body| lines_of(body, &codemap, &mut lines));
        finder.facts.lines = lines.into_iter().collect();
        finder.facts.read(|| Reads::of_script(ast.statement()))
    }

    pub(super) fn of_expression(expression: &AstExpr, names: &dyn Names) -> Facts {
        let mut finder = Finder { names, facts: Facts::default(), fresh: HashMap::new() };
        finder.expression(expression, true);
        finder.facts.read(|| Reads::of_condition(expression))
    }

    /// What is changed is compared with what it was, as a whole.
    fn read(mut self, reads: impl FnOnce() -> Reads) -> Facts {
        self.reads = if self.may_mutate { Reads::All } else { reads() };
        self
    }
}

/// Methods that change what they are called on.
const CHANGING: &[&str] = &[
    "add",
    "append",
    "clear",
    "difference_update",
    "discard",
    "extend",
    "insert",
    "intersection_update",
    "pop",
    "popitem",
    "remove",
    "setdefault",
    "symmetric_difference_update",
    "update",
];

/// Built-ins whose results are new, or cannot be changed.
const MAKES_NEW: &[&str] = &["bool", "dict", "int", "len", "list", "sorted", "str"];

struct Finder<'a> {
    names: &'a dyn Names,
    facts: Facts,
    /// Of the function this is in: each name it assigns to, and whether it only ever holds what was made here or
    /// cannot be changed.
    fresh: HashMap<&'a str, bool>,
}

impl<'a> Finder<'a> {
    fn uses(&mut self, name: &str) {
        // A name that the script has defined itself is counted too: the text mentions it.
        if let Some(built_in) = self.names.find(name) {
            self.facts.uses.insert(built_in.name);
        }
    }

    /// Something is changed that this expression stands for.
    fn changes(&mut self, what: &AstExpr, inside: bool) {
        let fresh = match &what.node {
            ExprP::Identifier(name) => self.fresh.get(name.node.ident.as_str()) == Some(&true),
            _ => is_fresh(what),
        };
        if inside && !fresh {
            self.facts.may_mutate = true;
        }
    }

    fn function<'b>(&mut self, parameters: impl Iterator<Item = &'b str>, body: &'a AstStmt)
    where
        'a: 'b,
    {
        let mut fresh = HashMap::new();
        assigned(body, &mut fresh);
        let parameters: HashSet<&str> = parameters.collect();
        fresh.retain(|name, _| !parameters.contains(name));
        let outer = std::mem::replace(&mut self.fresh, fresh);
        self.statement(body, true);
        self.fresh = outer;
    }

    fn statement(&mut self, statement: &'a AstStmt, inside: bool) {
        match &statement.node {
            StmtP::Break | StmtP::Continue | StmtP::Pass | StmtP::Return(None) | StmtP::Load(_) => {
            }
            StmtP::Return(Some(value)) | StmtP::Expression(value) => self.expression(value, inside),
            StmtP::Assign(assign) => {
                self.target(&assign.lhs, inside);
                self.expression(&assign.rhs, inside);
            }
            StmtP::AssignModify(target, _, value) => {
                // `+=` changes a list in place, also one that is an element of something made here.
                let fresh = match &target.node {
                    AssignTargetP::Identifier(name) => {
                        self.fresh.get(name.node.ident.as_str()) == Some(&true)
                    }
                    _ => false,
                };
                self.facts.may_mutate |= inside && !fresh;
                self.target(target, inside);
                self.expression(value, inside);
            }
            StmtP::Statements(statements) => {
                for statement in statements {
                    self.statement(statement, inside);
                }
            }
            StmtP::If(condition, then) => {
                self.expression(condition, inside);
                self.statement(then, inside);
            }
            StmtP::IfElse(condition, branches) => {
                self.expression(condition, inside);
                self.statement(&branches.0, inside);
                self.statement(&branches.1, inside);
            }
            StmtP::For(each) => {
                self.expression(&each.over, inside);
                self.target(&each.var, inside);
                self.statement(&each.body, inside);
            }
            StmtP::Def(def) => {
                for parameter in &def.params {
                    self.default(&parameter.node, inside);
                }
                let names = def.params.iter().filter_map(|parameter| parameter.node.ident());
                self.function(names.map(|name| name.node.ident.as_str()), &def.body);
            }
        }
    }

    fn default(&mut self, parameter: &'a Parameter, inside: bool) {
        if let ParameterP::Normal(_, _, Some(default)) = parameter {
            self.expression(default, inside);
        }
    }

    fn target(&mut self, target: &'a AstAssignTarget, inside: bool) {
        match &target.node {
            AssignTargetP::Tuple(targets) => {
                for target in targets {
                    self.target(target, inside);
                }
            }
            AssignTargetP::Index(parts) => {
                self.changes(&parts.0, inside);
                self.expression(&parts.0, inside);
                self.expression(&parts.1, inside);
            }
            AssignTargetP::Dot(of, _) => {
                self.changes(of, inside);
                self.expression(of, inside);
            }
            AssignTargetP::Identifier(_) => {}
        }
    }

    fn expression(&mut self, expression: &'a AstExpr, inside: bool) {
        match &expression.node {
            ExprP::Identifier(name) => {
                self.uses(&name.node.ident);
                // It reaches any method by a name that only the run knows.
                self.facts.may_mutate |= inside && name.node.ident == "getattr";
            }
            ExprP::Dot(of, name) => {
                // Also without a call: the method can be kept and called later.
                if CHANGING.contains(&name.node.as_str()) {
                    self.changes(of, inside);
                }
                self.expression(of, inside);
            }
            ExprP::Lambda(lambda) => {
                for parameter in &lambda.params {
                    self.default(&parameter.node, inside);
                }
                // A lambda sees the names around it, but its parameters hide them.
                let outer = self.fresh.clone();
                for name in lambda.params.iter().filter_map(|parameter| parameter.node.ident()) {
                    self.fresh.remove(name.node.ident.as_str());
                }
                self.expression(&lambda.body, true);
                self.fresh = outer;
            }
            ExprP::ListComprehension(item, first, rest) => {
                self.comprehension(&first.var, &first.over, rest, [item.as_ref()], inside);
            }
            ExprP::DictComprehension(entry, first, rest) => {
                let items = [&entry.0, &entry.1];
                self.comprehension(&first.var, &first.over, rest, items, inside);
            }
            _ => expression.node.visit_expr(|part| self.expression(part, inside)),
        }
    }

    fn comprehension<const N: usize>(
        &mut self,
        var: &'a AstAssignTarget,
        over: &'a AstExpr,
        rest: &'a [ClauseP<NoPayload>],
        items: [&'a AstExpr; N],
        inside: bool,
    ) {
        self.expression(over, inside);
        let outer = self.fresh.clone();
        not_fresh(var, &mut self.fresh);
        for clause in rest {
            if let ClauseP::For(clause) = clause {
                not_fresh(&clause.var, &mut self.fresh);
            }
        }
        self.target(var, inside);
        for clause in rest {
            match clause {
                ClauseP::For(clause) => {
                    self.target(&clause.var, inside);
                    self.expression(&clause.over, inside);
                }
                ClauseP::If(condition) => self.expression(condition, inside),
            }
        }
        for item in items {
            self.expression(item, inside);
        }
        self.fresh = outer;
    }
}

/// Whether the value of an expression was made just now, or cannot be changed.
fn is_fresh(expression: &AstExpr) -> bool {
    match &expression.node {
        ExprP::Literal(literal) => !matches!(literal, AstLiteral::Ellipsis),
        ExprP::List(_)
        | ExprP::Dict(_)
        | ExprP::Tuple(_)
        | ExprP::ListComprehension(..)
        | ExprP::DictComprehension(..)
        | ExprP::FString(_)
        | ExprP::Not(_)
        | ExprP::Minus(_)
        | ExprP::Plus(_)
        | ExprP::BitNot(_) => true,
        ExprP::Op(_, op, _) => {
            // `and` and `or` hand on one of their sides.
            !matches!(op, BinOp::And | BinOp::Or)
        }
        ExprP::If(parts) => is_fresh(&parts.1) && is_fresh(&parts.2),
        ExprP::Call(function, _) => match &function.node {
            ExprP::Identifier(name) => MAKES_NEW.contains(&name.node.ident.as_str()),
            _ => false,
        },
        _ => false,
    }
}

/// What each name of a function is assigned, not counting functions inside it.
fn assigned<'a>(statement: &'a AstStmt, fresh: &mut HashMap<&'a str, bool>) {
    match &statement.node {
        StmtP::Assign(assign) => match &assign.lhs.node {
            AssignTargetP::Identifier(name) => {
                let so_far = fresh.entry(&name.node.ident).or_insert(true);
                *so_far &= is_fresh(&assign.rhs);
            }
            _ => not_fresh(&assign.lhs, fresh),
        },
        StmtP::For(each) => {
            not_fresh(&each.var, fresh);
            assigned(&each.body, fresh);
        }
        StmtP::Def(def) => {
            fresh.insert(&def.name.node.ident, false);
        }
        StmtP::Statements(statements) => {
            for statement in statements {
                assigned(statement, fresh);
            }
        }
        StmtP::If(_, then) => assigned(then, fresh),
        StmtP::IfElse(_, branches) => {
            assigned(&branches.0, fresh);
            assigned(&branches.1, fresh);
        }
        _ => {}
    }
}

fn not_fresh<'a>(target: &'a AstAssignTarget, fresh: &mut HashMap<&'a str, bool>) {
    match &target.node {
        AssignTargetP::Tuple(targets) => {
            for target in targets {
                not_fresh(target, fresh);
            }
        }
        AssignTargetP::Identifier(name) => {
            fresh.insert(&name.node.ident, false);
        }
        AssignTargetP::Index(_) | AssignTargetP::Dot(..) => {}
    }
}

/// Whether code binds one of these names anywhere.
fn binds_any(statement: &AstStmt, names: &[&str]) -> bool {
    let scope = match &statement.node {
        StmtP::Def(def) => Scope::of_function(&def.params, &def.body),
        _ => Scope::of_statement(statement),
    };
    let mut found = names.iter().any(|name| scope.names.contains(name));
    statement.node.visit_stmt(|inner| found = found || binds_any(inner, names));
    found
}

fn for_each_function<'a>(statement: &'a AstStmt, found: &mut dyn FnMut(&'a AstStmt)) {
    match &statement.node {
        StmtP::Def(def) => found(&def.body),
        _ => statement.node.visit_stmt(|inner| for_each_function(inner, found)),
    }
}

fn lines_of(statement: &AstStmt, codemap: &CodeMap, lines: &mut BTreeSet<usize>) {
    let counts = match &statement.node {
        // Nothing is executed for these.
        StmtP::Statements(_) | StmtP::Pass => false,
        StmtP::Expression(expression) => !matches!(expression.node, ExprP::Literal(_)),
        _ => true,
    };
    if counts {
        lines.insert(codemap.find_line(statement.span.begin()) + 1);
    }
    statement.node.visit_stmt(|inner| lines_of(inner, codemap, lines));
}
