"""The server card and the AI catalog, by which clients find a server before they connect.

Source: SEP-2127 (draft), docs/discovery.md of its repository. Both are public, whatever the
authorization of the server, and contain nothing but its identity and its URL.
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from mcpgen.runtime.protocol.jsonrpc import JsonObject, encode_json
from mcpgen.runtime.transports.http.exchange import HttpError, HttpExchange
from mcpgen.runtime.transports.http.host_check import LOOPBACK_NAMES
from mcpgen.text.prose import plain_line, shorten_at_sentence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mcpgen.runtime.protocol.server_definition import ServerDefinition
    from mcpgen.runtime.transports.http.request_head import Header

CARD_PATH: Final = "/mcp/server-card"
CATALOG_PATH: Final = "/.well-known/ai-catalog.json"
_SCHEMA: Final = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_CARD_TYPE: Final = "application/mcp-server-card+json"
_CATALOG_TYPE: Final = "application/ai-catalog+json"
_MAX_TEXT: Final = 100  # characters of the title and of the description
_MAX_DOCUMENTS: Final = 64  # one for each name by which a local server is reached
_ENTITY_TAG: Final = re.compile(r'(?:W/)?("[^"]*")')
_HEADERS: Final[tuple[Header, ...]] = (
    (b"access-control-allow-origin", b"*"),
    (b"access-control-allow-methods", b"GET"),
    (b"access-control-allow-headers", b"Content-Type, If-None-Match"),
    (b"access-control-expose-headers", b"ETag"),
)
_CACHED: Final[Header] = (b"cache-control", b"public, max-age=3600")


class _Document(NamedTuple):
    body: bytes
    media_type: str
    tag: str  # the entity tag, with its quotes


class ServerCard:
    """The two documents of a server.

    `public_url` is the URL of the MCP endpoint; without it, documents are served only to clients
    that reach the server by a name of the loopback interface. `header_names` are headers with
    credentials that the server accepts.
    """

    def __init__(
        self,
        definition: ServerDefinition,
        *,
        public_url: str = "",
        scheme: str = "http",
        header_names: Sequence[str] = (),
    ) -> None:
        self._info = definition.info
        self._versions = definition.version_names
        self._public_url = public_url.rstrip("/")
        self._scheme = scheme
        self._header_names = header_names
        self._documents: dict[tuple[str, str], _Document] = {}  # by URL of the endpoint, and path

    def has_path(self, path: str) -> bool:
        """Return whether one of the documents is at this path."""
        return path in {CARD_PATH, CATALOG_PATH}

    async def reply(self, exchange: HttpExchange) -> None:
        """Answer a request for one of the documents, or for permission to read it."""
        method = exchange.head.method
        if method == "OPTIONS":
            await exchange.reply(200, headers=_HEADERS)
            return
        if method not in {"GET", "HEAD"}:
            allow = (b"allow", b"GET, HEAD, OPTIONS")
            raise HttpError(405, f"method {method} is not allowed here", (allow, *_HEADERS))
        document = self._find_document(self._find_url(exchange), exchange.head.path)
        headers = (*_HEADERS, _CACHED, (b"etag", document.tag.encode()))
        if _matches(exchange.text(b"if-none-match") or "", document.tag):
            await exchange.reply(304, headers=headers)
            return
        media_type = (b"content-type", document.media_type.encode())
        await exchange.reply(200, document.body, (*headers, media_type))

    def _find_url(self, exchange: HttpExchange) -> str:
        """Return the URL of the MCP endpoint.

        Raises:
            HttpError: the server is reached by a name from which it cannot be derived.
        """
        if self._public_url:
            return self._public_url
        host = (exchange.text(b"host") or "").lower()
        if host.rpartition(":")[0] in LOOPBACK_NAMES or host in LOOPBACK_NAMES:
            return f"{self._scheme}://{host}{exchange.root_path}/mcp"
        raise HttpError(
            421,
            "the server is reached by an unknown address: its operator must set PUBLIC_URL",
            _HEADERS,
        )

    def _find_document(self, url: str, path: str) -> _Document:
        document = self._documents.get((url, path))
        if document is None:
            is_card = path == CARD_PATH
            body = encode_json(self.make_card(url) if is_card else self.make_catalog(url))
            media_type = _CARD_TYPE if is_card else _CATALOG_TYPE
            document = _Document(body, media_type, f'"{sha256(body).hexdigest()[:32]}"')
            if len(self._documents) < _MAX_DOCUMENTS:
                self._documents[url, path] = document
        return document

    def make_card(self, url: str) -> JsonObject:
        """Return the card of the server whose MCP endpoint has this URL."""
        info = self._info
        title = plain_line(info.get("title", ""))
        description = shorten_at_sentence(plain_line(info.get("description", "")), _MAX_TEXT)
        remote: JsonObject = {
            "type": "streamable-http",
            "url": url,
            "supportedProtocolVersions": self._versions,
        }
        if self._header_names:
            remote["headers"] = [{"name": name, "isSecret": True} for name in self._header_names]
        card: JsonObject = {
            "$schema": _SCHEMA,
            "name": f"{'.'.join(reversed(_find_host(url).split('.')))}/{info['name']}",
            "version": info["version"],
            "description": (description or title or info["name"])[:_MAX_TEXT],
        }
        if title:
            card["title"] = title[:_MAX_TEXT]
        if "icons" in info:
            card["icons"] = info["icons"]
        return {**card, "remotes": [remote]}

    def make_catalog(self, url: str) -> JsonObject:
        """Return the catalog whose one entry is the card."""
        entry = {
            "identifier": f"urn:air:{_find_host(url)}:mcp:{self._info['name']}",
            "type": _CARD_TYPE,
            "url": f"{url}/server-card",
        }
        return {"specVersion": "1.0", "entries": [entry]}


def _find_host(url: str) -> str:
    """Return the name of the host as the parts of an identifier can contain it."""
    host = urlsplit(url).hostname or ""
    return "localhost" if host == "::1" else re.sub(r"[^a-z0-9.-]", "-", host)


def _matches(field: str, tag: str) -> bool:
    """Return whether `If-None-Match` names the entity tag (RFC 9110, section 13.1.2)."""
    return field.strip() == "*" or tag in _ENTITY_TAG.findall(field)
