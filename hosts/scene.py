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

from agents import HERE, Agent
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
        self.notes = []
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

    def tollgate(self, *args):
        done = subprocess.run(
            [os.path.join(self.bin, "tollgate"), *args], cwd=self.work, env=self.environment(), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=60, check=False,
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

    def run(self, steps):
        """Has the agent play these steps, and waits for its end."""
        self.model.begin(steps)
        argv = self.agent.argv(self.options["cache"], self, "Please do what the script says.")
        env = {**self.environment(), **self.agent.environment(self)}
        with open(os.path.join(self.root, "out.txt"), "ab") as out, open(os.path.join(self.root, "err.txt"), "ab") as err:
            process = subprocess.Popen(
                argv, cwd=self.work, env=env, stdin=subprocess.DEVNULL, stdout=out, stderr=err, start_new_session=True,
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
        for what in step.get("first", []):
            kind, _, value = what.partition(":")
            getattr(self, "do_" + kind)(value)

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
            made += [{**some[0], "first": step.get("first", [])}, *some[1:]]
        return made


class Unmet(Exception):
    """Something is not as the scenario says it must be."""


class Skip(Exception):
    """The agent cannot be asked to do this."""


# What a scenario expects: each takes the scene and says in a few words what it has seen, or raises Unmet.


def quoted(text):
    return "“%s”" % text


def made(s, name):
    if s.read(name) is None:
        raise Unmet("%s is missing: the call did not run" % name)
    return "%s made" % name


def not_made(s, name):
    if s.read(name) is not None:
        raise Unmet("%s is there: the call ran" % name)
    return "no %s" % name


def kept(s, name):
    if name not in s.before:
        raise Unmet("%s was not there" % name)
    if s.read(name) != s.before[name]:
        raise Unmet("%s is not as it was" % name)
    return "%s as it was" % name


def edited(s, folder):
    ways = s.agent.edits(s, folder)
    for what, name, first, _ in ways:
        if b"new" not in (s.read(os.path.join(folder, name)) or b""):
            raise Unmet("%s did not change %s" % (what, name))
    return "changed by " + ", ".join(what for what, *_ in ways)


def not_edited(s, folder):
    ways = s.agent.edits(s, folder)
    for what, name, first, _ in ways:
        now = s.read(os.path.join(folder, name))
        if now != (None if first is None else first.encode()):
            raise Unmet("%s changed %s" % (what, name))
    return "not changed by " + ", ".join(what for what, *_ in ways)


def told(s, text):
    """The model is told, after its first call."""
    if s.agent.ends_at_refusal:
        if not any(text.encode() in (s.read(name) or b"") for name in s.agent.logs):
            raise Unmet("%s is nowhere to be found" % quoted(text))
        return "the run ends; %s is in the agent's log" % quoted(text)
    if not any(text in r.text for r in s.model.requests if r.results or r.errand):
        raise Unmet("the model was not told %s" % quoted(text))
    return "the model is told %s" % quoted(text)


def said(s, text):
    """The model is told, or the person."""
    if any(text in r.text for r in s.model.requests):
        return "the model is told %s" % quoted(text)
    shown = [os.path.join(s.root, name) for name in ("out.txt", "err.txt")] + [s.path(name) for name in s.agent.logs]
    for path in shown:
        if os.path.exists(path) and text.encode() in open(path, "rb").read():
            return "the person is told %s" % quoted(text)
    raise Unmet("%s is said nowhere" % quoted(text))


def perhaps_said(s, text):
    """Only reported, not asked for."""
    try:
        return said(s, text)
    except Unmet:
        return "nothing is said of it"


def perhaps_told(s, text):
    """Only reported, not asked for."""
    try:
        return told(s, text)
    except Unmet:
        return "nobody is told why"


def told_first(s, text):
    """The model is told with the prompt."""
    asked = s.model.conversation()
    if not asked or text not in asked[0].text:
        raise Unmet("%s was not in the first request" % quoted(text))
    return "%s is in the first request" % quoted(text)


def told_at_the_end(s, text):
    """The model, which had said that it was done, is told once more."""
    last = [r for r in s.model.conversation() if not r.played]
    if len(last) != 2 or text in last[0].text or text not in last[1].text:
        raise Unmet("after the last call came %d requests, and %s in %d of them" % (len(last), quoted(text), sum(text in r.text for r in last)))
    return "the model is asked once more, with %s" % quoted(text)


def never_told(s, text):
    if any(text in r.text for r in s.model.requests):
        raise Unmet("the model was told what it must not know")
    return "the model never sees it"


CHECKS = {
    "made": made, "not made": not_made, "kept": kept, "edited": edited, "not edited": not_edited, "told": told,
    "perhaps told": perhaps_told, "said": said, "perhaps said": perhaps_said, "told first": told_first, "told at the end": told_at_the_end, "never told": never_told,
}


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
    if scenario.get("roundtrip"):
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
    scenario = {**s.scenario, **s.scenario.get("for", {}).get(s.agent.name, {})}
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
    if s.options["hook"] or s.options["stand_in"]:
        register(s, scenario)
    else:
        install(s, layer, scenario)
    s.before = s.files()
    steps = s.calls(scenario["steps"])
    runs = [[step] for step in steps] if scenario.get("each") and s.agent.ends_at_refusal else [steps]
    asked, seen = 0, []
    for run in runs:
        so_far = len(s.model.requests)
        s.run(run)
        asked += len({r.results for r in s.model.requests[so_far:] if r.played and not r.errand})
    if s.model.refused:
        raise Unmet("the agent was sent round without end")
    for what, value in scenario["expect"]:
        seen.append(CHECKS[what](s, value.replace("{settings}", s.agent.settings()["user"])))
    if asked < len(steps) and not scenario.get("may_end"):
        raise Unmet("only %d of %d calls were asked for, so nothing is shown" % (asked, len(steps)))
    if scenario.get("roundtrip"):
        seen.append(uninstall(s, layer))
    return "; ".join(dict.fromkeys(seen))


def flags(s, layer):
    return ["--user"] if layer == "user" else ["--project", s.work]


def install(s, layer, scenario):
    # Scenarios replace the program, so it is named by its path at both levels.
    wanted = [*flags(s, layer), "--program", os.path.join(s.bin, "tollgate")]
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


def settings_only(files):
    """What is the agent's: not Tollgate's own folders, and no backup."""
    own = ("~/.config/tollgate/", "~/.local/state/tollgate/", "~/.local/share/tollgate/", ".tollgate/")
    return {n: t for n, t in files.items() if not n.startswith(own) and ".tollgate-backup" not in n}


def uninstall(s, layer):
    s.must("uninstall", s.agent.name, *flags(s, layer))
    now = s.files()
    for name, text in s.own.items():
        if name in s.installed and s.installed[name] != text and now.get(name) != text:
            raise Unmet("%s is not byte for byte as it was" % name)
    for name in settings_only(s.installed):
        if name not in s.own and name in now:
            raise Unmet("%s is left over" % name)
    own = settings_of(s, layer)
    return "`uninstall` %s" % ("leaves %s byte for byte as it was" % own if own in s.own else "takes %s away again" % own)


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
