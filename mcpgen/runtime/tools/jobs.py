"""Tasks of generated tools: calls that begin a job of the API, and calls that wait for a state.

A client that does not support tasks gets what it got without them. The state of a job is in the
record of its task, so that another process can continue to ask for it.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct, field

from mcpgen.absent import ABSENT
from mcpgen.jsonschema.values import value_at
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ToolError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.tools.states import (
    MAX_FAILURES,
    describe_state,
    find_member,
    is_same,
    is_temporary,
)
from mcpgen.runtime.upstream.http.messages import HeaderFields, find_field

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.tools.tool import Handler
    from mcpgen.runtime.upstream.client import Environment

_PARAMETER: Final = re.compile(r"\{([^{}/]+)\}")
MIN_SECONDS: Final = 0.1
MAX_SECONDS: Final = 600.0
_BODY: Final = "$response.body"
_HEADER: Final = "$response.header."
_INPUT: Final = "$inputs."
_INTEGER: Final = "$integer"


class JobCall(Struct, frozen=True):
    """A call about a job: its tool, and a value or an expression for each argument."""

    tool: str
    arguments: dict[str, str] = {}

    def evaluate(
        self, inputs: Mapping[str, Any], body: Any, headers: HeaderFields
    ) -> JsonObject | None:
        """Return the arguments; None if the response or the call lacks one of them."""
        found: JsonObject = {}
        for name, expression in self.arguments.items():
            value = _evaluate(expression, inputs, body, headers)
            if value is None:
                return None
            found[name] = value
        return found


class Job(Struct, frozen=True):
    """The `job` of a tool's contract; `until` are the members that lead to the state."""

    status: JobCall
    until: tuple[str, ...]
    values: tuple[Any, ...]
    interval_seconds: float
    path: str = ""  # of the operation that reads the state, if the header `Location` leads to it

    def find(
        self, inputs: Mapping[str, Any], body: Any, headers: HeaderFields
    ) -> JsonObject | None:
        """Return the arguments with which the state is read; None if this job did not begin."""
        if not self.path:
            return self.status.evaluate(inputs, body, headers)
        found = match_path(self.path, find_field(headers, "location"))
        if found is None:
            return None
        arguments: JsonObject = {}
        for name, expression in self.status.arguments.items():
            kind, _, parameter = expression.partition(".")
            text = found[parameter]
            is_number = text.isascii() and text.isdigit()
            arguments[name] = int(text) if kind == _INTEGER and is_number else text
        return arguments


class TaskPolicy(Struct, frozen=True):
    """The parts of a contract's `shaping` that concern tasks."""

    task: str
    jobs: tuple[Job, ...] = ()
    cancel: JobCall | None = None
    poll: JsonObject = field(default_factory=dict)

    async def call(
        self, handler: Handler, tool: str, environment: Environment, ctx: Context, /, **inputs: Any
    ) -> Any:
        """Call the API, as a task if the client supports tasks."""
        if self.task == "required":
            ctx.task.require(tool)
        if ctx.is_nested or not ctx.task.is_supported:
            return await handler(ctx, **inputs)
        try:
            if self.jobs:
                return await self._call_job(handler, environment, ctx, inputs)
            if not self.poll:  # `Polling` begins the task of a call that waits for a state
                await ctx.task.begin()
            return await handler(ctx, **inputs)
        except asyncio.CancelledError:
            if ctx.task.is_cancelled and self.cancel is not None and not self.jobs:
                await self._cancel(ctx, self.cancel.evaluate(inputs, None, ()))
            raise

    async def _call_job(
        self,
        handler: Handler,
        environment: Environment,
        ctx: Context,
        inputs: Mapping[str, Any],
    ) -> Any:
        state = ctx.task.resumed_state
        if state is None:
            value = await handler(ctx, **inputs)
            body = ctx.api.last_value if value is None else value
            response = ctx.api.last_response
            headers = () if response is None else response.headers
            found = ((it, it.find(inputs, body, headers)) for it in self.jobs)
            job, arguments = next((it for it in found if it[1] is not None), (None, None))
            if job is None or _is_final(job, body):  # or the response does not identify the job
                return value
            cancel = None if self.cancel is None else self.cancel.evaluate(inputs, body, headers)
            seconds = _read_interval(headers, job.interval_seconds)
            number = self.jobs.index(job)
            state = {"job": number, "arguments": arguments, "cancel": cancel}
            await ctx.task.begin(
                describe_state(job.until, body), poll_seconds=seconds, job_state=state
            )
            await environment.sleep(seconds)
        try:
            job = self.jobs[state["job"]]
            return await _follow(job, environment, ctx, state["arguments"])
        except asyncio.CancelledError:
            if ctx.task.is_cancelled and self.cancel is not None:
                await self._cancel(ctx, state["cancel"])
            raise

    async def _cancel(self, ctx: Context, arguments: JsonObject | None) -> None:
        """Cancel the job at the API; if that fails, the log says why."""
        if self.cancel is None or arguments is None:
            return
        try:
            await ctx.run_tool(self.cancel.tool, arguments, "cancel")
        except ToolError as error:
            log("warning", f"the job of a cancelled task may go on: {error}")
            ctx.task.report(f"The API did not cancel the job: {error}")


async def _follow(job: Job, environment: Environment, ctx: Context, arguments: JsonObject) -> Any:
    """Ask for the state of a job until it is final; return the last response."""
    failures = 0
    while True:
        seconds = job.interval_seconds
        try:
            outcome = await ctx.run_tool(job.status.tool, arguments, "job")
        except ToolError as error:
            failures += 1
            if failures >= MAX_FAILURES or not is_temporary(error):
                raise
            ctx.task.report(f"The state of the job is unknown: {error}")
        else:
            failures = 0
            if _is_final(job, outcome.value):
                return outcome.value
            ctx.task.report(describe_state(job.until, outcome.value))
            seconds = _read_interval(outcome.headers, seconds)
        await environment.sleep(seconds)


def _is_final(job: Job, body: Any) -> bool:
    found = find_member(job.until, body)
    return any(is_same(found, value) for value in job.values)


def match_path(template: str, location: str) -> dict[str, str] | None:
    """Return the parameters of a path that a URL ends with; None if it has another path.

    Only the path is used: the request that follows goes to the server of its operation.
    """
    names = _PARAMETER.findall(template)
    pattern = "([^/]+)".join(map(re.escape, _PARAMETER.split(template)[::2]))
    found = re.search(rf"{pattern}/?\Z", urlsplit(location).path)
    if found is None or not names:
        return None
    return dict(zip(names, map(unquote, found.groups()), strict=True))


def _read_interval(headers: HeaderFields, otherwise: float) -> float:
    """Return the seconds of `Retry-After` (RFC 9110, section 10.2.3); dates are not used."""
    text = find_field(headers, "retry-after").strip()
    seconds = float(text) if text.isascii() and text.isdigit() else otherwise
    return min(max(seconds, MIN_SECONDS), MAX_SECONDS)


def _evaluate(expression: str, inputs: Mapping[str, Any], body: Any, headers: HeaderFields) -> Any:
    if expression.startswith(_INPUT):
        return inputs.get(expression.removeprefix(_INPUT))
    if expression.startswith(_HEADER):
        return find_field(headers, expression.removeprefix(_HEADER)) or None
    if not expression.startswith(_BODY):
        return expression
    found = value_at(body, expression.removeprefix(_BODY).removeprefix("#"))
    return None if found is ABSENT else found
