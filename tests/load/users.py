"""Users of a load run: each checks that every response belongs to its own request."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

import aiohttp

from tests.load.api import hash_key
from tests.support.attack.documents import HEALTHY_TOOL
from tests.support.attack.server import BYSTANDER_ADDRESS
from tests.support.http_server import LEGACY, MODERN
from tests.support.stdio_process import META, initialize

TIMEOUT_SECONDS: Final = 30.0
FACTOR: Final = 1.05  # between two classes of latencies
_LEAST_SECONDS: Final = 1e-4
_USUAL: Final = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
}


class WrongResponseError(Exception):
    """A response that does not belong to its request."""


class RefusedError(Exception):
    """The server rejected or failed a request; the message is the kind of error."""


@dataclass
class Figures:
    """Counts of a run, in constant memory."""

    responses: int = 0
    wrong: list[str] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)
    latencies: Counter[int] = field(default_factory=Counter)
    """Counts by class: class N ends at `FACTOR` to the power of N, times 0.1 ms."""

    def add(self, seconds: float) -> None:
        """Count a correct response."""
        self.responses += 1
        number, limit = 0, _LEAST_SECONDS
        while limit < seconds:
            number, limit = number + 1, limit * FACTOR
        self.latencies[number] += 1

    def percentile_ms(self, share: float) -> float:
        """Return the latency that this share of the responses did not exceed."""
        wanted, seen = share * self.responses, 0
        for number in sorted(self.latencies):
            seen += self.latencies[number]
            if seen >= wanted:
                return float(_LEAST_SECONDS * FACTOR**number * 1000)
        return 0.0


@dataclass
class User:
    """A client with its own revision, session, token and key."""

    number: int
    headers: dict[str, str]  # its credentials
    key: str  # that the API must receive
    choose_replica: Callable[[int], str]
    """Function that returns the URL for a request: the next replica, or the user's own."""
    figures: Figures
    pause_seconds: float

    async def run(self, until: float) -> None:
        """Send requests until the deadline."""
        chance = random.Random(self.number)
        timeout = aiohttp.ClientTimeout(total=TIMEOUT_SECONDS)
        # Not the address of the attackers, whose connections are the first to be closed.
        connector = aiohttp.TCPConnector(limit=2, local_addr=(BYSTANDER_ADDRESS, 0))
        async with aiohttp.ClientSession(timeout=timeout, connector=connector) as client:
            self._client = client
            self._session: dict[str, str] | None = None
            count = 0
            while time.monotonic() < until:
                await asyncio.sleep(chance.uniform(0, 2 * self.pause_seconds))
                count += 1
                value = f"u{self.number}-{count}-{chance.getrandbits(64):x}"
                started = time.monotonic()
                try:
                    await self._call(count, value)
                except WrongResponseError as error:
                    self.figures.wrong.append(str(error))
                except (OSError, aiohttp.ClientError, TimeoutError) as error:
                    self.figures.errors[type(error).__name__] += 1
                except RefusedError as error:
                    self.figures.errors[str(error)] += 1
                else:
                    self.figures.add(time.monotonic() - started)

    async def _call(self, count: int, value: str) -> None:
        revision = (MODERN, *LEGACY)[self.number % (1 + len(LEGACY))]
        params: dict[str, Any] = {"name": HEALTHY_TOOL, "arguments": {"id": value}}
        message = {"jsonrpc": "2.0", "id": value, "method": "tools/call", "params": params}
        headers = {"MCP-Protocol-Version": revision}
        if revision == MODERN:
            params["_meta"] = META
            headers |= {"Mcp-Method": "tools/call", "Mcp-Name": HEALTHY_TOOL}
        else:
            if self._session is None:
                self._session = await self._open_session(count, revision)
            headers |= self._session
        try:
            answer = await self._post(count, message, headers)
        except aiohttp.ClientConnectorError:
            # As a balancer does: what no replica has received may be sent to the next one.
            if self.choose_replica(count) == self.choose_replica(count + 1):
                raise
            self.figures.errors["refused connection, sent to the other replica"] += 1
            answer = await self._post(count + 1, message, headers)
        self.check(value, answer)

    def check(self, value: str, answer: Any) -> None:
        """Check that a response belongs to the request with this value.

        Raises:
            WrongResponseError: it belongs to another request.
            RefusedError: it is an error.
        """
        if answer.get("id") != value:
            raise WrongResponseError(f"request {value} got the response to {answer.get('id')}")
        result = answer.get("result")
        if result is None:
            raise RefusedError(f"JSON-RPC error {answer['error']['code']}")
        if result.get("isError"):
            raise RefusedError(f"tool error: {result['content'][0]['text'][:60]}")
        # Before 2025-06-18, results have no structured content.
        found = result.get("structuredContent") or json.loads(result["content"][0]["text"])
        if found != {"id": value, "key": hash_key(self.key)}:
            raise WrongResponseError(f"request {value} of {self.key} got {found}")

    async def _open_session(self, count: int, revision: str) -> dict[str, str]:
        replica = self.choose_replica(count)
        headers = {**_USUAL, **self.headers}
        async with self._client.post(replica, json=initialize(revision), headers=headers) as answer:
            if answer.status != 200:
                raise RefusedError(f"HTTP {answer.status} to initialize")
            await answer.read()
            session = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        told = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        await self._post(count, told, {**session, "MCP-Protocol-Version": revision})
        return session

    async def _post(self, count: int, message: Any, headers: dict[str, str]) -> Any:
        headers = {**_USUAL, **self.headers, **headers}
        url = self.choose_replica(count)
        async with self._client.post(url, json=message, headers=headers) as answer:
            body = await answer.read()
            if answer.status == 404:
                self._session = None  # it is lost; the next call opens another
            if answer.status not in {200, 202}:
                raise RefusedError(f"HTTP {answer.status}")
            if answer.content_type == "text/event-stream":
                lines = [it[5:] for it in body.split(b"\n") if it.startswith(b"data:")]
                messages = [json.loads(line) for line in lines if line.strip()]
                if not messages or "id" not in messages[-1]:
                    raise RefusedError("a stream without its response")
                return messages[-1]
            return json.loads(body) if body else {}
