//! Polytoken's `hooks.json`: a list of entries, globs, `bash -c`.

mod file;
mod matcher;
mod outcomes;
mod wire;

use std::time::Duration;

use tollgate_core::Kind;
use tollgate_core::dialect::Layer;

pub use file::schema as file_schema;
pub use outcomes::schemas as answer_schemas;
pub use wire::input_schemas;

use super::{Cwd, EventName, FileDialect, Home, HookFile, Shell};
use crate::diagnostic::Report;

/// The dialect.
#[derive(Debug, Clone, Copy, Default)]
pub struct Polytoken;

/// Its events.
pub(crate) static EVENTS: &[EventName] = &[
    EventName { name: "session_start", kinds: &[Kind::SessionStart] },
    EventName { name: "pre_user_prompt", kinds: &[Kind::TurnStart] },
    EventName { name: "pre_model_turn", kinds: &[Kind::ModelPre] },
    EventName { name: "post_model_turn", kinds: &[Kind::ModelPost] },
    EventName { name: "pre_tool_use", kinds: &[Kind::ToolPre] },
    EventName { name: "post_tool_use", kinds: &[Kind::ToolPost] },
    EventName { name: "post_tool_use_failure", kinds: &[Kind::ToolError] },
    EventName { name: "stop", kinds: &[Kind::Stop] },
    EventName { name: "pre_compaction", kinds: &[Kind::CompactionPre] },
    EventName { name: "post_compaction", kinds: &[Kind::CompactionPost] },
    EventName { name: "notification", kinds: &[Kind::Notification] },
    EventName { name: "facet_switch", kinds: &[Kind::FacetSwitch] },
    EventName { name: "subagent_start", kinds: &[Kind::SubagentStart] },
    EventName { name: "subagent_stop", kinds: &[Kind::SubagentStop] },
];

impl FileDialect for Polytoken {
    fn parse(&self, report: &mut Report, layer: Layer) -> Option<HookFile> {
        file::parse(report, layer)
    }

    fn home(&self) -> Home {
        Home {
            folder: "polytoken",
            in_project: ".polytoken",
            file: "hooks.json",
            also_in_project: &[],
            is_shared: false,
        }
    }

    fn shell(&self) -> Shell {
        Shell::Bash
    }

    fn cwd(&self) -> Cwd {
        Cwd::OfTheProject
    }

    fn time(&self) -> Duration {
        Duration::from_secs(10)
    }
}
