//! Reading the record, from the newest entry backward.

use std::path::Path;

use crate::FOLDER;
use crate::entry::{Entry, Refused, Stored};
use crate::folder::{Folder, RecordError};
use crate::frame::{LONGEST_BODY, TRAILER};
use crate::recorder::{
    Limits, MOST_NAMES, largest, segment_name, segment_number, waiting_body, waiting_name,
};
use crate::segment::Scan;

/// Number of entries that [`Reader::newest_refusals`] looks through.
const MOST_LOOKED_AT: usize = 10_000;

/// Reads the record. It takes no lock: an entry that is being written is not seen, or seen as torn.
#[derive(Debug, Clone)]
pub struct Reader {
    folder: Folder,
    limits: Limits,
}

/// A part of the record that is not what was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{file}` is damaged at byte {from}, {bytes} bytes long")]
pub struct Damage {
    /// The file in the record.
    pub file: String,
    /// Where it begins.
    pub from: usize,
    /// How long it is.
    pub bytes: usize,
}

/// The result of checking the whole record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Checked {
    /// Number of genuine entries.
    pub entries: usize,
    /// What is damaged.
    pub damage: Vec<Damage>,
}

impl Reader {
    /// Returns a reader for Tollgate's state directory.
    pub fn new(state: &Path) -> Self {
        Self::with(state, Limits::default())
    }

    /// Returns a reader for a record with other bounds.
    pub fn with(state: &Path, limits: Limits) -> Self {
        Self { folder: Folder::new(state.join(FOLDER)), limits }
    }

    /// Returns all entries, the newest first. A missing record has none.
    pub fn entries(&self) -> Result<Entries, RecordError> {
        let mut files = Vec::new();
        let segments = self.folder.names(MOST_NAMES, segment_number)?;
        files.extend(segments.into_iter().map(segment_name));
        files.extend(self.folder.names(MOST_NAMES, waiting_name)?);
        Ok(Entries { reader: self.clone(), files, read: Vec::new() })
    }

    /// Returns the newest entries that are genuine, the newest first.
    pub fn newest(&self, limit: usize) -> Result<Vec<Stored>, RecordError> {
        Ok(self.entries()?.filter_map(Result::ok).take(limit).collect())
    }

    /// Returns the newest refusals, the newest first.
    pub fn newest_refusals(&self, limit: usize) -> Result<Vec<(Stored, Refused)>, RecordError> {
        let entries = self.entries()?.filter_map(Result::ok).take(MOST_LOOKED_AT);
        let refused = |stored: Stored| match &stored.entry {
            Entry::Refused(refused) => {
                let refused = Refused::clone(refused);
                Some((stored, refused))
            }
            _ => None,
        };
        Ok(entries.filter_map(refused).take(limit).collect())
    }

    /// Checks the whole record: every frame, and that every segment follows on the one before it.
    pub fn check(&self) -> Result<Checked, RecordError> {
        let mut checked = Checked::default();
        let mut before = None;
        for number in self.folder.names(MOST_NAMES, segment_number)? {
            let name = segment_name(number);
            let Some(bytes) = self.folder.read(&name, largest(&self.limits))? else { continue };
            let scan = Scan::of(&bytes);
            let follows = before.is_none_or(|before| scan.follows == Some(before));
            if !follows && scan.last.is_some() {
                checked.damage.push(Damage { file: name.clone(), from: 0, bytes: 0 });
            }
            checked.entries += scan.bodies.len();
            checked.damage.extend(damage(&name, &scan));
            before = scan.last.map(|last| last.hash).or(before);
        }
        Ok(checked)
    }

    /// Reads a file of the record, oldest entry first.
    fn read(&self, name: &str) -> Vec<Result<Stored, Damage>> {
        let whole = |bytes| Damage { file: name.to_owned(), from: 0, bytes };
        if waiting_name(name).is_some() {
            let read = self.folder.read(name, (LONGEST_BODY + TRAILER) as u64);
            let Ok(Some(bytes)) = read else { return Vec::new() };
            let stored = waiting_body(&bytes).and_then(|body| Stored::parse(body, None));
            return vec![stored.ok_or_else(|| whole(bytes.len()))];
        }
        let bytes = match self.folder.read(name, largest(&self.limits)) {
            Ok(bytes) => bytes.unwrap_or_default(),
            Err(_) => return vec![Err(whole(0))],
        };
        let scan = Scan::of(&bytes);
        let mut read: Vec<Result<Stored, Damage>> = damage(name, &scan).map(Err).collect();
        // An entry of a kind that is not known is genuine, but says nothing here.
        let stored = scan.bodies.iter().filter_map(|(body, sequence)| {
            Stored::parse(bytes.get(body.clone())?, Some(*sequence))
        });
        read.extend(stored.filter(|stored| !matches!(stored.entry, Entry::Began(_))).map(Ok));
        read
    }
}

fn damage(name: &str, scan: &Scan) -> impl Iterator<Item = Damage> {
    scan.damaged.iter().map(|range| Damage {
        file: name.to_owned(),
        from: range.start,
        bytes: range.len(),
    })
}

/// The entries of the record, the newest first. One segment is in memory at a time.
#[derive(Debug)]
pub struct Entries {
    reader: Reader,
    /// Files that have not been read, the newest last.
    files: Vec<String>,
    /// Entries that have been read, the newest last.
    read: Vec<Result<Stored, Damage>>,
}

impl Iterator for Entries {
    type Item = Result<Stored, Damage>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(next) = self.read.pop() {
                return Some(next);
            }
            let file = self.files.pop()?;
            self.read = self.reader.read(&file);
        }
    }
}
