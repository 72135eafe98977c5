"""Session of a legacy client: what the handshake negotiated (revisions before 2026-07-28)."""

from __future__ import annotations

from mcpgen.runtime.protocol.jsonrpc import JsonObject, RequestId
from mcpgen.runtime.protocol.versions import Revision

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

MAX_OPEN_ELICITATIONS: Final = 32  # at URLs; the oldest is forgotten, and its end not reported


class LegacySession:
    """The state of a handshake, small enough for 10,000 of them."""

    __slots__ = (
        "client_capabilities",
        "elicitation_ids",
        "is_initialized",
        "log_level",
        "next_request_id",
        "request_id_prefix",
        "revision",
        "subscribed_uris",
    )

    def __init__(
        self,
        revision: Revision,
        *,
        client_capabilities: JsonObject | None = None,
        is_initialized: bool = False,
    ) -> None:
        self.revision = revision
        self.client_capabilities = client_capabilities or {}
        self.is_initialized = is_initialized  # `notifications/initialized` came
        self.log_level = ""  # by `logging/setLevel`; "" until then
        self.subscribed_uris: frozenset[str] = frozenset()
        self.elicitation_ids: tuple[str, ...] = ()  # of URLs that the client was sent to
        self.next_request_id = 1  # for requests to the client; never reused
        self.request_id_prefix = ""  # of their ids, where several processes serve the session

    def take_request_id(self) -> RequestId:
        """Return an id for a request to the client; each one is returned once."""
        number = self.next_request_id
        self.next_request_id += 1
        return f"{self.request_id_prefix}{number}" if self.request_id_prefix else number

    def expect_elicitation(self, elicitation_id: str) -> None:
        """Remember an elicitation at a URL, whose end only this client is notified of."""
        self.elicitation_ids = (*self.elicitation_ids, elicitation_id)[-MAX_OPEN_ELICITATIONS:]

    def finish_elicitation(self, elicitation_id: str) -> bool:
        """Forget an elicitation; return whether it belonged to this client."""
        still_open = tuple(each for each in self.elicitation_ids if each != elicitation_id)
        is_ours = len(still_open) < len(self.elicitation_ids)
        self.elicitation_ids = still_open
        return is_ours
