"""What a scenario expects: each check takes the scene and says in a few words what it has seen, or raises Unmet."""

import os
import re

# The end of a refusal, with the code by which a person lets the call pass.
CODE = r"a person can run `tollgate allow ([A-Z0-9]{6})`"


class Unmet(Exception):
    """Something is not as the scenario says it must be."""


class Skip(Exception):
    """The agent cannot be asked to do this."""


def quoted(text):
    return "“%s”" % text


def codes(s):
    """The codes of the refusals that the model was told of, the first one first."""
    found = re.findall(CODE, s.model.requests[-1].text)
    if not found:
        raise Unmet("the model was not told a code")
    return found


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


def once(s, name):
    if s.read(name) != b"once\n":
        raise Unmet("%s has %r" % (name, s.read(name)))
    return "%s written once" % name


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
    "made": made, "not made": not_made, "once": once, "kept": kept, "edited": edited, "not edited": not_edited, "told": told,
    "perhaps told": perhaps_told, "said": said, "perhaps said": perhaps_said, "told first": told_first, "told at the end": told_at_the_end, "never told": never_told,
}
