//! Keys are shown to nobody but the provider.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod support;

use support::{ask, model_with, name, once, request, server};
use tollgate_model::provider::{self, OpenError, Options, Provider};
use tollgate_model::script::Line;
use tollgate_model::server::{Fault, KEY};

#[tokio::test]
async fn a_provider_that_repeats_the_key_is_not_quoted() {
    for provider in Provider::ALL.into_iter().filter(|provider| provider.key_variable().is_some()) {
        let said = format!("Incorrect API key provided: {KEY}.");
        let server = server(
            provider,
            vec![Line { status: Some(401), ..Line::error(&said) }, Line::say("x")],
        );
        let model = model_with(provider, &server, &once());
        let error = ask(&*model, &request("Go")).await.0.unwrap_err();
        assert!(error.to_string().contains("Incorrect API key provided: [key]."), "{error}");
        assert!(!format!("{error:?} {error}").contains(KEY));
        // It was sent, where each provider wants it.
        ask(&*model, &request("Go")).await.0.unwrap();
        let seen = format!("{:?}", server.seen());
        assert!(seen.contains("[key]") && !seen.contains(KEY), "{seen}");
    }
}

#[tokio::test]
async fn no_error_shows_a_key() {
    for provider in Provider::ALL {
        for fault in [
            Fault::Status { status: 500, retry_after: None },
            Fault::Redirect,
            Fault::Page,
            Fault::CutText,
            Fault::Error,
            Fault::InvalidUtf8,
        ] {
            let server = server(provider, vec![Line::say("x")]);
            server.fail(fault);
            let model = model_with(provider, &server, &once());
            let error = ask(&*model, &request("Go")).await.0.unwrap_err();
            assert!(!format!("{error:?} {error} {server:?}").contains(KEY), "{error}");
        }
    }
}

#[test]
fn no_error_of_opening_shows_a_key() {
    for provider in Provider::ALL {
        let Some(variable) = provider.key_variable() else { continue };
        let open = |value: &str| {
            let environment = |name: &str| (name == variable).then(|| value.to_owned());
            provider::open_in(name(provider), &Options::default(), &environment).map(|_| ())
        };
        // What is around it by mistake is no part of it.
        open(" hunter2\n").unwrap();
        for bad in ["hunter2 hunter2", "hunter2\u{7f}", "hunter2\r\nhost: x", "hünter2"] {
            let error = open(bad).unwrap_err();
            assert!(matches!(error, OpenError::BadKey { .. }), "{error}");
            assert!(error.to_string().starts_with(variable), "{error}");
            assert!(!format!("{error:?} {error}").contains("nter2"), "{error}");
        }
        for nothing in ["", "  \n"] {
            let error = open(nothing).unwrap_err().to_string();
            assert!(error.contains(&format!("set {variable} in the environment")), "{error}");
        }
    }
}

#[test]
fn options_do_not_show_what_a_url_may_hide() {
    for url in ["https://me:hunter2@g.test", "https://g.test/?key=hunter2", "hunter2"] {
        let options = Options { base_url: Some(url.to_owned()), ..Options::default() };
        assert!(!format!("{options:?} {options:#?}").contains("hunter2"));
    }
}

#[test]
fn names_that_say_nothing_are_answered_with_what_was_perhaps_meant() {
    for (name, hint) in [
        ("gpt-5", Some("openai/gpt-5")),
        ("o3-mini", Some("openai/o3-mini")),
        ("gemini-3-pro", Some("gemini/gemini-3-pro")),
        ("google/gemini-3-pro", Some("gemini/gemini-3-pro")),
        ("OpenAI/gpt-5", Some("openai/gpt-5")),
        ("openai/", None),
        ("", None),
        ("mistral/large", None),
        ("ollama", None),
    ] {
        let error = provider::open_in(name, &Options::default(), &|_| None).err().unwrap();
        let OpenError::Name { hint: own, .. } = &error else { panic!("{error:?}") };
        assert_eq!(own.as_deref(), hint);
        assert!(error.to_string().contains("`ollama/…` or `script:PATH`"), "{error}");
    }
}

#[tokio::test]
async fn base_urls_come_from_the_environment_and_options_go_first() {
    for provider in Provider::ALL {
        let server = server(provider, vec![Line::say("x"), Line::say("y")]);
        for variable in provider.base_url_variables() {
            let real = server.environment();
            let environment = |name: &str| {
                let is_base = provider.base_url_variables().contains(&name);
                if is_base && name != *variable { None } else { real(name) }
            };
            let model = provider::open_in(name(provider), &once(), &environment).unwrap();
            ask(&*model, &request("Go")).await.0.unwrap();
        }
        let options = Options { base_url: Some("ftp://x".to_owned()), ..once() };
        let error =
            provider::open_in(name(provider), &options, &server.environment()).err().unwrap();
        assert!(error.to_string().starts_with("options: the base URL"), "{error}");
    }
}
