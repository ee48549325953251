"""`docs/hosts-measured.md`: what the last full run of each agent came to. Agents that were not run keep what they had."""

import os
import re

from agents import AGENTS, HERE
from scenarios import SCENARIOS

PAGE = os.path.join(HERE, "..", "docs", "hosts-measured.md")
HEAD = """# Measured on the real programs

Each agent here was run as its makers publish it, headless, against a scripted model on loopback, with Tollgate installed by
`tollgate install`. What counts is the effect: whether the command ran, whether the file changed, what the model was sent.
`hosts/run` makes this page; [hosts/README.md](../hosts/README.md) says how to run it.

"""


def earlier():
    """The sections of the page as it is: {agent: (version, {scenario: (result, seen)})}."""
    found = {}
    try:
        with open(PAGE, encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return found
    for section in re.split(r"^## ", text, flags=re.M)[1:]:
        title = section.split("\n", 1)[0]
        for agent in AGENTS.values():
            if title.startswith(agent.title + " "):
                rows = re.findall(r"^\| `([^`]+)` \| (\w+) \| (.*) \|$", section, flags=re.M)
                found[agent.name] = (title[len(agent.title) + 1 :], {name: (result, seen) for name, result, seen in rows})
    return found


def write(results):
    """`results`: {agent: {scenario: (result, seen)}} of this run."""
    all_of_them = earlier()
    for name, rows in results.items():
        all_of_them[name] = (AGENTS[name].version, {k: (r, cell(seen)) for k, (r, seen) in rows.items()})
    shown = [n for n in AGENTS if n in all_of_them]
    lines = [HEAD + "| | " + " | ".join("%s %s" % (AGENTS[n].title, all_of_them[n][0]) for n in shown) + " |", "|---" * (len(shown) + 1) + "|"]
    for scenario in SCENARIOS:
        cells = [all_of_them[n][1].get(scenario["name"], ("not run",))[0] for n in shown]
        lines.append("| %s | %s |" % (scenario["about"], " | ".join("–" if c == "skip" else c for c in cells)))
    lines += ["", "– is what an agent cannot be asked to do; why stands below."]
    for name in shown:
        version, rows = all_of_them[name]
        lines += ["", "## %s %s" % (AGENTS[name].title, version), "", "| scenario | | seen |", "|---|---|---|"]
        lines += ["| `%s` | %s | %s |" % (s["name"], *rows[s["name"]]) for s in SCENARIOS if s["name"] in rows]
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write("\n".join(lines) + "\n")


def cell(text):
    return re.sub(r"\s+", " ", text).replace("|", "\\|")
