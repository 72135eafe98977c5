"""What a schema says of requests, and what of responses (`readOnly` and `writeOnly`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec

from mcpgen.jsonschema.references import KEYWORDS_WITH_DATA, MAPS_OF_SCHEMAS
from mcpgen.jsonschema.schemas import JsonSchema, JsonValue, Schemas, UnusableSchemaError


def for_requests(schemas: Schemas) -> Direction:
    """Give the reading of schemas in which `readOnly` properties do not exist."""
    return Direction(schemas, "readOnly")


def for_responses(schemas: Schemas) -> Direction:
    """Give the reading of schemas in which `writeOnly` properties do not exist."""
    return Direction(schemas, "writeOnly")


def _named_anywhere(keyword: str, named: Mapping[str, JsonSchema]) -> bool:
    """Whether a keyword stands in any schema; a property or a text of that name counts too."""
    return f'"{keyword}"'.encode() in msgspec.json.encode(dict(named))


class _ReadOnDemand(Mapping[str, JsonSchema]):
    """Named schemas in one direction; each is read when it is first asked for."""

    def __init__(self, direction: Direction, named: Mapping[str, JsonSchema]) -> None:
        self._direction = direction
        self._named = named
        self._read: dict[str, JsonSchema] = {}

    def __getitem__(self, name: str) -> JsonSchema:
        if name not in self._read:
            self._read[name] = self._direction.of(self._named[name])
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._named)

    def __len__(self) -> int:
        return len(self._named)


class Direction:
    """Schemas without the properties that do not travel one way, nor are required there."""

    def __init__(self, schemas: Schemas, marker: str) -> None:
        self._whole = schemas
        self._marker = marker
        # Where no schema has the marker, both ways share what was compiled of them.
        is_marked = _named_anywhere(marker, schemas.named)
        self.schemas = Schemas(_ReadOnDemand(self, schemas.named)) if is_marked else schemas

    def of(self, schema: JsonSchema) -> JsonSchema:
        """Give `schema` as it reads in this direction; its `$ref`s lead into `schemas`."""
        if isinstance(schema, bool):
            return schema
        dropped = {
            name
            for name, declared in schema.get("properties", {}).items()
            if self._is_marked(declared, frozenset())
        }
        return {
            keyword: self._keyword(keyword, value, dropped) for keyword, value in schema.items()
        }

    def _keyword(self, keyword: str, value: JsonValue, dropped: set[str]) -> JsonValue:
        if keyword == "properties":
            return {
                name: self.of(declared) for name, declared in value.items() if name not in dropped
            }
        if keyword == "required":
            return [name for name in value if name not in dropped]
        if keyword in KEYWORDS_WITH_DATA:
            return value
        if keyword in MAPS_OF_SCHEMAS:
            return {name: self.of(part) for name, part in value.items()}
        if isinstance(value, dict):
            return self.of(value)
        if isinstance(value, list):
            return [self.of(part) if isinstance(part, dict) else part for part in value]
        return value

    def _is_marked(self, schema: JsonSchema, seen: frozenset[str]) -> bool:
        if isinstance(schema, bool):
            return False
        if schema.get(self._marker) is True:
            return True
        if any(self._is_marked(part, seen) for part in schema.get("allOf", ())):
            return True
        reference = schema.get("$ref")
        if not isinstance(reference, str) or reference in seen:
            return False
        try:
            target = self._whole.target(reference)
        except UnusableSchemaError:
            return False  # reported where the schema is used
        return self._is_marked(target, seen | {reference})
