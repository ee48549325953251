//! The hooks of a file that are commands, on their way into force.

use std::sync::{Arc, OnceLock};

use tollgate_core::dialect::{Layer, Mode};
use tollgate_core::{Dialect, Registration};
use tollgate_exec::Environment;

use super::review::{HELP, Review};
use super::shells::{is_for_shells, variables};
use super::trusted::from_here;
use super::{FileState, Loader, cwd};
use crate::command::{Closed, CommandHook, GRACE, Origin};
use crate::diagnostic::{Code, Report};
use crate::dialect::{FileDialect, FileHook, HookFile};
use crate::layers::{Format, Place};
use crate::script::Listed;
use crate::settings;
use crate::source::SourceFile;
use crate::trust::{Seal, Survey};

impl Loader<'_> {
    /// Puts the commands of a file in force, and says what became of it.
    pub(super) fn commands(
        &mut self,
        place: &Place,
        source: &Arc<SourceFile>,
        file: HookFile,
        (seal, review): (Option<Arc<Seal>>, Option<&Review>),
        negated: &[(Dialect, String)],
    ) -> FileState {
        let Format::Commands(format) = place.format else { return FileState::Off };
        let dialect = format.dialect();
        let off = |hook: &FileHook| {
            let name = |(of, name): &(Dialect, String)| *of == dialect && *name == hook.name;
            place.layer == Layer::User && negated.iter().any(name)
        };
        let shown: Arc<str> = place.path.display().to_string().into();
        let project = self.setup.places.project.as_deref();
        let origin = |seal| {
            Arc::new(Origin {
                cwd: cwd(format, &place.path, project),
                environment: match &self.setup.settings.settings.command.environment {
                    settings::Environment::Inherit => Environment::inherit(),
                    settings::Environment::Only(names) => Environment::only(names),
                }
                .without(is_for_shells),
                variables: variables(place.layer, project),
                seal,
            })
        };
        let of_all = origin(seal);
        let mut closed = Vec::new();
        for mut hook in file.hooks.into_iter().filter(|hook| !off(hook)) {
            let line = source.line(hook.span.start);
            self.catalogue.push(Listed::command(dialect, place, line, &hook));
            if !self.is_wanted(hook.event.kinds) {
                continue;
            }
            let mut origin_of = Ok(Arc::clone(&of_all));
            if let Some(review) = review {
                origin_of = review.command(format, &hook.command, &of_all.cwd).map(|approved| {
                    hook.command = approved.command;
                    origin(approved.seal)
                });
            }
            if let Err(why) = &origin_of {
                closed.push((hook.span, why.clone()));
            }
            let registration =
                self.registration((format, place.layer), (&shown, line), hook, origin_of);
            self.loaded.registrations.push(registration);
        }
        let state = if closed.is_empty() { FileState::InForce } else { FileState::Changed };
        for (span, why) in closed {
            self.loaded.is_sound = false;
            let mut report = Report::new(Arc::clone(source));
            report.add(Code::ChangedSinceTrusted, span, why).help(HELP);
            self.loaded.diagnostics.extend(report.into_diagnostics());
        }
        state
    }

    /// What a file runs that trust says nothing about.
    pub(super) fn unpinned(
        &mut self,
        survey: &Survey,
        format: Format,
        source: &Arc<SourceFile>,
        file: &HookFile,
    ) {
        let Format::Commands(format) = format else { return };
        let mut report = Report::new(Arc::clone(source));
        for unpinned in survey.unpinned() {
            let is_here = survey.root().join(&unpinned.file) == source.path();
            let mut hooks = file.hooks.iter();
            if let Some(hook) =
                hooks.find(|hook| is_here && from_here(format, &hook.command) == unpinned.command)
            {
                report
                    .add(
                        Code::Unpinned,
                        hook.span,
                        format!("not all that this command runs is pinned: {}", unpinned.reason),
                    )
                    .help("what it runs may change without anybody being asked again");
            }
        }
        self.loaded.diagnostics.extend(report.into_diagnostics());
    }

    fn registration(
        &mut self,
        (format, layer): (&'static dyn FileDialect, Layer),
        (path, line): (&Arc<str>, u32),
        hook: FileHook,
        origin: Result<Arc<Origin>, String>,
    ) -> Registration {
        let FileHook { name, event, matcher, command, time, condition, variables, .. } = hook;
        let configured = match format.dialect() {
            Dialect::Polytoken => Some(self.setup.settings.settings.polytoken.deadline),
            _ => None,
        };
        let usual = || configured.unwrap_or_else(|| format.time());
        let time = time.unwrap_or_else(|| usual().min(self.setup.settings.settings.limits.hook));
        self.loaded.longest = self.loaded.longest.max(time);
        let registration = Registration::named(name.clone())
            .dialect(format.dialect())
            .layer(layer)
            .source(Arc::clone(path), Some(line))
            .matching(matcher)
            .deadline(time + GRACE);
        let registration = match origin {
            Ok(origin) => {
                let handler = Arc::new(CommandHook {
                    name,
                    dialect: format,
                    script: command,
                    shell: self.shell(hook.shell.unwrap_or_else(|| format.shell())).to_owned(),
                    condition,
                    variables,
                    origin,
                    command: OnceLock::new(),
                    time,
                    surroundings: Arc::clone(&self.surroundings),
                });
                let kinds = event.kinds.iter();
                kinds.fold(registration, |all, kind| all.and_on_kind(*kind, Arc::clone(&handler)))
            }
            Err(why) => {
                let handler = Arc::new(Closed { why });
                let kinds = event.kinds.iter();
                kinds.fold(registration, |all, kind| all.and_on_kind(*kind, Arc::clone(&handler)))
            }
        };
        if hook.in_background { registration.mode(Mode::Inspect) } else { registration }
    }
}
