"""A small MCP server over stdio for tests of the validator: `small_server.py [FAULT]`.

It supports 2025-06-18 and 2025-11-25 and has one tool. A fault is "sham", "silent", "exits",
"banner", "fragile" (exits at a line that is not JSON) or "busy" (answers no call). With
"slow-start", which is no fault, the first call takes longer than the others; with "slow", all do,
and nothing is read meanwhile.
"""

import json
import sys
import time

FAULT = sys.argv[1] if len(sys.argv) > 1 else ""
REVISIONS = ("2025-06-18", "2025-11-25")
ADD = {
    "name": "add",
    "description": "Add two numbers.",
    "inputSchema": {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a", "b"],
    },
    "outputSchema": {
        "type": "object",
        "properties": {"sum": {"type": "integer"}},
        "required": ["sum"],
    },
    "annotations": {"readOnlyHint": True},
}


is_started = False


class RpcError(Exception):
    """An error response."""


def answer(method, params):
    if method == "initialize":
        asked = params.get("protocolVersion")
        return {
            "protocolVersion": asked if asked in REVISIONS else REVISIONS[-1],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "small", "version": "1.0"},
        }
    if method == "ping":
        return {}
    if method == "tools/list":
        if "cursor" in params:
            raise RpcError(-32602, "unknown cursor")
        return {"tools": [ADD]}
    if method == "tools/call":
        return call(params)
    raise RpcError(-32601, "unknown method")


def call(params):
    global is_started
    if FAULT == "slow" or (FAULT == "slow-start" and not is_started):
        time.sleep(0.6)
    is_started = True
    if params.get("name") != "add":
        raise RpcError(-32602, "unknown tool")
    arguments = params.get("arguments", {})
    numbers = [arguments.get("a"), arguments.get("b")]
    if not all(isinstance(number, int) for number in numbers):
        return {"content": [{"type": "text", "text": "a and b are required"}], "isError": True}
    result = {"sum": sum(numbers)}
    return {"content": [{"type": "text", "text": json.dumps(result)}], "structuredContent": result}


def send(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)


def serve(line):
    try:
        message = json.loads(line)
    except ValueError:
        if FAULT == "fragile":
            sys.exit(1)
        send({"error": {"code": -32700, "message": "not JSON"}})
        return
    if not isinstance(message, dict) or "id" not in message:
        return
    params = message.get("params") or {}
    if FAULT == "busy" and message["method"] == "tools/call":
        return
    if FAULT == "sham" and message["method"] != "initialize":
        send({"id": message["id"], "result": {"content": [], "tools": [{"name": "a tool!"}]}})
        return
    try:
        send({"id": message["id"], "result": answer(message["method"], params)})
    except RpcError as error:
        code, text = error.args
        send({"id": message["id"], "error": {"code": code, "message": text}})


if FAULT == "banner":
    print("small server 1.0 is ready", flush=True)
if FAULT == "exits":
    sys.exit("TOKEN is not set")
for each in sys.stdin:
    if FAULT != "silent":
        serve(each)
