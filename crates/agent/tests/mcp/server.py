"""A small MCP server on standard input and output: it echoes, and it can be brought down.

server.py FILE: FILE gets a line for each call that was made.
"""

import json
import os
import sys


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def tool(name):
    schema = {"type": "object", "properties": {"text": {"type": "string"}}}
    return {"name": name, "description": f"does {name}", "inputSchema": schema}


offered = ["echo", "delete", "fail", "crash", "grow"]


def call(name, args):
    with open(sys.argv[1], "a") as file:
        file.write(name + "\n")
    if name == "crash":
        os._exit(9)
    if name == "grow":
        offered.append("late")
        send({"method": "notifications/tools/list_changed"})
    if name == "fail":
        return {"content": [{"type": "text", "text": "no such thing"}], "isError": True}
    return {"content": [{"type": "text", "text": "echo: " + args.get("text", "")}]}


for line in sys.stdin:
    message = json.loads(line)
    method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
    if method == "initialize":
        send({"id": id, "result": {"protocolVersion": params["protocolVersion"],
                                   "capabilities": {"tools": {"listChanged": True}},
                                   "serverInfo": {"name": "test", "version": "1"}}})
    elif method == "tools/list":
        send({"id": id, "result": {"tools": [tool(n) for n in offered]}})
    elif method == "tools/call":
        send({"id": id, "result": call(params["name"], params.get("arguments") or {})})
    elif id is not None and method:
        send({"id": id, "error": {"code": -32601, "message": "unknown"}})
