"""Links on which users connect accounts, and the requests to open them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, NoReturn, Protocol
from urllib.parse import urlsplit, urlunsplit

from mcpgen.runtime.connect.records import Records
from mcpgen.runtime.errors import ClientCannotError, ConnectionNeededError, ToolError
from mcpgen.runtime.state.store import StoreUnavailableError
from mcpgen.runtime.upstream.auth.user_scheme import STORE_UNAVAILABLE

LINK_SECONDS: Final = 600.0
CONNECT_PATH: Final = "/connect/"


@dataclass(frozen=True, slots=True)
class Link:
    """A request of one user to connect an account."""

    id: str
    principal: str
    scheme: str
    scopes: tuple[str, ...]


class AskingContext(Protocol):
    """The part of a handler's context that asks the user of its client."""

    @property
    def principal(self) -> str:
        """The authenticated principal."""

    def require_url(self, message: str, url: str, elicitation_id: str, *, key: str) -> NoReturn:
        """End the call, because the user must visit a URL first."""


class Connector:
    """Asks the users of MCP clients to connect accounts."""

    def __init__(self, links: Records, pending: Records, *, base_url: str, service: str) -> None:
        """`pending` has the link that a user was already given, so that calls share it."""
        self._links = links
        self._pending = pending
        self._base_url = base_url
        self._service = service

    async def ask(self, needed: ConnectionNeededError, context: AskingContext) -> NoReturn:
        """End a call by asking its user to open a link.

        Raises:
            UrlRequiredError, InputRequiredError: the client is asked to open the URL.
            ToolError: the client cannot do that; the text has the URL. Or the user declined.
        """
        try:
            link = await self._make_link(context.principal, needed)
        except StoreUnavailableError:
            raise ToolError(STORE_UNAVAILABLE) from None
        url = f"{self._base_url}{CONNECT_PATH}{link.id}"
        message = (
            f"Allow more access to your {self._service} account"
            if needed.is_extension
            else f"Connect your {self._service} account"
        )
        try:
            context.require_url(message, url, link.id, key=f"connect-{needed.scheme}")
        except ClientCannotError:
            raise ToolError(
                f"{needed} The user must open {url} in a browser within"
                f" {LINK_SECONDS / 60:g} minutes; then call again."
            ) from None

    async def _make_link(self, principal: str, needed: ConnectionNeededError) -> Link:
        scopes = sorted(needed.scopes)
        names = json.dumps([principal, needed.scheme, scopes])
        same = hashlib.sha256(names.encode()).hexdigest()
        pending = await self._pending.find(same)
        if pending is not None and (link := await self.find(pending["link"])) is not None:
            return link
        content = {"principal": principal, "scheme": needed.scheme, "scopes": scopes}
        link_id = await self._links.create(content)
        await self._pending.create({"link": link_id}, same)
        return Link(link_id, principal, needed.scheme, tuple(scopes))

    async def find(self, link_id: str) -> Link | None:
        """Return a link that is still valid."""
        return _read(link_id, await self._links.find(link_id))

    async def take(self, link_id: str) -> Link | None:
        """Return a link and end its validity."""
        return _read(link_id, await self._links.take(link_id))


def _read(link_id: str, content: Mapping[str, object] | None) -> Link | None:
    if content is None:
        return None
    scopes = content["scopes"]
    return Link(
        link_id,
        str(content["principal"]),
        str(content["scheme"]),
        tuple(map(str, scopes)) if isinstance(scopes, list) else (),
    )


def make_base_url(public_url: str) -> str:
    """Return the URL under which browsers see the pages: that of the folder of the MCP endpoint.

    "https://mcp.example/pets/mcp" returns "https://mcp.example/pets".
    """
    parts = urlsplit(public_url)
    folder = parts.path.rstrip("/").rpartition("/")[0]
    return urlunsplit((parts.scheme, parts.netloc, folder, "", ""))
