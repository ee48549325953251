//! Calls of built-ins, held against what they take.

use starlark_syntax::codemap::Span;
use starlark_syntax::syntax::ast::{ArgumentP, AstArgument};

use super::names::{Signature, nearest, quoted};
use super::problem::{Problem, ProblemKind, range};

/// What is certainly wrong with the arguments of a call.
pub(super) fn check(
    function: &str,
    signature: &Signature,
    arguments: &[AstArgument],
    place: Span,
) -> Option<Problem> {
    let wrong = |span: Span, message: String| {
        Problem::new(ProblemKind::WrongArity, range(span), message)
            .help(format!("it is `{}`", written(function, signature)))
            .about(function)
    };
    let name = quoted(function);
    let mut by_place = 0;
    let mut by_name: Vec<&str> = Vec::new();
    // What comes by `*` or `**` is not known before it runs.
    let mut unknown = false;
    for argument in arguments {
        match &argument.node {
            ArgumentP::Positional(_) => {
                by_place += 1;
                if by_place > signature.parameters.len() && !signature.rest {
                    let most = match signature.parameters.len() {
                        0 => "takes no arguments".to_owned(),
                        1 => "takes one argument".to_owned(),
                        most => format!("takes at most {most} arguments"),
                    };
                    return Some(wrong(argument.span, format!("{name} {most}")));
                }
            }
            ArgumentP::Named(given, _) => {
                let known = signature.parameters.contains(&given.node.as_str());
                if !known && !signature.fields {
                    let message = format!("{name} has no parameter {}", quoted(&given.node));
                    let problem = wrong(given.span, message);
                    let meant = nearest(&given.node, signature.parameters.iter().copied());
                    return Some(match meant {
                        Some(meant) => problem.help(format!("did you mean `{meant}`?")),
                        None => problem,
                    });
                }
                by_name.push(&given.node);
            }
            ArgumentP::Args(_) | ArgumentP::KwArgs(_) => unknown = true,
        }
    }
    if unknown {
        return None;
    }
    let missing = signature
        .parameters
        .iter()
        .take(signature.required)
        .skip(by_place)
        .find(|parameter| !by_name.contains(parameter))?;
    Some(wrong(place, format!("{name} needs {}", quoted(missing))))
}

/// A signature as people write it.
fn written(function: &str, signature: &Signature) -> String {
    let mut parameters: Vec<String> =
        signature
            .parameters
            .iter()
            .enumerate()
            .map(|(place, name)| {
                if place < signature.required { (*name).to_owned() } else { format!("{name}=…") }
            })
            .collect();
    if signature.rest {
        parameters.push("…".to_owned());
    }
    if signature.fields {
        parameters.push("name=value…".to_owned());
    }
    format!("{function}({})", parameters.join(", "))
}
