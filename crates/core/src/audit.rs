//! The audit trail: every dispatch and every inspection, with secrets masked.

use std::collections::VecDeque;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Mutex, lock};

/// An entry of the audit trail. Only the runner makes one, and masks it first, so that no sink
/// ever sees a secret.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(transparent)]
pub struct AuditEntry {
    value: Value,
}

impl AuditEntry {
    pub(crate) fn new(masked: Value) -> Self {
        Self { value: masked }
    }

    /// It as JSON: `type` is `dispatch`, `inspection` or `given_up` (a dispatch whose future was
    /// dropped before its end), `at` the time in milliseconds since 1970.
    pub fn value(&self) -> &Value {
        &self.value
    }
}

/// Where the audit trail goes. Called on the path, so it must be quick; it must not panic.
pub trait AuditSink: Send + Sync + 'static {
    /// Stores an entry.
    fn write(&self, entry: &AuditEntry);
}

/// Keeps the latest entries in memory.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_core::audit::MemorySink;
/// use tollgate_core::prelude::*;
///
/// # #[tokio::main] async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let sink = Arc::new(MemorySink::new(100));
/// let runner = Runner::builder().audit(sink.clone()).build()?;
/// let session = SessionContext::new(SessionInfo::default());
/// runner.dispatch(&session, SessionStart::default()).await;
/// assert_eq!(sink.entries()[0].value()["record"]["event"], "session.start");
/// # Ok(()) }
/// ```
#[derive(Debug)]
pub struct MemorySink {
    capacity: usize,
    entries: Mutex<VecDeque<AuditEntry>>,
    forgotten: AtomicU64,
}

impl MemorySink {
    /// For at most `capacity` entries; older ones are forgotten, and counted.
    pub fn new(capacity: usize) -> Self {
        Self { capacity, entries: Mutex::default(), forgotten: AtomicU64::new(0) }
    }

    /// The entries, oldest first.
    pub fn entries(&self) -> Vec<AuditEntry> {
        lock(&self.entries).iter().cloned().collect()
    }

    /// How many were forgotten.
    pub fn forgotten(&self) -> u64 {
        self.forgotten.load(Ordering::Relaxed)
    }
}

impl AuditSink for MemorySink {
    fn write(&self, entry: &AuditEntry) {
        let mut entries = lock(&self.entries);
        entries.push_back(entry.clone());
        while entries.len() > self.capacity {
            entries.pop_front();
            self.forgotten.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Writes each entry as a line of JSON.
///
/// ```
/// use std::sync::Arc;
/// use tollgate_core::audit::JsonLines;
/// use tollgate_core::prelude::*;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let file = Vec::new(); // anything that can be written to
/// let runner = Runner::builder().audit(Arc::new(JsonLines::new(file))).build()?;
/// # Ok(()) }
/// ```
pub struct JsonLines<W> {
    writer: Mutex<W>,
    problems: Mutex<Problems>,
}

#[derive(Debug, Default)]
struct Problems {
    lost: u64,
    latest: Option<io::Error>,
}

impl<W: Write + Send> JsonLines<W> {
    /// Writes to `writer`, one entry a call and flushed.
    pub fn new(writer: W) -> Self {
        Self { writer: Mutex::new(writer), problems: Mutex::default() }
    }

    /// How many entries could not be written.
    pub fn lost(&self) -> u64 {
        lock(&self.problems).lost
    }

    /// The latest error in writing, once.
    pub fn take_error(&self) -> Option<io::Error> {
        lock(&self.problems).latest.take()
    }

    /// Gives the writer back.
    pub fn into_inner(self) -> W {
        self.writer.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

impl<W: Write + Send + 'static> AuditSink for JsonLines<W> {
    fn write(&self, entry: &AuditEntry) {
        let mut line = entry.value.to_string();
        line.push('\n');
        let mut writer = lock(&self.writer);
        let written = writer.write_all(line.as_bytes()).and_then(|()| writer.flush());
        drop(writer);
        if let Err(error) = written {
            let mut problems = lock(&self.problems);
            problems.lost += 1;
            problems.latest = Some(error);
        }
    }
}

impl<W> std::fmt::Debug for JsonLines<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JsonLines").field("problems", &self.problems).finish_non_exhaustive()
    }
}
