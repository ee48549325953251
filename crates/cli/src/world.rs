//! Where this process runs, for the analysis of commands.

use std::env;
use std::fs;

use tollgate_shell::world::{World, enter};

/// The largest `/etc/passwd` that is read. Larger ones belong to machines with a directory service.
const LARGEST: u64 = 1 << 20;

/// Lets the analysis of commands know the machine. Tests of hooks go without, so that they mean the
/// same everywhere.
pub(crate) fn known() {
    let mut homes: Vec<String> = Vec::new();
    let home = env::var("HOME").ok().filter(|home| home.starts_with('/') && home.len() > 1);
    for home in home.into_iter().chain(account()) {
        let home = home.trim_end_matches('/').to_owned();
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    enter(World { homes });
}

/// The home of the account, whatever `HOME` says.
fn account() -> Option<String> {
    let id = rustix::process::getuid().as_raw();
    if id == 0 {
        return Some("/root".to_owned());
    }
    let is_small = fs::metadata("/etc/passwd").is_ok_and(|file| file.len() <= LARGEST);
    let accounts = is_small.then(|| fs::read_to_string("/etc/passwd").ok()).flatten()?;
    let line = accounts.lines().find(|line| line.split(':').nth(2) == Some(&id.to_string()))?;
    line.split(':').nth(5).filter(|home| home.starts_with('/') && home.len() > 1).map(str::to_owned)
}
