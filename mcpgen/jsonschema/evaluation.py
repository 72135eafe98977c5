"""Evaluation of a value against a schema that is not compiled, for schemas that are used once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeAlias

from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type

Verdict: TypeAlias = tuple[bool, float]
"""Whether a value is valid, and the most steps that finding out takes."""

_STEPS_OF_VISIT: Final = 15  # of a schema and a value here: a microsecond

_RULES: Final = frozenset(
    {
        *("const", "contentEncoding", "contentMediaType", "enum", "format", "pattern"),
        *("exclusiveMaximum", "exclusiveMinimum", "maximum", "minimum", "multipleOf"),
        *("maxItems", "maxLength", "maxProperties", "minItems", "minLength", "minProperties"),
        "uniqueItems",
    }
)
_ENUM: Final = frozenset({"enum"})
_APPLICATORS: Final = frozenset({"$ref", "allOf", "anyOf", "oneOf"})
_KNOWN: Final = (
    _RULES
    | _APPLICATORS
    | {"type", "properties", "required", "additionalProperties", "items"}
    | {"default", "deprecated", "description", "examples", "readOnly", "title", "writeOnly", "xml"}
)


class TooManyStepsError(Exception):
    """An evaluation is over its budget of steps."""


class Evaluation:
    """Evaluation of one value, with the result of a compiled schema.

    A value uses a part of its schema, while compiling takes the time of all definitions that the
    schema refers to. So the keywords for structure are applied here, where the value has it. Only
    rules for single values are compiled, without the annotations beside them: few are different.
    """

    def __init__(
        self,
        target: Callable[[str], JsonSchema],
        evaluate: Callable[[JsonSchema, JsonValue], Verdict],
        max_steps: float,
    ) -> None:
        """Initialize an evaluation of at most `max_steps` steps; `target` resolves a `$ref`.

        `evaluate` compiles a schema. It is called for rules, and for schemas with keywords that
        are not applied here.
        """
        self._target = target
        self._evaluate = evaluate
        self._steps_left = max_steps

    def is_valid(self, schema: JsonSchema, value: JsonValue) -> bool:
        """Return whether a value is valid.

        Raises:
            TooManyStepsError: finding out takes too many steps.
        """
        if isinstance(schema, bool):
            return schema
        self._take(_STEPS_OF_VISIT)
        if not _KNOWN.issuperset(schema):
            return self._evaluate_whole(schema, value)
        if "type" in schema and not _has_type(schema["type"], value):
            return False
        rules = _RULES.intersection(schema)
        if rules and not self._follows_rules(schema, rules, value):
            return False
        if isinstance(value, dict):
            if not self._has_valid_members(schema, value):
                return False
        elif isinstance(value, list) and not self._has_valid_items(schema, value):
            return False
        return _APPLICATORS.isdisjoint(schema) or self._fits_in_place(schema, value)

    def _take(self, steps: float) -> None:
        self._steps_left -= steps
        if self._steps_left < 0:
            raise TooManyStepsError

    def _evaluate_whole(self, schema: JsonSchema, value: JsonValue) -> bool:
        is_valid, steps = self._evaluate(schema, value)
        self._take(steps)
        return is_valid

    def _follows_rules(
        self, schema: JsonObject, keywords: frozenset[str], value: JsonValue
    ) -> bool:
        if keywords == _ENUM and isinstance(value, str):
            return value in schema["enum"]  # a list that few other schemas have
        rules = {keyword: rule for keyword, rule in schema.items() if keyword in keywords}
        return self._evaluate_whole(rules, value)

    def _has_valid_members(self, schema: JsonObject, value: JsonObject) -> bool:
        for name in schema.get("required", ()):
            if name not in value:
                return False
        declared = schema.get("properties", {})
        others = schema.get("additionalProperties", True)
        for name, member in value.items():
            part = declared.get(name, others)
            if part is not True and not self.is_valid(part, member):
                return False
        return True

    def _has_valid_items(self, schema: JsonObject, value: list[JsonValue]) -> bool:
        items = schema.get("items", True)
        return items is True or all(self.is_valid(items, item) for item in value)

    def _fits_in_place(self, schema: JsonObject, value: JsonValue) -> bool:
        """Return whether the schemas in `$ref`, `allOf`, `anyOf` and `oneOf` allow a value."""
        return (
            ("$ref" not in schema or self.is_valid(self._target(schema["$ref"]), value))
            and all(self.is_valid(part, value) for part in schema.get("allOf", ()))
            and ("anyOf" not in schema or any(self.is_valid(it, value) for it in schema["anyOf"]))
            and (
                "oneOf" not in schema
                or sum(self.is_valid(option, value) for option in schema["oneOf"]) == 1
            )
        )


def _has_type(declared: str | list[str], value: JsonValue) -> bool:
    """Return whether a value has one of the types that `type` declares."""
    actual = find_json_type(value)
    if isinstance(declared, str):
        return actual == declared or (actual == "integer" and declared == "number")
    return actual in declared or (actual == "integer" and "number" in declared)
