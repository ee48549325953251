//! The tools are those of the table.

// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tollgate_core::tools::{ArgType, TABLE};
use tollgate_fetch::{Client, Limits};
use tollgate_tools::{Config, Images, Spec, WebSearch, built_in, control};

fn all() -> Config {
    Config {
        fetch: Some(Client::new(Limits::default(), |_: &str, _: u16| true)),
        search: Some(WebSearch::new("http://127.0.0.1:1/search").unwrap()),
        images: Some(Images::new("http://127.0.0.1:1/v1", "m").unwrap()),
        ..Config::default()
    }
}

fn specs() -> Vec<Spec> {
    let built_in = built_in(&all());
    built_in.iter().map(|tool| tool.spec().clone()).chain(control::specs()).collect()
}

#[test]
fn every_tool_of_the_table_is_there_with_its_arguments() {
    let specs = specs();
    let names: BTreeSet<_> = specs.iter().map(|spec| spec.name.as_str()).collect();
    assert_eq!(names, TABLE.iter().map(|tool| tool.name).collect());
    assert_eq!(names.len(), specs.len());
    for tool in TABLE {
        let spec = specs.iter().find(|spec| spec.name == tool.name).unwrap();
        let properties = spec.parameters["properties"].as_object().unwrap();
        // The table says nothing about the arguments of the tools that direct the agent.
        if tool.args.is_empty() {
            continue;
        }
        let own: BTreeSet<_> = properties.keys().map(String::as_str).collect();
        let table: BTreeSet<_> = tool.args.iter().map(|arg| arg.name).collect();
        assert_eq!(own, table, "{}", tool.name);
        let required: Vec<&str> = spec.parameters["required"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(Value::as_str)
            .collect();
        for arg in tool.args {
            let expected = match arg.kind {
                ArgType::Text => "string",
                ArgType::Integer => "integer",
                ArgType::Boolean => "boolean",
                ArgType::List => "array",
                ArgType::Any => continue,
            };
            assert_eq!(properties[arg.name]["type"], expected, "{} of {}", arg.name, tool.name);
            assert!(!arg.required || required.contains(&arg.name), "{} of {}", arg.name, tool.name);
        }
    }
}

#[test]
fn every_argument_is_described_and_every_schema_is_one() {
    for spec in specs() {
        assert!(spec.description.ends_with('.') && spec.description.len() < 400, "{}", spec.name);
        jsonschema::meta::validate(&spec.parameters).unwrap();
        assert_eq!(spec.parameters["type"], "object", "{}", spec.name);
        let text = spec.parameters.to_string();
        assert!(!text.contains("$ref") && !text.contains("\"null\""), "{}: {text}", spec.name);
        for (name, schema) in spec.parameters["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{name} of {}", spec.name);
        }
    }
}

#[test]
fn what_is_not_configured_is_not_offered() {
    let names = |config: &Config| -> BTreeSet<String> {
        built_in(config).iter().map(|tool| tool.spec().name.clone()).collect()
    };
    let all: BTreeSet<_> = names(&all());
    let default = names(&Config::default());
    let only: Vec<_> = all.difference(&default).map(String::as_str).collect();
    assert_eq!(only, ["generate_image", "read_url_content", "search_web"]);
}

#[test]
fn control_arguments_are_read_strictly() {
    let specs = control::specs();
    let spec = specs.iter().find(|spec| spec.name == "manage_subagents").unwrap();
    let read = |args: Value| {
        tollgate_tools::read_args::<control::ManageSubagents>(spec, args.as_object().unwrap())
    };
    assert_eq!(
        read(json!({"Action": "kill", "SubagentId": "a"})).unwrap().action,
        control::SubagentAction::Kill
    );
    let error = read(json!({"Action": "kill", "SubAgentId": "a"})).unwrap_err().to_string();
    assert!(error.contains("did you mean `SubagentId`?"), "{error}");
    let error = read(json!({"Action": "explode"})).unwrap_err().to_string();
    assert!(error.starts_with("`Action` of `manage_subagents` does not fit: "), "{error}");
}
