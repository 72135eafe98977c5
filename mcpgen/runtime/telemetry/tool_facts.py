"""Properties of a tool for telemetry."""

from __future__ import annotations

from typing import NamedTuple


class ToolFacts(NamedTuple):
    """One tool."""

    operation: str  # "POST /pets"; "" for a hand-written tool
    is_changing: bool
    calls_another: bool = False
    """Whether its arguments `name` and `arguments` call another tool (tool search)."""
