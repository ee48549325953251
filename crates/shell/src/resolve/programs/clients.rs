//! Programs with a language of their own, who run what is typed into them where their arguments do not tell them what to
//! do: clients of databases, debuggers, clients that copy files.

use super::super::Input;
use super::super::walk::Walker;
use crate::value::Value;

struct Client {
    names: &'static [&'static str],
    /// Options by which they are told what to do.
    told: &'static [&'static str],
    /// From how many operands on they are told.
    operands: usize,
}

const CLIENTS: &[Client] = &[
    Client {
        names: &["psql", "pgcli", "usql"],
        told: &["-c", "--command", "-f", "--file", "-l", "--list"],
        operands: usize::MAX,
    },
    Client {
        names: &["mysql", "mariadb", "mycli", "mysqlsh"],
        told: &["-e", "--execute", "--file"],
        operands: usize::MAX,
    },
    Client {
        names: &["clickhouse-client", "cqlsh", "sqlcmd"],
        told: &["-q", "-Q", "--query", "-e", "--execute", "-f", "--file", "-i"],
        operands: usize::MAX,
    },
    Client { names: &["sqlite3", "sqlite", "duckdb", "litecli"], told: &["-c"], operands: 2 },
    Client { names: &["mongosh", "mongo"], told: &["--eval", "-f", "--file"], operands: 2 },
    Client { names: &["redis-cli", "valkey-cli"], told: &["--"], operands: 1 },
    Client {
        names: &["gdb", "lldb"],
        told: &["-batch", "--batch", "-x", "-ex", "-b"],
        operands: usize::MAX,
    },
    Client {
        names: &["sftp", "lftp", "ftp"],
        told: &["-b", "-c", "-e", "-f"],
        operands: usize::MAX,
    },
];

/// Notes that a client is left to what is typed into it.
pub(super) fn run(walker: &mut Walker, name: &str, arguments: &[Value], input: &Input) {
    if *input != Input::Inherited {
        return;
    }
    let Some(client) = CLIENTS.iter().find(|client| client.names.contains(&name)) else { return };
    let is_told = |argument: &Value| {
        let prefix = argument.prefix();
        client.told.iter().any(|option| match option.strip_prefix("--") {
            Some(_) => prefix.starts_with(option),
            // Clusters (`-Atc`) and values in the same word (`-cselect`) too.
            None if option.len() == 2 => {
                !prefix.starts_with("--")
                    && prefix.starts_with('-')
                    && option.chars().nth(1).is_some_and(|letter| prefix.contains(letter))
            }
            None => prefix == *option,
        })
    };
    let operands = arguments.iter().filter(|argument| !argument.prefix().starts_with('-')).count();
    let mut known = arguments.iter().filter_map(Value::known);
    let tells_itself = known.any(|it| matches!(it, "--version" | "--help" | "-V" | "-?"));
    if operands < client.operands && !tells_itself && !arguments.iter().any(is_told) {
        walker.typed_into(name);
    }
}
