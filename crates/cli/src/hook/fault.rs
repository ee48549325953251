//! Faults on purpose, for tests, and in builds for development alone.

use std::process::abort;

/// Goes wrong as `TOLLGATE_FAULT` says.
#[allow(clippy::print_stdout, clippy::print_stderr)] // that is one of the faults
pub(super) fn inject() {
    match std::env::var("TOLLGATE_FAULT").as_deref() {
        #[allow(clippy::panic)] // that is the fault
        Ok("panic") => panic!("a fault on purpose"),
        Ok("abort") => abort(),
        Ok("loop") => loop {
            std::hint::spin_loop();
        },
        Ok("memory") => {
            let mut all: Vec<Vec<u8>> = Vec::new();
            loop {
                // Untouched: it is the address space that has a bound.
                all.push(vec![0; 1 << 26]);
            }
        }
        Ok("stack") => {
            std::hint::black_box(deep(0));
        }
        Ok("noise") => {
            println!("a line that nobody asked for");
            eprintln!("and another");
        }
        Ok("exit") => std::process::exit(0),
        _ => {}
    }
}

#[allow(unconditional_recursion)] // that is the fault
fn deep(depth: u64) -> u64 {
    let room = std::hint::black_box([depth; 128]);
    deep(depth + 1) + room.iter().sum::<u64>()
}
