"""Authorization of HTTP requests: bearer tokens, challenges and resource metadata.

RFC 6750, RFC 9728, and the authorization pages of every MCP revision from 2025-06-18 on.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urljoin

from mcpgen.runtime.auth.errors import InvalidTokenError, IssuerUnavailableError
from mcpgen.runtime.auth.resources import WELL_KNOWN, canonicalize, make_metadata_url
from mcpgen.runtime.auth.scopes import OFFLINE_ACCESS
from mcpgen.runtime.protocol.jsonrpc import encode_json
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange
from mcpgen.runtime.transports.http.host_check import LOOPBACK_NAMES

if TYPE_CHECKING:
    from mcpgen.runtime.auth.access import Access
    from mcpgen.runtime.auth.authorizer import Authorizer
    from mcpgen.runtime.auth.scopes import ScopeRules
    from mcpgen.runtime.transports.http.request_head import Header

MAX_TOKEN_BYTES: Final = 16 * 1024
RETRY_AFTER: Final = (b"retry-after", b"5")
_CREDENTIALS: Final = re.compile(r"([!#$%&'*+.^_`|~0-9A-Za-z-]+)(?: +([^ ].*))?")
_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")  # RFC 6750, section 2.1
_SCOPE: Final = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")  # RFC 6749, section 3.3
_MAX_QUERY_FIELDS: Final = 100
_MAX_CHALLENGE: Final = 4000  # characters of scopes
_SSE_PATHS: Final = frozenset({"/sse", "/messages"})
_READABLE: Final[tuple[Header, ...]] = ((b"access-control-allow-origin", b"*"),)
_PREFLIGHT: Final[tuple[Header, ...]] = (
    *_READABLE,
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"accept, content-type, mcp-protocol-version"),
    (b"access-control-max-age", b"600"),
)


class HttpAuthorization:
    """The server as a resource server: admits requests, and answers the others."""

    def __init__(
        self,
        authorizer: Authorizer,
        scopes: ScopeRules,
        *,
        public_url: str = "",
        issuers: Sequence[str] = (),
        resource_name: str = "",
        close: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        """Combine validation of tokens and rules of scopes; `close` releases what they use.

        `public_url` is the URL of the MCP endpoint; without it, the server is known by its
        loopback address, which `listen_at` tells. Without `issuers` (static tokens only) there is
        no metadata, since clients cannot get tokens from anyone.
        """
        self._authorizer = authorizer
        self._scopes = scopes
        self._public_url = canonicalize(public_url)
        self._issuers = issuers
        self._resource_name = resource_name
        self._close = close
        self._local_urls: dict[str, str] = {}  # by value of the Host header
        if public_url:
            self._accept_audiences([self._public_url])

    def listen_at(self, port: int, *, scheme: str = "http") -> None:
        """Derive the server's URLs from the port that it listens on, unless they are configured.

        All names of the loopback interface stand for this server. Its port is not taken from the
        Host header: a token for another server on this machine must not be accepted.
        """
        if self._public_url:
            return
        for name in LOOPBACK_NAMES:
            url = canonicalize(f"{scheme}://{name}:{port}/mcp")
            self._local_urls[f"{name}:{port}"] = url
            self._local_urls[url.split("/")[2]] = url  # without the scheme's default port
        self._accept_audiences(self._local_urls.values())

    def _accept_audiences(self, urls: Iterable[str]) -> None:
        if not self._authorizer.audiences:
            found = list(urls)
            found += [_find_sse_url(url) for url in found]
            self._authorizer.audiences = frozenset(found)

    async def aclose(self) -> None:
        """Close the connections to issuers."""
        if self._close is not None:
            await self._close()

    # -- requests ------------------------------------------------------------------------------

    async def admit(self, exchange: HttpExchange) -> None:
        """Set the access of a request.

        Raises:
            HttpError: 400 for malformed credentials, 401 without a valid token, 403 without the
                scopes that every call needs, 503 if the token cannot be checked.
        """
        token = self._read_token(exchange)
        try:
            access = await self._authorizer.authorize(token)
        except InvalidTokenError as error:
            raise self._refuse(
                exchange, 401, "invalid_token", f"the access token {error}", self._scopes.required
            ) from None
        except IssuerUnavailableError as error:
            raise HttpError(
                503, f"the access token cannot be checked: {error}", (RETRY_AFTER,)
            ) from None
        exchange.access = access
        missing = self._scopes.required - access.scopes
        if missing:
            missing = self._scopes.reduce(missing, access.scopes)
        if missing:
            raise self._refuse_scopes(exchange, access, missing)

    def admits_still(self, exchange: HttpExchange) -> bool:
        """Return whether the access token of an admitted request is still valid."""
        access = exchange.access
        assert access is not None  # noqa: S101  (`admit` has set it)
        token = (exchange.text(b"authorization") or "").rpartition(" ")[2]
        return self._authorizer.is_still_valid(access, token)

    def check_call(self, exchange: HttpExchange, message: Any) -> None:
        """Check the scopes that the calls in a message require.

        Raises:
            HttpError: 403, with all scopes that suffice.
        """
        access = exchange.access
        assert access is not None  # noqa: S101  (`admit` has set it)
        missing = self._scopes.find_missing(message, access.scopes)
        if missing:
            raise self._refuse_scopes(exchange, access, missing)

    def _read_token(self, exchange: HttpExchange) -> str:
        query = exchange.head.query
        if query and _has_token(query):
            raise self._refuse(
                exchange, 400, "invalid_request", "access tokens in a query string are not accepted"
            )
        credentials = exchange.text(b"authorization")
        if credentials is None:
            raise self._refuse(
                exchange, 401, "", "an access token is required", self._scopes.required
            )
        match = _CREDENTIALS.fullmatch(credentials)
        if match is not None and match[1].lower() != "bearer" and "," not in credentials:
            raise self._refuse(
                exchange, 401, "", "a bearer token is required", self._scopes.required
            )
        token = match[2] if match is not None else None
        if not token or len(token) > MAX_TOKEN_BYTES or not _TOKEN.fullmatch(token):
            raise self._refuse(exchange, 400, "invalid_request", "malformed Authorization header")
        return str(token)

    # -- responses -----------------------------------------------------------------------------

    def is_metadata(self, path: str) -> bool:
        """Return whether a path is that of resource metadata."""
        return path == WELL_KNOWN or path.startswith(f"{WELL_KNOWN}/")

    async def reply_metadata(self, exchange: HttpExchange) -> None:
        """Answer with the metadata of the resource (RFC 9728), which any web page may read."""
        method = exchange.head.method
        if method == "OPTIONS":
            await exchange.reply(200, headers=_PREFLIGHT)
            return
        if method not in {"GET", "HEAD"}:
            raise HttpError(405, f"method {method} is not allowed here", ((b"allow", b"GET"),))
        resource = self._find_resource(exchange)
        suffix = exchange.head.path.removeprefix(WELL_KNOWN).rstrip("/")
        if suffix == "/sse":
            resource = _find_sse_url(resource)
        known = ("", "/mcp", "/sse", "/" + resource.partition("://")[2].partition("/")[2])
        if not self._issuers or suffix not in known:
            raise HttpError(404, "no metadata is at this path", _READABLE)
        metadata: dict[str, Any] = {
            "resource": resource,
            "authorization_servers": list(self._issuers),
            "bearer_methods_supported": ["header"],
        }
        if scopes := self._scopes.all:
            metadata["scopes_supported"] = scopes
        if self._resource_name:
            metadata["resource_name"] = self._resource_name
        await exchange.reply(200, encode_json(metadata), _READABLE)

    def _find_resource(self, exchange: HttpExchange) -> str:
        """Return the identifier of the resource that the request addresses.

        Raises:
            HttpError: the server is reached by a name from which it cannot be derived.
        """
        if self._public_url:
            return self._public_url
        host = (exchange.text(b"host") or "").lower()
        if host not in self._local_urls:
            raise HttpError(
                421, "the server is reached by an unknown address: its operator must set PUBLIC_URL"
            )
        return self._local_urls[host]

    def _refuse_scopes(
        self, exchange: HttpExchange, access: Access, missing: frozenset[str]
    ) -> HttpError:
        needed = access.scopes | self._scopes.required | missing
        described = f"missing scope: {' '.join(sorted(missing))}"
        return self._refuse(exchange, 403, "insufficient_scope", described, needed, missing)

    def _refuse(
        self,
        exchange: HttpExchange,
        status: int,
        error: str,
        description: str,
        scopes: frozenset[str] = frozenset(),
        essential: frozenset[str] = frozenset(),
    ) -> HttpError:
        """Make a refusal with its challenge (RFC 6750, section 3; RFC 9728, section 5.1).

        Only the `essential` scopes are listed if all of them would make the header too long.
        """
        parameters = {"error": error, "error_description": description if error else ""}
        listed = _join_scopes(scopes)
        parameters["scope"] = listed if len(listed) <= _MAX_CHALLENGE else _join_scopes(essential)
        if self._issuers:
            resource = self._find_resource(exchange)
            if exchange.head.path in _SSE_PATHS:
                resource = _find_sse_url(resource)
            parameters["resource_metadata"] = make_metadata_url(resource)
        fields = ", ".join(f'{name}="{value}"' for name, value in parameters.items() if value)
        challenge = f"Bearer {fields}".strip().encode()
        return HttpError(status, description, ((b"www-authenticate", challenge),))


def _has_token(query: str) -> bool:
    """Return whether a query string has an access token, or too many fields to tell."""
    try:
        return "access_token" in parse_qs(
            query, keep_blank_values=True, max_num_fields=_MAX_QUERY_FIELDS
        )
    except ValueError:
        return True


def _join_scopes(scopes: Iterable[str]) -> str:
    valid = (scope for scope in scopes if _SCOPE.fullmatch(scope) and scope != OFFLINE_ACCESS)
    return " ".join(sorted(valid))


def _find_sse_url(url: str) -> str:
    """Return the URL of the endpoint `/sse` beside an MCP endpoint.

    Clients of 2024-11-05 check that the resource is the URL to which they connect.
    """
    return canonicalize(urljoin(url, "sse"))
