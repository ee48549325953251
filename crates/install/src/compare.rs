//! How a hook of ours that somebody has changed is weaker than the one that would be written.
//!
//! What is stronger, or makes no difference, is not told: another path of the program, a longer wait, a text
//! for people. Everything else is, whether its meaning is known or not: what a host makes of a field that
//! Tollgate does not write, nobody here knows.

use serde_json::{Map, Value};

use crate::command::Call;
use crate::settings::Hook;
use crate::words;

/// Fields that are for people.
const FOR_PEOPLE: &[&str] = &["statusMessage", "description", "$comment"];

/// Fields that say for how long to wait.
const PATIENCE: &[&str] = &["timeout", "timeoutSec"];

/// What of a hook is not as it would be written, in words. `group` says whether it would be in one.
pub(crate) fn weaker(
    hook: &Hook,
    call: &Call,
    expected: &Map<String, Value>,
    group: bool,
) -> Vec<String> {
    let mut all = Vec::new();
    for (key, want) in expected {
        match hook.entry.get(key) {
            None => all.push(format!("`{key}` is missing")),
            Some(is) if is == want || is_longer(key, is, want) => {}
            Some(is) if is_same_call(is, want, call) => {}
            Some(Value::String(line)) if line.len() > 40 => {
                all.push(format!("`{key}` is another one"));
            }
            Some(is) => all.push(format!("`{key}` is {is}")),
        }
    }
    let of_entry = hook.entry.iter().filter(|(key, _)| !expected.contains_key(*key));
    match &hook.group {
        Some(_) if !group => all.push("it is in a group".to_owned()),
        None if group => all.push("it is in no group".to_owned()),
        _ => {}
    }
    // Where a matcher is the person's to write, what they wrote is no less than they want.
    let is_all = |is: &Value| is_all(is) || call.matcher.is_some();
    let of_group =
        hook.group.iter().flatten().filter(|(key, is)| !(*key == "matcher" && is_all(is)));
    for (key, is) in of_entry.chain(of_group) {
        if !FOR_PEOPLE.contains(&key.as_str()) {
            all.push(format!("`{key}` is {is}"));
        }
    }
    all
}

/// Which tools it is asked about, where that is not all of them.
pub(crate) fn matcher(hook: &Hook) -> Option<String> {
    let of_group = hook.group.as_ref().and_then(|group| group.get("matcher"));
    let matcher = of_group.filter(|is| !is_all(is)).or_else(|| hook.entry.get("matcher"))?;
    Some(matcher.as_str().map_or_else(|| matcher.to_string(), str::to_owned))
}

/// Whether the matcher of a group is for all tools, in every host that has groups.
fn is_all(matcher: &Value) -> bool {
    matcher.as_str().is_some_and(|it| matches!(it, "" | "*" | ".*"))
}

fn is_longer(key: &str, is: &Value, want: &Value) -> bool {
    PATIENCE.contains(&key) && is.as_f64() >= want.as_f64() && is.is_number()
}

/// Whether a command, or the name of a program, is the expected one but for the path of the program.
fn is_same_call(is: &Value, want: &Value, call: &Call) -> bool {
    let (Some(is), Some(want)) = (is.as_str(), want.as_str()) else { return false };
    if want == call.program {
        return true;
    }
    let (Some(mut is), Some(mut want)) = (words::split(is), words::split(want)) else {
        return false;
    };
    let Some(at) = want.len().checked_sub(call.arguments.len() + 1) else { return false };
    let Some(program) = is.get(at).cloned() else { return false };
    let names = |words: &mut Vec<String>, program: &str| {
        words.iter_mut().filter(|word| *word == program).for_each(String::clear);
    };
    names(&mut is, &program);
    names(&mut want, &call.program);
    is == want
}
