//! The memory that a host and its worker share: whose turn it is, and what was said last.
//!
//! They take strict turns, so one number says it all: odd, the worker's turn; even, the host's.
//! Whoever has the turn owns both areas. What the other side wrote is copied before it is looked
//! at, and no length or kind is believed: a worker may have lost its mind.

#![allow(unsafe_code)]

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap, munmap};
use rustix::thread::{futex, sched_yield};

/// `TGW1`, and the number of this layout.
const MAGIC: u64 = 0x0001_5447_5731_0001;

/// Where the areas begin. As large as the largest page there is, so that each can be given back.
const HEADER: usize = 64 * 1024;

/// What a frame may be at the most, whatever is asked for.
pub(crate) const MOST: usize = 1024 * 1024 * 1024;

/// What has been used of the areas beyond this is given back.
const KEPT: usize = 256 * 1024;

/// What is said.
pub(crate) mod kind {
    /// By the host: a request, or the reply to a call.
    pub(crate) const SAID: u32 = 1;
    /// By the worker.
    pub(crate) const READY: u32 = 2;
    pub(crate) const CALL: u32 = 3;
    pub(crate) const ANSWER: u32 = 4;
    pub(crate) const PANIC: u32 = 5;
    /// The length of an answer or a call that was longer than a frame; the bytes are not there.
    pub(crate) const LONG_ANSWER: u32 = 6;
    pub(crate) const LONG_CALL: u32 = 7;
}

#[repr(C, align(64))]
struct Line<T>(T);

/// What one side says.
#[repr(C)]
struct Slot {
    kind: AtomicU32,
    length: AtomicU64,
}

#[repr(C)]
struct Header {
    magic: AtomicU64,
    nonce: [AtomicU64; 2],
    host: AtomicU32,
    capacity: AtomicU64,
    memory: AtomicU64,
    stack: AtomicU64,
    turn: Line<AtomicU32>,
    /// The worker waits for its turn in the kernel, or is about to.
    asleep: Line<AtomicU32>,
    /// The host has stopped looking, and wants the bell rung.
    ring: AtomicU32,
    to_worker: Line<Slot>,
    to_host: Line<Slot>,
}

const _: () = assert!(size_of::<Header>() <= HEADER);

/// What a worker is told when it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    pub(crate) nonce: [u64; 2],
    /// The process that must be its parent.
    pub(crate) host: u32,
    pub(crate) memory: u64,
    pub(crate) stack: u64,
}

/// What there is to say about a look at the other side's slot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) kind: u32,
    /// As it was told; of what is too long, the bytes are missing.
    pub(crate) length: u64,
    pub(crate) bytes: Vec<u8>,
}

/// Whose turn it is, seen from one who waits for his.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Look {
    Mine,
    Theirs,
    /// Neither: somebody has written over it.
    Garbled,
}

/// The memory, mapped.
pub(crate) struct Board {
    at: NonNull<u8>,
    length: usize,
    /// The most bytes of a frame.
    capacity: usize,
    /// From one area to the next.
    stride: usize,
}

// SAFETY: what is shared is atomic, or belongs to whoever has the turn; of the host's threads that
// is the one with the lease.
unsafe impl Send for Board {}
// SAFETY: as above.
unsafe impl Sync for Board {}

impl Board {
    /// A new one, and the descriptor by which the worker gets at it.
    pub(crate) fn new(frame: usize, terms: &Terms) -> io::Result<(Self, OwnedFd)> {
        let capacity = frame.min(MOST);
        let stride = capacity.div_ceil(HEADER).max(1) * HEADER;
        let length = HEADER + 2 * stride;
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let fd = memfd_create(c"tollgate-worker", flags)?;
        ftruncate(&fd, length as u64)?;
        // A worker that made it shorter would take us down at the next look.
        fcntl_add_seals(&fd, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        let board = Self::map(&fd, length, capacity, stride)?;
        let header = board.header();
        let [first, second] = terms.nonce;
        header.nonce.iter().zip([first, second]).for_each(|(to, from)| {
            to.store(from, Ordering::Relaxed);
        });
        header.host.store(terms.host, Ordering::Relaxed);
        header.capacity.store(capacity as u64, Ordering::Relaxed);
        header.memory.store(terms.memory, Ordering::Relaxed);
        header.stack.store(terms.stack, Ordering::Relaxed);
        header.turn.0.store(FIRST, Ordering::Relaxed);
        // Nobody waits for it to be ready by looking.
        header.ring.store(1, Ordering::Relaxed);
        header.magic.store(MAGIC, Ordering::Release);
        Ok((board, fd))
    }

    /// The worker's view of one. Nothing: it is none.
    pub(crate) fn open(fd: impl AsFd) -> Option<(Self, Terms)> {
        let length = usize::try_from(fstat(&fd).ok()?.st_size).ok()?;
        let stride = length.checked_sub(HEADER)? / 2;
        if stride == 0 || stride > MOST {
            return None;
        }
        let mut board = Self::map(&fd, length, 0, stride).ok()?;
        if board.header().magic.load(Ordering::Acquire) != MAGIC {
            return None;
        }
        board.capacity = usize::try_from(board.header().capacity.load(Ordering::Relaxed))
            .ok()
            .filter(|capacity| *capacity <= stride)?;
        let header = board.header();
        let [first, second] = &header.nonce;
        let terms = Terms {
            nonce: [first.load(Ordering::Relaxed), second.load(Ordering::Relaxed)],
            host: header.host.load(Ordering::Relaxed),
            memory: header.memory.load(Ordering::Relaxed),
            stack: header.stack.load(Ordering::Relaxed),
        };
        Some((board, terms))
    }

    fn map(fd: impl AsFd, length: usize, capacity: usize, stride: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at a place of the kernel's choice.
        let at = unsafe { mmap(ptr::null_mut(), length, protection, flags, fd, 0) }?;
        let at = NonNull::new(at.cast()).ok_or(Errno::NOMEM)?;
        Ok(Self { at, length, capacity, stride })
    }

    fn header(&self) -> &Header {
        // SAFETY: mapped for as long as we are, aligned to a page, and all of it is atomic.
        unsafe { self.at.cast().as_ref() }
    }

    fn area(&self, of: Side) -> *mut u8 {
        let offset = match of {
            Side::Host => HEADER,
            Side::Worker => HEADER + self.stride,
        };
        // SAFETY: within the mapping.
        unsafe { self.at.as_ptr().add(offset) }
    }

    fn slot(&self, of: Side) -> &Slot {
        match of {
            Side::Host => &self.header().to_worker.0,
            Side::Worker => &self.header().to_host.0,
        }
    }

    /// The most bytes that can be said at once.
    pub(crate) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Writes down what one side says. What does not fit is not written, only its length.
    pub(crate) fn say(&self, by: Side, kind: u32, bytes: &[u8]) {
        let slot = self.slot(by);
        slot.kind.store(kind, Ordering::Relaxed);
        slot.length.store(bytes.len() as u64, Ordering::Relaxed);
        if bytes.len() <= self.capacity {
            // SAFETY: the area is as large, and belongs to whoever has the turn, which is us.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.area(by), bytes.len()) };
        }
    }

    /// Copies what one side has said into `into`, and returns its kind and its length.
    pub(crate) fn hear(&self, by: Side, into: &mut Vec<u8>) -> (u32, u64) {
        let slot = self.slot(by);
        let kind = slot.kind.load(Ordering::Relaxed);
        let told = slot.length.load(Ordering::Relaxed);
        into.clear();
        if let Ok(length) = usize::try_from(told)
            && length <= self.capacity
        {
            into.reserve(length);
            // SAFETY: the area is at least as large, and so is now the room in the vector. Nobody
            // writes to it while it is our turn; from a worker that does so all the same we get
            // some other bytes.
            unsafe {
                ptr::copy_nonoverlapping(self.area(by), into.as_mut_ptr(), length);
                into.set_len(length);
            }
        }
        (kind, told)
    }

    /// What the worker has said.
    pub(crate) fn hear_worker(&self) -> Said {
        let mut bytes = Vec::new();
        let (kind, length) = self.hear(Side::Worker, &mut bytes);
        Said { kind, length, bytes }
    }

    /// Looks whether the turn after `mine` has come.
    #[inline]
    pub(crate) fn look(&self, waited_since: u32) -> Look {
        let turn = self.header().turn.0.load(Ordering::SeqCst);
        if turn == waited_since.wrapping_add(1) {
            Look::Mine
        } else if turn == waited_since {
            Look::Theirs
        } else {
            Look::Garbled
        }
    }

    /// The host hands the turn over, and is going to look for it. Wakes the worker if that is asleep.
    pub(crate) fn to_worker(&self, turn: u32) {
        let header = self.header();
        header.ring.store(0, Ordering::Relaxed);
        header.turn.0.store(turn, Ordering::SeqCst);
        if header.asleep.0.swap(0, Ordering::SeqCst) != 0 {
            let _ = futex::wake(&header.turn.0, futex::Flags::empty(), 1);
        }
    }

    /// The worker hands the turn over. Returns whether the bell is to be rung.
    pub(crate) fn to_host(&self, turn: u32) -> bool {
        let header = self.header();
        header.turn.0.store(turn, Ordering::SeqCst);
        header.ring.swap(0, Ordering::SeqCst) != 0
    }

    /// The host asks for the bell. It has to look once more after this.
    pub(crate) fn want_bell(&self) {
        self.header().ring.store(1, Ordering::SeqCst);
    }

    /// The worker waits for its turn, for as long as it takes.
    pub(crate) fn sleep(&self, waited_since: u32) -> Look {
        let header = self.header();
        loop {
            match self.look(waited_since) {
                Look::Theirs => {}
                look => return look,
            }
            header.asleep.0.store(1, Ordering::SeqCst);
            let _ = futex::wait(&header.turn.0, futex::Flags::empty(), waited_since, None);
        }
    }

    /// The host waits for its turn, for a moment: without a timer, which costs more than the wait,
    /// but yielding, as the worker may need this very processor. If it goes on to need it, the
    /// moment is as long as the system lets it run at a time.
    pub(crate) fn linger(&self, waited_since: u32, moment: Duration) -> Look {
        let began = Instant::now();
        loop {
            for _ in 0..LOOKS {
                match self.look(waited_since) {
                    Look::Theirs => std::hint::spin_loop(),
                    look => return look,
                }
            }
            if began.elapsed() >= moment {
                return Look::Theirs;
            }
            sched_yield();
        }
    }

    /// Gives back the memory of large frames. To be called by whoever has the turn.
    pub(crate) fn shrink(&self) {
        if self.stride <= KEPT {
            return;
        }
        for side in [Side::Host, Side::Worker] {
            // SAFETY: within the mapping and aligned; what was said there has been heard.
            let _ = unsafe {
                let rest = self.area(side).add(KEPT);
                madvise(rest.cast(), self.stride - KEPT, Advice::LinuxRemove)
            };
        }
    }

    /// Whether something of this length is worth to [`shrink`](Self::shrink) for.
    pub(crate) const fn is_large(length: usize) -> bool {
        length > KEPT
    }
}

/// How often the host looks before it yields, which is some hundreds of nanoseconds.
const LOOKS: u32 = 20;

/// The turn that a board begins with: the worker's, to say that it is ready.
pub(crate) const FIRST: u32 = 1;

/// Who says something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Host,
    Worker,
}

impl Drop for Board {
    fn drop(&mut self) {
        // SAFETY: mapped by us, and nobody has a reference into it any more.
        let _ = unsafe { munmap(self.at.as_ptr().cast(), self.length) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TERMS: Terms = Terms { nonce: [3, 4], host: 5, memory: 6, stack: 7 };

    fn both() -> (Board, Board) {
        let (host, fd) = Board::new(100_000, &TERMS).unwrap();
        let (worker, terms) = Board::open(&fd).unwrap();
        assert_eq!(terms, TERMS);
        (host, worker)
    }

    #[test]
    fn they_take_turns() {
        let (host, worker) = both();
        assert_eq!(host.look(FIRST), Look::Theirs);
        worker.say(Side::Worker, kind::READY, b"");
        assert!(worker.to_host(FIRST + 1));
        assert_eq!(host.look(FIRST), Look::Mine);
        host.say(Side::Host, kind::SAID, b"hello");
        host.to_worker(FIRST + 2);
        assert_eq!(worker.sleep(FIRST + 1), Look::Mine);
        let mut heard = Vec::new();
        assert_eq!(worker.hear(Side::Host, &mut heard), (kind::SAID, 5));
        assert_eq!(heard, b"hello");
        assert!(!worker.to_host(FIRST + 3));
        host.want_bell();
        assert!(worker.to_host(FIRST + 3));
        assert_eq!(host.look(FIRST), Look::Garbled);
    }

    #[test]
    fn what_does_not_fit_is_not_said() {
        let (host, worker) = both();
        let long = vec![1; worker.capacity() + 1];
        worker.say(Side::Worker, kind::LONG_ANSWER, &long);
        let said = host.hear_worker();
        assert_eq!((said.kind, said.length), (kind::LONG_ANSWER, long.len() as u64));
        assert!(said.bytes.is_empty());
        let all = vec![2; worker.capacity()];
        worker.say(Side::Worker, kind::ANSWER, &all);
        assert_eq!(host.hear_worker().bytes, all);
        host.shrink();
        assert_eq!(host.hear_worker().bytes.len(), all.len());
    }

    #[test]
    fn other_files_are_no_boards() {
        let file = tempfile::tempfile().unwrap();
        assert!(Board::open(&file).is_none());
        file.set_len((HEADER * 3) as u64).unwrap();
        assert!(Board::open(&file).is_none());
        assert!(Board::open(std::fs::File::open("/dev/null").unwrap()).is_none());
    }
}
