//! What tests of providers share.

#![allow(dead_code, unreachable_pub)] // each test uses what it needs of it

use std::sync::Mutex;
use std::time::Duration;

use serde_json::json;
use tollgate_model::provider::{self, Options, Provider};
use tollgate_model::script::{Line, Script};
use tollgate_model::server::Server;
use tollgate_model::{Message, Model, ModelError, Part, Policy, Reply, Request, ToolSpec};

/// Far more than any of these takes, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

/// A model of each provider.
pub fn name(provider: Provider) -> &'static str {
    match provider {
        Provider::OpenAi => "openai/gpt-x",
        Provider::Anthropic => "anthropic/claude-x",
        Provider::Gemini => "gemini/gemini-3-x",
        _ => "ollama/llama-x",
    }
}

pub fn server(provider: Provider, replies: Vec<Line>) -> Server {
    Server::start(provider, Script::new(replies)).unwrap()
}

/// A model at this server that tries once.
pub fn model(provider: Provider, server: &Server) -> Box<dyn Model> {
    model_with(provider, server, &once())
}

pub fn model_with(provider: Provider, server: &Server, options: &Options) -> Box<dyn Model> {
    provider::open_in(name(provider), options, &server.environment()).unwrap()
}

/// Every call is made once.
pub fn once() -> Options {
    Options { retry: Policy { attempts: 1, ..Policy::default() }, ..Options::default() }
}

/// Calls are made again at once.
pub fn at_once() -> Options {
    let first_wait = Duration::from_millis(1);
    Options { retry: Policy { first_wait, ..Policy::default() }, ..Options::default() }
}

pub fn tool(name: &str) -> ToolSpec {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}});
    ToolSpec { name: name.to_owned(), description: format!("It is {name}."), parameters }
}

/// A request with two tools.
pub fn request(text: &str) -> Request {
    Request {
        system: Some("You help.".to_owned()),
        messages: vec![Message::User(text.to_owned())],
        tools: [tool("read"), tool("list")].into(),
        max_tokens: Some(500),
    }
}

/// What was heard, as text.
#[derive(Default)]
pub struct Ear(Mutex<Vec<String>>);

impl Ear {
    pub fn hear(&self, part: Part<'_>) {
        let mut heard = self.0.lock().unwrap();
        match part {
            Part::Again { attempt, .. } => {
                heard.clear();
                heard.push(format!("again {attempt}"));
            }
            Part::Text(text) => heard.push(format!("text {text}")),
            Part::Thought(text) => heard.push(format!("thought {text}")),
            Part::Call(call) => heard.push(format!("call {}", call.name)),
            _ => panic!("{part:?}"),
        }
    }

    pub fn heard(&self) -> Vec<String> {
        self.0.lock().unwrap().clone()
    }
}

/// Asks, and says what was heard.
pub async fn ask(model: &dyn Model, request: &Request) -> (Result<Reply, ModelError>, Vec<String>) {
    let ear = Ear::default();
    let hear = |part: Part<'_>| ear.hear(part);
    let reply = tokio::time::timeout(LONG, model.respond(request, &hear)).await.unwrap();
    (reply, ear.heard())
}

/// Reads a request by hand. Whether there was a whole one: to answer or close before would take
/// the answer away from who has more to say.
pub fn read_request(stream: &mut impl std::io::Read) -> bool {
    let mut request = Vec::new();
    loop {
        let mut more = [0; 4096];
        let Ok(count @ 1..) = stream.read(&mut more) else { return false };
        request.extend_from_slice(&more[..count]);
        let text = String::from_utf8_lossy(&request);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body).unwrap_or_default();
        if serde_json::from_str::<serde_json::Value>(body).is_ok() {
            return true;
        }
    }
}
