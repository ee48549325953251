use proptest::prelude::*;
use serde_json::json;

use super::kinds::Rule;
use super::shape::{Part, Set};
use super::*;

#[test]
fn nothing_is_shown_where_everything_is_masked() {
    assert_eq!(Masker::everything().text("anything\nat all"), MASKED);
    let mut value = json!(["$PASSWORD", 1, ["a"]]);
    Masker::everything().value(&mut value);
    assert_eq!(value, json!([MASKED, 1, [MASKED]]));
}

#[test]
fn secrets_are_masked_and_the_rest_is_left() {
    let masker = Masker::default();
    let mask = |text: &str| masker.text(text).into_owned();
    for (text, masked) in [
        ("export OPENAI_API_KEY=sk-abcdefghijklmnopqrstuv", "export OPENAI_API_KEY=[masked]"),
        ("git clone https://me:hunter22@host/x", "git clone https://me:[masked]@host/x"),
        ("ghp_abcdefghijklmnopqrstuvwx and more", "[masked] and more"),
        ("AKIAABCDEFGHIJKLMNOP", "[masked]"),
        ("mysql --password=tr0ub4dor -u x", "mysql --password=[masked] -u x"),
        ("-----BEGIN PRIVATE KEY-----\nMIIa1\n-----END PRIVATE KEY-----\nrest", "[masked]\nrest"),
        ("redis://:hunter22@host", "redis://:[masked]@host"),
        ("https://u:p@hunter22@host/x", "https://u:[masked]@host/x"),
        ("https://abcdef0123456789@host/x", "https://[masked]@host/x"),
        ("password=\"my 22 hunters\" x", "password=\"[masked]\" x"),
        ("password='my 22 hunters' x", "password='[masked]' x"),
        ("x --password 'two hunters 22' y", "x --password '[masked]' y"),
        (r#"{\"password\":\"hunter22\"}"#, r#"{\"password\":\"[masked]\"}"#),
        ("Authorization: Token hunter22", "Authorization: Token [masked]"),
        ("Cookie: a=hunter22; b=other", "Cookie: [masked]"),
        ("AccountKey=a1B2c3D4e5F6g7H8==", "AccountKey=[masked]"),
        ("DB_PASSWORD=hunter2secret99", "DB_PASSWORD=[masked]"),
        ("A=1\nDB_PASSWORD=\"hunter2 secret99\"\nB=2", "A=1\nDB_PASSWORD=\"[masked]\"\nB=2"),
        ("db:\n  password: hunter22\n  user: me\n", "db:\n  password: [masked]\n  user: me\n"),
        ("{\n \"password\": \"hunter22\"\n}", "{\n \"password\": \"[masked]\"\n}"),
        ("?page=2&token=hunter22&x=1", "?page=2&token=[masked]&x=1"),
        ("curl -u me:hunter22 host", "curl -u me:[masked] host"),
        ("curl -ume:hunter22 host", "curl -ume:[masked] host"),
        ("curl -u me:pw1 host", "curl -u me:[masked] host"),
        ("curl -u me:swordfish host", "curl -u me:[masked] host"),
        ("curl -u 'me:two words' host", "curl -u 'me:[masked]' host"),
        ("curl -u \"me:p;q\" host", "curl -u \"me:[masked]\" host"),
        ("curl -u me:hunter22;ls", "curl -u me:[masked];ls"),
        ("curl -sSu me:hunter22 host", "curl -sSu me:[masked] host"),
        ("curl -U me:hunter22 host", "curl -U me:[masked] host"),
        ("curl --proxy-user me:hunter22 host", "curl --proxy-user me:[masked] host"),
        ("curl --user=me:hunter22 host", "curl --user=me:[masked] host"),
        ("curl \\\n  -s \\\n  -u me:hunter22 host", "curl \\\n  -s \\\n  -u me:[masked] host"),
        ("X=1 curl -u :hunter22 -d 'u:v' host", "X=1 curl -u :[masked] -d 'u:v' host"),
        // Behind what ends with a letter.
        (r"a\nghp_abcdefghijklmnopqrstuvwx", r"a\n[masked]"),
        ("\u{1b}[32mghp_abcdefghijklmnopqrstuvwx\u{1b}[0m", "\u{1b}[32m[masked]\u{1b}[0m"),
        ("x%3Dghp_abcdefghijklmnopqrstuvwx", "x%3D[masked]"),
        // Whatever stands around it.
        ("naïve ghp_abcdefghijklmnopqrstuvwx naïve", "naïve [masked] naïve"),
        ("\"ghp_abcdefghijklmnopqrstuvwx\".", "\"[masked]\"."),
    ] {
        assert_eq!(mask(text), masked);
    }
    for harmless in [
        "rm -rf build",
        "the token ring",
        "sk-8",
        "author: me",
        "tokenizer=fast",
        "https://example.org/a@b",
        "see ssh://git@host/x",
        "curl -u me host:80",
        "curl -u me:$PASSWORD host",
        "curl -u \"$USER:$PASSWORD\" host",
        "curl -u me: host",
        "sort -u a:b",
        "curl host\nsort -u a:b",
        "curl --unix-socket /run/x.sock http://localhost:80/",
        "basic idea",
    ] {
        assert!(matches!(masker.text(harmless), Cow::Borrowed(text) if text == harmless));
    }
}

#[test]
fn each_kind_of_secret_is_found_by_its_name() {
    let masker = Masker::default();
    // In two halves, so that nobody's scanner takes this file for a leak.
    for (name, start, rest) in [
        (
            "private key",
            "-----BEGIN RSA PRIVATE",
            " KEY-----\nMIIab1\n-----END RSA PRIVATE KEY-----",
        ),
        ("private key", "-----BEGIN OPENSSH PRIVATE", " KEY-----\nb3Blbn"),
        ("private key", "-----BEGIN PGP PRIVATE", " KEY BLOCK-----\nlQdGBF1"),
        ("AWS access key", "AKIA", "IOSFODNN7EXAMPLE"),
        ("AWS access key", "ASIA", "IOSFODNN7EXAMPLE"),
        ("GitHub token", "ghp_", "16C7e42F292c6912E7710c838347Ae178B4a"),
        ("GitHub token", "github_pat_", "11ABCDEFG0abcdefghijkl_mnop"),
        ("GitLab token", "glpat-", "abcDEF123456_7890xyz"),
        ("Slack token", "xoxb-", "123456789012-abcdefABCDEF"),
        ("Slack webhook", "https://hooks.slack.com/", "services/T000/B000/XXXXabcd1234"),
        ("Google API key", "AIza", "SyA1234567890abcdefghijklmnopqrstu-v"),
        ("Google OAuth token", "ya29.", "a0AfH6SMBx1234567890abcd"),
        ("Stripe key", "sk_live_", "4eC39HqLyjWDarjtT1zdp7dc"),
        ("Anthropic key", "sk-ant-", "api03-abcdefghijklmnop_qrstuv"),
        ("OpenAI key", "sk-proj-", "abcdefghijklmnopqrstuvwx1234"),
        ("API key", "sk-", "abcdefghijklmnopqrstuvwx1234"),
        ("npm token", "npm_", "abcdefghijklmnopqrstuvwxyz0123456789"),
        ("PyPI token", "pypi-", "AgEIcHlwaS5vcmcCJGFiY2RlZi0xMjM0LTU2NzgtOTBhYi1jZGVmMTIzNDU2Nzg"),
        ("Hugging Face token", "hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"),
        ("Docker token", "dckr_pat_", "abcdefghijklmnopqrst_uvwxyz1"),
        ("DigitalOcean token", "dop_v1_", "0123456789abcdef0123456789abcdef0123456789abcdef"),
        ("SendGrid key", "SG.", "abcdefghijklmnopqrstu1.abcdefghijklmnopqrstuv"),
        ("Vault token", "hvs.", "CAESIabcdefghijklmnopqrst"),
        ("JSON web token", "eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxIn0.abcdefgh"),
        ("authorization header", "Authorization: ", "Token abcd1234"),
        ("cookie", "Cookie: ", "session=abcd1234; other=def"),
        ("bearer token", "bearer ", "abcdef123456"),
        ("password or token", "password=", "hunter22"),
        ("password or token", "DB_PASSWORD: ", "correct-horse-22x"),
        ("password or token", "\"token\": ", "\"correct horse 22\""),
        (
            "password or token",
            "aws_secret_access_key = ",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ),
        ("password or token", "login --token ", "abcd12"),
        ("address with a password", "postgres://me:", "hunter22@db/x"),
        ("address with a token", "https://abcdef0123456789", "@host/x"),
    ] {
        let text = format!("before {start}{rest}");
        assert_eq!(masker.find(&json!([text])), [name], "{text}");
        let hidden = masker.text(&text);
        assert!(hidden.starts_with("before ") && hidden.contains(MASKED), "{hidden}");
        // What is masked has nothing in it any more.
        assert_eq!(masker.text(&hidden), hidden);
        assert!(masker.find(&json!(hidden)).is_empty(), "{hidden}");
    }
}

#[test]
fn what_only_looks_like_a_secret_is_left() {
    let masker = Masker::default();
    for text in [
        // Hashes, ids, pictures.
        "commit 9fceb02d0ae598e95dc970b74767f19372d61af8",
        "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "id 123e4567-e89b-12d3-a456-426614174000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
        "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIabcdefghijklmnop me@host",
        "\"NextToken\": \"a1B2c3D4e5F6g7H8i9J0\"",
        "https://codecov.io/gh/x/y/graph/badge.svg?token=a1B2c3D4e5F6g7H8",
        // What stands for one.
        "token=$TOKEN",
        "token=$token",
        "password: ${DB_PASSWORD}",
        "password: ${DB_PASSWORD:?must be set}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "api_key={{ api_key }}",
        "--token <token>",
        "password=<your password>",
        "password=xxxxxxxx",
        "password: ********",
        "token=...",
        "API_KEY=your-api-key-1",
        "ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-ant-api03-...",
        "curl -H 'Authorization: Bearer $TOKEN'",
        "Authorization: Bearer <token>",
        "git clone https://me:$TOKEN@host/x",
        "postgres://user:password@localhost/db",
        "f\"postgres://{user}:{password}@{host}/db\"",
        "set TOKEN=%TOKEN%",
        "TOKEN=$(cat token)",
        // Code and prose.
        "token: string;",
        "token: usize",
        "password: Option<String>,",
        "token = get_token()",
        "x.token = next_token_256(a, b)",
        "password = os.environ['PASSWORD']",
        "let token = std::env::var(name)",
        "token = args.token",
        "const token = await next();",
        "secret: process.env.SECRET",
        "cookie: string;",
        "authorization: authHeader,",
        "the token ring and the secret garden",
        "basic knowledge of bearer authentication",
        "sk-toggleable-container-fluid",
        "task-list-item-enumerated",
        "AKIA is how they begin",
        "npm_config_registry",
        "ghp_short",
        "test_parses_sha256_and_sha512_of_x509_v3",
        "const BEGIN: &str = \"-----BEGIN PRIVATE KEY-----\";\nconst END: &str = \"-----END PRIVATE KEY-----\";",
        "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
    ] {
        assert_eq!(masker.text(text), text);
        assert!(masker.find(&json!({"text": text})).is_empty(), "{text}");
    }
}

#[test]
fn what_is_found_is_told_once_for_whole_values() {
    let masker = Masker::default();
    for (value, found) in [
        (json!(null), vec![]),
        (json!({"password": "hunter22", "token": "abcd"}), vec!["password or token"]),
        (json!({"password": "$PASSWORD", "token": null, "has_token": true}), vec![]),
        (json!({"tokens": 1234, "token": 5, "max_tokens": [1, 2]}), vec![]),
        (json!({"argv": ["mysql", "--password", "x"]}), vec!["password or token"]),
        (
            json!(["https://a:hunter22@c", {"k": "AKIAABCDEFGHIJKLMNOP"}, "https://d:hunter22@f"]),
            vec!["AWS access key", "address with a password"],
        ),
        // The form says more than the name beside it.
        (json!("token=ghp_abcdefghijklmnopqrstuvwx"), vec!["GitHub token"]),
        (json!("Cookie: t=ghp_abcdefghijklmnopqrstuvwx"), vec!["GitHub token"]),
    ] {
        assert_eq!(masker.find(&value), found, "{value}");
    }
    assert_eq!(Masker::with(["CUST-\\d+"]).unwrap().find(&json!("CUST-1")), ["custom pattern"]);
}

#[test]
fn long_texts_take_time_that_grows_with_them() {
    let masker = Masker::default();
    for part in [
        "password=",
        "password='",
        "token: \"",
        "key=",
        "a://b:",
        "-----BEGIN PRIVATE KEY-----",
        "-----BEGIN PRIVATE KEY-----\nMIIa1\n",
        "eyJ",
        "-eyJ",
        "eyJ.",
        "bearer ",
        "sk-",
        "glpat-",
        "authorization: ",
        "cookie:",
        "cookie: a=b;",
        "xox",
        "key key ",
        "\\\"",
        "%3D",
        "[1;",
        "a",
        "1|",
        "Q~",
    ] {
        let text = part.repeat(64 * 1024 / part.len());
        let begun = std::time::Instant::now();
        let _ = masker.text(&text);
        // Far above what a busy machine needs, and far below what a square of the length takes.
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{part}");
    }
}

#[test]
fn fields_are_masked_by_name_with_all_texts_below_them() {
    let mut value = json!({
        "args": {"password": "x", "list": [{"api_key": "y", "n": 1}]},
        "passwordless": "z", "monkey": "k", "authToken": "t", "dbPassword": 7,
        "SecretString": "s", "credentials": {"user": "u", "pw": ["x", 2]}, "Cookie": ["a"],
        "argv": ["mysql", "--password", "x", "-u", "me"],
        "headers": [{"name": "Authorization", "value": "Token x"}],
        "token": null, "has_token": true, "author": "me", "tokens_used": 12, "tokens": {"in": 3},
        "next_token": "n", "page_token": "p", "secret": "$SECRET",
        "ghp_abcdefghijklmnopqrstuvwx": 1,
        "properties": {"password": {"type": "string", "description": "the password to use"}},
        "key": {"kty": "OKP", "crv": "Ed25519", "x": "public", "d": "private"},
    });
    Masker::default().value(&mut value);
    assert_eq!(
        value,
        json!({
            "args": {"password": MASKED, "list": [{"api_key": MASKED, "n": 1}]},
            "passwordless": "z", "monkey": "k", "authToken": MASKED, "dbPassword": 7,
            "SecretString": MASKED, "credentials": {"user": MASKED, "pw": [MASKED, 2]},
            "Cookie": [MASKED],
            "argv": ["mysql", "--password", MASKED, "-u", "me"],
            "headers": [{"name": "Authorization", "value": MASKED}],
            "token": null, "has_token": true, "author": "me", "tokens_used": 12, "tokens": {"in": 3},
            "next_token": "n", "page_token": "p", "secret": "$SECRET",
            "[masked]": 1,
            "properties": {"password": {"type": "string", "description": "the password to use"}},
            "key": {"kty": "OKP", "crv": "Ed25519", "x": "public", "d": MASKED},
        })
    );
}

#[test]
fn names_are_secret_by_their_last_words() {
    let masker = Masker::default();
    for name in [
        "api_key",
        "apikey",
        "access_keys",
        "accountkey",
        "private_key",
        "session_keys",
        "passwd",
        "password",
        "pwd",
        "creds",
        "db_passphrase",
        "clientSecret",
        "X-Auth-Token",
        "secret_key",
        "token_value",
        "Authorization",
        "AWS_SECRET_ACCESS_KEY",
        "access_key_id",
    ] {
        assert!(masker.is_secret_field(name), "{name}");
    }
    for name in [
        "tokenizer",
        "token_count",
        "max_tokens_used",
        "secretary",
        "password_policy",
        "key",
        "keyboard",
        "primary_key",
        "author",
        "nextToken",
        "NextPageToken",
        "continuation_token",
    ] {
        assert!(!masker.is_secret_field(name), "{name}");
    }
}

#[test]
fn patterns_of_ones_own_are_added() {
    let masker = Masker::with([r"\bCUST-\d+"]).unwrap();
    assert_eq!(masker.text("for CUST-123"), "for [masked]");
    let group = Masker::with([r"CUST-(\d+)"]).unwrap();
    assert_eq!(group.text("for CUST-123"), "for CUST-[masked]");
    assert!(Masker::with(["("]).is_err());
}

/// The samples themselves are looked for in `tests/secrets.rs`.
#[test]
fn every_kind_has_a_sample() {
    let cases = include_str!("../../../../cases/secrets/formats.jsonl");
    for kind in kinds() {
        let name = serde_json::to_string(kind.name).unwrap();
        assert!(cases.contains(&format!("\"name\": {name}")), "{name}");
        // The index takes the first two characters of a hint.
        assert!(!kind.hints.is_empty() && kind.hints.iter().all(|hint| hint.len() >= 2), "{name}");
    }
}

/// A random text of a set: letters and digits in turns, as in a token.
fn run(set: Set, least: usize, most: usize) -> BoxedStrategy<String> {
    let of = |range: std::ops::RangeInclusive<u8>| -> Vec<char> {
        range.filter(|byte| set.has(*byte)).map(char::from).collect()
    };
    let mut classes = vec![of(b'0'..=b'9'), of(b'a'..=b'z'), of(b'A'..=b'Z')];
    classes.retain(|class| !class.is_empty());
    let most = most.min(least + 8).max(least);
    let letters = proptest::collection::vec(any::<proptest::sample::Index>(), least..=most);
    let letter = move |(place, index): (usize, proptest::sample::Index)| {
        *index.get(&classes[place % classes.len()])
    };
    letters.prop_map(move |letters| letters.into_iter().enumerate().map(&letter).collect()).boxed()
}

/// A hint of each form with random characters around it, and the names of the kinds that it may be.
fn token() -> BoxedStrategy<(String, &'static str)> {
    let shapes = kinds().filter_map(|kind| match kind.rule {
        Rule::Shape(shape) => Some((kind, shape)),
        Rule::Find(_) => None,
    });
    let shapes: Vec<_> = shapes
        .flat_map(|(kind, shape)| kind.hints.iter().map(move |hint| (kind.name, *hint, shape)))
        .collect();
    let chosen = proptest::sample::select((0..shapes.len()).collect::<Vec<_>>());
    chosen
        .prop_flat_map(move |place| {
            let (name, hint, shape) = shapes[place];
            let before = shape.before.map_or_else(
                || Just(String::new()).boxed(),
                |(set, least, most)| run(set, least, most),
            );
            let parts: Vec<BoxedStrategy<String>> = shape
                .parts
                .iter()
                .map(|part| match *part {
                    Part::Is(text) => Just(text.to_owned()).boxed(),
                    Part::Run(set, least, most) => run(set, least, most),
                })
                .collect();
            (before, parts).prop_map(move |(before, parts)| {
                (format!("{before}{hint}{}", parts.concat()), name)
            })
        })
        .boxed()
}

/// Pieces of texts that hint at something.
fn piece() -> impl Strategy<Value = String> {
    let hints: Vec<String> =
        kinds().flat_map(|kind| kind.hints).map(|hint| (*hint).to_owned()).collect();
    prop_oneof![
        4 => token().prop_map(|(token, _)| token),
        3 => proptest::sample::select(hints),
        2 => "[a-z0-9]{1,12}",
        2 => "[ -~]{1,24}",
        4 => proptest::sample::select(vec![
            "=", ": ", " = ", "\"", "'", "\n", " ", "@", "://", ";", "&", "?", ":", "-", "/",
            "password", "DB_TOKEN", "--password ", "hunter22", "Cookie: a=", "Basic ", "Bearer ",
            "[masked]", "ä", "\\n", "{", "}", "<", ">", "</", "%3D", "-----BEGIN PRIVATE KEY-----",
            "-----END PRIVATE KEY-----", "a1B2c3D4e5F6g7H8", "export ", "$", "curl -u me:",
        ]).prop_map(str::to_owned),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn a_token_of_any_form_is_found((token, name) in token()) {
        let text = format!("2030-01-01 INFO used {token} here");
        let masked = Masker::default().text(&text).into_owned();
        prop_assert!(masked.contains(MASKED), "{} of {}", token, name);
        prop_assert!(masked.starts_with("2030-01-01 INFO used ") && masked.ends_with(" here"));
    }

    #[test]
    fn what_is_masked_stays_as_it_is(pieces in proptest::collection::vec(piece(), 1..12)) {
        let masker = Masker::default();
        let text = pieces.concat();
        let once = masker.text(&text).into_owned();
        prop_assert_eq!(masker.text(&once), once.as_str(), "of {:?}", text);
        // Nothing but secrets is taken out.
        let left: Vec<&str> = once.split(MASKED).collect();
        prop_assert!(text.starts_with(left[0]) && text.ends_with(left[left.len() - 1]));
        // What is found is what is masked.
        prop_assert_eq!(masker.find(&json!(text)).is_empty(), once == text);
    }

    #[test]
    fn a_text_without_hints_is_handed_back_as_it_is(text in "[g-j \n.,()]{0,200}") {
        prop_assert!(matches!(Masker::default().text(&text), Cow::Borrowed(same) if same == text));
    }
}
