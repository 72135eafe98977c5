"""A server with results of arbitrary shape: `shapeless_server.py SEED`."""

import json
import random
import sys

RANDOM = random.Random(int(sys.argv[1]))
SCALARS = [None, True, 0, -1, 1.5, "", "x", "\ud800", "\x1b[31m", [], {}, [[]], 10**30]
LISTS = [[{"name": "x"}], [{"name": {}}], [{"uri": 7}], {"type": "object"}]
NAMES = """
tools resources prompts name uri inputSchema outputSchema content structuredContent contents
messages capabilities nextCursor type text annotations _meta resultType inputRequests requestState
properties completion values isError error code data params method id arguments required task
taskId supportedVersions blob execution taskSupport ttlMs x-mcp-header extensions
""".split()
NOTIFICATIONS = """
notifications/progress notifications/message notifications/cancelled x
notifications/tools/list_changed
""".split()
REQUESTS = ["roots/list", "elicitation/create", "sampling/createMessage", "ping", 7]


def make_any(depth=0):
    kind = RANDOM.random()
    if depth > 3 or kind < 0.5:
        return RANDOM.choice([*SCALARS, *LISTS])
    if kind < 0.7:
        return [make_any(depth + 1) for _ in range(RANDOM.randint(0, 3))]
    return {RANDOM.choice(NAMES): make_any(depth + 1) for _ in range(RANDOM.randint(0, 6))}


def make_capabilities():
    return {
        "tools": {"listChanged": make_any()},
        "resources": {"subscribe": True},
        "prompts": {},
        "completions": {},
        "logging": {},
        "tasks": {"requests": {"tools": {"call": {}}}, "list": {}, "cancel": {}},
        "extensions": make_any(),
    }


def make_tool(number):
    return {
        "name": f"t{number}" if RANDOM.random() < 0.8 else make_any(),
        "inputSchema": RANDOM.choice(
            [make_any(), {"type": "object"}, {"type": "object", "properties": {"a": make_any()}}]
        ),
        "outputSchema": make_any(),
        "annotations": {"readOnlyHint": True},
        "execution": {"taskSupport": RANDOM.choice(["optional", "required", {}, None])},
    }


def make_result(method, params):
    if RANDOM.random() < 0.15:
        return make_any()
    common = {"resultType": "complete", "_meta": make_any(), "nextCursor": make_any()}
    match method:
        case "initialize":
            version = params.get("protocolVersion")
            return {"protocolVersion": version, "capabilities": make_capabilities()}
        case "server/discover":
            versions = ["2026-07-28"]
            return {
                **common,
                "supportedVersions": versions,
                "capabilities": make_capabilities(),
            }
        case "tools/list":
            return {**common, "tools": [make_tool(number) for number in range(4)]}
        case "resources/list" | "resources/templates/list":
            listed = [make_any(), {"uri": make_any()}, {"uri": "x:y"}]
            return {**common, "resources": listed, "resourceTemplates": listed}
        case "prompts/list":
            arguments = [make_any(), {"name": make_any(), "required": True}]
            return {**common, "prompts": [make_any(), {"name": "p", "arguments": arguments}]}
        case "tools/call" if RANDOM.random() < 0.4:
            asked = {"method": RANDOM.choice(["elicitation/create", 7]), "params": make_any()}
            return {"resultType": "input_required", "inputRequests": {"k": asked}}
    return make_any()


def send(message):
    print(json.dumps(message), flush=True)


def answer(message):
    if RANDOM.random() < 0.1:
        method = RANDOM.choice(NOTIFICATIONS)
        send({"jsonrpc": "2.0", "method": method, "params": make_any()})
    if RANDOM.random() < 0.1:
        method = RANDOM.choice(REQUESTS)
        send({"jsonrpc": "2.0", "id": make_any(), "method": method, "params": make_any()})
    if RANDOM.random() < 0.05:
        send(make_any())
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    if RANDOM.random() < 0.1 and message.get("method") not in ("initialize", "server/discover"):
        send({**reply, "error": make_any()})
    else:
        send({**reply, "result": make_result(message.get("method"), message.get("params") or {})})


for line in sys.stdin:
    try:
        received = json.loads(line)
    except ValueError:
        print("what?", flush=True)
        continue
    if isinstance(received, dict) and "id" in received and "method" in received:
        answer(received)
