"""Errors of Pavilion Desk, which sends them with status 200."""

from collections.abc import Mapping
from typing import Any

from mcpgen.runtime import Context, ToolError, after

METHODS = (
    *("auth.test", "comments.add", "comments.list", "presence.set", "queues.list", "queues.stats"),
    *("tickets.assign", "tickets.close", "tickets.create", "tickets.get", "tickets.list"),
    *("tickets.merge", "tickets.search", "tickets.update", "users.list", "users.lookupByEmail"),
)
ADVICE = {
    "already_closed": "the ticket is closed already; only its requester can open it again",
    "invalid_auth": "the token does not work any more: the operator of this server has to set another one",
    "missing_scope": "the token lacks a right (`show_identity` lists those that it has): the operator has to add it",
    "not_in_queue": "the colleague does not answer this queue: `list_colleagues` has those who do",
    "ratelimited": "too many calls: wait a minute, then call again",
    "ticket_not_found": "there is no such ticket, or the token may not see it: use `search_tickets`",
    "user_not_found": "no colleague has this id or address: use `list_colleagues`",
}


@after(*(f"POST /{method}" for method in METHODS))
async def raise_error(ctx: Context, result: Any) -> Any:
    """Let a call fail whose response has `ok: false`.

    Without this, a model reads a response with the status 200 and says that it is done.
    """
    if isinstance(result, Mapping) and result.get("ok") is False:
        code = str(result.get("error") or "unknown_error")
        raise ToolError(f"Pavilion Desk answered `{code}`: {ADVICE.get(code, 'nothing was done')}")
    return result
