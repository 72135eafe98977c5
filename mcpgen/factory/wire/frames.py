"""Frames: what went over the wire, in order, with the bytes and the decoded message."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from mcpgen.jsonschema.types import JsonObject

MAX_FRAMES: Final = 5000  # of one recording; later ones are used but not stored
MAX_FRAME_BYTES: Final = 16 * 1024 * 1024
_MAX_SHOWN: Final = 1500  # characters of a frame in evidence
_MIN_SECRET: Final = 4

Direction = Literal["sent", "received"]


@dataclass(frozen=True, slots=True)
class HttpHead:
    """The head of an HTTP request or response; names of headers are in lower case."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...] = ()
    status: int = 0  # 0: this is a request

    def header(self, name: str) -> str | None:
        """Return the value of the first header with this name."""
        return next((value for key, value in self.headers if key == name.lower()), None)


@dataclass(eq=False, slots=True)
class Frame:
    """One message, or one HTTP response without a message.

    `message` is None if `raw` is not JSON; `fault` states why. For a received frame, `request` is
    the sent frame that it answers or, over HTTP, the one on whose response it arrived.
    """

    direction: Direction
    seconds: float  # since the recording began
    raw: bytes
    message: Any = None
    fault: str = ""
    request: Frame | None = None
    revision: str = ""
    connection: int = 0  # number of the connection, from 1
    http: HttpHead | None = None
    event: str | None = None  # over HTTP+SSE, the name of the event

    @property
    def is_received(self) -> bool:
        """Whether the server sent it."""
        return self.direction == "received"

    @property
    def body(self) -> JsonObject:
        """The message if it is an object, else {}."""
        return self.message if isinstance(self.message, dict) else {}

    @property
    def method(self) -> str:
        """The method of a request or notification; "" for others."""
        method = self.body.get("method")
        return method if isinstance(method, str) else ""

    @property
    def is_response(self) -> bool:
        """Whether it is a result or an error."""
        return "method" not in self.body and ("result" in self.body or "error" in self.body)

    @property
    def answered_method(self) -> str:
        """The method of the request that this response answers; "" if unknown."""
        return self.request.method if self.request is not None and self.is_response else ""


def decode(raw: bytes) -> tuple[Any, str]:
    """Return the JSON value of a frame, and "" or the reason why it has none."""
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return None, f"not UTF-8 at byte {error.start}"
    try:
        return json.loads(text, parse_constant=_reject_constant), ""
    except ValueError as error:
        return None, f"not JSON: {error}"
    except RecursionError:
        return None, "nested too deeply to decode"


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def iterate_messages(frame: Frame) -> Iterator[JsonObject]:
    """Yield the JSON-RPC messages of a frame: one, or those of a batch."""
    found = frame.message if isinstance(frame.message, list) else [frame.message]
    yield from (message for message in found if isinstance(message, dict))


@dataclass(slots=True)
class Recording:
    """All frames of a run, bounded, and the secrets that evidence must not show."""

    secrets: Sequence[str] = ()
    clock: Callable[[], float] = time.monotonic
    frames: list[Frame] = field(default_factory=list)
    connections: int = 0
    unanswered: int = 0  # requests in a row without a response in time
    _began: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        self._began = self.clock()

    def next_connection(self) -> int:
        """Return the number of a new connection."""
        self.connections += 1
        return self.connections

    def add(self, frame: Frame) -> Frame:
        """Store a frame, as long as there is room."""
        frame.seconds = self.clock() - self._began
        if len(self.frames) < MAX_FRAMES:
            self.frames.append(frame)
        return frame

    def evidence(self, frames: Sequence[Frame]) -> list[JsonObject]:
        """Return frames as JSON for a report: shortened, without secrets."""
        return [self._show(frame) for frame in frames]

    def _show(self, frame: Frame) -> JsonObject:
        text = self.redact(frame.raw.decode("utf-8", "backslashreplace"))
        shown: JsonObject = {
            "direction": frame.direction,
            "seconds": round(frame.seconds, 3),
            "text": text[:_MAX_SHOWN] + ("…" if len(text) > _MAX_SHOWN else ""),
        }
        if frame.http is not None:
            shown["http"] = self._show_head(frame.http)
        return shown

    def _show_head(self, head: HttpHead) -> JsonObject:
        shown: JsonObject = {"method": head.method, "url": self.redact(head.url)}
        if head.status:
            shown["status"] = head.status
        return {**shown, "headers": [[name, self.redact(text)] for name, text in head.headers]}

    def redact(self, text: str) -> str:
        """Replace secrets by `***`, also in their JSON spelling."""
        forms = {each for it in self.secrets for each in (it, json.dumps(it)[1:-1])}
        for secret in sorted(forms, key=len, reverse=True):
            if len(secret) >= _MIN_SECRET:
                text = text.replace(secret, "***")
        return text


def as_headers(
    headers: Mapping[str, str] | Sequence[tuple[str, str]],
) -> tuple[tuple[str, str], ...]:
    """Return headers for a `HttpHead`."""
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return tuple((str(name).lower(), str(value)) for name, value in pairs)
