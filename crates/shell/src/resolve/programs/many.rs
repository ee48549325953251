//! Programs that run a command for each of many things.

use super::super::builtins::joined;
use super::super::walk::Walker;
use super::super::{Input, output};
use super::options::{options_end, value_of};
use crate::value::{Part, Value};

/// True for a word that is a script, and not one word of a command.
fn is_script(word: &Value) -> bool {
    word.prefix().contains([' ', ';', '|', '&', '$', '`'])
}

/// The items that come to a program's input, one a line.
fn items(input: &Input) -> Vec<Value> {
    match input {
        Input::Text(text) => match text.known() {
            Some(text) => text.split_whitespace().take(64).map(Value::text).collect(),
            None => lines(text),
        },
        Input::Pipe | Input::File | Input::Inherited => vec![Value::unknown()],
    }
}

/// The lines of a text that is known in part.
fn lines(text: &Value) -> Vec<Value> {
    let mut lines = vec![Value::default()];
    for part in text.parts() {
        match part {
            Part::Text(text) => {
                for (at, piece) in text.split(['\n', '\0']).enumerate() {
                    if at > 0 {
                        lines.push(Value::default());
                    }
                    if let Some(last) = lines.last_mut() {
                        last.push_str(piece);
                    }
                }
            }
            part => {
                if let Some(last) = lines.last_mut() {
                    last.push(part.clone());
                }
            }
        }
    }
    lines.retain(|line| !line.is_empty());
    lines
}

/// A value in which every mark stands for another one.
fn filled(value: &Value, mark: &str, with: &Value) -> Value {
    let marked = |text: &str| {
        !mark.is_empty() && text.as_bytes().windows(mark.len()).any(|at| at == mark.as_bytes())
    };
    if !value.parts().iter().any(|part| marked(part.text())) {
        return value.clone();
    }
    let mut out = Value::default();
    for part in value.parts() {
        match part {
            Part::Text(text) if !mark.is_empty() => {
                for (at, piece) in text.split(mark).enumerate() {
                    if at > 0 {
                        out.append(with);
                    }
                    out.push_str(piece);
                }
            }
            part => out.push(part.clone()),
        }
    }
    out
}

pub(super) fn xargs(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let valued = [
        "-I",
        "-n",
        "--max-args",
        "-L",
        "-P",
        "--max-procs",
        "-d",
        "--delimiter",
        "-E",
        "-s",
        "--max-chars",
        "-a",
        "--arg-file",
        "-J",
        "-R",
        "-S",
        "--process-slot-var",
    ];
    let end = options_end(arguments, &valued);
    let mut mark = None;
    for (at, argument) in arguments.iter().enumerate().take(end) {
        match argument.known() {
            Some("-I" | "-J" | "--replace") => {
                mark = arguments.get(at + 1).and_then(Value::known).map(str::to_owned);
            }
            Some("-i") => mark = Some("{}".to_owned()),
            _ => {}
        }
        for option in ["-I", "--replace", "-i"] {
            if let Some(text) = value_of(argument, option).as_ref().and_then(Value::known) {
                mark = Some(text.to_owned());
            }
        }
    }
    let command = arguments.get(end..).filter(|rest| !rest.is_empty())?;
    let whole = arguments.iter().take(end).any(|argument| {
        let text = argument.prefix();
        text.starts_with("-0")
            || text.starts_with("-d")
            || text.starts_with("--null")
            || text.starts_with("--delim")
            || text.starts_with("-I")
            || text.starts_with("-L")
    });
    let items = match input {
        // With a separator of its own, spaces do not separate.
        Input::Text(text) if whole => lines(text),
        _ => items(input),
    };
    let Some(mark) = mark else {
        let mut argv = command.to_vec();
        argv.extend(items);
        return Some(walker.inner_argv("xargs", argv, &Input::Inherited));
    };
    for item in items {
        let argv = command.iter().map(|argument| filled(argument, &mark, &item)).collect();
        walker.inner_argv("xargs", argv, &Input::Inherited);
    }
    Some(Value::unknown())
}

pub(super) fn find(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    let mut at = 0;
    let mut ran = false;
    let expression_end = |from: usize| {
        let is_end = |argument: &Value| matches!(argument.known(), Some(";" | "+"));
        arguments.iter().skip(from).position(is_end).map_or(arguments.len(), |end| from + end)
    };
    while let Some(argument) = arguments.get(at) {
        if matches!(argument.known(), Some("-exec" | "-execdir" | "-ok" | "-okdir")) {
            let end = expression_end(at + 1);
            // What is found is told by what stands before.
            let command = arguments.get(at + 1..end).unwrap_or_default();
            for found in output::found(arguments.get(..at).unwrap_or_default()) {
                let argv = command.iter().map(|argument| filled(argument, "{}", &found)).collect();
                walker.inner_argv("find -exec", argv, &Input::Inherited);
            }
            ran = true;
            at = end;
        }
        at += 1;
    }
    ran.then(Value::unknown)
}

pub(super) fn fd(walker: &mut Walker, arguments: &[Value], _: &Input) -> Option<Value> {
    let runs = |argument: &Value| {
        matches!(argument.known(), Some("-x" | "--exec" | "-X" | "--exec-batch"))
    };
    let at = arguments.iter().position(runs)?;
    let mut found = Value::text("./");
    found.push(Part::Unknown);
    if let Some(pattern) = arguments.first().filter(|a| !a.prefix().starts_with('-') && at > 0) {
        found.push_str("/");
        found.append(pattern);
    }
    let command = arguments.get(at + 1..).unwrap_or_default();
    let marked = command.iter().any(|argument| argument.prefix().contains('{'));
    let mut argv: Vec<_> = command.iter().map(|argument| filled(argument, "{}", &found)).collect();
    if !marked {
        argv.push(found);
    }
    Some(walker.inner_argv("fd", argv, &Input::Inherited))
}

#[allow(clippy::unnecessary_wraps)] // As all of them.
pub(super) fn parallel(walker: &mut Walker, arguments: &[Value], input: &Input) -> Option<Value> {
    let valued = [
        "-j",
        "--jobs",
        "-P",
        "-N",
        "-n",
        "-I",
        "--colsep",
        "-C",
        "-a",
        "--arg-file",
        "-d",
        "--delimiter",
        "--delay",
        "--timeout",
        "--retries",
        "--tmpdir",
        "--results",
        "--joblog",
        "-S",
        "--sshlogin",
        "-L",
        "--load",
        "--memfree",
        "--halt",
    ];
    let end = options_end(arguments, &valued);
    let rest = arguments.get(end..).unwrap_or_default();
    let split = rest.iter().position(|a| matches!(a.known(), Some(":::" | "::::" | ":::+")));
    let (command, listed) = rest.split_at(split.unwrap_or(rest.len()));
    let listed_here = listed.first().and_then(Value::known) == Some(":::");
    let all = match listed.get(1..) {
        Some(given) if listed_here => given.to_vec(),
        Some(_) => vec![Value::unknown()],
        None => match input {
            Input::Text(text) if text.known().is_some() => {
                text.known().unwrap_or_default().lines().take(64).map(Value::text).collect()
            }
            _ => items(input),
        },
    };
    let template = joined(command);
    for item in all {
        if matches!(item.known(), Some(":::" | "::::" | ":::+")) {
            continue;
        }
        // What is not known is handed on as one word.
        if item.known().is_none() && !command.is_empty() && !command.iter().any(is_script) {
            let marked = command.iter().any(|word| word.prefix().contains("{}"));
            let mut argv: Vec<_> = command.iter().map(|word| filled(word, "{}", &item)).collect();
            argv.extend((!marked).then_some(item));
            walker.inner_argv("parallel", argv, &Input::Inherited);
            continue;
        }
        // Without a command, the items are commands.
        let script = if template.is_empty() {
            item
        } else {
            let mut script = filled(&template, "{}", &item);
            if script == template {
                script.push_str(" ");
                script.append(&item);
            }
            script
        };
        walker.inner("parallel", |walker| {
            walker.child(|walker| walker.code(&script, &Input::Inherited))
        });
    }
    Some(Value::unknown())
}
