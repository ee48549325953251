//! `tollgate completions`

use clap::CommandFactory as _;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::out::Out;
use crate::problem::Problem;

/// Print the completions of a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate completions bash \\
    > ~/.local/share/bash-completion/completions/tollgate
  tollgate completions fish > ~/.config/fish/completions/tollgate.fish")]
pub(crate) struct Args {
    /// The shell
    shell: Shell,
}

#[allow(clippy::unnecessary_wraps)] // as all commands
pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "tollgate", &mut script);
    out.text(&String::from_utf8_lossy(&script));
    Ok(Exit::Fine)
}
