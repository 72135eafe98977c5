"""Proxies for requests to an API: which request goes through which one.

`<PREFIX>PROXY` comes first, then `HTTPS_PROXY` and `HTTP_PROXY` (lower case first, as in curl).
`NO_PROXY` lists the hosts without one. Requests to this machine never go through a proxy.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Final
from urllib.parse import unquote, urlsplit

from msgspec import Struct

from mcpgen.contract.server_settings import BY_NAME
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.server_settings import ServerSettings
from mcpgen.text.hosts import canonical_host

_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PORT: Final = re.compile(r"(.+?):([0-9]{1,5})\Z")
_PROXY_KIND: Final = BY_NAME["PROXY"]


class Proxy(Struct, frozen=True):
    """A proxy, and the setting that names it. Its credentials are in no `repr`."""

    is_secure: bool  # TLS between this server and the proxy
    host: str
    port: int
    setting: str
    authorization: str = ""  # the value of `Proxy-Authorization`
    secrets: tuple[str, ...] = ()  # what must be masked

    def __repr__(self) -> str:
        return f"Proxy({self.is_secure}, {self.host!r}, {self.port}, {self.setting!r})"

    @classmethod
    def parse(cls, text: str, setting: str) -> Proxy:
        """Parse the URL of a proxy; `host:port` is one of http.

        Raises:
            ConfigurationError: it is invalid. The message does not contain it.
        """
        try:
            _PROXY_KIND.parse(text)
        except ValueError as error:
            raise ConfigurationError(f"invalid {setting}: {error}", setting=setting) from None
        parts = urlsplit(text if "://" in text else f"http://{text}")
        user, password = unquote(parts.username or ""), unquote(parts.password or "")
        authorization, secrets = "", tuple[str, ...]()
        if parts.username is not None:
            encoded = b64encode(f"{user}:{password}".encode()).decode()  # RFC 7617
            authorization = f"Basic {encoded}"
            secrets = tuple(filter(None, (parts.password, password, encoded)))
        return cls(
            parts.scheme == "https",
            canonical_host(parts.hostname or ""),
            parts.port or _DEFAULT_PORTS[parts.scheme],
            setting,
            authorization,
            secrets,
        )


class Proxies:
    """The proxies of a server, by scheme of the request, and the hosts without one."""

    def __init__(self, https: Proxy | None, http: Proxy | None, no_proxy: str = "") -> None:
        self._https = https
        self._http = http
        self._without = [_Bypass(entry) for entry in re.split(r"[\s,]+", no_proxy) if entry]
        used = [proxy for proxy in (https, http) if proxy is not None]
        self.secrets = tuple(dict.fromkeys(secret for proxy in used for secret in proxy.secrets))
        """The passwords in their URLs."""

    def find(self, host: str, port: int, *, is_secure: bool) -> Proxy | None:
        """Return the proxy for requests to this host; None for a direct connection."""
        proxy = self._https if is_secure else self._http
        if proxy is None:
            return None
        name = canonical_host(host)
        address = _parse_address(name)
        if name == "localhost" or name.endswith(".localhost"):
            return None
        if address is not None and address.is_loopback:
            return None
        is_direct = any(it.matches(name, address, port) for it in self._without)
        return None if is_direct else proxy


class _Bypass:
    """One entry of `NO_PROXY`: a name with its subdomains, an address, a network, or `*`.

    A port behind a name or an address restricts the entry to that port. Names are not resolved, so
    that networks match addresses in URLs only.
    """

    def __init__(self, entry: str) -> None:
        self._port = 0
        bracketed = entry.startswith("[")
        if (match := _PORT.match(entry)) and (bracketed or entry.count(":") == 1):
            entry, self._port = match[1], int(match[2])
        try:
            network = ip_network(entry.strip("[]"), strict=False)
        except ValueError:
            network = None
        self._network = network
        self._matches_all = entry == "*"
        self._name = canonical_host(entry.removeprefix("*").removeprefix("."))

    def matches(self, name: str, address: IPv4Address | IPv6Address | None, port: int) -> bool:
        if self._port and self._port != port:
            return False
        if self._matches_all:
            return True
        if address is not None:
            return self._network is not None and address in self._network
        return bool(self._name) and (name == self._name or name.endswith(f".{self._name}"))


def _parse_address(host: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def read_proxies(contract: JsonObject, environ: Mapping[str, str]) -> Proxies | None:
    """Return the proxies that the environment configures; None if it configures none.

    Raises:
        ConfigurationError: the URL of one is invalid.
    """
    prefix = contract.get("env_prefix", "")
    own = ServerSettings.from_contract(contract, environ).get("PROXY")
    https = Proxy.parse(own, f"{prefix}PROXY") if own else _read_common("HTTPS_PROXY", environ)
    http = https if own else _read_common("HTTP_PROXY", environ)
    if https is None and http is None:
        return None
    no_proxy = environ.get("no_proxy") or environ.get("NO_PROXY", "")
    return Proxies(https, http, no_proxy)


def _read_common(name: str, environ: Mapping[str, str]) -> Proxy | None:
    for variable in (name.lower(), name):
        if text := environ.get(variable, "").strip():
            return Proxy.parse(text, variable)
    return None
