use serde_json::json;

use super::*;

#[test]
fn every_pattern_of_ours_compiles() {
    assert!(compile(FIELDS).is_ok() && Usual::new().automaton().is_some());
    for kind in KINDS {
        assert!(compile(kind.pattern).is_ok(), "{}", kind.name);
    }
    assert_eq!(Masker::everything().text("anything\nat all"), MASKED);
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
        ("-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----\nrest", "[masked]\nrest"),
        ("redis://:5ecret@host", "redis://:[masked]@host"),
        ("https://u:p@5ecret@host/x", "https://u:[masked]@host/x"),
        ("https://abcdef0123456789@host/x", "https://[masked]@host/x"),
        ("password=\"my 5ecret phrase\" x", "password=\"[masked]\" x"),
        ("password='my 5ecret phrase' x", "password='[masked]' x"),
        ("x --password 'two 5ecrets' y", "x --password '[masked]' y"),
        (r#"{\"password\":\"5ecret\"}"#, r#"{\"password\":\"[masked]\"}"#),
        ("Authorization: Token 5ecret", "Authorization: Token [masked]"),
        ("Authorization: Bearer ab", "Authorization: Bearer [masked]"),
        ("Cookie: a=5ecret; b=5ecret", "Cookie: [masked]"),
        ("AccountKey=5ecret5ecret==", "AccountKey=[masked]"),
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
        "basic idea",
    ] {
        assert_eq!(mask(harmless), harmless);
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
            " KEY-----\nMIIabc\n-----END RSA PRIVATE KEY-----",
        ),
        ("private key", "-----BEGIN OPENSSH PRIVATE", " KEY-----\nb3Blbn"),
        ("private key", "-----BEGIN PGP PRIVATE", " KEY BLOCK-----\nabc"),
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
        ("Docker token", "dckr_pat_", "abcdefghijklmnopqrst_uvwxyz"),
        ("DigitalOcean token", "dop_v1_", "0123456789abcdef0123456789abcdef0123456789abcdef"),
        ("SendGrid key", "SG.", "abcdefghijklmnopqrstuv.abcdefghijklmnopqrstuv"),
        ("Vault token", "hvs.", "CAESIabcdefghijklmnopqrst"),
        ("JSON web token", "eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxIn0.abcdefgh"),
        ("authorization header", "Authorization: ", "Token abc"),
        ("cookie", "Cookie: ", "session=abc; other=def"),
        ("bearer token", "bearer ", "abcdef123456"),
        ("password or token", "password=", "hunter22"),
        ("password or token", "DB_PASSWORD: ", "correct-horse"),
        ("password or token", "\"token\": ", "\"correct horse\""),
        (
            "password or token",
            "aws_secret_access_key = ",
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        ),
        ("password or token", "login --token ", "abcd"),
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
        // What stands for one.
        "token=$TOKEN",
        "password: ${DB_PASSWORD}",
        "password: ${DB_PASSWORD:?must be set}",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        "api_key={{ api_key }}",
        "--token <token>",
        "password=<your password>",
        "password=xxxxxxxx",
        "password: ********",
        "token=...",
        "curl -H 'Authorization: Bearer $TOKEN'",
        "Authorization: Bearer <token>",
        "git clone https://me:$TOKEN@host/x",
        "set TOKEN=%TOKEN%",
        "TOKEN=$(cat token)",
        // Code and prose.
        "token: string;",
        "password: Option<String>,",
        "token = get_token()",
        "password = os.environ['PASSWORD']",
        "let token = std::env::var(name)",
        "token = args.token",
        "const token = await next();",
        "secret: process.env.SECRET",
        "the token ring and the secret garden",
        "basic knowledge of bearer authentication",
        "sk-toggleable-container-fluid",
        "task-list-item-enumerated",
        "AKIA is how they begin",
        "npm_config_registry",
        "ghp_short",
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
        (json!({"argv": ["mysql", "--password", "x"]}), vec!["password or token"]),
        (
            json!(["https://a:b@c", {"k": "AKIAABCDEFGHIJKLMNOP"}, "https://d:e@f"]),
            vec!["AWS access key", "address with a password"],
        ),
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
        "token: \"",
        "a://b:",
        "-----BEGIN PRIVATE KEY-----",
        "eyJ",
        "bearer ",
        "sk-",
        "authorization: ",
        "cookie:",
        "xox",
        "key key ",
        "\\\"",
    ] {
        let text = part.repeat(64 * 1024 / part.len());
        let begun = std::time::Instant::now();
        let _ = masker.text(&text);
        assert!(begun.elapsed() < std::time::Duration::from_secs(5), "{part}");
    }
}

#[test]
fn every_pattern_is_found_by_its_hints() {
    // A pattern that a hint does not lead to would never be looked for.
    for kind in KINDS {
        let lower = kind.pattern.to_lowercase();
        assert!(!kind.hints.is_empty(), "{}", kind.name);
        assert!(kind.hints.iter().all(|hint| hint.to_lowercase() == *hint), "{lower}");
    }
}

#[test]
fn fields_are_masked_by_name_with_all_below_them() {
    let mut value = json!({
        "args": {"password": "x", "list": [{"api_key": "y", "n": 1}]},
        "passwordless": "z", "monkey": "k", "authToken": "t", "dbPassword": 7,
        "SecretString": "s", "credentials": {"user": "u", "pw": ["x"]}, "Cookie": ["a"],
        "argv": ["mysql", "--password", "x", "-u", "me"],
        "headers": [{"name": "Authorization", "value": "Token x"}],
        "token": null, "has_token": true, "author": "me", "tokens_used": 12,
        "ghp_abcdefghijklmnopqrstuvwx": 1,
    });
    Masker::default().value(&mut value);
    assert_eq!(
        value,
        json!({
            "args": {"password": MASKED, "list": [{"api_key": MASKED, "n": 1}]},
            "passwordless": "z", "monkey": "k", "authToken": MASKED, "dbPassword": MASKED,
            "SecretString": MASKED, "credentials": MASKED, "Cookie": MASKED,
            "argv": ["mysql", "--password", MASKED, "-u", "me"],
            "headers": [{"name": "Authorization", "value": MASKED}],
            "token": null, "has_token": true, "author": "me", "tokens_used": 12,
            "[masked]": 1,
        })
    );
}

#[test]
fn patterns_of_ones_own_are_added() {
    let masker = Masker::with([r"\bCUST-\d+"]).unwrap();
    assert_eq!(masker.text("for CUST-123"), "for [masked]");
    assert!(Masker::with(["("]).is_err());
}

/// A name is only held against the pattern where it has one of the hints.
#[test]
fn every_name_of_a_secret_field_has_a_hint() {
    let inside = FIELDS.split(['(', ')', '|', '?', '$', '^', '_']).filter(|word| word.len() > 2);
    let endings = ["string", "value", "header", "data", "b64", "base64"];
    let firsts = ["api", "access", "account", "private", "session", "passw", "keys"];
    for word in inside.filter(|word| !endings.contains(word)) {
        let is_hinted = FIELD_HINTS.iter().any(|hint| word.contains(hint));
        assert!(is_hinted || firsts.contains(&word), "`{word}`");
    }
    let names = ["api_key", "access_keys", "accountkey", "private_key", "session_keys"];
    for name in names.into_iter().chain(["passwd", "password", "pwd", "creds", "db_passphrase"]) {
        assert!(Masker::default().is_secret_field(name), "{name}");
    }
}

/// Whether little or much was looked at before changes nothing.
#[test]
fn hints_are_found_one_by_one_and_all_at_once() {
    let short = Usual::new();
    let long = Usual::new();
    long.looked_at.store(WITHOUT_AUTOMATON, std::sync::atomic::Ordering::Relaxed);
    let mut texts: Vec<String> =
        ["", "nothing", "naïve 密码", "a PassWord: hunter22", "Bearer x"].map(str::to_owned).into();
    for kind in KINDS {
        for hint in kind.hints {
            texts.extend([
                (*hint).to_owned(),
                hint.to_uppercase(),
                format!("ä{hint}"),
                format!("{hint}{hint}x"),
            ]);
            texts.push(hint.chars().skip(1).collect());
        }
    }
    for text in texts {
        short.looked_at.store(0, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(short.possible(&text), long.possible(&text), "{text}");
    }
    assert!(short.automaton.get().is_none() && long.automaton.get().is_some());
}
