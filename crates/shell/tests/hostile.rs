//! Texts that are written to take long, to nest deep or to multiply: each ends soon, and what was not
//! looked at is said to be unknown.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::format_collect)]

use std::time::{Duration, Instant};

use tollgate_shell::{Surroundings, analyze, effects};

/// In a release build 50 ms; without optimisation, and beside other tests, all takes longer.
const LONGEST: Duration =
    if cfg!(debug_assertions) { Duration::from_secs(4) } else { Duration::from_millis(50) };

fn nested(open: &str, inner: &str, close: &str, times: usize) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

/// Name, text, and whether it must be said that not all was looked at.
fn texts() -> Vec<(&'static str, String, bool)> {
    const SIZE: usize = 64 * 1024;
    let functions: String =
        (1..40).map(|n| format!("f{n}() {{ f{}; f{}; }}; ", n - 1, n - 1)).collect();
    let assignments: String = (0..6000).map(|n| format!("a{n}=$b{n}; ")).collect();
    let evals = (0..5)
        .fold("rm -rf /".to_owned(), |text, _| format!("eval '{}'", text.replace('\'', "'\\''")));
    vec![
        ("substitutions", nested("$(", "x", ")", SIZE / 3), true),
        ("substitutions with programs", nested("echo $(", "x", ")", SIZE / 8), true),
        ("quoted substitutions", nested("\"$(", "x", ")\"", SIZE / 5), true),
        ("open substitutions", "$(".repeat(SIZE / 2), true),
        ("parameters", nested("${a:-", "x", "}", SIZE / 6), true),
        ("arithmetic", format!("echo $(({}1{}))", "(".repeat(SIZE / 2), ")".repeat(SIZE / 2)), true),
        ("subshells", nested("( ", "x", " )", SIZE / 4), true),
        ("groups", nested("{ ", "x", "; }", SIZE / 5), true),
        ("conditions", nested("if a; then ", "x", "; fi", SIZE / 15), true),
        ("backticks", "`".repeat(SIZE), true),
        ("escaped backticks", nested("`echo \\", "x", "\\`", SIZE / 9), true),
        ("quotes", "'".repeat(SIZE - 1), true),
        ("braces", format!("echo {}", "{a,b}".repeat(SIZE / 5)), true),
        ("nested braces", format!("echo {}", nested("{a,", "x", "}", SIZE / 4)), true),
        ("a long range", "echo {1..999999999}".to_owned(), true),
        ("loops in loops", "for a in {1..64}; do for b in {1..64}; do for c in {1..64}; do x=$y; done; done; done".to_owned(), true),
        ("programs in loops", "for a in {1..64}; do for b in {1..64}; do for c in {1..64}; do rm $a$b$c; done; done; done".to_owned(), true),
        ("an array that grows", (0..6000).map(|n| format!("a+=(x{n}); ")).collect::<String>() + "rm ${a[@]}", true),
        ("an element at a time", (0..6000).map(|n| format!("a[{}]=x; ", n % 256)).collect(), true),
        ("parameters that grow", "set -- $@ x; ".repeat(6000), true),
        ("words that are many", "rm {1..500}; ".repeat(5000), true),
        ("a long value, often", format!("a={}; {}", "x".repeat(30_000), "rm $a; ".repeat(5000)), true),
        ("a long value, unset in part", format!("a={}$b; {}", "x".repeat(30_000), "rm $a$a$a; ".repeat(3000)), true),
        ("functions that double", format!("f0() {{ rm x; }}; {functions} f39"), true),
        ("a variable that doubles", format!("a=xxxxxxxx; {} echo $a", "a=$a$a; ".repeat(64)), false),
        ("variables that may be anything", format!("echo {}", "$a$b$c$d$e$f$g$h$i$j$k$l ".repeat(200)), false),
        ("many assignments", assignments, true),
        ("a file that doubles", format!("echo x > f; {}", "cat f f > g; cat g g > f; ".repeat(500)), true),
        ("scripts in scripts", evals, false),
        ("many small commands", "ls; ".repeat(SIZE / 4), true),
        ("many pipes", "ls | ".repeat(SIZE / 5) + "ls", true),
        ("a function that calls itself", "f() { f; f; }; f".to_owned(), false),
        ("an alias of itself", "alias ls='ls; ls'; ls".to_owned(), false),
        ("a script that writes itself", "echo 'sh s; sh s' > s; sh s".to_owned(), false),
        ("here-documents", "cat <<A\n".repeat(SIZE / 8), false),
        ("patterns", format!("x={}; echo ${{x//a*a*a*a*a*b/c}}", "a".repeat(1000)), false),
        ("signs", "&|;<>()$`\\\"' \n*?[]#~=%!{},+@".repeat(SIZE / 32), true),
        ("awk", format!("awk '{}'", "{ system(\"ls\") }".repeat(SIZE / 17)), true),
        ("python", format!("python3 -c \"{}\"", "os.system('ls'); ".repeat(SIZE / 18)), true),
    ]
}

#[test]
fn hostile_texts_end_soon() {
    let mut slow = Vec::new();
    for (name, text, partly) in texts() {
        let begun = Instant::now();
        let analysis = analyze(&text, &Surroundings::default());
        let effects = effects::of_analysis(&analysis);
        let taken = begun.elapsed();
        if std::env::var_os("TOLLGATE_SHOW_TIMES").is_some() {
            println!("{taken:>12.2?} {:>6} commands  {name}", analysis.commands.len());
        }
        if taken > LONGEST {
            slow.push(format!("{name}: {taken:?}"));
        }
        assert_eq!(!effects.unknowns.is_empty(), partly, "{name}: {:?}", effects.unknowns);
        assert!(analysis.commands.len() <= 1024, "{name}");
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// A thread of a pool often has no more stack than this.
#[test]
fn a_small_stack_is_enough() {
    let small = std::thread::Builder::new().stack_size(if cfg!(debug_assertions) {
        2 << 20
    } else {
        512 << 10
    });
    let work = || {
        for (_, text, _) in texts() {
            analyze(&text, &Surroundings::default());
        }
        // As deep as can be in each way that is not the parser's.
        let mut script = "rm -rf /".to_owned();
        for _ in 0..12 {
            script = format!("sh -c '{}'", script.replace('\'', "'\\''"));
            if script.len() > 100_000 {
                break;
            }
        }
        analyze(&script, &Surroundings::default());
        let functions: String =
            (1..200).map(|n| format!("f{n}() {{ ( {{ f{}; }} ); }}; ", n - 1)).collect();
        analyze(&format!("f0() {{ rm -rf /; }}; {functions} f199"), &Surroundings::default());
    };
    small.spawn(work).unwrap().join().unwrap();
}
