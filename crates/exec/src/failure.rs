//! Why a command could not be started, in words.

use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::command::{Launch, Prepared};
use crate::nest::step;
use crate::outcome::ExecError;

pub(crate) fn explain(failed_at: u32, errno: i32, launch: &Launch) -> ExecError {
    let source = io::Error::from_raw_os_error(errno);
    let prepared = match launch.prepared() {
        Ok(prepared) => prepared,
        Err(error) => return error,
    };
    match failed_at {
        step::CHDIR => ExecError::Cwd { dir: prepared.cwd_path().to_owned(), source },
        step::EXEC => exec(errno, source, launch, prepared),
        step::DESCRIPTORS => ExecError::Start { step: "its descriptors", source },
        step::LIMIT => ExecError::Start { step: "its memory limit", source },
        _ => ExecError::Start { step: "a process", source },
    }
}

fn exec(errno: i32, source: io::Error, launch: &Launch, prepared: &Prepared) -> ExecError {
    let program = prepared.program_path().to_owned();
    // A relative path is one from the directory it runs in.
    let place = prepared.cwd_path().join(&program);
    match errno {
        libc::E2BIG => ExecError::TooLong { bytes: launch.bytes() },
        libc::ENOENT | libc::ENOTDIR if fs::metadata(&place).is_err() => {
            ExecError::NotFound { program }
        }
        libc::ENOENT => ExecError::NoInterpreter { interpreter: interpreter_of(&place), program },
        libc::ENOEXEC => ExecError::NotExecutable {
            program,
            reason: "it is neither a binary for this system, nor does it begin with a line such \
                     as #!/bin/sh",
        },
        libc::EACCES => ExecError::NotExecutable { program, reason: denied(&place) },
        _ => ExecError::Start { step: "execve", source },
    }
}

fn denied(program: &Path) -> &'static str {
    match fs::metadata(program) {
        Ok(about) if about.is_dir() => "it is a directory",
        Ok(about) if about.permissions().mode() & 0o111 == 0 => {
            "it is not marked as executable (chmod +x)"
        }
        _ => "permission denied, for it or for what its first line names",
    }
}

/// What the first line of a script names.
fn interpreter_of(script: &Path) -> String {
    let mut first = Vec::new();
    let read = File::open(script).and_then(|file| file.take(256).read_to_end(&mut first));
    let line = match (read, first.strip_prefix(b"#!")) {
        (Ok(_), Some(rest)) => rest.split(|byte| *byte == b'\n').next().unwrap_or_default(),
        _ => return "its loader".into(),
    };
    let line = String::from_utf8_lossy(line.trim_ascii_start());
    // A carriage return belongs to the name, and is what is often wrong with it.
    line.split([' ', '\t']).next().unwrap_or_default().to_owned()
}
