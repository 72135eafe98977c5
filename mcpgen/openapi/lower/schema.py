"""Lowering of schemas of any OpenAPI version to JSON Schema 2020-12 with named definitions."""

from __future__ import annotations

from collections.abc import Iterator

from mcpgen.diagnostics import DROPPED
from mcpgen.jsonschema.references import PREFIX, find_reference
from mcpgen.jsonschema.types import ONE_SCHEMA, SEVERAL_SCHEMAS, JsonObject, JsonSchema, JsonValue
from mcpgen.openapi.lower import keywords
from mcpgen.openapi.lower.nodes import Node, SchemaNames, Source, escape, object_of
from mcpgen.openapi.source.source_text import describe_type
from mcpgen.text.secret_values import is_secret_default

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


_MAX_STEPS = 16


def make_explicit(out: JsonObject, schema: JsonObject, pointer: str, source: Source) -> None:
    """Constrain the discriminating property in each variant of `out`.

    `out` is the lowered `schema`; the variants are the members of its `oneOf` or `anyOf`. If a
    variant constrains the property itself, only `required` is added. A discriminator without
    variants, as in a base schema, adds nothing.
    """
    discriminator = schema["discriminator"]
    if isinstance(discriminator, str):  # OpenAPI 2.0: only the name, in a base schema
        return
    described = object_of(discriminator)
    name = described.get("propertyName")
    if not isinstance(name, str):
        source.warn(
            "discriminator",
            "missing `propertyName` of the discriminator",
            f"{pointer}/discriminator",
        )
        return
    mapping = object_of(described.get("mapping"))
    default = described.get("defaultMapping")
    for keyword in ("oneOf", "anyOf"):
        for raw, lowered in zip(schema.get(keyword) or (), out.get(keyword) or (), strict=False):
            reference = raw.get("$ref") if isinstance(raw, dict) else None
            if not isinstance(reference, str) or not isinstance(lowered, dict):
                continue
            if isinstance(default, str) and _matches(default, reference):
                continue
            _constrain(lowered, name, _list_values(mapping, reference), reference, source)


def _constrain(
    variant: JsonObject, name: str, values: list[str], reference: str, source: Source
) -> None:
    variant["required"] = [name]
    if not _has_own_constraint(name, reference, source):
        rule = {"const": values[0]} if len(values) == 1 else {"enum": values}
        variant["properties"] = {name: rule}


def _list_values(mapping: JsonObject, reference: str) -> list[str]:
    """Return the values of the property that select the schema at `reference`."""
    mapped = sorted(str(key) for key, target in mapping.items() if _matches(target, reference))
    return mapped or [reference.rsplit("/", 1)[-1].replace("~1", "/").replace("~0", "~")]


def _matches(target: JsonValue, reference: str) -> bool:
    if not isinstance(target, str):
        return False
    return target == reference or ("/" not in target and reference.endswith("/" + target))


def _has_own_constraint(name: str, reference: str, source: Source) -> bool:
    """Return whether the schema at `reference` constrains the property, also through `allOf`."""
    waiting: list[JsonValue] = [{"$ref": reference}]
    for _ in range(_MAX_STEPS):
        if not waiting:
            return False
        schema = object_of(waiting.pop())
        inner = object_of(object_of(schema.get("properties")).get(name))
        if isinstance(inner.get("$ref"), str):
            found = source.target(inner["$ref"])
            inner = object_of(found.value) if found else {}
        if "const" in inner or "enum" in inner:
            return True
        if isinstance(schema.get("$ref"), str):
            found = source.target(schema["$ref"])
            waiting.append(found.value if found else {})
        elif isinstance(schema.get("allOf"), list):
            waiting.extend(schema["allOf"])
    return False


MAX_DEPTH = 96  # of nested schemas; deeper ones accept any value

_NAMED_SCHEMAS = frozenset({"properties", "patternProperties", "dependentSchemas"})
_TEXTS = frozenset({"title", "description", "format"})
_BESIDE_REFERENCE_IN_3_0 = frozenset(
    {
        "description",
        "title",
        "default",
        "deprecated",
        "readOnly",
        "writeOnly",
        "nullable",
        "example",
    }
)


class SchemaLowering:
    """Lowering of schemas on demand; `finish` lowers the definitions that they refer to.

    A missing target becomes a schema that accepts any value: `resolve` has reported it, and
    skipped its operations.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_3_0 = source.version in ("2.0", "3.0")
        self._names = SchemaNames(source)
        self._pending: list[str] = []  # pointers of definitions to lower
        self._definitions: dict[str, JsonSchema] = {}  # by pointer
        self._references: list[tuple[JsonObject, str]] = []  # (schema with the `$ref`, pointer)

    def lower(self, node: Node) -> JsonSchema:
        """Lower the schema at `node`."""
        return self._lower(node.value, node.pointer, 0)

    def finish(self) -> dict[str, JsonSchema]:
        """Return all referenced definitions by name, and set the `$ref`s to their names."""
        while self._pending:
            pointer = self._pending.pop()
            target = self._source.target("#" + pointer)
            if target is None or not isinstance(target.value, dict | bool):
                self._definitions[pointer] = {}
            else:
                self._definitions[pointer] = self._lower(target.value, pointer, 0)
        names = self._names.assign(self._definitions)
        for holder, pointer in self._references:
            holder["$ref"] = f"#/$defs/{names[pointer]}"
        schemas = {names[pointer]: schema for pointer, schema in self._definitions.items()}
        pointers = {name: pointer for pointer, name in names.items()}
        for name, circle in break_cycles(schemas):
            self._source.warn(
                "circular-composition",
                f"the schema `{name}` applies itself to the same value: {circle}",
                pointers[name],
                why="its validation would never end; the inner reference was removed",
            )
        return dict(sorted(schemas.items()))

    def drop_secret(self, name: str, schema: JsonSchema, pointer: str) -> None:
        """Remove a credential from the default of the parameter or property `name`."""
        if isinstance(schema, dict) and is_secret_default(name, schema.get("default")):
            del schema["default"]
            self._source.warn(
                "secret-default",
                f"the default of `{name}` looks like a credential; it was dropped",
                f"{pointer}/default",
                why="the generated server would contain it",
                repair=DROPPED,
            )

    def _lower(self, schema: JsonValue, pointer: str, depth: int) -> JsonSchema:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            self._source.warn(
                "schema-shape", f"expected a schema, found {describe_type(schema)}", pointer
            )
            return True
        if depth > MAX_DEPTH:
            self._source.warn(
                "schema-too-deep",
                f"schemas are nested more than {MAX_DEPTH} levels deep; deeper ones are ignored",
                pointer,
            )
            return True
        out: JsonObject = {}
        is_reference = isinstance(schema.get("$ref"), str)
        for keyword, value in schema.items():
            if is_reference and self._is_3_0 and keyword not in _BESIDE_REFERENCE_IN_3_0:
                continue
            self._keyword(out, keyword, value, pointer, depth)
        if is_reference:
            self._refer(out, schema["$ref"])
        elif isinstance(schema.get("$dynamicRef"), str):
            self._refer_dynamically(out, schema["$dynamicRef"], pointer)
        if "discriminator" in schema:
            make_explicit(out, schema, pointer, self._source)
        self._unwrap(out)
        keywords.reconcile(out, schema, pointer, self._source)
        if schema.get("nullable") is True:
            out = keywords.with_null(out)
        return out

    def _keyword(
        self, out: JsonObject, keyword: str, value: JsonValue, pointer: str, depth: int
    ) -> None:
        if isinstance(value, str) and (
            keyword in _TEXTS or (keyword == "type" and value in keywords.TYPES)
        ):
            out[keyword] = value  # most keywords are these, and right
        elif keyword in _NAMED_SCHEMAS:
            if not isinstance(value, dict):
                place = keywords.Place(keyword, pointer, self._source)
                keywords.drop_unexpected("an object", value, place)
                return
            out[keyword] = {
                str(name): self._lower(item, f"{pointer}/{keyword}/{escape(name)}", depth + 1)
                for name, item in value.items()
            }
            if keyword == "properties":
                for name, item in out[keyword].items():
                    self.drop_secret(str(name), item, f"{pointer}/properties/{escape(name)}")
        elif keyword in ONE_SCHEMA:
            if keyword == "items" and isinstance(value, list):
                keyword = "prefixItems"  # the tuple form of drafts before 2020-12
                out[keyword] = self._several(keyword, value, pointer, depth)
            else:
                out[keyword] = self._lower(value, f"{pointer}/{keyword}", depth + 1)
        elif keyword in SEVERAL_SCHEMAS:
            if not isinstance(value, list) or not value:
                place = keywords.Place(keyword, pointer, self._source)
                keywords.drop_unexpected("an array of schemas", value, place)
                return
            out[keyword] = self._several(keyword, value, pointer, depth)
        else:
            read = keywords.READERS.get(keyword)
            if read is not None:
                out |= read(value, keywords.Place(keyword, pointer, self._source))

    def _several(
        self, keyword: str, values: list[JsonValue], pointer: str, depth: int
    ) -> list[JsonSchema]:
        return [
            self._lower(item, f"{pointer}/{keyword}/{index}", depth + 1)
            for index, item in enumerate(values)
        ]

    def _refer(self, out: JsonObject, reference: str) -> None:
        target = self._source.target(reference)
        key = reference.lstrip("#") if target is None else target.pointer
        if key not in self._definitions:
            self._definitions[key] = {}
            self._pending.append(key)
        out["$ref"] = reference
        self._references.append((out, key))

    def _unwrap(self, out: JsonObject) -> None:
        """Replace `allOf: [{$ref}]`, which OpenAPI 3.0 requires for siblings, by the `$ref`."""
        for keyword in ("allOf", "anyOf", "oneOf"):
            members = out.get(keyword)
            if "$ref" in out or not members or len(members) > 1:
                continue
            (member,) = members
            if isinstance(member, dict) and member.keys() == {"$ref"}:
                key = next(key for holder, key in reversed(self._references) if holder is member)
                del out[keyword]
                out["$ref"] = member["$ref"]
                self._references.append((out, key))

    def _refer_dynamically(self, out: JsonObject, reference: str, pointer: str) -> None:
        """Treat `$dynamicRef` as a reference to the first anchor of that name."""
        found = self._names.find_anchor(reference.lstrip("#"))
        if found is None:
            self._source.warn(
                "dynamic-ref",
                f"unknown `$dynamicAnchor` `{reference}`; any value is accepted",
                f"{pointer}/$dynamicRef",
            )
        else:
            self._refer(out, "#" + found)
