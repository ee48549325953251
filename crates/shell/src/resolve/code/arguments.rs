//! The arguments of a call, as far as they are literals.

use super::lexer::Token;
use crate::value::{Part, Value};

/// An argument of a call.
#[derive(Debug)]
pub(super) enum Argument {
    Text(Value),
    List(Vec<Value>),
    /// `name=value`
    Keyword,
    Other,
}

impl Argument {
    pub(super) fn path(&self) -> Option<Value> {
        match self {
            Self::Text(text) => Some(text.clone()),
            Self::List(_) | Self::Keyword => None,
            Self::Other => Some(Value::unknown()),
        }
    }
}

/// The arguments of a call, from behind its name on.
pub(super) fn arguments(after: &[Token]) -> Vec<Argument> {
    let mut arguments = Vec::new();
    let mut current: Vec<&Token> = Vec::new();
    let bracketed = after.first() == Some(&Token::Sign('('));
    let mut depth = 0_usize;
    for token in after.iter().skip(usize::from(bracketed)) {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') if depth == 0 => break,
            Token::Sign(')' | ']' | '}') => depth -= 1,
            Token::Sign(';' | '\n') if depth == 0 && !bracketed => break,
            Token::Sign(',') if depth == 0 => {
                arguments.push(argument(&current));
                current.clear();
                continue;
            }
            _ => {}
        }
        current.push(token);
        if current.len() > 4096 {
            break;
        }
    }
    if !current.is_empty() {
        arguments.push(argument(&current));
    }
    arguments
}

fn argument(tokens: &[&Token]) -> Argument {
    let tokens: Vec<&Token> =
        tokens.iter().copied().filter(|token| **token != Token::Sign('\n')).collect();
    match tokens.as_slice() {
        [Token::Name(_), Token::Sign('=' | ':'), ..] | [Token::Sign('{'), ..] => Argument::Keyword,
        [Token::Sign('['), inner @ .., Token::Sign(']')] => {
            let mut items = Vec::new();
            for item in inner.split(|token| **token == Token::Sign(',')) {
                if !item.is_empty() {
                    items.push(text_of(item).unwrap_or_else(Value::unknown));
                }
            }
            Argument::List(items)
        }
        tokens => text_of(tokens).map_or(Argument::Other, Argument::Text),
    }
}

/// Literals, joined; what stands between them is not known.
fn text_of(tokens: &[&Token]) -> Option<Value> {
    let mut value = Value::default();
    let mut any = false;
    for token in tokens {
        match token {
            Token::Text(text) => {
                value.append(text);
                any = true;
            }
            Token::Sign('+' | '.' | '(' | ')') => {}
            _ => value.push(Part::Unknown),
        }
    }
    any.then_some(value)
}
