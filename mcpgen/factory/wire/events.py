"""Server-sent events of an HTTP response (WHATWG HTML, "Server-sent events")."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from mcpgen.factory.wire.frames import MAX_FRAME_BYTES, Frame

if TYPE_CHECKING:
    from aiohttp import ClientResponse


@dataclass(eq=False, slots=True)
class Event:
    """One event. `frame` is the message in its data, None if the data is empty."""

    name: str = "message"
    id: str | None = None
    retry: str | None = None
    lines: list[str] = field(default_factory=list)
    frame: Frame | None = None

    @property
    def data(self) -> str:
        """The data, lines joined."""
        return "\n".join(self.lines)


async def read_events(response: ClientResponse) -> AsyncIterator[Event]:
    """Yield each event of a stream, also one that has only an id."""
    event: Event | None = None
    rest = b""
    async for chunk in response.content.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        if len(rest) > MAX_FRAME_BYTES:
            return
        for line in lines:
            text = line.rstrip(b"\r").decode("utf-8", "replace").removeprefix("\ufeff")
            if text:
                event = _add_line(event, text)
            elif event is not None:
                yield event
                event = None


def _add_line(event: Event | None, text: str) -> Event | None:
    name, _, value = text.partition(":")
    value = value.removeprefix(" ")
    if name not in {"event", "data", "id", "retry"}:
        return event
    event = event or Event()
    if name == "event":
        event.name = value
    elif name == "data":
        event.lines.append(value)
    elif name == "id":
        event.id = value
    else:
        event.retry = value
    return event
