"""What a server knows of a client that shook hands (revisions before 2026-07-28)."""

from __future__ import annotations

from dataclasses import dataclass, field

from mcpgen.runtime.protocol.jsonrpc import JsonObject
from mcpgen.runtime.protocol.versions import BY_NAME, Revision


@dataclass(slots=True)
class LegacySession:
    """The state of a handshake, small enough for 10,000 of them and storable as JSON."""

    revision: Revision
    client_capabilities: JsonObject = field(default_factory=dict)
    client_info: JsonObject = field(default_factory=dict)
    is_initialized: bool = False  # `notifications/initialized` came
    log_level: str = ""  # by `logging/setLevel`; "" until then
    subscribed_uris: set[str] = field(default_factory=set)
    next_request_id: int = 1  # for requests to the client; never reused

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
        return cls(
            revision=BY_NAME[stored["revision"]],
            client_capabilities=stored["clientCapabilities"],
            client_info=stored["clientInfo"],
            is_initialized=stored["isInitialized"],
            log_level=stored["logLevel"],
            subscribed_uris=set(stored["subscribedUris"]),
            next_request_id=stored["nextRequestId"],
        )
