//! The JSON Schema of `config.toml`, for editors.

use schemars::{JsonSchema, Schema, schema_for};

/// A `config.toml`.
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ConfigFile {
    /// What hooks may reach over HTTP.
    pub http: Option<HttpTable>,
    /// Bounds.
    pub limits: Option<LimitsTable>,
    /// Polytoken's hooks.
    pub polytoken: Option<PolytokenTable>,
    /// Policies.
    pub policy: Option<PolicyTable>,
    /// Projects and their trust.
    pub trust: Option<TrustTable>,
    /// What is masked in records, besides the usual.
    pub mask: Option<MaskTable>,
    /// The engine.
    pub engine: Option<EngineTable>,
    /// Other agents, which call Tollgate as their hook.
    pub hosts: Option<HostsTable>,
    /// Exceptions that a person makes from what hooks say.
    pub exceptions: Option<ExceptionsTable>,
    /// Commands.
    pub command: Option<CommandTable>,
}

/// `[http]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HttpTable {
    /// The hosts: `example.org`, `*.example.org`, `example.org:8080`, or `*` for all. Default: none.
    pub allow: Option<Vec<String>>,
}

/// `[limits]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct LimitsTable {
    /// How long a hook may take that sets no deadline of its own. Default: 30s.
    pub hook: Option<DurationValue>,
    /// How long all hooks of a dispatch may take together. Default: 1m.
    pub dispatch: Option<DurationValue>,
    /// How long a person may take to answer. Default: 10m.
    pub person: Option<DurationValue>,
    /// How long inspectors get at the end of a turn or session. Default: 2s.
    pub drain: Option<DurationValue>,
    /// How much a command may print. Default: 1MiB.
    pub stdout: Option<SizeValue>,
    /// How many commands run at once. Default: 64.
    pub commands: Option<u64>,
    /// How many dispatches may have inspectors under way. Default: 1024.
    pub inspections: Option<u64>,
}

/// `[polytoken]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolytokenTable {
    /// How long a hook may take that says nothing else. Default: 10s.
    pub deadline: Option<DurationValue>,
}

/// `[policy]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct PolicyTable {
    /// What happens to a call that no policy is about. Default: open.
    pub otherwise: Option<OtherwiseValue>,
}

/// `[trust]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct TrustTable {
    /// What happens while a change of what was trusted waits for review: it goes on running as it
    /// was approved, or gates are closed. Default: approved.
    pub changed: Option<ChangedValue>,
    /// What happens in a project that nobody has trusted: nothing is closed, or gates are.
    /// Default: open.
    pub untrusted: Option<UntrustedValue>,
}

/// `[mask]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct MaskTable {
    /// Further names of fields that are masked.
    pub fields: Option<Vec<String>>,
    /// Further regular expressions for what is masked. Where one has a group, that part is.
    pub patterns: Option<Vec<String>>,
}

/// `[engine]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct EngineTable {
    /// Whether hooks are asked again about what was rewritten. Default: true.
    pub reask: Option<bool>,
    /// How often in a row hooks may send the agent round again. Default: 8.
    pub rounds: Option<u32>,
}

/// `[hosts]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostsTable {
    /// Whether a call is refused about which a hook of the host cannot ask. Default: true.
    pub refuse_unasked: Option<bool>,
    /// Whether a call is refused that a hook of the host cannot rewrite. Default: true.
    pub refuse_unwritten: Option<bool>,
    /// Whether an explicit allow is passed on, so that the host does not ask. Default: false.
    pub pass_allow: Option<bool>,
}

/// `[exceptions]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct ExceptionsTable {
    /// The longest exception that a person may make. Default: always.
    pub allow: Option<ExceptingValue>,
}

/// `[command]`
#[derive(Debug, Clone, Default, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct CommandTable {
    /// The variables that commands get: all, or those of a list. Default: inherit.
    pub environment: Option<EnvironmentValue>,
}

/// A duration.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub enum DurationValue {
    /// Whole seconds.
    Seconds(u64),
    /// A number with a unit: `500ms`, `10s`, `2m`, `1h`.
    Text(#[schemars(regex(pattern = r"^[0-9]+ ?(ms|s|m|min|h)$"))] String),
}

/// A size.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub enum SizeValue {
    /// Bytes.
    Bytes(u64),
    /// A number with a unit: `64KiB`, `1MiB`.
    Text(#[schemars(regex(pattern = r"^[0-9]+ ?(B|KB|KiB|MB|MiB|GiB)$"))] String),
}

/// What happens to a call that no policy is about.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum OtherwiseValue {
    /// It goes on.
    Open,
    /// It is denied.
    Closed,
}

/// The longest exception that a person may make.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum ExceptingValue {
    /// None at all.
    None,
    /// One for a single call.
    Once,
    /// One that ends at a time.
    For,
    /// One that lasts until it is revoked.
    Always,
}

/// The hooks that run while a change of a trusted project waits for review.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum ChangedValue {
    /// What was trusted goes on running as it was approved.
    Approved,
    /// Gates are closed.
    Closed,
}

/// The gates of a project that nobody has trusted.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum UntrustedValue {
    /// Its hooks do not run, and nothing is closed.
    Open,
    /// Gates are closed if it has hook files or settings.
    Closed,
}

/// The variables that commands get.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(untagged)]
pub enum EnvironmentValue {
    /// All of them.
    All(InheritValue),
    /// Those with these names.
    Only(Vec<String>),
}

/// All variables.
#[derive(Debug, Clone, JsonSchema)]
#[schemars(rename_all = "lowercase")]
pub enum InheritValue {
    /// All of them.
    Inherit,
}

/// The JSON Schema of `config.toml`.
pub fn schema() -> Schema {
    schema_for!(ConfigFile)
}
