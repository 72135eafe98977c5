"""A fake API with prepared responses, and a clock that only tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from mcpgen.runtime.upstream.client import Environment
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse

JSON = (("Content-Type", "application/json"),)


@dataclass
class FakeUpstream:
    """An API that answers requests with prepared outcomes in turn; the last one is repeated."""

    outcomes: Sequence[HttpResponse | Exception] = (HttpResponse(200, JSON, b'{"ok":true}'),)
    requests: list[HttpRequest] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.requests.append(request)
        outcome = self.outcomes[min(len(self.requests), len(self.outcomes)) - 1]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    @property
    def only_request(self) -> HttpRequest:
        (request,) = self.requests
        return request


@dataclass
class FakeEnvironment:
    """An environment whose clock moves only when something sleeps."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def build(self) -> Environment:
        return Environment(
            clock=lambda: self.seconds,
            now=lambda: datetime(2030, 1, 1, 12, tzinfo=UTC),
            chance=lambda: 0.5,
            sleep=self.sleep,
        )


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to completion, within ten seconds."""

    async def bounded() -> Any:
        async with asyncio.timeout(10):
            return await coroutine

    return asyncio.run(bounded())
