//! Policy files: their rules, and where their conditions are evaluated.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use tollgate_config::diagnostic::{Code, Report};
use tollgate_config::source::Span;
use tollgate_config::tools::in_rule;
use tollgate_core::Registration;
use tollgate_core::context::{SessionContext, SessionInfo};
use tollgate_core::dialect::Layer;
use tollgate_core::error::BoxError;
use tollgate_core::event::ToolCall;
use tollgate_exec::worker::Workers;

use super::load::{no_worker, tell_of_file};
use super::outside::Outside;
use super::remote::{self, Conversation, NotCompiled, unexpected};
use super::{DEFAULT_TIME, Generation, Known, limits_in_worker};
use crate::policy::{
    Base, ConditionFor, Elsewhere, MaybeRun, Natives, RuleSpec, Rules, check, into_policies,
    is_simple, plain_specs,
};
use crate::protocol::{CodeId, Request, Response};
use crate::sandbox::Failed;

/// The policies of the file that the report is about.
pub(super) fn load(
    generation: &Arc<Generation>,
    layer: Layer,
    report: &mut Report,
) -> Option<Registration> {
    let file = Arc::clone(report.file());
    let text = file.text();
    let ast = check(text).map_err(|problems| tell_of_file(report, problems)).ok()?;
    let limits = limits_in_worker(DEFAULT_TIME);
    let id = generation.shared.next_code();
    let workers = generation.workers();
    let request = || Request::Rules { id, text: text.to_owned(), limits };
    let run_here = || Rules::compile(text, limits).map(|rules| (rules.specs().to_vec(), rules));
    let (specs, rules) = if let Some(specs) = plain_specs(&ast) {
        let run = generation.is_in_process().then(|| MaybeRun::later(text, limits));
        (specs, run.map(Arc::new))
    } else if generation.is_in_process() {
        let (specs, rules) = told(report, run_here())?;
        (specs, Some(Arc::new(MaybeRun::now(rules, limits))))
    } else if is_simple(&ast) {
        let (specs, _) = told(report, run_here())?;
        (specs, None)
    } else if let Some(workers) = &workers {
        let specs = match remote::compile(workers, generation, id, &request(), limits) {
            Ok(Response::Rules(specs)) => told(report, specs)?,
            Ok(other) => return told(report, Err(unexpected(&other))),
            Err(NotCompiled::Failed(failed)) => return told(report, Err(failed)),
            Err(NotCompiled::NoWorker(error)) => {
                no_worker(report, Span::default(), "it does more than make rules", &error);
                return None;
            }
        };
        (specs, None)
    } else {
        no_worker(report, Span::default(), "it does more than make rules", "there is no worker");
        return None;
    };
    tell_of_tools(report, &specs);
    let natives = Natives::of(text, &ast);
    let elsewhere = |place: usize| match (&rules, &workers) {
        (Some(rules), _) => Some(here(Arc::clone(rules), place)),
        (None, Some(workers)) => {
            Some(in_worker(workers.clone(), Arc::clone(generation), id, place, text))
        }
        (None, None) => None,
    };
    // Without anywhere to evaluate it, a condition must have a native form.
    let homeless = specs.iter().find(|spec| {
        spec.when()
            .is_some_and(|place| natives.condition(spec).is_none() && elsewhere(place).is_none())
    });
    if let Some(spec) = homeless {
        let why = "only Starlark can evaluate its condition";
        no_worker(report, Span::at(spec.at()), why, "there is no worker");
        return None;
    }
    let with_native = |spec: &RuleSpec| Some((spec.when()?, natives.condition(spec)?.clone()));
    let native: HashMap<usize, _> = specs.iter().filter_map(with_native).collect();
    let condition = |place: usize| match (native.get(&place).cloned(), elsewhere(place)) {
        (Some(native), Some(elsewhere)) => ConditionFor::NativeOr(native, elsewhere),
        (Some(native), None) => ConditionFor::Native(native),
        (None, Some(elsewhere)) => ConditionFor::Async(elsewhere),
        (None, None) => ConditionFor::Async(Arc::new(|_| {
            Box::pin(std::future::ready(Err("there is no worker process".into())))
        })),
    };
    let base =
        Base { path: project_of(file.path()).to_owned(), is_machine: layer == Layer::System };
    match into_policies(&specs, condition, &base, generation.otherwise) {
        Ok(policies) => {
            let path = file.path().display().to_string();
            Some(policies.into_registration().repeatable().layer(layer).source(path, None))
        }
        Err((at, why)) => {
            report.add(Code::BadPolicy, at.map(Span::at), why);
            None
        }
    }
}

/// Says which rules are about tools that nobody has.
fn tell_of_tools(report: &mut Report, specs: &[RuleSpec]) {
    for spec in specs {
        if let RuleSpec::Rule { tool, at, .. } = spec
            && let Some(remark) = in_rule(tool)
        {
            report.add(remark.code, Span::at(*at), remark.message).help(remark.help);
        }
    }
}

/// The folder that relative paths in a policy file count from: where `.tollgate` is.
fn project_of(path: &Path) -> &Path {
    let folder = path.parent().unwrap_or(Path::new("/"));
    match folder.file_name() {
        Some(name) if name == ".tollgate" => folder.parent().unwrap_or(folder),
        _ => folder,
    }
}

/// Tells what went wrong, in its place in the file.
fn told<T>(report: &mut Report, result: Result<T, Failed>) -> Option<T> {
    result
        .map_err(|failed| {
            let span = failed.at.map(|(_, at)| Span::at(at));
            report.add(Code::BadPolicy, span, failed.message);
        })
        .ok()
}

fn here(rules: Arc<MaybeRun>, place: usize) -> Elsewhere {
    Arc::new(move |call: &ToolCall| {
        let held = rules.holds(place, &call.args);
        Box::pin(std::future::ready(held.map_err(|failed| failed.message.into())))
    })
}

fn in_worker(
    workers: Workers<Known>,
    generation: Arc<Generation>,
    id: CodeId,
    place: usize,
    text: &str,
) -> Elsewhere {
    let text: Arc<str> = text.into();
    // Conditions ask for nothing outside. The session is here for the form.
    let session = SessionContext::new(SessionInfo::default());
    Arc::new(move |call: &ToolCall| {
        let (workers, generation) = (workers.clone(), Arc::clone(&generation));
        let (text, session) = (Arc::clone(&text), session.clone());
        let args = serde_json::to_string(&call.args).unwrap_or_default();
        Box::pin(async move {
            let limits = limits_in_worker(DEFAULT_TIME);
            let until = Instant::now() + workers.limits().start;
            let outside = Outside { generation: &generation, hook: "policy", cx: &session, until };
            let conversation = Conversation { workers: &workers, outside, limits };
            let load = || Request::Rules { id, text: text.to_string(), limits };
            let request = Request::Predicate { id, place, limits };
            let failed = |failed: Failed| BoxError::from(failed.message);
            match conversation.ask(id, load, &request, &args).await.map_err(failed)? {
                Response::Holds(holds) => holds.map_err(failed),
                other => Err(failed(unexpected(&other))),
            }
        })
    })
}
