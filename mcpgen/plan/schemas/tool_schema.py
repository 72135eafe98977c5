"""The input and output schemas of a tool: the listed ones, and those that validate arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from mcpgen.contract.limits import BYTES_PER_TOKEN
from mcpgen.ir.api import Operation
from mcpgen.ir.listing_form import ListingForm
from mcpgen.ir.portable_profile import MAX_DEPTH
from mcpgen.ir.tool_plan import Argument
from mcpgen.jsonschema.direction import Direction, Shape, Shapes
from mcpgen.jsonschema.references import PREFIX, find_recursive_names, find_reference
from mcpgen.jsonschema.result_members import ResultMembers
from mcpgen.jsonschema.types import ONE_SCHEMA, SEVERAL_SCHEMAS, JsonObject, JsonSchema
from mcpgen.plan.arguments.arguments import ListedArgument
from mcpgen.plan.arguments.media_types import is_json
from mcpgen.plan.schemas.bundle import Bundler, Limits
from mcpgen.plan.schemas.input_profile import InputProfile
from mcpgen.plan.schemas.output_profile import OutputProfile
from mcpgen.plan.schemas.schema_part import encode
from mcpgen.plan.schemas.shared_shapes import fit_descriptions

_UNCHECKED = frozenset(
    {"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "xml", "default"}
)


class ValidationSchemas:
    """Validation schemas of one direction; `offered` are safe names, by wire name."""

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
                out[keyword] = {
                    self._rename(key): self._convert(item, names) for key, item in value.items()
                }
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

    def _rename(self, name: str) -> str:
        return self._offered.get(name, name)


INPUT_LIMITS = Limits(inline_bytes=12_000, total_bytes=40_000, depth=MAX_DEPTH)


def make_output_limits(form: ListingForm) -> Limits:
    """Return the limits of output schemas in a listing of this form."""
    most = form.output_budget * BYTES_PER_TOKEN
    return Limits(most, most, MAX_DEPTH, form.shares_shapes)


class InputSchemas(Struct, frozen=True):
    """`listed` is for clients; `full` validates arguments if `listed` accepts more."""

    listed: JsonObject
    full: JsonObject | None
    is_cut: bool


MANY_MEMBERS: Final = 20
"""The members of a result from which a caller can select some."""


class OutputSchema(Struct, frozen=True):
    """The schema of `structuredContent`; `result_key` wraps a response that is not an object."""

    schema: JsonObject
    result_key: str
    is_cut: bool  # whether deeper parts of the response were omitted
    paths: tuple[str, ...]  # of the first `MANY_MEMBERS` members, then of the first nested one


_KnownObjects: TypeAlias = dict[int, tuple[Shape, dict[str, JsonSchema] | None]]
"""By identity of a shape, which is stored as well, so that no other takes its place."""


class ToolSchemas:
    """Builds the schemas of all tools of one API; `offered` are safe names, by wire name."""

    def __init__(
        self,
        schemas: Mapping[str, JsonSchema],
        offered: Mapping[str, str],
        form: ListingForm,
    ) -> None:
        self.requests = Shapes(schemas, "request")
        self.responses = Shapes(schemas, "response")
        self._exact = ValidationSchemas(self.requests.direction, offered)
        recursive = find_recursive_names(self.requests.edges)
        profiles = (InputProfile(keeps_null=it, offered=offered) for it in (False, True))
        self._inputs, self._patches = (
            Bundler(self.requests, profile, INPUT_LIMITS, recursive, repeats=True)
            for profile in profiles
        )
        self._form = form
        limits = make_output_limits(form)
        self._outputs = Bundler(self.responses, OutputProfile(), limits, recursive)
        self._known_outputs: dict[bytes, OutputSchema] = {}  # many operations answer alike

    def input(self, listed: Sequence[ListedArgument], operation: Operation) -> InputSchemas:
        """Return the schema of an object with exactly these arguments."""
        bundler = self._patches if keeps_null(operation) else self._inputs
        arguments = [item.argument for item in listed]
        bundle = bundler.bundle(item.schema for item in listed)
        shown = _build_object(arguments, bundle.schemas, bundle.definitions)
        if bundle.is_exact and not any(item.is_simplified for item in listed):
            return InputSchemas(shown, None, bundle.is_cut)
        exact, definitions = self._exact.bundle([argument.schema for argument in arguments])
        return InputSchemas(shown, _build_object(arguments, exact, definitions), bundle.is_cut)

    def output(self, schema: JsonSchema) -> OutputSchema:
        """Return the schema of a result for the schema of a response; equal ones share it."""
        key = encode(schema)
        if key not in self._known_outputs:
            self._known_outputs[key] = self._build_output(schema)
        return self._known_outputs[key]

    def _build_output(self, schema: JsonSchema) -> OutputSchema:
        shape = self.responses.of(schema)
        shown = self._as_object(shape, {})
        result_key = "result" if shown is None else ""
        members = {result_key: schema} if shown is None else dict(sorted(shown.items()))
        extra = shape.keywords.get("additionalProperties")
        others = [extra] if isinstance(extra, dict) and not members else []
        bundle = self._outputs.bundle([*members.values(), *others])
        listed: JsonObject = {"type": "object"}
        if members:
            listed["properties"] = dict(zip(members, bundle.schemas, strict=True))
        elif others:
            listed["additionalProperties"] = bundle.schemas[0]
        if bundle.definitions:
            listed["$defs"] = bundle.definitions
        if self._form.has_output_limits:
            listed = fit_descriptions(listed, self._form.output_budget)
        paths = ResultMembers(listed, result_key).list_first_paths(MANY_MEMBERS)
        return OutputSchema(listed, result_key, bundle.is_cut, paths)

    def _as_object(self, shape: Shape, known: _KnownObjects) -> dict[str, JsonSchema] | None:
        """Return the properties of a response that is always an object, or None.

        Variants are merged to one object with the properties of all of them, or only with the
        common ones if a variant declares none. `known` caches the results, since nested variants
        reach a shape along many paths.
        """
        found = known.get(id(shape))
        if found is None:
            found = known[id(shape)] = (shape, self._merge_variants(shape, known))
        return found[1]

    def _merge_variants(self, shape: Shape, known: _KnownObjects) -> dict[str, JsonSchema] | None:
        if set(shape.types) - {"null"} not in (set(), {"object"}):
            return None
        own: dict[str, JsonSchema] = shape.keywords.get("properties", {})
        properties = dict(own)
        is_open = False
        members = shape.keywords.get("anyOf") or shape.keywords.get("oneOf") or ()
        variants = [self.responses.of(member) for member in members]
        variants = [variant for variant in variants if variant.types != ("null",)]
        for variant in variants:
            found = self._as_object(variant, known)
            if found is None:
                return properties if "object" in shape.types else None
            is_open |= not found and variant.keywords.get("additionalProperties") is not False
            for name, schema in found.items():
                other = properties.setdefault(name, schema)
                if other != schema:
                    properties[name] = {"anyOf": [other, schema]}
        if "object" not in shape.types and not variants:
            return None
        return dict(own) if is_open else properties


def keeps_null(operation: Operation) -> bool:
    """Whether null in a body has a different meaning than absence."""
    return operation.method == "PATCH" or any(
        "merge-patch" in item.media_type for item in operation.body_content
    )


def list_response_schemas(operation: Operation) -> tuple[list[JsonSchema], bool]:
    """Return the distinct JSON schemas of successful responses; whether all of these are JSON."""
    successful = [item for item in operation.responses if item.status.startswith("2")]
    if not successful:
        successful = [item for item in operation.responses if item.status == "default"]
    found: list[JsonSchema] = []
    is_sure = bool(successful)
    for response in successful:
        described = [item for item in response.content if is_json(item.media_type)]
        if not described or len(described) < len(response.content):
            is_sure = False
        # The most specific media type applies: `*/*` only to what `application/json` does not.
        for item in sorted(described, key=lambda it: "*" in it.media_type)[:1]:
            schema = True if item.schema is None else item.schema
            if schema not in found:
                found.append(schema)
    return found, is_sure


def _build_object(
    arguments: Sequence[Argument], schemas: Sequence[JsonSchema], definitions: JsonObject
) -> JsonObject:
    names = [argument.name for argument in arguments]
    schema: JsonObject = {
        "type": "object",
        "properties": dict(zip(names, schemas, strict=True)),
        "additionalProperties": False,
    }
    required = [argument.name for argument in arguments if argument.required]
    if required:
        schema["required"] = required
    if definitions:
        schema["$defs"] = definitions
    return schema
