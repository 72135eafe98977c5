"""The tool that reads stored results: results that were too long for the call that made them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.ir.tool_plan import HandlesPlan, ToolGroupPlan, ToolPlan, WorkflowPlan
from mcpgen.jsonschema.types import JsonObject
from mcpgen.plan.policy import Policy
from mcpgen.plan.tools.listing import LOOKS_ONLY, list_names, make_tool

_NAME: Final = "read_result"
_CHEAP_SHARE: Final = 20  # a new server has the tool if it takes at most this part of the list


def plan_handles(
    groups: Sequence[ToolGroupPlan], workflows: Sequence[WorkflowPlan], policy: Policy
) -> HandlesPlan | None:
    """Return the tool that reads stored results, if a tool has results that can be long.

    None unless the manifest requests it. A new server has it if it takes a small part of the list.
    """
    tools: list[ToolPlan | WorkflowPlan] = [*workflows]
    tools += [tool for group in groups for tool in group.listed_tools]
    if not any(map(_has_results, tools)):
        return None
    listed = _make_tool(_choose_name(tools))
    cost, others = estimate_tokens(listed), sum(tool.token_cost for tool in tools)
    manifest = policy.manifest
    is_cheap = _CHEAP_SHARE * cost <= others and others + cost <= manifest.budget
    if not (manifest.results.handles or (policy.is_new and is_cheap)):
        return None
    return HandlesPlan(str(listed["name"]), listed, cost)


def _has_results(tool: ToolPlan | WorkflowPlan) -> bool:
    """Return whether calls return content that is described, or are declared in the manifest."""
    if isinstance(tool, WorkflowPlan) or tool.operation.declared is not None:
        return True
    responses = tool.operation.responses
    return any(it.content for it in responses if it.status.startswith(("2", "default")))


def _choose_name(tools: Iterable[ToolPlan | WorkflowPlan]) -> str:
    """Return the name of the tool, with the prefix `mcp_` if the API uses it."""
    taken, name = list_names(tools), _NAME
    while name in taken:
        name = f"mcp_{name}"
    return name


def _make_tool(name: str) -> JsonObject:
    offset = (
        "First item, member or character, from 0 on, of that part; without `pointer` and `query`,"
        " of the whole text, or byte."
    )
    pointer = 'JSON Pointer of a part: `/items/0`; "" is the whole.'
    properties: JsonObject = {
        "handle": {"type": "string", "description": "Handle in the note of a cut result."},
        "pointer": {"type": "string", "description": pointer},
        "query": {"type": "string", "description": "JMESPath, instead of `pointer`."},
        "offset": {"type": "integer", "minimum": 0, "default": 0, "description": offset},
    }
    about = "Read more of a result that was cut and stored."
    return make_tool(name, "Read a stored result", about, properties, LOOKS_ONLY)
