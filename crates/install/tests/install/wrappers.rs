//! What the commands do that hosts are given, with real shells: whatever becomes of Tollgate.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tollgate_hosts::{Output, Verdict};
use tollgate_install::{
    CommandLine, Configured, Layer, Missing, Surroundings, Target, examine, install_for, uninstall,
};

use crate::{Machine, cases, events, layers, word};

/// What becomes of Tollgate.
const FAILURES: &[(&str, Option<&str>)] = &[
    ("missing", None),
    ("not executable", Some("-")),
    ("killed", Some("printf '{\"half'; kill -9 $$")),
    ("killed by a fault", Some("printf '{\"half'; kill -11 $$")),
    ("exit 1", Some("echo '{\"decision\": '; echo oh >&2; exit 1")),
    ("exit 3", Some("exit 3")),
    ("exit 101", Some("echo panicked >&2; exit 101")),
];

/// Hosts that are refused in their own words, which are printed.
const ITS_WAY: &[&str] = &["copilot", "qwen", "antigravity", "polytoken"];

/// Of these the ones that go by what is printed, whatever the exit code is.
const BY_WORDS: &[&str] = &["antigravity", "polytoken"];

struct Ran {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Puts something in the place of Tollgate. By another process: a file that this one has open for
/// writing while a test beside starts a program could not be run.
fn put(program: &Path, script: Option<&str>) {
    let _ = std::fs::remove_file(program);
    let Some(script) = script else { return };
    std::fs::create_dir_all(program.parent().unwrap()).unwrap();
    let (script, mode) = if script == "-" { ("exit 0", "644") } else { (script, "755") };
    let done = Command::new("/bin/sh")
        .args(["-c", "printf '#!/bin/sh\\n%s\\n' \"$1\" > \"$0\" && chmod $2 \"$0\""])
        .arg(program)
        .args([script, mode])
        .status();
    assert!(done.unwrap().success());
}

fn run(command: &CommandLine, input: &str) -> Ran {
    let (program, arguments) = command.spawn().unwrap();
    let mut child = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let output = std::thread::scope(|scope| {
        // Nobody reads it where Tollgate is missing.
        scope.spawn(move || drop(stdin.write_all(input.as_bytes())));
        child.wait_with_output().unwrap()
    });
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    Ran { code: output.status.code(), stdout, stderr }
}

/// So many gates and one that tells, of each host that runs commands of ours by a shell, as they are
/// configured.
fn wrapped(machine: &Machine, gate_count: usize) -> Vec<(&'static Target, Configured)> {
    let mut all = Vec::new();
    for target in Target::all() {
        let events = events(target);
        let layer = *layers(target, &machine.here).last().unwrap();
        install_for(target, layer, &machine.here, &events).unwrap().apply().unwrap();
        let found = examine(target, &machine.here, &events);
        let commands = found.layers.into_iter().flat_map(|layer| layer.commands);
        let (gates, tell): (Vec<_>, Vec<_>) = commands.partition(|command| command.gate);
        for command in gates.into_iter().take(gate_count).chain(tell.into_iter().take(1)) {
            assert!(command.is_current, "{}: {command:?}", target.name);
            match command.command {
                CommandLine::Shell { .. } | CommandLine::Script(_) => all.push((target, command)),
                CommandLine::Direct { .. } | CommandLine::Plugin(_) => {}
            }
        }
    }
    let hosts: std::collections::BTreeSet<_> = all.iter().map(|(target, _)| target.name).collect();
    assert_eq!(hosts.len(), 12, "all but Claude Code and OpenCode");
    all
}

fn machines() -> Vec<Machine> {
    let names = ["bin/tollgate", "my \"tools\" of 'ann' $HOME `x` \\ é;*/tollgate"];
    let with = |name| {
        let mut machine = Machine::new();
        let (home, project) = (machine.here.home.clone(), machine.here.project.clone());
        let program: PathBuf = machine.path().join(name);
        machine.here = Surroundings::new(home, project, program);
        machine
    };
    names.map(with).into()
}

#[test]
fn a_gate_refuses_whatever_is_no_answer() {
    for machine in machines() {
        let commands = wrapped(&machine, 10);
        for (what, script) in FAILURES {
            put(&machine.here.program, *script);
            for (target, command) in commands.iter().filter(|(_, command)| command.gate) {
                let ran = run(&command.command, "{}");
                let told = format!("{} {what}: {} {}", target.name, ran.stdout, ran.stderr);
                // By the rules of the host.
                let host = tollgate_hosts::by_name(target.name).unwrap();
                let output = Output {
                    code: ran.code.unwrap(),
                    stdout: ran.stdout.clone().into_bytes(),
                    stderr: ran.stderr.clone().into_bytes(),
                };
                let event = host.event(&command.event).unwrap();
                let reply = host.wire.read_answer(event, &output);
                let verdict = reply.unwrap_or_else(|error| panic!("{told}: {error}")).verdict;
                assert_eq!(verdict, Verdict::Refuse, "{told}");
                if let CommandLine::Script(_) = command.command {
                    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).expect(&told);
                    assert_eq!(answer["cancel"], true, "{told}");
                    assert!(answer["errorMessage"].as_str().unwrap().contains("refused"), "{told}");
                } else if ITS_WAY.contains(&target.name) {
                    let answer: serde_json::Value = serde_json::from_str(&ran.stdout).expect(&told);
                    assert!(answer.to_string().contains("Tollgate gave no answer"), "{told}");
                } else {
                    assert_eq!(ran.code, Some(2), "{told}");
                    assert!(ran.stderr.contains("refused: Tollgate gave no answer"), "{told}");
                }
                if target.name == "qwen" && command.event == "PreToolUse" {
                    let answer: serde_json::Value = serde_json::from_str(&ran.stderr).expect(&told);
                    assert_eq!(
                        answer["continue"], false,
                        "no other hook's allow undoes it: {told}"
                    );
                }
            }
        }
    }
}

#[test]
fn what_only_tells_is_never_refused() {
    for machine in machines() {
        let commands = wrapped(&machine, 1);
        for (what, script) in FAILURES {
            put(&machine.here.program, *script);
            for (target, command) in commands.iter().filter(|(_, command)| !command.gate) {
                let ran = run(&command.command, "{}");
                assert_eq!(ran.code, Some(0), "{} {what}: {}", target.name, ran.stderr);
                assert_eq!((&*ran.stdout, &*ran.stderr), ("", ""), "{} {what}", target.name);
            }
        }
    }
}

#[test]
fn an_answer_is_passed_on() {
    for machine in machines() {
        let commands = wrapped(&machine, 1);
        let seen = machine.path().join("seen");
        let record = format!("cat > '{0}'; printf '%s\\n' \"$@\" >> '{0}'\n", seen.display());
        for (target, command) in commands {
            let name = target.name;
            let is_script = matches!(command.command, CommandLine::Script(_));
            // Silence.
            put(&machine.here.program, Some(&record));
            let ran = run(&command.command, "{\"in\": \"é $x\"}\n");
            assert_eq!((ran.code, &*ran.stdout, &*ran.stderr), (Some(0), "", ""), "{name}");
            let seen = std::fs::read_to_string(&seen).unwrap();
            let arguments: Vec<_> = seen.lines().skip(1).collect();
            assert!(seen.starts_with("{\"in\": \"é $x\"}\n"), "{name}: {seen}");
            assert_eq!(arguments[..4], ["hook", name, "--event", &*command.event], "{name}");
            assert_eq!(arguments[4], "--deadline", "{name}");
            assert!((1..60).contains(&arguments[5].parse::<u32>().unwrap()), "{name}");
            // Words, of which a shell could make something.
            let answer = "{\"a\": \"%s \\\\n $x\"}";
            put(&machine.here.program, Some(&format!("cat >/dev/null; printf '%s' '{answer}'")));
            let ran = run(&command.command, "{}");
            assert_eq!((ran.code, ran.stdout.trim_end()), (Some(0), answer), "{name}");
            // A refusal.
            let refusal =
                format!("cat >/dev/null; printf '%s' '{answer}'; echo 'why %s' >&2; exit 2");
            put(&machine.here.program, Some(&refusal));
            let ran = run(&command.command, "{}");
            if command.gate && BY_WORDS.contains(&name) {
                // These go by what is printed: an exit code of 2 is none that Tollgate means.
                let refused: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
                assert!(refused.to_string().contains("Tollgate gave no answer"), "{name}");
                assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{name}");
                continue;
            }
            assert_eq!(ran.stdout.trim_end(), answer, "{name}");
            if !is_script {
                assert_eq!((ran.code, ran.stderr.trim_end()), (Some(2), "why %s"), "{name}");
            }
        }
    }
}

/// Which shell a host takes is its own matter, or that of the person.
#[test]
fn every_shell_reads_the_line() {
    let machine = &machines()[1];
    let commands = wrapped(machine, 1);
    let shells = [
        "/bin/sh",
        "/bin/bash",
        "/bin/dash",
        "/bin/zsh",
        "/usr/bin/zsh",
        "/usr/bin/fish",
        "/bin/ksh",
    ];
    for shell in shells.into_iter().filter(|shell| Path::new(shell).exists()) {
        for (target, command) in &commands {
            let CommandLine::Shell { line, .. } = &command.command else { continue };
            let shell = vec![shell.to_owned(), "-c".to_owned()];
            let line = CommandLine::Shell { shell: shell.clone(), line: line.clone() };
            put(&machine.here.program, None);
            let printed = BY_WORDS.contains(&target.name);
            let expected = if command.gate && !printed { 2 } else { 0 };
            assert_eq!(run(&line, "").code, Some(expected), "{} {shell:?}", target.name);
            put(&machine.here.program, Some("cat; exit 0"));
            assert_eq!(run(&line, "in").stdout, "in", "{} {shell:?}", target.name);
        }
    }
}

/// Much is passed on as well, and not kept in the shell where it need not be.
#[test]
fn an_answer_may_be_long() {
    let machine = &machines()[0];
    put(&machine.here.program, Some("cat; exit 0"));
    let input = "x".repeat(1_000_000);
    for (target, command) in wrapped(machine, 1) {
        assert!(run(&command.command, &input).stdout.trim_end() == input, "{}", target.name);
    }
}

#[test]
fn claude_starts_the_program_itself_and_refuses_failures() {
    let machine = Machine::new();
    let claude = Target::by_name("claude").unwrap();
    let events = events(claude);
    let plan = install_for(claude, Layer::Project, &machine.here, &events).unwrap();
    let text = String::from_utf8(plan.edits[0].after.clone().unwrap()).unwrap();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap();
    for event in events {
        let group = &settings["hooks"][event.event][0];
        let hook = &group["hooks"][0];
        // Copilot reads this file too, and an empty matcher keeps it from starting a bare program.
        assert_eq!(group["matcher"], "", "{text}");
        assert_eq!(hook["command"].as_str(), machine.here.program.to_str());
        assert_eq!(hook["args"][0], "hook");
        assert_eq!(hook["timeout"], 60);
        let on_failure = hook.get("onFailure").and_then(|it| it.as_str());
        assert_eq!(on_failure, event.gate.then_some("block"), "{}", event.event);
    }
    assert!(settings["hooks"].get("WorktreeCreate").is_none());
}

/// Where the program is missing, a call goes on and the person is warned; any other failure still refuses.
#[test]
fn a_missing_program_can_be_a_warning() {
    for target in Target::all() {
        let machine = Machine::new();
        let before = machine.everything();
        let warns: Vec<_> =
            events(target).into_iter().map(|it| it.with_missing(Missing::Warn)).collect();
        let layer = *layers(target, &machine.here).last().unwrap();
        install_for(target, layer, &machine.here, &warns).unwrap().apply().unwrap();
        // It is known again, as it is, and an install that does not say otherwise leaves it.
        let events = events(target);
        let found = examine(target, &machine.here, &events);
        let installed = found.layers.into_iter().find(|it| it.layer == layer).unwrap();
        assert!(installed.is_current(), "{}: {installed:?}", target.name);
        assert!(install_for(target, layer, &machine.here, &events).unwrap().is_empty());
        let mut warned = 0;
        for command in &installed.commands {
            assert!(command.weaker.is_empty(), "{command:?}");
            if let CommandLine::Plugin(_) = command.command {
                continue;
            }
            put(&machine.here.program, None);
            let ran = run(&command.command, "{}");
            let told = format!("{} {}: {} {}", target.name, command.event, ran.stdout, ran.stderr);
            assert_eq!(ran.code, Some(0), "{told}");
            let host = tollgate_hosts::by_name(target.name).unwrap();
            let event = host.event(&command.event).unwrap();
            let output = Output {
                code: 0,
                stdout: ran.stdout.clone().into_bytes(),
                stderr: ran.stderr.clone().into_bytes(),
            };
            match host.wire.read_answer(event, &output) {
                Ok(reply) => assert_ne!(reply.verdict, Verdict::Refuse, "{told}"),
                // Text is no answer to this host, so the event goes on; the person may see it.
                Err(error) => {
                    assert!(!command.gate || error.message.contains("shown to"), "{told}");
                }
            }
            warned += usize::from(told.contains("guards of this project do not run"));
            if command.gate {
                put(&machine.here.program, Some("kill -9 $$"));
                let ran = run(&command.command, "{}");
                let output = Output {
                    code: ran.code.unwrap(),
                    stdout: ran.stdout.into_bytes(),
                    stderr: ran.stderr.into_bytes(),
                };
                let reply = host.wire.read_answer(event, &output).unwrap();
                assert_eq!(reply.verdict, Verdict::Refuse, "{told}");
            }
        }
        let is_plugin = matches!(installed.commands[0].command, CommandLine::Plugin(_));
        assert!(is_plugin || warned == 1, "{}: {warned}", target.name);
        let refuses: Vec<_> = events.iter().map(|it| it.with_missing(Missing::Refuse)).collect();
        let plan = install_for(target, layer, &machine.here, &refuses).unwrap();
        assert!(!plan.is_empty(), "{}: the choice can be taken back", target.name);
        let _ = std::fs::remove_file(&machine.here.program);
        let _ = std::fs::remove_dir(machine.here.program.parent().unwrap());
        uninstall(target, layer, &machine.here).unwrap().apply().unwrap();
        assert_eq!(machine.everything(), before, "{}", target.name);
    }
}

#[test]
fn hosts_are_the_same_everywhere() {
    let ours: Vec<_> = Target::all().iter().map(|it| (it.name, it.title)).collect();
    let all: Vec<_> = tollgate_hosts::ALL.iter().map(|it| (it.name, it.title)).collect();
    assert_eq!(ours, all);
}

#[test]
fn ours_are_known_among_others() {
    for case in cases("commands.json") {
        let target = Target::by_name(word(&case, "host")).unwrap();
        let hook = serde_json::json!({"type": "command", "command": word(&case, "command")});
        let settings = serde_json::json!({"hooks": {"PreToolUse": [{"hooks": [hook]}]}});
        let (machine, _) = Machine::with(target, Layer::User, settings.to_string().as_bytes());
        let found = examine(target, &machine.here, &events(target));
        assert_eq!(found.layers[0].is_installed(), case["ours"], "{case}");
        assert_eq!(found.layers[0].others.is_empty(), case["ours"], "{case}");
    }
}
