//! Deep and long scripts: what is accepted fits a small stack and takes little time, the rest is refused.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::time::{Duration, Instant};

use proptest::prelude::*;
use starlark::environment::{Globals, Module};
use starlark::eval::Evaluator;
use tollgate_starlark::analysis::{
    self, MOST_BYTES, MOST_DEPTH, ProblemKind, SCRIPT, check_depth, depth,
};

/// Makes code that nests so often.
type Construct = fn(usize) -> String;

/// Code that nests, by how often.
fn constructs() -> Vec<(&'static str, Construct)> {
    fn returning(expression: &str) -> String {
        format!("def handle(a, b):\n  return {expression}\nhandle(1, 2)\n")
    }
    fn around(open: &str, close: &str, times: usize) -> String {
        returning(&format!("{}a{}", open.repeat(times), close.repeat(times)))
    }
    fn blocks(head: &str, times: usize) -> String {
        let heads = (1..=times).map(|level| " ".repeat(level) + head + "\n");
        let heads = heads.collect::<String>();
        format!("def handle(a, b):\n{heads}{}pass\nhandle(1, 2)\n", " ".repeat(times + 1))
    }
    vec![
        ("round brackets", |n| around("(", ")", n)),
        ("lists", |n| around("[", "]", n)),
        ("dicts", |n| around("{1:", "}", n)),
        ("tuples", |n| around("(", ",)", n)),
        ("not", |n| around("not ", "", n)),
        ("minus", |n| around("-", "", n)),
        ("tilde", |n| around("~", "", n)),
        ("plus signs", |n| around("+", "", n)),
        ("sums", |n| around("", "+a", n)),
        ("sums to the right", |n| around("a+(", ")", n)),
        ("and", |n| around("", " and a", n)),
        ("or with comparisons", |n| around("a == 1 or ", "", n)),
        ("calls in calls", |n| around("str(", ")", n)),
        ("calls of calls", |n| around("", "()", n)),
        ("dots", |n| around("", ".b", n)),
        ("methods", |n| around("", ".get(1)", n)),
        ("subscripts", |n| around("", "[0]", n)),
        ("slices", |n| around("", "[0:1]", n)),
        ("subscripts in subscripts", |n| around("a[", "]", n)),
        ("ternaries", |n| around("1 if a else ", "", n)),
        ("ternaries in brackets", |n| around("(", " if a else 2)", n)),
        ("lambdas", |n| around("lambda: ", "", n)),
        ("lambdas with parameters", |n| around("lambda x, y: ", "", n)),
        ("lambdas as defaults", |n| around("lambda x=", ": 1", n)),
        ("comprehensions", |n| around("[", " for x in [1]]", n)),
        ("clauses", |n| returning(&format!("[1{}]", " for x, y in []".repeat(n)))),
        ("conditions", |n| returning(&format!("[1 for x in []{}]", " if x".repeat(n)))),
        ("named arguments", |n| around("dict(x=", ")", n)),
        ("texts in texts", |n| around("f'{", "}'", n)),
        ("elif", |n| {
            let chain = "  elif a == 1:\n    pass\n".repeat(n);
            format!("def handle(a, b):\n  if a == 0:\n    pass\n{chain}handle(1, 2)\n")
        }),
        ("if in if", |n| blocks("if a:", n)),
        ("for in for", |n| blocks("for x in [1]:", n)),
        ("def in def", |n| blocks("def handle(a, b):", n)),
    ]
}

/// The most levels of a construct that are accepted.
fn most(construct: Construct) -> usize {
    (1..=300).take_while(|times| check_depth(&construct(*times)).is_ok()).last().unwrap()
}

fn on_small_stack(run: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(2 * 1024 * 1024);
    thread.spawn(run).unwrap().join().unwrap();
}

#[test]
fn the_deepest_that_is_accepted_fits_a_small_stack() {
    for (name, construct) in constructs() {
        let most = most(construct);
        // The bound is not so careful that it forbids what people write.
        assert!(most >= 20, "{name}: {most}");
        let text = construct(most);
        on_small_stack(move || {
            let ast = analysis::parse(&text).unwrap_or_else(|it| panic!("{name}: {it:?}"));
            // Whatever it finds, it comes back; and what it drops is as deep.
            drop(analysis::check_script(&text, &SCRIPT));
            let height = depth::height(&text).unwrap();
            assert!(height <= MOST_DEPTH);
            depth::with_stack(height, move || {
                Module::with_temp_heap(|module| {
                    let mut evaluator = Evaluator::new(&module);
                    // Most of these raise: they are deep, not right.
                    drop(evaluator.eval_module(ast, &Globals::standard()));
                });
            })
            .unwrap();
        });
    }
}

#[test]
fn what_is_far_too_deep_is_refused() {
    for (name, construct) in constructs() {
        for times in [301, 3_000, 20_000] {
            let text = construct(times);
            let problem = check_depth(&text).expect_err(name);
            let too_long = text.len() > MOST_BYTES;
            let expected = if too_long { ProblemKind::TooLong } else { ProblemKind::TooDeep };
            assert_eq!(problem.kind, expected, "{name} {times}");
            on_small_stack(move || assert!(analysis::check_script(&text, &SCRIPT).is_err()));
        }
    }
}

#[test]
fn many_things_beside_each_other_are_not_deep() {
    for (name, one) in [
        ("statements", "x = [(1 + 2) * 3, a.b.c(d)[0]]\n"),
        (
            "functions",
            "def f(a):\n  if a:\n    return 1\n  elif a == 2:\n    return 2\n  return 3\n",
        ),
    ] {
        let text = one.repeat(60_000 / one.len());
        assert_eq!(check_depth(&text), Ok(()), "{name}");
    }
    for (name, item) in [
        ("items", "(1 + 2), "),
        ("entries", "a.b(c) if d else e, "),
        ("lambdas", "lambda x, y: x, "),
        ("arguments", "f(a, b=c), "),
    ] {
        let text = format!("x = [{}]\n", item.repeat(2_000));
        assert_eq!(check_depth(&text), Ok(()), "{name}");
    }
}

#[test]
fn the_bound_of_bytes_is_exact() {
    let comment = |bytes: usize| format!("#{}", "x".repeat(bytes - 1));
    assert_eq!(check_depth(&comment(MOST_BYTES)), Ok(()));
    assert_eq!(check_depth(&comment(MOST_BYTES + 1)).unwrap_err().kind, ProblemKind::TooLong);
}

/// What could take a parser, or what comes after it, more than linear time.
#[test]
fn the_worst_texts_take_little_time() {
    let fill = |start: &str, part: &str, end: &str| {
        let times = (MOST_BYTES - start.len() - end.len()) / part.len();
        format!("{start}{}{end}", part.repeat(times))
    };
    let numbered = |start: &str, part: &dyn Fn(usize) -> String, end: &str| {
        let parts: String = (0..5_000).map(part).collect();
        format!("{start}{parts}{end}")
    };
    for (name, text) in [
        ("digits", fill("x = ", "9", "\n")),
        ("digits behind a point", fill("x = 1.", "9", "\n")),
        ("letters", fill("x = ", "a", "\n")),
        ("spaces", fill("x =", " ", "1\n")),
        ("a comment behind code", fill("x = 1 ", "#", "\n")),
        ("letters and digits", fill("x = ", "a1_", "\n")),
        ("almost keywords", fill("x = ", "lambd", "\n")),
        ("broken lines", fill("x = 1", "\\\n", "\n")),
        ("broken lines and spaces", fill("x = 1", " \\\n", "\n")),
        ("tabs", fill("x = 1 ", "\t", "\n")),
        ("carriage returns", fill("x = 1", "\r", "\n")),
        ("hexadecimal digits", fill("x = 0x", "f", "\n")),
        ("items", fill("x = [", "1,", "]\n")),
        ("entries", numbered("x = {", &|at| format!("{at}:1,"), "}\n")),
        ("parameters", numbered("def f(", &|at| format!("a{at},"), "):\n  pass\n")),
        ("named arguments", numbered("x = f(", &|at| format!("a{at}=1,"), ")\n")),
        ("names", numbered("", &|at| format!("a{at}=b\n"), "")),
        ("unknown names", numbered("x = [", &|at| format!("b{at},"), "]\n")),
        ("functions", numbered("", &|at| format!("def f{}(): g\n", at % 2_000), "")),
        ("comments", fill("", "#\n", "")),
        ("lines", fill("", "\n", "")),
        ("blank indented lines", fill("if x:\n  y\n", "    \n", "")),
        ("escapes", fill("x = '", "\\n", "'\n")),
        ("quotes", fill("x = '''", "''a", "'''\n")),
        ("no end of a text", fill("x = '''", "'", "")),
        ("texts with parts", fill("x = f'", "{{a}}", "'\n")),
        ("suppressions", fill("", "# starlark-lint-disable a, b\n", "")),
        ("semicolons", fill("", "a;", "a\n")),
        (
            "variables that feed each other",
            numbered(
                "def handle(e, p):\n",
                &|at| format!(" x{}=x{}\n", at % 1_000, at % 1_000 + 1),
                "",
            ),
        ),
    ] {
        let text = if text.len() > MOST_BYTES { text[..MOST_BYTES].to_owned() } else { text };
        let start = Instant::now();
        drop(analysis::check_script(&text, &SCRIPT));
        let took = start.elapsed();
        // In a debug build, on a machine with other things to do.
        assert!(took < Duration::from_secs(10), "{name}: {took:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_panics(text in "\\PC{0,80}") {
        held(&text);
    }

    #[test]
    fn no_words_panic(words in prop::collection::vec(prop::sample::select(WORDS), 0..40)) {
        held(&words.concat());
    }
}

const WORDS: &[&str] = &[
    "def handle(event, payload):\n",
    "  ",
    "    ",
    "\n",
    "\n  ",
    "return ",
    "if ",
    "elif ",
    "else",
    ":",
    ":\n    ",
    "for x in ",
    "lambda ",
    "x",
    "payload",
    "block",
    "metrics",
    ".",
    "incr",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    "=",
    "==",
    "+",
    "-",
    "*",
    "**",
    "%",
    "not ",
    " in ",
    " and ",
    " or ",
    "f'",
    "f\"\"\"",
    "'",
    "\"",
    "\"\"\"",
    "r'",
    "b'",
    "1",
    "0x",
    "1.5e9",
    "99999999999999999999",
    "#",
    "\\",
    "\r",
    "\t",
    "load",
    "while",
    "...",
    "->",
    "é",
    "🦀",
    "!",
    "pass",
    "break",
    ";",
    "+=",
    "|",
    "~",
    "<<",
    "@",
];

/// Every range lies in the text, at characters.
fn held(text: &str) {
    let problems = match analysis::check_script(text, &SCRIPT) {
        Ok(checked) => checked.warnings,
        Err(problems) => problems,
    };
    let problems = problems
        .into_iter()
        .chain(analysis::check_when(text, &analysis::WHEN).err().into_iter().flatten());
    for problem in problems {
        assert!(text.get(problem.range.clone()).is_some(), "{text:?}: {problem:?}");
        problem.place(text);
    }
}
