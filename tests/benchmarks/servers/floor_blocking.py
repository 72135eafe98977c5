"""Lower bound: a blocking loop that answers from a dictionary and validates nothing."""

import json
import sys

COUNT = int(sys.argv[1])
TOOLS = [
    {
        "name": f"repeat_{index}",
        "description": "Repeat a text.",
        "inputSchema": {
            "type": "object",
            "properties": {"text": {"type": "string"}, "times": {"type": "integer"}},
            "required": ["text", "times"],
        },
    }
    for index in range(COUNT)
]


def answer(request: dict[str, object]) -> dict[str, object]:
    """Return the result of a request without validating the request."""
    params = request["params"]
    if request["method"] == "tools/list":
        return {"tools": TOOLS, "resultType": "complete", "ttlMs": 0, "cacheScope": "private"}
    arguments = params["arguments"]
    text = arguments["text"] * arguments["times"]
    return {"content": [{"type": "text", "text": text}], "resultType": "complete"}


for line in sys.stdin.buffer:
    message = json.loads(line)
    reply = {"jsonrpc": "2.0", "id": message["id"], "result": answer(message)}
    sys.stdout.buffer.write(json.dumps(reply).encode() + b"\n")
    sys.stdout.buffer.flush()
