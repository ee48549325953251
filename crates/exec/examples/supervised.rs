//! Supervised work of many kinds: `supervised KIND [TEXT]`. Prints the answer, and to its standard
//! error what else there is to say.

// An example prints, and some of these are meant to go wrong.
#![allow(clippy::print_stdout, clippy::print_stderr, clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::hint::black_box;
use std::io::Write;
use std::os::unix::fs::FileTypeExt;
use std::process::{Command as Bare, ExitCode, Stdio};
use std::time::Duration;

use tollgate_exec::{Answer, Command, Executor, Input, Limits, Plan, supervise};

fn main() -> ExitCode {
    let mut args = std::env::args().skip(1);
    let kind = args.next().unwrap_or_default();
    let text = args.next().unwrap_or_default();
    if kind == "threads" {
        std::thread::spawn(std::thread::park);
    }
    let refusal = Answer { stdout: b"refused\n".into(), stderr: Vec::new(), code: 2 };
    let mut plan = Plan::new(Duration::from_millis(1500), refusal);
    plan.memory = Some(256 * 1024 * 1024);
    plan.output = 64 * 1024;
    match supervise(plan, || work(&kind, &text)) {
        Ok(ended) => {
            print!("{}", String::from_utf8_lossy(&ended.answer.stdout));
            eprintln!("why: {:?}", ended.why);
            eprintln!("strays: {}", ended.strays);
            eprintln!("noise: {}", String::from_utf8_lossy(&ended.noise));
            ExitCode::from(u8::try_from(ended.answer.code).unwrap_or(1))
        }
        Err(error) => {
            eprintln!("not begun: {error}");
            ExitCode::from(3)
        }
    }
}

fn work(kind: &str, text: &str) -> Answer {
    let answer = Answer { stdout: b"allowed\n".into(), stderr: Vec::new(), code: 0 };
    let sh = |script: &str| {
        let mut shell = Bare::new("/bin/sh");
        shell.args(["-c", script]).env("NAP", text).stdin(Stdio::null()).stdout(Stdio::null());
        shell
    };
    match kind {
        "panics" => panic!("out of ideas"),
        "loops" => loop {
            black_box(0);
        },
        "exits" => std::process::exit(0),
        "aborts" => std::process::abort(),
        "killed" => {
            let _ = sh("kill -KILL $PPID").status();
            std::thread::sleep(Duration::from_mins(1));
        }
        "hungry" => {
            let mut memory = vec![0_u8; 4 * 1024 * 1024 * 1024];
            memory.iter_mut().step_by(4096).for_each(|byte| *byte = 1);
            black_box(&memory);
        }
        "prints" => {
            println!("{{\"decision\": \"allow\"}}");
            eprintln!("noise");
            let _ = Bare::new("/bin/echo").arg("more").status();
        }
        "prints and exits" => {
            println!("{{\"decision\": \"allow\"}}");
            let _ = std::io::stdout().flush();
            std::process::exit(0);
        }
        "bounds a part" => {
            let fits = |bytes: usize| Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
            let before = fits(128 << 20);
            let bound = tollgate_exec::MemoryBound::tighten(16 << 20);
            let (is_bound, small, large) = (bound.is_some(), fits(8 << 20), fits(128 << 20));
            drop(bound);
            let all = (before, is_bound, small, large, fits(128 << 20));
            return Answer { stdout: format!("{all:?}").into_bytes(), ..answer };
        }
        "talks too much" => return Answer { stdout: vec![b'x'; 65 * 1024], ..answer },
        "answers by halves" => {
            write_to_supervisor(b"TGA1\0\0\0\0\0\x08\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0allow");
            std::process::exit(0);
        }
        "garbles" => write_to_supervisor(b"allowed"),
        "leaves daemons" => {
            let _ = sh("setsid sleep $NAP & (env -i setsid sleep $NAP &) ; sleep 0.1").status();
        }
        "leaves daemons and loops" => {
            let _ = sh("setsid sleep $NAP & (env -i setsid sleep $NAP &) ; sleep 0.1").status();
            work("loops", text);
        }
        "executes" => {
            // A command is not bound by our limit of memory.
            let command = Command::shell("/bin/sh", "ulimit -v; setsid sleep $NAP & sleep 0.1");
            let input = Input::new([], Duration::from_secs(1));
            let command = command.env("NAP", text);
            let finished = Executor::shared().run(&command, input, Limits::default()).wait();
            return Answer { stdout: finished.unwrap().stdout, ..answer };
        }
        "executes too long" => {
            let command = Command::shell("/bin/sh", "setsid sleep $NAP & sleep $NAP");
            let input = Input::new([], Duration::from_mins(1));
            let command = command.env("NAP", text);
            let _ = Executor::shared().run(&command, input, Limits::default()).wait();
        }
        _ => {}
    }
    answer
}

/// Finds the pipe that the answer is to be written to, and writes something else.
fn write_to_supervisor(bytes: &[u8]) {
    for entry in fs::read_dir("/proc/self/fd").unwrap().flatten() {
        let number = entry.file_name().to_string_lossy().parse::<u32>().unwrap();
        let is_pipe = fs::metadata(entry.path()).is_ok_and(|about| about.file_type().is_fifo());
        if number > 2
            && is_pipe
            && let Ok(mut pipe) = fs::File::options().write(true).open(entry.path())
        {
            let _ = pipe.write_all(bytes);
            // The other pipe is the one for noise.
            return;
        }
    }
}
