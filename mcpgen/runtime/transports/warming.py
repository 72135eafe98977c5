"""Imports what calls need while nobody waits, so that the first call does not pay for it."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

IDLE_MS: Final = 100  # a client that says nothing for so long is thinking

# In small steps, since input and its end wait for the one that runs. aiohttp is left out: it
# would be a step of a tenth of a second, and comes with the first request to the API.
_MODULES: Final = (
    "logging",
    "ssl",
    "asyncio",
    "uvloop",
    "dataclasses",
    "typing_extensions",
    "msgspec.json",
    "email.utils",
    "jsonschema_rs",
    "mcpgen.runtime.transports.stdio_loop",
    "mcpgen.runtime.validation",
    "mcpgen.runtime.results",
    "mcpgen.runtime.upstream.client",
    "mcpgen.runtime.tools",
)


def modules_of_calls() -> Iterator[str]:
    """Name what a call imports, what it builds on first."""
    return iter(_MODULES)


def import_while_idle(fd: int, names: Iterator[str]) -> None:
    """Import the next of the modules for as long as there is nothing to read.

    What is not installed is left for the call that needs it to tell.
    """
    import select  # after the first answer was given

    if not hasattr(select, "poll"):  # Windows, whose pipes cannot be asked
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
