//! Any text as a command: it is read without a panic and in bounded time, what it would run is bounded,
//! and the second time it is the same.

#![no_main]

use std::time::{Duration, Instant};

use libfuzzer_sys::fuzz_target;
use tollgate_shell::{Surroundings, analyze, effects};

/// Far more than 4 KiB may take, even here, where everything is checked and counted.
const LONGEST: Duration = Duration::from_secs(2);

fuzz_target!(|text: &str| {
    let surroundings = Surroundings { directory: Some("/home/dev/project".to_owned()) };
    let begun = Instant::now();
    let analysis = analyze(text, &surroundings);
    let found = effects::of_analysis(&analysis);
    assert!(begun.elapsed() < LONGEST, "{text:?} took {:?}", begun.elapsed());
    assert!(analysis.commands.len() <= 1024, "{text:?} runs {} commands", analysis.commands.len());
    if text.len() < 256 {
        assert_eq!(
            analyze(text, &surroundings),
            analysis,
            "{text:?} is not read the same way twice"
        );
        assert_eq!(effects::of_analysis(&analysis), found);
    }
});
