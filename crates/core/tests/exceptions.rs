//! Exceptions: what they take away, and what they leave.

// A test fails by panicking.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tollgate_core::exception::{ExceptionId, Exceptions, Objection};
use tollgate_core::policy::{Policies, deny};
use tollgate_core::prelude::*;
use tollgate_core::verdict::Word;

/// Excepts hooks by name, and notes what it was asked.
#[derive(Default)]
struct Named {
    names: Vec<&'static str>,
    asked: Mutex<Vec<String>>,
}

impl Exceptions for Named {
    fn covering(&self, objection: &Objection<'_>) -> Option<ExceptionId> {
        let Objection { hook, rule, call, word } = objection;
        let line = call.text("CommandLine").unwrap_or_default();
        let rule = rule.unwrap_or("-");
        self.asked.lock().unwrap().push(format!("{} {rule} {word} {line}", hook.name));
        self.names.contains(&&*hook.name).then(|| "E1".into())
    }
}

fn excepting(names: &[&'static str]) -> Arc<Named> {
    Arc::new(Named { names: names.to_vec(), asked: Mutex::default() })
}

fn denies(name: &'static str) -> Registration {
    decide(name, move |_cx, _call: &ToolPre| Decision::deny(format!("{name} says no")))
}

async fn decided(exceptions: &Arc<Named>, registrations: Vec<Registration>) -> Outcome<ToolPre> {
    let mut runner = Runner::builder().exceptions(exceptions.clone());
    for registration in registrations {
        runner = runner.register(registration);
    }
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolCall::new("run_command").arg("CommandLine", "make");
    runner.build().unwrap().dispatch(&operation, ToolPre::from(call)).await
}

#[tokio::test]
async fn only_the_excepted_hook_has_no_opinion() {
    let exceptions = excepting(&["a"]);
    let outcome = decided(&exceptions, vec![denies("a"), denies("b")]).await;
    assert_eq!((outcome.reason(), &outcome.record.decision), ("b says no", &Word::Deny));
    assert_eq!(*exceptions.asked.lock().unwrap(), ["a - deny make", "b - deny make"]);
    let detail = outcome.record.detail();
    assert!(detail.contains("deny by hook `b`: b says no"), "{detail}");
    assert!(detail.contains("deny by hook `a` is excepted by E1"), "{detail}");

    let outcome = decided(&excepting(&["a", "b"]), vec![denies("a"), denies("b")]).await;
    assert_eq!(outcome.record.decision, Word::None);
    assert!(outcome.record.answers.iter().all(|answered| !answered.counts()));
}

#[tokio::test]
async fn an_excepted_hook_does_not_allow() {
    let asks = decide("b", |_cx, _call: &ToolPre| Decision::ask("really?"));
    let outcome = decided(&excepting(&["a"]), vec![denies("a"), asks]).await;
    assert_eq!(outcome.record.decision, Word::Ask);
    let asks = decide("b", |_cx, _call: &ToolPre| Decision::ask("really?"));
    let outcome = decided(&excepting(&["b"]), vec![asks]).await;
    assert_eq!(outcome.record.decision, Word::None);
}

#[tokio::test]
async fn rules_are_told_apart() {
    let exceptions = excepting(&[]);
    let policies =
        Policies::builder().rules([deny("run_command").named("no shell")]).build().unwrap();
    let outcome = decided(&exceptions, vec![policies.into_registration()]).await;
    assert_eq!(outcome.record.decision, Word::Deny);
    let asked = exceptions.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 1);
    assert!(asked[0].contains("no shell"), "{asked:?}");
}

/// Excepts one rule.
struct Rule(&'static str);

impl Exceptions for Rule {
    fn covering(&self, objection: &Objection<'_>) -> Option<ExceptionId> {
        (objection.rule == Some(self.0)).then(|| "E1".into())
    }
}

#[tokio::test]
async fn the_other_rules_of_a_policy_still_count() {
    let fails =
        |_: &ToolCall| -> Result<bool, tollgate_core::error::BoxError> { Err("no reason".into()) };
    for (excepted, decision, reason) in [
        ("first", Word::Deny, "second says no"),
        ("second", Word::Deny, "first says no"),
        ("third", Word::Deny, "first says no"),
    ] {
        let rules = [
            deny("run_command").named("first").reason("first says no"),
            deny("run_command").named("second").reason("second says no"),
        ];
        let outcome = with_rules(excepted, rules.to_vec()).await;
        assert_eq!((outcome.reason(), &outcome.record.decision), (reason, &decision));
    }
    let outcome = with_rules("first", vec![deny("run_command").named("first")]).await;
    assert_eq!(outcome.record.decision, Word::None);
    // A condition that fails is no objection.
    let broken = deny("run_command").named("first").when(fails);
    let outcome = with_rules("first", vec![broken]).await;
    assert_eq!(outcome.record.decision, Word::Deny);
    assert!(!outcome.record.answers[0].can_be_excepted);
}

async fn with_rules(
    excepted: &'static str,
    rules: Vec<tollgate_core::policy::Rule>,
) -> Outcome<ToolPre> {
    let policies = Policies::builder().rules(rules).build().unwrap();
    let runner = Runner::builder().exceptions(Arc::new(Rule(excepted))).policies(policies);
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolCall::new("run_command").arg("CommandLine", "make");
    runner.build().unwrap().dispatch(&operation, ToolPre::from(call)).await
}

#[tokio::test]
async fn some_hooks_take_none() {
    let exceptions = excepting(&["guard"]);
    let outcome = decided(&exceptions, vec![denies("guard").without_exceptions()]).await;
    assert_eq!(outcome.record.decision, Word::Deny);
    assert_eq!(*exceptions.asked.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn a_failure_is_no_objection() {
    let broken =
        decide("broken", |_cx, _call: &ToolPre| -> Decision<ToolPre> { panic!("no reason") });
    let exceptions = excepting(&["broken"]);
    let outcome = decided(&exceptions, vec![broken]).await;
    assert_eq!(outcome.record.decision, Word::Deny);
    assert_eq!(*exceptions.asked.lock().unwrap(), [""; 0]);
}

#[tokio::test]
async fn exceptions_that_panic_are_none() {
    struct Panics;
    impl Exceptions for Panics {
        fn covering(&self, _objection: &Objection<'_>) -> Option<ExceptionId> {
            panic!("no store")
        }
    }
    let runner =
        Runner::builder().register(denies("a")).exceptions(Arc::new(Panics)).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("x"))).await;
    assert_eq!(outcome.record.decision, Word::Deny);
}

/// A hook that rewrites the call.
fn rewrites(name: &'static str) -> Registration {
    transform(name, |_cx, _call: &ToolPre| {
        Answer::set_args([("CommandLine", serde_json::json!("ls"))])
    })
}

#[tokio::test]
async fn what_else_objects_is_found_out_without_asking_others() {
    let ran = Arc::new(Mutex::new(Vec::new()));
    // It cannot be asked again, and says this.
    let effect = |name: &'static str, decision: fn() -> Decision<ToolPre>| {
        let ran = Arc::clone(&ran);
        decide(name, move |_cx, _call: &ToolPre| {
            ran.lock().unwrap().push(name);
            decision()
        })
    };
    let condition = |name: &'static str| effect(name, Decision::none).tool("view_file");
    let first = || denies("a").repeatable();
    let fails = || {
        decide("x", |_cx, _call: &ToolPre| -> Decision<ToolPre> { panic!("no reason") })
            .repeatable()
    };
    // What is found out, and what had run before.
    for (title, registrations, found, before) in [
        ("nothing else", vec![first()], Some(Word::None), 0),
        ("another hook", vec![first(), denies("b").repeatable()], Some(Word::Deny), 0),
        ("a failure", vec![first(), fails()], Some(Word::Deny), 0),
        ("one that has answered", vec![effect("x", Decision::none), first()], Some(Word::None), 1),
        ("one that has asked", vec![effect("x", || Decision::ask("?")), first()], None, 1),
        (
            "one that has asked, and a deny",
            vec![effect("x", || Decision::ask("?")), first(), denies("b").repeatable()],
            Some(Word::Deny),
            1,
        ),
        ("one that comes next", vec![first(), effect("x", Decision::none)], None, 0),
        (
            "one that is not asked, as another denies",
            vec![first(), denies("b").repeatable(), effect("x", Decision::none)],
            Some(Word::Deny),
            0,
        ),
        ("one of another tool", vec![first(), condition("x")], Some(Word::None), 0),
        ("a rewrite before", vec![rewrites("r").repeatable(), first()], None, 0),
        ("a rewrite after", vec![first(), rewrites("r").repeatable()], None, 0),
        (
            "one that may take long",
            vec![first(), denies("b").repeatable().deadline(Duration::from_secs(100))],
            None,
            0,
        ),
    ] {
        ran.lock().unwrap().clear();
        let exceptions = Arc::new(Later::default());
        let mut runner = Runner::builder().exceptions(exceptions.clone());
        for registration in registrations {
            runner = runner.register(registration);
        }
        let runner = runner.build().unwrap();
        let operation = SessionContext::new(SessionInfo::default()).turn().operation();
        let call = ToolPre::from(ToolCall::new("run_command").arg("CommandLine", "make"));
        let refused = runner.dispatch(&operation, call.clone()).await;
        assert_eq!((refused.reason(), ran.lock().unwrap().len()), ("a says no", before), "{title}");
        exceptions.0.store(true, Ordering::Relaxed);
        let until = Instant::now() + Duration::from_secs(50);
        let outcome = runner.rehearse(&operation, call.clone(), &refused.record, until).await;
        let word = outcome.map(|outcome| outcome.record.decision.clone());
        assert_eq!((&word, ran.lock().unwrap().len()), (&found, before), "{title}");
        let now = Instant::now();
        if found == Some(Word::None) {
            assert!(runner.rehearse(&operation, call, &refused.record, now).await.is_none());
        }
    }
}

/// Excepts `a`, once that is wanted.
#[derive(Default)]
struct Later(AtomicBool);

impl Exceptions for Later {
    fn covering(&self, objection: &Objection<'_>) -> Option<ExceptionId> {
        (self.0.load(Ordering::Relaxed) && objection.hook.name == "a").then(|| "E1".into())
    }
}
