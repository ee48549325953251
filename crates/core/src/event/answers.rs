//! What can be answered to each event, for people: told from the types, so that it cannot be wrong.

use serde::Serialize;

use super::{Kind, for_each_event};
use crate::extra::{Additions, Extra, Injection, Overrides, Step, Texts};
use crate::verdict::{
    Attempt, Finish, Flow, Gate, Hold, Notice, Observe, Pass, Recovery, Reply, Verdict, Word,
};

/// What an answer to an event can hold.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Answers {
    /// The verdicts, in neutral words. The first is what no opinion comes to.
    pub verdicts: Vec<&'static str>,
    /// What follows from a hook that cannot decide and closes its gate; none where there is nothing
    /// to close.
    pub closed: Option<&'static str>,
    /// What can be added: `context`, `inject`, `overrides`.
    pub additions: Vec<&'static str>,
    /// The field that can be rewritten.
    pub rewrites: Option<&'static str>,
}

/// What a patch rewrites.
macro_rules! field {
    (Never) => {
        None
    };
    (ArgsPatch) => {
        Some("args")
    };
    (PromptPatch) => {
        Some("prompt")
    };
    (ResultPatch) => {
        Some("result")
    };
    (ResponsePatch) => {
        Some("response")
    };
    (ErrorPatch) => {
        Some("error")
    };
}

macro_rules! define_answers {
    ($(
        $(#[doc = $about:literal])+
        $event:ident = $name:literal {
            hook: $hook:ident, scope: $scope:ident, subject: $subject:tt,
            verdict: $verdict:ty, extra: $extra:ty, patch: $patch:ident, $($rest:tt)*
        }
    )*) => {
        impl Kind {
            /// When it happens, in a sentence or two.
            pub const fn about(self) -> &'static str {
                match self { $(Self::$event => concat!($($about),+).trim_ascii(),)* }
            }

            /// The method of [`Hook`](crate::Hook) that receives it.
            pub const fn method(self) -> &'static str {
                match self { $(Self::$event => stringify!($hook),)* }
            }

            /// What an answer to it can hold.
            ///
            /// ```
            /// use tollgate_core::Kind;
            ///
            /// let answers = Kind::ToolPre.answers();
            /// assert_eq!(answers.verdicts, ["none", "allow", "ask", "force_ask", "deny"]);
            /// assert_eq!(answers.closed, Some("deny"));
            /// assert_eq!(answers.rewrites, Some("args"));
            /// ```
            pub fn answers(self) -> Answers {
                match self {
                    $(Self::$event => answers::<$verdict, $extra>(field!($patch)),)*
                }
            }
        }
    };
}

for_each_event!(define_answers);

fn answers<V: Verdict, X: Extra>(rewrites: Option<&'static str>) -> Answers {
    let knows = |word: &&Word| V::from_word((*word).clone(), String::new()).is_ok();
    let closed = V::closed(String::new()).word();
    Answers {
        verdicts: Word::each().iter().filter(knows).map(Word::name).collect(),
        closed: (closed != Word::None).then(|| closed.name()),
        additions: additions()
            .into_iter()
            .filter(|(_, addition)| X::from_additions(addition.clone()).is_ok())
            .map(|(name, _)| name)
            .collect(),
        rewrites,
    }
}

fn additions() -> [(&'static str, Additions); 3] {
    let nothing = Additions::default;
    [
        ("context", Additions { context: vec![String::new()], ..nothing() }),
        ("inject", Additions { steps: vec![Step::UserMessage(String::new())], ..nothing() }),
        ("overrides", Additions { overrides: vec![String::new()], ..nothing() }),
    ]
}
