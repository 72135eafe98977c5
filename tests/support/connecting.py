"""A world of connected accounts: an API and its authorization server, an issuer, replicas, users.

Everything listens on loopback; browsers and MCP clients send real requests.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import re
import secrets
import socket
from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urljoin, urlsplit

from mcpgen.cli.app import run as run_mcpgen
from mcpgen.runtime.connect.service import ConnectService
from mcpgen.runtime.package import ServerPackage
from mcpgen.runtime.startup.authorization import make_authorization
from mcpgen.runtime.state.memory_store import MemoryStore
from mcpgen.runtime.state.store import Store
from mcpgen.runtime.transports.http.server import HttpServer
from mcpgen.runtime.upstream.auth.authorization_code import make_challenge
from mcpgen.runtime.upstream.http.messages import HttpRequest, HttpResponse
from mcpgen.runtime.upstream.http.sender import HttpSender
from tests.support.http_server import MODERN, make_app, modern
from tests.support.issuer import Issuer, IssuerRequest, IssuerResponse

KEYS = "k" * 40
PREFIX = "ANIMALS_"
DOCUMENT: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Animals", "version": "1"},
    "servers": [{"url": "https://animals.example"}],
    "paths": {
        "/pets": {
            method: {
                "operationId": name,
                "summary": name,
                "security": [{"account": [scope]}],
                "responses": {
                    "200": {
                        "description": "Done.",
                        "content": {"application/json": {"schema": {"type": "object"}}},
                    }
                },
            }
            for method, name, scope in (("get", "list_pets", "read"), ("post", "add_pet", "write"))
        }
    },
    "components": {
        "securitySchemes": {
            "account": {
                "type": "oauth2",
                "flows": {
                    "authorizationCode": {
                        "authorizationUrl": "/authorize",
                        "tokenUrl": "/token",
                        "scopes": {"read": "See your pets", "write": "Add and change pets"},
                    }
                },
            }
        }
    },
}
CAN_OPEN_URLS = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {"url": {}}}}


def generate_package(folder: Path, source: str = "user") -> Path:
    """Generate the server; return the folder of its package.

    By default its users connect accounts; with "exchange", their access tokens are exchanged.
    """
    document, project = folder / "animals.json", folder / "project"
    document.write_text(json.dumps(DOCUMENT))
    assert run_mcpgen(["new", "--name", "animals", str(document), str(project), "-q"]) == 0
    with (project / "mcpgen.yaml").open("a") as manifest:
        manifest.write(f"\ncredentials:\n  account: {{from: {source}}}\n")
    assert run_mcpgen(["generate", str(project), "-q"]) == 0
    return project / "src"


class Provider(Issuer):
    """An API and its authorization server, which rotates refresh tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.lifetime_seconds: float = 3600
        self.refused: set[str] = set()  # access tokens that the API no longer accepts
        self.calls: list[tuple[str, str]] = []  # account and access token of each API request
        self.refreshes: Counter[str] = Counter()  # by the refresh token that was used
        self.exchanges: list[tuple[str, str]] = []  # account and scope of each token exchange
        self.revoked: list[str] = []
        self.denies = False
        self.is_down = False
        self.has_id_tokens = False
        self.before_token: Callable[[], None] = lambda: None  # called for each token request
        self._codes: dict[str, tuple[str, dict[str, str]]] = {}
        self._accounts: dict[str, str] = {}  # by valid token
        self._numbers = itertools.count(1)
        self.metadata_changes = {
            "revocation_endpoint": "",
            "authorization_response_iss_parameter_supported": True,
        }
        self.routes |= {
            "/authorize": self._authorize,
            "/token": self._answer_token,
            "/revoke": self._revoke,
            "/pets": self._serve_pets,
        }

    async def start(self) -> None:
        await super().start()
        self.metadata_changes["revocation_endpoint"] = f"{self.origin}/revoke"

    def _authorize(self, request: IssuerRequest) -> IssuerResponse:
        query = {name: values[0] for name, values in request.query.items()}
        account = _read_cookie(request.headers.get("cookie", ""), "account")
        answer = {"state": query["state"], "iss": self.identifier}
        if self.denies:
            answer["error"] = "access_denied"
        else:
            answer["code"] = secrets.token_urlsafe(12)
            self._codes[answer["code"]] = (account, query)
        return _redirect(f"{query['redirect_uri']}?{urlencode(answer)}")

    def _answer_token(self, request: IssuerRequest) -> IssuerResponse:
        form = {name: values[0] for name, values in request.form.items()}
        self.before_token()
        if self.is_down:
            return IssuerResponse(503, {"error": "temporarily_unavailable"})
        if form["grant_type"] == "authorization_code":
            account, query = self._codes.pop(form["code"], ("", {}))
            is_valid = (
                bool(account)
                and make_challenge(form["code_verifier"]) == query["code_challenge"]
                and form["redirect_uri"] == query["redirect_uri"]
            )
            return self._grant(account) if is_valid else _refuse()
        if form["grant_type"] == "urn:ietf:params:oauth:grant-type:token-exchange":
            account = _read_subject(form["subject_token"])
            self.exchanges.append((account, form["scope"]))
            return self._grant(account)
        self.refreshes[form["refresh_token"]] += 1
        account = self._accounts.pop(form["refresh_token"], "")
        return self._grant(account) if account else _refuse()

    def _grant(self, account: str) -> IssuerResponse:
        number = next(self._numbers)
        access, refresh = f"access-{account}-{number}", f"refresh-{account}-{number}"
        self._accounts |= {access: account, refresh: account}
        id_token = self.token("animals-mcp", subject=account) if self.has_id_tokens else ""
        return IssuerResponse(
            200,
            {
                **({"id_token": id_token} if id_token else {}),
                "access_token": access,
                "refresh_token": refresh,
                "expires_in": self.lifetime_seconds,
                "token_type": "Bearer",
            },
        )

    def _revoke(self, request: IssuerRequest) -> IssuerResponse:
        token = request.form["token"][0]
        account = self._accounts.get(token)
        self.revoked.append(token)
        self._accounts = {it: who for it, who in self._accounts.items() if who != account}
        return IssuerResponse(200, {})

    def _serve_pets(self, request: IssuerRequest) -> IssuerResponse:
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        account = self._accounts.get(token, "")
        self.calls.append((account, token))
        if not account or token in self.refused:
            return IssuerResponse(401, {"told": token})
        return IssuerResponse(200, {"account": account})

    def withdraw(self, account: str) -> None:
        """Invalidate all tokens of an account, as its owner can at the API."""
        self._accounts = {it: who for it, who in self._accounts.items() if who != account}


class People(Issuer):
    """The issuer of callers' access tokens, where browsers sign in as the user in a cookie."""

    def __init__(self) -> None:
        super().__init__(metadata_path="/.well-known/openid-configuration")
        self.user = ""  # of a browser without a cookie
        self._codes: dict[str, tuple[str, dict[str, str]]] = {}
        self.routes |= {"/authorize": self._authorize, "/token": self._answer_token}

    def _authorize(self, request: IssuerRequest) -> IssuerResponse:
        query = {name: values[0] for name, values in request.query.items()}
        user = _read_cookie(request.headers.get("cookie", ""), "user") or self.user
        code = secrets.token_urlsafe(12)
        self._codes[code] = (user, query)
        answer = {"code": code, "state": query["state"]}
        return _redirect(f"{query['redirect_uri']}?{urlencode(answer)}")

    def _answer_token(self, request: IssuerRequest) -> IssuerResponse:
        form = {name: values[0] for name, values in request.form.items()}
        user, query = self._codes.pop(form["code"], ("", {}))
        if not user or make_challenge(form["code_verifier"]) != query["code_challenge"]:
            return _refuse()
        id_token = self.token(
            "connect-client",
            subject=user,
            nonce=query["nonce"],
            email=f"{user}@people.example",
            header={"typ": "JWT"},
        )
        return IssuerResponse(200, {"access_token": "unused", "id_token": id_token})


@dataclass
class Replica:
    """One of the servers."""

    base_url: str


@dataclass
class World:
    """The provider, the replicas, and the users."""

    provider: Provider
    people: People
    replicas: list[Replica]
    sender: HttpSender
    public_url: str
    _turns: Any = field(default_factory=itertools.count)

    def next_base(self) -> str:
        """Return the base URL of the replica that a round-robin balancer would choose."""
        return self.replicas[next(self._turns) % len(self.replicas)].base_url

    def token(self, user: str) -> str:
        return self.people.token(self.public_url, subject=user)

    async def call(
        self,
        user: str,
        tool: str = "list_pets",
        *,
        meta: Mapping[str, Any] = CAN_OPEN_URLS,
        base: str = "",
        token: str = "",
        **params: Any,
    ) -> dict[str, Any]:
        """Call a tool as an MCP client of 2026-07-28; return the JSON-RPC response."""
        message = modern("tools/call", {"name": tool, "arguments": {}, **params}, meta=dict(meta))
        return await self.post(
            message,
            {
                "mcp-protocol-version": MODERN,
                "mcp-method": "tools/call",
                "mcp-name": tool,
                "authorization": f"Bearer {token or self.token(user)}",
            },
            base=base,
        )

    async def post(
        self, message: Any, headers: Mapping[str, str], *, base: str = ""
    ) -> dict[str, Any]:
        response = await self.send(
            "POST",
            f"{base or self.next_base()}/mcp",
            json.dumps(message).encode(),
            {
                "content-type": "application/json",
                "accept": "application/json, text/event-stream",
                **headers,
            },
        )
        body = response.body
        if response.header("content-type").startswith("text/event-stream"):
            body = body.partition(b"data: ")[2].partition(b"\n")[0]
        answer: dict[str, Any] = json.loads(body)
        return answer

    async def send(
        self, method: str, url: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> HttpResponse:
        return await self.sender.send(
            HttpRequest(method, url, tuple((headers or {}).items()), body or None)
        )

    async def ask_for_link(self, user: str, tool: str = "list_pets") -> str:
        """Call a tool that needs an account; return the URL that the client is asked to open."""
        answer = await self.call(user, tool)
        (request,) = answer["result"]["inputRequests"].values()
        assert request["method"] == "elicitation/create"
        url: str = request["params"]["url"]
        return url

    async def connect(self, user: str, tool: str = "list_pets", account: str = "") -> None:
        """Connect an account as a user does."""
        page = await Browser(self, user, account).connect(await self.ask_for_link(user, tool))
        assert "is connected" in page.text, page.text


@dataclass
class Page:
    """A page shown by a browser."""

    url: str
    status: int
    headers: dict[str, str]
    text: str

    @property
    def title(self) -> str:
        found = re.search(r"<h1>(.*?)</h1>", self.text)
        return unescape(found[1]) if found else ""

    def form(self, **changes: str) -> tuple[str, dict[str, str]]:
        """Return the action and fields of the first form, with `changes` applied."""
        action, content = re.findall(
            r'<form method="post" action="([^"]*)">(.*?)</form>', self.text, re.DOTALL
        )[0]
        fields = dict(re.findall(r'type="hidden" name="([^"]*)" value="([^"]*)"', content))
        return unescape(action), {**{k: unescape(v) for k, v in fields.items()}, **changes}


class Browser:
    """A browser of one user who is signed in at the issuer and at the API."""

    def __init__(self, world: World, user: str, account: str = "") -> None:
        self._world = world
        self.cookies: dict[str, dict[str, str]] = {
            urlsplit(world.people.origin).netloc: {"user": user},
            urlsplit(world.provider.origin).netloc: {"account": account or user},
        }
        self.history: list[str] = []

    @property
    def own_cookies(self) -> dict[str, str]:
        """The cookies of the server."""
        return self.cookies.setdefault("server", {})

    async def open(self, url: str, fields: Mapping[str, str] | None = None) -> Page:
        """Open a URL or send a form, and follow redirects."""
        for _ in range(10):
            page = await self.open_once(url, fields)
            fields = None
            if page.status in (302, 303):
                url = urljoin(url, page.headers["location"])
                continue
            return page
        raise AssertionError("too many redirects")

    async def submit(self, page: Page, **changes: str) -> Page:
        action, fields = page.form(**changes)
        return await self.open(action, fields)

    async def connect(self, url: str) -> Page:
        """Open a link, consent, and return the last page."""
        page = await self.open(url)
        assert page.status == 200, page.text
        return await self.follow_refresh(await self.submit(page, action="connect"))

    async def follow_refresh(self, page: Page) -> Page:
        found = re.search(r'http-equiv="refresh" content="0;url=([^"]*)"', page.text)
        assert found, page.text
        return await self.open(unescape(found[1]))

    async def open_once(self, url: str, fields: Mapping[str, str] | None = None) -> Page:
        """Send one request."""
        self.history.append(url)
        world, parts = self._world, urlsplit(url)
        is_own = url.startswith(world.public_url.removesuffix("/mcp"))
        jar = self.own_cookies if is_own else self.cookies.setdefault(parts.netloc, {})
        target = url
        if is_own:  # the balancer chooses a replica
            target = world.next_base() + url.removeprefix(world.public_url.removesuffix("/mcp"))
        headers = {"cookie": "; ".join(f"{name}={value}" for name, value in jar.items())}
        body = b""
        if fields is not None:
            body = urlencode(fields).encode()
            headers["content-type"] = "application/x-www-form-urlencoded"
            headers["origin"] = "{0.scheme}://{0.netloc}".format(urlsplit(target))
        response = await world.send("POST" if body else "GET", target, body, headers)
        cookie = response.header("set-cookie")
        if cookie:
            name, _, rest = cookie.partition("=")
            jar[name] = rest.partition(";")[0]
        found = {name.lower(): value for name, value in response.headers}
        return Page(url, response.status, found, response.body.decode())


@asynccontextmanager
async def running_world(
    package: ServerPackage,
    *,
    replicas: int = 1,
    stores: Sequence[Store] | None = None,
    keys: str = KEYS,
    port: int = 0,
    **settings: str,
) -> AsyncIterator[World]:
    """Run the world; `stores` belong to the replicas, by default one in memory for all.

    `port` is that of the issuer of access tokens, for principals that survive a world.
    """
    async with AsyncExitStack() as stack:
        provider, people = Provider(), People()
        people.port = port
        for issuer in (provider, people):
            await issuer.start()
            stack.push_async_callback(issuer.stop)
        sender = HttpSender("test")
        stack.push_async_callback(sender.aclose)
        shared = stores or [MemoryStore()] * replicas
        world = World(provider, people, [], sender, "")
        for store in shared:
            await add_replica(world, package, store, stack, keys=keys, **settings)
        yield world
    for _ in range(3):  # the connections of the issuers end
        await asyncio.sleep(0)


def make_environ(world: World, keys: str = KEYS, **settings: str) -> dict[str, str]:
    """Return the settings of a replica."""
    return {
        f"{PREFIX}BASE_URL": world.provider.origin,
        f"{PREFIX}ACCOUNT_CLIENT_ID": "animals-mcp",
        f"{PREFIX}ACCOUNT_CLIENT_SECRET": "a-client-secret",
        f"{PREFIX}AUTH_ISSUER": world.people.identifier,
        f"{PREFIX}CONNECT_CLIENT_ID": "connect-client",
        f"{PREFIX}PUBLIC_URL": world.public_url,
        f"{PREFIX}STATE_KEYS": keys,
        **{f"{PREFIX}{name}": value for name, value in settings.items()},
    }


async def add_replica(
    world: World,
    package: ServerPackage,
    store: Store,
    stack: AsyncExitStack,
    *,
    keys: str = KEYS,
    **settings: str,
) -> Replica:
    """Start another server; the first one determines the public URL."""
    port = find_free_port()
    base_url = f"http://127.0.0.1:{port}"
    world.public_url = world.public_url or f"{base_url}/mcp"
    environ = make_environ(world, keys, **settings)
    connect = ConnectService(package.contract, environ, store)
    dispatcher = package.make_dispatcher(environ, connect=connect)
    stack.push_async_callback(dispatcher.aclose)
    authorization = make_authorization(package.contract, environ)
    assert authorization is not None
    stack.push_async_callback(authorization.aclose)
    app = make_app(
        package,
        dispatcher,
        authorization=authorization,
        pages=connect.make_pages(dispatcher.finish_elicitation),
    )
    server = HttpServer(app)
    await server.listen("127.0.0.1", port)
    stack.push_async_callback(server.stop, 5.0)
    replica = Replica(base_url)
    world.replicas.append(replica)
    return replica


def account_of(answer: dict[str, Any]) -> str:
    """Return the account with which the API was called."""
    account: str = answer["result"]["structuredContent"]["account"]
    return account


def is_asked(answer: dict[str, Any]) -> bool:
    """Return whether a call asks for a connection."""
    return bool(answer["result"]["resultType"] == "input_required")


def find_free_port() -> int:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        port: int = bound.getsockname()[1]
        return port


def _redirect(url: str) -> IssuerResponse:
    return IssuerResponse(302, b"", {"location": url})


def _refuse() -> IssuerResponse:
    return IssuerResponse(400, {"error": "invalid_grant"})


def _read_subject(token: str) -> str:
    """Return the `sub` of a JWT, without verifying the token."""
    payload = token.split(".")[1]
    claims = json.loads(urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    subject: str = claims["sub"]
    return subject


def _read_cookie(header: str, name: str) -> str:
    found = re.search(rf"(?:^|; ){name}=([^;]*)", header)
    return found[1] if found else ""
