//! From the bytes of an answer to the reply, wherever the bytes come from.

use super::draft::{Fault, Reader};
use super::{Limits, Provider, anthropic, gemini, ollama, openai};
use crate::lines::{Events, Garbled, Lines};
use crate::model::{Heard, Reply};

/// An answer while it comes.
pub(super) struct Decoder {
    reader: Box<dyn Reader>,
    lines: Lines,
    /// Without events, each line is one.
    events: Option<Events>,
    limit: usize,
    bytes: usize,
}

impl From<Garbled> for Fault {
    fn from(garbled: Garbled) -> Self {
        match garbled {
            Garbled::TooLong(limit) => Self::TooLarge("a line of the answer in bytes", limit),
            Garbled::NotUtf8 => Self::Unreadable("it is not UTF-8".to_owned()),
        }
    }
}

impl Decoder {
    pub(super) fn new(provider: Provider, limits: Limits) -> Self {
        let reader: Box<dyn Reader> = match provider {
            Provider::OpenAi => Box::new(openai::Reader::new(limits.calls)),
            Provider::Anthropic => Box::new(anthropic::Reader::new(limits.calls)),
            Provider::Gemini => Box::new(gemini::Reader::new(limits.calls)),
            Provider::Ollama => Box::new(ollama::Reader::new(limits.calls)),
        };
        Self {
            reader,
            lines: Lines::new(limits.line),
            events: (provider != Provider::Ollama).then(|| Events::new(limits.line)),
            limit: limits.answer,
            bytes: 0,
        }
    }

    /// How many bytes have come.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes some more. The reply, if these complete it.
    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        heard: &Heard<'_>,
    ) -> Result<Option<Reply>, Fault> {
        self.bytes += bytes.len();
        if self.bytes > self.limit {
            return Err(Fault::TooLarge("the answer in bytes", self.limit));
        }
        loop {
            let (line, rest) = self.lines.take(bytes)?;
            bytes = rest;
            let Some(line) = line else { return Ok(None) };
            let data = match &mut self.events {
                Some(events) => events.line(&line)?,
                None => Some(line),
            };
            if let Some(data) = data
                && self.reader.read(&data, heard)?
            {
                return self.finish(heard).map(Some);
            }
        }
    }

    /// There is no more. The reply, if it is complete.
    pub(super) fn end(&mut self, heard: &Heard<'_>) -> Result<Reply, Fault> {
        // An event at the end may lack the empty line behind it, or the rest of itself.
        if let Some(data) = self.events.as_mut().and_then(Events::end) {
            match self.reader.read(&data, heard) {
                Ok(_) => {}
                Err(Fault::Unreadable(_)) => return Err(Fault::Cut),
                Err(fault) => return Err(fault),
            }
        }
        self.finish(heard)
    }

    fn finish(&mut self, heard: &Heard<'_>) -> Result<Reply, Fault> {
        self.reader.finish(heard)?.ok_or(Fault::Cut)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Args;
    use crate::model::Finish;

    fn decode(provider: Provider, text: &str) -> Result<Reply, Fault> {
        let mut decoder = Decoder::new(provider, Limits::default());
        match decoder.push(text.as_bytes(), &|_| {})? {
            Some(reply) => Ok(reply),
            None => decoder.end(&|_| {}),
        }
    }

    fn openai(deltas: &[&str], end: &str) -> Reply {
        let events =
            deltas.iter().map(|delta| format!("data: {{\"choices\":[{{\"delta\":{delta}}}]}}\n\n"));
        decode(Provider::OpenAi, &format!("{}{end}", events.collect::<String>())).unwrap()
    }

    const STOP: &str = "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\n";
    const DONE: &str = "data: [DONE]\n\n";

    #[test]
    fn servers_that_speak_like_openai_may_leave_out_one_end_or_the_other() {
        let said = r#"{"content":"Hi"}"#;
        for end in [STOP, DONE, "data: [DONE]", "data: [DONE]\n", &format!("{STOP}{DONE}")] {
            if end == "data: [DONE]" {
                // Half a line may be half of anything.
                let cut = format!("data: {{\"choices\":[{{\"delta\":{said}}}]}}\n\n{end}");
                assert!(matches!(decode(Provider::OpenAi, &cut), Err(Fault::Cut)));
                continue;
            }
            let reply = openai(&[said], end);
            assert_eq!((reply.text.as_str(), reply.finish), ("Hi", Finish::Stop), "{end}");
        }
    }

    #[test]
    fn servers_that_speak_like_openai_tell_calls_apart_in_their_own_ways() {
        let call = |fields: &str, name: &str, arguments: &str| {
            format!(
                r#"{{"tool_calls":[{{{fields}"function":{{"name":{name},"arguments":{arguments}}}}}]}}"#
            )
        };
        for (case, deltas) in [
            (
                "an index each",
                [
                    call(r#""index":0,"id":"a","#, "\"x\"", r#""{\"n\"""#),
                    call(r#""index":1,"id":"b","#, "\"y\"", r#""{}""#),
                    call(r#""index":0,"#, "null", r#"":1}""#),
                ],
            ),
            (
                "the same index, another id",
                [
                    call(r#""index":0,"id":"a","#, "\"x\"", r#""{\"n\"""#),
                    call(r#""index":0,"id":"a","#, "\"x\"", r#"":1}""#),
                    call(r#""index":0,"id":"b","#, "\"y\"", r#""""#),
                ],
            ),
            (
                "no index",
                [
                    call(r#""id":"a","#, "\"x\"", r#""{\"n\"""#),
                    call("", "\"\"", r#"":1}""#),
                    call(r#""id":"b","#, "\"y\"", "{}"),
                ],
            ),
            (
                "arguments as JSON",
                [
                    call(r#""index":0,"id":"a","#, "\"x\"", r#"{"n":1}"#),
                    call(r#""index":1,"id":"b","#, "\"y\"", "null"),
                    r#"{"content":null}"#.to_owned(),
                ],
            ),
        ] {
            let deltas: Vec<&str> = deltas.iter().map(String::as_str).collect();
            let reply = openai(&deltas, STOP);
            let calls: Vec<_> = reply.calls.iter().map(|call| (&*call.id, &*call.name)).collect();
            assert_eq!(calls, [("a", "x"), ("b", "y")], "{case}");
            let args: Vec<_> = reply.calls.iter().map(|call| call.args.clone()).collect();
            assert_eq!(args, [Args::read("{\"n\":1}"), Args::read("{}")], "{case}");
            assert_eq!(reply.finish, Finish::Calls, "{case}");
        }
    }

    #[test]
    fn ids_that_are_missing_or_not_unique_are_made_up() {
        let call = r#"{"function":{"name":"x","arguments":{}}}"#;
        let line = format!(r#"{{"message":{{"tool_calls":[{call},{call}]}},"done":true}}"#);
        let reply = decode(Provider::Ollama, &format!("{line}\n")).unwrap();
        assert_ne!(reply.calls[0].id, reply.calls[1].id);
        assert!(reply.calls.iter().all(|call| call.id.starts_with("tg-")), "{reply:?}");
    }

    #[test]
    fn gemini_says_in_several_ways_that_it_will_not() {
        for end in [
            r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
            r#"{"candidates":[{"finishReason":"PROHIBITED_CONTENT"}]}"#,
        ] {
            let reply = decode(Provider::Gemini, &format!("data: {end}\n\n")).unwrap();
            assert_eq!(reply.finish, Finish::Refused);
        }
    }
}

/// With the server's side, whose streams are taken apart here.
#[cfg(all(test, feature = "server"))]
mod laws {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::message::Call;
    use crate::model::{Finish, Usage};
    use crate::server;

    fn reply() -> Reply {
        Reply {
            text: "Grüße an 🦀 \"alle\"\n".to_owned(),
            calls: vec![
                Call::new("a", "read", json!({"path": "ü\r\n"})),
                Call::new("b", "list", json!({})),
            ],
            usage: Usage { input: 3, output: 4 },
            finish: Finish::Calls,
        }
    }

    fn stream(provider: Provider) -> Vec<u8> {
        server::stream(provider, "model", "hm, hm", &reply())
    }

    fn decode(provider: Provider, chunks: &[&[u8]]) -> Result<Reply, Fault> {
        let limits = Limits { line: 100_000, answer: 1_000_000, ..Limits::default() };
        let mut decoder = Decoder::new(provider, limits);
        for chunk in chunks {
            if let Some(reply) = decoder.push(chunk, &|_| {})? {
                return Ok(reply);
            }
        }
        decoder.end(&|_| {})
    }

    /// Whether it is the reply, but for ids that only we made up and what it cost.
    fn is_the_reply(decoded: &Reply) -> bool {
        let calls = |reply: &Reply| -> Vec<_> {
            reply.calls.iter().map(|call| (call.name.clone(), call.args.clone())).collect()
        };
        decoded.text == reply().text
            && calls(decoded) == calls(&reply())
            && decoded.finish == reply().finish
    }

    #[test]
    fn a_stream_that_was_cut_anywhere_is_an_error_or_all_of_the_reply() {
        for provider in Provider::ALL {
            let stream = stream(provider);
            assert!(is_the_reply(&decode(provider, &[&stream]).unwrap()), "{provider}");
            let mut cuts = 0;
            for end in 0..stream.len() {
                match decode(provider, &[&stream[..end]]) {
                    Err(Fault::Cut) => cuts += 1,
                    Ok(decoded) => assert!(is_the_reply(&decoded), "{provider} {end}: {decoded:?}"),
                    Err(fault) => panic!("{provider} {end}: {fault:?}"),
                }
            }
            assert!(cuts > stream.len() / 2, "{provider}");
        }
    }

    #[test]
    fn how_a_stream_is_cut_up_changes_nothing() {
        for provider in Provider::ALL {
            let stream = stream(provider);
            let bytes: Vec<&[u8]> = stream.chunks(1).collect();
            assert!(is_the_reply(&decode(provider, &bytes).unwrap()), "{provider}");
            for at in (0..stream.len()).step_by(7) {
                let (left, right) = stream.split_at(at);
                assert!(
                    is_the_reply(&decode(provider, &[left, right]).unwrap()),
                    "{provider} {at}"
                );
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_that_comes_is_a_panic(
            provider in prop::sample::select(Provider::ALL.to_vec()),
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..20),
            noise in prop::collection::vec(any::<u8>(), 0..300),
        ) {
            let mut stream = stream(provider);
            for (at, byte) in &changes {
                let at = at.index(stream.len());
                stream[at] = *byte;
            }
            let _ = decode(provider, &[&stream]);
            let _ = decode(provider, &[&noise, &stream]);
        }
    }
}
