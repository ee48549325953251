"""The agents: where each comes from, how it is set up, started and made to talk to the model on loopback, and what its tools
are called. Everything here is about the agent as it is without Tollgate.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
NODE = "22.23.3"


def call(tool, given):
    return {"tool": tool, "input": given}


class Agent:
    """What the scenarios need to know of an agent. A scene `s` has `home`, `work`, `tmp` and `url` (the model's)."""

    name = title = package = version = program = ""
    # Started by node, and by which file.
    node = False
    # The layers of configuration in which it can have hooks.
    layers = ("user", "project")
    # The answers that it cannot give effect to, and what is seen instead; scenarios read this.
    cannot = {}
    # A refusal ends the whole run, and the model never hears of it.
    ends_at_refusal = False
    # Further programs that the machine must have.
    needs = ()

    def argv(self, cache, s, prompt):
        raise NotImplementedError

    def environment(self, s):
        return {}

    def configure(self, s):
        """Everything but hooks: the model, no telemetry, an MCP server called `demo`."""

    def settings(self):
        """Per layer, the file that holds hooks, and one as a person may have it: comments, another's hook."""
        return {}

    def hooks(self, s, command):
        """Registers a command for all events that scenarios need, without `tollgate install`. `{event}` in it is the event."""

    def shell(self, s, command):
        raise NotImplementedError

    def edits(self, s, folder):
        """Each way to change a file in a folder: (what, the file, its first content or None, calls)."""
        return []

    def mcp(self, s, who):
        return []

    def errand(self, s, prompt):
        """Calls that start a subagent and wait for it."""
        return []

    def bin(self, cache):
        return os.path.join(cache, self.name, "node_modules", self.program)


def server(s):
    return {"command": sys.executable, "args": [os.path.join(HERE, "mcp_server.py"), os.path.join(s.work, "greeted")]}


def groups(events, command, **more):
    """Hooks in the shape that Claude Code has, and many after it."""
    return {e: [{"hooks": [{"type": "command", "command": command.replace("{event}", e), **more}]}] for e in events}


class Claude(Agent):
    name, title, package, version = "claude", "Claude Code", "@anthropic-ai/claude-code", "2.1.325"
    program = "@anthropic-ai/claude-code-linux-x64/claude"

    def argv(self, cache, s, prompt):
        return [
            self.bin(cache), "-p", prompt, "--model", "claude-sonnet-4-5", "--permission-mode", "bypassPermissions",
            "--output-format", "stream-json", "--verbose", "--mcp-config", s.write(s.tmp, "mcp.json", json.dumps({"mcpServers": {"demo": server(s)}})),
        ]

    def environment(self, s):
        return {
            "ANTHROPIC_BASE_URL": s.url, "ANTHROPIC_API_KEY": "none", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_TELEMETRY": "1", "DISABLE_AUTOUPDATER": "1", "DISABLE_ERROR_REPORTING": "1", "IS_SANDBOX": "1",
        }

    def settings(self):
        return {"user": ".claude/settings.json", "project": ".claude/settings.json"}

    def hooks(self, s, command):
        events = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
        s.write(s.home, ".claude/settings.json", json.dumps({"hooks": groups(events, command)}))

    def shell(self, s, command):
        return [call("Bash", {"command": command, "description": "run it"})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        book = json.dumps({"cells": [{"cell_type": "code", "id": "c1", "metadata": {}, "outputs": [], "execution_count": None, "source": ["old"]}],
                           "metadata": {}, "nbformat": 4, "nbformat_minor": 5})
        read = lambda name: call("Read", {"file_path": at(name)})
        return [
            ("Write", "written.txt", None, [call("Write", {"file_path": at("written.txt"), "content": "new\n"})]),
            ("Edit", "edited.txt", "old\n", [read("edited.txt"), call("Edit", {"file_path": at("edited.txt"), "old_string": "old", "new_string": "new"})]),
            ("NotebookEdit", "book.ipynb", book, [read("book.ipynb"), call("NotebookEdit", {"notebook_path": at("book.ipynb"), "cell_id": "c1", "new_source": "new"})]),
        ]

    def mcp(self, s, who):
        return [call("mcp__demo__greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("Agent", {"description": "an errand", "prompt": prompt, "subagent_type": "general-purpose", "run_in_background": False})]


class Codex(Agent):
    name, title, package, version = "codex", "Codex", "@openai/codex", "0.166.0"
    program = "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"

    def argv(self, cache, s, prompt):
        # Trust in hooks is given by a person in the terminal interface; this is how scripts say it.
        return [self.bin(cache), "exec", "--dangerously-bypass-hook-trust", "--json", "--skip-git-repo-check", prompt]

    def environment(self, s):
        return {"CODEX_HOME": os.path.join(s.home, ".codex"), "NO_KEY": "none", "CODEX_DISABLE_UPDATE_CHECK": "1"}

    def configure(self, s):
        demo = server(s)
        # What it offers depends on the model: the one has a tool for patches, the other subagents.
        errand = any("errand" in step for step in s.scenario["steps"])
        s.write(s.home, ".codex/config.toml", "\n".join([
            '# A person\'s own settings.', 'model = "%s"' % ("gpt-5" if errand else "gpt-5.5"), 'model_provider = "scripted"', 'approval_policy = "never"',
            'sandbox_mode = "danger-full-access"', 'check_for_update_on_startup = false', 'web_search = "disabled"',
            "[features]", "plugins = false", "remote_plugin = false", "plugin_sharing = false", "plugin_discovery_prefetch = false",
            "apps = false", "multi_agent = true", "[analytics]", "enabled = false", "[feedback]", "enabled = false", "[otel]", 'exporter = "none"',
            "[model_providers.scripted]", 'name = "scripted"', "base_url = %s" % json.dumps(s.url + "/v1"), 'wire_api = "responses"',
            'env_key = "NO_KEY"', "request_max_retries = 0", "stream_max_retries = 0", "supports_websockets = false",
            "[projects.%s]" % json.dumps(s.work), 'trust_level = "trusted"',
            "[mcp_servers.demo]", "command = %s" % json.dumps(demo["command"]), "args = %s" % json.dumps(demo["args"]), "",
        ]))

    def settings(self):
        return {"user": ".codex/hooks.json", "project": ".codex/hooks.json"}

    def hooks(self, s, command):
        events = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
        s.write(s.home, ".codex/hooks.json", json.dumps({"hooks": groups(events, command)}))

    def shell(self, s, command):
        return [call("exec_command", {"cmd": command})]

    def edits(self, s, folder):
        add = lambda name: "*** Begin Patch\n*** Add File: %s/%s\n+new\n*** End Patch\n" % (folder, name)
        update = "*** Begin Patch\n*** Update File: %s/edited.txt\n@@\n-old\n+new\n*** End Patch\n" % folder
        both = "*** Begin Patch\n*** Add File: beside-%s.txt\n+new\n*** Add File: %s/second.txt\n+new\n*** End Patch\n" % (folder, folder)
        shell = "apply_patch <<'EOF'\n%sEOF" % add("by-shell.txt")
        return [
            ("apply_patch, a new file", "written.txt", None, [call("apply_patch", add("written.txt"))]),
            ("apply_patch, a change", "edited.txt", "old\n", [call("apply_patch", update)]),
            ("apply_patch, the second of two files", "second.txt", None, [call("apply_patch", both)]),
            ("apply_patch in the shell", "by-shell.txt", None, [call("exec_command", {"cmd": shell})]),
        ]

    def mcp(self, s, who):
        return [call("mcp__demo::greet", {"who": who})]

    def errand(self, s, prompt):
        return [
            call("spawn_agent", {"message": prompt}),
            {**call("wait_agent", {"targets": ["{found}"], "timeout_ms": 20000}), "find": r'agent_id\\+":\\+"([0-9a-f-]+)'},
        ]


class Gemini(Agent):
    name, title, package, version = "gemini", "Gemini CLI", "@google/gemini-cli", "0.61.0"
    program, node = "@google/gemini-cli/bundle/gemini.js", True

    def argv(self, cache, s, prompt):
        return ["node", self.bin(cache), "-m", "gemini-2.5-flash", "-p", prompt, "--approval-mode", "yolo", "--output-format", "stream-json"]

    def environment(self, s):
        return {
            "GOOGLE_GEMINI_BASE_URL": s.url, "GEMINI_API_KEY": "none", "GEMINI_TELEMETRY_ENABLED": "false", "GEMINI_CLI_NO_RELAUNCH": "true",
            "GEMINI_CLI_TRUST_WORKSPACE": "true", "GEMINI_CLI_SYSTEM_SETTINGS_PATH": os.path.join(s.tmp, "none.json"),
            "GEMINI_CLI_SYSTEM_DEFAULTS_PATH": os.path.join(s.tmp, "none.json"),
        }

    def configure(self, s):
        s.write(s.home, ".gemini/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False, "disableAutoUpdate": True},
            "mcpServers": {"demo": server(s)},
        }, indent=2))

    def settings(self):
        return {"user": ".gemini/settings.json", "project": ".gemini/settings.json"}

    def hooks(self, s, command):
        events = ("BeforeTool", "AfterTool", "BeforeAgent", "AfterAgent")
        s.write(s.work, ".gemini/settings.json", json.dumps({"hooks": groups(events, command, name="tollgate")}))

    def shell(self, s, command):
        return [call("run_shell_command", {"command": command, "description": "run it"})]

    def edits(self, s, folder):
        return [
            ("write_file", "written.txt", None, [call("write_file", {"file_path": folder + "/written.txt", "content": "new\n"})]),
            ("replace", "edited.txt", "old\n", [call("replace", {"file_path": folder + "/edited.txt", "instruction": "make it new", "old_string": "old", "new_string": "new"})]),
        ]

    def mcp(self, s, who):
        return [call("mcp_demo_greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("invoke_agent", {"agent_name": "generalist", "prompt": prompt})]


AGENTS = {a.name: a for a in (Claude(), Codex(), Gemini())}
# These run in CI; the others are run by hand.
IN_CI = ("claude", "codex", "gemini")
