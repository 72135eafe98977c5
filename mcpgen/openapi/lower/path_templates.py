"""Matching of path templates with their declared parameters (OpenAPI, "Path Templating")."""

from __future__ import annotations

import re

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError, Repair
from mcpgen.ir.api import Parameter
from mcpgen.openapi.lower.nodes import Node, Source

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_FILLED_PAIR = re.compile(r"([^={}]+)=\{([^{}]+)\}\Z")


def match_template(
    path: str, parameters: list[Parameter], node: Node, source: Source
) -> list[Parameter]:
    """Return one parameter for each variable of `path`, and the other parameters.

    Missing parameters are added, unused path parameters dropped, with a warning. The fragment of a
    path is never sent. A query in the path is sent unchanged; its variables are query parameters.
    """
    template, _, query = path.partition("#")[0].partition("?")
    if query:
        parameters = _merge_query(query, parameters, node, source)
    variables = list(dict.fromkeys(_VARIABLE.findall(template)))
    if "" in variables:
        raise OperationRefusedError(
            "path-template", "its path has a variable without a name", source.at(node.pointer)
        )
    kept = []
    for parameter in parameters:
        if parameter.location == "path" and parameter.name not in variables:
            source.problems.warning(
                "unused-path-parameter",
                f"unused path parameter `{parameter.name}` of `{path}`; it was dropped",
                at=parameter.at,
            )
        else:
            kept.append(parameter)
    declared = {parameter.name for parameter in kept if parameter.location == "path"}
    missing = [
        _make_parameter(variable, "path", node, source)
        for variable in variables
        if variable not in declared
    ]
    return missing + kept


def _merge_query(
    query: str, parameters: list[Parameter], node: Node, source: Source
) -> list[Parameter]:
    """Add the variables of a query in the path; remove the parameters that it fixes."""
    found = list(parameters)
    for pair in filter(None, query.split("&")):
        filled = _FILLED_PAIR.match(pair)
        name = filled.group(1) if filled else pair.partition("=")[0]
        if filled is None and _VARIABLE.search(pair):
            raise OperationRefusedError(
                "path-query",
                f"invalid `{pair}` in the query of its path: expected `name={{variable}}`",
                source.at(node.pointer),
                "declare a query parameter for it",
            )
        same = [item for item in found if item.location == "query" and item.name == name]
        if filled is None:
            # The path fixes the value.
            found = [item for item in found if item not in same]
            continue
        variable = filled.group(2)
        template = [item for item in found if item.location == "path" and item.name == variable]
        found = [item for item in found if item not in template]
        if template and not same:
            found.append(
                replace(template[0], location="query", name=name, style="form", explode=True)
            )
        elif not same:
            found.append(_make_parameter(name, "query", node, source))
    return found


def _make_parameter(name: str, location: str, node: Node, source: Source) -> Parameter:
    """Return a string parameter for an undeclared variable of the path, with a warning."""
    source.warn(
        f"missing-{location}-parameter",
        f"undeclared parameter `{{{name}}}` in the path; it is treated as a string",
        node.pointer,
        help=f"declare a parameter `{name}` with `in: {location}`",
        repair=Repair(declares=name),
    )
    return Parameter(
        name=name,
        location=location,
        required=True,
        schema={"type": "string"},
        style="simple" if location == "path" else "form",
        explode=location == "query",
        at=source.at(node.pointer),
    )
