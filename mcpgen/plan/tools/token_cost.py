"""Token cost of a listed tool: an estimate that is the same for every model."""

from __future__ import annotations

import math

import msgspec

from mcpgen.ir.tool_plan import ToolPlan, WorkflowPlan, build_list_entry
from mcpgen.jsonschema.types import JsonObject


def token_cost(tool: ToolPlan | WorkflowPlan) -> int:
    """Return a quarter of the bytes that the tool takes in a listing, rounded up."""
    return estimate_cost({"name": tool.name, **build_list_entry(tool)})


def estimate_cost(listed: JsonObject) -> int:
    """Return a quarter of the bytes of a listed tool's JSON, rounded up."""
    return math.ceil(len(msgspec.json.encode(listed)) / 4)
