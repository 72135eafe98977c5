"""Parts of listed schemas with their size, height, references and exactness."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject

ABOUT = frozenset(
    {"$ref", "title", "description", "examples", "deprecated", "default", "readOnly", "writeOnly"}
)
"""Keywords beside which a `$ref` has the same meaning as its target."""
encode = msgspec.json.Encoder().encode


_NO_NAMES: Mapping[str, int] = MappingProxyType({})


class SchemaPart(Struct, frozen=True):
    """A finished part of a listed schema. It is shared between tools and never changed.

    `size` is its length as compact JSON in bytes; `height` how many levels of objects and arrays
    it nests; `names` how often it refers to each definition; `is_exact` whether it accepts exactly
    what the API's schema accepts.
    """

    schema: JsonObject
    size: int
    height: int = 0
    names: Mapping[str, int] = _NO_NAMES
    is_exact: bool = True

    def mark_inexact(self) -> SchemaPart:
        """Return the part marked as accepting other values than the API's schema."""
        return SchemaPart(self.schema, self.size, self.height, self.names, is_exact=False)

    def describe(self, description: str) -> SchemaPart:
        """Return the part with another description."""
        if not description:
            return self
        old = len(encode(self.schema["description"])) + 15 if "description" in self.schema else 0
        size = self.size - old + len(encode(description)) + 15
        schema = {**self.schema, "description": description}
        return SchemaPart(schema, size, self.height, self.names, self.is_exact)


def make_leaf(schema: JsonObject, *, is_exact: bool = True) -> SchemaPart:
    """Return the part for a schema without children."""
    return SchemaPart(schema, len(encode(schema)), is_exact=is_exact)


def make_branch(
    schema: JsonObject,
    own: JsonObject,
    children: Iterable[SchemaPart],
    *,
    levels: int,
    is_exact: bool,
    names: Collection[str] = (),
) -> SchemaPart:
    """Return the part for a schema with `children`; `own` is the schema without them, for its size.

    `names` are the keys of `children` that are properties.
    """
    size, height = len(encode(own)), 0
    if names:
        size += 16 + sum(map(len, names)) + 3 * len(names)
    children = list(children)
    for child in children:
        size += child.size + 1
        height = max(height, child.height)
        is_exact = is_exact and child.is_exact
    return SchemaPart(schema, size, height + levels, add_names(children), is_exact)


def add_names(parts: Iterable[SchemaPart]) -> Mapping[str, int]:
    """Return how often parts refer to each definition, all together."""
    found = [part.names for part in parts if part.names]
    if len(found) < 2:
        return found[0] if found else _NO_NAMES
    total = Counter(found[0])
    for names in found[1:]:
        total.update(names)
    return total
