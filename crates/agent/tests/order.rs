//! The order of events in a session, and of hooks at an event.
//!
//! `SNAPSHOTS=overwrite cargo test -p tollgate-agent --test order` writes down what the order is now.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;
mod witness;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use snapbox::{Assert, Data};
use support::{World, run};
use tokio::sync::Barrier;
use tollgate_agent::update::Update;
use tollgate_config::layers::Places;
use tollgate_config::load::Setup;
use tollgate_core::audit::{AuditEntry, AuditSink, MemorySink};
use tollgate_core::event::{Response, Responses};
use tollgate_core::prelude::*;
use tollgate_model::script::{Group, Line, Pattern, Script, Whom};
use tollgate_starlark::Starlark;
use tollgate_tools::{Tool, function};
use witness::Witness;

#[derive(Debug, Deserialize, JsonSchema)]
struct Meet {
    who: String,
}

/// A tool that is done when it was called twice: two calls that wait for each other run together.
fn meet() -> impl Tool {
    let both = Arc::new(Barrier::new(2));
    function("meet", "Waits for the other.", move |args: Meet, _: ToolContext| {
        let both = Arc::clone(&both);
        async move {
            both.wait().await;
            Ok::<_, String>(format!("{} has met", args.who))
        }
    })
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Nothing {}

fn broken() -> impl Tool {
    function("broken", "Never works.", |_: Nothing, _: ToolContext| async {
        Err::<(), _>("it is broken".to_owned())
    })
}

fn script() -> Script {
    let question = json!({"Questions": [{"Question": "Red or blue?", "Options": ["red", "blue"]}]});
    let main = vec![
        // The first turn.
        Line::call("meet", json!({"who": "Ann"}))
            .and_call("meet", json!({"who": "Bob"}))
            .and_call("run_command", json!({"CommandLine": "touch made", "WaitMsBeforeAsync": 1})),
        Line::call("broken", json!({})).and_call("no_such_tool", json!({})),
        Line::call("list_dir", json!({"DirectoryPath": "."})),
        Line::call("invoke_subagent", json!({"Prompt": "task: look around"})),
        Line::call("ask_question", question),
        Line::say("I am done."),
        Line::say(format!("Now I am. {}", "And that is a long story. ".repeat(400))),
        // The second.
        Line::say("It was a long story."),
        Line::say("Good night."),
    ];
    let whom = Whom { first_user: Some(Pattern::new("^task: ").unwrap()), ..Whom::default() };
    let replies = vec![Line::call("list_permissions", json!({})), Line::say("Nothing here.")];
    Script::new(main).with_group(Group { name: "subagent".to_owned(), whom, replies })
}

/// The events of an audit trail in the order in which they began, each with what hooks came to.
fn told(sink: &MemorySink) -> String {
    let entries = sink.entries();
    let dispatches = entries.iter().map(AuditEntry::value);
    let mut dispatches: Vec<_> = dispatches.filter(|it| it["type"] == "dispatch").collect();
    dispatches.sort_by_key(|it| it["record"]["id"].as_u64());
    let line = |it: &Value| {
        let kind: Kind = it["record"]["event"].as_str().unwrap().parse().unwrap();
        let event = AnyEvent::from_value(kind, it["payload"].clone()).unwrap();
        let line = witness::line(event.view());
        match &it["record"]["decision"] {
            Value::String(word) if word == "none" => format!("{line}\n"),
            Value::String(word) => format!("{line} → {word}\n"),
            value => format!("{line} → {}\n", value.as_object().unwrap().keys().next().unwrap()),
        }
    };
    dispatches.into_iter().map(line).collect()
}

#[tokio::test]
async fn the_events_of_a_session_come_in_this_order() {
    let world = World::with_script(script());
    let (witness, sink) = (Witness::default(), Arc::new(MemorySink::new(1_000)));
    let was_asked = AtomicBool::new(false);
    let again = decide("once more", move |_cx: &TurnContext, _: &Stop| {
        if was_asked.swap(true, Ordering::Relaxed) {
            Decision::none()
        } else {
            Decision::go_on("Are you sure?")
        }
    });
    let blue = transform("blue", |_cx: &OperationContext, _: &Interaction| {
        let selected_option_ids = Some(vec!["2".to_owned()]);
        let response = Response { selected_option_ids, ..Response::default() };
        Answer::reply(Responses { responses: vec![response], cancelled: false })
    });
    let careful = decide("careful", |_cx: &OperationContext, call: &ToolPre| {
        if call.is("list_dir") { Decision::ask("may it look?") } else { Decision::none() }
    });
    let builder = world
        .builder()
        .tool(meet())
        .tool(broken())
        .policy(policy::deny("run_command"))
        .hook(witness.hook())
        .hook(again)
        .hook(blue)
        .hook(careful)
        .audit(Arc::clone(&sink) as Arc<dyn AuditSink>)
        .limits(|limits| limits.history_tokens = 2_000);
    let agent = world.start(builder).await;
    let response = agent.chat("Do this.").await.unwrap();
    assert!(response.text.starts_with("Now I am."), "{response:?}");
    agent.switch_facet("night", None).await;
    let response = agent.chat("And now?").await.unwrap();
    assert_eq!(response.text, "Good night.");
    agent.stop().await;

    assert!(!Path::new(&world.path("made")).exists());
    for kind in Kind::ALL.iter().filter(|kind| **kind != Kind::Failure) {
        assert!(!witness.of(*kind).is_empty(), "{kind}: {:#?}", witness.lines());
    }
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/order.txt");
    let assert = Assert::new().action_env("SNAPSHOTS");
    assert.eq(told(&sink), Data::read_from(&path, None));
}

/// A session with a hook of each form at `tool.pre`. Each leaves its mark.
struct Forms {
    world: World,
    root: tempfile::TempDir,
}

impl Forms {
    fn new(lines: Vec<Line>) -> Self {
        let root = tempfile::tempdir().unwrap();
        let forms = Self { world: World::new(lines), root };
        fs::create_dir(forms.root.path().join("project")).unwrap();
        let marked = forms.path("marks");
        let antigravity = json!({"of antigravity": {"PreToolUse": [{"matcher": "note", "hooks": [{
            "command": format!("jq -c .toolCall.args >> {marked}; echo '{{\"decision\": \"allow\", \"overwrite\": {{\"antigravity\": \"1\"}}}}'"),
        }]}]}});
        forms.write("home/.gemini/config/hooks.json", &antigravity.to_string());
        let polytoken = json!([{
            "name": "of polytoken", "event": "pre_tool_use", "matcher": "note",
            "handler": {"bash": format!("jq -c .input >> {marked}")},
        }]);
        forms.write("home/.config/polytoken/hooks.json", &polytoken.to_string());
        forms.write("home/.config/tollgate/hooks/of_markdown.md", MARKDOWN);
        let rules = "policy.deny(\"run_command\", reason = \"the policy file says no\")\n\
                     policy.allow(\"*\")\n";
        forms.write("home/.config/tollgate/policy.star", rules);
        forms
    }

    fn path(&self, name: &str) -> String {
        let root = self.root.path().canonicalize().unwrap();
        root.join(name).to_str().unwrap().to_owned()
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.root.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

const MARKDOWN: &str = r#"---
event: tool.pre
when: payload["name"] == "note"
script: |
  def handle(event, payload):
      args = dict(payload["args"])
      args["markdown"] = args["antigravity"] + "2"
      return modify({"args": args})
---
"#;

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
struct Note {
    #[serde(flatten)]
    all: serde_json::Map<String, Value>,
}

/// A tool that says with what it was called.
fn note() -> impl Tool {
    function("note", "Says what it is given.", |args: Note, _: ToolContext| async {
        Ok::<_, String>(args)
    })
}

#[tokio::test]
async fn hooks_of_all_forms_take_part_in_the_documented_order() {
    tollgate_testing::needs!("jq");
    let forms = Forms::new(vec![
        Line::call("note", json!({"text": "0"})),
        run("touch made"),
        Line::say("Done."),
    ]);
    let asked: Arc<Mutex<Vec<Vec<String>>>> = Arc::default();
    let heard = Arc::clone(&asked);
    // Each adds its number to what the one before it has left.
    let rust = transform("of rust", |_cx: &OperationContext, call: &ToolPre| {
        match call.text("markdown") {
            Some(so_far) => Answer::set_args([("rust", json!(format!("{so_far}3")))]),
            None => Answer::none(),
        }
    });
    let setup = Setup::new(Places::below(forms.root.path())).scripts(Starlark::in_process());
    let builder =
        forms.world.builder().tool(note()).hook(rust).hook_files(setup).on_update(move |update| {
            // Shown where the test fails.
            if let Update::CallRefused { detail, .. } = update {
                println!("{detail}");
            }
            if let Update::Decided { decided, .. } = update
                && decided.event == Kind::ToolPre
            {
                heard.lock().unwrap().push(decided.hooks.clone());
            }
        });
    let agent = forms.world.start(builder).await;
    let in_force = agent.hook_files().unwrap();
    assert!(in_force.diagnostics.iter().all(|it| !it.is_error()), "{:?}", in_force.diagnostics);
    agent.chat("Go.").await.unwrap();
    agent.stop().await;

    let world = &forms.world;
    let called_with = json!({"text": "0", "antigravity": "1", "markdown": "12", "rust": "123"});
    let (_, answer) = world.messages(1).pop().unwrap();
    assert_eq!(serde_json::from_str(&answer).unwrap_or(json!(answer)), called_with);
    // Once they have answered, those that have not seen it are asked about what is called in the end.
    let marks = fs::read_to_string(forms.path("marks")).unwrap();
    let marks: Vec<Value> = marks.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let first = json!({"text": "0"});
    let then = json!({"text": "0", "antigravity": "1"});
    assert_eq!(marks, [first, then, called_with.clone(), called_with]);
    // The policies come last: that of the file, and that of the builder.
    let asked = asked.lock().unwrap();
    let files = ["of antigravity", "of polytoken", "of_markdown"];
    assert_eq!(asked[0], [&files[..], &["of rust", "tollgate-guard", "policy", "policy"]].concat());
    assert!(world.was_told(2, "the policy file says no"), "{:?}", world.messages(2));
    assert!(!Path::new(&world.path("made")).exists());
}
