"""The calls that the generated tests make, and the request that each must send.

Arguments are sampled from the operation's own schemas, and what must be sent is spelled in its own
names; of the tool plan only the arguments' names and the order of media types are used. So a tool
that loses, renames or misplaces something cannot agree with its cases.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from msgspec import UNSET

from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Api, MediaType, Operation, Parameter
from mcpgen.ir.json_types import JsonObject, JsonSchema, JsonValue
from mcpgen.ir.tool_plan import ServerPlan, ToolPlan
from mcpgen.plan.arguments import body_schema
from mcpgen.plan.media_types import STRUCTURED, Kind, base_type, is_json, is_range, kind_of_body
from mcpgen.plan.property_names import as_offered
from mcpgen.plan.shapes import Shapes
from mcpgen.runtime.testing.samples import CannotSampleError, Samples, Which

_UNKNOWN_ARGUMENT = "no_such_argument"
_NOT_EMPTY: JsonObject = {"minItems": 1, "minLength": 1, "minProperties": 1}
_VARIANTS = 4
_LEADS_TO_RETRIES = frozenset({401, 403, 408, 425, 429})


def make_cases(plan: ServerPlan, problems: Problems) -> list[JsonObject]:
    """Give the entries of `tests/generated/cases.json`, by tool.

    Each tool gets its smallest and its largest call, one that the API refuses, and one that must
    send nothing. Where no arguments can be made up, the entry says why, and so does a note.
    """
    making = _Making(plan.api)
    cases: list[JsonObject] = []
    for tool in plan.tools:
        found = list(making.cases(tool))
        cases += found
        for case in found:
            if "untested" in case:
                problems.note(
                    "untested",
                    f"`{case['id']}` has no test: {case['untested']}",
                    at=tool.operation.at,
                    why="no valid value could be made up from the schema",
                    help="an `example` that is valid is used where there is one",
                )
    return cases


@dataclass(slots=True)
class _Call:
    """Arguments of a call, by their names, and the request that they make, by its own."""

    arguments: JsonObject = field(default_factory=dict)
    request: JsonObject = field(
        default_factory=lambda: {"path": {}, "query": {}, "header": {}, "cookie": {}}
    )

    def send(self, parameter: Parameter, value: JsonValue) -> None:
        """Expect a parameter on the wire."""
        if parameter.location == "querystring":
            self.request["querystring"] = value
        else:
            self.request[parameter.location][parameter.name] = value


class _Making:
    def __init__(self, api: Api) -> None:
        self._schemas = api.schemas
        self._sent = Samples(api.schemas, "request")
        self._answered = Samples(api.schemas, "response")
        self._schemes = {scheme.id: scheme for scheme in api.security_schemes}

    def cases(self, tool: ToolPlan) -> Iterator[JsonObject]:
        """The cases of one tool, those that cannot be made included."""
        reply = self._reply(tool)
        if "untested" in reply:
            yield {"id": f"{tool.name}: result", "tool": tool.name, **reply}
            reply = {"reply": {"status": _success_status(tool.operation), "text": ""}}
        try:
            smallest = self._call(tool, "smallest")
        except CannotSampleError as error:
            yield _untested(tool, "smallest arguments", error)
            return
        yield {**_case(tool, "smallest arguments", smallest), **reply}
        try:
            largest = self._call(tool, "largest")
        except CannotSampleError as error:
            yield _untested(tool, "largest arguments", error)
        else:
            if largest.arguments != smallest.arguments:
                yield {**_case(tool, "largest arguments", largest), **reply}
        yield _refused_by_api(tool, smallest)
        yield _refused_by_server(tool, smallest)

    def _reply(self, tool: ToolPlan) -> JsonObject:
        """Nothing where the mock can make up the usual answer; else why it cannot."""
        for response in tool.operation.responses:
            for media_type in response.content:
                if not response.status.startswith("2") or not is_json(media_type.media_type):
                    continue
                if reason := self._why_unanswerable(media_type):
                    return {"untested": f"no answer of the API could be made up: {reason}"}
        return {}

    def _why_unanswerable(self, media_type: MediaType) -> str:
        """Say why the mock has no answer, which is an example or made up."""
        try:
            self._answered.exemplary(_schema_of(media_type), media_type.examples)
        except CannotSampleError as error:
            return str(error)
        return ""

    def _call(self, tool: ToolPlan, which: Which) -> _Call:
        """A call with all that is required or, for "largest", all that there is.

        Raises:
            CannotSampleError: a value that is needed cannot be made.
        """
        operation = tool.operation
        names = {(item.location, item.wire_name): item.name for item in tool.arguments}
        security = _first_requirement(operation)
        carried = {self._credential_place(scheme) for scheme in security}
        call = _Call()
        defaults = {(item.location, item.wire_name): item.default for item in tool.arguments}
        for parameter in operation.parameters:
            place = (parameter.location, parameter.name)
            is_credential = (parameter.location, _folded(parameter)) in carried
            if which == "smallest" and defaults.get(place, UNSET) is not UNSET:
                call.send(parameter, defaults[place])
                continue
            if which == "largest" and is_credential and not parameter.required:
                continue
            if parameter.required or which == "largest":
                value = self._value(parameter, which, list(call.arguments.values()))
                if _is_mistaken_for_others(parameter, value, operation, self._schemas):
                    if parameter.required:
                        raise CannotSampleError(
                            f"members of `{parameter.name}` travel under the names of other"
                            f" {parameter.location} parameters"
                        )
                    continue
                if place in names:  # what is fixed is no argument
                    call.arguments[names[place]] = value
                if not is_credential:
                    call.send(parameter, value)
        if operation.request_body and (operation.request_body.required or which == "largest"):
            self._add_body(call, tool, which, names)
        call.request["security"] = list(security)
        if tool.wire_names:
            self._offer(call, tool)
        return call

    def _offer(self, call: _Call, tool: ToolPlan) -> None:
        """Call members inside arguments what the tool calls them."""
        shapes = Shapes(self._schemas, "request")
        offered = {wire: name for name, wire in tool.wire_names.items()}
        for argument in tool.arguments:
            if argument.name in call.arguments:
                value = call.arguments[argument.name]
                call.arguments[argument.name] = as_offered(
                    value, [argument.schema], shapes, offered
                )

    def _credential_place(self, scheme_id: str) -> tuple[str, str]:
        scheme = self._schemes.get(scheme_id)
        if scheme is None or scheme.type != "apiKey":
            return ("header", "authorization")
        is_header = scheme.location == "header"
        return (scheme.location, scheme.name.lower() if is_header else scheme.name)

    def _value(self, parameter: Parameter, which: Which, taken: list[JsonValue]) -> JsonValue:
        """A value that can travel, unlike those of other arguments where there is room for that.

        A value that is empty would not be sent at all, or not as itself.
        """
        schema: JsonSchema = {"allOf": [parameter.schema, _NOT_EMPTY]}
        fallback: list[JsonValue] = []
        wishes: tuple[Which, ...] = (which, "example")
        for wish in wishes:
            for variant in range(_VARIANTS):
                value = self._sample(parameter, schema, wish, variant)
                if _travels(parameter, value):
                    fallback.append(value)
                    if not any(_is_same(value, other) for other in taken):
                        return value
        if fallback:
            return fallback[0]
        raise CannotSampleError(
            f"no value of the {parameter.location} parameter `{parameter.name}` can travel there"
        )

    def _sample(
        self, parameter: Parameter, schema: JsonSchema, wish: Which, variant: int
    ) -> JsonValue:
        try:
            return self._sent.sample(schema, wish, seed=parameter.name, variant=variant)
        except CannotSampleError as error:
            shown = f"{parameter.location} parameter `{parameter.name}`"
            raise CannotSampleError(f"{shown}, {error}") from None

    def _add_body(
        self, call: _Call, tool: ToolPlan, which: Which, names: dict[tuple[str, str], str]
    ) -> None:
        """Add the body: of the default media type, or of the last one for the largest call."""
        chosen = tool.body[-1 if which == "largest" else 0]
        media_type = _one_of_range(chosen.media_type)
        if chosen is not tool.body[0] or media_type != chosen.media_type:
            call.arguments[names["content_type", ""]] = media_type
        value = self._body(chosen, which)
        fixed = {item.wire_name for item in tool.fixed if item.location == "body"}
        given = value
        if fixed and isinstance(value, dict):
            given = {name: member for name, member in value.items() if name not in fixed}
        if given or not fixed:
            call.arguments[names["body", ""]] = given
        call.request["body"] = value
        call.request["content_type"] = media_type

    def _body(self, media_type: MediaType, which: Which) -> JsonValue:
        schema = body_schema(media_type)
        if kind_of_body(media_type) <= Kind.OTHER_JSON:
            return self._sent.sample(schema, which, seed="body")
        if kind_of_body(media_type) is Kind.TEXT:
            return self._text_body(media_type)
        if kind_of_body(media_type) not in STRUCTURED:
            return "dGV4dA=="
        if kind_of_body(media_type) is Kind.XML:
            return self._xml_body(schema, which)
        wishes: tuple[Which, ...] = (which, "example", "largest")
        for wish in wishes:  # a form does not carry what is empty
            value = self._sent.sample(schema, wish, seed="body")
            if kind_of_body(media_type) in (Kind.FORM, Kind.MULTIPART):
                value = _without_nulls(value)
            is_list = kind_of_body(media_type) is Kind.MULTIPART and isinstance(value, list)
            if is_list and value and not _has_empty(value) and not _has_null(value):
                return value
            if kind_of_body(media_type) is Kind.LINES or _fits_a_form(value):
                return value
        raise CannotSampleError(
            "no body found that a form can carry: an object without empty lists and objects"
        )

    def _xml_body(self, schema: JsonSchema, which: Which) -> JsonValue:
        """A value that XML carries whole: it has no empty lists, and no null in an attribute."""
        wishes: tuple[Which, ...] = (which, "example", "largest", "smallest")
        for wish in wishes:
            value = self._sent.sample(schema, wish, seed="body")
            if value and not _has_empty(value) and not _has_null(value):
                return value
        raise CannotSampleError("no body found that XML can carry: one without what is empty")

    def _text_body(self, media_type: MediaType) -> str:
        """A text that fits the schema, where that speaks of a text."""
        if base_type(media_type.media_type).endswith("xml"):
            return "<text/>"
        try:
            value = self._sent.sample(_schema_of(media_type), seed="body")
        except CannotSampleError:
            value = None
        return value if isinstance(value, str) else "text"


def _one_of_range(media_type: str) -> str:
    """A media type within a range; any other as it is."""
    kind = base_type(media_type)
    if not is_range(kind):
        return media_type
    common = {"*/*": "application/octet-stream", "text/*": "text/plain", "image/*": "image/png"}
    return common.get(kind, kind.replace("*", "octet-stream"))


def _case(tool: ToolPlan, what: str, call: _Call) -> JsonObject:
    return {
        "id": f"{tool.name}: {what}",
        "tool": tool.name,
        "arguments": call.arguments,
        "expect": {
            "operation": tool.operation.key,
            "is_error": False,
            "request": call.request,
        },
    }


def _refused_by_api(tool: ToolPlan, call: _Call) -> JsonObject:
    """The API answers with an error, which the model must be told of."""
    status = _error_status(tool.operation)
    case = _case(tool, f"the API answers {status}", call)
    case["expect"] |= {"is_error": True, "text": {"contains": [str(status)]}}
    return {**case, "reply": {"status": status}}


def _refused_by_server(tool: ToolPlan, call: _Call) -> JsonObject:
    """An argument that the tool does not have, which must stop the call before it is sent."""
    case = _case(tool, "an unknown argument", call)
    case["arguments"] = {**call.arguments, _UNKNOWN_ARGUMENT: 1}
    case["expect"] |= {
        "is_error": True,
        "request": None,
        "text": {"contains": [_UNKNOWN_ARGUMENT]},
    }
    return case


def _untested(tool: ToolPlan, what: str, error: CannotSampleError) -> JsonObject:
    return {"id": f"{tool.name}: {what}", "tool": tool.name, "untested": str(error)}


def _error_status(operation: Operation) -> int:
    """A documented error that no client tries to get around, else 404."""
    documented = [int(item.status) for item in operation.responses if item.status.isdigit()]
    found = [status for status in documented if 400 <= status < 500]
    return min((status for status in found if status not in _LEADS_TO_RETRIES), default=404)


def _success_status(operation: Operation) -> int:
    documented = [item.status for item in operation.responses if item.status.startswith("2")]
    return min((int(status) for status in documented if status.isdigit()), default=200)


def _first_requirement(operation: Operation) -> tuple[str, ...]:
    """The credentials that are sent where all are configured: the first alternative with any."""
    for requirement in operation.security:
        if requirement:
            return tuple(use.scheme for use in requirement)
    return ()


def _schema_of(media_type: MediaType) -> JsonSchema:
    return True if media_type.schema is None else media_type.schema


def _without_nulls(value: JsonValue) -> JsonValue:
    """An object without the members that are null, which no form can tell from a text."""
    if not isinstance(value, dict):
        return value
    return {name: member for name, member in value.items() if member is not None}


def _fits_a_form(value: JsonValue) -> bool:
    return value == {} or (isinstance(value, dict) and not _has_empty(value))


# What can travel where


def _travels(parameter: Parameter, value: JsonValue) -> bool:
    """Whether a value can be told apart from others where it travels."""
    if parameter.content_type:
        return True
    if _has_empty(value):
        return False
    texts = list(_texts(value))
    if parameter.location == "path":
        return all(text.isprintable() and text not in {"", ".", ".."} for text in texts)
    is_composite = isinstance(value, list | dict)
    separators = {"spaceDelimited": " ", "pipeDelimited": "|"}.get(parameter.style, "")
    if parameter.location == "header" or parameter.style == "cookie":
        if not all(text.isascii() and text.isprintable() for text in texts):
            return False
        separators = ",=" if is_composite else ""
        if any(text != text.strip() for text in texts):
            return False
    if parameter.style == "cookie":
        separators += ' ",;\\'
    return not any(set(separators) & set(text) for text in texts)


def _is_mistaken_for_others(
    parameter: Parameter, value: JsonValue, operation: Operation, schemas: Mapping[str, JsonSchema]
) -> bool:
    """Whether members of an exploded object travel as if they were other parameters' values."""
    if not (_is_spread(parameter) and isinstance(value, dict)):
        return False
    others: set[str] = set()
    for other in operation.parameters:
        if other is not parameter and other.location == parameter.location:
            others.add(other.name)
            if _is_spread(other):
                others |= _declared(other.schema, schemas)
    return not others.isdisjoint(value)


def _is_spread(parameter: Parameter) -> bool:
    return parameter.explode and parameter.style in ("form", "cookie")


def _declared(schema: JsonSchema, schemas: Mapping[str, JsonSchema], depth: int = 5) -> set[str]:
    """The names of the properties of an object's schema."""
    if not isinstance(schema, dict) or not depth:
        return set()
    parts = [schemas.get(schema.get("$ref", "").removeprefix("#/$defs/"), {})]
    parts += [part for key in ("allOf", "anyOf", "oneOf") for part in schema.get(key, ())]
    return set(schema.get("properties", ())).union(
        *(_declared(part, schemas, depth - 1) for part in parts)
    )


def _has_empty(value: JsonValue) -> bool:
    """Whether there is an empty list or object in a value, which styles cannot spell."""
    if isinstance(value, dict):
        return not value or any(_has_empty(item) for item in value.values())
    if isinstance(value, list):
        return not value or any(_has_empty(item) for item in value)
    return False


def _has_null(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return any(map(_has_null, value.values()))
    return any(map(_has_null, value)) if isinstance(value, list) else value is None


def _texts(value: JsonValue) -> Iterator[str]:
    if isinstance(value, dict):
        for name, item in value.items():
            yield name
            yield from _texts(item)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value


def _is_same(one: JsonValue, other: JsonValue) -> bool:
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)


def _folded(parameter: Parameter) -> str:
    return parameter.name.lower() if parameter.location == "header" else parameter.name
