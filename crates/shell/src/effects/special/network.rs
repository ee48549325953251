//! Other machines: what is sent, what is fetched and where to.

use crate::effects::arg::Arg;
use crate::effects::row::{A, ALL, B, C, D, DELETE, FORCE, INPLACE, LOOK, NONE, TARGET, TREE};
use crate::effects::run::{Call, host_of};
use crate::effects::special::data::flushes;
use crate::effects::{Kind, Thing};
use crate::resolve::Input;

/// The last name in an address, without its query.
fn file_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let path = rest.split(['?', '#']).next().unwrap_or(rest);
    match path.trim_end_matches('/').rsplit_once('/') {
        Some((_, name)) => name,
        None => "index.html",
    }
}

pub(crate) fn curl(call: &mut Call<'_, '_>) {
    let mut urls = std::mem::take(&mut call.operands);
    urls.extend(call.values_of(ALL));
    let sends = !call.values_of(D).is_empty() || !call.values_of(C).is_empty();
    // Through these it goes to another machine than the address says.
    let through: Vec<String> = call
        .values_of(TREE)
        .iter()
        .map(|proxy| host_of(&proxy.text()).to_owned())
        .chain(call.values_of(DELETE).iter().map(|to| reached(&to.text()).to_owned()))
        .collect();
    for host in through {
        call.goes_through(&host);
    }
    for &url in &urls {
        let text = url.text();
        if let Some(path) = text.strip_prefix("file://") {
            call.path_text(Kind::Read, path, false);
        } else {
            call.connect(host_of(&text), sends);
        }
    }
    if urls.is_empty() && call.has(INPLACE) {
        call.connect("$?", true);
        if call.is_given_input() {
            call.goes_through("$?");
        }
    }
    let deletes = call.value_of(FORCE).is_some_and(|verb| verb.is("DELETE"));
    for &url in &urls {
        removes(call, url, deletes);
    }
    for body in call.values_of(D) {
        let text = body.text();
        let file = text.strip_prefix('@').or_else(|| text.split_once("=@").map(|(_, file)| file));
        let file = file.or_else(|| text.split_once("=<").map(|(_, file)| file));
        let file = file.map(|file| file.split(';').next().unwrap_or(file));
        if let Some(file) = file.filter(|file| *file != "-") {
            call.path_text(Kind::Read, file, false);
        }
    }
    for file in call.values_of(C) {
        call.path(Kind::Read, file, false);
    }
    let directory = call.value_of(TARGET);
    for file in call.values_of(A) {
        match (directory, file.known()) {
            (Some(directory), Some(name)) => call.path_in(Kind::Write, directory, name, false),
            _ => call.path(Kind::Write, file, false),
        }
    }
    if call.has(B) {
        for url in urls {
            let text = url.text();
            save(call, directory, file_of(&text));
        }
    }
}

/// The machine behind `host:port:address` of `--resolve`, and `host:port:host:port` of `--connect-to`.
fn reached(text: &str) -> &str {
    text.split(':').nth(2).filter(|host| !host.is_empty()).unwrap_or(text)
}

/// Tells where a login leads, and whether something is handed to it.
pub(crate) fn ssh(call: &mut Call<'_, '_>) {
    let Some(&host) = call.operands.first() else { return };
    let sends = call.is_given_input();
    let text = host.text();
    call.connect(host_of(&text), sends);
    // Others get in by way of a port that is opened there.
    if call.command.argv.iter().any(|word| word.prefix().starts_with("-R")) {
        call.thing(Thing::Firewall, "tunnel", false);
    }
}

/// A question for a name goes to whoever serves its domain, and so does what the name is made of.
pub(crate) fn names(call: &mut Call<'_, '_>) {
    let fed = call.is_given_input();
    for name in std::mem::take(&mut call.operands) {
        let text = name.text();
        let made = text.starts_with("$?") && text.contains("$?.")
            || name.prefix().is_empty() && text.len() > 2;
        call.connect(host_of(text.trim_start_matches('@')), fed || made);
        if made {
            call.thing(Thing::Environment, "name", false);
        }
    }
}

/// Mail goes to whoever it is for.
pub(crate) fn mail(call: &mut Call<'_, '_>) {
    let to = call.operands.last().map(|to| host_of(&to.text()).to_owned());
    call.send(to.unwrap_or_else(|| "$?".to_owned()));
}

/// Something is asked to go away at an address.
fn removes(call: &mut Call<'_, '_>, url: Arg<'_>, deletes: bool) {
    let text = url.text();
    let by_query = text.contains("/_delete_by_query");
    if !deletes && !by_query {
        return;
    }
    let local = matches!(host_of(&text), "localhost" | "127.0.0.1" | "[::1]" | "0.0.0.0" | "::1");
    // What is tried out here is mostly one's own; a store of documents has its own port.
    let store = by_query || text.contains(":9200");
    call.thing(Thing::Cloud, text.as_ref(), !local || store);
}

fn save(call: &mut Call<'_, '_>, directory: Option<Arg<'_>>, name: &str) {
    match directory {
        Some(directory) => call.path_in(Kind::Write, directory, name, false),
        None if name.contains("$?") => {
            let here = crate::value::Value::text(".");
            call.pattern_in(Kind::Write, Arg::new(&here), name, false);
        }
        None => call.path_text(Kind::Write, name, false),
    }
}

pub(crate) fn wget(call: &mut Call<'_, '_>) {
    let urls = std::mem::take(&mut call.operands);
    let deletes = call.value_of(FORCE).is_some_and(|verb| verb.is("DELETE"));
    let sends = !call.values_of(D).is_empty();
    for &url in &urls {
        call.connect(host_of(&url.text()), sends);
        removes(call, url, deletes);
    }
    if urls.is_empty() && call.has(INPLACE) {
        call.host("$?");
    }
    if call.has(LOOK) {
        return;
    }
    let directory = call.value_of(TARGET);
    match call.value_of(A) {
        Some(file) => call.path(Kind::Write, file, false),
        None if call.has(TREE | INPLACE) => call.unpack(directory),
        None => {
            for url in urls {
                let text = url.text();
                save(call, directory, file_of(&text));
            }
        }
    }
}

/// `http POST host/path field=value field=@file`.
pub(crate) fn httpie(call: &mut Call<'_, '_>) {
    let mut address = true;
    let mut deletes = false;
    for word in std::mem::take(&mut call.operands) {
        let text = word.text();
        let verb = text.chars().all(|letter| letter.is_ascii_uppercase()) || text == "delete";
        if address && !text.is_empty() && verb {
            deletes |= text.eq_ignore_ascii_case("delete");
            continue;
        }
        if std::mem::take(&mut address) {
            removes(call, word, deletes);
            let host = host_of(&text);
            call.host(if host.is_empty() { "localhost" } else { host });
        } else if let Some((_, file)) = text.split_once('@') {
            call.path_text(Kind::Read, file, false);
            call.send("$?");
        }
    }
}

pub(crate) fn keygen(call: &mut Call<'_, '_>) {
    if call.has(LOOK) {
        return;
    }
    if call.has(DELETE) {
        call.path_text(Kind::Write, "~/.ssh/known_hosts", false);
        return;
    }
    // It asks before it writes over a key; here the answer is given beforehand.
    if matches!(call.command.input, Input::Pipe | Input::Text(_)) && !call.has(B) {
        let file = call.value_of(A).map(Arg::text).unwrap_or_default();
        if file.is_empty() || file.contains("/.ssh/") {
            call.thing(Thing::Secret, file, true);
        }
    }
    if let Some(file) = call.value_of(A) {
        call.path(Kind::Write, file, false);
    } else {
        let home = crate::effects::location::from_text("~/.ssh");
        call.pattern_in(Kind::Write, Arg::new(&home), "id_*", false);
    }
}

pub(crate) fn netcat(call: &mut Call<'_, '_>) {
    let host = call.operands.first().copied();
    if let Input::Text(text) = &call.command.input
        && flushes(&text.to_string())
    {
        call.thing(Thing::Database, "", true);
    }
    let sends = call.is_given_input();
    if call.has(LOOK) || call.has(NONE) {
        call.connect("$?", sends);
    } else if let Some(host) = host {
        call.connect(host.text(), sends);
    }
}

/// `TCP:host:port`, `EXEC:program`, `FILE:path`.
pub(crate) fn socat(call: &mut Call<'_, '_>) {
    for address in std::mem::take(&mut call.operands) {
        let text = address.text();
        let Some((kind, rest)) = text.split_once(':') else { continue };
        let first = rest.split([':', ',']).next().unwrap_or(rest);
        let kind = kind.to_ascii_lowercase();
        if kind.contains("listen") || kind.ends_with("-l") {
            call.send("$?");
        } else if kind.starts_with("tcp")
            || kind.starts_with("udp")
            || kind.starts_with("openssl")
            || kind.starts_with("ssl")
        {
            call.send(first);
        } else if kind.starts_with("exec") || kind.starts_with("system") {
            call.program(first.split_whitespace().next().unwrap_or("sh"));
        } else if matches!(kind.as_str(), "open" | "file" | "gopen" | "create" | "creat") {
            call.path_text(Kind::Read, first, false);
            call.path_text(Kind::Write, first, false);
        }
    }
}

pub(crate) fn iptables(call: &mut Call<'_, '_>) {
    // A policy is what happens to all that no rule is about.
    let destroys = call.has(FORCE) || call.value_of(A).is_some() || shuts_all_out(call);
    if destroys || !call.has(LOOK) {
        call.thing(Thing::Firewall, "", destroys);
    }
}

/// A rule that lets nothing in or out, whatever it is.
fn shuts_all_out(call: &Call<'_, '_>) -> bool {
    let words = call.command.argv.get(1..).unwrap_or(&[]);
    let drops = words.iter().any(|word| matches!(word.known(), Some("DROP" | "REJECT")));
    let known = [
        "-A", "-I", "-j", "INPUT", "OUTPUT", "FORWARD", "DROP", "REJECT", "1", "--append",
        "--insert", "--jump", "-w",
    ];
    drops && words.iter().all(|word| word.known().is_some_and(|word| known.contains(&word)))
}

/// Without this service nobody gets in any more.
pub(crate) fn firewall(call: &mut Call<'_, '_>) {
    if call.value_of(A).is_some_and(|service| service.is("ssh")) {
        call.thing(Thing::Firewall, "ssh", true);
    }
}

pub(crate) fn nft(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let joined = words.first().map(|word| word.text().into_owned()).unwrap_or_default();
    let verb = joined.split_whitespace().next().unwrap_or("");
    match verb {
        "flush" | "delete" | "destroy" => call.thing(Thing::Firewall, "", true),
        "list" | "monitor" | "describe" => {}
        _ => call.thing(Thing::Firewall, "", false),
    }
}

pub(crate) fn ip(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let name = words.first().map(|word| word.text().into_owned()).unwrap_or_default();
    let mut destroys = false;
    let mut changes = false;
    for word in words.iter().skip(1) {
        match word.prefix() {
            "flush" | "del" | "delete" | "down" | "d" | "de" | "f" | "fl" => destroys = true,
            "add" | "set" | "up" | "change" | "replace" | "exec" | "append" => changes = true,
            _ => {}
        }
    }
    if destroys || changes {
        call.thing(Thing::Network, name, destroys);
    }
}

pub(crate) fn interface(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let down = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "down" | "del" | "delete" | "flush" | "off" | "delbr" | "disconnect"
        )
    };
    let loses = words
        .windows(2)
        .any(|pair| matches!(pair, [what, much] if what.is("loss") && much.is("100%")));
    let looks = |word: &Arg<'_>| {
        matches!(word.prefix(), "show" | "status" | "list" | "dev" | "get" | "query" | "info")
    };
    let destroys = call.by == "ifdown" || loses || words.iter().any(down);
    let name = words.first().map(|word| word.text().into_owned()).unwrap_or_default();
    if destroys {
        call.thing(Thing::Network, name, true);
    } else if words.len() > 1 && !words.iter().any(looks)
        || matches!(&*call.by, "ifup" | "dhclient" | "netplan")
    {
        call.thing(Thing::Network, name, false);
    }
}
