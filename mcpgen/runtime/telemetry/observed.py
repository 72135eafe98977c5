"""Interfaces of a request for its observer.

The protocol core imports the observer's types, so the observer cannot import those of the core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from mcpgen.runtime.protocol.versions import Revision


class Session(Protocol):
    """A legacy session."""

    @property
    def revision(self) -> Revision:
        """The negotiated revision."""


class Connection(Protocol):
    """A client."""

    @property
    def address(self) -> str:
        """Network address of the client; "" over stdio."""

    @property
    def session(self) -> Session | None:
        """The legacy session of the client; None if it has none."""


class Request(Protocol):
    """A request of the client."""

    @property
    def connection(self) -> Connection:
        """The client."""

    @property
    def id(self) -> str | int:
        """Chosen by the client."""

    @property
    def method(self) -> str:
        """The method as sent; the server may not know it."""

    @property
    def params(self) -> Any:
        """The params as sent; not checked before the observation begins."""

    @property
    def principal(self) -> str:
        """The authenticated user; "" without authorization."""

    @property
    def revision(self) -> Revision:
        """The revision that applies to the request."""
