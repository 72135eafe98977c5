"""Parts of listed schemas with their size, height, references and exactness."""

from __future__ import annotations

from collections.abc import Collection, Iterable

import msgspec
from msgspec import Struct

from mcpgen.jsonschema.types import JsonObject

ABOUT = frozenset(
    {"$ref", "title", "description", "examples", "deprecated", "default", "readOnly", "writeOnly"}
)
"""Keywords beside which a `$ref` has the same meaning as its target."""
encode = msgspec.json.Encoder().encode


class SchemaPart(Struct, frozen=True):
    """A finished part of a listed schema. It is shared between tools and never changed.

    `size` is its length as compact JSON in bytes; `height` how many levels of objects and arrays
    it nests; `names` the definitions that it refers to; `is_exact` whether it accepts exactly what
    the API's schema accepts.
    """

    schema: JsonObject
    size: int
    height: int = 0
    names: frozenset[str] = frozenset()
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
    size, height, needed = len(encode(own)), 0, frozenset[str]()
    if names:
        size += 16 + sum(map(len, names)) + 3 * len(names)
    for child in children:
        size += child.size + 1
        height = max(height, child.height)
        if child.names:
            needed |= child.names
        is_exact = is_exact and child.is_exact
    return SchemaPart(schema, size, height + levels, needed, is_exact)
