//! Finds and kills what a process has left behind, wherever it has hidden.
//!
//! A descendant may leave its process group and session and clear its environment. It cannot
//! choose its parent: once its own parent is gone it belongs to the nearest subreaper, which is
//! whoever sweeps. So the processes to end are the children of the sweeper, and theirs.
//!
//! All of this also runs in the keeper: no allocation, no panic, no libc (see [`crate::raw`]).

use std::ffi::{CStr, c_int};

use crate::raw::{self, End, Waited};

/// How many descendants one pass can tell apart. More are found by the next pass.
const KNOWN: usize = 4096;

/// The memory a sweep works in, made beforehand.
pub(crate) struct Scratch {
    entries: [u8; 16 * 1024],
    stat: [u8; 512],
    known: [c_int; KNOWN],
}

impl Scratch {
    pub(crate) const fn new() -> Self {
        Self { entries: [0; 16 * 1024], stat: [0; 512], known: [0; KNOWN] }
    }
}

/// How a sweep went.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Swept {
    /// How many processes had to be killed.
    pub(crate) killed: u32,
    /// Whether any is left: it does not die, or is not ours to kill.
    pub(crate) left: bool,
}

/// Kills and reaps the descendants of this process, except those of `spared` and theirs.
///
/// With nothing left to reap, which is the rule, this is one system call. `late` is called once
/// if it takes more than a moment.
pub(crate) fn sweep(
    scratch: &mut Scratch,
    spared: &[c_int],
    nanos: u64,
    mut late: impl FnMut(u32),
) -> Swept {
    let mut swept = Swept::default();
    let (mut began, mut passes) = (0, 0_u32);
    loop {
        loop {
            match raw::wait(libc::P_ALL, 0, 0) {
                Waited::Ended(_, End::Signaled(libc::SIGKILL)) => {
                    swept.killed = swept.killed.saturating_add(1);
                }
                Waited::Ended(..) => {}
                Waited::Alive => break,
                Waited::Nobody => return swept,
            }
        }
        if passes == 0 {
            began = raw::now();
        } else {
            if passes == 2 {
                late(swept.killed);
            }
            let found = kill_descendants(scratch, spared);
            if found == Some(0) && !spared.is_empty() {
                return swept;
            }
            if raw::now().wrapping_sub(began) > nanos {
                swept.left = true;
                return swept;
            }
        }
        // What was killed with its group before this began is about to end by itself. After that,
        // whoever dies sends a signal, and whoever was missed is looked for again soon.
        let pause = if passes < 20 { 2_000_000 } else { 10_000_000 };
        raw::wait_for_signal(raw::signal_set(libc::SIGCHLD), pause);
        passes = passes.saturating_add(1);
    }
}

/// One pass over the processes there are. Returns how many descendants still ran, or nothing
/// where they cannot be seen.
///
/// Each is killed as soon as it is found. To stop it first would gain nothing: a process that a
/// `SIGKILL` was sent to can fork no more. As newer processes are listed after older ones, one
/// that flees by forking on and on runs towards the pass.
fn kill_descendants(scratch: &mut Scratch, spared: &[c_int]) -> Option<u32> {
    let me = raw::getpid();
    if !proc_is_ours(me) {
        return None;
    }
    let flags = libc::O_RDONLY | libc::O_DIRECTORY | libc::O_CLOEXEC;
    let proc = raw::open(libc::AT_FDCWD, c"/proc", flags).ok()?;
    let Scratch { entries, stat, known } = scratch;
    let mut known = Known { pids: known, count: 0 };
    let mut found = 0_u32;
    while let Ok(length @ 1..) = raw::read_directory(proc, entries) {
        let mut rest = entries.get(..length).unwrap_or_default();
        // An entry: inode and offset (8 bytes each), its length (2), its type (1), its name.
        while let Some(entry) = entry_length(rest).and_then(|length| rest.get(..length)) {
            rest = rest.get(entry.len()..).unwrap_or_default();
            let Some(pid) = entry.get(19..).and_then(number) else { continue };
            let ours = |stat: &mut [u8], known: &Known<'_>| {
                read_parent(proc, pid, stat)
                    .is_some_and(|parent| parent == me || known.contains(parent))
            };
            if pid == me || spared.contains(&pid) || !ours(stat, &known) {
                continue;
            }
            // The number may have been given to another process since it was read. The handle is
            // taken first and the parent looked at again, so that it is this one that is killed.
            let Ok(handle) = raw::pidfd_open(pid) else { continue };
            if ours(stat, &known) {
                known.add(pid);
                found = found.saturating_add(1);
                let _ = raw::pidfd_kill(handle, libc::SIGKILL);
            }
            raw::close(handle);
        }
    }
    raw::close(proc);
    Some(found)
}

/// Whether `/proc` shows the processes under the numbers they have for us: it may be missing, or
/// belong to another namespace, where our numbers would be those of strangers.
fn proc_is_ours(me: c_int) -> bool {
    let mut name = [0_u8; 16];
    raw::read_link(c"/proc/self", &mut name).is_ok() && number(&name) == Some(me)
}

/// The processes that one pass has found, in the order of their numbers.
struct Known<'a> {
    pids: &'a mut [c_int; KNOWN],
    count: usize,
}

impl Known<'_> {
    fn contains(&self, pid: c_int) -> bool {
        self.pids.get(..self.count).is_some_and(|pids| pids.binary_search(&pid).is_ok())
    }

    fn add(&mut self, pid: c_int) {
        let in_order = self.count == 0
            || self.pids.get(self.count.wrapping_sub(1)).is_some_and(|last| *last < pid);
        if let (true, Some(place)) = (in_order, self.pids.get_mut(self.count)) {
            *place = pid;
            self.count = self.count.wrapping_add(1);
        }
    }
}

fn entry_length(entries: &[u8]) -> Option<usize> {
    let bytes = entries.get(16..18)?.first_chunk::<2>()?;
    let length = usize::from(u16::from_ne_bytes(*bytes));
    (length > 19).then_some(length)
}

/// The number that a string begins with, if it is followed by NUL.
fn number(bytes: &[u8]) -> Option<c_int> {
    let mut value: c_int = 0;
    for (place, byte) in bytes.iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                let digit = c_int::from(byte.wrapping_sub(b'0'));
                value = value.checked_mul(10)?.checked_add(digit)?;
            }
            0 if place > 0 => return Some(value),
            _ => return None,
        }
    }
    None
}

/// The parent of a process that still runs.
fn read_parent(proc: c_int, pid: c_int, stat: &mut [u8]) -> Option<c_int> {
    let mut path = [0_u8; 24];
    let path = stat_path(pid, &mut path)?;
    let file = raw::open(proc, path, libc::O_RDONLY | libc::O_CLOEXEC).ok()?;
    let length = raw::read(file, stat);
    raw::close(file);
    parent_in(stat.get(..length.ok()?)?)
}

/// The parent in `PID (NAME) STATE PARENT …`, unless the process is dead. The name may hold
/// anything, so what counts is what comes after the last parenthesis.
pub(crate) fn parent_in(stat: &[u8]) -> Option<c_int> {
    let name_end = stat.iter().rposition(|byte| *byte == b')')?;
    let after = stat.get(name_end.wrapping_add(2)..)?;
    let [state, b' ', rest @ ..] = after else { return None };
    if matches!(state, b'Z' | b'X') {
        return None;
    }
    let mut parent: c_int = 0;
    for byte in rest.iter().take_while(|byte| byte.is_ascii_digit()) {
        let digit = c_int::from(byte.wrapping_sub(b'0'));
        parent = parent.checked_mul(10)?.checked_add(digit)?;
    }
    Some(parent)
}

/// `PID/stat`, written from behind.
fn stat_path(pid: c_int, buffer: &mut [u8; 24]) -> Option<&CStr> {
    let mut at = buffer.len();
    for byte in b"\0tats/" {
        at = at.checked_sub(1)?;
        *buffer.get_mut(at)? = *byte;
    }
    let mut rest = pid;
    while rest > 0 {
        at = at.checked_sub(1)?;
        *buffer.get_mut(at)? = b'0'.wrapping_add((rest % 10).to_le_bytes()[0]);
        rest /= 10;
    }
    CStr::from_bytes_with_nul(buffer.get(at..)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_after_any_name() {
        assert_eq!(parent_in(b"12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in(b"12 (a) S 9 (b)) R 31 12"), Some(31));
        assert_eq!(parent_in(b"12 (sh) Z 7 12"), None);
        assert_eq!(parent_in(b"12 (sh"), None);
        assert_eq!(parent_in(b""), None);
    }

    #[test]
    fn numbers_are_read_and_written() {
        assert_eq!(number(b"1234\0"), Some(1234));
        assert_eq!(number(b"\0"), None);
        assert_eq!(number(b"12a\0"), None);
        assert_eq!(number(b"99999999999\0"), None);
        assert_eq!(number(b"12"), None);
        assert_eq!(stat_path(4_194_304, &mut [0; 24]), Some(c"4194304/stat"));
    }
}
