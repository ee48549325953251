//! A limit of memory for a part of supervised work.

use std::fs;

use rustix::param::page_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::supervisor::limit_outside;

/// A limit of the address space of this process, until it is dropped.
///
/// An allocation beyond it ends the process, so there is only one in a process that is
/// [supervised](crate::supervise) with a limit of memory: its refusal is ready.
#[derive(Debug)]
#[must_use = "the limit is gone once this is dropped"]
pub struct MemoryBound {
    before: Rlimit,
}

impl MemoryBound {
    /// Limits the address space to what there is now, what is in use once more, and `more` bytes. None if this process is
    /// not supervised, or is limited to less already.
    pub fn tighten(more: u64) -> Option<Self> {
        limit_outside()?;
        let text = fs::read_to_string("/proc/self/statm").ok()?;
        // Size, resident, shared, text, library, data: in pages.
        let mut pages = text.split_ascii_whitespace().map(str::parse::<u64>);
        let (Some(Ok(size)), Some(Ok(resident))) = (pages.next(), pages.next()) else {
            return None;
        };
        let bytes = (size + resident).saturating_mul(page_size() as u64).saturating_add(more);
        let before = getrlimit(Resource::As);
        if before.current.is_some_and(|current| current <= bytes) {
            return None;
        }
        let limit = Rlimit { current: Some(bytes), maximum: before.maximum };
        setrlimit(Resource::As, limit).ok()?;
        Some(Self { before })
    }
}

impl Drop for MemoryBound {
    fn drop(&mut self) {
        let _ = setrlimit(Resource::As, self.before);
    }
}
