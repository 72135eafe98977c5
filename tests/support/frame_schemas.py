"""Write the MCP schemas of each revision in the reduced form that `mcpgen validate` contains.

`python -m tests.support.frame_schemas` writes the files again from ../shared/mcp-schema.
"""

from __future__ import annotations

import json
from typing import Any

from tests.support.mcp_schemas import FOLDER
from tests.support.paths import REPOSITORY

WRITTEN = REPOSITORY / "mcpgen" / "factory" / "validate" / "frame_schemas"
REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28")
TEXTS = {"description", "examples", "deprecated"}
ROOTS = {
    "CallToolResult", "CancelTaskResult", "CompleteResult", "CreateTaskResult", "DiscoverResult",
    "EmptyResult", "GetPromptResult", "GetTaskPayloadResult", "GetTaskResult", "InitializeResult",
    "InputRequiredResult", "JSONRPCError", "JSONRPCErrorResponse", "JSONRPCNotification",
    "JSONRPCRequest", "JSONRPCResponse", "JSONRPCResultResponse", "ListPromptsResult",
    "ListResourceTemplatesResult", "ListResourcesResult", "ListTasksResult", "ListToolsResult",
    "ReadResourceResult", "Result", "ServerNotification", "ServerRequest",
    "SubscriptionsListenResult", "URLElicitationRequiredError",
}  # fmt: skip


def build(revision: str) -> str:
    """Return the file of a revision: the definitions of server frames, without titles and texts."""
    source = json.loads((FOLDER / revision / "schema.json").read_text("utf-8"))
    definitions = source.get("$defs") or source["definitions"]
    reached: dict[str, Any] = {}
    waiting = sorted(ROOTS & definitions.keys())
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached[name] = strip(definitions[name])
            waiting += [name.rpartition("/")[2] for name in references(reached[name])]
    schema = {"$schema": source["$schema"], "$defs": dict(sorted(reached.items()))}
    text = json.dumps(schema, separators=(",", ":"), ensure_ascii=False)
    return text.replace("#/definitions/", "#/$defs/") + "\n"


def strip(node: Any, *, names_properties: bool = False) -> Any:
    """Return a schema without titles and descriptions, but with properties of these names."""
    if isinstance(node, list):
        return [strip(item) for item in node]
    if not isinstance(node, dict):
        return node
    return {
        key: strip(value, names_properties=key == "properties" and not names_properties)
        for key, value in node.items()
        if names_properties or key not in TEXTS
    }


def references(node: Any) -> list[str]:
    if isinstance(node, list):
        return [found for item in node for found in references(item)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if "$ref" in node else []
    return own + [found for value in node.values() for found in references(value)]


if __name__ == "__main__":
    for each in REVISIONS:
        (WRITTEN / f"{each}.json").write_text(build(each), "utf-8")
