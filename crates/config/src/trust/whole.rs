//! Tells projects that would run the same in another place.

use std::fs;

use super::copies::LARGEST;
use super::executed::only_reads;
use super::hash::Hash;
use super::survey::{Found, PinKind, Survey};

impl Survey {
    /// True if a project of the same digest elsewhere would run the same: everything that is run is
    /// pinned, and the scripts among it run nothing else.
    pub(super) fn is_whole(&self) -> bool {
        let is_script = |found: &&Found| found.pin.kind != PinKind::HookFile;
        self.runs_only_pins
            && self.unpinned().is_empty()
            && self.found().next().is_some()
            && self.found().filter(is_script).all(|found| {
                let pin = &found.pin;
                // A link may lead to something else from elsewhere.
                let content = fs::read(self.root().join(&pin.path)).unwrap_or_default();
                pin.target.is_none()
                    && found.content.size <= LARGEST
                    && Hash::of(&content) == pin.hash
                    && only_reads(&content)
            })
    }
}
