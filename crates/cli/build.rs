//! How the program is linked: so that it starts fast. It is started for each event, and most events are decided in
//! less time than a dynamic linker takes.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| env::var(name).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    // At a fixed place: a program of this size that can be put anywhere has eighty thousand addresses to correct
    // before its first instruction.
    println!("cargo:rustc-link-arg-bins=-no-pie");
    if is("PROFILE", "release") {
        lay_out();
    }
    // For bench/order/run: where everything has been put.
    println!("cargo:rerun-if-env-changed=TOLLGATE_MAP");
    if let Ok(map) = env::var("TOLLGATE_MAP") {
        println!("cargo:rustc-link-arg-bins=-Wl,-Map={map}");
    }
    if let (Some(libraries), Some(out)) = (static_libraries(), env::var_os("OUT_DIR")) {
        link_statically(&libraries, Path::new(&out));
    }
}

/// Functions that would be called before `main`, and need not be. The language has five hundred that list its types and
/// constants for heaps that are written to disk, which nobody here does; each of them brings a page into memory.
const UNUSED: &str = "*starlark*.rcgu.o(.init_array .init_array.*)";

/// Has the functions that are called when an event comes lie side by side, where the linker can do that. They are a small
/// part of the program, and spread over all of it they would bring much of it into memory, a few pages at a time.
fn lay_out() {
    // Written by bench/order/run: a line for each, with the crate and the name, or `-` and the name.
    println!("cargo:rerun-if-changed=start.order");
    let (Ok(order), Some(out)) = (fs::read_to_string("start.order"), env::var_os("OUT_DIR")) else {
        return;
    };
    let (mut exact, mut near, mut sparse) = (String::new(), String::new(), String::new());
    let mut symbols = String::new();
    for line in order.lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(unit), Some(name)) = (words.next(), words.next()) else { continue };
        // The compiler names the files of other crates after them, and ends their names twice.
        let section = |name: String| match unit {
            "tollgate" => format!("*(EXCLUDE_FILE(*.rcgu.o.rcgu.o) .text.{name}*)\n"),
            _ => format!("*.{unit}-*.rcgu.o(.text.{name}*)\n"),
        };
        if unit == "-" {
            symbols.extend([name, "\n"]);
            continue;
        }
        exact.push_str(&section(name.replace(['{', '}'], "")));
        // In braces: hashes, which a change of dependencies or another compiler changes. What is called by the same name
        // then is at least near; in a generic crate that may be much else, which comes last.
        let lasting: Vec<_> = name.split('}').filter_map(|part| part.split('{').next()).collect();
        let kind = if words.next().is_some() { &mut sparse } else { &mut near };
        kind.push_str(&section(lasting.join("*")));
    }
    // What is called before anything else has a section of its own everywhere.
    let sections = format!("*(.text.startup .text.startup.*)\n{exact}{near}{sparse}");
    let out = Path::new(&out);
    let (script, list) = (out.join("start.ld"), out.join("start.symbols"));
    let sections = format!(
        "SECTIONS {{ /DISCARD/ : {{ {UNUSED} }} }} INSERT BEFORE .text;\n\
         SECTIONS {{ .text.start : {{\n{sections}}} }} INSERT BEFORE .text;\n"
    );
    if fs::write(&script, sections).is_err() || fs::write(&list, symbols).is_err() {
        return;
    }
    let arguments = [
        format!("-Wl,-T,{}", script.display()),
        // What has no section of its own by its name. What this build does not have is no mistake.
        format!("-Wl,--symbol-ordering-file={}", list.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if links_with(&arguments, out) {
        for argument in arguments {
            println!("cargo:rustc-link-arg-bins={argument}");
        }
    }
}

/// Whether the linker that will be used, whichever it is, takes these arguments.
fn links_with(arguments: &[String], out: &Path) -> bool {
    let program = out.join("empty.rs");
    if fs::write(&program, "fn main() {}\n").is_err() {
        return false;
    }
    let mut compiler = Command::new(env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()));
    compiler.arg(program).arg("-o").arg(out.join("empty"));
    if let Some(target) = env::var_os("TARGET") {
        compiler.arg("--target").arg(target);
    }
    if let Some(linker) = env::var_os("RUSTC_LINKER") {
        compiler.arg("-Clinker=".to_owned() + &linker.to_string_lossy());
    }
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    compiler.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    compiler.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    compiler.output().is_ok_and(|output| output.status.success())
}

/// The system's libraries as archives. Not every system has them; without, the program is linked to the shared ones
/// and starts somewhat later.
fn static_libraries() -> Option<Vec<PathBuf>> {
    if env::var_os("TARGET") != env::var_os("HOST") {
        return None;
    }
    ["libgcc_eh.a", "libgcc.a", "libc.a", "libm.a"].into_iter().map(static_library).collect()
}

fn static_library(name: &str) -> Option<PathBuf> {
    let linker = env::var_os("RUSTC_LINKER").unwrap_or_else(|| "cc".into());
    let found = Command::new(linker).arg(format!("-print-file-name={name}")).output().ok()?;
    let path = PathBuf::from(String::from_utf8(found.stdout).ok()?.trim_end());
    // A library that is not found is printed as it was asked for.
    (path.is_absolute() && path.exists()).then_some(path)
}

/// Has the archives taken where the compiler asks for shared libraries. `-C target-feature=+crt-static` would say the
/// same, and no package can say it for itself.
fn link_statically(libraries: &[PathBuf], out: &Path) {
    let archives: Vec<_> = libraries.iter().map(|path| format!("\"{}\"", path.display())).collect();
    let script = format!("GROUP ( {} )\n", archives.join(" "));
    let stand_ins = ["libgcc_s.so", "libc.so", "libm.so"];
    if stand_ins.iter().all(|name| fs::write(out.join(name), &script).is_ok()) {
        // For the program only: tests are linked as usual.
        println!("cargo:rustc-link-arg-bins=-L{}", out.display());
        println!("cargo:rustc-link-arg-bins=-static");
    }
}
