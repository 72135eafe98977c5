"""What telemetry knows of a tool."""

from __future__ import annotations

from typing import NamedTuple


class ToolFacts(NamedTuple):
    """One tool."""

    operation: str  # "POST /pets"; "" for a hand-written tool
    is_changing: bool
    calls_another: bool = False
    """Its arguments `name` and `arguments` call another tool (tool search)."""
