"""`tests/generated/upstream.json`: the API as the mock upstream knows it."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import NoneType

from msgspec import Struct

from mcpgen.ir.api import Api, Operation
from mcpgen.jsonschema.types import JsonObject, JsonValue

_NOT_FOR_THE_MOCK = frozenset(
    """
    at credential declared deprecated description extension_name extensions is_generated is_public
    links operation_id outer_extensions published_arguments published_members reserved root_part
    source summary tag tags xml_root
    """.split()
)
_PLAIN = (str, int, NoneType)


def upstream_file(api: Api) -> dict[str, JsonValue]:
    """Return the served operations, from the API alone.

    The plan does not affect it, so that the mock upstream can check the tools independently.
    """
    return {
        "servers": as_json(api.servers),
        "schemas": dict(api.schemas),
        "security_schemes": as_json(api.security_schemes),
        "operations": [_operation(operation) for operation in api.operations],
    }


def _operation(operation: Operation) -> JsonObject:
    entry: JsonObject = as_json(operation)
    for parameter, encoded in zip(operation.parameters, entry["parameters"], strict=True):
        if parameter.is_generated:
            encoded["is_generated"] = True
    if operation.source:
        entry |= {"source": operation.source, "key": operation.key}
    return entry


def as_json(node: object) -> JsonValue:
    """Return a node of the IR as JSON: its own field names, without places and prose."""
    if isinstance(node, _PLAIN):  # most are
        return node
    if isinstance(node, Struct):
        return {name: as_json(getattr(node, name)) for name in _list_fields(type(node))}
    if isinstance(node, tuple):
        return [as_json(item) for item in node]
    if isinstance(node, Mapping) and any(isinstance(item, Struct) for item in node.values()):
        return {key: as_json(item) for key, item in node.items()}
    return node


@functools.cache
def _list_fields(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in _NOT_FOR_THE_MOCK)
