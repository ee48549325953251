//! Counts the files that masking would change, and names what was found in them.
//!
//! ```text
//! cargo run -p tollgate-testing --example mask_files --release -- PATH...
//! ```

#![allow(clippy::print_stdout)] // a program to look at

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tollgate_core::mask::Masker;

/// Larger files are no ordinary sources.
const LARGEST: u64 = 2 * 1024 * 1024;

/// The endings of source files.
const SOURCES: &[&str] = &[
    "rs", "py", "js", "mjs", "cjs", "ts", "tsx", "jsx", "go", "java", "kt", "c", "h", "cc", "cpp",
    "hpp", "rb", "php", "cs", "swift", "scala", "sh", "pl", "pm", "lua", "md",
];

fn main() {
    let masker = Masker::default();
    let (mut files, mut bytes, mut changed) = (0_u32, 0_usize, 0_u32);
    let mut took = Duration::ZERO;
    let mut todo: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    while let Some(path) = todo.pop() {
        if path.is_dir() && !path.is_symlink() {
            let entries = std::fs::read_dir(&path).into_iter().flatten().flatten();
            todo.extend(entries.map(|entry| entry.path()));
            continue;
        }
        let Some(text) = source(&path) else { continue };
        files += 1;
        bytes += text.len();
        let begun = Instant::now();
        let after = masker.text(&text);
        took += begun.elapsed();
        if after == text {
            continue;
        }
        changed += 1;
        println!("{}: {}", path.display(), masker.find(&(*text).into()).join(", "));
        let differing = text.lines().zip(after.lines()).filter(|(before, after)| before != after);
        for (_, line) in differing.take(3) {
            println!("    {}", line.trim().chars().take(160).collect::<String>());
        }
    }
    println!("{changed} of {files} files changed; {bytes} bytes in {took:?}");
}

fn source(path: &Path) -> Option<String> {
    let ending = path.extension()?.to_str()?;
    let is_source = SOURCES.contains(&ending) && path.metadata().ok()?.len() <= LARGEST;
    is_source.then(|| std::fs::read_to_string(path).ok()).flatten()
}
