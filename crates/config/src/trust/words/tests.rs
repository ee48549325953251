//! Words, redirections and places in texts.

use super::*;

fn words(text: &str) -> Vec<Vec<String>> {
    let shown = |word: &Word| word.text.replace(HOLE, "◌");
    let line = Line::parse(text);
    line.commands.iter().map(|c| c.words.iter().map(shown).collect()).collect()
}

#[test]
fn words_are_those_of_a_shell() {
    for (text, expected) in [
        ("a b  c", vec![vec!["a", "b", "c"]]),
        (r#"a "b c" 'd "e' f\ g"#, vec![vec!["a", "b c", "d \"e", "f g"]]),
        ("toll\"gate\" tr'us't", vec![vec!["tollgate", "trust"]]),
        ("a \\\n b", vec![vec!["a", "b"]]),
        (
            "a;b|c&&d||e&f\ng",
            vec![vec!["a"], vec!["b"], vec!["c"], vec!["d"], vec!["e"], vec!["f"], vec!["g"]],
        ),
        ("$(which x) y", vec![vec!["which", "x"], vec!["◌", "y"]]),
        ("\"$(a \"b c\")/d\"", vec![vec!["a", "b c"], vec!["◌/d"]]),
        ("`a b`/c", vec![vec!["a", "b"], vec!["◌/c"]]),
        ("$A/${B:-x}/c$1", vec![vec!["◌/◌/c◌"]]),
        ("a 2>&1 >b <c", vec![vec!["a", "b", "c"]]),
        ("a &>b", vec![vec!["a", "b"]]),
        ("a <(b c)", vec![vec!["b", "c"], vec!["a", "◌"]]),
        ("(a; b)", vec![vec!["a"], vec!["b"]]),
        ("a # b\nc", vec![vec!["a"], vec!["c"]]),
        ("$'\\x2eagents' $'\\056a'", vec![vec![".agents", ".a"]]),
        ("cat <<EOF x\nrm $(b)\nEOF\nc", vec![vec!["cat", "x"], vec!["b"], vec!["c"]]),
        ("cat <<'EOF'\n$(b)\nEOF\nc", vec![vec!["cat"], vec!["c"]]),
        ("a 'unfinished", vec![vec!["a", "unfinished"]]),
    ] {
        assert_eq!(words(text), expected, "{text}");
    }
}

#[test]
fn words_know_where_they_are() {
    for (text, expected) in [
        ("a  \"b c\" 'd'e;f>g", vec!["a", "\"b c\"", "'d'e", "f", "g"]),
        ("\"$D\"/x.sh --y", vec!["\"$D\"/x.sh", "--y"]),
        ("a\\ b 2>c\nd # e", vec!["a\\ b", "c", "d"]),
        ("ü ./ä.sh 2>&1", vec!["ü", "./ä.sh"]),
    ] {
        let line = Line::parse(text);
        let words = line.commands.iter().flat_map(|command| &command.words);
        let at = |(begin, end): (usize, usize)| {
            text.chars().skip(begin).take(end - begin).collect::<String>()
        };
        let found: Vec<_> = words.map(|word| at(word.span.unwrap())).collect();
        assert_eq!(found, expected, "{text}");
    }
    let inner = Line::parse("$(a) b");
    assert_eq!(inner.commands[0].words[0].span, None);
}

#[test]
fn redirections_are_told_from_arguments() {
    let line = Line::parse("a <b >c 2>>d >&2 e");
    let told: Vec<_> =
        line.commands[0].words.iter().map(|word| (word.text.as_str(), word.redirect)).collect();
    assert_eq!(
        told,
        [
            ("a", None),
            ("b", Some(Redirect::In)),
            ("c", Some(Redirect::Out)),
            ("d", Some(Redirect::Out)),
            ("e", None),
        ]
    );
}

#[test]
fn a_hostile_text_ends() {
    let _ = Line::parse(&"$(".repeat(20_000));
    let _ = Line::parse(&"\"$(`".repeat(10_000));
    assert!(Line::parse("cat() { rm x; }; cat y").defines_function);
}
