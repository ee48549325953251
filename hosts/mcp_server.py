"""An MCP server on standard input and output with one tool, `greet`, that leaves a mark where it is called.

    mcp_server.py MARK
"""

import json
import sys

GREET = {
    "name": "greet",
    "description": "Say hello to somebody",
    "inputSchema": {"type": "object", "properties": {"who": {"type": "string"}}, "required": ["who"]},
}


def result(method, params):
    if method == "initialize":
        return {
            "protocolVersion": params.get("protocolVersion", "2025-06-18"),
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "demo", "version": "1"},
        }
    if method == "tools/list":
        return {"tools": [GREET]}
    if method == "tools/call":
        with open(sys.argv[1], "a", encoding="utf-8") as mark:
            mark.write("called\n")
        return {"content": [{"type": "text", "text": "hello " + str(params.get("arguments", {}).get("who"))}], "isError": False}
    return {}


for line in sys.stdin:
    try:
        message = json.loads(line)
    except ValueError:
        continue
    if "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message["method"], message.get("params") or {})}
        print(json.dumps(answer), flush=True)
