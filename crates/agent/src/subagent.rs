//! Agents that an agent starts. They have a history of their own, and nothing else of their own: hooks, policies,
//! permissions and limits are the session's, however deep they are and however they were defined.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use serde_json::{Map, Value, json};
use tokio::runtime::Handle;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tollgate_core::OperationContext;
use tollgate_core::event::Agent as Who;
use tollgate_tools::control::{
    DefineSubagent, InvokeSubagent, ManageSubagents, SendMessage, SubagentAction,
};

use crate::conversation::Conversation;
use crate::inbox::Mail;
use crate::places::{Place, Places, Seat, Ticket};
use crate::session::{Actor, Session};
use crate::toolbox::Toolbox;

/// A sort of subagent.
#[derive(Debug, Clone)]
pub(crate) struct Kind {
    pub(crate) description: String,
    pub(crate) instructions: String,
    /// The tools it may have; none: those of who starts it.
    pub(crate) tools: Option<Vec<String>>,
}

/// The subagents of a session.
#[derive(Debug)]
pub(crate) struct Subagents {
    state: Mutex<State>,
    /// Of those that run.
    pub(crate) places: Arc<Places>,
    /// The sorts that the program has defined. They stay what they are.
    own: HashSet<String>,
}

#[derive(Debug, Default)]
struct State {
    kinds: HashMap<String, Kind>,
    agents: Vec<Subagent>,
    /// What runs in the background: subagents, and what hooks are told of them.
    tasks: Vec<JoinHandle<()>>,
    is_closed: bool,
}

#[derive(Debug)]
struct Subagent {
    actor: Arc<Actor>,
    kind: String,
    role: Option<String>,
    parent: String,
    status: Status,
}

impl Subagent {
    /// Ends it, whoever waits for it.
    fn end(&mut self) {
        self.status = Status::Ended;
        self.actor.ended.send_replace(true);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    /// It waits for a place.
    Queued,
    Running,
    Idle,
    Ended,
}

impl Status {
    /// True if it has a task, begun or not.
    fn has_task(self) -> bool {
        matches!(self, Self::Queued | Self::Running)
    }
}

/// A subagent in the queue. If it is given up before it has a place, it has ended.
pub(crate) struct Queued {
    session: Arc<Session>,
    id: String,
    ticket: Option<Ticket>,
}

impl Queued {
    /// True if no place was free for it.
    pub(crate) fn waits(&self) -> bool {
        self.ticket.as_ref().is_some_and(Ticket::waits)
    }

    /// Waits for a place. Dropping the future leaves the queue. Nothing: nothing runs any more.
    pub(crate) async fn place(mut self) -> Option<Place> {
        let place = match &mut self.ticket {
            Some(ticket) => ticket.place().await,
            None => None,
        };
        self.ticket = None;
        self.session.subagents.begins(&self.id);
        place
    }
}

impl Drop for Queued {
    fn drop(&mut self) {
        if self.ticket.is_some() {
            self.session.subagents.end(&self.id);
        }
    }
}

impl Subagents {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those of a session that runs so many at once.
    pub(crate) fn new(kinds: HashMap<String, Kind>, most: usize) -> Self {
        let own = kinds.keys().cloned().collect();
        let state = State { kinds, ..State::default() };
        Self { state: Mutex::new(state), places: Places::new(most), own }
    }

    /// The subagent of this id.
    pub(crate) fn find(&self, id: &str) -> Option<Arc<Actor>> {
        let state = self.lock();
        let found = state.agents.iter().find(|agent| agent.actor.who.id == id);
        found.map(|agent| Arc::clone(&agent.actor))
    }

    /// The same, if it is at work or about to be.
    pub(crate) fn find_busy(&self, id: &str) -> Option<Arc<Actor>> {
        let state = self.lock();
        let mut busy = state.agents.iter().filter(|agent| agent.status.has_task());
        busy.find(|agent| agent.actor.who.id == id).map(|agent| Arc::clone(&agent.actor))
    }

    /// Who has started a subagent.
    pub(crate) fn parent(&self, child: &Who) -> Who {
        let state = self.lock();
        let found = state.agents.iter().find(|agent| agent.actor.who.id == child.id);
        let depth = child.depth.saturating_sub(1);
        found.map_or_else(Who::default, |agent| Who { id: agent.parent.clone(), depth })
    }

    /// Runs something in the background, as long as the session lasts. The end of the session waits for it.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        // Nothing begins in a session that was given up, nor where nothing runs any more.
        let Ok(runtime) = Handle::try_current() else { return };
        if self.lock().is_closed {
            return;
        }
        // Without the lock: a runtime that ends drops the work here, which may look into the state.
        let task = runtime.spawn(work);
        let mut state = self.lock();
        if state.is_closed {
            task.abort();
            return;
        }
        state.tasks.retain(|task| !task.is_finished());
        state.tasks.push(task);
    }

    /// One that has nothing to do and messages to read, which is its task from now on.
    pub(crate) fn take_idle(&self) -> Option<(Arc<Actor>, String)> {
        let mut state = self.lock();
        if state.is_closed {
            return None;
        }
        let mut idle = state.agents.iter_mut().filter(|agent| agent.status == Status::Idle);
        let agent = idle.find(|agent| !agent.actor.inbox.is_empty())?;
        agent.status = Status::Queued;
        Some((Arc::clone(&agent.actor), agent.kind.clone()))
    }

    /// Cuts off all that runs in the background; nothing can begin any more.
    pub(crate) fn abort_all(&self) {
        self.end_all();
        let mut state = self.lock();
        state.is_closed = true;
        let tasks = std::mem::take(&mut state.tasks);
        // What is cut off may look into the state.
        drop(state);
        for task in tasks {
            task.abort();
        }
    }

    /// True if none runs or waits for a place.
    pub(crate) fn idle(&self) -> bool {
        !self.lock().agents.iter().any(|agent| agent.status.has_task())
    }

    /// A subagent that was queued has a place.
    fn begins(&self, id: &str) {
        let mut state = self.lock();
        let found = state.agents.iter_mut().find(|agent| agent.actor.who.id == id);
        // What was ended stays so.
        if let Some(agent) = found.filter(|agent| agent.status == Status::Queued) {
            agent.status = Status::Running;
        }
    }

    /// Ends one of them.
    fn end(&self, id: &str) -> bool {
        let mut state = self.lock();
        let found = state.agents.iter_mut().find(|agent| agent.actor.who.id == id);
        found.map(Subagent::end).is_some()
    }

    /// A subagent has nothing to do any more.
    pub(crate) fn rests(&self, id: &str) {
        let mut state = self.lock();
        let found = state.agents.iter_mut().find(|agent| agent.actor.who.id == id);
        // What was ended stays so.
        if let Some(agent) = found.filter(|agent| agent.status != Status::Ended) {
            agent.status = Status::Idle;
        }
    }

    /// Ends all of them.
    pub(crate) fn end_all(&self) -> usize {
        let mut state = self.lock();
        let running = state.agents.iter_mut().filter(|agent| agent.status != Status::Ended);
        running.map(Subagent::end).count()
    }

    /// Ends all of them, and waits until they have ended.
    pub(crate) async fn shutdown(&self) {
        loop {
            self.end_all();
            let tasks = std::mem::take(&mut self.lock().tasks);
            if tasks.is_empty() {
                return;
            }
            // One that was in the middle of a step may have started another meanwhile.
            futures_util::future::join_all(tasks).await;
        }
    }
}

impl Session {
    /// `define_subagent`.
    pub(crate) fn define_subagent(
        &self,
        actor: &Actor,
        args: DefineSubagent,
    ) -> Result<Value, String> {
        const MOST: usize = 100;
        let toolbox = actor.toolbox();
        let unknown = |name: &&String| toolbox.get(name).is_none();
        if let Some(name) = args.tools.as_ref().and_then(|tools| tools.iter().find(unknown)) {
            return Err(format!(
                "`{name}` is no tool of yours: a subagent has only those you have"
            ));
        }
        if self.subagents.own.contains(&args.name) {
            return Err(format!("`{}` is defined already, and stays what it is", args.name));
        }
        let mut state = self.subagents.lock();
        if state.kinds.len() >= MOST && !state.kinds.contains_key(&args.name) {
            return Err(format!("there are {MOST} sorts of subagents already"));
        }
        let DefineSubagent { name, description, system_prompt, tools } = args;
        let said = format!("`{name}` is defined");
        state.kinds.insert(name, Kind { description, instructions: system_prompt, tools });
        Ok(Value::from(said))
    }

    /// `invoke_subagent`.
    pub(crate) async fn invoke_subagent(
        self: &Arc<Self>,
        actor: &Actor,
        operation: &OperationContext,
        args: InvokeSubagent,
        given: &Map<String, Value>,
    ) -> Result<Value, String> {
        let (child, kind) = self.new_subagent(actor, &args)?;
        if !args.background {
            let aside = actor.seat.step_aside();
            let queued = self.queue(&child);
            let turn = operation.turn();
            let answer = self.delegate(queued, &child, &kind, turn, args.prompt).await;
            drop(aside);
            self.wake_idle();
            actor.seat.resume(&self.subagents.places).await;
            return answer;
        }
        let id = child.who.id.clone();
        let waits = self.in_background(child, kind, args.prompt, given.clone());
        Ok(json!({"id": id, "status": if waits { "queued" } else { "running" }}))
    }

    /// Has a subagent wait for a place, behind those that wait already.
    pub(crate) fn queue(self: &Arc<Self>, child: &Actor) -> Queued {
        let ticket = Some(self.subagents.places.queue());
        Queued { session: Arc::clone(self), id: child.who.id.clone(), ticket }
    }

    fn new_subagent(
        &self,
        parent: &Actor,
        args: &InvokeSubagent,
    ) -> Result<(Arc<Actor>, String), String> {
        let limits = &self.limits;
        let depth = parent.who.depth + 1;
        if depth > limits.subagent_depth {
            return Err(format!(
                "subagents may go {} deep, and you are there: do it yourself",
                limits.subagent_depth
            ));
        }
        let mut state = self.subagents.lock();
        if state.agents.len() >= limits.subagents {
            return Err(format!("this session has had its {} subagents", limits.subagents));
        }
        if limits.parallel_subagents == 0 {
            return Err("this session may run no subagents: do it yourself".to_owned());
        }
        let (kind, instructions, tools) = match &args.name {
            None => ("self".to_owned(), parent.instructions.clone(), None),
            Some(name) => {
                let Some(kind) = state.kinds.get(name) else {
                    let mut known: Vec<_> = state.kinds.keys().cloned().collect();
                    known.sort();
                    return Err(format!(
                        "there is no subagent `{name}`; {}",
                        if known.is_empty() {
                            "define one with define_subagent, or leave the name out".to_owned()
                        } else {
                            format!("there are {}", known.join(", "))
                        }
                    ));
                };
                (name.clone(), Some(kind.instructions.clone()), kind.tools.clone())
            }
        };
        // It has what its parent has, or less.
        let toolbox: Toolbox = match tools {
            Some(tools) => parent.toolbox().only(move |name| tools.iter().any(|tool| tool == name)),
            None => parent.toolbox(),
        };
        let id = format!("agent-{}", state.agents.len() + 1);
        let who = Who { id, depth };
        let conversation = Conversation::new(who.clone(), Vec::new(), self.transcript.clone());
        let actor = Arc::new(Actor {
            who,
            instructions,
            toolbox: RwLock::new(toolbox),
            conversation,
            compact_from: AtomicUsize::new(0),
            invocations: AtomicU64::new(0),
            inbox: crate::inbox::Inbox::default(),
            ended: watch::Sender::new(false),
            seat: Seat::default(),
        });
        state.agents.push(Subagent {
            actor: Arc::clone(&actor),
            kind: kind.clone(),
            role: args.role.clone(),
            parent: parent.who.id.clone(),
            status: Status::Queued,
        });
        Ok((actor, kind))
    }

    /// `send_message`.
    pub(crate) fn send_message(
        self: &Arc<Self>,
        actor: &Actor,
        args: SendMessage,
    ) -> Result<Value, String> {
        let SendMessage { recipient, message } = args;
        if recipient == actor.who.id {
            return Err("this is you".to_owned());
        }
        let mail = Mail::inside(&*actor.who.id, message);
        let full = || format!("`{recipient}` has too many messages that it has not read");
        let sent = |has_room: bool| has_room.then(|| Value::from("sent")).ok_or_else(full);
        if recipient == Who::default().id {
            return sent(self.inbox.put(mail));
        }
        let state = self.subagents.lock();
        let found = state.agents.iter().find(|agent| agent.actor.who.id == recipient);
        let Some(agent) = found else {
            return Err(format!("there is no agent `{recipient}`: manage_subagents lists them"));
        };
        match agent.status {
            Status::Ended => Err(format!("`{recipient}` has ended")),
            Status::Queued | Status::Running => sent(agent.actor.inbox.put(mail)),
            Status::Idle => {
                sent(agent.actor.inbox.put(mail))?;
                drop(state);
                self.wake_idle();
                Ok(Value::from("sent; its answer comes as a message"))
            }
        }
    }

    /// `manage_subagents`.
    pub(crate) fn manage_subagents(&self, args: &ManageSubagents) -> Result<Value, String> {
        match args.action {
            SubagentAction::List => {
                let state = self.subagents.lock();
                let agents = state.agents.iter().map(|agent| {
                    let status = match agent.status {
                        Status::Queued => "queued",
                        Status::Running => "running",
                        Status::Idle => "idle",
                        Status::Ended => "ended",
                    };
                    json!({
                        "id": agent.actor.who.id, "name": agent.kind, "role": agent.role,
                        "parent": agent.parent, "depth": agent.actor.who.depth, "status": status,
                    })
                });
                let kinds = state.kinds.iter();
                let kinds: serde_json::Map<_, _> = kinds
                    .map(|(name, kind)| (name.clone(), Value::from(kind.description.as_str())))
                    .collect();
                Ok(json!({"subagents": agents.collect::<Vec<_>>(), "defined": kinds}))
            }
            SubagentAction::KillAll => {
                Ok(Value::from(format!("{} ended", self.subagents.end_all())))
            }
            SubagentAction::Kill => {
                let id = args.subagent_id.as_deref().ok_or("kill needs SubagentId")?;
                if !self.subagents.end(id) {
                    return Err(format!("there is no subagent `{id}`"));
                }
                Ok(Value::from(format!("`{id}` has ended")))
            }
        }
    }
}
