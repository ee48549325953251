"""A model on loopback that says what a script tells it to.

It speaks as much of four protocols as the agents need: Anthropic Messages, OpenAI Responses, OpenAI Chat Completions and
Gemini generateContent, streamed or not. A conversation is at the step whose number is the number of tool results in the
request, so that a request which is sent twice is answered twice with the same. Whatever an agent asks beside that (a title,
a summary) offers no tools, and is answered with a word.
"""

import gzip
import json
import re
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# A conversation that opens with this word is a subagent's.
ERRAND = "ERRAND-OF-A-SUBAGENT"
# So many requests and no more: an agent that is sent round without end is stopped with an error.
MOST = 60


class Request:
    """One request of an agent, reduced to what the script and the checks look at."""

    def __init__(self, body, tools, items, results):
        self.body = body
        self.tools = tools
        self.items = items
        self.results = results
        self.text = json.dumps(body, ensure_ascii=False)
        self.errand = ERRAND in json.dumps(opening(items), ensure_ascii=False)
        self.played = []


def opening(items):
    """What stands in a conversation before the model first spoke."""
    before = []
    for item in items:
        if item.get("role") in ("assistant", "model") or str(item.get("type", "")).endswith("_call"):
            break
        before.append(item)
    return before


def fresh(prefix):
    return prefix + uuid.uuid4().hex[:20]


class Model:
    """The server, its script, and all that it was asked."""

    def __init__(self, steps, errand_steps=(), on_step=None):
        self.steps = list(steps)
        self.errand_steps = list(errand_steps)
        self.on_step = on_step
        self.requests = []
        self.refused = 0
        self._begun = set()
        self._lock = threading.Lock()
        handler = type("Handler", (_Handler,), {"model": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self._server.server_address[1]
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def begin(self, steps):
        """A new conversation, with a script of its own."""
        self.steps = list(steps)
        self._begun.clear()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request):
        """What the model says: a text, and calls of tools as (name, input)."""
        with self._lock:
            self.requests.append(request)
            if not request.tools:
                return "ok", []
            script = self.errand_steps if request.errand else self.steps
            if request.results >= len(script):
                return "That is all.", []
            step = script[request.results]
            # What a step does to the world around the agent is done once, before the agent hears of the step.
            key = (request.errand, request.results)
            if key not in self._begun:
                self._begun.add(key)
                if self.on_step:
                    self.on_step(step)
            request.played = [step]
            given = step["input"]
            if "find" in step:
                # Something that an earlier result has told, such as the name of what was started.
                found = re.findall(step["find"], request.text)
                given = json.loads(json.dumps(given).replace("{found}", found[-1] if found else "nothing"))
            return "", [(step["tool"], given)]

    def conversation(self):
        """The requests of the main conversation."""
        return [r for r in self.requests if r.tools and not r.errand]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    model = None

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self._json({})

    def do_GET(self):
        if self.path.split("?")[0].endswith("/models"):
            names = ["scripted", "gpt-4.1", "gpt-5.5", "claude-sonnet-4-5", "gemini-2.5-flash"]
            listed = [{"id": n, "object": "model", "type": "model", "display_name": n, "created": 1, "owned_by": "here"} for n in names]
            return self._json({"object": "list", "data": listed, "models": [], "has_more": False})
        return self._json({"error": {"type": "not_found_error", "message": "nothing is here"}}, 404)

    def do_POST(self):
        raw = self._body()
        if self.headers.get("content-encoding", "").lower() == "gzip":
            raw = gzip.decompress(raw)
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            return self._json({"error": {"type": "invalid_request_error", "message": "no JSON"}}, 400)
        path = self.path.split("?")[0]
        if path.endswith("/count_tokens"):
            return self._json({"input_tokens": 100})
        if path.endswith(":countTokens"):
            return self._json({"totalTokens": 100})
        if len(self.model.requests) >= MOST:
            self.model.refused += 1
            return self._json({"error": {"type": "invalid_request_error", "message": "more requests than the script can mean"}}, 400)
        for end, speak in (
            ("/messages", self._anthropic),
            ("/responses", self._responses),
            ("/chat/completions", self._chat),
            (":generateContent", self._gemini),
            (":streamGenerateContent", self._gemini),
        ):
            if path.endswith(end):
                return speak(body)
        return self._json({"error": {"type": "not_found_error", "message": "nothing is here"}}, 404)

    def _body(self):
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        parts = []
        while True:
            size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
            parts.append(self.rfile.read(size))
            self.rfile.readline()
            if size == 0:
                return b"".join(parts)

    def _json(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, events):
        """Server-sent events, each a (name or None, data)."""
        text = "".join(("event: %s\n" % name if name else "") + "data: %s\n\n" % data for name, data in events)
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _anthropic(self, body):
        messages = body.get("messages") or []
        blocks = [b for m in messages if m.get("role") == "user" and isinstance(m.get("content"), list) for b in m["content"]]
        results = sum(b.get("type") == "tool_result" for b in blocks)
        text, calls = self.model.answer(Request(body, [t.get("name") for t in body.get("tools") or []], messages, results))
        content = [{"type": "text", "text": text}] if text else []
        content += [{"type": "tool_use", "id": fresh("toolu_"), "name": name, "input": given} for name, given in calls]
        stop = "tool_use" if calls else "end_turn"
        message = {
            "id": fresh("msg_"), "type": "message", "role": "assistant", "model": body.get("model"), "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 10, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0},
        }
        if not body.get("stream"):
            return self._json({**message, "content": content, "stop_reason": stop})
        events = [{"type": "message_start", "message": {**message, "content": [], "stop_reason": None}}]
        for index, block in enumerate(content):
            if block["type"] == "text":
                begin, delta = {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
            else:
                begin, delta = {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
            events.append({"type": "content_block_start", "index": index, "content_block": begin})
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
            events.append({"type": "content_block_stop", "index": index})
        events.append({"type": "message_delta", "delta": {"stop_reason": stop, "stop_sequence": None}, "usage": {"output_tokens": 10}})
        events.append({"type": "message_stop"})
        return self._stream((e["type"], json.dumps(e)) for e in events)

    def _responses(self, body):
        items = body.get("input") or []
        if isinstance(items, str):
            items = [{"type": "message", "role": "user", "content": items}]
        kinds, spaces = {}, {}

        def offer(tools, space=None):
            for tool in tools or []:
                if tool.get("type") == "namespace":
                    offer(tool.get("tools"), tool.get("name"))
                    continue
                name = tool.get("name") or tool.get("type")
                kinds[name] = tool.get("type")
                if space:
                    spaces[name] = space

        offer(body.get("tools"))
        for item in items:
            if item.get("type") == "additional_tools":
                offer(item.get("tools"))
        results = sum(str(i.get("type", "")).endswith("_call_output") for i in items)
        text, calls = self.model.answer(Request(body, list(kinds), items, results))
        output = []
        if text:
            part = {"type": "output_text", "text": text, "annotations": []}
            output.append({"type": "message", "id": fresh("msg_"), "role": "assistant", "status": "completed", "content": [part]})
        for name, given in calls:
            call = {"id": fresh("fc_"), "call_id": fresh("call_"), "name": name, "status": "completed"}
            if "::" in name:
                call["namespace"], call["name"] = name.split("::")
            elif name in spaces:
                call["namespace"] = spaces[name]
            if kinds.get(name) == "custom":
                output.append({"type": "custom_tool_call", **call, "input": given if isinstance(given, str) else json.dumps(given)})
            else:
                output.append({"type": "function_call", **call, "arguments": json.dumps(given)})
        response = {
            "id": fresh("resp_"), "object": "response", "created_at": int(time.time()), "model": body.get("model"),
            "status": "completed", "output": output, "error": None, "incomplete_details": None, "tools": [], "tool_choice": "auto",
            "parallel_tool_calls": True,
            "usage": {
                "input_tokens": 100, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 10,
                "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 110,
            },
        }
        if not body.get("stream"):
            return self._json(response)
        events = [{"type": "response.created", "response": {**response, "status": "in_progress", "output": [], "usage": None}}]
        for index, item in enumerate(output):
            events.append({"type": "response.output_item.added", "output_index": index, "item": item})
            events.append({"type": "response.output_item.done", "output_index": index, "item": item})
        events.append({"type": "response.completed", "response": response})
        return self._stream((e["type"], json.dumps({**e, "sequence_number": n})) for n, e in enumerate(events))

    def _chat(self, body):
        messages = body.get("messages") or []
        results = sum(m.get("role") == "tool" for m in messages)
        tools = [(t.get("function") or t).get("name") for t in body.get("tools") or []]
        text, calls = self.model.answer(Request(body, tools, messages, results))
        made = [
            {"index": n, "id": fresh("call_"), "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}
            for n, (name, given) in enumerate(calls)
        ]
        end = "tool_calls" if made else "stop"
        usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
        head = {"id": fresh("chatcmpl-"), "created": int(time.time()), "model": body.get("model")}
        if not body.get("stream"):
            message = {"role": "assistant", "content": text or None}
            if made:
                message["tool_calls"] = made
            choice = {"index": 0, "message": message, "finish_reason": end}
            return self._json({**head, "object": "chat.completion", "usage": usage, "choices": [choice]})
        deltas = [({"role": "assistant", "content": text}, None)] + [({"tool_calls": [m]}, None) for m in made] + [({}, end)]
        chunks = [{"choices": [{"index": 0, "delta": d, "finish_reason": f}]} for d, f in deltas]
        chunks.append({"choices": [], "usage": usage})
        events = [(None, json.dumps({**head, "object": "chat.completion.chunk", **c})) for c in chunks]
        return self._stream(events + [(None, "[DONE]")])

    def _gemini(self, body):
        contents = body.get("contents") or []
        tools = [f["name"] for t in body.get("tools") or [] for f in t.get("functionDeclarations") or []]
        results = sum("functionResponse" in p for c in contents for p in c.get("parts") or [])
        text, calls = self.model.answer(Request(body, tools, contents, results))
        config = body.get("generationConfig") or {}
        if config.get("responseMimeType") == "application/json":
            fields = (config.get("responseJsonSchema") or config.get("responseSchema") or {}).get("properties") or {}
            plain = {k: (v.get("enum") or ["ok"])[0] if v.get("type", "").lower() == "string" else 1 for k, v in fields.items()}
            text = json.dumps(plain)
        parts = [{"text": text}] if text else []
        parts += [{"functionCall": {"name": name, "args": given, "id": fresh("fc_")}} for name, given in calls]
        answer = {
            "candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 100, "candidatesTokenCount": 10, "totalTokenCount": 110},
            "modelVersion": "scripted", "responseId": fresh("r"),
        }
        if ":stream" in self.path:
            return self._stream([(None, json.dumps(answer))])
        return self._json(answer)
