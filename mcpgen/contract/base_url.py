"""Base URLs of an API: from environment variables, else from the servers of the document.

`BaseUrls` also decides which private addresses may be reached, and which origins may receive
credentials.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from mcpgen.contract.extras import ConfigurationError
from mcpgen.text.flags import is_true
from mcpgen.text.hosts import (
    canonical_host,
    is_confirmed_origin,
    is_private,
    is_unusual_spelling,
    origin_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:  # keeps the import of dataclasses out of the start of a server
    from mcpgen.jsonschema.types import JsonObject

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_AUTHORITY = re.compile(r"(?:(?:[^/{}]|\{[^{}]*\})*://)?([^/]*)")
_ONE_PLACEHOLDER = re.compile(r"\{([^{}]*)\}(?::.*)?\Z")
_HOST = re.compile(
    r"(?=.{1,254}\Z)(?:(?:[a-z0-9_-]|%[0-9a-f]{2}){1,63}(?:\.|\Z))+\Z|[0-9a-f.]*:[0-9a-f:.]*(?:%[a-z0-9._~-]+)?\Z"
)
_URL = re.compile(r"https?://[A-Za-z0-9.\-_~\[\]:%]+(?:/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*)?\Z")


class PrivateAddressError(ConfigurationError):
    """A private address in the document that the operator has not permitted."""


class UnconfirmedOriginError(ConfigurationError):
    """Request with credentials to an origin that the owner of the server has not confirmed."""

    def __init__(self, subject: str, url: str) -> None:
        """`subject` names the request: "`GET /files`", "the token request of `login`"."""
        self.origin = origin_of(url)
        super().__init__(
            f"{subject} was not sent: it has credentials, and the owner of the server has not"
            f" confirmed {self.origin}. To confirm it, add it to `credential_origins` of the source"
            " in mcpgen.yaml, and run `mcpgen generate`"
        )


class BaseUrls:
    """The base URLs of one API. Arguments of a call never change them.

    `<PREFIX>BASE_URL` replaces all servers of the document. Otherwise an operation with servers of
    its own would send them the credentials for the configured server.

    `<PREFIX>ALLOW_PRIVATE` permits private addresses in the document, and names in it that resolve
    to private addresses. URLs that the operator sets may be private without it.
    """

    def __init__(
        self, contract: JsonObject, environ: Mapping[str, str], *, source: str = ""
    ) -> None:
        """Read the settings; `source` names one of the contract's `sources`.

        Raises:
            ConfigurationError: `<PREFIX>BASE_URL` is not an http(s) URL.
        """
        about = contract["sources"][source] if source else contract
        prefix = about["env_prefix"]
        self._servers: Sequence[JsonObject] = about.get("servers", ())
        self._environ = environ
        self._variable = f"{prefix}BASE_URL"
        self._variable_prefix = f"{prefix}SERVER_"
        names = (variable["name"] for variable in contract.get("environment", ()))
        self._settings = {
            _fold(name.removeprefix(self._variable_prefix)): name
            for name in names
            if name.startswith(self._variable_prefix)
        }
        configured = environ.get(self._variable, "").strip()
        self._configured = _normalize(configured, self._variable) if configured else ""
        # All sources share this setting; its prefix is that of the server.
        self._private_variable = f"{contract.get('env_prefix', prefix)}ALLOW_PRIVATE"
        self._allows_private = is_true(environ.get(self._private_variable, ""))
        # Origin -> whether it is confirmed. None if the document has no other origin, and in
        # contracts of earlier releases.
        self._origins: Mapping[str, bool] | None = about.get("credential_origins")

    def base_url(self, servers: Sequence[JsonObject] = ()) -> str:
        """Return the base URL, without a trailing slash, of an operation with its own `servers`.

        Raises:
            ConfigurationError: neither the environment nor the document has a usable URL.
        """
        if self._configured:
            return self._configured
        candidates = servers or self._servers
        if candidates:
            url = _normalize(self._fill_in(candidates[0]), self._variable)
            return url if self._has_operator_host(candidates[0]) else self._require_public(url)
        raise ConfigurationError(
            f"the API has no base URL: set {self._variable}", setting=self._variable
        )

    def find_required_settings(
        self, servers: Sequence[JsonObject] = ()
    ) -> tuple[tuple[str, ...], ...] | None:
        """Return the alternatives of settings that `base_url(servers)` requires; None for none.

        The values in the environment have no influence.
        """
        candidates = servers or self._servers
        if not candidates:
            return ((self._variable,),)
        server = candidates[0]
        variables = server.get("variables", {})
        missing = tuple(
            self._find_setting(name)
            for name in dict.fromkeys(_PLACEHOLDER.findall(server["url"]))
            if not variables.get(name, {}).get("default")
        )
        url = _PLACEHOLDER.sub(
            lambda match: str(variables.get(match[1], {}).get("default") or "any"), server["url"]
        )
        try:
            self._require_public(_normalize(url, self._variable))
        except PrivateAddressError:
            return ((self._variable,), (self._private_variable,))
        except ConfigurationError:
            return ((self._variable,),)
        return (missing, (self._variable,)) if missing else None

    def check_variables(self) -> None:
        """Check the values of server variables that `base_url()` would use.

        Raises:
            ConfigurationError: a value is not allowed, or the URL with it is invalid.
        """
        if self._configured or not self._servers:
            return
        server = self._servers[0]
        variables = server.get("variables", {})
        names = dict.fromkeys(_PLACEHOLDER.findall(server["url"]))
        is_set = {name: self._read_value(name) for name in names}
        for name, value in is_set.items():
            self._check_choice(name, value, server)
        assigned = [name for name, value in is_set.items() if value]
        if assigned and all(
            name in assigned or variables.get(name, {}).get("default") for name in names
        ):
            _normalize(self._fill_in(server), self._find_setting(assigned[0]))

    def private_addresses_setting(self, servers: Sequence[JsonObject] = ()) -> str:
        """Return the settings that would permit a private address for `base_url(servers)`.

        "" if it is permitted: the operator set the URL, or permits all addresses of the document.
        """
        if self._configured or self._allows_private:
            return ""
        candidates = servers or self._servers
        return "" if candidates and self._has_operator_host(candidates[0]) else self._permissions

    def private_addresses_setting_of(self, url: str) -> str:
        """Return the same for another URL of the document, such as a token URL.

        Raises:
            PrivateAddressError: its host is a private address or localhost, without permission.
        """
        if self._allows_private:
            return ""
        if not self.private_addresses_setting() and _is_same(url, self._main_url()):
            return ""
        if is_private(urlsplit(url).hostname or ""):
            raise PrivateAddressError(
                f"no request was sent to {origin_of(url)}: the document names it, and it is on this"
                f" machine or in a private network. To permit it, set {self._permissions}",
                setting=self._private_variable,
            )
        return self._permissions

    def is_confirmed(self, url: str, servers: Sequence[JsonObject] = ()) -> bool:
        """Return whether the credentials of this API may be sent to the origin of a URL.

        Confirmed are the origin of the document's main server, that of `<PREFIX>BASE_URL`, and
        those in mcpgen.yaml. `base_url(servers)` is also confirmed if its host is the value of a
        server variable that the operator set.
        """
        if self._origins is None or (servers and self._has_operator_host(servers[0])):
            return True
        if _is_same(url, self._main_url()) or _is_same(url, self._document_url()):
            return True
        confirmed = [origin for origin, is_confirmed in self._origins.items() if is_confirmed]
        return is_confirmed_origin(origin_of(url), confirmed)

    def _main_url(self) -> str:
        """Return the base URL of operations without servers of their own; "" for none."""
        return self._configured or self._document_url()

    def _document_url(self) -> str:
        try:
            return self._fill_in(self._servers[0]) if self._servers else ""
        except ConfigurationError:
            return ""

    @property
    def _permissions(self) -> str:
        return f"{self._variable} or {self._private_variable}=1"

    def _has_operator_host(self, server: JsonObject) -> bool:
        """Return whether the host of a server is one variable, and the operator has set it."""
        authority = _AUTHORITY.match(server["url"])
        variable = _ONE_PLACEHOLDER.match(authority[1]) if authority else None
        return variable is not None and bool(self._read_value(variable[1]))

    def _require_public(self, url: str) -> str:
        """Return a base URL of the document; raise if its host is private without permission."""
        if not self._allows_private and is_private(urlsplit(url).hostname or ""):
            raise PrivateAddressError(
                "the base URL in the document is on this machine or in a private network. To"
                f" permit it, set {self._variable}, for example to {url}, or"
                f" {self._private_variable}=1 for all addresses of the document",
                setting=self._variable,
            )
        return url

    def _fill_in(self, server: JsonObject) -> str:
        url: str = server["url"]
        return _PLACEHOLDER.sub(lambda match: self._variable_value(match[1], server), url)

    def _find_setting(self, name: str) -> str:
        setting: str = self._settings.get(_fold(name), f"{self._variable_prefix}{name.upper()}")
        return setting

    def _read_value(self, name: str) -> str:
        return self._environ.get(self._find_setting(name), "").strip()

    def _variable_value(self, name: str, server: JsonObject) -> str:
        setting = self._find_setting(name)
        variable = server.get("variables", {}).get(name, {})
        value = self._read_value(name) or str(variable.get("default", ""))
        if not value:
            raise ConfigurationError(
                f"the base URL needs a value for `{name}`: set {setting}", setting=setting
            )
        self._check_choice(name, value, server)
        return value

    def _check_choice(self, name: str, value: str, server: JsonObject) -> None:
        """Check a value of a server variable against its `enum`; "" is not a value."""
        setting = self._find_setting(name)
        allowed = server.get("variables", {}).get(name, {}).get("enum", ())
        if value and allowed and value not in allowed:
            raise ConfigurationError(
                f"{setting} must be one of {', '.join(map(str, allowed))}", setting=setting
            )


def _is_same(url: str, other: str) -> bool:
    """Return whether two URLs have the same origin."""
    origin = origin_of(url)
    return bool(origin) and origin == origin_of(other)


def _fold(name: str) -> str:
    """Keep letters and digits, in upper case: "myRegion" and "MY_REGION" are one setting."""
    return "".join(filter(str.isalnum, name)).upper()


def _normalize(url: str, variable: str) -> str:
    """Check a base URL; return it with a lower-case origin and without a trailing slash."""
    if url.startswith("/") or not url:
        raise ConfigurationError(
            f"the base URL in the document has no host: set {variable}", setting=variable
        )
    try:
        parts = urlsplit(url)
        has_host = _HOST.match(parts.hostname or "") is not None
        is_url = bool(_URL.match(url) and has_host and (parts.port or parts.port is None))
    except ValueError:  # an invalid port or IPv6 address
        parts, is_url = urlsplit(""), False
    if "@" in re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise ConfigurationError(
            f"{variable} must not have a user or a password: set the variables for credentials"
            " instead",
            setting=variable,
        )
    if not is_url:
        raise ConfigurationError(
            f"{variable} is not a valid base URL: expected http or https, a host and an optional"
            " path, for example https://api.example.com/v1",
            setting=variable,
        )
    if any(segment in {".", ".."} for segment in parts.path.split("/")):
        raise ConfigurationError(
            f"{variable} must not have `.` or `..` in its path", setting=variable
        )
    origin = f"{parts.scheme.lower()}://{parts.netloc.lower()}"
    if is_unusual_spelling(parts.hostname or ""):  # resolvers interpret it differently
        port = f":{parts.port}" if parts.port else ""
        origin = f"{parts.scheme.lower()}://{canonical_host(parts.hostname or '')}{port}"
    return f"{origin}{parts.path.rstrip('/')}"
