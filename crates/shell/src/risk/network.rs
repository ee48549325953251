//! Other machines.

use super::{Class, Judge, Level, sentence};
use crate::effects::Effect;
use crate::effects::hosts::{Reach, reach};

impl Judge<'_> {
    pub(super) fn network(&mut self, effect: &Effect, host: &str) {
        let reach = reach(host);
        if reach == Reach::Metadata {
            return self.note(effect, Class::Secret, Level::Deny, sentence::asks_metadata(host));
        }
        if let Some(name) = secret_in_address(self.situation.text, host) {
            return self.note(
                effect,
                Class::Send,
                Level::Deny,
                sentence::sends_variable(name, host),
            );
        }
        if !effect.sends {
            return;
        }
        if reach == Reach::Public {
            return self.note(
                effect,
                Class::Send,
                Level::Deny,
                sentence::sends_to_public(host, &effect.by),
            );
        }
        if matches!(reach, Reach::Local) {
            return;
        }
        // A tool that is no command says where it sends something, and that is all that is known.
        let by_tool = self.situation.text.is_empty();
        if by_tool && matches!(reach, Reach::Other | Reach::Unknown) {
            return self.note(
                effect,
                Class::Send,
                Level::Ask,
                sentence::sends_by_tool(host, &effect.by),
            );
        }
        let is_address = host.parse::<std::net::IpAddr>().is_ok();
        if is_address && reach == Reach::Other {
            return self.note(
                effect,
                Class::Send,
                Level::Ask,
                sentence::sends_to_address(host, &effect.by),
            );
        }
        if let Some(file) = self.reads_outside() {
            self.note(
                effect,
                Class::Send,
                Level::Ask,
                sentence::sends_file(&file, host, &effect.by),
            );
        }
    }
}

/// The variable with a secret that is part of an address of this host, unless it is the host's own.
fn secret_in_address<'t>(text: &'t str, host: &str) -> Option<&'t str> {
    let is_secret = |name: &str| {
        ["TOKEN", "SECRET", "PASSWORD", "PASSWD", "PRIVATE_KEY", "ACCESS_KEY", "CREDENTIAL"]
            .iter()
            .any(|word| name.contains(word))
    };
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''));
    let addresses = words.filter(|word| word.contains("://") && word.contains(host));
    for (_, rest) in
        addresses.flat_map(|word| word.match_indices('$').map(move |(at, _)| word.split_at(at)))
    {
        let name = rest.trim_start_matches(['$', '{']);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        let name = name.get(..end).unwrap_or_default();
        // `GITHUB_TOKEN` is GitHub's, `NPM_TOKEN` is npm's; one without an owner may be anybody's.
        let owner = name.split('_').next().unwrap_or_default();
        let is_own = host.contains(&owner.to_ascii_lowercase())
            || matches!(owner, "TOKEN" | "SECRET" | "PASSWORD" | "API" | "ACCESS" | "AUTH");
        if is_secret(name) && !is_own && !owner.is_empty() {
            return Some(name);
        }
    }
    None
}
