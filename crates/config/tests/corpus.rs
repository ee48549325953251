//! Files as people write them, in `cases/*/files`: which of them load, and what is said of them.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Deserialize;
use tollgate_config::diagnostic::{Code, Colours, render};
use tollgate_config::layers::Places;
use tollgate_config::load::{FileState, Setup, load, survey};
use tollgate_config::trust::Store;

/// A file of the index.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    /// Whether its hooks are in force.
    loads: bool,
    /// The codes of what is said of it, in their order.
    codes: Vec<String>,
    /// Whose file it is.
    #[serde(default)]
    layer: Layer,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Layer {
    User,
    #[default]
    Project,
}

/// What is wrong with a file.
fn check(file: &Path, known: &Known, homes: [&str; 2]) -> Option<String> {
    let temporary = tempfile::tempdir().unwrap();
    let root = fs::canonicalize(temporary.path()).unwrap();
    let home = root.join(match known.layer {
        Layer::User => homes[0],
        Layer::Project => homes[1],
    });
    fs::create_dir_all(&home).unwrap();
    fs::copy(file, home.join("hooks.json")).unwrap();
    let places = Places::below(&root);
    if known.layer == Layer::Project {
        fs::create_dir_all(root.join("project")).unwrap();
        let mut store = Store::open(places.trust.as_ref().unwrap()).unwrap();
        store.trust(&survey(&places).unwrap()).unwrap();
    }
    let mut loaded = load(&Setup::new(places));
    // What cannot be pinned is a matter of trust, not of the file.
    loaded.diagnostics.retain(|d| d.code != Code::Unpinned);
    let codes: Vec<_> = loaded.diagnostics.iter().map(|d| d.code.id().to_owned()).collect();
    if codes != known.codes {
        let shown: Vec<_> =
            loaded.diagnostics.iter().map(|d| render(d, Colours::None) + "\n").collect();
        return Some(format!("{codes:?}, not {:?}\n{}", known.codes, shown.concat()));
    }
    let state = if known.loads { FileState::InForce } else { FileState::Broken };
    let states: Vec<_> = loaded.files.iter().map(|file| file.state).collect();
    (states != [state]).then(|| format!("{states:?}, not {state:?}"))
}

fn run(folder: &str, at_least: usize, homes: [&str; 2]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases").join(folder);
    let folder = folder.join("files");
    let index: BTreeMap<String, Known> =
        serde_json::from_slice(&fs::read(folder.join("index.json")).unwrap()).unwrap();
    let there: BTreeSet<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name != "index.json")
        .collect();
    assert_eq!(there, index.keys().cloned().collect(), "the index lists other files");
    assert!(index.len() >= at_least, "{} files", index.len());
    let failures: Vec<String> = index
        .iter()
        .filter_map(|(name, known)| {
            check(&folder.join(name), known, homes).map(|wrong| format!("{name}: {wrong}"))
        })
        .collect();
    assert!(failures.is_empty(), "{} files:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn antigravity() {
    run("antigravity", 20, ["home/.gemini/config", "project/.agents"]);
}

#[test]
fn polytoken() {
    run("polytoken", 10, ["home/.config/polytoken", "project/.polytoken"]);
}
