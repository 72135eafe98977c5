"""Path templates and the parameters that fill them (OpenAPI, "Path Templating")."""

from __future__ import annotations

import re

from msgspec.structs import replace

from mcpgen.diagnostics import OperationRefusedError
from mcpgen.ir.api import Parameter
from mcpgen.spec.lower_source import Node, Source

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_FILLED_PAIR = re.compile(r"([^={}]+)=\{([^{}]+)\}\Z")


def match_template(
    path: str, parameters: list[Parameter], node: Node, source: Source
) -> list[Parameter]:
    """Bring parameters and the variables of `path` to agree, and report what that took.

    A fragment only tells operations apart and is never sent. A query in the path is sent as it
    stands; where it has variables, these are parameters of the query.
    """
    template, _, query = path.partition("#")[0].partition("?")
    if query:
        parameters = _with_query(query, parameters, node, source)
    variables = list(dict.fromkeys(_VARIABLE.findall(template)))
    if "" in variables:
        raise OperationRefusedError(
            "path-template", "a variable of the path has no name", source.at(node.pointer)
        )
    kept = []
    for parameter in parameters:
        if parameter.location == "path" and parameter.name not in variables:
            source.problems.warning(
                "unused-path-parameter",
                f"the path parameter `{parameter.name}` does not occur in `{path}`; it was dropped",
                at=parameter.at,
            )
        else:
            kept.append(parameter)
    declared = {parameter.name for parameter in kept if parameter.location == "path"}
    missing = [
        _assumed(variable, "path", node, source)
        for variable in variables
        if variable not in declared
    ]
    return missing + kept


def _with_query(
    query: str, parameters: list[Parameter], node: Node, source: Source
) -> list[Parameter]:
    """`parameters` with those that a query in the path fills or fixes."""
    found = list(parameters)
    for pair in filter(None, query.split("&")):
        filled = _FILLED_PAIR.match(pair)
        name = filled.group(1) if filled else pair.partition("=")[0]
        if filled is None and _VARIABLE.search(pair):
            raise OperationRefusedError(
                "path-query",
                f"`{pair}` in the query of the path is no `name={{variable}}`",
                source.at(node.pointer),
                "declare a query parameter for it",
            )
        same = [item for item in found if item.location == "query" and item.name == name]
        if filled is None:
            # The path says the value, so nobody else does.
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
            found.append(_assumed(name, "query", node, source))
    return found


def _assumed(name: str, location: str, node: Node, source: Source) -> Parameter:
    """The parameter that the path has and nobody declared."""
    source.warn(
        f"missing-{location}-parameter",
        f"`{{{name}}}` of the path is not declared; it was taken for a string",
        node.pointer,
        help=f"declare a parameter `{name}` in: {location}",
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
