"""Policies that wrap a tool's handler: `poll` repeats the request, `confirm` asks the user first.

They are in the member `shaping` of the tool's contract. Its third member, `result`, is applied by
the registry to results for clients only: the steps of a workflow use the whole response.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct, convert

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ClientCannotError, ToolError
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.states import (
    MAX_FAILURES,
    describe_state,
    find_member,
    is_same,
    is_temporary,
)

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.tools.tool import Handler
    from mcpgen.runtime.upstream.client import Environment


class Polling(Struct, frozen=True):
    """The `poll` of a tool's contract; `until` are the members that lead to the awaited one."""

    until: tuple[str, ...]
    values: tuple[Any, ...]
    interval_seconds: float
    timeout_seconds: float
    begins_task: bool = False

    async def call(
        self, handler: Handler, environment: Environment, ctx: Context, /, **keywords: Any
    ) -> Any:
        """Return the first response with an awaited value, or the last one after the timeout.

        Each response without an awaited value is reported to the client as progress, and a timeout
        to the model.
        """
        begun, failures = environment.clock(), 0
        while True:
            ctx.api.notes = ()  # notes about an earlier answer
            try:
                value = await handler(ctx, **keywords)
            except ToolError as error:
                failures += 1
                can_wait = self.begins_task and ctx.task.is_begun and is_temporary(error)
                if not can_wait or failures >= MAX_FAILURES:
                    raise
                ctx.task.report(f"The state is unknown: {error}")
                await environment.sleep(self.interval_seconds)
                continue
            failures = 0
            body = ctx.api.last_value if value is None else value
            found = find_member(self.until, body)
            if any(is_same(found, awaited) for awaited in self.values):
                return value
            waited = environment.clock() - begun
            state = describe_state(self.until, body)
            if self.begins_task and not ctx.is_nested and ctx.task.is_supported:
                await ctx.task.begin(state, poll_seconds=self.interval_seconds, job_state={})
                ctx.task.report(state)
                await environment.sleep(self.interval_seconds)
                continue  # until the time to live of the task is over
            if waited + self.interval_seconds > self.timeout_seconds:
                still = f"{state} still, after {waited:.0f} seconds. The same call waits on."
                ctx.api.notes = (*ctx.api.notes, still)
                return value
            ctx.report_progress(waited, self.timeout_seconds, state)
            await environment.sleep(self.interval_seconds)


_NOTHING_TO_FILL_IN: Final[JsonObject] = {"type": "object", "properties": {}}
_SHOWN_ARGUMENTS: Final = 1000  # characters


def apply_policies(
    handler: Handler, tool: str, entry: JsonObject, environment: Environment
) -> Handler:
    """Wrap a handler in the policies of its contract."""
    if "poll" in entry:
        polling = {**entry["poll"], "begins_task": "task" in entry}
        handler = partial(convert(polling, Polling).call, handler, environment)
    if "task" in entry:
        from mcpgen.runtime.tools.jobs import TaskPolicy  # few tools need it

        handler = partial(convert(entry, TaskPolicy).call, handler, tool, environment)
    if "confirm" in entry:
        handler = _add_confirmation(handler, tool, entry["confirm"])
    return handler


def _add_confirmation(handler: Handler, tool: str, question: str) -> Handler:
    """Ask the user for confirmation before anything is sent."""

    async def confirm_and_call(ctx: Context, **keywords: Any) -> Any:
        if ctx.task.resumed_state is not None:  # the user has agreed before
            return await handler(ctx, **keywords)
        text = encode_json(keywords).decode()
        rest = "…" if len(text) > _SHOWN_ARGUMENTS else ""
        message = f"{question}\n\n{tool} {text[:_SHOWN_ARGUMENTS]}{rest}"
        try:
            answer = await ctx.elicit(message, _NOTHING_TO_FILL_IN)
        except ClientCannotError as error:
            raise ClientCannotError(
                f"`{tool}` asks the user before it sends anything, and {error}. Nothing was sent.",
                error.required,
            ) from None
        if not answer.is_accepted:
            raise ToolError(
                f"The user was asked and did not agree ({answer.action}), so nothing was sent. "
                "Do not call again without asking why."
            )
        return await handler(ctx, **keywords)

    return confirm_and_call
