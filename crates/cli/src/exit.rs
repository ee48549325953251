//! Exit codes: what scripts and other programs go by.

use std::process::ExitCode;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: go on, or all is fine.
    Fine,
    /// 1: a problem in hooks or arguments.
    Problem,
    /// 2: hooks have denied or cancelled what was fired.
    Denied,
    /// 3: a hook wants a person to decide about what was fired.
    Asked,
}

impl Exit {
    /// For people, at the end of each help.
    pub(crate) const HELP: &'static str = "Exit codes: 0 go on, or fine; 1 a problem in hooks or arguments; 2 denied; 3 a\nperson has to decide.";

    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Fine => 0,
            Self::Problem => 1,
            Self::Denied => 2,
            Self::Asked => 3,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
