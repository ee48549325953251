//! The laws of composing and of asking again, on generated hooks.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll, Waker};

use proptest::prelude::*;
use serde_json::json;
use tollgate_core::hook::{Ask, BoxFuture};
use tollgate_core::patch::ArgsPatch;
use tollgate_core::prelude::*;
use tollgate_core::verdict::{Attempt, Finish, Flow, Hold, Level, Pass, Verdict};

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Task::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("nothing here waits"),
    }
}

fn level() -> impl Strategy<Value = Level> {
    prop::sample::select(vec![Level::None, Level::Allow, Level::Ask, Level::ForceAsk, Level::Deny])
}

fn gates() -> impl Strategy<Value = Vec<Gate>> {
    let gate = (level(), 0..3u8).prop_map(|(level, n)| Gate::new(level, format!("r{n}")));
    prop::collection::vec(gate, 0..8)
}

fn compose<V: Verdict>(verdicts: &[V]) -> V {
    verdicts.iter().cloned().fold(V::default(), V::join)
}

/// Every verdict of the other shapes, from the words they know.
fn shapes<V: Verdict>() -> Vec<V> {
    [Word::None, Word::Deny, Word::Retry, Word::Continue, Word::Terminate]
        .into_iter()
        .chain([Word::Suppress, Word::Cancel])
        .filter_map(|word| V::from_word(word, "why".to_owned()).ok())
        .collect()
}

fn laws_hold<V: Verdict>() {
    for a in shapes::<V>() {
        assert_eq!(V::default().join(a.clone()), a, "no opinion is neutral");
        assert_eq!(a.clone().join(V::default()), a, "no opinion is neutral");
        for b in shapes::<V>() {
            let joined = a.clone().join(b.clone());
            assert_eq!(joined.rank(), a.rank().max(b.rank()), "the strictest wins");
            if a.is_final() {
                assert_eq!(joined, a, "nothing undoes a final verdict");
            }
            for c in shapes::<V>() {
                let left = a.clone().join(b.clone()).join(c.clone());
                assert_eq!(left, a.clone().join(b.clone().join(c)), "associative");
            }
        }
    }
}

#[test]
fn every_shape_of_verdict_obeys_the_laws() {
    laws_hold::<Pass>();
    laws_hold::<Attempt>();
    laws_hold::<Finish>();
    laws_hold::<Flow>();
    laws_hold::<Hold>();
}

proptest! {
    #[test]
    fn a_deny_is_never_undone(before in gates(), after in gates(), reason in "[a-z]{1,5}") {
        let mut all = before;
        all.push(Gate::new(Level::Deny, reason));
        all.extend(after);
        prop_assert_eq!(compose(&all).level, Level::Deny);
    }

    #[test]
    fn the_strictest_wins_whatever_the_order(gates in gates(), seed in any::<u64>()) {
        let strictest = gates.iter().map(|gate| gate.level).max().unwrap_or_default();
        prop_assert_eq!(compose(&gates).level, strictest);
        let mut shuffled = gates.clone();
        let mut state = seed;
        for i in (1..shuffled.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            shuffled.swap(i, usize::try_from(state >> 33).unwrap() % (i + 1));
        }
        prop_assert_eq!(compose(&shuffled).level, strictest);
    }

    #[test]
    fn no_opinion_is_neutral(gates in gates(), place in any::<prop::sample::Index>()) {
        let mut more = gates.clone();
        more.insert(place.index(gates.len() + 1), Gate::new(Level::None, "a remark"));
        let (with, without) = (compose(&more), compose(&gates));
        prop_assert_eq!(with.level, without.level);
        if without.level != Level::None {
            prop_assert_eq!(with, without);
        }
    }
}

/// What a generated hook does about a payload whose argument has a certain value.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Action {
    NotMine,
    Quiet,
    Allow,
    Ask,
    Deny,
    Fail,
    Set(u8),
}

const VALUES: u8 = 5;

/// A hook as a table: for each value of the argument, what it does.
#[derive(Debug, Clone)]
struct Table([Action; VALUES as usize]);

impl Table {
    fn about(&self, event: &ToolPre) -> Action {
        let value = event.args.get("v").and_then(serde_json::Value::as_u64).unwrap_or(0);
        self.0[usize::try_from(value).unwrap()]
    }
}

impl Handle<ToolPre> for Table {
    fn wants(&self, event: &ToolPre) -> Result<bool, BoxError> {
        Ok(self.about(event) != Action::NotMine)
    }
    fn handle<'a>(&'a self, ask: Ask<'a, ToolPre>) -> BoxFuture<'a, HookResult<ToolPre>> {
        let answer = match self.about(ask.event) {
            Action::NotMine | Action::Quiet => Ok(Answer::none()),
            Action::Allow => Ok(Answer::allow()),
            Action::Ask => Ok(Answer::ask("?")),
            Action::Deny => Ok(Answer::deny("no")),
            Action::Fail => Err("boom".into()),
            Action::Set(value) => {
                let args = [("v".to_owned(), json!(value))].into_iter().collect();
                Ok(Answer::rewrite(ArgsPatch::Set(args)))
            }
        };
        Box::pin(std::future::ready(answer))
    }
}

fn table() -> impl Strategy<Value = Table> {
    let action = prop_oneof![
        2 => Just(Action::NotMine),
        4 => Just(Action::Quiet),
        2 => Just(Action::Allow),
        1 => Just(Action::Ask),
        1 => Just(Action::Deny),
        1 => Just(Action::Fail),
        3 => (0..VALUES).prop_map(Action::Set),
    ];
    prop::array::uniform5(action).prop_map(Table)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..Default::default() })]

    #[test]
    fn what_is_executed_was_approved_by_all(
        tables in prop::collection::vec(table(), 0..6),
        start in 0..VALUES,
    ) {
        let mut builder = Runner::builder();
        for (place, table) in tables.iter().enumerate() {
            let name = format!("hook {place}");
            builder = builder.register(Registration::on::<ToolPre, _>(name, table.clone()));
        }
        let runner = builder.build().unwrap();
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let event = ToolPre::from(ToolCall::new("t").arg("v", start));
        let outcome = now(runner.dispatch(&operation, event));
        let level = outcome.verdict.level;
        let author = outcome.record.rewrites.last().map(|_| {
            outcome.record.answers.iter().rev().find(|answered| answered.rewrote).unwrap()
        });
        let author = author.map(|answered| outcome.record.hook(answered).unwrap().name.clone());
        let asked: Vec<Action> = tables.iter().map(|table| table.about(&outcome.event)).collect();
        if level != Level::Deny {
            for (place, action) in asked.iter().enumerate() {
                prop_assert!(!matches!(action, Action::Deny | Action::Fail),
                    "hook {place} refuses what would be executed");
                // Whoever would write it differently was not overruled in silence. The last
                // author may be one to write again.
                if let Action::Set(value) = action {
                    let same = outcome.event.args["v"] == json!(value);
                    let own = author == Some(format!("hook {place}"));
                    prop_assert!(same || own, "hook {place} was overruled");
                }
            }
            if asked.contains(&Action::Ask) {
                prop_assert!(level >= Level::Ask, "somebody wants a person to be asked");
            }
        }
        if level == Level::Allow {
            prop_assert!(asked.contains(&Action::Allow), "an allow of another payload counts not");
        }
        // Nothing but the argument is ever rewritten.
        prop_assert_eq!(outcome.event.name.as_str(), "t");
    }
}

#[test]
fn a_hook_that_matches_only_the_rewritten_payload_is_asked() {
    let sets_rm = |_cx: &OperationContext, call: &ToolPre| {
        if call.text("CommandLine") == Some("clean") {
            return Answer::set_args([("CommandLine", json!("rm -rf build"))]);
        }
        Answer::none()
    };
    let no_rm = tollgate_core::hook::when::<ToolPre, _, _>(
        |call| Ok(call.text("CommandLine").is_some_and(|line| line.starts_with("rm"))),
        Table([Action::Deny; VALUES as usize]),
    );
    let runner = Runner::builder()
        .register(Registration::on::<ToolPre, _>("no rm", no_rm))
        .register(transform("expand", sets_rm))
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "clean"));
    let outcome = now(runner.dispatch(&operation, event));
    assert_eq!(outcome.record.detail(), "deny by hook `no rm`: no");
    assert!(outcome.record.answers.last().unwrap().reask);
    assert!(outcome.permit().is_refused());
}

#[test]
fn a_rewrite_that_does_not_fit_the_tool_is_refused() {
    let runner = Runner::builder()
        .register(transform("breaks it", |_cx, _: &ToolPre| {
            Answer::set_args([("CommandLine", json!(["ls"]))])
        }))
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "ls"));
    let outcome = now(runner.dispatch(&operation, event));
    let detail = outcome.record.detail();
    assert!(detail.contains("`breaks it`") && detail.contains("`CommandLine`"), "{detail}");
    assert!(outcome.permit().is_refused());
}

#[test]
fn a_hook_that_rewrites_the_final_payload_again_is_refused() {
    let appends = |name: &str| {
        transform(name, |_cx, call: &ToolPre| {
            let line = call.text("CommandLine").unwrap_or_default();
            Answer::set_args([("CommandLine", json!(format!("{line} -v")))])
        })
    };
    let build = |names: &[&str]| {
        let mut builder = Runner::builder();
        for name in names {
            builder = builder.register(appends(name));
        }
        builder.build().unwrap()
    };
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = || ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "ls"));
    assert!(now(build(&["one"]).dispatch(&operation, event())).permit().is_granted());
    let outcome = now(build(&["one", "two"]).dispatch(&operation, event()));
    assert!(outcome.record.detail().contains("`one`"), "{}", outcome.record.detail());
    assert!(outcome.permit().is_refused());
}

#[test]
fn an_approval_of_other_arguments_does_not_count() {
    let allows_ls = |_cx: &OperationContext, call: &ToolPre| {
        if call.text("CommandLine") == Some("ls") {
            return Decision::allow().permit_resource("command(ls)");
        }
        Decision::none()
    };
    let runner = Runner::builder()
        .register(decide("allows ls", allows_ls))
        .register(transform("changes it", |_cx, _: &ToolPre| {
            Answer::set_args([("CommandLine", json!("make"))])
        }))
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "ls"));
    let outcome = now(runner.dispatch(&operation, event));
    assert_eq!(outcome.verdict.level, Level::None);
    assert!(outcome.extra.0.is_empty());
}

#[test]
fn policies_decide_on_the_final_arguments_and_people_are_asked_last() {
    let asked = Arc::new(std::sync::Mutex::new(Vec::new()));
    let log = Arc::clone(&asked);
    let rule = policy::ask_user("run_command", move |call| {
        log.lock().unwrap().push(call.text("CommandLine").unwrap().to_owned());
        true
    });
    let runner = Runner::builder()
        .policies(policy::enforce([rule], None).unwrap())
        .register(transform("quotes", |_cx, call: &ToolPre| {
            let line = call.text("CommandLine").unwrap().trim_matches('!').to_owned();
            Answer::set_args([("CommandLine", json!(line))])
        }))
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let event = ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "!ls!"));
    let outcome = now(runner.dispatch(&operation, event));
    assert_eq!(outcome.verdict.level, Level::Allow);
    assert_eq!(*asked.lock().unwrap(), ["ls"], "asked once, about what will run");
}
