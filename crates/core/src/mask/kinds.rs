//! What secrets look like inside a text.

/// One form of a secret.
pub(super) struct Kind {
    /// What people call it. Several forms may have the same name.
    pub(super) name: &'static str,
    /// Where the pattern has a group, that part is the secret.
    pub(super) pattern: &'static str,
    /// One of these is in every text that the pattern is in, in whichever case.
    pub(super) hints: &'static [&'static str],
    /// Whether what was found is one, and does not only look like it.
    pub(super) is_one: fn(&str) -> bool,
}

/// What is given to a field, an option or a variable whose name says that it is secret.
pub(super) const NAMED: &str = "password or token";

/// A key that is told by its beginning.
const fn key(name: &'static str, hints: &'static [&'static str], pattern: &'static str) -> Kind {
    Kind { name, pattern, hints, is_one: always }
}

const WORDS: &[&str] = &[
    "passw",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "apikey",
    "api_key",
    "api-key",
    "accesskey",
    "access_key",
    "access-key",
    "accountkey",
    "account_key",
    "account-key",
];
const OPTIONS: &[&str] = &["-passw", "-token", "-secret", "-api-key", "-auth"];

/// All forms. Those that tell more come first: what they find is no longer there for the others.
pub(super) const KINDS: &[Kind] = &[
    key(
        "private key",
        &["-----begin "],
        r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----[\s\S]*?(?:-----END [A-Z0-9 ]*PRIVATE KEY(?: BLOCK)?-----|$)",
    ),
    key("AWS access key", &["akia", "asia", "abia"], r"\b(?:AKIA|ASIA|ABIA)[0-9A-Z]{16}\b"),
    key("GitHub token", &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"], r"\bgh[pousr]_[A-Za-z0-9]{20,}"),
    key("GitHub token", &["github_pat_"], r"\bgithub_pat_[A-Za-z0-9_]{20,}"),
    key(
        "GitLab token",
        &["glpat-", "gldt-", "glrt-", "glptt-", "glcbt-", "glft-", "glsoat-"],
        r"\bgl(?:pat|dt|rt|ptt|cbt|ft|soat)-[A-Za-z0-9_\-]{16,}",
    ),
    key("Slack token", &["xox", "xapp-"], r"\b(?:xox[abeoprs]|xapp)-[A-Za-z0-9\-]{10,}"),
    key(
        "Slack webhook",
        &["hooks.slack.com/"],
        r"hooks\.slack\.com/(?:services|workflows|triggers)/([A-Za-z0-9/_\-]{16,})",
    ),
    key("Google API key", &["aiza"], r"\bAIza[0-9A-Za-z_\-]{30,}"),
    key("Google OAuth token", &["ya29."], r"\bya29\.[0-9A-Za-z_\-]{20,}"),
    key("Google OAuth token", &["gocspx-"], r"\bGOCSPX-[0-9A-Za-z_\-]{20,}"),
    key(
        "Stripe key",
        &["k_live_", "k_test_", "whsec_"],
        r"\b(?:(?:sk|pk|rk)_(?:live|test)|whsec)_[A-Za-z0-9]{10,}",
    ),
    key("Anthropic key", &["sk-ant-"], r"\bsk-ant-[A-Za-z0-9_\-]{16,}"),
    key("OpenAI key", &["sk-proj-", "sk-svcacct-"], r"\bsk-(?:proj|svcacct)-[A-Za-z0-9_\-]{16,}"),
    Kind {
        name: "API key",
        pattern: r"\b(?:sk|pk|rk)[-_][A-Za-z0-9_\-]{16,}",
        hints: &["sk-", "sk_", "pk-", "pk_", "rk-", "rk_"],
        is_one: looks_random,
    },
    key("npm token", &["npm_"], r"\bnpm_[A-Za-z0-9]{30,}"),
    key("PyPI token", &["pypi-"], r"\bpypi-[A-Za-z0-9_\-]{50,}"),
    key("Hugging Face token", &["hf_"], r"\bhf_[A-Za-z0-9]{30,}"),
    key("Docker token", &["dckr_pat_"], r"\bdckr_pat_[A-Za-z0-9_\-]{20,}"),
    key("DigitalOcean token", &["doo_v1_", "dop_v1_", "dor_v1_"], r"\bdo[opr]_v1_[a-f0-9]{40,}"),
    key("SendGrid key", &["sg."], r"\bSG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    key("Vault token", &["hvs.", "hvb."], r"\bhv[sb]\.[A-Za-z0-9_\-]{20,}"),
    key(
        "JSON web token",
        &["eyj"],
        r"\beyJ[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]{8,}\.[A-Za-z0-9_\-]*",
    ),
    // Headers, to the end of their line or text.
    Kind {
        name: "authorization header",
        pattern: r#"(?i)\b(?:proxy-)?authorization\\?["']?\s*[:=]\s*\\?["']?(?:[a-z]+\s+)?([^\s"'\\]+)"#,
        hints: &["authorization"],
        is_one: is_value,
    },
    Kind {
        name: "cookie",
        pattern: r#"(?i)\b(?:set-)?cookie\s*:\s*([^\r\n"']+)"#,
        hints: &["cookie"],
        is_one: is_value,
    },
    Kind {
        name: "bearer token",
        pattern: r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9_\-.~+/=]{8,})",
        hints: &["bearer", "basic"],
        is_one: looks_random,
    },
    // Assignments: a value in quotes to its end, escaped quotes as well, else a word.
    Kind {
        name: NAMED,
        pattern: r#"(?i)(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key)[a-z0-9_\-]*(?:\\?["'])?\s*[=:]\s*\\?"([^"\\]+)"#,
        hints: WORDS,
        is_one: is_value,
    },
    Kind {
        name: NAMED,
        pattern: r#"(?i)(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key)[a-z0-9_\-]*(?:\\?["'])?\s*[=:]\s*'([^']+)"#,
        hints: WORDS,
        is_one: is_value,
    },
    Kind {
        name: NAMED,
        pattern: r#"(?i)(?:passw(?:or)?d|passwd|pwd|passphrase|secret|token|api[_\-]?key|access[_\-]?key|account[_\-]?key)["']?\s*[=:]\s*["']?([^\s"'&;,]{4,})"#,
        hints: WORDS,
        is_one: is_bare_value,
    },
    // Options of commands.
    Kind {
        name: NAMED,
        pattern: r#"(?i)--?(?:password|passwd|token|secret|api-key|auth)[= ]"([^"]+)"#,
        hints: OPTIONS,
        is_one: is_value,
    },
    Kind {
        name: NAMED,
        pattern: r"(?i)--?(?:password|passwd|token|secret|api-key|auth)[= ]'([^']+)",
        hints: OPTIONS,
        is_one: is_value,
    },
    Kind {
        name: NAMED,
        pattern: r#"(?i)--(?:password|passwd|token|secret|api-key|auth)[= ]([^\s"'][^\s]*)"#,
        hints: OPTIONS,
        is_one: is_value,
    },
    // Addresses that carry one: a password, to the last `@` of the host's part; or a user alone,
    // where it is long enough to be a token.
    Kind {
        name: "address with a password",
        pattern: r"[a-zA-Z][a-zA-Z0-9+.\-]*://[^\s/:@]*:([^\s/]+)@",
        hints: &["://"],
        is_one: is_value,
    },
    Kind {
        name: "address with a token",
        pattern: r"[a-zA-Z][a-zA-Z0-9+.\-]*://([^\s/:@]{12,})@",
        hints: &["://"],
        is_one: is_value,
    },
];

fn always(_: &str) -> bool {
    true
}

/// No words of a language, and no names of programs: those have no digits in them, or nothing else.
fn looks_random(text: &str) -> bool {
    let upper = text.bytes().skip(1).any(|byte| byte.is_ascii_uppercase());
    let lower = text.bytes().any(|byte| byte.is_ascii_lowercase());
    text.bytes().any(|byte| byte.is_ascii_digit()) || (upper && lower)
}

/// Whether a value is one, and does not only stand for it: `$TOKEN`, `<token>`, `xxxx`.
pub(super) fn is_value(text: &str) -> bool {
    !text.is_empty() && text != super::MASKED && !is_variable(text) && !is_hole(text)
}

/// The same for a value without quotes: code has names, types and calls there.
fn is_bare_value(text: &str) -> bool {
    is_value(text) && !is_word_of_code(text) && !is_code(text)
}

/// `$TOKEN`, `${TOKEN}`, `$(command)`, `${{ secrets.TOKEN }}`, `{{ token }}`, `%TOKEN%`. A name that
/// is not all in capitals might be a secret that begins with a `$`.
fn is_variable(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let inside = |start: &str, end: &str| text.strip_prefix(start)?.strip_suffix(end);
    // Its other forms may have blanks in them, so that their ends are not here.
    let braced = text.strip_prefix("${").and_then(|rest| rest.split([':', '-', '}']).next());
    text.strip_prefix('$').is_some_and(is_name)
        || braced.is_some_and(is_name)
        || inside("%", "%").is_some_and(is_name)
        || ["$(", "${{", "{{", "$env:"].iter().any(|start| text.starts_with(start))
}

/// `<token>`, `xxxx`, `****`, `...`.
fn is_hole(text: &str) -> bool {
    if let Some(rest) = text.strip_prefix('<') {
        let name = rest.strip_suffix('>').unwrap_or(rest);
        return name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_- .".contains(&byte));
    }
    let mut letters = text.bytes();
    text.len() >= 3
        && letters
            .next()
            .is_some_and(|first| b"xX*.-_?".contains(&first) && letters.all(|it| it == first))
}

/// What stands behind a colon or an equals sign in programs and schemas.
const WORDS_OF_CODE: &[&str] = &[
    "&str",
    "any",
    "await",
    "bool",
    "boolean",
    "bytes",
    "false",
    "input",
    "lambda",
    "none",
    "null",
    "number",
    "object",
    "option",
    "optional",
    "password",
    "required",
    "secret",
    "self",
    "str",
    "string",
    "text",
    "this",
    "token",
    "true",
    "undefined",
];

fn is_word_of_code(text: &str) -> bool {
    let text = text.trim_end_matches([')', '}', ']', '|', '>', '?']);
    WORDS_OF_CODE.iter().any(|word| text.eq_ignore_ascii_case(word))
}

/// `get_token(…)`, `os.environ[…]`, `Option<…>`, `std::env::var`, `args.token`.
fn is_code(text: &str) -> bool {
    let end = text
        .bytes()
        .position(|byte| !byte.is_ascii_alphabetic() && byte != b'_' && byte != b'.')
        .unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    if name.len() < 3 || name.starts_with('.') {
        return false;
    }
    if rest.is_empty() {
        let last = name.rsplit_once('.').map(|(_, last)| last.to_ascii_lowercase());
        let secret = |last: String| WORDS.iter().any(|word| last.contains(word));
        return name.starts_with("process.env.") || last.is_some_and(secret);
    }
    rest.starts_with(['(', '[', '<']) || rest.starts_with("::") || rest.starts_with("?.")
}
