"""Settings that supply parameters and headers: one environment variable for all their uses."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from mcpgen.contract.needs import RequestNeeds, ToolNeeds, Usage, count_usages
from mcpgen.diagnostics import Problems
from mcpgen.ir.api import Api, Operation, Server
from mcpgen.ir.tool_plan import EnvironmentVariable, SettingUse, ToolPlan, source_prefix
from mcpgen.jsonschema.direction import Shapes
from mcpgen.jsonschema.types import JsonObject, JsonSchema, JsonValue
from mcpgen.jsonschema.values import find_json_type
from mcpgen.text.prose import end_sentence, plain_line, shorten_at_sentence

_MAX_DESCRIPTION = 160
_NO_DESCRIPTION = "Sent with calls, in place of an argument."
_CHOICES = ("anyOf", "oneOf")


class SettingPlanning:
    """Planning of the variables that supply parameters; the names of `others` are taken."""

    def __init__(
        self, others: Sequence[EnvironmentVariable], shapes: Shapes, problems: Problems
    ) -> None:
        self._taken = {variable.name: variable for variable in others}
        self._shapes = shapes
        self._problems = problems

    def variables(self, tools: Iterable[ToolPlan]) -> tuple[EnvironmentVariable, ...]:
        """Return the variables that the tools use, sorted by name; report contradictions."""
        uses: dict[str, list[SettingUse]] = {}
        for tool in sorted(tools, key=lambda tool: tool.name):
            for fixed in tool.fixed:
                if fixed.setting is not None:
                    uses.setdefault(fixed.setting.name, []).append(fixed.setting)
        for name in sorted(uses.keys() & self._taken.keys()):
            self._problems.error(
                "setting-name",
                f"the setting `{name}` already has another meaning",
                at=uses[name][0].at,
                why=f"the server reads it as: {self._taken[name].description}",
                help="choose another name",
            )
        return tuple(self._make_variable(name, uses[name]) for name in sorted(uses))

    def _make_variable(self, name: str, uses: Sequence[SettingUse]) -> EnvironmentVariable:
        schemas: list[JsonSchema] = []
        for use in uses:
            if use.schema not in schemas:
                schemas.append(use.schema)
        readings = [self._choose_type(schema) for schema in schemas]
        if other := next((it for it in readings if it != readings[0]), None):
            at = next(use.at for use in uses if self._choose_type(use.schema) == other)
            self._problems.error(
                "setting-type",
                f"parameters of different types use the setting `{name}`",
                at=at,
                why=f"one expects {_format_type(readings[0])}, another {_format_type(other)}",
                help="use another environment variable for one of them",
            )
        described = next((use.description for use in uses if use.description), "")
        description = end_sentence(shorten_at_sentence(plain_line(described), _MAX_DESCRIPTION))
        is_secret = any(use.secret for use in uses)
        return EnvironmentVariable(
            name=name,
            description=f"{description or _NO_DESCRIPTION}{_TYPES[readings[0]['type']]}",
            required=any(use.required for use in uses),
            secret=is_secret,
            example="" if is_secret else self._find_example(schemas[0]),
            schema=schemas[0] if len(schemas) == 1 else {"allOf": schemas},
            reads_as={} if readings[0] == _TEXT else readings[0],
        )

    def _choose_type(self, schema: JsonSchema) -> JsonObject:
        """Return how the text of the variable is parsed: the type, and that of items."""
        types = self._collect_types(schema) - {"null"}
        if not types or "string" in types:
            return _TEXT
        if "array" in types:
            items = self._choose_type(self._shapes.of(schema).keywords.get("items", True))
            return {"type": "array"} if items == _TEXT else {"type": "array", "items": items}
        return {"type": "number" if "number" in types else min(types)}

    def _collect_types(self, schema: JsonSchema) -> set[str]:
        shape = self._shapes.of(schema)
        if shape.types:
            return set(shape.types)
        options = [option for key in _CHOICES for option in shape.keywords.get(key, ())]
        return {name for option in options for name in self._collect_types(option)}

    def _find_example(self, schema: JsonSchema) -> str:
        """Return an example of the document, if it is a text or a number."""
        keywords = self._shapes.of(schema).keywords
        examples: list[JsonValue] = [*keywords.get("examples", ()), keywords.get("default")]
        usable = (it for it in examples if find_json_type(it) in ("integer", "number", "string"))
        return str(next(usable, ""))


_TEXT: JsonObject = {"type": "string"}
_TYPES = {
    "array": " A list, separated by commas.",
    "boolean": " `true` or `false`.",
    "integer": " An integer.",
    "number": " A number.",
    "object": " A JSON object.",
    "string": "",
}


def _format_type(reading: JsonObject) -> str:
    items = reading.get("items", {}).get("type", "")
    return f"`{reading['type']}` of `{items}`" if items else f"`{reading['type']}`"


def count_operation_usage(
    variables: Iterable[EnvironmentVariable],
    api: Api,
    operations: Sequence[Operation],
    prefix: str,
) -> list[EnvironmentVariable]:
    """Return the variables with the number of `operations` that need each.

    Most operations need a variable that is required.
    """
    variables = list(variables)
    requests = RequestNeeds(_build_contract(variables, api, prefix))
    needs: dict[str, list[ToolNeeds]] = {}
    known: dict[tuple[str, int, int], ToolNeeds] = {}  # by source, servers and security
    for operation in operations:
        key = (operation.source, id(operation.servers), id(operation.security))
        if key not in known:
            known[key] = requests.of(operation.key, _build_request(operation))
        needs.setdefault(operation.source, []).append(known[key])
    unused = Usage(len(operations))
    usages: dict[str, Usage] = {}
    for tools in needs.values():
        for name, usage in count_usages(tools).items():
            usages[name] = _add_usage(usages.get(name, unused), usage)
    counted = ((variable, usages.get(variable.name, unused)) for variable in variables)
    return [replace(it, usage=usage, required=usage.is_needed_by_most) for it, usage in counted]


def _add_usage(usage: Usage, of_source: Usage) -> Usage:
    """Add the usage by the tools of one more source."""
    return Usage(
        usage.total,
        usage.needed_by + of_source.needed_by,
        usage.alternative_for + of_source.alternative_for,
        usage.usable_by + of_source.usable_by,
        usage.of_its_sources + of_source.total,
    )


def count_tool_usage(
    variables: Iterable[EnvironmentVariable], tools: Collection[ToolPlan]
) -> list[EnvironmentVariable]:
    """Return variables that parameters and headers come from, with the tools that need each."""
    counted = []
    for variable in variables:
        read = [[it.setting for it in tool.fixed if it.setting is not None] for tool in tools]
        uses = [[it.required for it in each if it.name == variable.name] for each in read]
        needed = sum(any(use) for use in uses)
        usage = Usage(len(tools), needed_by=needed, usable_by=sum(map(bool, uses)) - needed)
        counted.append(replace(variable, usage=usage, required=usage.is_needed_by_most))
    return counted


def _build_contract(variables: Iterable[EnvironmentVariable], api: Api, prefix: str) -> JsonObject:
    """Return the parts of a server's contract about base URLs and credentials."""
    return {
        "env_prefix": prefix,
        "servers": _list_servers(api.servers),
        "sources": {
            source.name: {
                "env_prefix": source_prefix(prefix, source),
                "servers": _list_servers(source.servers),
            }
            for source in api.sources
            if source.name
        },
        "security_schemes": {
            scheme.id: {
                "type": scheme.type,
                "scheme": scheme.http_scheme,
                "flows": scheme.flows,
                "openid_connect_url": scheme.openid_connect_url,
            }
            for scheme in api.security_schemes
        },
        "credentials": {
            scheme.id: {"from": scheme.credential.from_}
            for scheme in api.security_schemes
            if scheme.credential.from_ != "environment"
        },
        "environment": [
            {"name": variable.name, "scheme": variable.scheme, "part": variable.part}
            for variable in variables
        ],
    }


def _build_request(operation: Operation) -> JsonObject:
    return {
        "source": operation.source,
        "servers": _list_servers(operation.servers),
        "security": [
            {use.scheme: list(use.scopes) for use in requirement}
            for requirement in operation.security
        ],
    }


def _list_servers(servers: Iterable[Server]) -> list[JsonObject]:
    return [
        {
            "url": server.url,
            "variables": {
                variable.name: {"default": variable.default, "enum": list(variable.enum)}
                for variable in server.variables
            },
        }
        for server in servers
    ]
