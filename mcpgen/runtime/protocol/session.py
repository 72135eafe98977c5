"""What a server knows of a client that shook hands (revisions before 2026-07-28)."""

from __future__ import annotations

from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.runtime.protocol.versions import BY_NAME, Revision


class LegacySession:
    """The state of a handshake, small enough for 10,000 of them and storable as JSON."""

    __slots__ = (
        "client_capabilities",
        "client_info",
        "is_initialized",
        "log_level",
        "next_request_id",
        "revision",
        "subscribed_uris",
    )

    def __init__(
        self,
        revision: Revision,
        *,
        client_capabilities: JsonObject | None = None,
        client_info: JsonObject | None = None,
        is_initialized: bool = False,
    ) -> None:
        self.revision = revision
        self.client_capabilities = client_capabilities or {}
        self.client_info = client_info or {}
        self.is_initialized = is_initialized  # `notifications/initialized` came
        self.log_level = ""  # by `logging/setLevel`; "" until then
        self.subscribed_uris: frozenset[str] = frozenset()
        self.next_request_id = 1  # for requests to the client; never reused

    def to_json(self) -> JsonObject:
        """Give the session as JSON, for a store that several processes share."""
        return {
            "revision": self.revision.name,
            "clientCapabilities": self.client_capabilities,
            "clientInfo": self.client_info,
            "isInitialized": self.is_initialized,
            "logLevel": self.log_level,
            "subscribedUris": sorted(self.subscribed_uris),
            "nextRequestId": self.next_request_id,
        }

    @classmethod
    def from_json(cls, stored: JsonObject) -> LegacySession:
        """Restore what `to_json` gave."""
        session = cls(
            BY_NAME[stored["revision"]],
            client_capabilities=stored["clientCapabilities"],
            client_info=stored["clientInfo"],
            is_initialized=stored["isInitialized"],
        )
        session.log_level = stored["logLevel"]
        session.subscribed_uris = frozenset(stored["subscribedUris"])
        session.next_request_id = stored["nextRequestId"]
        return session
