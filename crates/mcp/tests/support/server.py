"""A server that does what it is told, also what no server should.

server.py MODE [DIRECTORY]: speaks lines of JSON on standard input and output. In DIRECTORY it
leaves files that tell a test what happened.
"""

import json
import os
import subprocess
import sys
import time

MODE = sys.argv[1]
DIRECTORY = sys.argv[2] if len(sys.argv) > 2 else None


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def raw(text):
    sys.stdout.write(text)
    sys.stdout.flush()


def note(name, text=""):
    """Written whole or not at all: a test looks while we write."""
    path = os.path.join(DIRECTORY, name)
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


def count(name):
    path = os.path.join(DIRECTORY, name)
    so_far = int(open(path).read()) if os.path.exists(path) else 0
    note(name, str(so_far + 1))
    return so_far + 1


def tool(name, **more):
    return {"name": name, "description": f"does {name}", "inputSchema": {"type": "object"}, **more}


def text(*texts, **more):
    return {"content": [{"type": "text", "text": t} for t in texts], **more}


def hang():
    while True:
        time.sleep(3600)


TOOLS = [tool(n) for n in ("echo", "env", "fail", "refuse", "exit", "hang", "slow", "huge", "flood",
                           "children", "ask", "more", "structured", "image", "odd", "noise", "deaf",
                           "many", "leak")]
changed = []


def listing(params):
    if MODE == "endless":
        page = int(params.get("cursor", 0))
        return {"tools": [tool(f"t{page}.{i}") for i in range(50)], "nextCursor": str(page + 1)}
    if MODE == "empty-pages":
        return {"tools": [], "nextCursor": "x"}
    if MODE == "pages":
        page = int(params.get("cursor", 0))
        rest = {"nextCursor": str(page + 1)} if page < 3 else {}
        return {"tools": [tool(f"t{page}")], **rest}
    if MODE == "large-list":
        return {"tools": [tool("t", description="x" * 100_000)]}
    if MODE == "twice":
        return {"tools": [tool("a"), tool("b"), tool("a")]}
    if MODE == "nameless":
        return {"tools": [tool("a"), tool("")]}
    if MODE == "no-list":
        return {"tools": "none"}
    return {"tools": TOOLS + changed}


def call(id, params):
    name, args = params["name"], params.get("arguments", {})
    if name == "echo":
        return text(json.dumps(args, sort_keys=True))
    if name == "env":
        return text(json.dumps(dict(os.environ), sort_keys=True))
    if name == "fail":
        return text("no such file", isError=True)
    if name == "exit":
        sys.stderr.write("out of memory\n")
        sys.stderr.flush()
        os._exit(9)
    if name == "hang":
        hang()
    if name == "slow":
        # No answer, but alive: the next messages are read.
        note("slow", str(id))
        return None
    if name == "huge":
        return text("x" * args["size"])
    if name == "many":
        return {"content": [{"type": "resource_link", "uri": "file:///x", "name": "n" * 100}
                            for _ in range(args["count"])]}
    if name == "flood":
        for i in range(args["count"]):
            send({"method": "notifications/message", "params": {"level": "info", "data": "x" * 50}})
            send({"method": "notifications/progress",
                  "params": {"progressToken": i, "progress": i}})
        return text("done")
    if name == "noise":
        for _ in range(args["lines"]):
            raw("x" * 99 + "\n")
        return text("done")
    if name == "deaf":
        # Asks and never reads the answers.
        for i in range(100_000):
            send({"id": f"q{i}", "method": "sampling/createMessage", "params": {
                "messages": [{"role": "user", "content": {"type": "text", "text": "hi"}}],
                "maxTokens": 5}})
        hang()
    if name == "children":
        child = subprocess.Popen(["sleep", "3600"])
        note("children", f"{os.getpid()} {child.pid}")
        return text("started")
    if name == "ask":
        return ask(args["method"])
    if name == "more":
        changed.append(tool("new"))
        send({"method": "notifications/tools/list_changed"})
        return text("there is more")
    if name == "structured":
        return text('{"a": 1}', structuredContent={"a": 1})
    if name == "image":
        return {"content": [{"type": "text", "text": "see"},
                            {"type": "image", "mimeType": "image/png", "data": "QUJD"}]}
    if name == "odd":
        return "not an object"
    if name == "leak" and args.get("politely"):
        return text(f"{os.environ['API_KEY']} is no key", isError=True)
    if name == "leak":
        sys.stderr.write(f"key is {os.environ['API_KEY']}\n")
        sys.stderr.flush()
        os._exit(1)
    raise ValueError(name)


def ask(method):
    """Asks the client for something, and answers with what it says."""
    params = {"messages": [], "maxTokens": 5, "message": "?",
              "requestedSchema": {"type": "object", "properties": {}}}
    send({"id": "question", "method": method, "params": params})
    for line in sys.stdin:
        message = json.loads(line)
        if message.get("id") == "question":
            return text(json.dumps(message.get("error", message.get("result"))))


def serve():
    for line in sys.stdin:
        message = json.loads(line)
        method, id, params = message.get("method"), message.get("id"), message.get("params") or {}
        if method == "initialize":
            if MODE == "modern":
                send({"id": id, "error": {"code": -32601, "message": "no initialize"}})
                continue
            if MODE == "rude":
                send({"id": id, "error": {"code": -32000, "message": "not today " + "x" * 9999}})
                continue
            if MODE == "odd-greeting":
                send({"id": id, "result": "hello " + "x" * 9999})
                continue
            if MODE == "garbage":
                raw("Welcome!\n\n{}\n[1, 2]\n{\"jsonrpc\": \n\u0000\u0001\n")
                sys.stdout.buffer.write(b"\xff\xfe\x80\n")
                sys.stdout.buffer.flush()
            capabilities = {} if MODE == "no-tools" else {"tools": {"listChanged": True}}
            send({"id": id, "result": {"protocolVersion": params["protocolVersion"],
                                       "capabilities": capabilities,
                                       "serverInfo": {"name": "somebody else", "version": "1"}}})
        elif method == "server/discover":
            send({"id": id, "result": {"resultType": "complete",
                                       "supportedVersions": ["2026-07-28"],
                                       "capabilities": {"tools": {}}, "ttlMs": 0,
                                       "cacheScope": "private"}})
        elif method == "tools/list":
            send({"id": id, "result": listing(params)})
        elif method == "ping":
            send({"id": id, "result": {}})
        elif method == "notifications/cancelled":
            if DIRECTORY:
                note("cancelled", str(params.get("requestId")))
        elif method == "tools/call":
            if params["name"] == "refuse":
                send({"id": id, "error": {"code": -32602, "message": "bad arguments"}})
                continue
            result = call(id, params)
            if result is not None:
                send({"id": id, "result": result})
        elif id is not None and method:
            send({"id": id, "error": {"code": -32601, "message": "unknown"}})
    if MODE == "stays":
        hang()


if MODE == "exits":
    sys.stderr.write("x" * 100_000 + "\nno database\n")
    sys.exit(3)
if MODE == "silent":
    note("silent", str(os.getpid()))
    hang()
if MODE == "endless-line":
    while True:
        raw("x" * 65536)
if MODE == "chatter":
    while True:
        raw("x" * 1000 + "\n")
if MODE == "once" and count("starts") > 1:
    sys.exit(4)
if MODE in ("counted", "stays"):
    count("starts")
    note("pid", str(os.getpid()))
serve()
