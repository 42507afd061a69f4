"""An agent that speaks the Agent Client Protocol and does what the last word of a prompt says.

Its sessions are files in its directory, so that it can load them after a restart if ACP_LOAD is set.
"""

import base64
import json
import os
import sys
import threading
import time

FOLDER = os.environ["ACP_SESSIONS"]
lock = threading.Lock()
answers = {}
cancelled = {}
at_work = []
arrived = threading.Event()


def write(message):
    with lock:
        sys.stdout.write(json.dumps(message) + "\n")
        sys.stdout.flush()


def raw(data):
    with lock:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()


def update(session, **what):
    write({"jsonrpc": "2.0", "method": "session/update", "params": {"sessionId": session, "update": what}})


def say(session, text, kind="agent_message_chunk"):
    update(session, sessionUpdate=kind, content={"type": "text", "text": text})


def note(name, text):
    with open(os.path.join(FOLDER, name), "a") as file:
        file.write(text)


def remembered(session):
    path = os.path.join(FOLDER, session)
    return open(path).read().splitlines() if os.path.exists(path) else None


def flood(session, kind):
    """Tells of something again and again until it is told to stop."""
    picture = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(b"x" * 3000).decode()}
    diff = {"type": "diff", "path": "/x/a.txt", "oldText": None, "newText": "x" * 3000}
    call = {"sessionUpdate": "tool_call", "kind": "edit", "status": "pending", "toolCallId": "t"}
    entry = {"content": "x" * 3000, "priority": "high", "status": "pending"}
    told = {
        "texts": {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "x" * 65536}},
        "calls": dict(call, title="look"),
        "diffs": dict(call, content=[diff]),
        "images": {"sessionUpdate": "agent_message_chunk", "content": picture},
        "plans": {"sessionUpdate": "plan", "entries": [entry]},
    }[kind]
    while not cancelled[session].is_set():
        update(session, **told)


def request(session, name):
    """Asks to be allowed something; what the question is known by."""
    options = [
        {"optionId": "go", "name": "Go on", "kind": "allow_once"},
        {"optionId": "no", "name": "Leave it", "kind": "reject_once"},
    ]
    key = "ask-%d-%s" % (len(answers), session)
    answers[key] = threading.Event()
    tool = {"toolCallId": "t", "title": "rm " + name, "kind": "delete"}
    if name == "told":
        update(session, sessionUpdate="tool_call", status="pending", **tool)
        tool = {"toolCallId": "t"}
    write({"jsonrpc": "2.0", "id": key, "method": "session/request_permission",
           "params": {"sessionId": session, "toolCall": tool, "options": options}})
    return key


def decided(key):
    """Waits for what was decided."""
    answers[key].wait()
    outcome = answers[key].outcome["outcome"]
    return outcome.get("optionId", outcome["outcome"])


def ask(session, name):
    return decided(request(session, name))


def turn(session, text):
    """Does what the text says; returns why it stopped."""
    word = text.split()[-1] if text.split() else ""
    turns = len(remembered(session) or [])
    if word == "crash":
        say(session, "half of it ")
        os._exit(3)
    if word == "stubborn":
        ask(session, "x")
        cancelled[session].wait()
        # Goes on a little, the longer if nobody else wants anything.
        arrived.wait(0.3)
        say(session, "too late")
        return "cancelled"
    if word == "slowly":
        arrived.set()
        threading.Event().wait(0.2)
        say(session, "SLOWLY")
        return "end_turn"
    if word in ("ask", "told"):
        say(session, "I will. ")
        say(session, "decided: " + ask(session, "x" if word == "ask" else word))
        return "end_turn"
    if word in ("hang", "deaf", "late"):
        say(session, "begun ")
        cancelled[session].wait()
        if word == "deaf":
            threading.Event().wait()
        if word == "late":
            say(session, "too late")
        return "cancelled"
    if word.startswith("flood-"):
        flood(session, word[len("flood-"):])
        return "cancelled"
    if word == "titles":
        ask(session, "x" * 100000)
    if word == "both":
        ask(session, "x")
        say(session, "[INPUT_REQUIRED] which?")
        return "end_turn"
    if word == "crowd":
        first = request(session, "x")
        # Fills up whatever room there is for it while the answer is waited for.
        for _ in range(40):
            say(session, "x" * 65536)
        for _ in range(1000):
            say(session, "x" * 100)
        note("beside", ask(session, "y"))
        say(session, "decided: " + decided(first))
        return "end_turn"
    if word == "gate":
        say(session, "begun ")
        while not os.path.exists(os.path.join(FOLDER, "go")):
            time.sleep(0.001)
        say(session, "ended")
        return "end_turn"
    if word == "picture":
        update(session, sessionUpdate="agent_message_chunk",
               content={"type": "image", "mimeType": "image/png", "data": "iVBORw=="})
        return "end_turn"
    if word == "edit":
        update(session, sessionUpdate="tool_call", toolCallId="t", title="Edit a.txt", kind="edit", status="pending",
               content=[{"type": "diff", "path": "/x/a.txt", "oldText": None, "newText": "new text"}])
        return "end_turn"
    if word == "plan":
        update(session, sessionUpdate="plan", entries=[{"content": "one", "priority": "high", "status": "pending"}])
        return "end_turn"
    if word == "files":
        for content in (
            {"type": "resource", "resource": {"uri": "file:///src/n.md", "mimeType": "text/markdown", "text": "# hi"}},
            {"type": "resource", "resource": {"uri": "file:///src/b.bin", "mimeType": "application/x-b", "blob": "/w=="}},
            {"type": "resource_link", "uri": "https://example.org/r.pdf", "name": "r.pdf", "mimeType": "application/pdf"},
        ):
            update(session, sessionUpdate="agent_message_chunk", content=content)
        say(session, "three files")
        return "end_turn"
    if word == "chunks":
        for number in range(int(text.split()[-2])):
            say(session, "%019d " % number)
        return "end_turn"
    if word == "tools":
        say(session, "secret plan", "agent_thought_chunk")
        update(session, sessionUpdate="plan", entries=[{"content": "one", "priority": "high", "status": "pending"}])
        update(session, sessionUpdate="tool_call", toolCallId="t", title="Edit a.txt", kind="edit", status="pending",
               content=[{"type": "diff", "path": "/x/a.txt", "oldText": None, "newText": "new text"}])
    if word == "endless":
        for _ in range(1024):
            raw(b"x" * 1048576)
        raw(b"\n")
    if word == "noisy":
        for _ in range(1024):
            sys.stderr.buffer.write(b"x" * 1048576)
    if word == "garbage":
        raw(b"\xff\xfe not a message\n{broken\n[1,2]\n\n")
    if word == "counted":
        at_work.append(session)
        # Long enough for others to begin, if they may.
        threading.Event().wait(0.01)
        say(session, str(len(at_work)))
        at_work.remove(session)
        return "end_turn"
    if word == "empty":
        return "end_turn"
    if word in ("refusal", "max_tokens"):
        say(session, "so far")
        return word
    if word == "where":
        say(session, open(os.path.join(FOLDER, session + ".cwd")).read())
        return "end_turn"
    if word == "prompt":
        say(session, text)
        return "end_turn"
    say(session, "ECHO %d: " % turns)
    say(session, word)
    return "end_turn"


def prompt(identity, session, blocks):
    text = "\n".join(block.get("text", "<%s>" % block["type"]) for block in blocks)
    with open(os.path.join(FOLDER, session), "a") as file:
        file.write(text.split()[-1] + "\n")
    note("blocks", json.dumps(blocks) + "\n")
    reason = turn(session, text)
    write({"jsonrpc": "2.0", "id": identity, "result": {"stopReason": reason}})


def new_session(cwd):
    name = "s-%s" % os.urandom(6).hex()
    open(os.path.join(FOLDER, name), "w").close()
    with open(os.path.join(FOLDER, name + ".cwd"), "w") as file:
        file.write(cwd)
    return name


def main():
    # Kept open until this process ends.
    alive = os.environ.get("ACP_ALIVE")
    alive = alive and open(alive, "w")
    note("starts", "%d\n" % os.getpid())
    note("times", "%f\n" % time.monotonic())
    if os.environ.get("ACP_CRASH"):
        sys.stderr.write("no model here\n")
        sys.exit(7)
    print("starting up")
    for line in sys.stdin:
        message = json.loads(line)
        method, params, identity = message.get("method"), message.get("params", {}), message.get("id")
        result = {}
        if method == "initialize":
            if os.environ.get("ACP_MUTE"):
                continue
            can = {"loadSession": bool(os.environ.get("ACP_LOAD"))}
            files = bool(os.environ.get("ACP_FILES"))
            can["promptCapabilities"] = {"image": files, "embeddedContext": files}
            can["mcpCapabilities"] = {"http": bool(os.environ.get("ACP_HTTP"))}
            if os.environ.get("ACP_RESUME"):
                can["sessionCapabilities"] = {"resume": {}}
            result = {"protocolVersion": 1, "agentInfo": {"name": "tester", "version": "1"}, "authMethods": [],
                      "agentCapabilities": can}
        elif method == "session/new":
            if os.environ.get("ACP_NO_SESSION"):
                continue
            if os.environ.get("ACP_LOGIN"):
                write({"jsonrpc": "2.0", "id": identity, "error": {"code": -32000, "message": "log in first"}})
                continue
            session = new_session(params["cwd"])
            with open(os.path.join(FOLDER, "mcp_servers"), "w") as kept:
                json.dump(params["mcpServers"], kept)
            cancelled[session] = threading.Event()
            result = {"sessionId": session}
            update(session, sessionUpdate="available_commands_update",
                   availableCommands=[{"name": "review", "description": "Reviews"}])
        elif method in ("session/load", "session/resume"):
            session = params["sessionId"]
            note("brought_back", method + "\n")
            if method == "session/resume" and os.environ.get("ACP_RESUME") != "1":
                write({"jsonrpc": "2.0", "id": identity, "error": {"code": -32603, "message": "not now"}})
                continue
            if remembered(session) is None:
                write({"jsonrpc": "2.0", "id": identity, "error": {"code": -32602, "message": "no such session"}})
                continue
            cancelled[session] = threading.Event()
            if method == "session/load":
                for said in remembered(session):
                    say(session, "replayed " + said)
        elif method == "session/prompt":
            session = params["sessionId"]
            cancelled.setdefault(session, threading.Event()).clear()
            threading.Thread(target=prompt, args=(identity, session, params["prompt"]), daemon=True).start()
            continue
        elif method == "session/cancel":
            cancelled.setdefault(params["sessionId"], threading.Event()).set()
            note("cancelled", params["sessionId"] + "\n")
            continue
        elif identity in answers:
            answers[identity].outcome = message["result"]
            answers[identity].set()
            continue
        write({"jsonrpc": "2.0", "id": identity, "result": result})


main()
