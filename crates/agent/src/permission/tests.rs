// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::indexing_slicing)]

use super::*;

fn covers(grant: &str, call: &ToolCall) -> bool {
    let grants = Grants::default();
    grants.add(grant.parse().unwrap(), GrantedBy::Person);
    grants.cover(call)
}

#[test]
fn a_grant_covers_what_it_names_and_nothing_beside_it() {
    let write =
        |path: &str| ToolCall::new("write_to_file").arg("TargetFile", path).arg("CodeContent", "");
    let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
    let url = |url: &str| ToolCall::new("read_url_content").arg("Url", url);
    let mcp = |tool: &str| ToolCall::new(tool).server("github");
    for (grant, call, wanted) in [
        ("command(npm test)", run("npm test"), true),
        ("command(npm test)", run(" npm test "), true),
        ("command(npm test)", run("npm test --all"), false),
        ("command(npm *)", run("npm test --all"), true),
        ("command(npm *)", run("npm test && rm -rf ~"), false),
        ("command(npm *)", run("npm test $(id)"), false),
        ("command(npm *)", run("npm test > /etc/passwd"), false),
        ("command(npm *)", run("npm test\nid"), false),
        ("command(*)", run("npmx"), true),
        ("read_file(/nowhere/a)", view("/nowhere/a"), true),
        ("read_file(/nowhere/*)", view("/nowhere/a"), true),
        ("read_file(/nowhere/*)", view("/nowhere/a/b"), false),
        ("read_file(/nowhere/**)", view("/nowhere/a/b"), true),
        ("read_file(/nowhere/**)", view("/nowhere/../elsewhere/b"), false),
        ("read_file(/nowhere/a)", write("/nowhere/a"), false),
        ("write_file(/nowhere/a)", view("/nowhere/a"), false),
        ("write_file(/nowhere/a)", write("/nowhere/a"), true),
        ("read_url(https://docs.rs/*)", url("https://docs.rs/x/y"), true),
        ("read_url(https://docs.rs/*)", url("https://docs.rs.evil.example/x"), false),
        ("mcp(github/*)", mcp("delete"), true),
        ("mcp(github/list)", mcp("delete"), false),
        ("mcp(git/*)", mcp("list"), false),
        ("tool(schedule)", ToolCall::new("schedule"), true),
    ] {
        assert_eq!(covers(grant, &call), wanted, "{grant}: {call:?}");
    }
}

fn run(line: &str) -> ToolCall {
    ToolCall::new("run_command").arg("CommandLine", line)
}

#[test]
fn what_was_used_is_granted_to_the_letter() {
    let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
    let url = |url: &str| ToolCall::new("read_url_content").arg("Url", url);
    let mcp = |tool: &str| ToolCall::new(tool).server("github");
    for (used, other) in [
        (run("cat *"), run("cat /home/me/.ssh/id_rsa")),
        (run("rm *.tmp"), run("rm -rf precious x.tmp")),
        (run("rm -rf build/*"), run("rm -rf build/../../home/me")),
        (run("ls [ab]"), run("ls a")),
        (run("make"), run("make").arg("Cwd", "/elsewhere")),
        (run("ls"), run("ls\u{a0}")),
        (view("/nowhere/app/[id]/page.tsx"), view("/nowhere/app/i/page.tsx")),
        (view("/nowhere/*"), view("/nowhere/secret")),
        (url("https://h/s?q=1"), url("https://h/sxq=1")),
        (url("https://h/*"), url("https://h/x")),
        (mcp("*"), mcp("delete")),
    ] {
        let grants = Grants::below("/nowhere");
        grants.add_used(&used, GrantedBy::Person);
        assert!(grants.cover(&used), "{used:?}");
        assert!(!grants.cover(&other), "{used:?}: {other:?}");
        assert!(!grants.list().iter().any(|grant| grant.is_pattern));
    }
}

#[test]
fn what_was_approved_and_what_was_written_as_a_pattern_are_two_things() {
    let grants = Grants::below("/nowhere");
    grants.add_used(&run("echo *"), GrantedBy::Person);
    grants.add("command(echo *)".parse().unwrap(), GrantedBy::Setup);
    grants.add("command(echo *)".parse().unwrap(), GrantedBy::Hook);
    assert!(grants.cover(&run("echo hi")));
    let listed = serde_json::to_value(grants.list()).unwrap();
    assert_eq!(
        listed,
        serde_json::json!([
            {"resource": "command(echo *)", "by": "person"},
            {"resource": "command(echo *)", "by": "setup", "is_pattern": true},
        ])
    );
}

#[test]
fn a_command_is_granted_in_its_directory() {
    let grants = Grants::below("/nowhere");
    let there = run("make clean").arg("Cwd", "/elsewhere");
    grants.add_used(&there, GrantedBy::Person);
    assert!(grants.cover(&there) && !grants.cover(&run("make clean")));
    assert_eq!(grants.list()[0].directory.as_deref(), Some("/elsewhere"));
    // Who writes a grant means the command, wherever.
    assert!(covers("command(make *)", &there) && covers("command(make clean)", &there));
}

#[test]
fn who_may_read_a_file_may_not_send_it_away() {
    let send = ToolCall::new("generate_image")
        .arg("Prompt", "a cat")
        .arg("ImagePaths", serde_json::json!(["/nowhere/a.png"]));
    let grants = Grants::default();
    grants.add("read_file(/nowhere/**)".parse().unwrap(), GrantedBy::Person);
    assert!(!grants.cover(&send));
    grants.add("tool(generate_image)".parse().unwrap(), GrantedBy::Person);
    assert!(grants.cover(&send));
    assert!(!covers("tool(generate_image)", &send));
}

#[test]
fn a_star_in_an_address_stays_in_the_host_or_behind_it() {
    let url = |url: &str| ToolCall::new("read_url_content").arg("Url", url);
    for (grant, used, wanted) in [
        ("read_url(https://*.github.com/*)", "https://api.github.com/x", true),
        ("read_url(https://*.github.com/*)", "https://API.GitHub.com:443/x?y#z", true),
        ("read_url(https://*.github.com/*)", "https://evil.example/.github.com/x", false),
        ("read_url(https://*.github.com/*)", "https://evil.example?.github.com/x", false),
        ("read_url(https://*.github.com/*)", "https://evil.example\\.github.com/x", false),
        ("read_url(https://*.github.com/*)", "https://evil.example#.github.com/x", false),
        ("read_url(https://*.github.com/*)", "https://a.github.com@evil.example/x", false),
        ("read_url(https://*.github.com/*)", "https://me@a.github.com/x", false),
        ("read_url(https://*.github.com/*)", "https://a.github.com:8443/x", false),
        ("read_url(https://*.github.com/*)", "http://a.github.com/x", false),
        ("read_url(https://docs.rs/a/*)", "https://docs.rs/a/b", true),
        ("read_url(https://docs.rs/a/*)", "https://docs.rs/a/../b", false),
        ("read_url(https://docs.rs/a/*)", "https://docs.rs/a/%2e%2e/b", false),
        ("read_url(https://docs.rs/s?q=*)", "https://docs.rs/s?q=1", true),
        ("read_url(https://docs.rs/s?q=*)", "https://docs.rs/sxq=1", false),
        ("read_url(https://docs.rs)", "https://docs.rs/", true),
        ("read_url(*)", "https://docs.rs/", false),
        ("read_url(*://docs.rs/*)", "https://docs.rs/", false),
        ("read_url(https://docs.rs:*/)", "https://docs.rs:1/", false),
    ] {
        assert_eq!(covers(grant, &url(used)), wanted, "{grant}: {used}");
    }
    assert_eq!(resources(&url("no address"), None), None);
}

#[test]
fn a_link_is_not_the_place_it_leads_to() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    std::os::unix::fs::symlink("/etc/hosts", root.join("link")).unwrap();
    let grant = format!("read_file({}/*)", root.display());
    let view = |name: &str| {
        ToolCall::new("view_file").arg("AbsolutePath", root.join(name).to_str().unwrap())
    };
    assert!(covers(&grant, &view("file")));
    assert!(!covers(&grant, &view("link")));
}

#[test]
fn a_path_that_does_not_begin_at_the_root_is_below_the_workspace() {
    let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
    let grants = Grants::below("/nowhere");
    grants.add("read_file(/nowhere/a)".parse().unwrap(), GrantedBy::Person);
    assert!(grants.cover(&view("a")) && grants.cover(&view("./b/../a")));
    assert!(!grants.cover(&view("../a")));
    assert!(!covers("read_file(/nowhere/a)", &view("a")));
}

#[test]
fn what_is_asked_for_covers_what_it_says() {
    let directory = tempfile::tempdir().unwrap();
    let root = directory.path().canonicalize().unwrap();
    let path = |name: &str| root.join(name).to_str().unwrap().to_owned();
    fs::create_dir_all(root.join("app/[id]")).unwrap();
    fs::write(root.join("app/[id]/page"), "").unwrap();
    std::os::unix::fs::symlink(root.join("app"), root.join("link")).unwrap();
    let view = |path: &str| ToolCall::new("view_file").arg("AbsolutePath", path);
    let list = |path: &str| ToolCall::new("list_dir").arg("DirectoryPath", path);
    let asked = |kind, target: &str| {
        let grants = Grants::below(&root);
        let grant = grants.asked_for(kind, target).unwrap();
        let shown = grant.resource.to_string();
        grants.put(grant);
        (grants, shown)
    };
    // A directory, however it is written, is all below it.
    for target in ["app", "./app/", "link", "app/**", "link/**", &path("app"), &path("link")] {
        let (grants, shown) = asked(ResourceKind::ReadFile, target);
        assert_eq!(shown, format!("read_file({}/**)", path("app")), "{target}");
        assert!(grants.cover(&view("app/[id]/page")) && grants.cover(&list("link")));
        assert!(!grants.cover(&view("other")) && !grants.cover(&list(".")), "{target}");
    }
    // What is there is meant, and not what its name could stand for.
    let (grants, _) = asked(ResourceKind::ReadFile, "app/[id]/page");
    assert!(grants.cover(&view("app/[id]/page")) && !grants.cover(&view("app/i/page")));
    let (grants, _) = asked(ResourceKind::ReadFile, "app/[id]");
    assert!(grants.cover(&view("link/[id]/page")) && !grants.cover(&view("app/i/page")));
    let (grants, _) = asked(ResourceKind::ReadFile, "link/*/page");
    assert!(grants.cover(&view("app/[id]/page")) && !grants.cover(&view("app/page")));
    let (grants, _) = asked(ResourceKind::Command, "npm *");
    assert!(grants.cover(&run("npm test")) && !grants.cover(&run("npm test; id")));
    let (grants, _) = asked(ResourceKind::Command, "npm");
    assert!(grants.cover(&run("npm")) && !grants.cover(&run("npm test")));
    let grants = Grants::below(&root);
    for (kind, target) in [
        (ResourceKind::ReadFile, " "),
        (ResourceKind::ReadFile, "app/*/../../**"),
        (ResourceKind::ReadUrl, "docs.rs"),
        (ResourceKind::ReadUrl, "*://docs.rs/*"),
    ] {
        assert!(grants.asked_for(kind, target).is_err(), "{target}");
    }
    assert!(Grants::default().asked_for(ResourceKind::ReadFile, "no-such").is_err());
}

#[test]
fn what_is_no_resource_says_how_to_write_one() {
    for text in ["", "npm test", "command()", "command(x", "shell(x)"] {
        let error = text.parse::<Resource>().unwrap_err().to_string();
        assert!(error.contains("command(npm test)"), "{error}");
    }
}
