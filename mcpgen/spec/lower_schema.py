"""Schemas of any OpenAPI version as JSON Schema 2020-12, referring to each other by name."""

from __future__ import annotations

from mcpgen.ir.json_types import (
    ONE_SCHEMA,
    SEVERAL_SCHEMAS,
    JsonObject,
    JsonSchema,
    JsonValue,
)
from mcpgen.spec import lower_keywords as keywords
from mcpgen.spec.lower_cycles import break_cycles
from mcpgen.spec.lower_discriminator import make_explicit
from mcpgen.spec.lower_names import SchemaNames
from mcpgen.spec.lower_source import Node, Source, escape
from mcpgen.spec.secrets import is_secret_default

MAX_DEPTH = 96  # of schemas in schemas; what lies deeper is accepted unchecked

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
    """Translates schemas on demand, and those that they refer to when all others are known.

    What is not there accepts any value: resolving told of it, and left its operations out.
    """

    def __init__(self, source: Source) -> None:
        self._source = source
        self._is_3_0 = source.version in ("2.0", "3.0")
        self._names = SchemaNames(source)
        self._pending: list[str] = []  # pointers of definitions that nobody has lowered yet
        self._definitions: dict[str, JsonSchema] = {}  # by pointer
        self._references: list[tuple[JsonObject, str]] = []  # what refers to which pointer

    def lower(self, node: Node) -> JsonSchema:
        """The schema at `node` in the 2020-12 dialect."""
        return self._lower(node.value, node.pointer, 0)

    def finish(self) -> dict[str, JsonSchema]:
        """All definitions that lowered schemas refer to, by name; references now spell names."""
        while self._pending:
            pointer = self._pending.pop()
            target = self._source.target("#" + pointer)
            if target is None or not isinstance(target.value, dict | bool):
                self._definitions[pointer] = {}
            else:
                self._definitions[pointer] = self._lower(target.value, pointer, 0)
        names = self._names.settle(self._definitions)
        for holder, pointer in self._references:
            holder["$ref"] = f"#/$defs/{names[pointer]}"
        schemas = {names[pointer]: self._definitions[pointer] for pointer in self._definitions}
        for name, pointer in break_cycles(schemas):
            self._source.warn(
                "circular-composition",
                f"the schema `{name}` contains itself in place: {pointer}",
                self._pointer_of(names, name),
                why="a value could never be checked; the inner occurrence was left out",
            )
        return dict(sorted(schemas.items()))

    @staticmethod
    def _pointer_of(names: dict[str, str], name: str) -> str:
        return next(pointer for pointer, known in names.items() if known == name)

    def drop_secret(self, name: str, schema: JsonSchema, pointer: str) -> None:
        """Take a credential out of the default of what is called `name`."""
        if isinstance(schema, dict) and is_secret_default(name, schema.get("default")):
            del schema["default"]
            self._source.warn(
                "secret-default",
                f"the default of `{name}` looks like a credential; it was dropped",
                f"{pointer}/default",
                why="whoever reads the generated server would have it",
            )

    def _lower(self, schema: JsonValue, pointer: str, depth: int) -> JsonSchema:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, dict):
            self._source.warn(
                "schema-shape", f"a schema was expected, not {keywords.kind(schema)}", pointer
            )
            return True
        if depth > MAX_DEPTH:
            self._source.warn(
                "schema-too-deep",
                f"schemas are nested more than {MAX_DEPTH} deep; what lies deeper is not checked",
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
                self._refuse_keyword(keyword, value, "an object", pointer)
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
                self._refuse_keyword(keyword, value, "an array of schemas", pointer)
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

    def _refuse_keyword(self, keyword: str, value: JsonValue, wanted: str, pointer: str) -> None:
        self._source.warn(
            "schema-keyword",
            f"`{keyword}` takes {wanted}, not {keywords.kind(value)}; it was dropped",
            f"{pointer}/{escape(keyword)}",
        )

    def _refer(self, out: JsonObject, reference: str) -> None:
        target = self._source.target(reference)
        key = reference.lstrip("#") if target is None else target.pointer
        if key not in self._definitions:
            self._definitions[key] = {}
            self._pending.append(key)
        out["$ref"] = reference
        self._references.append((out, key))

    def _unwrap(self, out: JsonObject) -> None:
        """Say `allOf: [{$ref}]` as the reference that it is; it was the only way before 3.1."""
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
        """Take `$dynamicRef` for the one anchor of that name, which is what it mostly means."""
        found = self._names.anchor(reference.lstrip("#"))
        if found is None:
            self._source.warn(
                "dynamic-ref",
                f"no `$dynamicAnchor` is called `{reference}`; any value is accepted here",
                f"{pointer}/$dynamicRef",
            )
        else:
            self._refer(out, "#" + found)
