//! What a handler can say at an event: not all that the event knows, but what its dialect has words for.
//!
//! Nobody keeps a list of it. Each answer that the event knows is written by the dialect's codec and
//! read back: one that does not come back is one that a handler cannot give.

use serde_json::{Map, Value};
use tollgate_core::Kind;
use tollgate_core::event::{Answers, Responses};
use tollgate_core::extra::{Additions, Step};
use tollgate_core::neutral::Neutral;
use tollgate_core::patch::Rewrite;
use tollgate_core::verdict::Word;

use super::Codec;

/// The text in the answers that are tried.
const TEXT: &str = "because";

/// What a handler of this dialect can answer to an event.
///
/// ```
/// use tollgate_config::dialect::{answers, codex::CODEX};
/// use tollgate_core::Kind;
///
/// assert_eq!(answers(&CODEX, Kind::ToolPre).verdicts, ["none", "deny"]);
/// ```
pub fn answers(codec: &dyn Codec, event: Kind) -> Answers {
    let mut answers = event.answers();
    let comes_back = |answer: &Neutral| {
        let written = codec.encode_answer(event, answer).ok()?;
        codec.decode_answer(event, &written).ok()
    };
    answers.verdicts.retain(|name| {
        let word = words().into_iter().find(|word| word.name() == *name);
        let read = word.and_then(|word| comes_back(&Neutral::new(word, TEXT)));
        *name == "none" || read.is_some_and(|read| read.word.name() == *name)
    });
    answers.additions.retain(|name| {
        let additions = addition(name);
        let read = comes_back(&Neutral { additions: additions.clone(), ..Neutral::default() });
        read.is_some_and(|read| read.additions == additions)
    });
    answers.rewrites = answers.rewrites.filter(|field| {
        let rewrite = Some(rewrite(field));
        comes_back(&Neutral { rewrite, ..Neutral::default() })
            .is_some_and(|read| read.rewrite.is_some())
    });
    answers
}

fn words() -> [Word; 11] {
    [
        Word::Allow,
        Word::Ask,
        Word::ForceAsk,
        Word::Deny,
        Word::Retry,
        Word::Continue,
        Word::Terminate,
        Word::Suppress,
        Word::Cancel,
        Word::Recover(Value::Null),
        Word::Reply(Responses::default()),
    ]
}

fn addition(name: &str) -> Additions {
    let nothing = Additions::default();
    let text = TEXT.to_owned();
    match name {
        "context" => Additions { context: vec![text], ..nothing },
        "inject" => Additions { steps: vec![Step::UserMessage(text)], ..nothing },
        _ => Additions { overrides: vec!["command(ls)".to_owned()], ..nothing },
    }
}

fn rewrite(field: &str) -> Rewrite {
    match field {
        "args" => Rewrite::Args(Map::from_iter([("a".to_owned(), 1.into())])),
        "prompt" => Rewrite::Prompt(TEXT.to_owned()),
        "response" => Rewrite::Response(TEXT.to_owned()),
        "error" => Rewrite::Error(TEXT.to_owned()),
        _ => Rewrite::Result(TEXT.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{antigravity, claude, codex, gemini, polytoken};
    use super::*;

    #[test]
    fn every_word_of_every_event_is_tried() {
        for kind in Kind::ALL {
            for name in kind.answers().verdicts {
                let is_tried = words().iter().any(|word| word.name() == name);
                assert!(name == "none" || is_tried, "{name} of {kind}");
            }
        }
    }

    #[test]
    fn dialects_differ_in_what_they_can_say_before_a_tool() {
        let cases: [(&dyn Codec, &[&str], bool, bool); 5] = [
            (&antigravity::Antigravity, &["none", "allow", "ask", "force_ask", "deny"], true, true),
            (&polytoken::Polytoken, &["none", "deny"], false, false),
            (&claude::CLAUDE, &["none", "allow", "ask", "deny"], false, true),
            (&codex::CODEX, &["none", "deny"], false, true),
            (&gemini::GEMINI, &["none", "ask", "deny"], false, true),
        ];
        for (codec, verdicts, overrides, rewrites) in cases {
            let can = answers(codec, Kind::ToolPre);
            let name = codec.dialect();
            assert_eq!(can.verdicts, verdicts, "{name}");
            assert_eq!(!can.additions.is_empty(), overrides, "{name}");
            assert_eq!(can.rewrites.is_some(), rewrites, "{name}");
        }
    }
}
