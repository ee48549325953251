//! Subagents: whatever way one is started, its calls go through the session's hooks, and it has no more than whoever
//! started it.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;
mod witness;

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use support::{World, run};
use tollgate_agent::{Agent, AgentBuilder, Started};
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::prelude::*;
use tollgate_model::script::{Group, Line, Pattern, Script, Whom};
use tollgate_starlark::Starlark;
use witness::Witness;

const LONG: Duration = Duration::from_secs(30);

/// Replies for the agent whose task begins so.
fn group(task: &str, replies: Vec<Line>) -> Group {
    let first_user = Some(Pattern::new(&format!("^{task}")).unwrap());
    let whom = Whom { first_user, ..Whom::default() };
    Group { name: task.to_owned(), whom, replies }
}

fn invoke(prompt: &str) -> Line {
    Line::call("invoke_subagent", json!({"Prompt": prompt}))
}

fn in_background(prompt: &str) -> Line {
    Line::call("invoke_subagent", json!({"Prompt": prompt, "Background": true}))
}

/// What would leave a mark, and what is said of how it went.
fn tries(world: &str) -> Vec<Line> {
    let touch = || run(&format!("touch {world}"));
    vec![
        touch(),
        Line::say("1: {{last_tool.content}}"),
        touch(),
        Line::say("2: {{last_tool.content}}"),
    ]
}

/// Who denies `run_command`.
#[derive(Debug, Clone, Copy)]
enum Guard {
    Policy,
    Rust,
    Command,
    Markdown,
}

const GUARDS: [Guard; 4] = [Guard::Policy, Guard::Rust, Guard::Command, Guard::Markdown];

const MARKDOWN: &str = r#"---
event: tool.pre
when: payload["name"] == "run_command"
script: |
  def handle(event, payload):
      return block("not here")
---
"#;

impl Guard {
    fn put(self, builder: AgentBuilder, root: &Path) -> AgentBuilder {
        let write = |name: &str, text: &str| {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let files = || Setup::new(Places::below(root)).scripts(Starlark::in_process());
        match self {
            Self::Policy => builder.policy(policy::deny("run_command").reason("not here")),
            Self::Rust => builder.hook(decide("guard", |_cx, call: &ToolPre| {
                if call.is("run_command") { Decision::deny("not here") } else { Decision::none() }
            })),
            Self::Command => {
                let command = "echo '{\"decision\": \"deny\", \"reason\": \"not here\"}'";
                let group = json!({"matcher": "run_command", "hooks": [{"command": command}]});
                let file = json!({"guard": {"PreToolUse": [group]}});
                write("home/.gemini/config/hooks.json", &file.to_string());
                builder.hook_files(files())
            }
            Self::Markdown => {
                write("home/.config/tollgate/hooks/guard.md", MARKDOWN);
                builder.hook_files(files())
            }
        }
    }
}

/// A way to a subagent: what the model says, and what happens then.
struct Way {
    name: &'static str,
    main: Vec<Line>,
    groups: Vec<Group>,
    /// How many calls of `run_command` are denied.
    denied: usize,
    /// Whether the last of them is made in the background, and ends in a message.
    is_in_background: bool,
    /// Whether a hook puts in the call that starts it.
    is_injected: bool,
}

fn ways() -> Vec<Way> {
    let define = json!({"Name": "helper", "Description": "helps", "SystemPrompt": "You help.",
                        "Tools": ["run_command"]});
    let helper = json!({"Name": "helper", "Prompt": "task one"});
    let wake = json!({"Recipient": "agent-1", "Message": "Once more."});
    let way = |name, main, groups| Way {
        name,
        main,
        groups,
        denied: 1,
        is_in_background: false,
        is_injected: false,
    };
    let told = || Line::say("It said: {{last_tool.content}}");
    let one = || vec![group("task one", tries("made"))];
    vec![
        way("without a name", vec![invoke("task one"), told()], one()),
        way(
            "defined at run time",
            vec![
                Line::call("define_subagent", define),
                Line::call("invoke_subagent", helper),
                told(),
            ],
            one(),
        ),
        way(
            "two deep",
            vec![invoke("task two"), told()],
            vec![
                group("task one", tries("made")),
                group("task two", vec![invoke("task one"), Line::say("{{last_tool.content}}")]),
            ],
        ),
        Way {
            is_in_background: true,
            ..way(
                "in the background",
                vec![in_background("task one"), told(), Line::say("{{last_user}}")],
                one(),
            )
        },
        Way {
            is_in_background: true,
            denied: 2,
            ..way(
                "woken by a message",
                vec![
                    invoke("task one"),
                    Line::call("send_message", wake),
                    told(),
                    Line::say("{{last_user}}"),
                ],
                one(),
            )
        },
        Way { is_injected: true, ..way("put in by a hook", vec![told()], one()) },
    ]
}

/// The leak that agents with subagents are known for: one whose policies hold for the agent, and not for what it starts.
#[tokio::test]
async fn whichever_way_a_subagent_is_started_what_is_denied_is_denied_to_it() {
    for guard in GUARDS {
        for way in ways() {
            let Way { name, main, groups, denied, is_in_background, is_injected } = way;
            let script = groups.into_iter().fold(Script::new(main), Script::with_group);
            let world = World::with_script(script);
            let root = tempfile::tempdir().unwrap();
            fs::create_dir(root.path().join("project")).unwrap();
            let witness = Witness::default();
            let mut builder = guard.put(world.builder(), root.path()).hook(witness.hook());
            if is_injected {
                builder = builder.hook(start_with("task one"));
            }
            let agent = world.start(builder).await;
            let mut answer = agent.chat("Go.").await.unwrap().text;
            if is_in_background {
                answer = message(&world, &agent).await;
            }
            let case = format!("{guard:?}, {name}: {answer}\n{:#?}", witness.lines());
            assert!(answer.contains("not here"), "{case}");
            let calls = witness.of(Kind::ToolPre);
            let calls = calls.iter().filter(|line| line.ends_with("run_command")).count();
            assert_eq!(calls, denied, "{case}");
            assert!(
                witness.of(Kind::ToolPost).iter().all(|line| !line.contains("run_command")),
                "{case}"
            );
            agent.stop().await;
            assert!(!Path::new(&world.path("made")).exists(), "{case}");
        }
    }
}

/// What the subagent in the background has sent: in the turn that was under way, or in one of its own.
async fn message(world: &World, agent: &Agent<Started>) -> String {
    let heard = || {
        let all = (0..world.requests().len()).flat_map(|request| world.messages(request));
        all.map(|(_, text)| text).find(|text| text.starts_with("Message from agent-1"))
    };
    if heard().is_none() {
        within(agent.next_triggered()).await.unwrap();
    }
    heard().unwrap()
}

async fn within<F: Future>(future: F) -> F::Output {
    tokio::time::timeout(LONG, future).await.unwrap()
}

/// A hook that has the agent start a subagent before its model is called for the first time.
fn start_with(prompt: &'static str) -> Registration {
    let is_done = AtomicBool::new(false);
    decide("starter", move |_cx: &OperationContext, pre: &ModelPre| {
        if pre.agent.depth > 0 || is_done.swap(true, Ordering::Relaxed) {
            return Decision::none();
        }
        let Value::Object(args) = json!({"Prompt": prompt}) else { return Decision::none() };
        Decision::none().inject(Step::ToolCall { name: "invoke_subagent".to_owned(), args })
    })
}

/// Without a guard, the same ways do leave a mark: what proves that nothing ran proves something.
#[tokio::test]
async fn what_is_not_denied_runs() {
    for way in ways() {
        let Way { name, main, groups, is_in_background, is_injected, .. } = way;
        let world =
            World::with_script(groups.into_iter().fold(Script::new(main), Script::with_group));
        let mut builder = world.builder();
        if is_injected {
            builder = builder.hook(start_with("task one"));
        }
        let agent = world.start(builder).await;
        agent.chat("Go.").await.unwrap();
        if is_in_background {
            message(&world, &agent).await;
        }
        agent.stop().await;
        assert!(Path::new(&world.path("made")).exists(), "{name}");
    }
}

async fn session(
    main: Vec<Line>,
    groups: Vec<Group>,
    set: impl FnOnce(AgentBuilder) -> AgentBuilder,
) -> (World, Agent<Started>) {
    let world = World::with_script(groups.into_iter().fold(Script::new(main), Script::with_group));
    let agent = world.start(set(world.builder())).await;
    (world, agent)
}

fn tools_of(request: &Value) -> Vec<String> {
    let tools = request["tools"].as_array().unwrap();
    let mut names: Vec<_> =
        tools.iter().map(|it| it["function"]["name"].as_str().unwrap().to_owned()).collect();
    names.sort_unstable();
    names
}

#[tokio::test]
async fn a_subagent_has_no_tool_that_its_parent_does_not_have() {
    let define = |tools: Value| json!({"Name": "helper", "Description": "", "SystemPrompt": "", "Tools": tools});
    let (world, agent) = session(
        vec![
            Line::call("define_subagent", define(json!(["run_command"]))),
            Line::call("define_subagent", define(json!(["view_file", "invoke_subagent"]))),
            Line::call("invoke_subagent", json!({"Name": "helper", "Prompt": "task two"})),
            // One that is there from the beginning, with a tool that the session does not have.
            Line::call("invoke_subagent", json!({"Name": "given", "Prompt": "task three"})),
            Line::say("Done."),
        ],
        vec![
            group("task two", vec![invoke("task one"), Line::say("ok")]),
            group("task one", vec![run("touch made"), Line::say("{{last_tool.content}}")]),
            group("task three", vec![run("touch made"), Line::say("{{last_tool.content}}")]),
        ],
        |builder| {
            builder.disabled_tools(["run_command"]).subagent(
                "given",
                "",
                "",
                Some(&["run_command", "list_dir"]),
            )
        },
    )
    .await;
    agent.chat("Go.").await.unwrap();
    agent.stop().await;
    assert!(world.was_told(1, "`run_command` is no tool of yours"), "{:?}", world.messages(1));
    let requests = world.requests();
    let offered: Vec<_> = requests.iter().map(tools_of).collect();
    assert!(offered[0].len() > 10 && !offered[0].contains(&"run_command".to_owned()));
    // The helper has what it was defined with; one like the helper, as much.
    assert_eq!(offered[3], ["invoke_subagent", "view_file"]);
    assert_eq!(offered[4], ["invoke_subagent", "view_file"]);
    assert!(offered.contains(&vec!["list_dir".to_owned()]), "{offered:?}");
    assert!(offered.iter().flatten().all(|name| name != "run_command"));
    assert!(requests.iter().any(|it| it.to_string().contains("there is no tool `run_command`")));
    assert!(!Path::new(&world.path("made")).exists());
}

#[tokio::test]
async fn subagents_go_as_deep_as_they_may() {
    let (world, agent) = session(
        vec![invoke("task one"), Line::say("{{last_tool.content}}")],
        vec![
            group("task one", vec![invoke("task two"), Line::say("one: {{last_tool.content}}")]),
            group("task two", vec![invoke("task three"), Line::say("two: {{last_tool.content}}")]),
        ],
        |builder| builder.limits(|limits| limits.subagent_depth = 2),
    )
    .await;
    let answer = agent.chat("Go.").await.unwrap().text;
    assert!(answer.starts_with("one: two: subagents may go 2 deep"), "{answer}");
    agent.stop().await;
    drop(world);
}

#[tokio::test]
async fn there_are_as_many_subagents_as_there_may_be() {
    let (_world, agent) = session(
        vec![
            invoke("task one"),
            invoke("task one"),
            invoke("task one"),
            Line::say("{{last_tool.content}}"),
        ],
        vec![group("task one", vec![Line::say("1"), Line::say("2"), Line::say("3")])],
        |builder| builder.limits(|limits| limits.subagents = 2),
    )
    .await;
    let answer = agent.chat("Go.").await.unwrap().text;
    assert_eq!(answer, "this session has had its 2 subagents");
    agent.stop().await;
}

/// A hook that holds the calls of subagents' models until it is let go, and says how many it holds.
fn hold(open: &Arc<tokio::sync::Semaphore>) -> Registration {
    let open = Arc::clone(open);
    decide_async("hold", move |_cx: &OperationContext, pre: &ModelPre| {
        let open = Arc::clone(&open);
        let waits = pre.agent.depth > 0;
        async move {
            if waits {
                open.acquire().await?.forget();
            }
            Ok(Decision::none())
        }
    })
}

#[tokio::test]
async fn as_many_run_at_once_as_may_and_their_answers_come_as_messages() {
    let open = Arc::new(tokio::sync::Semaphore::new(0));
    let (world, agent) = session(
        vec![
            in_background("task one"),
            in_background("task two"),
            in_background("task three"),
            Line::say("{{last_tool.content}}"),
            Line::say("I see: {{last_user}}"),
            Line::say("I see: {{last_user}}"),
            Line::say("I see: {{last_user}}"),
        ],
        vec![
            group("task one", vec![Line::say("The first is done.")]),
            group("task two", vec![Line::say("The second is done.")]),
            group("task three", vec![Line::say("The third is done.")]),
        ],
        |builder| builder.hook(hold(&open)).limits(|limits| limits.parallel_subagents = 2),
    )
    .await;
    let answer = agent.chat("Go.").await.unwrap().text;
    assert_eq!(answer, r#"{"id":"agent-3","status":"queued"}"#);
    let mut answers = vec![];
    // One after the other: what comes while a turn is under way is read in that turn.
    for _ in 0..3 {
        open.add_permits(1);
        answers.push(within(agent.next_triggered()).await.unwrap().text);
    }
    answers.sort_unstable();
    assert_eq!(
        answers,
        [
            "I see: Message from agent-1:\nThe first is done.",
            "I see: Message from agent-2:\nThe second is done.",
            "I see: Message from agent-3:\nThe third is done."
        ]
    );
    agent.stop().await;
    drop(world);
}

#[tokio::test]
async fn one_that_is_killed_does_nothing_more() {
    let open = Arc::new(tokio::sync::Semaphore::new(0));
    let kill = |id: &str| json!({"Action": "kill", "SubagentId": id});
    let (world, agent) = session(
        vec![
            in_background("task one"),
            Line::call("manage_subagents", kill("agent-1"))
                .and_call("manage_subagents", kill("agent-7")),
            Line::call("manage_subagents", json!({"Action": "list"})),
            Line::call("send_message", json!({"Recipient": "agent-1", "Message": "Wake up."})),
            Line::say("{{last_tool.content}}"),
        ],
        vec![group("task one", tries("made"))],
        |builder| builder.hook(hold(&open)),
    )
    .await;
    let answer = agent.chat("Go.").await.unwrap().text;
    assert_eq!(answer, "`agent-1` has ended");
    assert!(world.was_told(2, "there is no subagent `agent-7`"), "{:?}", world.messages(2));
    assert!(world.was_told(3, r#""status":"ended""#), "{:?}", world.messages(3));
    // It is gone: nobody waits for the hook any more.
    open.add_permits(10);
    tokio::task::yield_now().await;
    assert_eq!(open.available_permits(), 10);
    agent.stop().await;
    // Those of the session's own agent.
    assert_eq!(world.requests().len(), 5);
    assert!(!Path::new(&world.path("made")).exists());
}

#[tokio::test]
async fn the_end_of_the_session_ends_what_runs_in_the_background() {
    let open = Arc::new(tokio::sync::Semaphore::new(0));
    let (world, agent) = session(
        vec![in_background("task one"), Line::say("Bye.")],
        vec![group("task one", tries("made"))],
        |builder| builder.hook(hold(&open)),
    )
    .await;
    agent.chat("Go.").await.unwrap();
    within(agent.stop()).await;
    open.add_permits(10);
    assert_eq!(open.available_permits(), 10);
    assert!(!Path::new(&world.path("made")).exists());
}

#[tokio::test]
async fn one_that_is_waited_for_can_be_killed_as_well() {
    let open = Arc::new(tokio::sync::Semaphore::new(0));
    let kill = json!({"Action": "kill", "SubagentId": "agent-1"});
    let (world, agent) = session(
        vec![
            invoke("task one").and_call("manage_subagents", kill),
            Line::say("{{last_tool.content}}"),
        ],
        vec![group("task one", tries("made"))],
        |builder| builder.hook(hold(&open)),
    )
    .await;
    within(agent.chat("Go.")).await.unwrap();
    assert!(world.was_told(1, "it was ended"), "{:?}", world.messages(1));
    assert!(world.was_told(1, "`agent-1` has ended"), "{:?}", world.messages(1));
    agent.stop().await;
    assert!(!Path::new(&world.path("made")).exists());
}

#[tokio::test]
async fn a_message_wakes_no_more_than_may_run_at_once() {
    let open = Arc::new(tokio::sync::Semaphore::new(1));
    let wake = json!({"Recipient": "agent-1", "Message": "Once more."});
    let (world, agent) = session(
        vec![
            invoke("task one"),
            in_background("task two"),
            Line::call("send_message", wake),
            Line::call("manage_subagents", json!({"Action": "list"})),
            Line::say("Go on."),
            Line::say("{{last_user}}"),
            Line::say("{{last_user}}"),
        ],
        vec![
            group("task one", vec![Line::say("Done."), Line::say("Again.")]),
            group("task two", vec![Line::say("Two.")]),
        ],
        |builder| builder.hook(hold(&open)).limits(|limits| limits.parallel_subagents = 1),
    )
    .await;
    within(agent.chat("Go.")).await.unwrap();
    let last = world.requests().len() - 1;
    assert!(world.was_told(last, r#""status":"queued""#), "{:?}", world.messages(last));
    open.add_permits(2);
    for answer in ["Message from agent-2:\nTwo.", "Message from agent-1:\nAgain."] {
        assert_eq!(within(agent.next_triggered()).await.unwrap().text, answer);
    }
    agent.stop().await;
}
