"""The MCP schemas without additional properties: frames may have only members of their revision."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import jsonschema_rs

from tests.support import skill_schemas
from tests.support.paths import SHARED

FOLDER = SHARED / "mcp-schema"
ARE_THERE = FOLDER.is_dir()

RESULTS = {
    "completion/complete": "CompleteResult",
    "initialize": "InitializeResult",
    "logging/setLevel": "EmptyResult",
    "ping": "EmptyResult",
    "prompts/get": "GetPromptResult",
    "prompts/list": "ListPromptsResult",
    "resources/list": "ListResourcesResult",
    "resources/read": "ReadResourceResult",
    "resources/subscribe": "EmptyResult",
    "resources/templates/list": "ListResourceTemplatesResult",
    "resources/unsubscribe": "EmptyResult",
    "server/discover": "DiscoverResult",
    "subscriptions/listen": "SubscriptionsListenResult",
    "tasks/cancel": "CancelTaskResult",
    "tasks/get": "GetTaskResult",
    "tasks/update": "UpdateTaskResult",
    "tools/call": "CallToolResult",
    "tools/list": "ListToolsResult",
    **skill_schemas.RESULTS,
}
NOTIFICATIONS = {
    "notifications/cancelled": "CancelledNotification",
    "notifications/elicitation/complete": "ElicitationCompleteNotification",
    "notifications/message": "LoggingMessageNotification",
    "notifications/progress": "ProgressNotification",
    "notifications/prompts/list_changed": "PromptListChangedNotification",
    "notifications/resources/list_changed": "ResourceListChangedNotification",
    "notifications/resources/updated": "ResourceUpdatedNotification",
    "notifications/subscriptions/acknowledged": "SubscriptionsAcknowledgedNotification",
    "notifications/tasks": "TaskStatusNotification",
    "notifications/tools/list_changed": "ToolListChangedNotification",
}
OF_TASKS = {
    "CancelTaskResult", "CreateTaskResult", "GetTaskResult",
    "TaskSubscriptionAcknowledgedNotifications", "TaskStatusNotification", "UpdateTaskResult",
}  # fmt: skip
"""Types of the Tasks extension, which has its own schema."""
TASKS_SINCE = "2026-07-28"
URL_ELICITATION_REQUIRED = -32042
REQUESTS = {
    "elicitation/create": "ElicitRequest",
    "ping": "PingRequest",
    "roots/list": "ListRootsRequest",
    "sampling/createMessage": "CreateMessageRequest",
}
# Objects that the schema leaves open for members of newer revisions. Frames of an older revision
# must not have these members.
CLOSED = {
    "Annotations", "AudioContent", "BlobResourceContents", "CallToolResult", "CompleteResult",
    "DiscoverResult", "EmbeddedResource", "GetPromptResult", "ImageContent", "Implementation",
    "InitializeResult", "InputRequiredResult", "ListPromptsResult",
    "ListResourceTemplatesResult", "ListResourcesResult", "ListToolsResult",
    "LoggingMessageNotificationParams", "ProgressNotificationParams", "Prompt", "PromptArgument",
    "PromptMessage", "ReadResourceResult", "Resource", "ResourceLink", "ResourceTemplate",
    "SamplingMessage", "ServerCapabilities", "SubscriptionFilter", "SubscriptionsListenResult",
    "TextContent", "TextResourceContents", "Tool", "ToolAnnotations", "ToolResultContent",
    "ToolUseContent",
}  # fmt: skip


@cache
def definitions(revision: str) -> dict[str, Any]:
    """Return the definitions in the schema of a revision."""
    schema = json.loads((FOLDER / revision / "schema.json").read_text("utf-8"))
    found: dict[str, Any] = schema.get("$defs") or schema["definitions"]
    return found


def check_frame(revision: str, frame: dict[str, Any], method: str = "") -> None:
    """Fail unless `revision` allows a frame; `method` is the method that a response answers."""
    if not ARE_THERE:
        return
    if "method" in frame:
        kind = (REQUESTS if "id" in frame else NOTIFICATIONS)[frame["method"]]
        assert frame.keys() <= {"jsonrpc", "id", "method", "params"}
        if kind == "SubscriptionsAcknowledgedNotification" and revision == TASKS_SINCE:
            frame = copy.deepcopy(frame)
            honoured = frame["params"]["notifications"]
            _check(revision, "TaskSubscriptionAcknowledgedNotifications", honoured)
            honoured.pop("taskIds", None)
        _check(revision, kind, frame)
    elif "error" in frame:
        names = definitions(revision)
        kind = "JSONRPCErrorResponse" if "JSONRPCErrorResponse" in names else "JSONRPCError"
        if frame["error"]["code"] == URL_ELICITATION_REQUIRED:
            kind = "URLElicitationRequiredError"
        # An error response to a message without a readable id has none; no schema allows null.
        _check(revision, kind, {"id": 0, **frame})
        assert frame.keys() <= {"jsonrpc", "id", "error"}
    else:
        assert frame.keys() == {"jsonrpc", "id", "result"}
        kind = {"input_required": "InputRequiredResult", "task": "CreateTaskResult"}.get(
            frame["result"].get("resultType"), RESULTS[method]
        )
        _check(revision, kind, frame["result"])


def _check(revision: str, kind: str, instance: Any) -> None:
    problems = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in _validator(revision, kind).iter_errors(instance)
    ]
    assert not problems, f"{revision} {kind}: {problems} in {json.dumps(instance)[:2000]}"


@cache
def _validator(revision: str, kind: str) -> Any:
    folder = "ext-tasks" if kind in OF_TASKS and revision == TASKS_SINCE else revision
    schema = json.loads((FOLDER / folder / "schema.json").read_text("utf-8"))
    key = "$defs" if "$defs" in schema else "definitions"
    types = copy.deepcopy({**schema[key], **skill_schemas.TYPES})
    for name in CLOSED & types.keys():
        types[name]["additionalProperties"] = False
    root = {"$schema": schema["$schema"], "$ref": f"#/{key}/{kind}", key: types}
    if key == "definitions":
        return jsonschema_rs.Draft7Validator(root)
    return jsonschema_rs.Draft202012Validator(root)
