//! What the parser makes of scripts, and what it refuses.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tollgate_shell::syntax::{
    Agreement, Command, CommandKind, Connective, DEEPEST, Operator, Piece, Pipeline, Redirect,
    RedirectKind, Script, Word, parse, second_opinion,
};

/// A script, written short. Quoted text is in `'`, text without quotes as it is.
fn show(script: &Script) -> String {
    let statements = script.statements.iter().map(|statement| {
        let mut text = pipeline(&statement.first);
        for (connective, next) in &statement.rest {
            let connective = if *connective == Connective::And { "&&" } else { "||" };
            write!(text, " {connective} {}", pipeline(next)).unwrap();
        }
        if statement.background { text + " &" } else { text }
    });
    statements.collect::<Vec<_>>().join("; ")
}

fn pipeline(pipeline: &Pipeline) -> String {
    let commands = pipeline.commands.iter().map(command).collect::<Vec<_>>().join(" | ");
    if pipeline.negated { format!("! {commands}") } else { commands }
}

fn command(command: &Command) -> String {
    let mut parts = Vec::new();
    match &command.kind {
        CommandKind::Simple { assignments, words: list } => {
            for assignment in assignments {
                let subscript = assignment.subscript.as_ref().map(|s| format!("[{}]", word(s)));
                let sign = if assignment.append { "+=" } else { "=" };
                let value = word(&assignment.value);
                let name = &assignment.name;
                parts.push(format!("{name}{}{sign}{value}", subscript.unwrap_or_default()));
            }
            parts.extend(list.iter().map(word));
            return format!("({}{})", parts.join(" "), redirects(&command.redirects));
        }
        CommandKind::Subshell(script) => parts.push(format!("subshell {}", show(script))),
        CommandKind::Group(script) => parts.push(format!("group {}", show(script))),
        CommandKind::If { clauses, otherwise } => {
            for clause in clauses {
                parts.push(format!("if {} then {}", show(&clause.condition), show(&clause.body)));
            }
            parts.extend(otherwise.as_ref().map(|script| format!("else {}", show(script))));
        }
        CommandKind::Loop(clause) => {
            parts.push(format!("loop {} do {}", show(&clause.condition), show(&clause.body)));
        }
        CommandKind::For { variable, items, body } => {
            let items = items.as_ref().map(|list| format!(" in {}", words(list)));
            parts.push(format!("for {variable}{} do {}", items.unwrap_or_default(), show(body)));
        }
        CommandKind::ForArithmetic { expression, body } => {
            parts.push(format!("for (({})) do {}", word(expression), show(body)));
        }
        CommandKind::Case { subject, arms } => {
            parts.push(format!("case {}", word(subject)));
            for arm in arms {
                let patterns: Vec<_> = arm.patterns.iter().map(word).collect();
                parts.push(format!("{}) {};;", patterns.join("|"), show(&arm.body)));
            }
        }
        CommandKind::Function { name, body } => {
            parts.push(format!("function {name} {}", self::command(body)));
        }
        CommandKind::Coproc(body) => parts.push(format!("coproc {}", self::command(body))),
        CommandKind::Arithmetic(text) => parts.push(format!("(({}))", word(text))),
        CommandKind::Test(list) => parts.push(format!("test {}", words(list))),
        CommandKind::Empty => parts.push("empty".to_owned()),
    }
    format!("{{{}{}}}", parts.join(" "), redirects(&command.redirects))
}

fn redirects(redirects: &[Redirect]) -> String {
    let mut text = String::new();
    for redirect in redirects {
        let operator = match redirect.kind {
            RedirectKind::Read => "<",
            RedirectKind::Write => ">",
            RedirectKind::Append => ">>",
            RedirectKind::ReadWrite => "<>",
            RedirectKind::DuplicateIn => "<&",
            RedirectKind::DuplicateOut => ">&",
            RedirectKind::Both => "&>",
            RedirectKind::BothAppend => "&>>",
            RedirectKind::HereString => "<<<",
            RedirectKind::HereDocument => "<<",
        };
        let descriptor = redirect.descriptor.as_deref().unwrap_or_default();
        write!(text, " {descriptor}{operator}{}", word(&redirect.target)).unwrap();
    }
    text
}

fn words(list: &[Word]) -> String {
    list.iter().map(word).collect::<Vec<_>>().join(" ")
}

fn word(word: &Word) -> String {
    pieces(&word.pieces)
}

fn pieces(list: &[Piece]) -> String {
    list.iter().map(piece).collect()
}

fn piece(piece: &Piece) -> String {
    match piece {
        Piece::Text(text) => text.clone(),
        Piece::Quoted(text) => format!("'{text}'"),
        Piece::Double(list) => format!("\"{}\"", pieces(list)),
        Piece::Command(script) => format!("$({})", show(script)),
        Piece::Process(direction, script) => format!("{direction:?}({})", show(script)),
        Piece::Arithmetic(list) => format!("$(({}))", pieces(list)),
        Piece::Array(list) => format!("[{}]", words(list)),
        Piece::Parameter(parameter) => {
            let subscript = parameter.subscript.as_ref().map(|s| format!("[{}]", word(s)));
            let operator = match &parameter.operator {
                Operator::None => String::new(),
                Operator::Length => " length".to_owned(),
                Operator::Default(value) => format!(" default {}", word(value)),
                Operator::Assign(value) => format!(" assign {}", word(value)),
                Operator::Error(value) => format!(" error {}", word(value)),
                Operator::Alternative(value) => format!(" alternative {}", word(value)),
                Operator::Prefix { longest, pattern } => format!(" # {longest} {}", word(pattern)),
                Operator::Suffix { longest, pattern } => format!(" % {longest} {}", word(pattern)),
                Operator::Replace { mode, pattern, with } => {
                    format!(" / {mode:?} {} by {}", word(pattern), word(with))
                }
                Operator::Slice { offset, length } => {
                    let length = length.as_ref().map(|length| format!(" {}", word(length)));
                    format!(" slice {}{}", word(offset), length.unwrap_or_default())
                }
                Operator::Case { to, all } => format!(" case {to} {all}"),
                Operator::Transform(letter) => format!(" @{letter}"),
                Operator::Names => " names".to_owned(),
                Operator::Other => " other".to_owned(),
            };
            let indirect = if parameter.indirect { "!" } else { "" };
            let subscript = subscript.unwrap_or_default();
            format!("${{{indirect}{}{subscript}{operator}}}", parameter.name)
        }
    }
}

fn check(cases: &[(&str, &str)]) {
    for (text, wanted) in cases {
        match parse(text) {
            Ok(script) => assert_eq!(show(&script), *wanted, "{text:?}"),
            Err(error) => panic!("{text:?}: {error}"),
        }
    }
}

#[rustfmt::skip]
#[test]
fn words_and_quotes() {
    check(&[
        ("", ""),
        ("a b  c", "(a b c)"),
        ("a'b'\"c\"\\d", "(a'b'\"'c'\"'d')"),
        ("a '' \"\"", "(a '' '')"),
        (r#"echo "a\$b\"\\\x$x""#, r#"(echo "'a$b"\\x'${x}")"#),
        (r"echo $'a\n\x41\u00e9\101\cA\'\e\q\xc3\xa9'", "(echo 'a\nA\u{e9}A\u{1}'\u{1b}\\q\u{e9}')"),
        (r"echo $'a\0b'c", "(echo 'a'c)"),
        (r"echo $'\x{41}\U0001f600\?'", "(echo 'A\u{1f600}?')"),
        (r#"echo $"a$x" "$'a'" $"#, r#"(echo "'a'${x}" "'$'a''" $)"#),
        ("a\\\nb c\\\n d", "(ab c d)"),
        ("ec\\\nho $fo\\\no \"$fo\\\no\" &\\\n& b", "(echo ${foo} \"${foo}\") && (b)"),
        ("echo a#b #c\nd", "(echo a#b); (d)"),
        ("echo \u{e4}\\\u{f6}\u{fc}", "(echo \u{e4}'\u{f6}'\u{fc})"),
        ("a\r\nb\r", "(a\r); (b\r)"),
        ("echo *.[ch] ~ {a,b} a@(b|c) !(x y)", "(echo *.[ch] ~ {a,b} a@(b|c) !(x y))"),
        ("echo @($(a)|'b)')", "(echo @($((a))|'b)'))"),
        ("echo \\", "(echo '\\')"),
    ]);
}

#[rustfmt::skip]
#[test]
fn expansions() {
    check(&[
        ("echo $a$1$12$@$$ $- ${12}", "(echo ${a}${1}${1}2${@}${$} ${-} ${12})"),
        ("echo ${a:-b c} ${a-b}", "(echo ${a default b c} ${a default b})"),
        ("echo \"${a:='$(x)'}\" ${a:?e}${a+'y}'}", "(echo \"${a assign '''$((x))'''}\" ${a error e}${a alternative 'y}'})"),
        ("echo ${a#b} ${a##*/} ${a%.*} ${a%%\"$x\"}", "(echo ${a # false b} ${a # true */} ${a % false .*} ${a % true \"${x}\"})"),
        ("echo ${a/b/c} ${a//b} ${a/#b/c} ${a/%b/\\/}", "(echo ${a / None b by c} ${a / Some('/') b by } ${a / Some('#') b by c} ${a / Some('%') b by '/'})"),
        ("echo ${a:1} ${a: -1:2} ${a:x?1:2:3}", "(echo ${a slice 1} ${a slice  -1 2} ${a slice x?1:2 3})"),
        ("echo ${a^} ${a,,} ${a@Q} ${a^^[a-c]}", "(echo ${a case ^ false} ${a case , true} ${a @Q} ${a other})"),
        ("echo ${#} ${#a} ${#a[@]} ${##} ${#-x} ${#?}", "(echo ${#} ${a length} ${a[@] length} ${# length} ${# default x} ${? length})"),
        ("echo ${!a} ${!a*} ${!a@} ${!a[@]} ${!#} ${!} ${!-x}", "(echo ${!a} ${!a names} ${!a names} ${!a[@] names} ${!#} ${!} ${! default x})"),
        ("echo ${a[$(i)]} ${a[b[1]]} ${@:2}", "(echo ${a[$((i))]} ${a[b[1]]} ${@ slice 2})"),
        ("echo $(a; b) $(a | b) $()", "(echo $((a); (b)) $((a) | (b)) $())"),
        ("echo $(case x in a) b;; esac) c", "(echo $({case x a) (b);;}) c)"),
        ("echo $(a # )\n) \"$(b \"$(c \")\")\")\"", "(echo $((a)) \"$((b \"$((c \"')'\"))\"))\")"),
        ("echo `a \\`b\\` \\$x '\\\\'` \"`c \\\"d\\\"`\"", "(echo $((a $((b)) ${x} '\\')) \"$((c \"'d'\"))\")"),
        ("echo $((1+$x)) $((a) | b) $( (a) ) $[1+a[2]]", "(echo $((1+${x})) $({subshell (a)} | (b)) $({subshell (a)}) $((1+a[2])))"),
        ("echo $(($(a)+(2)))", "(echo $(($((a))+(2))))"),
        ("diff <(a) >(b)c d<(e)", "(diff In((a)) Out((b))c dIn((e)))"),
        ("echo ${ a; b; } ${| c; }x", "(echo $((a); (b)) $((c))x)"),
        ("echo $(time a) $(! time a)", "(echo $((time a)) $(! (a)))"),
        ("echo $(<f)", "(echo $(( <f)))"),
    ]);
}

#[rustfmt::skip]
#[test]
fn assignments() {
    check(&[
        ("a=1 b+=2 c d=3", "(a=1 b+=2 c d=3)"),
        ("a[i+1]=$x b[\"k\"]+=y", "(a[i+1]=${x} b[\"'k'\"]+=y)"),
        ("a=(1 \"b c\" [2]=d # e )\n $f)", "(a=[1 \"'b c'\" [2]=d ${f}])"),
        ("declare -a a=(1 2) b=c", "(declare -a a=[1 2] b=c)"),
        ("export a=(1); local b+=(2)", "(export a=[1]); (local b+=[2])"),
        ("a= b", "(a= b)"),
        ("1a=b a-b=c", "(1a=b a-b=c)"),
        ("a[1 2] b", "(a[1 2] b)"),
        ("a\"b\"=c", "(a\"'b'\"=c)"),
        (">f a=1 b", "(a=1 b >f)"),
    ]);
}

#[rustfmt::skip]
#[test]
fn redirections() {
    check(&[
        ("a >b 2>>c <d 3<>e >|f", "(a >b 2>>c <d 3<>e >f)"),
        ("a 2>&1 >&- <&3- &>x &>>y <<<z", "(a 2>&1 >&- <&3- &>x &>>y <<<z)"),
        ("a {fd}>b >&-c 2 >d 99999999999>e", "(a c 2 99999999999 {fd}>b >&- >d >e)"),
        ("{ a; } >b; (c) 2>&1 | d", "{group (a) >b}; {subshell (c) 2>&1} | (d)"),
        ("a |& b", "(a 2>&1) | (b)"),
        ("a 2>(b)", "(a 2Out((b)))"),
    ]);
}

#[rustfmt::skip]
#[test]
fn here_documents() {
    check(&[
        ("a <<E\nb $c `d` \\$ \\x \"\nE\ne", "(a <<'b '${c}' '$((d))' $ \\x \"\n'); (e)"),
        ("a <<'E'\n$b \\\nE\nc", "(a <<'$b \\\n'); (c)"),
        ("a <<E b <<-F\n1\nE\n\t2\n\tF\nc", "(a b <<'1\n' <<'2\n'); (c)"),
        ("a <<E && b |\nx\nE\nc", "(a <<'x\n') && (b) | (c)"),
        ("a $(b <<E\nx\nE\n) c", "(a $((b <<'x\n')) c)"),
        ("a $(b <<E\nx\nE) c", "(a $((b <<'x\n')) c)"),
        ("a $(b <<E\nx\nE c)\nd", "(a $((b <<'x\n'); (c))); (d)"),
        ("a <<E\nx", "(a <<'x')"),
        ("a <<E", "(a <<)"),
        ("a <<E \"b\nc\"\nx\nE", "(a \"'b\nc'\" <<'x\n')"),
        ("if a <<E; then\nx\nE\nb; fi", "{if (a <<'x\n') then (b)}"),
        ("a <<E\nb\\\nE\nc\\\\\nE\nd", "(a <<'bE\nc\\\n'); (d)"),
        ("a <<E; f() { b <<F; }\n1\nE\n2\nF", "(a <<'1\n'); {function f {group (b <<'2\n')}}"),
        ("a <<\"E F\"\nx\nE F\nb", "(a <<'x\n'); (b)"),
        ("a <<E\n${b:-$(c <<F\n1\nF\n)}\nE\nd", "(a <<${b default $((c <<'1\n'))}'\n'); (d)"),
        ("a <<$E\nx\n$E\nb", "(a <<'x\n'); (b)"),
    ]);
}

#[rustfmt::skip]
#[test]
fn commands() {
    check(&[
        ("a; b & c\nd &\n", "(a); (b) &; (c); (d) &"),
        ("a && b || c | d; ! e | f", "(a) && (b) || (c) | (d); ! (e) | (f)"),
        ("a &&\n\n# x\nb |\nc", "(a) && (b) | (c)"),
        ("time a | b; time -p -- c; time", "(a) | (b); (c); {empty}"),
        ("! ! a; ! time ! b; !", "(a); (b); ! {empty}"),
        ("a | time b", "(a) | (time b)"),
        ("!(a); if !(b); then c; fi", "! {subshell (a)}; {if ! {subshell (b)} then (c)}"),
        ("(a; b); { c; d; }", "{subshell (a); (b)}; {group (c); (d)}"),
        ("if a; then b; elif c; then d; else e; fi", "{if (a) then (b) if (c) then (d) else (e)}"),
        ("i\\\nf a; then b; f\\\ni", "{if (a) then (b)}"),
        ("if (a) then { b; } fi", "{if {subshell (a)} then {group (b)}}"),
        ("while a; do b; done; until c\ndo d\ndone >e", "{loop (a) do (b)}; {loop (c) do (d) >e}"),
        ("for x in a b; do c; done", "{for x in a b do (c)}"),
        ("for x do a; done; for x; do a; done; for x\n{ a; }", "{for x do (a)}; {for x do (a)}; {for x do (a)}"),
        ("select x in a; do b; done", "{for x in a do (b)}"),
        ("for ((i=0; i<$n; i++)) { a; }", "{for ((i=0; i<${n}; i++)) do (a)}"),
        ("case $x in a|b) c;; (d) ;& e) f;;& *) g\nesac", "{case ${x} a|b) (c);; d) ;; e) (f);; *) (g);;}"),
        ("case x in esac", "{case x}"),
        ("f() { a; } >b; function g { c; }; function h () (d)", "{function f {group (a) >b}}; {function g {group (c)}}; {function h {subshell (d)}}"),
        ("f ()\n# x\nif a; then b; fi", "{function f {if (a) then (b)}}"),
        ("@() { a; }; b+() { c; }", "{function @ {group (a)}}; {function b+ {group (c)}}"),
        ("coproc a b; coproc x { c; }", "{coproc (a b)}; {coproc {group (c)}}"),
        ("((a+(b)*2)) && ((a) ; b)", "{((a+(b)*2))} && {subshell {subshell (a)}; (b)}"),
        ("[[ -f a && ( $b == c* || ! d =~ ^(e f)|g$ ) ]] > h", "{test -f a && ( ${b} == c* || ! d =~ ^(e f)|g$ ) >h}"),
        ("[[ a < b\n|| c ]]", "{test a < b || c}"),
        ("[[ !(a) ]]", "{test ! ( a )}"),
        ("echo if } done in", "(echo if } done in)"),
        ("{ echo }; }", "{group (echo })}"),
        (":(){ :|:& };:", "{function : {group (:) | (:) &}}; (:)"),
    ]);
}

#[rustfmt::skip]
#[test]
fn refused() {
    for text in [
        "a 'b", "a \"b", "a `b", "a $(b", "a ${b", "a $((b", "a $[b", "(a", "{ a", "a)", "a }; }",
        "a;;", "; a", "a & ; b", "a && ; b", "a | ! b", "a &&", "a |", "a\n&& b", "&", "|", "()",
        "{ }", "{a;}", "if a; then fi", "if ; then a; fi", "if a then b; fi",
        "if (a) >x then b; fi", "fi", "then", "while a; do done", "for x in a; b; done",
        "for x { a; }", "for x in a & do b; done", "in", "for ((a;b)); do c; done",
        "for ((a;b;c;d)); do e; done", "case x in a b) c;; esac", "case x in a) b;; ;; esac",
        "case x in esac) a;; esac", "case x; in a) b;; esac", "f() a", "f()", "a b() { c; }",
        "a=1 f() { b; }", "\"f\"() { a; }", "echo (a)", "echo a(b)", "a >", "a > > b", "a > 2>b",
        "a <<", "a <<<", "a &>& b", "a=(1;2)", "echo a=(1)", "a=(1 > 2)", "command declare a=(1)",
        "[[ ]]", "[[ a b ]]", "[[ a", "[[ -f ]]", "[[ a && ]]", "[[ a ==\nb ]]", "[[ 1<2 ]]", "]]",
        "(a) b", "((a)) b", "{ a; } { b; }", "coproc", "coproc ! a", "! | a", "time | a",
        "$(time { a; })", "a\0b", "(( a ) + ( b ))", "${a b}", "${}", "a[b", "echo `if`",
        // What bash and this parser could read differently.
        "(( $(case x in x) echo rm;; esac) ))", "echo $((a; case x in x) b;; esac) | c)",
        "echo @($(case x in x) b;; esac))", "echo \"${a:-$'\\x24(b)'}\"", "echo $(( $'\\x24(b)' ))",
        "echo $(cat <<E)\nb\nE", "echo \"${a:-'$(b'}\"", "echo $[ $(echo ]) ]", "cat <((a # )\n))",
    ] {
        assert!(parse(text).is_err(), "{text:?}: {}", show(&parse(text).unwrap()));
    }
}

#[test]
fn places() {
    let text = "cd '/x y' && f=$(a b) >out";
    let script = parse(text).unwrap();
    let first = &script.statements[0].first.commands[0];
    let CommandKind::Simple { words, .. } = &first.kind else { panic!() };
    assert_eq!(&text[first.span.clone()], "cd '/x y'");
    assert_eq!(&text[words[1].span.clone()], "'/x y'");
    let second = &script.statements[0].rest[0].1.commands[0];
    assert_eq!(&text[second.span.clone()], "f=$(a b) >out");
    let CommandKind::Simple { assignments, .. } = &second.kind else { panic!() };
    let Piece::Command(inner) = &assignments[0].value.pieces[0] else { panic!() };
    assert_eq!(&text[inner.statements[0].first.commands[0].span.clone()], "a b");
    assert_eq!(&text[second.redirects[0].target.span.clone()], "out");
    let error = parse("a; )").unwrap_err();
    assert_eq!((error.at, error.too_deep), (3, false));
    assert_eq!(error.to_string(), "unexpected \")\" at byte 3");
}

/// What can be put in itself: what comes before, and what behind.
#[rustfmt::skip]
const NESTS: [(&str, &str); 36] = [
    ("$(", ")"), ("echo $(", ")"), ("\"$(", ")\""), ("`", "`"), ("<(", ")"), ("${a:-", "}"),
    ("\"${a:-", "}\""), ("${a[", "]}"), ("${a:", "}"), ("${a/", "/b}"), ("$((", "))"), ("$[", "]"),
    ("(", ")"), ("( ", " )"), ("((", "))"), ("{ ", "; }"), ("if ", "; then a; fi"),
    ("if a; then ", "; fi"), ("while a; do ", "; done"), ("for x in a; do ", "; done"),
    ("case x in a) ", ";; esac"), ("f() { ", "; }"), ("coproc { ", "; }"), ("coproc ", ""),
    ("[[ ( ", " ) ]]"), ("( [[ ( ", " ) ]]"), ("a=($(", "))"), ("a[$(", ")]=b"), ("a[", "]"),
    ("@(", ")"), ("echo a@($(", "))"), ("! ", ""), ("time ", ""), ("$(cat <<E\n", "\nE\n)"),
    ("((a) + $((", ") ))"), ("\"${a:-'$(", ")'}\""),
];

/// Runs something on a thread with a stack of 512 KiB.
fn on_small_stack<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    std::thread::Builder::new().stack_size(512 * 1024).spawn(work).unwrap().join().unwrap()
}

/// Does something, and fails where it takes long. The machine may be busy: once in time is enough.
fn soon(what: &str, limit: Duration, mut work: impl FnMut()) {
    let mut took = Duration::ZERO;
    for _ in 0..10 {
        let start = Instant::now();
        work();
        took = start.elapsed();
        if took < limit {
            return;
        }
    }
    let what: String = what.chars().take(40).collect();
    panic!("{what:?}: {took:?}");
}

fn limit() -> Duration {
    Duration::from_millis(if cfg!(debug_assertions) { 500 } else { 50 })
}

#[test]
fn deep_nests_end_soon_and_fit_on_a_small_stack() {
    const SIZE: usize = 64 * 1024;
    on_small_stack(|| {
        for (open, close) in NESTS {
            let times = SIZE / (open.len() + close.len());
            for text in [
                format!("{}x{}", open.repeat(times), close.repeat(times)),
                open.repeat(SIZE / open.len()),
                format!("echo {}", open.repeat(SIZE / open.len())),
            ] {
                soon(&text, limit(), || drop(parse(&text)));
                if let Ok(script) = parse(&text) {
                    assert_ne!(second_opinion(&text, &script), Agreement::Same, "{open:?}");
                }
            }
        }
    });
}

#[test]
fn nests_up_to_the_limit_fit_on_a_small_stack() {
    on_small_stack(|| {
        for (open, close) in NESTS {
            for times in 1..=DEEPEST + 2 {
                let text = format!("{}x{}", open.repeat(times), close.repeat(times));
                soon(&text, limit(), || drop(parse(&text)));
            }
        }
        let nested = |times| format!("{}a{}", "$(".repeat(times), ")".repeat(times));
        assert!(parse(&nested(DEEPEST)).is_ok());
        assert!(parse(&nested(DEEPEST + 1)).unwrap_err().too_deep);
    });
}

#[test]
fn mixed_nests_end_soon() {
    on_small_stack(|| {
        for (first, first_end) in NESTS {
            for (second, second_end) in NESTS {
                let open = format!("{first}{second}");
                let close = format!("{second_end}{first_end}");
                let text = format!("{}x{}", open.repeat(40), close.repeat(40));
                soon(&text, limit(), || drop(parse(&text)));
            }
        }
    });
}

#[rustfmt::skip]
#[test]
fn long_flat_texts_end_soon() {
    for part in [
        "a;", "a ", "'a'", "\"a\"", "$a", "${a}", "$(a)", "`a` ", "a|", "a&&", "((a));", "a=(b);",
        "<(a)", "a <<E\nb\nE\n", "\\\n", "#a\n", "\n", "a[1]=2 ", "a[", "[[ a ]];", "f() { a; };",
        "$((1))", "\\a", "case x in a) b;; esac;", "{a,b}", ">a ", "2>&1 ", "é", "$'\\x41'", "((",
        "$((a) ) ", "((a) );", "\\`", "a <<E;", "<<-E\n\tb\\\n\tc\n\tE\n",
    ] {
        let text = part.repeat(64 * 1024 / part.len());
        // Not deep, but a large tree.
        soon(&text, 4 * limit(), || drop(parse(&text)));
    }
}

#[test]
fn second_opinions() {
    for text in [
        "cd /x && find . -name '*.pyc' -exec rm -f {} + | tail -20 2>&1",
        "if a; then b >c; elif d; then e; else f <g; fi 2>&1",
        "a=1 b[2]=(x # y\n z) c \"$(d)\" $'e\\n' $\"f\" <<E {g}>h <<<i\nbody\nE\n",
        "case x in a|b) c;; (d) e;& f) g;; esac; for x in 1; do h; done; i() { j; } >k",
        "time a | ! b",
        "a \\\n  b\\\nc |& d & # comment\n[[ a == b ]] >e; ((1)) && coproc f g",
        "ls !(a|b) >&- 2>&1- <&3",
    ] {
        if let Ok(script) = parse(text) {
            assert_eq!(second_opinion(text, &script), Agreement::Same, "{text:?}");
        }
    }
    let asked = |text: &str| second_opinion(text, &parse(text).unwrap());
    // Something else than what the text says.
    assert_eq!(second_opinion("a b", &parse("a c d").unwrap()), Agreement::Different);
    let nested = |times| format!("{}a{}", "$(".repeat(times), ")".repeat(times));
    assert_eq!(asked(&nested(6)), Agreement::Same);
    assert_eq!(asked(&nested(7)), Agreement::NotAsked);
    let groups = |times| format!("{}a{}", "{ ".repeat(times), "; }".repeat(times));
    assert_eq!(asked(&groups(12)), Agreement::Same);
    assert_eq!(asked(&groups(20)), Agreement::NotAsked);
    assert_eq!(asked(&"a; b && c\n".repeat(5_000)), Agreement::Same);
    assert_eq!(asked(&"a; b && c;".repeat(5_000)), Agreement::NotAsked);
    assert_eq!(asked(&"a\n".repeat(40_000)), Agreement::NotAsked);
}

/// What can be repeated: what comes first, what is repeated, what comes last.
#[rustfmt::skip]
const ROWS: [(&str, &str, &str); 24] = [
    ("((", "-", "1))"), ("((", "! ", "1))"), ("((", "~", "1))"), ("((", "a=", "1))"),
    ("((", "a?b:", "1))"), ("echo $((", "1**", "1))"), ("echo $((", "1,", "1))"),
    ("((", "++", "a))"), ("[[ ", "! ", "a ]]"), ("[[ ", "a && ", "a ]]"), ("", "! ", "a"),
    ("", "time ", "a"), ("", "! time ", "a"), ("", "a && ", "a"), ("", "a || ", "a"),
    ("", "a;", "a"), ("", "a & ", "a"), ("{ ", "a\n", "}"), ("", "(a);", ""), ("", "((a));", ""),
    ("", "a | ", "a"), ("if a; then b; ", "elif a; then b; ", "fi"), ("echo ", "')'$(a", ""),
    ("", "f() { a; };", "a <<E\nb\nE"),
];

/// Whatever is asked, the other parser has to get by with the stack of a thread.
#[test]
fn second_opinions_on_hostile_texts() {
    let work = || {
        let ask = |text: &str| {
            soon(text, limit(), || {
                if let Ok(script) = parse(text) {
                    let _ = second_opinion(text, &script);
                }
            });
        };
        for (open, close) in NESTS {
            for times in 1..=32 {
                for quote in ["", "'", "\"", "#", "cat <<'E'\n"] {
                    ask(&format!("{quote}{}x{}{quote}", open.repeat(times), close.repeat(times)));
                }
            }
        }
        for (first, row, last) in ROWS {
            for times in (1..100).chain((100..1000).step_by(25)).chain([3000, 10_000]) {
                ask(&format!("{first}{}{last}", row.repeat(times)));
            }
        }
        // The deepest of one in the deepest of another.
        for (open, close) in NESTS {
            for (first, row, last) in ROWS {
                let inner = format!("{first}{}{last}", row.repeat(20));
                for times in 1..=16 {
                    ask(&format!("{}{inner}{}", open.repeat(times), close.repeat(times)));
                }
            }
        }
    };
    std::thread::Builder::new().stack_size(1 << 20).spawn(work).unwrap().join().unwrap();
}

#[rustfmt::skip]
fn token() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "a", "b", "x=1", "a=(", "(", ")", "((", "))", "{ ", "}", "; }", ";", ";;", "&", "&&", "||",
        "|", "|&", "\n", " ", " ", "\"", "'", "`", "$(", "${", "$((", "$[", "]", "[[ ", " ]]",
        "if ", "then ", "fi", "else ", "for ", "in ", "do ", "done", "while ", "case ", "esac",
        "function ", "time ", "! ", "coproc ", "<", ">", "<<A", "<<-A", "\nA\n", "<<<", ">&", "2>",
        "{fd}>", "<(", "\\", "\\\n", "#", "$x", "${x:-", "${x#", "${x/", "*", "=", "+=", "[",
        "f() ", "declare ", " == ", " =~ ", "$'", "é", "@(", ":", "\r",
    ])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..Default::default() })]

    /// Nothing makes it panic or take long, and all that it gives is within the text.
    #[test]
    fn token_soup(tokens in prop::collection::vec(token(), 0..60)) {
        let text = tokens.concat();
        soon(&text, limit(), || drop(parse(&text)));
        match parse(&text) {
            Ok(script) => {
                for statement in &script.statements {
                    for command in &statement.first.commands {
                        prop_assert!(text.get(command.span.clone()).is_some());
                    }
                }
                let _ = second_opinion(&text, &script);
            }
            Err(error) => prop_assert!(error.at <= text.len()),
        }
    }

    /// Nor does any other text.
    #[test]
    fn any_text(text in "\\PC{0,60}") {
        let _ = parse(&text);
    }
}
