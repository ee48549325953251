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
tool = event in ("PreToolUse", "BeforeTool", "preToolUse")
deny = answers.get("deny")
said = {}
if tool and deny and re.search(deny["match"], json.dumps(given.get("tool_input") or given.get("toolArgs") or given)):
    said = {"deny": deny["reason"]}
elif tool and deny and re.search(deny["match"], json.dumps(given.get("tool_name") or "")):
    said = {"deny": deny["reason"]}
elif tool and "ask" in answers:
    said = {"deny" if agent == "codex" else "ask": answers["ask"]}
elif tool and "rewrite" in answers:
    said = {"input": {**given["tool_input"], "command": answers["rewrite"]}}
elif event in ("UserPromptSubmit", "BeforeAgent") and "context" in answers:
    said = {"context": answers["context"]}
elif event in ("Stop", "AfterAgent") and "stop" in answers and not os.path.exists("sent-back"):
    open("sent-back", "w", encoding="utf-8").close()
    said = {"block": answers["stop"]}
elif event in ("PostToolUse", "AfterTool") and "redact" in answers and answers["redact"][0] in raw:
    said = {"result": json.loads(json.dumps(given["tool_response"]).replace(*answers["redact"]))}
if not said:
    sys.exit(0)

own = {"hookEventName": event}
if agent == "gemini":
    if "deny" in said or "block" in said:
        out = {"decision": "deny", "reason": said.get("deny") or said["block"]}
    elif "ask" in said:
        out = {"decision": "ask", "reason": said["ask"]}
    elif "result" in said:
        out = {"decision": "deny", "reason": said["result"]["llmContent"]}
    elif "input" in said:
        out = {"hookSpecificOutput": {**own, "tool_input": said["input"]}}
    else:
        out = {"hookSpecificOutput": {**own, "additionalContext": said["context"]}}
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
