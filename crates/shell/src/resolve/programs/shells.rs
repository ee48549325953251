//! Shells, here and elsewhere, now and later.

use super::super::builtins::{below, joined};
use super::super::state::{Binding, home};
use super::super::typed::{is_own_input, is_terminal};
use super::super::walk::Walker;
use super::super::{Command, Input, Why};
use super::interpreted;
use super::options::{is_assignment, is_option, options_end, value_of};
use crate::value::Value;

pub(super) fn shell(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let mut at = 0;
    let (mut command, mut from_input) = (false, false);
    while let Some(argument) = arguments.get(at) {
        let prefix = argument.prefix();
        match argument.known() {
            Some("--" | "-") => {
                at += 1;
                break;
            }
            Some("--rcfile" | "--init-file") => {
                let file = arguments.get(at + 1).and_then(Value::known);
                if let Some(content) = file.and_then(|path| walker.state.file(path)).cloned() {
                    walker.inner("sh", |walker| walker.code(&content, &Input::Inherited));
                }
                at += 2;
            }
            Some("-o" | "+o" | "-O" | "+O") => at += 2,
            Some("--command" | "-Command" | "--commands") => {
                command = true;
                at += 1;
            }
            // It only says something about itself.
            Some("--version" | "--help" | "-Version" | "-Help") => return None,
            Some(option) if option.starts_with("--") => at += 1,
            Some(option) if option.starts_with(['-', '+']) => {
                let letters: String = option.chars().skip(1).collect();
                command |= letters.contains('c');
                from_input |= letters.contains('s');
                at += 1 + usize::from(letters.ends_with('o'));
            }
            _ if prefix.starts_with('-') => at += 1,
            _ => break,
        }
    }
    let operands = arguments.get(at..).unwrap_or_default();
    if command {
        let (script, parameters) = operands.split_first()?;
        let this = parameters.first().cloned();
        let parameters = parameters.get(1..).unwrap_or_default().to_vec();
        let (script, input) = (script.clone(), input.clone());
        return Some(walker.inner("sh -c", |walker| {
            walker.child(|walker| {
                walker.state.positional = parameters;
                walker.state.set_script(this);
                walker.code(&script, &input)
            })
        }));
    }
    let file = operands.first().filter(|_| !from_input);
    let named = file.and_then(Value::known);
    if file.is_none() || named.is_some_and(is_own_input) {
        return Some(walker.child(|walker| walker.read_script("sh", input)));
    }
    if named.is_some_and(is_terminal) {
        walker.typed_into("sh");
    }
    let run = named.and_then(|path| walker.run_file(path));
    match run {
        Some(run) => {
            let name = named.unwrap_or_default().to_owned();
            Some(interpreted(walker, &name, &run, operands, input))
        }
        None => Some(Value::unknown()),
    }
}

pub(super) fn env(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let valued = ["-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-P"];
    for (at, argument) in arguments.iter().enumerate() {
        let split = match argument.known() {
            Some("-S" | "-vS" | "-iS") => arguments.get(at + 1).cloned(),
            _ if is_option(argument, "--split-string") => arguments.get(at + 1).cloned(),
            _ => value_of(argument, "--split-string").or_else(|| value_of(argument, "-S")),
        };
        if let Some(mut text) = split {
            let inline = !matches!(argument.known(), Some("-S" | "-vS" | "-iS"))
                && !is_option(argument, "--split-string");
            let rest = arguments.get(at + 1 + usize::from(!inline)..).unwrap_or_default();
            if !rest.is_empty() {
                text.push_str(" ");
                text.append(&joined(rest));
            }
            return Some(walker.inner("env", |walker| walker.code(&text, input)));
        }
        if !argument.prefix().starts_with('-') && !is_assignment(argument) {
            break;
        }
    }
    let arguments = match arguments {
        // `env -` is `env -i`.
        [first, rest @ ..] if first.known() == Some("-") => rest,
        all => all,
    };
    let mut end = options_end(arguments, &valued);
    end += arguments.iter().skip(end).take_while(|argument| is_assignment(argument)).count();
    let rest = arguments.get(end..)?;
    if rest.is_empty() {
        return None;
    }
    let directory = arguments.iter().position(|a| matches!(a.known(), Some("-C" | "--chdir")));
    let directory = directory.and_then(|at| arguments.get(at + 1)).cloned();
    let inline = arguments.iter().take(end).find_map(|argument| value_of(argument, "--chdir"));
    let directory = directory.or(inline);
    let rest = rest.to_vec();
    let exported: Vec<_> = arguments
        .iter()
        .take_while(|argument| argument.prefix().starts_with('-') || is_assignment(argument))
        .filter(|argument| is_assignment(argument))
        .cloned()
        .collect();
    Some(walker.apart(|walker| {
        if let Some(directory) = directory {
            let from = walker.state.directories.clone();
            let there: Vec<Value> = from.iter().map(|from| below(from, &directory)).collect();
            walker.state.directories = there.into();
        }
        for assignment in exported {
            let name = assignment.prefix().split('=').next().unwrap_or_default().to_owned();
            if let Some(value) = value_of(&assignment, &format!("{name}=")) {
                walker.state.set(&name, Binding::one(value));
            }
            let value = value_of(&assignment, &format!("{name}=")).unwrap_or_default();
            walker.scripts_in_variable(&name, &value);
            walker.state.export(&name);
        }
        walker.inner_argv("env", rest, input)
    }))
}

/// `runuser -u NAME -- COMMAND`; a script of `-c` is looked at like that of others.
pub(super) fn runuser(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let valued = ["-u", "--user", "-g", "--group", "-G", "--supp-group", "-s", "--shell", "-w"];
    let by_user = arguments.iter().any(|argument| {
        argument.prefix().starts_with("-u") || argument.prefix().starts_with("--user")
    });
    if !by_user {
        return su(walker, arguments, input);
    }
    let argv = arguments.get(options_end(arguments, &valued)..)?.to_vec();
    let input = input.clone();
    (!argv.is_empty()).then(|| {
        walker.inner("runuser", |walker| walker.run(Command { argv, input, ..Command::default() }))
    })
}

/// A shell for another person, which may read what to do.
pub(super) fn su(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let tells = ["-c", "--command", "--session-command", "-h", "--help", "-V", "--version"];
    let tells = |argument: &Value| tells.iter().any(|it| argument.prefix().starts_with(it));
    (!arguments.iter().any(tells)).then(|| walker.read_script("su", input))
}

/// Settings that ssh and its like are given, some of which are commands.
pub(super) fn settings(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    for (at, argument) in arguments.iter().enumerate() {
        let setting = match argument.known() {
            Some("-o") => arguments.get(at + 1).cloned(),
            // The program to connect with.
            Some("-S") => {
                let program = arguments.get(at + 1).cloned().unwrap_or_default();
                walker.inner("ssh", |walker| walker.code(&program, &Input::Inherited));
                None
            }
            _ => value_of(argument, "-o"),
        };
        let setting = setting.as_ref().and_then(Value::known);
        let command = setting.and_then(|setting| {
            let (key, value) = setting.split_once(['=', ' '])?;
            let runs = ["proxycommand", "localcommand", "knownhostscommand"];
            runs.contains(&key.to_lowercase().as_str()).then(|| value.to_owned())
        });
        if let Some(command) = command {
            walker.inner("ssh", |walker| walker.text(&command, &Input::Inherited));
        }
    }
    None
}

pub(super) fn ssh(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let valued = [
        "-B", "-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o",
        "-p", "-Q", "-R", "-S", "-W", "-w",
    ];
    settings(walker, arguments, input);
    let end = options_end(arguments, &valued);
    let host = arguments.get(end)?.clone();
    let from = end + 1;
    let rest = arguments.get(from..).unwrap_or_default();
    let rest = rest.get(options_end(rest, &valued)..).unwrap_or_default();
    let script = if rest.is_empty() {
        match input {
            Input::Text(text) => text.clone(),
            Input::Pipe => {
                walker.unknown(Why::Code, "what is piped into ssh");
                return Some(Value::unknown());
            }
            Input::Inherited if gives_shell(arguments, &host) => {
                walker.typed_into("ssh");
                return None;
            }
            _ => return None,
        }
    } else {
        joined(rest)
    };
    let outer = walker.host.replace(host);
    let output = walker.inner("ssh", |walker| {
        walker.child(|walker| {
            walker.state.directories = vec![home()].into();
            walker.code(&script, input)
        })
    });
    walker.host = outer;
    Some(output)
}

/// Whether `ssh` without a command gives a shell. It does not where it only forwards or tells something, and those who
/// serve repositories have none to give.
fn gives_shell(arguments: &[Value], host: &Value) -> bool {
    let only = ["-N", "-f", "-G", "-V", "-O", "-Q", "-W"];
    !host.prefix().starts_with("git@")
        && !arguments.iter().filter_map(Value::known).any(|argument| only.contains(&argument))
}

pub(super) fn scheduled(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let tells = |argument: &Value| {
        matches!(argument.known(), Some("-f" | "-l" | "-d" | "-r" | "-c" | "-V"))
    };
    (!arguments.iter().any(tells)).then(|| walker.child(|walker| walker.read_script("at", input)))
}

pub(super) fn crontab(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let reads = arguments.last().and_then(Value::known) == Some("-");
    if !reads {
        return None;
    }
    if *input == Input::Inherited {
        walker.typed_into("crontab");
    }
    let Input::Text(text) = input else { return None };
    let text = text.to_string();
    for line in text.lines().filter(|line| !line.trim_start().starts_with('#')) {
        let fields = if line.trim_start().starts_with('@') { 1 } else { 5 };
        let mut rest = line.trim_start();
        for _ in 0..fields {
            rest = rest.split_once(char::is_whitespace).map_or("", |(_, rest)| rest.trim_start());
        }
        let command = rest.to_owned();
        walker.inner("crontab", |walker| {
            walker.child(|walker| walker.text(&command, &Input::Inherited))
        });
    }
    Some(Value::default())
}
