//! Payloads as values of the language: the same as by way of JSON, in less time.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

use starlark::const_frozen_string;
use starlark::values::{FrozenHeap, FrozenHeapRef, FrozenValue, Heap, Value};
use tollgate_core::EventRef;
use tollgate_core::context::Context;

use super::Elapsed;
use super::fields::{Field, Name, Wanted, own_fields, surroundings};
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

    /// The payload for a script that changes nothing in it, and looks at nothing but what is wanted.
    /// The first that wants much has one of its own, which is made faster; from the second on they
    /// share one that has everything.
    pub(crate) fn shared<'v>(
        &self,
        event: EventRef<'_>,
        cx: &impl Context,
        wanted: Wanted,
        heap: Heap<'v>,
    ) -> Value<'v> {
        if wanted.is_nothing() {
            return nothing().to_value();
        }
        if wanted.is_small() || !self.given.swap(true, Ordering::Relaxed) {
            return on(event, cx, &self.elapsed, wanted, heap);
        }
        let frozen = self.frozen.get_or_init(|| {
            let heap = FrozenHeap::new();
            let value = on(event, cx, &self.elapsed, Wanted::ALL, &heap);
            Frozen { heap: heap.into_ref(), value }
        });
        // The run keeps it for as long as it needs it.
        heap.add_reference(&frozen.heap);
        frozen.value.to_value()
    }
}

/// A payload without fields. It is there for as long as the process.
fn nothing() -> FrozenValue {
    static NOTHING: OnceLock<Frozen> = OnceLock::new();
    let nothing = NOTHING.get_or_init(|| {
        let heap = FrozenHeap::new();
        let value = (&heap).dict([]);
        Frozen { heap: heap.into_ref(), value }
    });
    nothing.value
}

/// The wanted fields of the payload as a value of the language.
pub(crate) fn on<G: Ground>(
    event: EventRef<'_>,
    cx: &impl Context,
    elapsed: &Elapsed,
    wanted: Wanted,
    ground: G,
) -> G::Value {
    let mut slots = [None; Name::ALL.len()];
    let mut put = |name: Name, field: Field<'_>| {
        let is_wanted = wanted.has(name) || name == Name::Args && wanted.has_alias();
        if let (true, Some(slot)) = (is_wanted, slots.get_mut(name as usize)) {
            *slot = Some(field.on(ground));
        }
    };
    own_fields(event, &mut put);
    surroundings(event, cx.session(), cx.current_turn(), elapsed, wanted, &mut put);
    let mut fields = Vec::with_capacity(slots.len());
    for (name, slot) in Name::ALL.iter().zip(slots).filter(|(name, _)| wanted.has(**name)) {
        fields.extend(slot.map(|value| (ground.put(name.value()), value)));
    }
    let args = slots.get(Name::Args as usize).copied().flatten();
    let args = args.filter(|_| wanted.has_alias());
    let alias = const_frozen_string!("arguments").to_frozen_value();
    fields.extend(args.map(|args| (ground.put(alias), args)));
    ground.dict(fields)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::json;
    use starlark::environment::Module;
    use tollgate_core::AnyEvent;
    use tollgate_core::context::{SessionContext, SessionInfo};
    use tollgate_core::event::{ToolCall, ToolPost, ToolPre, TurnEnd, TurnStart};

    use super::*;
    use crate::analysis::{Reads, SCRIPT, check_script};
    use crate::convert::to_json;
    use crate::engine::limits_here;
    use crate::host::{Call, Host, Reply};
    use crate::payload::Projected;
    use crate::sandbox::{MakePayload, Program, payload_value};

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
                    local.shared(view, &cx, Wanted::ALL, module.heap()).to_repr()
                });
                assert_eq!(given, expected);
            }
        }
    }

    fn events() -> [AnyEvent; 4] {
        let call = ToolCall::new("RUN_COMMAND").arg("CommandLine", "ls").arg("Cwd", json!([1]));
        [
            ToolPre::from(call.clone()).into(),
            ToolPost::new(call, json!({"a": 1})).into(),
            TurnStart::new("hello").into(),
            TurnEnd::new("done").into(),
        ]
    }

    #[test]
    fn what_is_not_wanted_is_not_made() {
        let session = SessionContext::new(SessionInfo::default());
        let cx = session.turn().operation();
        let keys = |event: &AnyEvent, fields: &[&str]| {
            let reads = Reads::Only(fields.iter().map(|field| (*field).to_owned()).collect());
            let local = Local::of(event.view(), &cx);
            let made: &MakePayload<'_> =
                &|heap| local.shared(event.view(), &cx, Wanted::by(&reads), heap);
            Module::with_temp_heap(|module| to_json(made(module.heap())).unwrap())
        };
        for event in &events() {
            let whole = Projected::of(event.view(), &cx, &Elapsed::default()).fields;
            let mut names: Vec<&str> = whole.keys().map(String::as_str).collect();
            names.extend(["nothing", "arguments"]);
            for first in &names {
                for second in &names {
                    let made = keys(event, &[first, second]);
                    let mut expected = serde_json::Map::new();
                    for name in [first, second] {
                        let of = if *name == "arguments" { "args" } else { name };
                        let value = whole.get(of).cloned();
                        expected.extend(value.map(|value| ((*name).to_owned(), value)));
                    }
                    assert_eq!(made, serde_json::Value::Object(expected), "{first} {second}");
                }
            }
            assert_eq!(keys(event, &[]), json!({}));
        }
    }

    /// A script cannot tell whether what it does not look at is there.
    #[test]
    fn no_script_sees_a_difference() {
        let session = SessionContext::new(SessionInfo::default());
        let cx = session.turn().operation();
        for line in [
            "return allow()",
            "return block(event)",
            "return block(str(payload.get('name')))",
            "return block(payload['args']['CommandLine'])",
            "return block(str(payload.get('arguments')) + str(payload.get('args', 1)))",
            "return block(str(['turn' in payload, 'x' in payload, 'prompt' not in payload]))",
            "return block(payload['absent'])",
            "return block(str([k for k in payload.get('args', {}) if k in payload['session']]))",
            "return block(str(sorted(payload.keys())))",
            "return block(json.encode(payload))",
            "return block(str(len(payload)))",
            "return block(str((lambda: payload)()))",
            "return block(str([payload for payload in [1]]))",
            "return block(str(getattr(payload, 'keys')()))",
            "return modify({'args': payload.get('args')})",
            "return modify(payload)",
        ] {
            let script = format!("def handle(event, payload):\n    {line}\n");
            let reads = check_script(&script, &SCRIPT).unwrap().facts.reads;
            let limits = limits_here(Duration::from_secs(9));
            let program = Program::compile(&script, None, false, limits).unwrap();
            for event in &events() {
                let view = event.view();
                let run = |wanted: Wanted| {
                    let local = Local::of(view, &cx);
                    let make: &MakePayload<'_> = &|heap| local.shared(view, &cx, wanted, heap);
                    program.run_on("tool.pre", make, false, limits, &NoHost)
                };
                assert_eq!(run(Wanted::by(&reads)), run(Wanted::ALL), "{line}");
            }
        }
    }

    struct NoHost;

    impl Host for NoHost {
        fn call(&self, _call: Call) -> Reply {
            Err("nobody".to_owned())
        }
    }
}
