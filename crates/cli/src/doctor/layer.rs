//! Examines one layer of an agent's configuration: is Tollgate registered there, and would its answer count.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Serialize;
use tollgate_core::Kind;
use tollgate_hosts::Host;
use tollgate_install::{CommandLine, Configured, Found, Installed, Layer, Surroundings};

use super::canary::Canary;
use super::cover;
use crate::install::{self, uncovered};
use crate::place::shown;

/// When Tollgate answers at the latest if its command does not say.
const UNTOLD: Duration = Duration::from_secs(25);

/// The findings in a layer.
#[derive(Debug, Serialize)]
pub(crate) struct LayerReport {
    pub(crate) layer: String,
    pub(crate) path: PathBuf,
    pub(crate) installed: bool,
    /// What is wrong, and what to do.
    pub(crate) problems: Vec<String>,
    /// What is good to know.
    pub(crate) notes: Vec<String>,
    /// Tools that it is not asked about, as far as they are known.
    tools_not_covered: Vec<&'static str>,
    pub(crate) canary: Option<Canary>,
}

/// The command that puts an installation right, in a sentence. A bare name stays one.
fn again(found: &Found, installed: &Installed) -> String {
    let mut programs = installed.commands.iter().filter_map(|it| it.program.as_deref());
    let bare = programs.find(|it| !it.contains('/'));
    let layer = match installed.layer {
        Layer::Project => " --project",
        Layer::User => "",
    };
    let usual = installed.layer == Layer::Project && bare == Some(install::NAME);
    let program = bare.filter(|_| !usual).map(|it| format!(" --program {it}")).unwrap_or_default();
    format!("`tollgate install {}{layer}{program}` puts it right", found.target.name)
}

impl LayerReport {
    pub(super) fn is_of_interest(&self) -> bool {
        self.installed || !self.problems.is_empty()
    }

    pub(super) fn examine(
        found: &Found,
        host: Option<&'static Host>,
        installed: &Installed,
        start: &Path,
        here: &Surroundings,
    ) -> Self {
        let unread = |error: &tollgate_install::InstallError| {
            format!("{}: put that right, or move the file away", error.problem())
        };
        let mut report = Self {
            layer: installed.layer.to_string(),
            path: installed.path.clone(),
            installed: installed.is_installed(),
            problems: installed.problems.iter().map(unread).collect(),
            notes: Vec::new(),
            tools_not_covered: Vec::new(),
            canary: None,
        };
        if !report.installed {
            return report;
        }
        report.tools_not_covered.clone_from(&installed.uncovered);
        let again = again(found, installed);
        // Wherever it stands, it is for all layers.
        for (path, setting) in found.layers.iter().flat_map(|layer| &layer.switched_off) {
            report.problems.push(format!("{} turns hooks off: `{setting}`", shown(path)));
        }
        let (gates, others): (Vec<_>, Vec<_>) =
            installed.missing.iter().partition(|registration| registration.gate);
        let names = |all: &[&tollgate_install::Registration]| {
            all.iter().map(|it| it.event).collect::<Vec<_>>().join(", ")
        };
        if !gates.is_empty() {
            report.problems.push(format!("not asked about {}: {again}", names(&gates)));
        }
        if !others.is_empty() {
            report.notes.push(format!("not told about {}: {again}", names(&others)));
        }
        if let Some(what) = uncovered(&installed.uncovered) {
            report.notes.push(format!("not asked about {what}"));
        }
        report.problems.extend(installed.distrusted.iter().cloned());
        report.look_at_gates(host, installed, &again);
        report.look_at_versions(installed, &again, &here.program);
        for other in &installed.others {
            if let Some(how) = other.undoes {
                let command =
                    other.command.as_ref().map(CommandLine::to_string).unwrap_or_default();
                report.notes.push(format!(
                    "another hook at {} could undo what is not a refusal ({how}): `{command}` in {}",
                    other.event,
                    shown(&other.path)
                ));
            }
        }
        // Where the host keeps a record, what it needs was looked up.
        if !found.target.asks_for_trust {
            report.notes.extend(found.target.needs(installed.layer).into_iter().map(str::to_owned));
        }
        if let Some(host) = host {
            report.look_at_rewrites(found, host);
            report.look_at_patience(host, installed, &again);
            if report.look_at_start(found, host, installed, start, here) {
                report.try_canary(host, installed, &again, start, here);
            }
        }
        report
    }

    /// Names hooks that could rewrite a call after Tollgate has seen it.
    fn look_at_rewrites(&mut self, found: &Found, host: &Host) {
        if !host.facts().is_some_and(|facts| facts.rewrites_unseen) {
            return;
        }
        let is_gate = |event: &str| host.event(event).is_some_and(|it| it.kind == Kind::ToolPre);
        for other in found.layers.iter().flat_map(|layer| &layer.others) {
            if is_gate(&other.event) {
                let command = other.command.as_ref().map_or_else(
                    || "a hook that is not a command".to_owned(),
                    |it| format!("`{it}`"),
                );
                self.notes.push(format!(
                    "another hook at {} can rewrite a call after Tollgate has seen it: {command} in {}",
                    other.event,
                    shown(&other.path)
                ));
            }
        }
    }

    /// Compares when Tollgate answers with how long the agent waits: what comes too late does not count.
    fn look_at_patience(&mut self, host: &Host, installed: &Installed, again: &str) {
        let is_late = |gate: &&Configured| {
            let ours = gate.deadline.unwrap_or(UNTOLD).min(host.patience);
            gate.patience.is_some_and(|theirs| ours > theirs.mul_f64(0.9))
        };
        let gates = installed.commands.iter().filter(|it| it.gate);
        let late: Vec<_> = gates.filter(is_late).collect();
        let Some(first) = late.first() else { return };
        let events: Vec<_> = late.iter().map(|gate| gate.event.as_str()).collect();
        let ours = first.deadline.unwrap_or(UNTOLD).min(host.patience).as_secs();
        let theirs = first.patience.unwrap_or_default().as_secs_f64();
        self.problems.push(format!(
            "{}: {} stops waiting after {theirs} s, and Tollgate may take {ours} s, so a slow answer would \
             not count; {again}",
            events.join(", "),
            host.title
        ));
    }

    /// Says whether the agent reads this layer where it would start.
    fn look_at_start(
        &mut self,
        found: &Found,
        host: &Host,
        installed: &Installed,
        start: &Path,
        here: &Surroundings,
    ) -> bool {
        let reads_parents = host.facts().is_none_or(|facts| facts.reads_parents);
        let Ok(below) = start.strip_prefix(&here.project) else { return true };
        if installed.layer == Layer::User || reads_parents || below.as_os_str().is_empty() {
            return true;
        }
        let (title, project) = (host.title, here.project.display());
        let unread = format!(
            "{title} does not read this file when it is started in `{}`, a subdirectory of the project",
            below.display()
        );
        let of_user = |layer: &&Installed| layer.layer == Layer::User && layer.is_installed();
        if found.layers.iter().any(|layer| of_user(&layer)) {
            self.notes.push(format!("{unread}; the user level holds there"));
        } else {
            let name = host.name;
            self.problems.push(format!(
                "{unread}: start it in `{project}`, or `tollgate install {name}` for all directories"
            ));
        }
        false
    }

    /// What is registered, does what it should, and would be written in another way now.
    fn look_at_versions(&mut self, installed: &Installed, again: &str, own: &Path) {
        let is_old = |it: &&Configured| !it.is_current && (it.weaker.is_empty() || !it.gate);
        let old = || installed.commands.iter().filter(is_old);
        let others = || old().filter_map(|it| it.program.as_deref());
        if let Some(program) = others().find(|it| Path::new(it) != own) {
            let own = own.display();
            self.notes.push(format!("it calls `{program}`, and this is {own}"));
        } else if old().next().is_some() {
            self.notes.push(format!("the command is not the one of this version: {again}"));
        }
    }

    /// What is registered, and does less than it would as it is written now.
    fn look_at_gates(&mut self, host: Option<&Host>, installed: &Installed, again: &str) {
        let gates = || installed.commands.iter().filter(|it| it.gate);
        // What is there twice is asked twice: once as it should be is enough.
        let is_weak = |it: &&Configured| {
            !gates().any(|other| other.event == it.event && other.weaker.is_empty())
        };
        let mut all: Vec<(String, Vec<&str>)> = Vec::new();
        for weak in gates().filter(is_weak) {
            let mut how = weak.weaker.join(", ");
            let of_tool = |host: &Host| {
                let kind = host.event(&weak.event).map(|it| it.kind);
                matches!(kind, Some(Kind::ToolPre | Kind::ToolPost))
            };
            let left_out = match (host, &weak.matcher) {
                (Some(host), Some(matcher)) if of_tool(host) => cover::left_out(host, matcher),
                _ => Vec::new(),
            };
            if !left_out.is_empty() {
                how = format!("{how}, so that it is not asked about {}", cover::few(&left_out));
            }
            for tool in left_out {
                if !self.tools_not_covered.contains(&tool) {
                    self.tools_not_covered.push(tool);
                }
            }
            match all.iter_mut().find(|(known, _)| *known == how) {
                Some((_, events)) => events.push(&weak.event),
                None => all.push((how, vec![&weak.event])),
            }
        }
        for (how, events) in all {
            let are = if events.len() == 1 { "is" } else { "are" };
            let events = events.join(", ");
            self.problems
                .push(format!("{events} {are} not what this version writes: {how}; {again}"));
        }
    }

    /// The programs that gates call: those that are missing, and those that nobody tries here.
    fn look_at_programs(&mut self, installed: &Installed, tried: &str, again: &str, own: &Path) {
        let mut told = Vec::new();
        for gate in installed.commands.iter().filter(|it| it.gate) {
            let Some(program) = gate.program.as_deref().filter(|it| !told.contains(it)) else {
                continue;
            };
            told.push(program);
            if !gate.is_there {
                self.problems.push(format!(
                    "the program is not there: `{program}`; every call is refused until it is: {again}"
                ));
            } else if program != tried && Path::new(program) != own {
                let event = &gate.event;
                self.problems
                    .push(format!("another program is asked at {event}: `{program}`; {again}"));
            }
        }
    }

    fn try_canary(
        &mut self,
        host: &'static Host,
        installed: &Installed,
        again: &str,
        start: &Path,
        here: &Surroundings,
    ) {
        let is_gate = |it: &&Configured| {
            let event = host.event(&it.event);
            event.is_some_and(|it| it.kind == Kind::ToolPre)
                || matches!(it.command, CommandLine::Plugin(_))
        };
        let gates = || installed.commands.iter().filter(is_gate);
        let Some(command) = gates().find(|it| it.weaker.is_empty()).or_else(|| gates().next())
        else {
            return;
        };
        let program = command.program.clone().unwrap_or_default();
        self.look_at_programs(installed, &program, again, &here.program);
        // What is missing refuses nothing itself.
        if !command.is_there {
            return;
        }
        let canary = match &command.command {
            plugin @ CommandLine::Plugin(_) => Canary::through_plugin(host, plugin, program, start),
            line => Canary::sing(host, &command.event, line, start),
        };
        if let Some(why) = canary.problem() {
            self.problems.push(why);
        }
        self.canary = Some(canary);
    }
}
