"""Check whether a client declared the capability that a request to it requires."""

from __future__ import annotations

from mcpgen.runtime.errors import ClientCannotError
from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.runtime.protocol.versions import REVISION_2026_07_28, Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

_CAPABILITY: Final = {
    "elicitation/create": "elicitation",
    "roots/list": "roots",
    "sampling/createMessage": "sampling",
}


def check_client_can(
    method: str, params: JsonObject, revision: Revision, capabilities: JsonObject
) -> None:
    """Check that the client declared the capability for a request.

    Raises:
        ClientCannotError: it did not; `required` contains the missing capability.
    """
    if method not in revision.client_requests:
        raise ClientCannotError(
            f"MCP {revision.name}, the revision of this client, has no {method}",
            _make_requirement(method, params),
        )
    if method == "ping":
        return
    capability = _CAPABILITY[method]
    declared = capabilities.get(capability)
    if not isinstance(declared, dict):
        raise ClientCannotError(
            f"this client did not declare `{capability}`, which {method} needs",
            _make_requirement(method, params),
        )
    if method == "elicitation/create":
        _check_mode(params.get("mode", "form"), revision, declared)
    if method == "sampling/createMessage" and _uses_tools(params):
        _check_tools(revision, declared)


def find_extension(capabilities: JsonObject, extension: str) -> JsonObject | None:
    """Return the settings with which a client declared an extension; None if it did not."""
    extensions = capabilities.get("extensions")
    settings = extensions.get(extension) if type(extensions) is dict else None
    return settings if type(settings) is dict else None


def check_form(schema: JsonObject, revision: Revision) -> None:
    """Check that this revision supports every field of a form.

    Raises:
        ClientCannotError: only a newer revision supports a field.
        ValueError: no revision supports a field.
    """
    for name, field in schema.get("properties", {}).items():
        kind = field.get("type") if isinstance(field, dict) else None
        if not isinstance(kind, str) or kind not in REVISION_2026_07_28.form_field_types:
            raise ValueError(f"invalid type {kind!r} of the form field {name!r}")
        if kind not in revision.form_field_types:
            raise ClientCannotError(
                f"forms of MCP {revision.name}, the revision of this client, have no {kind}",
                {"elicitation": {"form": {}}},
            )


def _check_mode(mode: str, revision: Revision, declared: JsonObject) -> None:
    declares_form = "form" in declared or "url" not in declared  # `{}` means form only
    can = declares_form if mode == "form" else mode in declared
    if mode not in revision.elicitation_modes or not can:
        raise ClientCannotError(
            f"this client did not declare elicitation in {mode} mode", {"elicitation": {mode: {}}}
        )


def _uses_tools(params: JsonObject) -> bool:
    if "tools" in params or "toolChoice" in params:
        return True
    contents = (message["content"] for message in params["messages"])
    blocks = (block for it in contents for block in (it if type(it) is list else [it]))
    return any(block["type"] in {"tool_use", "tool_result"} for block in blocks)


def _check_tools(revision: Revision, declared: JsonObject) -> None:
    if not revision.has_sampling_tools or "tools" not in declared:
        raise ClientCannotError(
            "this client did not declare `sampling.tools`", {"sampling": {"tools": {}}}
        )


def _make_requirement(method: str, params: JsonObject) -> JsonObject:
    capability = _CAPABILITY[method]
    if method == "elicitation/create" and params.get("mode") == "url":
        return {capability: {"url": {}}}
    return {capability: {}}
