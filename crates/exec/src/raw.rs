//! System calls without a C library around them.
//!
//! The keeper shares our memory, and with it the thread-local variables of the thread that made
//! it. `errno` is one of those, so nothing here goes through libc: each call is one instruction,
//! and its error is what it returns.

#![allow(unsafe_code)]
// Arguments and results travel in registers, whatever they are.
#![allow(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss,
    clippy::many_single_char_names
)]

use std::arch::asm;
use std::ffi::{CStr, c_char, c_int, c_long, c_void};

/// Each signal there is, as the kernel counts them.
pub(crate) const ALL_SIGNALS: u64 = u64::MAX;

/// The two with which the C library tells all threads of a change of user.
pub(crate) const OF_THE_C_LIBRARY: u64 = signal_set(32) | signal_set(33);

/// What a system call returned: its value, or its error number.
pub(crate) type Sys<T = usize> = Result<T, c_int>;

/// A process or a descriptor.
fn id(returned: usize) -> c_int {
    returned as c_int
}

/// The set that holds one signal.
pub(crate) const fn signal_set(signal: c_int) -> u64 {
    1 << (signal - 1)
}

/// SAFETY of a call: the arguments must be what the system call `number` asks for.
#[cfg(target_arch = "x86_64")]
#[inline]
pub(crate) unsafe fn call(number: c_long, args: [usize; 6]) -> Sys {
    let [a, b, c, d, e, f] = args;
    let returned: isize;
    // SAFETY: the kernel changes rax, rcx and r11 only; the rest is up to the caller.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => returned,
            in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e, in("r9") f,
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    outcome(returned)
}

/// SAFETY of a call: the arguments must be what the system call `number` asks for.
#[cfg(target_arch = "aarch64")]
#[inline]
pub(crate) unsafe fn call(number: c_long, args: [usize; 6]) -> Sys {
    let [a, b, c, d, e, f] = args;
    let returned: isize;
    // SAFETY: the kernel changes x0 only; the rest is up to the caller.
    unsafe {
        asm!(
            "svc 0",
            in("x8") number,
            inlateout("x0") a as isize => returned,
            in("x1") b, in("x2") c, in("x3") d, in("x4") e, in("x5") f,
            options(nostack),
        );
    }
    outcome(returned)
}

/// Starts a process that shares our memory and runs `entry(arg)` on a stack of its own.
///
/// SAFETY of a call: `stack` must be the upper end, aligned to 16 bytes, of memory that nothing
/// else uses until the new process is gone or has executed another program; `pidfd` must be
/// null or, with `CLONE_PIDFD`, fit to be written to. `entry` must touch no thread-local
/// variable, take no lock, allocate nothing and not unwind.
#[cfg(target_arch = "x86_64")]
pub(crate) unsafe fn clone_on(
    flags: c_int,
    stack: *mut u8,
    pidfd: *mut c_int,
    entry: extern "C" fn(*mut c_void) -> !,
    arg: *mut c_void,
) -> Sys<c_int> {
    let returned: isize;
    // SAFETY: in the caller's process this is a system call like any other. In the new one all
    // registers but rax, rcx, r11 and rsp are the same, and it leaves this code for good.
    unsafe {
        asm!(
            "syscall",
            "test rax, rax",
            "jnz 2f",
            "xor ebp, ebp",
            "mov rdi, r12",
            "call r9",
            "ud2",
            "2:",
            inlateout("rax") libc::SYS_clone as isize => returned,
            in("rdi") i64::from(flags), in("rsi") stack, in("rdx") pidfd,
            in("r10") 0_usize, in("r8") 0_usize,
            in("r9") entry, in("r12") arg,
            lateout("rcx") _, lateout("r11") _,
        );
    }
    outcome(returned).map(id)
}

/// As on x86-64: see there.
#[cfg(target_arch = "aarch64")]
pub(crate) unsafe fn clone_on(
    flags: c_int,
    stack: *mut u8,
    pidfd: *mut c_int,
    entry: extern "C" fn(*mut c_void) -> !,
    arg: *mut c_void,
) -> Sys<c_int> {
    let returned: isize;
    // SAFETY: in the caller's process this is a system call like any other. In the new one all
    // registers but x0 and sp are the same, and it leaves this code for good.
    unsafe {
        asm!(
            "svc 0",
            "cbnz x0, 2f",
            "mov x29, xzr",
            "mov x0, x7",
            "blr x6",
            "brk 1",
            "2:",
            in("x8") libc::SYS_clone,
            inlateout("x0") flags as isize => returned,
            in("x1") stack, in("x2") pidfd, in("x3") 0_usize, in("x4") 0_usize,
            in("x6") entry, in("x7") arg,
        );
    }
    outcome(returned).map(id)
}

/// The kernel returns an error as its number, negated, in the last page of the address space.
#[inline]
fn outcome(returned: isize) -> Sys {
    if (-4095..0).contains(&returned) {
        Err(returned.wrapping_neg() as c_int)
    } else {
        Ok(returned as usize)
    }
}

pub(crate) fn exit(code: c_int) -> ! {
    loop {
        // SAFETY: `exit_group` takes one number, and does not come back.
        let _ = unsafe { call(libc::SYS_exit_group, [code as usize, 0, 0, 0, 0, 0]) };
    }
}

pub(crate) fn getpid() -> c_int {
    // SAFETY: takes nothing.
    unsafe { call(libc::SYS_getpid, [0; 6]) }.map_or(0, id)
}

pub(crate) fn getppid() -> c_int {
    // SAFETY: takes nothing.
    unsafe { call(libc::SYS_getppid, [0; 6]) }.map_or(0, id)
}

pub(crate) fn signalfd(set: u64) -> Sys<c_int> {
    let (new, flags) = (usize::MAX, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
    // SAFETY: points to a set of eight bytes.
    unsafe { call(libc::SYS_signalfd4, [new, &raw const set as usize, 8, flags as usize, 0, 0]) }
        .map(id)
}

pub(crate) fn setsid() -> Sys {
    // SAFETY: takes nothing.
    unsafe { call(libc::SYS_setsid, [0; 6]) }
}

pub(crate) fn setpgid(pid: c_int, group: c_int) -> Sys {
    // SAFETY: takes two numbers.
    unsafe { call(libc::SYS_setpgid, [pid as usize, group as usize, 0, 0, 0, 0]) }
}

pub(crate) fn kill(pid: c_int, signal: c_int) -> Sys {
    // SAFETY: takes two numbers.
    unsafe { call(libc::SYS_kill, [pid as usize, signal as usize, 0, 0, 0, 0]) }
}

pub(crate) fn prctl(option: c_int, value: c_int) -> Sys {
    // SAFETY: the options used here take one number.
    unsafe { call(libc::SYS_prctl, [option as usize, value as usize, 0, 0, 0, 0]) }
}

/// Names this process in the eyes of `ps`: 15 bytes count.
pub(crate) fn set_name(name: &CStr) {
    // SAFETY: a string that ends in NUL.
    let _ = unsafe {
        call(libc::SYS_prctl, [libc::PR_SET_NAME as usize, name.as_ptr() as usize, 0, 0, 0, 0])
    };
}

/// Sets the mask of blocked signals.
pub(crate) fn block_signals(set: u64) {
    change_mask(libc::SIG_SETMASK, set);
}

/// Adds to the mask of blocked signals, and returns what it was before.
pub(crate) fn block_more_signals(set: u64) -> u64 {
    change_mask(libc::SIG_BLOCK, set)
}

fn change_mask(how: c_int, set: u64) -> u64 {
    let mut before = 0_u64;
    let (new, old) = (&raw const set, &raw mut before);
    // SAFETY: both point to a set of eight bytes, which is the size passed on.
    let _ = unsafe {
        call(libc::SYS_rt_sigprocmask, [how as usize, new as usize, old as usize, 8, 0, 0])
    };
    before
}

/// Gives a signal its default action.
pub(crate) fn reset_signal(signal: c_int) {
    // The kernel's `sigaction`: action, flags, restorer, mask. All zero is the default action.
    let action = [0_u64; 4];
    // SAFETY: points to memory at least as large as the structure, with a set of eight bytes.
    let _ = unsafe {
        call(libc::SYS_rt_sigaction, [signal as usize, action.as_ptr() as usize, 0, 8, 0, 0])
    };
}

/// Waits for one of the (blocked) signals of a set, for some nanoseconds at the most.
pub(crate) fn wait_for_signal(set: u64, nanos: u64) -> Option<c_int> {
    let time = [(nanos / 1_000_000_000).cast_signed(), (nanos % 1_000_000_000).cast_signed()];
    let (set, time) = (&raw const set, time.as_ptr());
    // SAFETY: a set of eight bytes, and a timespec of two 64-bit numbers.
    unsafe { call(libc::SYS_rt_sigtimedwait, [set as usize, 0, time as usize, 8, 0, 0]) }
        .ok()
        .map(id)
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now() -> u64 {
    let mut time = [0_u64; 2];
    // SAFETY: points to a timespec of two 64-bit numbers.
    let _ = unsafe {
        call(
            libc::SYS_clock_gettime,
            [libc::CLOCK_MONOTONIC as usize, time.as_mut_ptr() as usize, 0, 0, 0, 0],
        )
    };
    let [seconds, nanos] = time;
    seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos)
}

/// Puts `from` at the place of `to`, which stays open across an `execve` unless told otherwise.
pub(crate) fn dup3(from: c_int, to: c_int, flags: c_int) -> Sys {
    // SAFETY: takes three numbers. Callers own the table of descriptors they change.
    unsafe { call(libc::SYS_dup3, [from as usize, to as usize, flags as usize, 0, 0, 0]) }
}

pub(crate) fn close(fd: c_int) {
    // SAFETY: takes a number. Callers own the descriptor.
    let _ = unsafe { call(libc::SYS_close, [fd as usize, 0, 0, 0, 0, 0]) };
}

pub(crate) fn close_range(first: u32, last: u32) -> Sys {
    // SAFETY: takes numbers. Callers own the table of descriptors they change.
    unsafe { call(libc::SYS_close_range, [first as usize, last as usize, 0, 0, 0, 0]) }
}

pub(crate) fn open(dir: c_int, path: &CStr, flags: c_int) -> Sys<c_int> {
    // SAFETY: a string that ends in NUL.
    unsafe {
        call(libc::SYS_openat, [dir as usize, path.as_ptr() as usize, flags as usize, 0, 0, 0])
    }
    .map(id)
}

pub(crate) fn read(fd: c_int, into: &mut [u8]) -> Sys {
    // SAFETY: the kernel writes `into.len()` bytes at the most.
    unsafe { call(libc::SYS_read, [fd as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0]) }
}

pub(crate) fn write(fd: c_int, bytes: &[u8]) -> Sys {
    // SAFETY: the kernel reads `bytes.len()` bytes at the most.
    unsafe { call(libc::SYS_write, [fd as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0]) }
}

pub(crate) fn read_link(path: &CStr, into: &mut [u8]) -> Sys {
    let at = libc::AT_FDCWD as usize;
    // SAFETY: a string that ends in NUL; the kernel writes `into.len()` bytes at the most.
    unsafe {
        call(
            libc::SYS_readlinkat,
            [at, path.as_ptr() as usize, into.as_mut_ptr() as usize, into.len(), 0, 0],
        )
    }
}

pub(crate) fn read_directory(fd: c_int, into: &mut [u8]) -> Sys {
    // SAFETY: the kernel writes `into.len()` bytes at the most.
    unsafe {
        call(libc::SYS_getdents64, [fd as usize, into.as_mut_ptr() as usize, into.len(), 0, 0, 0])
    }
}

pub(crate) fn pidfd_open(pid: c_int) -> Sys<c_int> {
    // SAFETY: takes two numbers.
    unsafe { call(libc::SYS_pidfd_open, [pid as usize, 0, 0, 0, 0, 0]) }.map(id)
}

pub(crate) fn pidfd_kill(pidfd: c_int, signal: c_int) -> Sys {
    // SAFETY: takes numbers, and null for the details of the signal.
    unsafe { call(libc::SYS_pidfd_send_signal, [pidfd as usize, signal as usize, 0, 0, 0, 0]) }
}

/// SAFETY of a call: `path` must be null or a string that ends in NUL.
pub(crate) unsafe fn chdir(path: *const c_char) -> Sys {
    // SAFETY: see above.
    unsafe { call(libc::SYS_chdir, [path as usize, 0, 0, 0, 0, 0]) }
}

/// Returns the error number, if it returns.
///
/// SAFETY of a call: a string that ends in NUL, and two arrays of such strings that end in null.
pub(crate) unsafe fn execve(
    program: *const c_char,
    argv: *const *const c_char,
    envp: *const *const c_char,
) -> c_int {
    // SAFETY: see above.
    unsafe { call(libc::SYS_execve, [program as usize, argv as usize, envp as usize, 0, 0, 0]) }
        .err()
        .unwrap_or(0)
}

pub(crate) fn set_limit(resource: libc::__rlimit_resource_t, soft: u64, hard: u64) -> Sys {
    let limit = [soft, hard];
    // SAFETY: points to a limit of two 64-bit numbers; the old one is not asked for.
    unsafe { call(libc::SYS_prlimit64, [0, resource as usize, limit.as_ptr() as usize, 0, 0, 0]) }
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    Exited(c_int),
    Signaled(c_int),
}

/// What [`wait`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Waited {
    /// This process has ended.
    Ended(c_int, End),
    /// There is something to wait for, and it still runs.
    Alive,
    /// There is nothing to wait for.
    Nobody,
}

/// Looks, without waiting, whether a child has ended, of any kind and made by any thread.
///
/// `which` is one of `P_PID`, `P_PIDFD` and `P_ALL`; with `WNOWAIT` in `flags` the child stays to
/// be reaped.
pub(crate) fn wait(which: libc::idtype_t, id: c_int, flags: c_int) -> Waited {
    // The kernel's `siginfo`: signal, error, code, padding; then pid, user and status.
    let mut info = [0_i32; 32];
    let flags = flags | libc::WEXITED | libc::WNOHANG | libc::__WALL;
    // SAFETY: points to 128 bytes, the size of the structure; no usage is asked for.
    let waited = unsafe {
        call(
            libc::SYS_waitid,
            [which as usize, id as usize, info.as_mut_ptr() as usize, flags as usize, 0, 0],
        )
    };
    let [_, _, code, _, pid, _, status, ..] = info;
    match waited {
        Err(_) => Waited::Nobody,
        Ok(_) if pid == 0 => Waited::Alive,
        Ok(_) if code == libc::CLD_EXITED => Waited::Ended(pid, End::Exited(status)),
        Ok(_) => Waited::Ended(pid, End::Signaled(status)),
    }
}
