"""The named schemas of an API: lookup, `$ref` resolution and validation of values."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from math import inf

import jsonschema_rs
import msgspec

from mcpgen.jsonschema.cost import CostModel, SchemaCosts
from mcpgen.jsonschema.evaluation import Evaluation, TooManyStepsError, Verdict
from mcpgen.jsonschema.references import definition_name, iterate_references
from mcpgen.jsonschema.shared_bounds import SharedBounds
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type

_MAX_STEPS = 200_000  # of one evaluation: 15 ms, and thousands may be made for one document
_MAX_COMPILED_BYTES = 4_000_000  # JSON of the compiled schemas in the cache: about 50 MB
_BACKTRACKS = 1_000  # in one string
_MAX_VERDICTS = 10_000  # on texts: 4 MB
_MAX_KEPT_TEXT = 200  # characters
_MAX_VISITS = 300_000  # to compute the costs of all evaluations of one schema: about a second
_encode = msgspec.json.Encoder(order="sorted").encode
_ALL_TYPES = frozenset({"array", "boolean", "integer", "null", "number", "object", "string"})
_TYPES_BY_KEYWORD = {
    "object": ("properties", "required", "additionalProperties", "patternProperties"),
    "array": ("items", "prefixItems", "contains", "uniqueItems"),
    "string": ("pattern", "format", "contentEncoding"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}


class UnusableSchemaError(ValueError):
    """A schema cannot be compiled, or refers to an unknown definition."""


class _CompiledSchemas:
    """The compiled schemas that were used last; older ones are compiled again when they are used.

    Each contains all definitions that it refers to, in some APIs most of those that there are.
    """

    def __init__(self, closure: Callable[[JsonSchema], JsonObject]) -> None:
        self._closure = closure
        self._kept: dict[object, tuple[jsonschema_rs.Draft202012Validator, int]] = {}
        self._bytes = 0

    def get(self, owner: object, schema: JsonSchema) -> jsonschema_rs.Draft202012Validator:
        """Return the compiled schema of an owner.

        Raises:
            ValueError, jsonschema_rs.ReferencingError: it cannot be compiled.
        """
        found = self._kept.pop(owner, None)
        if found is None:
            whole: JsonObject = {"allOf": [schema], "$defs": self._closure(schema)}
            compiled = jsonschema_rs.Draft202012Validator(
                whole,
                validate_formats=True,
                offline=True,
                pattern_options=jsonschema_rs.FancyRegexOptions(backtrack_limit=_BACKTRACKS),
            )
            found = compiled, len(_encode(whole))
            self._bytes += found[1]
            while self._kept and self._bytes > _MAX_COMPILED_BYTES:
                _, size = self._kept.pop(next(iter(self._kept)))
                self._bytes -= size
        self._kept[owner] = found  # the last one is that which was used last
        return found[0]


class _BoundedValidator:
    """A schema for validation. A value whose evaluation would take too long is invalid."""

    def __init__(
        self,
        schema: JsonSchema,
        compiled: _CompiledSchemas,
        costs: SchemaCosts,
        bounds: SharedBounds,
    ) -> None:
        self._schema = schema
        self._bounds = bounds
        self._all_compiled = compiled
        compiled.get(self, schema)  # an unusable schema raises here rather than later
        self._cost = CostModel(schema, costs)

    @property
    def _validator(self) -> jsonschema_rs.Draft202012Validator:
        return self._all_compiled.get(self, self._schema)

    def is_valid(self, value: JsonValue) -> bool:
        return self._allows(value) and self._validator.is_valid(value)

    def is_surely_invalid(self, value: JsonValue) -> bool:
        return self._allows(value) and not self._validator.is_valid(value)

    def evaluate(self, value: JsonValue) -> Verdict:
        """Return whether a value is valid, and the most steps that this takes.

        Infinity means that the result may depend on evaluations before.
        """
        steps = inf if self._cost.is_recursive else self._cost.count_most_steps(value)
        return self.is_valid(value), steps

    def problem(self, value: JsonValue) -> str:
        """Describe how a value violates the schema, with the location; "" if it is valid."""
        if not self._allows(value):
            return "checking it takes too many steps"
        if self._validator.is_valid(value):
            return ""
        if not self._cost.allows_errors(value):
            return "it does not match its schema"
        error = next(iter(self._validator.iter_errors(value)))
        place = "/".join(str(token) for token in error.instance_path)
        return f"at `/{place}`: {error.message}" if place else str(error.message)

    def _allows(self, value: JsonValue) -> bool:
        cost = self._cost
        if cost.is_recursive:
            self._bounds.has_mattered = True
        if cost.is_harmless or cost.surely_allows(value, max_steps=_MAX_STEPS):
            return True
        self._bounds.has_mattered = True
        return cost.visits < _MAX_VISITS and cost.allows(
            value, backtracks=_BACKTRACKS, max_steps=_MAX_STEPS
        )


class Schemas:
    """Named schemas that refer to each other as `#/$defs/<name>` (JSON Schema 2020-12)."""

    def __init__(self, named: Mapping[str, JsonSchema], bounds: SharedBounds | None = None) -> None:
        self.named = named
        self.bounds = SharedBounds() if bounds is None else bounds
        self._validators: dict[bytes, _BoundedValidator] = {}
        self._compiled = _CompiledSchemas(self.closure)
        self._verdicts: dict[tuple[bytes, str], Verdict] = {}  # by schema and text
        self._costs: SchemaCosts | None = None
        self._references: dict[str, tuple[str, ...]] = {}  # by the schema that contains them

    def target(self, reference: str) -> JsonSchema:
        """Return the target of a `$ref`.

        Raises:
            UnusableSchemaError: the target is unknown.
        """
        name = definition_name(reference)
        if name not in self.named:
            raise UnusableSchemaError(f"nothing is at `{reference}`")
        return self.named[name]

    def types(self, schema: JsonSchema) -> frozenset[str]:
        """Return the JSON types that an instance may have: possibly too many, never too few.

        "number" is contained only if fractions are allowed.
        """
        return _ALL_TYPES if schema is True else self._find_types(schema, frozenset())

    def _find_types(self, schema: JsonSchema, seen: frozenset[str]) -> frozenset[str]:
        if isinstance(schema, bool):
            return _ALL_TYPES if schema else frozenset()
        types = _list_own_types(schema)
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            types &= self._find_types(self.target(reference), seen | {reference})
        for part in schema.get("allOf", ()):
            types &= self._find_types(part, seen)
        for keyword in ("anyOf", "oneOf"):
            branches = schema.get(keyword)
            if branches:
                types &= frozenset().union(*(self._find_types(branch, seen) for branch in branches))
        return types

    def likely_types(self, schema: JsonSchema) -> frozenset[str]:
        """Return the `types`; for a schema without `type`, those that its keywords apply to."""
        types = self.types(schema)
        if types != _ALL_TYPES or isinstance(schema, bool):
            return types
        parts = list(self._iterate_all_parts(schema))
        implied = (
            name
            for name, keywords in _TYPES_BY_KEYWORD.items()
            if any(keyword in part for part in parts for keyword in keywords)
        )
        return frozenset(implied) or frozenset({"string"})

    def property_schema(self, schema: JsonSchema, name: str) -> JsonSchema:
        """Return the schema of one property, from a schema and all its parts.

        Several schemas are joined with `anyOf`; False means that no part allows the property.
        """
        found = list(self._iterate_property_schemas(schema, name, frozenset()))
        declared = [part for part in found if part is not True]
        if not declared:
            return bool(found)
        return declared[0] if len(declared) == 1 else {"anyOf": declared}

    def _iterate_property_schemas(
        self, schema: JsonSchema, name: str, seen: frozenset[str]
    ) -> Iterator[JsonSchema]:
        if isinstance(schema, bool):
            if schema:
                yield True
            return
        has_parts = False
        for part, part_seen in self._iterate_parts(schema, seen):
            has_parts = True
            yield from self._iterate_property_schemas(part, name, part_seen)
        if name in schema.get("properties", {}):
            yield schema["properties"][name]
        elif not (has_parts and "additionalProperties" not in schema):
            additional = schema.get("additionalProperties", True)
            if additional is not False:
                yield additional

    def property_names(self, schema: JsonSchema) -> frozenset[str]:
        """Return the names of all properties that any part of a schema declares."""
        parts = self._iterate_all_parts(schema)
        return frozenset(name for part in parts for name in part.get("properties", {}))

    def item_schema(self, schema: JsonSchema) -> JsonSchema:
        """Return the schema of an array's items; several are joined with `anyOf`."""
        found: list[JsonSchema] = []
        for part in self._iterate_all_parts(schema):
            found += part.get("prefixItems", ())
            if "items" in part:
                found.append(part["items"])
        if not found:
            return True
        return found[0] if len(found) == 1 else {"anyOf": found}

    def _iterate_all_parts(
        self, schema: JsonSchema, seen: frozenset[str] = frozenset()
    ) -> Iterator[JsonObject]:
        """Yield a schema and its parts in depth, except booleans."""
        if not isinstance(schema, bool):
            yield schema
            for part, part_seen in self._iterate_parts(schema, seen):
                yield from self._iterate_all_parts(part, part_seen)

    def _iterate_parts(
        self, schema: JsonObject, seen: frozenset[str]
    ) -> Iterator[tuple[JsonSchema, frozenset[str]]]:
        """Yield the schemas in `$ref`, `allOf`, `anyOf` and `oneOf`."""
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            yield self.target(reference), seen | {reference}
        for keyword in ("allOf", "anyOf", "oneOf"):
            for part in schema.get(keyword, ()):
                yield part, seen

    def problem(self, schema: JsonSchema, value: JsonValue) -> str:
        """Describe how a value violates a schema, with the location; "" if it is valid.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return "" if self.fits(schema, value) else self._get_validator(schema).problem(value)

    def fits(self, schema: JsonSchema, value: JsonValue) -> bool:
        """Return whether a value is valid, including `format`.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        is_valid = self._try_to_evaluate(schema, value)
        return self._get_validator(schema).is_valid(value) if is_valid is None else is_valid

    def is_surely_invalid(self, schema: JsonSchema, value: JsonValue) -> bool:
        """Return whether a value is invalid; False for a value that takes too long to check.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        is_valid = self._try_to_evaluate(schema, value)
        if is_valid is None:
            return self._get_validator(schema).is_surely_invalid(value)
        return not is_valid

    def _try_to_evaluate(self, schema: JsonSchema, value: JsonValue) -> bool | None:
        """Return whether a value is valid, or None if the compiled schema should be used."""
        if _encode(schema) in self._validators:
            return None
        try:
            return Evaluation(self.target, self._evaluate, _MAX_STEPS).is_valid(schema, value)
        except (TooManyStepsError, RecursionError):
            return None

    def checker(self, schema: JsonSchema) -> Callable[[JsonValue], bool]:
        """Return a function that checks many values against one schema, including `format`.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return self._get_validator(schema).is_valid

    def make_invalidity_check(self, schema: JsonSchema) -> Callable[[JsonValue], bool]:
        """Return a function that checks whether values violate one schema.

        It returns False for a value that takes too long to check.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return self._get_validator(schema).is_surely_invalid

    def _evaluate(self, schema: JsonSchema, value: JsonValue) -> Verdict:
        """Return whether a value is valid, and the most steps that this takes.

        Verdicts on short texts are kept: documents repeat their examples, and samples themselves.
        """
        if not isinstance(value, str) or len(value) > _MAX_KEPT_TEXT:
            return self._get_validator(schema).evaluate(value)
        key = (_encode(schema), value)
        verdict = self._verdicts.get(key)
        if verdict is None:
            if len(self._verdicts) >= _MAX_VERDICTS:
                self._verdicts.clear()
            verdict = self._verdicts[key] = self._get_validator(schema).evaluate(value)
        return verdict

    def _get_validator(self, schema: JsonSchema) -> _BoundedValidator:
        key = _encode(schema)
        if key in self._validators:
            return self._validators[key]
        if self._costs is None:
            self._costs = SchemaCosts({"$defs": dict(self.named)})
        try:
            self._validators[key] = _BoundedValidator(
                schema, self._compiled, self._costs, self.bounds
            )
        except (ValueError, jsonschema_rs.ReferencingError) as error:
            reason = str(error).partition("\n")[0]
            raise UnusableSchemaError(f"the schema cannot be compiled: {reason}") from None
        return self._validators[key]

    def closure(self, schema: JsonSchema) -> JsonObject:
        """Return the named schemas that `schema` refers to, directly or not."""
        found: JsonObject = {}
        waiting = list(iterate_references(schema))
        while waiting:
            reference = waiting.pop()
            name = definition_name(reference)
            if name in found:
                continue
            found[name] = self.target(reference)
            if name not in self._references:
                self._references[name] = tuple(iterate_references(found[name]))
            waiting.extend(self._references[name])
        return found


def _list_own_types(schema: JsonObject) -> frozenset[str]:
    """Return the types that `type`, `const` and `enum` of this schema allow, without its parts."""
    types = _ALL_TYPES
    declared = schema.get("type")
    if declared is not None:
        types = frozenset([declared] if isinstance(declared, str) else declared)
        if "number" in types:
            types |= {"integer"}
    if "const" in schema:
        types &= {find_json_type(schema["const"])}
    if "enum" in schema:
        types &= frozenset(find_json_type(value) for value in schema["enum"])
    return types
