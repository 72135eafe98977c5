"""Schemas that say exactly what the API accepts: for checking, not for reading."""

from __future__ import annotations

from mcpgen.ir.json_types import JsonObject, JsonSchema
from mcpgen.plan.shapes import PREFIX, Shapes, referred_name

_UNCHECKED = frozenset(
    {"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "xml", "default"}
)
_ONE = frozenset(
    {
        "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else",
        "unevaluatedItems", "unevaluatedProperties",
    }
)  # fmt: skip
_MANY = frozenset({"allOf", "anyOf", "oneOf", "prefixItems"})
_NAMED = frozenset({"properties", "patternProperties", "dependentSchemas"})


class ExactSchemas:
    """Definitions as they are checked in one direction; each is made once."""

    def __init__(self, shapes: Shapes) -> None:
        self._shapes = shapes
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
            if keyword in _ONE:
                out[keyword] = self._exact(value, names)
            elif keyword in _MANY:
                out[keyword] = [self._without(item, hidden, names) for item in value]
            elif keyword == "properties":
                kept = {key: item for key, item in value.items() if key not in hidden}
                out[keyword] = {key: self._exact(item, names) for key, item in kept.items()}
            elif keyword in _NAMED:
                out[keyword] = {key: self._exact(item, names) for key, item in value.items()}
            elif keyword == "required":
                required = [name for name in value if name not in hidden]
                if required:
                    out[keyword] = required
            else:
                out[keyword] = value
        name = referred_name(schema)
        if name:
            names.add(name)
            out["$ref"] = PREFIX + name
        return out

    def _without(self, schema: JsonSchema, hidden: frozenset[str], names: set[str]) -> JsonSchema:
        """A member of a composition, not asking for what the whole hides."""
        exact = self._exact(schema, names)
        if hidden and isinstance(exact, dict) and set(exact.get("required", ())) & hidden:
            required = [name for name in exact["required"] if name not in hidden]
            exact = {key: value for key, value in exact.items() if key != "required"}
            if required:
                exact["required"] = required
        return exact

    def _hidden(self, schema: JsonObject) -> frozenset[str]:
        """Names of properties that this direction does not have."""
        if "allOf" in schema or "$ref" in schema:
            return frozenset(self._shapes.of(schema).keywords.get("x-hidden", ()))
        return frozenset(
            name
            for name, value in schema.get("properties", {}).items()
            if self._shapes.is_hidden(value)
        )
