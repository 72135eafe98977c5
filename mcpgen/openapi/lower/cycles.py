"""Removal of infinite recursion from schemas that apply themselves to the same value.

`A: {oneOf: [B]}` with `B: {allOf: [A, ...]}` is an endless loop for a validator. Documents describe
inheritance this way by mistake: the base lists its children, and each child includes the base. The
inner reference is redundant and is removed.
"""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.jsonschema.schemas import PREFIX, find_reference
from mcpgen.jsonschema.types import JsonObject, JsonSchema

_IN_PLACE_LISTS = ("allOf", "anyOf", "oneOf")
_IN_PLACE = ("not", "if", "then", "else")


def break_cycles(schemas: dict[str, JsonSchema]) -> list[tuple[str, str]]:
    """Remove a reference from each circle of in-place references in `schemas`.

    Return pairs of the changed schema's name and the circle, "A -> B -> A".
    """
    cuts: list[tuple[str, str]] = []
    edges = {name: frozenset(_targets(schema)) for name, schema in schemas.items()}
    while circle := next(_find_circles(edges), None):
        holder, target = _choose_edge(circle, schemas)
        schema = schemas[holder]
        if isinstance(schema, dict):
            _remove_references(schema, target, schemas)
        edges[holder] = edges[holder] - {target}
        cuts.append((holder, " -> ".join((*circle, circle[0]))))
    return cuts


def _choose_edge(circle: tuple[str, ...], schemas: dict[str, JsonSchema]) -> tuple[str, str]:
    """Return the reference of a child to the base that lists it, else the last of the circle."""
    edges = list(zip(circle, (*circle[1:], circle[0]), strict=True))
    for holder, target in edges:
        schema, base = schemas[holder], schemas[target]
        if isinstance(schema, dict) and isinstance(base, dict):
            inherits = {"$ref": PREFIX + target} in schema.get("allOf", ())
            if inherits and ("oneOf" in base or "anyOf" in base):
                return holder, target
    return edges[-1]


def _targets(schema: JsonSchema) -> Iterator[str]:
    """Yield the names of the schemas that `schema` applies to the same value."""
    if not isinstance(schema, dict):
        return
    if name := find_reference(schema):
        yield name
    for keyword in _IN_PLACE_LISTS:
        for item in schema.get(keyword, ()):
            yield from _targets(item)
    for keyword in _IN_PLACE:
        if keyword in schema:
            yield from _targets(schema[keyword])
    for item in schema.get("dependentSchemas", {}).values():
        yield from _targets(item)


def _find_circles(edges: dict[str, frozenset[str]]) -> Iterator[tuple[str, ...]]:
    """Yield the circles that a depth-first search in the order of names finds."""
    done: set[str] = set()
    for start in sorted(edges):
        if start in done or not edges[start]:
            continue
        path: list[str] = [start]
        places = {start: 0}
        stack = [iter(sorted(edges[start]))]
        while stack:
            following = next(stack[-1], None)
            if following is None:
                stack.pop()
                left = path.pop()
                del places[left]
                done.add(left)
            elif following in places:
                yield tuple(path[places[following] :])
            elif following not in done and following in edges:
                path.append(following)
                places[following] = len(path) - 1
                stack.append(iter(sorted(edges[following])))


def _remove_references(schema: JsonObject, name: str, schemas: dict[str, JsonSchema]) -> None:
    """Remove the in-place references to `name` from `schema`.

    A reference in `allOf` is replaced by the target's keywords without its variants, so that a
    child keeps its inherited properties.
    """
    reference = PREFIX + name
    if schema.get("$ref") == reference:
        del schema["$ref"]
    for keyword in _IN_PLACE_LISTS:
        members = schema.get(keyword)
        if not members:
            continue
        kept = []
        for member in members:
            if isinstance(member, dict) and member.get("$ref") == reference:
                own = _own_part(schemas[name]) if keyword == "allOf" else None
                if own:
                    kept.append(own)
                continue
            if isinstance(member, dict):
                _remove_references(member, name, schemas)
            kept.append(member)
        if kept:
            schema[keyword] = kept
        else:
            del schema[keyword]
    for keyword in _IN_PLACE:
        if isinstance(schema.get(keyword), dict):
            _remove_references(schema[keyword], name, schemas)


def _own_part(schema: JsonSchema) -> JsonObject:
    if not isinstance(schema, dict):
        return {}
    return {
        keyword: value
        for keyword, value in schema.items()
        if keyword not in _IN_PLACE_LISTS and keyword not in _IN_PLACE and keyword != "$ref"
    }
