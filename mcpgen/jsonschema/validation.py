"""Bounded evaluation of JSON Schemas."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any, Final
from urllib.parse import quote

import jsonschema_rs

from mcpgen.jsonschema.cost import CostModel
from mcpgen.jsonschema.dialects import JSON_SCHEMA_2020_12, JSON_SCHEMA_DRAFT_07, find_dialect
from mcpgen.jsonschema.types import JsonObject
from mcpgen.jsonschema.violations import (
    MAX_PROBLEMS,
    Name,
    Violation,
    describe,
    locate,
    name_place,
    rule_at,
)
from mcpgen.text.json_pointer import json_pointer

# Patterns come from documents. The engine is linear wherever it can be; look-around and back
# references make it backtrack, and this bounds how often: in one string, and in each of many.
_BACKTRACKS: Final = 20_000
_FEW_BACKTRACKS: Final = 100
_MAX_MEMBERS: Final = 20
_NO_LOCATION: Final = "does not match its schema; too deep or too large to report the location"
_TOO_COMPLEX: Final = "is too complex to validate, so it is rejected; send a smaller one"
_SCHEMA_URI: Final = "urn:mcpgen:schema"
_VALIDATORS: Final = {
    JSON_SCHEMA_2020_12: jsonschema_rs.Draft202012Validator,
    JSON_SCHEMA_DRAFT_07: jsonschema_rs.Draft7Validator,
}
_DRAFTS: Final = {
    JSON_SCHEMA_2020_12: jsonschema_rs.Draft202012,
    JSON_SCHEMA_DRAFT_07: jsonschema_rs.Draft7,
}


class SchemaValidator:
    """A compiled JSON Schema, which evaluates every instance in bounded time and memory.

    Compiling costs about a hundred evaluations, so keep it. Its dialect is the one that its
    `$schema` declares, and 2020-12 where it declares none. An instance that could take more than
    `schema_cost.MAX_STEPS` is rejected without being evaluated, and one that could have more than
    `schema_cost.MAX_ERRORS` without the location of its violations.
    """

    def __init__(self, schema: JsonObject) -> None:
        """Compile the schema.

        Patterns that the engine cannot compile are ignored: OpenAPI's patterns are ECMA-262, and
        some use what no linear engine offers. The generator reports them.

        Raises:
            ValueError: it is no JSON Schema, refers to something outside itself, or declares a
                dialect that is not known here.
        """
        self._schema = schema
        try:
            self._compiled = _compile(schema)
        except jsonschema_rs.ValidationError:
            self._schema = _without_foreign_patterns(schema)
            self._compiled = _compile(self._schema)
        self._cost = CostModel(self._schema)
        self.is_valid: Callable[[Any], bool] = (
            self._compiled.is_valid if self._cost.is_harmless else self._is_valid_within_budget
        )
        """Whether an instance is valid; the fast way to ask."""

    def problems(self, instance: Any, name: Name = name_place) -> tuple[str, ...]:
        """Return one sentence for each violation: at most `MAX_PROBLEMS`, and a count of the rest.

        `name` returns the name in sentences of the location at a path, which is () only for the
        value. If there are too many violations to collect, only one sentence about the value is
        returned.
        """
        if self.is_valid(instance):
            return ()
        validator = self._compile_validator(instance)
        if validator is None:
            return (f"the value {_TOO_COMPLEX}",)
        violations = self._iterate_violations(validator, instance)
        if violations is None:
            return self._without_location(instance, name)
        found = list(dict.fromkeys(describe(it, name) for it in violations))
        if len(found) > MAX_PROBLEMS:
            rest = len(found) - MAX_PROBLEMS
            found[MAX_PROBLEMS:] = [f"and {rest} more"]
        return tuple(found)

    def locate_problems(self, instance: Any) -> list[tuple[tuple[str | int, ...], str]]:
        """Return the JSON Pointer tokens and a sentence of each violation, at most `MAX_PROBLEMS`.

        The location of a missing member is where it should be. Violations that cannot be collected
        are one, at the root.
        """
        if self.is_valid(instance):
            return []
        validator = self._compile_validator(instance)
        found = None if validator is None else self._iterate_violations(validator, instance)
        if found is None:
            return [((), sentence) for sentence in self.problems(instance)]
        return [(locate(it), describe(it)) for it in islice(found, MAX_PROBLEMS)]

    def broken_rules(self, instance: Any) -> tuple[str, ...]:
        """Return what the instance must be and is not, without showing the instance."""
        if self.is_valid(instance):
            return ()
        validator = self._compile_validator(instance)
        if validator is None:
            return (_TOO_COMPLEX,)
        violations = self._iterate_violations(validator, instance)
        if violations is None:
            return (_NO_LOCATION,)
        return tuple(dict.fromkeys(map(rule_at, violations)))[:MAX_PROBLEMS]

    def places(self, instance: Any) -> list[list[str | int]] | None:
        """Return the JSON Pointer tokens of each violation; None if these cannot be collected."""
        validator = self._compile_validator(instance)
        if validator is None or not self._cost.allows_errors(instance):
            return None
        return [list(violation.instance_path) for violation in validator.iter_errors(instance)]

    def _is_valid_within_budget(self, instance: Any) -> bool:
        validator = self._compile_validator(instance)
        return validator is not None and validator.is_valid(instance)

    def _compile_validator(self, instance: Any) -> jsonschema_rs.Validator | None:
        """Return the validator whose steps stay within the budget; None if there is none."""
        if self._cost.is_harmless or self._cost.allows(instance, backtracks=_BACKTRACKS):
            return self._compiled
        if not self._cost.has_backtracking:
            return None
        is_allowed = self._cost.allows(instance, backtracks=_FEW_BACKTRACKS)
        return self._impatient if is_allowed else None

    @cached_property
    def _impatient(self) -> jsonschema_rs.Validator:
        """The same schema, for instances that have many strings for a pattern that backtracks."""
        return _compile(self._schema, backtracks=_FEW_BACKTRACKS)

    def _iterate_violations(
        self, validator: jsonschema_rs.Validator, instance: Any
    ) -> Iterable[Violation] | None:
        """Return all violations, the first if they are many, and None if that has many too."""
        if self._cost.allows_errors(instance):
            return validator.iter_errors(instance)
        if self._cost.has_alternatives:
            return None
        try:
            validator.validate(instance)
        except jsonschema_rs.ValidationError as first:
            return (first,)
        return ()

    def _without_location(self, instance: Any, name: Name) -> tuple[str, ...]:
        """Return a sentence for each member that is invalid, else one for the instance."""
        path: list[str] = []
        schema: Any = self._schema
        while invalid := self._iterate_invalid_members(path, schema, instance):
            if len(invalid) > 1:
                return tuple(f"{name([*path, each])} {_NO_LOCATION}" for each in invalid)
            path += invalid
            schema, instance = schema["properties"][path[-1]], instance[path[-1]]
        return (f"{name(path) if path else 'the value'} {_NO_LOCATION}",)

    def _iterate_invalid_members(
        self, path: Sequence[str], schema: Any, instance: Any
    ) -> list[str]:
        """Return the members of an object at `path` that `properties` of its schema reject."""
        properties = schema.get("properties") if isinstance(schema, dict) else None
        if not isinstance(properties, dict) or not isinstance(instance, dict):
            return []
        names = [name for name in instance if name in properties][:_MAX_MEMBERS]
        return [name for name in names if not self._is_member_valid([*path, name], instance[name])]

    def _is_member_valid(self, path: Sequence[str], value: Any) -> bool:
        pointer = json_pointer(token for name in path for token in ("properties", name))
        reference = f"{_SCHEMA_URI}#{quote(pointer)}"
        dialect = find_dialect(self._schema)
        resources = jsonschema_rs.Registry([(_SCHEMA_URI, self._schema)], draft=_DRAFTS[dialect])
        validator = _compile({"$ref": reference}, dialect, _FEW_BACKTRACKS, resources)
        return validator.is_valid(value)


def _compile(
    schema: JsonObject,
    dialect: str = "",
    backtracks: int = _BACKTRACKS,
    resources: jsonschema_rs.Registry | None = None,
) -> jsonschema_rs.Validator:
    return _VALIDATORS[dialect or find_dialect(schema)](
        schema,
        validate_formats=True,
        offline=True,
        pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=backtracks),
        registry=resources,
    )


def _without_foreign_patterns(schema: Any) -> Any:
    """Return a copy of a schema without the patterns that do not compile."""
    if isinstance(schema, list):
        return [_without_foreign_patterns(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    copy = {key: _without_foreign_patterns(value) for key, value in schema.items()}
    pattern = copy.get("pattern")
    if isinstance(pattern, str) and not _compiles(pattern):
        del copy["pattern"]
    properties = copy.get("patternProperties")
    if isinstance(properties, dict):
        copy["patternProperties"] = {
            key: value for key, value in properties.items() if _compiles(key)
        }
    return copy


def _compiles(pattern: str) -> bool:
    try:
        _compile({"pattern": pattern})
    except jsonschema_rs.ValidationError:
        return False
    return True
