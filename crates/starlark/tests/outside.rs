//! Hooks that ask the web, and hooks that call tools.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod common;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use common::{Bench, Isolation};
use serde_json::{Value, json};
use tollgate_core::hook::BoxFuture;
use tollgate_core::prelude::*;
use tollgate_starlark::{HookTools, ToolRequest};

/// A hook with this body at `tool.pre`.
fn hook(keys: &str, body: &str) -> String {
    format!(
        "---\nevent: tool.pre\n{keys}script: |\n  def handle(event, payload):\n      {}\n---\n",
        body.replace('\n', "\n      ")
    )
}

fn call(name: &str) -> ToolPre {
    ToolPre::from(ToolCall::new(name))
}

/// What the hook could not decide for.
fn error(outcome: &Outcome<ToolPre>) -> String {
    let errors = outcome.record.answers.iter().find_map(|line| line.error.as_ref());
    errors.map(ToString::to_string).unwrap_or_default()
}

/// A server on a port of its own. What it was sent comes back as text.
struct Server {
    port: u16,
}

impl Server {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        Self { port }
    }

    fn allowed(&self) -> String {
        format!("[http]\nallow = [\"127.0.0.1:{}\"]\n", self.port)
    }

    fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}{path}", self.port)
    }
}

fn serve(stream: TcpStream) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let small = line.to_ascii_lowercase();
        if let Some(value) = small.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.trim().is_empty() {
            break;
        }
        head.push_str(&small);
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let path = head.split(' ').nth(1)?.to_owned();
    let (mut status, mut more) = ("200 OK", "");
    match path.split('?').next()? {
        "/missing" => status = "404 Not Found",
        "/away" => {
            status = "302 Found";
            more = "location: http://example.invalid/\r\n";
        }
        "/never" => {
            // Until the other side has had enough.
            let _ = reader.read(&mut [0]);
            return None;
        }
        // Longer than a script may compute.
        "/later" => std::thread::sleep(Duration::from_millis(400)),
        _ => {}
    }
    let answer = format!("{head}\n{}", String::from_utf8_lossy(&body));
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nX-Own: yes\r\n{more}content-length: {}\r\nconnection: close\r\n\r\n{answer}",
        answer.len()
    )
    .ok()
}

/// What a hook that blocks with what it got is told, by the address of the server.
async fn asked(isolation: Isolation, settings: &str, body: &str) -> Outcome<ToolPre> {
    let text = hook("timeout: 20s\n", body);
    let bench = Bench::with(isolation.engine(), &[("web.md", &text)], settings);
    bench.dispatch(call("view_file")).await
}

#[tokio::test]
async fn a_host_that_is_allowed_can_be_asked() {
    let server = Server::new();
    let url = |path: &str| server.url(path);
    let rows = [
        (format!("r = http.get(\"{}\")\nreturn block(str(r[\"status\"]))", url("/a")), vec!["200"]),
        (
            format!("return block(http.get(\"{}\")[\"body\"])", url("/a?b=c")),
            vec!["get /a?b=c http/1.1"],
        ),
        (format!("return block(str(http.get(\"{}\")[\"status\"]))", url("/missing")), vec!["404"]),
        (format!("return block(http.get(\"{}\")[\"headers\"][\"x-own\"])", url("/a")), vec!["yes"]),
        (format!("return block(http.get(\"{}\")[\"url\"])", url("/a")), vec!["/a"]),
        (
            format!(
                "return block(http.get(\"{}\", headers = {{\"X-Mine\": \"1\"}})[\"body\"])",
                url("/a")
            ),
            vec!["x-mine: 1"],
        ),
        (
            format!("return block(http.post(\"{}\", \"text\")[\"body\"])", url("/p")),
            vec!["post /p", "\ntext"],
        ),
        (
            format!(
                "return block(http.post(\"{}\", json = {{\"a\": [1, None]}})[\"body\"])",
                url("/p")
            ),
            vec!["content-type: application/json", "{\"a\":[1,null]}"],
        ),
        (
            format!(
                "return block(http.post(\"{}\", json = 1, headers = {{\"Content-Type\": \"x/y\"}})[\"body\"])",
                url("/p")
            ),
            vec!["content-type: x/y", "\n1"],
        ),
    ];
    for isolation in Isolation::ALL {
        for (body, parts) in &rows {
            let outcome = asked(isolation, &server.allowed(), body).await;
            for part in parts {
                let reason = outcome.reason();
                assert!(
                    reason.contains(part),
                    "{isolation:?} {body}: {reason} {}",
                    error(&outcome)
                );
            }
        }
    }
}

#[tokio::test]
async fn everything_else_is_refused() {
    let server = Server::new();
    let other = Server::new();
    let allowed = server.allowed();
    let rows = [
        ("", server.url("/a"), "`http.allow`"),
        ("[http]\nallow = []\n", server.url("/a"), "`http.allow`"),
        (&allowed, other.url("/a"), "`http.allow`"),
        (&allowed, server.url("/away"), "`example.invalid` on port 80 is not allowed"),
        ("[http]\nallow = [\"*\"]\n", server.url("/a"), "and not listed for that"),
        (&allowed, "file:///etc/passwd".to_owned(), "cannot be fetched"),
        (&allowed, "no url".to_owned(), "cannot be fetched"),
    ];
    for isolation in Isolation::ALL {
        for (settings, url, said) in &rows {
            let body = format!("return block(http.get(\"{url}\")[\"body\"])");
            let outcome = asked(isolation, settings, &body).await;
            assert_eq!(outcome.record.decision, Word::Deny);
            let why = error(&outcome);
            assert!(why.contains(said), "{isolation:?} {url}: {why}");
        }
        let both =
            format!("return block(http.post(\"{}\", \"a\", json = 1)[\"body\"])", server.url("/p"));
        let outcome = asked(isolation, &allowed, &both).await;
        assert!(error(&outcome).contains("`body` or `json`, not both"), "{}", error(&outcome));
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_costs_the_time_of_the_hook() {
    let server = Server::new();
    for isolation in Isolation::ALL {
        let body = format!("return block(http.get(\"{}\")[\"body\"])", server.url("/never"));
        let text = hook("timeout: 700ms\n", &body);
        let bench = Bench::with(isolation.engine(), &[("web.md", &text)], &server.allowed());
        let begun = Instant::now();
        let outcome = bench.dispatch(call("view_file")).await;
        let took = begun.elapsed();
        assert_eq!(outcome.record.decision, Word::Deny, "{isolation:?}");
        let why = error(&outcome);
        assert!(why.contains("no response within") || why.contains("no answer within"), "{why}");
        assert!(took > Duration::from_millis(600) && took < Duration::from_secs(4), "{took:?}");
    }
}

#[tokio::test]
async fn to_wait_is_not_to_compute() {
    let server = Server::new();
    // It says no time, so it may compute for 100 ms and take ten seconds. After it has waited, it
    // goes on long enough to be looked at.
    let body = format!(
        "r = http.get(\"{}\")\nn = 0\nfor i in range(1500):\n    n += 1\nreturn block(str(r[\"status\"]))",
        server.url("/later")
    );
    for isolation in Isolation::ALL {
        let bench =
            Bench::with(isolation.engine(), &[("web.md", &hook("", &body))], &server.allowed());
        // On a busy machine 100 ms are soon over. If waiting counted, none of these would come through.
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            let outcome = bench.dispatch(call("view_file")).await;
            if outcome.reason() == "200" {
                break;
            }
            assert!(Instant::now() < deadline, "{isolation:?}: {}", error(&outcome));
        }
    }
}

/// How many threads of this program run a script of a hook.
fn script_threads() -> usize {
    let names = std::fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = names.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    names.filter(|name| name.starts_with("tollgate-script")).count()
}

#[tokio::test]
async fn a_dispatch_that_is_given_up_leaves_nothing_behind() {
    let server = Server::new();
    let never = calls(&format!("return block(http.get(\"{}\")[\"body\"])", server.url("/never")));
    let other = never.replace("/never", "/a").replace("outer", "other");
    for isolation in Isolation::ALL {
        let files = [("never.md", &*never), ("other.md", &*other)];
        let bench = Bench::with(isolation.engine(), &files, &server.allowed());
        for _ in 0..3 {
            let waiting = bench.dispatch(call("outer"));
            assert!(tokio::time::timeout(Duration::from_millis(200), waiting).await.is_err());
        }
        let outcome = bench.dispatch(call("other")).await;
        assert!(outcome.reason().contains("get /a"), "{isolation:?}: {}", error(&outcome));
    }
    let deadline = Instant::now() + Duration::from_secs(20);
    while script_threads() > 0 {
        assert!(Instant::now() < deadline, "a script still waits for its answer");
        tokio::task::yield_now().await;
    }
}

/// Tools whose calls go through the hooks like those of the model.
#[derive(Default)]
struct Pipeline {
    runner: OnceLock<Runner>,
    /// Who called what.
    called: Mutex<Vec<String>>,
}

impl HookTools for Pipeline {
    fn call<'a>(&'a self, request: ToolRequest<'a>) -> BoxFuture<'a, Result<Value, String>> {
        Box::pin(async move {
            let ToolRequest { name, args, hook, operation } = request;
            self.called.lock().unwrap().push(format!("{hook} {name}"));
            let runner = self.runner.get().unwrap();
            let call = ToolCall { args: args.clone(), ..ToolCall::new(name) };
            let outcome = runner.dispatch(operation, ToolPre::from(call)).await;
            let call = match outcome.permit() {
                Permit::Granted(call) => call.into_inner().call,
                Permit::Ask(pending) => return Err(pending.reason().to_owned()),
                Permit::Refused(refusal) => return Err(refusal.reason),
            };
            let result = match &*call.name {
                "double" => json!(call.args.get("n").and_then(Value::as_i64).unwrap_or(0) * 2),
                "view_file" | "deeper" => json!({"seen": call.args}),
                other => return Err(format!("there is no tool `{other}`")),
            };
            let outcome = runner.dispatch(operation, ToolPost { call, result }).await;
            match outcome.permit() {
                Permit::Granted(post) => Ok(post.into_inner().result),
                Permit::Ask(pending) => Err(pending.reason().to_owned()),
                Permit::Refused(refusal) => Err(refusal.reason),
            }
        })
    }
}

fn with_tools(isolation: Isolation, files: &[(&str, &str)]) -> (Bench, Arc<Pipeline>) {
    let pipeline = Arc::new(Pipeline::default());
    let bench = Bench::with(isolation.engine().tools(pipeline.clone()), files, "");
    pipeline.runner.set(bench.hooks.runner().clone()).unwrap();
    (bench, pipeline)
}

/// A hook of the call of `outer`, which calls another tool.
fn calls(body: &str) -> String {
    hook("when: payload[\"name\"] == \"outer\"\ntimeout: 20s\n", body)
}

#[tokio::test]
async fn a_tool_can_be_called_and_its_result_comes_back() {
    let guard = hook(
        "when: payload[\"name\"] == \"view_file\"\ntimeout: 20s\n",
        "if payload[\"args\"].get(\"AbsolutePath\") == \"/secret\":\n    return block(\"not that one\")\nreturn allow()",
    );
    let redact = hook(
        "when: payload[\"name\"] == \"double\"\ntimeout: 20s\n",
        "return modify({\"result\": payload[\"result\"] + 1})",
    )
    .replace("tool.pre", "tool.post");
    for (body, reason, why) in [
        ("return block(str(tools.call(\"double\", {\"n\": 4})))", "9", ""),
        ("return block(str(tools.call(\"double\")))", "1", ""),
        ("return block(str(tools.call(\"double\", None)))", "1", ""),
        (
            "return block(str(tools.call(\"view_file\", {\"AbsolutePath\": \"/a\"})[\"seen\"]))",
            "{\"AbsolutePath\": \"/a\"}",
            "",
        ),
        (
            "return block(str(tools.call(\"view_file\", {\"AbsolutePath\": \"/secret\"})))",
            "",
            "not that one",
        ),
        ("return block(str(tools.call(\"nothing\")))", "", "there is no tool `nothing`"),
        (
            "return block(str(tools.call(\"double\", [1])))",
            "",
            "the arguments of a tool are a dict",
        ),
    ] {
        for isolation in Isolation::ALL {
            let files =
                [("caller.md", &*calls(body)), ("guard.md", &*guard), ("redact.md", &*redact)];
            let (bench, pipeline) = with_tools(isolation, &files);
            let outcome = bench.dispatch(call("outer")).await;
            let found = error(&outcome);
            if why.is_empty() {
                assert_eq!(outcome.reason(), reason, "{isolation:?} {body}: {found}");
            } else {
                assert!(found.contains(why), "{isolation:?} {body}: {found}");
                assert_eq!(outcome.record.decision, Word::Deny);
            }
            let called = pipeline.called.lock().unwrap();
            assert!(called.iter().all(|line| line.starts_with("caller ")), "{called:?}");
        }
    }
}

#[tokio::test]
async fn without_tools_of_the_host_there_are_none() {
    for isolation in Isolation::ALL {
        let text = calls("return block(str(tools.call(\"double\")))");
        let bench = Bench::new(isolation, &[("caller.md", &text)]);
        let outcome = bench.dispatch(call("outer")).await;
        assert!(
            error(&outcome).contains("the host offers no tools to hooks"),
            "{}",
            error(&outcome)
        );
    }
}

#[tokio::test]
async fn outside_of_a_turn_no_tool_is_called() {
    let text = hook("timeout: 20s\n", "return modify({\"context\": str(tools.call(\"double\"))})")
        .replace("tool.pre", "session.start");
    for isolation in Isolation::ALL {
        let (bench, pipeline) = with_tools(isolation, &[("caller.md", &text)]);
        let outcome = bench.hooks.runner().dispatch(&bench.session, SessionStart::default()).await;
        let found = outcome.record.answers[0].error.as_ref().unwrap().to_string();
        assert!(found.contains("tools can be called in a turn only"), "{found}");
        assert!(pipeline.called.lock().unwrap().is_empty());
    }
}

/// Hooks that call the tool they are asked about end at their depth, however many there are at once
/// and however few workers.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hook_that_calls_the_tool_it_is_asked_about_ends() {
    let text = hook(
        "when: payload[\"name\"] == \"deeper\"\ntimeout: 30s\n",
        "return block(str(tools.call(\"deeper\", {\"n\": payload[\"args\"].get(\"n\", 0) + 1})))",
    );
    for isolation in Isolation::ALL {
        let (bench, pipeline) = with_tools(isolation, &[("deep.md", &text)]);
        let (done, results): (Sender<_>, _) = channel();
        for _ in 0..8 {
            let (runner, turn, done) =
                (bench.hooks.runner().clone(), bench.turn.clone(), done.clone());
            tokio::spawn(async move {
                let outcome = runner.dispatch(&turn.operation(), call("deeper")).await;
                let _ = done.send((outcome.record.decision.clone(), error(&outcome)));
            });
        }
        drop(done);
        let all = tokio::task::spawn_blocking(move || results.iter().collect::<Vec<_>>());
        let all = tokio::time::timeout(Duration::from_secs(40), all).await.unwrap().unwrap();
        assert_eq!(all.len(), 8, "{isolation:?}");
        assert!(all.iter().all(|(decision, _)| *decision == Word::Deny), "{isolation:?}: {all:?}");
        // Each dispatch calls four deep, and no deeper; what failed there closes what is around it.
        assert_eq!(pipeline.called.lock().unwrap().len(), 8 * 4, "{isolation:?}");
        let errors: BTreeSet<_> = all.into_iter().map(|(_, error)| error).collect();
        assert_eq!(errors.len(), 1, "{errors:?}");
    }
}

#[tokio::test]
async fn the_depth_is_said_where_it_ends() {
    let text = hook(
        "when: payload[\"name\"] == \"deeper\"\ntimeout: 30s\n",
        "return block(str(tools.call(\"deeper\")))",
    );
    for isolation in Isolation::ALL {
        let (bench, _pipeline) = with_tools(isolation, &[("deep.md", &text)]);
        let outcome = bench.dispatch(call("deeper")).await;
        assert_eq!(outcome.record.decision, Word::Deny);
        let told = error(&outcome);
        // What the innermost hook was told is not the model's to know, nor another hook's.
        assert!(told.contains("A required check could not be completed"), "{told}");
    }
}
