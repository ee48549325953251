//! What a `config.toml` may say, and what is in force where several do.

// Clippy takes helpers of tests for code of the library.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tollgate_config::diagnostic::Code::{BadPattern, OutOfRange, UnknownField, WrongType};
use tollgate_config::diagnostic::{Code, Diagnostic};
use tollgate_config::settings::{
    Environment, Excepting, Files, KEYS, Loaded, Otherwise, Settings, WhenChanged, WhenUntrusted,
    schema,
};
use tollgate_config::source::SourceFile;
use tollgate_core::dialect::Layer;

fn load(system: &str, user: &str, project: &str) -> Loaded {
    let source = |name: &str, text: &str| Arc::new(SourceFile::new(name, text));
    Loaded::from_sources([
        (Layer::System, source("/etc/tollgate/config.toml", system)),
        (Layer::User, source("user.toml", user)),
        (Layer::Project, source("project.toml", project)),
    ])
}

fn user(text: &str) -> Loaded {
    load("", text, "")
}

/// The code and place of each problem.
fn problems(diagnostics: &[Diagnostic]) -> Vec<(Code, String)> {
    let place = |d: &Diagnostic| d.span.map(|span| d.file.position(span.start).to_string());
    diagnostics.iter().map(|d| (d.code, place(d).unwrap_or_default())).collect()
}

const EVERYTHING: &str = r#"
[http]
allow = ["api.example.org", "*.internal:8080"]

[limits]
hook = "20s"
dispatch = 50
person = "5m"
drain = "500ms"
stdout = "64KiB"
commands = 8
inspections = 0x20

[polytoken]
deadline = "5s"

[policy]
otherwise = "closed"

[trust]
changed = "closed"
untrusted = "closed"

[mask]
fields = ["customer"]
patterns = ['\bCUST-\d+']

[engine]
reask = true
rounds = 3

[hosts]
refuse_unasked = false
refuse_unwritten = true
pass_allow = true

[exceptions]
allow = "once"

[command]
environment = ["PATH", "HOME"]
"#;

#[test]
fn every_key_is_read_and_shown_with_its_place() {
    let loaded = user(EVERYTHING);
    assert_eq!(loaded.diagnostics, []);
    let Settings { http, limits, polytoken, policy, trust, mask, engine, hosts, command, .. } =
        &loaded.settings;
    assert_eq!(trust.changed, WhenChanged::Closed);
    assert_eq!(trust.untrusted, WhenUntrusted::Closed);
    assert_eq!(http.allow.len(), 2);
    assert!(loaded.settings.allows_host("x.internal", 8080));
    assert!(!loaded.settings.allows_host("x.internal", 80));
    assert_eq!(limits.hook, Duration::from_secs(20));
    assert_eq!(limits.dispatch, Duration::from_secs(50));
    assert_eq!(limits.person, Duration::from_mins(5));
    assert_eq!(limits.drain, Duration::from_millis(500));
    assert_eq!((limits.stdout, limits.commands, limits.inspections), (65_536, 8, 32));
    assert_eq!(polytoken.deadline, Duration::from_secs(5));
    assert_eq!(policy.otherwise, Otherwise::Closed);
    assert_eq!((mask.fields.len(), mask.patterns.len()), (1, 1));
    assert_eq!((engine.reask, engine.rounds), (true, 3));
    assert_eq!(
        (hosts.refuse_unasked, hosts.refuse_unwritten, hosts.pass_allow),
        (false, true, true)
    );
    assert_eq!(loaded.settings.exceptions.allow, Excepting::Once);
    // A project may make it stricter, and not looser.
    let narrowed = load("", EVERYTHING, "hosts.refuse_unasked = true\nhosts.pass_allow = false\n");
    assert_eq!(narrowed.diagnostics, []);
    assert!(narrowed.settings.hosts.refuse_unasked && !narrowed.settings.hosts.pass_allow);
    let loosened = load("", "", "hosts.refuse_unwritten = false\nhosts.pass_allow = true\n");
    assert_eq!(loosened.diagnostics.len(), 2);
    assert_eq!(loosened.settings.hosts, Settings::default().hosts);
    let names = vec!["PATH".to_owned(), "HOME".to_owned()];
    assert_eq!(command.environment, Environment::Only(names));
    assert_eq!(loaded.settings.masker().unwrap().text("for CUST-12"), "for [masked]");
    assert_eq!(loaded.settings.runner_limits().rounds, 3);

    let line = |key: &str| loaded.settings.origin(key).first().map(|origin| origin.line);
    for key in KEYS {
        assert!(line(key).is_some(), "{key} has no origin");
    }
    assert_eq!(line("limits.hook"), Some(6));
    assert_eq!(loaded.settings.origin("limits.hook")[0].to_string(), "user.toml:6");

    // What is shown is what could be written.
    let mut text = String::new();
    for (key, value, _) in loaded.settings.rows() {
        text.extend([key, " = ", &value, "\n"]);
    }
    let again = user(&text);
    assert_eq!(again.diagnostics, []);
    assert_eq!(again.settings.rows().len(), KEYS.len());
    let values = |loaded: &Loaded| serde_json::to_value(&loaded.settings).unwrap();
    assert_eq!(values(&again), values(&loaded));
}

#[test]
fn the_defaults_are_the_documented_ones() {
    let settings = load("", "", "").settings;
    assert_eq!(settings, Settings::default());
    let rows: Vec<_> =
        settings.rows().into_iter().map(|(key, value, _)| format!("{key} = {value}")).collect();
    assert_eq!(
        rows,
        [
            "http.allow = []",
            "limits.hook = \"30s\"",
            "limits.dispatch = \"1m\"",
            "limits.person = \"10m\"",
            "limits.drain = \"2s\"",
            "limits.stdout = \"1MiB\"",
            "limits.commands = 64",
            "limits.inspections = 1024",
            "polytoken.deadline = \"10s\"",
            "policy.otherwise = \"open\"",
            "trust.changed = \"approved\"",
            "trust.untrusted = \"open\"",
            "mask.fields = []",
            "mask.patterns = []",
            "engine.reask = true",
            "engine.rounds = 8",
            "hosts.refuse_unasked = true",
            "hosts.refuse_unwritten = true",
            "hosts.pass_allow = false",
            "exceptions.allow = \"always\"",
            "command.environment = \"inherit\"",
        ]
    );
    assert!(rows.iter().all(|row| settings.origin(row).is_empty()));
}

#[test]
fn every_problem_is_found_in_one_go() {
    let text = r#"
http = 3
timeout = 5
[limit]
hook = "1s"
[limits]
hok = "1s"
rounds = 3
hook = "soon"
dispatch = "90h"
person = -1
drain = "1ms"
stdout = 5
commands = 0.5
inspections = 15
[policy]
otherwise = "close"
[mask]
patterns = ["ok", "("]
fields = ["a", 3]
[engine]
reask = "yes"
rounds = 99999999999999999999
[command]
environment = ["PATH=x"]
[polytoken]
deadline = true
"#;
    let loaded = user(text);
    let expected = [
        (WrongType, "2:8"),
        (UnknownField, "3:1"),
        (UnknownField, "4:2"),
        (UnknownField, "7:1"),
        (UnknownField, "8:1"),
        (WrongType, "9:8"),
        (OutOfRange, "10:12"),
        (OutOfRange, "11:10"),
        (OutOfRange, "12:9"),
        (OutOfRange, "13:10"),
        (WrongType, "14:12"),
        (OutOfRange, "15:15"),
        (OutOfRange, "17:13"),
        (BadPattern, "19:19"),
        (WrongType, "20:16"),
        (WrongType, "22:9"),
        (OutOfRange, "23:10"),
        (OutOfRange, "25:16"),
        (WrongType, "27:12"),
    ];
    let found = problems(&loaded.diagnostics);
    let found: Vec<_> = found.iter().map(|(code, place)| (*code, place.as_str())).collect();
    assert_eq!(found, expected);
    let help = |at: usize| loaded.diagnostics[at].help.as_deref().unwrap();
    assert!(help(2).starts_with("`limits` is probably meant"), "{}", help(2));
    assert!(help(3).starts_with("`hook` is probably meant"), "{}", help(3));
    assert!(help(4).starts_with("`engine.rounds` is probably meant"), "{}", help(4));
    assert!(help(12).starts_with("`\"closed\"` is probably meant"), "{}", help(12));
    assert!(help(6).starts_with("it goes from 100ms to 24h"), "{}", help(6));
    assert_eq!(loaded.settings, Settings::default());
}

#[test]
fn what_is_no_toml_is_told_with_the_rest() {
    let loaded = user("[limits]\nhook = \nhook = \"1s\"\n[limits]\ncommands = 0\n[nonsense\n");
    let codes: BTreeSet<_> = loaded.diagnostics.iter().map(|d| d.code).collect();
    assert!(codes.contains(&Code::NotToml) && codes.contains(&Code::DuplicateKey), "{codes:?}");
    assert!(loaded.diagnostics.iter().all(|d| d.span.is_some()));
    assert_eq!(loaded.broken, [Layer::User]);
    let hosts = user("[http]\nallow = [\"https://example.org/x\", \"a b\"]");
    assert_eq!(
        problems(&hosts.diagnostics),
        [(Code::OutOfRange, "2:10".to_owned()), (Code::OutOfRange, "2:35".to_owned()),]
    );
    assert!(hosts.diagnostics[0].help.as_deref().unwrap().starts_with("`\"example.org\"`"));
}

#[test]
fn a_project_may_narrow_everything() {
    let above = "[http]\nallow = [\"*.example.org\", \"b\"]\n[engine]\nreask = false\n\
                 [mask]\nfields = [\"x\"]\n[command]\nenvironment = [\"PATH\", \"HOME\"]";
    let project = "[http]\nallow = [\"a.example.org\"]\n[engine]\nreask = true\nrounds = 0\n\
                   [mask]\nfields = [\"x\", \"y\"]\npatterns = [\"z\"]\n[policy]\notherwise = \"closed\"\n\
                   [command]\nenvironment = [\"PATH\"]\n[limits]\nhook = \"1s\"\nstdout = 1024";
    let loaded = load("", above, project);
    assert_eq!(loaded.diagnostics, []);
    let settings = &loaded.settings;
    assert!(settings.allows_host("a.example.org", 443) && !settings.allows_host("b", 443));
    assert_eq!((settings.engine.reask, settings.engine.rounds), (true, 0));
    assert_eq!(settings.mask.fields, ["x", "y"]);
    assert_eq!(settings.policy.otherwise, Otherwise::Closed);
    assert_eq!(settings.command.environment, Environment::Only(vec!["PATH".to_owned()]));
    assert_eq!(settings.limits.hook, Duration::from_secs(1));
    let layers: Vec<_> = settings.origin("mask.fields").iter().map(|origin| origin.layer).collect();
    assert_eq!(layers, [Layer::User, Layer::Project]);
    assert_eq!(settings.origin("limits.hook")[0].layer, Layer::Project);
}

#[test]
fn a_project_may_widen_nothing() {
    let above = "[http]\nallow = [\"a\"]\n[policy]\notherwise = \"closed\"\n\
                 [command]\nenvironment = [\"PATH\"]\n[limits]\nhook = \"5s\"";
    for (text, message) in [
        (
            "[limits]\nhook = \"6s\"",
            "`limits.hook` is 6s here, and at most 5s is allowed by user.toml:8",
        ),
        (
            "[limits]\ndispatch = \"2m\"",
            "`limits.dispatch` is 2m here, and at most 1m is allowed by default",
        ),
        ("[limits]\nperson = \"1h\"", "at most 10m is allowed by default"),
        ("[limits]\ndrain = 3", "at most 2s"),
        ("[limits]\nstdout = \"2MiB\"", "`limits.stdout` is 2MiB here, and at most 1MiB"),
        ("[limits]\ncommands = 65", "at most 64"),
        ("[limits]\ninspections = 2000", "at most 1024"),
        ("[polytoken]\ndeadline = 11", "at most 10s"),
        ("[engine]\nrounds = 9", "at most 8"),
        (
            "[engine]\nreask = false",
            "`engine.reask` is false here, and only `true` is allowed by default",
        ),
        ("[policy]\notherwise = \"open\"", "only `\"closed\"` is allowed by user.toml:4"),
        (
            "[http]\nallow = [\"a\", \"b\"]",
            "`http.allow` is `\"b\"` here, and only `[\"a\"]` is allowed by user.toml:2",
        ),
        ("[http]\nallow = [\"*\"]", "only `[\"a\"]`"),
        ("[command]\nenvironment = \"inherit\"", "only `[\"PATH\"]` is allowed by user.toml:6"),
        ("[command]\nenvironment = [\"PATH\", \"TOKEN\"]", "only `[\"PATH\"]`"),
    ] {
        // What else the file says does not count either.
        let loaded = load("", above, &format!("{text}\n[mask]\nfields = [\"x\"]"));
        let [diagnostic] = loaded.diagnostics.as_slice() else {
            panic!("{text}: {:?}", loaded.diagnostics)
        };
        assert_eq!(diagnostic.code, Code::Widens, "{text}");
        assert!(diagnostic.message.contains(message), "{text}: {}", diagnostic.message);
        assert_eq!(diagnostic.file.position(diagnostic.span.unwrap().start).line, 2);
        assert_eq!(loaded.settings, load("", above, "").settings, "{text}");
        assert_eq!(loaded.broken, [] as [Layer; 0], "{text}");
    }
    let none = load("", "", "[http]\nallow = [\"a\"]");
    assert!(none.diagnostics[0].message.contains("no host is allowed by default"));
}

#[test]
fn every_layer_may_shorten_exceptions_and_none_may_lengthen_them() {
    let set = |value: &str| match value {
        "" => String::new(),
        value => format!("[exceptions]\nallow = \"{value}\"\n"),
    };
    for (system, user, project, allowed, problems) in [
        ("", "", "", Excepting::Always, 0),
        ("none", "", "", Excepting::None, 0),
        ("none", "always", "", Excepting::None, 1),
        ("once", "for", "once", Excepting::Once, 1),
        ("for", "once", "none", Excepting::None, 0),
        ("", "once", "for", Excepting::Once, 1),
        ("", "", "none", Excepting::None, 0),
    ] {
        let loaded = load(&set(system), &set(user), &set(project));
        assert_eq!(loaded.settings.exceptions.allow, allowed, "{system} {user} {project}");
        assert_eq!(loaded.diagnostics.len(), problems, "{system} {user} {project}");
    }
    let wrong = user("[exceptions]\nallow = \"onze\"\n");
    assert_eq!(wrong.diagnostics[0].help.as_deref().unwrap().find("`\"once\"`"), Some(0));
    assert_eq!(user("[exceptions]\nallow = true\n").diagnostics[0].code, WrongType);
}

#[test]
fn a_person_is_free_where_the_machine_is_silent() {
    let wide = "[limits]\nhook = \"10m\"\ncommands = 100\n[http]\nallow = [\"*\"]\n[engine]\nreask = false";
    let loaded = user(wide);
    assert_eq!(loaded.diagnostics, []);
    assert_eq!(loaded.settings.limits.hook, Duration::from_mins(10));
    assert!(!loaded.settings.engine.reask);

    let system = "[limits]\nhook = \"1m\"\n[http]\nallow = [\"*.corp\"]";
    let loaded = load(system, wide, "");
    assert_eq!(
        problems(&loaded.diagnostics),
        [(Code::Widens, "2:8".to_owned()), (Code::Widens, "5:10".to_owned()),]
    );
    assert!(loaded.diagnostics[0].message.ends_with("allowed by /etc/tollgate/config.toml:2"));
    // The file does not count in part, and whoever runs hooks is told.
    assert_eq!(loaded.settings.limits.commands, 64);
    assert_eq!(loaded.settings.limits.hook, Duration::from_mins(1));
    assert_eq!(loaded.broken, [Layer::User]);

    let within = "[limits]\nhook = \"50s\"\n[http]\nallow = [\"a.corp\"]";
    assert_eq!(load(system, within, "").diagnostics, []);
    // The machine may set what it likes.
    let loaded = load("[limits]\nhook = \"1h\"\n[http]\nallow = [\"*\"]", "", "");
    assert_eq!(
        (loaded.diagnostics.len(), loaded.settings.limits.hook),
        (0, Duration::from_hours(1))
    );
}

#[test]
fn with_a_layer_unread_nothing_below_widens() {
    let user = "[limits]\nhook = \"10m\"\ndispatch = \"30s\"\n[http]\nallow = [\"a\"]";
    let loaded = load("[limits\n", user, "[limits]\ndrain = \"1s\"");
    assert_eq!(loaded.broken, [Layer::System]);
    assert!(loaded.diagnostics.iter().all(|d| d.file.path().starts_with("/etc")));
    assert!(loaded.diagnostics[0].help.as_deref().unwrap().contains("gates are closed"));
    let settings = &loaded.settings;
    assert_eq!(settings.limits.hook, Duration::from_secs(30));
    assert_eq!(settings.limits.dispatch, Duration::from_secs(30));
    assert_eq!(settings.limits.drain, Duration::from_secs(1));
    assert!(settings.http.allow.is_empty());

    // A project's broken file is left out and closes nothing.
    let loaded = load("", "", "[limits]\nhook = \"1s\"\nx = 1");
    assert_eq!((loaded.broken.len(), loaded.diagnostics.len()), (0, 1));
    assert_eq!(loaded.settings, Settings::default());
}

#[test]
fn files_are_read_from_their_places() {
    let place = tempfile::tempdir().unwrap();
    let (home, project) = (place.path().join("home"), place.path().join("project"));
    fs::create_dir_all(home.join(".config/tollgate")).unwrap();
    fs::create_dir_all(project.join(".tollgate")).unwrap();
    let mut files = Files::usual(None, Some(&home), Some(&project));
    assert_eq!(files.system.take().unwrap().to_str(), Some("/etc/tollgate/config.toml"));
    assert_eq!(Loaded::read(&files).settings, Settings::default());
    fs::write(files.user.as_ref().unwrap(), "[limits]\nhook = 20").unwrap();
    fs::write(files.project.as_ref().unwrap(), "[limits]\nhook = 10").unwrap();
    assert_eq!(Loaded::read(&files).settings.limits.hook, Duration::from_secs(10));
    fs::write(files.user.as_ref().unwrap(), b"\xff").unwrap();
    let loaded = Loaded::read(&files);
    assert_eq!(problems(&loaded.diagnostics)[0].0, Code::NotUtf8);
    assert_eq!(loaded.broken, [Layer::User]);
    fs::remove_file(files.user.as_ref().unwrap()).unwrap();
    fs::create_dir(files.user.as_ref().unwrap()).unwrap();
    assert_eq!(problems(&Loaded::read(&files).diagnostics)[0].0, Code::NotAFile);
}

#[test]
fn the_schema_has_the_same_keys() {
    let schema = serde_json::to_value(schema()).unwrap();
    let mut keys = BTreeSet::new();
    let resolve = |value: &serde_json::Value| {
        // `Option` of a table is a choice of a reference and null.
        let reference = value.pointer("/anyOf/0/$ref").or_else(|| value.get("$ref")).unwrap();
        schema.pointer(reference.as_str().unwrap().trim_start_matches('#')).unwrap().clone()
    };
    for (table, value) in schema["properties"].as_object().unwrap() {
        for key in resolve(value)["properties"].as_object().unwrap().keys() {
            keys.insert(format!("{table}.{key}"));
        }
    }
    assert_eq!(keys, KEYS.iter().map(|key| (*key).to_owned()).collect());
}

/// Whether one allows nothing that the other does not.
fn is_within(narrow: &Settings, wide: &Settings) -> bool {
    let covered = |list: &[tollgate_config::settings::Host]| {
        narrow.http.allow.iter().all(|host| list.iter().any(|above| above.covers(host)))
    };
    let variables = match (&narrow.command.environment, &wide.command.environment) {
        (_, Environment::Inherit) => true,
        (Environment::Inherit, Environment::Only(_)) => false,
        (Environment::Only(names), Environment::Only(above)) => {
            names.iter().all(|name| above.contains(name))
        }
    };
    narrow.limits.hook <= wide.limits.hook
        && narrow.limits.stdout <= wide.limits.stdout
        && narrow.engine.rounds <= wide.engine.rounds
        && narrow.engine.reask >= wide.engine.reask
        && narrow.policy.otherwise >= wide.policy.otherwise
        && narrow.exceptions.allow <= wide.exceptions.allow
        && narrow.trust.changed >= wide.trust.changed
        && narrow.trust.untrusted >= wide.trust.untrusted
        && wide.mask.fields.iter().all(|field| narrow.mask.fields.contains(field))
        && covered(&wide.http.allow)
        && variables
}

fn file() -> impl Strategy<Value = String> {
    let hosts = proptest::sample::subsequence(vec!["a", "b", "*.c", "x.c", "*", "b:1"], 0..4);
    let names = proptest::sample::subsequence(vec!["PATH", "HOME", "TOKEN"], 0..3);
    let setting = prop_oneof![
        (1..100_u32).prop_map(|n| format!("limits.hook = {n}")),
        (1..4_u32).prop_map(|n| format!("limits.stdout = \"{n}MiB\"")),
        (0..20_u32).prop_map(|n| format!("engine.rounds = {n}")),
        any::<bool>().prop_map(|b| format!("engine.reask = {b}")),
        any::<bool>().prop_map(|b| {
            format!("policy.otherwise = \"{}\"", if b { "open" } else { "closed" })
        }),
        proptest::sample::select(Excepting::ALL.to_vec())
            .prop_map(|it| format!("exceptions.allow = \"{}\"", it.name())),
        any::<bool>().prop_map(|b| {
            format!("trust.changed = \"{}\"", if b { "approved" } else { "closed" })
        }),
        any::<bool>().prop_map(|b| {
            format!("trust.untrusted = \"{}\"", if b { "open" } else { "closed" })
        }),
        hosts.prop_map(|hosts| format!("http.allow = {hosts:?}")),
        names.prop_map(|names| format!("command.environment = {names:?}")),
        Just("command.environment = \"inherit\"".to_owned()),
        Just("mask.fields = [\"x\"]".to_owned()),
        Just("not toml".to_owned()),
    ];
    proptest::collection::vec(setting, 0..4).prop_map(|mut settings| {
        settings.sort();
        settings.dedup_by_key(|s| s.split(" = ").next().unwrap_or_default().to_owned());
        settings.join("\n")
    })
}

proptest! {
    /// Whatever a project says, it never widens; nor does a person, what the machine has set.
    #[test]
    fn a_lower_layer_never_widens(system in file(), user in file(), project in file()) {
        let above = load(&system, &user, "");
        let all = load(&system, &user, &project);
        prop_assert!(is_within(&all.settings, &above.settings), "{system}\n--\n{user}\n--\n{project}");
        let only_project = load("", "", &project);
        prop_assert!(is_within(&only_project.settings, &Settings::default()));
        for key in KEYS {
            let machine = load(&system, "", "");
            if !machine.settings.origin(key).is_empty() && above.settings.origin(key).is_empty() {
                prop_assert!(false, "{key} was set by the machine and is the default now");
            }
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC*") {
        let _ = load(&text, &text, &text);
    }
}
