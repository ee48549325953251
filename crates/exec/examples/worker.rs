//! A worker that does as it is told, for better or worse, and hosts for it.
//!
//! `worker hosts KIND` is a host of its own workers: it prints what comes of one request, and is
//! ready to be killed meanwhile.

// An example prints, and some of these are meant to go wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::panic, clippy::unwrap_used)]
// To write where one must not.
#![allow(unsafe_code)]

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::net::TcpListener;
use std::process::Command;
use std::sync::OnceLock;
use std::thread;
use std::time::Duration;

use tollgate_exec::worker::{self, Limits, Start, Turn, Workers};

/// Where the shared memory is: to be looked up while files can be opened.
static BOARD: OnceLock<usize> = OnceLock::new();

fn main() {
    let began = std::time::Instant::now();
    worker::init(|| {
        match std::env::args().next().unwrap_or_default().rsplit('-').next() {
            Some("mute") => thread::sleep(Duration::from_mins(10)),
            Some("bad") => panic!("no good"),
            _ => {}
        }
        let maps = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let board = maps.lines().find(|line| line.contains("memfd:tollgate-worker"));
        let at = board.and_then(|line| usize::from_str_radix(line.split('-').next()?, 16).ok());
        let _ = BOARD.set(at.unwrap_or_default());
        let mut kept = Vec::new();
        worker::serve(|request, call| {
            let request = String::from_utf8_lossy(request);
            let (kind, rest) = request.split_once(' ').unwrap_or((&request, ""));
            obey(kind, rest, call, &mut kept)
        });
    });
    let initialised = began.elapsed();
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["init"] => println!("{}", initialised.as_nanos()),
        ["hosts", kind] => host(kind),
        _ => eprintln!("usage: worker hosts KIND"),
    }
}

fn host(kind: &str) {
    let workers = Workers::<()>::new(Start::this_program().unwrap(), Limits::default(), 1);
    let time = Duration::from_mins(1);
    // To be told when to begin.
    let mut line = String::new();
    let _ = std::io::stdin().read_line(&mut line);
    let mut lease = workers.lease(time).wait().unwrap();
    let Ok(Turn::Answer(pid)) = lease.ask(b"pid", time).wait() else { panic!("no answer") };
    println!("{}", String::from_utf8_lossy(&pid));
    let _ = std::io::stdout().flush();
    println!("{:?}", lease.ask(kind.as_bytes(), time).wait());
}

fn obey(
    kind: &str,
    rest: &str,
    call: &mut dyn FnMut(&[u8]) -> Vec<u8>,
    kept: &mut Vec<Vec<u8>>,
) -> Vec<u8> {
    let number = || rest.parse::<usize>().unwrap_or_default();
    let said = |yes| if yes { b"yes".to_vec() } else { b"no".to_vec() };
    match kind {
        "echo" => return rest.as_bytes().to_vec(),
        "pid" => return std::process::id().to_string().into_bytes(),
        "sleep" => thread::sleep(Duration::from_millis(number() as u64)),
        "spin" => loop {
            black_box(0);
        },
        "allocate" => drop(touched(number())),
        "keep" => kept.push(touched(number())),
        "baseline" => return said(worker::baseline()),
        "many" => loop {
            kept.push(vec![1; 48]);
        },
        "recurse" => return vec![recurse(0)],
        "abort" => std::process::abort(),
        "panic" => panic!("{rest}"),
        "exit" => std::process::exit(0),
        "complain" => {
            for _ in 0..number() {
                eprintln!("{}", "x".repeat(1023));
            }
            eprintln!("{}", "y".repeat(1023));
        }
        "lie" => {
            eprintln!("memory allocation of 24 bytes failed");
            std::process::exit(0);
        }
        "call" => {
            return (0..number()).flat_map(|n| call(n.to_string().as_bytes())).collect();
        }
        "answer" => return vec![b'x'; number()],
        "shout" => return call(&vec![b'x'; number()]),
        "scrawl" => scrawl(number()),
        "boast" => boast(),
        "open" => return said(fs::File::open("/etc/passwd").is_ok()),
        "run" => return said(Command::new("/bin/true").spawn().is_ok()),
        "listen" => return said(TcpListener::bind("127.0.0.1:0").is_ok()),
        "delete" => return said(fs::remove_file(rest).is_ok()),
        _ => panic!("what is {kind:?}?"),
    }
    Vec::new()
}

fn touched(length: usize) -> Vec<u8> {
    let mut memory = vec![0_u8; length];
    memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
    black_box(memory)
}

#[allow(unconditional_recursion)]
fn recurse(depth: u8) -> u8 {
    let room = black_box([depth; 1024]);
    let deeper = recurse(depth.wrapping_add(1));
    room.iter().fold(deeper, |sum, byte| sum ^ byte)
}

/// Writes over so many bytes of what host and worker share.
fn scrawl(length: usize) -> ! {
    if let Some(at) = BOARD.get().copied().filter(|at| *at != 0) {
        // SAFETY: none; this is what a worker does that has lost its mind. The memory is there.
        unsafe { std::ptr::write_bytes(at as *mut u8, 0xaa, length) };
    }
    ring()
}

/// Hands the turn over with an answer that is longer than the memory.
fn boast() -> ! {
    if let Some(at) = BOARD.get().copied().filter(|at| *at != 0) {
        // SAFETY: as above. The turn, and the kind and the length of what is said to the host.
        unsafe {
            *((at + 320) as *mut u32) = 4;
            *((at + 328) as *mut u64) = u64::MAX;
            let turn = (at + 64) as *mut u32;
            turn.write_volatile(turn.read_volatile() + 1);
        }
    }
    ring()
}

/// Rings the bell, whoever may hear it.
fn ring() -> ! {
    // SAFETY: eight bytes, to where the bell is.
    unsafe { libc::write(3, [1_u8; 8].as_ptr().cast(), 8) };
    loop {
        thread::park();
    }
}
