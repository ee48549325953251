//! How far an agent may go.

use std::time::Duration;

/// The bounds of a session. Each has an end, whatever the model wants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// How many turns a session may have. Default: 10,000.
    pub turns: u64,
    /// How many calls of the model one execution may have, until hooks are asked whether it stops. Default: 200.
    pub steps: u64,
    /// How many tokens a session may use, in and out together. Default: none.
    pub tokens: Option<u64>,
    /// How long a turn may take. Default: one hour.
    pub turn_time: Duration,
    /// How long one call of a tool may take. Default: 10 minutes.
    pub call_time: Duration,
    /// How many calls of one message run at once. Default: 16.
    pub parallel_calls: usize,
    /// How many calls of one message are made at all. Default: 64.
    pub calls: usize,
    /// From how many tokens on, roughly counted, the history is compacted. Default: 120,000.
    pub history_tokens: usize,
    /// How deep subagents may go. Default: 3.
    pub subagent_depth: u32,
    /// How many subagents a session may have. Default: 64.
    pub subagents: usize,
    /// Number of them that run at once; the others wait for their turn. Default: 8.
    pub parallel_subagents: usize,
    /// How often a subagent is sent back. Default: 2.
    pub subagent_retries: u32,
    /// How long a person may take to answer. Default: 10 minutes.
    pub person: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            turns: 10_000,
            steps: 200,
            tokens: None,
            turn_time: Duration::from_hours(1),
            call_time: Duration::from_mins(10),
            parallel_calls: 16,
            calls: 64,
            history_tokens: 120_000,
            subagent_depth: 3,
            subagents: 64,
            parallel_subagents: 8,
            subagent_retries: 2,
            person: Duration::from_mins(10),
        }
    }
}
