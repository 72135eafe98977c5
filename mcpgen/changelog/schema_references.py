"""References inside one self-contained JSON Schema."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from urllib.parse import unquote

from mcpgen.changelog.schema_values import encode_canonically, is_same_value
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.text.json_pointer import pointer_tokens

SAYS_NOTHING = frozenset({"title", "description", "examples", "example", "deprecated", "$comment"})
"""Keywords that do not decide whether a value fits."""
NEVER: JsonObject = {"enum": []}
"""The schema that no value fits, spelled as an object."""


class SchemaRoot:
    """A whole schema, whose local references can be followed."""

    def __init__(self, root: JsonSchema) -> None:
        self._root = root
        self._meanings: dict[str, str] = {}

    def identity(self, schema: JsonSchema) -> object:
        """Tell this schema from every other of the root; one that is only referred to is one."""
        if isinstance(schema, bool):
            return schema
        is_reference = isinstance(schema.get("$ref"), str) and len(schema) == 1
        return schema["$ref"] if is_reference else id(schema)

    def resolve(self, schema: JsonSchema) -> JsonObject:
        """Give one object that says what the schema, its `$ref` and the parts of `allOf` say.

        Parts that cannot be said at once stay in `allOf`, a reference that leads nowhere stays.
        """
        whole: JsonObject = {}
        apart: list[JsonSchema] = []
        followed: set[str] = set()
        parts = deque([schema])
        while parts:
            part = parts.popleft()
            if isinstance(part, bool):
                if not part:
                    return NEVER
                continue
            own = {key: value for key, value in part.items() if key not in {"$ref", "allOf"}}
            reference = part.get("$ref")
            if isinstance(reference, str) and reference not in followed:
                followed.add(reference)
                target = self._target(reference)
                if target is None:
                    own["$ref"] = reference
                else:
                    parts.append(target)
            parts.extend(part.get("allOf", ()))
            both = _both(whole, own)
            if both is None:
                apart.append(own)
            else:
                whole = both
        return {**whole, "allOf": apart} if apart else whole

    def find_meaning(self, value: JsonValue) -> str:
        """Spell a value and all that its references lead to: two that are alike mean the same."""
        text = encode_canonically(value)
        if text not in self._meanings:
            targets: dict[str, JsonValue] = {}
            to_read = [value]
            while to_read:
                for reference in _references(to_read.pop()):
                    if reference not in targets:
                        targets[reference] = self._target(reference)
                        to_read.append(targets[reference])
            self._meanings[text] = text + encode_canonically(targets)
        return self._meanings[text]

    def _target(self, reference: str) -> JsonSchema | None:
        """What stands at a local reference; None where nothing does."""
        if not reference.startswith("#"):
            return None
        node: JsonValue = self._root
        try:
            for token in pointer_tokens(unquote(reference[1:])):
                node = node[int(token)] if isinstance(node, list) else node[token]
        except (KeyError, IndexError, TypeError, ValueError):
            return None
        return node if isinstance(node, dict | bool) else None


def _references(value: JsonValue) -> Iterator[str]:
    to_read = [value]
    while to_read:
        node = to_read.pop()
        if isinstance(node, dict):
            if isinstance(node.get("$ref"), str):
                yield node["$ref"]
            to_read.extend(node.values())
        elif isinstance(node, list):
            to_read.extend(node)


def _both(one: JsonObject, other: JsonObject) -> JsonObject | None:
    """Say what two schemas say in one; None where they say different things of the same."""
    both = {**other, **one}
    for key in (one.keys() & other.keys()) - SAYS_NOTHING - {"default"}:
        mine, theirs = one[key], other[key]
        if key == "required":
            both[key] = sorted({*mine, *theirs})
        elif key == "properties":
            shared = mine.keys() & theirs.keys()
            if any(not is_same_value(mine[name], theirs[name]) for name in shared):
                return None
            both[key] = {**theirs, **mine}
        elif not is_same_value(mine, theirs):
            return None
    return both
