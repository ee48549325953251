//! The tables of `docs/hosts.md` are made of the code.
//!
//! `UPDATE=1 cargo test -p tollgate-hosts --test page` writes them anew.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs};

use tollgate_hosts::{ALL, Form, Host, HostEvent};

const BEGIN: &str = "<!-- begin: made by `UPDATE=1 cargo test -p tollgate-hosts --test page` -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_page_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/hosts.md");
    let page = fs::read_to_string(&path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let made = format!("{before}{BEGIN}{}{END}{after}", tables());
    if env::var_os("UPDATE").is_some() {
        fs::write(&path, made).unwrap();
    } else {
        assert!(made == page, "docs/hosts.md is out of date: UPDATE=1 writes it anew");
    }
}

fn tables() -> String {
    let mut text = String::new();
    for host in ALL {
        events(host, &mut text);
        tools(host, &mut text);
    }
    text
}

fn events(host: &Host, text: &mut String) {
    let _ = write!(text, "\n### {}: `tollgate hook {}`\n\n", host.title, host.name);
    text.push_str("| event | its name | refuse | ask | allow | rewrite | context | go on |\n");
    text.push_str("|---|---|---|---|---|---|---|---|\n");
    for HostEvent { name, kind, gate, registered, forms } in host.events {
        let mark = if *gate { " !" } else { "" };
        let name =
            if *registered { format!("`{name}`{mark}") } else { format!("(`{name}`{mark})") };
        let cells =
            [forms.refuse, forms.ask, forms.allow, forms.rewrite, forms.context, forms.resume];
        let cells = cells.map(word).join(" | ");
        let _ = writeln!(text, "| {kind} | {name} | {cells} |");
    }
}

const fn word(form: Form) -> &'static str {
    match form {
        Form::Own => "yes",
        Form::Told => "told",
        Form::Terminal => "terminal",
        Form::Beside => "beside",
        Form::Refused => "refused",
        Form::Lost => "lost",
        Form::None => "",
    }
}

fn tools(host: &Host, text: &mut String) {
    let mut names: Vec<(&str, Vec<&str>)> = Vec::new();
    for tool in host.tools {
        match names.iter_mut().find(|(ours, _)| *ours == tool.tool) {
            Some((_, theirs)) => theirs.push(tool.native),
            None => names.push((tool.tool, vec![tool.native])),
        }
    }
    text.push_str("\nTools: ");
    let shown = names.iter().map(|(ours, theirs)| {
        let theirs: Vec<_> = theirs.iter().map(|name| format!("`{name}`")).collect();
        format!("{} is `{ours}`", theirs.join(", "))
    });
    if host.tools.iter().all(|tool| tool.native == tool.tool) {
        text.push_str("those of Tollgate's table, under the same names");
    } else {
        text.push_str(&shown.collect::<Vec<_>>().join("; "));
    }
    let mcp = host.mcp;
    let _ = match host.wire.mcp_tool() {
        Some(tool) => writeln!(text, "; an MCP tool is called through `{tool}`."),
        None => writeln!(text, "; an MCP tool is `{}SERVER{}TOOL`.", mcp.prefix, mcp.separator),
    };
}
