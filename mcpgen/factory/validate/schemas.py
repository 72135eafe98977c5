"""The JSON Schemas of MCP frames of each revision, and what a frame violates."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from importlib import resources
from itertools import islice
from typing import Any, Final

import jsonschema_rs

from mcpgen.factory.wire.frames import Frame
from mcpgen.jsonschema.types import JsonObject
from mcpgen.text.json_pointer import json_pointer

_MAX_PROBLEMS: Final = 5
_MAX_TEXT: Final = 200
_RESULTS: Final[Mapping[str, str]] = {
    "completion/complete": "CompleteResult",
    "initialize": "InitializeResult",
    "logging/setLevel": "Result",
    "ping": "Result",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "Result",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/unsubscribe": "Result",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tasks/cancel": "CancelTaskResult",
    "tasks/get": "GetTaskResult",
    "tasks/list": "ListTasksResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
}
_URL_ELICITATION_REQUIRED: Final = -32042


def find_violations(frame: Frame, message: JsonObject) -> list[str]:
    """Return what a message of the server violates in the schema of its revision.

    Messages of methods that the revision does not define are checked as any JSON-RPC message.
    """
    kind, instance = _choose_schema(frame, message)
    return find_problems(frame.revision, kind, instance)


def find_problems(revision: str, kind: str, instance: Any) -> list[str]:
    """Return what an instance violates in a definition of the revision, without formats."""
    validator = _validator(revision, kind)
    if validator is None or validator.is_valid(instance):
        return []
    found = []
    for error in islice(validator.iter_errors(instance), _MAX_PROBLEMS):
        where = json_pointer(list(error.instance_path)) or "the whole"
        found.append(f"{where}: {error.message[:_MAX_TEXT]}")
    return found


def has_definition(revision: str, kind: str) -> bool:
    """Whether the schema of a revision has a definition."""
    return kind in _definitions(revision)["$defs"]


def _choose_schema(frame: Frame, message: JsonObject) -> tuple[str, Any]:
    """Return the definition that applies to a message, and the described part of the message."""
    revision = frame.revision
    if "method" in message:
        group = "ServerRequest" if "id" in message else "ServerNotification"
        if message["method"] in _list_methods(revision, group):
            return _list_methods(revision, group)[message["method"]], message
        return "JSONRPCRequest" if "id" in message else "JSONRPCNotification", message
    if "error" in message:
        code = message["error"].get("code") if isinstance(message["error"], dict) else None
        if code == _URL_ELICITATION_REQUIRED and has_definition(
            revision, "URLElicitationRequiredError"
        ):
            return "URLElicitationRequiredError", message
        is_new = has_definition(revision, "JSONRPCErrorResponse")
        kind = "JSONRPCErrorResponse" if is_new else "JSONRPCError"
        # Without a readable id, JSON-RPC asks for null and MCP for none at all.
        return kind, message if message.get("id") is not None else {**message, "id": 0}
    return _choose_result(frame, message), message.get("result")


def _choose_result(frame: Frame, message: JsonObject) -> str:
    request = frame.request.body if frame.request is not None else {}
    method, result = request.get("method", ""), message.get("result")
    if isinstance(result, dict) and result.get("resultType", "complete") != "complete":
        is_input = result["resultType"] == "input_required"
        return "InputRequiredResult" if is_input else "Result"
    params = request.get("params")
    is_task = method == "tools/call" and isinstance(params, dict) and "task" in params
    if is_task and isinstance(result, dict) and "task" in result:
        return "CreateTaskResult"
    kind = _RESULTS.get(method if isinstance(method, str) else "", "Result")
    return kind if has_definition(frame.revision, kind) else "Result"


@functools.cache
def _list_methods(revision: str, group: str) -> Mapping[str, str]:
    """Return the definition of each method of server requests or notifications."""
    definitions = _definitions(revision)["$defs"]
    names = [
        option["$ref"].rpartition("/")[2] for option in definitions.get(group, {}).get("anyOf", ())
    ]
    return {definitions[name]["properties"]["method"]["const"]: name for name in names}


@functools.cache
def _definitions(revision: str) -> JsonObject:
    folder = resources.files("mcpgen.factory.validate").joinpath("frame_schemas")
    schema: JsonObject = json.loads(folder.joinpath(f"{revision}.json").read_text("utf-8"))
    return schema


@functools.cache
def _validator(revision: str, kind: str) -> jsonschema_rs.Validator | None:
    if not has_definition(revision, kind):
        return None
    schema = {"$ref": f"#/$defs/{kind}", **_definitions(revision)}
    if "draft-07" in schema["$schema"]:
        # draft-07 ignores siblings of `$ref`, which is fine here: there is only `$defs`.
        return jsonschema_rs.Draft7Validator(schema, offline=True, validate_formats=False)
    return jsonschema_rs.Draft202012Validator(schema, offline=True, validate_formats=False)
