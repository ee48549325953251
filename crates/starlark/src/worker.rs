//! Worker processes: scripts run in them under limits that the operating system holds.

use std::cell::RefCell;
use std::collections::HashMap;

use crate::host::{Call, Host, Reply};
use crate::policy::Rules;
use crate::protocol::{CodeId, Request, Response, json, read, read_request, write_call};
use crate::sandbox::{Failed, Program, globals, run_covered};

/// Makes this program one that can be its own worker. To be called at the top of `main`, before
/// any thread is started: in a process that was started as a worker it does not return.
///
/// ```no_run
/// tollgate_starlark::worker::init();
/// // The program itself.
/// ```
pub fn init() {
    tollgate_exec::worker::init(|| {
        // What every script needs is built before the baseline of memory is taken.
        let _ = globals();
        let mut worker = Worker::default();
        tollgate_exec::worker::serve(move |request, call| worker.answer(request, call));
    });
}

/// Whether [`init`] was called.
pub fn is_possible() -> bool {
    tollgate_exec::worker::is_possible()
}

/// The code that a worker was sent.
#[derive(Default)]
struct Worker {
    hooks: HashMap<CodeId, Program>,
    rules: HashMap<CodeId, Rules>,
}

impl Worker {
    fn answer(&mut self, bytes: &[u8], call: &mut dyn FnMut(&[u8]) -> Vec<u8>) -> Vec<u8> {
        json(&self.respond(bytes, call).unwrap_or_else(Response::Confused))
    }

    fn respond(
        &mut self,
        bytes: &[u8],
        call: &mut dyn FnMut(&[u8]) -> Vec<u8>,
    ) -> Result<Response, String> {
        let unknown = |id: CodeId| format!("code {id} was never sent");
        let (request, payload) = read_request(bytes)?;
        Ok(match request {
            Request::Forget => {
                *self = Self::default();
                Response::Done
            }
            Request::Load { id, script, when, may_mutate, limits } => {
                let program = Program::compile(&script, when.as_deref(), may_mutate, limits);
                let loaded = program.map(|program| {
                    self.hooks.insert(id, program);
                });
                tollgate_exec::worker::baseline();
                Response::Loaded(loaded)
            }
            Request::Run { id, event, when, limits } => {
                let program = self.hooks.get(&id).ok_or_else(|| unknown(id))?;
                let host = Outside(RefCell::new(call));
                Response::Ran(Box::new(program.run(&event, &payload, when, limits, &host)))
            }
            Request::Cover { script, when, event, limits } => {
                let host = Outside(RefCell::new(call));
                let texts = (&*script, when.as_deref());
                let (ran, lines) = run_covered(texts, &event, &payload, limits, &host);
                Response::Covered(Box::new(ran), lines)
            }
            Request::Rules { id, text, limits } => {
                let rules = Rules::compile(&text, limits);
                let specs = rules.map(|rules| {
                    let specs = rules.specs().to_vec();
                    self.rules.insert(id, rules);
                    specs
                });
                tollgate_exec::worker::baseline();
                Response::Rules(specs)
            }
            Request::Predicate { id, place, limits } => {
                let rules = self.rules.get(&id).ok_or_else(|| unknown(id))?;
                Response::Holds(rules.holds(place, &payload, limits))
            }
        })
    }
}

/// The program on the other side, as a script asks it.
struct Outside<'a, 'b>(RefCell<&'a mut Asking<'b>>);

/// Asks the program on the other side.
type Asking<'a> = dyn FnMut(&[u8]) -> Vec<u8> + 'a;

impl Host for Outside<'_, '_> {
    fn call(&self, call: Call) -> Reply {
        let reply = (self.0.borrow_mut())(&write_call(&call));
        read::<Reply>(&reply).unwrap_or_else(Err)
    }
}

impl From<Failed> for String {
    fn from(failed: Failed) -> Self {
        failed.message
    }
}
