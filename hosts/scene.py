"""One scenario with one agent: a home, a project and a model of its own; the agent's run; and what came of it."""

import ctypes
import fcntl
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time

import terminal
from agents import HERE, Agent
from checks import CHECKS, Skip, Unmet, codes, quoted
from model import ERRAND, Model

# How long an agent may take for one run. All of them are done in a few seconds; who is not, hangs.
LIMIT = 60


class Scene:
    """The world of one run, below one directory that is gone afterwards."""

    def __init__(self, root, agent, scenario, options):
        self.root, self.agent, self.scenario, self.options = root, agent, scenario, options
        self.home, self.work, self.bin, self.tmp = (os.path.join(root, d) for d in ("home", "work", "bin", "tmp"))
        for folder in (self.home, self.work, self.bin, self.tmp):
            os.makedirs(folder)
        os.makedirs(os.path.join(self.work, ".git"))
        subprocess.run(["git", "init", "-q", self.work], check=False, capture_output=True)
        self.url = ""
        self.model = None
        self.before = {}
        # What the person was told meanwhile, and what went wrong then.
        self.notes, self.unmet = [], None
        # The folder of the project that the agent runs in, and whether a person has told it to trust its hooks.
        self.folder, self.hooks_trusted = ".", False
        program = os.path.join(self.bin, "tollgate")
        if options["tollgate"]:
            try:
                os.link(options["tollgate"], program)
            except OSError:
                shutil.copy(options["tollgate"], program)

    # The files of this world.

    def path(self, name):
        return os.path.join(self.home, name[2:]) if name.startswith("~/") else os.path.join(self.work, name)

    def write(self, folder, name, text):
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def read(self, name):
        try:
            with open(self.path(name), "rb") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def files(self):
        """All files of home and project, by name, with what is in them."""
        found = {}
        for prefix, top in (("~/", self.home), ("", self.work)):
            for folder, folders, names in os.walk(top):
                folders[:] = [f for f in folders if f != ".git"]
                for name in names:
                    path = os.path.join(folder, name)
                    # Codex has links to itself in its folder, and is large.
                    if os.path.islink(path):
                        found[prefix + os.path.relpath(path, top)] = os.fsencode(os.readlink(path))
                        continue
                    with open(path, "rb") as file:
                        found[prefix + os.path.relpath(path, top)] = file.read()
        return found

    # The programs that run in it.

    def environment(self):
        path = [self.bin, os.path.dirname(self.options["node"]), "/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin"]
        base = {
            "PATH": ":".join(path), "HOME": self.home, "TMPDIR": self.tmp, "TERM": "dumb", "LANG": "C.UTF-8", "SHELL": "/bin/bash",
            "USER": "root", "NO_COLOR": "1", "CI": "1", "GIT_CONFIG_NOSYSTEM": "1",
        }
        if not self.options["isolated"]:
            # Nothing that an agent asks of the world outside gets anywhere.
            base.update({k: "http://127.0.0.1:9" for k in ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")})
            base.update({"NO_PROXY": "127.0.0.1,localhost", "no_proxy": "127.0.0.1,localhost"})
        return base

    def put_on_path(self):
        """Makes the agent a program that can be found by its name."""
        program = self.agent.bin(self.options["cache"])
        runs = "%s %s" % (self.options["node"], program) if self.agent.node else program
        os.chmod(self.write(self.bin, self.agent.name, '#!/bin/sh\nexec %s "$@"\n' % runs), 0o755)

    def tollgate(self, *args, folder="."):
        done = subprocess.run(
            [os.path.join(self.bin, "tollgate"), *args], cwd=os.path.join(self.work, folder), env=self.environment(),
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False,
        )
        with open(os.path.join(self.root, "tollgate.log"), "a", encoding="utf-8") as log:
            log.write("$ tollgate %s\n%s%s[%d]\n" % (" ".join(args), done.stdout, done.stderr, done.returncode))
        return done

    def must(self, *args):
        done = self.tollgate(*args)
        if done.returncode != 0:
            last = (done.stderr or done.stdout).strip().splitlines() or ["nothing"]
            raise Unmet("`tollgate %s` exits with %d: %s" % (" ".join(args), done.returncode, last[0]))
        return done

    def run(self, steps, folder="."):
        """Has the agent play these steps in a folder of the project, and waits for its end."""
        self.model.begin(steps)
        self.folder = folder
        argv = self.agent.argv(self.options["cache"], self, "Please do what the script says.")
        env = {**self.environment(), **self.agent.environment(self)}
        with open(os.path.join(self.root, "out.txt"), "ab") as out, open(os.path.join(self.root, "err.txt"), "ab") as err:
            process = subprocess.Popen(
                argv, cwd=os.path.join(self.work, folder), env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
            )
            try:
                process.wait(LIMIT)
            except subprocess.TimeoutExpired:
                raise Unmet("the agent did not end within %d s" % LIMIT) from None
            finally:
                try:
                    os.killpg(process.pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
                end_descendants()
        return process.returncode

    # What a step does to the world before the agent hears of it.

    def on_step(self, step):
        try:
            for what in step.get("first", []):
                kind, _, value = what.partition(":")
                getattr(self, "do_" + kind)(value)
        except (Unmet, OSError, subprocess.SubprocessError) as unmet:
            # This is the model's thread; the run fails when the agent has ended.
            self.unmet = self.unmet or Unmet(str(unmet))

    def do_remove(self, _):
        """The program is not there any more."""
        os.unlink(os.path.join(self.bin, "tollgate"))

    def do_garble(self, _):
        """The program is there, and is none."""
        self._replace("\x7fELF and nothing behind it\n")

    def do_kill(self, _):
        """The program is killed before it has said anything."""
        self._replace("#!/bin/sh\nkill -KILL $$\n")

    def do_crash(self, _):
        """The program ends itself, as with a bug."""
        self._replace("#!/bin/sh\necho 'not an answer'\nkill -SEGV $$\n")

    def do_fail(self, _):
        """The program ends with a code that hosts take for a mistake to pass over."""
        self._replace("#!/bin/sh\ncat > /dev/null\nexit 1\n")

    def do_starve(self, kib):
        """The program has next to no memory."""
        self._replace("#!/bin/sh\nulimit -v %s\nexec %s \"$@\"\n" % (kib, self._aside()))

    def do_append(self, name):
        """Somebody else changes a file."""
        with open(self.path(name), "a", encoding="utf-8") as file:
            file.write("\n# changed\n")

    def do_delete(self, name):
        os.unlink(self.path(name))

    def do_put(self, value):
        """Writes a file anew: `NAME=TEXT`."""
        name, _, text = value.partition("=")
        self.write("/", self.path(name).lstrip("/"), text)

    def do_person(self, command):
        """A person runs a command of Tollgate beside the agent."""
        self.must(*command.split())

    def do_allow(self, _):
        """A person at a terminal lets the call pass that was refused first."""
        argv = [os.path.join(self.bin, "tollgate"), "allow", codes(self)[0]]
        exit_code, shown = terminal.types(argv, "yes\n", cwd=self.work, env=self.environment())
        if exit_code != 0 or "Allowed" not in shown:
            raise Unmet("`tollgate allow` exits with %d: %s" % (exit_code, " ".join(shown.split())[-200:]))
        self.notes.append("`tollgate allow` by a person")

    def do_says(self, value):
        """A command of Tollgate says something, in the last folder where the agent runs: `COMMAND=TEXT`."""
        if self.folder != self.scenario.get("in", ["."])[-1]:
            return
        command, _, text = value.replace("{title}", self.agent.title).partition("=")
        if text not in self.tollgate(*command.split(), folder=self.folder).stdout:
            raise Unmet("`tollgate %s` does not say %s" % (command, quoted(text)))
        self.notes.append("`tollgate %s` says %s" % (command, quoted(text)))

    def _aside(self):
        real = os.path.join(self.bin, "real", "tollgate")
        if not os.path.exists(real):
            os.makedirs(os.path.dirname(real))
            os.rename(os.path.join(self.bin, "tollgate"), real)
        return real

    def _replace(self, text):
        self._aside()
        path = os.path.join(self.bin, "tollgate")
        if os.path.exists(path):
            os.unlink(path)
        self.write(self.bin, "tollgate", text)
        os.chmod(path, 0o755)

    # The script: from what a scenario says to the agent's own calls.

    def calls(self, steps):
        made = []
        for step in steps:
            if "shell" in step:
                some = self.agent.shell(self, step["shell"].replace("{agent}", self.agent.name))
            elif "edits" in step:
                some = [c for *_, calls in self.agent.edits(self, step["edits"]) for c in calls]
            elif "write" in step:
                some = self.agent.write(self, self.path(step["write"].replace("{settings}", self.agent.settings()["user"])), "nothing\n")
            elif "mcp" in step:
                some = self.agent.mcp(self, step["mcp"])
            else:
                some = self.agent.errand(self, ERRAND + ": please do what the script says.")
                self.model.errand_steps = self.calls(step["errand"])
            if not some:
                raise Skip("this agent has no such tool")
            find = {"find": step["find"]} if "find" in step else {}
            made += [{**some[0], **find, "first": step.get("first", [])}, *some[1:]]
        return made


def end_descendants():
    """Ends whatever the agent has left running: all of it is below this process, which is asked to be its keeper."""
    me = os.getpid()
    for _ in range(50):
        parents = {}
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/stat" % name, encoding="utf-8", errors="replace") as stat:
                        fields = stat.read().rpartition(")")[2].split()
                except OSError:
                    continue
                if fields[0] != "Z":
                    parents[int(name)] = int(fields[1])
        mine = {me}
        for _ in range(len(parents)):
            more = {p for p, parent in parents.items() if parent in mine} - mine
            if not more:
                break
            mine |= more
        mine.discard(me)
        while True:
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        if not mine:
            return
        for process in mine:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.02)


def become_keeper():
    """Processes whose parent ends become this process's, so that none gets away (PR_SET_CHILD_SUBREAPER)."""
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)


def loopback_up():
    """A network of our own begins without loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as some:
        flags = struct.unpack("16sh", fcntl.ioctl(some, 0x8913, struct.pack("16sh14x", b"lo", 0))[:18])[1]
        fcntl.ioctl(some, 0x8914, struct.pack("16sh14x", b"lo", flags | 1))


def settings_of(s, layer):
    """The file in which the agent keeps hooks at a layer, as the scenarios name files."""
    name = s.agent.settings()[layer]
    return ("~/" if layer == "user" else "") + name


def register(s, scenario):
    """Instead of `tollgate install`: a command that is given, or one that answers what the scenario says."""
    command = s.options["hook"]
    if scenario.get("roundtrip") or scenario.get("setup"):
        raise Skip("is about `tollgate install`")
    if s.options["stand_in"]:
        if "canned" not in scenario:
            raise Skip("has no canned answer")
        answers = s.write(s.tmp, "answers.json", json.dumps(scenario["canned"]))
        command = "%s -B %s {agent} %s --event {event}" % (sys.executable, os.path.join(HERE, "stand_in.py"), answers)
    if type(s.agent).hooks is Agent.hooks:
        raise Skip("a command alone cannot be its hook")
    command = command.replace("{tollgate}", os.path.join(s.bin, "tollgate"))
    s.agent.hooks(s, command.replace("{agent}", s.agent.name))


def play(s):
    """Plays the scenario. The result says how it went and what was seen."""
    scenario = s.scenario = {**s.scenario, **s.scenario.get("for", {}).get(s.agent.name, {})}
    if scenario.get("skip"):
        raise Skip(scenario["skip"])
    layer = scenario.get("layer", "user")
    if layer not in s.agent.layers:
        raise Skip("this agent has no hooks of a %s" % layer)
    s.model = Model([], on_step=s.on_step)
    s.url = s.model.url
    s.agent.configure(s)
    for name, text in scenario.get("files", {}).items():
        s.write("/", s.path(name).lstrip("/"), text)
    for step in scenario["steps"]:
        for _, name, first, _ in s.agent.edits(s, step["edits"]) if "edits" in step else []:
            os.makedirs(s.path(step["edits"]), exist_ok=True)
            if first is not None:
                s.write(s.path(step["edits"]), name, first)
    if scenario.get("trust") and s.options["tollgate"]:
        s.must("trust", "--yes")
    for name, kind in scenario.get("after_trust", {}).items():
        getattr(s, "do_" + kind)(name)
    if scenario.get("on_path"):
        s.put_on_path()
    if s.options["hook"] or s.options["stand_in"]:
        register(s, scenario)
    elif scenario.get("setup"):
        set_up(s)
    else:
        install(s, layer, scenario)
    if scenario.get("on_path") and not s.options["hook"]:
        s.agent.trust_hooks(s)
    s.before = s.files()
    steps = s.calls(scenario["steps"])
    runs = [[step] for step in steps] if scenario.get("each") and s.agent.ends_at_refusal else [steps]
    folders = scenario.get("in", ["."])
    asked, seen = 0, []
    for run, folder in ((run, folder) for folder in folders for run in runs):
        so_far = len(s.model.requests)
        s.run(run, folder)
        if s.unmet:
            raise s.unmet
        asked += len({r.results for r in s.model.requests[so_far:] if r.played and not r.errand})
    if s.model.refused:
        raise Unmet("the agent was sent round without end")
    for what, value in scenario["expect"]:
        seen.append(CHECKS[what](s, value.replace("{settings}", s.agent.settings()["user"])))
    if asked < len(steps) * len(folders) and not scenario.get("may_end"):
        raise Unmet("only %d of %d calls were asked for, so nothing is shown" % (asked, len(steps) * len(folders)))
    seen += s.notes
    if scenario.get("roundtrip") or scenario.get("setup"):
        seen.append(uninstall(s, layer))
    return "; ".join(dict.fromkeys(seen))


def flags(s, layer):
    return ["--user"] if layer == "user" else ["--project", s.work]


def install(s, layer, scenario):
    # A project's configuration names the program as everybody has it, and the `PATH` of the scene leads to this one.
    wanted = flags(s, layer)
    if not scenario.get("roundtrip"):
        s.must("install", s.agent.name, *wanted)
        return
    own = settings_of(s, layer)
    if s.read(own) is None and s.agent.own_settings:
        s.write("/", s.path(own).lstrip("/"), s.agent.own_settings)
    s.own = s.files()
    s.must("install", s.agent.name, *wanted, "--dry-run")
    if s.files() != s.own:
        raise Unmet("`install --dry-run` wrote something")
    s.must("install", s.agent.name, *wanted)
    once = s.files()
    if once == s.own:
        raise Unmet("`install` wrote nothing")
    s.must("install", s.agent.name, *wanted)
    if settings_only(s.files()) != settings_only(once):
        raise Unmet("a second `install` changed something")
    s.installed = once


def set_up(s):
    """A machine that has only the agent on it: `tollgate setup` finds it, and its settings are a person's."""
    own = settings_of(s, "user")
    if s.read(own) is None and s.agent.own_settings:
        s.write("/", s.path(own).lstrip("/"), s.agent.own_settings)
    s.own = s.files()
    # It exits with 1 where the agent needs something more of a person, and says what.
    expected = s.scenario["setup"].replace("{title}", s.agent.title)
    if expected not in s.tollgate("setup", "--yes").stdout:
        raise Unmet("`tollgate setup` does not say %s" % quoted(expected))
    s.notes.append("`tollgate setup` says %s" % quoted(" ".join(expected.split())))
    s.installed = s.files()
    if settings_only(s.installed) == settings_only(s.own):
        raise Unmet("`setup` wrote nothing into the agent's settings")


def settings_only(files):
    """What is the agent's: not Tollgate's own folders, and no backup."""
    own = ("~/.config/tollgate/", "~/.local/state/tollgate/", "~/.local/share/tollgate/", ".tollgate/")
    return {n: t for n, t in files.items() if not n.startswith(own) and ".tollgate-backup" not in n}


def uninstall(s, layer):
    was_set_up = s.scenario.get("setup")
    s.must(*(["setup", "--undo", "--yes"] if was_set_up else ["uninstall", s.agent.name, *flags(s, layer)]))
    now = s.files()
    for name, text in s.own.items():
        if name in s.installed and s.installed[name] != text and now.get(name) != text:
            raise Unmet("%s is not byte for byte as it was" % name)
    for name, text in settings_only(s.installed).items():
        # An agent that is asked for its version may write files of its own.
        if name not in s.own and name in now and b"tollgate" in text.lower():
            raise Unmet("%s is left over" % name)
    if was_set_up and any(name.startswith("~/.config/tollgate/") for name in now):
        raise Unmet("hook files are left over")
    own = settings_of(s, layer)
    command = "`setup --undo`" if was_set_up else "`uninstall`"
    return command + (" leaves %s byte for byte as it was" % own if own in s.own else " takes %s away again" % own)


def inside(order):
    """The part of `run` that is started for each scenario, alone in its namespaces where there are some."""
    from agents import AGENTS
    from scenarios import SCENARIOS

    become_keeper()
    if order["options"]["isolated"]:
        loopback_up()
    agent = AGENTS[order["agent"]]
    scenario = next(x for x in SCENARIOS if x["name"] == order["scenario"])
    began = time.monotonic()
    try:
        s = Scene(order["root"], agent, scenario, order["options"])
        try:
            result, seen = "pass", play(s)
        finally:
            keep_requests(s)
    except Skip as skip:
        result, seen = "skip", str(skip)
    except Unmet as unmet:
        result, seen = "FAIL", str(unmet)
    return {"result": result, "seen": seen, "seconds": round(time.monotonic() - began, 1)}


def keep_requests(s):
    """For whoever looks into a scene that was kept."""
    if s.model:
        with open(os.path.join(s.root, "requests.jsonl"), "w", encoding="utf-8") as file:
            for r in s.model.requests:
                row = {"results": r.results, "errand": r.errand, "played": r.played, "tools": r.tools, "body": r.body}
                file.write(json.dumps(row, ensure_ascii=False) + "\n")
        s.model.close()
