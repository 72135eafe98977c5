"""What the manifest has done around a handler: `poll` and `confirm` of a contract's `shaping`.

Its `result` is for what clients are given alone: the steps of a workflow see all of a response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ClientCannotError, ToolError
from mcpgen.runtime.polling import Polling
from mcpgen.runtime.protocol.jsonrpc import encode_json

if TYPE_CHECKING:
    from mcpgen.runtime.context import Context
    from mcpgen.runtime.tools import Handler
    from mcpgen.runtime.upstream.client import Surroundings

_NOTHING_TO_FILL_IN: Final[JsonObject] = {"type": "object", "properties": {}}
_SHOWN_ARGUMENTS: Final = 1000  # characters


def shaped(handler: Handler, tool: str, entry: JsonObject, around: Surroundings) -> Handler:
    """The handler with what its contract says done around it; time passes as `around` has it."""
    if "poll" in entry:
        handler = _polled(handler, Polling.from_json(entry["poll"]), around)
    if "confirm" in entry:
        handler = _confirmed(handler, tool, entry["confirm"])
    return handler


def _confirmed(handler: Handler, tool: str, question: str) -> Handler:
    """Ask the user before anything is sent."""

    async def confirmed(ctx: Context, **keywords: Any) -> Any:
        message = f"{question}\n\n{_shown(tool, keywords)}"
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

    return confirmed


def _shown(tool: str, keywords: JsonObject) -> str:
    """A call as its user sees it."""
    text = encode_json(keywords).decode()
    rest = "…" if len(text) > _SHOWN_ARGUMENTS else ""
    return f"{tool} {text[:_SHOWN_ARGUMENTS]}{rest}"


def _polled(handler: Handler, polling: Polling, around: Surroundings) -> Handler:
    async def polled(ctx: Context, **keywords: Any) -> Any:
        return await polling.wait(ctx, lambda: handler(ctx, **keywords), around)

    return polled
