//! Any text, read as an event: it is one or it is not, and what is read is written the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate_core::{AnyEvent, Kind};

fuzz_target!(|data: &[u8]| {
    let Some((first, text)) = data.split_first() else { return };
    // `A` is the first kind, so that seeds can be read and written by people.
    let kind = Kind::ALL[usize::from(first.wrapping_sub(b'A')) % Kind::ALL.len()];
    let event = match AnyEvent::from_json(kind, &String::from_utf8_lossy(text)) {
        Ok(event) => event,
        Err(error) => {
            assert_eq!(error.event, kind);
            assert!(error.to_string().starts_with(kind.name()), "{error}");
            return;
        }
    };
    assert_eq!(event.kind(), kind);
    let value = event.to_value();
    assert!(value.is_object(), "{value}");
    let again = AnyEvent::from_value(kind, value.clone());
    assert_eq!(again.as_ref(), Ok(&event), "{value}");
    assert_eq!(again.map(|again| again.to_value()), Ok(value));
});
