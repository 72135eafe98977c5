"""Checks of a server against the limits of clients."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache

from msgspec import Struct

from mcpgen.ir.clients import ClientLimit
from mcpgen.jsonschema.features import Feature, iterate_features, iterate_schemas
from mcpgen.jsonschema.types import JsonObject, JsonValue

HINTS = ("readOnlyHint", "destructiveHint", "openWorldHint")
"""Annotations of a tool that some clients require to be explicit."""


class Excess(Struct, frozen=True):
    """One violation of a limit by a tool, or by the whole server (`tool` is "")."""

    limit: ClientLimit
    message: str
    tool: str = ""
    tokens: tuple[str, ...] = ()  # JSON Pointer tokens inside of the tool
    feature: str = ""  # the spelling of a construct that the client does not support


class CheckedServer(Struct, frozen=True):
    """A server as clients see it."""

    name: str
    tools: Sequence[JsonObject]  # Tool objects, as in `tools/list`
    instructions: str = ""


def iterate_excesses(server: CheckedServer, limit: ClientLimit) -> Iterator[Excess]:
    """Yield the violations of one limit, in the order of the tools."""
    if limit.counts in ("tools", "instructions") or (limit.counts or "").startswith("all-"):
        yield from _iterate_server_excesses(server, limit)
        return
    for tool in server.tools:
        name = read_text(tool, "name")
        if limit.counts is not None:
            yield from _iterate_count_excesses(server, tool, name, limit)
        elif limit.pattern:
            yield from _iterate_pattern_excesses(tool, name, limit)
        else:
            yield from _iterate_feature_excesses(tool, name, limit)


def read_text(tool: JsonObject, key: str) -> str:
    """Return a text of a tool, "" if it has none."""
    value = tool.get(key)
    return value if isinstance(value, str) else ""


def _iterate_server_excesses(server: CheckedServer, limit: ClientLimit) -> Iterator[Excess]:
    if limit.counts == "tools":
        count = len(server.tools)
        message = f"{count:,} tools are listed (limit: {limit.most:,})"
    elif limit.counts == "instructions":
        count = len(server.instructions)
        message = f"the instructions have {count:,} characters (limit: {limit.most:,})"
    else:
        what = (limit.counts or "").removeprefix("all-").replace("-", " ")
        count = sum(_count(tool, limit.counts or "") for tool in server.tools)
        message = f"the tools have {count:,} {what} (limit: {limit.most:,})"
    if count > limit.most:
        yield Excess(limit, message)


def _count(tool: JsonObject, what: str) -> int:
    schema = tool.get("inputSchema")
    total = 0
    for node in iterate_schemas(schema):
        part = node.schema
        if not isinstance(part, dict):
            continue
        properties = part.get("properties")
        names = set(properties) if isinstance(properties, dict) else set()
        if what == "all-properties":
            total += len(names)
        elif what == "all-optional-parameters":
            required = part.get("required")
            total += len(names - {*map(str, required if isinstance(required, list) else ())})
        elif what == "all-enum-values":
            total += len(part["enum"]) if isinstance(part.get("enum"), list) else 0
        elif what == "all-unions":
            total += "anyOf" in part or "oneOf" in part or isinstance(part.get("type"), list)
    return total


def _iterate_count_excesses(
    server: CheckedServer, tool: JsonObject, name: str, limit: ClientLimit
) -> Iterator[Excess]:
    most = f"(limit: {limit.most:,})"
    if limit.counts == "tool-name":
        full = limit.around.format(server=server.name, tool=name)
        if len(full) > limit.most:
            yield Excess(limit, f"`{full}` has {len(full)} characters {most}", name, ("name",))
    elif limit.counts == "description":
        size = len(read_text(tool, "description"))
        if size > limit.most:
            message = f"the description of `{name}` has {size:,} characters {most}"
            yield Excess(limit, message, name, ("description",))
    elif limit.counts == "depth":
        depth = max(node.depth for node in iterate_schemas(tool.get("inputSchema")))
        if depth > limit.most:
            message = f"the arguments of `{name}` nest {depth} levels {most}"
            yield Excess(limit, message, name, ("inputSchema",))


def _iterate_pattern_excesses(tool: JsonObject, name: str, limit: ClientLimit) -> Iterator[Excess]:
    if limit.rule == "tool-name":
        if not re.fullmatch(limit.pattern, name):
            yield Excess(
                limit, f"the name `{name}` does not match {limit.pattern}", name, ("name",)
            )
        return
    for tokens, key in iterate_property_names(tool.get("inputSchema")):
        if not re.fullmatch(limit.pattern, key):
            message = f"the property `{key}` of `{name}` does not match {limit.pattern}"
            yield Excess(limit, message, name, ("inputSchema", *tokens))


def iterate_property_names(schema: JsonValue) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the properties of a schema and of the schemas inside, with their places."""
    for node in iterate_schemas(schema):
        properties = node.schema.get("properties") if isinstance(node.schema, dict) else None
        if isinstance(properties, dict):
            for key in properties:
                yield (*node.tokens, "properties", key), key


def _iterate_feature_excesses(tool: JsonObject, name: str, limit: ClientLimit) -> Iterator[Excess]:
    if "missing-hints" in limit.features:
        if missing := find_missing_hints(tool):
            hints = ", ".join(f"`{hint}`" for hint in missing)
            yield Excess(limit, f"`{name}` does not state {hints}", name, ("annotations",))
        return
    seen: set[str] = set()
    for feature in collect_features(tool):
        if feature.name in limit.features and feature.spelling not in seen:
            seen.add(feature.spelling)
            message = f"{feature.spelling} in the arguments of `{name}` is not supported"
            at = ("inputSchema", *feature.tokens)
            yield Excess(limit, message, name, at, feature.spelling)


def collect_features(tool: JsonObject) -> Sequence[Feature]:
    """Return the constructs in the schema of a tool's arguments."""
    return _cache_features(_Identity(tool.get("inputSchema")))


class _Identity:
    """Cache key that compares schemas by `id`; it stores the schema, so that the id is unique."""

    def __init__(self, schema: JsonValue) -> None:
        self.schema = schema

    def __hash__(self) -> int:
        return id(self.schema)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.schema is other.schema


@lru_cache(maxsize=4096)
def _cache_features(key: _Identity) -> Sequence[Feature]:
    return tuple(iterate_features(key.schema))


def find_missing_hints(tool: JsonObject) -> tuple[str, ...]:
    """Return the annotations that a tool does not state.

    A read-only tool destroys nothing, so `destructiveHint` is not required.
    """
    annotations = tool.get("annotations")
    stated = annotations if isinstance(annotations, dict) else {}
    is_read_only = stated.get("readOnlyHint") is True
    return tuple(
        hint
        for hint in HINTS
        if not isinstance(stated.get(hint), bool)
        and not (hint == "destructiveHint" and is_read_only)
    )
