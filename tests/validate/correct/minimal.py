"""A server that declares nothing at all: it answers `initialize` and `ping`."""

import json
import sys

KNOWN = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")


def answer(message):
    """Return the response to a request."""
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if message["method"] == "initialize":
        asked = message.get("params", {}).get("protocolVersion")
        version = asked if asked in KNOWN else KNOWN[-1]
        info = {"name": "minimal", "version": "0"}
        result = {"protocolVersion": version, "capabilities": {}, "serverInfo": info}
        return {**reply, "result": result}
    if message["method"] == "ping":
        return {**reply, "result": {}}
    return {**reply, "error": {"code": -32601, "message": "unknown method"}}


def is_request(message):
    """Whether a message is to be answered."""
    return isinstance(message, dict) and isinstance(message.get("method"), str) and "id" in message


def answer_line(line):
    """Return the responses to a line."""
    try:
        received = json.loads(line)
    except (ValueError, RecursionError):
        return {"jsonrpc": "2.0", "error": {"code": -32700, "message": "not JSON"}}
    messages = received if isinstance(received, list) else [received]
    found = [answer(message) for message in messages if is_request(message)]
    return found if isinstance(received, list) else next(iter(found), None)


for each in sys.stdin.buffer:
    response = answer_line(each)
    if response:
        sys.stdout.buffer.write(json.dumps(response).encode() + b"\n")
        sys.stdout.buffer.flush()
