//! The hosts, as data. What was measured with the real programs says so in the comments; for Cursor,
//! Windsurf, VS Code, Antigravity and Polytoken it is what their documents say.

use crate::target::{
    Field, Form, GateValue, Groups, Home, JsonForm, Layer, Need, Off, Place, Refusing, Start,
    Switch, Syntax, Target,
};

/// What Codex reads: comments and commas too many make it ignore the whole file without a word (measured).
const CODEX: JsonForm = json(Some("hooks"), CLAUDE_LIKE);

const BASH: Start = Start::Shell(&["/bin/bash", "-c"]);
const SH: Start = Start::Shell(&["/bin/sh", "-c"]);

/// Claude Code's shape of a hook, which others have taken over, for a shell.
const CLAUDE_LIKE: &[Field] = &[Field::Type, Field::Command("command"), Field::Seconds("timeout")];

const fn json(under: Option<&'static str>, fields: &'static [Field]) -> JsonForm {
    JsonForm {
        under,
        named: false,
        syntax: Syntax::Strict,
        versioned: false,
        groups: Groups::Bare,
        fields,
    }
}

const fn at(path: &'static str, form: JsonForm) -> Place {
    Place { path, form: Form::Json(form) }
}

const fn always(words: &'static str) -> Need {
    Need { layer: None, words }
}

const fn in_project(words: &'static str) -> Need {
    Need { layer: Some(Layer::Project), words }
}

/// Comments and commas too many make it ignore the whole file without a word (measured). `args` beside
/// the command starts the program without a shell, and `onFailure` refuses what is no answer, a missing
/// program included (measured in this form).
///
/// The empty matcher is for Copilot, which reads this file as well, knows no `args`, and would start the
/// bare program: there an empty matcher never matches, at any event (measured).
const CLAUDE: JsonForm = JsonForm {
    groups: Groups::EmptyMatcher,
    ..json(
        Some("hooks"),
        &[
            Field::Type,
            Field::Direct,
            Field::Seconds("timeout"),
            Field::WhenGate("onFailure", GateValue::Word("block")),
        ],
    )
};

/// Reads comments; a comma too many and it does not start (measured).
const GEMINI: JsonForm = JsonForm {
    syntax: Syntax::Comments,
    ..json(
        Some("hooks"),
        &[Field::Type, Field::Name, Field::Command("command"), Field::Milliseconds("timeout")],
    )
};

/// Its own form, without a matcher: an empty one never matches.
const COPILOT: JsonForm = JsonForm {
    versioned: true,
    groups: Groups::None,
    ..json(Some("hooks"), &[Field::Type, Field::Command("bash"), Field::Seconds("timeoutSec")])
};

const COPILOT_SETTINGS: JsonForm = JsonForm { syntax: Syntax::Loose, ..COPILOT };

/// Reads comments; a comma too many and it reads nothing (measured).
const QWEN: JsonForm = JsonForm { syntax: Syntax::Comments, ..json(Some("hooks"), CLAUDE_LIKE) };

/// Reads comments; a comma too many and it reads nothing (measured). In the file of its settings the
/// events are under a key, in that of hooks alone at the top.
const fn droid(under: Option<&'static str>) -> JsonForm {
    JsonForm { syntax: Syntax::Comments, ..json(under, CLAUDE_LIKE) }
}

/// What it reads of JSON is not known, so whatever there may be is left as it is. With `failClosed` an
/// empty answer is a refusal too: no opinion has to be `{}`.
const CURSOR: JsonForm = JsonForm {
    syntax: Syntax::Loose,
    versioned: true,
    groups: Groups::None,
    ..json(
        Some("hooks"),
        &[
            Field::Command("command"),
            Field::Seconds("timeout"),
            Field::WhenGate("failClosed", GateValue::True),
        ],
    )
};

const WINDSURF: JsonForm = JsonForm {
    syntax: Syntax::Loose,
    groups: Groups::None,
    ..json(Some("hooks"), &[Field::Command("command")])
};

const VSCODE: JsonForm =
    JsonForm { syntax: Syntax::Loose, groups: Groups::None, ..json(Some("hooks"), CLAUDE_LIKE) };

/// Hooks have names here, under which their events are. Before a tool it has no silence: what Tollgate has
/// no opinion about is a question to the person, so it is asked about what writes, runs something or
/// reaches out of the machine, and not about each file that is read. Who wants it otherwise has
/// `--all-tools`, or writes another matcher, which stays.
const ANTIGRAVITY: JsonForm = JsonForm {
    named: true,
    groups: Groups::Matched(&[
        (
            "PreToolUse",
            "run_command|write_to_file|replace_file_content|multi_replace_file_content|\
             read_url_content|search_web|generate_image|call_mcp_tool|browser_.*",
        ),
        ("PostToolUse", "*"),
    ]),
    ..json(Some("tollgate"), CLAUDE_LIKE)
};

/// All hosts.
pub(crate) static ALL: &[Target] = &[
    Target {
        name: "claude",
        title: "Claude Code",
        asks_for_trust: false,
        programs: &["claude"],
        home: Home::by("CLAUDE_CONFIG_DIR", ".claude"),
        user: Some(at("settings.json", CLAUDE)),
        project: Some(at(".claude/settings.json", CLAUDE)),
        also: &[(Layer::Project, at(".claude/settings.local.json", CLAUDE))],
        traces: &[],
        start: Start::Direct,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[Switch { at: "/disableAllHooks", is: Off::True }],
        undoing: None,
        needs: &[
            always("sessions of Claude Code that run now read it when they are started again"),
            in_project(
                "who starts Claude Code here for the first time has to say that they trust the folder",
            ),
            in_project(
                "VS Code and Cursor can be set to read .claude/settings.json too, and know no `args`: \
                 leave that off, and install into them instead",
            ),
        ],
    },
    Target {
        name: "codex",
        title: "Codex",
        asks_for_trust: true,
        programs: &["codex"],
        home: Home::by("CODEX_HOME", ".codex"),
        user: Some(at("hooks.json", CODEX)),
        project: Some(at(".codex/hooks.json", CODEX)),
        also: &[
            (Layer::User, Place { path: "config.toml", form: Form::Switches }),
            (Layer::Project, Place { path: ".codex/config.toml", form: Form::Switches }),
        ],
        traces: &[],
        start: BASH,
        // What it gives to the end of a session, whatever is configured.
        refusing: Refusing::Exit,
        short: &[("SessionEnd", 3)],
        switches: &[
            Switch { at: "/features/hooks", is: Off::False },
            Switch { at: "/features/codex_hooks", is: Off::False },
        ],
        undoing: None,
        needs: &[
            always(
                "Codex runs no hook that you have not trusted, and does not say so: start `codex`, type \
                 /hooks and trust those of Tollgate, again whenever they change; `codex exec \
                 --dangerously-bypass-hook-trust` runs them without",
            ),
            in_project(
                "the project has to be a trusted one: `codex` asks when it is started in it",
            ),
        ],
    },
    Target {
        name: "gemini",
        title: "Gemini CLI",
        asks_for_trust: false,
        programs: &["gemini"],
        home: Home::at(".gemini"),
        user: Some(at("settings.json", GEMINI)),
        project: Some(at(".gemini/settings.json", GEMINI)),
        also: &[],
        traces: &[],
        start: BASH,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[
            Switch { at: "/hooksConfig/enabled", is: Off::False },
            Switch { at: "/hooksConfig/disabled", is: Off::Names },
        ],
        undoing: None,
        needs: &[in_project(
            "Gemini CLI reads the settings of folders that you trust: /permissions in it says so, or \
             GEMINI_CLI_TRUST_WORKSPACE=true where nobody is there to ask",
        )],
    },
    Target {
        name: "copilot",
        title: "GitHub Copilot CLI",
        asks_for_trust: false,
        programs: &["copilot"],
        home: Home::by("COPILOT_HOME", ".copilot"),
        user: Some(at("hooks/tollgate.json", COPILOT)),
        project: Some(at(".github/hooks/tollgate.json", COPILOT)),
        also: &[
            (Layer::User, at("settings.json", COPILOT_SETTINGS)),
            (Layer::Project, at(".github/copilot/settings.json", COPILOT_SETTINGS)),
        ],
        traces: &[],
        start: Start::Shell(&["/bin/bash", "--norc", "--noprofile", "-c"]),
        // A failure refuses a tool, and nothing else.
        refusing: Refusing::ItsWay,
        short: &[],
        switches: &[Switch { at: "/disableAllHooks", is: Off::True }],
        undoing: None,
        needs: &[in_project(
            "Copilot ignores the hooks of a folder that is not trusted, and does not say so: trust it when \
             `copilot` asks, or start it with --trust-folder",
        )],
    },
    Target {
        name: "qwen",
        title: "Qwen Code",
        asks_for_trust: false,
        programs: &["qwen"],
        home: Home::by("QWEN_HOME", ".qwen"),
        user: Some(at("settings.json", QWEN)),
        project: Some(at(".qwen/settings.json", QWEN)),
        also: &[],
        traces: &[],
        start: BASH,
        // Exit code 2 with a text says nothing after a tool, and an allow of another hook undoes it before.
        refusing: Refusing::ItsWay,
        short: &[],
        switches: &[Switch { at: "/disableAllHooks", is: Off::True }],
        undoing: Some(
            "what Tollgate only asks about goes on if this one allows it; a refusal holds",
        ),
        needs: &[in_project(
            "where folder trust is on, Qwen Code reads the settings of folders that you trust",
        )],
    },
    Target {
        name: "kimi",
        title: "Kimi Code",
        asks_for_trust: false,
        programs: &["kimi"],
        home: Home::by("KIMI_CODE_HOME", ".kimi-code"),
        user: Some(Place { path: "config.toml", form: Form::Toml }),
        project: None,
        also: &[],
        traces: &[],
        start: SH,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: None,
        needs: &[],
    },
    Target {
        name: "droid",
        title: "Factory Droid",
        asks_for_trust: false,
        programs: &["droid"],
        home: Home::at(".factory"),
        user: Some(at("settings.json", droid(Some("hooks")))),
        project: Some(at(".factory/hooks.json", droid(None))),
        also: &[
            (Layer::User, at("hooks.json", droid(None))),
            (Layer::Project, at(".factory/settings.json", droid(Some("hooks")))),
        ],
        traces: &[],
        start: SH,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: Some(
            "if this one stands before Tollgate and allows, what Tollgate rewrites is not rewritten; a refusal holds",
        ),
        needs: &[],
    },
    Target {
        name: "cline",
        title: "Cline",
        asks_for_trust: false,
        programs: &["cline"],
        home: Home::by("CLINE_DIR", ".cline"),
        user: Some(Place { path: "hooks", form: Form::Scripts }),
        project: Some(Place { path: ".clinerules/hooks", form: Form::Scripts }),
        also: &[],
        traces: &[],
        start: Start::Script,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: None,
        needs: &[always(
            "a refusal ends the whole run of Cline: it has no other way, and the model is not told why",
        )],
    },
    Target {
        name: "opencode",
        title: "OpenCode",
        asks_for_trust: false,
        programs: &["opencode"],
        home: Home {
            own_variable: None,
            variable: Some("XDG_CONFIG_HOME"),
            below: "opencode",
            folder: ".config/opencode",
        },
        user: Some(Place { path: "plugin/tollgate.js", form: Form::Plugin }),
        project: Some(Place { path: ".opencode/plugin/tollgate.js", form: Form::Plugin }),
        also: &[],
        traces: &[],
        start: Start::Plugin,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: None,
        needs: &[],
    },
    Target {
        name: "cursor",
        title: "Cursor",
        asks_for_trust: false,
        programs: &["cursor", "cursor-agent"],
        home: Home::at(".cursor"),
        user: Some(at("hooks.json", CURSOR)),
        project: Some(at(".cursor/hooks.json", CURSOR)),
        also: &[],
        traces: &[],
        start: SH,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: None,
        needs: &[in_project("Cursor runs the hooks of a workspace that you trust")],
    },
    Target {
        name: "windsurf",
        title: "Windsurf",
        asks_for_trust: false,
        programs: &["windsurf"],
        home: Home::at(".codeium/windsurf"),
        user: Some(at("hooks.json", WINDSURF)),
        project: Some(at(".windsurf/hooks.json", WINDSURF)),
        also: &[],
        traces: &[],
        start: BASH,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: None,
        needs: &[],
    },
    Target {
        name: "vscode",
        title: "Visual Studio Code",
        asks_for_trust: false,
        programs: &["code", "code-insiders"],
        home: Home::by("COPILOT_HOME", ".copilot"),
        user: Some(at("hooks/tollgate-vscode.json", VSCODE)),
        project: Some(at(".github/hooks/tollgate-vscode.json", VSCODE)),
        also: &[],
        traces: &[".vscode", ".config/Code"],
        start: SH,
        refusing: Refusing::Exit,
        short: &[],
        switches: &[],
        undoing: None,
        needs: &[
            always("hooks of agents are a preview in VS Code, which an organisation can turn off"),
            in_project("the workspace has to be a trusted one"),
            always("Copilot CLI looks into the same folder, and runs what is registered there too"),
        ],
    },
    Target {
        name: "antigravity",
        title: "Antigravity",
        programs: &["antigravity", "agy"],
        home: Home::at(".gemini/config"),
        user: Some(at("hooks.json", ANTIGRAVITY)),
        project: Some(at(".agents/hooks.json", ANTIGRAVITY)),
        also: &[],
        // What is beside it in the folder is Gemini CLI's.
        traces: &[".gemini/config", ".gemini/antigravity", ".antigravity"],
        start: SH,
        // It goes by what is printed.
        refusing: Refusing::ItsWay,
        short: &[],
        switches: &[Switch { at: "/tollgate/enabled", is: Off::False }],
        asks_for_trust: false,
        undoing: None,
        needs: &[always(
            "what Tollgate has no opinion about, Antigravity asks you about, unless you have told it \
             \"always\": a hook before a tool cannot say nothing",
        )],
    },
    Target {
        name: "polytoken",
        title: "Polytoken",
        programs: &["polytoken"],
        home: Home {
            own_variable: Some("POLYTOKEN_CONFIG_DIR"),
            variable: Some("XDG_CONFIG_HOME"),
            below: "polytoken",
            folder: ".config/polytoken",
        },
        user: Some(Place { path: "hooks.json", form: Form::Entries }),
        project: Some(Place { path: ".polytoken/hooks.json", form: Form::Entries }),
        also: &[],
        traces: &[],
        start: BASH,
        // Exit code 2 before a turn of the model is to try again, for ever.
        refusing: Refusing::ItsWay,
        // It cannot be told how long to wait, and its documents say no more than that it is short.
        short: &[("", 10)],
        switches: &[],
        asks_for_trust: false,
        undoing: None,
        needs: &[always("Polytoken reads its hooks when it is started, and when it reloads them")],
    },
];
