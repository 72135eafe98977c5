"""Result policies of a tool: `poll` and `confirm` of its contract's `shaping`.

Its `result` applies only to the results that clients receive: the steps of a workflow use the
whole response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from msgspec import convert

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ClientCannotError, ToolError
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.tools.polling import Polling

if TYPE_CHECKING:
    from mcpgen.runtime.handlers.context import Context
    from mcpgen.runtime.tools.tool import Handler
    from mcpgen.runtime.upstream.environment import Environment

_NOTHING_TO_FILL_IN: Final[JsonObject] = {"type": "object", "properties": {}}
_SHOWN_ARGUMENTS: Final = 1000  # characters


def apply_policies(
    handler: Handler, tool: str, entry: JsonObject, environment: Environment
) -> Handler:
    """Wrap a handler in the policies of its contract."""
    if "poll" in entry:
        handler = _add_polling(handler, convert(entry["poll"], Polling), environment)
    if "confirm" in entry:
        handler = _add_confirmation(handler, tool, entry["confirm"])
    return handler


def _add_confirmation(handler: Handler, tool: str, question: str) -> Handler:
    """Ask the user for confirmation before anything is sent."""

    async def confirm_and_call(ctx: Context, **keywords: Any) -> Any:
        message = f"{question}\n\n{_describe_call(tool, keywords)}"
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


def _describe_call(tool: str, keywords: JsonObject) -> str:
    """Describe a call for the user."""
    text = encode_json(keywords).decode()
    rest = "…" if len(text) > _SHOWN_ARGUMENTS else ""
    return f"{tool} {text[:_SHOWN_ARGUMENTS]}{rest}"


def _add_polling(handler: Handler, polling: Polling, environment: Environment) -> Handler:
    async def poll(ctx: Context, **keywords: Any) -> Any:
        return await polling.wait(ctx, lambda: handler(ctx, **keywords), environment)

    return poll
