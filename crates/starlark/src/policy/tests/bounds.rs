//! What a file may use up, at the bound and past it.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Map, json};

use super::{LIMITS, Loaded, Rules, check, problems};
use crate::policy::check::builders;
use crate::policy::{LARGEST_RULES, MOST_RULES, is_simple};
use crate::sandbox::Limits;

#[test]
fn rules_are_counted() {
    let file = |rules: usize| format!("x = [policy.allow(\"a\") for _ in range({rules})]\n");
    assert_eq!(Loaded::new(&file(MOST_RULES)).unwrap().specs.len(), MOST_RULES);
    let error = Loaded::new(&file(MOST_RULES + 1)).err().unwrap();
    assert_eq!(error.message, "policy.allow: a file may make 10000 rules");
}

#[test]
fn rules_in_force_are_counted() {
    let file = |times: usize| format!("r = policy.allow(\"a\")\npolicy.enforce([r] * {times})\n");
    assert_eq!(Loaded::new(&file(MOST_RULES)).unwrap().specs.len(), MOST_RULES);
    let error = Loaded::new(&file(MOST_RULES + 1)).err().unwrap();
    assert_eq!(error.message, "policy.enforce: a file may have 10000 rules in force");
}

#[test]
fn texts_are_weighed() {
    let file = |bytes: usize| format!("policy.deny(\"a\", reason = \"x\" * {})\n", bytes - 1);
    assert!(Loaded::new(&file(LARGEST_RULES)).is_ok());
    let error = Loaded::new(&file(LARGEST_RULES + 1)).err().unwrap();
    let message = "policy.deny: the texts of all rules of a file may have 1024 KiB together";
    assert_eq!(error.message, message);
}

#[test]
fn lists_are_counted() {
    let file = |tools: usize| format!("policy.allow_mcp(\"s\", [\"a\"] * {tools})\n");
    assert!(Loaded::new(&file(MOST_RULES)).is_ok());
    let error = Loaded::new(&file(MOST_RULES + 1)).err().unwrap();
    assert_eq!(error.message, "policy.allow_mcp: `tools` may have 10000 texts");
}

#[test]
fn steps_and_memory_are_limited() {
    let endless =
        "def f(n):\n    for i in range(n):\n        for j in range(n):\n            pass\n";
    let failed = Rules::compile(&format!("{endless}f(100000)\n"), LIMITS).unwrap_err();
    assert_eq!(failed.message, "it took more steps than a policy may");
    let hungry = "x = []\nfor i in range(90000):\n    x.append(\"a\" * 1000 + str(i))\n";
    let failed = Rules::compile(hungry, LIMITS).unwrap_err();
    assert_eq!(failed.message, "it used more memory than a policy may");

    let text = format!("{endless}policy.deny(\"x\", when = lambda args: f(args[\"n\"]))\n");
    let loaded = Loaded::new(&text).unwrap();
    let args: Map<_, _> = [("n".to_owned(), json!(100_000))].into_iter().collect();
    let failed = loaded.rules.holds(0, &args, LIMITS).unwrap_err();
    assert_eq!(failed.message, "it took more steps than a policy may");
    // And the next is asked as if nothing had been.
    let args: Map<_, _> = [("n".to_owned(), json!(1))].into_iter().collect();
    assert_eq!(loaded.rules.holds(0, &args, LIMITS), Ok(false));
    assert!(loaded.rules.holds(1, &args, LIMITS).is_err());
}

#[test]
fn time_is_limited() {
    let limits = Limits { steps: u64::MAX, time: Duration::from_millis(20), ..LIMITS };
    let endless = "def f():\n    for i in range(2000000000):\n        pass\nf()\n";
    let failed = Rules::compile(endless, limits).unwrap_err();
    assert_eq!(failed.message, "it took longer than a policy may");
    let limits = Limits { time: Duration::MAX, ..LIMITS };
    assert!(Rules::compile("policy.allow_all()\n", limits).is_ok());
}

#[test]
fn files_too_long_or_too_deep_are_refused_before_they_are_parsed() {
    let deep = format!("x = {}1{}\n", "(".repeat(20_000), ")".repeat(20_000));
    let long = "# a comment\n".repeat(10_000);
    for (text, message) in [(deep, "levels deep"), (long, "is the most")] {
        let problems = problems(&text);
        assert!(problems.len() == 1 && problems[0].contains(message), "{problems:?}");
    }
}

/// A value that is small, and endless when it is written out.
fn tangle(open: &str, close: &str) -> String {
    let mut text = "x0 = [1]\n".to_owned();
    for i in 1..64 {
        writeln!(text, "x{i} = {open}x{0}, x{0}{close}", i - 1).unwrap();
    }
    text
}

#[test]
fn simple_files_take_no_longer_than_their_text() {
    for (open, close) in [("[", "]"), ("(", ")"), ("{\"a\": [", "]}")] {
        let tangle = tangle(open, close);
        for builder in builders() {
            let mut uses = vec![String::new()];
            for parameter in builder.call.parameters {
                let required = builder.call.parameters.iter().take(builder.call.required);
                let required = required.filter(|name| *name != parameter);
                let required: Vec<String> =
                    required.map(|name| format!("{name} = \"a\", ")).collect();
                let required = required.concat();
                uses.push(format!("{required}{parameter} = x63"));
                uses.push(format!("{required}{parameter} = [x63]"));
                uses.push(format!("{required}{parameter} = [[x63]]"));
            }
            for given in uses {
                let text = format!("{tangle}policy.{}({given})\n", builder.name);
                // Wrong, mostly, and said at once.
                if let Ok(ast) = check(&text) {
                    assert!(is_simple(&ast), "{text}");
                    if let Err(failed) = Rules::compile(&text, LIMITS) {
                        assert!(failed.message.len() < 300, "{failed}");
                    }
                }
            }
        }
    }
}

#[test]
fn what_the_compiler_would_compute_is_not_simple() {
    let simple = |file: &str| is_simple(&check(file).unwrap());
    let rule = |body: &str| format!("x = []\npolicy.deny(\"x\", when = lambda args: {body})\n");
    for body in [
        "\"a\" * (1 << 36)",
        "\"a\" + \"b\"",
        "list(range(1 << 30))",
        "\"a\".replace(\"a\", \"b\")",
        "\"%s\" % args",
        "\"{}\".format(args)",
        "[1 for _ in range(9)]",
        "f\"{args}\"",
        "x == x",
        "(lambda a: a)(args)",
        "args.update(x)",
    ] {
        assert!(!simple(&rule(body)), "{body}");
    }
    for body in [
        "\"rm\" in args.get(\"CommandLine\", \"\").lower()",
        "args[\"a\"][0] == -1 if args else not True",
        "re.search(\"a|b\", args[\"a\"]) and len(args) > 1",
        "glob.match(pattern = \"*.py\", text = args[\"a\"])",
    ] {
        assert!(simple(&rule(body)), "{body}");
    }
    assert!(!simple("True = []\n") && !simple("len = []\n") && !simple("policy = []\n"));
}

#[test]
fn the_table_of_builders_is_that_of_the_namespace() {
    for builder in builders() {
        let given = builder.call.parameters.iter().map(|name| format!("{name} = None"));
        let given = given.collect::<Vec<_>>().join(", ");
        let text = format!("policy.{}({given})\n", builder.name);
        // All its parameters are known to both; that a tool must not be `None` comes later.
        for problem in problems(&text) {
            assert!(problem.contains("value of type `NoneType`"), "{text}: {problem}");
        }
    }
}

#[test]
fn thousands_of_rules_are_loaded_in_good_time() {
    let rule = "policy.deny(\"a\",lambda a:a)\n";
    let text = rule.repeat(64 * 1024 / rule.len());
    let loaded = Loaded::new(&text).unwrap();
    assert!(loaded.specs.iter().all(|spec| loaded.natives.condition(spec).is_some()));
}
