"""Check of the `Host` and `Origin` headers against DNS rebinding and cross-origin requests."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Final, NamedTuple

from mcpgen.runtime.transports.http.request_head import Header

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "[::1]", "localhost"})
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  what to recognise, not to bind
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@]+)")
_DEFAULT_PORT: Final = {"http": "80", "https": "443"}
_REMEMBERED: Final = 256


class Rejection(NamedTuple):
    """HTTP status and message of a rejected request."""

    status: int
    message: str


class HostCheck:
    """Check whether a request is addressed to this server, by its `Host` and `Origin`.

    Accepted hosts are the bound address (for a loopback address: all loopback names), the
    `allowed_hosts` and, if the server is bound to all interfaces, any IP address, since DNS
    rebinding needs a name. An `Origin` must have the same host and port, or be one of the
    `allowed_origins` (`https://app.example`), and the same scheme, where `scheme` is known: it is
    not behind a proxy. Requests without an `Origin` are accepted: they do not come from a
    browser. `env_prefix` is that of the settings that a rejection names.
    """

    def __init__(
        self,
        bound_host: str = "127.0.0.1",
        *,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
        scheme: str = "",
        env_prefix: str = "",
    ) -> None:
        self._env_prefix = env_prefix
        self._scheme = scheme
        self._takes_any_address = bound_host in _ANY_ADDRESS
        names = {name.lower() for name in allowed_hosts}
        if not self._takes_any_address:
            names.add(_as_host_name(bound_host))
        if self._takes_any_address or names & LOOPBACK_NAMES:
            names |= LOOPBACK_NAMES
        self._names = frozenset(names)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in allowed_origins)
        self._accepted: set[tuple[bytes, bytes | None]] = set()

    def find_rejection(self, host: bytes, origin: bytes | None) -> Rejection | None:
        """Return 421 for an unknown host, 403 for an unknown origin, None for an accepted request.

        `host` and `origin` are the header values, b"" and None if missing. The values of a
        repeated header are joined, so they match nothing.
        """
        if (host, origin) in self._accepted:
            return None
        rejection = self._judge(host, origin)
        if rejection is None and len(self._accepted) < _REMEMBERED:
            self._accepted.add((host, origin))
        return rejection

    def allows_pages_of(self, origin: bytes) -> bool:
        """Return whether an `Origin` is one of the `allowed_origins`."""
        return origin.decode("latin-1").lower() in self._origins

    def _judge(self, host: bytes, origin: bytes | None) -> Rejection | None:
        parts = _HOST.fullmatch(host.decode("latin-1").lower())
        if parts is None or not self._is_ours(parts[1]):
            return Rejection(
                421,
                "unknown host in the Host header; "
                f"to allow it, add it to {self._env_prefix}ALLOWED_HOSTS",
            )
        if origin is None or self.allows_pages_of(origin):
            return None
        if self._is_same_origin(origin, name=parts[1], port=parts[2]):
            return None
        return Rejection(
            403,
            "cross-origin request from an origin that is not allowed; "
            f"to allow it, add it to {self._env_prefix}ALLOWED_ORIGINS",
        )

    def _is_ours(self, name: str) -> bool:
        if name in self._names:
            return True
        return self._takes_any_address and _is_address(name)

    def _is_same_origin(self, origin: bytes, *, name: str, port: str | None) -> bool:
        parts = _ORIGIN.fullmatch(origin.decode("latin-1").lower())
        authority = _HOST.fullmatch(parts[2]) if parts else None
        if parts is None or authority is None:
            return False
        default = _DEFAULT_PORT[parts[1]]
        if self._scheme not in {"", parts[1]}:
            return False
        if (authority[2] or default) != (port or default):
            return False
        return authority[1] == name or {authority[1], name} <= LOOPBACK_NAMES


def is_loopback(host: str) -> bool:
    """Return whether `host` is a loopback address or name."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _as_host_name(bound_host: str) -> str:
    lower = bound_host.lower().strip("[]")
    return f"[{lower}]" if ":" in lower else lower


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return name.startswith("[") == (":" in name)


# Header fields that clients of any revision send, besides `Mcp-Param-*`.
_REQUEST_FIELDS: Final = frozenset(
    {
        b"accept",
        b"authorization",
        b"content-type",
        b"last-event-id",
        b"mcp-method",
        b"mcp-name",
        b"mcp-protocol-version",
        b"mcp-session-id",
    }
)
_PARAMETER_FIELDS: Final = b"mcp-param-"
_EXPOSED: Final[Header] = (
    b"access-control-expose-headers",
    b"mcp-protocol-version, mcp-session-id, retry-after, www-authenticate",
)
_METHODS: Final[Header] = (b"access-control-allow-methods", b"GET, POST, DELETE")
_MAX_AGE: Final[Header] = (b"access-control-max-age", b"600")  # seconds


def is_preflight(method: str, fields: Mapping[bytes, bytes]) -> bool:
    """Return whether a request is a CORS preflight."""
    return method == "OPTIONS" and b"access-control-request-method" in fields


def make_cors_fields(origin: bytes) -> tuple[Header, ...]:
    """Return the fields that let pages of `origin`, and no others, read the response.

    They do not allow credentials such as cookies.
    """
    return ((b"access-control-allow-origin", origin), (b"vary", b"origin"), _EXPOSED)


def make_preflight_fields(
    fields: Mapping[bytes, bytes], own_fields: Collection[bytes] = ()
) -> tuple[Header, ...]:
    """Return the fields that allow the requested header fields, as far as MCP defines them.

    `own_fields` are other fields that the server reads.
    """
    named = fields.get(b"access-control-request-headers", b"").lower().split(b",")
    requested = [name.strip() for name in named]
    allowed = b", ".join(
        name
        for name in requested
        if name in _REQUEST_FIELDS or name.startswith(_PARAMETER_FIELDS) or name in own_fields
    )
    return (_METHODS, (b"access-control-allow-headers", allowed), _MAX_AGE)
