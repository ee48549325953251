//! Any bytes as what a handler of each dialect prints, at every event: it is an answer or an error
//! that says something, and what was read is read again the same from what is written of it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use tollgate_config::dialect::{ALL, Output};
use tollgate_core::Kind;

fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    let code = i32::from(first % 4);
    // What comes behind a zero is the other channel.
    let mut channels = rest.splitn(2, |byte| *byte == 0);
    let stdout = channels.next().unwrap_or_default().to_vec();
    let stderr = channels.next().unwrap_or_default().to_vec();
    for format in ALL {
        for kind in Kind::ALL {
            let output = Output { code, stdout: stdout.clone(), stderr: stderr.clone() };
            match format.decode_answer(*kind, &output) {
                Ok(mut answer) => {
                    assert!(kind.rule(format.dialect()).is_some(), "{kind}");
                    let written = format.encode_answer(*kind, &answer).expect("it was read");
                    let again = format.decode_answer(*kind, &written).expect("it was written");
                    answer.detail = None;
                    assert_eq!(answer, again, "{} {kind}", format.dialect());
                }
                Err(error) => {
                    assert!(!error.message.is_empty());
                    assert!(error.message.len() < 4096, "{}", error.message.len());
                }
            }
        }
        // The same bytes as an event of the system.
        if let Ok(input) = serde_json::from_slice::<Value>(&stdout) {
            for event in format.events() {
                let Ok(decoded) = format.decode_event(event.name, input.clone()) else { continue };
                let written = format.encode_event(decoded.event.view(), &decoded.session);
                let again = format.decode_event(event.name, written.expect("its own event"));
                assert_eq!(again.as_ref(), Ok(&decoded), "{} {}", format.dialect(), event.name);
            }
        }
    }
});
