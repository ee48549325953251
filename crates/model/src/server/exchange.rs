//! One request and its answer, over HTTP/1.1.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::atomic::Ordering;

use serde_json::Value;

use super::frame::{Frame, Kind, Refusal};
use super::{Fault, KEY, Seen, Shared, anthropic, gemini, ollama, openai};
use crate::error::ModelError;
use crate::message::{Args, Request};
use crate::model::Reply;
use crate::provider::Provider;
use crate::script::Chosen;

/// How many bytes the head and the body of a request may have.
const HEAD: u64 = 64 * 1024;
const BODY: u64 = 128 * 1024 * 1024;

/// A request that was read.
pub(super) struct Exchange<'a> {
    shared: &'a Shared,
    stream: &'a TcpStream,
    seen: Seen,
    model: String,
    is_known: bool,
}

impl<'a> Exchange<'a> {
    /// Reads a request.
    pub(super) fn begin(shared: &'a Shared, stream: &'a TcpStream) -> io::Result<Self> {
        let mut reader = BufReader::new(stream.take(HEAD + BODY));
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let target = line.split(' ').nth(1).unwrap_or_default().to_owned();
        let mut headers = Vec::new();
        let mut head = 0;
        loop {
            line.clear();
            head += reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(':') else { break };
            if head as u64 > HEAD {
                return Err(io::ErrorKind::InvalidData.into());
            }
            headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let of = |name: &str| {
            headers
                .iter()
                .find(|(own, _)| own == name)
                .map(|(_, value): &(String, String)| value.as_str())
        };
        let length =
            of("content-length").and_then(|length| length.parse::<u64>().ok()).unwrap_or(0);
        let is_known = match shared.provider {
            Provider::OpenAi => of("authorization") == Some(&format!("Bearer {KEY}")),
            Provider::Anthropic => of("x-api-key") == Some(KEY),
            Provider::Gemini => of("x-goog-api-key") == Some(KEY),
            Provider::Ollama => true,
        };
        for (_, value) in &mut headers {
            *value = value.replace(KEY, "[key]");
        }
        let mut body = Vec::new();
        reader.take(length.min(BODY)).read_to_end(&mut body)?;
        let body = serde_json::from_slice(&body).unwrap_or_default();
        let model = model(shared.provider, &target, &body);
        let seen = Seen { target, headers, body, status: 200 };
        Ok(Self { shared, stream, seen, model, is_known })
    }

    /// Answers it, as long as somebody listens.
    pub(super) fn answer(mut self) {
        if self.try_answer().is_err() {
            self.hung_up();
        }
    }

    fn try_answer(&mut self) -> io::Result<()> {
        let fault = self.shared.state().faults.pop_front();
        match fault {
            Some(Fault::Status { status, retry_after }) => {
                let more = retry_after.map(|wait| format!("retry-after: {wait}\r\n"));
                return self.refuse(status, "failed on demand", &more.unwrap_or_default());
            }
            Some(Fault::Redirect) => {
                let location = format!("location: {}\r\n", self.seen.target);
                return self.refuse(307, "elsewhere", &location);
            }
            Some(Fault::Page) => {
                self.record(200);
                return self.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<html></html>",
                );
            }
            Some(Fault::Silence) => {
                self.record(200);
                self.wait_for_hang_up();
                return Ok(());
            }
            _ => {}
        }
        let request = match self.check() {
            Ok(request) => request,
            Err((status, why)) => return self.refuse(status, &why, ""),
        };
        let chosen = self.shared.play.choose(&request);
        let reply = chosen.and_then(|Chosen { delay, thought, reply }| {
            self.shared.pause(delay);
            reply.map(|reply| (thought, reply))
        });
        let (thought, mut reply) = match reply {
            Ok(reply) => reply,
            Err(ModelError::Provider { failure, .. }) => {
                let status = failure.status.unwrap_or(500);
                return self.refuse(status, &failure.message, "");
            }
            // No status that is tried again: the script is wrong.
            Err(error) => return self.refuse(400, &error.to_string(), ""),
        };
        if fault == Some(Fault::MalformedArguments)
            && let Some(call) = reply.calls.first_mut()
        {
            call.args = Args::read("{\"path\": \"a.t");
        }
        let frames = frames(self.shared.provider, &self.model, &thought, &reply);
        self.record(200);
        self.stream(&frames, fault)
    }

    fn record(&mut self, status: u16) {
        self.seen.status = status;
        let seen = self.seen.clone();
        self.shared.change(|state| state.seen.push(seen));
    }

    /// What the real ones would refuse.
    fn check(&self) -> Result<Request, (u16, String)> {
        let Seen { target, headers, body, .. } = &self.seen;
        let path = target.split('?').next().unwrap_or_default();
        let is_there = match self.shared.provider {
            Provider::OpenAi => path == "/v1/chat/completions",
            Provider::Anthropic => path == "/v1/messages",
            Provider::Gemini => {
                path.starts_with("/v1beta/models/")
                    && path.ends_with(":streamGenerateContent")
                    && target.ends_with("?alt=sse")
            }
            Provider::Ollama => path == "/api/chat",
        };
        if !is_there {
            return Err((404, format!("there is nothing at {target}")));
        }
        if !self.is_known {
            return Err((401, "the key is missing or wrong".to_owned()));
        }
        let has = |name: &str| headers.iter().any(|(own, _)| own == name);
        if self.shared.provider == Provider::Anthropic && !has("anthropic-version") {
            return Err((400, "anthropic-version: header is required".to_owned()));
        }
        if self.shared.provider != Provider::Gemini
            && body.get("stream") != Some(&Value::Bool(true))
        {
            return Err((400, "stream: only streams are answered here".to_owned()));
        }
        let request = match self.shared.provider {
            Provider::OpenAi => openai::read(body),
            Provider::Anthropic => anthropic::read(body),
            Provider::Gemini => gemini::read(&self.model, body),
            Provider::Ollama => ollama::read(body),
        };
        request.map_err(|Refusal(why)| (400, why))
    }

    fn refuse(&mut self, status: u16, why: &str, more: &str) -> io::Result<()> {
        self.record(status);
        let body = self.error(status, why).to_string();
        let head = format!(
            "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
             {more}connection: close\r\n\r\n",
            body.len()
        );
        self.write(format!("{head}{body}").as_bytes())
    }

    fn error(&self, status: u16, why: &str) -> Value {
        match self.shared.provider {
            Provider::OpenAi => openai::error(status, why),
            Provider::Anthropic => anthropic::error(status, why),
            Provider::Gemini => gemini::error(status, why),
            Provider::Ollama => ollama::error(why),
        }
    }

    fn stream(&self, frames: &[Frame], fault: Option<Fault>) -> io::Result<()> {
        let kind = match self.shared.provider {
            Provider::Ollama => "application/x-ndjson",
            _ => "text/event-stream",
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\
             connection: close\r\n\r\n"
        );
        self.write(head.as_bytes())?;
        let first = |kind: Kind| frames.iter().position(|frame| frame.kind == kind).unwrap_or(0);
        let before = |count: usize| frames.iter().take(count);
        // Up to the middle of this one.
        let half = |at: usize| {
            let bytes = frames.get(at).map(|frame| frame.bytes.as_slice()).unwrap_or_default();
            bytes.get(..bytes.len() / 2).unwrap_or_default()
        };
        match fault {
            Some(Fault::CutText | Fault::CutArguments) => {
                let kind = if fault == Some(Fault::CutText) { Kind::Text } else { Kind::Arguments };
                let at = first(kind);
                before(at).try_for_each(|frame| self.chunk(&frame.bytes))?;
                self.chunk(half(at))
            }
            Some(Fault::EndEarly) => {
                before(frames.len() / 2).try_for_each(|frame| self.chunk(&frame.bytes))?;
                self.write(b"0\r\n\r\n")
            }
            Some(Fault::Error) => {
                before(frames.len() / 2).try_for_each(|frame| self.chunk(&frame.bytes))?;
                let error = self.error(529, "failed on demand");
                let frame = match self.shared.provider {
                    Provider::Anthropic => Frame::event(Kind::Other, &error),
                    Provider::Ollama => Frame::line(Kind::Other, &error),
                    _ => Frame::data(Kind::Other, &error),
                };
                self.chunk(&frame.bytes)?;
                self.write(b"0\r\n\r\n")
            }
            Some(Fault::Stall) => {
                before(1).try_for_each(|frame| self.chunk(&frame.bytes))?;
                self.wait_for_hang_up();
                Ok(())
            }
            Some(Fault::Endless) => {
                let at = first(Kind::Text);
                before(at).try_for_each(|frame| self.chunk(&frame.bytes))?;
                let bytes = frames.get(at).map(|frame| frame.bytes.repeat(64)).unwrap_or_default();
                self.forever(&bytes);
                Ok(())
            }
            Some(Fault::HugeLine) => {
                self.chunk(b"data: {\"")?;
                self.forever(&[b'x'; 16 * 1024]);
                Ok(())
            }
            Some(Fault::InvalidUtf8) => {
                let at = first(Kind::Text);
                before(at).try_for_each(|frame| self.chunk(&frame.bytes))?;
                let mut bytes = half(at).to_vec();
                bytes.extend_from_slice(b"\xc3\x28\xff\"}\n\n");
                self.chunk(&bytes)?;
                self.wait_for_hang_up();
                Ok(())
            }
            Some(Fault::Dribble) => {
                let bytes = frames.iter().flat_map(|frame| frame.bytes.chunks(1));
                bytes.into_iter().try_for_each(|byte| self.chunk(byte))?;
                self.write(b"0\r\n\r\n")
            }
            _ => {
                frames.iter().try_for_each(|frame| self.chunk(&frame.bytes))?;
                self.write(b"0\r\n\r\n")
            }
        }
    }

    fn chunk(&self, bytes: &[u8]) -> io::Result<()> {
        let mut chunk = format!("{:x}\r\n", bytes.len()).into_bytes();
        chunk.extend_from_slice(bytes);
        chunk.extend_from_slice(b"\r\n");
        self.write(&chunk)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let mut stream = self.stream;
        stream.write_all(bytes)
    }

    /// Writes until somebody hangs up.
    fn forever(&self, bytes: &[u8]) {
        while self.chunk(bytes).is_ok() {}
        self.hung_up();
    }

    /// Reads until somebody hangs up. There is nothing more to come.
    fn wait_for_hang_up(&self) {
        let mut stream = self.stream;
        while stream.read(&mut [0; 512]).is_ok_and(|count| count > 0) {}
        self.hung_up();
    }

    fn hung_up(&self) {
        // Unless it is we who close.
        if !self.shared.is_over.load(Ordering::SeqCst) {
            self.shared.change(|state| state.hang_ups += 1);
        }
    }
}

fn model(provider: Provider, target: &str, body: &Value) -> String {
    let name = match provider {
        Provider::Gemini => target.rsplit('/').next().and_then(|last| last.split(':').next()),
        _ => body.get("model").and_then(Value::as_str),
    };
    name.unwrap_or_default().to_owned()
}

/// The parts of a stream.
pub(super) fn frames(provider: Provider, model: &str, thought: &str, reply: &Reply) -> Vec<Frame> {
    match provider {
        Provider::OpenAi => openai::stream(model, thought, reply),
        Provider::Anthropic => anthropic::stream(model, thought, reply),
        Provider::Gemini => gemini::stream(model, thought, reply),
        Provider::Ollama => ollama::stream(model, thought, reply),
    }
}
