//! The kinds of secrets: what hints at each, and how it is found there.

use std::ops::Range;

use super::formats;
use super::named::assigned;
use super::plain::{access_pair, authorization, basic, bearer, cookie, private_key, putty, signed};
use super::plain::{address, address_token, bundled_login, login, unseal};
use super::shape::Shape;
use super::text::Text;

/// One form of a secret.
#[derive(Debug)]
pub(super) struct Kind {
    /// What people call it. Several forms may have the same name.
    pub(super) name: &'static str,
    /// One of these is in every text that has one.
    pub(super) hints: &'static [&'static str],
    /// True if a hint may stand in the middle of a word.
    pub(super) inside: bool,
    pub(super) rule: Rule,
}

/// How a secret is found where a hint stands.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// By its form; the hint counts as it is written.
    Shape(Shape),
    /// By what stands around it; the hint counts in either case, and is in lower case here.
    Find(fn(&Text<'_>, Range<usize>) -> Option<Range<usize>>),
}

/// What is given to a field, an option or a variable whose name says that it is secret.
pub(super) const NAMED: &str = "password or token";

/// All kinds, in groups. Where two find the same text, the first of them names it. The last group is [`PLAIN`].
pub(super) const GROUPS: &[&[Kind]] = &[
    KEYS,
    formats::cloud::FORMATS,
    formats::code::FORMATS,
    formats::models::FORMATS,
    formats::services::FORMATS,
    formats::webhooks::FORMATS,
    formats::general::FORMATS,
    PLAIN,
];

const fn find(
    name: &'static str,
    hints: &'static [&'static str],
    rule: fn(&Text<'_>, Range<usize>) -> Option<Range<usize>>,
) -> Kind {
    Kind { name, hints, inside: false, rule: Rule::Find(rule) }
}

const KEYS: &[Kind] = &[
    find("private key", &["-----begin "], private_key),
    find("private key", &["private-lines:"], putty),
    find("AWS secret key", &["akia", "asia"], access_pair),
];

/// Those that are told by what stands around them.
pub(super) const PLAIN: &[Kind] = &[
    find("authorization header", &["authorization"], authorization),
    find("cookie", &["cookie"], cookie),
    find("bearer token", &["bearer "], bearer),
    find("bearer token", &["basic "], basic),
    find(
        "signed address",
        &["?sig=", "&sig=", "?signature=", "&signature=", "-signature=", "-security-token="],
        signed,
    ),
    Kind { name: NAMED, hints: ASSIGNED, inside: true, rule: Rule::Find(assigned) },
    find(NAMED, &[" -u", " --user ", " --user=", " --proxy-user ", " --proxy-user="], login),
    find(NAMED, &["curl "], bundled_login),
    find("Vault unseal key", &["unseal key "], unseal),
    find("address with a password", &["://"], address),
    find("address with a token", &["://"], address_token),
];

/// What is in every name that [`assigned`] looks at.
const ASSIGNED: &[&str] =
    &["passw", "passphrase", "pwd", "secret", "token", "credential", "key", "\"auth\"", "_auth="];
