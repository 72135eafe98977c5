"""References between named JSON Schemas (`#/$defs/<name>`), and the circles that they form."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final

from mcpgen.jsonschema.types import MAPS_OF_SCHEMAS, JsonObject, JsonSchema, JsonValue

PREFIX: Final = "#/$defs/"
KEYWORDS_WITH_DATA: Final = frozenset({"const", "default", "enum", "example", "examples"})
"""Keywords whose values are data, never schemas."""


def definition_name(reference: str) -> str:
    """Return the unescaped name in `#/$defs/<name>`, or the reference itself if it has no name."""
    if not reference.startswith(PREFIX):
        return reference
    name = reference.removeprefix(PREFIX)
    return name.replace("~1", "/").replace("~0", "~") if "~" in name else name


def find_reference(schema: JsonSchema) -> str:
    """Return the name of the definition to which the `$ref` of a schema refers, or ""."""
    if not isinstance(schema, dict) or "$ref" not in schema:  # as nearly all are
        return ""
    reference = schema["$ref"]
    is_name = isinstance(reference, str) and reference.startswith(PREFIX)
    return definition_name(reference) if is_name else ""


def follow_references(schema: JsonSchema, named: Mapping[str, JsonSchema]) -> JsonObject:
    """Return the schema that a chain of `$ref`s leads to; {} for a boolean, or if it leads nowhere.

    Keywords beside a `$ref` are ignored.
    """
    followed: set[str] = set()
    while name := find_reference(schema):
        if name in followed:
            return {}
        followed.add(name)
        schema = named.get(name, {})
    return schema if isinstance(schema, dict) else {}


def iterate_subschemas(schema: JsonValue) -> Iterator[JsonObject]:
    """Yield a schema and every schema inside it, except booleans and what only its data contains.

    A list yields the schemas of its items. References are not followed.
    """
    waiting = [schema]
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        if not isinstance(node, dict):
            continue
        yield node
        for keyword, value in node.items():
            if isinstance(value, dict):
                if keyword in MAPS_OF_SCHEMAS:
                    waiting.extend(value.values())
                elif keyword not in KEYWORDS_WITH_DATA:
                    waiting.append(value)
            elif isinstance(value, list) and keyword not in KEYWORDS_WITH_DATA:
                waiting.append(value)


def iterate_references(schema: JsonValue) -> Iterator[str]:
    """Yield every `$ref` in a schema, with repetitions."""
    for node in iterate_subschemas(schema):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference


def iterate_reachable(
    values: Iterable[JsonValue], named: Mapping[str, JsonSchema]
) -> Iterator[JsonObject]:
    """Yield every schema in `values` and in the definitions to which they refer, each once."""
    waiting = list(values)
    seen: set[str] = set()
    while waiting:
        for schema in iterate_subschemas(waiting.pop()):
            yield schema
            name = find_reference(schema) if "$ref" in schema else ""
            if name in named and name not in seen:
                seen.add(name)
                waiting.append(named[name])


def iterate_parts(schema: JsonSchema, named: Mapping[str, JsonSchema]) -> Iterator[JsonObject]:
    """Yield a schema, then the target of its `$ref`, then the members of its `allOf`, in depth."""
    waiting = [schema]
    followed: set[str] = set()
    while waiting:
        part = waiting.pop()
        if isinstance(part, bool):
            continue
        yield part
        waiting += reversed(part.get("allOf", ()))
        name = find_reference(part) if "$ref" in part else ""
        if name and name not in followed:
            followed.add(name)
            waiting.append(named.get(name, True))


def find_referred_names(schema: JsonValue) -> set[str]:
    """Return the names of the definitions to which a schema refers directly."""
    nodes = (node for node in iterate_subschemas(schema) if "$ref" in node)
    return set(map(find_reference, nodes)) - {""}


def find_edges(named: Mapping[str, JsonSchema]) -> dict[str, set[str]]:
    """Return, for each definition, the names of the definitions in its `$ref`s."""
    return {name: find_referred_names(schema) for name, schema in named.items()}


def find_components(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the strongly connected components of a graph, targets first (Tarjan's algorithm).

    The names of a component are sorted. Targets that are no keys of `edges` are ignored.
    """
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: dict[str, None] = {}
    work: list[tuple[str, Iterator[str]]] = []
    components: list[list[str]] = []

    def enter(name: str) -> None:
        index[name] = low[name] = len(index)
        stack[name] = None
        work.append((name, iter(sorted(edges[name]))))

    for start in sorted(edges):
        if start not in index:
            enter(start)
        while work:
            name, targets = work[-1]
            target = next((target for target in targets if target in edges), None)
            if target is not None:
                if target not in index:
                    enter(target)
                elif target in stack:
                    low[name] = min(low[name], index[target])
                continue
            work.pop()
            if work:
                parent = work[-1][0]
                low[parent] = min(low[parent], low[name])
            if low[name] == index[name]:
                component: list[str] = []
                while name in stack:
                    component.append(stack.popitem()[0])
                components.append(sorted(component))
    return components


def find_recursive_names(edges: Mapping[str, Collection[str]]) -> frozenset[str]:
    """Return the names of definitions that refer to themselves, directly or through others.

    `edges` has the names to which each definition refers directly.
    """
    return frozenset(
        name
        for component in find_components(edges)
        for name in component
        if len(component) > 1 or name in edges[name]
    )
