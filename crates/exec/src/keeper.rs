//! The keeper: a process between us and the handler, that lives as long as the handler does.
//!
//! It does what cannot be done from within the program. As a subreaper it becomes the parent of
//! whatever the handler leaves behind, so it can find and reap it. And it outlives the program:
//! if that is killed, the keeper kills the handler.
//!
//! A process of its own usually means to copy all page tables, which takes longer the larger the
//! program is. The keeper shares our memory instead, like a thread. That is why nothing here may
//! allocate, panic, take a lock or use a thread-local variable: all of these belong to the
//! program's threads (see [`crate::raw`]). Descriptors, signal actions and the working directory
//! are its own.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::atomic::Ordering;

use crate::nest::{Nest, Notes, Room, Task, handler_stack, order, stage, step};
use crate::raw::{self, End, Waited};
use crate::sweep;

/// How long the keeper goes on trying to kill what does not die.
pub(crate) const PERSISTENCE: u64 = 5_000_000_000;

/// How often the keeper looks for an order or for the death of its program, should the signal
/// about it not arrive: the program may have changed its user since.
const TICK: u64 = 1_000_000_000;

/// The code that [`Notes::status`] adds to a signal.
pub(crate) const SIGNALED: i32 = 256;

/// Starts a keeper in `nest`, and returns a handle to wait for it by.
///
/// It does not announce its end by a signal, and only a wait for all kinds of children (`__WALL`)
/// sees it: neither the program's handler of `SIGCHLD` nor its `waitpid(-1)` gets to know of it.
///
/// All signals must be blocked in the calling thread. SAFETY of a call: what the task points to
/// must stay as it is until the keeper is gone, and the nest must have been furnished.
pub(crate) unsafe fn start(nest: &mut Nest) -> io::Result<OwnedFd> {
    let mut pidfd: c_int = -1;
    let flags = libc::CLONE_VM | libc::CLONE_PIDFD;
    // SAFETY: the stack belongs to the nest, which outlives the keeper, and `keep` keeps to the
    // rules for code that runs beside the program's threads.
    unsafe {
        raw::clone_on(flags, nest.keeper_stack(), &raw mut pidfd, keep, nest.room().cast())
            .map_err(io::Error::from_raw_os_error)?;
        Ok(OwnedFd::from_raw_fd(pidfd))
    }
}

/// The keeper.
extern "C" fn keep(room: *mut c_void) -> ! {
    let room: *mut Room = room.cast();
    // SAFETY: written before the keeper was started. The task is only read from now on, the notes
    // are atomic, and the scratch memory is used by nobody else.
    let (task, notes, scratch) = unsafe { (&(*room).task, &(*room).notes, &mut (*room).scratch) };
    raw::block_signals(raw::ALL_SIGNALS);
    // No handler of the program may run here or in the handler, and what the program ignores
    // (often SIGPIPE) is not for the handler to ignore.
    for signal in 1..=64 {
        raw::reset_signal(signal);
    }
    raw::set_name(c"tollgate-keeper");
    let _ = raw::prctl(libc::PR_SET_CHILD_SUBREAPER, 1);
    // Out of the program's session: a signal to its process group is not for the keeper, and the
    // handler has no terminal to stop at.
    let _ = raw::setsid();
    let _ = raw::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);

    let Some(handler) = begin(room, task, notes) else {
        notes.stage.store(stage::DONE, Ordering::Release);
        raw::exit(0);
    };
    let Some(end) = watch(task, notes, handler) else {
        notes.left.store(1, Ordering::Relaxed);
        raw::exit(0);
    };
    let status = match end {
        End::Exited(code) => code & 0xff,
        End::Signaled(signal) => SIGNALED.wrapping_add(signal),
    };
    notes.status.store(status, Ordering::Relaxed);
    // The dead handler still holds the number of its group, so this cannot hit another one.
    let _ = raw::kill(handler.wrapping_neg(), libc::SIGKILL);
    let _ = raw::wait(libc::P_PID, handler, 0);
    let swept = sweep::sweep(scratch, &[], PERSISTENCE, |killed| {
        notes.strays.store(killed, Ordering::Relaxed);
        notes.stage.store(stage::SWEEPING, Ordering::Release);
        let _ = raw::write(BELL, &1_u64.to_ne_bytes());
    });
    notes.strays.store(swept.killed, Ordering::Relaxed);
    notes.left.store(u32::from(swept.left), Ordering::Relaxed);
    notes.stage.store(stage::DONE, Ordering::Release);
    raw::exit(0)
}

/// The place of the bell among the keeper's descriptors.
const BELL: c_int = 3;

/// Starts the handler.
fn begin(room: *mut Room, task: &Task, notes: &Notes) -> Option<c_int> {
    let failed = |step, errno| {
        notes.errno.store(errno, Ordering::Relaxed);
        notes.failed_at.store(step, Ordering::Relaxed);
    };
    let [stdin, stdout, stderr] = task.stdio;
    // The keeper gets rid of the program's descriptors before anything else can hold on to them.
    let descriptors = raw::dup3(stdin, 0, 0)
        .and_then(|_| raw::dup3(stdout, 1, 0))
        .and_then(|_| raw::dup3(stderr, 2, 0))
        .and_then(|_| raw::dup3(task.bell, BELL, libc::O_CLOEXEC))
        .and_then(|_| raw::close_range(4, u32::MAX));
    if let Err(errno) = descriptors {
        failed(step::DESCRIPTORS, errno);
        return None;
    }
    let flags = libc::CLONE_VM | libc::SIGCHLD;
    // SAFETY: the handler has a stack of its own, which is not used again before the keeper has
    // reaped it; `become_handler` keeps to the rules of this module.
    let made = unsafe {
        raw::clone_on(flags, handler_stack(room), std::ptr::null_mut(), become_handler, room.cast())
    };
    match made {
        Ok(handler) => {
            notes.handler.store(handler, Ordering::Release);
            // Both sides do this, so that the group is there whoever comes first.
            let _ = raw::setpgid(handler, handler);
            let _ = raw::close_range(0, 2);
            Some(handler)
        }
        Err(errno) => {
            failed(step::CLONE, errno);
            None
        }
    }
}

/// What is left to do on the way to the handler's program.
extern "C" fn become_handler(room: *mut c_void) -> ! {
    let room: *mut Room = room.cast();
    // SAFETY: as in the keeper.
    let (task, notes) = unsafe { (&(*room).task, &(*room).notes) };
    let failed = |step, errno| {
        notes.errno.store(errno, Ordering::Relaxed);
        notes.failed_at.store(step, Ordering::Release);
        raw::exit(127)
    };
    let _ = raw::setpgid(0, 0);
    // Should the keeper be killed, at least the handler goes with it.
    let _ = raw::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
    // SAFETY: null was ruled out, and the task's strings end in NUL.
    if !task.cwd.is_null()
        && let Err(errno) = unsafe { raw::chdir(task.cwd) }
    {
        failed(step::CHDIR, errno);
    }
    if let Some((soft, hard)) = task.address_space
        && let Err(errno) = raw::set_limit(libc::RLIMIT_AS, soft, hard)
    {
        failed(step::LIMIT, errno);
    }
    raw::block_signals(0);
    let mut tries = 0_u32;
    loop {
        // SAFETY: the task's strings end in NUL, and its arrays in null.
        let errno = unsafe { raw::execve(task.program, task.argv, task.envp) };
        // A file that was just written may still be open in a process that another thread is
        // about to start, for the moment until that executes a program of its own.
        if errno != libc::ETXTBSY || tries >= 20 {
            failed(step::EXEC, errno);
        }
        tries = tries.wrapping_add(1);
        raw::wait_for_signal(0, 5_000_000);
    }
}

/// Waits for the end of the handler, which it brings about when told to or when the program is no
/// more. The handler is left to be reaped. Returns nothing if it could not be killed.
fn watch(task: &Task, notes: &Notes, handler: c_int) -> Option<End> {
    let group = handler.wrapping_neg();
    let signals = raw::signal_set(libc::SIGCHLD) | raw::signal_set(libc::SIGTERM);
    let (mut end_by, mut killed_at) = (None, None);
    let mut pause = TICK;
    // The program may have died before its death would have been announced.
    let mut look = raw::getppid() != task.parent;
    loop {
        if !look {
            look = raw::wait_for_signal(signals, pause) != Some(libc::SIGCHLD);
        }
        if let Waited::Ended(_, end) = raw::wait(libc::P_PID, handler, libc::WNOWAIT) {
            return Some(end);
        }
        if !std::mem::take(&mut look) && end_by.is_none() {
            continue;
        }
        let order = notes.order.load(Ordering::Acquire);
        if order == order::KEEP && raw::getppid() == task.parent {
            continue;
        }
        let now = raw::now();
        let ends = *end_by.get_or_insert_with(|| {
            if order != order::KILL {
                let _ = raw::kill(group, libc::SIGTERM);
                // Whoever was stopped cannot see the signal.
                let _ = raw::kill(group, libc::SIGCONT);
            }
            now.saturating_add(task.grace)
        });
        if order == order::KILL || now >= ends {
            let since = *killed_at.get_or_insert(now);
            let _ = raw::kill(group, libc::SIGKILL);
            let _ = raw::kill(handler, libc::SIGKILL);
            if now.wrapping_sub(since) > PERSISTENCE {
                return None;
            }
            pause = 20_000_000;
        } else {
            pause = ends.wrapping_sub(now);
        }
    }
}
