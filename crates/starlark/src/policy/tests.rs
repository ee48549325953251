// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod bounds;
mod cases;
mod conformance;
mod docs;
mod laws;

use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use tollgate_core::event::ToolCall;
use tollgate_core::policy::{Otherwise, Outcome, OutcomeKind, Policies};

use super::build::Elsewhere;
use super::{Base, ConditionFor, Natives, RuleSpec, Rules, check, into_policies, plain_specs};
use crate::analysis::problem::place;
use crate::sandbox::{Failed, Limits};

/// Ample, so that a loaded machine changes nothing.
const LIMITS: Limits = Limits {
    steps: 100_000,
    heap: 16 * 1024 * 1024,
    time: Duration::from_mins(1),
    from_start: true,
};

/// The folder that relative roots count from.
const BASE: &str = "/work/project";

/// The value of a future that has nothing to wait for.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

/// Where conditions are evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    InStarlark,
    NativeWherePossible,
}

/// A file, loaded as the engine does it.
struct Loaded {
    rules: Arc<Rules>,
    natives: Natives,
    specs: Vec<RuleSpec>,
}

impl Loaded {
    fn new(text: &str) -> Result<Self, Failed> {
        let rules = Arc::new(Rules::compile(text, LIMITS)?);
        // They come from a worker.
        let sent = serde_json::to_vec(rules.specs()).unwrap();
        let specs: Vec<RuleSpec> = serde_json::from_slice(&sent).unwrap();
        assert_eq!(specs, rules.specs());
        let ast = check(text).unwrap();
        // Where the text tells the rules, they are what the language makes of it.
        if let Some(plain) = plain_specs(&ast) {
            assert_eq!(plain, specs, "{text}");
        }
        Ok(Self { rules, natives: Natives::of(text, &ast), specs })
    }

    fn condition(&self, place: usize, how: How) -> ConditionFor {
        let rules = Arc::clone(&self.rules);
        let elsewhere: Elsewhere = Arc::new(move |call: &ToolCall| {
            let held = rules.holds(place, &call.args, LIMITS);
            Box::pin(std::future::ready(held.map_err(|failed| failed.message.into())))
        });
        let spec = self.specs.iter().find(|spec| spec.when() == Some(place)).unwrap();
        match self.natives.condition(spec) {
            Some(native) if how == How::NativeWherePossible => {
                ConditionFor::NativeOr(native.clone(), elsewhere)
            }
            _ => ConditionFor::Async(elsewhere),
        }
    }

    fn policies(
        &self,
        how: How,
        otherwise: Otherwise,
        base: &Path,
    ) -> Result<Policies, (Option<usize>, String)> {
        let base = Base { path: base.to_owned(), is_machine: false };
        into_policies(&self.specs, |place| self.condition(place, how), &base, otherwise)
    }
}

/// All that is wrong with a file, each as `line:column message`.
fn problems(text: &str) -> Vec<String> {
    let at = |byte: usize| {
        let (line, column) = place(text, byte);
        format!("{line}:{column}")
    };
    if let Err(problems) = check(text) {
        let written = |problem: &crate::analysis::Problem| match &problem.help {
            Some(help) => format!("{} {}: {help}", at(problem.range.start), problem.message),
            None => format!("{} {}", at(problem.range.start), problem.message),
        };
        let first = Rules::compile(text, LIMITS).unwrap_err();
        let first = format!("{} {}", at(first.at.unwrap().1), first.message);
        let problems: Vec<String> = problems.iter().map(written).collect();
        assert_eq!(problems.first(), Some(&first));
        return problems;
    }
    let refused = match Loaded::new(text) {
        Err(failed) => (failed.at.map(|(_, at)| at), failed.message),
        Ok(loaded) => {
            let how = How::InStarlark;
            match loaded.policies(how, Otherwise::Open, Path::new(BASE)) {
                Err(refused) => refused,
                Ok(_) => return Vec::new(),
            }
        }
    };
    let at = refused.0.map_or_else(|| "nowhere".to_owned(), at);
    vec![format!("{at} {}", refused.1)]
}

/// An outcome as cases and the documentation write it.
fn written(outcome: &Outcome) -> String {
    let kind = match outcome.kind {
        OutcomeKind::NoRule => "no opinion",
        OutcomeKind::Allowed => "allow",
        OutcomeKind::Denied => "deny",
        OutcomeKind::HostAsks => "ask",
        OutcomeKind::EvaluationFailed => "deny, failed",
        _ => "a kind that files do not come to",
    };
    match outcome.message.as_str() {
        "" => kind.to_owned(),
        message => format!("{kind}: {message}"),
    }
}

#[test]
fn rules_are_told_by_the_text_where_nothing_is_computed() {
    let plain = |text: &str| plain_specs(&check(text).unwrap()).map(|specs| specs.len());
    let file = "\"\"\"What agents may do.\"\"\"\n\
        policy.deny(\"*\")\n\
        policy.allow(\"view_file\", reason = \"to look\", name = None)\n\
        policy.deny(\"run_command\", when = lambda args: \"rm\" in args.get(\"CommandLine\", \"\"))\n\
        policy.ask_user(\"run_command\", None, lambda args: True, \"why\", \"name\")\n\
        policy.allow_mcp(\"docs\", [\"read\"])\n\
        policy.deny_mcp(server = \"web\")\n\
        policy.workspace_only([\".\", \"/tmp\"])\n\
        policy.safe_defaults()\n\
        policy.confirm_run_command()\n\
        policy.allow_all()\n\
        policy.deny_all()\n";
    assert_eq!(plain(file), Some(11));
    let loaded = Loaded::new(file).unwrap();
    assert_eq!(loaded.specs.len(), 11);
    for line in [
        "x = 1",
        "policy.enforce([policy.deny(\"*\")])",
        "policy.deny(\"a\" + \"b\")",
        "policy.allow(\"a\", when = writes_under(\"/etc\"))",
        "policy.deny(\"a\", when = writes_under(\"/etc\", unknown = \"x\"))",
        "policy.deny(\"a\", when = writes_under(\"/etc\", path = \"/usr\"))",
        "policy.workspace_only(\"~\")",
        "[policy.deny(tool) for tool in [\"a\", \"b\"]]",
        "policy.deny(*[\"a\"])",
        "policy.deny(\"a\", tool = \"b\")",
        "policy.allow(\"a\", when = lambda args, x = policy.deny(\"b\"): True)",
    ] {
        assert_eq!(plain(&format!("{line}\n")), None, "{line}");
    }
}
