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
//! - **Stack**: it serves on a thread whose stack is mapped before the baseline is taken, so that
//!   it takes nothing from the memory. To overflow it ends the worker.
//! - **Frames**, in both directions.
//! - It opens no file (`RLIMIT_NOFILE`, `RLIMIT_FSIZE`), starts no process (`RLIMIT_NPROC`), gains
//!   no rights (`PR_SET_NO_NEW_PRIVS`), dumps no core, and has an empty environment, a process group
//!   to itself, and no descriptors besides its own: `/dev/null` twice, a pipe to complain to, an
//!   eventfd and a file that tells its size. A filter of system calls (`seccomp`) refuses the same
//!   things once more, and what the limits do not cover: changes of the file system by path, other
//!   programs, access to other processes. Where a filter cannot be set, it goes without.
//! - It dies with its host (`PR_SET_PDEATHSIG`). That is bound to the thread that has started it,
//!   so workers are started by the one that attends them, which lives as long as they do.
//!
//! These are meant for code that computes too long or too much, in a language that has no way to
//! reach the system; the filter is a second line, not a prison.
//!
//! # How fast
//!
//! The two share memory and take turns. To say something is to write it there and to wake the other
//! by a futex. The worker waits asleep. The host looks for 50 µs, yielding in between; most answers
//! are there by then. If not, it leaves the rest to the attending thread, and its own is free. To
//! yield to a worker that goes on computing can take as long as the system lets that run at a time:
//! some milliseconds, once for such a request.
//!
//! `benches/worker.rs`, medians in µs of round trips with 500 bytes each way on a machine with two
//! processors that had other work too, by what the host did before it asked:
//!
//! | | at once | busy for 5 µs | asleep for 300 µs | asleep for 5 ms |
//! |---|---|---|---|---|
//! | socket, both sides blocking | 13–15 | 16–18 | 23–27 | 47–54 |
//! | this | 1–8 | 7–8 | 13–15 | 32–35 |
//!
//! What was tried besides, on the same machine: to look without yielding, on both sides, takes 4 µs
//! at once but 120 after a pause, as the system wakes the worker on the very processor that its host
//! does not let go of. To wait asleep with a timer (`ppoll`, or a futex with a time) is no faster
//! than the socket, and twice as slow at the 90th percentile. To wake the worker by a socket takes
//! 23 and 44 after the two pauses where the futex took 18 and 28. Workers in sessions of their own
//! took 110 after 5 ms: some systems schedule by session, and one session does not yield to another.
//!
//! To start a worker takes some 2 ms, of which the bare start of the program is most; [`init`] in
//! the host 1 µs; a lease of a worker that is there 0.3 µs.

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
