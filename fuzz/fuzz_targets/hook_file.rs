//! Any bytes as a hook file of each dialect: it loads or says why not, each problem has a place in
//! the file and can be shown, and what loads can be registered.

#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use tollgate_config::diagnostic::{Colours, Report, render};
use tollgate_config::dialect::ALL;
use tollgate_config::source::SourceFile;
use tollgate_core::dialect::{Dialect, Layer};
use tollgate_core::matcher::Matcher;
use tollgate_core::prelude::*;
use tollgate_fuzz::runner;

fuzz_target!(|data: &[u8]| {
    let Ok(text) = std::str::from_utf8(data) else { return };
    for format in ALL {
        for layer in [Layer::User, Layer::Project] {
            let source = Arc::new(SourceFile::new("hooks.json", text));
            let mut report = Report::new(Arc::clone(&source));
            let file = format.parse(&mut report, layer);
            assert_ne!(file.is_some(), report.has_errors(), "{} {layer:?}", format.dialect());
            for diagnostic in report.into_diagnostics() {
                let shown = render(&diagnostic, Colours::None);
                assert!(shown.contains(diagnostic.code.id()), "{shown}");
                assert!(!diagnostic.message.is_empty());
                assert!(serde_json::to_value(&diagnostic).is_ok());
                if let Some(span) = diagnostic.span {
                    assert!(span.start <= span.end && span.end <= text.len(), "{span:?}");
                    assert!(text.is_char_boundary(span.start) && text.is_char_boundary(span.end));
                }
            }
            let Some(file) = file else { continue };
            // What is strict JSON elsewhere is what loads here. An agent's settings may be empty, or have comments.
            let is_settings =
                matches!(format.dialect(), Dialect::Claude | Dialect::Codex | Dialect::Gemini);
            assert!(is_settings || serde_json::from_str::<serde_json::Value>(text).is_ok());
            let mut builder = runner();
            for hook in file.hooks.iter().filter(|hook| hook.event.kinds.contains(&Kind::ToolPre)) {
                assert!(!hook.name.is_empty() && !hook.command.trim().is_empty());
                let registration = decide(hook.name.as_str(), |_cx, _: &ToolPre| Decision::none());
                builder = builder.register(registration.matching(hook.matcher.clone()));
                if let Matcher::Pattern(pattern) = &hook.matcher {
                    let _ = pattern.matches(tollgate_core::target::Subject::named(&hook.name));
                }
            }
            // Together their patterns may be too much; nothing else can be wrong with them.
            if let Err(error) = builder.build() {
                assert!(matches!(error, tollgate_core::registry::RegisterError::Pattern { .. }));
            }
        }
    }
});
