//! Programs that a test needs and that a machine with only a Rust toolchain may lack.
//!
//! A test begins with [`needs!`](crate::needs!). If the program is missing, the test says so on the terminal and in the
//! file that `TOLLGATE_SKIPPED` names, and ends. In CI (`CI=true`) it fails instead, so that nothing is skipped there
//! unseen.
//!
//! ```
//! tollgate_testing::needs!("sh");
//! // … what needs a shell
//! ```

use std::env;
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

/// Ends the test that calls it if one of these programs is not on `PATH`.
#[macro_export]
macro_rules! needs {
    ($($program:literal),+ $(,)?) => {
        if $crate::needs::is_missing(&[$($program),+], module_path!()) {
            return;
        }
    };
}

/// Returns true if one of the programs is missing, and reports the test as skipped.
///
/// # Panics
///
/// In CI, where every program has to be there.
pub fn is_missing(programs: &[&str], module: &str) -> bool {
    let Some(program) = programs.iter().find(|program| !is_installed(program)) else {
        return false;
    };
    let thread = std::thread::current();
    let name = format!("{module}::{}", thread.name().unwrap_or("?"));
    assert!(env::var_os("CI").is_none(), "{name} needs `{program}`, which is not installed");
    let line = format!("{name}: `{program}` is not installed\n");
    // Not `eprintln`, whose output a passing test hides.
    let _ = write!(io::stderr(), "skipped {line}");
    if let Some(list) = env::var_os("TOLLGATE_SKIPPED") {
        let file = OpenOptions::new().create(true).append(true).open(list);
        let _ = file.and_then(|mut file| file.write_all(line.as_bytes()));
    }
    true
}

fn is_installed(program: &str) -> bool {
    let is_program = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
    };
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|directory| is_program(&directory.join(program)))
}

#[cfg(test)]
mod tests {
    use super::is_installed;

    #[test]
    fn programs_are_found_on_the_path() {
        assert!(is_installed("sh"));
        assert!(!is_installed("no-such-program-of-tollgate"));
    }
}
