"""Number of tools that need each setting, with the rules of the server's `--check-env`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from mcpgen.contract.needs import RequestNeeds, ToolNeeds, Usage, count_usages
from mcpgen.ir.api import Api, Operation, Server
from mcpgen.ir.tool_plan import EnvironmentVariable, ToolPlan, source_prefix
from mcpgen.jsonschema.types import JsonObject


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
    for operation in operations:
        needs.setdefault(operation.source, []).append(
            requests.of(operation.key, _build_request(operation))
        )
    unused = Usage(len(operations))
    usages: dict[str, Usage] = {}
    for tools in needs.values():
        for name, usage in count_usages(tools).items():
            usages[name] = _add_usage(usages.get(name, unused), usage)
    counted = []
    for variable in variables:
        usage = usages.get(variable.name, unused)
        counted.append(replace(variable, usage=usage, required=usage.is_needed_by_most))
    return counted


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
        uses = [
            [
                item.setting.required
                for item in tool.fixed
                if item.setting is not None and item.setting.name == variable.name
            ]
            for tool in tools
        ]
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
