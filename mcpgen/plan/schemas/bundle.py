"""Bundling of schemas into self-contained ones: small parts inline, shared ones in `$defs`.

Three ways are tried, the most readable first: everything inline except recursive definitions; each
named object in `$defs`; everything inline and cut at a depth. Each definition is built once for
each way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from mcpgen.ir.api import Operation
from mcpgen.jsonschema.direction import Shape, Shapes
from mcpgen.jsonschema.references import PREFIX, find_reference, find_referred_names
from mcpgen.jsonschema.types import JsonObject, JsonSchema
from mcpgen.plan.schemas.input_profile import InputProfile
from mcpgen.plan.schemas.output_profile import OutputProfile
from mcpgen.plan.schemas.schema_part import ABOUT, SchemaPart, add_names, encode, make_leaf
from mcpgen.plan.schemas.shared_shapes import inline_definitions

_INLINE, _SHARED, _CUT = "inline", "shared", "cut"
_GUARD = 40  # levels; deeper schemas are listed in another way
_ANY_SIZE = 1_000_000  # bytes; what is written out is smaller than its size if it has few shapes


Profile: TypeAlias = InputProfile | OutputProfile
"""The keywords of listed schemas; builds one level at a time."""


class Limits(Struct, frozen=True):
    """Limits of a listed schema."""

    inline_bytes: int  # written out up to here
    total_bytes: int  # with `$defs` up to here
    depth: int  # of objects and arrays in each other, within one definition
    shares: bool = False  # whether a repeated object is a definition even if all fits inline


class Bundle(Struct, frozen=True):
    """Schemas, and the definitions that they refer to."""

    schemas: tuple[JsonObject, ...]
    definitions: JsonObject
    is_exact: bool
    is_cut: bool  # whether parts were omitted because of depth or size
    size: int = 0  # of all, in bytes
    uses: Mapping[str, int] = {}  # how often each definition is referred to


_Way = tuple[str, int]
"""The way in which schemas become self-contained, and the number of levels that may follow."""
_WHOLE: _Way = (_INLINE, _GUARD)
_WITH_DEFINITIONS: _Way = (_SHARED, _GUARD)
_Known = dict[tuple[str | int, _Way], SchemaPart]


class _TooDeepError(Exception):
    """A schema is nested too deeply, or too large, to be listed in this way."""


class Bundler:
    """Builds self-contained schemas of one profile.

    `repeats` states that many tools have the same schemas, as those of parameters, so that each
    is built once.
    """

    def __init__(
        self,
        shapes: Shapes,
        profile: Profile,
        limits: Limits,
        recursive: frozenset[str],
        *,
        repeats: bool = False,
    ) -> None:
        self._shapes = shapes
        self._profile = profile
        self._limits = limits
        self._recursive = recursive
        self._repeats = repeats
        # The parts that are known: of definitions by name, of other schemas by identity.
        self._named: _Known = {}
        self._merged: _Known = {}
        self._roots: _Known = {}
        self._leaves: dict[int, SchemaPart] = {}  # without parts, and so the same in all ways
        self._kept: list[JsonSchema] = []  # so that no other schema has the identity of a known one

    def bundle(self, schemas: Iterable[JsonSchema]) -> Bundle:
        """Return `schemas` in a form that is self-contained and within the limits."""
        roots, limits = tuple(schemas), self._limits
        if not self._repeats:
            self._roots.clear()
        known: dict[_Way, Bundle | None] = {}
        if limits.shares and (found := self._share(roots, known)) is not None:
            return found
        for way, limit in (
            (_WHOLE, limits.inline_bytes),
            (_WITH_DEFINITIONS, limits.total_bytes),
        ):
            found = known[way] if way in known else self._try_bundle(roots, way, limit)
            if found is not None and found.size <= limit:
                return found
        return self._cut(roots)

    def _cut(self, roots: tuple[JsonSchema, ...]) -> Bundle:
        """Return the schemas, cut at the greatest depth at which they are within the limits."""
        depths, limit = range(1, self._limits.depth + 1), self._limits.total_bytes
        cut: Bundle | None = None
        if self._profile.grows_with_depth:  # shallow schemas are built in less time
            for depth in depths:
                deeper = self._try_bundle(roots, (_CUT, depth), limit)
                if deeper is None:
                    break
                cut = deeper
        else:
            cuts = (self._try_bundle(roots, (_CUT, depth), limit) for depth in reversed(depths))
            cut = next(filter(None, cuts), None)
        if cut is not None:
            return cut
        parts = [self._profile.cut(self._shapes.of(schema)) for schema in roots]
        return Bundle(tuple(part.schema for part in parts), {}, is_exact=False, is_cut=True)

    def _share(
        self, roots: tuple[JsonSchema, ...], known: dict[_Way, Bundle | None]
    ) -> Bundle | None:
        """Return the schemas with repeated objects in `$defs`; None if none is, or they are large.

        Nothing nests deeper than if all is inline. The schemas built for this are added to `known`,
        None for a way that is impossible.
        """
        shared = known[_WITH_DEFINITIONS] = self._try_bundle(roots, _WITH_DEFINITIONS)
        if shared is not None and not shared.definitions:
            known[_WHOLE] = shared  # nothing is shared, so that all is inline
            return None
        inline = known[_WHOLE] = self._try_bundle(roots, _WHOLE)
        if inline is None or shared is None:
            return None
        single = {name for name, count in shared.uses.items() if count == 1} - self._recursive
        if len(single) == len(shared.definitions):  # all of it would be inline again
            return None
        schemas, definitions = inline_definitions(shared.schemas, shared.definitions, single)
        size = len(encode([*schemas, definitions]))
        if size > self._limits.total_bytes or size >= len(
            encode([*inline.schemas, inline.definitions])
        ):
            return None
        return replace(shared, schemas=schemas, definitions=definitions)

    def _try_bundle(
        self, roots: tuple[JsonSchema, ...], way: _Way, limit: int = _ANY_SIZE
    ) -> Bundle | None:
        """Return the schemas in one way; None if they nest too deeply, or are too large."""
        with suppress(_TooDeepError):
            return self._bundle(roots, way, limit, min(way[1], self._limits.depth))
        return None

    def _bundle(self, roots: tuple[JsonSchema, ...], way: _Way, limit: int, depth: int) -> Bundle:
        parts = [self._build_root(schema, way) for schema in roots]
        size = sum(part.size for part in parts)
        definitions: dict[str, SchemaPart] = {}
        waiting = sorted({name for part in parts for name in part.names}, reverse=True)
        while waiting and size <= limit:
            name = waiting.pop()
            if name not in definitions:
                definitions[name] = self._build_definition(name, way)
                size += definitions[name].size + len(name) + 3
                needed = definitions[name].names.keys() - definitions.keys()
                waiting += sorted(needed, reverse=True)
        everything = [*parts, *definitions.values()]
        if size > limit or any(part.height > depth for part in everything):
            raise _TooDeepError
        is_cut = way[0] == _CUT
        return Bundle(
            schemas=tuple(part.schema for part in parts),
            definitions={name: definitions[name].schema for name in sorted(definitions)},
            is_exact=not is_cut and all(part.is_exact for part in everything),
            is_cut=is_cut,
            size=size,
            uses=add_names(everything),
        )

    def _build_root(self, schema: JsonSchema, way: _Way) -> SchemaPart:
        found = _find_known(self._roots, id(schema), way)
        if found is None:
            found = self._build(schema, way)
            if self._repeats:
                self._kept.append(schema)
        self._roots[id(schema), _cache_key(way)] = found
        return found

    def _build_definition(self, name: str, way: _Way) -> SchemaPart:
        """Return the body of a definition; references to itself stay."""
        found = _find_known(self._named, name, way)
        if found is None:
            found = self._build_level(self._shapes.of({"$ref": PREFIX + name}), way)
        self._named[name, _cache_key(way)] = found
        return found

    def _build(self, schema: JsonSchema, way: _Way) -> SchemaPart:
        leaf = self._leaves.get(id(schema))
        if leaf is not None:
            return leaf
        if not (isinstance(schema, dict) and "$ref" in schema and (name := find_reference(schema))):
            return self._build_anonymous(schema, way)
        if schema.keys() <= ABOUT:
            built = self._build_reference(name, way)
            return built.describe(self._profile.description(schema)) if len(schema) > 1 else built
        if way[0] != _CUT and name in self._recursive:
            own = self._build_anonymous({key: schema[key] for key in schema if key != "$ref"}, way)
            reference = self._build_reference(name, way)
            return SchemaPart(
                {**own.schema, **reference.schema},
                own.size + reference.size,
                own.height,
                add_names((own, reference)),
                own.is_exact,
            )
        return self._build_anonymous(schema, way)

    def _build_reference(self, name: str, way: _Way) -> SchemaPart:
        mode, _ = way
        if mode != _CUT and name in self._recursive:
            return _build_pointer(name)
        if mode == _SHARED and self._shapes.of({"$ref": PREFIX + name}).can_nest:
            return _build_pointer(name)
        return self._build_definition(name, way)

    def _build_anonymous(self, schema: JsonSchema, way: _Way) -> SchemaPart:
        is_merged = isinstance(schema, dict) and ("allOf" in schema or "$ref" in schema)
        if not is_merged:
            shape = self._shapes.of(schema)
            built = self._build_level(shape, way)
            if not shape.can_nest:
                self._leaves[id(schema)] = built
                self._kept.append(schema)
            return built
        found = _find_known(self._merged, id(schema), way)
        if found is None:
            found = self._build_level(self._shapes.of(schema), way)
            self._kept.append(schema)
        self._merged[id(schema), _cache_key(way)] = found
        return found

    def _build_level(self, shape: Shape, way: _Way) -> SchemaPart:
        mode, depth = way
        if depth == 0 and shape.can_nest:
            if mode != _CUT:
                raise _TooDeepError
            return self._profile.cut(shape)
        below = (mode, depth - 1)
        return self._profile.build(shape, lambda schema: self._build(schema, below))


def _find_known(known: _Known, schema: str | int, way: _Way) -> SchemaPart | None:
    """Return the known part of a schema; if it refers to no definition, it is all inline too."""
    found = known.get((schema, _cache_key(way)))
    if found is None and way[0] == _INLINE:
        found = known.get((schema, _cache_key(_WITH_DEFINITIONS)))
        return None if found is None or found.names else found
    return found


def _cache_key(way: _Way) -> _Way:
    """Return the key of a cached part; if nothing is cut, it does not depend on the depth."""
    return way if way[0] == _CUT else (way[0], 0)


def _build_pointer(name: str) -> SchemaPart:
    return replace(make_leaf({"$ref": PREFIX + name}), names={name: 1})


def collect_needed_schemas(
    operations: Iterable[Operation], shapes: Shapes
) -> dict[str, JsonSchema]:
    """Return the definitions to which operations refer, directly or indirectly, by name."""
    schemas, found = shapes.schemas, set[str]()
    values = [schema for operation in operations for schema in _iterate_schemas(operation)]
    waiting = find_referred_names(values) & schemas.keys()
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= (shapes.edges[name] & schemas.keys()) - found
    return {name: schemas[name] for name in sorted(found)}


def _iterate_schemas(operation: Operation) -> Iterable[JsonSchema | None]:
    responses = operation.responses
    headers = (header for response in responses for header in response.headers)
    yield from (it.schema for it in (*operation.parameters, *headers))
    for item in (*operation.body_content, *(item for it in responses for item in it.content)):
        yield from (item.schema, item.item_schema)
        yield from (it.schema for encoding in item.encoding.values() for it in encoding.headers)
