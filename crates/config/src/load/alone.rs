//! One command as a hook, without a file.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tollgate_core::dialect::Layer;
use tollgate_core::{Kind, Registration};
use tollgate_exec::{Environment, Executor, Limits};

use super::shells::{is_for_shells, place_of};
use crate::command::{CommandHook, GRACE, Origin, Surroundings};
use crate::dialect::FileDialect;

/// A command that was written for a system, as a hook of one event. None where the system has no such
/// event.
///
/// ```
/// use std::path::Path;
/// use std::time::Duration;
/// use tollgate_config::dialect;
/// use tollgate_config::load::command_hook;
/// use tollgate_core::{Dialect, Kind};
///
/// let claude = dialect::of(Dialect::Claude).ok_or("no such dialect")?;
/// let time = Duration::from_secs(5);
/// let hook = command_hook(claude, Kind::ToolPre, "./guard.sh", Path::new("/work"), time);
/// assert!(hook.is_some());
/// assert!(command_hook(claude, Kind::FacetSwitch, "true", Path::new("/"), time).is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn command_hook(
    format: &'static dyn FileDialect,
    event: Kind,
    command: &str,
    directory: &Path,
    time: Duration,
) -> Option<Registration> {
    let name = format.name_of(event)?;
    let handler = CommandHook {
        name: name.to_owned(),
        dialect: format,
        script: command.to_owned(),
        shell: place_of(format.shell()),
        condition: None,
        variables: Vec::new(),
        origin: Arc::new(Origin {
            cwd: directory.to_owned(),
            environment: Environment::inherit().without(is_for_shells),
            variables: Vec::new(),
            seal: None,
        }),
        command: OnceLock::new(),
        time,
        surroundings: Arc::new(Surroundings {
            executor: Executor::in_place(),
            limits: Limits::default(),
            project: Some(directory.to_owned()),
            interactive: false,
        }),
    };
    let registration = Registration::named(name)
        .dialect(format.dialect())
        .layer(Layer::Code)
        .deadline(time + GRACE)
        .and_on_kind(event, Arc::new(handler));
    Some(registration)
}
