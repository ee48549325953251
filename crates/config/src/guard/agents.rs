//! Finds command lines that start another agent without its hooks.
//!
//! An agent that an agent starts has the same hooks, unless an option or a variable says otherwise. Options that
//! skip permission prompts count as well, because a hook's `ask` is such a prompt.

use tollgate_shell::Command;

use super::command_line::pattern;
use super::places::Places;
use super::readers::{is_message, is_plain};
use crate::trust::words::{HOLE, Line};

/// Options and variables that leave hooks out, of one agent.
struct Agent {
    /// Names of its programs and packages.
    programs: &'static [&'static str],
    /// Options beside [`OPTIONS`]. `--x=y` matches this value only, `--x=*y` any value that contains it; values
    /// are compared in lower case.
    options: &'static [&'static str],
    /// Environment variables beside [`HOMES`].
    variables: &'static [&'static str],
}

/// Options that mean the same in every agent that has them.
const OPTIONS: &[&str] = &["--yolo", "--bare", "--safe-mode", "--settings", "--setting-sources"];

/// Prefixes of further options: `--dangerously-skip-permissions`, `--dangerously-bypass-hook-trust`.
const DANGEROUS: &[&str] = &["--dangerously-", "--allow-dangerously-"];

/// Variables that give any program another home directory.
const HOMES: &[&str] = &["HOME", "XDG_CONFIG_HOME"];

const AGENTS: &[Agent] = &[
    Agent {
        programs: &["claude", "claude-code"],
        options: &["--permission-mode=bypasspermissions"],
        variables: &["CLAUDE_CONFIG_DIR", "CLAUDE_CODE_SIMPLE"],
    },
    Agent {
        programs: &["codex"],
        options: &["--disable=*hooks", "-c=*hooks", "--config=*hooks", "--ignore-user-config"],
        variables: &["CODEX_HOME"],
    },
    Agent {
        programs: &["gemini", "gemini-cli"],
        options: &["-y", "--approval-mode=yolo"],
        variables: &[
            "GEMINI_CLI_HOME",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
            "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
        ],
    },
    Agent {
        programs: &["qwen", "qwen-code"],
        options: &["-y", "--approval-mode=yolo"],
        variables: &["QWEN_HOME", "QWEN_CODE_SYSTEM_SETTINGS_PATH"],
    },
    Agent {
        programs: &["copilot"],
        options: &["--allow-all-tools", "--allow-all", "--config-dir"],
        variables: &["COPILOT_HOME", "COPILOT_ALLOW_ALL"],
    },
    Agent {
        programs: &["kimi", "kimi-cli"],
        options: &["-y", "--yes", "--auto-approve", "--config", "--config-file"],
        variables: &["KIMI_SHARE_DIR", "KIMI_CODE_HOME"],
    },
    Agent {
        programs: &["droid"],
        options: &["--skip-permissions-unsafe"],
        variables: &["FACTORY_HOME"],
    },
    Agent { programs: &["cline"], options: &["-y", "--config"], variables: &["CLINE_DIR"] },
    Agent {
        programs: &["opencode", "opencode-ai"],
        options: &["--pure"],
        variables: &["OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT"],
    },
    // No hooks are known of this one, so what it runs unasked nobody sees.
    Agent { programs: &["aider"], options: &["--yes-always", "--yes"], variables: &[] },
    Agent {
        programs: &["cursor-agent"],
        options: &["-f", "--force"],
        variables: &["CURSOR_CONFIG_DIR"],
    },
    Agent {
        programs: &["cursor", "windsurf", "antigravity", "agy", "code", "code-insiders"],
        options: &["--user-data-dir"],
        variables: &[],
    },
    Agent { programs: &["polytoken"], options: &[], variables: &["POLYTOKEN_CONFIG_DIR"] },
    // Only this subcommand of Tollgate is an agent.
    Agent {
        programs: &["tollgate run"],
        options: &["--allow-all"],
        variables: &["XDG_STATE_HOME"],
    },
];

/// Maximum number of words behind an agent's name in code that are taken for its arguments.
const MOST_WORDS: usize = 12;

impl Agent {
    fn of(program: &str) -> Option<&'static Self> {
        let name = program.rsplit('/').next().unwrap_or_default();
        // `npx @openai/codex@latest`
        let name = name.split('@').find(|part| !part.is_empty()).unwrap_or_default();
        AGENTS.iter().find(|agent| agent.programs.contains(&name))
    }

    /// Returns the first of these arguments that leaves hooks out.
    fn told<'w>(&self, words: &'w [String]) -> Option<&'w str> {
        // `codex features disable hooks`
        let is_off = |word: &String| matches!(word.as_str(), "disable" | "remove" | "uninstall");
        let off = words.iter().skip_while(|word| !is_off(word)).nth(1);
        if let Some(hooks) = off.filter(|word| word.to_lowercase().contains("hook")) {
            return Some(hooks);
        }
        let mut rest = words.iter().map(String::as_str).peekable();
        while let Some(word) = rest.next() {
            // A prompt follows, or the arguments of another program.
            if word == "--" {
                return None;
            }
            let (option, value) = match word.split_once('=') {
                Some((option, value)) => (option, Some(value)),
                None => (word, rest.peek().copied()),
            };
            let value = value.unwrap_or_default().to_lowercase();
            let is_it = |known: &&'static str| match known.split_once('=') {
                Some((known, part)) if option == known => match part.strip_prefix('*') {
                    Some(part) => value.contains(part),
                    None => value == part,
                },
                Some(_) => false,
                None => option == *known,
            };
            let is_told = OPTIONS.iter().chain(self.options).any(is_it)
                || DANGEROUS.iter().any(|begin| option.starts_with(begin))
                // `claude config set disableAllHooks true`, `gemini … hooksConfig.enabled=false`
                || (option.eq_ignore_ascii_case("disableallhooks") && value.starts_with(['t', '1', 'y']))
                || (option.to_lowercase().starts_with("hooksconfig") && !value.is_empty());
            if is_told {
                return Some(word);
            }
        }
        None
    }
}

/// True if a program is an agent, whose arguments are prose.
pub(super) fn is_agent(program: &str) -> bool {
    Agent::of(program).is_some()
}

/// Returns the option or variable by which a line starts an agent without the hooks in force.
pub(super) fn switched_off(places: &Places, line: &str, commands: &[Command]) -> Option<String> {
    commands.iter().enumerate().find_map(|(at, command)| {
        let words: Vec<String> = command.argv.iter().map(pattern).collect();
        let (program, arguments) = words.split_first()?;
        let of_tollgate = || Agent::of(&format!("{program} {}", arguments.first()?));
        let Some(agent) = Agent::of(program).or_else(of_tollgate) else {
            return in_code(command, &words);
        };
        let option = agent.told(arguments).map(str::to_owned);
        option.or_else(|| {
            let own = command.variables.iter().map(|(name, value)| (name.clone(), pattern(value)));
            let before = commands.iter().take(at).flat_map(set_for_later);
            let mut given = own.chain(before).chain(assigned(line));
            given.find_map(|(name, value)| {
                let is_home = HOMES.contains(&name.as_str());
                let counts = is_home || agent.variables.contains(&name.as_str());
                // `HOME=$HOME` changes nothing.
                let is_same = is_home && name == "HOME" && is_own_home(places, &value);
                (counts && !is_same).then_some(name)
            })
        })
    })
}

fn is_own_home(places: &Places, value: &str) -> bool {
    let value = value.trim_end_matches('/');
    value == "~" || places.home().and_then(|home| home.to_str()) == Some(value)
}

/// Returns the variables that a command sets for the commands behind it: `export X=y`, `env X=y agent`.
fn set_for_later(command: &Command) -> Vec<(String, String)> {
    let words: Vec<String> = command.argv.iter().map(pattern).collect();
    let sets = words.first().is_some_and(|program| {
        let name = program.rsplit('/').next().unwrap_or_default();
        matches!(name, "export" | "env" | "declare" | "typeset" | "setenv" | "sudo" | "doas")
    });
    let assigned = words.iter().skip(1).filter(|_| sets).filter_map(|word| word.split_once('='));
    assigned.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Returns the variables that a line sets for the rest of itself: `X=y; agent`.
fn assigned(line: &str) -> Vec<(String, String)> {
    let line = Line::parse(line);
    let alone =
        line.commands.iter().map(|command| command.parts()).filter(|(_, own)| own.is_empty());
    let assigned = alone.flat_map(|(assigned, _)| assigned);
    assigned
        .filter_map(|word| word.assignment())
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect()
}

/// Returns the option in code, or in a word that a program may run: an agent's name with the option close behind.
fn in_code(command: &Command, words: &[String]) -> Option<String> {
    if is_plain(words, &command.variables) || is_message(words) {
        return None;
    }
    let is_of_word = |c: char| c.is_alphanumeric() || "-_./@=".contains(c);
    words.iter().skip(1).filter(|word| word.contains([' ', ',', '('])).find_map(|code| {
        let tokens: Vec<String> = code
            .split(|c: char| !is_of_word(c) || c == HOLE)
            .filter(|token| !token.is_empty())
            .map(str::to_owned)
            .collect();
        tokens.iter().enumerate().find_map(|(at, token)| {
            let agent = Agent::of(token)?;
            let behind = tokens.get(at + 1..).unwrap_or_default();
            // In code, `-y` may be anything.
            let behind: Vec<String> = behind
                .iter()
                .take(MOST_WORDS)
                .filter(|word| word.starts_with("--"))
                .cloned()
                .collect();
            agent.told(&behind).map(str::to_owned)
        })
    })
}
