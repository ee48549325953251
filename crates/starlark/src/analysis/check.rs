//! What is wrong with a script.

mod handle;

use std::ops::Range;

use starlark_syntax::codemap::{Span, Spanned};
use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignTargetP, AstAssignTarget, AstExpr, AstLiteral, AstParameter, AstStmt,
    AstTypeExpr, ClauseP, DefP, ExprP, ForClause, ParameterP, StmtP,
};

use super::bounded::{Bounded, bounded, bounded_expression};
use super::calls;
use super::condition::Condition;
use super::facts::Facts;
use super::names::{BuiltIn, Names, SCRIPT, nearest, quoted};
use super::native::Native;
use super::parse;
use super::problem::{Problem, ProblemKind, range};
use super::scope::{NoPayload, Scope};

/// A script without errors.
#[derive(Debug)]
pub struct Checked {
    /// Its syntax tree, to be compiled.
    pub ast: AstModule,
    /// What deserves a look.
    pub warnings: Vec<Problem>,
    /// What it uses and does.
    pub facts: Facts,
    /// Where it asks a person first: only some events have something to ask about.
    pub asks: Option<Range<usize>>,
    /// Whether it may run in process.
    pub bounded: Bounded,
    /// Its native form, where it has one.
    pub(crate) native: Option<Native>,
}

/// A condition without errors.
#[derive(Debug)]
pub struct CheckedWhen {
    /// Its syntax tree, to be compiled where there is no native form.
    pub ast: AstModule,
    /// Its native form, where it has one.
    pub condition: Option<Condition>,
    /// What it uses and does.
    pub facts: Facts,
    /// Whether it may run in process.
    pub bounded: Bounded,
}

/// Checks a hook's script: everything that is wrong with it, warnings among it, in the order of the text.
///
/// ```
/// use tollgate_starlark::analysis::{SCRIPT, check_script};
///
/// let script = "def handle(event, payload):\n    if payload.get(\"name\") == \"rm\":\n        return block(\"no\")\n";
/// let checked = check_script(script, &SCRIPT).unwrap();
/// assert_eq!(checked.warnings[0].message, "`handle` can end without a decision");
/// ```
pub fn check_script(text: &str, names: &dyn Names) -> Result<Checked, Vec<Problem>> {
    let Right { ast, warnings, asks } = right(text, names)?;
    let facts = Facts::of_script(&ast, names);
    let bounded = bounded(&ast, names);
    let native = Native::of(&ast);
    Ok(Checked { ast, warnings, facts, asks, bounded, native })
}

/// The native form of a script, where it has one and nothing is wrong with it, and whether it asks a person. This is
/// what a program looks at first that is started for one event: what else there is to know takes longer.
pub(crate) fn native_alone(text: &str) -> Option<(Native, bool)> {
    let Right { ast, asks, .. } = right(text, &SCRIPT).ok()?;
    Some((Native::of(&ast)?, asks.is_some()))
}

/// What is wrong with a script, warnings among it; nothing where it has no errors.
pub(crate) fn errors(text: &str, names: &dyn Names) -> Vec<Problem> {
    right(text, names).err().unwrap_or_default()
}

/// A script with nothing wrong in it.
struct Right {
    ast: AstModule,
    warnings: Vec<Problem>,
    asks: Option<Range<usize>>,
}

fn right(text: &str, names: &dyn Names) -> Result<Right, Vec<Problem>> {
    let ast = parse(text).map_err(|problem| vec![problem])?;
    let mut walk = Walk::new(names);
    walk.module(ast.statement());
    walk.handle(ast.statement(), text);
    let asks = walk.asks.take();
    let problems = walk.sorted();
    if problems.iter().any(|problem| !problem.kind.is_warning()) {
        return Err(problems);
    }
    Ok(Right { ast, warnings: problems, asks })
}

/// Checks a condition: one expression over `payload` and `event`.
///
/// ```
/// use tollgate_starlark::analysis::{WHEN, check_when};
///
/// let checked = check_when("payload[\"name\"] == \"run_command\"", &WHEN).unwrap();
/// assert!(checked.condition.is_some());
/// assert!(check_when("x = 1", &WHEN).is_err());
/// ```
pub fn check_when(text: &str, names: &dyn Names) -> Result<CheckedWhen, Vec<Problem>> {
    let ast = parse_condition(text).map_err(|problem| vec![problem])?;
    let expression = match &ast.statement().node {
        StmtP::Expression(expression) => expression,
        other => {
            let message = match other {
                StmtP::Statements(statements) if statements.is_empty() => "a condition is empty",
                StmtP::Statements(_) => "a condition is one expression, and this is several lines",
                StmtP::Assign(_) | StmtP::AssignModify(..) => {
                    "a condition is one expression, and this is an assignment"
                }
                _ => "a condition is one expression, and this is a statement",
            };
            let place = range(ast.statement().span);
            let problem = Problem::new(ProblemKind::NotAnExpression, place, message)
                .help("write what must be true, such as `payload[\"name\"] == \"run_command\"`");
            return Err(vec![problem]);
        }
    };
    let mut walk = Walk::new(names);
    walk.functions = 1;
    walk.expression(expression);
    let problems = walk.sorted();
    if !problems.is_empty() {
        return Err(problems);
    }
    let facts = Facts::of_expression(expression, names);
    let bounded = bounded_expression(expression, names);
    let condition = Condition::of_expression(expression);
    Ok(CheckedWhen { ast, condition, facts, bounded })
}

/// A condition may stand on several lines: it is one expression, whatever its line breaks.
fn parse_condition(text: &str) -> Result<AstModule, Problem> {
    let whole = parse(text);
    let Err(problem) = whole else { return whole };
    if let Some(rest) = text.trim_start().strip_prefix("return")
        && rest.starts_with(char::is_whitespace)
    {
        let start = text.len() - text.trim_start().len();
        let message = "a condition is one expression, and this is a statement";
        let place = start..start + "return".len();
        return Err(Problem::new(ProblemKind::NotAnExpression, place, message)
            .help("leave out `return`, and keep what is behind it"));
    }
    // Where a line break is part of a text, or ends a comment, it cannot be taken for a space.
    let is_plain = !text.contains('#') && !text.contains("\"\"\"") && !text.contains("'''");
    let in_one_line = || parse(&text.replace('\n', " "));
    if problem.kind == ProblemKind::Syntax && is_plain && text.trim().contains('\n') {
        return in_one_line().map_err(|_| problem);
    }
    Err(problem)
}

/// After so many problems nobody reads on.
const MOST_PROBLEMS: usize = 100;
/// A name is compared with so many others, to say which one was meant.
const MOST_COMPARED: usize = 500;

/// What a name stands for where it is used.
enum Meaning {
    Own,
    /// The payload, and nothing else.
    Payload,
    BuiltIn(&'static BuiltIn),
    Nothing,
}

struct Walk<'a> {
    names: &'a dyn Names,
    scopes: Vec<Scope<'a>>,
    problems: Vec<Problem>,
    asks: Option<Range<usize>>,
    /// How many functions this is inside of.
    functions: usize,
}

impl<'a> Walk<'a> {
    fn new(names: &'a dyn Names) -> Self {
        Walk { names, scopes: Vec::new(), problems: Vec::new(), asks: None, functions: 0 }
    }

    fn sorted(self) -> Vec<Problem> {
        let mut problems = self.problems;
        problems.sort_by_key(|problem| (problem.range.start, problem.range.end));
        problems
    }

    fn report(&mut self, problem: Problem) {
        if self.problems.len() < MOST_PROBLEMS {
            self.problems.push(problem);
        }
    }

    fn not_allowed(&mut self, span: Span, message: &str, help: &str) {
        self.report(Problem::new(ProblemKind::NotAllowed, range(span), message).help(help));
    }

    /// A hook that gives `block` another meaning reads as a guard and is none.
    fn not_a_decision(&mut self, name: &str, span: Span) {
        if matches!(name, "allow" | "block" | "ask" | "modify") && self.names.find(name).is_some() {
            self.not_allowed(
                span,
                &format!("`{name}` is what a hook decides with, and cannot mean anything else"),
                "choose another name",
            );
        }
    }

    fn meaning(&self, name: &str) -> Meaning {
        for scope in self.scopes.iter().rev() {
            if scope.names.contains(name) {
                let payload = scope.payload == Some(name);
                return if payload { Meaning::Payload } else { Meaning::Own };
            }
        }
        match self.names.find(name) {
            Some(built_in) if built_in.name == "payload" => Meaning::Payload,
            Some(built_in) => Meaning::BuiltIn(built_in),
            None => Meaning::Nothing,
        }
    }

    fn unknown_name(&mut self, name: &str, span: Span) {
        let problem =
            Problem::new(ProblemKind::UnknownName, range(span), format!("`{name}` is not defined"));
        if self.problems.len() >= MOST_PROBLEMS {
            return;
        }
        let own = self.scopes.iter().rev().flat_map(|scope| scope.names.iter().copied());
        let meant = nearest(name, self.names.names().into_iter().chain(own.take(MOST_COMPARED)));
        let problem = match (meant, elsewhere(name)) {
            (_, Some(help)) => problem.help(help),
            (Some(meant), None) => problem.help(format!("did you mean `{meant}`?")),
            (None, None) => problem,
        };
        self.report(problem.about(name));
    }

    // Statements

    fn module(&mut self, statement: &'a AstStmt) {
        self.scopes.push(Scope::of_statement(statement));
        self.statement(statement);
    }

    fn statement(&mut self, statement: &'a AstStmt) {
        let outside = self.functions == 0;
        match &statement.node {
            StmtP::Break | StmtP::Continue | StmtP::Pass | StmtP::Return(None) => {}
            StmtP::Return(Some(value)) | StmtP::Expression(value) => self.expression(value),
            StmtP::Assign(assign) => {
                self.type_expression(assign.ty.as_ref());
                self.expression(&assign.rhs);
                self.target(&assign.lhs);
            }
            StmtP::AssignModify(target, _, value) => {
                self.target(target);
                self.expression(value);
            }
            StmtP::Statements(statements) => {
                for statement in statements {
                    self.statement(statement);
                }
            }
            StmtP::If(condition, then) => {
                if outside {
                    self.outside(statement.span, "if");
                }
                self.expression(condition);
                self.statement(then);
            }
            StmtP::IfElse(condition, branches) => {
                if outside {
                    self.outside(statement.span, "if");
                }
                self.expression(condition);
                self.statement(&branches.0);
                self.statement(&branches.1);
            }
            StmtP::For(each) => {
                if outside {
                    self.outside(statement.span, "for");
                }
                self.expression(&each.over);
                self.target(&each.var);
                self.statement(&each.body);
            }
            StmtP::Def(def) => {
                self.not_a_decision(&def.name.node.ident, def.name.span);
                self.function(def);
            }
            StmtP::Load(load) => self.not_allowed(
                load.module.span,
                "scripts cannot `load` other files",
                "scripts stand alone: what they need is built in",
            ),
        }
    }

    /// A statement that stands outside functions. Only its first word is marked: the rest may be long.
    fn outside(&mut self, span: Span, word: &str) {
        let start = span.begin().get() as usize;
        let problem = Problem::new(
            ProblemKind::NotAllowed,
            start..start + word.len(),
            format!("`{word}` outside a function"),
        );
        self.report(problem.help("put it into `handle`, or into a function that it calls"));
    }

    fn function(&mut self, def: &'a DefP<NoPayload>) {
        self.type_expression(def.return_type.as_deref());
        self.parameters(&def.params);
        let mut scope = Scope::of_function(&def.params, &def.body);
        if self.functions == 0 && def.name.node.ident == "handle" {
            let second = def.params.get(1).and_then(|parameter| parameter.node.ident());
            let body = Scope::of_statement(&def.body);
            scope.payload = second
                .map(|name| name.node.ident.as_str())
                .filter(|name| !body.names.contains(name));
        }
        self.inside(scope, |walk| walk.statement(&def.body));
    }

    fn inside(&mut self, scope: Scope<'a>, then: impl FnOnce(&mut Self)) {
        self.scopes.push(scope);
        self.functions += 1;
        then(self);
        self.functions -= 1;
        self.scopes.pop();
    }

    fn parameters(&mut self, parameters: &'a [AstParameter]) {
        for parameter in parameters {
            match &parameter.node {
                ParameterP::Normal(_, ty, default) => {
                    self.type_expression(ty.as_deref());
                    if let Some(default) = default {
                        self.expression(default);
                    }
                }
                ParameterP::Args(_, ty) | ParameterP::KwArgs(_, ty) => {
                    self.type_expression(ty.as_deref());
                }
                ParameterP::Slash | ParameterP::NoArgs => {}
            }
        }
    }

    fn type_expression(&mut self, ty: Option<&AstTypeExpr>) {
        if let Some(ty) = ty {
            self.not_allowed(ty.span, "types are not part of scripts", "leave it out");
        }
    }

    fn target(&mut self, target: &'a AstAssignTarget) {
        match &target.node {
            AssignTargetP::Tuple(targets) => {
                for target in targets {
                    self.target(target);
                }
            }
            AssignTargetP::Index(parts) => {
                self.expression(&parts.0);
                self.expression(&parts.1);
            }
            AssignTargetP::Dot(of, name) => self.dot(of, name),
            AssignTargetP::Identifier(name) => {
                self.not_a_decision(&name.node.ident, name.span);
            }
        }
    }

    // Expressions

    fn expression(&mut self, expression: &'a AstExpr) {
        match &expression.node {
            ExprP::Tuple(items) | ExprP::List(items) => {
                for item in items {
                    self.expression(item);
                }
            }
            ExprP::Dict(entries) => {
                for (key, value) in entries {
                    self.expression(key);
                    self.expression(value);
                }
            }
            ExprP::Dot(of, name) => self.dot(of, name),
            ExprP::Call(function, arguments) => {
                self.call(function, &arguments.args);
                self.expression(function);
                for argument in &arguments.args {
                    self.expression(argument.node.expr());
                }
            }
            ExprP::Index(parts) => {
                self.expression(&parts.0);
                self.expression(&parts.1);
            }
            ExprP::Slice(of, start, end, stride) => {
                self.expression(of);
                for part in [start, end, stride].into_iter().flatten() {
                    self.expression(part);
                }
            }
            ExprP::Identifier(name) => match self.meaning(&name.node.ident) {
                Meaning::Nothing => self.unknown_name(&name.node.ident, name.span),
                Meaning::BuiltIn(built_in) if built_in.name == "ask" => {
                    self.asks.get_or_insert_with(|| range(name.span));
                }
                _ => {}
            },
            ExprP::Lambda(lambda) => {
                self.parameters(&lambda.params);
                let mut scope = Scope::default();
                scope.parameters(&lambda.params);
                self.inside(scope, |walk| walk.expression(&lambda.body));
            }
            ExprP::Literal(AstLiteral::Ellipsis) => {
                self.not_allowed(expression.span, "`...` is not part of scripts", "write `pass`");
            }
            ExprP::Literal(_) => {}
            ExprP::Not(of) | ExprP::Minus(of) | ExprP::Plus(of) | ExprP::BitNot(of) => {
                self.expression(of);
            }
            ExprP::Op(left, _, right) => {
                self.expression(left);
                self.expression(right);
            }
            ExprP::If(parts) | ExprP::Index2(parts) => {
                self.expression(&parts.0);
                self.expression(&parts.1);
                self.expression(&parts.2);
            }
            ExprP::ListComprehension(item, first, rest) => {
                self.comprehension(first, rest, [item.as_ref()]);
            }
            ExprP::DictComprehension(entry, first, rest) => {
                self.comprehension(first, rest, [&entry.0, &entry.1]);
            }
            ExprP::FString(text) => {
                for part in &text.node.expressions {
                    self.expression(part);
                }
            }
        }
    }

    fn comprehension<const N: usize>(
        &mut self,
        first: &'a ForClause,
        rest: &'a [ClauseP<NoPayload>],
        items: [&'a AstExpr; N],
    ) {
        // What the first clause goes over does not see the variables yet.
        self.expression(&first.over);
        self.scopes.push(Scope::of_clauses(first, rest));
        self.target(&first.var);
        for clause in rest {
            match clause {
                ClauseP::For(clause) => {
                    self.expression(&clause.over);
                    self.target(&clause.var);
                }
                ClauseP::If(condition) => self.expression(condition),
            }
        }
        for item in items {
            self.expression(item);
        }
        self.scopes.pop();
    }

    fn dot(&mut self, of: &'a AstExpr, name: &Spanned<String>) {
        self.expression(of);
        let ExprP::Identifier(owner) = &of.node else { return };
        let owner = owner.node.ident.as_str();
        let problem = match self.meaning(owner) {
            Meaning::BuiltIn(built_in) => {
                let known = built_in.attributes.iter().map(|attribute| attribute.name);
                if built_in.attributes.is_empty() || known.clone().any(|it| it == name.node) {
                    return;
                }
                let help = match nearest(&name.node, known.clone()) {
                    Some(meant) => format!("did you mean `{owner}.{meant}`?"),
                    None => format!("it has {}", known.map(quoted).collect::<Vec<_>>().join(", ")),
                };
                Problem::new(
                    ProblemKind::UnknownAttribute,
                    range(name.span),
                    format!("`{owner}` has no `{}`", name.node),
                )
                .help(help)
            }
            Meaning::Payload if !DICT_METHODS.contains(&name.node.as_str()) => Problem::new(
                ProblemKind::UnknownAttribute,
                range(name.span),
                format!("`{owner}` is a dict, and has no `.{}`", name.node),
            )
            .help(format!("write `{owner}[\"{}\"]`", name.node)),
            Meaning::Payload | Meaning::Own | Meaning::Nothing => return,
        };
        self.report(problem.about(&name.node));
    }

    fn call(&mut self, function: &'a AstExpr, arguments: &'a [Spanned<ArgumentP<NoPayload>>]) {
        let (owner, attribute) = match &function.node {
            ExprP::Identifier(name) => (name, None),
            ExprP::Dot(of, attribute) => match &of.node {
                ExprP::Identifier(name) => (name, Some(attribute)),
                _ => return,
            },
            _ => return,
        };
        let Meaning::BuiltIn(built_in) = self.meaning(&owner.node.ident) else { return };
        if built_in.acts && self.functions == 0 {
            self.not_allowed(
                function.span,
                &format!("`{}` is called outside a function", built_in.name),
                "call it in `handle`: outside, there is no event",
            );
        }
        let (written, signature) = match attribute {
            Some(attribute) => {
                let known = built_in.attributes.iter().find(|it| it.name == attribute.node);
                let Some(known) = known else { return };
                (format!("{}.{}", built_in.name, known.name), Some(known.call))
            }
            None => (built_in.name.to_owned(), built_in.call),
        };
        let problem = if let Some(signature) = signature {
            calls::check(&written, &signature, arguments, function.span)
        } else {
            Some(not_a_function(built_in, function.span))
        };
        if let Some(problem) = problem {
            self.report(problem);
        }
    }
}

/// A call of something that cannot be called.
fn not_a_function(built_in: &BuiltIn, place: Span) -> Problem {
    let name = built_in.name;
    let known: Vec<String> =
        built_in.attributes.iter().map(|it| format!("`{name}.{}`", it.name)).collect();
    let message = format!("`{name}` is not a function");
    let problem = Problem::new(ProblemKind::WrongArity, range(place), message).about(name);
    if known.is_empty() { problem } else { problem.help(format!("call {}", known.join(" or "))) }
}

/// What dicts have.
const DICT_METHODS: &[&str] =
    &["clear", "get", "items", "keys", "pop", "popitem", "setdefault", "update", "values"];

/// Names that people bring from elsewhere.
fn elsewhere(name: &str) -> Option<&'static str> {
    Some(match name {
        "true" => "did you mean `True`?",
        "false" => "did you mean `False`?",
        "null" | "nil" | "none" => "did you mean `None`?",
        "deny" => "to refuse, `return block(\"why\")`",
        "isinstance" => "compare types: `type(x) == \"string\"`",
        "os" | "sys" | "exec" | "fs" | "open" | "subprocess" => {
            "scripts cannot reach files or processes; a tool can: `tools.call(name, args)`"
        }
        "requests" | "urllib" => "use `http.get` or `http.post`",
        "time" | "datetime" | "random" => "scripts have no clock and no chance",
        _ => return None,
    })
}
