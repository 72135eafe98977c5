"""The tools that values of arguments come from: lists of a collection, and what adds to it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator

from mcpgen.ir.api import Operation
from mcpgen.ir.tool_plan import ToolPlan
from mcpgen.text.uri_template import mask_variables

_VARIABLE = re.compile(r"\{([^{}]*)\}")


def find_lists(tools: Iterable[ToolPlan]) -> dict[str, Counter[str]]:
    """Return the tools that list the values of arguments: the number of uses, by argument.

    `/pets/{petId}/photos` takes what `GET /pets` lists.
    """
    tools = list(tools)
    lists = {
        (it.operation.source, mask_variables(it.operation.path)): it.name
        for it in tools
        if it.operation.method == "GET" and not it.operation.path.endswith("}")
    }
    uses: dict[str, Counter[str]] = {}
    for tool in tools:
        names = {it.wire_name: it.name for it in tool.arguments if it.location == "path"}
        for variable, collection in iterate_collections(tool.operation):
            found = lists.get((tool.operation.source, mask_variables(collection)))
            if found is not None and variable in names:
                uses.setdefault(names[variable], Counter())[found] += 1
    return uses


def iterate_collections(operation: Operation) -> Iterator[tuple[str, str]]:
    """Yield each path parameter that is a whole segment, with the path before it."""
    segments = operation.path.split("/")
    for index, segment in enumerate(segments):
        if (found := _VARIABLE.fullmatch(segment)) is not None:
            yield found[1], "/".join(segments[:index])
