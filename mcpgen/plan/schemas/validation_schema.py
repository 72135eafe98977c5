"""Validation schemas: exactly what the API accepts, with the safe names of properties.

The listed schemas may accept more, since clients support only some keywords.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.jsonschema.direction import Direction
from mcpgen.jsonschema.schemas import PREFIX, find_reference
from mcpgen.jsonschema.types import ONE_SCHEMA, SEVERAL_SCHEMAS, JsonObject, JsonSchema

_UNCHECKED = frozenset(
    {"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "xml", "default"}
)


class ValidationSchemas:
    """Validation schemas of one direction, cached by definition.

    `offered` maps wire names of properties to their safe names.
    """

    def __init__(self, direction: Direction, offered: Mapping[str, str]) -> None:
        self._direction = direction
        self._offered = offered
        self._named: dict[str, tuple[JsonSchema, frozenset[str]]] = {}

    def bundle(self, schemas: list[JsonSchema]) -> tuple[list[JsonSchema], JsonObject]:
        """Return the converted schemas and the definitions to which they refer."""
        names: set[str] = set()
        parts = [self._convert(self._direction.of(schema), names) for schema in schemas]
        definitions: JsonObject = {}
        waiting = sorted(names)
        while waiting:
            name = waiting.pop()
            if name not in definitions:
                definitions[name], needed = self._convert_definition(name)
                waiting += sorted(needed - definitions.keys())
        return parts, dict(sorted(definitions.items()))

    def _convert_definition(self, name: str) -> tuple[JsonSchema, frozenset[str]]:
        if name not in self._named:
            names: set[str] = set()
            schema = self._convert(self._direction.schemas.named.get(name, True), names)
            self._named[name] = (schema, frozenset(names))
        return self._named[name]

    def _convert(self, schema: JsonSchema, names: set[str]) -> JsonSchema:
        if not isinstance(schema, dict):
            return schema
        out: JsonObject = {}
        for keyword, value in schema.items():
            if keyword in _UNCHECKED:
                continue
            if keyword in ONE_SCHEMA:
                out[keyword] = self._convert(value, names)
            elif keyword in SEVERAL_SCHEMAS:
                out[keyword] = [self._convert(item, names) for item in value]
            elif keyword in ("properties", "dependentSchemas"):
                out[keyword] = self._convert_properties(value, names)
            elif keyword == "patternProperties":
                out[keyword] = {key: self._convert(item, names) for key, item in value.items()}
            elif keyword == "dependentRequired":
                out[keyword] = {
                    self._rename(key): [self._rename(name) for name in others]
                    for key, others in value.items()
                }
            elif keyword == "required":
                if value:
                    out[keyword] = [self._rename(name) for name in value]
            else:
                out[keyword] = value
        name = find_reference(schema)
        if name:
            names.add(name)
            out["$ref"] = PREFIX + name
        called = [
            self._offered[key] for key in schema.get("properties", ()) if key in self._offered
        ]
        if called and "propertyNames" in out:  # which applies to wire names
            out["propertyNames"] = {"anyOf": [out["propertyNames"], {"enum": sorted(called)}]}
        return out

    def _convert_properties(self, schemas: Mapping[str, JsonSchema], names: set[str]) -> JsonObject:
        return {self._rename(key): self._convert(item, names) for key, item in schemas.items()}

    def _rename(self, name: str) -> str:
        return self._offered.get(name, name)
