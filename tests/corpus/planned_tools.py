"""Plan the server of each document named on stdin, and print its tools, one line per document.

`before_and_after.py` runs this file with the mcpgen of two source trees, so it uses nothing else
of the repository, and of mcpgen only what both trees have.
"""

from __future__ import annotations

import inspect
import json
import sys
import time
import traceback
from collections import Counter
from pathlib import Path
from typing import Any

from mcpgen.diagnostics import Location, Problems, RejectedError, Severity
from mcpgen.ir.manifest import LocatedManifest, Manifest, ServerEntry
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.pipeline.build import plan_server
from mcpgen.pipeline.options import BuildOptions
from mcpgen.pipeline.parse import parse_source
from mcpgen.pipeline.server_name import choose_server_name
from mcpgen.plan.policy import Policy
from mcpgen.render.request_contract import request_contract


def _plan_server(*arguments: Any, strict: bool) -> ServerPlan:
    """Plan a server, also in trees whose planner does not report progress."""
    kinds = [each.kind for each in inspect.signature(plan_server).parameters.values()]
    known = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return plan_server(*arguments[:known], strict=strict)


def planned(path: str) -> dict[str, Any]:
    """Plan one document; `error` is the reason if there is no plan."""
    problems = Problems()
    found: dict[str, Any] = {"tools": {}, "skipped": {}, "settings": [], "error": ""}
    try:
        options = BuildOptions(external_validator=False)
        api = parse_source(path, options, problems, lambda _: None).api
        manifest = Manifest(server=ServerEntry(name=choose_server_name(api.title)), sources=())
        intent = LocatedManifest(manifest, lambda _: Location("mcpgen.yaml"))
        plan = _plan_server(api, Policy(intent), problems, lambda _: None, strict=False)
    except RejectedError:
        errors = [each for each in problems if each.severity is Severity.ERROR]
        found["error"] = "; ".join(f"{each.code}: {each.message}" for each in errors[:3])
    except Exception as error:  # noqa: BLE001  (a crash is a result to compare)
        found["error"] = "crash: " + traceback.format_exception_only(error)[-1].strip()
    else:
        found["tools"] = {tool.operation.key: _tool(plan, tool) for tool in plan.tools}
        found["skipped"] = {left.operation: left.code for left in plan.skipped}
        found["settings"] = [variable.name for variable in plan.environment]
    found["problems"] = Counter(each.code for each in problems)
    return found


def _tool(plan: ServerPlan, tool: ToolPlan) -> dict[str, Any]:
    """Return the name, the arguments and the request of a tool."""
    operation = tool.operation
    arguments = {(item.location, item.wire_name): item for item in tool.arguments}
    request = request_contract(plan, tool)
    for parameter in request["parameters"]:
        place = (parameter["in"], parameter["name"])
        parameter.pop("argument", None)
        if place in arguments:
            argument = arguments[place]
            parameter["required"] = argument.required
            listed = tool.input_schema["properties"][argument.name]
            parameter["default"] = listed.get("default")
        else:
            parameter["fixed"] = True
    for name in ("argument", "content_type_argument"):
        request.get("body", {}).pop(name, None)
    return {
        "name": tool.name,
        "operation_id": operation.operation_id,
        "summary": operation.summary,
        "arguments": {f"{item.location}:{item.wire_name}": item.name for item in tool.arguments},
        "request": request,
    }


def main() -> None:
    """Print the folder of the mcpgen in use, then a JSON line for each document named on stdin."""
    import mcpgen

    print(Path(mcpgen.__file__ or "").parents[1], flush=True)
    for line in sys.stdin:
        path = line.rstrip("\n")
        started = time.monotonic()
        found = planned(path)
        found["seconds"] = round(time.monotonic() - started, 2)
        print(json.dumps(found, default=repr), flush=True)


if __name__ == "__main__":
    main()
