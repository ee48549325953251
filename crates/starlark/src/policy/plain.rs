//! Files that need no Starlark to be loaded: nothing but rules with constants, one after the other, whose conditions are
//! written where they are. Their rules can be told from the text; everything else is left to the language, which then
//! also says what is wrong.

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AstArgument, AstExpr, AstLiteral, AstParameter, AstStmt, ExprP, ParameterP, StmtP,
};

use super::builders::is_plain;
use super::check::{argument, builder_call, does_call, is_given_twice};
use super::{Does, Effect, LARGEST_RULES, MOST_RULES, RuleSpec};
use crate::analysis::problem::range;

/// The rules of a file that was checked, where its text tells them.
pub(crate) fn specs(ast: &AstModule) -> Option<Vec<RuleSpec>> {
    let mut file = File::default();
    file.statement(ast.statement())?;
    let size: usize = file.specs.iter().map(RuleSpec::size).sum();
    (file.specs.len() <= MOST_RULES && size <= LARGEST_RULES).then_some(file.specs)
}

#[derive(Default)]
struct File {
    specs: Vec<RuleSpec>,
    conditions: usize,
}

impl File {
    fn statement(&mut self, statement: &AstStmt) -> Option<()> {
        match &statement.node {
            StmtP::Statements(all) => {
                all.iter().try_for_each(|statement| self.statement(statement))
            }
            StmtP::Pass => Some(()),
            StmtP::Expression(text) if constant_text(text).is_some() => Some(()),
            StmtP::Expression(call) => {
                let (builder, arguments) = builder_call(call)?;
                let spec = self.rule(builder, arguments, range(call.span).start)?;
                self.specs.push(spec);
                Some(())
            }
            _ => None,
        }
    }

    fn rule(&mut self, builder: &str, arguments: &[AstArgument], at: usize) -> Option<RuleSpec> {
        let is_given = |argument: &AstArgument| {
            matches!(argument.node, ArgumentP::Positional(_) | ArgumentP::Named(..))
        };
        // Given twice, an argument raises.
        if !arguments.iter().all(is_given) || is_given_twice(builder, arguments) {
            return None;
        }
        let given = |name: &str| argument(builder, name, arguments).filter(|it| !is_none(it));
        if given("handler").is_some() {
            return None;
        }
        let optional = |name: &str| given(name).map_or(Some(String::new()), constant_text);
        Some(match builder {
            "allow" | "deny" | "ask_user" => {
                let effect = effect(builder)?;
                let tool = constant_text(given("tool")?)?;
                let (reason, name) = (optional("reason")?, optional("name")?);
                let (when, does) = match given("when") {
                    None => (None, None),
                    Some(when) if is_plain_condition(when) => {
                        self.conditions += 1;
                        (Some(self.conditions - 1), None)
                    }
                    // To allow by it is an error, which the language tells.
                    Some(when) if effect != Effect::Allow => (None, Some(does(when)?)),
                    Some(_) => return None,
                };
                RuleSpec::Rule { effect, tool, when, does, reason, name, at }
            }
            "allow_mcp" | "deny_mcp" | "ask_user_mcp" => {
                let effect = effect(builder.strip_suffix("_mcp")?)?;
                let server = constant_text(given("server")?)?;
                let tools = match given("tools") {
                    None => None,
                    Some(tools) => Some(constant_texts(tools)?),
                };
                RuleSpec::Mcp { effect, server, tools, at }
            }
            "allow_all" => RuleSpec::AllowAll { at },
            "deny_all" => RuleSpec::DenyAll { at },
            "confirm_run_command" => RuleSpec::ConfirmRunCommand { at },
            "safe_defaults" => RuleSpec::SafeDefaults { at },
            "workspace_only" => {
                let roots = given("roots")?;
                let roots = match constant_text(roots) {
                    Some(root) => vec![root],
                    None => constant_texts(roots)?,
                };
                let plain = roots.iter().all(|root| is_plain(root));
                plain.then_some(RuleSpec::WorkspaceOnly { roots, at })?
            }
            _ => return None,
        })
    }
}

/// Whether it is a function that nothing has to be computed for: defaults are, when it is made.
fn is_plain_condition(when: &AstExpr) -> bool {
    let ExprP::Lambda(lambda) = &when.node else { return false };
    let is_plain =
        |parameter: &AstParameter| matches!(parameter.node, ParameterP::Normal(_, None, None));
    lambda.params.iter().all(is_plain)
}

/// A condition on what a call does, where it has nothing but constants.
fn does(when: &AstExpr) -> Option<Does> {
    let (function, arguments) = does_call(when)?;
    let has_path = function != "reaches_network";
    let (mut path, mut unknown) = (None, None);
    for (place, argument) in arguments.iter().enumerate() {
        let (name, value) = match &argument.node {
            ArgumentP::Positional(value) if place == 0 && has_path => ("path", value),
            ArgumentP::Positional(value) if place == usize::from(has_path) => ("unknown", value),
            ArgumentP::Named(name, value) => (name.node.as_str(), value),
            _ => return None,
        };
        let given = match name {
            "path" if has_path => &mut path,
            "unknown" => &mut unknown,
            _ => return None,
        };
        // Given twice, an argument raises.
        if given.replace(constant_text(value)?).is_some() {
            return None;
        }
    }
    Does::plain(function, path.as_deref(), unknown.as_deref().unwrap_or("ask"))
}

fn effect(builder: &str) -> Option<Effect> {
    match builder {
        "allow" => Some(Effect::Allow),
        "deny" => Some(Effect::Deny),
        "ask_user" => Some(Effect::Ask),
        _ => None,
    }
}

fn is_none(expression: &AstExpr) -> bool {
    matches!(&expression.node, ExprP::Identifier(name) if name.node.ident == "None")
}

fn constant_text(expression: &AstExpr) -> Option<String> {
    match &expression.node {
        ExprP::Literal(AstLiteral::String(text)) => Some(text.node.clone()),
        _ => None,
    }
}

fn constant_texts(expression: &AstExpr) -> Option<Vec<String>> {
    match &expression.node {
        ExprP::List(items) | ExprP::Tuple(items) if items.len() <= MOST_RULES => {
            items.iter().map(constant_text).collect()
        }
        _ => None,
    }
}
