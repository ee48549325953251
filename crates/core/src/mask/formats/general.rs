//! Forms that many issuers share.

use super::super::kinds::Kind;
use super::super::shape::Part::Is;
use super::super::shape::{ALNUM, ANY64, BASE64, LOWER, LOWER_NUM, Set, UPPER_NUM, URL64};
use super::{mixed, random, strong, token};

/// Base64 for addresses, with the padding that some add.
const JWT: Set = URL64.and(b"=");

pub(in super::super) const FORMATS: &[Kind] = &[
    token("age key", &["AGE-SECRET-KEY-1"], &[UPPER_NUM.least(50)]),
    // `-----BEGIN … PRIVATE KEY`, in Base64 once more.
    token(
        "private key",
        &[
            "LS0tLS1CRUdJTiBQUklWQVRF",
            "LS0tLS1CRUdJTiBSU0EgUFJJVkFUR",
            "LS0tLS1CRUdJTiBFQyBQUklWQVRF",
            "LS0tLS1CRUdJTiBEU0EgUFJJVkFUR",
            "LS0tLS1CRUdJTiBPUEVOU1NIIFBSSVZBVEUg",
            "LS0tLS1CRUdJTiBFTkNSWVBURUQgUFJJVkFUR",
            "LS0tLS1CRUdJTiBQR1AgUFJJVkFUR",
        ],
        &[BASE64.least(40)],
    ),
    mixed("minisign key", &["RWRTY0Iy"], &[BASE64.least(100)]),
    token(
        "JSON web token",
        &["eyJ", "ewog", "ewoi"],
        &[JWT.least(8), Is("."), JWT.least(8), Is("."), JWT.and(b".").least(0)],
    ),
    // Names of programs can begin like these.
    random("API key", &["sk-", "sk_", "pk-", "pk_", "rk-", "rk_"], &[ALNUM.least(20)]),
    strong("API key", &["sk-", "sk_", "pk-", "pk_", "rk-", "rk_"], &[URL64.least(20)]),
    random("API key", &["sk_", "pk_", "rk_"], &[LOWER.least(1), Is("_"), ALNUM.within(28, 64)]),
    mixed("Sanity token", &["sk"], &[ALNUM.within(80, 200)]),
    strong("API key", &["key_", "api_", "ak_"], &[ANY64.and(b".").within(24, 64)]),
    random("Cardano private key", &["ed25519e_sk1", "ed25519_sk1"], &[LOWER_NUM.least(50)]),
];
