"""`tests/generated/upstream.json`: the API as the mock upstream knows it."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.ir.api import (
    Api,
    Encoding,
    MediaType,
    Operation,
    Parameter,
    RequestBody,
    Response,
    SchemeUse,
    SecurityScheme,
    Server,
    ServerVariable,
)
from mcpgen.jsonschema.types import JsonObject, JsonValue

_NOT_FOR_THE_MOCK = frozenset(
    {
        "at",
        "declared",
        "deprecated",
        "description",
        "extension_name",
        "extensions",
        "is_generated",
        "is_public",
        "operation_id",
        "outer_extensions",
        "published_arguments",
        "reserved",
        "root_part",
        "source",
        "summary",
        "tag",
        "tags",
        "xml_root",
    }
)


_FIELDS_FOR_THE_MOCK: Mapping[type, tuple[str, ...]] = {
    kind: tuple(name for name in kind.__struct_fields__ if name not in _NOT_FOR_THE_MOCK)
    for kind in (
        Encoding,
        MediaType,
        Operation,
        Parameter,
        RequestBody,
        Response,
        SchemeUse,
        SecurityScheme,
        Server,
        ServerVariable,
    )
}


def upstream_file(api: Api) -> dict[str, JsonValue]:
    """Return the served operations, made from the API alone.

    It says nothing of what was planned, so that the mock upstream can judge the tools by it.
    """
    return {
        "servers": as_json(api.servers),
        "schemas": dict(api.schemas),
        "security_schemes": as_json(api.security_schemes),
        "operations": [_operation(operation) for operation in api.operations],
    }


def _operation(operation: Operation) -> JsonObject:
    entry: JsonObject = as_json(operation)
    for parameter, spelled in zip(operation.parameters, entry["parameters"], strict=True):
        if parameter.is_generated:
            spelled["is_generated"] = True
    if operation.source:
        entry |= {"source": operation.source, "key": operation.key}
    return entry


def as_json(node: object) -> JsonValue:
    """Spell a node of the IR as JSON: its own field names, without places and prose."""
    names = _FIELDS_FOR_THE_MOCK.get(type(node))
    if names is not None:
        return {name: as_json(getattr(node, name)) for name in names}
    if isinstance(node, str | int | None):  # most are
        return node
    if isinstance(node, tuple):
        return [as_json(item) for item in node]
    if isinstance(node, Mapping) and any(
        type(item) in _FIELDS_FOR_THE_MOCK for item in node.values()
    ):
        return {key: as_json(item) for key, item in node.items()}
    return node
