//! Runs the cases in `cases/guards` against the built command: ordinary work passes without a question, harm is
//! stopped.
//!
//! `GUARD_CASES=sql cargo test -p tollgate-cli --test guards` runs only the cases with `sql` in their class or
//! description.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use serde::Deserialize;
use serde_json::{Value, json};
use tempfile::TempDir;

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");
const CASES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/guards");
/// Scratch space outside the system's temporary directory, because the guards treat that one as free to write.
const SCRATCH: &str = env!("CARGO_TARGET_TMPDIR");

/// The classes of `harm.jsonl`.
const CLASSES: [&str; 15] = [
    "own-program",
    "script-file",
    "fetched",
    "other-agent",
    "tool-shape",
    "sql",
    "hosts",
    "fetch-and-run",
    "protected-operand",
    "startup",
    "unknown-code",
    "destroy",
    "read-secret",
    "exfil",
    "tamper",
];

/// One line of a case file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    /// The number of the line, from 1.
    #[serde(skip)]
    line: usize,
    what: String,
    /// Empty in `everyday.jsonl`.
    #[serde(default)]
    class: String,
    #[serde(default)]
    expect: Expect,
    /// Short for a single `Bash` step.
    command: Option<String>,
    /// Short for a single step, together with `input`.
    tool: Option<String>,
    input: Option<Value>,
    #[serde(default)]
    steps: Vec<Step>,
    #[serde(default)]
    files: BTreeMap<String, String>,
    #[serde(default)]
    links: BTreeMap<String, String>,
    cwd: Option<String>,
}

impl Case {
    /// Returns the class as a prefix of the description.
    fn label(&self) -> String {
        if self.class.is_empty() { String::new() } else { format!("{}: ", self.class) }
    }
}

/// One tool call, with Claude Code's names for the tool and its arguments.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    tool: String,
    input: Value,
    /// Files that the call leaves behind, because the test does not run it.
    #[serde(default)]
    creates: BTreeMap<String, String>,
}

/// The answer that a case's last step must get.
#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Expect {
    #[default]
    Pass,
    Stop,
    Deny,
}

/// An answer to one call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Answer {
    Pass,
    Ask,
    Deny,
}

impl Expect {
    fn met_by(self, answer: Answer) -> bool {
        match self {
            Self::Pass => answer == Answer::Pass,
            Self::Stop => answer != Answer::Pass,
            Self::Deny => answer == Answer::Deny,
        }
    }
}

impl fmt::Display for Expect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Pass => "pass",
            Self::Stop => "ask or deny",
            Self::Deny => "deny",
        })
    }
}

fn read(name: &str) -> String {
    let path = format!("{CASES}/{name}");
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Reads a case file and gives every case its steps.
fn cases(name: &str) -> Vec<Case> {
    let parse = |(at, text): (usize, &str)| {
        let line = at + 1;
        let mut case: Case =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{name}:{line}: {error}"));
        case.line = line;
        let single = match (case.command.take(), case.tool.take(), case.input.take()) {
            (Some(command), None, None) => Some(("Bash".to_owned(), json!({ "command": command }))),
            (None, Some(tool), Some(input)) => Some((tool, input)),
            (None, None, None) => None,
            _ => panic!("{name}:{line}: give `command`, `tool` and `input`, or `steps`"),
        };
        assert!(
            single.is_some() == case.steps.is_empty(),
            "{name}:{line}: give either one call or `steps`"
        );
        case.steps.extend(single.map(|(tool, input)| Step {
            tool,
            input,
            creates: BTreeMap::new(),
        }));
        case
    };
    read(name).lines().enumerate().map(parse).collect()
}

/// The files that every case finds: those of the person's home, and the starter set at user level.
struct Template(Vec<(PathBuf, Vec<u8>)>);

impl Template {
    fn new() -> Self {
        let home = TempDir::new_in(SCRATCH).unwrap();
        fs::create_dir(home.path().join(".git")).unwrap();
        let init = Command::new(TOLLGATE)
            .arg("init")
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", home.path())
            .current_dir(home.path())
            .output()
            .unwrap();
        assert!(init.status.success(), "{init:?}");
        let mut files = Vec::new();
        collect(&home.path().join(".tollgate"), Path::new(".config/tollgate"), &mut files);
        assert!(!files.is_empty(), "`tollgate init` wrote no files");
        let person: BTreeMap<PathBuf, String> = serde_json::from_str(&read("home.json")).unwrap();
        files.extend(person.into_iter().map(|(path, text)| (path, text.into_bytes())));
        Self(files)
    }
}

/// Adds the files below `from`, with paths below `to`.
fn collect(from: &Path, to: &Path, files: &mut Vec<(PathBuf, Vec<u8>)>) {
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let to = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            collect(&entry.path(), &to, files);
        } else {
            files.push((to, fs::read(entry.path()).unwrap()));
        }
    }
}

/// A home with a project in it, for one case.
struct Place {
    scratch: TempDir,
}

impl Place {
    fn new(template: &Template, case: &Case) -> Self {
        let place = Self { scratch: TempDir::new_in(SCRATCH).unwrap() };
        for (path, bytes) in &template.0 {
            place.write(&place.home().join(path), bytes);
        }
        for (path, text) in &case.files {
            place.write(&place.below_project(path), place.fill(text).as_bytes());
        }
        for (path, target) in &case.links {
            let path = place.below_project(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            symlink(place.fill(target), path).unwrap();
        }
        fs::create_dir_all(place.cwd(case)).unwrap();
        place
    }

    fn home(&self) -> &Path {
        self.scratch.path()
    }

    fn project(&self) -> PathBuf {
        self.home().join("project")
    }

    fn below_project(&self, path: &str) -> PathBuf {
        let path = self.project().join(path);
        assert!(path.starts_with(self.project()), "`{}` is outside the project", path.display());
        path
    }

    fn cwd(&self, case: &Case) -> PathBuf {
        self.below_project(case.cwd.as_deref().unwrap_or_default())
    }

    /// Writes a file of the home; scripts are executable.
    fn write(&self, path: &Path, bytes: &[u8]) {
        assert!(path.starts_with(self.home()), "`{}` is outside the home", path.display());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
        if bytes.starts_with(b"#!") || bytes.starts_with(b"\x7fELF") {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    /// Replaces the placeholders of a text.
    fn fill(&self, text: &str) -> String {
        text.replace("{home}", &self.home().display().to_string())
            .replace("{project}", &self.project().display().to_string())
            .replace("{tollgate}", TOLLGATE)
    }

    fn fill_all(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => self.fill(text).into(),
            Value::Array(items) => items.iter().map(|item| self.fill_all(item)).collect(),
            Value::Object(fields) => {
                fields.iter().map(|(name, value)| (name.clone(), self.fill_all(value))).collect()
            }
            other => other.clone(),
        }
    }

    /// Puts one call to the command; returns the answer and its reason.
    fn ask(&self, case: &Case, tool: &str, input: &Value) -> Result<(Answer, String), String> {
        let mut payload = json!({
            "session_id": "s", "transcript_path": self.home().join("t.jsonl"), "cwd": self.cwd(case),
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": input, "tool_use_id": "t",
        });
        if let Some((server, _)) = tool.strip_prefix("mcp__").and_then(|name| name.split_once("__"))
        {
            payload["mcp_server"] = json!({"name": server, "source": "dynamic"});
        }
        let mut child = Command::new(TOLLGATE)
            .args(["hook", "claude"])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.home())
            .envs([("USER", "dev"), ("LOGNAME", "dev"), ("SHELL", "/bin/bash")])
            .current_dir(self.cwd(case))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // The command may refuse before it has read everything.
        let _ = child.stdin.take().unwrap().write_all(payload.to_string().as_bytes());
        let output = child.wait_with_output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        let told: Value = match stdout.trim() {
            "" => Value::Null,
            text => serde_json::from_str(text).map_err(|error| format!("{error}: {text}"))?,
        };
        let own = &told["hookSpecificOutput"];
        let reason = own["permissionDecisionReason"].as_str().unwrap_or_default().to_owned();
        match (output.status.code(), own["permissionDecision"].as_str()) {
            (Some(2), _) | (Some(0), Some("deny")) => Ok((Answer::Deny, reason)),
            (Some(0), Some("ask")) => Ok((Answer::Ask, reason)),
            (Some(0), Some("allow") | None) => Ok((Answer::Pass, reason)),
            _ => Err(format!("not an answer: {output:?}")),
        }
    }

    /// Does what a step would have done, as far as later steps need it.
    fn perform(&self, step: &Step, input: &Value) {
        let text = |name: &str| input[name].as_str().unwrap_or_default();
        let path = Path::new(text("file_path"));
        match step.tool.as_str() {
            "Write" => self.write(path, text("content").as_bytes()),
            "Edit" => {
                let old = fs::read_to_string(path).unwrap();
                assert!(old.contains(text("old_string")), "`{}` lacks it", path.display());
                let new = old.replacen(text("old_string"), text("new_string"), 1);
                self.write(path, new.as_bytes());
            }
            _ => {}
        }
        for (path, content) in &step.creates {
            self.write(&self.below_project(path), self.fill(content).as_bytes());
        }
    }
}

/// Puts the steps of a case; returns a description of the first answer that is wrong.
fn judge(template: &Template, case: &Case) -> Option<String> {
    let place = Place::new(template, case);
    for (at, step) in case.steps.iter().enumerate() {
        let is_last = at + 1 == case.steps.len();
        let expect = if is_last { case.expect } else { Expect::Pass };
        let input = place.fill_all(&step.input);
        let problem = match place.ask(case, &step.tool, &input) {
            Ok((answer, _)) if expect.met_by(answer) => {
                if !is_last {
                    place.perform(step, &input);
                }
                continue;
            }
            Ok((answer, reason)) => format!("{answer:?} instead of {expect}. {reason}"),
            Err(error) => error,
        };
        let shown = match &step.input["command"] {
            Value::String(command) if step.tool == "Bash" => command.clone(),
            _ => format!("{:?} {}", step.tool, step.input),
        };
        return Some(format!("step {} of {}: {shown}\n    {problem}", at + 1, case.steps.len()));
    }
    None
}

/// Puts every case of a file and fails with a list of all that were answered wrongly.
fn run(name: &str) {
    let only = std::env::var("GUARD_CASES").unwrap_or_default();
    let mut cases = cases(name);
    cases.retain(|case| case.class.contains(&only) || case.what.contains(&only));
    let template = Template::new();
    let next = AtomicUsize::new(0);
    let failed = Mutex::new(BTreeMap::new());
    let workers = thread::available_parallelism().map_or(2, usize::from);
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Some(problem) = judge(&template, case) {
                        failed.lock().unwrap().insert(case.line, (case, problem));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    if failed.is_empty() {
        return;
    }
    let mut report = Vec::new();
    let mut by_class = BTreeMap::<&str, usize>::new();
    for (line, (case, problem)) in &failed {
        report.push(format!("{name}:{line}: {}{}\n    {problem}\n", case.label(), case.what));
        if !case.class.is_empty() {
            *by_class.entry(&case.class).or_default() += 1;
        }
    }
    report.extend(by_class.iter().map(|(class, count)| format!("{class}: {count} failed")));
    panic!("{} of {} cases failed\n\n{}", failed.len(), cases.len(), report.join("\n"));
}

#[test]
fn ordinary_work_passes() {
    run("everyday.jsonl");
}

#[test]
fn harm_is_stopped() {
    run("harm.jsonl");
}

#[test]
fn the_case_files_are_complete() {
    let everyday = cases("everyday.jsonl");
    assert!(everyday.len() >= 300, "only {} everyday cases", everyday.len());
    for case in &everyday {
        let plain = case.class.is_empty() && case.expect == Expect::Pass;
        assert!(plain, "everyday.jsonl:{}: `class` and `expect` are for harm", case.line);
    }
    let harm = cases("harm.jsonl");
    let mut counts: BTreeMap<&str, usize> = CLASSES.iter().map(|class| (*class, 0)).collect();
    for case in &harm {
        let count = counts.get_mut(case.class.as_str());
        *count.unwrap_or_else(|| panic!("harm.jsonl:{}: unknown class", case.line)) += 1;
        assert!(case.expect != Expect::Pass, "harm.jsonl:{}: no `expect`", case.line);
    }
    for (class, count) in counts {
        assert!(count >= 5, "only {count} cases of {class}");
    }
    let mut seen = BTreeSet::new();
    for name in ["everyday.jsonl", "harm.jsonl"] {
        for (at, line) in read(name).lines().enumerate() {
            let mut case: Value = serde_json::from_str(line).unwrap();
            case["what"].take();
            assert!(seen.insert(case.to_string()), "{name}:{}: duplicate case", at + 1);
        }
    }
}
