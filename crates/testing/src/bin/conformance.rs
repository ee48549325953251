//! Runs recorded cases of other engines against this one; see `cases/conformance/README.md`.

use std::io::Write;
use std::process::ExitCode;

use tollgate_testing::conformance::Request;

const SOME_FAILED: u8 = 1;
const NOT_RUN: u8 = 2;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1);
    // A reader that went away is no reason to fail: the exit code says what there is to say.
    match Request::from_args(args).and_then(|request| request.run()) {
        Ok(report) => {
            let _ = writeln!(std::io::stdout(), "{report}");
            if report.is_clean() { ExitCode::SUCCESS } else { ExitCode::from(SOME_FAILED) }
        }
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "conformance: {error}");
            ExitCode::from(NOT_RUN)
        }
    }
}
