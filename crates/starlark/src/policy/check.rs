//! What is wrong with a policy file, said without running it.

use starlark_syntax::codemap::Spanned;
use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{ArgumentP, AstArgument, AstExpr, ExprP, ParameterP};

use crate::analysis::problem::range;
use crate::analysis::{
    Attribute, BuiltIn, Names, Problem, ProblemKind, Signature, WHEN, errors, parse,
};

/// What is said to whoever gives a handler.
pub(super) const NO_HANDLERS: &str = "a file has no handlers, the host asks: leave out `handler`";

/// Everything that is wrong with a file, in the order of its text.
pub(crate) fn check(text: &str) -> Result<AstModule, Vec<Problem>> {
    let ast = parse(text).map_err(|problem| vec![no_import(problem, text)])?;
    let mut problems = names_and_calls(text);
    each_builder_call(&ast, &mut |builder, arguments| {
        problems.extend(handler(builder, arguments));
        problems.extend(arity(builder, arguments));
        problems.extend(buried(builder, arguments));
    });
    if problems.is_empty() {
        return Ok(ast);
    }
    // Of an unknown function that is given as a handler it is enough to say the latter.
    let handlers: Vec<_> = problems
        .iter()
        .filter(|problem| problem.message == NO_HANDLERS)
        .map(|problem| problem.range.clone())
        .collect();
    problems.retain(|problem| {
        problem.kind != ProblemKind::UnknownName
            || !handlers.iter().any(|handler| {
                handler.start <= problem.range.start && problem.range.end <= handler.end
            })
    });
    problems.sort_by_key(|problem| (problem.range.start, problem.range.end));
    Err(problems)
}

/// The line that the original begins with means nothing here.
fn no_import(problem: Problem, text: &str) -> Problem {
    let word = text.get(problem.range.clone()).unwrap_or_default();
    if problem.kind == ProblemKind::Syntax && matches!(word, "import" | "from") {
        return Problem::new(problem.kind, problem.range, "a policy file has no imports")
            .help("drop this line, `policy` is built in");
    }
    problem
}

/// Unknown names and attributes, calls that cannot be right, and what is not allowed.
fn names_and_calls(text: &str) -> Vec<Problem> {
    let mut problems = errors(text, &PolicyNames);
    problems.retain(|problem| match problem.kind {
        // These are about hooks, which have a function that is called.
        ProblemKind::NoHandle | ProblemKind::HandleArity | ProblemKind::NoDecision => false,
        // Rules are made outside functions.
        ProblemKind::NotAllowed => !problem.message.ends_with(" outside a function"),
        _ => true,
    });
    problems
}

fn handler(builder: &str, arguments: &[AstArgument]) -> Option<Problem> {
    let given = argument(builder, "handler", arguments)?;
    if matches!(&given.node, ExprP::Identifier(name) if name.node.ident == "None") {
        return None;
    }
    Some(Problem::new(ProblemKind::NotAllowed, range(given.span), NO_HANDLERS).about("handler"))
}

/// A condition that is written where it is given is called with the arguments and nothing else.
fn arity(builder: &str, arguments: &[AstArgument]) -> Option<Problem> {
    let given = argument(builder, "when", arguments)?;
    let ExprP::Lambda(lambda) = &given.node else { return None };
    let mut takes_one = false;
    let mut needs = 0;
    for (place, parameter) in lambda.params.iter().enumerate() {
        match &parameter.node {
            ParameterP::Normal(_, _, default) => {
                takes_one |= place == 0;
                needs += usize::from(default.is_none());
            }
            ParameterP::Args(..) => takes_one = true,
            ParameterP::NoArgs | ParameterP::KwArgs(..) | ParameterP::Slash => {}
        }
    }
    (!takes_one || needs > 1).then(|| {
        let message = "`when` is called with one argument, the arguments of the call";
        Problem::new(ProblemKind::WrongArity, range(given.span), message)
            .help("write `lambda args: …`")
    })
}

/// A condition on what a call does is one by itself. In another one it would be a value, which is
/// always true.
fn buried(builder: &str, arguments: &[AstArgument]) -> Option<Problem> {
    let given = argument(builder, "when", arguments)?;
    let ExprP::Lambda(lambda) = &given.node else { return None };
    let name = does_inside(&lambda.body)?;
    let message = format!("`{}` is a condition by itself", name.node);
    let help = format!("write `when = {}(…)`", name.node);
    Some(Problem::new(ProblemKind::NotAllowed, range(name.span), message).help(help))
}

fn does_inside(expression: &AstExpr) -> Option<Spanned<&str>> {
    if let Some((name, _)) = does_call(expression) {
        return Some(Spanned { span: expression.span, node: name });
    }
    let mut found = None;
    expression.visit_expr(|part| found = found.take().or_else(|| does_inside(part)));
    found
}

/// The name and the arguments, where an expression is `writes_under(…)` or one of its kin.
pub(super) fn does_call(expression: &AstExpr) -> Option<(&str, &[AstArgument])> {
    let ExprP::Call(function, arguments) = &expression.node else { return None };
    let ExprP::Identifier(name) = &function.node else { return None };
    let name = DOES.iter().find(|does| does.name == name.node.ident)?.name;
    Some((name, arguments.args.as_slice()))
}

/// Calls for each call of a builder that is written as one: its name, and what it is given.
pub(super) fn each_builder_call<'a>(
    ast: &'a AstModule,
    each: &mut dyn FnMut(&'a str, &'a [AstArgument]),
) {
    ast.statement().visit_expr(|expression| walk(expression, each));
}

fn walk<'a>(expression: &'a AstExpr, each: &mut dyn FnMut(&'a str, &'a [AstArgument])) {
    if let Some((builder, arguments)) = builder_call(expression) {
        each(builder, arguments);
    }
    expression.visit_expr(|part| walk(part, each));
}

/// The builder and its arguments, where an expression is `policy.builder(…)`.
pub(super) fn builder_call(expression: &AstExpr) -> Option<(&str, &[AstArgument])> {
    let ExprP::Call(function, arguments) = &expression.node else { return None };
    let ExprP::Dot(of, builder) = &function.node else { return None };
    let ExprP::Identifier(of) = &of.node else { return None };
    (of.node.ident == POLICY.name).then_some((builder.node.as_str(), arguments.args.as_slice()))
}

/// What a builder is given for a parameter.
pub(super) fn argument<'a>(
    builder: &str,
    parameter: &str,
    arguments: &'a [AstArgument],
) -> Option<&'a AstExpr> {
    let builder = POLICY.attributes.iter().find(|attribute| attribute.name == builder)?;
    let place = builder.call.parameters.iter().position(|name| *name == parameter)?;
    let named = arguments.iter().find_map(|argument| match &argument.node {
        ArgumentP::Named(name, value) if name.node == parameter => Some(value),
        _ => None,
    });
    let mut by_place = arguments.iter().map_while(|argument| match &argument.node {
        ArgumentP::Positional(value) => Some(value),
        _ => None,
    });
    named.or_else(|| by_place.nth(place))
}

/// Whether a builder is given something for one parameter by its place and by its name.
pub(super) fn is_given_twice(builder: &str, arguments: &[AstArgument]) -> bool {
    let builder = POLICY.attributes.iter().find(|attribute| attribute.name == builder);
    let parameters = builder.map_or(&[][..], |builder| builder.call.parameters);
    let by_place = arguments.iter().filter(|it| matches!(it.node, ArgumentP::Positional(_)));
    let by_place = parameters.get(..by_place.count()).unwrap_or(parameters);
    arguments.iter().any(|argument| match &argument.node {
        ArgumentP::Named(name, _) => by_place.contains(&name.node.as_str()),
        _ => false,
    })
}

/// Whether there is a builder of this name.
pub(super) fn is_builder(name: &str) -> bool {
    POLICY.attributes.iter().any(|attribute| attribute.name == name)
}

/// Whether a global name of scripts is one of policy files too.
pub(super) fn is_known(name: &str) -> bool {
    name != POLICY.name && PolicyNames.find(name).is_some()
}

/// The names of policy files: what computes, and `policy`.
struct PolicyNames;

impl Names for PolicyNames {
    fn find(&self, name: &str) -> Option<&'static BuiltIn> {
        if name == POLICY.name {
            return Some(&POLICY);
        }
        if let Some(does) = DOES.iter().find(|does| does.name == name) {
            return Some(does);
        }
        WHEN.find(name).filter(|built_in| !ABOUT_EVENTS.contains(&built_in.name))
    }

    fn names(&self) -> Vec<&'static str> {
        let mut names = WHEN.names();
        names.retain(|name| !ABOUT_EVENTS.contains(name));
        names.push(POLICY.name);
        names.extend(DOES.iter().map(|does| does.name));
        names
    }
}

/// What conditions of hooks are given, and what is made of it.
const ABOUT_EVENTS: &[&str] = &["event", "payload", "effects"];

/// Conditions on what a call does.
static DOES: [BuiltIn; 4] = [
    does("writes_under", &["path", "unknown"], 1),
    does("reads_under", &["path", "unknown"], 1),
    does("deletes_under", &["path", "unknown"], 1),
    does("reaches_network", &["unknown"], 0),
];

const fn does(name: &'static str, parameters: &'static [&'static str], required: usize) -> BuiltIn {
    let call = Some(Signature { parameters, required, rest: false, fields: false });
    BuiltIn { name, call, attributes: &[], acts: false }
}

static POLICY: BuiltIn = BuiltIn {
    name: "policy",
    call: None,
    attributes: &[
        builder("allow", &["tool", "when", "reason", "name"], 1),
        builder("deny", &["tool", "when", "reason", "name"], 1),
        builder("ask_user", &["tool", "handler", "when", "reason", "name"], 1),
        builder("allow_all", &[], 0),
        builder("deny_all", &[], 0),
        builder("allow_mcp", &["server", "tools"], 1),
        builder("deny_mcp", &["server", "tools"], 1),
        builder("ask_user_mcp", &["server", "tools", "handler"], 1),
        builder("confirm_run_command", &["handler"], 0),
        builder("workspace_only", &["roots"], 1),
        builder("safe_defaults", &["handler"], 0),
        builder("enforce", &["rules"], 1),
    ],
    acts: false,
};

const fn builder(
    name: &'static str,
    parameters: &'static [&'static str],
    required: usize,
) -> Attribute {
    Attribute { name, call: Signature { parameters, required, rest: false, fields: false } }
}

#[cfg(test)]
pub(super) fn builders() -> impl Iterator<Item = &'static Attribute> {
    POLICY.attributes.iter()
}
