"""Renewal of tokens of callers: once, whatever the number of calls and replicas that need it."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from mcpgen.runtime.errors import StoreUnavailableError, ToolError
from mcpgen.runtime.state.store import Store

RENEWAL_SECONDS: Final = 10.0  # for one token request
LOCK_SECONDS: Final = 30.0  # longer than a request and its storage in a slow store take
POLL_SECONDS: Final = 0.05  # while another process renews

Sleep = Callable[[float], Awaitable[None]]
T = TypeVar("T")


async def renew_once(
    store: Store,
    lock: str,
    *,
    find: Callable[[], Awaitable[T | None]],
    renew: Callable[[], Awaitable[T]],
    sleep: Sleep = asyncio.sleep,
) -> T:
    """Return renewed tokens, from `renew` or from the process that has the lock in the store.

    `find` returns the tokens of another process, or None while they are not renewed. A process that
    dies has the lock for `LOCK_SECONDS`.

    Raises:
        StoreUnavailableError: the store does not answer; nothing was renewed.
    """
    holder = secrets.token_hex(16).encode()
    while not await store.add(lock, holder, LOCK_SECONDS):
        await sleep(POLL_SECONDS)
        if (found := await find()) is not None:
            return found
    try:
        found = await find()  # renewed before this process got the lock
        return await renew() if found is None else found
    finally:
        with contextlib.suppress(StoreUnavailableError):  # the lock expires
            await store.delete_if(lock, holder)


async def limit_time(request: Awaitable[T]) -> T:
    """Wait for a token request, at most `RENEWAL_SECONDS`.

    Raises:
        ToolError: the authorization server did not answer in time.
    """
    try:
        async with asyncio.timeout(RENEWAL_SECONDS):
            return await request
    except TimeoutError:
        raise ToolError(
            f"The authorization server did not answer within {RENEWAL_SECONDS:g} seconds."
        ) from None
