"""Stands in for Tollgate, to try the scenarios themselves: answers what a file says, in the agent's own form.

    stand_in.py AGENT ANSWERS --event EVENT

ANSWERS is JSON: `deny` with `match` and `reason`, `ask`, `rewrite`, `context`, `stop`, `redact` with what is replaced and by
what. No answer is no opinion.
"""

import json
import os
import re
import sys

agent, answers, event = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8")), sys.argv[4]
raw = sys.stdin.read()
given = json.loads(raw)
call = given.get("tool_call") or {}
name = given.get("tool_name") or given.get("toolName") or call.get("name") or ""
arguments = given.get("tool_input") or given.get("toolArgs") or call.get("input") or {}
tool = event in ("PreToolUse", "BeforeTool", "preToolUse")
deny = answers.get("deny")
said = {}
if tool and deny and re.search(deny["match"], name + json.dumps(arguments)):
    said = {"deny": deny["reason"]}
elif tool and "ask" in answers:
    said = {"ask" if agent in ("claude", "copilot", "qwen") else "deny": answers["ask"]}
elif tool and "rewrite" in answers:
    own = {"commands": [answers["rewrite"]]} if agent == "cline" else {**arguments, "command": answers["rewrite"]}
    said = {"deny": "Use this: " + answers["rewrite"]} if agent in ("qwen", "kimi") else {"input": own}
elif event in ("UserPromptSubmit", "BeforeAgent", "userPromptSubmitted") and "context" in answers:
    said = {"context": answers["context"]}
elif event in ("Stop", "AfterAgent", "agentStop") and "stop" in answers and not os.path.exists("sent-back"):
    open("sent-back", "w", encoding="utf-8").close()
    said = {"block": answers["stop"]}
elif event in ("PostToolUse", "AfterTool", "postToolUse") and "redact" in answers and answers["redact"][0] in raw:
    said = {"result": json.loads(json.dumps(given.get("tool_response") or given.get("toolResult")).replace(*answers["redact"]))}
if not said:
    sys.exit(0)

own = {"hookEventName": event}
if agent == "gemini":
    if "deny" in said or "block" in said:
        out = {"decision": "deny", "reason": said.get("deny") or said["block"]}
    elif "result" in said:
        out = {"decision": "deny", "reason": said["result"]["llmContent"]}
    elif "input" in said:
        out = {"hookSpecificOutput": {**own, "tool_input": said["input"]}}
    else:
        out = {"hookSpecificOutput": {**own, "additionalContext": said["context"]}}
elif agent == "cline":
    out = {"overrideInput": said["input"]} if "input" in said else {"contextModification": said["context"]} if "context" in said else {"cancel": True, "errorMessage": said.get("deny")}
elif agent == "copilot":
    kind = "deny" if "deny" in said else "ask"
    if kind in said:
        out = {"permissionDecision": kind, "permissionDecisionReason": said[kind]}
    elif "input" in said:
        out = {"permissionDecision": "allow", "modifiedArgs": said["input"]}
    elif "block" in said:
        out = {"decision": "block", "reason": said["block"]}
    elif "result" in said:
        out = {"modifiedResult": said["result"]}
    else:
        out = {"additionalContext": said["context"]}
elif agent == "kimi" and "block" in said:
    sys.exit(print(said["block"], file=sys.stderr) or 2)
elif "deny" in said or "ask" in said:
    kind = "deny" if "deny" in said else "ask"
    out = {"hookSpecificOutput": {**own, "permissionDecision": kind, "permissionDecisionReason": said[kind]}}
elif "input" in said:
    out = {"hookSpecificOutput": {**own, "permissionDecision": "allow", "updatedInput": said["input"]}}
elif "block" in said:
    out = {"decision": "block", "reason": said["block"]}
elif "result" in said and agent == "codex":
    out = {"decision": "block", "reason": str(said["result"])}
elif "result" in said:
    out = {"hookSpecificOutput": {**own, "updatedToolOutput": said["result"]}}
else:
    out = {"hookSpecificOutput": {**own, "additionalContext": said["context"]}}
print(json.dumps(out))
