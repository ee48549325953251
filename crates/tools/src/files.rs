//! Tools for files: view, write, edit, list.

mod diff;
mod edit;
mod list;
mod misses;
mod view;
mod write;

use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::blocking::blocking;
use crate::built_in::{editing_tool, tool};
use crate::config::Limits;
use crate::tool::{Cx, Output, Tool, ToolFailure};

/// Arguments of `view_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct ViewFile {
    /// Absolute path of the file.
    absolute_path: String,
    /// First line to show, counted from 1. Default: the beginning.
    start_line: Option<u64>,
    /// Last line to show, inclusive. Default: as many as fit.
    end_line: Option<u64>,
}

/// Arguments of `write_to_file`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct WriteToFile {
    /// Absolute path of the file. Missing directories are created.
    target_file: String,
    /// All that the file is to contain.
    code_content: String,
    /// Replace the file if it exists. Default: false, and an existing file is an error.
    #[serde(default)]
    overwrite: bool,
}

/// Arguments of `replace_file_content`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct ReplaceFileContent {
    /// Absolute path of the file.
    target_file: String,
    /// The exact text to replace, with its whitespace and without line numbers.
    target_content: String,
    /// What to put in its place.
    replacement_content: String,
    /// First line to look in, counted from 1. Default: the first of the file.
    start_line: Option<u64>,
    /// Last line to look in, inclusive. Default: the last of the file.
    end_line: Option<u64>,
    /// Replace every occurrence. Default: false, and more than one is an error.
    #[serde(default)]
    allow_multiple: bool,
}

impl ReplaceFileContent {
    /// The file, and what is replaced in it.
    fn into_chunks(self) -> (String, Vec<Chunk>) {
        let chunk = Chunk {
            target_content: self.target_content,
            replacement_content: self.replacement_content,
            start_line: self.start_line,
            end_line: self.end_line,
            allow_multiple: self.allow_multiple,
        };
        (self.target_file, vec![chunk])
    }
}

/// One replacement.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct Chunk {
    /// The exact text to replace, with its whitespace and without line numbers.
    target_content: String,
    /// What to put in its place.
    replacement_content: String,
    /// First line to look in, counted from 1. Default: the first of the file.
    start_line: Option<u64>,
    /// Last line to look in, inclusive. Default: the last of the file.
    end_line: Option<u64>,
    /// Replace every occurrence. Default: false, and more than one is an error.
    #[serde(default)]
    allow_multiple: bool,
}

/// Arguments of `multi_replace_file_content`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct MultiReplaceFileContent {
    /// Absolute path of the file.
    target_file: String,
    /// The replacements. Lines and texts are those of the file before any of them; they must not
    /// overlap.
    replacement_chunks: Vec<Chunk>,
}

/// Arguments of `list_dir`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct ListDir {
    /// Absolute path of the directory.
    directory_path: String,
}

pub(crate) fn tools(limits: &Arc<Limits>) -> Vec<Arc<dyn Tool>> {
    vec![
        view_tool(limits),
        write_tool(limits),
        replace_tool(limits),
        multi_tool(limits),
        list_tool(limits),
    ]
}

fn view_tool(limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let limits = Arc::clone(limits);
    tool(
        "view_file",
        "Shows a text file with line numbers, all of it or some lines. Binary files are named \
         and not shown.",
        move |cx, args: ViewFile| {
            let limits = Arc::clone(&limits);
            blocking(move |_| view::view(&cx, &args, &limits).map(Output::new))
        },
    )
}

fn write_tool(limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let (own, shown) = (Arc::clone(limits), Arc::clone(limits));
    editing_tool(
        "write_to_file",
        "Creates a file, and the directories on the way to it. Replaces an existing file only \
         if Overwrite is true.",
        move |cx, args: WriteToFile| {
            let limits = Arc::clone(&own);
            blocking(move |cancel| write::write(&cx, &args, &limits, cancel).map(Output::new))
        },
        move |cx, args: WriteToFile| {
            let limits = Arc::clone(&shown);
            blocking(move |_| write::preview(&cx, &args, &limits))
        },
    )
}

fn replace_tool(limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let (own, shown) = (Arc::clone(limits), Arc::clone(limits));
    editing_tool(
        "replace_file_content",
        "Replaces one piece of text in a file. TargetContent must occur exactly once between \
         StartLine and EndLine, or AllowMultiple must be true.",
        move |cx, args: ReplaceFileContent| {
            let (file, chunks) = args.into_chunks();
            edited(cx, file, chunks, Arc::clone(&own))
        },
        move |cx, args: ReplaceFileContent| {
            let (file, chunks) = args.into_chunks();
            previewed(cx, file, chunks, Arc::clone(&shown))
        },
    )
}

fn multi_tool(limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let (own, shown) = (Arc::clone(limits), Arc::clone(limits));
    editing_tool(
        "multi_replace_file_content",
        "Replaces several pieces of text in one file: all of them, or none if one does not fit.",
        move |cx, args: MultiReplaceFileContent| {
            edited(cx, args.target_file, args.replacement_chunks, Arc::clone(&own))
        },
        move |cx, args: MultiReplaceFileContent| {
            previewed(cx, args.target_file, args.replacement_chunks, Arc::clone(&shown))
        },
    )
}

fn list_tool(limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let limits = Arc::clone(limits);
    tool("list_dir", "Lists a directory: names, kinds and sizes.", move |cx, args: ListDir| {
        let limits = Arc::clone(&limits);
        blocking(move |_| list::list(&cx, &args.directory_path, &limits).map(Output::new))
    })
}

async fn edited(
    cx: Cx,
    file: String,
    chunks: Vec<Chunk>,
    limits: Arc<Limits>,
) -> Result<Output, ToolFailure> {
    blocking(move |cancel| edit::edit(&cx, &file, &chunks, &limits, cancel).map(Output::new)).await
}

async fn previewed(
    cx: Cx,
    file: String,
    chunks: Vec<Chunk>,
    limits: Arc<Limits>,
) -> Result<String, ToolFailure> {
    blocking(move |cancel| edit::preview(&cx, &file, &chunks, &limits, cancel)).await
}
