//! What providers say when they do not answer.

use std::time::{Duration, SystemTime};

use hyper::HeaderMap;
use serde_json::Value;

use crate::error::Failure;

/// How many characters of what a provider says are passed on.
const LONGEST: usize = 2000;

/// What a body, or a part of a stream, says of an error. Each provider has a form of its own, and
/// gateways mix them, so all of them are looked for.
pub(super) fn in_body(text: &str) -> Failure {
    match serde_json::from_str::<Value>(text) {
        Ok(Value::Array(list)) => list.first().map(in_value).unwrap_or_default(),
        Ok(value) => in_value(&value),
        Err(_) => Failure { message: tidy(text), ..Failure::default() },
    }
}

/// The same, for JSON.
pub(super) fn in_value(value: &Value) -> Failure {
    let error = value.get("error").unwrap_or(value);
    let of = |name: &str| error.get(name).and_then(Value::as_str);
    let message = error.as_str().or(of("message")).map_or_else(|| tidy(&error.to_string()), tidy);
    let kind = of("code").or(of("type")).or(of("status")).unwrap_or_default();
    let code = error.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    Failure {
        status: code.filter(|code| (400..600).contains(code)).or_else(|| status_of(kind)),
        kind: tidy(kind),
        message,
        retry_after: error.get("details").and_then(retry_delay),
        hint: String::new(),
    }
}

/// The HTTP status that a kind of error has when it comes before the answer begins.
fn status_of(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" => 400,
        "authentication_error" => 401,
        "permission_error" => 403,
        "not_found_error" => 404,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" => 429,
        "api_error" | "server_error" => 500,
        "timeout_error" => 504,
        "overloaded_error" => 529,
        _ => return None,
    })
}

/// How long Gemini asks to be left alone: `{"retryDelay": "34.5s"}` among the details.
fn retry_delay(details: &Value) -> Option<Duration> {
    let delay = details.as_array()?.iter().find_map(|detail| detail.get("retryDelay"))?;
    seconds(delay.as_str()?.strip_suffix('s')?)
}

/// How long the headers ask to be left alone.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let of = |name| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = of("retry-after-ms").and_then(seconds) {
        return Some(wait / 1000);
    }
    let text = of("retry-after")?;
    seconds(text).or_else(|| {
        let date = httpdate::parse_http_date(text).ok()?;
        Some(date.duration_since(SystemTime::now()).unwrap_or_default())
    })
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.parse().ok()?).ok()
}

/// Text of others, for people to read: not endless, and with nothing that moves a cursor.
pub(super) fn tidy(text: &str) -> String {
    let readable = |c: char| if c.is_control() { ' ' } else { c };
    text.trim().chars().take(LONGEST).map(readable).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_all_providers_are_read() {
        for (body, status, kind, message) in [
            (
                r#"{"error":{"message":"m","type":"x","code":"insufficient_quota"}}"#,
                None,
                "insufficient_quota",
                "m",
            ),
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"m"}}"#,
                Some(529),
                "overloaded_error",
                "m",
            ),
            (
                r#"[{"error":{"code":503,"message":"m","status":"UNAVAILABLE"}}]"#,
                Some(503),
                "UNAVAILABLE",
                "m",
            ),
            (r#"{"error":"model not found"}"#, None, "", "model not found"),
            ("<html>\u{1b}[2J no </html>", None, "", "<html> [2J no </html>"),
            ("", None, "", ""),
            ("[]", None, "", ""),
            (r#"{"detail":"x"}"#, None, "", r#"{"detail":"x"}"#),
        ] {
            let failure = in_body(body);
            assert_eq!(failure.status, status, "{body}");
            assert_eq!(failure.kind, kind, "{body}");
            assert_eq!(failure.message, message, "{body}");
        }
        assert_eq!(in_body(&"x".repeat(100_000)).message.len(), LONGEST);
    }

    #[test]
    fn waits_are_read_in_every_form() {
        let headers = |name: &'static str, value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, value.parse().unwrap());
            headers
        };
        let read = |name, value: &str| retry_after(&headers(name, value));
        assert_eq!(read("retry-after", "7"), Some(Duration::from_secs(7)));
        assert_eq!(read("retry-after-ms", "1500"), Some(Duration::from_millis(1500)));
        assert_eq!(read("retry-after", "Thu, 01 Jan 1970 00:00:00 GMT"), Some(Duration::ZERO));
        let in_an_hour = SystemTime::now() + Duration::from_hours(1);
        let wait = read("retry-after", &httpdate::fmt_http_date(in_an_hour)).unwrap();
        assert!(wait > Duration::from_mins(59) && wait <= Duration::from_hours(1), "{wait:?}");
        for odd in ["-1", "soon", "1e300", "NaN", ""] {
            assert_eq!(read("retry-after", odd), None, "{odd}");
        }
        let gemini = r#"{"error":{"code":429,"details":[{"a":1},{"retryDelay":"34.5s"}]}}"#;
        assert_eq!(in_body(gemini).retry_after, Some(Duration::from_millis(34_500)));
    }
}
