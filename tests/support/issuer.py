"""An issuer of access tokens on loopback: metadata, keys, introspection, and custom routes."""

from __future__ import annotations

import asyncio
import json
import time
from base64 import urlsafe_b64encode
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, utils

JsonObject = dict[str, Any]
OAUTH_METADATA = "/.well-known/oauth-authorization-server"
OPENID_METADATA = "/.well-known/openid-configuration"


@dataclass(frozen=True)
class IssuerRequest:
    """A request that the issuer received."""

    method: str
    path: str
    query: dict[str, list[str]]
    headers: Mapping[str, str]
    form: dict[str, list[str]]


@dataclass(frozen=True)
class IssuerResponse:
    """A response of the issuer."""

    status: int = 200
    body: JsonObject | bytes = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


Route = Callable[[IssuerRequest], IssuerResponse]


class SigningKey:
    """A P-256 key of an issuer."""

    def __init__(self, kid: str, **parameters: Any) -> None:
        self.kid = kid
        self.private = ec.generate_private_key(ec.SECP256R1())
        numbers = self.private.public_key().public_numbers()
        self.jwk: JsonObject = {
            "kty": "EC",
            "crv": "P-256",
            "x": encode_base64(numbers.x.to_bytes(32, "big")),
            "y": encode_base64(numbers.y.to_bytes(32, "big")),
            "kid": kid,
            "use": "sig",
            "alg": "ES256",
            **parameters,
        }

    def sign(self, data: bytes) -> bytes:
        """Sign with ES256 (RFC 7518, section 3.4)."""
        r, s = utils.decode_dss_signature(self.private.sign(data, ec.ECDSA(hashes.SHA256())))
        return r.to_bytes(32, "big") + s.to_bytes(32, "big")


class Issuer:
    """An issuer whose keys, metadata, routes and reachability tests control.

    `path` is that of its identifier: "/realms/demo" for `http://127.0.0.1:9000/realms/demo`.
    """

    def __init__(self, path: str = "", *, metadata_path: str = OAUTH_METADATA) -> None:
        self.path = path
        self.port = 0
        self.keys = [SigningKey("one")]
        self.requests: list[IssuerRequest] = []
        self.metadata_changes: JsonObject = {}
        self.introspections: dict[str, JsonObject] = {}  # by opaque token
        self.routes: dict[str, Route] = {
            "/jwks": lambda _: IssuerResponse(body={"keys": [key.jwk for key in self.keys]}),
            "/introspect": self._introspect,
        }
        if metadata_path == OAUTH_METADATA:
            metadata_path += path  # RFC 8414, section 3.1
        else:
            metadata_path = path + metadata_path  # OpenID Connect Discovery 1.0, section 4
        self.routes[metadata_path] = lambda _: IssuerResponse(body=self.metadata)
        self._server: asyncio.Server | None = None
        self._connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def identifier(self) -> str:
        """The `iss` of its tokens."""
        return self.origin + self.path

    @property
    def metadata(self) -> JsonObject:
        return {
            "issuer": self.identifier,
            "jwks_uri": f"{self.origin}/jwks",
            "introspection_endpoint": f"{self.origin}/introspect",
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "response_types_supported": ["code"],
            **self.metadata_changes,
        }

    def count(self, path: str) -> int:
        """Return how often a path was requested."""
        return Counter(request.path for request in self.requests)[path]

    async def start(self) -> None:
        """Listen on a free port, or after `stop` on the same port as before."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Stop listening, and close all connections."""
        if self._server is not None:
            self._server.close()
            for writer in list(self._connections.values()):
                writer.transport.abort()
            await asyncio.gather(*self._connections)
            await self._server.wait_closed()
            self._server = None

    def token(
        self,
        audience: str | list[str],
        *,
        subject: str = "ada",
        scope: str = "",
        seconds: float = 300,
        key: SigningKey | None = None,
        header: Mapping[str, Any] | None = None,
        **claims: Any,
    ) -> str:
        """Sign an access token (RFC 9068); a claim or header parameter that is None is omitted."""
        now = int(time.time())
        payload = {
            "iss": self.identifier,
            "sub": subject,
            "aud": audience,
            "iat": now,
            "exp": int(now + seconds),
            **({"scope": scope} if scope else {}),
            **claims,
        }
        signer = key or self.keys[0]
        head = {"typ": "at+jwt", "alg": "ES256", "kid": signer.kid, **(header or {})}
        data = b".".join(map(encode_part, (_drop_none(head), _drop_none(payload))))
        return f"{data.decode()}.{encode_base64(signer.sign(data))}"

    def _introspect(self, request: IssuerRequest) -> IssuerResponse:
        token = request.form.get("token", [""])[0]
        return IssuerResponse(body=self.introspections.get(token, {"active": False}))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = writer
        try:
            while request := await _read_request(reader):
                self.requests.append(request)
                route = self.routes.get(request.path)
                response = route(request) if route else IssuerResponse(404, {"error": "not_found"})
                writer.write(_encode_response(response))
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # the client is gone
        finally:
            del self._connections[task]
            writer.close()


@asynccontextmanager
async def running_issuer(path: str = "", **options: Any) -> AsyncIterator[Issuer]:
    """Run an issuer until the end of the block."""
    issuer = Issuer(path, **options)
    await issuer.start()
    try:
        yield issuer
    finally:
        await issuer.stop()


def encode_base64(data: bytes) -> str:
    """Encode as base64url without padding (RFC 7515, section 2)."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


def encode_part(value: Any) -> bytes:
    """Encode a header or a payload of a JWT."""
    return encode_base64(json.dumps(value, separators=(",", ":")).encode()).encode()


def _drop_none(values: Mapping[str, Any]) -> JsonObject:
    return {name: value for name, value in values.items() if value is not None}


async def _read_request(reader: asyncio.StreamReader) -> IssuerRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").strip().split("\r\n")
    method, target, _ = first.split(" ")
    fields = (line.partition(":") for line in lines)
    headers = {name.lower(): value.strip() for name, _, value in fields}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    return IssuerRequest(method, path, parse_qs(query), headers, parse_qs(body.decode()))


def _encode_response(response: IssuerResponse) -> bytes:
    body = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
    headers = {"content-type": "application/json", **response.headers}
    lines = [f"HTTP/1.1 {response.status} Status", *(f"{k}: {v}" for k, v in headers.items())]
    lines.append(f"content-length: {len(body)}")
    return "\r\n".join([*lines, "", ""]).encode() + body
