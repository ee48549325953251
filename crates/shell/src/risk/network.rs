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
