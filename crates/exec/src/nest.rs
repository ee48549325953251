//! The memory that a keeper lives in: two stacks, what it is told, and what it reports.

#![allow(unsafe_code)]

use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicI32, AtomicU32};

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

use crate::sweep::Scratch;

/// A part of the mapping. As large as the largest page there is, so that each can be protected.
const PART: usize = 64 * 1024;
/// Guard, the handler's stack, guard, the keeper's stack, notes.
const PARTS: usize = 5;

/// What the keeper is told, before it is started.
pub(crate) struct Task {
    pub(crate) program: *const c_char,
    pub(crate) argv: *const *const c_char,
    pub(crate) envp: *const *const c_char,
    /// Null: the directory we are in.
    pub(crate) cwd: *const c_char,
    /// What becomes descriptors 0, 1 and 2 of the handler. None of them is below 4.
    pub(crate) stdio: [c_int; 3],
    /// An eventfd to write to when the handler has ended and others have not.
    pub(crate) bell: c_int,
    /// Our own process: a keeper with another parent is one whose program has died.
    pub(crate) parent: c_int,
    /// Nanoseconds between `SIGTERM` and `SIGKILL`.
    pub(crate) grace: u64,
    /// The limit of the address space to give back to the handler, soft and hard.
    pub(crate) address_space: Option<(u64, u64)>,
}

/// What the keeper and its program tell each other while it lives.
#[derive(Default)]
pub(crate) struct Notes {
    /// To the keeper: one of the orders.
    pub(crate) order: AtomicU32,
    /// The step that the start of the handler failed at, or [`step::NONE`].
    pub(crate) failed_at: AtomicU32,
    pub(crate) errno: AtomicI32,
    /// The handler, which leads a process group of its own; 0 before it is there.
    pub(crate) handler: AtomicI32,
    /// How far things are: one of the stages.
    pub(crate) stage: AtomicU32,
    /// How the handler ended: its code, or 256 and its signal.
    pub(crate) status: AtomicI32,
    pub(crate) strays: AtomicU32,
    /// Whether some could not be killed.
    pub(crate) left: AtomicU32,
}

/// What the keeper is to do.
pub(crate) mod order {
    pub(crate) const KEEP: u32 = 0;
    /// Ask the handler to end, and kill it after the time of grace.
    pub(crate) const END: u32 = 1;
    pub(crate) const KILL: u32 = 2;
}

/// How far the keeper is.
pub(crate) mod stage {
    pub(crate) const STARTED: u32 = 0;
    /// The handler has ended, what it has left behind not yet.
    pub(crate) const SWEEPING: u32 = 1;
    /// The handler was reaped, and nothing uses the memory any more but the keeper itself.
    pub(crate) const DONE: u32 = 2;
}

/// What the start of a handler consists of.
pub(crate) mod step {
    pub(crate) const NONE: u32 = 0;
    pub(crate) const DESCRIPTORS: u32 = 1;
    pub(crate) const CLONE: u32 = 2;
    pub(crate) const CHDIR: u32 = 3;
    pub(crate) const LIMIT: u32 = 4;
    pub(crate) const EXEC: u32 = 5;
}

/// What lies at the end of the mapping.
pub(crate) struct Room {
    pub(crate) task: Task,
    pub(crate) notes: Notes,
    pub(crate) scratch: Scratch,
}

const _: () = assert!(size_of::<Room>() <= PART);

/// The mapping, which is used again for the next keeper.
pub(crate) struct Nest {
    start: *mut c_void,
}

// SAFETY: memory that is the nest's alone, and as good on one thread as on another.
unsafe impl Send for Nest {}

impl Nest {
    pub(crate) fn new() -> io::Result<Self> {
        let flags = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: a new mapping, whose place the kernel chooses.
        let start =
            unsafe { mmap_anonymous(ptr::null_mut(), PART * PARTS, ProtFlags::empty(), flags) }?;
        let nest = Self { start };
        let usable = MprotectFlags::READ | MprotectFlags::WRITE;
        // SAFETY: both ranges are within the mapping, which nothing uses yet.
        unsafe {
            mprotect(start.byte_add(PART), PART, usable)?;
            mprotect(start.byte_add(PART * 3), PART * 2, usable)?;
        }
        Ok(nest)
    }

    /// The memory for the task and the notes.
    pub(crate) fn room(&self) -> *mut Room {
        // SAFETY: within the mapping, and aligned to more than any type needs.
        unsafe { self.start.byte_add(PART * 4) }.cast()
    }

    /// The upper end of the keeper's stack.
    pub(crate) fn keeper_stack(&self) -> *mut u8 {
        self.room().cast()
    }

    /// Prepares for a keeper. The scratch memory is left as it is: zeros at first, and then what
    /// the keeper before has written.
    pub(crate) fn furnish(&mut self, task: Task) {
        let room = self.room();
        // SAFETY: the room is ours alone while no keeper runs; both fields lie within.
        unsafe {
            (&raw mut (*room).task).write(task);
            (&raw mut (*room).notes).write(Notes::default());
        }
    }

    pub(crate) fn notes(&self) -> &Notes {
        // SAFETY: written by `furnish`, or zeros, which are valid notes too; the keeper changes
        // them only by atomic operations.
        unsafe { &(*self.room()).notes }
    }

    /// Gives the memory up without freeing it: somebody may still run on it.
    pub(crate) fn abandon(self) {
        std::mem::forget(self);
    }
}

/// The upper end of the handler's stack, below the guard that is below the keeper's.
pub(crate) fn handler_stack(room: *mut Room) -> *mut u8 {
    room.cast::<u8>().wrapping_sub(PART * 2)
}

impl Drop for Nest {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and its keeper is gone.
        let _ = unsafe { munmap(self.start, PART * PARTS) };
    }
}
