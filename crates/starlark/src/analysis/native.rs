//! Scripts that need no Starlark.
//!
//! Most guards look at a few parts of the payload, ask what a command would do, compare that with constants and decide.
//! Those are compiled to a small tree and run on the event as it is, without a heap and without the language's tables,
//! which take milliseconds to build. What is common with [conditions](super::condition) means what it means there.
//!
//! A native form only ever decides as the language would. Whatever it does not cover, and every error, it leaves to the
//! language, which then says what is wrong in its own words. So nothing has an effect before all of it has run: what is
//! to be written down is handed out with the decision, or forgotten. Nothing that is covered changes a value in place,
//! so values can be shared. That a script is cheap is known of its text ([bounded](super::bounded)), and holds for this
//! form as well; where nobody has looked at that, because the process has limits of its own, what is counted here ends it
//! well before the language would.

mod built_in;
mod compile;
mod expression;
mod method;

use std::borrow::Cow;
use std::cell::{Cell, RefCell};

use serde_json::{Map, Value as Json};
use tollgate_core::ledger::Effect;

use super::condition::compile::{Constant, Node};
use super::condition::eval::{Given, Outcome, eval as value_of, truth};
use super::condition::{CondError, Elements, Payload, View};
use crate::builtins::Notes;
pub(super) use compile::{Scope, node};
pub(super) use expression::{ScriptNode, eval};

/// A script in native form.
#[derive(Debug, Clone)]
pub(crate) struct Native {
    /// What stands at its top level.
    globals: Vec<Constant>,
    /// Its functions, `handle` among them.
    functions: Vec<Function>,
    handle: usize,
}

/// A function of a script.
#[derive(Debug, Clone)]
struct Function {
    parameters: usize,
    /// How many variables it has, its parameters among them.
    locals: usize,
    body: Vec<Step>,
}

/// What a script has decided.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Said {
    Allow,
    Block(String),
    Ask(String),
    Modify(Map<String, Json>),
}

/// A statement.
#[derive(Debug, Clone)]
enum Step {
    /// `name = value`, `a, b = value`
    Set(Target, Node),
    /// `name += value`
    Add(usize, Node),
    If(Node, Vec<Step>, Vec<Step>),
    For(Target, Node, Vec<Step>),
    /// What is called for its effect.
    Do(Node),
    Break,
    Continue,
    /// `return value`, in a function that decides nothing.
    Return(Option<Node>),
    Allow,
    /// `return block(reason)`
    Block(Node),
    /// `return ask(reason)`
    Ask(Node),
    /// `return modify({...})`
    Modify(Vec<(Box<str>, Node)>),
}

/// What is assigned to: variables, by their places.
#[derive(Debug, Clone)]
enum Target {
    One(usize),
    Each(Vec<Target>),
}

/// How deep functions may call each other. What is deeper is left to the language, which has a stack for it.
const DEEPEST: u32 = 4;

/// How much there may be of what the language counts: rounds of loops and calls. Each value that is made counts here, which
/// is more than there. Whoever takes more is left to the language, which then says so.
const MOST_ROUNDS: u32 = 100_000;

/// How many bytes may be made and copied: well below what the language allows.
const MOST_BYTES: usize = 2 << 20;

/// How deep lists may nest. To let go of one calls itself for each level.
const DEEPEST_LIST: u8 = 64;

impl Native {
    /// What the script decides about a payload, and what is then to be written down; nothing where only the language
    /// can tell.
    pub(crate) fn decide(&self, event: &str, payload: &dyn Payload) -> Option<(Said, Vec<Effect>)> {
        let run = Run::of(self);
        let handle = self.functions.get(self.handle)?;
        let frame = Frame::of(handle, &run, 0);
        let given = Given { event, payload, frame: Some(&frame) };
        match frame.steps(&handle.body, given) {
            Ok(Flow::Said(said)) => Some((said, run.notes.into_effects())),
            _ => None,
        }
    }
}

/// What all functions of one run have in common.
struct Run<'a> {
    script: &'a Native,
    notes: Notes,
    rounds: Cell<u32>,
    bytes: Cell<usize>,
}

impl<'a> Run<'a> {
    fn of(script: &'a Native) -> Self {
        Self { script, notes: Notes::default(), rounds: Cell::new(0), bytes: Cell::new(0) }
    }

    /// Something was made, or copied.
    fn made(&self, value: &View<'_>) -> Outcome<()> {
        self.round()?;
        if let View::List(Elements::Made(_, depth)) = value
            && *depth > DEEPEST_LIST
        {
            return Err(CondError::NotNative);
        }
        self.bytes.set(self.bytes.get().saturating_add(size(value, 3)));
        if self.bytes.get() > MOST_BYTES { Err(CondError::NotNative) } else { Ok(()) }
    }

    /// One more call, or round of a loop.
    fn round(&self) -> Outcome<()> {
        self.rounds.set(self.rounds.get() + 1);
        if self.rounds.get() > MOST_ROUNDS { Err(CondError::NotNative) } else { Ok(()) }
    }
}

/// What one call of a function has.
pub(super) struct Frame<'a, 'l> {
    run: &'l Run<'a>,
    locals: RefCell<Vec<Option<View<'a>>>>,
    depth: u32,
}

/// What follows a statement.
enum Flow<'a> {
    Next,
    Break,
    Continue,
    Returned(View<'a>),
    Said(Said),
}

impl<'a, 'l> Frame<'a, 'l> {
    fn of(function: &Function, run: &'l Run<'a>, depth: u32) -> Self {
        Self { run, locals: RefCell::new(vec![None; function.locals]), depth }
    }

    /// A variable, where it was assigned. A text that was made is copied.
    pub(super) fn local(&self, place: usize) -> Option<View<'a>> {
        let local = self.locals.borrow().get(place).cloned().flatten()?;
        match local {
            View::Str(Cow::Owned(_)) => self.run.made(&local).ok().map(|()| local),
            local => Some(local),
        }
    }

    /// Those of a comprehension begin anew each time.
    fn forget(&self, places: std::ops::Range<usize>) {
        self.locals
            .borrow_mut()
            .iter_mut()
            .take(places.end)
            .skip(places.start)
            .for_each(|local| *local = None);
    }

    fn set(&self, target: &Target, value: View<'a>) -> Outcome<()> {
        match target {
            Target::One(place) => {
                let mut locals = self.locals.borrow_mut();
                let local = locals.get_mut(*place).ok_or(CondError::NotNative)?;
                *local = Some(value);
            }
            Target::Each(targets) => {
                let (View::List(items) | View::Tuple(items)) = value else {
                    return Err(CondError::NotNative);
                };
                if items.len() != targets.len() {
                    return Err(CondError::NotNative);
                }
                for (target, value) in targets.iter().zip(items.iter()) {
                    self.set(target, value)?;
                }
            }
        }
        Ok(())
    }

    /// Calls a function of the script.
    fn call(
        &self,
        place: usize,
        arguments: Vec<View<'a>>,
        given: Given<'a, '_>,
    ) -> Outcome<View<'a>> {
        self.run.round()?;
        let script: &'a Native = self.run.script;
        let function = script.functions.get(place).filter(|it| it.parameters == arguments.len());
        let function = function.filter(|_| self.depth < DEEPEST).ok_or(CondError::NotNative)?;
        let frame = Frame::of(function, self.run, self.depth + 1);
        for (place, argument) in arguments.into_iter().enumerate() {
            frame.set(&Target::One(place), argument)?;
        }
        let given = Given { event: given.event, payload: given.payload, frame: Some(&frame) };
        match frame.steps(&function.body, given)? {
            Flow::Next => Ok(View::None),
            Flow::Returned(value) => Ok(value),
            Flow::Break | Flow::Continue | Flow::Said(_) => Err(CondError::NotNative),
        }
    }

    fn steps(&self, steps: &'a [Step], given: Given<'a, '_>) -> Outcome<Flow<'a>> {
        for step in steps {
            match self.step(step, given)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn step(&self, step: &'a Step, given: Given<'a, '_>) -> Outcome<Flow<'a>> {
        match step {
            Step::Set(target, node) => self.set(target, value_of(node, given)?)?,
            Step::Add(place, node) => {
                // A list would be changed in place, for all who have it.
                let value = match (self.local(*place), value_of(node, given)?) {
                    (Some(of @ (View::Str(_) | View::Int(_))), value) => {
                        expression::add(of, value)?
                    }
                    _ => return Err(CondError::NotNative),
                };
                self.set(&Target::One(*place), value)?;
            }
            Step::If(condition, then, otherwise) => {
                let holds = truth(&value_of(condition, given)?)?;
                return self.steps(if holds { then } else { otherwise }, given);
            }
            Step::For(target, over, body) => {
                for item in elements(value_of(over, given)?)?.iter() {
                    self.run.round()?;
                    self.set(target, item)?;
                    match self.steps(body, given)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        end @ (Flow::Returned(_) | Flow::Said(_)) => return Ok(end),
                    }
                }
            }
            Step::Do(node) => {
                value_of(node, given)?;
            }
            Step::Break => return Ok(Flow::Break),
            Step::Continue => return Ok(Flow::Continue),
            Step::Return(None) => return Ok(Flow::Returned(View::None)),
            Step::Return(Some(value)) => return Ok(Flow::Returned(value_of(value, given)?)),
            Step::Allow => return Ok(Flow::Said(Said::Allow)),
            Step::Block(reason) => return Ok(Flow::Said(Said::Block(text(reason, given)?))),
            Step::Ask(reason) => return Ok(Flow::Said(Said::Ask(text(reason, given)?))),
            Step::Modify(fields) => {
                let field = |(name, value): &'a (Box<str>, Node)| {
                    Ok((name.clone().into(), built_in::json_in_patch(&value_of(value, given)?)?))
                };
                let patch = fields.iter().map(field).collect::<Outcome<_>>()?;
                return Ok(Flow::Said(Said::Modify(patch)));
            }
        }
        Ok(Flow::Next)
    }
}

/// About how many bytes a value takes that was made just now.
fn size(value: &View<'_>, levels: u32) -> usize {
    const VALUE: usize = 48;
    let inside = match value {
        View::Str(Cow::Owned(text)) => text.len(),
        View::List(Elements::Made(items, _)) | View::Tuple(Elements::Made(items, _)) => {
            let all = |levels| items.iter().map(|item| size(item, levels)).sum();
            levels.checked_sub(1).map_or(items.len() * VALUE, all)
        }
        View::Record(fields) => {
            let all = |levels| fields.iter().map(|(_, field)| VALUE + size(field, levels)).sum();
            levels.checked_sub(1).map_or(fields.len() * VALUE, all)
        }
        _ => 0,
    };
    VALUE + inside
}

fn text<'a>(node: &'a Node, given: Given<'a, '_>) -> Outcome<String> {
    match value_of(node, given)? {
        View::Str(text) => Ok(text.into_owned()),
        _ => Err(CondError::NotNative),
    }
}

/// What a loop goes over.
fn elements(over: View<'_>) -> Outcome<Elements<'_>> {
    match over {
        View::List(items) | View::Tuple(items) => Ok(items),
        View::Dict(of) => Ok(Elements::made(method::keys(of))),
        _ => Err(CondError::NotNative),
    }
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used, clippy::panic)]

    use std::time::Duration;

    use proptest::prelude::*;
    use serde_json::{Map, Value, json};

    use super::super::{SCRIPT, check_script};
    use super::*;
    use crate::host::{Call, Host, Reply};
    use crate::payload::Whole;
    use crate::sandbox::{Decided, Limits, Program};

    struct Nobody;

    impl Host for Nobody {
        fn call(&self, _call: Call) -> Reply {
            Err("nobody is there".to_owned())
        }
    }

    /// What the language makes of a script; nothing where it fails.
    fn by_starlark(script: &str, payload: &Map<String, Value>) -> Option<(Decided, Vec<Effect>)> {
        let time = Duration::from_secs(20);
        let limits = Limits { steps: 1 << 30, heap: 1 << 26, time, from_start: true };
        let program = Program::compile(script, None, false, limits).ok()?;
        let ran = program.run("tool.pre", payload, false, limits, &Nobody);
        Some((ran.decided.ok()?, ran.effects))
    }

    /// Whether a native form decides; then it is what the language decides.
    fn agrees(script: &str, payload: &Value) -> bool {
        let payload = payload.as_object().unwrap();
        let Ok(checked) = check_script(script, &SCRIPT) else { return false };
        let Some(native) = checked.native else { return false };
        let Some((said, effects)) = native.decide("tool.pre", &Whole(payload)) else {
            return false;
        };
        let ours = (Decided::from(said), effects);
        assert_eq!(Some(ours), by_starlark(script, payload), "{script}\n{payload:?}");
        true
    }

    fn handle(body: &[&str]) -> String {
        let body: Vec<_> = body.iter().map(|line| format!("    {line}\n")).collect();
        format!("def handle(event, payload):\n{}", body.concat())
    }

    #[test]
    fn guards_have_a_native_form() {
        let call = |line: &str| json!({"name": "run_command", "args": {"CommandLine": line}});
        let guard = handle(&[
            "\"\"\"Keeps disks.\"\"\"",
            "command = payload[\"args\"].get(\"CommandLine\", \"\")",
            "for pattern in [\"rm -rf /\", \"mkfs\"]:",
            "    if pattern in command:",
            "        return block(\"blocked: '\" + pattern + \"'\")",
            "return allow()",
        ]);
        assert!(agrees(&guard, &call("mkfs /dev/sda")));
        assert!(agrees(&guard, &call("ls")));
        // What raises is the language's to tell.
        assert!(!agrees(&guard, &json!({"name": "x"})));
        assert!(!agrees(&guard, &json!({"args": {"CommandLine": 1}})));
        for body in [
            &["return allow()"][..],
            &["return block(\"no\") if len(payload) > 1 else allow()"],
            &["return ask(payload[\"name\"] + \"?\")"],
            &[
                "x = \"a\"",
                "for y in (\"b\", \"c\"):",
                "    if y == \"b\":",
                "        continue",
                "    x = x + y",
                "    break",
                "return block(x)",
            ],
            &[
                "if payload[\"name\"] == \"a\":",
                "    return block(\"a\")",
                "elif payload[\"name\"].startswith(\"run\"):",
                "    return block(\"b\")",
                "else:",
                "    return allow()",
            ],
            &["pass", "return block(\" \")"],
        ] {
            assert!(agrees(&handle(body), &call("ls")), "{body:?}");
        }
    }

    #[test]
    fn the_rest_is_left_to_the_language() {
        for body in [
            &["return"][..],
            &["x = 1"],
            &["payload = {}", "return allow()"],
            &["allow = block", "return allow(\"x\")"],
            &["for len in [1]:", "    pass", "return allow()"],
            &["return block(1)"],
            &["return block(\"a\" + 1)"],
            &["return block(x)", "x = \"a\""],
            &["return block(reason = \"a\")"],
            &["return \"allow\""],
            &["return modify({\"a\": 1, \"a\": 2})"],
            &["return modify(payload)"],
            // What changes a list is seen by all who have it.
            &["x = [\"a\"]", "y = x", "x += [\"b\"]", "return block(y[1])"],
            &["x = []", "x.append(\"a\")", "return block(x[0])"],
            &["x, y = [\"a\"]", "return block(x)"],
            &["return block(\"\".join([y for x in [\"a\"] for y in y]))"],
            &["y = [\"b\"]", "return block(\"\".join([y for x in [\"a\"] for y in y]))"],
            &["return block(\"a\".split(\"\")[0])"],
            &["return block(str([1]))"],
            &["return block(\"abc\"[:99999999999])"],
            &["return block(\"abc\"[payload.get(\"n\"):])"],
            &["return block(\"{0}\".format(\"a\"))"],
            &["metrics.incr(\"a\" * 300)", "return allow()"],
            &["metrics.incr(1)", "return allow()"],
            &["log.info(\"x\", x = payload[\"absent\"])", "return allow()"],
            &["return block(str(cache.get(\"a\")))"],
            &["return block(str(effects.of({}).list))"],
            &["return block((lambda: \"a\")())"],
        ] {
            assert!(!agrees(&handle(body), &json!({"name": "a"})), "{body:?}");
        }
        // A patch is a level of its own.
        let nested = |depth: u32| (1..depth).fold(json!([]), |inner, _| json!([inner]));
        let patch = handle(&["return modify({\"args\": payload[\"args\"]})"]);
        assert!(agrees(&patch, &json!({"args": nested(99)})));
        assert!(!agrees(&patch, &json!({"args": nested(100)})));
        let payload = json!({});
        for script in [
            "def handle(event, payload = {}):\n    return allow()\n",
            "def handle(e, p):\n    return block(p[\"x\"])\n",
            "x = [1] + [len([2])]\ndef handle(event, payload):\n    return allow()\n",
            "x = 1\nx = 2\ndef handle(event, payload):\n    return allow()\n",
            "def f(x):\n    return f(x)\ndef handle(event, payload):\n    return block(f(\"a\"))\n",
            "def payload(x):\n    return x\ndef handle(event, payload):\n    return block(payload(\"a\"))\n",
            "event = \"a\"\ndef handle(event, payload):\n    return block(event)\n",
            "def f(x = 1):\n    return x\ndef handle(event, payload):\n    return allow()\n",
            "def f():\n    return allow()\ndef handle(event, payload):\n    return f()\n",
        ] {
            assert!(!agrees(script, &payload), "{script}");
        }
    }

    #[test]
    fn what_scripts_have_beyond_conditions() {
        let payload = json!({
            "name": "run_command",
            "server": null,
            "args": {"CommandLine": "git push -f && rm -r build > /dev/null", "Cwd": "/work", "n": 3},
            "session": {"id": "s", "workspaces": ["/work", "/more"]},
            "result": "token ghp_0123456789abcdefghijklmnopqrstuvwxyz",
        });
        let scripts = [
            "NAMES = {\"a\": [\"b\"], \"c\": {\"d\": 1}}\n\
             def has(name):\n    return name in NAMES\n\
             def handle(event, payload):\n    return block(str([has(\"a\"), has(\"b\")][0]))\n",
            "def at(payload, event):\n    return payload[event]\n\
             def handle(event, payload):\n    return block(at({\"x\": \"y\"}, \"x\") + event)\n",
            "def twice(x):\n    for y in x:\n        if y == \"b\":\n            return y + y\n\
             def handle(event, payload):\n    return block(str(twice([\"a\", \"b\"])) + str(twice([])))\n",
        ];
        for script in scripts {
            assert!(agrees(script, &payload), "{script}");
        }
        for line in [
            "return block(payload[\"args\"][\"CommandLine\"].split()[1])",
            "return block(\"|\".join(\"a,b,,c\".split(\",\")))",
            "return block(\"|\".join(\"a\\nb\\r\\nc\\r\\rd\\n\".splitlines()))",
            "return block(\"abcäö\"[1:-1] + \"abc\"[-99:2] + \"abc\"[2:1] + \"|\".join([\"a\", \"b\", \"c\"][1:]))",
            "return block(\"a-b\".replace(\"-\", \"+\").removeprefix(\"a\").removesuffix(\"x\"))",
            "return block(\"{} and {}\".format(\"a\", 1 + 2 - 4) + f\"<{event}>\")",
            "return block(\",\".join([k + \"=\" + str(v) for k, v in payload[\"args\"].items() if k != \"Cwd\"]))",
            "return block(\",\".join([x + y for x in [\"a\", \"b\"] for y in [x, \"c\"] if x != y]))",
            "return block(\",\".join(payload[\"args\"].keys()) + str(3 in payload[\"args\"].values()))",
            "return block(str(any([x == \"a\" for x in payload])) + str(all([])) + str(bool([\"\"])))",
            "return block(\",\".join([x for x in list(payload) + [\"z\"]]))",
            "return block(json.encode([payload[\"args\"], payload[\"session\"], None, True, 1.5, (1, 2)]))",
            "return block(path.normalize(\"/a/../b\") + str(path.inside(\"/a/b\", \"/a\")))",
            "return block(\",\".join(secrets.find(payload[\"result\"])) + secrets.mask(payload[\"result\"]))",
            "return modify({\"result\": secrets.mask(payload[\"result\"]), \"args\": payload[\"args\"]})",
            "return block(\"; \".join([e.kind + \":\" + str(e.path) + \":\" + str(e.place) + \":\" + str(e.tree) + e.by + str(e.destroys) for e in effects.of(payload).list]))",
            "return block(\"; \".join([\" \".join(c.argv) + str(c.program) + str(c.known) + str(c.host) + \"\".join([r.target + r.access for r in c.redirects]) for c in shell.parse(payload[\"args\"][\"CommandLine\"], payload[\"args\"].get(\"Cwd\")).commands]))",
            "return block(str(effects.writes_under(payload, \"build\")) + str(effects.reads_under(payload, \"/etc\")) + str(effects.deletes_under(payload, \"/work/build\")) + str(effects.reaches_network(payload)))",
            "return block(\",\".join([u.why + u.text for u in shell.parse(\"eval $x\").unknown]))",
        ] {
            assert!(agrees(&handle(&[line]), &payload), "{line}");
        }
        for body in [
            &["a, b = (\"x\", \"y\")", "return block(b + a)"][..],
            &["x = \"a\"", "for y in [\"b\", \"c\"]:", "    x += y", "return block(x)"],
            &[
                "n = 0",
                "for k, v in {\"a\": 1, \"b\": 2}.items():",
                "    n += v",
                "return block(str(n))",
            ],
            &[
                "metrics.incr(\"calls\")",
                "metrics.incr(\"calls.\" + payload[\"name\"], 2)",
                "log.info(\"seen\", 1, None, tool = payload[\"name\"], args = payload[\"args\"])",
                "log.warn(\"x\")",
                "print(\"y\")",
                "return allow()",
            ],
        ] {
            assert!(agrees(&handle(body), &payload), "{body:?}");
        }
    }

    /// Who takes more than the language allows is left to it.
    #[test]
    fn what_takes_too_much_is_left_to_the_language() {
        let texts = vec!["\"a\""; 310].join(", ");
        let twice = |body: &str| {
            format!(
                "L = [{texts}]\ndef handle(event, payload):\n    x = []\n    y = \"a\"\n    for a in L:\n        \
                 for b in L:\n            {body}\n    return allow()\n"
            )
        };
        let payload = json!({});
        let decides = |script: &str| {
            let native = check_script(script, &SCRIPT).unwrap().native.unwrap();
            native.decide("tool.pre", payload.as_object().unwrap()).is_some()
        };
        assert!(decides(&twice("pass")));
        for body in ["x = [x]", "y = y + \"aaaaaaaaaaaaaaaaaaaaaaaaa\"", "y = str(b)"] {
            assert!(!decides(&twice(body)), "{body}");
        }
        // As deep as one may, in no time: each operand is compiled once.
        for deep in [
            format!("{}event{}", "str(".repeat(45), ")".repeat(45)),
            format!("event{}", ".replace(\"a\", \"b\")".repeat(45)),
            format!("{}cache{}", "payload.get(\"a\", ".repeat(45), ")".repeat(45)),
            format!("{}cache{}", "type(".repeat(45), ")".repeat(45)),
        ] {
            let script = handle(&[&format!("return block({deep})")]);
            check_script(&script, &SCRIPT).unwrap();
        }
    }

    /// The hooks that people copy need no language for what they are usually asked.
    #[test]
    fn ready_hooks_have_a_native_form() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let folders = [
            "hooks",
            "examples/governed-agent/.harness/hooks",
            "examples/governed-agent/.tollgate/hooks",
        ];
        let mut without = Vec::new();
        for folder in folders {
            for entry in std::fs::read_dir(root.join(folder)).unwrap() {
                let file = entry.unwrap().path();
                let text = std::fs::read_to_string(&file).unwrap();
                let Some((_, script)) = text.split_once("script: |\n") else { continue };
                let (script, _) = script.split_once("\n---").unwrap();
                let lines = script.lines().map(|line| line.get(2..).unwrap_or_default());
                let script = lines.collect::<Vec<_>>().join("\n");
                if check_script(&script, &SCRIPT).unwrap().native.is_none() {
                    without.push(file.file_name().unwrap().to_string_lossy().into_owned());
                }
            }
        }
        // It asks for what was kept.
        assert_eq!(without, ["budget.md"]);
    }

    fn expression() -> impl Strategy<Value = String> {
        let leaf = prop::sample::select(vec![
            "\"a\"",
            "\"\"",
            "1",
            "None",
            "True",
            "x",
            "y",
            "event",
            "payload",
            "payload[\"name\"]",
            "payload[\"args\"]",
            "payload.get(\"n\")",
            "payload.get(\"args\", {}).get(\"c\", \"\")",
            "[\"a\", \"b\"]",
            "(\"a\",)",
            "[]",
            "{}",
            "payload[\"args\"][x]",
            "payload.get(x, y)",
            "x[0]",
            "x[1:]",
            "[x, y]",
            "help(x)",
            "GLOBAL",
            "GLOBAL.get(x)",
            "event.split(\".\")",
            "effects.of(payload).list",
        ])
        .prop_map(str::to_owned);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                (
                    inner.clone(),
                    prop::sample::select(vec![
                        "==", "!=", "in", "not in", "+", "-", "and", "or", "<", ">="
                    ]),
                    inner.clone()
                )
                    .prop_map(|(left, op, right)| format!("({left} {op} {right})")),
                inner.clone().prop_map(|of| format!("(not {of})")),
                inner.clone().prop_map(|of| format!("len({of})")),
                inner.clone().prop_map(|of| format!("{of}[:-1]")),
                inner.clone().prop_map(|of| format!("str({of})")),
                inner.clone().prop_map(|of| format!("any({of})")),
                inner.clone().prop_map(|of| format!("list({of})")),
                inner.clone().prop_map(|of| format!("help({of})")),
                inner.clone().prop_map(|of| format!("json.encode({of})")),
                inner.clone().prop_map(|of| format!("\"-\".join({of})")),
                (inner.clone(), inner.clone()).prop_map(|(of, by)| format!("{of}.split({by})")),
                (inner.clone(), inner.clone())
                    .prop_map(|(of, by)| format!("{of}.startswith({by})")),
                (inner.clone(), inner.clone()).prop_map(|(of, at)| format!("{of}[{at}]")),
                (inner.clone(), inner.clone(), inner.clone())
                    .prop_map(|(it, of, when)| format!("[{it} for x in {of} if {when}]")),
                (inner.clone(), inner.clone())
                    .prop_map(|(it, of)| format!("[{it} for x in {of} for y in x]")),
                inner.clone().prop_map(|of| format!("{of}.lower()")),
                (inner.clone(), inner.clone(), inner)
                    .prop_map(|(a, b, c)| format!("({a} if {b} else {c})")),
            ]
        })
    }

    fn statements(depth: u32) -> BoxedStrategy<Vec<String>> {
        let ending = prop_oneof![
            Just("return allow()".to_owned()),
            expression().prop_map(|it| format!("return block({it})")),
            expression().prop_map(|it| format!("return ask({it})")),
        ];
        let simple = prop_oneof![
            3 => (prop::sample::select(vec!["x", "y"]), expression()).prop_map(|(x, it)| vec![format!("{x} = {it}")]),
            2 => ending.prop_map(|line| vec![line]),
            1 => Just(vec!["pass".to_owned()]),
            1 => expression().prop_map(|it| vec![format!("metrics.incr({it})")]),
            1 => expression().prop_map(|it| vec![format!("log({it}, x = {it})")]),
            1 => expression().prop_map(|it| vec![format!("x += {it}")]),
            1 => expression().prop_map(|it| vec![format!("x, y = {it}")]),
            1 => expression().prop_map(|it| vec![format!("return modify({{\"name\": {it}}})")]),
        ];
        if depth == 0 {
            return simple.boxed();
        }
        let indented = |lines: Vec<String>| {
            lines.into_iter().map(|line| format!("    {line}")).collect::<Vec<_>>()
        };
        let block =
            || prop::collection::vec(statements(depth - 1), 1..3).prop_map(|all| all.concat());
        let branch = (expression(), block(), block()).prop_map(move |(it, then, other)| {
            let mut lines = vec![format!("if {it}:")];
            lines.extend(indented(then));
            lines.push("else:".to_owned());
            lines.extend(indented(other));
            lines
        });
        let again = (prop::sample::select(vec!["x", "y"]), expression(), block(), any::<bool>())
            .prop_map(move |(x, it, mut body, breaks)| {
                body.push(if breaks { "break" } else { "continue" }.to_owned());
                let mut lines = vec![format!("for {x} in {it}:")];
                lines.extend(indented(body));
                lines
            });
        prop_oneof![3 => simple, 2 => branch, 2 => again].boxed()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_decided_natively_is_what_the_language_decides(
            body in prop::collection::vec(statements(2), 1..5).prop_map(|all| all.concat()),
            name in prop::sample::select(vec!["a", "ab", ""]),
            c in prop::sample::select(vec![json!("a"), json!("xay"), json!(1), json!(["a"]), json!(null)]),
        ) {
            let lines: Vec<&str> = body.iter().map(String::as_str).chain(["return allow()"]).collect();
            let help = "GLOBAL = {\"a\": \"b\", \"\": [\"a\"]}\ndef help(it):\n    if it:\n        return [it, it]\n    return GLOBAL\n";
            agrees(&(help.to_owned() + &handle(&lines)), &json!({"name": name, "n": 2, "args": {"c": c}}));
        }
    }
}
