"""An API that is a list of prepared answers, and a server whose tools call it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pytest

from mcpgen.runtime.upstream.client import ApiClient, Surroundings
from mcpgen.runtime.upstream.http import HttpRequest, HttpResponse

JSON = (("Content-Type", "application/json"),)


@dataclass
class FakeUpstream:
    """Answers each request with the next prepared outcome; the last one stays."""

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
class FakeSurroundings:
    """A clock that only moves when somebody sleeps."""

    seconds: float = 0.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.seconds += seconds

    def build(self) -> Surroundings:
        return Surroundings(
            clock=lambda: self.seconds,
            now=lambda: datetime(2030, 1, 1, 12, tzinfo=UTC),
            chance=lambda: 0.5,
            sleep=self.sleep,
        )


def run(coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, within ten seconds."""

    async def bounded() -> Any:
        async with asyncio.timeout(10):
            return await coroutine

    return asyncio.run(bounded())


@pytest.fixture(name="run")
def run_fixture() -> Callable[[Coroutine[Any, Any, Any]], Any]:
    return run


@pytest.fixture
def upstream() -> FakeUpstream:
    return FakeUpstream()


@pytest.fixture
def surroundings() -> FakeSurroundings:
    return FakeSurroundings()


@pytest.fixture
def contract() -> dict[str, Any]:
    return {
        "name": "petstore",
        "env_prefix": "PETSTORE_",
        "servers": [{"url": "https://petstore.example/v1"}],
        "security_schemes": {},
        "environment": [],
        "groups": ["pets"],
    }


@pytest.fixture
def make_client(
    contract: dict[str, Any], upstream: FakeUpstream, surroundings: FakeSurroundings
) -> Callable[..., ApiClient]:
    def make(environ: dict[str, str] | None = None, **more: Any) -> ApiClient:
        return ApiClient(
            contract,
            environ or {},
            send=upstream.send,
            surroundings=surroundings.build(),
            **more,
        )

    return make
