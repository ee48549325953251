//! Payloads as values of the language: the same as by way of JSON, in less time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use starlark::const_frozen_string;
use starlark::values::{FrozenHeap, FrozenHeapRef, FrozenValue, Heap, Value};
use tollgate_core::EventRef;
use tollgate_core::context::Context;

use super::Elapsed;
use super::fields::{Field, Name, own_fields, surroundings};
use super::measure::Measure;
use crate::convert::Ground;

/// The payload of one dispatch as it is now, for the scripts that run here.
pub(crate) struct Local {
    /// How large it is, where that is known without making it.
    pub(crate) measure: Option<Measure>,
    pub(crate) elapsed: Elapsed,
    /// Whether a script was given it.
    given: AtomicBool,
    frozen: OnceLock<Frozen>,
}

/// A value that cannot be changed, for any number of runs.
struct Frozen {
    heap: FrozenHeapRef,
    value: FrozenValue,
}

impl Local {
    pub(crate) fn of(event: EventRef<'_>, cx: &impl Context) -> Self {
        let measure = Measure::of_event(event, cx);
        let (given, frozen) = (AtomicBool::new(false), OnceLock::new());
        Self { measure, elapsed: Elapsed::default(), given, frozen }
    }

    /// The payload for a script that changes nothing in it. The first has one of its own, which is
    /// made faster; from the second on they share one.
    pub(crate) fn shared<'v>(
        &self,
        event: EventRef<'_>,
        cx: &impl Context,
        heap: Heap<'v>,
    ) -> Value<'v> {
        if !self.given.swap(true, Ordering::Relaxed) {
            return on(event, cx, &self.elapsed, heap);
        }
        let frozen = self.frozen.get_or_init(|| {
            let heap = FrozenHeap::new();
            let value = on(event, cx, &self.elapsed, &heap);
            Frozen { heap: heap.into_ref(), value }
        });
        // The run keeps it for as long as it needs it.
        heap.add_reference(&frozen.heap);
        frozen.value.to_value()
    }
}

/// The payload as a value of the language.
pub(crate) fn on<G: Ground>(
    event: EventRef<'_>,
    cx: &impl Context,
    elapsed: &Elapsed,
    ground: G,
) -> G::Value {
    let mut slots = [None; Name::ALL.len()];
    let mut put = |name: Name, field: Field<'_>| {
        if let Some(slot) = slots.get_mut(name as usize) {
            *slot = Some(field.on(ground));
        }
    };
    own_fields(event, &mut put);
    surroundings(event, cx.session(), cx.current_turn(), elapsed, &mut put);
    let mut fields = Vec::with_capacity(slots.len());
    for (name, slot) in Name::ALL.iter().zip(slots) {
        fields.extend(slot.map(|value| (ground.put(name.value()), value)));
    }
    let args = slots.get(Name::Args as usize).copied().flatten();
    let alias = const_frozen_string!("arguments").to_frozen_value();
    fields.extend(args.map(|args| (ground.put(alias), args)));
    ground.dict(fields)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use starlark::environment::Module;
    use tollgate_core::AnyEvent;
    use tollgate_core::context::{SessionContext, SessionInfo};
    use tollgate_core::event::{ToolCall, ToolPost, ToolPre, TurnStart};

    use super::*;
    use crate::payload::Projected;
    use crate::sandbox::payload_value;

    #[test]
    fn all_ways_lead_to_the_same_payload() {
        let session = SessionContext::new(SessionInfo {
            id: "s".to_owned(),
            workspaces: vec!["/a".to_owned(), "/b".to_owned()],
            transcript: Some("/t".to_owned()),
            ..SessionInfo::default()
        });
        let (turn, command) = (session.turn(), json!({"e": [], "n": [1, -2.5, u64::MAX, null]}));
        let call = ToolCall::new("RUN_COMMAND").arg("CommandLine", "ls").arg("zz", command);
        let result = json!({"b": {}, "a": true});
        let post = ToolPost { call: call.clone(), result };
        let start = TurnStart { prompt: "hello".to_owned(), ..TurnStart::default() };
        let named = ToolCall::new("run_command").arg("command", "a").arg("CommandLine", "b");
        let events: [AnyEvent; 5] = [
            ToolPre::from(call).into(),
            ToolPre::from(named).into(),
            ToolPre::from(ToolCall::new("mystery")).into(),
            post.into(),
            start.into(),
        ];
        for event in &events {
            let (view, cx) = (event.view(), turn.operation());
            let fields = Projected::of(view, &cx, &Elapsed::default()).fields;
            let expected =
                Module::with_temp_heap(|module| payload_value(&fields, module.heap()).to_repr());
            let local = Local::of(view, &cx);
            for _ in 0..3 {
                let given = Module::with_temp_heap(|module| {
                    local.shared(view, &cx, module.heap()).to_repr()
                });
                assert_eq!(given, expected);
            }
        }
    }
}
