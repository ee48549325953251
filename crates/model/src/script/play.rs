//! Which reply of a script is next.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::{CallLine, Group, Line, Script, When, Whom, template};
use crate::error::{Failure, ModelError};
use crate::message::{Args, Call, Message, Request};
use crate::model::{Finish, Reply};

/// A script while it is played.
#[derive(Debug)]
pub(crate) struct Play {
    script: Script,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    /// Which replies are used up: those of each group, then those outside.
    used: Vec<Vec<bool>>,
    /// How many ids were made up.
    ids: usize,
}

/// What is given to a request.
#[derive(Debug)]
pub(crate) struct Chosen {
    pub(crate) delay: Duration,
    pub(crate) thought: String,
    pub(crate) reply: Result<Reply, ModelError>,
}

impl Play {
    pub(crate) fn new(script: Script) -> Self {
        let outside = script.file.replies.len();
        let groups = script.file.groups.iter().map(|group| group.replies.len());
        let used = groups.chain([outside]).map(|count| vec![false; count]).collect();
        Self { script, state: Mutex::new(State { used, ids: 0 }) }
    }

    /// The reply to this request. It is used up, if it is one that is.
    pub(crate) fn choose(&self, request: &Request) -> Result<Chosen, ModelError> {
        let groups = &self.script.file.groups;
        let group = groups.iter().position(|group| group.whom.is(request));
        let lines = group
            .and_then(|group| groups.get(group))
            .map_or(&self.script.file.replies, |group| &group.replies);
        let turn = 1 + request
            .messages
            .iter()
            .filter(|message| matches!(message, Message::Assistant { .. }))
            .count();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let State { used, ids } = &mut *state;
        let used = used.get_mut(group.unwrap_or(groups.len())).map(Vec::as_mut_slice);
        let used = used.unwrap_or_default();
        let found = lines.iter().zip(used.iter_mut()).enumerate().find(|(_, (line, used))| {
            !**used && line.when.as_ref().is_none_or(|when| when.holds(request, turn))
        });
        let Some((index, (line, used))) = found else {
            let used_up = used.iter().filter(|used| **used).count();
            let group = group.and_then(|group| groups.get(group));
            return Err(self.error(ran_out(request, turn, group, lines.len(), used_up)));
        };
        *used = line.is_used_up_by_one();
        let given = give(line, request, turn, &self.script.name, ids);
        given.map_err(|why| self.error(format!("reply {} cannot be given: {why}", index + 1)))
    }

    fn error(&self, why: String) -> ModelError {
        ModelError::Script { script: self.script.name.clone(), why }
    }
}

fn ran_out(
    request: &Request,
    turn: usize,
    group: Option<&Group>,
    count: usize,
    used_up: usize,
) -> String {
    let whose = group.map(|group| format!(" of group `{}`", group.name)).unwrap_or_default();
    let last = request.messages.last().map(Message::text).unwrap_or_default();
    let last: String = last.chars().take(80).collect();
    let replies = if count == 1 { "1 reply".to_owned() } else { format!("{count} replies") };
    let rest = match count - used_up {
        0 => "all used up".to_owned(),
        _ => format!("{used_up} used up and none of the others for this"),
    };
    format!(
        "the script has run out: it has {replies}{whose}, {rest}; turn {turn} answers `{}`",
        last.escape_debug()
    )
}

fn give(
    line: &Line,
    request: &Request,
    turn: usize,
    script: &str,
    ids: &mut usize,
) -> Result<Chosen, String> {
    let delay = Duration::from_millis(line.delay_ms.min(600_000));
    if let Some(message) = &line.error {
        let failure =
            Failure { status: line.status, message: message.clone(), ..Failure::default() };
        let error = match line.status {
            Some(_) => ModelError::Provider { model: script.to_owned(), failure },
            None => ModelError::Script { script: script.to_owned(), why: message.clone() },
        };
        return Ok(Chosen { delay, thought: String::new(), reply: Err(error) });
    }
    let mut calls = Vec::with_capacity(line.calls.len());
    for CallLine { id, name, args } in &line.calls {
        let args = Args::from(template::expand_value(args, request, turn)?);
        let id = id.clone().unwrap_or_else(|| {
            *ids += 1;
            format!("call-{ids}")
        });
        calls.push(Call { id, name: name.clone(), args, signature: None });
    }
    let usual = if calls.is_empty() { Finish::Stop } else { Finish::Calls };
    let finish = line.finish.clone().unwrap_or(usual);
    let text = template::expand(&line.say, request, turn)?;
    let thought = template::expand(&line.think, request, turn)?;
    Ok(Chosen { delay, thought, reply: Ok(Reply { text, calls, usage: line.usage, finish }) })
}

/// What was said since the model last spoke.
fn news(request: &Request) -> impl Iterator<Item = &Message> {
    let is_new = |message: &&Message| !matches!(message, Message::Assistant { .. });
    request.messages.iter().rev().take_while(is_new)
}

impl When {
    fn holds(&self, request: &Request, turn: usize) -> bool {
        let last_user = request.messages.iter().rev().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        });
        let answered = |name: &String| {
            news(request)
                .any(|message| matches!(message, Message::Tool { name: own, .. } if own == name))
        };
        let said = |text: &String| news(request).any(|message| message.text().contains(text));
        self.turn.is_none_or(|own| own == turn)
            && self.last_tool.as_ref().is_none_or(answered)
            && self.contains.as_ref().is_none_or(said)
            && self
                .last_user
                .as_ref()
                .is_none_or(|pattern| last_user.is_some_and(|text| pattern.matches(text)))
    }
}

impl Whom {
    fn is(&self, request: &Request) -> bool {
        let begin = || {
            request
                .messages
                .iter()
                .take_while(|message| !matches!(message, Message::Assistant { .. }))
        };
        let system = |text: &String| {
            let first = request.system.as_deref().into_iter();
            let others = begin().filter_map(|message| match message {
                Message::System(text) => Some(text.as_str()),
                _ => None,
            });
            first.chain(others).any(|system| system.contains(text))
        };
        let first_user = request.messages.iter().find_map(|message| match message {
            Message::User(text) => Some(text.as_str()),
            _ => None,
        });
        let tool = |name: &String| request.tools.iter().any(|tool| tool.name == *name);
        self.system_contains.as_ref().is_none_or(system)
            && self.has_tool.as_ref().is_none_or(tool)
            && self
                .first_user
                .as_ref()
                .is_none_or(|own| first_user.is_some_and(|text| own.matches(text)))
    }
}
