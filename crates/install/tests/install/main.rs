//! Tollgate in the configuration of every host: how it comes, what it does there, and how it goes.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

mod changes;
mod doctor;
mod matchers;
mod round_trip;
mod weaker;
mod wrappers;

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tollgate_install::{Layer, Registration, Surroundings, Target, registrations};

/// The events of a host that Tollgate is registered for.
fn events(target: &Target) -> Vec<Registration> {
    registrations(target).unwrap()
}

/// A machine of its own.
struct Machine {
    folder: TempDir,
    here: Surroundings,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (home, project) = (folder.path().join("home"), folder.path().join("project"));
        fs::create_dir(&home).unwrap();
        fs::create_dir(&project).unwrap();
        let program = folder.path().join("bin/tollgate");
        let here = Surroundings::new(home, project, program);
        Self { folder, here }
    }

    /// With the file of a host in it.
    fn with(target: &Target, layer: Layer, text: &[u8]) -> (Self, PathBuf) {
        let machine = Self::new();
        let path = target.place(layer, &machine.here).unwrap();
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        (machine, path)
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Everything that is there: folders, and files with their content.
    fn everything(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        let mut all = Vec::new();
        let mut folders = vec![self.path().to_path_buf()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path.clone());
                    all.push((path, None));
                } else {
                    all.push((path.clone(), Some(fs::read(&path).unwrap())));
                }
            }
        }
        all.sort();
        all
    }
}

/// The layers that a host has.
fn layers(target: &Target, here: &Surroundings) -> Vec<Layer> {
    Layer::ALL.into_iter().filter(|layer| target.place(*layer, here).is_ok()).collect()
}

fn cases(file: &str) -> Vec<serde_json::Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cases/install").join(file);
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

fn word<'a>(case: &'a serde_json::Value, key: &str) -> &'a str {
    case[key].as_str().unwrap_or_else(|| panic!("{key} of {case}"))
}

fn layer(case: &serde_json::Value) -> Layer {
    if word(case, "layer") == "user" { Layer::User } else { Layer::Project }
}
