//! `policy.star`: policies as a file.
//!
//! The file is Starlark with one namespace more, `policy`, whose functions make rules:
//!
//! ```python
//! policy.deny("*")
//! policy.allow("view_file")
//! policy.deny("run_command", when = lambda args: "rm" in args.get("CommandLine", ""))
//! policy.ask_user("run_command")
//! ```
//!
//! What stands at its top level runs once, when the file is loaded ([`Rules::compile`]); what comes
//! of it is data ([`RuleSpec`]), of which the engine's own rules are made ([`into_policies`]). Only
//! the conditions are left to run at a call: most have a native form ([`Natives`]), the others are
//! asked in Starlark ([`Rules::holds`]).

mod build;
mod builders;
mod check;
mod effects;
mod native;
mod plain;
mod simple;
#[cfg(test)]
mod tests;

use std::cell::{Cell, RefCell};
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use starlark::any::ProvidesStaticType;
use starlark::environment::{Globals, GlobalsBuilder, Module};
use starlark::eval::Evaluator;
use starlark::syntax::AstModule;
use starlark::values::OwnedFrozenValue;

pub(crate) use build::{Base, ConditionFor, Elsewhere, into_policies};
pub(crate) use check::check;
pub(crate) use native::Natives;
pub(crate) use plain::specs as plain_specs;
pub(crate) use simple::is_simple;

use crate::analysis::{self, MOST_DEPTH, Problem, depth};
use crate::convert::dict;
use crate::sandbox::{self, Failed, Limits, Part, time_used};

/// The most rules that a file may make.
pub(crate) const MOST_RULES: usize = 10_000;

/// How many bytes the texts of all rules may have together.
pub(crate) const LARGEST_RULES: usize = 1024 * 1024;

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Effect {
    Allow,
    Deny,
    Ask,
}

/// What a call does, as a condition: `writes_under(path)` and its kin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Does {
    what: Deed,
    /// What follows where it cannot be told.
    unknown: OnUnknown,
}

/// What it is that a call does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Deed {
    WritesUnder(String),
    ReadsUnder(String),
    DeletesUnder(String),
    ReachesNetwork,
}

/// What a rule does where it cannot be told whether a call does what the rule is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OnUnknown {
    /// A person is asked.
    #[default]
    Ask,
    /// The call is denied.
    Deny,
    /// The rule has no opinion.
    Ignore,
}

impl Deed {
    /// The path it is about; empty where it is about none.
    fn path(&self) -> &str {
        match self {
            Self::WritesUnder(path) | Self::ReadsUnder(path) | Self::DeletesUnder(path) => path,
            Self::ReachesNetwork => "",
        }
    }
}

impl OnUnknown {
    /// Reads the word for it.
    fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "ask" => Self::Ask,
            "deny" => Self::Deny,
            "ignore" => Self::Ignore,
            _ => return None,
        })
    }
}

/// What one call of a builder made. It goes to the host from wherever the file was run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum RuleSpec {
    /// `policy.allow`, `policy.deny`, `policy.ask_user`.
    Rule {
        effect: Effect,
        tool: String,
        /// Which condition of the file it has.
        when: Option<usize>,
        /// What a call has to do for it to apply.
        does: Option<Does>,
        reason: String,
        name: String,
        /// The byte of the file where the call begins; so in all that follow.
        at: usize,
    },
    AllowAll {
        at: usize,
    },
    DenyAll {
        at: usize,
    },
    /// `policy.allow_mcp` and its kin. Without tools it is about all of the server.
    Mcp {
        effect: Effect,
        server: String,
        tools: Option<Vec<String>>,
        at: usize,
    },
    ConfirmRunCommand {
        at: usize,
    },
    WorkspaceOnly {
        roots: Vec<String>,
        at: usize,
    },
    SafeDefaults {
        at: usize,
    },
}

impl RuleSpec {
    /// The byte of the file where its call begins.
    pub(crate) const fn at(&self) -> usize {
        match self {
            Self::Rule { at, .. }
            | Self::AllowAll { at }
            | Self::DenyAll { at }
            | Self::Mcp { at, .. }
            | Self::ConfirmRunCommand { at }
            | Self::WorkspaceOnly { at, .. }
            | Self::SafeDefaults { at } => *at,
        }
    }

    /// Which condition of the file it has.
    pub(crate) const fn when(&self) -> Option<usize> {
        match self {
            Self::Rule { when, .. } => *when,
            _ => None,
        }
    }

    /// How large its texts are.
    fn size(&self) -> usize {
        match self {
            Self::Rule { tool, does, reason, name, .. } => {
                let path = does.as_ref().map_or(0, |does| does.what.path().len());
                tool.len() + reason.len() + name.len() + path
            }
            Self::Mcp { server, tools, .. } => {
                // Each of them becomes a rule with a name that has the server in it.
                let tools = tools.as_deref().unwrap_or_default();
                tools.iter().map(|tool| tool.len() + server.len()).sum::<usize>() + server.len()
            }
            Self::WorkspaceOnly { roots, .. } => roots.iter().map(String::len).sum(),
            Self::AllowAll { .. }
            | Self::DenyAll { .. }
            | Self::ConfirmRunCommand { .. }
            | Self::SafeDefaults { .. } => 0,
        }
    }
}

/// A policy file whose top level has run, in the process that evaluates its conditions.
pub(crate) struct Rules {
    specs: Vec<RuleSpec>,
    conditions: Vec<OwnedFrozenValue>,
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rules").field("specs", &self.specs).finish_non_exhaustive()
    }
}

impl Rules {
    /// Checks and compiles a file, and runs what stands at its top level.
    pub(crate) fn compile(text: &str, limits: Limits) -> Result<Self, Failed> {
        let checked = || {
            let ast = check(text).map_err(|problems| first(&problems))?;
            Self::run(ast, limits)
        };
        depth::with_stack(MOST_DEPTH, checked).unwrap_or_else(|_| {
            // A worker can start no thread. It has a stack for the deepest tree, and is sent only
            // what was checked.
            let ast = AstModule::parse("script", text.to_owned(), &analysis::dialect());
            Self::run(ast.map_err(|error| failed(&error))?, limits)
        })
    }

    fn run(ast: AstModule, limits: Limits) -> Result<Self, Failed> {
        // The time of the first file is not for building them.
        let globals = globals();
        let making = Making::default();
        let module = Module::with_temp_heap(|module| {
            {
                let mut eval = Evaluator::new(&module);
                eval.extra = Some(&making);
                let _bound = limits.bound();
                limit(&mut eval, limits)?;
                eval.eval_module(ast, globals).map_err(|error| failed(&error))?;
            }
            module.freeze().map_err(|error| Failed::new(format!("{error:?}")))
        })?;
        let condition = |place| {
            let value = module.get_option(&kept_as(place));
            value.ok().flatten().ok_or_else(|| Failed::new("a condition was lost"))
        };
        let conditions = (0..making.conditions.get()).map(condition).collect::<Result<_, _>>()?;
        Ok(Self { specs: making.in_force()?, conditions })
    }

    /// The rules in force, in their order.
    pub(crate) fn specs(&self) -> &[RuleSpec] {
        &self.specs
    }

    /// Whether a condition holds for the arguments of a call. As in Python, any value counts as
    /// true or false.
    pub(crate) fn holds(
        &self,
        place: usize,
        args: &Map<String, Json>,
        limits: Limits,
    ) -> Result<bool, Failed> {
        let condition = self
            .conditions
            .get(place)
            .ok_or_else(|| Failed::new(format!("the file has no condition {place}")))?;
        Module::with_temp_heap(|module| {
            let mut eval = Evaluator::new(&module);
            let _bound = limits.bound();
            limit(&mut eval, limits)?;
            let heap = module.heap();
            let condition = heap.access_owned_frozen_value(condition);
            let held = eval.eval_function(condition, &[dict(args, heap)], &[]);
            held.map(starlark::values::Value::to_bool).map_err(|error| failed(&error))
        })
    }
}

/// Rules of a file that were run, or will be when one of their conditions needs the language.
pub(crate) struct MaybeRun {
    text: Arc<str>,
    limits: Limits,
    rules: OnceLock<Result<Rules, Failed>>,
}

impl MaybeRun {
    pub(crate) fn now(rules: Rules, limits: Limits) -> Self {
        Self { text: "".into(), limits, rules: OnceLock::from(Ok(rules)) }
    }

    pub(crate) fn later(text: &str, limits: Limits) -> Self {
        Self { text: text.into(), limits, rules: OnceLock::new() }
    }

    /// As [`Rules::holds`].
    pub(crate) fn holds(&self, place: usize, args: &Map<String, Json>) -> Result<bool, Failed> {
        let rules = self.rules.get_or_init(|| Rules::compile(&self.text, self.limits));
        rules.as_ref().map_err(Clone::clone)?.holds(place, args, self.limits)
    }
}

/// The name under which a condition is kept: one that no file can use.
fn kept_as(place: usize) -> String {
    format!("condition {place}")
}

/// What the builders of one file have made.
#[derive(Default, ProvidesStaticType)]
struct Making {
    rules: RefCell<Vec<RuleSpec>>,
    /// Places in `rules`, once `policy.enforce` was called.
    enforced: RefCell<Option<Vec<usize>>>,
    conditions: Cell<usize>,
    size: Cell<usize>,
}

impl Making {
    /// The rules that are to be enforced: those given to `policy.enforce` or, where it was never
    /// called, all.
    fn in_force(self) -> Result<Vec<RuleSpec>, Failed> {
        let rules = self.rules.into_inner();
        let Some(enforced) = self.enforced.into_inner() else { return Ok(rules) };
        let mut left_out = vec![true; rules.len()];
        for place in &enforced {
            if let Some(left_out) = left_out.get_mut(*place) {
                *left_out = false;
            }
        }
        // Whoever wrote it thinks that it counts.
        if let Some((rule, _)) = rules.iter().zip(left_out).find(|(_, left_out)| *left_out) {
            return Err(Failed {
                message: "this rule is in no list given to policy.enforce: put it into one, or \
                          leave out policy.enforce and all rules count"
                    .to_owned(),
                at: Some((Part::Script, rule.at())),
            });
        }
        Ok(enforced.iter().filter_map(|place| rules.get(*place).cloned()).collect())
    }
}

/// The names that policy files have: those of scripts that only compute, and `policy`.
fn globals() -> &'static Globals {
    static GLOBALS: OnceLock<Globals> = OnceLock::new();
    GLOBALS.get_or_init(|| {
        // Building the standard ones takes milliseconds, so they are shared.
        let scripts = sandbox::globals();
        let mut builder = GlobalsBuilder::new()
            .with(effects::register)
            .with_namespace("policy", builders::register);
        builder.frozen_heap().add_reference(scripts.heap());
        for (name, value) in scripts.iter().filter(|(name, _)| check::is_known(name)) {
            builder.set(name, value);
        }
        builder.build()
    })
}

fn limit(eval: &mut Evaluator<'_, '_, '_>, limits: Limits) -> Result<(), Failed> {
    let failed = |error: anyhow::Error| Failed::new(error.to_string());
    eval.set_max_tick_count(limits.steps).map_err(failed)?;
    eval.set_max_heap_size(limits.heap).map_err(failed)?;
    let begun = time_used();
    eval.set_check_cancelled(Box::new(move || time_used().saturating_sub(begun) > limits.time));
    Ok(())
}

/// What the language says of a failure, as a person would want to read it.
fn failed(error: &starlark::Error) -> Failed {
    let said = error.without_diagnostic().to_string();
    let said = said.strip_prefix("error: ").unwrap_or(&said).trim();
    let message = if matches!(error.kind(), starlark::ErrorKind::Fail(_)) {
        said.strip_prefix("fail: ").unwrap_or(said).to_owned()
    } else {
        in_our_words(said)
    };
    let at = error.span().map(|place| (Part::Script, place.span.begin().get() as usize));
    Failed { message, at }
}

fn in_our_words(said: &str) -> String {
    // What a limit says begins with it; elsewhere such words may be the file's own.
    let first = said.lines().next().unwrap_or_default();
    let start: String = first.chars().take(60).collect::<String>().to_ascii_lowercase();
    if start.contains("tick") && start.contains("limit") {
        return "it took more steps than a policy may".to_owned();
    }
    if start.contains("heap") && start.contains("limit") {
        return "it used more memory than a policy may".to_owned();
    }
    if start.contains("cancel") {
        return "it took longer than a policy may".to_owned();
    }
    let mut letters = first.chars();
    match letters.next() {
        Some(letter) => letter.to_lowercase().chain(letters).collect(),
        None => "it failed".to_owned(),
    }
}

/// The first of the problems of a file: who wants all of them asks [`check`].
fn first(problems: &[Problem]) -> Failed {
    match problems.first() {
        Some(problem) => Failed {
            message: match &problem.help {
                Some(help) => format!("{}: {help}", problem.message),
                None => problem.message.clone(),
            },
            at: Some((Part::Script, problem.range.start)),
        },
        None => Failed::new("the file cannot be read"),
    }
}
