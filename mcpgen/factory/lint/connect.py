"""The listing of a running server, over the raw client."""

from __future__ import annotations

import asyncio
from typing import Final

from mcpgen.factory.lint.listing import Listing
from mcpgen.factory.lint.load import make_listing
from mcpgen.factory.wire.connection import ConnectionLostError
from mcpgen.factory.wire.opening import open_connection
from mcpgen.factory.wire.session import MODERN, Reply, Session
from mcpgen.factory.wire.targets import Target
from mcpgen.jsonschema.types import JsonObject, JsonValue

_START_SECONDS: Final = 30.0
_ALL_SECONDS: Final = 120.0
_LEGACY: Final = "2025-11-25"


class NoListingError(Exception):
    """A server that does not list its tools; the message states its answer."""


async def fetch_listing(target: Target) -> Listing:
    """Start or contact a server, and list its tools, prompts and resources.

    Raises:
        NoListingError: the server does not answer, or not with tools.
        UnreachableError: it cannot be started or reached.
        UnauthorizedError: it requires credentials.
        ConnectionLostError: the connection broke.
    """
    try:
        async with asyncio.timeout(_ALL_SECONDS):
            return await _fetch_listing(target)
    except TimeoutError:
        raise NoListingError(f"the server did not answer within {_ALL_SECONDS:g} s") from None


async def _fetch_listing(target: Target) -> Listing:
    trouble = ""
    for revision in (_LEGACY, MODERN):
        session = Session(
            await open_connection(target, revision), revision, timeout_seconds=_START_SECONDS
        )
        try:
            is_modern = session.is_modern
            reply = await (session.request("server/discover") if is_modern else session.open())
            if reply.result is not None:
                return await _list_everything(session, reply.result)
            trouble = trouble or _describe(reply)
        except ConnectionLostError:
            if session.is_modern:
                raise
        finally:
            await session.connection.close()
    raise NoListingError(trouble or "the server closed the connection")


async def _list_everything(session: Session, handshake: JsonObject) -> Listing:
    declared = handshake.get("capabilities")
    capabilities = declared if isinstance(declared, dict) else {}
    tools, replies = await session.list_all("tools/list", "tools")
    if replies[0].result is None:
        raise NoListingError(f"tools/list: {_describe(replies[0])}")
    lists: dict[str, list[JsonValue]] = {"prompts": [], "resources": []}
    for kind in lists:
        if kind in capabilities:
            lists[kind], _ = await session.list_all(f"{kind}/list", kind)
    server = handshake.get("serverInfo")
    return make_listing(
        server if isinstance(server, dict) else {},
        tools,
        instructions=handshake.get("instructions"),
        prompts=lists["prompts"],
        resources=lists["resources"],
    )


def _describe(reply: Reply) -> str:
    if reply.error is not None:
        return f"the server answered with the error {reply.error.get('message')!r}"
    return "the server did not answer" if reply.response is None else "the answer has no result"
