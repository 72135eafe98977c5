"""What a tool costs a model that is shown the list: an estimate, the same for every model."""

from __future__ import annotations

import math

import msgspec

from mcpgen.ir.json_types import JsonObject
from mcpgen.ir.tool_plan import ToolPlan, WorkflowPlan, as_listed


def token_cost(tool: ToolPlan | WorkflowPlan) -> int:
    """A quarter of the bytes that the tool takes in a listing, rounded up."""
    return listed_cost({"name": tool.name, **as_listed(tool)})


def listed_cost(listed: JsonObject) -> int:
    """A quarter of the bytes of a listed tool's JSON, rounded up."""
    return math.ceil(len(msgspec.json.encode(listed)) / 4)
