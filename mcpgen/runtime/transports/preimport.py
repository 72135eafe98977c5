"""Import the modules that calls need while the client is idle, so that the first call is fast."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

IDLE_MS: Final = 100  # a client that sends nothing for so long is idle

CALL_MODULES: Final = (
    # Dependencies first, in small steps, since input and its end wait for the import that runs.
    "logging",
    "ssl",
    "asyncio",
    "uvloop",
    "dataclasses",
    "typing_extensions",
    "msgspec.json",
    "jsonschema_rs",
    "mcpgen.runtime.transports.stdio.loop",
    "mcpgen.jsonschema.validation",
    "mcpgen.runtime.tools.results",
    "mcpgen.runtime.upstream.client",
    "mcpgen.runtime.upstream.http.connecting",
    "mcpgen.runtime.upstream.http.exchange",
    "mcpgen.runtime.upstream.http.sender",
    "mcpgen.runtime.tools.registry",
)


def import_while_idle(fd: int, names: Iterator[str]) -> None:
    """Import the next modules of `names` until `fd` has input.

    A module that is not installed is skipped: the call that needs it reports that.
    """
    import select  # after the first answer was sent

    if not hasattr(select, "poll"):  # Windows, where pipes cannot be polled
        return
    readable = select.poll()
    readable.register(fd, select.POLLIN)
    if readable.poll(IDLE_MS):
        return
    for name in names:
        try:
            import_module(name)
        except ImportError:
            continue
        if readable.poll(0):
            return
