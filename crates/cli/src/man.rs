//! `tollgate man`

use std::fs;
use std::path::PathBuf;

use clap::CommandFactory as _;
use clap_mangen::Man;

use crate::args::Cli;
use crate::exit::Exit;
use crate::out::{Out, count};
use crate::place::shown;
use crate::problem::Problem;

/// Print the manual page, or write one page a command
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate man | man -l -
  tollgate man --into ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Write `tollgate.1` and a page for each command into this directory
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let mut command = Cli::command();
    command.build();
    let Some(directory) = &args.into else {
        out.text(&page(command)?);
        return Ok(Exit::Fine);
    };
    let unwritable = |error: std::io::Error| {
        Problem::new(format!("`{}` cannot be written to: {error}", directory.display()))
    };
    fs::create_dir_all(directory).map_err(unwritable)?;
    let of_commands: Vec<_> = command.get_subcommands().cloned().collect();
    let mut pages = 0;
    for command in std::iter::once(command).chain(of_commands) {
        let name = command.get_display_name().unwrap_or_else(|| command.get_name()).to_owned();
        fs::write(directory.join(format!("{name}.1")), page(command)?).map_err(unwritable)?;
        pages += 1;
    }
    out.line(format!("{} in {}", count(pages, "page"), shown(directory)));
    Ok(Exit::Fine)
}

fn page(command: clap::Command) -> Result<String, Problem> {
    let mut page = Vec::new();
    Man::new(command).render(&mut page)?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
