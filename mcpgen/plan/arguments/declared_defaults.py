"""Defaults of required parameters and body members, applied by the server.

In OpenAPI, the `default` of a required parameter has no meaning. Documents use it for a value that
is the same in nearly every call (`api-version`), so the argument becomes optional and the server
sends the default. An optional parameter is not affected: without it, the API applies its own.
"""

from __future__ import annotations

from collections.abc import Mapping

from msgspec import UNSET, UnsetType
from msgspec.structs import replace

from mcpgen.diagnostics import Place, Problems
from mcpgen.ir.api import MediaType, Operation, Parameter
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.types import JsonSchema, JsonValue
from mcpgen.plan.arguments.overrides import OverriddenOperation
from mcpgen.plan.arguments.travelling import travels

_UPDATES = frozenset({"PATCH", "PUT"})  # there, a default would overwrite the stored value
_OF_PLAIN_OBJECTS = frozenset(
    {
        "type", "properties", "required", "additionalProperties", "title", "description",
        "examples", "deprecated", "default", "minProperties", "maxProperties", "xml",
    }
)  # fmt: skip


class DeclaredDefaults:
    """Makes required arguments optional if the document declares a valid default."""

    def __init__(self, shapes: Shapes, problems: Problems) -> None:
        self._shapes = shapes
        self._problems = problems
        self._samples = Samples(shapes.schemas, "request")
        # Parameters are shared by operations; the first member keeps the schema's identity alive.
        self._known: dict[tuple[int, str, str], tuple[JsonSchema, JsonValue | UnsetType]] = {}

    def apply(self, adjusted: OverriddenOperation) -> OverriddenOperation:
        """Apply the declared defaults of the required arguments."""
        offered = adjusted.offered
        defaults = {
            parameter.wire_place: value
            for parameter in offered.parameters
            if parameter.required
            and (value := self._find_parameter_default(parameter)) is not UNSET
        }
        members = self._find_common_defaults(offered)
        if defaults:
            parameters = (
                replace(it, required=False) if it.wire_place in defaults else it
                for it in offered.parameters
            )
            offered = replace(offered, parameters=tuple(parameters))
        elif not members:
            return adjusted
        return replace(
            adjusted,
            offered=offered,
            defaults={**adjusted.defaults, **defaults},
            members=members,
        )

    def _find_parameter_default(self, parameter: Parameter) -> JsonValue | UnsetType:
        if parameter.location == "querystring":
            return UNSET
        subject = f"{parameter.location} parameter `{parameter.name}`"
        value = self._find_valid(parameter.schema, subject, parameter.at)
        if value is UNSET or value is None or value == "":
            return UNSET
        return value if travels(parameter, value) else UNSET

    def _find_common_defaults(self, operation: Operation) -> Mapping[str, JsonValue]:
        """Return the defaults of required body members that all media types share, by wire name."""
        if not operation.body_content or operation.method in _UPDATES:
            return {}
        first, *others = map(self._find_member_defaults, operation.body_content)
        return {
            name: value
            for name, value in first.items()
            if all(repr(other.get(name, UNSET)) == repr(value) for other in others)
        }

    def _find_member_defaults(self, item: MediaType) -> dict[str, JsonValue]:
        if item.schema is None:
            return {}
        shape = self._shapes.of(item.schema)
        keywords = shape.keywords
        is_plain = shape.is_exact and keywords.keys() <= _OF_PLAIN_OBJECTS
        if shape.types != ("object",) or not is_plain:
            return {}
        properties = keywords.get("properties", {})
        found = {
            name: self._find_valid(properties[name], f"body member `{name}`", item.at)
            for name in keywords.get("required", ())
            if name in properties
        }
        return {name: value for name, value in found.items() if value is not UNSET}

    def _find_valid(self, schema: JsonSchema, subject: str, at: Place) -> JsonValue | UnsetType:
        """Return the default of a schema; report an invalid one and return UNSET."""
        value = self._shapes.of(schema).keywords.get("default", UNSET)
        if value is UNSET:
            return UNSET
        key = (id(schema), subject, at.pointer)
        if key not in self._known:
            self._known[key] = (schema, self._check_default(schema, value, subject, at))
        return self._known[key][1]

    def _check_default(
        self, schema: JsonSchema, value: JsonValue, subject: str, at: Place
    ) -> JsonValue | UnsetType:
        try:
            problem = self._samples.problem(schema, value)
        except ValueError:  # the schema cannot be compiled, as is reported elsewhere
            return UNSET
        if not problem:
            return value
        self._problems.warning(
            "default-invalid",
            f"the default of the required {subject} does not match its schema",
            at=at,
            why=f"the argument stays required: {problem}",
            help="correct the `default` in the document, or with an overlay",
        )
        return UNSET
