"""A model's endpoint without a model: says how many messages of a user it was shown.

Prints its port. Words in the last line of the last message tell it what to do, since messages that
were not answered come as one: `say=TEXT` answers with just that, `fail=STATUS` refuses, `hold` begins
an answer only when its connection is closed or half a minute has passed, `show` anywhere in the message
answers with all of it, `run=COMMAND` has the agent run that in its shell and then answers with what the
agent tells of it. `GET /held` waits until one more answer is held.
"""

import json
import re
import select
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOLD_SECONDS = 30
HELD = threading.Semaphore(0)


def text_of(message):
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(part.get("text", "") for part in content)


def answer_to(messages):
    asked = [text_of(it) for it in messages if it.get("role") == "user"]
    lines = asked[-1].strip().splitlines() if asked else []
    last = lines[-1] if lines else ""
    if messages and messages[-1].get("role") == "tool":
        return "", f"TOLD {text_of(messages[-1])}"
    told = re.search(r"say=(.*)", last)
    if asked and re.search(r"\bshow\b", asked[-1]):
        return last, f"SHOWN {asked[-1]}"
    return last, told.group(1) if told else f"SEEN {len(asked)}"


def call_of(request, last):
    """A call of the agent's shell, if that is wanted and the agent has one."""
    command = re.search(r"\brun=(.*)", last)
    names = [it["function"]["name"] for it in request.get("tools", [])]
    shell = next((name for name in names if name in ("bash", "terminal")), None)
    if not command or not shell:
        return None
    arguments = json.dumps({"command": command.group(1), "description": "as told"})
    function = {"name": shell, "arguments": arguments}
    return [{"index": 0, "id": "call-1", "type": "function", "function": function}]


class Endpoint(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body, kind="application/json"):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        if self.path == "/held":
            self.reply(200, b"true" if HELD.acquire(timeout=HOLD_SECONDS) else b"false")
            return
        model = {"id": "fake", "object": "model", "context_length": 131072}
        self.reply(200, json.dumps({"object": "list", "data": [model]}).encode())

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        last, text = answer_to(request.get("messages", []))
        refusal = re.search(r"fail=(\d+)", last)
        if refusal:
            error = {"error": {"message": "told to refuse", "type": "invalid_request_error"}}
            self.reply(int(refusal.group(1)), json.dumps(error).encode())
            return
        if re.search(r"\bhold\b", last):
            HELD.release()
            select.select([self.connection], [], [], HOLD_SECONDS)
        call = call_of(request, last)
        says = {"role": "assistant", "tool_calls": call} if call else {"role": "assistant", "content": text}
        end = "tool_calls" if call else "stop"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        base = {"id": "c", "created": 1, "model": "fake"}
        if not request.get("stream"):
            choice = {"index": 0, "message": says, "finish_reason": end}
            whole = {**base, "object": "chat.completion", "choices": [choice], "usage": usage}
            self.reply(200, json.dumps(whole).encode())
            return
        deltas = [(says, None), ({}, end)]
        frames = [
            {
                **base,
                "object": "chat.completion.chunk",
                "choices": [{"index": 0, "delta": delta, "finish_reason": reason}],
                "usage": usage if reason else None,
            }
            for delta, reason in deltas
        ]
        body = "".join(f"data: {json.dumps(frame)}\n\n" for frame in frames) + "data: [DONE]\n\n"
        self.reply(200, body.encode(), "text/event-stream")


server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
print(server.server_address[1], flush=True)
server.serve_forever()
