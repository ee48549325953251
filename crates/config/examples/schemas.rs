//! Writes the JSON schemas of hook files, of what handlers read and answer and of `config.toml`,
//! from the types that the code has for them:
//!
//! ```sh
//! cargo run -p tollgate-config --example schemas
//! ```

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use schemars::Schema;
use serde_json::Value;
use tollgate_config::dialect::{self, antigravity, harness, polytoken};
use tollgate_config::settings;

/// The command that writes them.
#[allow(dead_code)] // for the test that uses this file
pub(crate) const COMMAND: &str = "cargo run -p tollgate-config --example schemas";

/// Where they are.
pub(crate) fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../schemas")
}

/// All schemas, by their paths.
pub(crate) fn all() -> BTreeMap<PathBuf, Value> {
    let mut schemas = BTreeMap::new();
    schemas.insert(PathBuf::from("config.schema.json"), plain(settings::schema()));
    schemas.insert(
        PathBuf::from("harness/frontmatter.schema.json"),
        plain(harness::frontmatter_schema()),
    );
    let mut dialects = vec![
        (
            "antigravity",
            antigravity::file_schema(),
            antigravity::input_schemas(),
            antigravity::answer_schemas(),
        ),
        (
            "polytoken",
            polytoken::file_schema(),
            polytoken::input_schemas(),
            polytoken::answer_schemas(),
        ),
    ];
    for host in dialect::HOSTS {
        let (file, inputs) = (host.file_schema(), host.input_schemas());
        dialects.push((host.host().name, file, inputs, host.answer_schemas()));
    }
    for (dialect, file, inputs, answers) in dialects {
        let folder = Path::new(dialect);
        schemas.insert(folder.join("hooks.schema.json"), plain(file));
        for (kind, of_events) in [("input", inputs), ("answer", answers)] {
            for (event, schema) in of_events {
                schemas
                    .insert(folder.join(kind).join(format!("{event}.schema.json")), plain(schema));
            }
        }
    }
    schemas
}

/// A schema as JSON, its keys in the order of the alphabet, whatever order maps have in this build.
fn plain(schema: Schema) -> Value {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Object(fields) => {
                let fields: BTreeMap<String, Value> = fields.into_iter().collect();
                fields.into_iter().map(|(name, value)| (name, sorted(value))).collect()
            }
            Value::Array(items) => items.into_iter().map(sorted).collect(),
            other => other,
        }
    }
    sorted(schema.into())
}

/// A schema as it stands in its file.
pub(crate) fn text(schema: &Value) -> String {
    format!("{schema:#}\n")
}

/// The files that are there, by their paths below `directory`.
pub(crate) fn files(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut ahead = vec![directory.to_path_buf()];
    while let Some(next) = ahead.pop() {
        for entry in fs::read_dir(next)? {
            let path = entry?.path();
            if path.is_dir() {
                ahead.push(path);
            } else if let Ok(relative) = path.strip_prefix(directory) {
                files.push(relative.to_path_buf());
            }
        }
    }
    Ok(files)
}

#[allow(dead_code)] // for the test that uses this file
fn main() -> io::Result<()> {
    let directory = directory();
    let schemas = all();
    fs::create_dir_all(&directory)?;
    for superfluous in files(&directory)?.iter().filter(|path| !schemas.contains_key(*path)) {
        fs::remove_file(directory.join(superfluous))?;
    }
    for (path, schema) in &schemas {
        let path = directory.join(path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, text(schema))?;
    }
    Ok(())
}
