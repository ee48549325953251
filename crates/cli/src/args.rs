//! The arguments of the command line. Each subcommand has its own beside what it does.

use clap::{Parser, Subcommand};

use crate::exit::Exit;
use crate::{
    allow, check, completions, convert, demo, doctor, events, fire, hook, init, install, list, man,
    run, schema, setup, status, test, translate, trust, why,
};

/// How wide a help is at the most.
pub(crate) const WIDTH: usize = 80;

/// Hooks for AI agents: see, check, try, test and trust them.
///
/// A hook watches, decides on or rewrites what an agent does. Hooks are files: of the machine, of
/// the person, and of the project around the current directory.
#[derive(Debug, Parser)]
#[command(
    name = "tollgate",
    version,
    disable_help_subcommand = true,
    after_help = Exit::HELP,
    max_term_width = WIDTH
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Setup(setup::Args),
    Status(status::Args),
    List(list::Args),
    Check(check::Args),
    Fire(fire::Args),
    Why(why::Args),
    Hook(hook::Args),
    Install(install::InstallArgs),
    Uninstall(install::UninstallArgs),
    Doctor(doctor::Args),
    Test(test::Args),
    Trust(trust::Args),
    Allow(allow::Args),
    Init(init::Args),
    Run(run::Args),
    Demo(demo::Args),
    Convert(convert::Args),
    Translate(translate::Args),
    Schema(schema::Args),
    Events(events::Args),
    Completions(completions::Args),
    Man(man::Args),
}

impl Command {
    /// True if it changes nothing, as it is given.
    pub(crate) const fn only_shows(&self) -> bool {
        match self {
            Self::Setup(args) => args.only_shows(),
            Self::Install(args) => args.only_shows(),
            Self::Uninstall(args) => args.only_shows(),
            Self::Trust(args) => args.only_shows(),
            Self::Allow(args) => args.only_shows(),
            _ => false,
        }
    }
}
