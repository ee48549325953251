//! The worker: what a program does when it was started as one.

use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

use rustix::io::{fcntl_dupfd_cloexec, pread};

use crate::raw;
use crate::supervisor::panic_message;
use crate::worker::board::{Board, FIRST, Look, Side, Terms, kind};
use crate::worker::confine::{confine, limit_memory};

/// The first argument of a program that is to be a worker.
pub(crate) const MARKER: &str = "--tollgate-worker";
/// Holds what its memory must hold too.
pub(crate) const VARIABLE: &str = "TOLLGATE_WORKER";

/// The code that a program exits with that was told to be a worker and has no host.
const REFUSED: i32 = 113;
/// The code of a worker that could not confine itself.
const UNCONFINED: i32 = 114;

static POSSIBLE: AtomicBool = AtomicBool::new(false);
static WORKER: OnceLock<Post> = OnceLock::new();

/// What a worker has.
struct Post {
    board: Board,
    bell: OwnedFd,
    /// Held open, as no file can be opened later on.
    statm: File,
    memory: u64,
    /// The turn that was handed over last.
    turn: AtomicU32,
}

/// Makes this program able to be its own worker. To be called at the top of `main`, before there
/// are other threads.
///
/// In a process that was started as a worker, this does not return: `work` is run, which calls
/// [`serve`]. In any other it costs a look at the arguments.
///
/// ```standalone_crate
/// use std::time::Duration;
/// use tollgate_exec::worker::{self, Limits, Start, Turn, Workers};
///
/// fn main() -> Result<(), worker::WorkerError> {
///     worker::init(|| worker::serve(|request, _call| request.to_ascii_uppercase()));
///
///     let workers = Workers::<()>::new(Start::this_program()?, Limits::default(), 2);
///     let time = Duration::from_secs(10);
///     let mut lease = workers.lease(time).wait()?;
///     let Turn::Answer(answer) = lease.ask(b"hello", time).wait()? else { unreachable!() };
///     assert_eq!(answer, b"HELLO");
///     Ok(())
/// }
/// ```
pub fn init(work: impl FnOnce() + Send + 'static) {
    if std::env::args_os().nth(1).is_some_and(|first| first == OsStr::new(MARKER)) {
        be_a_worker(work);
    }
    POSSIBLE.store(true, Ordering::Release);
}

/// Whether [`init`] was called in this process.
pub fn is_possible() -> bool {
    POSSIBLE.load(Ordering::Acquire)
}

fn be_a_worker(work: impl FnOnce() + Send + 'static) -> ! {
    let stack = match take_post() {
        Ok((post, stack)) => {
            let _ = WORKER.set(post);
            stack
        }
        Err(why) => {
            let text = format!("{MARKER} is for Tollgate itself, not to be called: {why}\n");
            let _ = raw::write(2, text.as_bytes());
            raw::exit(REFUSED);
        }
    };
    // On a stack whose size is known, whatever the limits outside are.
    let thread = thread::Builder::new().name("worker".into()).stack_size(stack);
    let code = match thread.spawn(work).map(thread::JoinHandle::join) {
        Ok(Ok(())) => 0,
        Ok(Err(_)) => 101,
        Err(error) => {
            let text = format!("there is no thread with a stack of {stack} bytes: {error}\n");
            let _ = raw::write(2, text.as_bytes());
            UNCONFINED
        }
    };
    raw::exit(code)
}

/// Looks whether this is what it was started for, and leaves everything else behind.
fn take_post() -> Result<(Post, usize), &'static str> {
    let nonce = std::env::var(VARIABLE).map_err(|_| "there is no host")?;
    let stdin = std::io::stdin();
    let (board, terms) = Board::open(&stdin).ok_or("there is no host's memory")?;
    if nonce != spell(&terms) {
        return Err("it belongs to another worker");
    }
    // Its parent is a thread that lives as long as its workers do.
    raw::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL).map_err(|_| "it would outlive its host")?;
    if raw::getppid().cast_unsigned() != terms.host {
        return Err("its host is gone");
    }
    // Not a session of its own: the scheduler may take sessions for groups, of which one does not
    // yield to the other, and a round trip would take five times as long. What a terminal sends,
    // it sends to a group.
    let _ = raw::setpgid(0, 0);
    // The thread that has started us lets no signal through, and a fault is one.
    raw::block_signals(0);
    let _ = std::env::set_current_dir("/");
    raw::set_name(c"tollgate-worker");
    let failed = "its descriptors could not be set up";
    let null = File::options().read(true).write(true).open("/dev/null").map_err(|_| failed)?;
    let statm = File::open("/proc/self/statm").map_err(|_| failed)?;
    let (bell, statm) = arrange(null, statm).ok_or(failed)?;
    one_arena();
    let stack = usize::try_from(terms.stack).unwrap_or(usize::MAX);
    let turn = AtomicU32::new(FIRST.wrapping_sub(1));
    Ok((Post { board, bell, statm: File::from(statm), memory: terms.memory, turn }, stack))
}

const BELL: i32 = 3;
const STATM: i32 = 4;
/// How many descriptors a worker has.
const DESCRIPTORS: u32 = 5;

/// Standard input and output become nothing, the bell (until now standard output) and the file
/// get their places, and all others are closed.
#[allow(unsafe_code)]
fn arrange(null: File, statm: File) -> Option<(OwnedFd, OwnedFd)> {
    // Out of the way first, should they be where others are going.
    let above = |fd: BorrowedFd<'_>| fcntl_dupfd_cloexec(fd, DESCRIPTORS.cast_signed()).ok();
    let moved = [above(std::io::stdout().as_fd())?, above(null.as_fd())?, above(statm.as_fd())?];
    drop((null, statm));
    let [bell, null, statm] = moved.each_ref().map(AsRawFd::as_raw_fd);
    raw::dup3(null, 0, 0).ok()?;
    raw::dup3(null, 1, 0).ok()?;
    raw::dup3(bell, BELL, libc::O_CLOEXEC).ok()?;
    raw::dup3(statm, STATM, libc::O_CLOEXEC).ok()?;
    drop(moved);
    // Whatever the host has let us inherit.
    raw::close_range(DESCRIPTORS, u32::MAX).ok()?;
    // SAFETY: put there a moment ago, for nobody else.
    unsafe { Some((OwnedFd::from_raw_fd(BELL), OwnedFd::from_raw_fd(STATM))) }
}

/// Has all threads allocate from one heap. Those of their own are reserved in pieces of 64 MiB,
/// which would be more than a worker may have.
fn one_arena() {
    #[cfg(target_env = "gnu")]
    {
        #[allow(unsafe_code)]
        // SAFETY: takes two numbers.
        unsafe {
            libc::mallopt(libc::M_ARENA_MAX, 1);
        }
    }
}

/// A nonce as it stands in the environment.
pub(crate) fn spell(terms: &Terms) -> String {
    let [first, second] = terms.nonce;
    format!("{first:016x}{second:016x}")
}

/// Takes the size of this worker as it is now for the new baseline, above which it may need so
/// much memory as its host allows. To be called after it has loaded what it is going to keep.
/// Returns whether it did: not outside of a worker.
pub fn baseline() -> bool {
    let Some(post) = WORKER.get() else { return false };
    let mut text = [0; 128];
    let Ok(length) = pread(&post.statm, &mut text, 0) else { return false };
    let text = text.get(..length).and_then(|text| str::from_utf8(text).ok()).unwrap_or_default();
    limit_memory(text, post.memory)
}

/// Serves the host: one request after the other, until it is gone. To be called in a worker, see
/// [`init`]; anywhere else it returns at once.
///
/// The handler gets a request, and a function by which it can call the host, any number of times,
/// before it returns its answer. From here on it can open no file and start no process, and its
/// memory is limited. If it panics, the host gets to know, and the worker ends.
pub fn serve(mut handler: impl FnMut(&[u8], &mut dyn FnMut(&[u8]) -> Vec<u8>) -> Vec<u8>) {
    let Some(post) = WORKER.get() else { return };
    if confine(u64::from(DESCRIPTORS)).is_err() || !baseline() {
        let _ = raw::write(2, b"the limits of the worker could not be set\n");
        raw::exit(UNCONFINED);
    }
    post.say(kind::READY, b"");
    let mut request = Vec::new();
    loop {
        post.hear(&mut request);
        let mut call = |bytes: &[u8]| {
            post.say_within(kind::CALL, kind::LONG_CALL, bytes);
            let mut reply = Vec::new();
            post.hear(&mut reply);
            reply
        };
        match catch_unwind(AssertUnwindSafe(|| handler(&request, &mut call))) {
            Ok(answer) => {
                post.say_within(kind::ANSWER, kind::LONG_ANSWER, &answer);
            }
            Err(panic) => {
                let message = panic_message(&*panic);
                let end = message.floor_char_boundary(PANIC.min(post.board.capacity()));
                post.say(kind::PANIC, message.get(..end).unwrap_or_default().as_bytes());
                // Who knows what state it has left things in.
                raw::exit(101);
            }
        }
        if request.capacity() > KEPT {
            request = Vec::new();
        }
    }
}

/// How much of a panic's message is passed on.
const PANIC: usize = 4096;

/// The most memory for requests that is kept from one to the next.
const KEPT: usize = 256 * 1024;

impl Post {
    fn say(&self, kind: u32, bytes: &[u8]) {
        self.board.say(Side::Worker, kind, bytes);
        let turn = self.turn.load(Ordering::Relaxed).wrapping_add(2);
        self.turn.store(turn, Ordering::Relaxed);
        if self.board.to_host(turn) {
            let _ = raw::write(self.bell.as_raw_fd(), &1_u64.to_ne_bytes());
        }
    }

    fn say_within(&self, kind: u32, too_long: u32, bytes: &[u8]) {
        let fits = bytes.len() <= self.board.capacity();
        self.say(if fits { kind } else { too_long }, bytes);
    }

    fn hear(&self, into: &mut Vec<u8>) {
        let turn = self.turn.load(Ordering::Relaxed);
        if self.board.sleep(turn) != Look::Mine {
            raw::exit(REFUSED);
        }
        self.board.hear(Side::Host, into);
    }
}
