//! Antigravity and Polytoken stand in two places: as systems whose hooks Tollgate runs, and as agents that
//! call Tollgate as their hook. Both say the same of what goes between an agent and a hook.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;

use serde_json::Value;
use tollgate_config::dialect::FileDialect;
use tollgate_config::dialect::antigravity::Antigravity;
use tollgate_config::dialect::polytoken::Polytoken;
use tollgate_core::event::ToolCall;
use tollgate_core::verdict::Word;
use tollgate_core::{AnyEvent, Kind};
use tollgate_hosts::{Form, Host, HostEvent, Reply, Verdict, by_name};

fn pairs() -> [(&'static dyn FileDialect, &'static Host); 2] {
    [(&Antigravity, by_name("antigravity").unwrap()), (&Polytoken, by_name("polytoken").unwrap())]
}

/// Each payload of an agent: its file, its event, and what it is.
fn payloads(host: &Host) -> Vec<(String, String, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/hosts").join(host.name);
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let read = |path: std::path::PathBuf| {
        let file = path.file_name().unwrap().to_str().unwrap().to_owned();
        let event = file.split('.').next().unwrap().to_owned();
        (file, event, serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap())
    };
    files.map(read).collect()
}

/// A call without what only one of the two knows: the words of the table, and where it began.
fn plain(event: &AnyEvent) -> AnyEvent {
    let native = |call: &mut ToolCall| {
        if let Some(native) = call.native.take() {
            call.name.clone_from(&native.name);
            call.args = native.input.as_object().cloned().unwrap_or_default();
            (call.server, call.readings) = (None, Vec::new());
        }
        call.readings.clear();
    };
    let mut event = event.clone();
    match &mut event {
        AnyEvent::ToolPre(event) => native(&mut event.call),
        AnyEvent::ToolPost(event) => native(&mut event.call),
        AnyEvent::ToolError(event) => native(&mut event.call),
        _ => {}
    }
    event
}

#[test]
fn they_have_the_same_events() {
    for (codec, host) in pairs() {
        let ours = codec
            .events()
            .iter()
            .flat_map(|event| event.kinds.iter().map(|kind| (event.name.to_owned(), *kind)));
        let mut ours: Vec<_> = ours.collect();
        let theirs = host.events.iter().map(|event| (event.name.to_owned(), event.kind));
        let mut theirs: Vec<_> = theirs.collect();
        let key = |it: &(String, Kind)| (it.0.clone(), it.1.name());
        ours.sort_by_key(key);
        theirs.sort_by_key(key);
        assert_eq!(ours, theirs, "{}", host.name);
    }
}

#[test]
fn they_read_and_write_the_same_events() {
    for (codec, host) in pairs() {
        for (file, event, input) in payloads(host) {
            let decoded = codec
                .decode_event(&event, input.clone())
                .unwrap_or_else(|error| panic!("{file}: {error}"));
            let incoming = host.read(Some(&event), input).unwrap().unwrap();
            let [part] = incoming.parts.as_slice() else { panic!("{file}: one part") };
            assert_eq!(decoded.session, incoming.session, "{file}");
            let is_wrapped = file.contains("call_mcp_tool");
            // What is not told is not told in two ways, and only this one of the two is asked.
            let is_short = file == "stop.plain.json";
            if !is_wrapped && !is_short {
                assert_eq!(plain(&part.event), plain(&decoded.event), "{file}");
            }
            let session = &incoming.session;
            let written = host.wire.write_event(host, part.event.view(), session).unwrap();
            let encoded = codec.encode_event(plain(&part.event).view(), session).unwrap();
            assert_eq!(written, encoded, "{file}");
        }
    }
}

/// What an answer of a host comes to.
fn word(event: &HostEvent, verdict: Verdict) -> Vec<Word> {
    match (verdict, event.kind) {
        (Verdict::Silent, _) => vec![Word::None, Word::Ask],
        (Verdict::Allow, _) => vec![Word::Allow],
        (Verdict::Ask, _) => vec![Word::ForceAsk],
        (Verdict::Refuse, _) => vec![Word::Deny, Word::Cancel, Word::Suppress, Word::Terminate],
        (Verdict::Resume, _) => vec![Word::Continue, Word::Retry],
    }
}

#[test]
fn what_is_answered_is_read_as_that() {
    for (codec, host) in pairs() {
        for event in host.events {
            let forms = event.forms;
            for (verdict, form) in [
                (Verdict::Silent, Form::Own),
                (Verdict::Allow, forms.allow),
                (Verdict::Ask, forms.ask),
                (Verdict::Refuse, forms.refuse),
                (Verdict::Resume, forms.resume),
            ] {
                if form != Form::Own {
                    continue;
                }
                let mut reply = Reply { verdict, ..Reply::default() };
                if !matches!(verdict, Verdict::Silent | Verdict::Allow) {
                    "why".clone_into(&mut reply.reason);
                } else if forms.context == Form::Own {
                    reply.context.push("so".to_owned());
                }
                let output = host.write(event, &reply);
                let read = codec.decode_answer(event.kind, &output);
                let told = format!("{} {} {verdict:?}: {read:?}", host.name, event.name);
                // A turn of the model is refused by an error, which closes.
                if event.kind == Kind::ModelPre && verdict == Verdict::Refuse {
                    assert!(read.unwrap_err().message.contains("why"), "{told}");
                    continue;
                }
                let read = read.unwrap_or_else(|error| panic!("{told}: {error}"));
                assert!(word(event, verdict).contains(&read.word), "{told}");
                let additions = &read.additions;
                let texts = additions.context.len() + additions.steps.len();
                assert_eq!(read.detail, None, "{told}");
                match verdict {
                    Verdict::Silent => assert_eq!(texts, reply.context.len(), "{told}"),
                    // Here a reason is a step.
                    _ if event.kind == Kind::InvocationEnd => assert_eq!(texts, 1, "{told}"),
                    _ => assert_eq!(read.reason, reply.reason, "{told}"),
                }
            }
        }
    }
}
