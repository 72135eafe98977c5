"""Faults over HTTP: disconnects, slow clients, leaks in error pages."""

import asyncio
import json

from tests.validate.servers.http import HttpConnection, HttpServer, Reply, close


class Reading(HttpServer):
    """Base of servers with a fault in reading requests."""

    is_broken = False

    async def accept(self, reader, writer):
        try:
            if self.is_broken:
                await asyncio.sleep(60)
            await super().accept(reader, writer)
        except asyncio.CancelledError:
            return
        finally:
            await close(writer)


class StopsAfterHalfBody(Reading):
    """Serves nobody any more after a client closed its connection within a body."""

    async def accept(self, reader, writer):
        connection = HttpConnection(reader, writer)
        try:
            if self.is_broken:
                await asyncio.sleep(60)
            request = await connection.read()
            if request is not None:
                await self.handle(request, connection)
        except asyncio.IncompleteReadError:
            self.is_broken = True
        except (ConnectionError, ValueError, asyncio.CancelledError):
            return
        finally:
            await close(writer)


class StopsAfterDisconnect(Reading):
    """Serves nobody any more after a client did not wait for its response."""

    async def handle(self, request, connection):
        await super().handle(request, connection)
        self.is_broken = self.is_broken or connection.is_closed


class ServesOneByOne(HttpServer):
    """Reads one request after the other."""

    def __init__(self):
        super().__init__()
        self.lock = asyncio.Lock()

    async def accept(self, reader, writer):
        try:
            async with self.lock:
                await super().accept(reader, writer)
        finally:
            await close(writer)


class TracebackPage(HttpServer):
    """Answers what is not JSON with a stack trace."""

    async def post(self, request, connection):
        try:
            json.loads(request.body)
        except (ValueError, RecursionError):
            page = (
                'Traceback (most recent call last):\n  File "/srv/app/server.py", line 7, in post\n'
                "ValueError: not JSON\n"
            )
            return Reply(400, page.encode(), "text/plain")
        return await super().post(request, connection)


class FailsAtInvalidJson(HttpServer):
    """Answers what is not JSON with HTTP 500."""

    async def post(self, request, connection):
        try:
            json.loads(request.body)
        except (ValueError, RecursionError):
            return Reply(500)
        return await super().post(request, connection)
