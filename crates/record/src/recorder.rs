//! Appending to the record.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use blake3::Hash;

use crate::entry::{Began, Entry, Lost};
use crate::folder::{Folder, RecordError, failed, random};
use crate::frame::{self, Frame, LONGEST_BODY, NOTHING, TRAILER};
use crate::segment::{Last, Scan, last};
use crate::{FOLDER, segment};

/// Bounds of the record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Number of bytes after which the next segment begins.
    pub segment: u64,
    /// Number of segments that are kept.
    pub segments: usize,
    /// How long the lock is waited for.
    pub patience: Duration,
    /// Number of entries that may wait for the lock in files of their own.
    pub waiting: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { segment: 1 << 20, segments: 64, patience: Duration::from_millis(200), waiting: 256 }
    }
}

/// Number of names in the directory that are looked at.
pub(crate) const MOST_NAMES: usize = 4_096;

/// Bytes of a segment's tail that are read first. Most frames are shorter.
const TAIL: u64 = 8 * 1024;

/// Time after which an entry that waits is taken for one that was never written to its end.
const ABANDONED: Duration = Duration::from_mins(1);

const LOCK: &str = "lock";

/// Where an entry was recorded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kept {
    /// In the chain, under this number.
    InChain(u64),
    /// In a file of its own, because the lock was held. The next writer moves it into the chain.
    Waiting,
}

/// Appends entries to the record.
#[derive(Debug, Clone)]
pub struct Recorder {
    folder: Folder,
    limits: Limits,
}

/// The file name of a segment.
pub(crate) fn segment_name(number: u32) -> String {
    format!("{number:08}.log")
}

/// The number of a segment.
pub(crate) fn segment_number(name: &str) -> Option<u32> {
    let digits = name.strip_suffix(".log").filter(|digits| digits.len() >= 8)?;
    digits.parse().ok()
}

/// The name of a file with an entry that waits.
pub(crate) fn waiting_name(name: &str) -> Option<String> {
    name.starts_with("wait-").then(|| name.to_owned())
}

/// Returns the body of an entry that waits. None if its file was not written to the end.
pub(crate) fn waiting_body(bytes: &[u8]) -> Option<&[u8]> {
    Frame::parse(bytes).filter(|frame| frame.follows(&NOTHING)).map(|frame| frame.body)
}

/// The largest segment that is read: the last entry may begin just below the limit.
pub(crate) fn largest(limits: &Limits) -> u64 {
    limits.segment + 2 * (LONGEST_BODY + TRAILER) as u64
}

/// The segment that is written to.
struct Open {
    file: fs::File,
    path: PathBuf,
    length: u64,
    number: u32,
    last: Last,
}

impl Recorder {
    /// Returns a recorder for Tollgate's state directory. The record is made when the first entry comes.
    pub fn new(state: &Path) -> Self {
        Self::with(state, Limits::default())
    }

    /// Returns a recorder with other bounds.
    pub fn with(state: &Path, limits: Limits) -> Self {
        Self { folder: Folder::new(state.join(FOLDER)), limits }
    }

    /// Appends an entry. When this returns, the entry is in the file system; a crash of the machine may still lose
    /// it.
    pub fn append(&self, entry: &Entry) -> Result<Kept, RecordError> {
        let body = entry.body().map_err(|error| RecordError::Io {
            path: self.folder.path().to_path_buf(),
            action: "written",
            source: error.into(),
        })?;
        if body.len() > LONGEST_BODY {
            return Err(RecordError::TooLarge(body.len()));
        }
        self.folder.make()?;
        let Some(_lock) = self.folder.lock(LOCK, self.limits.patience)? else {
            return self.wait(&body).map(|()| Kept::Waiting);
        };
        let waiting = self.waiting()?;
        let mut bodies: Vec<Vec<u8>> = Vec::with_capacity(waiting.len() + 1);
        let mut taken = Vec::new();
        for name in waiting {
            match self.folder.read(&name, (LONGEST_BODY + TRAILER) as u64) {
                Ok(Some(bytes)) if waiting_body(&bytes).is_some() => {
                    bodies.extend(waiting_body(&bytes).map(<[u8]>::to_vec));
                    taken.push(name);
                }
                Ok(Some(_)) | Err(_) if self.is_abandoned(&name) => taken.push(name),
                _ => {}
            }
        }
        bodies.push(body);
        let sequence = self.extend(&bodies)?;
        for name in taken {
            let _ = fs::remove_file(self.folder.file(&name));
        }
        Ok(Kept::InChain(sequence))
    }

    /// Writes an entry to a file of its own.
    fn wait(&self, body: &[u8]) -> Result<(), RecordError> {
        if self.waiting()?.len() >= self.limits.waiting {
            return Err(RecordError::Busy(self.folder.file(LOCK)));
        }
        let since = SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_micros();
        let name = format!("wait-{since:020}-{:016x}", random()?);
        let mut bytes = Vec::with_capacity(body.len() + TRAILER);
        frame::write(&mut bytes, body, 0, &NOTHING);
        let written = self.folder.create(&name).and_then(|mut file| file.write_all(&bytes));
        written.map_err(failed(&self.folder.file(&name), "written"))
    }

    fn waiting(&self) -> Result<Vec<String>, RecordError> {
        self.folder.names(MOST_NAMES, waiting_name)
    }

    fn is_abandoned(&self, name: &str) -> bool {
        let modified = fs::symlink_metadata(self.folder.file(name)).and_then(|it| it.modified());
        modified.ok().and_then(|time| time.elapsed().ok()).is_some_and(|age| age > ABANDONED)
    }

    /// Appends bodies to the chain, under the lock, and returns the number of the last one.
    fn extend(&self, bodies: &[Vec<u8>]) -> Result<u64, RecordError> {
        let mut open = self.newest()?;
        let mut sequence = open.last.sequence;
        for body in bodies {
            let fits = open.length + (body.len() + TRAILER) as u64 <= self.limits.segment;
            if open.length > 0 && !fits {
                let (number, last) = (open.number, open.last);
                open = self.begin(number, last, None)?;
            }
            let mut bytes = Vec::with_capacity(body.len() + TRAILER);
            sequence = open.last.sequence + 1;
            let hash = frame::write(&mut bytes, body, sequence, &open.last.hash);
            open.file.write_all(&bytes).map_err(failed(&open.path, "written"))?;
            open.length += bytes.len() as u64;
            open.last = Last { sequence, hash };
        }
        Ok(sequence)
    }

    /// Opens the newest segment at its end. Begins another one if its tail is torn.
    fn newest(&self) -> Result<Open, RecordError> {
        let numbers = self.folder.names(MOST_NAMES, segment_number)?;
        let Some(number) = numbers.last().copied() else {
            let before = Last { sequence: 0, hash: NOTHING };
            return self.begin(0, before, None);
        };
        let name = segment_name(number);
        let path = self.folder.file(&name);
        let gone = || failed(&path, "opened")(io::ErrorKind::NotFound.into());
        let file = self.folder.open(&name, true)?.ok_or_else(gone)?;
        let length = file.metadata().map_err(failed(&path, "looked at"))?.len();
        let mut tail = vec![0; usize::try_from(TAIL.min(length)).unwrap_or(0)];
        let from = length.saturating_sub(TAIL);
        file.read_exact_at(&mut tail, from).map_err(failed(&path, "read"))?;
        if let Some(last) = last(&tail) {
            return Ok(Open { file, path, length, number, last });
        }
        let scan = self.scan(&name)?;
        if let Some(last) = scan.last.filter(|_| scan.end as u64 == length) {
            return Ok(Open { file, path, length, number, last });
        }
        let torn = length.saturating_sub(scan.end as u64);
        let torn = (torn > 0).then_some(Lost { segment: number, bytes: torn });
        let last = match scan.last {
            Some(last) => last,
            None => self.last_before(&numbers)?,
        };
        self.begin(number, last, torn)
    }

    /// Returns the last genuine frame in all segments but the newest.
    fn last_before(&self, numbers: &[u32]) -> Result<Last, RecordError> {
        for number in numbers.iter().rev().skip(1) {
            if let Some(last) = self.scan(&segment_name(*number))?.last {
                return Ok(last);
            }
        }
        Ok(Last { sequence: 0, hash: NOTHING })
    }

    fn scan(&self, name: &str) -> Result<Scan, RecordError> {
        let bytes = self.folder.read(name, largest(&self.limits));
        match bytes {
            Ok(bytes) => Ok(Scan::of(&bytes.unwrap_or_default())),
            // A segment that is too large was not written by a recorder.
            Err(RecordError::Broken { .. }) => Ok(Scan::default()),
            Err(error) => Err(error),
        }
    }

    /// Begins a segment. A file that is there already is never written to.
    fn begin(&self, after: u32, last: Last, torn: Option<Lost>) -> Result<Open, RecordError> {
        let previous = Hash::to_hex(&last.hash).to_string();
        let began = Entry::Began(Began { after: last.sequence, previous, lost: torn });
        let body = began.body().map_err(|error| RecordError::Io {
            path: self.folder.path().to_path_buf(),
            action: "written",
            source: error.into(),
        })?;
        let number = after.checked_add(1).ok_or_else(|| RecordError::Broken {
            path: self.folder.path().to_path_buf(),
            message: "there are no more numbers for segments".to_owned(),
        })?;
        let path = self.folder.file(&segment_name(number));
        let created = self.folder.create(&segment_name(number));
        let mut file = created.map_err(failed(&path, "made"))?;
        let mut bytes = Vec::new();
        let sequence = last.sequence + 1;
        let hash = frame::write(&mut bytes, &body, sequence, &last.hash);
        file.write_all(&bytes).map_err(failed(&path, "written"))?;
        self.forget_oldest()?;
        let length = bytes.len() as u64;
        Ok(Open { file, path, length, number, last: segment::Last { sequence, hash } })
    }

    fn forget_oldest(&self) -> Result<(), RecordError> {
        let numbers = self.folder.names(MOST_NAMES, segment_number)?;
        let surplus = numbers.len().saturating_sub(self.limits.segments.max(2));
        for number in numbers.into_iter().take(surplus) {
            let _ = fs::remove_file(self.folder.file(&segment_name(number)));
        }
        Ok(())
    }
}
