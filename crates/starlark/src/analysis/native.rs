//! Scripts that need no Starlark.
//!
//! Most guards look at a few parts of the payload, compare them with constants and decide. Those are compiled to a small
//! tree and run on the event as it is, without a heap, without values and without the language's tables, which take
//! milliseconds to build. The expressions are those of [conditions](super::condition), and mean what they mean there.
//!
//! A native form only ever decides as the language would. Whatever it does not cover, and every error, it leaves to the
//! language, which then says what is wrong in its own words: nothing that is covered has an effect, so it can be run
//! again. That a script is cheap is known of its text ([bounded](super::bounded)), and holds for this form as well.

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::{
    ArgumentP, AssignTargetP, AstAssignTarget, AstExpr, AstLiteral, AstStmt, CallArgsP, ExprP,
    ForP, ParameterP, StmtP,
};

use super::condition::compile::{Node, Within, node};
use super::condition::eval::{Given, Outcome, eval, truth};
use super::condition::{CondError, Payload, View};

/// The `handle` of a script in native form.
#[derive(Debug, Clone)]
pub(crate) struct Native {
    body: Vec<Step>,
    locals: usize,
}

/// What a script has decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    Allow,
    Block(String),
    Ask(String),
}

/// A statement.
#[derive(Debug, Clone)]
enum Step {
    /// `name = value`
    Set(usize, Node),
    If(Node, Vec<Step>, Vec<Step>),
    For(usize, Node, Vec<Step>),
    Break,
    Continue,
    Allow,
    /// `return block(reason)`
    Block(Node),
    /// `return ask(reason)`
    Ask(Node),
}

/// Names that mean what they do in a condition. A script that gives one of them another meaning is left to the language.
const KEPT: &[&str] =
    &["payload", "event", "allow", "block", "ask", "len", "type", "None", "True", "False"];

impl Native {
    /// The native form of a script that is nothing but `def handle(event, payload)`.
    pub(super) fn of(ast: &AstModule) -> Option<Self> {
        let mut statements = Vec::new();
        flat(ast.statement(), &mut statements);
        let [statement] = statements.as_slice() else { return None };
        let StmtP::Def(handle) = &statement.node else { return None };
        let is_plain = |place: usize, name: &str| match handle.params.get(place).map(|it| &it.node)
        {
            Some(ParameterP::Normal(ident, None, None)) => ident.node.ident == name,
            _ => false,
        };
        let is_handle = handle.name.node.ident == "handle"
            && handle.return_type.is_none()
            && handle.params.len() == 2
            && is_plain(0, "event")
            && is_plain(1, "payload");
        if !is_handle {
            return None;
        }
        let mut locals = Vec::new();
        assigned(&handle.body, &mut locals)?;
        if locals.iter().any(|local| KEPT.contains(local)) {
            return None;
        }
        Some(Self { body: steps(&handle.body, &locals)?, locals: locals.len() })
    }

    /// What the script decides about a payload; nothing where only the language can tell.
    pub(crate) fn decide(&self, event: &str, payload: &dyn Payload) -> Option<Said> {
        let mut run = Run { event, payload, locals: vec![None; self.locals] };
        match run.steps(&self.body) {
            Ok(Flow::Said(said)) => Some(said),
            _ => None,
        }
    }
}

/// Statements, one after the other.
fn flat<'a>(statement: &'a AstStmt, into: &mut Vec<&'a AstStmt>) {
    match &statement.node {
        StmtP::Statements(all) => all.iter().for_each(|statement| flat(statement, into)),
        StmtP::Pass => {}
        _ => into.push(statement),
    }
}

/// The names that are assigned to: they are variables throughout.
fn assigned<'a>(statement: &'a AstStmt, names: &mut Vec<&'a str>) -> Option<()> {
    match &statement.node {
        StmtP::Assign(assign) => add(&assign.lhs, names),
        StmtP::For(ForP { var, body, .. }) => {
            add(var, names)?;
            assigned(body, names)
        }
        StmtP::Statements(all) => all.iter().try_for_each(|statement| assigned(statement, names)),
        StmtP::If(_, then) => assigned(then, names),
        StmtP::IfElse(_, both) => {
            assigned(&both.0, names)?;
            assigned(&both.1, names)
        }
        StmtP::Return(_) | StmtP::Expression(_) | StmtP::Pass | StmtP::Break | StmtP::Continue => {
            Some(())
        }
        StmtP::AssignModify(..) | StmtP::Def(_) | StmtP::Load(_) => None,
    }
}

fn add<'a>(target: &'a AstAssignTarget, names: &mut Vec<&'a str>) -> Option<()> {
    let name = name_of(target)?;
    if !names.contains(&name) {
        names.push(name);
    }
    Some(())
}

fn name_of(target: &AstAssignTarget) -> Option<&str> {
    match &target.node {
        AssignTargetP::Identifier(name) => Some(name.node.ident.as_str()),
        _ => None,
    }
}

fn steps(statement: &AstStmt, locals: &[&str]) -> Option<Vec<Step>> {
    let mut statements = Vec::new();
    flat(statement, &mut statements);
    let mut steps = Vec::with_capacity(statements.len());
    for (place, statement) in statements.into_iter().enumerate() {
        match &statement.node {
            // What documents a function.
            StmtP::Expression(expression) if place == 0 && is_text(expression) => {}
            _ => steps.push(step(statement, locals)?),
        }
    }
    Some(steps)
}

fn is_text(expression: &AstExpr) -> bool {
    matches!(expression.node, ExprP::Literal(AstLiteral::String(_)))
}

fn step(statement: &AstStmt, locals: &[&str]) -> Option<Step> {
    let value = |expression: &AstExpr| node(expression, Within::Script(locals));
    let local = |target: &AstAssignTarget| {
        let name = name_of(target)?;
        locals.iter().position(|local| *local == name)
    };
    Some(match &statement.node {
        StmtP::Assign(assign) if assign.ty.is_none() => {
            Step::Set(local(&assign.lhs)?, value(&assign.rhs)?)
        }
        StmtP::If(condition, then) => Step::If(value(condition)?, steps(then, locals)?, Vec::new()),
        StmtP::IfElse(condition, both) => {
            Step::If(value(condition)?, steps(&both.0, locals)?, steps(&both.1, locals)?)
        }
        StmtP::For(ForP { var, over, body }) => {
            Step::For(local(var)?, value(over)?, steps(body, locals)?)
        }
        StmtP::Break => Step::Break,
        StmtP::Continue => Step::Continue,
        StmtP::Return(Some(decision)) => ending(decision, locals)?,
        _ => return None,
    })
}

/// `allow()`, `block(reason)`, `ask(reason)`, or one of them by a condition.
fn ending(decision: &AstExpr, locals: &[&str]) -> Option<Step> {
    let value = |expression: &AstExpr| node(expression, Within::Script(locals));
    match &decision.node {
        ExprP::If(parts) => {
            let (condition, then, otherwise) = &**parts;
            let then = vec![ending(then, locals)?];
            Some(Step::If(value(condition)?, then, vec![ending(otherwise, locals)?]))
        }
        ExprP::Call(function, CallArgsP { args }) => {
            let ExprP::Identifier(name) = &function.node else { return None };
            let arguments: Vec<&AstExpr> = args
                .iter()
                .map(|argument| match &argument.node {
                    ArgumentP::Positional(value) => Some(value),
                    _ => None,
                })
                .collect::<Option<_>>()?;
            match (name.node.ident.as_str(), arguments.as_slice()) {
                ("allow", []) => Some(Step::Allow),
                ("block", [reason]) => value(reason).map(Step::Block),
                ("ask", [reason]) => value(reason).map(Step::Ask),
                _ => None,
            }
        }
        _ => None,
    }
}

/// What follows a statement.
enum Flow {
    Next,
    Break,
    Continue,
    Said(Said),
}

struct Run<'a> {
    event: &'a str,
    payload: &'a dyn Payload,
    locals: Vec<Option<View<'a>>>,
}

impl<'a> Run<'a> {
    fn value(&self, node: &'a Node) -> Outcome<View<'a>> {
        eval(node, Given { event: self.event, payload: self.payload, locals: &self.locals })
    }

    fn text(&self, node: &'a Node) -> Outcome<String> {
        match self.value(node)? {
            View::Str(text) => Ok(text.into_owned()),
            _ => Err(CondError::NotNative),
        }
    }

    fn set(&mut self, place: usize, value: View<'a>) {
        if let Some(local) = self.locals.get_mut(place) {
            *local = Some(value);
        }
    }

    fn steps(&mut self, steps: &'a [Step]) -> Outcome<Flow> {
        for step in steps {
            match self.step(step)? {
                Flow::Next => {}
                other => return Ok(other),
            }
        }
        Ok(Flow::Next)
    }

    fn step(&mut self, step: &'a Step) -> Outcome<Flow> {
        match step {
            Step::Set(place, node) => {
                let value = self.value(node)?;
                self.set(*place, value);
                Ok(Flow::Next)
            }
            Step::If(condition, then, otherwise) => {
                let holds = truth(&self.value(condition)?)?;
                self.steps(if holds { then } else { otherwise })
            }
            Step::For(place, over, body) => {
                let (View::List(items) | View::Tuple(items)) = self.value(over)? else {
                    return Err(CondError::NotNative);
                };
                for item in (0..items.len()).map_while(|at| items.at(at)) {
                    self.set(*place, item);
                    match self.steps(body)? {
                        Flow::Next | Flow::Continue => {}
                        Flow::Break => break,
                        said @ Flow::Said(_) => return Ok(said),
                    }
                }
                Ok(Flow::Next)
            }
            Step::Break => Ok(Flow::Break),
            Step::Continue => Ok(Flow::Continue),
            Step::Allow => Ok(Flow::Said(Said::Allow)),
            Step::Block(reason) => Ok(Flow::Said(Said::Block(self.text(reason)?))),
            Step::Ask(reason) => Ok(Flow::Said(Said::Ask(self.text(reason)?))),
        }
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
    use crate::sandbox::{Decided, Limits, Program};

    struct Nobody;

    impl Host for Nobody {
        fn call(&self, _call: Call) -> Reply {
            Err("nobody is there".to_owned())
        }
    }

    /// What the language makes of a script; nothing where it fails.
    fn by_starlark(script: &str, payload: &Map<String, Value>) -> Option<Decided> {
        let time = Duration::from_secs(20);
        let limits = Limits { steps: 1 << 30, heap: 1 << 26, time, from_start: true };
        let program = Program::compile(script, None, false, limits).ok()?;
        program.run("tool.pre", payload, false, limits, &Nobody).decided.ok()
    }

    /// Whether a native form decides; then it is what the language decides.
    fn agrees(script: &str, payload: &Value) -> bool {
        let payload = payload.as_object().unwrap();
        let Ok(checked) = check_script(script, &SCRIPT) else { return false };
        let Some(native) = checked.native else { return false };
        let Some(said) = native.decide("tool.pre", payload) else { return false };
        let decided = match said {
            Said::Allow => Decided::Allow,
            Said::Block(reason) => Decided::block(&reason),
            Said::Ask(reason) => Decided::ask(&reason),
        };
        assert_eq!(Some(decided), by_starlark(script, payload), "{script}\n{payload:?}");
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
            &["metrics.incr(\"x\")", "return allow()"],
            &["payload = {}", "return allow()"],
            &["allow = block", "return allow(\"x\")"],
            &["for len in [1]:", "    pass", "return allow()"],
            &["return block(1)"],
            &["return block(\"a\" + 1)"],
            &["return block(x)", "x = \"a\""],
            &["for x in payload:", "    return block(x)", "return allow()"],
            &["return modify({})"],
            &["return block(reason = \"a\")"],
            &["x, y = \"a\", \"b\"", "return allow()"],
            &["return \"allow\""],
        ] {
            assert!(!agrees(&handle(body), &json!({"name": "a"})), "{body:?}");
        }
        let payload = json!({});
        assert!(!agrees("x = 1\ndef handle(event, payload):\n    return allow()\n", &payload));
        assert!(!agrees("def handle(event, payload = {}):\n    return allow()\n", &payload));
        assert!(!agrees("def handle(e, p):\n    return block(p[\"x\"])\n", &payload));
        assert!(!agrees(
            "def f():\n    return 1\ndef handle(event, payload):\n    return allow()\n",
            &payload
        ));
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
        ])
        .prop_map(str::to_owned);
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop_oneof![
                (
                    inner.clone(),
                    prop::sample::select(vec![
                        "==", "!=", "in", "not in", "+", "and", "or", "<", ">="
                    ]),
                    inner.clone()
                )
                    .prop_map(|(left, op, right)| format!("({left} {op} {right})")),
                inner.clone().prop_map(|of| format!("(not {of})")),
                inner.clone().prop_map(|of| format!("len({of})")),
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
            agrees(&handle(&lines), &json!({"name": name, "n": 2, "args": {"c": c}}));
        }
    }
}
