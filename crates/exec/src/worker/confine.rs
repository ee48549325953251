//! What a worker takes from itself before it serves: it can compute, and nothing else.

#![allow(unsafe_code)]
// Numbers of system calls and offsets are small.
#![allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::ffi::c_long;
use std::mem::offset_of;

use rustix::param::page_size;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::raw::{self, Sys};

/// Sets the limits of memory to what there is now, and so many bytes. `statm` is the text of
/// `/proc/self/statm`. Returns whether they hold.
///
/// Two limits, as neither sees all: of the address space, and of the memory of its own that can be
/// written to. Memory that is only reserved, which allocators like to do, is in the first.
pub(crate) fn limit_memory(statm: &str, more: u64) -> bool {
    // Size, resident, shared, text, library, data: in pages.
    let mut pages = statm.split_ascii_whitespace().map(str::parse::<u64>);
    let (Some(Ok(size)), Some(Ok(data))) = (pages.next(), pages.nth(4)) else { return false };
    let soft = |resource, pages: u64| {
        let bytes = pages.saturating_mul(page_size() as u64).saturating_add(more);
        let maximum = getrlimit(resource).maximum;
        let current = Some(maximum.map_or(bytes, |maximum| maximum.min(bytes)));
        // The hard limit stays, as the baseline is set again.
        setrlimit(resource, Rlimit { current, maximum }).is_ok()
    };
    let space = soft(Resource::As, size);
    soft(Resource::Data, data) && space
}

/// No files, no processes, no other programs; no dump of memory if it crashes. Descriptors below
/// `descriptors` stay as they are.
pub(crate) fn confine(descriptors: u64) -> Sys<()> {
    raw::set_limit(libc::RLIMIT_CORE, 0, 0)?;
    raw::set_limit(libc::RLIMIT_FSIZE, 0, 0)?;
    raw::set_limit(libc::RLIMIT_NOFILE, descriptors, descriptors)?;
    // Means nothing to root; the filter does.
    raw::set_limit(libc::RLIMIT_NPROC, 0, 0)?;
    raw::prctl(libc::PR_SET_NO_NEW_PRIVS, 1)?;
    // Not each kernel has filters, and not each container lets them be set. What they add to the
    // limits is a second line.
    let _ = filter();
    Ok(())
}

#[cfg(target_arch = "x86_64")]
const ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const ARCHITECTURE: u32 = 0xc000_00b7;

/// System calls that begin with this number are for programs with 32-bit pointers.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

/// What is refused: whatever makes a process or reaches one, changes a file system by a path, or
/// opens a way out. What is needed to compute, to fail and to report it is not among them.
const REFUSED: &[c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_getfd,
    libc::SYS_socket,
    libc::SYS_socketpair,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_openat,
    libc::SYS_openat2,
    libc::SYS_open_by_handle_at,
    libc::SYS_unlinkat,
    libc::SYS_renameat2,
    libc::SYS_mkdirat,
    libc::SYS_mknodat,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_fchmodat,
    libc::SYS_fchownat,
    libc::SYS_truncate,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_chroot,
    libc::SYS_pivot_root,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_shmget,
    libc::SYS_msgget,
    libc::SYS_semget,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_creat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rmdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_renameat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mknod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_link,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_symlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
];

const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
#[cfg(target_arch = "x86_64")]
const IF_AT_LEAST: u16 = (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K) as u16;
const IF_SET: u16 = (libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn step(code: u16, value: u32, yes: u8, no: u8) -> libc::sock_filter {
    libc::sock_filter { code, jt: yes, jf: no, k: value }
}

const fn refuse(errno: i32) -> libc::sock_filter {
    step(RETURN, libc::SECCOMP_RET_ERRNO | errno as u32, 0, 0)
}

/// The filter as the kernel takes it. Each check stands alone: what it does not refuse goes on to
/// the next.
fn program() -> Vec<libc::sock_filter> {
    let number = offset_of!(libc::seccomp_data, nr) as u32;
    let architecture = offset_of!(libc::seccomp_data, arch) as u32;
    // The lower half of the first argument, on machines that begin with it.
    let flags = offset_of!(libc::seccomp_data, args) as u32;
    let mut steps = vec![
        step(LOAD, architecture, 0, 0),
        step(IF_EQUAL, ARCHITECTURE, 1, 0),
        refuse(libc::EPERM),
        step(LOAD, number, 0, 0),
    ];
    #[cfg(target_arch = "x86_64")]
    steps.extend([step(IF_AT_LEAST, X32, 0, 1), refuse(libc::EPERM)]);
    // The flags of this one are out of a filter's sight. Libraries know another call then.
    steps.extend([step(IF_EQUAL, libc::SYS_clone3 as u32, 0, 1), refuse(libc::ENOSYS)]);
    for refused in REFUSED {
        steps.extend([step(IF_EQUAL, *refused as u32, 0, 1), refuse(libc::EPERM)]);
    }
    // Threads are no processes.
    steps.extend([
        step(IF_EQUAL, libc::SYS_clone as u32, 0, 3),
        step(LOAD, flags, 0, 0),
        step(IF_SET, libc::CLONE_THREAD as u32, 1, 0),
        refuse(libc::EPERM),
        step(RETURN, libc::SECCOMP_RET_ALLOW, 0, 0),
    ]);
    steps
}

/// Puts the filter in force for all threads. Speed is not traded for more: nothing of value is in
/// this process besides what its own code works on.
fn filter() -> Sys<()> {
    let mut steps = program();
    let program =
        libc::sock_fprog { len: steps.len() as libc::c_ushort, filter: steps.as_mut_ptr() };
    let (mode, flags) = (
        libc::SECCOMP_SET_MODE_FILTER as usize,
        (libc::SECCOMP_FILTER_FLAG_TSYNC | libc::SECCOMP_FILTER_FLAG_SPEC_ALLOW) as usize,
    );
    // SAFETY: points to a program and the number of its steps; the kernel makes a copy.
    unsafe { raw::call(libc::SYS_seccomp, [mode, flags, &raw const program as usize, 0, 0, 0]) }
        .map(drop)
}
