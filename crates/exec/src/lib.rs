//! Runs commands: within their time, and without leaving anything behind.
//!
//! A command gets bytes on its standard input, and what it prints is collected. One deadline
//! covers all of it: the wait for a free slot, the start, writing, reading and the end. Whatever
//! the command does, it and all it started are gone afterwards: processes that outlive it, that
//! leave its group or session, that ignore `SIGTERM` or that hold its output open.
//!
//! ```
//! use std::time::Duration;
//! use tollgate_exec::{Command, Executor, Input, Limits, Status};
//!
//! let command = Command::shell("/bin/sh", "tr a-z A-Z; exit 3");
//! let input = Input::new(*b"hello", Duration::from_secs(10));
//! let finished = Executor::shared().run(&command, input, Limits::default()).wait()?;
//! assert_eq!(finished.status, Status::Exited(3));
//! assert_eq!(finished.stdout, b"HELLO");
//! # Ok::<(), tollgate_exec::ExecError>(())
//! ```
//!
//! [`Executor::run`] returns a future for any async runtime. For a program that is itself run as a
//! command, for one answer, there is [`supervise`]. A program that is spoken to while it runs is a [`Service`]. Work that is asked for again and again is done
//! by [workers](worker): processes under limits that stay.
//!
//! # How
//!
//! Each command is watched by a small process of its own, the *keeper* (`keeper.rs`), which shares
//! our memory and therefore costs no more than a thread. It is the subreaper of what the command
//! starts, so all of that becomes its child in the end, wherever it has hidden, and is found
//! (`sweep.rs`). It notices when we die, even by `SIGKILL`, and ends the command then.
//!
//! What this cannot do: find what a command has moved out of its session if it kills or stops its
//! own keeper, which is its parent; kill processes of another user (`sudo` in a command) unless run as root,
//! or anything if `/proc` is missing and the process has left its group. An answer then says that
//! something was left behind.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("tollgate-exec runs on Linux, on x86-64 and 64-bit ARM");

mod attend;
mod command;
mod excerpt;
mod executor;
mod failure;
mod frame;
mod keeper;
mod memory;
mod nest;
mod outcome;
mod pipes;
mod raw;
mod running;
mod service;
mod supervisor;
mod sweep;
pub mod worker;

pub use command::{Command, Environment, find_program};
pub use executor::{DEFAULT_AT_ONCE, Executor, Input, Limits};
pub use memory::MemoryBound;
pub use outcome::{ExecError, Finished, Status, signal_name};
pub use running::Running;
pub use service::{Service, Streams};
pub use supervisor::{Answer, Ended, Plan, SuperviseError, supervise};
