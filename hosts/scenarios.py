"""The scenarios, as data. What each field means:

    name, about   what it is called, and what it shows
    files         files that are there before; `~/` is the person's home, all others are the project's
    trust         whether the person has trusted the project
    layer         where Tollgate is installed: `user` (else) or `project`
    steps         what the model asks for: `shell`, `edits` (every edit tool, in a folder), `write` (one file), `mcp`,
                  `errand` (steps of a subagent); `first` is what happens to the world just before, by the `do_` in
                  `scene.py`; `{found}` is what the expression `find` has last found in what the model was sent
    expect        what must have come of it, by the checks in `checks.py`
    each          every step is refused: where a refusal ends the run, each has a run of its own
    may_end       the run may end before all steps were asked for
    setup         Tollgate is installed by `tollgate setup`, which says this, and removed by `tollgate setup --undo`
    on_path       the agent can be found by its name, and a person has told it to trust the hooks that were installed
    in            the folders of the project in which the agent plays all steps; the project's top (else)
    for           what is different with one agent
    canned        what a stand-in for Tollgate answers, to try the scenarios themselves
"""

import os
import sys

from agents import HERE
from checks import CODE

CONFIG = "~/.config/tollgate/"
VICTIM = {"victim/file": "precious\n"}
DELETE = [{"shell": "rm -r ./victim"}]
SAVED = [("kept", "victim/file")]


def policy(*rules):
    return "".join(rule + "\n" for rule in rules)


def markdown(event, script, when=None):
    lines = ["---", "event: " + event] + (["when: " + when] if when else []) + ["script: |"]
    lines += ["  " + line for line in script.strip("\n").split("\n")]
    return "\n".join([*lines, "---", "# A hook", ""])


NO_DELETES = policy(
    'policy.deny("run_command", when = lambda args: "victim" in args.get("CommandLine", ""), reason = "NO-DELETES-HERE")'
)
NO_AFTER = policy(
    'policy.deny("run_command", when = lambda args: "after" in args.get("CommandLine", ""), reason = "NOT-THIS-ONE")'
)
NO_LATE = policy(
    'policy.deny("run_command", when = lambda args: "late" in args.get("CommandLine", ""), reason = "NOT-SO-LATE")'
)
# Guards refuse the second part of this line, and with it the first, which leaves a trace. If it ran, there is nowhere to push to.
FORCE = "; git push --force origin main"
UNDONE = "cannot be undone"
ENDS = {"skip": "a refusal ends its run, so it cannot be asked for more"}
# What was trusted and has changed closes the gates, instead of running as it was approved.
CLOSED = '[trust]\nchanged = "closed"\n'
# No file has this text in it before it is written: who looks for keys finds none in this project.
SECRET = "AKIA" + "QX7ZT2M4" + "L9WVK3RB"

with open(os.path.join(HERE, "..", "hooks", "secret-redaction.md"), encoding="utf-8") as ready:
    REDACTION = ready.read()
with open(os.path.join(HERE, "terminal.py"), encoding="utf-8") as ready:
    TERMINAL = ready.read()


ANTIGRAVITY = """{
  "no-deletes": {
    "PreToolUse": [
      {
        "matcher": "run_command",
        "hooks": [{"command": "if grep -q victim; then echo '{\\"decision\\": \\"deny\\", \\"reason\\": \\"NO-DELETES-HERE\\"}'; else echo '{\\"decision\\": \\"ask\\"}'; fi"}]
      }
    ]
  }
}
"""
POLYTOKEN = """[
  {
    "name": "no-deletes",
    "event": "pre_tool_use",
    "matcher": "run_command",
    "handler": {"bash": "if grep -q victim; then echo 'NO-DELETES-HERE'; exit 2; fi"}
  }
]
"""
# The same for files that are written for other agents: a command reads that agent's payload, and answers in its form.
GROUPS = """{
  "hooks": {
    "%s": [
      {
        "matcher": "%s",
        "hooks": [{"type": "command", "command": "if grep -q victim; then echo '%s'; fi"}]
      }
    ]
  }
}
"""
PERMISSION = (
    '{\\"hookSpecificOutput\\": {\\"hookEventName\\": \\"PreToolUse\\", '
    '\\"permissionDecision\\": \\"deny\\", \\"permissionDecisionReason\\": \\"NO-DELETES-HERE\\"}}'
)
CLAUDE = CODEX = GROUPS % ("PreToolUse", "Bash", PERMISSION)
GEMINI = GROUPS % ("BeforeTool", "run_shell_command", '{\\"decision\\": \\"deny\\", \\"reason\\": \\"NO-DELETES-HERE\\"}')
STOP_ONCE = """[
  {
    "name": "once-more",
    "event": "stop",
    "handler": {"bash": "[ -e sent-back ] && exit 0; touch sent-back; echo 'THE-TESTS-STILL-FAIL'; exit 2"}
  }
]
"""
UNTRUSTED = """[
  {"name": "a-surprise", "event": "pre_tool_use", "handler": {"bash": "touch hook-ran"}}
]
"""
DENY = {"deny": {"match": "victim", "reason": "NO-DELETES-HERE"}}
REFUSED = SAVED + [("told", "NO-DELETES-HERE")]


def fault(name, about, *first, **more):
    """Something happens to Tollgate in the middle of a session: what was let through before must not run any more."""
    return {
        "name": name, "about": about, "files": {CONFIG + "policy.star": NO_AFTER},
        "steps": [{"shell": "touch before"}, {"shell": "touch after", "first": list(first)}],
        "expect": [("made", "before"), ("not made", "after")], **more,
    }


SCENARIOS = [
    {
        "name": "control", "about": "Tollgate has no opinion: every tool runs",
        "files": {CONFIG + "policy.star": NO_DELETES},
        "steps": [{"shell": "touch ran"}, {"edits": "open"}, {"mcp": "you"}],
        "expect": [("made", "ran"), ("edited", "open"), ("made", "greeted")],
        "canned": {},
    },
    {
        "name": "control-subagent", "about": "no opinion: so do a subagent's",
        "files": {CONFIG + "policy.star": NO_DELETES},
        "steps": [{"errand": [{"shell": "touch errand-ran"}]}], "expect": [("made", "errand-ran")], "canned": {},
    },
    {
        "name": "deny-policy", "about": "a rule of `policy.star` denies a command",
        "files": {**VICTIM, CONFIG + "policy.star": NO_DELETES}, "steps": DELETE, "expect": REFUSED, "canned": DENY,
    },
    {
        "name": "deny-markdown", "about": "a Markdown hook denies it",
        "files": {**VICTIM, CONFIG + "hooks/guard.md": markdown(
            "tool.pre",
            "def handle(event, payload):\n"
            "    if effects.deletes_under(payload, \"victim\"):\n"
            "        return block(\"NO-DELETES-HERE\")\n"
            "    return allow()",
        )},
        "steps": DELETE, "expect": REFUSED, "canned": DENY,
    },
    {
        "name": "deny-antigravity", "about": "a command in Antigravity's `hooks.json` denies it",
        "files": {**VICTIM, CONFIG + "antigravity/hooks.json": ANTIGRAVITY}, "steps": DELETE, "expect": REFUSED,
    },
    {
        "name": "deny-polytoken", "about": "a command in Polytoken's `hooks.json` denies it",
        "files": {**VICTIM, CONFIG + "polytoken/hooks.json": POLYTOKEN}, "steps": DELETE, "expect": REFUSED,
    },
    {
        "name": "deny-claude", "about": "a hook that is written for Claude Code denies it",
        "files": {**VICTIM, "~/.claude/settings.json": CLAUDE}, "steps": DELETE, "expect": REFUSED,
        "for": {name: {"skip": "it runs this file itself"} for name in ("claude", "copilot")},
    },
    {
        "name": "deny-codex", "about": "a hook that is written for Codex denies it",
        "files": {**VICTIM, "~/.codex/hooks.json": CODEX}, "steps": DELETE, "expect": REFUSED,
        "for": {"codex": {"skip": "it runs this file itself"}},
    },
    {
        "name": "deny-gemini", "about": "a hook that is written for Gemini CLI denies it",
        "files": {**VICTIM, "~/.gemini/settings.json": GEMINI}, "steps": DELETE, "expect": REFUSED,
        "for": {"gemini": {"skip": "it runs this file itself"}},
    },
    {
        "name": "deny-project", "about": "a rule of a trusted project denies it; Tollgate is installed in the project",
        "files": {**VICTIM, ".tollgate/policy.star": NO_DELETES}, "trust": True, "layer": "project", "steps": DELETE, "expect": REFUSED,
    },
    {
        "name": "rewrite", "about": "a hook rewrites a command",
        "files": {CONFIG + "hooks/rewrite.md": markdown(
            "tool.pre", "def handle(event, payload):\n    return modify({\"args\": dict(payload[\"args\"], CommandLine = \"touch rewritten\")})",
            "payload[\"name\"] == \"run_command\"",
        )},
        "steps": [{"shell": "touch original"}], "expect": [("not made", "original"), ("made", "rewritten")],
        "for": {name: {"expect": [("not made", "original"), ("told", "touch rewritten")]} for name in ("qwen", "kimi")},
        "canned": {"rewrite": "touch rewritten"},
    },
    {
        "name": "ask", "about": "a rule wants a person to confirm, and nobody is there",
        "files": {CONFIG + "policy.star": policy('policy.ask_user("run_command", reason = "A-PERSON-MUST-LOOK")')},
        "steps": [{"shell": "touch asked"}], "expect": [("not made", "asked"), ("perhaps told", "A-PERSON-MUST-LOOK")], "canned": {"ask": "A-PERSON-MUST-LOOK"},
    },
    {
        "name": "context", "about": "a hook adds context at the prompt",
        "files": {CONFIG + "hooks/context.md": markdown(
            "turn.start", "def handle(event, payload):\n    return modify({\"context\": \"THE-BRANCH-IS-FROZEN\"})",
        )},
        "steps": [{"shell": "touch ran"}], "expect": [("told first", "THE-BRANCH-IS-FROZEN"), ("made", "ran")],
        "for": {
            "droid": {"skip": "its event for prompts never comes in `droid exec`"},
            "cline": {"skip": "what a hook adds at a prompt never reaches the model"},
        },
        "canned": {"context": "THE-BRANCH-IS-FROZEN"},
    },
    {
        "name": "redact", "about": "a hook takes a secret out of a result",
        "files": {"settings.env": "COLOUR=GREEN-AND-BLUE\nAWS_ACCESS_KEY_ID=%s\n" % SECRET, CONFIG + "hooks/secret-redaction.md": REDACTION},
        "steps": [{"shell": "cat settings.env; touch ran"}],
        "expect": [("made", "ran"), ("told", "GREEN-AND-BLUE"), ("never told", SECRET)],
        "for": {name: {"skip": "no answer of a hook changes what a tool has given back"} for name in ("kimi", "droid", "cline")},
        "canned": {"redact": [SECRET, "masked"]},
    },
    {
        "name": "stop", "about": "a hook sends the agent back once as it would stop",
        "files": {CONFIG + "polytoken/hooks.json": STOP_ONCE},
        "steps": [{"shell": "touch ran"}], "expect": [("made", "sent-back"), ("told at the end", "THE-TESTS-STILL-FAIL")],
        "for": {name: {"skip": "no answer of a hook keeps this agent going"} for name in ("cline", "opencode")},
        "canned": {"stop": "THE-TESTS-STILL-FAIL"},
    },
    {
        "name": "subagent", "about": "a call of a subagent is denied",
        "files": {**VICTIM, CONFIG + "policy.star": NO_DELETES},
        "steps": [{"errand": [*DELETE, {"shell": "touch errand-ran"}]}], "expect": [*REFUSED, ("made", "errand-ran")],
        "for": {"cline": {"expect": REFUSED}}, "canned": DENY,
    },
    {
        "name": "mcp", "about": "a call of an MCP server's tool is denied",
        "files": {CONFIG + "policy.star": policy('policy.deny_mcp("demo", ["greet"])')},
        "steps": [{"mcp": "you"}], "expect": [("not made", "greeted"), ("told", "deny_demo_greet")],
        "canned": {"deny": {"match": "greet", "reason": "deny_demo_greet"}},
    },
    {
        "name": "protected", "about": "a folder is protected from every edit tool and from the shell",
        "files": {"protected/file": "precious\n",
                  ".tollgate/policy.star": policy('policy.deny("*", when = writes_under("protected"), reason = "PEOPLE-CHANGE-THIS")')},
        "trust": True,
        "steps": [{"edits": "protected"}, {"shell": "echo x > protected/file"}, {"shell": "cd protected && tee file </dev/null"}],
        "expect": [("not edited", "protected"), ("kept", "protected/file"), ("told", "PEOPLE-CHANGE-THIS")], "each": True,
        "canned": {"deny": {"match": "protected", "reason": "PEOPLE-CHANGE-THIS"}},
    },
    {
        "name": "roundtrip-user", "about": "`install`, use, `uninstall` for the person: the configuration is as it was",
        "files": {**VICTIM, CONFIG + "policy.star": NO_DELETES}, "steps": DELETE, "expect": REFUSED, "roundtrip": True,
    },
    {
        "name": "roundtrip-project", "about": "the same in a project",
        "files": {**VICTIM, CONFIG + "policy.star": NO_DELETES}, "layer": "project", "steps": DELETE, "expect": REFUSED, "roundtrip": True,
    },
    fault("killed", "Tollgate is killed in the middle of a session", "kill:"),
    fault("crashed", "Tollgate prints something and crashes", "crash:"),
    fault("failed", "Tollgate ends with exit code 1 and says nothing", "fail:"),
    fault("missing", "Tollgate is gone", "remove:"),
    fault("garbled", "Tollgate's program is damaged", "garble:"),
    # Less than it takes to start, and more and more of what it takes to answer.
    *[fault("starved-%dM" % mib, "Tollgate gets %d MiB of memory" % mib, "starve:%d" % (1024 * mib)) for mib in (2, 20, 60, 200)],
    {
        "name": "broken", "about": "the person's hook file does not parse",
        "files": {CONFIG + "policy.star": "policy.deny(\n"},
        "steps": [{"shell": "touch ran"}], "expect": [("not made", "ran"), ("said", "tollgate check")],
    },
    {
        "name": "untrusted", "about": "nobody has trusted the project's hook file: its commands do not run",
        "files": {".polytoken/hooks.json": UNTRUSTED, CONFIG + "policy.star": NO_DELETES, **VICTIM},
        "steps": [{"shell": "touch ran"}, *DELETE],
        "expect": [("not made", "hook-ran"), ("made", "ran"), *REFUSED, ("perhaps said", "tollgate trust")],
    },
    {
        "name": "tampered", "about": "a trusted hook file is changed in the middle of a session, where that closes the gates",
        "files": {".tollgate/policy.star": NO_AFTER, CONFIG + "config.toml": CLOSED}, "trust": True,
        "steps": [{"shell": "touch before"}, {"shell": "touch free", "first": ["append:.tollgate/policy.star"]}],
        "expect": [("made", "before"), ("not made", "free"), ("said", "tollgate trust")],
    },
    {
        "name": "deleted", "about": "a trusted hook file is deleted in the middle of a session, where that closes the gates",
        "files": {".tollgate/policy.star": NO_AFTER, CONFIG + "config.toml": CLOSED}, "trust": True,
        "steps": [{"shell": "touch before"}, {"shell": "touch free", "first": ["delete:.tollgate/policy.star"]}],
        "expect": [("made", "before"), ("not made", "free"), ("said", "tollgate trust")],
    },
    {
        "name": "changed", "about": "a trusted hook file is changed in the middle of a session: what was approved runs on until a person trusts the change",
        "files": {".tollgate/policy.star": NO_AFTER}, "trust": True,
        "steps": [
            {"shell": "touch before"}, {"shell": "touch after", "first": ["put:.tollgate/policy.star=" + NO_LATE]}, {"shell": "touch late"},
            {"shell": "touch too-late", "first": ["person:trust --yes"]}, {"shell": "touch ever-after"},
        ],
        "expect": [
            ("made", "before"), ("not made", "after"), ("told", "NOT-THIS-ONE"), ("made", "late"), ("not made", "too-late"), ("told", "NOT-SO-LATE"),
            ("made", "ever-after"),
        ],
        "for": {"cline": ENDS},
    },
    {
        "name": "setup", "about": "`tollgate setup` on a new machine guards a project and its subdirectory; `--undo` leaves the settings as they were",
        "files": {"src/deep/file": ""}, "setup": "Protected\n  {title}: guarded by 6 hooks", "on_path": True, "in": [".", "src/deep"],
        "steps": [
            {"shell": "touch ran", "first": ["says:doctor={title}: guarded by 6 hooks; test call refused"]}, {"shell": "touch pushed" + FORCE},
        ],
        "expect": [("made", "ran"), ("made", "src/deep/ran"), ("not made", "pushed"), ("not made", "src/deep/pushed"), ("told", UNDONE)],
        # It runs no hook before a person has told it to; after that, `doctor` says what it says of the others.
        "for": {"codex": {"setup": "Not protected\n  Codex: Codex has not been told to trust these hooks"}},
    },
    {
        "name": "no-guards", "about": "Tollgate is connected without guards, and says so; guards that are added count in the session that runs",
        "on_path": True,
        "steps": [
            {"shell": "touch free" + FORCE, "first": ["says:status={title}: connected, but no guards are on"]},
            {"shell": "touch held" + FORCE, "first": ["person:init --user", "says:status={title}: guarded by"]},
        ],
        "expect": [("made", "free"), ("not made", "held"), ("told", UNDONE)],
    },
    {
        "name": "allow", "about": "a person lets exactly one refused call pass, once, by its code; the agent cannot",
        "files": {CONFIG + "policy.star": NO_AFTER, "typed.py": TERMINAL},
        "steps": [
            {"shell": "echo once >> after"}, {"shell": "tollgate allow {found}", "find": CODE},
            # At a terminal that the agent makes for itself.
            {"shell": sys.executable + " typed.py allow {found}", "find": CODE},
            {"shell": "echo another >> after", "first": ["allow:"]}, {"shell": "echo once >> after"}, {"shell": "echo once >> after"},
        ],
        "expect": [("told", "To let exactly this call pass"), ("told", "only a person"), ("told", "an agent started it"), ("once", "after")],
        "for": {"cline": ENDS},
    },
    {
        "name": "guard", "about": "the agent would trust hooks, take Tollgate out, or edit its hook files and settings",
        "files": {".tollgate/policy.star": NO_AFTER, CONFIG + "policy.star": NO_DELETES, "~/.local/state/tollgate/.keep": ""},
        "steps": [
            {"shell": "tollgate trust --yes"}, {"shell": "tollgate uninstall {agent} --user"},
            {"shell": "echo 'policy.allow_all()' > ~/.config/tollgate/policy.star"}, {"shell": "rm .tollgate/policy.star"},
            {"write": "~/.config/tollgate/hooks/own.md"}, {"write": ".tollgate/hooks/own.md"}, {"write": "~/{settings}"},
        ],
        "expect": [
            ("not made", "~/.local/state/tollgate/trust.json"), ("kept", CONFIG + "policy.star"), ("kept", ".tollgate/policy.star"),
            ("not made", "~/.config/tollgate/hooks/own.md"), ("not made", ".tollgate/hooks/own.md"), ("kept", "~/{settings}"), ("told", "only a person"),
        ],
        "each": True,
    },
]
