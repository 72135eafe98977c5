"""Argument overrides of the manifest: fixed values, hidden arguments, defaults, settings, names."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

from msgspec import UNSET, Struct, field
from msgspec.structs import replace

from mcpgen.diagnostics import Location, OperationRefusedError, Place, did_you_mean
from mcpgen.ir.api import MediaType, Operation, Parameter
from mcpgen.ir.manifest_entries import OperationEntry, ParameterEntry
from mcpgen.ir.tool_plan import Fixed, SettingUse
from mcpgen.jsonschema.direction import Shape, Shapes
from mcpgen.jsonschema.samples import Samples
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.naming.names import assign_argument_names
from mcpgen.text.prose import first_sentence
from mcpgen.text.secret_names import is_secret_name

_RESERVED = frozenset({"body", "content_type", "max_pages", "querystring"})  # of mcpgen's own
_MAX_DESCRIPTION = 160  # of a setting
WirePlace = tuple[str, str]
"""A location and a wire name; a property of the body has the location "body"."""


class OverriddenOperation(Struct, frozen=True):
    """An operation after argument overrides.

    `sent` describes the request to the API, in which fixed values are required constants.
    `offered` describes the arguments of the caller; `names` are their unusual names.
    """

    sent: Operation
    offered: Operation
    fixed: tuple[Fixed, ...] = ()
    names: Mapping[WirePlace, str] = field(default_factory=dict)
    defaults: Mapping[WirePlace, JsonValue] = field(default_factory=dict)
    members: Mapping[str, JsonValue] = field(default_factory=dict)
    """Defaults of required members of the body, by wire name."""
    hidden: tuple[WirePlace, ...] = ()  # that no request carries


def apply_overrides(
    operation: Operation,
    entry: OperationEntry,
    shapes: Shapes,
    at: Callable[[str], Location],
) -> OverriddenOperation:
    """Apply the manifest's argument overrides to an operation; `at` locates them by argument.

    Raises:
        OperationRefusedError: an override is invalid for the operation.
    """
    adjusted = OverriddenOperation(operation, operation)
    if not entry.parameters:
        return adjusted
    places = find_argument_places(operation, shapes)
    for name, parameter_entry in entry.parameters.items():
        place = places.get(name)
        if place is None:
            known = ", ".join(f"`{known}`" for known in places)
            raise OperationRefusedError(
                "parameter-unknown",
                f"`{operation.key}` has no argument `{name}`",
                at(name),
                did_you_mean(name, places, f"its arguments are {known}"),
            )
        adjusted = _ArgumentOverride(
            adjusted, name, place, parameter_entry, shapes, at(name)
        ).apply()
    return _require_body(_apply_names(adjusted, entry, places, at), shapes)


def find_argument_places(operation: Operation, shapes: Shapes) -> dict[str, WirePlace]:
    """Return the places of all arguments and body properties, by their name in the manifest."""
    found = {name: place for place, name in name_arguments(operation).items()}
    for item in operation.body_content:
        for name in _list_properties(item.schema, shapes):
            found[f"body.{name}"] = ("body", name)
    return found


def name_arguments(operation: Operation) -> dict[WirePlace, str]:
    """Return the usual name of the argument of each parameter, by place."""
    return assign_argument_names(
        [it.wire_place for it in operation.parameters],
        operation.published_arguments,
        [*operation.published_members.values()],
    )


def _list_properties(schema: JsonSchema | None, shapes: Shapes) -> JsonObject:
    keywords = {} if schema is None else shapes.of(schema).keywords
    properties: JsonObject = keywords.get("properties", {})
    return properties


def _require_body(adjusted: OverriddenOperation, shapes: Shapes) -> OverriddenOperation:
    """Require a body with fixed members; make it optional for callers if it needs nothing else."""
    if not any(fixed.location == "body" for fixed in adjusted.fixed):
        return adjusted
    is_required = any(
        shapes.of(item.schema).keywords.get("required")
        for item in adjusted.offered.body_content
        if item.schema is not None
    )
    return replace(
        adjusted,
        sent=_change_body(adjusted.sent, required=True),
        offered=_change_body(adjusted.offered, required=is_required),
        defaults=adjusted.defaults if is_required else {**adjusted.defaults, ("body", ""): {}},
    )


def _change_body(operation: Operation, **changes: Any) -> Operation:
    body = operation.request_body
    return operation if body is None else replace(operation, request_body=replace(body, **changes))


def _apply_names(
    adjusted: OverriddenOperation,
    entry: OperationEntry,
    places: Mapping[str, WirePlace],
    at: Callable[[str], Location],
) -> OverriddenOperation:
    """Apply the argument names of the manifest, and check that they are unique."""
    names = {
        places[name]: parameter_entry.name
        for name, parameter_entry in entry.parameters.items()
        if parameter_entry.name
    }
    others = {name for name, place in places.items() if place not in names} | _RESERVED
    for name, parameter_entry in entry.parameters.items():
        taken = (
            parameter_entry.name in others or list(names.values()).count(parameter_entry.name) > 1
        )
        if parameter_entry.name and taken:
            raise OperationRefusedError(
                "parameter-name",
                f"the argument `{name}` of `{adjusted.sent.key}` cannot be called"
                f" `{parameter_entry.name}`",
                at(name),
                "give it a name of its own",
            )
    return replace(adjusted, names=names)


class _ArgumentOverride(Struct, frozen=True):
    """The override of one argument of one operation."""

    before: OverriddenOperation
    name: str
    place: WirePlace
    entry: ParameterEntry
    shapes: Shapes
    at: Location

    @property
    def parameter(self) -> Parameter | None:
        """The parameter; None for a property of the body."""
        return next((it for it in self.before.sent.parameters if it.wire_place == self.place), None)

    def apply(self) -> OverriddenOperation:
        """Return the operation with this override."""
        entry = self.entry
        is_fixed, has_default = entry.fixed is not UNSET, entry.default is not UNSET
        if entry.secret is not None and not entry.from_environment:
            raise self._make_refusal(
                "is `secret` without `from_environment`",
                "name the environment variable, or remove `secret`",
            )
        if entry.from_environment:
            return self._read_from_environment()
        if is_fixed + has_default + entry.hidden > 1:
            raise self._make_refusal(
                "has more than one of `fixed`, `hidden` and `default`", "keep one of them"
            )
        if (is_fixed or entry.hidden) and (entry.name or entry.description):
            raise self._make_refusal(
                "is not an argument, so `name` and `description` have no effect", "remove them"
            )
        for value in (entry.fixed, entry.default):
            self._check(value)
        if is_fixed:
            return self._fix()
        if entry.hidden:
            return self._hide()
        stated: JsonObject = {"description": entry.description} if entry.description else {}
        if not has_default:
            after = self._change(self.before.offered, lambda schema: _with(schema, stated))
            return replace(self.before, offered=after)
        if self.place[0] == "body":
            raise self._make_refusal("cannot have a `default`", "use `fixed` for a body property")
        stated["default"] = entry.default
        after = self._change(self.before.offered, lambda schema: _with(schema, stated))
        after = change_parameter(after, self.place, lambda it: replace(it, required=False))
        defaults = {**self.before.defaults, self.place: entry.default}
        return replace(self.before, offered=after, defaults=defaults)

    def _check(self, value: JsonValue) -> None:
        """Reject a value that is invalid for the argument."""
        if value is UNSET:
            return
        samples = Samples(self.shapes.schemas, "request")
        if problem := samples.problem(self._find_schema(), value):
            raise self._make_refusal("cannot have this value", problem)

    def _find_schema(self) -> JsonSchema:
        """Return the document's schema of the argument."""
        if self.parameter is not None:
            return self.parameter.schema
        found = [
            _list_properties(item.schema, self.shapes) for item in self.before.sent.body_content
        ]
        name = self.place[1]
        return next((properties[name] for properties in found if name in properties), True)

    def _fix(self) -> OverriddenOperation:
        value = self.entry.fixed
        sent = self._change(self.before.sent, lambda _: {"const": value})
        return replace(
            self.before,
            sent=_require(sent, self.place, self.shapes),
            offered=self._without(self.before.offered),
            fixed=(*self.before.fixed, Fixed(*self.place, value)),
        )

    def _read_from_environment(self) -> OverriddenOperation:
        """Hide the argument; the handler reads its value from a setting of the server."""
        entry, (location, wire_name) = self.entry, self.place
        if entry.fixed is not UNSET or entry.hidden or entry.name:
            raise self._make_refusal(
                "has `from_environment` and `fixed`, `hidden` or `name`", "keep `from_environment`"
            )
        if location == "querystring":
            raise self._make_refusal(
                "is the whole query string", "set `fixed`, or leave it to the call"
            )
        self._check(entry.default)
        schema = self._find_schema()
        keywords = self.shapes.of(schema).keywords
        is_secret = keywords.get("format") == "password" or is_secret_name(wire_name)
        described = self.parameter.description if self.parameter is not None else ""
        described = described or keywords.get("description") or ""
        setting = SettingUse(
            entry.from_environment,
            schema,
            entry.description or first_sentence(described, _MAX_DESCRIPTION),
            required=self._is_required() and entry.default is UNSET,
            secret=is_secret if entry.secret is None else entry.secret,
            at=self.at,
            default=entry.default,
        )
        return replace(
            self.before,
            offered=self._without(self.before.offered),
            fixed=(*self.before.fixed, Fixed(location, wire_name, UNSET, setting)),
        )

    def _hide(self) -> OverriddenOperation:
        if self._is_required():
            raise self._make_refusal("is required", "give it a `fixed` value")
        return replace(
            self.before,
            sent=self._without(self.before.sent),
            offered=self._without(self.before.offered),
            hidden=(*self.before.hidden, self.place),
        )

    def _is_required(self) -> bool:
        if self.parameter is not None:
            return self.parameter.required
        return any(
            self.place[1] in self.shapes.of(item.schema).keywords.get("required", ())
            for item in self.before.sent.body_content
            if item.schema is not None
        )

    def _make_refusal(self, message: str, help: str) -> OperationRefusedError:
        return OperationRefusedError(
            "parameter-entry",
            f"the argument `{self.name}` of `{self.before.sent.key}` {message}",
            self.at,
            help,
        )

    def _change(
        self, operation: Operation, change: Callable[[JsonSchema], JsonSchema]
    ) -> Operation:
        """Return the operation with a changed schema and description of this argument."""
        if self.place[0] == "body":
            return _with_bodies(operation, lambda item: self._with_property(item, change))
        about = self.entry.description
        return change_parameter(
            operation,
            self.place,
            lambda it: replace(it, schema=change(it.schema), description=about or it.description),
        )

    def _without(self, operation: Operation) -> Operation:
        if self.place[0] == "body":
            # A body that allows additional members would accept it if it were only removed.
            return self._change(operation, lambda _: False)
        return change_parameter(operation, self.place, lambda _: None)

    def _with_property(
        self, item: MediaType, change: Callable[[JsonSchema], JsonSchema]
    ) -> MediaType:
        if item.schema is None:
            return item
        _, wire_name = self.place
        keywords = self.shapes.of(item.schema).keywords
        properties = {
            name: change(schema) if name == wire_name else schema
            for name, schema in keywords.get("properties", {}).items()
        }
        required = [
            name for name in keywords.get("required", ()) if properties.get(name) is not False
        ]
        schema = {**keywords, "properties": properties, "required": required}
        if not required:
            del schema["required"]
        return replace(item, schema=schema, examples=())


def _with_bodies(operation: Operation, change: Callable[[MediaType], MediaType]) -> Operation:
    return _change_body(operation, content=tuple(map(change, operation.body_content)))


def _with(schema: JsonSchema, keywords: JsonObject) -> JsonSchema:
    if not keywords or schema is False:
        return schema
    return {**({} if schema is True else schema), **keywords}


def change_parameter(
    operation: Operation, place: WirePlace, change: Callable[[Parameter], Parameter | None]
) -> Operation:
    """Return the operation with a changed parameter at `place`, or without it."""
    found = (change(it) if it.wire_place == place else it for it in operation.parameters)
    return replace(operation, parameters=tuple(it for it in found if it is not None))


def find_header(operation: Operation, names: Collection[str]) -> Parameter | None:
    """Return the header parameter that has one of these names, in lower case."""
    found = (it for it in operation.parameters if it.location == "header")
    return next((it for it in found if it.name.lower() in names), None)


def make_header(name: str, at: Location, schema: JsonSchema, *, required: bool = True) -> Parameter:
    """Return a header parameter that the manifest adds."""
    place = Place("", lambda _: at)
    return Parameter(name, "header", required, schema, style="simple", explode=False, at=place)


def _require(operation: Operation, place: WirePlace, shapes: Shapes) -> Operation:
    """Return the operation with a required value at `place`, since a fixed value is always sent."""
    location, wire_name = place
    if location != "body":
        return change_parameter(operation, place, lambda it: replace(it, required=True))

    def with_member(item: MediaType) -> MediaType:
        if item.schema is None or wire_name not in _list_properties(item.schema, shapes):
            return item
        required = {*shapes.of(item.schema).keywords.get("required", ()), wire_name}
        return replace(item, schema=_with(item.schema, {"required": sorted(required)}))

    return _with_bodies(operation, with_member)


def make_members_optional(
    schema: JsonSchema, members: Collection[str], shape_of: Callable[[JsonSchema], Shape]
) -> JsonSchema:
    """Return the schema of an object with these members optional."""
    if not members:
        return schema
    keywords = dict(shape_of(schema).keywords)
    required = [name for name in keywords.pop("required", ()) if name not in members]
    return {**keywords, "required": required} if required else keywords
