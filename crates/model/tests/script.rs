//! Scripts: which reply is given, what it quotes, and what is wrong with a file.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::Instant;
use tollgate_model::provider::{self, OpenError, Options};
use tollgate_model::script::{self, Group, Line, Pattern, When, Whom};
use tollgate_model::{
    Args, Call, Finish, Message, Model, ModelError, Reply, Request, Script, Scripted, Usage,
};

async fn ask(model: &impl Model, request: &Request) -> Result<Reply, ModelError> {
    model.respond(request, &|_| {}).await
}

async fn say(model: &impl Model, text: &str) -> String {
    match ask(model, &Request::user(text)).await {
        Ok(reply) => reply.text,
        Err(error) => format!("error: {error}"),
    }
}

fn read(script: &Value) -> Scripted {
    Scripted::from(Script::read("demo.json", &script.to_string()).unwrap())
}

/// The conversation after a call of this tool.
fn after(tool: &str, content: &str) -> Request {
    let mut request = Request::user("Go");
    let calls = vec![Call::new("1", tool, json!({}))];
    request.messages.push(Message::Assistant { text: String::new(), calls });
    let (call, name) = ("1".to_owned(), tool.to_owned());
    request.messages.push(Message::Tool {
        call,
        name,
        content: content.to_owned(),
        is_error: false,
    });
    request
}

#[tokio::test]
async fn a_plain_list_plays_in_order_and_says_when_it_is_over() {
    let model = read(&json!([{"say": "one"}, {"say": "two"}]));
    assert_eq!(say(&model, "a").await, "one");
    assert_eq!(say(&model, "a").await, "two");
    let said = "error: demo.json: the script has run out: it has 2 replies, all used up; turn 1 answers `a`";
    assert_eq!(say(&model, "a").await, said);
}

#[tokio::test]
async fn conditions_come_first_when_they_are_written_first() {
    let model = read(&json!([
        {"when": {"last_user": "(?i)^help"}, "say": "help"},
        {"when": {"last_user": "secret"}, "say": "hush", "once": true},
        {"say": "plain"},
        {"say": "for ever", "once": false},
    ]));
    assert_eq!(say(&model, "HELP me").await, "help");
    assert_eq!(say(&model, "a secret").await, "hush");
    assert_eq!(say(&model, "a secret").await, "plain");
    assert_eq!(say(&model, "help").await, "help");
    assert_eq!(say(&model, "x").await, "for ever");
    assert_eq!(say(&model, "x").await, "for ever");
}

#[tokio::test]
async fn conditions_are_about_what_is_new_to_the_model() {
    let model = read(&json!([
        {"when": {"last_tool": "ls", "contains": "denied"}, "say": "no"},
        {"when": {"last_tool": "ls"}, "say": "yes"},
        {"when": {"contains": "denied"}, "say": "old"},
        {"when": {"turn": 3}, "say": "third"},
        {"when": {"turn": 1}, "say": "first"},
    ]));
    assert_eq!(ask(&model, &after("ls", "it was denied")).await.unwrap().text, "no");
    let mut request = after("ls", "a.txt");
    assert_eq!(ask(&model, &request).await.unwrap().text, "yes");
    assert_eq!(say(&model, "x").await, "first");
    // What the model has answered is not new.
    request = after("ls", "it was denied");
    request.messages.push(Message::Assistant { text: "no".to_owned(), calls: vec![] });
    request.messages.push(Message::User("And?".to_owned()));
    assert_eq!(ask(&model, &request).await.unwrap().text, "third");
    let error = ask(&model, &after("cat", "x")).await.unwrap_err().to_string();
    assert!(
        error.contains("it has 5 replies, 0 used up and none of the others for this; turn 2"),
        "{error}"
    );
}

#[tokio::test]
async fn agents_that_share_a_model_are_told_apart() {
    let model = Arc::new(read(&json!({
        "$schema": "script.schema.json",
        "replies": [{"say": "main 1"}, {"say": "main 2"}],
        "groups": [
            {"name": "reviewer", "for": {"system_contains": "You review"}, "replies": [{"say": "fine"}]},
            {"name": "tests", "for": {"first_user": "^Run the tests"}, "replies": [{"say": "green"}]},
            {"name": "web", "for": {"has_tool": "fetch"}, "replies": [{"say": "page"}]},
        ],
    })));
    let reviewer = Request { system: Some("You review code.".to_owned()), ..Request::user("Go") };
    assert_eq!(say(&model, "Go").await, "main 1");
    assert_eq!(ask(&model, &reviewer).await.unwrap().text, "fine");
    assert_eq!(say(&model, "Run the tests!").await, "green");
    assert_eq!(say(&model, "Go").await, "main 2");
    let error = ask(&model, &reviewer).await.unwrap_err().to_string();
    assert!(error.contains("it has 1 reply of group `reviewer`, all used up"), "{error}");
}

#[tokio::test]
async fn replies_quote_what_came_before_also_in_arguments() {
    let args = json!({"text": "said: {{last_user}}", "list": ["{{turn}}"], "n": 1});
    let model = read(&json!([{"say": "{{last_tool.name}} gave {{last_tool.content}}",
        "calls": [{"name": "write", "args": args}]}]));
    let reply = ask(&model, &after("ls", "a {{turn}} b")).await.unwrap();
    // What is quoted is not read again.
    assert_eq!(reply.text, "ls gave a {{turn}} b");
    let expected = json!({"text": "said: Go", "list": ["2"], "n": 1});
    assert_eq!(reply.calls[0].args, Args::from(expected));

    let model = read(&json!([{"say": "{{last_tool.content}}"}]));
    let said = "error: demo.json: reply 1 cannot be given: `{{last_tool.content}}` has nothing to quote yet";
    assert_eq!(say(&model, "Go").await, said);
}

#[tokio::test(start_paused = true)]
async fn errors_delays_and_the_rest() {
    let model = read(&json!([
        {"error": "out of order"},
        {"error": "slow down", "status": 429},
        {"say": "at last", "think": "hm", "delay_ms": 600_000, "finish": "length", "usage": {"input": 3}},
        {"calls": [{"name": "a"}, {"name": "b", "args": "{\"x\":"}, {"id": "own", "name": "c", "args": {}}]},
    ]));
    assert_eq!(say(&model, "x").await, "error: demo.json: out of order");
    let error = ask(&model, &Request::user("x")).await.unwrap_err();
    assert!(error.is_transient(), "{error}");
    let begin = Instant::now();
    let reply = ask(&model, &Request::user("x")).await.unwrap();
    assert!(begin.elapsed() >= Duration::from_mins(10));
    assert_eq!((reply.finish, reply.usage), (Finish::Length, Usage { input: 3, output: 0 }));
    let reply = ask(&model, &Request::user("x")).await.unwrap();
    let ids: Vec<&str> = reply.calls.iter().map(|call| call.id.as_str()).collect();
    assert_eq!(ids, ["call-1", "call-2", "own"]);
    assert!(matches!(&reply.calls[1].args, Args::Malformed { text, .. } if text == "{\"x\":"));
    assert_eq!(reply.finish, Finish::Calls);
}

#[tokio::test]
async fn one_in_code_remembers_what_it_was_asked() {
    let last_user = Some(Pattern::new("never").unwrap());
    let when = When { last_user, ..When::default() };
    let model = Scripted::new(vec![Line::say("no").when(when), Line::say("yes")]);
    assert_eq!(model.name(), "script:script");
    assert_eq!(say(&model, "now").await, "yes");
    assert_eq!(model.requests(), [Request::user("now")]);
    // A conversation that real providers refuse is refused, and seen.
    let mut broken = after("ls", "x");
    broken.messages.pop();
    let error = ask(&model, &broken).await.unwrap_err().to_string();
    assert!(error.contains("messages[1]: its call `1` of `ls` has no result"), "{error}");
    assert_eq!(model.requests().len(), 2);

    let whom = Whom { system_contains: Some("x".to_owned()), ..Whom::default() };
    let group = Group { name: "g".to_owned(), whom, replies: vec![Line::say("x")] };
    let model = Scripted::from(Script::new(vec![]).with_group(group)).recording();
    let request = Request { system: Some("xyz".to_owned()), ..Request::user("a") };
    assert_eq!(ask(&model, &request).await.unwrap().text, "x");
    assert_eq!(model.requests().len(), 1);
}

#[tokio::test]
async fn many_at_once_get_each_reply_once() {
    let lines = (0..64).map(|n| Line::say(n.to_string())).collect();
    let model = Arc::new(Scripted::new(lines));
    let tasks: Vec<_> = (0..64)
        .map(|_| {
            let model = Arc::clone(&model);
            tokio::spawn(async move { say(&model, "x").await.parse::<u32>().unwrap() })
        })
        .collect();
    let mut given = Vec::new();
    for task in tasks {
        given.push(task.await.unwrap());
    }
    given.sort_unstable();
    assert_eq!(given, (0..64).collect::<Vec<_>>());
}

#[test]
fn what_is_wrong_with_a_file_is_said_with_its_place() {
    for (text, said) in [
        ("", "demo.json:1:0: this is no JSON: EOF while parsing a value"),
        (
            "[\n  {\"say\": \"a\"},\n  {\"sai\": \"b\"}\n]",
            "demo.json:3:8: replies[1].sai: unknown field `sai`, expected one of",
        ),
        ("[{\"say\": \"a\"}] x", "demo.json:1:16: this is no JSON: trailing characters"),
        (
            "{\"replies\": [{\"calls\": [{\"nam\": \"a\"}]}]}",
            "replies[0].calls[0].nam: unknown field `nam`",
        ),
        ("{\"replies\": [{\"calls\": [{}]}]}", "replies[0].calls[0]: missing field `name`"),
        (
            "[{\"when\": {\"last_user\": \"(\"}, \"say\": \"a\"}]",
            "replies[0].when.last_user: `(` is no regular expression: unclosed group",
        ),
        (
            "[{\"say\": \"{{foo}}\"}]",
            "replies[0].say: `{{foo}}` quotes nothing; there are `last_user`",
        ),
        (
            "[{\"calls\": [{\"name\": \"a\", \"args\": {\"b\": [\"{{x\"]}}]}]",
            "replies[0].calls[0].args: `{{` without `}}`",
        ),
        ("[]", "demo.json: replies: there are none"),
        ("[{\"say\": \"a\"}, {\"delay_ms\": 1}]", "demo.json: replies[1]: it does nothing"),
        ("[{\"say\": \"a\", \"error\": \"b\"}]", "demo.json: replies[0]: an error is no reply"),
        ("[{\"say\": \"a\", \"status\": 429}]", "demo.json: replies[0]: `status` is of an error"),
        (
            "[{\"error\": \"a\", \"status\": 200}]",
            "demo.json: replies[0]: `status` is from 400 to 599",
        ),
        (
            "[{\"say\": \"a\", \"delay_ms\": 600001}]",
            "demo.json: replies[0]: `delay_ms` is at most",
        ),
        (
            "{\"groups\": [{\"name\": \"g\", \"for\": {}, \"replies\": []}]}",
            "demo.json: groups[0].for: it is for everybody",
        ),
    ] {
        let error = Script::read("demo.json", text).unwrap_err().to_string();
        assert!(error.contains(said), "{text}\n{error}");
        assert!(error.starts_with("demo.json:"), "{error}");
    }
}

#[tokio::test]
async fn a_file_is_opened_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.json");
    let open =
        || provider::open_in(&format!("script:{}", path.display()), &Options::default(), &|_| None);
    let error = open().err().unwrap();
    assert!(matches!(error, OpenError::Script(_)));
    assert!(error.to_string().contains("demo.json cannot be read"), "{error}");
    std::fs::write(&path, r#"[{"say": "Hello."}]"#).unwrap();
    let model = open().unwrap();
    assert_eq!(say(&model, "x").await, "Hello.");
    let said = say(&model, "x").await;
    assert!(said.contains("demo.json: the script has run out: it has 1 reply"), "{said}");

    let file = std::fs::File::create(&path).unwrap();
    file.set_len(17 * 1024 * 1024).unwrap();
    let error = open().err().unwrap().to_string();
    assert!(error.contains("more than 16777216 bytes"), "{error}");
}

#[test]
fn the_schema_knows_both_forms() {
    let schema = script::schema();
    assert_eq!(schema["anyOf"][0]["type"], "object");
    assert_eq!(schema["anyOf"][1]["type"], "array");
    assert_eq!(schema["$defs"]["When"]["properties"]["turn"]["minimum"], 0);
    let schema = jsonschema::validator_for(&schema).unwrap();
    for good in [
        json!([{"say": "a"}]),
        json!({"$schema": "x", "replies": [{"when": {"turn": 1, "last_user": "a"}, "say": "b"}]}),
        json!([{"calls": [{"name": "a", "args": {}}], "usage": {"input": 1}, "finish": "length"}]),
        json!([{"say": "a", "finish": {"other": "tired"}, "once": false, "delay_ms": 10}]),
        json!([{"error": "a", "status": 429}]),
        json!({"groups": [{"name": "g", "for": {"has_tool": "x"}, "replies": [{"say": "a"}]}]}),
    ] {
        assert!(schema.is_valid(&good), "{good}");
        Script::read("demo.json", &good.to_string()).unwrap();
    }
    for bad in [
        json!("a"),
        json!([{"sai": "a"}]),
        json!([{"say": 1}]),
        json!([{"calls": [{"args": {}}]}]),
        json!([{"when": {"last_user": 1}, "say": "a"}]),
        json!({"replies": [{"say": "a"}], "group": []}),
        json!([{"say": "a", "delay_ms": 600_001}]),
    ] {
        assert!(!schema.is_valid(&bad), "{bad}");
        assert!(Script::read("demo.json", &bad.to_string()).is_err(), "{bad}");
    }
}
