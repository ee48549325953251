//! Build tools and test runners: what the files of a project have them run.
//!
//! Only what stands in the file in plain sight is followed: recipes, scripts, commands. Variables that
//! the file does not set are left open.

mod make;
mod tasks;

use super::expand::HOLE;
use super::files::Opened;
use super::walk::Walker;
use super::{Code, Input, Why, code};
use crate::value::Value;

/// Follows what a tool runs because a file of the project says so.
pub(super) fn run(walker: &mut Walker, name: &str, argv: &[Value], input: &Input) {
    let words: Vec<&str> = argv.iter().skip(1).filter_map(Value::known).collect();
    let words = words.as_slice();
    match name {
        "make" | "gmake" => make::run(walker, words, input),
        "npm" | "pnpm" | "yarn" | "bun" => package(walker, name, words),
        "just" => tasks::just(walker, words),
        "task" | "go-task" => tasks::taskfile(walker, words),
        "rake" => language(walker, "ruby", &["Rakefile", "rakefile"]),
        "tox" => tasks::tox(walker),
        "pytest" | "py.test" => language(walker, "python3", &["conftest.py", "tests/conftest.py"]),
        "pip" | "pip3"
            if words.contains(&"install")
                && (words.contains(&".") || words.iter().any(|word| word.starts_with("./"))) =>
        {
            language(walker, "python3", &["setup.py"]);
        }
        "python" | "python3" => python_module(walker, words),
        "go" if words.first() == Some(&"generate") => generate(walker),
        "go" if words.first() == Some(&"run") => program(walker, "go", words.get(1..)),
        "java" | "deno" | "swift" => program(walker, name, Some(words)),
        "direnv" if words.first() == Some(&"exec") => direnv(walker, words),
        "docker" | "docker-compose" | "podman-compose" => tasks::compose(walker, name, words),
        "psql" | "mysql" | "mariadb" | "sqlite3" => sql(walker, name, argv),
        "dpkg" | "rpm" | "installer" => fetched(walker, words),
        "curl" => curl(walker, words),
        _ => {}
    }
}

/// Follows a line of a shell that a file holds. What the file leaves open has holes in it.
fn line(walker: &mut Walker, run: &Opened, text: &str) {
    let text = text.to_owned();
    walker.within(run.script.clone(), |walker| {
        walker
            .inner("project", |walker| walker.apart(|walker| walker.text(&text, &Input::Inherited)))
    });
}

/// Looks over code that runs because a tool looks for a file of that name.
fn language(walker: &mut Walker, interpreter: &str, names: &[&str]) {
    for name in names {
        if let Some(run) = walker.project_file(name) {
            look(walker, interpreter, &run);
        }
    }
}

/// Looks over the code of a file that is run.
pub(super) fn look(walker: &mut Walker, interpreter: &str, run: &Opened) {
    let content = run.content.clone();
    walker.within(run.script.clone(), |walker| {
        if let Some(text) = content.known() {
            let code = Code {
                by: interpreter.to_owned(),
                text: text.to_owned(),
                script: walker.script.clone(),
                directories: walker.state.directories.clone(),
            };
            walker.out.code.push(code);
        }
        walker.inner(interpreter, |walker| {
            code::look(walker, interpreter, &content);
            Value::unknown()
        })
    });
}

/// A program in source form, of a language that is only looked over.
fn program(walker: &mut Walker, language: &str, words: Option<&[&str]>) {
    let is_source = |word: &&&str| {
        let ending = std::path::Path::new(word).extension().and_then(|ending| ending.to_str());
        matches!(ending, Some("go" | "java" | "ts" | "js" | "swift"))
    };
    let path = words.unwrap_or_default().iter().find(is_source);
    if let Some(opened) = path.and_then(|path| walker.run_file(path)) {
        look(walker, language, &opened);
    }
}

/// A file that a program runs which is not known: what it is tells its ending.
pub(super) fn guessed(walker: &mut Walker, path: &str) {
    let ending = std::path::Path::new(path).extension().and_then(|ending| ending.to_str());
    let interpreter = match ending {
        Some("py") => "python3",
        Some("js" | "mjs") => "node",
        Some("rb") => "ruby",
        Some("pl") => "perl",
        _ => return,
    };
    if let Some(opened) = walker.run_file(path) {
        look(walker, interpreter, &opened);
    }
}

/// `python -m package.module` runs a file of the project, where there is one.
fn python_module(walker: &mut Walker, words: &[&str]) {
    let at = words.iter().position(|word| *word == "-m");
    let Some(module) = at.and_then(|at| words.get(at + 1)) else { return };
    match *module {
        "pytest" => language(walker, "python3", &["conftest.py", "tests/conftest.py"]),
        "pip" | "venv" | "unittest" | "http.server" | "json.tool" => {}
        module => {
            let path = module.replace('.', "/");
            language(walker, "python3", &[&format!("{path}.py"), &format!("{path}/__main__.py")]);
        }
    }
}

/// Scripts of `package.json`.
fn package(walker: &mut Walker, name: &str, words: &[&str]) {
    let mut operands = words.iter().filter(|word| !word.starts_with('-'));
    let first = operands.next().copied().unwrap_or(if name == "yarn" { "install" } else { "" });
    let script = match first {
        "run" | "run-script" => operands.next().copied(),
        "test" | "t" | "tst" => Some("test"),
        "start" | "stop" | "restart" => Some(first),
        "install" | "i" | "ci" | "add" => None,
        // These run a script by its name alone.
        other if matches!(name, "yarn" | "pnpm" | "bun") && !other.is_empty() => Some(other),
        _ => return,
    };
    let Some(run) = walker.project_file("package.json") else { return };
    let Some(file) = run.content.known() else { return };
    let Ok(file) = serde_json::from_str::<serde_json::Value>(file) else { return };
    let scripts = match script {
        Some(script) => vec![format!("pre{script}"), script.to_owned(), format!("post{script}")],
        None => ["preinstall", "install", "postinstall", "prepare"].map(str::to_owned).to_vec(),
    };
    // A script may call another one of the same file.
    if walker.via.iter().filter(|via| *via == "project").count() > 3 {
        return;
    }
    for script in scripts {
        let text = file.get("scripts").and_then(|scripts| scripts.get(&script));
        if let Some(text) = text.and_then(serde_json::Value::as_str) {
            line(walker, &run, text);
        }
    }
}

/// Commands that Go files have `go generate` run.
fn generate(walker: &mut Walker) {
    let names = walker.names_in(".");
    let is_go = |name: &&String| {
        std::path::Path::new(name.as_str()).extension().is_some_and(|end| end == "go")
    };
    for name in names.iter().filter(is_go).take(16) {
        let Some(run) = walker.project_file(name) else { continue };
        let Some(text) = run.content.known().map(str::to_owned) else { continue };
        for command in text.lines().filter_map(|line| line.strip_prefix("//go:generate ")).take(32)
        {
            line(walker, &run, command);
        }
    }
}

/// `.envrc` is run before the command, and nobody calls it.
fn direnv(walker: &mut Walker, words: &[&str]) {
    let directory = words.get(1).copied().unwrap_or(".");
    let path = format!("{}/.envrc", directory.trim_end_matches('/'));
    let Some(mut run) = walker.project_file(&path) else { return };
    // So what it does counts in full.
    run.script = run.script.map(|script| {
        let mut script = (*script).clone();
        script.is_settled = false;
        script.into()
    });
    if let Some(text) = run.content.known().map(str::to_owned) {
        line(walker, &run, &text);
    }
}

/// SQL in a file that the agent has made counts as if it stood on the command line.
fn sql(walker: &mut Walker, name: &str, argv: &[Value]) {
    let at = argv.iter().position(|word| matches!(word.known(), Some("-f" | "--file")));
    let Some(path) = at.and_then(|at| argv.get(at + 1)).and_then(Value::known) else { return };
    let Some(text) = walker.own_file(path).filter(|text| text.known().is_some()) else { return };
    let argv = vec![Value::text(name), Value::text("-c"), text];
    walker.emit(super::Command { argv, ..super::Command::default() });
}

/// A file of options, which name what is sent and where to.
fn curl(walker: &mut Walker, words: &[&str]) {
    let at = words.iter().position(|word| matches!(*word, "-K" | "--config"));
    let Some(path) = at.and_then(|at| words.get(at + 1)).filter(|path| **path != "-") else {
        return;
    };
    let Some(opened) = walker.run_file(path) else { return };
    let Some(text) = opened.content.known().map(str::to_owned) else { return };
    let mut argv = vec![Value::text("curl")];
    for text in text.lines().take(64) {
        let text = text.trim();
        let (name, value) = text.split_once(['=', ' ']).unwrap_or((text, ""));
        if !name.is_empty() && !name.starts_with('#') {
            argv.push(Value::text(format!("--{}", name.trim().trim_start_matches('-'))));
            let value = value.trim().trim_matches('"');
            if !value.is_empty() {
                argv.push(crate::effects::location::from_text(value));
            }
        }
    }
    walker.emit(super::Command { argv, ..super::Command::default() });
}

/// A package that was downloaded, and not taken from a repository.
fn fetched(walker: &mut Walker, words: &[&str]) {
    for path in words.iter().filter(|word| !word.starts_with('-')) {
        let is_new = walker.state.file(path).is_some_and(Value::has_unknown);
        if is_new {
            walker.unknown(Why::Fetched, &format!("`{path}`"));
        }
    }
}

/// A text of a file with a hole for each of its own variables.
fn open(text: &str, start: &str, end: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(start) {
        out.push_str(before);
        out.push(HOLE);
        rest = after.split_once(end).map_or("", |(_, rest)| rest);
    }
    out.push_str(rest);
    out
}
