"""Which `Host` and `Origin` an HTTP request may carry: against DNS rebinding and foreign pages."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable
from typing import Final, NamedTuple

LOOPBACK_NAMES: Final = frozenset({"127.0.0.1", "[::1]", "localhost"})
_ANY_ADDRESS: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104  what to recognise, not to bind
_HOST: Final = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::([0-9]{1,5}))?")
_ORIGIN: Final = re.compile(r"(https?)://([^/?#@]+)")
_DEFAULT_PORT: Final = {"http": "80", "https": "443"}
_REMEMBERED: Final = 256


class Refusal(NamedTuple):
    """An HTTP status, and a sentence for whoever reads the answer."""

    status: int
    message: str


class HostCheck:
    """Tells whether a request was meant for this server, by its `Host` and its `Origin`.

    Accepted are the names of the bound address (all of loopback's when it is one of them), the
    `allowed_hosts`, and, when bound to every interface, any IP address: a rebinding attack needs
    a name. An `Origin` must be the same host and port, or one of the `allowed_origins`
    (`https://app.example`); no `Origin` means no browser, and is accepted.
    """

    def __init__(
        self,
        bound_host: str = "127.0.0.1",
        *,
        allowed_hosts: Iterable[str] = (),
        allowed_origins: Iterable[str] = (),
    ) -> None:
        self._takes_any_address = bound_host in _ANY_ADDRESS
        names = {name.lower() for name in allowed_hosts}
        if not self._takes_any_address:
            names.add(_as_host_name(bound_host))
        if self._takes_any_address or names & LOOPBACK_NAMES:
            names |= LOOPBACK_NAMES
        self._names = frozenset(names)
        self._origins = frozenset(origin.lower().rstrip("/") for origin in allowed_origins)
        self._accepted: set[tuple[bytes, bytes | None]] = set()

    def refusal(self, host: bytes, origin: bytes | None) -> Refusal | None:
        """Give 421 for a foreign host, 403 for a foreign origin, None for what may be served.

        `host` and `origin` are the header's values; b"" and None where there is none. A header
        that came twice is handed over joined, and so matches nothing.
        """
        if (host, origin) in self._accepted:
            return None
        refusal = self._judge(host, origin)
        if refusal is None and len(self._accepted) < _REMEMBERED:
            self._accepted.add((host, origin))
        return refusal

    def allows_pages_of(self, origin: bytes) -> bool:
        """Tell whether an `Origin` is one of the allowed ones, and not merely this server's own."""
        return origin.decode("latin-1").lower() in self._origins

    def _judge(self, host: bytes, origin: bytes | None) -> Refusal | None:
        parts = _HOST.fullmatch(host.decode("latin-1").lower())
        if parts is None or not self._is_ours(parts[1]):
            return Refusal(
                421,
                "the Host header does not name this server; "
                "to serve it under another name, start it with --allowed-host NAME",
            )
        if origin is None or self.allows_pages_of(origin):
            return None
        if self._is_same_origin(origin, name=parts[1], port=parts[2]):
            return None
        return Refusal(
            403,
            "the Origin header names another site; "
            "to let its pages use this server, start it with --allowed-origin ORIGIN",
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
        if (authority[2] or default) != (port or default):
            return False
        return authority[1] == name or {authority[1], name} <= LOOPBACK_NAMES


def is_loopback(host: str) -> bool:
    """Tell whether what listens on `host` can be reached from this machine only."""
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
