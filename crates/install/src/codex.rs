//! What Codex keeps a record of: which hooks, and which projects, a person has trusted in it.
//!
//! A hook that is not trusted does not run there, and nothing says so. The record is in the person's
//! `config.toml`: under `[hooks.state]` for each place of a hook the hash of what was trusted, and under
//! `[projects]` for each project whether its folder is read at all.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ring::digest::{SHA256, digest};
use serde_json::{Value, json};

use crate::plan::Document;
use crate::settings::Hook;
use crate::target::{Form, Layer, Target};
use crate::{Surroundings, file, toml};

/// Why hooks of ours in a layer do not run, in words. What cannot be read is told elsewhere.
pub(crate) fn distrusted(target: &Target, layer: Layer, here: &Surroundings) -> Vec<String> {
    let config = target.home.path(here).join("config.toml");
    let record = file::read_text(&config).ok().flatten().unwrap_or_default();
    let record = toml::values(&record);
    let mut why = Vec::new();
    if layer == Layer::Project && !is_trusted_project(&record, &here.project) {
        why.push(
            "Codex has no record that this project is trusted, and does not read its hooks before: start \
             `codex` in it, and say that it is"
                .to_owned(),
        );
    }
    let Ok(place) = target.place_of(layer) else { return why };
    let path = target.base(layer, here).join(place.path);
    let (Form::Json(form), Ok(Some(text))) = (place.form, file::read_text(&path)) else {
        return why;
    };
    let hooks = Document::json(target, form, &path).hooks(&text).unwrap_or_default();
    let (mut unknown, mut changed, mut off) = (Vec::new(), Vec::new(), Vec::new());
    let all = hooks.iter().filter(|hook| hook.ours).count();
    for hook in hooks.into_iter().filter(|hook| hook.ours) {
        let states = record.get("hooks").and_then(|it| it.get("state"));
        let state = names(&path).find_map(|path| states?.get(key(&path, &hook)));
        let word = |name| state.and_then(|it: &Value| it.get(name));
        if word("enabled").and_then(Value::as_bool) == Some(false) {
            off.push(hook.event);
        } else {
            match word("trusted_hash").and_then(Value::as_str) {
                None => unknown.push(hook.event),
                Some(trusted) if trusted == hash(&hook) => {}
                Some(_) => changed.push(hook.event),
            }
        }
    }
    let what_to_do = "start `codex`, type /hooks and trust those of Tollgate";
    let mut say = |events: &[String], what: &str| {
        if !events.is_empty() {
            let some = format!(" ({})", events.join(", "));
            let of = if events.len() == all { String::new() } else { some };
            why.push(format!("{what}{of}: {what_to_do}"));
        }
    };
    say(&unknown, "Codex has not been told to trust these hooks, so it does not run them");
    say(
        &changed,
        "what Codex was told to trust is not what these hooks are now, as far as Tollgate can tell, so it \
         does not run them",
    );
    say(&off, "these hooks are turned off in Codex");
    why
}

fn is_trusted_project(record: &Value, project: &Path) -> bool {
    let projects = record.get("projects");
    let level = names(project).find_map(|path| {
        projects?.get(path.to_str()?)?.get("trust_level")?.as_str().map(str::to_owned)
    });
    level.as_deref() == Some("trusted")
}

/// The names that a path may have in the record: as it is, and with links followed.
fn names(path: &Path) -> impl Iterator<Item = PathBuf> {
    [Some(path.to_path_buf()), path.canonicalize().ok()].into_iter().flatten()
}

/// What a hook is called in the record.
fn key(path: &Path, hook: &Hook) -> String {
    let (group, place) = hook.index;
    format!("{}:{}:{group}:{place}", path.display(), label(&hook.event))
}

/// An event in the words of the record: `PreToolUse` is `pre_tool_use`.
fn label(event: &str) -> String {
    let mut label = String::new();
    for c in event.chars() {
        if c.is_ascii_uppercase() && !label.is_empty() {
            label.push('_');
        }
        label.push(c.to_ascii_lowercase());
    }
    label
}

/// The hash of a hook: of what it means, in a fixed order, and not of how it is written.
fn hash(hook: &Hook) -> String {
    let label = label(&hook.event);
    let timeout = hook.entry.get("timeout").and_then(Value::as_u64).unwrap_or(600).max(1);
    let mut entry = BTreeMap::from([
        ("type", json!("command")),
        ("command", json!(hook.entry.get("command"))),
        ("timeout", json!(timeout)),
        ("async", json!(hook.entry.get("async").and_then(Value::as_bool).unwrap_or(false))),
    ]);
    for key in ["statusMessage", "additionalContextLimit"] {
        entry.extend(hook.entry.get(key).map(|value| (key, value.clone())));
    }
    let mut whole = BTreeMap::from([("event_name", json!(label)), ("hooks", json!([entry]))]);
    let matcher = hook.group.as_ref().and_then(|group| group.get("matcher"));
    let is_matched = !matches!(&*label, "user_prompt_submit" | "stop");
    whole.extend(matcher.filter(|_| is_matched).map(|matcher| ("matcher", matcher.clone())));
    let bytes = digest(&SHA256, json!(whole).to_string().as_bytes());
    bytes.as_ref().iter().fold("sha256:".to_owned(), |mut hash, byte| {
        let _ = write!(hash, "{byte:02x}");
        hash
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{distrusted, hash, key, label};
    use crate::plan::Document;
    use crate::settings::Hook;
    use crate::target::{Form, Layer, Target};
    use crate::{Surroundings, install};

    #[test]
    fn hashes_are_those_of_codex() {
        let object = |value: Value| value.as_object().cloned().unwrap();
        let hook = |event: &str, command: &str| Hook {
            event: event.to_owned(),
            command: None,
            ours: true,
            matcher: None,
            whole: Value::Null,
            entry: object(json!({"type": "command", "command": command})),
            group: Some(object(json!({"matcher": "*"}))),
            index: (0, 0),
        };
        // Recorded by others with the real program.
        let post = hook(
            "PostToolUse",
            "'/Applications/GWT.app/Contents/MacOS/gwtd' hook event PostToolUse",
        );
        let known = "sha256:9c3ce103f03f0b27a28bc4a30883f7e98a80b5df566b4572fcbb2955ebf5ba62";
        assert_eq!(hash(&post), known);
        let prompt = hook(
            "UserPromptSubmit",
            "gwt_bin=\"${GWT_BIN_PATH:-/Applications/GWT.app/Contents/MacOS/gwtd}\"; \"$gwt_bin\" hook event \
             UserPromptSubmit",
        );
        let known = "sha256:1a86ba6796c5b5bf1601fd1af1d6094846287ec85e9f1ad4d39335c6b306e2fa";
        assert_eq!(hash(&prompt), known);
        assert_eq!(label("PreToolUse"), "pre_tool_use");
    }

    #[test]
    fn what_is_trusted_as_it_is_has_nothing_against_it() {
        let folder = tempfile::tempdir().unwrap();
        let here = Surroundings::new(folder.path(), "/nowhere", "/usr/bin/tollgate");
        let codex = Target::by_name("codex").unwrap();
        install(codex, Layer::User, &here).unwrap().apply().unwrap();
        assert_eq!(distrusted(codex, Layer::User, &here).len(), 1);
        let path = codex.place(Layer::User, &here).unwrap();
        let Form::Json(form) = codex.place_of(Layer::User).unwrap().form else { unreachable!() };
        let text = std::fs::read_to_string(&path).unwrap();
        let hooks = Document::json(codex, form, &path).hooks(&text).unwrap();
        let state =
            |it| format!("[hooks.state.{:?}]\ntrusted_hash = {:?}", key(&path, it), hash(it));
        let states = hooks.iter().map(state).collect::<Vec<_>>().join("\n");
        std::fs::write(folder.path().join(".codex/config.toml"), states).unwrap();
        assert_eq!(distrusted(codex, Layer::User, &here), [""; 0]);
    }
}
