//! `tollgate schema`

use clap::ValueEnum;
use schemars::Schema;
use serde_json::{Map, Value};
use tollgate_config::dialect::host::HostDialect;
use tollgate_config::dialect::{antigravity, claude, codex, gemini, harness, polytoken};
use tollgate_config::settings;

use crate::exit::Exit;
use crate::out::Out;
use crate::problem::Problem;

/// Print the JSON Schema of a hook file, or of what handlers read and answer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  tollgate schema hooks-json > hooks.schema.json
  tollgate schema polytoken answer --event pre_tool_use
  tollgate schema config")]
pub(crate) struct Args {
    /// Whose
    dialect: Of,
    /// What of it
    #[arg(default_value = "file")]
    part: Part,
    /// Only this event, in the words of the dialect: for `input` and `answer`
    #[arg(long, value_name = "NAME")]
    event: Option<String>,
}

/// What has a schema.
#[derive(Debug, Clone, Copy, ValueEnum)]
enum Of {
    /// Antigravity's hooks.json
    #[value(alias = "antigravity")]
    HooksJson,
    /// Polytoken's hooks.json
    Polytoken,
    /// Claude Code's settings
    Claude,
    /// Codex's hooks.json
    Codex,
    /// Gemini CLI's settings
    Gemini,
    /// The frontmatter of Markdown hooks
    Harness,
    /// Tollgate's own config.toml
    Config,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The file itself
    File,
    /// What a handler reads, by event
    Input,
    /// What a handler answers, by event
    Answer,
}

type ByEvent = Vec<(&'static str, Schema)>;

pub(crate) fn run(args: &Args, out: &mut Out) -> Result<Exit, Problem> {
    let none = |what: &str| {
        Err(Problem::new(format!("{what} have no handlers that read and answer JSON"))
            .help("leave `input` or `answer` out, or name a dialect whose hooks are commands"))
    };
    let by_event = match (args.dialect, args.part) {
        (Of::Claude, part) => return of_host(args, &claude::CLAUDE, part, out),
        (Of::Codex, part) => return of_host(args, &codex::CODEX, part, out),
        (Of::Gemini, part) => return of_host(args, &gemini::GEMINI, part, out),
        (Of::HooksJson, Part::File) => return whole(args, &antigravity::file_schema(), out),
        (Of::Polytoken, Part::File) => return whole(args, &polytoken::file_schema(), out),
        (Of::Harness, Part::File) => return whole(args, &harness::frontmatter_schema(), out),
        (Of::Config, Part::File) => return whole(args, &settings::schema(), out),
        (Of::HooksJson, Part::Input) => antigravity::input_schemas(),
        (Of::HooksJson, Part::Answer) => antigravity::answer_schemas(),
        (Of::Polytoken, Part::Input) => polytoken::input_schemas(),
        (Of::Polytoken, Part::Answer) => polytoken::answer_schemas(),
        (Of::Harness, _) => return none("Markdown hooks"),
        (Of::Config, _) => return none("settings"),
    };
    out.json(&one_or_all(by_event, args.event.as_deref())?);
    Ok(Exit::Fine)
}

fn of_host(args: &Args, host: &HostDialect, part: Part, out: &mut Out) -> Result<Exit, Problem> {
    let by_event = match part {
        Part::File => return whole(args, &host.file_schema(), out),
        Part::Input => host.input_schemas(),
        Part::Answer => host.answer_schemas(),
    };
    out.json(&one_or_all(by_event, args.event.as_deref())?);
    Ok(Exit::Fine)
}

fn whole(args: &Args, schema: &Schema, out: &mut Out) -> Result<Exit, Problem> {
    if args.event.is_some() {
        return Err(Problem::new("a file has one schema for all events")
            .help("`--event` goes with `input` or `answer`"));
    }
    out.json(schema);
    Ok(Exit::Fine)
}

/// The schema of one event, or those of all by their names.
fn one_or_all(by_event: ByEvent, event: Option<&str>) -> Result<Value, Problem> {
    let mut all: Map<String, Value> =
        by_event.into_iter().map(|(name, schema)| (name.to_owned(), schema.into())).collect();
    let Some(event) = event else { return Ok(Value::Object(all)) };
    all.remove(event).ok_or_else(|| {
        let names: Vec<_> = all.keys().map(String::as_str).collect();
        Problem::new(format!("it has no event `{event}`"))
            .help(format!("its events are {}", names.join(", ")))
    })
}
