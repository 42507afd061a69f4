"""An MCP server over standard input and output for tests; what it does is its first argument.

good: two pages of tools, after a look whether the client is there. slow: the same, once the file named by
its second argument is there. mute: hears and says nothing. broken: complains and ends. endless: writes lines
that are no messages for ever.
"""

import json
import os
import sys
import time

MODE = sys.argv[1]
MARK = sys.argv[2] if len(sys.argv) > 2 else None


def write(message):
    print(json.dumps(message), flush=True)


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


def tool(name, **more):
    return {"name": name, "inputSchema": {"type": "object"}, **more}


def initialize(request):
    offered = request["params"]["protocolVersion"]
    assert request["method"] == "initialize" and offered, request
    print("this line is no message", flush=True)
    write({"jsonrpc": "2.0", "id": "look", "method": "ping"})
    assert read() == {"jsonrpc": "2.0", "id": "look", "result": {}}
    write({"jsonrpc": "2.0", "id": request["id"], "result": {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {"listChanged": True}},
        "serverInfo": {"name": "tester", "version": "1"}}})
    assert read()["method"] == "notifications/initialized"


def main():
    if MODE == "broken":
        sys.exit("the database is away")
    if MARK and MODE == "mute":
        with open(MARK, "w") as kept:
            kept.write(str(os.getpid()))
    while MODE == "mute":
        time.sleep(60)
    while MODE == "endless":
        print("x" * 1000)
    while MODE == "slow" and not os.path.exists(MARK):
        time.sleep(0.02)
    initialize(read())
    pages = {
        None: ([tool("search", title="Web search", description="Finds pages")], "two"),
        "two": ([tool("fetch", description=os.environ.get("FETCHES", ""))], None),
    }
    while True:
        request = read()
        assert request["method"] == "tools/list", request
        tools, following = pages[request["params"].get("cursor")]
        result = {"tools": tools}
        if following:
            result["nextCursor"] = following
        write({"jsonrpc": "2.0", "id": request["id"], "result": result})


main()
