"""Common parts of all transports: pending requests, dispatch of received frames, and waiting."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from mcpgen.factory.wire.events import Event
from mcpgen.factory.wire.frames import Frame, HttpHead, Recording, decode, iterate_messages
from mcpgen.jsonschema.types import JsonObject

Answerer = Callable[[JsonObject], JsonObject | None]
"""Returns the response to a request of the server; None leaves it unanswered."""


class UnreachableError(Exception):
    """The server cannot be started or connected to."""


class ConnectionLostError(Exception):
    """The server closed the connection or exited."""


class UnauthorizedError(Exception):
    """The server requires credentials (HTTP 401 or 403)."""


class Pending:
    """A sent message and its response to come.

    `head` is the head of the HTTP response; None over stdio, and until it has arrived.
    """

    def __init__(self, request: Frame, response: asyncio.Future[Frame | None]) -> None:
        self.request = request
        self.head: HttpHead | None = None
        self.body: bytes = b""  # of an HTTP response that is not an event stream
        self.bare: Frame | None = None  # an HTTP response whose body is not the response
        self.stream: asyncio.Task[None] | None = None  # reads the HTTP response
        self.events: list[Event] = []  # of an HTTP response that is an event stream
        self.resumed = 0  # how often the stream was resumed
        self.is_replay = False  # its messages were received before, and are not recorded again
        self._response = response

    async def response(self, timeout_seconds: float) -> Frame | None:
        """Wait for the response; None if there is none in time."""
        await asyncio.wait([self._response], timeout=timeout_seconds)
        return self._response.result() if self._response.done() else None

    @property
    def is_answered(self) -> bool:
        """Whether the response has arrived, or cannot arrive any more."""
        return self._response.done()

    async def end(self, timeout_seconds: float) -> bool:
        """Wait until the HTTP response has ended; return False if it has not in time."""
        if self.stream is None:
            return True
        done, _ = await asyncio.wait([self.stream], timeout=timeout_seconds)
        return bool(done)

    def abandon(self) -> None:
        """Close the HTTP response without waiting for its end."""
        if self.stream is not None:
            self.stream.cancel()

    def resolve(self, frame: Frame | None) -> None:
        """Set the response; None means that there will be none."""
        if not self._response.done():
            self._response.set_result(frame)


class Connection:
    """A connection of one transport. Subclasses write messages and call `receive`."""

    transport: ClassVar[str] = ""

    def __init__(self, recording: Recording, revision: str) -> None:
        self.recording = recording
        self.revision = revision
        self.number = recording.next_connection()
        self.received: list[Frame] = []
        self.answer: Answerer | None = None
        self.lost: str = ""  # why the connection is unusable
        self._pending: dict[tuple[str, str], Pending] = {}
        self._arrived = asyncio.Event()
        self._answers: set[asyncio.Task[Any]] = set()

    async def start(
        self,
        message: Any,
        headers: Mapping[str, str] | None = None,
    ) -> Pending:
        """Send a message (bytes unchanged, else as JSON) and return without waiting for a response.

        Raises:
            ConnectionLostError: the connection is closed.
        """
        raise NotImplementedError

    async def close(self) -> None:
        """Close the connection and release what belongs to it."""
        raise NotImplementedError

    async def wait_for(
        self, accepts: Callable[[Frame], bool], timeout_seconds: float, since: int = 0
    ) -> Frame | None:
        """Return the first received frame from index `since` on that is accepted; None if none."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout_seconds
        while True:
            for frame in self.received[since:]:
                if accepts(frame):
                    return frame
            since = len(self.received)
            if self.lost and not self._pending:
                return None
            self._arrived.clear()
            try:
                async with asyncio.timeout_at(deadline):
                    await self._arrived.wait()
            except TimeoutError:
                return None

    def make_pending(self, message: Any, raw: bytes, http: HttpHead | None = None) -> Pending:
        """Record a sent message and register the wait for its response."""
        decoded = decode(raw)[0] if isinstance(message, bytes) else message
        frame = Frame(
            "sent", 0.0, raw, decoded, revision=self.revision, connection=self.number, http=http
        )
        self.recording.add(frame)
        future: asyncio.Future[Frame | None] = asyncio.get_running_loop().create_future()
        pending = Pending(frame, future)
        for each in iterate_messages(frame):
            if "method" in each and "id" in each:
                self._pending[_key(each["id"])] = pending
        return pending

    def receive(
        self, raw: bytes, *, http: HttpHead | None = None, stream: Pending | None = None
    ) -> Frame:
        """Record a received frame, resolve the request that it answers, and answer requests."""
        message, fault = decode(raw)
        frame = Frame(
            "received",
            0.0,
            raw,
            message,
            fault,
            stream.request if stream is not None else None,
            self.revision,
            self.number,
            http,
        )
        self.recording.add(frame)
        self.received.append(frame)
        for each in iterate_messages(frame):
            self._handle(frame, each)
        self._arrived.set()
        return frame

    def lose(self, reason: str) -> None:
        """Mark the connection as unusable and end all waits."""
        self.lost = self.lost or reason
        for pending in self._pending.values():
            pending.resolve(None)
        self._pending.clear()
        self._arrived.set()

    def _handle(self, frame: Frame, message: JsonObject) -> None:
        if "method" in message:
            if "id" in message and self.answer is not None:
                reply = self.answer(message)
                if reply is not None:
                    task = asyncio.create_task(self._send_answer(reply))
                    self._answers.add(task)
                    task.add_done_callback(self._answers.discard)
            return
        if "id" in message and (pending := self._pending.pop(_key(message["id"]), None)):
            frame.request = pending.request
            pending.resolve(frame)

    async def _send_answer(self, reply: JsonObject) -> None:
        try:
            await self.start(reply)
        except ConnectionLostError:
            return

    async def stop_answers(self) -> None:
        """Cancel answers that are still being sent."""
        for task in tuple(self._answers):
            task.cancel()
        await asyncio.gather(*self._answers, return_exceptions=True)


def encode(message: Any) -> bytes:
    """Return the bytes of a message; bytes stay as they are."""
    if isinstance(message, bytes):
        return message
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # an id or name of the server that is not Unicode
        return json.dumps(message, separators=(",", ":")).encode()


def _key(request_id: Any) -> tuple[str, str]:
    """Return a key of an id that keeps `1`, `"1"` and `1.0` apart."""
    return type(request_id).__name__, json.dumps(request_id)
