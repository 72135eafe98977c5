"""The interface of agents that solve evaluation tasks, and an agent that needs no model."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from msgspec import Struct

from mcpgen.ir.eval_references import UnresolvedError, resolve
from mcpgen.ir.eval_tasks import EvalTask
from mcpgen.jsonschema.types import JsonObject, JsonValue

CallTool = Callable[[str, JsonObject], Awaitable[JsonObject]]
"""Calls a tool; returns `{"result": …}`, or `{"error": {"message": …}}` for a protocol error."""


class AgentError(Exception):
    """The agent failed: it crashed, kept silent, or broke the protocol. The message states how."""


class TooManyCallsError(AgentError):
    """The agent made more calls than allowed."""


class Assignment(Struct, frozen=True):
    """Input of an agent: the task, and the lists of the server."""

    task: EvalTask
    tools: Sequence[JsonObject]
    instructions: str
    max_calls: int
    timeout_seconds: float


class Agent(Protocol):
    """An agent that solves evaluation tasks by calling tools."""

    @property
    def name(self) -> str:
        """The name in reports: its command, or "scripted"."""

    async def solve(self, assignment: Assignment, call_tool: CallTool) -> str:
        """Solve a task; return the answer for the user.

        Raises:
            AgentError: the agent failed.
        """


class ScriptedAgent:
    """An agent without a model: it makes the required calls, to show that a task has a solution."""

    name = "scripted"

    async def solve(self, assignment: Assignment, call_tool: CallTool) -> str:
        """Make the required calls in their order.

        Raises:
            AgentError: a call refers to a missing result.
        """
        results: dict[str, JsonValue] = {}
        for call in assignment.task.calls:
            try:
                arguments = resolve(call.arguments, results)
                others = resolve(call.sends, results)
            except UnresolvedError as error:
                raise AgentError(f"cannot call `{call.tool}`: {error}") from None
            result = await call_tool(call.tool, _merge(others, arguments))
            if call.id:
                results[call.id] = result.get("result", {}).get("structuredContent")
        return ""


def _merge(one: JsonObject, other: JsonObject) -> JsonObject:
    """Return an object with the members of two, at any depth; those of `other` win."""
    merged = dict(one)
    for name, value in other.items():
        before = merged.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            merged[name] = _merge(before, value)
        else:
            merged[name] = value
    return merged
