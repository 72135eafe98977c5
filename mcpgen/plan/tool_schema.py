"""The input and output schemas of a tool: as clients see them, and as arguments are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from mcpgen.ir.api import Operation
from mcpgen.ir.json_types import JsonObject, JsonSchema
from mcpgen.ir.tool_plan import Argument
from mcpgen.plan.arguments import Listed
from mcpgen.plan.bundle import Bundler, Limits, recursive_names
from mcpgen.plan.exact import ExactSchemas
from mcpgen.plan.input_profile import InputProfile
from mcpgen.plan.media_types import is_json
from mcpgen.plan.output_profile import OutputProfile
from mcpgen.plan.shapes import Shape, Shapes

INPUT_LIMITS = Limits(inline_bytes=12_000, total_bytes=40_000, depth=5)
OUTPUT_LIMITS = Limits(inline_bytes=6_000, total_bytes=6_000, depth=5)


class InputSchemas(Struct, frozen=True):
    """`listed` is what clients see; `full` is what is checked, where that says more."""

    listed: JsonObject
    full: JsonObject | None
    is_cut: bool


class OutputSchema(Struct, frozen=True):
    """What `structuredContent` looks like; under `result_key` where a response is no object."""

    schema: JsonObject
    result_key: str


class ToolSchemas:
    """Makes the schemas of all tools of one API.

    `offered` has what properties of arguments are called instead of their wire names.
    """

    def __init__(self, schemas: Mapping[str, JsonSchema], offered: Mapping[str, str]) -> None:
        self.requests = Shapes(schemas, "request")
        self.responses = Shapes(schemas, "response")
        self._exact = ExactSchemas(self.requests, offered)
        recursive = recursive_names(schemas)
        self._inputs, self._patches = (
            Bundler(
                self.requests,
                InputProfile(keeps_null=keeps_null, offered=offered),
                INPUT_LIMITS,
                recursive,
            )
            for keeps_null in (False, True)
        )
        self._outputs = Bundler(self.responses, OutputProfile(), OUTPUT_LIMITS, recursive)

    def input(self, listed: Sequence[Listed], operation: Operation) -> InputSchemas:
        """The schema of an object with the arguments, and no others."""
        bundler = self._patches if keeps_null(operation) else self._inputs
        arguments = [item.argument for item in listed]
        bundle = bundler.bundle(item.schema for item in listed)
        shown = _object(arguments, bundle.schemas, bundle.definitions)
        if bundle.is_exact and not any(item.says_less for item in listed):
            return InputSchemas(shown, None, bundle.is_cut)
        exact, definitions = self._exact.bundle([argument.schema for argument in arguments])
        return InputSchemas(shown, _object(arguments, exact, definitions), bundle.is_cut)

    def output(self, schema: JsonSchema) -> OutputSchema:
        """The schema of a result whose JSON is described by `schema`."""
        shape = self.responses.of(schema)
        shown = self._as_object(shape)
        if shown is None:
            bundle = self._outputs.bundle([schema])
            return _output({"type": "object", "properties": {"result": bundle.schemas[0]}},
                           bundle.definitions, "result")  # fmt: skip
        names = sorted(shown)
        extra = shape.keywords.get("additionalProperties")
        others = [extra] if isinstance(extra, dict) and not names else []
        bundle = self._outputs.bundle([*(shown[name] for name in names), *others])
        listed: JsonObject = {"type": "object"}
        if names:
            listed["properties"] = dict(zip(names, bundle.schemas, strict=True))
        elif others:
            listed["additionalProperties"] = bundle.schemas[0]
        return _output(listed, bundle.definitions, "")

    def _as_object(self, shape: Shape) -> dict[str, JsonSchema] | None:
        """The properties of a response that is always an object; None for any other.

        Variants are shown as one object with the properties of all, or with those that it has
        in any case where one variant tells of none.
        """
        if set(shape.types) - {"null"} not in (set(), {"object"}):
            return None
        own: dict[str, JsonSchema] = shape.keywords.get("properties", {})
        properties = dict(own)
        is_open = False
        members = shape.keywords.get("anyOf") or shape.keywords.get("oneOf") or ()
        variants = [self.responses.of(member) for member in members]
        variants = [variant for variant in variants if variant.types != ("null",)]
        for variant in variants:
            found = self._as_object(variant)
            if found is None:
                return properties if "object" in shape.types else None
            is_open |= not found and variant.keywords.get("additionalProperties") is not False
            for name, schema in found.items():
                known = properties.setdefault(name, schema)
                if known != schema:
                    properties[name] = {"anyOf": [known, schema]}
        if "object" not in shape.types and not variants:
            return None
        return dict(own) if is_open else properties


def keeps_null(operation: Operation) -> bool:
    """Whether null in a body means something else than absence."""
    body = operation.request_body
    return operation.method == "PATCH" or (
        body is not None and any("merge-patch" in item.media_type for item in body.content)
    )


def response_schemas(operation: Operation) -> tuple[list[JsonSchema], bool]:
    """The distinct JSON schemas of successful responses; whether one may come without JSON."""
    successful = [item for item in operation.responses if item.status.startswith("2")]
    if not successful:
        successful = [item for item in operation.responses if item.status == "default"]
    found: list[JsonSchema] = []
    is_sure = bool(successful)
    for response in successful:
        described = [item for item in response.content if is_json(item.media_type)]
        if not described or len(described) < len(response.content):
            is_sure = False
        for item in described[:1]:
            schema = True if item.schema is None else item.schema
            if schema not in found:
                found.append(schema)
    return found, is_sure


def _object(
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


def _output(schema: JsonObject, definitions: JsonObject, result_key: str) -> OutputSchema:
    if definitions:
        schema["$defs"] = definitions
    return OutputSchema(schema, result_key)
