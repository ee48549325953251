"""The agents: where each comes from, how it is set up, started and made to talk to the model on loopback, and what its tools
are called. Everything here is about the agent as it is without Tollgate.
"""

import json
import os
import shlex
import subprocess
import sys
import threading

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
    # A file of settings as a person may have it: odd blanks, another's hook, no line end at the end of it.
    own_settings = ""
    # A refusal ends the whole run, and the model never hears of it: the reason is in one of these files.
    ends_at_refusal = False
    logs = ()

    def argv(self, cache, s, prompt):
        raise NotImplementedError

    def environment(self, s):
        return {}

    def configure(self, s):
        """Everything but hooks: the model, no telemetry, an MCP server called `demo`."""

    def settings(self):
        """Per layer, the file that holds hooks, below the home or the project."""
        return {}

    def hooks(self, s, command):
        """Registers a command for all events that scenarios need, without `tollgate install`. `{event}` in it is the event."""

    def trust_hooks(self, s):
        """Does what a person does in the agent before it runs the hooks that it finds."""

    def shell(self, s, command):
        raise NotImplementedError

    def edits(self, s, folder):
        """Each way to change a file in a folder: (what, the file, its first content or None, calls)."""
        return []

    def write(self, s, path, text):
        """Calls that write a file with the tool for that."""
        return []

    def mcp(self, s, who):
        """Calls of the tool `greet` of the MCP server `demo`."""
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


OWN_GROUPS = """{
\t"hooks" : { "%s": [ {"matcher": "%s" ,
    "hooks": [{"type": "command", "command": "true # somebody else's"}]} ]   }

}"""


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

    own_settings = OWN_GROUPS % ("PreToolUse", "Glob")

    def settings(self):
        return {"user": ".claude/settings.json", "project": ".claude/settings.json"}

    def write(self, s, path, text):
        return [call("Write", {"file_path": path, "content": text})]

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
        trust = [] if s.hooks_trusted else ["--dangerously-bypass-hook-trust"]
        return [self.bin(cache), "exec", *trust, "--json", "--skip-git-repo-check", prompt]

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

    def trust_hooks(self, s):
        """Codex names the hooks that it finds and their hashes; its `/hooks` writes those that are trusted to `config.toml`."""
        asked = [
            {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "hosts", "version": "1"}}},
            {"method": "initialized"}, {"id": 2, "method": "hooks/list", "params": {"cwds": [s.work]}},
        ]
        server = subprocess.Popen(
            [self.bin(s.options["cache"]), "app-server"], cwd=s.work, env={**s.environment(), **self.environment(s)},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )
        limit = threading.Timer(30, server.kill)
        limit.start()
        try:
            server.stdin.write("".join(json.dumps(line) + "\n" for line in asked))
            server.stdin.flush()
            answers = (json.loads(line) for line in server.stdout)
            found = next(answer["result"] for answer in answers if answer.get("id") == 2)
        finally:
            limit.cancel()
            server.kill()
            server.communicate()
        with open(s.path("~/.codex/config.toml"), "a", encoding="utf-8") as file:
            for hook in found["data"][0]["hooks"]:
                file.write("[hooks.state.%s]\ntrusted_hash = %s\n" % (json.dumps(hook["key"]), json.dumps(hook["currentHash"])))
        s.hooks_trusted = True

    own_settings = OWN_GROUPS % ("PreToolUse", "view_image")

    def settings(self):
        return {"user": ".codex/hooks.json", "project": ".codex/hooks.json"}

    def write(self, s, path, text):
        return [call("apply_patch", "*** Begin Patch\n*** Add File: %s\n%s\n*** End Patch\n" % (path, "+" + text.rstrip("\n")))]

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
            "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
            # Else its own rule about folders is what refuses a change of the person's files.
            "context": {"includeDirectories": [s.home]},
            "mcpServers": {"demo": server(s)},
        }, indent=2))

    own_settings = OWN_GROUPS % ("BeforeTool", "glob") + "\n// the end\n"

    def settings(self):
        return {"user": ".gemini/settings.json", "project": ".gemini/settings.json"}

    def write(self, s, path, text):
        return [call("write_file", {"file_path": path, "content": text})]

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


class Copilot(Agent):
    name, title, package, version = "copilot", "Copilot CLI", "@github/copilot", "1.0.102"
    program = "@github/copilot-linux-x64/copilot"

    def argv(self, cache, s, prompt):
        return [self.bin(cache), "-p", prompt, "--allow-all-tools", "--allow-all-paths", "--trust-folder", "--disable-client-telemetry", "--no-auto-update"]

    def environment(self, s):
        return {
            "COPILOT_OFFLINE": "true", "COPILOT_PROVIDER_BASE_URL": s.url + "/v1", "COPILOT_PROVIDER_TYPE": "openai",
            "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "gpt-4.1", "COPILOT_AUTO_UPDATE": "false",
            "COPILOT_HOME": os.path.join(s.home, ".copilot"), "XDG_CACHE_HOME": os.path.join(s.options["cache"], "copilot", "unpacked"),
        }

    def configure(self, s):
        s.write(s.home, ".copilot/mcp-config.json", json.dumps({"mcpServers": {"demo": {"type": "local", "tools": ["*"], **server(s)}}}))

    def settings(self):
        return {"user": ".copilot/hooks/tollgate.json", "project": ".github/hooks/tollgate.json"}

    def hooks(self, s, command):
        events = ("preToolUse", "postToolUse", "userPromptSubmitted", "agentStop")
        entries = {e: [{"type": "command", "bash": command.replace("{event}", e)}] for e in events}
        s.write(s.home, ".copilot/hooks/tollgate.json", json.dumps({"version": 1, "hooks": entries}))

    def shell(self, s, command):
        return [call("bash", {"command": command, "description": "run it"})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        return [
            ("create", "written.txt", None, self.write(s, at("written.txt"), "new\n")),
            ("edit", "edited.txt", "old\n", [call("edit", {"path": at("edited.txt"), "old_str": "old", "new_str": "new"})]),
        ]

    def write(self, s, path, text):
        return [call("create", {"path": path, "file_text": text})]

    def mcp(self, s, who):
        return [call("demo-greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("task", {"agent_type": "general-purpose", "description": "an errand", "prompt": prompt, "name": "errand", "mode": "sync"})]


class Qwen(Agent):
    name, title, package, version = "qwen", "Qwen Code", "@qwen-code/qwen-code", "0.24.4"
    program, node = "@qwen-code/qwen-code/cli-entry.js", True
    own_settings = '{ "$version" : 4,' + (OWN_GROUPS % ("PreToolUse", "glob"))[1:]

    def argv(self, cache, s, prompt):
        return [
            "node", self.bin(cache), "--auth-type", "openai", "-m", "scripted", "-p", prompt, "--approval-mode", "yolo",
            "--output-format", "stream-json",
        ]

    def environment(self, s):
        return {
            "OPENAI_BASE_URL": s.url + "/v1", "OPENAI_API_KEY": "none", "OPENAI_MODEL": "scripted", "QWEN_TELEMETRY_ENABLED": "false",
            "QWEN_CODE_SYSTEM_SETTINGS_PATH": os.path.join(s.tmp, "none.json"),
        }

    def configure(self, s):
        s.write(s.home, ".qwen/settings.json", json.dumps({
            "security": {"auth": {"selectedType": "openai"}, "folderTrust": {"enabled": False}},
            "privacy": {"usageStatisticsEnabled": False}, "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False}, "$version": 4,
            "mcpServers": {"demo": server(s)},
        }, indent=2))

    def settings(self):
        return {"user": ".qwen/settings.json", "project": ".qwen/settings.json"}

    def hooks(self, s, command):
        events = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
        s.write(s.work, ".qwen/settings.json", json.dumps({"hooks": groups(events, command)}))

    def shell(self, s, command):
        return [call("run_shell_command", {"command": command, "description": "run it", "is_background": False})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        change = call("edit", {"file_path": at("edited.txt"), "old_string": "old", "new_string": "new"})
        return [
            ("write_file", "written.txt", None, self.write(s, at("written.txt"), "new\n")),
            ("edit", "edited.txt", "old\n", [call("read_file", {"file_path": at("edited.txt")}), change]),
        ]

    def write(self, s, path, text):
        return [call("write_file", {"file_path": path, "content": text})]

    def mcp(self, s, who):
        return [call("mcp__demo__greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("agent", {"description": "an errand", "prompt": prompt, "subagent_type": "general-purpose"})]


class Kimi(Agent):
    name, title, package, version = "kimi", "Kimi Code", "@moonshot-ai/kimi-code", "2.1.0"
    program, node = "@moonshot-ai/kimi-code/dist/main.mjs", True
    layers = ("user",)

    def argv(self, cache, s, prompt):
        return ["node", self.bin(cache), "-p", prompt, "--output-format", "stream-json"]

    def environment(self, s):
        return {
            "KIMI_CODE_HOME": os.path.join(s.home, ".kimi-code"), "KIMI_MODEL_NAME": "scripted", "KIMI_MODEL_API_KEY": "none",
            "KIMI_MODEL_PROVIDER_TYPE": "openai", "KIMI_MODEL_BASE_URL": s.url + "/v1", "KIMI_CODE_NO_AUTO_UPDATE": "1",
        }

    def configure(self, s):
        s.write(s.home, ".kimi-code/config.toml", "# A person's own settings.\ntelemetry   = false\n")
        s.write(s.home, ".kimi-code/mcp.json", json.dumps({"mcpServers": {"demo": server(s)}}))

    def settings(self):
        return {"user": ".kimi-code/config.toml"}

    def hooks(self, s, command):
        text = "telemetry = false\n"
        for event in ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop"):
            text += "[[hooks]]\nevent = %s\ncommand = %s\n" % (json.dumps(event), json.dumps(command.replace("{event}", event)))
        s.write(s.home, ".kimi-code/config.toml", text)

    def shell(self, s, command):
        return [call("Bash", {"command": command, "description": "run it"})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        change = call("Edit", {"path": at("edited.txt"), "old_string": "old", "new_string": "new"})
        return [
            ("Write", "written.txt", None, self.write(s, at("written.txt"), "new\n")),
            ("Edit", "edited.txt", "old\n", [call("Read", {"path": at("edited.txt")}), change]),
        ]

    def write(self, s, path, text):
        return [call("Write", {"path": path, "content": text})]

    def mcp(self, s, who):
        return [call("mcp__demo__greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("Agent", {"description": "an errand", "prompt": prompt, "subagent_type": "coder"})]


class Droid(Agent):
    name, title, package, version = "droid", "Droid", "droid", "0.215.0"
    program = ".bin/droid"
    own_settings = OWN_GROUPS % ("PreToolUse", "Glob")

    def argv(self, cache, s, prompt):
        return [self.bin(cache), "exec", "--auto", "high", "-m", "custom:scripted-0", "-o", "stream-json", prompt]

    def environment(self, s):
        return {
            "FACTORY_API_KEY": "fk-none", "FACTORY_AIRGAP_ENABLED": "true", "FACTORY_OTEL_ENABLED": "false",
            "FACTORY_DISABLE_DYNAMIC_CONFIG": "true", "FACTORY_DISABLE_KEYRING": "1", "FACTORY_DROID_AUTO_UPDATE_ENABLED": "false",
            "FACTORY_API_BASE_URL": s.url, "FACTORY_TELEMETRY_INGEST_BASE_URL": s.url,
        }

    def model(self, s):
        custom = {
            "model": "scripted", "displayName": "scripted", "id": "custom:scripted-0", "index": 0, "baseUrl": s.url + "/v1",
            "apiKey": "none", "provider": "generic-chat-completion-api", "maxOutputTokens": 4096,
        }
        return {"customModels": [custom], "enableDroidShield": False, "cloudSessionSync": False}

    def configure(self, s):
        s.write(s.home, ".factory/settings.json", json.dumps(self.model(s), indent=2))
        s.write(s.home, ".factory/mcp.json", json.dumps({"mcpServers": {"demo": {"type": "stdio", **server(s)}}}))

    def settings(self):
        return {"user": ".factory/settings.json", "project": ".factory/hooks.json"}

    def hooks(self, s, command):
        events = ("PreToolUse", "PostToolUse", "UserPromptSubmit", "Stop")
        s.write(s.home, ".factory/settings.json", json.dumps({**self.model(s), "hooks": groups(events, command)}))

    def shell(self, s, command):
        return [call("Execute", {"command": command, "summary": "run it", "riskLevel": "low", "riskLevelReason": "a trial"})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        change = call("Edit", {"file_path": at("edited.txt"), "old_str": "old", "new_str": "new"})
        return [
            ("Create", "written.txt", None, self.write(s, at("written.txt"), "new\n")),
            ("Edit", "edited.txt", "old\n", [call("Read", {"file_path": at("edited.txt")}), change]),
        ]

    def write(self, s, path, text):
        return [call("Create", {"file_path": path, "content": text})]

    def mcp(self, s, who):
        return [call("demo___greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("Task", {"description": "an errand", "prompt": prompt, "subagent_type": "worker"})]


class Cline(Agent):
    name, title, package, version = "cline", "Cline CLI", "cline", "3.0.65"
    program = "@cline/cli-linux-x64/bin/cline"
    ends_at_refusal = True
    logs = ("~/.cline/data/logs/cline.log",)

    def argv(self, cache, s, prompt):
        sign_in = [self.bin(cache), "auth", "-p", "openai-compatible", "-k", "none", "-m", "scripted", "-b", s.url + "/v1"]
        start = [self.bin(cache), "--json", "--auto-approve", "true", "-P", "openai-compatible", "-m", "scripted", prompt]
        return ["/bin/sh", "-c", "%s >/dev/null 2>&1 && exec %s" % (shlex.join(sign_in), shlex.join(start))]

    def environment(self, s):
        return {"CLINE_GLOBAL_SETTINGS_PATH": os.path.join(s.tmp, "global.json"), "CLINE_MCP_SETTINGS_PATH": os.path.join(s.tmp, "mcp.json")}

    def configure(self, s):
        s.write(s.tmp, "global.json", '{"telemetryOptOut": true, "autoUpdateEnabled": false}')
        s.write(s.tmp, "mcp.json", json.dumps({"mcpServers": {"demo": {"type": "stdio", **server(s)}}}))

    def settings(self):
        return {"user": ".cline/hooks/PreToolUse", "project": ".clinerules/hooks/PreToolUse"}

    def hooks(self, s, command):
        for event in ("PreToolUse", "PostToolUse", "UserPromptSubmit"):
            path = s.write(s.work, ".clinerules/hooks/" + event, "#!/bin/bash\nexec %s\n" % command.replace("{event}", event))
            os.chmod(path, 0o755)

    def shell(self, s, command):
        return [call("run_commands", {"commands": [command]})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        return [
            ("editor, a new file", "written.txt", None, self.write(s, at("written.txt"), "new\n")),
            ("editor, a change", "edited.txt", "old\n", [call("editor", {"path": at("edited.txt"), "old_text": "old", "new_text": "new"})]),
        ]

    def write(self, s, path, text):
        return [call("editor", {"path": path, "new_text": text})]

    def mcp(self, s, who):
        return [call("demo__greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("spawn_agent", {"systemPrompt": "Do the errand.", "task": prompt})]


class OpenCode(Agent):
    name, title, package, version = "opencode", "OpenCode", "opencode-ai", "1.18.33"
    program = "opencode-linux-x64/bin/opencode"

    def argv(self, cache, s, prompt):
        return [self.bin(cache), "run", "--format", "json", prompt]

    def environment(self, s):
        return {
            "npm_config_registry": "http://127.0.0.1:9/", "npm_config_fetch_retries": "0", "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1",
        }

    def configure(self, s):
        demo = server(s)
        s.write(s.work, "opencode.json", json.dumps({
            "model": "scripted/scripted", "small_model": "scripted/scripted", "autoupdate": False, "share": "disabled",
            "provider": {"scripted": {
                "npm": "@ai-sdk/openai-compatible", "name": "scripted", "options": {"baseURL": s.url + "/v1", "apiKey": "none"},
                "models": {"scripted": {"name": "scripted", "limit": {"context": 100000, "output": 8000}}},
            }},
            "permission": {"bash": "allow", "edit": "allow", "external_directory": "allow"},
            "mcp": {"demo": {"type": "local", "command": [demo["command"], *demo["args"]], "enabled": True}},
        }))

    def settings(self):
        return {"user": ".config/opencode/plugin/tollgate.js", "project": ".opencode/plugin/tollgate.js"}

    def shell(self, s, command):
        return [call("bash", {"command": command, "description": "run it"})]

    def edits(self, s, folder):
        at = lambda name: os.path.join(s.work, folder, name)
        change = call("edit", {"filePath": at("edited.txt"), "oldString": "old", "newString": "new"})
        return [
            ("write", "written.txt", None, self.write(s, at("written.txt"), "new\n")),
            ("edit", "edited.txt", "old\n", [call("read", {"filePath": at("edited.txt")}), change]),
        ]

    def write(self, s, path, text):
        return [call("write", {"filePath": path, "content": text})]

    def mcp(self, s, who):
        return [call("demo_greet", {"who": who})]

    def errand(self, s, prompt):
        return [call("task", {"description": "an errand", "prompt": prompt, "subagent_type": "general"})]


AGENTS = {a.name: a for a in (Claude(), Codex(), Gemini(), Copilot(), Qwen(), Kimi(), Droid(), Cline(), OpenCode())}
# These run in CI; the others are run by hand.
IN_CI = ("claude", "codex", "gemini")
