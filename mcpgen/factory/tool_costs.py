"""Costs of listed tools in tokens: in total, and of their schemas."""

from __future__ import annotations

from msgspec import Struct

from mcpgen.contract.snapshot import estimate_tokens
from mcpgen.ir.client_checks import read_text
from mcpgen.jsonschema.types import JsonObject


class ToolCost(Struct, frozen=True):
    """The estimated tokens of one listed tool, and of its parts."""

    name: str
    tokens: int
    input_schema: int
    output_schema: int


def measure_tool(tool: JsonObject) -> ToolCost:
    """Return the cost of a tool as `tools/list` has it."""
    return ToolCost(
        read_text(tool, "name"),
        estimate_tokens(tool),
        estimate_tokens(tool.get("inputSchema") or {}),
        estimate_tokens(tool["outputSchema"]) if "outputSchema" in tool else 0,
    )


def format_cost_json(cost: ToolCost) -> JsonObject:
    """Return a cost as JSON."""
    return {
        "name": cost.name,
        "tokens": cost.tokens,
        "input_schema_tokens": cost.input_schema,
        "output_schema_tokens": cost.output_schema,
    }
