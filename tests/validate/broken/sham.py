"""A server without any substance, on which other validators award the full score."""

import json
import sys

TOOLS = [
    {"name": "do everything!", "inputSchema": {"type": "strin"}},
    {"name": "do everything!", "inputSchema": None},
]

for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, reply = message.get("method"), {"jsonrpc": "2.0", "id": message["id"]}
    if method == "initialize":
        version = message["params"]["protocolVersion"]
        info = {"name": "sham", "version": "1.0.0"}
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
        reply["result"] = result
    elif method == "tools/list":
        reply["result"] = {"tools": TOOLS}
    elif method == "tools/call":
        content = [{"type": "text", "text": "Error: API_KEY is not set"}]
        reply["result"] = {"content": content, "isError": True}
    else:
        reply["error"] = {"code": -32000, "message": "error"}
    print(json.dumps(reply), flush=True)
