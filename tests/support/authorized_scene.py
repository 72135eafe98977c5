"""Servers with authorization, in one process or in one of several that share a store."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from mcpgen.runtime.auth.claims import CLOCK_SKEW_SECONDS
from mcpgen.runtime.startup.authorization import make_authorization
from mcpgen.runtime.transports.http.authorization import HttpAuthorization
from tests.support.authorized import PORT, RESOURCE, TokenClient
from tests.support.http_server import BOUND_SECONDS, Served, make_served
from tests.support.issuer import Issuer, running_issuer
from tests.support.replicas import ReplicaServed, make_replica
from tests.support.stoppable_store import StoppableStore

LIFETIME_SECONDS = 300


@dataclass
class Scene:
    """A server with authorization, whose clock the test moves."""

    served: Any  # Served | ReplicaServed
    issuer: Issuer
    authorization: HttpAuthorization

    def client(self, seconds: float = LIFETIME_SECONDS, **claims: Any) -> TokenClient:
        """Return a client whose token is valid for a time."""
        return TokenClient(self.served, self.issuer.token(RESOURCE, seconds=seconds, **claims))

    async def wait(self, seconds: float) -> None:
        """Advance the time, and let the server react to it."""
        authorizer: Any = self.authorization._authorizer
        now = authorizer._clock
        authorizer._clock = lambda: now() + seconds
        await self.served.app.housekeep()

    async def wait_until_expired(self) -> None:
        await self.wait(LIFETIME_SECONDS + CLOCK_SKEW_SECONDS)


@asynccontextmanager
async def serving(kind: str, **settings: str) -> AsyncIterator[Scene]:
    """Serve in a single process, or in one of several that share a store."""
    async with running_issuer() as issuer:
        chosen = settings or {"AUTH_ISSUER": issuer.identifier}
        environ = {f"FAKE_{name}": value for name, value in chosen.items()}
        about = {"name": "fake", "title": "Fake", "env_prefix": "FAKE_"}
        authorization = make_authorization(about, environ)
        assert authorization is not None
        authorization.listen_at(PORT)
        options: dict[str, Any] = {"authorization": authorization, "with_sse": True}
        served: Served | ReplicaServed
        if kind == "replica":
            served = make_replica(StoppableStore(), **options)
            await served.replica.start()
        else:
            served = make_served(**options)
        try:
            yield Scene(served, issuer, authorization)
        finally:
            if isinstance(served, ReplicaServed):
                await served.replica.aclose()
            await authorization.aclose()


def observe(kind: str, scenario: Callable[[Scene], Awaitable[None]], **settings: str) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(3 * BOUND_SECONDS), serving(kind, **settings) as scene:
            await scenario(scene)

    asyncio.run(bounded())
