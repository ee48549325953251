//! The engine's rules, from those of a file.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use tollgate_core::error::BoxError;
use tollgate_core::event::ToolCall;
use tollgate_core::hook::BoxFuture;
use tollgate_core::policy::{
    self, AskHandler, McpServer, Otherwise, Policies, PoliciesBuilder, Rule,
};
use tollgate_core::target::Target;

use super::{Effect, RuleSpec};
use crate::analysis::{CondError, Condition};

/// Asks whether a condition holds for a call, somewhere else.
pub(crate) type Elsewhere =
    Arc<dyn Fn(&ToolCall) -> BoxFuture<'static, Result<bool, BoxError>> + Send + Sync>;

/// What evaluates the condition of a rule.
#[derive(Clone)]
pub(crate) enum ConditionFor {
    /// It has a native form.
    Native(Condition),
    /// It has a native form; what that does not cover is asked elsewhere.
    NativeOr(Condition, Elsewhere),
    /// It is asked elsewhere.
    Async(Elsewhere),
}

impl fmt::Debug for ConditionFor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Native(_) => "Native",
            Self::NativeOr(..) => "NativeOr",
            Self::Async(_) => "Async",
        })
    }
}

/// The event that conditions are asked at.
const EVENT: &str = "tool.pre";

impl ConditionFor {
    fn of(self, rule: Rule) -> Rule {
        match self {
            Self::Native(condition) => rule.when(move |call| condition.eval(EVENT, &call.args)),
            Self::NativeOr(condition, elsewhere) => {
                rule.when_async(move |call| match condition.eval(EVENT, &call.args) {
                    Err(CondError::NotNative) => elsewhere(call),
                    held => Box::pin(std::future::ready(held.map_err(BoxError::from))),
                })
            }
            Self::Async(elsewhere) => rule.when_async(move |call| elsewhere(call)),
        }
    }
}

/// Where a rule is that cannot be enforced, as a byte of the file, and why it cannot.
pub(crate) type Refused = (Option<usize>, String);

/// Where a file of rules stands.
#[derive(Debug, Clone)]
pub(crate) struct Base {
    /// What relative paths count from: the project.
    pub(crate) path: PathBuf,
    /// True if it is the machine's: what its rules deny is denied also where it cannot be told.
    pub(crate) is_machine: bool,
}

/// The policies of a file. `condition` says what evaluates the condition of a number.
pub(crate) fn into_policies(
    specs: &[RuleSpec],
    condition: impl Fn(usize) -> ConditionFor,
    base: &Base,
    otherwise: Otherwise,
) -> Result<Policies, Refused> {
    builder(specs, condition, base, otherwise).build().map_err(|error| {
        // The engine sorts rules before it checks them, and tells only their labels.
        let alone = |spec: &RuleSpec| checker().rules(rules(spec, &unasked, base)).build();
        let place = specs.iter().find_map(|spec| alone(spec).err().map(|error| (spec, error)));
        match place {
            Some((spec, error)) => (Some(spec.at()), error.to_string()),
            None => (None, error.to_string()),
        }
    })
}

/// The same before it is checked.
pub(super) fn builder(
    specs: &[RuleSpec],
    condition: impl Fn(usize) -> ConditionFor,
    base: &Base,
    otherwise: Otherwise,
) -> PoliciesBuilder {
    let rules = specs.iter().flat_map(|spec| rules(spec, &condition, base));
    checker().otherwise(otherwise).rules(rules)
}

/// Which servers there are is the host's to know. A rule about one is in force in any case.
fn checker() -> PoliciesBuilder {
    Policies::builder().servers([])
}

fn unasked(_: usize) -> ConditionFor {
    ConditionFor::Async(Arc::new(|_| Box::pin(std::future::ready(Ok(false)))))
}

fn rules(spec: &RuleSpec, condition: &impl Fn(usize) -> ConditionFor, base: &Base) -> Vec<Rule> {
    match spec {
        RuleSpec::Rule { effect, tool, when, does, reason, name, .. } => {
            let (effect, asks) = match effect {
                Effect::Allow => (policy::Effect::Allow, false),
                Effect::Deny => (policy::Effect::Deny, false),
                Effect::Ask => (policy::Effect::Ask, true),
            };
            let mut rule = Rule::new(Target::parse(tool), effect).reason(reason).named(name);
            if asks {
                rule = rule.handler(AskHandler::host());
            }
            match (when, does) {
                (Some(place), _) => vec![condition(*place).of(rule)],
                (None, Some(does)) => does.rules(rule, tool, &base.path, base.is_machine),
                (None, None) => vec![rule],
            }
        }
        RuleSpec::AllowAll { .. } => vec![policy::allow_all()],
        RuleSpec::DenyAll { .. } => vec![policy::deny_all()],
        RuleSpec::Mcp { effect, server, tools, .. } => {
            let server = McpServer::new(server);
            let tools: Option<Vec<&str>> =
                tools.as_ref().map(|tools| tools.iter().map(String::as_str).collect());
            let tools = tools.as_deref();
            match effect {
                Effect::Allow => policy::allow_mcp(&server, tools),
                Effect::Deny => policy::deny_mcp(&server, tools),
                Effect::Ask => policy::ask_user_mcp(&server, tools, &AskHandler::host()),
            }
        }
        RuleSpec::ConfirmRunCommand { .. } => policy::confirm_run_command(Some(AskHandler::host())),
        RuleSpec::WorkspaceOnly { roots, .. } => {
            // Only the roots count from the project: what a relative path of a call counts from
            // is the host's to know, so that such a call is denied.
            let roots = roots.iter().map(|root| base.path.join(root));
            policy::workspace_only(roots, std::fs::read_link).into_iter().collect()
        }
        RuleSpec::SafeDefaults { .. } => policy::safe_defaults(AskHandler::host()),
    }
}
