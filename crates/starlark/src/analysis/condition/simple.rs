//! The native form of the plainest conditions, straight from their text.
//!
//! `payload["name"] == "x"`, `in [...]`, `and`, `or`, `not`: to recognise these takes a microsecond, to parse a text
//! with the language's own parser many. A program that is started for one event and has a hundred hooks to look at
//! cannot afford that. What is recognised here means what the parser would have made of it; tests hold the two against
//! each other. Everything else is left to the parser.

use super::compile::{Constant, Constants, Entries, Key, Node};

/// How deep brackets and `not`s may nest.
const DEEPEST: usize = 16;

/// The longest text that is looked at.
const LONGEST: usize = 4096;

/// The native form of a text, where it is one of the plainest.
pub(super) fn node(text: &str) -> Option<Node> {
    // Around an expression, spaces have a meaning of their own.
    if text.len() > LONGEST || text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']) {
        return None;
    }
    let mut reader = Reader { rest: text, depth: 0 };
    let node = reader.either()?;
    reader.skip();
    reader.rest.is_empty().then_some(node)
}

struct Reader<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Reader<'a> {
    /// Passes spaces. Line ends are not spaces everywhere, so they are left to the parser.
    fn skip(&mut self) {
        // The language knows no tabs.
        self.rest = self.rest.trim_start_matches(' ');
    }

    fn symbol(&mut self, symbol: &str) -> bool {
        self.skip();
        let rest = self.rest.strip_prefix(symbol);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// A name, which a keyword is too.
    fn peek_name(&mut self) -> &'a str {
        self.skip();
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = self.rest.find(|c| !is_part(c)).unwrap_or(self.rest.len());
        self.rest.get(..end).unwrap_or_default()
    }

    fn name(&mut self, wanted: &str) -> bool {
        let found = self.peek_name() == wanted;
        if found {
            self.rest = self.rest.get(wanted.len()..).unwrap_or_default();
        }
        found
    }

    fn either(&mut self) -> Option<Node> {
        let mut node = self.both()?;
        while self.name("or") {
            node = Node::Or(Box::new(node), Box::new(self.both()?));
        }
        Some(node)
    }

    fn both(&mut self) -> Option<Node> {
        let mut node = self.negated()?;
        while self.name("and") {
            node = Node::And(Box::new(node), Box::new(self.negated()?));
        }
        Some(node)
    }

    fn negated(&mut self) -> Option<Node> {
        if !self.name("not") {
            return self.comparison();
        }
        self.deeper(|reader| reader.negated().map(|node| Node::Not(Box::new(node))))
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        self.depth += 1;
        let read = if self.depth > DEEPEST { None } else { read(self) };
        self.depth -= 1;
        read
    }

    /// One comparison. The language has none of three parts, and says so.
    fn comparison(&mut self) -> Option<Node> {
        let left = self.operand()?;
        if self.symbol("==") {
            let (left, right) = (Box::new(left), Box::new(self.operand()?));
            return Some(Node::Equal { left, right, not: false });
        }
        if self.symbol("!=") {
            let (left, right) = (Box::new(left), Box::new(self.operand()?));
            return Some(Node::Equal { left, right, not: true });
        }
        if self.name("in") {
            let (item, of) = (Box::new(left), Box::new(self.operand()?));
            return Some(Node::In { item, of, not: false });
        }
        if self.name("not") {
            if !self.name("in") {
                return None;
            }
            let (item, of) = (Box::new(left), Box::new(self.operand()?));
            return Some(Node::In { item, of, not: true });
        }
        Some(left)
    }

    fn operand(&mut self) -> Option<Node> {
        self.skip();
        match self.rest.as_bytes().first()? {
            b'"' | b'\'' => {
                let text = self.text()?;
                // A method of it, or a place in it, is left to the parser.
                self.ends().then(|| Node::Constant(Constant::Str(text.into())))
            }
            b'[' => {
                let list = self.list()?;
                self.ends().then_some(Node::Constant(Constant::List(list)))
            }
            b'(' => {
                self.symbol("(");
                let inside = self.deeper(Self::either)?;
                // Behind a comma it is a tuple.
                (self.symbol(")") && self.ends()).then_some(inside)
            }
            _ => {
                if self.name("payload") {
                    self.parts(Node::Payload)
                } else if self.name("event") {
                    self.ends().then_some(Node::Event)
                } else {
                    None
                }
            }
        }
    }

    /// Whether an operand ends here: neither a call, nor an attribute, nor a place in it follows, nor a second text,
    /// nor an operator that is not known here.
    fn ends(&mut self) -> bool {
        self.skip();
        match self.rest.as_bytes().first() {
            None | Some(b')') => true,
            Some(b'=') => self.rest.starts_with("=="),
            Some(b'!') => self.rest.starts_with("!="),
            Some(_) => matches!(self.peek_name(), "and" | "or" | "in" | "not"),
        }
    }

    /// What is taken of the payload: `["name"]`, `.get("name")`, `.get("name", "")`.
    fn parts(&mut self, of: Node) -> Option<Node> {
        let mut node = of;
        for _ in 0..DEEPEST {
            if self.symbol("[") {
                self.skip();
                let key = self.text()?;
                if !self.symbol("]") {
                    return None;
                }
                node = Node::Index(Box::new(node), Key::Str(key.into()));
            } else if self.symbol(".") {
                if !self.name("get") || !self.symbol("(") {
                    return None;
                }
                self.skip();
                let key = self.text()?;
                let default = if self.symbol(",") {
                    self.skip();
                    Some(Box::new(Node::Constant(self.default()?)))
                } else {
                    None
                };
                if !self.symbol(")") {
                    return None;
                }
                node = Node::Get(Box::new(node), key.into(), default);
            } else {
                return self.ends().then_some(node);
            }
        }
        None
    }

    /// A text, or `{}`.
    fn default(&mut self) -> Option<Constant> {
        if self.symbol("{") {
            return self.symbol("}").then(|| Constant::Dict(Entries::default()));
        }
        self.text().map(|text| Constant::Str(text.into()))
    }

    /// `["a", "b"]`
    fn list(&mut self) -> Option<Constants> {
        let mut items = Vec::new();
        self.symbol("[");
        loop {
            self.skip();
            items.push(Constant::Str(self.text()?.into()));
            if self.symbol("]") {
                return Some(Constants::new(items));
            }
            if !self.symbol(",") {
                return None;
            }
        }
    }

    /// A text in quotes, in which nothing means anything else.
    fn text(&mut self) -> Option<&'a str> {
        let quote = self.rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let inside = self.rest.get(1..)?;
        let end = inside.find(quote)?;
        let text = inside.get(..end)?;
        let rest = inside.get(end + 1..)?;
        let is_plain = !text.contains(['\\', '\n', '\r']);
        // Two quotes and a third begin a text of many lines.
        let is_short = !(text.is_empty() && rest.starts_with(quote));
        self.rest = rest;
        (is_plain && is_short).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used, clippy::panic)]

    use proptest::prelude::*;

    use super::super::Condition;
    use crate::analysis::{WHEN, check_when};

    /// What is recognised is what the parser makes of it, and right.
    fn agrees(text: &str) -> bool {
        let Some(Condition { root: simple }) = Condition::recognise(text) else { return false };
        let parsed = Condition::compile(text).unwrap_or_else(|| panic!("no native form: {text}"));
        assert_eq!(format!("{simple:?}"), format!("{:?}", parsed.root), "{text}");
        assert!(check_when(text, &WHEN).is_ok(), "{text}");
        true
    }

    #[test]
    fn plain_conditions_are_recognised() {
        for text in [
            r#"payload["name"] == "run_command""#,
            r#"payload["name"] in ["a", "b"]"#,
            r#"payload["name"] not in ["a"]"#,
            r#"payload['name'] != 'x' and not payload["server"] == "y" or event == "tool.pre""#,
            r#"(payload["name"] == "a" or payload["name"] == "b") and "rm" in payload["args"]["CommandLine"]"#,
            r#""rm " in payload.get("args", {}).get("command", "")"#,
            r#"payload.get("server")"#,
            "payload",
        ] {
            assert!(agrees(text), "{text}");
        }
    }

    #[test]
    fn the_rest_is_left_to_the_parser() {
        for text in [
            "",
            "x",
            r#"payload["name"] == "a" == "b""#,
            r#"payload["name"] in ("a", "b")"#,
            r#"payload["name"] in ["a", "b",]"#,
            r#"payload["na\x6de"] == "a""#,
            r#"payload["name"] == """a""""#,
            r#"payload["name"] == "a" "b""#,
            r#"payload["name"].startswith("a")"#,
            r#"payload["name"] == "a" if True else False"#,
            r#"payload["name"] < "a""#,
            r#"payload["name"]() == "a""#,
            "payload[\n\"name\"] == \"a\"",
            r#"payload["name"] == "a" # why"#,
            r#"r"a" == payload["name"]"#,
            "event.name",
            "notpayload",
            "not\tpayload",
            "payload[\"name\"]\t== \"a\"",
            r#"payload["name"] isin ["a"]"#,
        ] {
            assert!(!agrees(text), "{text}");
        }
        assert!(!agrees(&format!("{}payload", "not ".repeat(40))));
        assert!(!agrees(&format!("{}payload{}", "(".repeat(40), ")".repeat(40))));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn whatever_is_recognised_is_the_same(
            tokens in prop::collection::vec(
                prop::sample::select(vec![
                    "payload", "event", "[\"name\"]", ".get(\"a\")", ".get('a', \"\")", ".get(\"a\", {})", "==",
                    "!=", "in", "not", "and", "or", "(", ")", "\"x\"", "'y'", "[\"x\", 'y']", "[]", " ", ",", "\"",
                    "\\", "\n", "x", "if", "else", "None", "1", "<", "-", "+", ".lower()", "r\"a\"", "#", "\t",
                ]),
                0..9,
            ),
            spaced in any::<bool>(),
        ) {
            agrees(&tokens.join(if spaced { " " } else { "" }));
        }
    }
}
