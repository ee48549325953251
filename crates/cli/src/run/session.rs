//! A session at the command line: one prompt, a conversation, or whatever triggers say.

use std::io::{self, IsTerminal as _};

use tollgate_agent::person::Terminal;
use tollgate_agent::{Agent, AgentBuilder, AgentError, Response, Started};

use super::signals::Signals;
use crate::check;
use crate::exit::Exit;
use crate::out::Out;
use crate::problem::Problem;
use crate::show::{Show, clean};

/// What a session is for.
pub(super) struct Task {
    /// What is done first.
    pub(super) prompt: Option<String>,
    /// Whether a person goes on from there.
    pub(super) talks: bool,
    /// Whether triggers do.
    pub(super) waits: bool,
}

pub(super) async fn run(
    builder: AgentBuilder,
    show: &Show<impl io::Write>,
    person: Option<&Terminal>,
    task: Task,
    out: &mut Out,
) -> Result<Exit, Problem> {
    let mut signals = Signals::new()?;
    let agent = tokio::select! {
        agent = builder.build().start() => agent.map_err(|error| problem(&error))?,
        () = signals.next() => return Err(Problem::new("interrupted")),
    };
    if let Some(files) = agent.hook_files() {
        check::tell(&files.diagnostics, out);
        out.flush()?;
    }
    let exit = follow(&agent, show, &mut signals, person, task).await;
    tokio::select! {
        () = agent.stop() => {}
        () = signals.next() => {}
    }
    exit
}

/// Does what a session is for.
async fn follow(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
    signals: &mut Signals,
    person: Option<&Terminal>,
    Task { prompt, talks, waits }: Task,
) -> Result<Exit, Problem> {
    let person = person.filter(|_| talks);
    if let Some(prompt) = prompt {
        let done = one_shot(agent, show, signals, prompt).await;
        if !waits || signals.is_over() {
            return done;
        }
        if let Err(problem) = done {
            show.told("error", &problem.to_string());
        }
    }
    match person {
        Some(person) => conversation(agent, show, signals, person).await,
        None if waits => attend(agent, show, signals).await,
        None => Err(Problem::new("there is no terminal to talk at")),
    }
}

fn problem(error: &AgentError) -> Problem {
    Problem::new(clean(&error.to_string()))
}

async fn one_shot(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
    signals: &mut Signals,
    prompt: String,
) -> Result<Exit, Problem> {
    let answer = turn(agent, signals, agent.chat(prompt)).await;
    show.end_line();
    answer.map_or_else(|| Err(Problem::new("interrupted")), |answer| tell(show, answer))
}

/// Runs a turn. Ctrl-C cancels it, and with it whatever the person is being asked; once more, and whatever still holds
/// it is not waited for. Nothing where the session is to end with it.
async fn turn(
    agent: &Agent<Started>,
    signals: &mut Signals,
    turn: impl Future<Output = Result<Response, AgentError>>,
) -> Option<Result<Response, AgentError>> {
    let mut turn = std::pin::pin!(turn);
    tokio::select! {
        // The turn first: one that has not begun cannot be cancelled, and would go on.
        biased;
        answer = &mut turn => return Some(answer),
        () = signals.next() => agent.cancel(),
    }
    tokio::select! {
        answer = &mut turn => (!signals.is_over()).then_some(answer),
        () = signals.next() => None,
    }
}

/// Says what came of a turn, as far as that was not seen.
fn tell(
    show: &Show<impl io::Write>,
    answer: Result<Response, AgentError>,
) -> Result<Exit, Problem> {
    match answer {
        Ok(Response { refused: Some(refusal), .. }) => {
            show.told("denied", &refusal.reason);
            Ok(Exit::Denied)
        }
        // At a terminal it has been read where it happened.
        Ok(Response { error: Some(error), .. })
            if show.has_told(&error) && io::stdout().is_terminal() =>
        {
            Ok(Exit::Problem)
        }
        Ok(Response { error: Some(error), .. }) => Err(Problem::new(clean(&error))),
        Ok(_) => Ok(Exit::Fine),
        Err(error) => Err(problem(&error)),
    }
}

/// Prompts of a person, and messages of triggers, until the person has had enough.
async fn conversation(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
    signals: &mut Signals,
    person: &Terminal,
) -> Result<Exit, Problem> {
    show.line("What shall I do? (Ctrl-C stops what I do; Ctrl-D ends)");
    loop {
        show.prompt();
        // Nothing of this is lost where something else comes first. What a person types while a turn is under way waits
        // for its end.
        let line = tokio::select! {
            biased;
            line = person.line() => Some(line),
            () = agent.message_waits() => None,
            () = signals.next() => Some(None),
        };
        let answer = match line {
            Some(None) => {
                show.end_line();
                return Ok(Exit::Fine);
            }
            Some(Some(line)) => {
                show.was_typed();
                if line.trim().is_empty() {
                    continue;
                }
                turn(agent, signals, agent.chat(line)).await
            }
            None => turn(agent, signals, agent.next_triggered()).await,
        };
        show.end_line();
        let Some(answer) = answer else { return Ok(Exit::Fine) };
        if let Err(problem) = tell(show, answer) {
            show.told("error", &problem.to_string());
        }
    }
}

/// Messages of triggers, until somebody ends it.
async fn attend(
    agent: &Agent<Started>,
    show: &Show<impl io::Write>,
    signals: &mut Signals,
) -> Result<Exit, Problem> {
    show.line("I wait for what I am to do. (Ctrl-C stops what I do, and where I do nothing, ends)");
    loop {
        tokio::select! {
            () = agent.message_waits() => {}
            () = signals.next() => return Ok(Exit::Fine),
        }
        let answer = turn(agent, signals, agent.next_triggered()).await;
        show.end_line();
        let Some(answer) = answer else { return Ok(Exit::Fine) };
        if let Err(problem) = tell(show, answer) {
            show.told("error", &problem.to_string());
        }
    }
}
