//! Antigravity's `hooks.json`: named hooks, regular expressions, `sh -c`.

mod file;
mod matcher;
mod quoting;
mod schema;
mod wire;

use std::time::Duration;

use tollgate_core::Kind;
use tollgate_core::dialect::Layer;

pub use schema::schema as file_schema;
pub use wire::{answer_schemas, input_schemas};

use super::{Cwd, EventName, FileDialect, Home, HookFile, Shell};
use crate::diagnostic::Report;

/// The dialect.
#[derive(Debug, Clone, Copy, Default)]
pub struct Antigravity;

/// Its events. The name `PostToolUse` stands for both ends of a call: a failure has an `error`.
pub(crate) static EVENTS: &[EventName] = &[
    EventName { name: "PreToolUse", kinds: &[Kind::ToolPre] },
    EventName { name: "PostToolUse", kinds: &[Kind::ToolPost, Kind::ToolError] },
    EventName { name: "PreInvocation", kinds: &[Kind::ModelPre] },
    EventName { name: "PostInvocation", kinds: &[Kind::InvocationEnd] },
    EventName { name: "Stop", kinds: &[Kind::Stop] },
    EventName { name: "SessionStart", kinds: &[Kind::SessionStart] },
];

impl FileDialect for Antigravity {
    fn parse(&self, report: &mut Report, layer: Layer) -> Option<HookFile> {
        file::parse(report, layer)
    }

    fn home(&self) -> Home {
        Home {
            folder: "antigravity",
            in_project: ".agents",
            file: "hooks.json",
            also_in_project: &[],
            is_shared: false,
        }
    }

    fn shell(&self) -> Shell {
        Shell::Sh
    }

    fn cwd(&self) -> Cwd {
        Cwd::OfTheFile
    }

    fn time(&self) -> Duration {
        Duration::from_secs(30)
    }
}
