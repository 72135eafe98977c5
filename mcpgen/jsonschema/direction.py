"""Schemas in one direction: requests have no `readOnly` properties, responses no `writeOnly` ones.

A property is hidden if its schema, the target of its `$ref` or a member of its `allOf` has the
keyword (OpenAPI 3.1, "Schema Object"; JSON Schema Validation, section 9.4).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

import msgspec

from mcpgen.jsonschema.references import KEYWORDS_WITH_DATA, MAPS_OF_SCHEMAS, iterate_parts
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue

DirectionName: TypeAlias = Literal["request", "response"]

_MARKERS: Mapping[DirectionName, str] = {"request": "readOnly", "response": "writeOnly"}
_SAME_VALUE = frozenset({"allOf", "anyOf", "else", "oneOf", "then"})
_AFFECTED = _SAME_VALUE | {"required"}


class Direction:
    """The named schemas of an API, without the properties that are hidden in one direction."""

    def __init__(self, schemas: Schemas, name: DirectionName) -> None:
        self._whole = schemas
        self._marker = _MARKERS[name]

    @cached_property
    def schemas(self) -> Schemas:
        """The named schemas in this direction, converted on demand.

        If none of them has the keyword, both directions share what was compiled of them.
        """
        is_marked = f'"{self._marker}"'.encode() in msgspec.json.encode(dict(self._whole.named))
        return Schemas(_ConvertedOnDemand(self, self._whole.named)) if is_marked else self._whole

    def of(self, schema: JsonSchema) -> JsonSchema:
        """Return `schema` in this direction; its `$ref`s refer to `schemas`."""
        return self._convert(schema, frozenset())

    def is_hidden(self, schema: JsonSchema) -> bool:
        """Whether a property with this schema does not exist in this direction."""
        return any(
            part.get(self._marker) is True for part in iterate_parts(schema, self._whole.named)
        )

    def find_hidden(self, schema: JsonSchema) -> frozenset[str]:
        """Return the names of hidden properties that a schema, its `$ref` or `allOf` declares."""
        return frozenset(
            name
            for part in iterate_parts(schema, self._whole.named)
            for name, declared in part.get("properties", {}).items()
            if self.is_hidden(declared)
        )

    def _convert(self, schema: JsonSchema, hidden_around: frozenset[str]) -> JsonSchema:
        """Convert a schema that is combined with one that hides the properties `hidden_around`."""
        if isinstance(schema, bool):
            return schema
        hidden = hidden_around
        if not _AFFECTED.isdisjoint(schema):
            hidden |= self.find_hidden(schema)
        converted: JsonObject = {}
        for keyword, value in schema.items():
            if keyword == "properties":
                shown = {name: it for name, it in value.items() if not self.is_hidden(it)}
                converted[keyword] = self._convert_values(shown)
            elif keyword == "required":
                converted[keyword] = [name for name in value if name not in hidden]
            elif keyword in KEYWORDS_WITH_DATA:
                converted[keyword] = value
            elif keyword in MAPS_OF_SCHEMAS:
                converted[keyword] = self._convert_values(value)
            else:
                around = hidden if keyword in _SAME_VALUE else _NONE
                converted[keyword] = self._convert_keyword(value, around)
        return converted

    def _convert_keyword(self, value: JsonValue, hidden_around: frozenset[str]) -> JsonValue:
        if isinstance(value, dict):
            return self._convert(value, hidden_around)
        if isinstance(value, list):
            return [
                self._convert(part, hidden_around) if isinstance(part, dict) else part
                for part in value
            ]
        return value

    def _convert_values(self, schemas: Mapping[str, JsonSchema]) -> JsonObject:
        return {name: self._convert(schema, _NONE) for name, schema in schemas.items()}


_NONE: frozenset[str] = frozenset()


class _ConvertedOnDemand(Mapping[str, JsonSchema]):
    """Named schemas in one direction; each is converted when it is first read."""

    def __init__(self, direction: Direction, named: Mapping[str, JsonSchema]) -> None:
        self._direction = direction
        self._named = named
        self._converted: dict[str, JsonSchema] = {}

    def __getitem__(self, name: str) -> JsonSchema:
        if name not in self._converted:
            self._converted[name] = self._direction.of(self._named[name])
        return self._converted[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)
