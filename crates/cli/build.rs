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
    if let (Some(libraries), Some(out)) = (static_libraries(), env::var_os("OUT_DIR")) {
        link_statically(&libraries, Path::new(&out));
    }
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
