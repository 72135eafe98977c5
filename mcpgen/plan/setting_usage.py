"""How many tools need each setting, counted as the server itself counts (`--check-env`)."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from mcpgen.ir.api import Api, Operation, Server
from mcpgen.ir.json_types import JsonObject
from mcpgen.ir.tool_plan import EnvironmentVariable, ToolPlan, source_prefix
from mcpgen.runtime.needs import NeedsOfRequests, Usage, usage_of

_UNUSED = Usage(1)


def with_usage(
    variables: Iterable[EnvironmentVariable],
    api: Api,
    operations: Sequence[Operation],
    prefix: str,
) -> list[EnvironmentVariable]:
    """Return the variables with the number of `operations` that need each.

    Most operations need a variable that is required.
    """
    variables = list(variables)
    requests = NeedsOfRequests(_contract(variables, api, prefix))
    tools = [requests.of(operation.key, _request(operation)) for operation in operations]
    counted = []
    for variable in variables:
        usage = usage_of(variable.name, tools)
        sources = {
            operation.source
            for operation, tool in zip(operations, tools, strict=True)
            if usage_of(variable.name, (tool,)) != _UNUSED
        }
        of_its_sources = sum(operation.source in sources for operation in operations)
        usage = dataclasses.replace(usage, of_its_sources=of_its_sources)
        counted.append(replace(variable, usage=usage, required=usage.is_needed_by_most))
    return counted


def with_usage_of_tools(
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


def _contract(variables: Iterable[EnvironmentVariable], api: Api, prefix: str) -> JsonObject:
    """Return what a server's contract says of base URLs and credentials."""
    return {
        "env_prefix": prefix,
        "servers": _servers(api.servers),
        "sources": {
            source.name: {
                "env_prefix": source_prefix(prefix, source),
                "servers": _servers(source.servers),
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


def _request(operation: Operation) -> JsonObject:
    return {
        "source": operation.source,
        "servers": _servers(operation.servers),
        "security": [
            {use.scheme: list(use.scopes) for use in requirement}
            for requirement in operation.security
        ],
    }


def _servers(servers: Iterable[Server]) -> list[JsonObject]:
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
