//! The file that everybody uses: `{"mcpServers": {"name": {"command": …} | {"url": …}}}`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, MapAccess, Visitor};

use crate::config::{Limits, ServerConfig, Tools, Transport};
use crate::error::McpError;
use crate::text::Text;

/// How many bytes a file may have.
const LARGEST: usize = 1024 * 1024;

/// What is wrong with a file, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}{place}: {why}", at(*.line))]
pub struct FileError {
    /// Which part: `mcpServers.files.env`, for example; `.` is the whole.
    pub place: String,
    /// In which line, where that is known.
    pub line: Option<usize>,
    /// What is wrong with it.
    pub why: String,
}

fn at(line: Option<usize>) -> String {
    line.map(|line| format!("line {line}: ")).unwrap_or_default()
}

/// The servers of a file, in its order.
///
/// Each has a `command` (with `args`, `env`, `cwd`) or a `url` (with `headers`), and may have
/// `enabledTools` or `disabledTools`, `startTimeoutMs`, `callTimeoutMs` and `maxOutputBytes`. In
/// the values of `env` and `headers`, `${NAME}` is the value of an environment variable. A field
/// that is not known is an error.
///
/// ```
/// let text = r#"{"mcpServers": {"files": {"command": "mcp-files", "arg": ["/srv"]}}}"#;
/// let error = tollgate_mcp::from_json(text).unwrap_err();
/// assert_eq!(error.place, "mcpServers.files.arg");
/// assert!(error.to_string().starts_with("line 1: mcpServers.files.arg: unknown field `arg`"));
/// ```
pub fn from_json(text: &str) -> Result<Vec<ServerConfig>, FileError> {
    let whole = |why: String| FileError { place: ".".to_owned(), line: None, why };
    if text.len() > LARGEST {
        return Err(whole(format!("has more than {LARGEST} bytes, which is the limit")));
    }
    let mut reader = serde_json::Deserializer::from_str(text);
    let file: File = serde_path_to_error::deserialize(&mut reader).map_err(|error| {
        let place = error.path().to_string();
        read_error(place, error.inner())
    })?;
    reader.end().map_err(|error| read_error(".".to_owned(), &error))?;
    file.servers.0.into_iter().map(|(name, entry)| entry.read(name)).collect()
}

fn read_error(place: String, error: &serde_json::Error) -> FileError {
    // It ends with the place in its own words.
    let why = error.to_string();
    let why = why.rsplit_once(" at line ").map_or(why.as_str(), |(why, _)| why);
    let line = Some(error.line()).filter(|line| *line > 0);
    FileError { place, line, why: why.to_owned() }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(rename = "mcpServers")]
    servers: Entries<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Entry {
    r#type: Option<Kind>,
    command: Option<String>,
    args: Option<Vec<String>>,
    env: Option<Entries<Written>>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    headers: Option<Entries<Written>>,
    enabled_tools: Option<BTreeSet<String>>,
    disabled_tools: Option<BTreeSet<String>>,
    start_timeout_ms: Option<u64>,
    call_timeout_ms: Option<u64>,
    max_output_bytes: Option<usize>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
enum Kind {
    #[serde(rename = "stdio")]
    Stdio,
    #[serde(rename = "http", alias = "streamable-http", alias = "streamableHttp")]
    Http,
}

/// A text, as it is written in a file.
struct Written(Text);

impl<'de> Deserialize<'de> for Written {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Self).map_err(D::Error::custom)
    }
}

/// An object in its order. A name that is there twice is an error: nobody can tell which was
/// meant.
struct Entries<T>(Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Entries<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut seen = BTreeSet::new();
                let mut entries = Vec::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(A::Error::custom(format_args!("`{name}` is there twice")));
                    }
                    entries.push((name, map.next_value()?));
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(Reader(PhantomData))
    }
}

impl Entry {
    fn read(self, name: String) -> Result<ServerConfig, FileError> {
        let server = format!("mcpServers.{name}");
        let wrong = |field: &str, why: &str| {
            let place = if field.is_empty() { server.clone() } else { format!("{server}.{field}") };
            Err(FileError { place, line: None, why: why.to_owned() })
        };
        let texts = |entries: Option<Entries<Written>>| -> BTreeMap<String, Text> {
            let entries = entries.map(|entries| entries.0).unwrap_or_default();
            entries.into_iter().map(|(name, text)| (name, text.0)).collect()
        };
        let transport = match (self.command, self.url) {
            (Some(_), Some(_)) => return wrong("", "has a `command` and a `url`; which is meant?"),
            (None, None) => return wrong("", "needs a `command` or a `url`"),
            (Some(_), None) if self.r#type == Some(Kind::Http) => {
                return wrong("type", "is one of a `url`, but there is a `command`");
            }
            (None, Some(_)) if self.r#type == Some(Kind::Stdio) => {
                return wrong("type", "is one of a `command`, but there is a `url`");
            }
            (Some(_), None) if self.headers.is_some() => {
                return wrong("headers", "are for servers with a `url`");
            }
            (Some(command), None) => {
                let args = self.args.unwrap_or_default();
                let cwd = self.cwd;
                let plain = [("command", command.as_str())];
                let cwd_text = cwd.as_ref().and_then(|cwd| cwd.to_str()).map(|cwd| ("cwd", cwd));
                let args_text = args.iter().map(|arg| ("args", arg.as_str()));
                for (field, text) in plain.into_iter().chain(cwd_text).chain(args_text) {
                    if text.contains("${") {
                        return wrong(field, ONLY_THERE);
                    }
                }
                Transport::Stdio { command, args, env: texts(self.env), cwd }
            }
            (None, Some(_)) if self.args.is_some() || self.env.is_some() || self.cwd.is_some() => {
                return wrong("", "has `args`, `env` or `cwd`, which are for a `command`");
            }
            (None, Some(url)) if url.contains("${") => return wrong("url", ONLY_THERE),
            (None, Some(url)) => Transport::Http { url, headers: texts(self.headers) },
        };
        let tools = match (self.enabled_tools, self.disabled_tools) {
            (Some(_), Some(_)) => {
                return wrong("", "has `enabledTools` and `disabledTools`; which is meant?");
            }
            (Some(names), None) => Tools::Only(names),
            (None, Some(names)) => Tools::Except(names),
            (None, None) => Tools::All,
        };
        let usual = Limits::default();
        let limits = Limits {
            start: self.start_timeout_ms.map_or(usual.start, Duration::from_millis),
            call: self.call_timeout_ms.map_or(usual.call, Duration::from_millis),
            output: self.max_output_bytes.unwrap_or(usual.output),
            ..usual
        };
        let config = ServerConfig { name, transport, tools, limits };
        match config.check() {
            Ok(()) => Ok(config),
            Err(McpError::Config { place, why, .. }) => wrong(&place, &why),
            Err(error) => wrong("", &error.to_string()),
        }
    }
}

const ONLY_THERE: &str = "variables are put into `env` and `headers` only, and `${` is one";
