//! Calls of tools that the table does not have, told by the shape of their arguments.

use serde_json::{Map, Value as Json};
use tollgate_core::event::ToolCall;

use super::run::host_of;
use super::{Effect, Effects, Kind, Target, Thing, location, sql};
use crate::resolve::{Surroundings, analyze};

/// How deep arguments are looked into, and how many of them.
const DEEPEST: usize = 8;
const MOST: usize = 512;

/// Verbs of tools that only look.
const LOOKS: &[&str] = &[
    "read",
    "view",
    "list",
    "ls",
    "get",
    "search",
    "find",
    "grep",
    "glob",
    "stat",
    "show",
    "tree",
    "describe",
    "head",
    "tail",
    "cat",
    "count",
    "diff",
    "query",
    "inspect",
    "browse",
    "fetch",
    "navigate",
    "open",
    "goto",
    "visit",
    "screenshot",
    "snapshot",
    "check",
    "lookup",
];
/// Verbs of tools that write.
const WRITES: &[&str] = &[
    "write", "edit", "create", "replace", "update", "set", "put", "patch", "append", "insert",
    "save", "copy", "apply", "upload", "download", "link", "chmod", "modify", "change", "make",
    "touch", "export",
];
/// Verbs of tools that take something away.
const REMOVES: &[&str] = &[
    "delete", "remove", "move", "rename", "trash", "unlink", "rm", "mv", "rmdir", "drop", "purge",
    "wipe",
];

/// What arguments are called that hold a command line.
const COMMANDS: &[&str] = &[
    "command",
    "commands",
    "cmd",
    "commandline",
    "script",
    "shell",
    "bash",
    "argv",
    "exec",
    "shellcommand",
    "run",
];
/// What arguments are called that hold code of some language.
const CODE: &[&str] =
    &["code", "python", "javascript", "js", "snippet", "expression", "program", "pythoncode"];
/// What arguments are called that hold SQL.
const SQL: &[&str] = &["sql", "statement", "statements", "sqlquery", "ddl", "dml"];
/// What arguments are called that are sent along.
const DATA: &[&str] = &[
    "body",
    "data",
    "payload",
    "fields",
    "form",
    "json",
    "content",
    "text",
    "message",
    "file",
    "files",
    "attachments",
    "params",
];

/// Returns what a call does, as far as its arguments show.
pub(super) fn effects_of(call: &ToolCall, workspaces: &[String]) -> Effects {
    let verbs = words(&call.name);
    let is = |list: &[&str]| verbs.iter().any(|verb| list.contains(&verb.as_str()));
    let kind = if is(REMOVES) {
        Kind::Delete
    } else if is(WRITES) {
        Kind::Write
    } else {
        Kind::Read
    };
    let mut look = Look {
        by: &call.name,
        kind,
        only_looks: is(LOOKS) && !is(WRITES) && !is(REMOVES),
        about_data: is_database(call),
        has_data: call.args.keys().any(|key| DATA.contains(&plain(key).as_str())),
        directory: directory_of(&call.args).or_else(|| workspaces.first().cloned()),
        effects: Effects::default(),
        left: MOST,
    };
    let target = Target::Program(call.name.clone());
    look.effects.list.push(Effect::new(Kind::Execute, target, &call.name));
    look.object(&call.args, 0);
    if let Some(line) = program_and_args(&call.args) {
        look.command(&line);
    }
    look.effects
}

struct Look<'a> {
    by: &'a str,
    /// What is done to paths.
    kind: Kind,
    only_looks: bool,
    about_data: bool,
    has_data: bool,
    directory: Option<String>,
    effects: Effects,
    left: usize,
}

impl Look<'_> {
    fn object(&mut self, fields: &Map<String, Json>, depth: usize) {
        for (key, value) in fields {
            self.value(&plain(key), value, depth);
        }
    }

    fn value(&mut self, key: &str, value: &Json, depth: usize) {
        if depth > DEEPEST || self.left == 0 {
            return;
        }
        self.left -= 1;
        match value {
            Json::Object(fields) => self.object(fields, depth + 1),
            Json::Array(items) => {
                if COMMANDS.contains(&key) || key == "args" {
                    let words: Vec<&str> = items.iter().filter_map(Json::as_str).collect();
                    // Words of one command, or one command each.
                    self.command(
                        &words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "),
                    );
                    self.command(&words.join("\n"));
                    return;
                }
                for item in items {
                    self.value(key, item, depth + 1);
                }
            }
            Json::String(text) => self.text(key, text),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    fn text(&mut self, key: &str, text: &str) {
        if COMMANDS.contains(&key) {
            return self.command(text);
        }
        if CODE.contains(&key) {
            return self.code(text);
        }
        if (SQL.contains(&key) || key == "query" && self.about_data) && sql::destroys(text) {
            let target = Target::Thing { what: Thing::Database.name(), name: String::new() };
            let effect = Effect { destroys: true, ..Effect::new(Kind::System, target, self.by) };
            self.push(effect);
        }
        let trimmed = text.trim();
        if trimmed.len() > 4096 || trimmed.contains('\n') {
            return;
        }
        if let Some(rest) = trimmed.strip_prefix("file:") {
            return self.path(Kind::Read, rest.trim_start_matches("//"));
        }
        if let Some((scheme, _)) = trimmed.split_once("://") {
            if scheme.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.'))
                && !trimmed.contains(' ')
            {
                self.url(trimmed);
            }
            return;
        }
        let named = [
            "path",
            "file",
            "filename",
            "filepath",
            "directory",
            "dir",
            "folder",
            "target",
            "destination",
            "source",
            "uri",
        ]
        .iter()
        .any(|name| key.ends_with(name));
        let looks = trimmed.starts_with(['/', '~'])
            || trimmed.starts_with("./")
            || trimmed.starts_with("../");
        if !trimmed.is_empty() && (looks || named) && !trimmed.contains("  ") {
            let reads = key.starts_with("source")
                || key.starts_with("from")
                || key.starts_with("src")
                || key.starts_with("input");
            let kind = if reads && self.kind == Kind::Write { Kind::Read } else { self.kind };
            self.path(kind, trimmed);
        }
    }

    fn command(&mut self, text: &str) {
        let found = analyze(text, &Surroundings { directory: self.directory.clone() });
        let found = super::of_analysis(&found);
        self.effects.list.extend(found.list);
        self.effects.unknowns.extend(found.unknowns);
    }

    /// Code of a language that is not told: what both Python and a shell would make of it.
    fn code(&mut self, text: &str) {
        let mut end = "CODE".to_owned();
        while text.contains(&end) {
            end.push('_');
        }
        self.command(&format!("python3 <<'{end}'\n{text}\n{end}\n"));
    }

    fn path(&mut self, kind: Kind, path: &str) {
        let directory = self.directory.as_deref().map(location::from_text);
        let mut effect = super::of::on_path(kind, path, directory.as_ref(), self.by);
        effect.tree = kind == Kind::Delete;
        self.push(effect);
    }

    fn url(&mut self, url: &str) {
        let sends = !self.only_looks || self.has_data;
        let target = Target::Host(host_of(url).to_owned());
        let effect = Effect { sends, ..Effect::new(Kind::Network, target, self.by) };
        self.push(effect);
    }

    fn push(&mut self, effect: Effect) {
        if !self.effects.list.contains(&effect) {
            self.effects.list.push(effect);
        }
    }
}

/// True if a tool or its server is about a database.
fn is_database(call: &ToolCall) -> bool {
    let server = call.server.as_deref().unwrap_or_default();
    let names = words(&call.name).into_iter().chain(words(server));
    names.into_iter().any(|word| {
        [
            "sql",
            "db",
            "database",
            "postgres",
            "postgresql",
            "mysql",
            "mariadb",
            "sqlite",
            "supabase",
            "bigquery",
            "snowflake",
            "neon",
            "clickhouse",
            "duckdb",
            "mssql",
            "oracle",
            "cockroach",
            "planetscale",
            "turso",
            "redshift",
            "execute",
        ]
        .contains(&word.as_str())
    })
}

/// A command whose program and arguments are apart.
fn program_and_args(args: &Map<String, Json>) -> Option<String> {
    let named = |names: &[&str]| {
        args.iter().find(|(key, _)| names.contains(&plain(key).as_str())).map(|(_, value)| value)
    };
    let program =
        named(&["program", "executable", "binary", "exe", "file", "command", "cmd"])?.as_str()?;
    let rest = named(&["args", "arguments", "argv", "parameters"])?.as_array()?;
    let words = rest.iter().filter_map(Json::as_str).map(quoted);
    Some(std::iter::once(quoted(program)).chain(words).collect::<Vec<_>>().join(" "))
}

/// A word as a shell reads it.
fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn directory_of(args: &Map<String, Json>) -> Option<String> {
    let names = ["cwd", "workdir", "workingdirectory"];
    let (_, value) = args.iter().find(|(key, _)| names.contains(&plain(key).as_str()))?;
    value.as_str().filter(|path| path.starts_with(['/', '~'])).map(str::to_owned)
}

fn plain(name: &str) -> String {
    name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// The words of a name: `readTextFile` and `read_text-file` are `read`, `text`, `file`.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && was_lower);
        was_lower = c.is_lowercase();
        if begins {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut().filter(|_| c.is_alphanumeric()) {
            word.extend(c.to_lowercase());
        }
    }
    words
}
