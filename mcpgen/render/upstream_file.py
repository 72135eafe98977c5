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
    known: dict[int, JsonObject] = {}
    return {
        "servers": as_json(api.servers),
        "schemas": dict(api.schemas),
        "security_schemes": as_json(api.security_schemes),
        "operations": [_operation(operation, known) for operation in api.operations],
    }


def _operation(operation: Operation, known: dict[int, JsonObject]) -> JsonObject:
    entry: JsonObject = _as_json(operation, known)
    for parameter, encoded in zip(operation.parameters, entry["parameters"], strict=True):
        if parameter.is_generated:
            encoded["is_generated"] = True
    if operation.source:
        entry |= {"source": operation.source, "key": operation.key}
    return entry


def as_json(node: object) -> JsonValue:
    """Return a node of the IR as JSON: its own field names, without places and prose."""
    return _as_json(node, {})


def _as_json(node: object, known: dict[int, JsonObject]) -> JsonValue:
    """Return a node as `as_json` does; `known` has the structs so far, most of them shared."""
    if isinstance(node, _PLAIN):  # most are
        return node
    if isinstance(node, Struct):
        if id(node) not in known:
            known[id(node)] = {
                name: _as_json(getattr(node, name), known) for name in _list_fields(type(node))
            }
        return known[id(node)]
    if isinstance(node, tuple):
        return [_as_json(item, known) for item in node]
    if isinstance(node, Mapping) and isinstance(next(iter(node.values()), None), Struct):
        return {key: _as_json(item, known) for key, item in node.items()}
    return node


@functools.cache
def _list_fields(kind: type[Struct]) -> tuple[str, ...]:
    return tuple(name for name in kind.__struct_fields__ if name not in _NOT_FOR_THE_MOCK)
