"""The API behind proxies: answers every request with the same 12 bytes: `rest_api.py PORT`.

It parses requests only to find their end.
"""

import asyncio
import sys

ANSWER = (
    b'HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 12\r\n\r\n{"id": 1234}'
)


class Api(asyncio.Protocol):
    """One connection; requests have no body, so an empty line ends each."""

    def connection_made(self, transport):
        self.transport = transport
        self.unread = b""

    def data_received(self, data):
        *requests, self.unread = (self.unread + data).split(b"\r\n\r\n")
        self.transport.write(ANSWER * len(requests))


async def serve(port):
    """Serve until the process is killed."""
    server = await asyncio.get_running_loop().create_server(Api, "127.0.0.1", port)
    await server.serve_forever()


asyncio.run(serve(int(sys.argv[1])))
