"""An authorization server on a free port, for the login of a local user, and an API."""

from __future__ import annotations

import asyncio
import hashlib
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import ClientSession, web


@dataclass
class AuthorizationServer:
    """An authorization server that grants all requests, with PKCE, rotation and revocation."""

    has_metadata: bool = True
    decision: str = ""  # the error instead of a code
    issuer_in_redirect: str = ""  # instead of its own
    pending: int = 0  # device requests before the user has decided
    lifetime: int = 3600
    url: str = ""
    authorizations: list[dict[str, str]] = field(default_factory=list)
    token_requests: list[dict[str, str]] = field(default_factory=list)
    revoked: list[str] = field(default_factory=list)
    valid_refresh: set[str] = field(default_factory=set)
    api_tokens: list[str] = field(default_factory=list)  # as the API received them
    refused: set[str] = field(default_factory=set)  # by the API
    _number: int = 0

    @asynccontextmanager
    async def listening(self) -> AsyncIterator[AuthorizationServer]:
        """Serve until the end of the block."""
        app = web.Application()
        routes = app.router
        if self.has_metadata:
            routes.add_get("/.well-known/oauth-authorization-server", self._describe)
        routes.add_get("/authorize", self._authorize)
        routes.add_post("/device", self._start_device)
        routes.add_post("/token", self._grant)
        routes.add_post("/revoke", self._revoke)
        routes.add_get("/api/{path:.*}", self._serve_api)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    @property
    def scheme(self) -> dict[str, Any]:
        """The Security Scheme Object of an API with this authorization server."""
        urls = {
            "authorizationUrl": f"{self.url}/authorize",
            "tokenUrl": f"{self.url}/token",
            "scopes": {},
        }
        return {"type": "oauth2", "flows": {"authorizationCode": urls}}

    @property
    def device_scheme(self) -> dict[str, Any]:
        """The same scheme with the device flow only (OpenAPI 3.2)."""
        urls = {"deviceAuthorizationUrl": f"{self.url}/device", "tokenUrl": f"{self.url}/token"}
        return {"type": "oauth2", "flows": {"deviceAuthorization": {**urls, "scopes": {}}}}

    async def _describe(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "revocation_endpoint": f"{self.url}/revoke",
                "device_authorization_endpoint": f"{self.url}/device",
                "authorization_response_iss_parameter_supported": True,
            }
        )

    async def _authorize(self, request: web.Request) -> web.Response:
        asked = dict(request.query)
        self.authorizations.append(asked)
        answer = {"state": asked["state"], "iss": self.issuer_in_redirect or self.url}
        answer |= {"error": self.decision} if self.decision else {"code": "the-code"}
        raise web.HTTPFound(f"{asked['redirect_uri']}?{urlencode(answer)}")

    async def _start_device(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "device_code": "the-device-code",
                "user_code": "WDJB-MJHT",
                "verification_uri": f"{self.url}/enter",
                "expires_in": 600,
                "interval": 0.01,
            }
        )

    async def _grant(self, request: web.Request) -> web.Response:
        form = {name: str(value) for name, value in (await request.post()).items()}
        self.token_requests.append(form)
        kind = form["grant_type"].rpartition(":")[2]
        if kind == "device_code" and self.pending:
            self.pending -= 1
            return web.json_response({"error": "authorization_pending"}, status=400)
        if kind == "authorization_code" and not self._is_proof(form["code_verifier"]):
            return web.json_response({"error": "invalid_grant"}, status=400)
        if kind == "refresh_token":
            if form["refresh_token"] not in self.valid_refresh:
                return web.json_response({"error": "invalid_grant"}, status=400)
            self.valid_refresh.remove(form["refresh_token"])
        self._number += 1
        self.valid_refresh.add(f"refresh-{self._number}")
        return web.json_response(
            {
                "access_token": f"access-{self._number}",
                "refresh_token": f"refresh-{self._number}",
                "token_type": "Bearer",
                "expires_in": self.lifetime,
            }
        )

    def _is_proof(self, verifier: str) -> bool:
        """Return whether the PKCE verifier is right (RFC 7636, section 4.6)."""
        digest = urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        return self.authorizations[-1]["code_challenge"] == digest

    async def _revoke(self, request: web.Request) -> web.Response:
        token = str((await request.post())["token"])
        self.revoked.append(token)
        self.valid_refresh.discard(token)
        return web.Response()

    async def _serve_api(self, request: web.Request) -> web.Response:
        token = request.headers.get("Authorization", "").removeprefix("Bearer ")
        self.api_tokens.append(token)
        if token in self.refused:
            return web.json_response({"title": "expired"}, status=401)
        return web.json_response({"id": 1, "name": f"seen by {token}"})


class Browser:
    """A browser that opens a page and follows redirects, like the user's."""

    def __init__(self) -> None:
        self.opened: list[str] = []
        self.pages: list[str] = []
        self._loop = asyncio.get_running_loop()
        self._visits: list[Any] = []

    def open(self, url: str) -> bool:
        """Open a page in the background; may be called in any thread."""
        self.opened.append(url)
        self._visits.append(asyncio.run_coroutine_threadsafe(self._visit(url), self._loop))
        return True

    async def _visit(self, url: str) -> None:
        async with ClientSession() as session, session.get(url) as response:
            self.pages.append(f"{response.status} {await response.text()}")
