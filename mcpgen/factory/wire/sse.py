"""Connections over HTTP+SSE (2024-11-05): posts to one endpoint, responses on one event stream."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping
from typing import ClassVar
from urllib.parse import urljoin, urlsplit

from mcpgen.factory.wire.connection import Connection, ConnectionLostError, Pending, encode
from mcpgen.factory.wire.events import Event, read_events
from mcpgen.factory.wire.frames import MAX_FRAME_BYTES, HttpHead, Recording, as_headers
from mcpgen.factory.wire.http import head_of, make_client
from mcpgen.factory.wire.targets import Target

_ENDPOINT_SECONDS = 15.0
_POST_SECONDS = 15.0


class SseConnection(Connection):
    """A stream of messages and the endpoint to post to, which its first event names."""

    transport: ClassVar[str] = "sse"

    def __init__(self, target: Target, recording: Recording, revision: str) -> None:
        super().__init__(recording, revision)
        self.url = target.url
        self.headers = dict(target.headers)
        self.endpoint = ""  # the URL to post to
        self.head: HttpHead | None = None  # of the stream
        self.events: list[Event] = []
        self.ready = asyncio.Event()  # the endpoint is known, or will not be
        self.posts: list[Pending] = []
        self._client = make_client()
        self._reading: asyncio.Task[None] | None = None

    @classmethod
    async def open(cls, target: Target, recording: Recording, revision: str) -> SseConnection:
        """Open the stream and wait for the endpoint.

        The connection is lost from the beginning if the stream names no endpoint in time.
        """
        connection = cls(target, recording, revision)
        connection._reading = asyncio.create_task(connection._read())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_ENDPOINT_SECONDS):
                await connection.ready.wait()
        if not connection.endpoint:
            connection.lose(f"{target.url} sent no `endpoint` event")
        return connection

    async def start(self, message: object, headers: Mapping[str, str] | None = None) -> Pending:
        """Post a message and return when the response to the POST has arrived."""
        from aiohttp import ClientError

        if self.lost:
            raise ConnectionLostError(self.lost)
        sent = self.post_headers() if headers is None else dict(headers)
        raw = encode(message)
        pending = self.make_pending(message, raw, HttpHead("POST", self.endpoint, as_headers(sent)))
        self.posts.append(pending)
        try:
            async with (
                asyncio.timeout(_POST_SECONDS),
                self._client.post(
                    self.endpoint, data=raw, headers=sent, allow_redirects=False
                ) as response,
            ):
                pending.head = head_of(response)
                pending.body = await response.content.read(MAX_FRAME_BYTES)
        except (ClientError, OSError, TimeoutError) as error:
            reason = f"cannot post to {self.endpoint}: {error or 'no HTTP response in time'}"
            raise ConnectionLostError(reason) from None
        if pending.head.status >= 400:
            pending.resolve(None)
        return pending

    async def fetch_status(self, headers: Mapping[str, str]) -> int:
        """Return the status of a GET for another stream with additional headers.

        Raises:
            ConnectionLostError: there is no HTTP response.
        """
        from aiohttp import ClientError

        sent = {"Accept": "text/event-stream", **self.headers, **headers}
        try:
            async with (
                asyncio.timeout(_POST_SECONDS),
                self._client.get(self.url, headers=sent, allow_redirects=False) as response,
            ):
                return response.status
        except (ClientError, OSError, TimeoutError) as error:
            raise ConnectionLostError(f"GET {self.url}: {error or 'no response'}") from None

    def post_headers(self) -> dict[str, str]:
        """Return the headers of a POST."""
        return {"Content-Type": "application/json", **self.headers}

    async def close(self) -> None:
        """Close the stream, which ends the session."""
        await self.stop_answers()
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)
        await self._client.close()
        self.lose("the connection is closed")

    async def _read(self) -> None:
        from aiohttp import ClientError

        sent = {"Accept": "text/event-stream", **self.headers}
        try:
            async with self._client.get(self.url, headers=sent, allow_redirects=False) as response:
                self.head = head_of(response)
                if response.content_type != "text/event-stream":
                    self.lose(f"{self.url} answers HTTP {response.status} without an event stream")
                    return
                async for event in read_events(response):
                    self._handle_event(event)
            self.lose("the server closed the event stream")
        except (ClientError, OSError) as error:
            self.lose(f"cannot read events of {self.url}: {error}")
        finally:
            self.ready.set()

    def _handle_event(self, event: Event) -> None:
        self.events.append(event)
        if event.name == "endpoint" and not self.endpoint:
            found = urljoin(self.url, event.data.strip())
            # Credentials are not sent to another server, whatever URL the event contains.
            if urlsplit(found)[:2] == urlsplit(self.url)[:2]:
                self.endpoint = found
            else:
                self.lose(f"the endpoint is on another server: {found}")
            self.ready.set()
        elif event.name != "endpoint" and event.data:
            event.frame = self.receive(event.data.encode(), http=self.head)
            event.frame.event = event.name
