//! The names that scripts have.

/// The global names that a script can use.
///
/// ```
/// use tollgate_starlark::analysis::{Names, SCRIPT, WHEN};
///
/// assert!(SCRIPT.find("block").is_some());
/// // A condition decides whether a hook is asked, and nothing else.
/// assert!(WHEN.find("block").is_none());
/// ```
pub trait Names {
    /// What a name stands for.
    fn find(&self, name: &str) -> Option<&'static BuiltIn>;
    /// All names.
    fn names(&self) -> Vec<&'static str>;
}

/// A built-in function, value or namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BuiltIn {
    /// What it is called.
    pub name: &'static str,
    /// How it is called, where it can be.
    pub call: Option<Signature>,
    /// What it has behind a dot. Empty where that is not known.
    pub attributes: &'static [Attribute],
    /// Whether it does something that is about an event, and so has no place outside functions.
    pub acts: bool,
}

/// A function of a namespace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Attribute {
    /// What it is called.
    pub name: &'static str,
    /// How it is called.
    pub call: Signature,
}

/// What a built-in function takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Signature {
    /// The parameters, in order. Each can be given by place or by name.
    pub parameters: &'static [&'static str],
    /// How many of them, from the first, must be given.
    pub required: usize,
    /// Whether it takes more by place.
    pub rest: bool,
    /// Whether it takes anything by name.
    pub fields: bool,
}

/// Names from tables.
#[derive(Debug, Clone, Copy)]
pub struct Table(pub &'static [&'static [BuiltIn]]);

impl Names for Table {
    fn find(&self, name: &str) -> Option<&'static BuiltIn> {
        self.0.iter().flat_map(|part| part.iter()).find(|built_in| built_in.name == name)
    }

    fn names(&self) -> Vec<&'static str> {
        self.0.iter().flat_map(|part| part.iter()).map(|built_in| built_in.name).collect()
    }
}

/// What a hook's script has.
pub const SCRIPT: Table = Table(&[STANDARD, PURE, ACTING]);

/// What a `when` has: what computes, and no effects.
pub const WHEN: Table = Table(&[STANDARD, PURE, GIVEN]);

const fn takes(parameters: &'static [&'static str], required: usize) -> Signature {
    Signature { parameters, required, rest: false, fields: false }
}

const fn any(parameters: &'static [&'static str], required: usize) -> Signature {
    Signature { parameters, required, rest: true, fields: false }
}

const fn fields(parameters: &'static [&'static str], required: usize, rest: bool) -> Signature {
    Signature { parameters, required, rest, fields: true }
}

const fn value(name: &'static str) -> BuiltIn {
    BuiltIn { name, call: None, attributes: &[], acts: false }
}

const fn function(name: &'static str, call: Signature) -> BuiltIn {
    BuiltIn { name, call: Some(call), attributes: &[], acts: false }
}

const fn namespace(name: &'static str, attributes: &'static [Attribute]) -> BuiltIn {
    BuiltIn { name, call: None, attributes, acts: false }
}

const fn acting(built_in: BuiltIn) -> BuiltIn {
    BuiltIn { acts: true, ..built_in }
}

const fn attribute(name: &'static str, call: Signature) -> Attribute {
    Attribute { name, call }
}

/// Starlark's own.
const STANDARD: &[BuiltIn] = &[
    value("None"),
    value("True"),
    value("False"),
    function("abs", takes(&["x"], 1)),
    function("all", takes(&["elements"], 1)),
    function("any", takes(&["elements"], 1)),
    function("bool", takes(&["x"], 0)),
    function("bytes", takes(&["x"], 1)),
    function("chr", takes(&["codepoint"], 1)),
    function("dict", fields(&["pairs"], 0, false)),
    function("dir", takes(&["x"], 1)),
    function("enumerate", takes(&["elements", "start"], 1)),
    function("fail", any(&[], 0)),
    function("float", takes(&["x"], 0)),
    function("getattr", takes(&["x", "name", "default"], 2)),
    function("hasattr", takes(&["x", "name"], 2)),
    function("hash", takes(&["text"], 1)),
    function("int", takes(&["x", "base"], 0)),
    function("len", takes(&["x"], 1)),
    function("list", takes(&["elements"], 0)),
    function("max", Signature { parameters: &["key"], required: 0, rest: true, fields: false }),
    function("min", Signature { parameters: &["key"], required: 0, rest: true, fields: false }),
    function("ord", takes(&["character"], 1)),
    function("range", takes(&["start", "stop", "step"], 1)),
    function("repr", takes(&["x"], 1)),
    function("reversed", takes(&["elements"], 1)),
    function("sorted", takes(&["elements", "key", "reverse"], 1)),
    function("str", takes(&["x"], 1)),
    function("tuple", takes(&["elements"], 0)),
    function("type", takes(&["x"], 1)),
    function("zip", any(&[], 0)),
];

/// Ours that compute.
const PURE: &[BuiltIn] = &[
    namespace(
        "effects",
        &[
            attribute("of", takes(&["payload"], 1)),
            attribute("risks", takes(&["payload"], 1)),
            attribute("writes_under", takes(&["payload", "path"], 2)),
            attribute("reads_under", takes(&["payload", "path"], 2)),
            attribute("deletes_under", takes(&["payload", "path"], 2)),
            attribute("reaches_network", takes(&["payload"], 1)),
        ],
    ),
    namespace("glob", &[attribute("match", takes(&["pattern", "text"], 2))]),
    namespace(
        "json",
        &[
            attribute("encode", takes(&["value"], 1)),
            attribute("decode", takes(&["text", "default"], 1)),
        ],
    ),
    namespace(
        "path",
        &[
            attribute("normalize", takes(&["path"], 1)),
            attribute("inside", takes(&["path", "root"], 2)),
        ],
    ),
    namespace(
        "re",
        &[
            attribute("match", takes(&["pattern", "text"], 2)),
            attribute("search", takes(&["pattern", "text"], 2)),
            attribute("sub", takes(&["pattern", "replacement", "text"], 3)),
        ],
    ),
    namespace(
        "secrets",
        &[attribute("mask", takes(&["value"], 1)), attribute("find", takes(&["value"], 1))],
    ),
    namespace("shell", &[attribute("parse", takes(&["command", "cwd"], 1))]),
];

/// Ours that decide, keep something or reach out.
const ACTING: &[BuiltIn] = &[
    function("allow", takes(&[], 0)),
    function("block", takes(&["reason"], 1)),
    function("ask", takes(&["reason"], 1)),
    function("modify", takes(&["patch"], 1)),
    acting(namespace(
        "cache",
        &[
            attribute("get", takes(&["key", "default"], 1)),
            attribute("set", takes(&["key", "value"], 2)),
        ],
    )),
    acting(namespace(
        "hooks",
        &[attribute("list", takes(&[], 0)), attribute("get", takes(&["name"], 1))],
    )),
    acting(namespace(
        "http",
        &[
            attribute("get", takes(&["url", "headers"], 1)),
            attribute("post", takes(&["url", "body", "headers", "json"], 1)),
        ],
    )),
    BuiltIn {
        name: "log",
        call: Some(fields(&["message"], 1, true)),
        attributes: &[
            attribute("info", fields(&["message"], 1, true)),
            attribute("warn", fields(&["message"], 1, true)),
        ],
        acts: true,
    },
    acting(namespace(
        "metrics",
        &[
            attribute("incr", takes(&["name", "by"], 1)),
            attribute("set", takes(&["name", "value"], 2)),
            attribute("snapshot", takes(&[], 0)),
        ],
    )),
    acting(function("print", fields(&["message"], 0, true))),
    acting(namespace("tools", &[attribute("call", takes(&["name", "args"], 1))])),
];

/// What a `when` is about.
const GIVEN: &[BuiltIn] = &[value("event"), value("payload")];

/// A name in backquotes.
pub(crate) fn quoted(name: &str) -> String {
    format!("`{name}`")
}

/// The known name that is nearest to one that is not known, where it is near enough to be meant.
pub(crate) fn nearest<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    // Nobody mistypes a name of hundreds of letters, and the comparison is quadratic.
    if name.len() > 64 {
        return None;
    }
    let letters = |text: &str| -> Vec<char> {
        text.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect()
    };
    let wanted = letters(name);
    let allowed = match wanted.len() {
        0..=2 => 0,
        3..=5 => 1,
        _ => 2,
    };
    let known = known.into_iter().filter(|known| known.len() <= 64 && *known != name);
    let distances = known.map(|candidate| (distance(&wanted, &letters(candidate)), candidate));
    let (distance, nearest) = distances.min()?;
    (distance <= allowed).then_some(nearest)
}

/// How many letters to put in, take out, change, or swap with their neighbours.
fn distance(one: &[char], other: &[char]) -> usize {
    let mut above: Vec<usize> = Vec::new();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut next = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let at =
                |row: &[usize], place: usize| row.get(place).copied().unwrap_or(usize::MAX - 1);
            let changed = at(&row, j) + usize::from(a != b);
            let mut best = changed.min(at(&row, j + 1) + 1).min(at(&next, j) + 1);
            let before = |letters: &[char], place: usize| {
                place.checked_sub(1).and_then(|it| letters.get(it).copied())
            };
            if before(one, i) == Some(*b) && before(other, j) == Some(*a) {
                best = best.min(at(&above, j.saturating_sub(1)) + 1);
            }
            next.push(best);
        }
        above = std::mem::replace(&mut row, next);
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_one_that_could_be_meant() {
        for (name, expected) in [
            ("inc", Some("incr")),
            ("Allow", Some("allow")),
            ("bolck", Some("block")),
            ("blok", Some("block")),
            ("paylod", Some("payload")),
            ("xyz", None),
            ("", None),
        ] {
            let known = ["incr", "allow", "block", "payload"];
            assert_eq!(nearest(name, known), expected, "{name}");
        }
    }

    #[test]
    fn no_name_is_there_twice() {
        for table in [SCRIPT, WHEN] {
            let mut names = table.names();
            names.sort_unstable();
            let all = names.len();
            names.dedup();
            assert_eq!(names.len(), all);
        }
    }
}
