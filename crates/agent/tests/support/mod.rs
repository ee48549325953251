//! A session with a model server on loopback, which tells what the model was asked.

#![allow(dead_code, unreachable_pub)] // each test program uses a part of it

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tempfile::TempDir;
use tollgate_agent::update::Update;
use tollgate_agent::{Agent, AgentBuilder, Started};
use tollgate_model::provider::{Options, Provider, open_in};
use tollgate_model::script::{Line, Script};
use tollgate_model::server::Server;

/// A directory to work in, a model server, and the names of the events that were fired.
pub struct World {
    pub directory: TempDir,
    pub server: Server,
    pub fired: Arc<Mutex<Vec<String>>>,
    pub notices: Arc<Mutex<Vec<String>>>,
}

impl World {
    /// A world whose model says these lines.
    pub fn new(lines: Vec<Line>) -> Self {
        Self::with_script(Script::new(lines))
    }

    pub fn with_script(script: Script) -> Self {
        Self {
            directory: tempfile::tempdir().unwrap(),
            server: Server::start(Provider::OpenAi, script).unwrap(),
            fired: Arc::default(),
            notices: Arc::default(),
        }
    }

    /// An agent in it that may do anything.
    pub fn builder(&self) -> AgentBuilder {
        let model = open_in("openai/test", &Options::default(), &self.server.environment());
        let notices = Arc::clone(&self.notices);
        Agent::builder()
            .model(model.unwrap())
            .workspace(self.directory.path())
            .session_directory(self.directory.path().join("session"))
            .allow_all()
            .on_update(move |update| {
                if let Update::Notice { kind, message } = update {
                    notices.lock().unwrap().push(format!("{kind}: {message}"));
                }
            })
    }

    pub async fn start(&self, builder: AgentBuilder) -> Agent<Started> {
        builder.build().start().await.unwrap()
    }

    /// What the model was asked, request by request.
    pub fn requests(&self) -> Vec<Value> {
        self.server.requests()
    }

    /// The messages of one request: role and text.
    pub fn messages(&self, request: usize) -> Vec<(String, String)> {
        let requests = self.requests();
        let messages = requests[request]["messages"].as_array().unwrap().clone();
        messages
            .iter()
            .map(|message| {
                let text = |name: &str| message[name].as_str().unwrap_or_default().to_owned();
                (text("role"), text("content"))
            })
            .collect()
    }

    /// Whether any message of a request has this text in it.
    pub fn was_told(&self, request: usize, text: &str) -> bool {
        self.messages(request).iter().any(|(_, said)| said.contains(text))
    }

    pub fn path(&self, name: &str) -> String {
        let root = self.directory.path().canonicalize().unwrap();
        root.join(name).to_str().unwrap().to_owned()
    }
}

/// A call that writes a file.
pub fn write(path: &str, content: &str) -> Line {
    Line::call(
        "write_to_file",
        json!({"TargetFile": path, "CodeContent": content, "Overwrite": true}),
    )
}

/// A call that runs a command.
pub fn run(command: &str) -> Line {
    Line::call("run_command", json!({"CommandLine": command, "WaitMsBeforeAsync": 10_000}))
}
