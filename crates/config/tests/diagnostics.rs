//! The files of `cases/*/diagnostics.json`, each with everything that is said of it.
//!
//! What the rows look like is in the `README.md` beside them.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};
use stub::Stub;
use tollgate_config::diagnostic::{Code, Colours, Diagnostic, render};
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, load, survey};
use tollgate_config::trust::Store;

mod stub;

/// Where the files of a dialect are: those of the machine, the person and the project, and what
/// they are called.
type Homes = ([&'static str; 3], &'static str);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    name: String,
    #[serde(rename = "about")]
    _about: Option<String>,
    #[serde(flatten)]
    file: File,
    /// Whose file it is.
    #[serde(default)]
    layer: Layer,
    /// Everything that is said of it, in order.
    expect: Option<Vec<Expected>>,
    /// Instead of that: whether it does not load.
    broken: Option<bool>,
    /// How the first of them looks in a terminal, line by line.
    rendered: Option<Vec<String>>,
}

/// What is in the place of the file.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum File {
    /// These lines, with a line feed between them.
    Lines(Vec<String>),
    /// This text.
    Text(String),
    Hex(String),
    /// Texts, each so many times.
    Parts(Vec<(String, usize)>),
    Something(Something),
}

/// What is no file that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Something {
    Directory,
    Fifo,
    DanglingLink,
    LinkToItself,
    Unreadable,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layer {
    System,
    #[default]
    User,
    Project,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Expected {
    code: String,
    severity: String,
    /// None where it is about the file as a whole.
    line: Option<u32>,
    column: Option<u32>,
    /// A part of what is said.
    message: String,
    /// A part of what is advised; none where nothing is.
    help: Option<String>,
    /// Parts of what is said of other places, with their lines.
    #[serde(default)]
    related: Vec<(u32, String)>,
}

fn write(file: &File, path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let digits = |hex: &str| -> Vec<char> { hex.chars().filter(|c| *c != ' ').collect() };
    let byte = |pair: &[char]| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap();
    let content = match file {
        File::Lines(lines) => lines.join("\n").into_bytes(),
        File::Text(text) => text.clone().into_bytes(),
        File::Hex(hex) => digits(hex).chunks(2).map(byte).collect(),
        File::Parts(parts) => {
            parts.iter().flat_map(|(text, times)| text.repeat(*times).into_bytes()).collect()
        }
        File::Something(something) => return make(*something, path),
    };
    fs::write(path, content).unwrap();
}

fn make(something: Something, path: &Path) {
    let run = |program: &str, option: &str| {
        assert!(Command::new(program).arg(option).arg(path).status().unwrap().success());
    };
    match something {
        Something::Directory => fs::create_dir(path).unwrap(),
        Something::Fifo => run("mkfifo", "--"),
        Something::DanglingLink => std::os::unix::fs::symlink("nowhere", path).unwrap(),
        Something::LinkToItself => {
            std::os::unix::fs::symlink(path.file_name().unwrap(), path).unwrap();
        }
        Something::Unreadable => {
            fs::write(path, "[]").unwrap();
            run("chmod", "000");
        }
    }
}

/// Whether permissions do not bind this process.
fn is_root() -> bool {
    let id = Command::new("id").arg("-u").output().unwrap();
    id.stdout.trim_ascii() == b"0"
}

/// Everything of a diagnostic that a row speaks of.
fn told(diagnostic: &Diagnostic) -> Value {
    let value = serde_json::to_value(diagnostic).unwrap();
    json!({
        "code": value["code"], "severity": value["severity"],
        "line": value["start"]["line"], "column": value["start"]["column"],
        "message": value["message"], "help": value["help"], "related": value["related"],
    })
}

fn fits(diagnostic: &Value, expected: &Expected) -> bool {
    let text = |field: &str| diagnostic[field].as_str();
    let number = |value: &Value| value.as_u64().and_then(|number| u32::try_from(number).ok());
    let has = |part: &str, text: Option<&str>| text.is_some_and(|text| text.contains(part));
    let related = diagnostic["related"].as_array().unwrap();
    text("code") == Some(&expected.code)
        && text("severity") == Some(&expected.severity)
        && number(&diagnostic["line"]) == expected.line
        && number(&diagnostic["column"]) == expected.column
        && has(&expected.message, text("message"))
        && match &expected.help {
            None => text("help").is_none(),
            Some(help) => has(help, text("help")),
        }
        && related.len() == expected.related.len()
        && related.iter().zip(&expected.related).all(|(is, (line, part))| {
            number(&is["line"]) == Some(*line) && has(part, is["message"].as_str())
        })
}

/// What is wrong with a row.
fn check(row: &Row, (homes, name): Homes) -> Vec<String> {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    let home = match row.layer {
        Layer::System => homes[0],
        Layer::User => homes[1],
        Layer::Project => homes[2],
    };
    write(&row.file, &root.join(home).join(name));
    let places = Places::below(&root);
    if row.layer == Layer::Project {
        let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
        store.trust(&survey(&places).unwrap()).unwrap();
    }
    let mut loaded = load(&Setup::new(places).scripts(Stub::default()));
    // What cannot be pinned is a matter of trust, not of the file.
    loaded.diagnostics.retain(|d| d.code != Code::Unpinned);
    let said: Vec<Value> = loaded.diagnostics.iter().map(told).collect();
    let mut wrong = Vec::new();
    if let Some(expect) = &row.expect {
        let same = said.len() == expect.len()
            && said.iter().zip(expect).all(|(is, expected)| fits(is, expected));
        if !same {
            let lines: Vec<_> = said.iter().map(ToString::to_string).collect();
            wrong.push(format!("it is said:\n      {}", lines.join(",\n      ")));
        }
    }
    let is_error = |expected: &Expected| expected.severity == "error";
    let broken = match &row.expect {
        Some(expect) => expect.iter().any(is_error),
        None => row.broken.unwrap(),
    };
    let state = if broken { FileState::Broken } else { FileState::InForce };
    let states: Vec<_> = loaded.files.iter().map(|file| file.state).collect();
    if states != [state] {
        wrong.push(format!("the file is {states:?}, not {state:?}"));
    }
    for diagnostic in &loaded.diagnostics {
        let shown = render(diagnostic, Colours::None);
        if !shown.contains(&diagnostic.message) || !shown.contains(diagnostic.code.id()) {
            wrong.push(format!("it is shown without what it says:\n{shown}"));
        }
        if shown.len() > 4096 {
            wrong.push(format!("{} characters are shown of {diagnostic:?}", shown.len()));
        }
    }
    if let Some(wanted) = &row.rendered {
        let shown = loaded.diagnostics.first().map(|first| render(first, Colours::None));
        let shown = shown.unwrap_or_default().replace(root.to_str().unwrap(), "$DIR");
        if shown != wanted.join("\n") {
            wrong.push(format!("it is shown as\n{shown}"));
        }
    }
    wrong
}

fn run(folder: &str, homes: Homes) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(folder);
    let rows = fs::read(folder.join("diagnostics.json")).unwrap();
    let rows: Vec<Row> = serde_json::from_slice(&rows).unwrap();
    let root = is_root();
    let failures: Vec<String> = rows
        .iter()
        .filter(|row| !(root && matches!(row.file, File::Something(Something::Unreadable))))
        .filter_map(|row| {
            let wrong = check(row, homes);
            (!wrong.is_empty()).then(|| format!("{}\n    {}", row.name, wrong.join("\n    ")))
        })
        .collect();
    let (wrong, all) = (failures.len(), rows.len());
    assert!(failures.is_empty(), "{wrong} of {all} files:\n{}", failures.join("\n"));
}

#[test]
fn antigravity() {
    let homes = ["system/antigravity", "home/.gemini/config", "project/.agents"];
    run("antigravity", (homes, "hooks.json"));
}

#[test]
fn polytoken() {
    let homes = ["system/polytoken", "home/.config/polytoken", "project/.polytoken"];
    run("polytoken", (homes, "hooks.json"));
}

#[test]
fn claude() {
    let homes = ["system/claude", "home/.claude", "project/.claude"];
    run("claude", (homes, "settings.json"));
}

#[test]
fn harness() {
    let homes = ["system/hooks", "home/.config/tollgate/hooks", "project/.harness/hooks"];
    run("harness", (homes, "guard.md"));
}
