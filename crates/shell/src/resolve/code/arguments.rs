//! The arguments of a call, as far as they are literals.

use super::lexer::Token;
use crate::effects::location;
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

/// Literals, joined, with the home where code asks for it; what else stands between them is not known.
fn text_of(tokens: &[&Token]) -> Option<Value> {
    let mut value = Value::default();
    let mut any = false;
    let mut joins = false;
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token {
            Token::Text(text) if value.is_empty() && text.prefix().starts_with('~') => {
                value.append(&location::from_text(text.prefix()));
                any = true;
            }
            Token::Text(text) => {
                value.append(text);
                any = true;
            }
            // `require('os').homedir()`
            Token::Name(name) if name == "require" => at += 3,
            Token::Name(name) if is_home(name) => {
                value.push(Part::Home);
                any = true;
            }
            // `os.environ["HOME"]`, `getenv("HOME")`, `ENV.fetch('HOME')`
            Token::Name(name) if reads_variable(name) => {
                let named = tokens.get(at..).unwrap_or_default().iter().take(2);
                let mut named = named.filter_map(|token| match token {
                    Token::Text(text) => text.known(),
                    _ => None,
                });
                let part =
                    if named.next_back() == Some("HOME") { Part::Home } else { Part::Unknown };
                any |= part == Part::Home;
                value.push(part);
                at += 2;
            }
            Token::Name(name) if is_path(name) => joins |= last(name) == "join",
            Token::Sign(',') if joins => value.push_str("/"),
            Token::Sign('+' | '.' | '(' | ')' | ']') => {}
            _ => value.push(Part::Unknown),
        }
    }
    any.then_some(value)
}

fn last(name: &str) -> &str {
    name.rsplit(['.', ':']).next().unwrap_or(name)
}

/// True for what stands for the home of a person.
fn is_home(name: &str) -> bool {
    matches!(last(name), "homedir" | "home_dir")
        || name.ends_with("Path.home")
        || name.ends_with("Dir.home")
        || name.ends_with("env.HOME")
}

/// True for what reads a variable of the environment.
fn reads_variable(name: &str) -> bool {
    matches!(last(name), "environ" | "getenv" | "ENV" | "fetch" | "env")
        && !name.contains("requests")
}

/// True for what makes a path of its arguments, or of a text.
fn is_path(name: &str) -> bool {
    matches!(
        last(name),
        "join"
            | "expanduser"
            | "Path"
            | "PosixPath"
            | "abspath"
            | "realpath"
            | "expand_path"
            | "resolve"
            | "str"
            | "path"
            | "os"
            | "require"
            | "joinpath"
    )
}
