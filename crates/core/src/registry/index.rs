//! Who is asked about which subject, worked out when hooks are registered.

use hashbrown::HashMap;
use smallvec::SmallVec;

use crate::matcher::{Matcher, PatternError, PatternSet};
use crate::target::{Key, Names, Subject, Target, Targets};
use crate::tools;

/// What a hook is in its chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Hook,
    Policy,
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
    pub(crate) policies: SmallVec<[u32; 4]>,
    pub(crate) inspectors: SmallVec<[u32; 4]>,
}

pub(super) static NOBODY: Asked = Asked {
    hooks: SmallVec::new_const(),
    policies: SmallVec::new_const(),
    inspectors: SmallVec::new_const(),
};

impl Asked {
    fn list(&mut self, role: Role) -> &mut SmallVec<[u32; 4]> {
        match role {
            Role::Hook => &mut self.hooks,
            Role::Policy => &mut self.policies,
            Role::Inspector => &mut self.inspectors,
        }
    }

    fn add(&mut self, place: u32, role: Role) {
        let list = self.list(role);
        if let Err(at) = list.binary_search(&place) {
            list.insert(at, place);
        }
    }

    fn add_all(&mut self, other: &Self) {
        for (list, role) in [
            (&other.hooks, Role::Hook),
            (&other.policies, Role::Policy),
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

/// Who asks for what, so that a look-up is one hash wherever no pattern is involved.
#[derive(Debug, Clone, Default)]
pub(super) struct Index {
    /// For each exact name that any hook mentions: everybody who asks for it, patterns included.
    exact: Targets<Asked>,
    /// For each server that any hook asks for as a whole: them, and who asks for everything.
    servers: HashMap<String, Asked>,
    /// Who asks for everything.
    all: Asked,
    patterns: Option<PatternSet>,
    roles: Vec<Role>,
}

impl Index {
    pub(super) fn new(members: &[Member<'_>]) -> Result<Self, PatternError> {
        let mut index =
            Self { roles: members.iter().map(|member| member.role).collect(), ..Self::default() };
        let mut patterns = Vec::new();
        for &Member { place, matcher, role } in members {
            match matcher {
                Matcher::All => index.all.add(place, role),
                Matcher::Pattern(pattern) => patterns.push((place, pattern)),
                Matcher::Targets(targets) => {
                    for target in targets {
                        index.add_target(target, place, role);
                    }
                }
            }
        }
        if !patterns.is_empty() {
            index.patterns = Some(PatternSet::new(patterns)?);
            // A tool that is called by another name is matched by the name in use as well.
            for alias in tools::TABLE.iter().flat_map(|tool| tool.aliases) {
                index.exact.entry(Key { server: None, name: alias });
            }
        }
        // Whoever asks for more than a name asks for it too.
        for asked in index.servers.values_mut() {
            asked.add_all(&index.all);
        }
        let mut exact = std::mem::take(&mut index.exact);
        for (key, asked) in exact.iter_mut() {
            asked.add_all(index.broad(key));
            index.add_patterns(Subject::from(key), asked);
            if key.server.is_none() {
                for name in tools::names_in_use(key.name) {
                    index.add_patterns(Subject::named(name), asked);
                }
            }
        }
        index.exact = exact;
        Ok(index)
    }

    fn add_target(&mut self, target: &Target, place: u32, role: Role) {
        if *target == Target::Any {
            self.all.add(place, role);
        }
        if let Some(server) = target.whole_server() {
            self.servers.entry_ref(server).or_default().add(place, role);
        }
        for key in target.keys(Names::OfTheTable) {
            self.exact.entry(key).add(place, role);
        }
    }

    /// Who asks for everything, or for all of the server.
    fn broad(&self, key: Key<'_>) -> &Asked {
        match key.server {
            Some(server) if !self.servers.is_empty() => {
                self.servers.get(server).unwrap_or(&self.all)
            }
            _ => &self.all,
        }
    }

    fn add_patterns(&self, subject: Subject<'_>, asked: &mut Asked) {
        self.each_pattern(subject, |place, role| asked.add(place, role));
    }

    fn each_pattern(&self, subject: Subject<'_>, mut found: impl FnMut(u32, Role)) {
        if let Some(patterns) = &self.patterns {
            patterns.matching(subject, |place| {
                if let Some(role) = self.roles.get(place as usize) {
                    found(place, *role);
                }
            });
        }
    }

    pub(super) fn matching(&self, subject: Subject<'_>) -> Matched<'_> {
        if !subject.readings.is_empty() {
            let mut joined = Box::<Asked>::default();
            for key in subject.keys() {
                joined.add_all(self.exact.get(key).unwrap_or_else(|| self.broad(key)));
            }
            self.add_patterns(subject, &mut joined);
            return Matched::Joined(joined);
        }
        let key = Key { server: subject.server, name: subject.name };
        if let Some(asked) = self.exact.get(key) {
            return Matched::Ready(asked);
        }
        let broad = self.broad(key);
        let mut joined: Option<Box<Asked>> = None;
        self.each_pattern(subject, |place, role| {
            joined.get_or_insert_with(|| Box::new(broad.clone())).add(place, role);
        });
        joined.map_or(Matched::Ready(broad), Matched::Joined)
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
    fn a_fused_name_is_asked_about_in_every_reading() {
        use crate::target::Reading;
        let index = index(&[Matcher::tool("a/b__c"), Matcher::tool("a__b/*"), Matcher::tool("x")]);
        let readings = Reading::all_of("a__b__c", "__");
        let subject = Subject { server: None, name: "mcp__a__b__c", readings: &readings };
        assert_eq!(index.matching(subject).hooks.to_vec(), [0, 1]);
    }
}
