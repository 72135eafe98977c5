"""Sample values from JSON Schemas (2020-12): equal schemas always have equal values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Literal, TypeAlias, TypeGuard, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from mcpgen.jsonschema.direction import Direction, DirectionName, intersect
from mcpgen.jsonschema.patterns import TooHardError, iterate_matching_texts
from mcpgen.jsonschema.sample_scalars import (
    CannotSampleError,
    Preference,
    sample_number,
    sample_texts,
)
from mcpgen.jsonschema.schemas import Schemas, UnusableSchemaError
from mcpgen.jsonschema.shared_bounds import BoundedResults, SharedBounds
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type

__all__ = ["CannotSampleError", "Samples", "Which", "choose_example", "make_samples", "sample"]

Which: TypeAlias = Literal["example", "smallest", "largest"]

MAX_SAMPLE_BYTES = 1024 * 1024
_MAX_DEPTH = 40
_MAX_ITEMS = 1000
_NODES_IN_FULL = 400  # after so many values, optional ones are omitted
_MAX_NODES = 20_000
_EXEMPLARY_SEED = "sample"
_MAX_STEPS = 30_000  # of one sample: values and combinations of branches that were tried
_CHEAP_STEPS = 2_000
_MAX_EXPENSIVE_STEPS = 40_000  # beyond the cheap ones, of all samples of one document
_MAX_ALTERNATIVES = 32  # of each schema with anyOf, oneOf or if


class _TooManyStepsError(Exception):
    """The search for a sample has used its steps: no branch can succeed any more."""


class _Steps:
    """Counts the steps of one search after the other, and bounds each and the expensive ones."""

    def __init__(self, bounds: SharedBounds) -> None:
        self._bounds = bounds
        self._expensive_left = _MAX_EXPENSIVE_STEPS
        self._taken = 0

    def begin(self) -> None:
        """Start a search."""
        self._taken = 0

    def take(self, count: int = 1) -> None:
        """Count steps; raise `_TooManyStepsError` if there are none left."""
        self._taken += count
        if self._taken > _CHEAP_STEPS:
            self._bounds.has_mattered = True
            self._expensive_left -= count
            if self._taken > _MAX_STEPS or self._expensive_left < 0:
                raise _TooManyStepsError


class _Shared:
    """The state that the searches of one document share."""

    def __init__(self, bounds: SharedBounds) -> None:
        self.steps = _Steps(bounds)
        self.scalars: BoundedResults[tuple[int, Preference, bool], tuple[JsonObject, JsonValue]]
        self.scalars = BoundedResults(bounds)
        """The first value of each schema (by identity), preference and use of examples."""


def sample(
    schema: JsonSchema,
    *,
    schemas: Mapping[str, JsonSchema] | Schemas,
    which: Which = "example",
    seed: str = "text",
    variant: int = 0,
) -> JsonValue:
    """Return a value that is valid against `schema`, whose `$ref`s are `#/$defs/<name>`.

    - "smallest": only the required parts, at the lower bounds;
    - "largest": all allowed parts, at the upper bounds, but never huge: two items if more are
      allowed, and recursion stops at the first turn;
    - "example": the schema's own examples and defaults if they are valid, else typical values.

    Another `seed` (the name of a parameter, say) or `variant` returns another value if the
    schema allows one.

    Raises:
        CannotSampleError: no value was found: there is none, or the schema is too hard.
    """
    named = schemas if isinstance(schemas, Schemas) else Schemas(schemas)
    return _sample(schema, named, Preference(which, seed, variant), _Shared(named.bounds))


def _sample(
    schema: JsonSchema, schemas: Schemas, preference: Preference, shared: _Shared
) -> JsonValue:
    try:
        return _Sampler(schemas, shared).best(schema, preference)
    except _TooManyStepsError:
        raise CannotSampleError("finding a value takes too many steps") from None
    except UnusableSchemaError as error:
        raise CannotSampleError(str(error)) from None
    except RecursionError:  # the stack is shared, too
        schemas.bounds.has_mattered = True
        raise CannotSampleError("its schema is nested too deeply") from None


def choose_example(
    schema: JsonSchema, examples: Iterable[JsonValue], schemas: Schemas
) -> JsonValue:
    """Return the first of the examples that is valid, else a sample.

    Raises:
        CannotSampleError: no example is valid, and no value was found.
    """
    for example in _iterate_valid(examples, schema, schemas):
        return example
    return sample(schema, schemas=schemas, seed=_EXEMPLARY_SEED)


def _iterate_valid(
    examples: Iterable[JsonValue], schema: JsonSchema, schemas: Schemas
) -> Iterator[JsonValue]:
    for example in examples:
        # null, and JSON written as text, fit a schema that has properties but no type.
        is_scalar = not isinstance(example, dict | list)
        if is_scalar and schemas.likely_types(schema) <= {"array", "object"}:
            continue
        try:
            if schemas.fits(schema, example):
                yield example
        except UnusableSchemaError:
            yield example


_SampleKey: TypeAlias = tuple[bytes, Which, str, int]
"""The key of a sample: its schema as JSON, and the arguments `which`, `seed` and `variant`."""


class Samples:
    """Samples of what travels one way: "request" knows no `readOnly`, "response" no `writeOnly`."""

    def __init__(
        self, schemas: Mapping[str, JsonSchema] | Schemas, direction: DirectionName
    ) -> None:
        whole = schemas if isinstance(schemas, Schemas) else Schemas(schemas)
        self._direction = Direction(whole, direction)
        # Both by identity; the first stores the schema, so that no other gets its identity.
        self._read: dict[int, tuple[JsonSchema, JsonSchema]] = {}
        self._checkers: dict[int, Callable[[JsonValue], bool]] = {}
        self._made: BoundedResults[_SampleKey, JsonValue] = BoundedResults(whole.bounds)
        self._shared = _Shared(whole.bounds)

    def sample(
        self, schema: JsonSchema, which: Which = "example", *, seed: str = "text", variant: int = 0
    ) -> JsonValue:
        """Return a value as the function `sample` does; equal calls return the same object.

        Raises:
            CannotSampleError: no value was found.
        """
        key = (msgspec.json.encode(schema), which, seed, variant)
        return self._made.get(key, lambda: self._sample(schema, Preference(which, seed, variant)))

    def _sample(self, schema: JsonSchema, preference: Preference) -> JsonValue:
        return _sample(self._convert(schema), self._direction.schemas, preference, self._shared)

    def _convert(self, schema: JsonSchema) -> JsonSchema:
        """Return a schema in this direction, converted once."""
        found = self._read.get(id(schema))
        if found is None:
            found = self._read[id(schema)] = (schema, self._direction.convert(schema))
        return found[1]

    def fits(self, schema: JsonSchema, value: JsonValue) -> bool:
        """Return whether a value is valid.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return self._direction.schemas.fits(self._convert(schema), value)

    def is_surely_invalid(self, schema: JsonSchema, value: JsonValue) -> bool:
        """Return whether a value is invalid; False for a value that takes too long to check.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return self._direction.schemas.is_surely_invalid(self._convert(schema), value)

    def checker(self, schema: JsonSchema) -> Callable[[JsonValue], bool]:
        """Return a function that checks many values against one schema.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        read = self._convert(schema)
        if id(schema) not in self._checkers:
            self._checkers[id(schema)] = self._direction.schemas.checker(read)
        return self._checkers[id(schema)]

    def make_invalidity_check(self, schema: JsonSchema) -> Callable[[JsonValue], bool]:
        """Return a function that checks whether values violate one schema.

        It returns False for a value that takes too long to check.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return self._direction.schemas.make_invalidity_check(self._convert(schema))

    def problem(self, schema: JsonSchema, value: JsonValue) -> str:
        """Describe how a value violates a schema, with the location; "" if it is valid.

        Raises:
            UnusableSchemaError: the schema cannot be compiled.
        """
        return self._direction.schemas.problem(self._convert(schema), value)

    def choose_example(self, schema: JsonSchema, examples: Iterable[JsonValue]) -> JsonValue:
        """Return a value as the function `choose_example` does.

        Raises:
            CannotSampleError: no value was found.
        """
        for example in _iterate_valid(examples, self._convert(schema), self._direction.schemas):
            return example
        return self.sample(schema, seed=_EXEMPLARY_SEED)


def make_samples(schemas: Mapping[str, JsonSchema] | Schemas) -> tuple[Samples, Samples]:
    """Return the samples of requests and of responses, which share compiled schemas."""
    named = schemas if isinstance(schemas, Schemas) else Schemas(schemas)
    return Samples(named, "request"), Samples(named, "response")


class _Place(Struct, frozen=True):
    """Current position in the value, and the requested selection."""

    preference: Preference
    path: str
    depth: int
    references: frozenset[str]  # that lead here; entering one of them again would never end

    def child(self, name: str, *, seed: str | None = None, variant: int | None = None) -> _Place:
        preference = Preference(
            self.preference.which,
            self.preference.seed if seed is None else seed,
            self.preference.variant if variant is None else variant,
        )
        return _Place(preference, f"{self.path}/{name}", self.depth + 1, self.references)


class _Plain(Struct, frozen=True):
    """A schema without `$ref`, `allOf`, `anyOf`, `oneOf` and `if`: one reading of one that had."""

    keywords: JsonObject
    references: frozenset[str]
    must_be_checked: bool


class _Sampler:
    """Creates one sample; stores the remainder of the bound on its size."""

    def __init__(self, schemas: Schemas, shared: _Shared) -> None:
        self.schemas = schemas
        self.steps = shared.steps
        self.scalars = shared.scalars
        self.nodes = 0
        self.uses_examples = True

    def best(self, schema: JsonSchema, preference: Preference) -> JsonValue:
        """Return the first value that the validator accepts.

        The schema's examples are used first or, if bounds are requested, as a last resort.
        """
        complaint = ""
        prefers_examples = preference.which == "example"
        for self.uses_examples in (prefers_examples, not prefers_examples):
            self.nodes = 0
            self.steps.begin()
            try:
                for value in islice(
                    self._iterate_values(schema, _Place(preference, "", 0, frozenset())), 16
                ):
                    complaint = self.schemas.problem(schema, value)
                    if not complaint:
                        return _check_size(value)
            except CannotSampleError as error:
                complaint = complaint or str(error)
        raise CannotSampleError(complaint)

    def _sample_value(self, schema: JsonSchema, place: _Place) -> JsonValue:
        if _is_plain_scalar(schema):
            try:
                value = self._sample_scalar(schema, place)
                self._enter(place)
            except CannotSampleError:
                pass  # the search below states the place of the error
            else:
                return value
        for value in self._iterate_values(schema, place):
            return value
        raise CannotSampleError(f"at `{place.path}`: no value satisfies it")

    def _sample_scalar(self, schema: JsonObject, place: _Place) -> JsonValue:
        """Return the first value, which is the same wherever documents use their definitions."""

        def sample() -> tuple[JsonObject, JsonValue]:
            for value in self._iterate_plain_values(schema, place):
                return schema, value  # with the schema, so that no other gets its identity
            raise CannotSampleError

        return self.scalars.get((id(schema), place.preference, self.uses_examples), sample)[1]

    def _enter(self, place: _Place) -> None:
        """Count a value."""
        self.steps.take()
        if place.depth > _MAX_DEPTH:
            raise CannotSampleError(f"at `{place.path}`: it is nested too deeply")
        self.nodes += 1
        if self.nodes > _MAX_NODES:
            raise CannotSampleError("its smallest value is too large")

    def _iterate_values(self, schema: JsonSchema, place: _Place) -> Iterator[JsonValue]:
        """Yield values for a schema, the best first; only the complete value is surely valid."""
        self._enter(place)
        reason = ""
        found = False
        for plain in islice(
            self._iterate_readings(schema, place, place.references), _MAX_ALTERNATIVES
        ):
            here = place
            if plain.references is not place.references:
                here = _Place(place.preference, place.path, place.depth, plain.references)
            try:
                for value in self._iterate_plain_values(plain.keywords, here):
                    if not plain.must_be_checked or self.schemas.fits(schema, value):
                        found = True
                        yield value
            except CannotSampleError as error:
                reason = reason or str(error)
        if not found:
            shown = reason if reason.startswith("at ") else f"at `{place.path or '/'}`: {reason}"
            raise CannotSampleError(shown if reason else self._explain_no_value(schema, place))

    def _explain_no_value(self, schema: JsonSchema, place: _Place) -> str:
        shown = place.path or "/"
        if isinstance(schema, bool):
            return f"at `{shown}`: its schema allows nothing"
        parts = [schema, *(part for keyword in _CHOICES for part in schema.get(keyword, ()))]
        references = {part.get("$ref") for part in parts if isinstance(part, dict)}
        if references & place.references:
            return f"at `{shown}`: its schema requires itself, so a value has no end"
        return f"at `{shown}`: its schema contradicts itself, so no value satisfies it"

    # From schemas to plain ones

    def _iterate_readings(
        self, schema: JsonSchema, place: _Place, references: frozenset[str]
    ) -> Iterator[_Plain]:
        """Yield a plain schema for each combination of a schema's branches."""
        if isinstance(schema, bool):
            if schema:
                yield _Plain({}, references, must_be_checked=False)
            return
        must_be_checked = not _HARD.isdisjoint(schema)
        if _COMPOSING.isdisjoint(schema):
            yield _Plain(schema, references, must_be_checked)
            return
        own = {key: value for key, value in schema.items() if key not in _COMPOSING}
        choices: list[list[JsonSchema]] = [[part] for part in schema.get("allOf", ())]
        choices += [
            _sort_branches(schema[keyword], place.preference)
            for keyword in ("anyOf", "oneOf")
            if schema.get(keyword)
        ]
        if "if" in schema:
            choices.append(_list_conditional_branches(schema))
        start = _Plain(own, references, must_be_checked)
        reference = schema.get("$ref")
        if isinstance(reference, str):
            if reference in references:
                return
            start = replace(start, references=references | {reference})
            choices.insert(0, [self.schemas.target(reference)])
        yield from self._iterate_combinations(start, choices, place)

    def _iterate_combinations(
        self, so_far: _Plain, choices: Sequence[list[JsonSchema]], place: _Place
    ) -> Iterator[_Plain]:
        if not choices:
            yield so_far
            return
        for branch in choices[0]:
            for part in self._iterate_readings(branch, place, so_far.references):
                self.steps.take(1 + len(so_far.keywords.get("properties", ())) // 16)
                joined = intersect(so_far.keywords, part.keywords)
                if isinstance(joined, bool):
                    continue
                extra = joined.pop("allOf", None)  # what two keywords could not be joined to
                plain = _Plain(
                    joined,
                    so_far.references | part.references,
                    so_far.must_be_checked or part.must_be_checked or extra is not None,
                )
                yield from self._iterate_combinations(plain, choices[1:], place)

    # From plain schemas to values

    def _iterate_plain_values(self, keywords: JsonObject, place: _Place) -> Iterator[JsonValue]:
        if "const" in keywords:
            yield keywords["const"]
            return
        if "enum" in keywords:
            yield from _list_enum_values(keywords, self.schemas.types(keywords), place.preference)
            return
        if self.uses_examples:
            yield from self._iterate_examples(keywords)
        reason = ""
        for name in _list_types(keywords, self.schemas):
            try:
                yield from self._iterate_values_of_type(name, keywords, place)
            except CannotSampleError as error:
                reason = reason or str(error)
        if reason:
            raise CannotSampleError(reason)

    def _iterate_examples(self, keywords: JsonObject) -> Iterator[JsonValue]:
        examples = list(keywords.get("examples") or ())
        examples += [keywords[keyword] for keyword in ("example", "default") if keyword in keywords]
        for value in examples:
            if value is None or not _is_of_implied_type(keywords, value):
                continue
            if self.schemas.fits(keywords, value):
                yield value

    def _iterate_values_of_type(
        self, name: str, keywords: JsonObject, place: _Place
    ) -> Iterator[JsonValue]:
        if name == "object":
            yield from self._iterate_objects(keywords, place)
        elif name == "array":
            yield from self._iterate_arrays(keywords, place)
        elif name == "string":
            yield from sample_texts(keywords, place.preference, self.schemas)
        elif name == "boolean":
            first = (place.preference.which == "smallest") == bool(place.preference.variant % 2)
            yield from (first, not first)
        elif name == "null":
            yield None
        else:
            for variant in range(4):
                preference = replace(place.preference, variant=place.preference.variant + variant)
                yield sample_number(keywords, preference, is_integer=name == "integer")

    def _iterate_objects(self, keywords: JsonObject, place: _Place) -> Iterator[JsonObject]:
        required = list(keywords.get("required", ()))
        # By name: the order of a document's keys means nothing, and must change nothing.
        optional = sorted(keywords.get("properties", {}).keys() - required)
        includes_all = place.preference.which != "smallest" and self.nodes < _NODES_IN_FULL
        if includes_all and optional:
            yield self._sample_object(keywords, place, required, optional)
        yield self._sample_object(keywords, place, required, [])
        for name in optional:  # for those who ask for at least one of them
            yield self._sample_object(keywords, place, [*required, name], [])

    def _sample_object(
        self, keywords: JsonObject, place: _Place, required: list[str], optional: list[str]
    ) -> JsonObject:
        made: JsonObject = {}
        most = keywords.get("maxProperties", _MAX_ITEMS)
        for name in required:
            made[name] = self._sample_property(keywords, name, place)
        for name in optional:
            if len(made) < most and self.nodes < _NODES_IN_FULL:
                self._add(made, keywords, name, place)
        for name in _find_dependent_properties(keywords, made):
            made[name] = self._sample_property(keywords, name, place)
        self._fill(made, keywords, place)
        declared = {name: made[name] for name in keywords.get("properties", ()) if name in made}
        return declared | made

    def _add(self, made: JsonObject, keywords: JsonObject, name: str, place: _Place) -> None:
        """Add an optional property, unless it has no value or only endless ones."""
        with suppress(CannotSampleError):
            made[name] = self._sample_property(keywords, name, place)

    def _sample_property(self, keywords: JsonObject, name: str, place: _Place) -> JsonValue:
        schema = keywords.get("properties", {}).get(name)
        if schema is None:
            schema = self._find_undeclared_schema(keywords, name)
        return self._sample_value(schema, place.child(name, seed=name))

    def _find_undeclared_schema(self, keywords: JsonObject, name: str) -> JsonSchema:
        """Return the schema of a property that `properties` does not declare."""
        for pattern, schema in sorted(keywords.get("patternProperties", {}).items()):
            if self.schemas.fits({"pattern": pattern}, name):
                return cast("JsonSchema", schema)
        return cast("JsonSchema", keywords.get("additionalProperties", True))

    def _fill(self, made: JsonObject, keywords: JsonObject, place: _Place) -> None:
        """Add properties of any name: up to `minProperties`, or one if a map is requested."""
        least = keywords.get("minProperties", 0)
        if least > _MAX_ITEMS:
            raise CannotSampleError(f"at `{place.path}`: it must have {least} properties")
        is_map = keywords.get("additionalProperties") not in (None, True, False)
        is_map = is_map or bool(keywords.get("patternProperties"))
        if is_map and place.preference.which != "smallest":
            least = max(least, min(len(made) + 1, keywords.get("maxProperties", _MAX_ITEMS)))
        if len(made) >= least:
            return
        for name in self._iterate_new_names(keywords, least + len(made)):
            if len(made) >= least:
                break
            if name not in made:
                self._add(made, keywords, name, place)

    def _iterate_new_names(self, keywords: JsonObject, count: int) -> Iterator[str]:
        yield from sorted(keywords.get("properties", {}))
        for pattern in sorted(keywords.get("patternProperties", {})):
            try:
                yield from islice(iterate_matching_texts(pattern), count)
            except TooHardError:
                continue
        rule = keywords.get("propertyNames", True)
        for index in range(count + 1):
            place = _Place(Preference("example", "key", index), "", 0, frozenset())
            yield str(self._sample_value({"allOf": [rule, {"type": "string"}]}, place))

    def _iterate_arrays(self, keywords: JsonObject, place: _Place) -> Iterator[list[JsonValue]]:
        least = keywords.get("minItems", 0)
        most = keywords.get("maxItems", _MAX_ITEMS)
        if least > min(most, _MAX_ITEMS):
            raise CannotSampleError(f"it must have {least} items")
        preferred = {"smallest": 0, "example": 1, "largest": 2}[place.preference.which]
        if self.nodes >= _NODES_IN_FULL:
            preferred = 0
        for count in dict.fromkeys([min(max(least, preferred), most), least]):
            items = self._sample_items(keywords, count, place)
            if len(items) >= least:
                yield items
        if least == 0:
            yield []

    def _sample_items(self, keywords: JsonObject, count: int, place: _Place) -> list[JsonValue]:
        """Return at most `count` items, fewer if there are not enough distinct ones."""
        prefix = keywords.get("prefixItems", [])
        made: list[JsonValue] = []
        if "contains" in keywords:
            made.append(self._sample_value(keywords["contains"], place.child("0")))
        least = keywords.get("minItems", 0)
        for attempt in range(count * 3):
            if len(made) >= count:
                break
            index = len(made)
            schema = prefix[index] if index < len(prefix) else keywords.get("items", True)
            variant = place.preference.variant * count + attempt
            try:
                item = self._sample_value(schema, place.child(str(index), variant=variant))
            except CannotSampleError:
                if least:
                    raise
                break
            if not keywords.get("uniqueItems") or item not in made:
                made.append(item)
        return made


def _check_size(value: JsonValue) -> JsonValue:
    if len(msgspec.json.encode(value)) > MAX_SAMPLE_BYTES:
        raise CannotSampleError(f"its smallest value is over {MAX_SAMPLE_BYTES} bytes")
    return value


_CHOICES = ("allOf", "anyOf", "oneOf")
_COMPOSING = frozenset({"$ref", "allOf", "anyOf", "else", "if", "oneOf", "then"})
_SCALAR_TYPES = ("string", "integer", "number", "boolean")
_HARD = frozenset(
    {
        *("$dynamicRef", "contains", "dependentRequired", "dependentSchemas", "if", "not"),
        *("oneOf", "propertyNames", "unevaluatedItems", "unevaluatedProperties"),
    }
)
_NOT_PLAIN = _COMPOSING | _HARD


def _is_plain_scalar(schema: JsonSchema) -> TypeGuard[JsonObject]:
    """Return whether a schema allows scalars of one type, and has nothing to compose or check."""
    return (
        isinstance(schema, dict)
        and schema.get("type") in _SCALAR_TYPES
        and _NOT_PLAIN.isdisjoint(schema)
    )


def _sort_branches(branches: list[JsonSchema], preference: Preference) -> list[JsonSchema]:
    """Sort branches by preference: the last ones first for "largest", null last."""
    return sorted(
        reversed(branches) if preference.which == "largest" else branches,
        key=lambda branch: isinstance(branch, dict) and branch.get("type") in ("null", ["null"]),
    )


def _list_conditional_branches(schema: JsonObject) -> list[JsonSchema]:
    condition = schema["if"]
    return [
        {"allOf": [condition, schema.get("then", True)]},
        {"allOf": [{"not": condition}, schema.get("else", True)]},
    ]


def _is_of_implied_type(keywords: JsonObject, value: JsonValue) -> bool:
    """Return whether a value has the type of which a schema without `type` describes the inside.

    Such a schema allows any type, but results are listed, and arguments taken, as that one.
    """
    if "type" in keywords:
        return True
    if "properties" in keywords or "additionalProperties" in keywords:
        return isinstance(value, dict)
    return isinstance(value, list) or "items" not in keywords


def _list_enum_values(
    keywords: JsonObject, types: frozenset[str], preference: Preference
) -> list[JsonValue]:
    values = [value for value in keywords["enum"] if find_json_type(value) in types]
    if preference.which == "largest":
        values.reverse()
    values.sort(key=lambda value: value is None)
    start = preference.variant % len(values) if values else 0
    return values[start:] + values[:start]


def _list_types(keywords: JsonObject, schemas: Schemas) -> list[str]:
    """Return the types to try in the declared order, null last."""
    declared = keywords.get("type")
    if declared is None:
        declared = sorted(schemas.likely_types(keywords))
    if isinstance(declared, str):
        return [declared]
    return sorted(declared, key=lambda name: name == "null")


def _find_dependent_properties(keywords: JsonObject, made: JsonObject) -> list[str]:
    """Return the missing properties that existing ones require (`dependentRequired`)."""
    found: list[str] = []
    required: Mapping[str, Sequence[str]] = keywords.get("dependentRequired", {})
    waiting = list(made) if required else []
    while waiting:
        for name in required.get(waiting.pop(), ()):
            if name not in made and name not in found:
                found.append(name)
                waiting.append(name)
    return found


def fit_members(
    members: Mapping[str, JsonValue], schema: JsonSchema, example: JsonValue, schemas: Schemas
) -> JsonObject:
    """Return a valid object with as many of these members as the schema allows.

    If the schema declares properties, undeclared members are skipped; so are invalid ones. Missing
    required members come from `example`, or else from a sample.
    """
    names = schemas.property_names(schema)
    known = {name: value for name, value in members.items() if name in names or not names}
    whole = sample_required_members(schema, example, schemas)
    if schemas.fits(schema, whole | known):
        return whole | known
    for name, value in known.items():
        if schemas.fits(schema, {**whole, name: value}):
            whole[name] = value
    return whole


def sample_required_members(schema: JsonSchema, example: JsonValue, schemas: Schemas) -> JsonObject:
    """Return the required members of an object, if valid those of the example; {} if unknown."""
    try:
        least = sample(schema, schemas=schemas, which="smallest")
    except CannotSampleError:
        least = {}
    if not isinstance(least, dict):
        return {}
    known = example if isinstance(example, dict) else {}
    likelier = {name: known.get(name, value) for name, value in least.items()}
    return likelier if schemas.fits(schema, likelier) else least
