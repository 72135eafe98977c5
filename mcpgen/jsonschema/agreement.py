"""Whether two JSON Schemas have the same keywords, apart from titles, descriptions, examples."""

from __future__ import annotations

from mcpgen.jsonschema.types import JsonObject, JsonValue

_TEXTS = frozenset({"$comment", "deprecated", "description", "example", "examples", "title"})
_BY_NAME = frozenset({"$defs", "dependentSchemas", "patternProperties", "properties"})
_UNORDERED = frozenset({"enum", "required", "type"})


def find_difference(one: JsonValue, other: JsonValue) -> tuple[str, ...] | None:
    """Return the place of the first keyword in which two schemas differ; None if they agree.

    The place are the tokens of a JSON Pointer. Titles, descriptions and examples do not count.
    """
    if not (isinstance(one, dict) and isinstance(other, dict)):
        return None if one == other else ()
    for keyword in sorted((one.keys() | other.keys()) - _TEXTS):
        if keyword not in one or keyword not in other:
            return (keyword,)
        found = _compare_keyword(keyword, one[keyword], other[keyword])
        if found is not None:
            return (keyword, *found)
    return None


def _compare_keyword(keyword: str, one: JsonValue, other: JsonValue) -> tuple[str, ...] | None:
    if keyword in _BY_NAME and isinstance(one, dict) and isinstance(other, dict):
        return _compare_members(one, other)
    if isinstance(one, list) and isinstance(other, list):
        if keyword in _UNORDERED:
            return None if _sort(one) == _sort(other) else ()
        if len(one) != len(other):
            return ()
        for number, (left, right) in enumerate(zip(one, other, strict=True)):
            if (found := find_difference(left, right)) is not None:
                return (str(number), *found)
        return None
    if keyword in {"const", "default"}:
        return None if one == other and type(one) is type(other) else ()
    return find_difference(one, other)


def _compare_members(one: JsonObject, other: JsonObject) -> tuple[str, ...] | None:
    for name in sorted(one.keys() | other.keys()):
        if name not in one or name not in other:
            return (name,)
        if (found := find_difference(one[name], other[name])) is not None:
            return (name, *found)
    return None


def _sort(values: list[JsonValue]) -> list[str]:
    return sorted(map(repr, values))
