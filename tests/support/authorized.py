"""A server over HTTP without sockets that requires tokens of an issuer on loopback."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any

from mcpgen.runtime.startup.authorization import make_authorization
from tests.support.http_server import BOUND_SECONDS, Client, Response, Served, make_served, modern
from tests.support.issuer import Issuer, running_issuer

PORT = 8000  # of the Host header that `Client` sends
RESOURCE = f"http://127.0.0.1:{PORT}/mcp"


@dataclass
class AuthorizedServer:
    """A server, its issuer, and requests with tokens."""

    served: Served
    issuer: Issuer

    def token(self, audience: str | list[str] = RESOURCE, **claims: Any) -> str:
        return self.issuer.token(audience, **claims)

    async def ask(
        self, token: str = "", *, method: str = "tools/list", params: Any = None, **headers: str
    ) -> Response:
        """Send a modern request with a token, or without one."""
        return await ask(self.served.client, token, method=method, params=params, **headers)

    async def call(self, token: str, tool: str, **arguments: Any) -> Response:
        return await self.ask(
            token, method="tools/call", params={"name": tool, "arguments": arguments}
        )

    def client(self, token: str) -> TokenClient:
        return TokenClient(self.served, token)


class TokenClient(Client):
    """A client that sends a token with each request."""

    def __init__(self, served: Served, token: str) -> None:
        super().__init__(served.app)
        self.token = token

    def send(self, method: str, body: Any = None, **more: Any) -> Any:
        given = more.pop("headers", None) or {}
        headers = {"authorization": f"Bearer {self.token}", **dict(given)}
        return super().send(method, body, headers=headers, **more)


async def ask(
    client: Client,
    token: str = "",
    *,
    method: str = "tools/list",
    params: Any = None,
    **headers: str,
) -> Response:
    message = modern(method, params)
    sent = {"mcp-protocol-version": "2026-07-28", "mcp-method": method}
    if method == "tools/call":
        sent["mcp-name"] = params["name"]
    if token:
        sent["authorization"] = f"Bearer {token}"
    return await client.send("POST", message, headers={**sent, **headers}).complete()


AuthScenario = Callable[[AuthorizedServer], Coroutine[Any, Any, None]]


def run_authorized(
    scenario: AuthScenario,
    *,
    contract: Mapping[str, Any] | None = None,
    issuer_options: Mapping[str, Any] | None = None,
    settings: Callable[[Issuer], Mapping[str, str]] = lambda issuer: {
        "AUTH_ISSUER": issuer.identifier
    },
    **options: Any,
) -> None:
    """Run a test against a server with authorization, with a time limit."""

    async def bounded() -> None:
        async with running_issuer(**(issuer_options or {})) as issuer:
            environ = {f"FAKE_{name}": value for name, value in settings(issuer).items()}
            about = {"name": "fake", "title": "Fake", "env_prefix": "FAKE_", **(contract or {})}
            authorization = make_authorization(about, environ)
            assert authorization is not None
            authorization.listen_at(PORT)
            served = make_served(authorization=authorization, **options)
            try:
                await asyncio.wait_for(scenario(AuthorizedServer(served, issuer)), BOUND_SECONDS)
            finally:
                await authorization.aclose()

    with asyncio.Runner() as runner:
        runner.run(bounded())
