"""The output profile: tolerant schemas of results, which responses with deviations still match.

They inform a model about names, types and meaning. Nothing is required or bounded, every member
may be null, and undescribed members are allowed.
"""

from __future__ import annotations

from functools import lru_cache

from mcpgen.jsonschema.direction import Shape
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.schemas.input_profile import Build
from mcpgen.plan.schemas.schema_part import SchemaPart, make_branch, make_leaf
from mcpgen.text.prose import first_sentence

_MAX_DESCRIPTION = 120


class OutputProfile:
    """Builds listed schemas of results."""

    def description(self, schema: JsonObject) -> str:
        """Return the first sentence of a schema's description."""
        text = schema.get("description")
        return first_sentence(text, _MAX_DESCRIPTION) if text else ""

    def cut(self, shape: Shape) -> SchemaPart:
        """Return the replacement of a part that is nested too deeply."""
        return _build_plain(shape.types, self.description(shape.keywords))

    def build(self, shape: Shape, build: Build) -> SchemaPart:
        """Return one level, with children from `build`."""
        if not shape.can_nest:
            return self.cut(shape)  # the same, and most parts are such
        keywords = shape.keywords
        choice = next((key for key in ("anyOf", "oneOf") if key in keywords), "")
        children: list[SchemaPart] = []
        schema = _build_types(shape.types)
        own = dict(schema)
        levels = 0
        properties: dict[str, SchemaPart] = {}
        if "properties" in keywords and "object" in (shape.types or ("object",)):
            properties = {
                name: build(value) for name, value in sorted(keywords["properties"].items())
            }
            children += properties.values()
            schema["properties"] = {name: child.schema for name, child in properties.items()}
            levels = 1
        elif isinstance(keywords.get("additionalProperties"), dict):
            child = build(keywords["additionalProperties"])
            children.append(child)
            schema["additionalProperties"] = child.schema
            levels = 1
        if "items" in keywords and "array" in (shape.types or ("array",)):
            child = build(keywords["items"] or True)
            children.append(child)
            schema["items"] = child.schema
            levels = 1
        if choice and "properties" not in schema:
            members = [build(member) for member in keywords[choice] if member is not False]
            distinct: list[SchemaPart] = []
            for member in members:
                if not any(member.schema == other.schema for other in distinct):
                    distinct.append(member)
            if len(distinct) == 1 and not children:
                told = self.description(keywords)
                return distinct[0].describe(told)
            if all(member.schema for member in distinct) and distinct:
                children += distinct
                schema.pop("type", None)  # the members state it, including null
                schema["anyOf"] = [*(member.schema for member in distinct), {"type": "null"}]
                own["anyOf"] = []
        elif choice and "type" not in keywords:
            # `properties` does not apply to other values, which the choice may describe.
            members = [build(member) for member in keywords[choice] if member is not False]
            others = [one for one in members if "object" not in one.schema.get("type", ["object"])]
            if others:
                children += others
                schema = {"anyOf": [schema, *(one.schema for one in others)]}
                own["anyOf"] = []
        told = self.description(keywords)
        if told:
            schema["description"] = own["description"] = told
        return make_branch(schema, own, children, levels=levels, is_exact=True, names=properties)


@lru_cache(maxsize=4096)
def _build_plain(types: tuple[str, ...], told: str) -> SchemaPart:
    """Return a schema without children, cached because thousands of properties are equal."""
    schema = _build_types(types)
    return make_leaf({**schema, "description": told} if told else schema)


def _build_types(allowed: tuple[str, ...]) -> JsonObject:
    """Return the `type` of a value, including null."""
    types = [name for name in allowed if name != "null"]
    return {"type": [*types, "null"]} if types else {}
