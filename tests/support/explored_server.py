"""A handwritten server that answers, exits or hangs as its test requires."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from mcpgen.factory.wire.targets import Target

TOOL: dict[str, Any] = {
    "name": "wait",
    "description": "Answer, die or hang.",
    "inputSchema": {
        "type": "object",
        "properties": {"then": {"enum": ["answer", "die", "hang"]}},
        "required": ["then"],
    },
    "annotations": {"readOnlyHint": True},
}

_SCRIPT = """
import json, os, pathlib, sys, time
folder = pathlib.Path(__file__).parent
options = json.loads((folder / "options.json").read_text())
(folder / "pid").write_text(str(os.getpid()))
for line in sys.stdin:
    message = json.loads(line)
    method = message["method"]
    if "id" not in message:
        continue
    reply = {"jsonrpc": "2.0", "id": message["id"]}
    error = {"code": -32600, "message": "not in this test"}
    if method == "initialize" and options["initialize"] == "answer":
        reply["result"] = {
            "protocolVersion": message["params"]["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "waiting", "version": "1"},
        }
    elif method == "server/discover":
        reply["result"] = {"supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
    elif method == "tools/list" and options["listing"] == "answer":
        reply["result"] = {"tools": options["tools"]}
    elif method == "tools/list" and options["listing"] == "garbage":
        print("no JSON", flush=True)
        continue
    elif method == "tools/call":
        (folder / "called").touch()
        then = message["params"]["arguments"].get("then", "answer")
        if then == "die":
            sys.exit("I am dying")
        while then == "hang":
            time.sleep(1)
        reply["result"] = options["result"]
    else:
        reply["error"] = error
    print(json.dumps(reply), flush=True)
"""


def write_server(
    folder: Path,
    *,
    initialize: str | None = "answer",
    listing: str = "answer",
    tools: list[dict[str, Any]] | None = None,
    result: dict[str, Any] | None = None,
) -> Target:
    """Write the server; return a target that starts it.

    Its process id is in `folder/pid`; `folder/called` exists once a tool was called. Options other
    than "answer" are answered with an error, `listing="garbage"` with a text that is not JSON.
    """
    options = {
        "initialize": initialize,
        "listing": listing,
        "tools": [TOOL] if tools is None else tools,
        "result": result or {"content": [{"type": "text", "text": "waited"}]},
    }
    script = folder / "server.py"
    script.write_text(_SCRIPT)
    (folder / "options.json").write_text(json.dumps(options))
    return Target(command=(sys.executable, str(script)))
