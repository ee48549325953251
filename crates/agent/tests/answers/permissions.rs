//! What is permitted without a person being asked again, and by whom.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tollgate_agent::permission::Resource;
use tollgate_agent::person::{Approval, Consent, Person};
use tollgate_core::event::{Question, Responses};
use tollgate_core::hook::BoxFuture;
use tollgate_core::prelude::*;
use tollgate_model::script::Line;

use crate::scene::{Says, exists, results};
use crate::support::{World, run};

/// Asks about each command, and about nothing else.
fn ask() -> Registration {
    decide("asks", |_, _: &ToolPre| Decision::ask("risky")).tool("run_command")
}

fn list() -> Line {
    Line::call("list_permissions", json!({}))
}

/// A model that runs this twice, then looks at what it may do.
fn twice(command: &str) -> World {
    World::new(vec![run(command), run(command), list(), Line::say("ok")])
}

#[tokio::test]
async fn what_a_person_permits_for_the_session_is_not_asked_again() {
    let world = twice("echo hi");
    let person = Says::new(Consent::ForSession);
    let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked(), ["echo hi: risky"]);
    let results = results(&world, 3);
    assert!(results[..2].iter().all(|result| result.contains("hi")), "{results:?}");
    let granted: serde_json::Value = serde_json::from_str(&results[2]).unwrap();
    assert_eq!(granted, json!([{"resource": "command(echo hi)", "by": "person"}]));
    agent.stop().await;
}

#[tokio::test]
async fn always_is_about_the_command_that_was_shown_and_not_about_others_like_it() {
    let world = World::new(vec![run("echo *"), run("echo *"), run("echo other"), Line::say("ok")]);
    let person = Says::new(Consent::ForSession);
    let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked(), ["echo *: risky", "echo other: risky"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_permits_what_is_used_has_written_no_pattern() {
    let world = World::new(vec![run("echo *"), run("echo other"), Line::say("ok")]);
    let permits = decide("permits", |_, call: &ToolPre| match call.text("CommandLine") {
        Some(line @ "echo *") => Decision::allow().permit_resource(format!("command({line})")),
        _ => Decision::none(),
    });
    let builder = world.builder().hook(ask()).hook(permits.tool("run_command"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 2);
    assert!(results[1].contains("nobody is there"), "{results:?}");
    agent.stop().await;
}

#[tokio::test]
async fn what_a_person_permits_once_is_asked_again() {
    let world = twice("echo hi");
    let person = Says::new(Consent::Once);
    let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    assert_eq!(results(&world, 3)[2], "[]");
    agent.stop().await;
}

#[tokio::test]
async fn what_is_to_be_asked_each_time_is_satisfied_by_no_grant() {
    let world = twice("echo hi");
    let person = Says::new(Consent::ForSession);
    let hook = decide("asks", |_, _: &ToolPre| Decision::force_ask("risky")).tool("run_command");
    let builder = world.builder().person(person.clone()).hook(hook);
    let agent = world.start(builder.grant("command(echo hi)".parse().unwrap())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    let granted = &results(&world, 3)[2];
    assert!(granted.contains("setup") && !granted.contains("person"), "{granted}");
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_allows_can_satisfy_what_another_asks() {
    let world = twice("echo hi");
    let permits =
        decide("permits", |_, _: &ToolPre| Decision::allow().permit_resource("command(echo hi)"));
    let builder = world.builder().hook(ask()).hook(permits.tool("run_command"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 3);
    assert!(results[..2].iter().all(|result| result.contains("hi")), "{results:?}");
    let granted: serde_json::Value = serde_json::from_str(&results[2]).unwrap();
    assert_eq!(granted, json!([{"resource": "command(echo hi)", "by": "hook"}]));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_permits_something_else_satisfies_nobody() {
    let world = twice("echo hi");
    let permits = decide("permits", |_, _: &ToolPre| {
        Decision::allow().permit_resource("command(echo ho)").permit_resource("everything")
    });
    let agent = world.start(world.builder().hook(ask()).hook(permits.tool("run_command"))).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 3);
    assert!(results[..2].iter().all(|result| result.contains("nobody is there")), "{results:?}");
    assert_eq!(results[2], "[]");
    agent.stop().await;
}

/// A hook that asks, and permits what it asks about.
fn asks_and_permits() -> Registration {
    decide("asks", |_, _: &ToolPre| Decision::ask("risky").permit_resource("command(echo *)"))
        .tool("run_command")
}

#[tokio::test]
async fn a_hook_that_asks_permits_once_a_person_has_said_yes() {
    let world = World::new(vec![run("echo hi"), run("echo ho"), list(), Line::say("ok")]);
    let person = Says::new(Consent::Once);
    let builder = world.builder().person(person.clone()).hook(asks_and_permits());
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked(), ["echo hi: risky"]);
    assert!(world.was_told(2, "ho"));
    assert!(results(&world, 3)[2].contains("command(echo *)"));
    agent.stop().await;
}

#[tokio::test]
async fn a_hook_that_asks_permits_nothing_when_a_person_has_said_no() {
    let world = twice("echo hi");
    let person = Says::no("never");
    let builder = world.builder().person(person.clone()).hook(asks_and_permits());
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(person.asked().len(), 2);
    assert_eq!(results(&world, 3), ["never", "never", "[]"]);
    agent.stop().await;
}

#[tokio::test]
async fn what_was_permitted_for_other_arguments_does_not_count() {
    let world = World::new(vec![run("echo hi"), list(), Line::say("ok")]);
    let permits = decide("permits", |_, call: &ToolPre| {
        if call.text("CommandLine") == Some("echo hi") {
            Decision::allow().permit_resource("command(echo *)")
        } else {
            Decision::none()
        }
    });
    let rewrites = transform("rewrites", |_, call: &ToolPre| match call.text("CommandLine") {
        Some("echo hi") => Answer::set_args([("CommandLine", json!("echo other"))]),
        _ => Answer::none(),
    });
    let builder = world
        .builder()
        .hook(permits.tool("run_command"))
        .hook(ask())
        .hook(rewrites.tool("run_command"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    let results = results(&world, 2);
    assert!(results[0].contains("nobody is there to ask"), "{results:?}");
    assert_eq!(results[1], "[]");
    agent.stop().await;
}

#[tokio::test]
async fn a_grant_does_not_satisfy_a_deny() {
    let world = World::new(vec![run("echo hi"), Line::say("ok")]);
    let builder = world
        .builder()
        .grant("command(echo hi)".parse().unwrap())
        .policy(policy::deny("run_command").reason("no commands"));
    let agent = world.start(builder).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(results(&world, 1), ["no commands"]);
    agent.stop().await;
}

#[tokio::test]
async fn a_model_can_ask_for_a_permission() {
    let request = || {
        Line::call(
            "ask_permission",
            json!({"Action": "command", "Target": "echo *", "Reason": "to speak"}),
        )
    };
    for (person, is_granted) in [(Says::new(Consent::Once), true), (Says::no("be silent"), false)] {
        let world = World::new(vec![request(), run("echo hi"), Line::say("ok")]);
        let agent = world.start(world.builder().person(person.clone()).hook(ask())).await;
        agent.chat("Go.").await.unwrap();
        assert_eq!(person.asked()[0], "command(echo *): to speak");
        let results = results(&world, 2);
        if is_granted {
            let granted = "command(echo *) is granted for this session (* stands for arguments";
            assert!(results[0].starts_with(granted), "{results:?}");
            assert!(results[1].contains("hi"), "{results:?}");
            assert_eq!(person.asked().len(), 1);
        } else {
            assert_eq!(results, ["command(echo *) is not granted: be silent", "be silent"]);
        }
        agent.stop().await;
    }
}

/// A person who takes their time, and is not to be asked something else meanwhile.
struct Slow {
    consent: Consent,
    asked: AtomicUsize,
    is_busy: AtomicBool,
}

impl Slow {
    fn new(consent: Consent) -> Arc<Self> {
        let (asked, is_busy) = (AtomicUsize::new(0), AtomicBool::new(false));
        Arc::new(Self { consent, asked, is_busy })
    }

    async fn ask(&self) -> Consent {
        assert!(!self.is_busy.swap(true, Ordering::SeqCst), "one question at a time");
        self.asked.fetch_add(1, Ordering::SeqCst);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.is_busy.store(false, Ordering::SeqCst);
        self.consent.clone()
    }
}

struct Asked(Arc<Slow>);

impl Person for Asked {
    fn approve<'a>(&'a self, _: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        Box::pin(self.0.ask())
    }

    fn permit<'a>(&'a self, _: &'a Resource, _: &'a str) -> BoxFuture<'a, Consent> {
        Box::pin(self.0.ask())
    }

    fn answer<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(async {
            self.0.ask().await;
            None
        })
    }
}

#[tokio::test]
async fn a_person_is_asked_one_thing_at_a_time_and_no_same_thing_twice() {
    let command = json!({"CommandLine": "echo hi", "WaitMsBeforeAsync": 10_000});
    let questions = json!({"Questions": [{"Question": "Why?", "Options": []}]});
    let permission = json!({"Action": "command", "Target": "ls", "Reason": "to see"});
    let all = Line::call("run_command", command.clone())
        .and_call("run_command", command)
        .and_call("ask_question", questions)
        .and_call("ask_permission", permission);
    for (consent, times) in [(Consent::ForSession, 3), (Consent::Once, 4)] {
        let world = World::new(vec![all.clone(), Line::say("ok")]);
        let person = Slow::new(consent);
        let builder = world.builder().person(Asked(Arc::clone(&person))).hook(ask());
        let agent = world.start(builder).await;
        agent.chat("Go.").await.unwrap();
        let results = results(&world, 1);
        assert!(results[..2].iter().all(|result| result.contains("hi")), "{results:?}");
        assert_eq!(person.asked.load(Ordering::SeqCst), times);
        agent.stop().await;
    }
}

/// A person who never answers.
struct Away;

impl Person for Away {
    fn approve<'a>(&'a self, _: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        Box::pin(std::future::pending())
    }

    fn permit<'a>(&'a self, _: &'a Resource, _: &'a str) -> BoxFuture<'a, Consent> {
        Box::pin(std::future::pending())
    }

    fn answer<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_person_who_does_not_answer_in_time_has_said_no() {
    let questions = json!({"Questions": [{"Question": "Why?", "Options": []}]});
    let permission = json!({"Action": "command", "Target": "ls", "Reason": "to see"});
    let world = World::new(vec![
        run("touch made")
            .and_call("ask_question", questions)
            .and_call("ask_permission", permission),
        Line::say("ok"),
    ]);
    let short = Duration::from_millis(20);
    let builder = world.builder().person(Away).limits(|limits| limits.person = short);
    let agent = world.start(builder.hook(ask())).await;
    agent.chat("Go.").await.unwrap();
    assert_eq!(
        results(&world, 1),
        [
            "nobody answered in time whether this may be done",
            "the questions were refused: nobody answered in time",
            "command(ls) is not granted: nobody answered in time",
        ]
    );
    assert!(!exists(&world.path("made")));
    agent.stop().await;
}

/// Says always, and turns a link elsewhere before that.
struct Turns {
    link: String,
    to: String,
}

impl Person for Turns {
    fn approve<'a>(&'a self, approval: &'a Approval<'a>) -> BoxFuture<'a, Consent> {
        assert!(approval.resources.iter().all(|it| it.what.ends_with("/shown")), "{approval:?}");
        std::fs::remove_file(&self.link).unwrap();
        std::os::unix::fs::symlink(&self.to, &self.link).unwrap();
        Box::pin(std::future::ready(Consent::ForSession))
    }

    fn permit<'a>(&'a self, _: &'a Resource, _: &'a str) -> BoxFuture<'a, Consent> {
        Box::pin(std::future::ready(Consent::ForSession))
    }

    fn answer<'a>(&'a self, _: &'a [Question]) -> BoxFuture<'a, Option<Responses>> {
        Box::pin(std::future::ready(None))
    }
}

#[tokio::test]
async fn always_is_about_the_place_that_was_shown_wherever_a_path_leads_by_then() {
    let world =
        World::new(vec![Line::call("view_file", json!({"AbsolutePath": "link"})), Line::say("ok")]);
    let (link, to) = (world.path("link"), world.path("other"));
    std::fs::write(world.path("shown"), "shown").unwrap();
    std::fs::write(&to, "other").unwrap();
    std::os::unix::fs::symlink(world.path("shown"), &link).unwrap();
    let ask = decide("asks", |_, _: &ToolPre| Decision::ask("look")).tool("view_file");
    let person = Turns { link, to };
    let agent = world.start(world.builder().person(person).hook(ask)).await;
    agent.chat("Go.").await.unwrap();
    let granted: Vec<_> =
        agent.grants().list().iter().map(|grant| grant.resource.to_string()).collect();
    assert_eq!(granted, [format!("read_file({})", world.path("shown"))]);
    agent.stop().await;
}
