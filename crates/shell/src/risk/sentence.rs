//! The words of a refusal: what would happen, why that is a problem, what to do instead.
//!
//! All sentences that a guard says are written here; `cases/guards/sentences.json` has one of each.

use crate::effects::Place;
use crate::resolve::Why;

/// Puts the file in front that says so.
pub(super) fn in_script(path: &str, sentence: &str) -> String {
    format!("`{path}` was read first. {sentence}")
}

pub(super) fn deletes(path: &str, place: Place, tree: bool, by: &str, text: &str) -> String {
    match place {
        Place::Root if variable(text, by).is_some() => {
            let name = variable(text, by).unwrap_or_default();
            format!("`{name}` may be empty, and then this would delete every file on this machine. Write the path out, or use `${{{}:?}}`.", name.trim_start_matches('$'))
        }
        Place::Root => "This would delete every file on this machine. Name the files in the project that have to go.".to_owned(),
        Place::Home if path == "~" || path.ends_with("/*") || path == "~/*" => {
            "This would delete your whole home directory. Name the files in the project that have to go.".to_owned()
        }
        Place::Home => format!("This would delete the home directory `{path}`. Name the files in the project that have to go."),
        Place::Device => format!("This would delete the device file `{path}`, which programs need."),
        Place::System => format!("This would delete `{path}`, which belongs to the system. Ask the person to do it if it is meant."),
        Place::Above => format!("This would delete `{path}`, which the project itself is in. Name the files in the project that have to go."),
        Place::Workspace => "This would delete the whole project. Name the files that have to go.".to_owned(),
        Place::Repository if path == ".git" || path.ends_with("/.git") => {
            "This would delete `.git`, and with it every commit that is not pushed. Use git's own commands.".to_owned()
        }
        Place::Repository => format!("This would delete `{path}`, which belongs to git. Use git's own commands."),
        Place::Unknown => format!("Cannot tell what `{by}` would delete. Name the files."),
        _ if tree => format!("This would delete `{path}` with everything in it, outside the project. Ask the person first."),
        _ => format!("This would delete `{path}`, which is outside the project. Ask the person first."),
    }
}

pub(super) fn deletes_sources(pattern: &str) -> String {
    format!("This would delete every `{pattern}` of the project. Name the files that have to go.")
}

pub(super) fn deletes_secret(path: &str, what: &str) -> String {
    format!(
        "This would delete `{path}` ({what}), which cannot be made again. Ask the person to do it."
    )
}

/// `text` is the command line: it tells which variable is not known.
pub(super) fn deletes_unknown(text: &str, by: &str) -> String {
    match variable(text, by) {
        Some(name) => format!(
            "`{name}` may be empty: cannot tell what `{by} -r` would delete. Write the path out, or use `${{{}:?}}`.",
            name.trim_start_matches('$')
        ),
        None => format!(
            "Cannot tell what `{by} -r` would delete: its names are only known when it runs. Write them out."
        ),
    }
}

/// The first variable behind a program's name, as it is written without braces: `$OUT`.
fn variable(text: &str, by: &str) -> Option<String> {
    let program = by.split(' ').next().unwrap_or(by);
    let from = text.find(program).map_or(0, |at| at + program.len());
    let (_, rest) = text.get(from..)?.split_once('$')?;
    let name = rest.strip_prefix('{').unwrap_or(rest);
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    let name = name.get(..end)?;
    let is_name = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    is_name.then(|| format!("${name}"))
}

pub(super) fn overwrites_device(path: &str, by: &str) -> String {
    format!("`{by}` would overwrite the device `{path}`, and everything on it is lost.")
}

pub(super) fn rewrites_all(path: &str, place: Place, by: &str) -> String {
    let what = match place {
        Place::Root => "every file on this machine".to_owned(),
        Place::Home => "your whole home directory".to_owned(),
        _ => format!("everything below `{path}`"),
    };
    format!(
        "`{by}` would change {what}, and what it was before is not kept. Name a directory inside the project."
    )
}

pub(super) fn mounts(path: &str, by: &str) -> String {
    format!(
        "`{by}` would give the container all of `{path}` to change. Mount a directory of the project."
    )
}

pub(super) fn empties(path: &str, by: &str) -> String {
    format!(
        "`{by}` would empty `{path}`, which belongs to the system. Ask the person to do it if it is meant."
    )
}

pub(super) fn may_empty(by: &str) -> String {
    format!(
        "`{by}` may empty any file of the project: its names are only known when it runs. Write them out."
    )
}

pub(super) fn downloads_into_system(path: &str, by: &str) -> String {
    format!(
        "`{by}` would put a downloaded file into the system at `{path}`. Save it in the project instead."
    )
}

pub(super) fn reads_secret(path: &str, what: &str) -> String {
    format!(
        "`{path}` holds {what}. An agent does not read them; ask the person for what you need to know."
    )
}

pub(super) fn reads_all(path: &str, by: &str) -> String {
    format!(
        "`{by}` would read everything below `{path}`, keys and passwords included. Name a directory inside the project."
    )
}

pub(super) fn reads_store(by: &str) -> String {
    format!("`{by}` hands out stored secrets. Ask the person for what you need.")
}

pub(super) fn lends_keys(by: &str) -> String {
    format!("`{by} --ssh` lets the build use your SSH keys. Ask the person first.")
}

pub(super) fn nearly_package(name: &str, meant: &str) -> String {
    format!("`{name}` is not the package `{meant}`, only nearly its name. Did you mean `{meant}`?")
}

pub(super) fn sends_variable(name: &str, host: &str) -> String {
    format!(
        "This would send `${name}` to {host} as part of an address. Addresses are written to logs; ask the person."
    )
}

pub(super) fn changes_build(path: &str) -> String {
    format!(
        "`{path}` is what the build server runs, with the secrets of the repository. Look at this change before it is made."
    )
}

pub(super) fn writes_startup(path: &str, what: &str) -> String {
    format!(
        "`{path}` is {what}: what is written there takes effect later, without anybody looking. Ask the person to make this change."
    )
}

pub(super) fn changes_record(path: &str, what: &str) -> String {
    if path.is_empty() {
        return format!("This would change {what}. They stay as they are.");
    }
    format!("`{path}` holds {what}. It stays as it is, so that people can see what happened.")
}

pub(super) fn asks_metadata(host: &str) -> String {
    format!(
        "`{host}` hands out the credentials of this virtual machine. Ask the person for what you need to know."
    )
}

pub(super) fn sends_to_public(host: &str, by: &str) -> String {
    format!(
        "`{by}` would send data to {host}, where anybody can upload and read. Keep it on this machine."
    )
}

pub(super) fn sends_file(file: &str, host: &str, by: &str) -> String {
    let host = if host.contains("$?") { "a host that is only known when it runs" } else { host };
    format!("`{by}` would send `{file}`, which is not part of the project, to {host}.")
}

pub(super) fn sends_name(by: &str) -> String {
    format!(
        "`{by}` would ask for a name that is computed, and so send what is in it to a stranger's name server. Write the name out."
    )
}

pub(super) fn sends_to_address(host: &str, by: &str) -> String {
    format!(
        "`{by}` would send data to {host}, an address without a name. Ask the person whose machine that is."
    )
}

pub(super) fn goes_through(host: &str, by: &str) -> String {
    if host.contains("$?") {
        return format!(
            "Cannot tell where `{by}` would go: its options are only known when it runs. Write them out."
        );
    }
    format!(
        "`{by}` would go through {host}, which can read and change what is sent and fetched. Ask the person whether that is meant."
    )
}

pub(super) fn pushes_elsewhere(host: &str) -> String {
    format!(
        "This would push the repository to {host}, which is not one of the usual sites. Ask the person whether that is meant."
    )
}

pub(super) fn sends_by_tool(host: &str, by: &str) -> String {
    format!("`{by}` would send data to {host}. Ask the person whether that is meant.")
}

pub(super) fn sends_settings(path: &str) -> String {
    format!("This would send `{path}`, with the passwords in it, to another machine.")
}

pub(super) fn sends_environment() -> String {
    "This would send environment variables to another machine, tokens and passwords included."
        .to_owned()
}

pub(super) fn changes_accounts(by: &str, name: &str) -> String {
    let of = if name.is_empty() { String::new() } else { format!(" (`{name}`)") };
    format!(
        "`{by}` changes the accounts of this machine{of}: people decide who can log in. Ask the person to do it."
    )
}

pub(super) fn changes_kernel(by: &str, name: &str) -> String {
    let of = if name.is_empty() { String::new() } else { format!(" `{name}`") };
    format!("`{by}` changes the kernel{of} while it runs. Ask the person to do it.")
}

pub(super) fn grants(by: &str, name: &str) -> String {
    let of = if name.is_empty() { String::new() } else { format!(" (`{name}`)") };
    format!(
        "`{by}` gives rights to somebody or something{of}: people decide that. Ask the person to do it."
    )
}

pub(super) fn schedules(by: &str) -> String {
    format!(
        "`{by}` makes something run later, when nobody looks. Run it now, or ask the person to schedule it."
    )
}

pub(super) fn opens_firewall(by: &str) -> String {
    format!("`{by}` changes which connections this machine accepts. Ask the person first.")
}

pub(super) fn powers_off(by: &str) -> String {
    format!("`{by}` would turn this machine off or restart it, and end everything that runs on it.")
}

pub(super) fn sets_git(name: &str) -> String {
    format!(
        "git's setting `{name}` can run programs or redirect connections. Ask the person to set it."
    )
}

pub(super) fn adds_extension(name: &str) -> String {
    format!("The editor would run the extension `{name}` from now on. Ask the person first.")
}

pub(super) fn sets_package_source(by: &str, name: &str) -> String {
    let manager = by.split(' ').next().unwrap_or(by);
    format!(
        "`{name}` decides where {manager} gets packages from, or what runs them. Ask the person to set it."
    )
}

pub(super) fn stops_protection(by: &str, name: &str) -> String {
    format!("`{by}` would end `{name}`, which watches or protects this machine. It stays on.")
}

pub(super) fn adds_service(by: &str, name: &str) -> String {
    format!("`{by}` would make `{name}` run by itself from now on. Ask the person to set it up.")
}

pub(super) fn destroys(what: &str, name: &str, by: &str) -> String {
    let named = if name.is_empty() { String::new() } else { format!(" `{name}`") };
    match what {
        "history" if by.contains("push") && by.contains("--delete") => {
            format!(
                "`{by}` deletes the branch{named} on the remote, with commits that only it may have. Ask the person first."
            )
        }
        "history" if by.contains("push") => format!(
            "`{by}` rewrites remote history and cannot be undone. Push to a new branch instead."
        ),
        "history" => format!(
            "`{by}` rewrites or removes commits and cannot be undone. Make a new branch instead."
        ),
        "repository" if by.contains("stash") => {
            format!("`{by}` throws away stashed changes and cannot be undone. Use `git stash pop`.")
        }
        "repository" if by.contains("clean") => format!(
            "`{by}` deletes files that git does not track and cannot be undone. Name the files that have to go."
        ),
        "repository" if by.contains("branch") => format!(
            "`{by}` deletes the branch{named} with commits that only it may have. Use `git branch -d`."
        ),
        "repository" => format!(
            "`{by}` throws away changes that are not committed and cannot be undone. Commit or stash them first."
        ),
        "database" if name.chars().all(|c| c.is_ascii_uppercase()) => {
            format!(
                "`{by}` deletes data of the database and cannot be undone. Ask the person to do it."
            )
        }
        "database" => format!(
            "`{by}` deletes data of the database{named} and cannot be undone. Ask the person to do it."
        ),
        "cloud" if name == "public" => {
            format!("`{by}` makes this public, and what was public stays known.")
        }
        "cloud" => format!(
            "`{by}` deletes{} at the provider and cannot be undone. Ask the person to do it.",
            or(&named, " resources")
        ),
        "cluster" => format!(
            "`{by}` deletes{} from the cluster and cannot be undone. Ask the person to do it.",
            or(&named, " resources")
        ),
        "container" => format!(
            "`{by}` deletes{} with the data in them. Name the ones that have to go.",
            or(&named, " containers, images or volumes")
        ),
        "filesystem" if name == "full disk" => {
            format!("`{by}` writes without end and fills the disk.")
        }
        "filesystem" => format!(
            "`{by}` deletes or replaces the file system{named}, and everything on it is lost."
        ),
        "device" => format!("`{by}` erases the disk{named}, and everything on it is lost."),
        "power" => powers_off(by),
        "process" => format!(
            "`{by}` would end processes that others need. Name the process that has to end."
        ),
        "service" => format!(
            "`{by}` would end{}, which others need. Ask the person to do it.",
            or(&named, " services")
        ),
        "package" => format!(
            "`{by}` removes{}, which the system needs. Ask the person to do it.",
            or(&named, " packages")
        ),
        "account" => format!(
            "`{by}` deletes the account{named} or locks people out. Ask the person to do it."
        ),
        "firewall" => format!(
            "`{by}` turns off what protects this machine, or locks everybody out. Ask the person to do it."
        ),
        "network" => format!("`{by}` takes the network down. Ask the person to do it."),
        "kernel" => format!(
            "`{by}` changes the kernel while it runs and may stop the machine. Ask the person to do it."
        ),
        "log" => format!(
            "`{by}` deletes records of what happened. They stay, so that people can see it."
        ),
        "secret" => format!(
            "`{by}` deletes keys or passwords{named} and cannot be undone. Ask the person to do it."
        ),
        "schedule" => format!("`{by}` removes all scheduled jobs. Ask the person to do it."),
        _ => format!(
            "`{by}` destroys{} and cannot be undone. Ask the person to do it.",
            or(&named, " something")
        ),
    }
}

fn or<'t>(named: &'t str, general: &'t str) -> &'t str {
    if named.is_empty() { general } else { named }
}

pub(super) fn unknown(why: Why, text: &str) -> String {
    let text = text.lines().next().unwrap_or_default().trim();
    match why {
        Why::Endless => format!("`{text}` starts itself again without end and would stop this machine."),
        Why::Syntax => "This is not a valid shell command, so nothing can be told about it. Correct it.".to_owned(),
        Why::Ambiguous => "This can be read in two ways, so what it would do cannot be told. Write it more plainly.".to_owned(),
        Why::TooMuch => "This is too long or nested too deep to be looked at. Split it up.".to_owned(),
        Why::Program => format!("Which program `{text}` is can only be told when it runs. Write its name out."),
        Why::Fetched => format!("This downloads code and runs it: {text}. Pin it in the project, or ask the person."),
        Why::Remote => "This lets another machine run commands here.".to_owned(),
        Why::Typed => format!("This waits for {text}."),
        Why::Opaque => format!("What this code does cannot be told from its text: {text}."),
        Why::Code if text.starts_with('`') => {
            format!("This runs code that nobody has seen: {text}. Read the file first, then run it in a call of its own.")
        }
        Why::Code => format!("This runs code that nobody has seen: {text}. Save it to a file and look at it first."),
    }
}
