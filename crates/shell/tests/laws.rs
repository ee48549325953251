//! What must hold of any command: quoting changes nothing, wrapping hides nothing, and the arguments
//! that are told are those that bash passes.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::io::Write as _;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use tollgate_shell::effects::{self, Effect};
use tollgate_shell::{Surroundings, analyze};

fn effects_of(script: &str) -> effects::Effects {
    let surroundings = Surroundings { directory: Some("/home/dev/project".to_owned()) };
    effects::of_analysis(&analyze(script, &surroundings))
}

fn shown(effects: &[Effect]) -> Vec<String> {
    effects.iter().map(|effect| format!("{effect:?}")).collect()
}

fn single(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// Ten ways to write one word.
fn quoted(word: &str, way: usize) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    match way {
        0 if !word.is_empty() && word.chars().all(plain) => word.to_owned(),
        2 => {
            let mut text = String::from("\"");
            for c in word.chars() {
                if "\\\"$`".contains(c) {
                    text.push('\\');
                }
                text.push(c);
            }
            text + "\""
        }
        3 if !word.is_empty() && !word.contains('\n') => {
            word.chars().flat_map(|c| ['\\', c]).collect()
        }
        4 => {
            let escape = |c: char| {
                if c.is_ascii() {
                    format!("\\x{:02x}", c as u32)
                } else {
                    format!("\\u{:04x}", c as u32)
                }
            };
            format!("$'{}'", word.chars().map(escape).collect::<String>())
        }
        5 => word.chars().map(|c| single(&c.to_string())).collect::<String>() + "''",
        6 => format!("\"\"{}\"\"", single(word)),
        7 => {
            let half = word.char_indices().nth(word.chars().count() / 2).map_or(0, |(at, _)| at);
            let (one, other) = word.split_at(half);
            format!("{}{}", single(one), quoted(other, 2))
        }
        8 => format!(
            "$'{}'",
            word.chars()
                .map(|c| {
                    if c.is_ascii() { format!("\\{:03o}", c as u32) } else { c.to_string() }
                })
                .collect::<String>()
        ),
        9 => format!("$\"\"{}", single(word)),
        _ => single(word),
    }
}

const HARMLESS: &[&[&str]] = &[
    &["rm", "-rf", "node_modules"],
    &["cp", "-r", "src", "/tmp/copy of src"],
    &["grep", "-rn", "rm -rf /", "docs"],
    &["git", "commit", "-m", "don't \"panic\"; $HOME is `fine`"],
    &["tee", "out put.txt"],
    &["sed", "-i", "s/a b/c*d/", "README.md"],
    &["mv", "a[1].txt", "b?.txt"],
    &["curl", "-o", "page.html", "https://example.org/a?b=c&d=e"],
    &["chmod", "644", "naïve.txt"],
    &["touch", "-t", "202601010000", "x"],
];

#[test]
fn quoting_changes_nothing() {
    for argv in HARMLESS {
        let plain: Vec<String> = argv.iter().map(|word| single(word)).collect();
        let expected = effects_of(&plain.join(" "));
        assert!(expected.unknowns.is_empty(), "{plain:?}: {:?}", expected.unknowns);
        for way in 0..10 {
            let line: Vec<String> = argv.iter().map(|word| quoted(word, way)).collect();
            let line = line.join(" ");
            let found = effects_of(&line);
            assert_eq!(shown(&found.list), shown(&expected.list), "{line}");
            assert!(found.unknowns.is_empty(), "{line}: {:?}", found.unknowns);
        }
    }
}

/// A command that is wrapped in one more way; whether it is still a simple one.
type Wrapper = fn(&str) -> (String, bool);

fn prefixed(prefix: &str, command: &(String, bool)) -> (String, bool) {
    let (text, simple) = command;
    let text = if *simple { text.clone() } else { format!("sh -c {}", single(text)) };
    // Behind another program, an assignment would be the name of one.
    (format!("{prefix} {text}"), prefix != "A=1")
}

const PREFIXES: &[&str] = &[
    "sudo",
    "sudo -u root --",
    "doas",
    "env",
    "env -i A=1",
    "nice -n 5",
    "nohup",
    "setsid",
    "timeout -s KILL 5",
    "stdbuf -oL",
    "ionice -c 3",
    "command",
    "exec",
    "time",
    "chroot /mnt",
    "unshare -r",
    "taskset 1",
    "busybox",
    "A=1",
    "flock /tmp/lock",
    "xargs -n 1",
    "find . -maxdepth 0 -exec",
    "systemd-run --user",
    "strace -f -o /dev/null",
];

const WRAPPERS: &[Wrapper] = &[
    |c| (format!("sh -c {}", single(c)), true),
    |c| (format!("bash -lc {}", single(c)), true),
    |c| (format!("/usr/bin/env bash -ec {}", single(c)), true),
    |c| (format!("eval {}", single(c)), true),
    |c| (format!("echo {} | sh", single(c)), false),
    |c| (format!("printf '%s' {} | bash -s", single(c)), false),
    |c| (format!("bash <<< {}", single(c)), false),
    |c| (format!("sh <<'END_OF_IT'\n{c}\nEND_OF_IT"), false),
    |c| (format!("( {c} )"), false),
    |c| (format!("{{ {c}\n}}"), false),
    |c| (format!("if true; then {c}\nfi"), false),
    |c| (format!("for i in 1 2; do {c}\ndone"), false),
    |c| (format!("while true; do {c}\nbreak; done"), false),
    |c| (format!("until {c}\ndo :; done"), false),
    |c| (format!("case $x in *) {c}\n;; esac"), false),
    |c| (format!("f() {{ {c}\n}}; f"), false),
    |c| (format!("trap {} EXIT", single(c)), false),
    |c| (format!("su - root -c {}", single(c)), true),
    |c| (format!("ssh -p 22 host {}", single(c)), true),
    |c| (format!("watch -n 1 {}", single(c)), true),
    |c| (format!("script -q -c {} /dev/null", single(c)), true),
    |c| (format!("true && {{ {c}\n}}"), false),
    |c| (format!("false || {{ {c}\n}}"), false),
    |c| (format!("! {{ {c}\n}}"), false),
    |c| (format!("{{ {c}\n}} &"), false),
    |c| (format!("coproc {{ {c}\n}}"), false),
    |c| (format!("echo $({c}\n)"), false),
    |c| (format!("x=\"$({c}\n)\""), false),
    |c| (format!("cat <({c}\n)"), false),
    |c| (format!("echo y | ( {c}\n)"), false),
    |c| (format!("v={}; bash -c \"$v\"", single(c)), false),
    |c| (format!("alias g={}; g", single(c)), false),
    |c| (format!("parallel ::: {}", single(c)), true),
    |c| (format!("cat > /tmp/s.sh <<'END_HERE'\n{c}\nEND_HERE\nbash /tmp/s.sh"), false),
    |c| {
        let code = format!("import os; os.system({c:?})");
        (format!("python3 -c {}", single(&code)), true)
    },
    |c| {
        let code =
            c.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('@', "\\@");
        (format!("perl -e {}", single(&format!("system(\"{code}\")"))), true)
    },
];

fn wrapped(ways: &[usize]) -> String {
    let mut command = ("rm -rf /".to_owned(), true);
    for way in ways {
        command = match WRAPPERS.get(*way) {
            Some(wrap) => wrap(&command.0),
            None => prefixed(PREFIXES[(way - WRAPPERS.len()) % PREFIXES.len()], &command),
        };
    }
    command.0
}

/// Whether the deletion of everything is seen, or at least that something is not.
fn is_seen(script: &str) -> bool {
    let found = effects_of(script);
    let hit = |effect: &Effect| {
        effect.kind == effects::Kind::Delete
            && matches!(&effect.target, effects::Target::Path(path) if path.text == "/")
    };
    found.list.iter().any(hit) || !found.unknowns.is_empty()
}

#[test]
fn no_wrapper_hides_a_deletion() {
    for way in 0..WRAPPERS.len() + PREFIXES.len() {
        let script = wrapped(&[way]);
        let found = effects_of(&script);
        assert!(is_seen(&script), "{script}\n{found:#?}");
        // One alone is no reason not to know.
        assert!(found.unknowns.is_empty(), "{script}\n{:?}", found.unknowns);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn wrappers_in_wrappers_hide_nothing(
        ways in prop::collection::vec(0..WRAPPERS.len() + PREFIXES.len(), 1..5)
    ) {
        let script = wrapped(&ways);
        prop_assert!(is_seen(&script), "{}", script);
    }
}

/// Words of scripts without side effects, for bash to expand.
fn word() -> impl Strategy<Value = String> {
    let literal = "[a-zA-Z0-9 _.,:=+%@-]{0,6}";
    let piece = prop_oneof![
        "[a-zA-Z0-9_.,:=+%@-]{1,5}".prop_map(|text| text),
        literal.prop_map(|text| single(&text)),
        literal.prop_map(|text| format!("\"{text}\"")),
        Just("${a}".to_owned()),
        Just("\"$a\"".to_owned()),
        Just("${b}".to_owned()),
        Just("\"${b}x\"".to_owned()),
        Just("${a:-none}".to_owned()),
        Just("${c:-no ne}".to_owned()),
        Just("${b#p}".to_owned()),
        Just("${b%%r*}".to_owned()),
        Just("${b/q/Q}".to_owned()),
        Just("${b:1:2}".to_owned()),
        Just("${b^^}".to_owned()),
        Just("${#b}".to_owned()),
        Just("{x,y}".to_owned()),
        Just("{1..3}".to_owned()),
        Just("{c,d{e,f}}".to_owned()),
        Just("$(echo hi there)".to_owned()),
        Just("\"$(printf '%s-%s' a b)\"".to_owned()),
        Just("`echo back`".to_owned()),
        Just("$((2 * (3 + 4)))".to_owned()),
        Just("$'t\\x41b\\101'".to_owned()),
        Just("\\$\\ \\\\".to_owned()),
        Just("\"${arr[@]}\"".to_owned()),
        Just("${arr[1]}".to_owned()),
        Just("\"${arr[*]}\"".to_owned()),
        Just("$1${3}".to_owned()),
        Just("\"$@\"".to_owned()),
    ];
    prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat())
}

fn by_bash(script: &str) -> Option<Vec<String>> {
    let directory = std::env::temp_dir();
    let mut bash = Command::new("bash")
        .args(["--norc", "--noprofile", "-s"])
        .current_dir(directory)
        .env_clear()
        .env("PATH", "/usr/bin:/bin")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    bash.stdin.take()?.write_all(script.as_bytes()).ok()?;
    let output = bash.wait_with_output().ok()?;
    let mut words: Vec<String> = output
        .stdout
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned())
        .collect();
    words.pop();
    Some(words)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn arguments_are_those_that_bash_passes(words in prop::collection::vec(word(), 1..4)) {
        let before = "set -- one 'two three' four; a='v w'; b=pqrst; c=; arr=(k 'l m' n); ";
        let line = words.join(" ");
        let script = format!("{before}/usr/bin/printf '%s\\0' {line}\n");
        let Some(expected) = by_bash(&script) else { return Ok(()) };
        let found = analyze(&script, &Surroundings::default());
        prop_assert!(found.unknowns.is_empty(), "{}: {:?}", script, found.unknowns);
        let printed: Vec<_> = found
            .commands
            .iter()
            .filter(|command| command.argv.first().and_then(|name| name.known()) == Some("/usr/bin/printf"))
            .collect();
        prop_assert_eq!(printed.len(), 1, "{}", script);
        let told: Vec<String> = printed[0].argv.iter().skip(2).map(ToString::to_string).collect();
        // `printf` prints an empty word where it is given none.
        let told = if told.is_empty() { vec![String::new()] } else { told };
        prop_assert_eq!(told, expected, "{}", script);
    }
}
