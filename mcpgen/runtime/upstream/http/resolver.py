"""Name resolution on daemon threads: a hung lookup delays neither other lookups nor the exit."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import socket
import threading
from typing import Final

from mcpgen.runtime.upstream.errors import ConnectError

MAX_LOOKUPS: Final = 16  # of different hosts at once; each may occupy a thread until it ends


class Resolver:
    """Resolver of host names. Concurrent callers for one host share a lookup."""

    def __init__(self) -> None:
        self._lookups: dict[str, asyncio.Future[tuple[str, ...]]] = {}

    async def find_addresses(self, host: str) -> tuple[str, ...]:
        """Return the addresses of a host, in the order of the system's preference.

        Raises:
            ConnectError: the host has no address, or too many other hosts are being looked up.
        """
        with contextlib.suppress(ValueError):
            return (str(ipaddress.ip_address(host)),)
        lookup = self._lookups.get(host) or self._look_up(host)
        try:
            # Cancel only this wait: other callers may wait for the same lookup.
            return await asyncio.shield(lookup)
        except (OSError, UnicodeError):  # the latter for a label that is too long
            raise ConnectError("could not be sent: unknown host name of the API.") from None

    def _look_up(self, host: str) -> asyncio.Future[tuple[str, ...]]:
        if len(self._lookups) >= MAX_LOOKUPS:
            raise ConnectError("could not be sent: too many host names are being resolved.")
        loop = asyncio.get_running_loop()
        lookup = self._lookups[host] = loop.create_future()

        def finish(found: tuple[str, ...], error: Exception | None) -> None:
            del self._lookups[host]
            if error is None:
                lookup.set_result(found)
            else:
                lookup.set_exception(error)
                lookup.exception()  # marks it as retrieved: no caller may wait any more

        def run() -> None:
            found: tuple[str, ...] = ()
            failure: Exception | None = None
            try:
                infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
                found = tuple(dict.fromkeys(str(info[4][0]) for info in infos))
            except (OSError, UnicodeError) as error:
                failure = error
            with contextlib.suppress(RuntimeError):  # the event loop was closed meanwhile
                loop.call_soon_threadsafe(finish, found, failure)

        threading.Thread(target=run, name="mcpgen-resolver", daemon=True).start()
        return lookup
