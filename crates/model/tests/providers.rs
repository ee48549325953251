//! Each provider, over HTTP, against a server that is as strict as the real one.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use serde_json::{Value, json};
use support::{ask, model, name, request, server};
use tollgate_model::provider::{self, Options, Provider};
use tollgate_model::script::Line;
use tollgate_model::{Args, Call, Finish, Message, Reply, Request, Usage};

fn answer(call: &Call, content: &str, is_error: bool) -> Message {
    let (call, name) = (call.id.clone(), call.name.clone());
    Message::Tool { call, name, content: content.to_owned(), is_error }
}

#[tokio::test]
async fn text_comes_in_parts_and_whole() {
    for provider in Provider::ALL {
        let usage = Usage { input: 11, output: 7 };
        let think = "Hm, well.".to_owned();
        let line = Line { usage, think, ..Line::say("Grüße an alle 🦀 here.\n") };
        let server = server(provider, vec![line]);
        let model = model(provider, &server);
        assert_eq!(model.name(), name(provider));
        let (reply, heard) = ask(&*model, &request("Hello")).await;
        let text = "Grüße an alle 🦀 here.\n".to_owned();
        let expected = Reply { text, calls: vec![], usage, finish: Finish::Stop };
        assert_eq!(reply.unwrap(), expected, "{provider}");
        let expected = [
            "thought Hm, ",
            "thought well.",
            "text Grüße ",
            "text an ",
            "text alle ",
            "text 🦀 ",
            "text here.\n",
        ];
        assert_eq!(heard, expected, "{provider}");
    }
}

#[tokio::test]
async fn calls_in_parallel_and_their_results_go_both_ways() {
    for provider in Provider::ALL {
        let first = Line::say("Let me see.")
            .and_call("read", json!({"path": "a \"b\" ü", "deep": {"n": [1, null, true]}}))
            .and_call("list", json!({}))
            .and_call("read", json!({"path": "c"}));
        let server = server(provider, vec![first, Line::say("It says: {{last_tool.content}}")]);
        let model = model(provider, &server);
        let mut request = request("Look around");
        let (reply, heard) = ask(&*model, &request).await;
        let reply = reply.unwrap();
        assert_eq!(reply.finish, Finish::Calls, "{provider}");
        assert_eq!(heard[heard.len() - 3..], ["call read", "call list", "call read"], "{provider}");
        let expected = json!({"path": "a \"b\" ü", "deep": {"n": [1, null, true]}});
        assert_eq!(reply.calls[0].args, Args::from(expected));
        assert_eq!(reply.calls[1].args, Args::from(json!({})));
        assert_eq!(reply.calls.len(), 3);

        let calls = reply.calls.clone();
        request.messages.push(reply.into_message());
        // In another order than they were called in.
        request.messages.push(answer(&calls[2], "the third", false));
        request.messages.push(answer(&calls[0], "the first", false));
        request.messages.push(Message::System("Be brief.".to_owned()));
        request.messages.push(answer(&calls[1], "there is nothing", true));
        let (reply, _) = ask(&*model, &request).await;
        let reply = reply.unwrap();
        assert_eq!(reply.text, "It says: the third", "{provider}");
        request.messages.push(reply.into_message());
        request.messages.push(Message::User("And now?".to_owned()));
        let error = ask(&*model, &request).await.0.unwrap_err().to_string();
        // The conversation was in order; it is the script that was at its end.
        assert!(error.contains("it has 2 replies, all used up"), "{provider}: {error}");
    }
}

#[tokio::test]
async fn a_conversation_of_another_provider_can_be_continued() {
    for from in Provider::ALL {
        let before = server(
            from,
            vec![Line::call("read", json!({"path": "a"})).and_call("list", json!({}))],
        );
        let mut request = request("Go");
        let reply = ask(&*model(from, &before), &request).await.0.unwrap();
        let calls = reply.calls.clone();
        request.messages.push(reply.into_message());
        request.messages.extend(calls.iter().map(|call| answer(call, "x", false)));
        // What a model got wrong, and a tool it made up, must not end the conversation.
        let args = Args::read("{\"a\":");
        let odd = Call { args, ..Call::new("ü?", "no such/tool", json!({})) };
        request.messages.push(Message::Assistant { text: String::new(), calls: vec![odd.clone()] });
        request.messages.push(answer(&odd, "that is no JSON", true));
        request.messages.push(Message::Assistant { text: String::new(), calls: vec![] });
        request.messages.push(Message::User("Go on".to_owned()));
        for to in Provider::ALL {
            let after = server(to, vec![Line::say("Yes.")]);
            let reply = ask(&*model(to, &after), &request).await.0;
            assert_eq!(reply.unwrap().text, "Yes.", "{from} to {to}");
            let sent = after.requests()[0].to_string();
            assert!(sent.contains("malformed_arguments"), "{sent}");
            assert!(sent.contains("no_such_tool"), "{sent}");
        }
    }
}

#[tokio::test]
async fn what_gemini_signed_goes_back_to_it() {
    let provider = Provider::Gemini;
    let calls = Line::call("read", json!({"path": "a"})).and_call("list", json!({}));
    let server = server(provider, vec![calls, Line::say("Done.")]);
    let model = model(provider, &server);
    let mut request = request("Go");
    let reply = ask(&*model, &request).await.0.unwrap();
    assert_eq!(reply.calls[0].signature.as_deref(), Some("signature of call-1"));
    // Through a transcript.
    let message = serde_json::to_string(&reply.clone().into_message()).unwrap();
    request.messages.push(serde_json::from_str(&message).unwrap());
    request.messages.extend(reply.calls.iter().map(|call| answer(call, "x", false)));
    ask(&*model, &request).await.0.unwrap();
    let parts = &server.requests()[1]["contents"][1]["parts"];
    assert_eq!(parts[0]["thoughtSignature"], "signature of call-1");
    assert_eq!(parts[1].get("thoughtSignature"), None);
}

#[tokio::test]
async fn messages_of_the_system_arrive_wherever_they_are() {
    for provider in Provider::ALL {
        let server = server(provider, vec![Line::say("{{last_system}}")]);
        let messages = vec![
            Message::System("You are at home.".to_owned()),
            Message::User("Hello".to_owned()),
            Message::Assistant { text: "Hello.".to_owned(), calls: vec![] },
            Message::System("It is late.".to_owned()),
        ];
        let request = Request { messages, ..request("") };
        let reply = ask(&*model(provider, &server), &request).await.0.unwrap();
        assert_eq!(reply.text, "It is late.", "{provider}");
        let sent = &server.requests()[0];
        let first = match provider {
            Provider::Anthropic => &sent["system"][1]["text"],
            Provider::Gemini => &sent["systemInstruction"]["parts"][1]["text"],
            _ => &sent["messages"][1]["content"],
        };
        assert_eq!(first, "You are at home.");
        let last = match provider {
            Provider::Anthropic => &sent["messages"][2],
            Provider::Gemini => &sent["contents"][2],
            _ => &sent["messages"][4],
        };
        let marked = matches!(provider, Provider::Anthropic | Provider::Gemini);
        assert_eq!(last["role"], if marked { "user" } else { "system" });
        assert_eq!(last.to_string().contains("<system-message>"), marked);
    }
}

#[tokio::test]
async fn a_conversation_that_is_refused_is_not_sent() {
    for provider in Provider::ALL {
        let server = server(provider, vec![Line::say("x")]);
        let request = Request { messages: vec![Message::System("Go".to_owned())], ..request("") };
        let error = ask(&*model(provider, &server), &request).await.0.unwrap_err();
        assert!(error.to_string().contains("nobody has said anything"), "{error}");
        assert!(!error.is_transient());
        assert_eq!(server.requests(), Vec::<Value>::new());
    }
}

#[tokio::test]
async fn reasons_to_end_are_told_apart() {
    for provider in Provider::ALL {
        for finish in [Finish::Length, Finish::Refused, Finish::Other("tired".to_owned())] {
            let line = Line { finish: Some(finish.clone()), ..Line::say("Well") };
            let server = server(provider, vec![line]);
            let reply = ask(&*model(provider, &server), &request("Go")).await.0.unwrap();
            // Ollama's models refuse in words only.
            let is_told = !(provider == Provider::Ollama && finish == Finish::Refused);
            let other = Finish::Other("refused".to_owned());
            assert_eq!(reply.finish, if is_told { finish } else { other }, "{provider}");
        }
    }
}

#[tokio::test]
async fn limits_of_tokens_have_each_providers_name() {
    for provider in Provider::ALL {
        let server = server(provider, vec![Line::say("a"), Line::say("b")]);
        let model = model(provider, &server);
        ask(&*model, &request("Go")).await.0.unwrap();
        ask(&*model, &Request::user("Go")).await.0.unwrap();
        let requests = server.requests();
        let [with, without] = match provider {
            Provider::Gemini => [0, 1].map(|n| &requests[n]["generationConfig"]["maxOutputTokens"]),
            Provider::Ollama => [0, 1].map(|n| &requests[n]["options"]["num_predict"]),
            _ => [0, 1].map(|n| &requests[n]["max_tokens"]),
        };
        assert_eq!(with, 500, "{provider}");
        let default = json!(provider::DEFAULT_MAX_TOKENS);
        let expected = if provider == Provider::Anthropic { default } else { Value::Null };
        assert_eq!(*without, expected, "{provider}");
    }
}

#[tokio::test]
async fn the_server_refuses_what_the_real_ones_refuse_and_says_what_to_do() {
    for provider in [Provider::OpenAi, Provider::Anthropic, Provider::Gemini] {
        let server = server(provider, vec![Line::say("x")]);
        let base_url = Some(server.base_url());
        let options = Options { base_url, ..Options::default() };
        let variable = provider.key_variable().unwrap();
        for key in [None, Some("sk-wrong".to_owned())] {
            let environment = |name: &str| if name == variable { key.clone() } else { None };
            let model = provider::open_in(name(provider), &options, &environment).unwrap();
            let error = ask(&*model, &request("Go")).await.0.unwrap_err();
            assert!(!error.is_transient());
            let said = format!("{}{variable}", if key.is_some() { "check that " } else { "set " });
            assert!(error.to_string().contains(&said), "{error}");
            assert!(error.to_string().contains("answered 401"), "{error}");
        }
        assert_eq!(server.seen().len(), 2, "they are not tried again");
        assert!(server.seen().iter().all(|seen| seen.status == 401));
    }
}

#[tokio::test]
async fn what_is_not_there_is_said_with_its_address() {
    let server = server(
        Provider::Ollama,
        vec![Line { status: Some(404), ..Line::error("model not found") }],
    );
    let error =
        ask(&*model(Provider::Ollama, &server), &request("Go")).await.0.unwrap_err().to_string();
    assert!(error.contains("run `ollama pull llama-x`"), "{error}");
    assert!(error.contains("/api/chat"), "{error}");
}

#[tokio::test]
async fn the_server_knows_the_rules_of_each_provider() {
    // What our own side never sends, sent by hand.
    for (provider, body, said) in [
        (
            Provider::Anthropic,
            json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": [{"type": "text", "text": "x"}]}]}),
            "max_tokens: Field required",
        ),
        (
            Provider::Anthropic,
            json!({"model": "m", "stream": true, "max_tokens": 1, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "x"}]},
                {"role": "user", "content": [{"type": "text", "text": "x"}]},
            ]}),
            "roles must alternate",
        ),
        (
            Provider::Anthropic,
            json!({"model": "m", "stream": true, "max_tokens": 1, "messages": [
                {"role": "user", "content": [{"type": "text", "text": "x"}]},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "t", "input": {}}]},
                {"role": "user", "content": [{"type": "text", "text": "x"}]},
            ]}),
            "without `tool_result` blocks immediately after: a",
        ),
        (
            Provider::OpenAi,
            json!({"model": "m", "stream": true, "messages": [
                {"role": "user", "content": "x"},
                {"role": "assistant", "content": null, "tool_calls": [
                    {"id": "a", "type": "function", "function": {"name": "t", "arguments": "{}"}}]},
                {"role": "user", "content": "x"},
            ]}),
            "must be followed by tool messages",
        ),
        (
            Provider::OpenAi,
            json!({"model": "m", "stream": true, "messages": [{"role": "tool", "tool_call_id": "a", "content": "x"}]}),
            "must be a response to a preceding message",
        ),
        (
            Provider::Gemini,
            json!({"contents": [
                {"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}, "thoughtSignature": "s"}]},
                {"role": "user", "parts": [{"text": "x"}]},
            ]}),
            "number of function response parts",
        ),
        (
            Provider::Gemini,
            json!({"contents": [
                {"role": "user", "parts": [{"text": "x"}]},
                {"role": "model", "parts": [{"functionCall": {"name": "t", "args": {}}}]},
                {"role": "user", "parts": [{"functionResponse": {"name": "t", "response": {"output": "x"}}}]},
            ]}),
            "is missing a `thought_signature`",
        ),
    ] {
        let server = server(provider, vec![Line::say("x")]);
        let answer = by_hand(provider, &server, &body);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains(said), "{answer}");
    }
}

fn by_hand(provider: Provider, server: &tollgate_model::server::Server, body: &Value) -> String {
    use std::io::{Read as _, Write as _};
    let base = server.base_url();
    let address = base.trim_start_matches("http://").split('/').next().unwrap();
    let path = match provider {
        Provider::OpenAi => "/v1/chat/completions",
        Provider::Anthropic => "/v1/messages",
        Provider::Gemini => "/v1beta/models/gemini-3-x:streamGenerateContent?alt=sse",
        _ => "/api/chat",
    };
    let (key, body) = (tollgate_model::server::KEY, body.to_string());
    let head = format!(
        "POST {path} HTTP/1.1\r\nauthorization: Bearer {key}\r\nx-api-key: {key}\r\n\
         x-goog-api-key: {key}\r\nanthropic-version: 2023-06-01\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.write_all(format!("{head}{body}").as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
