//! Every host against what was recorded of it: the payloads it sent, and what it did with answers.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tollgate_core::Kind;
use tollgate_hosts::{
    ALL, Form, Host, HostEvent, Incoming, Output, Reply, Rewritten, Verdict, by_name,
};

fn cases() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/hosts")
}

/// Hosts of which nothing is there. Of Antigravity and Polytoken there are payloads, as their documents
/// have them, and no answers: neither was run.
const NOT_RUN: &[&str] = &["cursor", "windsurf", "vscode"];

/// The hosts that something was recorded of, with the folder.
fn recorded() -> Vec<(&'static Host, PathBuf)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(cases()).unwrap() {
        let path = entry.unwrap().path();
        let folder = path.file_name().unwrap().to_str().unwrap().to_owned();
        let name = folder.strip_suffix("-claude-style").or_else(|| folder.strip_suffix("-shim"));
        if let Some(host) = by_name(name.unwrap_or(&folder)) {
            all.push((host, path));
        }
    }
    let run = ALL.iter().filter(|host| !NOT_RUN.contains(&host.name)).count();
    assert!(all.len() >= run, "recordings are there");
    all
}

/// Each payload: its file, the name of its event, and what it is.
fn payloads(folder: &Path) -> Vec<(String, String, Value)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        if file == "answers.json" {
            continue;
        }
        let event = file.split('.').next().unwrap().to_owned();
        let input = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        all.push((format!("{}/{file}", folder.file_name().unwrap().display()), event, input));
    }
    all
}

fn read(host: &'static Host, event: &str, input: Value) -> Option<Incoming> {
    host.read(Some(event), input).unwrap_or_else(|error| panic!("{} {event}: {error}", host.name))
}

#[test]
fn every_payload_is_read() {
    let mut count = 0;
    for (host, folder) in recorded() {
        for (file, event, input) in payloads(&folder) {
            count += 1;
            let Some(incoming) = read(host, &event, input.clone()) else { continue };
            assert!(!incoming.parts.is_empty(), "{file}");
            assert!(!incoming.session.id.is_empty(), "{file}: its session is not known");
            // Where the event stands in the input, nobody has to name it.
            if host.wire.event_of(input.as_object().unwrap()).is_some() {
                assert_eq!(host.read(None, input).unwrap().as_ref(), Some(&incoming), "{file}");
            }
            for part in &incoming.parts {
                // Of a call that is over, Antigravity says no more than its place.
                if let Some(call) =
                    part.call().filter(|call| call.step.is_none() || !call.name.is_empty())
                {
                    let native = call.native.as_ref().unwrap_or_else(|| panic!("{file}: native"));
                    assert_eq!(native.host, host.name, "{file}");
                    assert!(call.native_name() == native.name && !native.name.is_empty(), "{file}");
                }
            }
        }
    }
    assert!(count > 30, "there are recordings: {count}");
}

/// What is written of an event is read again as the same.
#[test]
fn there_and_back_again() {
    for (host, folder) in recorded() {
        for (file, event, input) in payloads(&folder) {
            let Some(mut incoming) = read(host, &event, input) else { continue };
            incoming.session.workspaces = incoming.cwd.clone().into_iter().collect();
            let part = &incoming.parts[0];
            let Some(written) = host.wire.write_event(host, part.event.view(), &incoming.session)
            else {
                panic!("{file}: cannot be written");
            };
            let name =
                host.wire.event_of(written.as_object().unwrap()).unwrap_or(&event).to_owned();
            let name = if host.event(&event).unwrap().kind == host.event(&name).unwrap().kind {
                name
            } else {
                panic!("{file}: was written as {name}")
            };
            let again = read(host, &name, written.clone()).unwrap();
            assert_eq!(again.parts[0].event, part.event, "{file}: {written}");
            assert_eq!(again.session.id, incoming.session.id, "{file}");
        }
    }
}

/// What a host did with an answer is what its rules, as they stand here, say it does.
#[test]
fn its_rules_are_what_was_measured() {
    for (host, folder) in recorded() {
        let Ok(text) = fs::read_to_string(folder.join("answers.json")) else { continue };
        let answers: Vec<Value> = serde_json::from_str(&text).unwrap();
        let mut tried = 0;
        for answer in answers {
            let case = answer["case"].as_str().unwrap();
            // What is not an answer at all, or depends on more than the answer.
            let beyond =
                ["killed", "timeout", "not-", "onFailure", "big-reason", "continue", "defer"];
            let (Some(code), false) = (
                answer["exit"].as_i64(),
                beyond.iter().any(|it| case.starts_with(it))
                    || case.ends_with(" mode")
                    || case.ends_with("(no --allow-all-tools)"),
            ) else {
                continue;
            };
            let Some(event) = host.event(answer["event"].as_str().unwrap()) else { continue };
            if event.kind != Kind::ToolPre || !event.registered {
                continue;
            }
            tried += 1;
            let bytes = |name: &str| answer[name].as_str().unwrap_or_default().as_bytes().to_vec();
            let code = i32::try_from(code).unwrap();
            let output = Output { code, stdout: bytes("stdout"), stderr: bytes("stderr") };
            let reply = host.wire.read_answer(event, &output);
            let ours = match &reply {
                Ok(reply) if matches!(reply.verdict, Verdict::Refuse | Verdict::Ask) => "blocked",
                Ok(reply) if reply.rewrite.is_some() => "rewritten",
                _ => "ran",
            };
            let theirs = answer["effect"]["tool"].as_str().unwrap();
            assert_eq!(ours, theirs, "{} at `{case}`: {reply:?}", host.name);
        }
        assert!(tried >= 25, "{}: {tried} answers", host.name);
    }
}

/// The same for the events that are not about a tool that is about to run: what was seen of an answer
/// is whether the model was called at all, how often, and whether it was given the text.
#[test]
fn its_rules_are_what_was_measured_elsewhere() {
    let mut tried = 0;
    for (host, folder) in recorded() {
        let Ok(text) = fs::read_to_string(folder.join("answers.json")) else { continue };
        let answers: Vec<Value> = serde_json::from_str(&text).unwrap();
        for answer in answers {
            let case = answer["case"].as_str().unwrap();
            let effect = &answer["effect"];
            let (Some(code), Some(requests), Some(event)) = (
                answer["exit"].as_i64(),
                effect["model_requests"].as_u64(),
                host.event(answer["event"].as_str().unwrap()),
            ) else {
                continue;
            };
            // What ends all is nothing that is said here, and what a result has to look like to be
            // taken is not told by the answer.
            let own_result = event.forms.rewrite == Form::Own && case == "updatedToolOutput";
            if case.starts_with("continue") || effect["called"] != true || own_result {
                continue;
            }
            let bytes = |name: &str| answer[name].as_str().unwrap_or_default().as_bytes().to_vec();
            let code = i32::try_from(code).unwrap();
            let output = Output { code, stdout: bytes("stdout"), stderr: bytes("stderr") };
            let reply = host.wire.read_answer(event, &output).unwrap_or_default();
            let given = effect["marker_in_requests"].as_array().is_some_and(|it| !it.is_empty());
            let refused = reply.verdict == Verdict::Refuse;
            // A prompt that is rewritten is as good as added.
            let prompt = matches!(reply.rewrite, Some(Rewritten::Prompt(_)));
            let added = !reply.context.is_empty() || prompt;
            let (ours, theirs) = match event.kind {
                Kind::TurnStart | Kind::ModelPre => ((refused, added), (requests == 0, given)),
                Kind::SessionStart => ((false, added), (requests == 0, given)),
                Kind::Stop => {
                    ((reply.verdict == Verdict::Resume || added, false), (requests > 2, false))
                }
                Kind::ToolPost => {
                    let told = refused || added || reply.rewrite.is_some();
                    // A refusal that ends the run is told to nobody.
                    let over = refused && requests < 2;
                    ((false, told), (false, given || over))
                }
                _ => continue,
            };
            tried += 1;
            assert_eq!(ours, theirs, "{} {} at `{case}`: {reply:?}", host.name, event.name);
        }
    }
    assert!(tried >= 10, "{tried} answers");
}

/// Whatever is said to a host, it understands: its own rules read from it what was meant.
#[test]
fn every_answer_is_understood() {
    let input = serde_json::json!({"command": "true"});
    for host in ALL {
        for event in host.events {
            let forms = event.forms;
            let verdicts = [
                (Verdict::Silent, Form::Own),
                (Verdict::Allow, forms.allow),
                (Verdict::Ask, forms.ask),
                (Verdict::Refuse, forms.refuse),
                (Verdict::Resume, forms.resume),
            ];
            for (verdict, form) in verdicts {
                for (rewrite, context) in [(false, false), (true, false), (false, true)] {
                    let refused = matches!(verdict, Verdict::Refuse | Verdict::Resume);
                    if !matches!(form, Form::Own | Form::Terminal | Form::Beside)
                        || rewrite && (forms.rewrite != Form::Own || refused)
                        || context && (forms.context != Form::Own || refused)
                    {
                        continue;
                    }
                    let mut reply = Reply { verdict, ..Reply::default() };
                    if verdict != Verdict::Silent && verdict != Verdict::Allow {
                        "the \"reason\"\nin two lines".clone_into(&mut reply.reason);
                    }
                    reply.rewrite = rewrite.then(|| self::rewrite(event.kind, &input));
                    if context {
                        reply.context = vec!["one".to_owned()];
                    }
                    let output = host.write(event, &reply);
                    let read = host.wire.read_answer(event, &output);
                    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
                    let at = format!("{} {} {reply:?}: {shown}", host.name, event.name);
                    let read = read.unwrap_or_else(|error| panic!("{at}: {error}"));
                    assert_eq!(read.verdict, verdict, "{at}");
                    assert_eq!(read.rewrite, reply.rewrite, "{at}");
                    assert_eq!(read.context, reply.context, "{at}");
                    if refused {
                        assert_eq!(read.reason.trim(), reply.reason, "{at}");
                    }
                    if verdict == Verdict::Silent && !rewrite && !context {
                        assert_eq!(output, silence(host, event), "{at}: silence is silent");
                    }
                }
            }
        }
    }
}

/// What says nothing. To most hosts that is nothing; Cursor takes that for a failure at a gate, and
/// Antigravity always wants an object, before a tool one with a decision.
fn silence(host: &Host, event: &HostEvent) -> Output {
    let json = |value: Value| Output::json(&value);
    match (host.name, event.kind) {
        ("cursor", _) if event.gate => json(json!({})),
        ("antigravity", Kind::ToolPre) => json(json!({"decision": "ask"})),
        ("antigravity", Kind::Stop) => json(json!({"decision": "stop"})),
        ("antigravity", _) => json(json!({})),
        _ => Output::silent(),
    }
}

fn rewrite(kind: Kind, input: &Value) -> Rewritten {
    match kind {
        Kind::ToolPre => Rewritten::Input(input.clone()),
        Kind::TurnStart => Rewritten::Prompt("please".to_owned()),
        Kind::SubagentStop => Rewritten::Result("x".into()),
        _ => Rewritten::Result(serde_json::json!({"stdout": "x"})),
    }
}
