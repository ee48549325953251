//! Tools that run commands beside what they are for.

use super::super::builtins::joined;
use super::super::walk::Walker;
use super::super::{Command, Input, Why};
use super::options::{ends_cluster, mentions, options_end, value_of};
use super::shells::settings;
use crate::value::Value;

/// Settings of git, and some of its options, are scripts.
pub(super) fn git(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    for (at, argument) in arguments.iter().enumerate() {
        let next = || arguments.get(at + 1).cloned();
        let script = match argument.known() {
            Some("-c" | "--config-env") => {
                let setting = next();
                let setting = setting.as_ref().and_then(Value::known);
                setting.and_then(|setting| {
                    let (key, value) = setting.split_once('=')?;
                    let key = key.to_lowercase();
                    let runs = [
                        "pager",
                        "editor",
                        "sshcommand",
                        "fsmonitor",
                        "askpass",
                        "hookspath",
                        "external",
                        "program",
                        "command",
                        "helper",
                        "textconv",
                        "process",
                        "clean",
                        "smudge",
                        "driver",
                        "templatedir",
                        "cmd",
                        "sendmailcmd",
                    ];
                    let alias = key.starts_with("alias.");
                    match value.strip_prefix('!') {
                        Some(command) => Some(Value::text(command)),
                        None if alias => Some(Value::text(format!("git {value}"))),
                        None if runs.iter().any(|name| key.ends_with(name)) => {
                            Some(Value::text(value))
                        }
                        None => None,
                    }
                })
            }
            Some("--exec" | "-x") if mentions(arguments, "rebase") => next(),
            Some("foreach") if mentions(arguments, "submodule") => {
                let rest = arguments.get(at + 1..).unwrap_or_default();
                let rest = rest.get(options_end(rest, &[])..).unwrap_or_default();
                Some(joined(rest))
            }
            Some("run") if mentions(arguments, "bisect") => {
                let argv = arguments.get(at + 1..).unwrap_or_default().to_vec();
                walker.inner("git", |walker| walker.run(Command { argv, ..Command::default() }));
                None
            }
            Some("--upload-pack" | "--receive-pack") => next(),
            Some(url) if url.starts_with("ext::") => url.get(5..).map(Value::text),
            Some(
                "--tree-filter" | "--index-filter" | "--msg-filter" | "--env-filter"
                | "--commit-filter" | "--parent-filter" | "--tag-name-filter",
            ) => next(),
            // None of those below begins otherwise.
            _ if !argument.prefix().starts_with("--") => None,
            _ => value_of(argument, "--exec")
                .filter(|_| mentions(arguments, "rebase"))
                .or_else(|| value_of(argument, "--upload-pack"))
                .or_else(|| value_of(argument, "--receive-pack")),
        };
        if let Some(script) = script {
            walker.inner("git", |walker| walker.child(|walker| walker.code(&script, input)));
        }
    }
    None
}

/// Commands that run in a container, which may have the machine's directories in it.
pub(super) fn container(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let known: Vec<&str> = arguments.iter().map(|a| a.known().unwrap_or_default()).collect();
    let at = known.iter().position(|word| matches!(*word, "exec" | "run"))?;
    let valued = [
        "-e",
        "--env",
        "-u",
        "--user",
        "-w",
        "--workdir",
        "-v",
        "--volume",
        "--mount",
        "-p",
        "--publish",
        "--name",
        "--network",
        "--net",
        "-n",
        "--namespace",
        "-c",
        "--container",
        "--entrypoint",
        "-l",
        "--label",
        "-m",
        "--memory",
        "--cpus",
        "-h",
        "--hostname",
        "--env-file",
        "--platform",
        "--gpus",
        "--device",
        "--add-host",
        "--cap-add",
        "--restart",
        "--image",
        "-f",
        "--file",
        "--overrides",
        "--pid",
        "--ipc",
        "--security-opt",
        "--ulimit",
        "--shm-size",
        "--tmpfs",
        "--index",
    ];
    let rest = arguments.get(at + 1..).unwrap_or_default();
    let end = options_end(rest, &valued);
    let options = rest.get(..end).unwrap_or_default();
    let entry = options.iter().position(|a| a.known() == Some("--entrypoint"));
    let mut argv: Vec<Value> = Vec::new();
    argv.extend(entry.and_then(|at| options.get(at + 1)).cloned());
    argv.extend(options.iter().filter_map(|option| value_of(option, "--entrypoint")));
    // Behind the image or the container, or behind what says that here the command begins.
    let command = rest.get(end + 1..).unwrap_or_default();
    let marked = command.iter().position(|argument| argument.known() == Some("--"));
    argv.extend(command.iter().skip(marked.map_or(0, |at| at + 1)).cloned());
    if argv.is_empty() {
        return None;
    }
    let on_host = options.iter().any(|option| {
        let text = option.to_string();
        text.starts_with("/:")
            || text.contains("=/:")
            || text.contains("source=/,")
            || text.contains("src=/,")
            || text == "--privileged"
            || text.contains("docker.sock")
    });
    let name = known.get(at + 1 + end).copied().unwrap_or_default().to_owned();
    let shares = options.iter().any(|option| {
        ["-v", "--volume", "--mount"].iter().any(|name| option.prefix().starts_with(name))
    });
    // One that is made for this and shares nothing is thrown away; one that was there before is
    // another machine.
    let made_for_this = known.get(at) == Some(&"run") && !shares;
    let outer = walker.host.clone();
    if !on_host {
        let kind = if made_for_this { "container " } else { "" };
        walker.host = Some(Value::text(format!("{kind}{name}")));
    }
    let output = walker.apart(|walker| {
        walker.state.directories = vec![Value::text("/")].into();
        walker.inner_argv("container", argv, input)
    });
    walker.host = outer;
    Some(output)
}

/// `poetry run COMMAND`, `nix develop -c COMMAND`, `mise exec -- COMMAND` and their like.
pub(super) fn launcher(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let starts = |argument: &Value| {
        matches!(
            argument.known(),
            Some(
                "run"
                    | "exec"
                    | "x"
                    | "-c"
                    | "--command"
                    | "--"
                    | "--args"
                    | "stat"
                    | "record"
                    | "-ex"
            )
        )
    };
    let at = arguments.iter().position(starts)?;
    let mut rest = arguments.get(at + 1..).unwrap_or_default();
    if let Some(end) = rest.iter().position(|argument| argument.known() == Some("--")) {
        rest = rest.get(end + 1..).unwrap_or_default();
    } else {
        let valued = ["-n", "--name", "-p", "--prefix", "--python", "--with", "--env", "-e"];
        rest = rest.get(options_end(rest, &valued)..).unwrap_or_default();
    }
    // Scripts of a package file are named, not written out.
    let named = matches!(arguments.get(at).and_then(Value::known), Some("run"));
    let rest = match rest {
        // One word with spaces is a script.
        [only] if only.prefix().contains(' ') => {
            let script = only.clone();
            return Some(walker.inner("run", |walker| walker.code(&script, input)));
        }
        [] => return None,
        rest => rest.to_vec(),
    };
    let printed = walker.inner_argv("run", rest, input);
    if named { Some(Value::unknown()) } else { Some(printed) }
}

/// Terminals take commands as words of their arguments.
pub(super) fn terminal(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    // Keys that are sent to a shell are what a person would type.
    for argument in arguments {
        let text = argument.to_string();
        if text.contains(' ') && !text.starts_with('-') {
            let script = argument.clone();
            walker.inner("terminal", |walker| {
                walker.child(|walker| walker.code(&script, &Input::Inherited))
            });
        }
    }
    let valued = ["-S", "-L", "-t", "-s", "-n", "-c", "-x", "-y", "-F", "-e", "-p", "-X"];
    let first = options_end(arguments, &valued);
    let mut rest = arguments.get(first..).unwrap_or_default();
    let subcommands = [
        "new-session",
        "new",
        "new-window",
        "neww",
        "split-window",
        "run-shell",
        "run",
        "send-keys",
        "respawn-pane",
    ];
    if rest.first().and_then(Value::known).is_some_and(|word| subcommands.contains(&word)) {
        rest = rest.get(1..).unwrap_or_default();
        rest = rest.get(options_end(rest, &valued)..).unwrap_or_default();
    }
    if !rest.is_empty() {
        walker.inner_argv("terminal", rest.to_vec(), &Input::Inherited);
    }
    None
}

/// `socat - EXEC:command`
pub(super) fn socat(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    for argument in arguments {
        for option in ["EXEC:", "SYSTEM:", "exec:", "system:"] {
            if let Some(script) = value_of(argument, option) {
                walker.inner("socat", |walker| walker.code(&script, &Input::Pipe));
            }
        }
    }
    None
}

/// `vim -c ':!command'`
pub(super) fn editor(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let mut texts: Vec<Value> = arguments.to_vec();
    if let Input::Text(text) = input {
        texts.push(text.clone());
    }
    for text in texts {
        let text = text.to_string();
        for line in text.lines() {
            if let Some((_, command)) = line.split_once('!') {
                // `q!` and `w!` end there.
                let command = command.trim().to_owned();
                if !command.is_empty() && !command.starts_with(['|', '\'', '"']) {
                    walker.inner("editor", |walker| walker.text(&command, &Input::Inherited));
                }
            }
        }
    }
    None
}

/// Scripts of `sed` can run commands.
pub(super) fn sed(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let given = |argument: &Value| matches!(argument.known(), Some("-e" | "--expression"));
    let by_option: Vec<&Value> = arguments
        .iter()
        .enumerate()
        .filter(|(_, argument)| given(argument))
        .filter_map(|(at, _)| arguments.get(at + 1))
        .collect();
    let first = arguments.iter().find(|argument| !argument.prefix().starts_with('-'));
    let scripts = if by_option.is_empty() { first.into_iter().collect() } else { by_option };
    for script in scripts {
        let text = script.to_string();
        for command in text.split([';', '\n', '{', '}']) {
            let command = command.trim_start_matches(|c: char| {
                c.is_ascii_digit() || c.is_whitespace() || "$,!~+".contains(c)
            });
            // An address that is a pattern ends in a slash.
            let command = match command.strip_prefix('/') {
                Some(rest) => rest.rsplit_once('/').map_or("", |(_, rest)| rest),
                None => command,
            };
            let command = command.trim_start();
            let runs_match = command.starts_with('s')
                && command.rsplit(command.chars().nth(1).unwrap_or('/')).next().is_some_and(
                    |flags| flags.contains('e') && flags.chars().all(|c| c.is_ascii_alphanumeric()),
                )
                && command.len() > 4;
            if let Some(code) = command.strip_prefix("e ") {
                let code = code.to_owned();
                walker.inner("sed", |walker| walker.text(&code, input));
            } else if command == "e" || runs_match {
                walker.unknown(Why::Code, &text);
            }
        }
    }
    None
}

/// A program that another machine talks to.
pub(super) fn connected(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    let runs = |argument: &Value| {
        let text = argument.prefix();
        text.starts_with("--exec")
            || text.starts_with("--sh-exec")
            || ends_cluster(argument, "-e")
            || matches!(argument.known(), Some("-e" | "-c"))
    };
    if arguments.iter().any(runs) {
        walker.unknown(Why::Remote, "a program that another machine talks to");
    }
    None
}

/// `rg --pre PROGRAM` runs it on each file that it searches.
pub(super) fn searching(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    for (at, argument) in arguments.iter().enumerate() {
        let program = match argument.known() {
            Some("--pre") => arguments.get(at + 1).cloned(),
            _ => value_of(argument, "--pre"),
        };
        if let Some(program) = program {
            let argv = vec![program, Value::unknown()];
            walker.inner("rg", |walker| walker.run(Command { argv, ..Command::default() }));
        }
    }
    None
}

/// Files that get what comes in.
pub(super) fn written(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let text = match input {
        Input::Text(text) => text.clone(),
        Input::File | Input::Pipe | Input::Inherited => Value::unknown(),
    };
    for argument in arguments {
        let path = argument.known().map(|text| text.strip_prefix("of=").unwrap_or(text));
        if let Some(path) = path.filter(|path| !path.starts_with('-') && !path.contains('=')) {
            walker.state.keep_file(path, text.clone());
        }
    }
    None
}

/// Others write into a named pipe, so that what is read from it may be anything.
pub(super) fn piped(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    for path in arguments.iter().filter_map(Value::known).filter(|path| !path.starts_with('-')) {
        walker.state.keep_file(path, Value::unknown());
    }
    None
}

/// A file that is downloaded may hold anything.
pub(super) fn download(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    for (at, argument) in arguments.iter().enumerate() {
        let path = match argument.known() {
            Some("-o" | "--output" | "--output-document") => arguments.get(at + 1).cloned(),
            Some("-O") => {
                // `curl -O URL` takes the name from the address, `wget -O FILE` says it.
                let next = arguments.get(at + 1);
                if let Some(path) = next.and_then(Value::known) {
                    walker.state.keep_file(path, Value::unknown());
                }
                next.map(base_name)
            }
            _ if ends_cluster(argument, "-o") => arguments.get(at + 1).cloned(),
            _ if ends_cluster(argument, "-O") => arguments.get(at + 1).map(base_name),
            Some(text) if text.contains('/') && !text.starts_with('-') => Some(base_name(argument)),
            _ => ["--output=", "--output-document=", "-o", "-O"]
                .iter()
                .find_map(|option| value_of(argument, option)),
        };
        if let Some(path) = path.as_ref().and_then(Value::known).filter(|path| *path != "-") {
            walker.state.keep_file(path, Value::unknown());
        }
    }
    None
}

/// Files out of an archive that was downloaded are as unknown as the archive.
pub(super) fn unpacked(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    let is_downloaded = |path: &str| walker.state.file(path).is_some_and(Value::has_unknown);
    walker.unpacked |= arguments.iter().filter_map(Value::known).any(is_downloaded);
    None
}

/// A file that is copied from another machine may hold anything.
pub(super) fn transferred(
    walker: &mut Walker,
    arguments: &[Value],
    input: &Input,
) -> Option<Value> {
    let mut operands = arguments.iter().filter(|argument| !argument.prefix().starts_with('-'));
    let target = operands.next_back();
    let is_there = |from: &&Value| {
        let text = from.prefix();
        text.contains("://") || text.split_once(':').is_some_and(|(host, _)| !host.contains('/'))
    };
    if let (Some(from), Some(target)) =
        (operands.next_back().filter(is_there), target.and_then(Value::known))
    {
        let name = base_name(from);
        let name = name.known().unwrap_or_default();
        let name = name.rsplit([':', '/']).next().unwrap_or(name);
        walker.state.keep_file(target, Value::unknown());
        walker
            .state
            .keep_file(&format!("{}/{name}", target.trim_end_matches('/')), Value::unknown());
        walker.state.keep_file(name, Value::unknown());
    }
    settings(walker, arguments, input)
}

/// The last part of an address, or a path as it is.
fn base_name(value: &Value) -> Value {
    match value.known().filter(|text| text.contains('/')) {
        Some(text) => Value::text(text.rsplit('/').next().unwrap_or(text)),
        None => value.clone(),
    }
}

/// A path that leads to another one, too.
pub(super) fn linked(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let mut operands = arguments.iter().filter(|argument| !argument.prefix().starts_with('-'));
    if let (Some(from), Some(to), None) = (operands.next(), operands.next(), operands.next())
        && let Some(to) = to.known()
    {
        walker.state.link(to, from);
    }
    copied(walker, arguments, input)
}

/// `mount --bind FROM TO`
pub(super) fn mounted(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let binds =
        |argument: &Value| matches!(argument.known(), Some("--bind" | "--rbind" | "-B" | "-R"));
    if arguments.iter().any(binds) {
        return linked(walker, arguments, input);
    }
    None
}

/// A program under another name, and a file with the content of another.
pub(super) fn copied(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    let mut operands = arguments.iter().filter_map(Value::known).filter(|a| !a.starts_with('-'));
    let (Some(from), Some(to), None) = (operands.next(), operands.next(), operands.next()) else {
        return None;
    };
    match walker.state.file(from).cloned() {
        Some(content) => walker.state.keep_file(to, content),
        None => {
            walker.state.set_alias(to, Some(from));
        }
    }
    None
}
