//! Work done elsewhere: in processes under limits, kept warm from one request to the next.
//!
//! A worker computes answers to requests. It can be stopped at any time, and whatever becomes of
//! it, its host goes on. The program that is a worker calls [`init`] and [`serve`]; a [`Workers`]
//! starts such processes when they are needed and [leases](Workers::lease) them out, one
//! conversation at a time: a request, any number of calls back to the host, the answer. What they
//! say to each other is bytes. See [`init`] for an example.
//!
//! # Limits
//!
//! - **Time**, for each turn of the worker. Then it is killed.
//! - **Memory**, above what the worker needed when it was ready ([`baseline`]): of the address
//!   space (`RLIMIT_AS`) and of its own writable memory (`RLIMIT_DATA`). A worker that needs more
//!   ends, which is told apart from other ends by what Rust's allocator then says.
//! - **Stack**: it serves on a thread whose stack is mapped before the baseline is taken. To
//!   overflow it ends the worker.
//! - **Frames**, in both directions.
//! - It opens no file (`RLIMIT_NOFILE`, `RLIMIT_FSIZE`), starts no process (`RLIMIT_NPROC`), gains
//!   no rights (`PR_SET_NO_NEW_PRIVS`), dumps no core, and has a session, an empty environment
//!   and no descriptors besides its own: `/dev/null` twice, a pipe to complain to, an eventfd and
//!   a file that tells its size. A filter of system calls (`seccomp`) refuses the same things once
//!   more, and what the limits do not cover: changes of the file system by path, other programs,
//!   access to other processes. Where a filter cannot be set, it goes without.
//! - It dies with its host (`PR_SET_PDEATHSIG`). That is bound to the thread that has started it,
//!   so workers are started by the one that attends them, which lives as long as they do.
//!
//! These are meant for code that computes too long or too much, in a language that has no way to
//! reach the system; the filter is a second line, not a prison.
//!
//! # How fast
//!
//! The two share memory, and take turns. To say something is to write it there and to wake the
//! other; to wait is to look for a moment and then to be woken.
//!
//! FIGURES
mod attend;
mod board;
mod child;
mod confine;
mod error;
mod lease;
mod leasing;
mod pool;
mod process;
mod queue;
mod start;

pub use child::{baseline, init, is_possible, serve};
pub use error::WorkerError;
pub use lease::{Asking, Lease, Turn};
pub use leasing::Leasing;
pub use pool::{MAX_DEPTH, Workers, default_most};
pub use start::{Limits, Start};
