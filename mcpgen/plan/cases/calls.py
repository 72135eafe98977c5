"""The smallest and the largest call of a tool, and the expected request of each.

Arguments are sampled from the operation's schemas, and requests use the operation's names. Of the
tool plan, only the names of arguments and the order of media types are used, so that a tool that
loses, renames or misplaces something fails its cases.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Collection, Iterable, Mapping

from msgspec import UNSET, Struct, field

from mcpgen.contract.placeholders import sample_setting, text_of_setting
from mcpgen.ir.api import MediaType, Operation, Parameter, SecurityScheme
from mcpgen.ir.tool_plan import Fixed, ServerPlan, ToolPlan
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.samples import CannotSampleError, Samples, Which, make_samples
from mcpgen.jsonschema.schemas import Schemas
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.plan.arguments.arguments import body_schema
from mcpgen.plan.arguments.input_refs import extract_arguments
from mcpgen.plan.arguments.media_types import STRUCTURED, Kind, classify_body, is_file, is_range
from mcpgen.plan.arguments.travelling import (
    drop_shared_elements,
    has_empty,
    has_null,
    is_mistaken_for_others,
    remove_empty,
    travels,
)
from mcpgen.plan.cases.shared_parameters import ParameterResults
from mcpgen.plan.naming.names import rename_to_safe
from mcpgen.plan.tools.pagination import is_page_position
from mcpgen.text.media_types import essence_of


class CaseVariable(Struct, frozen=True):
    """The members of an `EnvironmentVariable` that decide about test cases."""

    name: str
    scheme: str
    part: str
    schema: JsonSchema | None


class CaseContext(Struct, frozen=True):
    """All data that the cases of a tool depend on, besides the tool and the schemas it refers to.

    It is a part of the cache keys of cases, so it excludes data that changes often and affects no
    case.
    """

    variables: tuple[CaseVariable, ...]
    security_schemes: tuple[SecurityScheme, ...]
    limits: Mapping[str, float]

    @classmethod
    def of(cls, plan: ServerPlan) -> CaseContext:
        """Return the context of a plan."""
        variables = tuple(
            CaseVariable(it.name, it.scheme, it.part, it.schema) for it in plan.environment
        )
        return cls(variables, plan.api.security_schemes, plan.limits)


class SettingSamples:
    """A value for each setting that requests carry."""

    def __init__(self, context: CaseContext, samples: Samples) -> None:
        """Initialize with a context and the samples of its requests."""
        self._schemas: dict[str, JsonSchema] = {
            variable.name: True if variable.schema is None else variable.schema
            for variable in context.variables
        }
        self._samples = samples

    def value(self, fixed: Fixed) -> JsonValue:
        """Return the value that is sent for an argument.

        Raises:
            CannotSampleError: it is a setting, and no value was found for it.
        """
        if fixed.setting is None:
            return fixed.value
        name = fixed.setting.name
        return sample_setting(name, self._schemas[name], self._samples)

    def environment(self, tools: Iterable[ToolPlan]) -> JsonObject:
        """Return the environment variables that these tools read, with their texts.

        Raises:
            CannotSampleError: no value was found for one of them.
        """
        return {
            fixed.setting.name: text_of_setting(self.value(fixed))
            for tool in tools
            for fixed in tool.fixed
            if fixed.setting is not None
        }


PLACES = ("path", "query", "header", "cookie")
_NOT_EMPTY: JsonObject = {"minItems": 1, "minLength": 1, "minProperties": 1}
_VARIANTS = 4


class Call(Struct):
    """The arguments of a call, and the request that they cause, with the names of the API."""

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

    def leave_out(self, tool: ToolPlan, other: Call) -> list[str]:
        """Return the members of a flat body that `other` sends, and this call does not."""
        if tool.flat_body is None or "body" not in self.request:
            return []
        members = tool.flat_body.members.keys()
        return [it for it in other.arguments if it in members and it not in self.arguments]

    def beyond(self, other: Call) -> Call:
        """Return the arguments and the parts of the request that `other` does not have."""
        request: JsonObject = {}
        for place, value in self.request.items():
            sent = other.request.get(place, UNSET)
            if place in PLACES:
                request[place] = _subtract(value, sent)
            elif not _is_the_same(value, sent):
                request[place] = value
        return Call(_subtract(self.arguments, other.arguments), request)


def _subtract(values: JsonObject, others: JsonObject) -> JsonObject:
    return {
        name: value
        for name, value in values.items()
        if not _is_the_same(value, others.get(name, UNSET))
    }


def _is_the_same(one: JsonValue, other: JsonValue) -> bool:
    """Whether two JSON values are equal; in Python, true equals 1."""
    return one is other or (repr(one) == repr(other))


def _identify(value: JsonValue) -> object:
    """Return a key of a value in a set; in Python, true equals 1."""
    return repr(value) if isinstance(value, (list, dict)) else (isinstance(value, bool), value)


class Calls:
    """Generation of calls for the tools of one API."""

    def __init__(self, context: CaseContext, schemas: Mapping[str, JsonSchema]) -> None:
        """Initialize with the named schemas that the tools refer to."""
        self._schemas = Schemas(schemas)
        self.bounds = self._schemas.bounds
        self.shapes = Shapes(schemas, "request")
        self.sent, self.answered = make_samples(self._schemas)
        self._of_parameters: ParameterResults[JsonValue] = ParameterResults(self.bounds)
        self._schemes = {scheme.id: scheme for scheme in context.security_schemes}
        self.settings = SettingSamples(context, self.sent)

    def call(self, tool: ToolPlan, which: Which) -> Call:
        """Return a call with all required arguments or, for "largest", with all arguments.

        For "example", also the optional arguments for which the document has an example.

        Raises:
            CannotSampleError: a required value cannot be generated.
        """
        operation = tool.operation
        arguments = {(item.location, item.wire_name): item for item in tool.arguments}
        security = choose_requirement(operation)
        carried = {self._schemes[name].place for name in security}
        call = Call()
        taken: set[object] = set()
        settings = {(item.location, item.wire_name): item for item in tool.fixed if item.setting}
        for parameter in operation.parameters:
            place = (parameter.location, parameter.name)
            argument = arguments.get(place)  # a fixed parameter has none
            if parameter.is_generated and argument is None:
                continue  # the server supplies it
            if place in settings:
                call.send(parameter, self.settings.value(settings[place]))
                continue
            is_credential = parameter.place in carried
            if which == "smallest" and argument is not None and argument.default is not UNSET:
                call.send(parameter, argument.default)
                continue
            if which == "largest" and is_credential and not parameter.required:
                continue
            is_shown = which == "example" and _is_worth_showing(parameter, tool)
            if parameter.required or which == "largest" or is_shown:
                value = self._choose_value(parameter, which, taken)
                if is_mistaken_for_others(parameter, value, operation, self._schemas):
                    if parameter.required:
                        raise CannotSampleError(
                            f"members of `{parameter.name}` travel under the names of other"
                            f" {parameter.location} parameters"
                        )
                    continue
                if argument is not None:
                    offered = self.rename_members(tool, argument.name, value)
                    call.arguments[argument.name] = offered
                    taken.add(_identify(offered))
                if not is_credential:
                    call.send(parameter, value)
        if operation.request_body and (operation.request_body.required or which != "smallest"):
            chosen = tool.body[-1 if which == "largest" else 0]
            members = tool.members if which == "smallest" else {}
            value = self.body(chosen, which)
            if members and isinstance(value, dict):
                value = {**value, **members}
            self.add_body(tool, call, value, chosen, omitted=members)
        call.request["security"] = list(security)
        return call

    def rename_members(self, tool: ToolPlan, name: str, value: JsonValue) -> JsonValue:
        """Rename the members inside an argument to the names that the tool uses."""
        if not tool.wire_names:
            return value
        offered = {wire: name for name, wire in tool.wire_names.items()}
        schemas = [argument.schema for argument in tool.arguments if argument.name == name]
        return rename_to_safe(value, schemas, self.shapes, offered)

    def _choose_value(self, parameter: Parameter, which: Which, taken: set[object]) -> JsonValue:
        """Return a value that the parameter can carry, if possible unlike those of other arguments.

        Empty values are avoided, since they are not sent, or change on the way.
        """
        if which == "example":
            schema = _exclude_empty(parameter.schema)
            for value in parameter.examples:
                if self.sent.fits(schema, value) and travels(parameter, value):
                    return value
        fallback: list[JsonValue] = []
        selections: tuple[Which, ...] = (which, "example")
        for selection in selections:
            for variant in range(_VARIANTS):
                value = self._sample_parameter(parameter, selection, variant)
                if value is not UNSET:
                    fallback.append(value)
                    if _identify(value) not in taken:
                        return value
        if fallback:
            return fallback[0]
        raise CannotSampleError(
            f"no value of the {parameter.location} parameter `{parameter.name}` can travel there"
        )

    def _sample_parameter(self, parameter: Parameter, selection: Which, variant: int) -> JsonValue:
        """Return a value of a parameter, or UNSET if it cannot travel there.

        Operations share their parameters, so each is sampled once.
        """

        def sample() -> JsonValue:
            schema = _exclude_empty(parameter.schema)
            value = self._drop_empty(self._sample(parameter, schema, selection, variant), schema)
            return value if travels(parameter, value) else UNSET

        return self._of_parameters.get(parameter, (selection, variant), sample)

    def _drop_empty(self, value: JsonValue, schema: JsonSchema) -> JsonValue:
        """Return a value without empty members, if it is valid without them."""
        filled = remove_empty(value) if has_empty(value) else value
        return filled if filled is value or self.sent.fits(schema, filled) else value

    def _sample(
        self, parameter: Parameter, schema: JsonSchema, selection: Which, variant: int
    ) -> JsonValue:
        try:
            return self.sent.sample(schema, selection, seed=parameter.name, variant=variant)
        except CannotSampleError as error:
            shown = f"{parameter.location} parameter `{parameter.name}`"
            raise CannotSampleError(f"{shown}, {error}") from None

    def add_body(
        self,
        tool: ToolPlan,
        call: Call,
        value: JsonValue,
        chosen: MediaType,
        *,
        omitted: Collection[str] = (),
    ) -> None:
        """Add a body of one of the tool's media types to a call.

        The members in `omitted` are part of the request, not of the arguments.
        """
        names = {item.location: item.name for item in tool.arguments}
        fixed = {item.wire_name: item for item in tool.fixed if item.location == "body"}
        if isinstance(value, dict):
            settings = {name: item for name, item in fixed.items() if item.setting}
            value = {**value, **{name: self.settings.value(it) for name, it in settings.items()}}
        if tool.flat_body is not None and not (value or tool.flat_body.required):
            return  # no argument states that there is one
        media_type = _choose_from_range(chosen.media_type)
        if chosen is not tool.body[0] or media_type != chosen.media_type:
            call.arguments[names["content_type"]] = media_type
        call.request["body"] = value
        call.request["content_type"] = media_type
        if tool.operation.declared is not None:
            call.arguments |= extract_arguments(tool.operation.declared.body, value)
            return
        argument = value
        if (fixed or omitted) and isinstance(value, dict):
            absent = {*fixed, *omitted}
            argument = {name: member for name, member in value.items() if name not in absent}
        is_needed = any(it.location == "body" and it.default is UNSET for it in tool.arguments)
        if tool.flat_body is not None:
            call.arguments |= self.spread_body(tool, argument)
        elif argument or is_needed:
            call.arguments[names["body"]] = self.rename_members(tool, names["body"], argument)

    def spread_body(self, tool: ToolPlan, body: JsonValue) -> JsonObject:
        """Return the arguments of a tool with a flat body that send `body`.

        Raises:
            CannotSampleError: there are none.
        """
        flat = tool.flat_body
        if flat is None or body == {}:
            return {}
        found = flat.spread({flat.argument: self.rename_members(tool, flat.argument, body)})
        if found is None:
            raise CannotSampleError("the body has members that are no arguments")
        return found

    def body(self, media_type: MediaType, which: Which) -> JsonValue:
        """Return a value that a body of this media type can carry unchanged.

        Raises:
            CannotSampleError: there is none.
        """
        schema, kind = self.body_schema(media_type), classify_body(media_type)
        self.sent.checker(schema)  # compile what the variations and the refusals check as well
        if kind <= Kind.OTHER_JSON and which == "example":
            return self.sent.choose_example(schema, media_type.examples)
        if kind <= Kind.OTHER_JSON:
            return self.sent.sample(schema, which, seed="body")
        if kind is Kind.TEXT:
            return self._make_text_body(media_type, which)
        if kind not in STRUCTURED:
            return "dGV4dA=="
        if kind is Kind.XML:
            return self._make_xml_body(schema, which)
        selections: tuple[Which, ...] = (which, "example", "largest")
        for selection in selections:  # a form cannot carry empty lists and objects
            value = self.sent.sample(schema, selection, seed="body")
            if kind is Kind.MULTIPART:
                value = self._replace_file_names(value, schema)
            if kind in (Kind.FORM, Kind.MULTIPART):
                if isinstance(value, dict):  # a form cannot distinguish null from a string
                    value = {name: it for name, it in value.items() if it is not None}
                value = self._drop_empty(value, schema)
            is_list = kind is Kind.MULTIPART and isinstance(value, list)
            if is_list and value and not has_empty(value) and not has_null(value):
                return value
            is_form = value == {} or (isinstance(value, dict) and not has_empty(value))
            if kind is Kind.LINES or is_form:
                return value
        raise CannotSampleError(
            "no body found that a form can carry: an object without empty lists and objects"
        )

    def _replace_file_names(
        self, value: JsonValue, schema: JsonSchema, seed: str = "file"
    ) -> JsonValue:
        """Return a value with contents of files; examples often have their names."""
        keywords = self.shapes.of(schema).keywords
        if isinstance(value, dict):
            members = keywords.get("properties", {})
            return {
                name: self._replace_file_names(it, members[name], name) if name in members else it
                for name, it in value.items()
            }
        if isinstance(value, list):
            return [self._replace_file_names(it, keywords.get("items", True), seed) for it in value]
        if isinstance(value, str) and is_file(schema, self.shapes.of) and not _is_base64(value):
            return self.sent.sample(schema, "smallest", seed=seed)
        return value

    def _make_xml_body(self, schema: JsonSchema, which: Which) -> JsonValue:
        """Return a value that XML can carry unchanged: without empty lists, null and ambiguity."""
        selections: tuple[Which, ...] = (which, "example", "largest", "smallest")
        for selection in selections:
            value = self._drop_empty(self.sent.sample(schema, selection, seed="body"), schema)
            distinct = drop_shared_elements(value, schema, self._schemas)
            if distinct != value and not self.sent.fits(schema, distinct):
                continue
            if distinct and not has_empty(distinct) and not has_null(distinct):
                return distinct
        raise CannotSampleError(
            "no body found that XML can carry: one without what is empty, whose members are"
            " different elements"
        )

    def _make_text_body(self, media_type: MediaType, which: Which) -> JsonValue:
        schema = self.body_schema(media_type)
        is_xml = essence_of(media_type.media_type).endswith("xml")
        if is_xml and self.sent.fits(schema, "<text/>"):
            return "<text/>"
        return self.sent.sample(_exclude_empty(schema), which)

    def body_schema(self, media_type: MediaType) -> JsonSchema:
        """Return the schema of the argument `body` for this media type."""
        return body_schema(media_type, self.shapes.of)


def _is_base64(text: str) -> bool:
    try:
        return bool(b64decode(text, validate=True))
    except ValueError:
        return False


def _exclude_empty(schema: JsonSchema) -> JsonSchema:
    """Return a schema that allows no empty values besides."""
    return {"allOf": [schema, _NOT_EMPTY]}


def _choose_from_range(media_type: str) -> str:
    """Return a media type of a media range; other media types are returned unchanged."""
    kind = essence_of(media_type)
    if not is_range(kind):
        return media_type
    common = {"*/*": "application/octet-stream", "text/*": "text/plain", "image/*": "image/png"}
    return common.get(kind, kind.replace("*", "vnd.example" if "+" in kind else "octet-stream"))


def _is_worth_showing(parameter: Parameter, tool: ToolPlan) -> bool:
    """Return whether an optional parameter has an example that fits a first call."""
    is_first = tool.operation.method != "GET" or not is_page_position(parameter.name)
    return bool(parameter.examples) and is_first and not parameter.deprecated


def choose_requirement(operation: Operation) -> tuple[str, ...]:
    """Return the schemes whose credentials are sent if all are configured."""
    for requirement in operation.security:
        if requirement:
            return tuple(use.scheme for use in requirement)
    return ()


def get_schema(media_type: MediaType) -> JsonSchema:
    """Return the schema of a media type; True if it has none."""
    return True if media_type.schema is None else media_type.schema
