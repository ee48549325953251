//! Who is asked about which subject, worked out when hooks are registered.

use std::sync::OnceLock;

use hashbrown::HashMap;
use smallvec::SmallVec;

use super::patterns::{Patterns, PatternsBuilder};
use crate::matcher::{Form, Matcher, McpNames, PatternError, Piece};
use crate::target::{Key, Loose, Names, Subject, Target, Targets, fused_tools, loose_server};
use crate::tools::{self, Tool};

/// What a hook is in its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Hook,
    /// It is asked about the final payload: a policy, or a hook that says so.
    Last,
    Inspector,
}

/// A hook as the index sees it.
pub(super) struct Member<'a> {
    pub(super) place: u32,
    pub(super) matcher: &'a Matcher,
    pub(super) role: Role,
}

/// The places of the hooks that ask for something, in order.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) hooks: SmallVec<[u32; 4]>,
    pub(crate) last: SmallVec<[u32; 4]>,
    pub(crate) inspectors: SmallVec<[u32; 4]>,
}

pub(super) static NOBODY: Asked = Asked {
    hooks: SmallVec::new_const(),
    last: SmallVec::new_const(),
    inspectors: SmallVec::new_const(),
};

impl Asked {
    fn list(&mut self, role: Role) -> &mut SmallVec<[u32; 4]> {
        match role {
            Role::Hook => &mut self.hooks,
            Role::Last => &mut self.last,
            Role::Inspector => &mut self.inspectors,
        }
    }

    pub(super) fn add(&mut self, place: u32, role: Role) {
        let list = self.list(role);
        if let Err(at) = list.binary_search(&place) {
            list.insert(at, place);
        }
    }

    pub(super) fn is_nobody(&self) -> bool {
        self.hooks.is_empty() && self.last.is_empty() && self.inspectors.is_empty()
    }

    pub(super) fn add_all(&mut self, other: &Self) {
        for (list, role) in [
            (&other.hooks, Role::Hook),
            (&other.last, Role::Last),
            (&other.inspectors, Role::Inspector),
        ] {
            for place in list {
                self.add(*place, role);
            }
        }
    }
}

/// Who is asked: looked up, or put together where patterns or several readings are involved.
pub(crate) enum Matched<'a> {
    Ready(&'a Asked),
    Joined(Box<Asked>),
}

impl std::ops::Deref for Matched<'_> {
    type Target = Asked;
    fn deref(&self) -> &Asked {
        match self {
            Self::Ready(asked) => asked,
            Self::Joined(asked) => asked,
        }
    }
}

/// Who asks for an exact name.
#[derive(Debug, Default)]
struct Exact {
    /// Who asks for it by this name.
    by_name: Asked,
    /// With who asks for more than a name; put together when the name first comes.
    everybody: OnceLock<Asked>,
}

/// Who asks for what, so that a look-up is one hash.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// Every exact name that any hook mentions.
    exact: Targets<Exact>,
    /// For each server that any hook asks for as a whole, in the one form of all its spellings: them,
    /// and who asks for everything.
    servers: HashMap<Loose, Asked>,
    /// Who asks for everything.
    all: Asked,
    /// Who asks for all tools of all servers.
    mcp: Asked,
    /// Who asks for what no list of names says.
    patterns: Option<Patterns>,
}

impl Index {
    pub(super) fn new(members: &[Member<'_>]) -> Result<Self, PatternError> {
        let mut index = Self::default();
        let mut patterns = PatternsBuilder::default();
        index.exact.reserve(members.len());
        for &Member { place, matcher, role } in members {
            match matcher {
                Matcher::All => index.all.add(place, role),
                Matcher::Pattern(pattern) => {
                    match pattern.form() {
                        Form::Plain(pieces) => {
                            for piece in pieces {
                                index.add_piece(piece, place, role, &mut patterns);
                            }
                        }
                        Form::Expression(expression) => {
                            patterns.expression(expression, place, role);
                        }
                    }
                    if let McpNames::Through(tool) = pattern.mcp()
                        // Known now, for every server and tool.
                        && pattern.matches_text(tool)
                    {
                        index.mcp.add(place, role);
                    }
                    if pattern.has_other_spellings() {
                        patterns.spelled(pattern, place, role);
                    }
                }
                Matcher::Targets(targets) => {
                    for target in targets {
                        index.add_target(target, place, role);
                    }
                }
            }
        }
        index.patterns = patterns.build()?;
        if index.patterns.is_some() {
            // The tools of the table are looked up, whatever other names come.
            for name in tools::TABLE.iter().flat_map(Tool::names) {
                index.exact.entry(Key { server: None, name });
            }
        }
        // Whoever asks for more asks for less too.
        index.mcp.add_all(&index.all);
        for asked in index.servers.values_mut() {
            asked.add_all(&index.mcp);
        }
        Ok(index)
    }

    fn add_target(&mut self, target: &Target, place: u32, role: Role) {
        if *target == Target::Any {
            self.all.add(place, role);
        }
        if let Some(server) = target.whole_server(Names::OfTheTable) {
            self.servers.entry(loose_server(server)).or_default().add(place, role);
        }
        for key in target.keys(Names::OfTheTable) {
            self.exact.entry(key).by_name.add(place, role);
        }
    }

    fn add_piece(&mut self, piece: &Piece, place: u32, role: Role, into: &mut PatternsBuilder) {
        match piece {
            Piece::Everything => self.all.add(place, role),
            Piece::Name(name) => {
                let own = |name| Key { server: None, name };
                let others = tools::spellings(name).into_iter().skip(1).map(own);
                for key in Key::all_written(name).chain(others).chain(fused_tools(name)) {
                    self.exact.entry(key).by_name.add(place, role);
                }
            }
            Piece::Prefix(prefix, rest) => into.prefix(prefix, *rest, place, role),
            Piece::Suffix(suffix, rest) => into.suffix(suffix, *rest, place, role),
        }
    }

    /// Who asks for everything, or for all of the server.
    fn broad(&self, key: Key<'_>) -> &Asked {
        match key.server {
            Some(server) if !self.servers.is_empty() => {
                self.servers.get(&loose_server(server)).unwrap_or(&self.mcp)
            }
            Some(_) => &self.mcp,
            None => &self.all,
        }
    }

    pub(super) fn matching(&self, subject: Subject<'_>) -> Matched<'_> {
        if subject.readings.is_empty() {
            return self.asked(Key { server: subject.server, name: subject.name });
        }
        let mut joined = Box::<Asked>::default();
        for key in subject.keys() {
            joined.add_all(&self.asked(key));
        }
        Matched::Joined(joined)
    }

    /// Who asks for one server and tool.
    fn asked(&self, key: Key<'_>) -> Matched<'_> {
        let broad = self.broad(key);
        match (self.exact.get(key), &self.patterns) {
            // Patterns may tell spellings of one server apart, which the list of an exact name
            // cannot.
            (Some(exact), Some(patterns)) if key.server.is_some() => {
                patterns.matching(key, broad, &exact.by_name)
            }
            (Some(exact), patterns) => Matched::Ready(exact.everybody.get().unwrap_or_else(|| {
                let mut everybody = exact.by_name.clone();
                everybody.add_all(broad);
                if let Some(patterns) = patterns {
                    patterns.add_matching(key, &mut everybody);
                }
                // Only the finished list is put in place, so that nobody waits while it is made.
                exact.everybody.get_or_init(|| everybody)
            })),
            (None, Some(patterns)) => patterns.matching(key, broad, &NOBODY),
            (None, None) => Matched::Ready(broad),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(matchers: &[Matcher]) -> Index {
        let members: Vec<_> = matchers
            .iter()
            .enumerate()
            .map(|(place, matcher)| Member {
                place: u32::try_from(place).unwrap(),
                matcher,
                role: Role::Hook,
            })
            .collect();
        Index::new(&members).unwrap()
    }

    fn asked(index: &Index, server: Option<&str>, name: &str) -> Vec<u32> {
        index.matching(Subject { server, name, readings: &[] }).hooks.to_vec()
    }

    #[test]
    fn everybody_who_asks_is_found_in_order() {
        let index = index(&[
            Matcher::tool("run_command"),
            Matcher::All,
            Matcher::regex("run_.*").unwrap(),
            Matcher::tool("docs/*"),
            Matcher::tool("docs/search"),
            Matcher::glob("docs/s*").unwrap(),
        ]);
        assert_eq!(asked(&index, None, "run_command"), [0, 1, 2]);
        assert_eq!(asked(&index, None, "RUN_COMMAND"), [0, 1, 2]);
        assert_eq!(asked(&index, None, "run_other"), [1, 2]);
        assert_eq!(asked(&index, None, "view_file"), [1]);
        assert_eq!(asked(&index, Some("docs"), "search"), [1, 3, 4, 5]);
        assert_eq!(asked(&index, Some("docs"), "send"), [1, 3, 5]);
        assert_eq!(asked(&index, Some("docs"), "fetch"), [1, 3]);
        assert_eq!(asked(&index, Some("git"), "search"), [1]);
        assert_eq!(asked(&index, None, "docs/search"), [1, 4, 5]);
    }

    #[test]
    fn servers_tools_are_asked_for_by_the_names_their_systems_have() {
        let fused = |text| Matcher::glob(text).unwrap().mcp(McpNames::Fused);
        let through = |text| Matcher::regex(text).unwrap().mcp(McpNames::Through("call_mcp_tool"));
        let index = index(&[
            fused("mcp__git__push"),
            fused("mcp__git__*"),
            fused("*"),
            fused("*push*"),
            fused("file_*"),
            through("call_mcp_tool|run_command"),
            through("call_.*"),
            through("git/.*"),
            through("run_command"),
        ]);
        assert_eq!(asked(&index, Some("git"), "push"), [0, 1, 2, 3, 5, 6, 7]);
        assert_eq!(asked(&index, Some("git"), "pull"), [1, 2, 5, 6, 7]);
        assert_eq!(asked(&index, Some("docs"), "push"), [2, 3, 5, 6]);
        assert_eq!(asked(&index, None, "mcp__git__push"), [0, 1, 2, 3]);
        assert_eq!(asked(&index, None, "call_mcp_tool"), [2, 5, 6]);
        assert_eq!(asked(&index, None, "run_command"), [2, 5, 8]);
    }

    #[test]
    fn a_fused_name_is_asked_about_in_every_reading() {
        use crate::target::Reading;
        let index = index(&[Matcher::tool("a/b__c"), Matcher::tool("a__b/*"), Matcher::tool("x")]);
        let readings = Reading::all_of("a__b__c", "__");
        let subject = Subject { server: None, name: "mcp__a__b__c", readings: &readings };
        assert_eq!(index.matching(subject).hooks.to_vec(), [0, 1]);
    }

    mod against_each_matcher_alone {
        use std::sync::Arc;

        use proptest::prelude::*;

        use super::*;
        use crate::matcher::{Expression, Pattern};
        use crate::target::{Reading, loose_tool};

        #[derive(Debug, Clone)]
        enum Written {
            Regex(String),
            Glob(String),
            Target(String),
        }

        /// Parts of which patterns and names are made alike, so that they often meet.
        const PARTS: [&str; 18] = [
            "Bash",
            "mcp__",
            "mcp_",
            "__",
            "-",
            "Monitor",
            "a",
            "b_",
            "é",
            "/",
            "docs/",
            "x\ny",
            "run_command",
            "RUN_COMMAND",
            "edit_file",
            "create_",
            "file",
            "VIEW_FILE",
        ];

        fn name() -> impl Strategy<Value = String> {
            let parts = prop::sample::select(PARTS.to_vec());
            prop::collection::vec(parts, 0..4).prop_map(|parts| parts.concat())
        }

        fn written() -> impl Strategy<Value = Written> {
            let between = prop::sample::select(vec!["", "", ".*", ".+", "|", "[a-z]*", ".*|", "?"]);
            let stars =
                prop::sample::select(vec!["", "", "*", "**", "/**", "[a-z]*", "?", "{a,b}"]);
            prop_oneof![
                (name(), between.clone(), name(), between).prop_map(|(a, b, c, d)| {
                    Written::Regex([a, b.to_owned(), c, d.to_owned()].concat())
                }),
                (name(), stars.clone(), name(), stars).prop_map(|(a, b, c, d)| {
                    Written::Glob([a, b.to_owned(), c, d.to_owned()].concat())
                }),
                name().prop_map(Written::Target),
            ]
        }

        fn matcher(written: &Written) -> Option<Matcher> {
            match written {
                Written::Regex(text) => Matcher::regex(text).ok(),
                Written::Glob(text) => Matcher::glob(text).ok(),
                Written::Target(text) => Some(Matcher::Targets(vec![Target::parse(text)])),
            }
        }

        fn expression(written: &Written) -> Option<Arc<Expression>> {
            match written {
                Written::Regex(text) => Expression::of_regex(text).ok(),
                Written::Glob(text) => Expression::of_glob(text).ok(),
                Written::Target(_) => None,
            }
        }

        /// Whether two names are of one tool, in any spelling of a server's.
        fn same(one: Key<'_>, other: Key<'_>) -> bool {
            match (one.server, other.server) {
                (None, None) => one.name == other.name,
                (Some(a), Some(b)) => {
                    loose_server(a) == loose_server(b)
                        && loose_tool(one.name) == loose_tool(other.name)
                }
                _ => false,
            }
        }

        /// Whether a matcher asks for a name, said in the longest way.
        fn asks(written: &Written, key: Key<'_>) -> bool {
            let means = |target: &Target| {
                let all = target.whole_server(Names::OfTheTable);
                target.keys(Names::OfTheTable).into_iter().any(|it| same(it, key))
                    || all.zip(key.server).is_some_and(|(a, b)| loose_server(a) == loose_server(b))
            };
            let pattern = match written {
                Written::Target(text) => return means(&Target::parse(text)),
                Written::Regex(text) => Pattern::regex(text).unwrap(),
                Written::Glob(text) => Pattern::glob(text).unwrap(),
            };
            let expression = expression(written).unwrap();
            let own = key.server.is_none().then(|| tools::names_in_use(key.name));
            let is_named = |piece: &Piece| match piece {
                Piece::Name(name) => {
                    tools::spellings(name).iter().any(|name| same(Key { server: None, name }, key))
                        || fused_tools(name).into_iter().any(|it| same(it, key))
                        || Key::all_written(name).any(|it| same(it, key))
                }
                _ => false,
            };
            let subject = Subject { server: key.server, name: key.name, readings: &[] };
            expression.matches(&key.text())
                || own.into_iter().flatten().any(|name| expression.matches(name))
                || pattern.matches(subject)
                || matches!(pattern.form(), Form::Plain(pieces) if pieces.iter().any(is_named))
        }

        proptest! {
            #![proptest_config(ProptestConfig::with_cases(300))]

            #[test]
            fn the_same_are_asked(
                written in prop::collection::vec(written(), 1..8),
                subjects in prop::collection::vec(
                    (
                        prop::option::of(name()),
                        name(),
                        prop::collection::vec((name(), name()), 0..3),
                    ),
                    1..8,
                ),
            ) {
                let valid: Vec<_> =
                    written.iter().filter_map(|w| Some((w, matcher(w)?))).collect();
                let matchers: Vec<_> = valid.iter().map(|(_, matcher)| matcher.clone()).collect();
                let index = index(&matchers);
                // Held, so that each is compiled once.
                let _expressions: Vec<_> = valid.iter().map(|(w, _)| expression(w)).collect();
                // Twice: what is remembered must be what was found.
                for (server, name, readings) in subjects.iter().chain(&subjects) {
                    let readings: Vec<_> = readings
                        .iter()
                        .cloned()
                        .map(|(server, tool)| Reading { server, tool })
                        .collect();
                    let server = server.as_deref();
                    let subject = Subject { server, name, readings: &readings };
                    let expected: Vec<_> = (0u32..)
                        .zip(&valid)
                        .filter(|(_, (written, _))| subject.keys().any(|key| asks(written, key)))
                        .map(|(place, _)| place)
                        .collect();
                    let found = index.matching(subject).hooks.to_vec();
                    prop_assert_eq!(found, expected, "{:?} {:?}", subject, valid);
                }
            }
        }
    }
}
