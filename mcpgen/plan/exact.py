"""Schemas that say exactly what the API accepts, in the names that are offered: for checking."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.ir.json_types import ONE_SCHEMA, SEVERAL_SCHEMAS, JsonObject, JsonSchema
from mcpgen.plan.shapes import PREFIX, Shapes, referred_name

_UNCHECKED = frozenset(
    {"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "xml", "default"}
)


class ExactSchemas:
    """Definitions as they are checked in one direction; each is made once.

    `offered` has what properties are called instead of their wire names.
    """

    def __init__(self, shapes: Shapes, offered: Mapping[str, str]) -> None:
        self._shapes = shapes
        self._offered = offered
        self._named: dict[str, tuple[JsonSchema, frozenset[str]]] = {}

    def bundle(self, schemas: list[JsonSchema]) -> tuple[list[JsonSchema], JsonObject]:
        """`schemas`, and the definitions that they need."""
        names: set[str] = set()
        parts = [self._exact(schema, names) for schema in schemas]
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
            schema = self._exact(self._shapes.schemas.get(name, True), names)
            self._named[name] = (schema, frozenset(names))
        return self._named[name]

    def _exact(self, schema: JsonSchema, names: set[str]) -> JsonSchema:
        if not isinstance(schema, dict):
            return schema
        out: JsonObject = {}
        hidden = self._hidden(schema)
        for keyword, value in schema.items():
            if keyword in _UNCHECKED:
                continue
            if keyword in ONE_SCHEMA:
                out[keyword] = self._exact(value, names)
            elif keyword in SEVERAL_SCHEMAS:
                out[keyword] = [self._without(item, hidden, names) for item in value]
            elif keyword == "properties":
                kept = {key: item for key, item in value.items() if key not in hidden}
                out[keyword] = self._by_name(kept, names)
            elif keyword == "dependentSchemas":
                out[keyword] = self._by_name(value, names)
            elif keyword == "patternProperties":
                out[keyword] = {key: self._exact(item, names) for key, item in value.items()}
            elif keyword == "dependentRequired":
                out[keyword] = {
                    self._called(key): [self._called(name) for name in others]
                    for key, others in value.items()
                }
            elif keyword == "required":
                required = [self._called(name) for name in value if name not in hidden]
                if required:
                    out[keyword] = required
            else:
                out[keyword] = value
        name = referred_name(schema)
        if name:
            names.add(name)
            out["$ref"] = PREFIX + name
        called = [
            self._offered[key] for key in schema.get("properties", ()) if key in self._offered
        ]
        if called and "propertyNames" in out:  # which speaks of wire names
            out["propertyNames"] = {"anyOf": [out["propertyNames"], {"enum": sorted(called)}]}
        return out

    def _by_name(self, schemas: Mapping[str, JsonSchema], names: set[str]) -> JsonObject:
        return {self._called(key): self._exact(item, names) for key, item in schemas.items()}

    def _without(self, schema: JsonSchema, hidden: frozenset[str], names: set[str]) -> JsonSchema:
        """A member of a composition, not asking for what the whole hides."""
        if hidden and isinstance(schema, dict) and set(schema.get("required", ())) & hidden:
            required = [name for name in schema["required"] if name not in hidden]
            schema = {**schema, "required": required}
        return self._exact(schema, names)

    def _called(self, name: str) -> str:
        return self._offered.get(name, name)

    def _hidden(self, schema: JsonObject) -> frozenset[str]:
        """Names of properties that this direction does not have."""
        if "allOf" in schema or "$ref" in schema:
            return frozenset(self._shapes.of(schema).keywords.get("x-hidden", ()))
        return frozenset(
            name
            for name, value in schema.get("properties", {}).items()
            if self._shapes.is_hidden(value)
        )
