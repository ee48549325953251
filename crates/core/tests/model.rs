//! The runner and the contexts under a model checker, which tries many interleavings of their
//! tasks: `RUSTFLAGS="--cfg shuttle" cargo test -p tollgate-core --test model`.

#![cfg(shuttle)]

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use serde_json::json;
use shuttle::future::{block_on, spawn, yield_now};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use tollgate_core::audit::MemorySink;
use tollgate_core::hook::BoxFuture;
use tollgate_core::prelude::*;
use tollgate_core::runtime::Runtime;

const SCHEDULES: usize = 1_000;

/// Tasks are the model's; a sleep is over after some other steps, which ones is the model's choice.
struct Modelled {
    epoch: Instant,
}

impl Runtime for Modelled {
    fn now(&self) -> Instant {
        self.epoch
    }
    fn wall_clock(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
    fn sleep(&self, _duration: Duration) -> BoxFuture<'static, ()> {
        Box::pin(async {
            for _ in 0..3 {
                yield_now().await;
            }
        })
    }
    fn spawn(&self, task: BoxFuture<'static, ()>) -> Result<(), String> {
        spawn(task);
        Ok(())
    }
}

fn runtime() -> Arc<dyn Runtime> {
    Arc::new(Modelled { epoch: Instant::now() })
}

fn check(scenario: impl Fn() + Send + Sync + 'static) {
    let mut config = shuttle::Config::new();
    // Serialising a record needs more than the 32 KiB a modelled task has by default.
    config.stack_size = 1 << 20;
    let scheduler = shuttle::scheduler::RandomScheduler::new(SCHEDULES);
    shuttle::Runner::new(scheduler, config).run(scenario);
}

#[test]
fn every_inspection_is_finished_or_cut_off_and_recorded_once() {
    check(|| {
        block_on(async {
            let sink = Arc::new(MemorySink::new(100));
            let ran = Arc::new(AtomicUsize::new(0));
            let mut builder = Runner::builder().runtime(runtime()).audit(sink.clone());
            for name in ["first", "second"] {
                let ran = Arc::clone(&ran);
                builder = builder.register(inspect_async(name, move |_cx, _: &ToolPost| {
                    let ran = Arc::clone(&ran);
                    async move {
                        yield_now().await;
                        ran.fetch_add(1, Ordering::SeqCst);
                        Ok(())
                    }
                }));
            }
            let runner = builder.limits(|limits| limits.inspections = 2).build().unwrap();
            let turn = SessionContext::new(SessionInfo::default()).turn();
            let tasks: Vec<_> = (0..3)
                .map(|_| {
                    let (runner, turn) = (runner.clone(), turn.clone());
                    spawn(async move {
                        let done = ToolPost { call: ToolCall::new("t"), result: json!(1) };
                        let outcome = runner.dispatch(&turn.operation(), done).await;
                        usize::from(outcome.record.inspectors.is_ok())
                    })
                })
                .collect();
            let ended = {
                let (runner, turn) = (runner.clone(), turn.clone());
                spawn(async move {
                    runner.dispatch(&turn, TurnEnd::new("")).await.into_parts().record.cut_off
                })
            };
            let mut sent = 0;
            for task in tasks {
                sent += task.await.unwrap();
            }
            let mut cut_off = ended.await.unwrap();
            cut_off.extend(runner.drain(Duration::from_secs(1)).await);
            assert_eq!(runner.inspections_under_way(), 0);

            let entries = sink.entries();
            let inspections: Vec<_> =
                entries.iter().filter(|entry| entry.value()["type"] == "inspection").collect();
            assert_eq!(inspections.len(), sent, "one entry for each that was sent to work");
            let told: Vec<_> = inspections
                .iter()
                .flat_map(|entry| entry.value()["inspections"].as_array().unwrap())
                .collect();
            assert_eq!(told.len(), 2 * sent, "each inspector is told of once");
            let failed = told.iter().filter(|line| !line["error"].is_null()).count();
            assert_eq!(failed, cut_off.len(), "what did not finish was cut off, and said so");
            // One that was cut off may have been at its last step; none that finished is missing.
            assert!(ran.load(Ordering::SeqCst) >= told.len() - failed);
        });
    });
}

#[test]
fn a_dispatch_sees_one_set_of_hooks() {
    check(|| {
        block_on(async {
            let quiet = |name: &str| {
                decide_async(name, |_cx, _: &ToolPre| async {
                    yield_now().await;
                    Ok(Decision::none())
                })
            };
            let runner =
                Runner::builder().runtime(runtime()).register(quiet("first")).build().unwrap();
            let registering: Vec<_> = ["second", "third"]
                .into_iter()
                .map(|name| {
                    let (runner, hook) = (runner.clone(), quiet(name));
                    spawn(async move { runner.register(hook).unwrap() })
                })
                .collect();
            let dispatching: Vec<_> = (0..2)
                .map(|_| {
                    let runner = runner.clone();
                    spawn(async move {
                        let operation =
                            SessionContext::new(SessionInfo::default()).turn().operation();
                        let event = ToolPre::from(ToolCall::new("t"));
                        let record = runner.dispatch(&operation, event).await.into_parts().record;
                        assert_eq!(record.answers.len() as u64, record.version);
                    })
                })
                .collect();
            for task in registering.into_iter().chain(dispatching) {
                task.await.unwrap();
            }
            assert_eq!(runner.version(), 3, "no registration was lost");
        });
    });
}

#[test]
fn a_dispatch_sees_all_of_what_was_loaded_or_nothing_of_it() {
    check(|| {
        block_on(async {
            // Found in three ways, so that all of the index has to be of one set.
            let loaded = |generation: &str| {
                ["t", "t.*", "[t]+"].map(|pattern| {
                    decide_async(format!("{generation} {pattern}"), |_cx, _: &ToolPre| async {
                        yield_now().await;
                        Ok(Decision::none())
                    })
                    .regex(pattern)
                })
            };
            let in_code = decide("in code", |_cx, _: &ToolPre| Decision::none());
            let runner = Runner::builder().runtime(runtime()).register(in_code).build().unwrap();
            assert_eq!(runner.reload(loaded("0")), Ok(2));
            let reloading: Vec<_> = ["1", "2"]
                .into_iter()
                .map(|generation| {
                    let (runner, hooks) = (runner.clone(), loaded(generation));
                    spawn(async move {
                        runner.reload(hooks).unwrap();
                    })
                })
                .collect();
            let dispatching: Vec<_> = (0..2)
                .map(|_| {
                    let runner = runner.clone();
                    spawn(async move {
                        let operation =
                            SessionContext::new(SessionInfo::default()).turn().operation();
                        let event = ToolPre::from(ToolCall::new("t"));
                        let record = runner.dispatch(&operation, event).await.into_parts().record;
                        let name = |answer| record.hook(answer).unwrap().name.clone();
                        let names: Vec<_> = record.answers.iter().map(name).collect();
                        assert_eq!(names.len(), 4, "{names:?}");
                        assert_eq!(names[0], "in code");
                        assert!(names[1..].iter().all(|name| name[..1] == names[1][..1]));
                    })
                })
                .collect();
            for task in reloading.into_iter().chain(dispatching) {
                task.await.unwrap();
            }
            assert_eq!(runner.version(), 4, "no reload was lost");
            assert_eq!(runner.hooks(Kind::ToolPre).count(), 4);
        });
    });
}

#[test]
fn updates_of_a_context_are_atomic_and_writes_stay_in_their_scope() {
    check(|| {
        block_on(async {
            let session = SessionContext::new(SessionInfo::default());
            session.set("n", 10).unwrap();
            let turn = session.turn();
            let tasks: Vec<_> = (0..3)
                .map(|_| {
                    let turn = turn.clone();
                    spawn(async move {
                        turn.update("n", |n: Option<u32>| n.unwrap_or(0) + 1).unwrap();
                    })
                })
                .collect();
            for task in tasks {
                task.await.unwrap();
            }
            assert_eq!(turn.get("n").unwrap(), Some(13));
            assert_eq!(session.get("n").unwrap(), Some(10));
        });
    });
}

#[test]
fn the_budget_of_rounds_is_never_overdrawn() {
    check(|| {
        block_on(async {
            let runner = Runner::builder()
                .runtime(runtime())
                .register(decide("again", |_cx, _: &Stop| Decision::go_on("again")))
                .limits(|limits| limits.rounds = 2)
                .build()
                .unwrap();
            let turn = SessionContext::new(SessionInfo::default()).turn();
            let tasks: Vec<_> = (0..4)
                .map(|_| {
                    let (runner, turn) = (runner.clone(), turn.clone());
                    spawn(async move {
                        let outcome = runner.dispatch(&turn, Stop::default()).await;
                        usize::from(outcome.record.budget_spent)
                    })
                })
                .collect();
            let mut spent = 0;
            for task in tasks {
                spent += task.await.unwrap();
            }
            assert_eq!(spent, 2);
        });
    });
}

#[test]
fn a_deadline_and_an_answer_never_both_count() {
    check(|| {
        block_on(async {
            let runner = Runner::builder()
                .runtime(runtime())
                .register(decide_async("slow", |_cx, _: &ToolPre| async {
                    for _ in 0..3 {
                        yield_now().await;
                    }
                    Ok(Decision::ask("sure?"))
                }))
                .build()
                .unwrap();
            let operation = SessionContext::new(SessionInfo::default()).turn().operation();
            let outcome = runner.dispatch(&operation, ToolPre::from(ToolCall::new("t"))).await;
            let [answered] = outcome.record.answers.as_slice() else { panic!("asked once") };
            match answered.error {
                Some(_) => assert!(outcome.permit().is_refused()),
                None => assert_eq!(outcome.reason(), "sure?"),
            }
        });
    });
}
