"""Compare HTTP clients with that of generated servers: accepted responses, and cost per request.

`python tests/benchmarks/http_clients.py` prints the table of docs/explanation/http-client.md for
the clients that are installed. Each one sends GET requests, one at a time, to a server on another
thread that answers as scripted. Cost is CPU time of the client's thread, with its share of the
event loop.
"""

from __future__ import annotations

import asyncio
import importlib.util
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

REQUESTS, ROUNDS = 500, 9
OK = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
STALE = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nstale"
HEAD = b"HTTP/1.1 200 OK\r\n"
AMBIGUOUS = {
    "two framings": HEAD + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "two lengths": HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "bare LF": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "folded line": HEAD + b"X: a\r\n b\r\nContent-Length: 2\r\n\r\n{}",
    "coding in HTTP/1.0": b"HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "unknown coding": HEAD + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
}
Get = Callable[[str], Awaitable[bytes]]


class Api:
    """A server on its own thread. Paths select its responses; it counts requests."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.requests = 0
        threading.Thread(target=self.loop.run_forever, daemon=True).start()
        starting = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(starting, self.loop).result(10)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests += 1
                path = head.split(b" ")[1].decode().strip("/").replace("%20", " ")
                if path == "reset" and self.requests > 1:
                    writer.transport.abort()
                    return
                writer.write(AMBIGUOUS.get(path.replace("_", " "), OK))
                if path == "unsolicited":
                    await asyncio.sleep(0.02)
                    writer.write(STALE)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def own() -> AsyncIterator[Get]:
    from mcpgen.runtime.upstream.http.messages import HttpRequest
    from mcpgen.runtime.upstream.http.sender import HttpSender

    sender = HttpSender("benchmark")

    async def get(url: str) -> bytes:
        return (await sender.send(HttpRequest("GET", url))).body

    yield get
    await sender.aclose()


@asynccontextmanager
async def aiohttp() -> AsyncIterator[Get]:
    import aiohttp

    async with aiohttp.ClientSession() as session:

        async def get(url: str) -> bytes:
            async with session.get(url) as response:
                return await response.read()

        yield get


@asynccontextmanager
async def httpcore() -> AsyncIterator[Get]:
    import httpcore

    async with httpcore.AsyncConnectionPool() as pool:

        async def get(url: str) -> bytes:
            content: bytes = (await pool.request("GET", url)).content
            return content

        yield get


@asynccontextmanager
async def aiosonic() -> AsyncIterator[Get]:
    import aiosonic

    async with aiosonic.HTTPClient() as client:

        async def get(url: str) -> bytes:
            content: bytes = await (await client.get(url)).content()
            return content

        yield get


@asynccontextmanager
async def niquests() -> AsyncIterator[Get]:
    import niquests

    async with niquests.AsyncSession() as session:

        async def get(url: str) -> bytes:
            return (await session.get(url)).content or b""

        yield get


@asynccontextmanager
async def pycurl() -> AsyncIterator[Get]:
    import pycurl

    curl = pycurl.Curl()

    async def get(url: str) -> bytes:
        content = bytearray()  # blocking: pycurl has no interface for asyncio
        curl.setopt(pycurl.URL, url)
        curl.setopt(pycurl.WRITEFUNCTION, content.extend)
        curl.setopt(pycurl.TIMEOUT, 5)
        curl.perform()
        return bytes(content)

    yield get
    curl.close()


CLIENTS: dict[str, Any] = {
    "own": own, "aiohttp": aiohttp, "httpcore": httpcore, "aiosonic": aiosonic,
    "niquests": niquests, "pycurl": pycurl,
}  # fmt: skip


async def stale_response(client: Any, api: Api) -> str:
    """Describe how the client handles a response that arrives while the connection is idle."""
    async with client() as get:
        await get(f"{api.url}unsolicited")
        await asyncio.sleep(0.1)
        try:
            return "taken" if await get(api.url) == b"stale" else "rejected"
        except Exception:  # noqa: BLE001  (each client has errors of its own)
            return "fails the next request"


async def accepted(client: Any, api: Api) -> list[str]:
    """Return the ambiguous responses that the client accepts."""
    taken = []
    for name in AMBIGUOUS:
        async with AsyncExitStack() as stack:
            get = await stack.enter_async_context(client())
            try:
                async with asyncio.timeout(3):
                    await get(f"{api.url}{name.replace(' ', '_')}")
            except Exception:  # noqa: BLE001  (each client has errors of its own)
                continue
            taken.append(name)
    return taken


async def requests_after_reset(client: Any, api: Api) -> int:
    """Return how often one GET arrives if a kept connection is reset on its next use."""
    async with client() as get:
        api.requests = 0
        await get(api.url)
        try:
            async with asyncio.timeout(3):
                await get(f"{api.url}reset")
        except Exception:  # noqa: BLE001  (each client has errors of its own)
            pass
        return api.requests - 1


async def cpu_microseconds(client: Any, api: Api) -> float:
    """Return the CPU time of one request on a kept connection, in the best of several rounds."""
    rounds = []
    async with client() as get:
        for _ in range(ROUNDS):
            start = time.thread_time()
            for _ in range(REQUESTS):
                await get(api.url)
            rounds.append((time.thread_time() - start) / REQUESTS * 1e6)
    return min(rounds)


def import_milliseconds(module: str) -> float:
    """Return the CPU time of importing a client after asyncio and ssl."""
    code = (
        "import asyncio, ssl, time, mcpgen.runtime.upstream.client; start = time.process_time(); "
        f"import {module}; print((time.process_time() - start) * 1000)"
    )
    command = [sys.executable, "-c", code]
    return min(float(subprocess.check_output(command, text=True)) for _ in range(5))


def main() -> None:
    """Print the table."""
    api = Api()
    print("| client | stale response | accepts | sends a GET | µs a request | ms to import |")
    print("|---|---|---|---|---|---|")
    for name, client in CLIENTS.items():
        module = "mcpgen.runtime.upstream.http.sender" if name == "own" else name
        if name != "own" and importlib.util.find_spec(name) is None:
            continue
        stale = asyncio.run(stale_response(client, api))
        taken = ", ".join(asyncio.run(accepted(client, api))) or "none"
        sent = asyncio.run(requests_after_reset(client, api))
        cost = asyncio.run(cpu_microseconds(client, api))
        print(
            f"| {name} | {stale} | {taken} | {sent} times "
            f"| {cost:.0f} | {import_milliseconds(module):.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
