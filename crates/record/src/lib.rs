//! The record: an append-only log of what was refused and which exceptions were made and used.
//!
//! * [`Recorder`] appends an [`Entry`]; [`Reader`] goes backward from the newest one.
//! * [`exceptions`] stores the exceptions that a person has made.
//!
//! # Format
//!
//! The record is a directory of segments, `00000001.log` and so on. A segment is a list of frames, one a line:
//!
//! ```text
//! BODY \t SEQUENCE \t LENGTH \t HASH \n
//! ```
//!
//! `BODY` is JSON. The trailer behind it has a fixed length, so a frame can be found from its end. `HASH` is
//! BLAKE3 of the previous frame's hash, the sequence number and the BLAKE3 of the body, so every frame seals all
//! frames before it. The first frame of a segment repeats the hash that it follows on.
//!
//! A writer holds a lock on the directory and reads the previous hash from the tail of the newest segment. If
//! that tail is not a whole frame (the process or the machine died), the segment stays as it is and a new one
//! begins, which notes how many bytes were lost. Nothing is ever overwritten. A hook must not hang on the lock, so
//! the wait is bounded; after it, the entry goes to a file of its own, and the next writer moves it into the chain.
//!
//! # Limits
//!
//! A tail that is removed at the end of a frame is not noticed, and neither is a record that is written anew as a
//! whole: that would need a copy of the newest hash elsewhere. When there are more segments than
//! [`Limits::segments`], the oldest one is removed.
//!
//! ```
//! use tollgate_record::{Entry, Reader, Recorder, Revoked};
//!
//! let state = tempfile::tempdir()?;
//! let recorder = Recorder::new(state.path());
//! recorder.append(&Entry::ExceptionRevoked(Revoked { id: "7KQ2MX".parse()? }))?;
//! let newest = Reader::new(state.path()).newest(10)?;
//! assert!(matches!(&newest[0].entry, Entry::ExceptionRevoked(revoked) if revoked.id.as_str() == "7KQ2MX"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod code;
mod entry;
pub mod exceptions;
mod folder;
mod frame;
mod reader;
mod recorder;
mod segment;

pub use code::{Code, NotACode};
pub use entry::{Began, Entry, Excepted, Lost, Refused, Revoked, Stored};
pub use folder::RecordError;
pub use reader::{Checked, Damage, Entries, Reader};
pub use recorder::{Kept, Limits, Recorder};

/// The directory of the record in Tollgate's state directory.
pub const FOLDER: &str = "record";
