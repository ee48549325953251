//! How the program is linked.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let is_linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let is_gnu = std::env::var("CARGO_CFG_TARGET_ENV").is_ok_and(|env| env == "gnu");
    if is_linux && is_gnu {
        // At a fixed place: a program of this size that can be put anywhere has eighty thousand addresses to correct
        // before its first instruction, which takes longer than all it does for most events.
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}
