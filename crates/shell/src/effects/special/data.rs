//! Databases: what the text that they are given destroys.

use crate::effects::arg::Arg;
use crate::effects::row::{A, ALL, B, C, DELETE};
use crate::effects::run::{Call, host_of};
use crate::effects::{Kind, Thing, sql};
use crate::resolve::Input;

fn here(host: &str) -> bool {
    matches!(host, "localhost" | "127.0.0.1" | "::1" | "") || host.starts_with('/')
}

fn reach(call: &mut Call<'_, '_>) {
    if let Some(host) = call.value_of(B) {
        let text = host.text();
        if !here(&text) {
            call.host(text);
        }
    }
}

/// Whether any of the texts destroys something.
fn destroys(call: &Call<'_, '_>, texts: &[Arg<'_>]) -> bool {
    let given = match &call.command.input {
        Input::Text(text) => sql::destroys(&text.to_string()),
        _ => false,
    };
    given || texts.iter().any(|text| sql::destroys(&text.text()))
}

/// Runs what the texts give to a shell.
fn run_escapes(call: &mut Call<'_, '_>, texts: &[Arg<'_>]) {
    let given = match &call.command.input {
        Input::Text(text) => Some(text.to_string()),
        _ => None,
    };
    for text in texts.iter().map(|text| text.text()).chain(given.map(Into::into)) {
        sql::escapes(&text, |code| call.shell(code));
    }
}

/// Whether a line of a store's protocol empties it.
pub(crate) fn flushes(text: &str) -> bool {
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    words.into_iter().any(|word| {
        ["flushall", "flushdb", "flush_all"].iter().any(|gone| word.eq_ignore_ascii_case(gone))
    })
}

/// Clients that take their text as an operand.
pub(crate) fn query(call: &mut Call<'_, '_>) {
    let mut texts = std::mem::take(&mut call.operands);
    texts.extend(call.values_of(A));
    run_escapes(call, &texts);
    let shell = call.by == "hbase";
    let drops = |text: &str| {
        let first = text.split_whitespace().next().unwrap_or("");
        matches!(first, "drop" | "drop_all" | "truncate" | "deleteall" | "disable_all")
    };
    let given = match &call.command.input {
        Input::Text(text) => shell && text.to_string().lines().any(drops),
        _ => false,
    };
    let destroys = given || destroys(call, &texts);
    call.thing(Thing::Database, "", destroys);
}

pub(crate) fn sql(call: &mut Call<'_, '_>) {
    reach(call);
    let texts = call.values_of(A);
    run_escapes(call, &texts);
    let looks = !texts.is_empty() && texts.iter().all(|text| sql::looks(&text.text()));
    let destroys = destroys(call, &texts);
    let named = call.value_of(C).or_else(|| call.operands.first().copied());
    let text = named.map(Arg::text).unwrap_or_default();
    let name = if text.contains("://") {
        let host = host_of(&text);
        if !here(host) {
            call.host(host);
        }
        text.rsplit('/').next().unwrap_or("").split('?').next().unwrap_or("").to_owned()
    } else {
        text.into_owned()
    };
    if destroys || !looks {
        call.thing(Thing::Database, name, destroys);
    }
}

pub(crate) fn sqlite(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let Some((&file, texts)) = operands.split_first() else { return };
    let mut texts = texts.to_vec();
    texts.extend(call.values_of(A));
    run_escapes(call, &texts);
    if file.is(":memory:") {
        return;
    }
    let restores = texts.iter().any(|text| text.prefix().trim_start().starts_with(".restore"));
    let destroys = restores || destroys(call, &texts);
    call.path(Kind::Read, file, false);
    let looks = !texts.is_empty() && texts.iter().all(|text| sql::looks(&text.text()));
    if !call.has(ALL) && !looks {
        call.path(Kind::Write, file, false);
        call.thing(Thing::Database, file.text(), destroys);
    }
    for text in &texts {
        dot_commands(call, &text.text());
    }
}

/// `.output`, `.read` and their like.
fn dot_commands(call: &mut Call<'_, '_>, text: &str) {
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let first = words.next();
        match (first, words.next()) {
            (Some(".output" | ".once" | ".backup" | ".save" | ".log"), Some(file))
                if !file.trim_start_matches(['\'', '"']).starts_with('|') =>
            {
                call.path_text(Kind::Write, file, false);
            }
            (Some(".read" | ".import" | ".open" | ".restore"), Some(file)) => {
                call.path_text(Kind::Read, file, false);
            }
            _ => {}
        }
    }
}

pub(crate) fn mongo(call: &mut Call<'_, '_>) {
    reach(call);
    let drops = |code: &str| {
        let code: String = code.chars().filter(|letter| !letter.is_whitespace()).collect();
        // A name that is put together from pieces.
        let joined: String =
            code.chars().filter(|letter| !matches!(letter, '"' | '\'' | '+' | '[' | ']')).collect();
        let gone = [
            "dropDatabase(",
            ".drop(",
            "deleteMany({})",
            ".remove({})",
            "dropUser(",
            "dropAllUsers",
            "dropRole(",
            "updateMany({},",
            "shutdownServer(",
            "({shutdown:",
            "({dropDatabase:",
        ];
        gone.iter().any(|gone| code.contains(gone) || joined.contains(gone))
    };
    let given = match &call.command.input {
        Input::Text(text) => drops(&text.to_string()),
        _ => false,
    };
    let destroys = given || call.values_of(A).iter().any(|code| drops(&code.text()));
    let name = call.operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
    if name.contains("://") && !here(host_of(&name)) {
        call.host(host_of(&name));
    }
    call.thing(Thing::Database, name, destroys);
}

pub(crate) fn redis(call: &mut Call<'_, '_>) {
    reach(call);
    let words = std::mem::take(&mut call.operands);
    let verb = words.first().map(|word| word.text().to_ascii_uppercase()).unwrap_or_default();
    let given = match &call.command.input {
        Input::Text(text) => flushes(&text.to_string()),
        _ => false,
    };
    let second = words.get(1).map(|word| word.text().to_ascii_uppercase()).unwrap_or_default();
    let third = words.get(2).map(|word| word.text().to_ascii_lowercase()).unwrap_or_default();
    let gone = match verb.as_str() {
        "FLUSHALL" | "FLUSHDB" | "SHUTDOWN" | "SWAPDB" => true,
        "DEBUG" => {
            matches!(second.as_str(), "SEGFAULT" | "PANIC" | "RESTART" | "CRASH-AND-RECOVER")
        }
        "CLUSTER" => matches!(second.as_str(), "RESET" | "FORGET" | "FLUSHSLOTS"),
        // Where the data is kept: a way to write files anywhere.
        "CONFIG" => second == "SET" && matches!(third.as_str(), "dir" | "dbfilename"),
        "EVAL" => flushes(&second),
        "XTRIM" => words.last().is_some_and(|word| word.is("0")),
        "DEL" | "UNLINK" => call.is_fed(),
        _ => false,
    };
    let leaves = call.value_of(C).is_some_and(|verb| verb.is("del-node"));
    let destroys = given || gone || leaves;
    let looks = matches!(
        verb.as_str(),
        "GET"
            | "KEYS"
            | "SCAN"
            | "INFO"
            | "PING"
            | "TTL"
            | "TYPE"
            | "EXISTS"
            | "LRANGE"
            | "HGETALL"
            | "HGET"
            | "SMEMBERS"
            | "DBSIZE"
            | "MONITOR"
            | "MGET"
            | "ZRANGE"
            | "STRLEN"
            | "LLEN"
    );
    if destroys || !looks {
        call.thing(Thing::Database, verb, destroys);
    }
}

pub(crate) fn dump(call: &mut Call<'_, '_>) {
    reach(call);
}

/// `rails db:drop`, `rake db:reset`.
pub(crate) fn rails(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    // What tests work on is made anew each time.
    let tests = call.command.variables.iter().any(|(name, value)| {
        matches!(name.as_str(), "RAILS_ENV" | "RACK_ENV") && value.known() == Some("test")
    }) || words.iter().any(|word| word.is("RAILS_ENV=test"));
    for word in &words {
        let text = word.text();
        if let Some(task) = text.strip_prefix("db:") {
            let gone =
                ["drop", "reset", "purge", "truncate_all", "schema:load", "migrate:reset", "setup"];
            let destroys = !tests
                && gone.iter().any(|name| task == *name || task.starts_with(&format!("{name}:")));
            call.thing(Thing::Database, text, destroys);
        }
    }
    call.program(call.by.clone());
}

/// Tools that change schemas: which words take everything away.
pub(crate) fn migrate(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let gone = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "drop"
                | "reset"
                | "fresh"
                | "drop-all"
                | "dropAll"
                | "db:drop"
                | "schema:drop"
                | "migrate:fresh"
                | "migrate:reset"
                | "db:wipe"
                | "migrate:refresh"
                | "db:migrate:undo:all"
                | "database:drop"
                | "sql:drop"
                | "sql-drop"
                | "ecto.drop"
                | "ecto.reset"
                | "wipe"
                | "down-to"
        )
    };
    let back = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "down"
                | "--down"
                | "revert"
                | "undo"
                | "rollback"
                | "migrate:rollback"
                | "ecto.rollback"
                | "downgrade"
        )
    };
    // One step back is what migrations are for; all of them is another matter.
    let all =
        call.command.argv.iter().any(|word| matches!(word.known(), Some("--all" | "-all" | "all")));
    let base =
        |pair: &[Arg<'_>]| matches!(pair, [verb, to] if verb.is("downgrade") && to.is("base"));
    let destroys = words.iter().any(gone)
        || words.windows(2).any(base)
        || (all && words.iter().any(back))
        || match &*call.by {
            "flyway" | "atlas" => words.iter().any(|word| word.is("clean")),
            "drizzle-kit" => words.iter().any(|word| word.is("--force")),
            _ => false,
        };
    let looks = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "status"
                | "info"
                | "history"
                | "current"
                | "list"
                | "validate"
                | "generate"
                | "heads"
                | "show"
                | "version"
                | "create"
                | "revision"
        )
    };
    if destroys || !words.iter().any(looks) {
        call.thing(Thing::Database, "", destroys);
    }
    call.program(call.by.clone());
}

/// An older client takes text with an option, a newer one has subcommands.
pub(crate) fn influx(call: &mut Call<'_, '_>) {
    if call.value_of(A).is_some() {
        query(call);
    } else {
        store(call);
    }
}

/// Frameworks of which only some subcommands are about their database.
pub(crate) fn framework(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let is = |index: usize, names: &[&str]| {
        words.get(index).is_some_and(|word| names.iter().any(|name| word.is(name)))
    };
    let destroys = match &*call.by {
        "flask" => is(0, &["db"]) && is(1, &["downgrade"]) && is(2, &["base"]),
        "wp" => {
            (is(0, &["db"]) && is(1, &["reset", "drop", "clean"]))
                || (is(0, &["site"]) && is(1, &["empty", "delete"]))
        }
        "dotnet" => {
            (is(0, &["ef"]) && is(1, &["database"]) && is(2, &["drop"]))
                || (is(0, &["nuget"]) && is(1, &["delete"]))
        }
        "dotnet-ef" => is(0, &["database"]) && is(1, &["drop"]),
        "magento" => is(0, &["setup:uninstall"]),
        "mix" => {
            is(0, &["ecto.drop", "ecto.reset"]) || (is(0, &["ecto.rollback"]) && is(1, &["--all"]))
        }
        _ => false,
    };
    if destroys {
        call.thing(Thing::Database, "", true);
    }
    call.program(call.by.clone());
}

/// `hdfs dfs -rm -r /data`: files that are on many machines.
pub(crate) fn hadoop(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let has = |name: &str| words.iter().any(|word| word.is(name));
    let recursive = has("-rm") && (has("-r") || has("-R"));
    if recursive || has("-rmr") || has("-format") || has("-expunge") || has("-deleteSnapshot") {
        let name = words.last().map(|word| word.text().into_owned()).unwrap_or_default();
        call.thing(Thing::Filesystem, name, true);
    }
    call.host("$?");
}

/// Stores of keys and messages.
pub(crate) fn store(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let gone = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "del"
                | "delete"
                | "reset"
                | "force_reset"
                | "delete_queue"
                | "purge_queue"
                | "delete_vhost"
                | "purge"
                | "rm"
                | "remove"
                | "kv-delete"
        )
    };
    let destroys = call.has(DELETE) || words.iter().any(gone);
    let name = words.last().map(|word| word.text().into_owned()).unwrap_or_default();
    call.thing(Thing::Database, name, destroys);
}
