//! The picture in the README: what a terminal shows when a command is refused.
//!
//! `UPDATE=1 cargo test -p tollgate-cli --test picture` draws it again.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;
use std::process::Command;

use anstyle_svg::Term;

/// The command line that the README shows.
const TYPED: &str = r#"tollgate why --hooks hooks/command-guard.md 'x=rm; "$x" -r"f" ~'"#;

#[test]
fn the_readme_shows_what_the_command_prints() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap();
    let home = tempfile::tempdir().unwrap();
    let tollgate = Path::new(env!("CARGO_BIN_EXE_tollgate"));
    let output = Command::new("bash")
        .args(["-c", &format!("{TYPED} 2>&1")])
        .current_dir(&repository)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", tollgate.parent().unwrap().display()))
        .env("HOME", home.path())
        .env("LANG", "C.UTF-8")
        .env("COLUMNS", "80")
        .env("CLICOLOR_FORCE", "1")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.contains("delete your whole home directory"), "{printed}");
    let shown = format!("\x1b[32m$\x1b[0m \x1b[1m{TYPED}\x1b[0m\n{printed}");
    let picture = Term::new().min_width_px(800).render_svg(&shown);
    let file = repository.join("docs/images/refusal.svg");
    if std::env::var_os("UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, &picture).unwrap();
    }
    let drawn = fs::read_to_string(&file).unwrap_or_default();
    assert!(drawn == picture, "{} is not what is printed; UPDATE=1 draws it", file.display());
}
