//! A conversation as providers want it: checked, and with each result right behind its call.
//!
//! What one provider refuses, all refuse here, and before anything is sent. So a fault in a
//! conversation shows with a scripted model too, and not first with the provider that is strict.

use std::collections::{HashMap, HashSet};

use crate::error::ModelError;
use crate::message::{Call, Message, Request};

/// How many characters the name of a tool may have.
const LONGEST_NAME: usize = 64;
/// How many characters an id may have: what OpenAI takes.
const LONGEST_ID: usize = 40;

/// A step of a conversation.
#[derive(Debug, PartialEq)]
pub(crate) enum Turn<'a> {
    /// The program says something.
    System(&'a str),
    /// A person says something.
    User(&'a str),
    /// The model said something; what came of its calls, in their order.
    Model { text: &'a str, answered: Vec<Answered<'a>> },
}

/// A call and its result.
#[derive(Debug, PartialEq)]
pub(crate) struct Answered<'a> {
    pub(crate) call: &'a Call,
    /// The id for the wire: the call's own, if all providers take it.
    pub(crate) id: String,
    /// The name for the wire: the call's own, if all providers take it.
    pub(crate) name: String,
    pub(crate) content: &'a str,
    pub(crate) is_error: bool,
}

/// Whether all providers take this as the name of a tool.
pub(crate) fn is_name(name: &str) -> bool {
    is_word(name, LONGEST_NAME)
}

fn is_word(text: &str, longest: usize) -> bool {
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    (1..=longest).contains(&text.len()) && text.bytes().all(is_allowed)
}

/// The conversation of a request.
pub(crate) fn turns(request: &Request) -> Result<Vec<Turn<'_>>, ModelError> {
    check_tools(request)?;
    let is_system = |message: &Message| matches!(message, Message::System(_));
    match request.messages.iter().position(|message| !is_system(message)) {
        None => return Err(refuse("messages", "nobody has said anything to the model")),
        Some(first) if matches!(request.messages.get(first), Some(Message::Assistant { .. })) => {
            let why = "the model cannot have spoken first; put a message of the person before it";
            return Err(refuse(&format!("messages[{first}]"), why));
        }
        Some(_) => {}
    }
    let mut turns = Vec::with_capacity(request.messages.len());
    let mut ids = HashSet::new();
    let mut messages = request.messages.iter().enumerate().peekable();
    while let Some((index, message)) = messages.next() {
        match message {
            Message::System(text) => turns.push(Turn::System(text)),
            Message::User(text) => turns.push(Turn::User(text)),
            Message::Tool { call, .. } => return Err(stray(index, call)),
            Message::Assistant { text, calls } => {
                let mut open: HashMap<&str, Option<(&str, bool)>> = HashMap::new();
                for call in calls {
                    if open.insert(&call.id, None).is_some() {
                        let why = format!("two calls have the id `{}`", call.id);
                        return Err(refuse(&format!("messages[{index}]"), &why));
                    }
                }
                let mut left = calls.len();
                let mut said_between = Vec::new();
                while left > 0 {
                    match messages.next() {
                        Some((index, Message::Tool { call, content, is_error, .. })) => {
                            match open.get_mut(call.as_str()) {
                                Some(result @ None) => *result = Some((content, *is_error)),
                                _ => return Err(stray(index, call)),
                            }
                            left -= 1;
                        }
                        Some((_, Message::System(text))) => said_between.push(Turn::System(text)),
                        Some((_, Message::User(text))) => said_between.push(Turn::User(text)),
                        Some((_, Message::Assistant { .. })) | None => {
                            return Err(unanswered(index, calls, &open));
                        }
                    }
                }
                let answered = calls.iter().filter_map(|call| {
                    let (content, is_error) = open.get(call.id.as_str()).copied().flatten()?;
                    let id = wire_id(&call.id, &mut ids);
                    Some(Answered { call, id, name: wire_name(&call.name), content, is_error })
                });
                turns.push(Turn::Model { text, answered: answered.collect() });
                turns.append(&mut said_between);
            }
        }
    }
    Ok(turns)
}

fn check_tools(request: &Request) -> Result<(), ModelError> {
    let mut names = HashSet::new();
    for (index, tool) in request.tools.iter().enumerate() {
        let place = format!("tools[{index}]");
        if !is_name(&tool.name) {
            let why = format!(
                "`{}` is no name that all providers take: letters, digits, `_` and `-`, at most \
                 {LONGEST_NAME}",
                tool.name.escape_debug()
            );
            return Err(refuse(&place, &why));
        }
        if !names.insert(&tool.name) {
            return Err(refuse(&place, &format!("there is another tool named `{}`", tool.name)));
        }
        if !tool.parameters.is_object() {
            let why = format!("the parameters of `{}` are no JSON Schema of an object", tool.name);
            return Err(refuse(&place, &why));
        }
    }
    Ok(())
}

/// Ids that come from other providers, or twice, get another one. The same conversation gets the
/// same ones each time, or no provider could use its cache.
fn wire_id(id: &str, used: &mut HashSet<String>) -> String {
    if is_word(id, LONGEST_ID) && used.insert(id.to_owned()) {
        return id.to_owned();
    }
    let mut number = used.len();
    loop {
        let made = format!("call_{number}");
        if used.insert(made.clone()) {
            return made;
        }
        number += 1;
    }
}

/// A name that a model made up must not end its conversation.
fn wire_name(name: &str) -> String {
    if is_name(name) {
        return name.to_owned();
    }
    let replaced = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
    let name: String = name.chars().take(LONGEST_NAME).map(replaced).collect();
    if name.is_empty() { "unnamed".to_owned() } else { name }
}

fn stray(index: usize, call: &str) -> ModelError {
    let why = format!("it answers `{call}`, which no call before it waits for");
    refuse(&format!("messages[{index}]"), &why)
}

fn unanswered(
    index: usize,
    calls: &[Call],
    open: &HashMap<&str, Option<(&str, bool)>>,
) -> ModelError {
    let is_open = |call: &&Call| matches!(open.get(call.id.as_str()), Some(None));
    let (id, name) = calls.iter().find(is_open).map_or(("", ""), |call| (&call.id, &call.name));
    let why = format!("its call `{id}` of `{name}` has no result; each call needs one");
    refuse(&format!("messages[{index}]"), &why)
}

fn refuse(place: &str, why: &str) -> ModelError {
    ModelError::Request { place: place.to_owned(), why: why.to_owned() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::message::ToolSpec;

    fn assistant(ids: &[&str]) -> Message {
        let calls = ids.iter().map(|id| Call::new(*id, "t", json!({}))).collect();
        Message::Assistant { text: String::new(), calls }
    }

    fn result(id: &str) -> Message {
        let (call, name) = (id.to_owned(), "t".to_owned());
        Message::Tool { call, name, content: format!("of {id}"), is_error: false }
    }

    fn with(messages: Vec<Message>) -> Request {
        Request { messages, ..Request::default() }
    }

    #[test]
    fn results_come_in_the_order_of_their_calls_and_before_what_was_said_between() {
        let request = with(vec![
            Message::User("go".into()),
            assistant(&["a", "b"]),
            result("b"),
            Message::System("note".into()),
            result("a"),
        ]);
        let turns = turns(&request).unwrap();
        let Turn::Model { answered, .. } = &turns[1] else { panic!("{turns:?}") };
        let contents: Vec<&str> = answered.iter().map(|answered| answered.content).collect();
        assert_eq!(contents, ["of a", "of b"]);
        assert_eq!(turns[2], Turn::System("note"));
    }

    #[test]
    fn conversations_that_some_provider_refuses_are_refused_with_their_place() {
        let user = || Message::User("go".into());
        for (messages, said) in [
            (vec![], "messages: nobody has said anything"),
            (vec![Message::System("s".into())], "messages: nobody has said anything"),
            (vec![Message::System("s".into()), assistant(&[])], "messages[1]: the model cannot"),
            (vec![user(), result("a")], "messages[1]: it answers `a`, which no call"),
            (vec![user(), assistant(&["a", "a"])], "messages[1]: two calls have the id `a`"),
            (vec![user(), assistant(&["a"])], "messages[1]: its call `a` of `t` has no result"),
            (
                vec![user(), assistant(&["a", "b"]), result("a"), assistant(&[])],
                "messages[1]: its call `b` of `t` has no result",
            ),
            (
                vec![user(), assistant(&["a", "b"]), result("a"), result("a")],
                "messages[3]: it answers `a`",
            ),
        ] {
            let error = turns(&with(messages)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
        for (name, parameters, said) in [
            ("a.b", json!({}), "tools[0]: `a.b` is no name"),
            ("", json!({}), "tools[0]: `` is no name"),
            ("a", json!([]), "tools[0]: the parameters of `a`"),
        ] {
            let tool = ToolSpec { name: name.into(), description: String::new(), parameters };
            let request = Request { tools: [tool].into(), ..with(vec![user()]) };
            let error = turns(&request).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn ids_and_names_that_not_all_providers_take_are_replaced_on_the_wire() {
        let long = "x".repeat(65);
        let mut odd = assistant(&["a", "ü!", "b"]);
        if let Message::Assistant { calls, .. } = &mut odd {
            calls[0].name = "fs.read file".into();
            calls[1].name = String::new();
            calls[2].name.clone_from(&long);
        }
        let request = with(vec![
            Message::User("go".into()),
            assistant(&["a"]),
            result("a"),
            odd,
            result("a"),
            result("ü!"),
            result("b"),
        ]);
        let turns = turns(&request).unwrap();
        let Turn::Model { answered, .. } = &turns[2] else { panic!("{turns:?}") };
        let wire: Vec<_> = answered.iter().map(|a| (a.id.as_str(), a.name.as_str())).collect();
        let cut = &long[..64];
        assert_eq!(wire, [("call_1", "fs_read_file"), ("call_2", "unnamed"), ("b", cut)]);
    }
}
