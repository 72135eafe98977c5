"""Validation schemas: exactly what the API accepts, with the safe names of properties.

The listed schemas may accept more, since clients support only some keywords.
"""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.jsonschema.references import PREFIX, find_reference
from mcpgen.jsonschema.types import ONE_SCHEMA, SEVERAL_SCHEMAS, JsonObject, JsonSchema
from mcpgen.plan.schemas.shapes import Shapes

_UNCHECKED = frozenset(
    {"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "xml", "default"}
)


class ValidationSchemas:
    """Validation schemas of one direction, cached by definition.

    `offered` maps wire names of properties to their safe names.
    """

    def __init__(self, shapes: Shapes, offered: Mapping[str, str]) -> None:
        self._shapes = shapes
        self._offered = offered
        self._named: dict[str, tuple[JsonSchema, frozenset[str]]] = {}

    def bundle(self, schemas: list[JsonSchema]) -> tuple[list[JsonSchema], JsonObject]:
        """Return the converted schemas and the definitions to which they refer."""
        names: set[str] = set()
        parts = [self._convert(schema, names) for schema in schemas]
        definitions: JsonObject = {}
        waiting = sorted(names)
        while waiting:
            name = waiting.pop()
            if name not in definitions:
                definitions[name], needed = self._definition(name)
                waiting += sorted(needed - definitions.keys())
        return parts, dict(sorted(definitions.items()))

    def _definition(self, name: str) -> tuple[JsonSchema, frozenset[str]]:
        if name not in self._named:
            names: set[str] = set()
            schema = self._convert(self._shapes.schemas.get(name, True), names)
            self._named[name] = (schema, frozenset(names))
        return self._named[name]

    def _convert(self, schema: JsonSchema, names: set[str]) -> JsonSchema:
        if not isinstance(schema, dict):
            return schema
        out: JsonObject = {}
        hidden = self._find_hidden(schema)
        for keyword, value in schema.items():
            if keyword in _UNCHECKED:
                continue
            if keyword in ONE_SCHEMA:
                out[keyword] = self._convert(value, names)
            elif keyword in SEVERAL_SCHEMAS:
                out[keyword] = [self._convert_member(item, hidden, names) for item in value]
            elif keyword == "properties":
                kept = {key: item for key, item in value.items() if key not in hidden}
                out[keyword] = self._convert_properties(kept, names)
            elif keyword == "dependentSchemas":
                out[keyword] = self._convert_properties(value, names)
            elif keyword == "patternProperties":
                out[keyword] = {key: self._convert(item, names) for key, item in value.items()}
            elif keyword == "dependentRequired":
                out[keyword] = {
                    self._rename(key): [self._rename(name) for name in others]
                    for key, others in value.items()
                }
            elif keyword == "required":
                required = [self._rename(name) for name in value if name not in hidden]
                if required:
                    out[keyword] = required
            else:
                out[keyword] = value
        name = find_reference(schema)
        if name:
            names.add(name)
            out["$ref"] = PREFIX + name
        called = [
            self._offered[key] for key in schema.get("properties", ()) if key in self._offered
        ]
        if called and "propertyNames" in out:  # which speaks of wire names
            out["propertyNames"] = {"anyOf": [out["propertyNames"], {"enum": sorted(called)}]}
        return out

    def _convert_properties(self, schemas: Mapping[str, JsonSchema], names: set[str]) -> JsonObject:
        return {self._rename(key): self._convert(item, names) for key, item in schemas.items()}

    def _convert_member(
        self, schema: JsonSchema, hidden: frozenset[str], names: set[str]
    ) -> JsonSchema:
        """Convert a member of a composition without requirements for hidden properties."""
        if hidden and isinstance(schema, dict) and set(schema.get("required", ())) & hidden:
            required = [name for name in schema["required"] if name not in hidden]
            schema = {**schema, "required": required}
        return self._convert(schema, names)

    def _rename(self, name: str) -> str:
        return self._offered.get(name, name)

    def _find_hidden(self, schema: JsonObject) -> frozenset[str]:
        """Return the names of properties that are absent in this direction."""
        if "allOf" in schema or "$ref" in schema:
            return frozenset(self._shapes.of(schema).keywords.get("x-hidden", ()))
        return frozenset(
            name
            for name, value in schema.get("properties", {}).items()
            if self._shapes.is_hidden(value)
        )
