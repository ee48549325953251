//! A day in the life: a person sets Tollgate up, an agent works on a feature, and nothing stands in its way but what should.
//!
//! Every step is put to the command that `tollgate setup` has written into Claude Code's settings. What passes is then
//! run for real, in a clone of a local repository, unless only a decision is wanted (no registry is there to ask).

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::thread;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use serde_json::{Value, json};
use tempfile::TempDir;

const TOLLGATE: &str = env!("CARGO_BIN_EXE_tollgate");

/// A step of the agent's work.
enum Step {
    /// Has to pass, and is run.
    Runs(&'static str),
    /// Has to pass. What it needs (a registry, a toolchain) is not here.
    Passes(&'static str),
    /// A file that is written with the agent's own tool.
    Writes(&'static str, &'static str),
}

use Step::{Passes, Runs, Writes};

/// A feature, from the branch to the push.
const FEATURE: &[Step] = &[
    Runs("git status --short --branch"),
    Runs("git log --oneline -5"),
    Runs("git switch -c greeting"),
    Runs("ls -la && cat README.md"),
    Passes("npm ci"),
    Passes("pip install -r requirements.txt"),
    Passes("cargo build --workspace"),
    Runs("grep -rn 'TODO' --include='*.sh' . || true"),
    Runs("find . -name '*.sh' -not -path './.git/*' | sort"),
    Runs("mkdir -p src tests"),
    Writes("src/greet.sh", "#!/bin/sh\nprintf 'hello, %s\\n' \"${1:-world}\"\n"),
    Runs("chmod +x src/greet.sh"),
    Writes(
        "tests/greet.sh",
        "#!/bin/sh\n[ \"$(sh src/greet.sh you)\" = 'hello, you' ] && echo ok\n",
    ),
    Runs("sh tests/greet.sh"),
    Runs("sh scripts/build.sh"),
    Runs("sh scripts/test.sh 2>&1 | tee test.log"),
    Passes("npm test -- --watch=false"),
    Passes("cargo test -p greet -- --nocapture"),
    Passes("python3 -m pytest -q tests"),
    Runs("git add -A"),
    Runs("git diff --cached --stat"),
    Runs("git commit -m 'greet: say hello'"),
    Runs("rm -rf build && sh scripts/build.sh"),
    Runs("rm -f test.log"),
    Runs("git commit -am 'log: remove it'"),
    Runs("sed -i 's/hello/good day/' src/greet.sh"),
    Runs("git stash"),
    Runs("git fetch origin"),
    Runs("git rebase origin/main"),
    Runs("git stash pop"),
    Runs("git checkout -- src/greet.sh"),
    Runs("git commit --amend --no-edit"),
    Runs("git tag -a v0.1 -m first"),
    Runs("tar czf ../greet.tgz src && tar tzf ../greet.tgz"),
    Runs("cp src/greet.sh /tmp/greet-$$.sh && rm /tmp/greet-$$.sh"),
    Runs("git push -u origin greeting"),
    Runs("git switch main && git merge --no-ff -m 'Merge greeting' greeting"),
    Runs("git branch -d greeting"),
    Runs("git push origin main"),
    Passes("gh pr create --fill"),
    Passes("docker run --rm -v \"$PWD\":/w -w /w node:22 npm test"),
    Passes("curl -fsS http://localhost:3000/health"),
];

/// A hook of the team, as it comes with the project.
const HOOK: &str = r#"---
event: tool.pre
when: payload["name"] == "run_command"
script: |
  def handle(event, payload):
      if "deploy-production" in payload["args"]["CommandLine"]:
          return block("Only the release job deploys.")
      return allow()
---
Keeps deployments out of the hands of agents.
"#;

struct Machine {
    root: TempDir,
}

impl Machine {
    /// A remote repository, a clone of it, a home, and Claude Code.
    fn new() -> Self {
        let machine = Self { root: TempDir::new().unwrap() };
        for folder in ["home", "bin", "first"] {
            fs::create_dir(machine.path(folder)).unwrap();
        }
        machine.write("bin/claude", "#!/bin/sh\necho '2.1.325 (Claude Code)'\n");
        machine.write(
            "home/.gitconfig",
            "[user]\n\tname = Dev\n\temail = dev@example.org\n[init]\n\tdefaultBranch = main\n",
        );
        machine.write("first/README.md", "# Greeter\n");
        machine.write(
            "first/scripts/build.sh",
            "#!/bin/sh\nset -e\nmkdir -p build\ncp src/*.sh build/\n",
        );
        machine.write(
            "first/scripts/test.sh",
            "#!/bin/sh\nfor test in tests/*.sh; do sh \"$test\" || exit 1; done\n",
        );
        machine.write("first/.gitignore", "build/\n");
        machine.write("first/.tollgate/hooks/deploy.md", HOOK);
        machine.sh(
            ".",
            "chmod 755 bin/claude && git init -q --bare remote.git && cd first && git init -q && git add -A \
             && git commit -qm start && git push -q ../remote.git main && cd .. && git clone -q remote.git project",
        );
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn command(&self, program: &str, directory: &str) -> Command {
        let mut command = Command::new(program);
        command
            .env_clear()
            .env("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", self.path("bin").display()))
            .env("HOME", self.path("home"))
            .env("LANG", "C.UTF-8")
            .current_dir(self.path(directory))
            .stdin(Stdio::null());
        command
    }

    /// Runs a command line for real.
    fn sh(&self, directory: &str, line: &str) {
        let output = self.command("bash", directory).args(["-c", line]).output().unwrap();
        assert!(output.status.success(), "{line}: {output:?}");
    }

    /// Runs Tollgate as the person, without a terminal.
    fn tollgate(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.command(TOLLGATE, "project").args(arguments).output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(said).unwrap())
    }

    /// Runs Tollgate as the person, at a terminal at which something is typed.
    fn typed(&self, arguments: &[&str], typed: &str) -> String {
        let terminal = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&terminal).unwrap();
        unlockpt(&terminal).unwrap();
        let name = ptsname(&terminal, Vec::new()).unwrap().into_string().unwrap();
        let side = || Stdio::from(File::options().read(true).write(true).open(&name).unwrap());
        let mut command = self.command(TOLLGATE, "project");
        let mut child =
            command.args(arguments).stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        // Its copies of the terminal's other side are closed with this.
        drop(command);
        let mut terminal = File::from(terminal);
        terminal.write_all(typed.as_bytes()).unwrap();
        let reader = thread::spawn(move || {
            let mut shown = Vec::new();
            // The end of the other side is an error here.
            let _ = terminal.read_to_end(&mut shown);
            String::from_utf8_lossy(&shown).into_owned()
        });
        child.wait().unwrap();
        reader.join().unwrap()
    }

    /// Puts an event to the hook in Claude Code's settings. An error is what the agent is told.
    fn event(&self, event: &str, more: &Value) -> Result<String, String> {
        let settings: Value =
            serde_json::from_str(&self.read("home/.claude/settings.json")).unwrap();
        let hook = &settings["hooks"][event][0]["hooks"][0];
        let mut payload = json!({
            "session_id": "day", "cwd": self.path("project"), "hook_event_name": event,
            "transcript_path": self.path("home/transcript.jsonl"), "permission_mode": "default",
        });
        payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let arguments = hook["args"].as_array().unwrap();
        let mut child = self
            .command(hook["command"].as_str().unwrap(), "project")
            .args(arguments.iter().map(|argument| argument.as_str().unwrap()))
            .env("CLAUDE_PROJECT_DIR", self.path("project"))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(payload.to_string().as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        // This process is both the agent and the person, so what is recorded of the agent is removed.
        for entry in
            fs::read_dir(self.path("home/.local/state/tollgate/hosts")).into_iter().flatten()
        {
            let entry = entry.unwrap();
            if entry.file_name().to_string_lossy().starts_with("agent-") {
                fs::remove_file(entry.path()).unwrap();
            }
        }
        let said = String::from_utf8([output.stdout, output.stderr].concat()).unwrap();
        let is_stopped = said.contains(r#""permissionDecision":"deny""#)
            || said.contains(r#""permissionDecision":"ask""#);
        if output.status.success() && !is_stopped { Ok(said) } else { Err(said) }
    }

    fn call(&self, line: &str) -> Result<String, String> {
        self.event(
            "PreToolUse",
            &json!({"tool_name": "Bash", "tool_input": {"command": line}, "tool_use_id": "t"}),
        )
    }

    /// Returns the files of the home that belong to the person and the agents.
    fn settings(&self) -> BTreeMap<PathBuf, String> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.path("home")];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if !path.starts_with(self.path("home/.local/state")) {
                    all.insert(path.clone(), fs::read_to_string(&path).unwrap());
                }
            }
        }
        all
    }
}

#[test]
fn a_feature_is_built_without_a_stop() {
    tollgate_testing::needs!("git", "bash", "tar");
    let machine = Machine::new();
    let before = machine.settings();

    // Set up once, for all projects; then the hook that came with this one is reviewed.
    let (code, said) = machine.tollgate(&["setup", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    let shown = machine.typed(&["trust"], "y\n");
    assert!(shown.contains("deploy.md"), "{shown}");
    machine.event("SessionStart", &json!({"source": "startup"})).unwrap();

    for step in FEATURE {
        match step {
            Runs(line) => {
                machine.call(line).unwrap_or_else(|said| panic!("`{line}` is stopped: {said}"));
                machine.sh("project", line);
            }
            Passes(line) => {
                machine.call(line).unwrap_or_else(|said| panic!("`{line}` is stopped: {said}"));
            }
            Writes(file, content) => {
                let input =
                    json!({"file_path": machine.path("project").join(file), "content": content});
                let call = json!({"tool_name": "Write", "tool_input": input, "tool_use_id": "t"});
                machine
                    .event("PreToolUse", &call)
                    .unwrap_or_else(|said| panic!("`{file}`: {said}"));
                machine.write(&format!("project/{file}"), content);
            }
        }
    }
    assert!(FEATURE.len() >= 40);

    a_refusal_is_passed_once(&machine);
    a_pulled_change_waits_for_review(&machine);

    let (code, said) = machine.tollgate(&["setup", "--undo", "--yes"]);
    assert_eq!(code, Some(0), "{said}");
    assert_eq!(machine.settings(), before, "{said}");
}

/// A stop, why it is one, and how a person gets past it for one call.
fn a_refusal_is_passed_once(machine: &Machine) {
    let push = "git push --force origin main";
    let said = machine.call(push).unwrap_err();
    assert!(said.contains("rewrites remote history and cannot be undone"), "{said}");
    let (code, why) = machine.tollgate(&["why", push]);
    assert_eq!(code, Some(2), "{why}");
    assert!(why.contains("rewrites remote history") && why.contains("command-guard"), "{why}");
    let (_, status) = machine.tollgate(&["status"]);
    assert!(status.contains("to Claude Code: `git push --force origin main`"), "{status}");
    // Two guards object, and one code is enough.
    let (_, after) =
        said.split_once("tollgate allow ").unwrap_or_else(|| panic!("no code: {said}"));
    let code: String = after.chars().take_while(char::is_ascii_alphanumeric).collect();
    let shown = machine.typed(&["allow", &code, "--once"], "yes\n");
    for part in [push, "command-guard", "git-guard"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    machine.call(push).unwrap_or_else(|said| panic!("excepted, and stopped: {said}"));
    machine.call(push).unwrap_err();
}

/// A colleague changes a hook: the approved one stays in force until a person has seen the difference.
fn a_pulled_change_waits_for_review(machine: &Machine) {
    let deploy = "./deploy-production";
    machine.call(deploy).unwrap_err();
    let changed = HOOK.replace("return block(\"Only the release job deploys.\")", "return allow()");
    machine.sh(".", "git clone -q remote.git colleague");
    machine.write("colleague/.tollgate/hooks/deploy.md", &changed);
    machine.sh("colleague", "git commit -qam 'hooks: let agents deploy' && git push -q");
    machine.call("git pull").unwrap();
    machine.sh("project", "git pull -q");

    machine.call("git status").unwrap_or_else(|said| panic!("a change locks the gate: {said}"));
    let said = machine.call(deploy).unwrap_err();
    assert!(said.contains("Only the release job deploys."), "what was approved runs: {said}");
    let said = machine.event("SessionStart", &json!({"source": "startup"})).unwrap();
    assert!(said.contains("tollgate trust"), "the person is told: {said}");
    let shown = machine.typed(&["trust"], "y\n");
    assert!(
        shown.contains("-      ") && shown.contains("Only the release job deploys."),
        "a diff: {shown}"
    );
    machine.call(deploy).unwrap_or_else(|said| panic!("the change is approved: {said}"));
}
