//! Which functions a program calls, in the order of their first calls, for the linker to lay them out side by side.
//!
//! `order PROGRAM MAP <COMMANDS` runs the program, of which the linker has written the map, once for each line of its
//! standard input: arguments, `<` and the file that the program reads. Each run has a breakpoint at every function of the
//! program; it is taken away the first time it is met, also in what the program forks, so that it runs at nearly its own
//! speed.
//!
//! Standard output is a line for each function: the crate whose code it is, and its name, with braces around hashes, which
//! another compiler or another version of a dependency would change. Without these a name may stand for several functions
//! of a crate, those of a generic one with other types; where little of that was called, `sparse` follows. What has no
//! crate is of the C library, and has `-` there.

mod functions;

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("breakpoints are those of Linux on x86-64");

use std::collections::{BTreeSet, HashSet};
use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::fs::FileExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use functions::{Functions, Name};
use nix::errno::Errno;
use nix::libc;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

type Failure = Box<dyn Error>;

/// The instruction that stops a program.
const BREAKPOINT: [u8; 1] = [0xcc];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("order: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [program, map] = &*arguments else {
        return Err("usage: order PROGRAM MAP <COMMANDS".into());
    };
    let program = fs::canonicalize(program)?;
    let functions = Functions::of(&program, map)?;
    let mut trace = Trace { program, functions, met: HashSet::new(), calls: Vec::new() };
    for line in io::stdin().lock().lines() {
        let line = line?;
        let (arguments, input) = line.split_once('<').ok_or("a line without the file to read")?;
        let arguments: Vec<_> = arguments.split_whitespace().collect();
        trace
            .run(&arguments, File::open(input.trim())?)
            .map_err(|failure| format!("{line}: {failure}"))?;
    }
    let mut out = io::stdout().lock();
    let mut told = BTreeSet::new();
    for Name { unit, name, is_sparse } in trace.functions.laid_out(&trace.calls) {
        if told.insert((unit, name)) {
            writeln!(out, "{unit} {name}{}", if is_sparse { " sparse" } else { "" })?;
        }
    }
    Ok(())
}

struct Trace {
    program: PathBuf,
    functions: Functions,
    met: HashSet<u64>,
    /// The addresses of the functions that were called.
    calls: Vec<u64>,
}

impl Trace {
    /// Runs the program, and follows it and its children until none is left.
    fn run(&mut self, arguments: &[&str], input: File) -> Result<(), Failure> {
        let mut command = Command::new(&self.program);
        command.args(arguments).stdin(input).stdout(Stdio::null()).stderr(Stdio::null());
        // SAFETY: nothing but a call of the system.
        unsafe { command.pre_exec(|| ptrace::traceme().map_err(io::Error::from)) };
        let child = Pid::from_raw(i32::try_from(command.spawn()?.id())?);
        // It stops before its first instruction.
        waitpid(child, None)?;
        let follow = Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::setoptions(child, follow)?;
        self.set_breakpoints(child)?;
        ptrace::cont(child, None)?;
        loop {
            match waitpid(None, Some(WaitPidFlag::__WALL)) {
                Err(Errno::ECHILD) => return Ok(()),
                Err(Errno::EINTR) => {}
                Err(error) => return Err(error.into()),
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => {
                    return Err(format!("the program was ended by {signal}").into());
                }
                Ok(WaitStatus::Stopped(pid, Signal::SIGTRAP)) => {
                    let signal = if self.meet(pid)? { None } else { Some(Signal::SIGTRAP) };
                    go_on(ptrace::cont(pid, signal))?;
                }
                // How a new process begins.
                Ok(WaitStatus::Stopped(pid, Signal::SIGSTOP)) => go_on(ptrace::cont(pid, None))?,
                Ok(WaitStatus::Stopped(pid, signal)) => go_on(ptrace::cont(pid, signal))?,
                Ok(WaitStatus::PtraceEvent(pid, _, libc::PTRACE_EVENT_EXEC)) => {
                    // It is new, and without breakpoints; another program has no functions of ours either.
                    let now = fs::read_link(format!("/proc/{pid}/exe"));
                    if now.is_ok_and(|now| now == self.program) {
                        self.set_breakpoints(pid)?;
                        go_on(ptrace::cont(pid, None))?;
                    } else {
                        go_on(ptrace::detach(pid, None))?;
                    }
                }
                Ok(WaitStatus::PtraceEvent(pid, ..)) => go_on(ptrace::cont(pid, None))?,
                Ok(_) => {}
            }
        }
    }

    fn set_breakpoints(&self, pid: Pid) -> io::Result<()> {
        let memory = memory_of(pid)?;
        self.functions.addresses().try_for_each(|address| memory.write_all_at(&BREAKPOINT, address))
    }

    /// Takes a breakpoint away. Whether it was one of ours.
    fn meet(&mut self, pid: Pid) -> Result<bool, Failure> {
        let mut registers = ptrace::getregs(pid)?;
        let address = registers.rip.wrapping_sub(1);
        let Some(first) = self.functions.first_byte(address) else { return Ok(false) };
        memory_of(pid)?.write_all_at(&[first], address)?;
        registers.rip = address;
        ptrace::setregs(pid, registers)?;
        if self.met.insert(address) {
            self.calls.push(address);
        }
        Ok(true)
    }
}

/// A process that was killed meanwhile is no error.
fn go_on(result: nix::Result<()>) -> Result<(), Failure> {
    match result {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

fn memory_of(pid: Pid) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))
}
