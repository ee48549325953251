//! The pipeline as its users see it: order, first wins, what is added, the budget.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::{Arc, Mutex};

use serde_json::json;
use tollgate_core::event::{Question, Response, Responses};
use tollgate_core::extra::Texts;
use tollgate_core::patch::{PromptPatch, ResponsePatch, ResultPatch};
use tollgate_core::prelude::*;
use tollgate_core::verdict::{Attempt, Finish, Flow, Hold, Level, Pass, Recovery, Reply};

type Log = Arc<Mutex<Vec<String>>>;

fn session() -> SessionContext {
    SessionContext::new(SessionInfo::default())
}

fn operation() -> OperationContext {
    session().turn().operation()
}

fn call(name: &str) -> ToolPre {
    ToolPre::from(ToolCall::new(name))
}

/// A hook that notes its name and says what it is told to.
fn say(log: &Log, name: &str, decision: Decision<ToolPre>) -> Registration {
    let (log, noted) = (Arc::clone(log), name.to_owned());
    decide(name, move |_cx, _call: &ToolPre| {
        log.lock().unwrap().push(noted.clone());
        decision.clone()
    })
}

fn noted(log: &Log) -> Vec<String> {
    log.lock().unwrap().clone()
}

#[tokio::test]
async fn hooks_run_by_priority_layer_and_place() {
    let log = Log::default();
    let quiet = |name: &str| say(&log, name, Decision::none());
    let runner = Runner::builder()
        .register(quiet("code 1"))
        .register(quiet("late").priority(5))
        .register(quiet("system").layer(Layer::System))
        .register(quiet("code 2"))
        .register(quiet("project").layer(Layer::Project))
        .register(quiet("user").layer(Layer::User))
        .register(quiet("early").priority(-5))
        .policies(policy::enforce([policy::allow_all()], None).unwrap())
        .build()
        .unwrap();
    runner.register(quiet("registered later")).unwrap();
    let outcome = runner.dispatch(&operation(), call("x")).await;
    let order =
        ["early", "system", "user", "project", "code 1", "code 2", "registered later", "late"];
    assert_eq!(noted(&log), order);
    let record = &outcome.record;
    let last = record.answers.last().unwrap();
    assert_eq!(record.hook(last).unwrap().name, "policy", "policies come last");
    assert_eq!(outcome.verdict.level, Level::Allow);
}

/// Notes the argument it sees, and refuses one.
fn asked_last(log: &Log) -> Registration {
    let log = Arc::clone(log);
    let check = move |_cx: &OperationContext, call: &ToolPre| {
        log.lock().unwrap().push(format!("last sees {:?}", call.text("a")));
        if call.text("a") == Some("bad") { Decision::deny("no") } else { Decision::none() }
    };
    decide("last", check).last()
}

#[tokio::test]
async fn a_hook_that_is_asked_last_sees_the_final_payload() {
    for reask in [true, false] {
        let log = Log::default();
        let person = Arc::clone(&log);
        let ask = policy::ask_user("*", move |_| {
            person.lock().unwrap().push("person".to_owned());
            true
        });
        let runner = Runner::builder()
            .reask(reask)
            // Neither its priority nor its layer puts it before hooks of the usual band.
            .register(asked_last(&log).priority(i64::MIN).layer(Layer::System))
            .register(say(&log, "allows", Decision::allow()).priority(i64::MAX))
            .register(transform("rewrites", |_cx, call: &ToolPre| {
                Answer::set_args([("a", json!(call.text("b").unwrap_or("good")))])
            }))
            .policies(policy::enforce([ask], None).unwrap())
            .build()
            .unwrap();
        let outcome = runner.dispatch(&operation(), call("x")).await;
        assert_eq!(outcome.verdict.level, Level::Allow, "{:?}", outcome.record);
        assert_eq!(noted(&log), ["allows", "last sees Some(\"good\")", "person"]);

        log.lock().unwrap().clear();
        let bad = ToolPre::from(ToolCall::new("x").arg("b", "bad"));
        let outcome = runner.dispatch(&operation(), bad).await;
        assert_eq!((outcome.verdict.level, outcome.reason()), (Level::Deny, "no"));
        assert_eq!(noted(&log), ["allows", "last sees Some(\"bad\")"]);
    }
}

#[tokio::test]
async fn a_hook_that_is_asked_last_cannot_rewrite() {
    let rewrites =
        transform("rewrites", |_cx, _: &ToolPre| Answer::set_args([("a", json!("new"))]));
    let runner = Runner::builder().register(rewrites.last()).build().unwrap();
    let outcome = runner.dispatch(&operation(), call("x")).await;
    assert!(outcome.record.detail().contains("rewrite"), "{}", outcome.record.detail());
    assert!(outcome.permit().is_refused());
}

#[tokio::test]
async fn the_first_deny_ends_the_chain() {
    let log = Log::default();
    let runner = Runner::builder()
        .register(say(&log, "asks", Decision::ask("sure?")))
        .register(say(&log, "denies", Decision::deny("no")))
        .register(say(&log, "allows", Decision::allow()))
        .policies(policy::enforce([policy::allow_all()], None).unwrap())
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call("x")).await;
    assert_eq!(noted(&log), ["asks", "denies"]);
    assert_eq!(outcome.reason(), "no");
    assert_eq!(outcome.record.detail(), "deny by hook `denies`: no");
    let Permit::Refused(refusal) = outcome.permit() else { panic!("it was denied") };
    assert_eq!(refusal.reason, "no");
}

#[tokio::test]
async fn the_strictest_wins_and_no_opinion_is_not_allow() {
    let cases = [
        (vec![], Level::None),
        (vec![Decision::none(), Decision::none()], Level::None),
        (vec![Decision::none(), Decision::allow()], Level::Allow),
        (vec![Decision::ask("a"), Decision::allow()], Level::Ask),
        (vec![Decision::ask("a"), Decision::force_ask("f"), Decision::ask("b")], Level::ForceAsk),
    ];
    for (decisions, expected) in cases {
        let log = Log::default();
        let mut builder = Runner::builder();
        for decision in decisions {
            builder = builder.register(say(&log, "hook", decision));
        }
        let outcome = builder.build().unwrap().dispatch(&operation(), call("x")).await;
        assert_eq!(outcome.verdict.level, expected);
    }
}

#[tokio::test]
async fn a_person_approves_what_was_asked_about() {
    let runner = Runner::builder()
        .register(transform("add", |_cx, _call: &ToolPre| {
            Answer::ask("with a flag?").and_rewrite(tollgate_core::patch::ArgsPatch::Set(
                [("Flag".to_owned(), json!(true))].into_iter().collect(),
            ))
        }))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call("x")).await;
    let Permit::Ask(pending) = outcome.permit() else { panic!("it asks") };
    assert_eq!(pending.reason(), "with a flag?");
    assert_eq!(pending.event().args["Flag"], json!(true));
    assert_eq!(pending.approve().args["Flag"], json!(true));
}

#[tokio::test]
async fn hooks_are_asked_only_for_what_they_match() {
    let log = Log::default();
    let quiet = |name: &str| say(&log, name, Decision::none());
    let runner = Runner::builder()
        .register(quiet("exact").tool("run_command"))
        .register(quiet("server").tool("docs/*"))
        .register(quiet("regex").regex("run_.*|view_file"))
        .register(quiet("glob").glob("docs/s*"))
        .register(quiet("two").tool("view_file").tool("docs/fetch"))
        .build()
        .unwrap();
    let asked = async |call: ToolCall| {
        log.lock().unwrap().clear();
        let _ = runner.dispatch(&operation(), ToolPre::from(call)).await;
        noted(&log)
    };
    assert_eq!(asked(ToolCall::new("run_command")).await, ["exact", "regex"]);
    assert_eq!(asked(ToolCall::new("view_file")).await, ["regex", "two"]);
    assert_eq!(asked(ToolCall::new("search").server("docs")).await, ["server", "glob"]);
    assert_eq!(asked(ToolCall::new("fetch").server("docs")).await, ["server", "two"]);
    assert!(asked(ToolCall::new("other")).await.is_empty());
}

#[tokio::test]
async fn a_record_explains_who_was_not_asked() {
    let log = Log::default();
    let conditional = tollgate_core::hook::when::<ToolPre, _, _>(
        |call| Ok(call.args.contains_key("never")),
        Quiet,
    );
    let runner = Runner::builder()
        .register(say(&log, "other tool", Decision::none()).tool("view_file"))
        .register(Registration::on::<ToolPre, _>("conditional", conditional))
        .register(say(&log, "denies", Decision::deny("no")).source("rules.md", Some(7)))
        .register(say(&log, "too late", Decision::none()))
        .register(inspect("watches", |_cx, _call: &ToolPre| ()))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call("run_command")).await;
    let lines: Vec<String> = outcome
        .record
        .explain(&outcome.event)
        .into_iter()
        .map(|line| format!("{}: {:?}", line.hook, line.asked))
        .collect();
    assert_eq!(
        lines,
        [
            "other tool: No { why: \"it asks for view_file only\" }",
            "conditional: No { why: \"its condition does not hold\" }",
            "denies: Yes { answer: Deny }",
            "too late: TooLate",
            "watches: InBackground",
        ]
    );
    assert_eq!(outcome.record.detail(), "deny by hook `denies` (rules.md:7): no");
    let json = serde_json::to_value(&outcome.record).unwrap();
    assert_eq!(json["event"], "tool.pre");
    assert_eq!(json["decision"], "deny");
    assert_eq!(json["hooks"][0]["source"], json!({"file": "rules.md", "line": 7}));
}

struct Quiet;
impl<E: Event> Handle<E> for Quiet {
    fn handle<'a>(
        &'a self,
        _ask: tollgate_core::hook::Ask<'a, E>,
    ) -> tollgate_core::hook::BoxFuture<'a, HookResult<E>> {
        Box::pin(async { Ok(Answer::none()) })
    }
}

#[tokio::test]
async fn later_hooks_and_the_tool_see_what_was_rewritten() {
    let seen = Log::default();
    let set = |name: &str, value: &str| {
        let (seen, value) = (Arc::clone(&seen), value.to_owned());
        transform(name, move |_cx, call: &ToolPre| {
            seen.lock().unwrap().push(call.text("a").unwrap_or("-").to_owned());
            Answer::set_args([("a", json!(value))])
        })
    };
    let runner =
        Runner::builder().register(set("1", "x")).register(set("2", "y")).reask(false).build();
    let event = ToolPre::from(ToolCall::new("t").arg("a", "w").arg("z", "keep"));
    let outcome = runner.unwrap().dispatch(&operation(), event).await;
    assert_eq!(noted(&seen), ["w", "x"]);
    assert!(outcome.rewritten());
    let Permit::Granted(approved) = outcome.permit() else { panic!("nobody objects") };
    assert_eq!(approved.text("a"), Some("y"));
    assert_eq!(approved.text("z"), Some("keep"));
}

#[tokio::test]
async fn what_a_hook_refuses_it_does_not_rewrite() {
    let runner = Runner::builder()
        .register(transform("both", |_cx, _call: &ToolPre| {
            Answer::deny("no").and_rewrite(tollgate_core::patch::ArgsPatch::Set(
                [("a".to_owned(), json!(1))].into_iter().collect(),
            ))
        }))
        .build()
        .unwrap();
    let outcome = runner.dispatch(&operation(), call("t")).await;
    assert!(!outcome.rewritten());
    assert!(outcome.event.args.is_empty());
}

#[tokio::test]
async fn each_event_has_its_answers() {
    let runner = Runner::builder()
        .register(decide("start", |_cx, _: &SessionStart| Decision::none().context("be brief")))
        .register(decide("start 2", |_cx, _: &SessionStart| Decision::none().context("be kind")))
        .register(transform("prompt", |_cx, turn: &TurnStart| {
            Answer::rewrite(PromptPatch(turn.prompt.trim().to_owned())).context("trimmed")
        }))
        .register(decide("model", |_cx, _: &ModelPre| {
            Decision::none().inject(Step::SystemMessage("hello".to_owned()))
        }))
        .register(decide("flow", |_cx, _: &InvocationEnd| Decision::terminate("enough")))
        .register(transform("result", |_cx, _: &ToolPost| {
            Answer::rewrite(ResultPatch(json!("redacted")))
        }))
        .register(decide("recover", |_cx, event: &ToolError| {
            assert_eq!((event.name.as_str(), event.error.as_str()), ("fetch", "timeout"));
            Decision::recover(json!(false))
        }))
        .register(decide("recover 2", |_cx, _: &ToolError| Decision::recover(json!("later"))))
        .register(decide("answers", |_cx, event: &Interaction| {
            assert_eq!(event.questions[0].question, "which?");
            Decision::reply(Responses { responses: vec![Response::default()], cancelled: false })
        }))
        .register(decide("stop", |_cx, _: &Stop| Decision::go_on("not yet")))
        .register(decide("stop 2", |_cx, _: &Stop| Decision::go_on("never asked")))
        .register(transform("response", |_cx, turn: &TurnEnd| {
            Answer::rewrite(ResponsePatch(turn.response.to_uppercase()))
        }))
        .register(decide("hold", |_cx, _: &CompactionPre| Decision::cancel("keep it")))
        .register(decide("append", |_cx, _: &CompactionPost| Decision::none().context("p.s.")))
        .build()
        .unwrap();
    let session = session();
    let turn = session.turn();
    let op = turn.operation();

    let started = runner.dispatch(&session, SessionStart::default()).await;
    assert_eq!(started.extra, Texts(vec!["be brief".to_owned(), "be kind".to_owned()]));
    let prompt = runner.dispatch(&turn, TurnStart::new("  hi ")).await;
    assert_eq!((prompt.event.prompt.as_str(), &prompt.verdict), ("hi", &Pass::Proceed));
    assert_eq!(prompt.extra.0, ["trimmed"]);
    let model = runner.dispatch(&op, ModelPre::default()).await;
    assert_eq!(model.verdict, Attempt::Proceed);
    assert_eq!(model.extra.steps, [Step::SystemMessage("hello".to_owned())]);
    let _ = runner.dispatch(&op, ModelPost::default()).await;
    let flow = runner.dispatch(&op, InvocationEnd::default()).await;
    assert_eq!(flow.verdict, Flow::Terminate { reason: "enough".to_owned() });
    let result = ToolPost { call: ToolCall::new("t"), result: json!("secret") };
    assert_eq!(runner.dispatch(&op, result).await.event.result, json!("redacted"));
    let error = ToolError { call: ToolCall::new("fetch"), error: "timeout".to_owned() };
    let recovered = runner.dispatch(&op, error).await;
    assert_eq!(recovered.verdict, Recovery::Found { value: json!(false) });
    assert_eq!(recovered.recovered(), Some(&json!(false)));
    let question = Question { question: "which?".to_owned(), ..Question::default() };
    let asked = Interaction { questions: vec![question], ..Interaction::default() };
    let replied = runner.dispatch(&op, asked).await;
    assert!(matches!(replied.verdict, Reply::Found { .. }));
    let stopped = runner.dispatch(&turn, Stop::default()).await;
    assert_eq!(stopped.verdict, Finish::Continue { reason: "not yet".to_owned() });
    assert_eq!(stopped.record.answers.len(), 1, "the first continue wins");
    assert_eq!(runner.dispatch(&turn, TurnEnd::new("done")).await.event.response, "DONE");
    let held = runner.dispatch(&op, CompactionPre::default()).await;
    assert_eq!(held.verdict, Hold::Cancel { reason: "keep it".to_owned() });
    let compacted = runner.dispatch(&op, CompactionPost::default()).await;
    assert_eq!(compacted.extra.0, ["p.s."]);
    let _ = runner.dispatch(&turn, Notification::default()).await;
    let _ = runner.dispatch(&turn, FacetSwitch::default()).await;
    let _ = runner.dispatch(&op, SubagentStart::default()).await;
    let _ = runner.dispatch(&op, SubagentStop::default()).await;
    let _ = runner.dispatch(&session, SessionEnd::default()).await;
}

#[tokio::test]
async fn nobody_answers_a_question_so_it_is_refused() {
    let runner = Runner::builder().build().unwrap();
    let outcome = runner.dispatch(&operation(), Interaction::default()).await;
    let Permit::Refused(refusal) = outcome.permit() else { panic!("nobody answered") };
    assert_eq!(refusal.reason, "No interaction hook handled the request");
}

#[tokio::test]
async fn rounds_share_one_budget_and_past_it_the_loop_stops() {
    let runner = Runner::builder()
        .register(decide("stop", |_cx, _: &Stop| Decision::go_on("again")))
        .register(decide("model", |_cx, _: &ModelPre| {
            Decision::from_verdict(Attempt::Retry { reason: "again".to_owned() })
        }))
        .register(decide("flow", |_cx, _: &InvocationEnd| Decision::force_continue()))
        .register(decide("end", |_cx, _: &TurnEnd| Decision::go_on("again")))
        .limits(|limits| limits.rounds = 4)
        .build()
        .unwrap();
    let session = session();
    let turn = session.turn();
    let op = turn.operation();
    let again = || "again".to_owned();

    let first = runner.dispatch(&turn, Stop::default()).await;
    assert_eq!(first.verdict, Finish::Continue { reason: again() });
    let second = runner.dispatch(&op, ModelPre::default()).await;
    assert_eq!(second.verdict, Attempt::Retry { reason: again() });
    let third = runner.dispatch(&op, InvocationEnd::default()).await;
    assert!(matches!(third.verdict, Flow::ForceContinue { .. }));
    let fourth = runner.dispatch(&turn, TurnEnd::new("")).await;
    assert_eq!(fourth.verdict, Finish::Continue { reason: again() });
    assert_eq!(turn.rounds(), 4);

    let spent = runner.dispatch(&turn, Stop::default()).await;
    assert_eq!(spent.verdict, Finish::Stop);
    assert!(spent.record.budget_spent);
    assert!(spent.record.detail().contains("the continue budget is spent"), "said aloud");
    assert!(matches!(
        runner.dispatch(&op, ModelPre::default()).await.verdict,
        Attempt::Deny { .. }
    ));
    assert!(matches!(
        runner.dispatch(&op, InvocationEnd::default()).await.verdict,
        Flow::Terminate { .. }
    ));
    // A user's next turn begins with a full budget.
    let next = runner.dispatch(&session.turn(), Stop::default()).await;
    assert_eq!(next.verdict, Finish::Continue { reason: again() });
}

#[tokio::test]
async fn a_failing_hook_at_stop_counts_to_the_budget() {
    let runner = Runner::builder()
        .register(decide("broken", |_cx, _: &Stop| Err::<Decision<Stop>, _>("boom")))
        .limits(|limits| limits.rounds = 1)
        .build()
        .unwrap();
    let turn = session().turn();
    assert!(matches!(
        runner.dispatch(&turn, Stop::default()).await.verdict,
        Finish::Continue { .. }
    ));
    let spent = runner.dispatch(&turn, Stop::default()).await;
    assert_eq!(spent.verdict, Finish::Stop);
    assert!(spent.record.budget_spent);
}

#[tokio::test]
async fn contexts_reach_hooks_and_pre_and_post_share_one() {
    struct Timer;
    impl Hook for Timer {
        async fn pre_turn(&self, cx: &TurnContext, turn: &TurnStart) -> HookResult<TurnStart> {
            cx.set("prompt", &turn.prompt)?;
            Ok(Answer::none())
        }
        async fn pre_tool_call(
            &self,
            cx: &OperationContext,
            call: &ToolPre,
        ) -> HookResult<ToolPre> {
            cx.set("began", &call.name)?;
            Ok(Answer::none())
        }
        async fn post_tool_call(
            &self,
            cx: &OperationContext,
            _done: &ToolPost,
        ) -> HookResult<ToolPost> {
            let began: String = cx.get("began")?.ok_or("no pre before the post")?;
            let prompt: String = cx.get("prompt")?.ok_or("no turn around the call")?;
            Ok(Answer::rewrite(ResultPatch(json!(format!("{began} for {prompt}")))))
        }
    }
    let runner = Runner::builder().register(Registration::hook("timer", Timer)).build().unwrap();
    let turn = session().turn();
    let _ = runner.dispatch(&turn, TurnStart::new("list it")).await;
    let op = turn.operation();
    let _ = runner.dispatch(&op, call("ls")).await;
    let done = ToolPost { call: ToolCall::new("ls"), result: json!("") };
    let outcome = runner.dispatch(&op, done).await;
    assert_eq!(outcome.event.result, json!("ls for list it"), "{}", outcome.record.detail());
}

#[tokio::test]
async fn a_registration_that_cannot_be_is_refused_by_name() {
    let refused = |registration: Registration| {
        Runner::builder().register(registration).build().unwrap_err().to_string()
    };
    let quiet = |name: &str| decide(name, |_cx, _: &ToolPre| Decision::none());
    assert!(refused(quiet("")).contains("needs a name"));
    let error = refused(quiet("bad").regex("*"));
    assert!(error.contains("`bad`") && error.contains("`*`"), "{error}");
    let error = refused(
        decide("stray", |_cx, _: &Notification| Decision::none()).dialect(Dialect::HooksJson),
    );
    assert_eq!(error, "hook `stray`: hooks-json hooks cannot handle notification");
    assert!(refused(Registration::named("idle")).contains("`idle` handles no event"));

    let runner = Runner::builder().register(quiet("good")).build().unwrap();
    let version = runner.version();
    assert!(runner.register(quiet("bad").glob("[")).is_err());
    assert_eq!(runner.version(), version, "a refused registration changes nothing");
    assert_eq!(runner.hooks(Kind::ToolPre).count(), 1);
}

/// Counts and logs each question, says what it has seen so far, and rewrites nothing.
fn counting(name: &str) -> Registration {
    use tollgate_core::ledger::{Effect, LogEntry, LogLevel};
    let label = name.to_owned();
    transform(name, move |_cx, call: &ToolPre| {
        let mut answer = Answer::none();
        let message = format!("{label}: {}", call.text("a").unwrap_or("-"));
        let entry = LogEntry { level: LogLevel::Info, message, fields: serde_json::Map::default() };
        answer.effects = vec![Effect::Incr { name: label.clone(), by: 1 }, Effect::Log(entry)];
        answer
    })
}

#[tokio::test]
async fn what_hooks_write_down_takes_effect_once_at_the_end() {
    let rewrites =
        transform("rewrites", |_cx, _: &ToolPre| Answer::set_args([("a", json!("new"))]));
    let runner = Runner::builder()
        .register(counting("before"))
        .register(rewrites)
        .register(counting("after"))
        .register(decide("denies", |_cx, _: &ToolPre| Decision::deny("no")))
        .build()
        .unwrap();
    let session = SessionContext::new(SessionInfo::default());
    let turn = session.turn();
    assert_eq!((turn.number(), session.turn().number()), (1, 2));
    let call = ToolPre::from(ToolCall::new("t").arg("a", "old"));
    let outcome = runner.dispatch(&turn.operation(), call).await;
    assert_eq!(outcome.record.decision, Word::Deny);
    let metrics = json!({"before": 1, "after": 1});
    assert_eq!(serde_json::Value::Object(session.ledger().metrics()), metrics);
    let logged: Vec<_> = turn.log().entries().into_iter().map(|entry| entry.message).collect();
    // The chain ended before `before` would have been asked about what was rewritten.
    assert_eq!(logged, ["before: old", "after: new"]);

    let runner = Runner::builder()
        .register(counting("before"))
        .register(transform("w", |_cx, _: &ToolPre| Answer::set_args([("a", json!("new"))])))
        .build()
        .unwrap();
    let turn = session.turn();
    let call = ToolPre::from(ToolCall::new("t").arg("a", "old"));
    let _ = runner.dispatch(&turn.operation(), call).await;
    assert_eq!(session.ledger().metrics()["before"], 2);
    let logged: Vec<_> = turn.log().entries().into_iter().map(|entry| entry.message).collect();
    assert_eq!(logged, ["before: new"], "of two questions, what was said last counts");
}

#[tokio::test]
async fn a_hook_that_declines_was_not_asked() {
    let declines = transform("declines", |_cx, _: &ToolPre| Answer::declined());
    let runner = Runner::builder().register(declines).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("t"))).await;
    assert!(outcome.record.answers.is_empty());
}

#[tokio::test]
async fn arguments_can_be_replaced_whole() {
    let replaces = transform("replaces", |_cx, _: &ToolPre| {
        let args = json!({"b": 2}).as_object().cloned().unwrap_or_default();
        Answer::rewrite(tollgate_core::patch::ArgsPatch::Replace(args))
    });
    let runner = Runner::builder().register(replaces).build().unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolPre::from(ToolCall::new("t").arg("a", 1));
    let outcome = runner.dispatch(&operation, call).await;
    assert_eq!(serde_json::Value::Object(outcome.event.args.clone()), json!({"b": 2}));
}

#[tokio::test]
async fn what_is_worked_out_of_a_payload_is_worked_out_once_until_it_changes() {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use tollgate_core::hook::{Ask, BoxFuture};

    struct Text(String);
    struct Reads(std::sync::Arc<AtomicUsize>);
    impl Handle<ToolPre> for Reads {
        fn handle<'a>(&'a self, ask: Ask<'a, ToolPre>) -> BoxFuture<'a, HookResult<ToolPre>> {
            Box::pin(async move {
                let text = ask.memo.get_or_make(|| {
                    self.0.fetch_add(1, Ordering::Relaxed);
                    Text(ask.event.text("a").unwrap_or_default().to_owned())
                });
                assert_eq!(Some(&*text.0), ask.event.text("a"));
                Ok(Answer::none())
            })
        }
    }
    let made = std::sync::Arc::new(AtomicUsize::new(0));
    let reads = |name: &str| Registration::on::<ToolPre, _>(name, Reads(made.clone()));
    let runner = Runner::builder()
        .reask(false)
        .register(reads("1"))
        .register(reads("2"))
        .register(transform("w", |_cx, _: &ToolPre| Answer::set_args([("a", json!("new"))])))
        .register(reads("3"))
        .register(reads("4"))
        .build()
        .unwrap();
    let operation = SessionContext::new(SessionInfo::default()).turn().operation();
    let call = ToolPre::from(ToolCall::new("t").arg("a", "old"));
    let outcome = runner.dispatch(&operation, call).await;
    assert!(outcome.record.answers.iter().all(|line| line.error.is_none()));
    assert_eq!(made.load(Ordering::Relaxed), 2);
}
