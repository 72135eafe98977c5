"""Settings whose values requests carry: one environment variable each, whoever uses it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mcpgen.diagnostics import Problems
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.tool_plan import EnvironmentVariable, SettingUse, ToolPlan
from mcpgen.plan.descriptions import one_line, shorten
from mcpgen.plan.shapes import Shapes, json_type

_MAX_DESCRIPTION = 160
_CHOICES = ("anyOf", "oneOf")


class SettingPlanning:
    """Makes the environment variables that tools take parameters from."""

    def __init__(
        self, others: Sequence[EnvironmentVariable], shapes: Shapes, problems: Problems
    ) -> None:
        """Take the server's `others` variables, whose names are taken."""
        self._taken = {variable.name: variable for variable in others}
        self._shapes = shapes
        self._problems = problems

    def variables(self, tools: Iterable[ToolPlan]) -> tuple[EnvironmentVariable, ...]:
        """Return the variables that the tools use, by name; report what contradicts itself."""
        uses: dict[str, list[SettingUse]] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            for fixed in tool.fixed:
                if fixed.setting is not None:
                    uses.setdefault(fixed.setting.name, []).append(fixed.setting)
        self._check_names(uses)
        return tuple(self._variable(name, uses[name]) for name in sorted(uses))

    def _check_names(self, uses: dict[str, list[SettingUse]]) -> None:
        for name in sorted(uses.keys() & self._taken.keys()):
            self._problems.error(
                "setting-name",
                f"`{name}` is another setting of the server",
                at=uses[name][0].at,
                why=f"it has a meaning of its own: {self._taken[name].description}",
                help="choose another name",
            )

    def _variable(self, name: str, uses: Sequence[SettingUse]) -> EnvironmentVariable:
        schemas: list[JsonSchema] = []
        for use in uses:
            if use.schema not in schemas:
                schemas.append(use.schema)
        readings = [self._reads_as(schema) for schema in schemas]
        if other := next((it for it in readings if it != readings[0]), None):
            at = next(use.at for use in uses if self._reads_as(use.schema) == other)
            self._problems.error(
                "setting-type",
                f"`{name}` serves parameters of different types",
                at=at,
                why=f"one is of type {_shown(readings[0])}, another of type {_shown(other)}",
                help="take one of them from another environment variable",
            )
        described = next((use.description for use in uses if use.description), "")
        description = _sentence(shorten(one_line(described), _MAX_DESCRIPTION))
        is_secret = any(use.secret for use in uses)
        return EnvironmentVariable(
            name=name,
            description=f"{description}{_TYPES[readings[0]['type']]}",
            required=any(use.required for use in uses),
            secret=is_secret,
            example="" if is_secret else self._example(schemas[0]),
            schema=schemas[0] if len(schemas) == 1 else {"allOf": schemas},
            reads_as={} if readings[0] == _TEXT else readings[0],
        )

    def _reads_as(self, schema: JsonSchema) -> JsonObject:
        """Return how the text of the variable becomes a value: the type, and that of items."""
        types = self._types(schema) - {"null"}
        if not types or "string" in types:
            return _TEXT
        if "array" in types:
            items = self._reads_as(self._shapes.of(schema).keywords.get("items", True))
            return {"type": "array"} if items == _TEXT else {"type": "array", "items": items}
        return {"type": "number" if "number" in types else min(types)}

    def _types(self, schema: JsonSchema) -> set[str]:
        shape = self._shapes.of(schema)
        if shape.types:
            return set(shape.types)
        options = [option for key in _CHOICES for option in shape.keywords.get(key, ())]
        return {name for option in options for name in self._types(option)}

    def _example(self, schema: JsonSchema) -> str:
        """Return an example of the document, if it is a text or a number."""
        keywords = self._shapes.of(schema).keywords
        examples: list[JsonValue] = [*keywords.get("examples", ()), keywords.get("default")]
        usable = (it for it in examples if json_type(it) in ("integer", "number", "string"))
        return str(next(usable, ""))


_TEXT: JsonObject = {"type": "string"}
_TYPES = {
    "array": " A list, separated by commas.",
    "boolean": " `true` or `false`.",
    "integer": " An integer.",
    "number": " A number.",
    "object": " A JSON object.",
    "string": "",
}


def _sentence(text: str) -> str:
    if not text:
        return "Sent with calls, in place of an argument."
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."


def _shown(reading: JsonObject) -> str:
    items = reading.get("items", {}).get("type", "")
    return f"`{reading['type']}` of `{items}`" if items else f"`{reading['type']}`"
