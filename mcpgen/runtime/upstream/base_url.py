"""Where an API lives: from the operator's configuration, else as the document says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.hosts import is_private

TYPE_CHECKING = False
if TYPE_CHECKING:  # a start with settings checks them, and must not pay for dataclasses
    from mcpgen.runtime.content import JsonObject

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_URL = re.compile(r"https?://[A-Za-z0-9.\-_~\[\]:%]+(?:/[A-Za-z0-9\-._~!$&'()*+,;=:@%/]*)?\Z")


class BaseUrls:
    """The base URLs of one API, settled by the environment and never by an argument.

    `<PREFIX>BASE_URL` stands for every server that the document names: one that belongs to an
    operation alone would otherwise still get the credentials of the configured one.
    """

    def __init__(
        self, contract: JsonObject, environ: Mapping[str, str], *, source: str = ""
    ) -> None:
        """Read the setting; `source` names one of the contract's `sources`.

        Raises:
            ConfigurationError: `<PREFIX>BASE_URL` is set to what is not an http(s) URL.
        """
        about = contract["sources"][source] if source else contract
        prefix = about["env_prefix"]
        self._servers: Sequence[JsonObject] = about.get("servers", ())
        self._environ = environ
        self._variable = f"{prefix}BASE_URL"
        self._variable_prefix = f"{prefix}SERVER_"
        names = (variable["name"] for variable in contract.get("environment", ()))
        self._settings = {
            _folded(name.removeprefix(self._variable_prefix)): name
            for name in names
            if name.startswith(self._variable_prefix)
        }
        configured = environ.get(self._variable, "").strip()
        self._configured = _checked(configured, self._variable) if configured else ""

    def base_url(self, servers: Sequence[JsonObject] = ()) -> str:
        """The base URL, without a slash at its end, for an operation with these own `servers`.

        Raises:
            ConfigurationError: no usable URL is configured or documented; says what to set.
        """
        if self._configured:
            return self._configured
        candidates = servers or self._servers
        if candidates:
            return self._public(_checked(self._filled_in(candidates[0]), self._variable))
        raise ConfigurationError(
            f"the API has no base URL: set {self._variable}", setting=self._variable
        )

    def needed_settings(
        self, servers: Sequence[JsonObject] = ()
    ) -> tuple[tuple[str, ...], ...] | None:
        """Return the alternatives of settings that `base_url(servers)` requires; None for none.

        What the environment contains does not matter.
        """
        candidates = servers or self._servers
        if not candidates:
            return ((self._variable,),)
        server = candidates[0]
        variables = server.get("variables", {})
        missing = tuple(
            self._setting_of(name)
            for name in dict.fromkeys(_PLACEHOLDER.findall(server["url"]))
            if not variables.get(name, {}).get("default")
        )
        url = _PLACEHOLDER.sub(
            lambda match: str(variables.get(match[1], {}).get("default") or "any"), server["url"]
        )
        try:
            self._public(_checked(url, self._variable))
        except ConfigurationError:
            return ((self._variable,),)
        return (missing, (self._variable,)) if missing else None

    def check_variables(self, servers: Sequence[JsonObject] = ()) -> None:
        """Check the server variables that are set, as `base_url(servers)` would use them.

        Raises:
            ConfigurationError: one is not allowed, or makes no URL.
        """
        if self._configured:
            return
        for server in (servers or self._servers)[:1]:
            names = dict.fromkeys(_PLACEHOLDER.findall(server["url"]))
            is_set = {name: self._value_set(name) for name in names}
            if not any(is_set.values()):
                continue
            for name, value in is_set.items():
                self._check_choice(name, value, server)
            variables = server.get("variables", {})
            if all(
                value or variables.get(name, {}).get("default") for name, value in is_set.items()
            ):
                setting = self._setting_of(next(name for name, value in is_set.items() if value))
                _checked(self._filled_in(server), setting)

    def _public(self, url: str) -> str:
        """Give a URL of the document back, unless it leads into the operator's own network.

        Raises:
            ConfigurationError: it does, which only the operator may want.
        """
        if is_private(urlsplit(url).hostname or ""):
            raise ConfigurationError(
                "the document puts the API on this machine or in a private network, which whoever "
                f"runs the server has to confirm: set {self._variable}, for example to {url}",
                setting=self._variable,
            )
        return url

    def _filled_in(self, server: JsonObject) -> str:
        url: str = server["url"]
        return _PLACEHOLDER.sub(lambda match: self._variable_value(match[1], server), url)

    def _setting_of(self, name: str) -> str:
        setting: str = self._settings.get(_folded(name), f"{self._variable_prefix}{name.upper()}")
        return setting

    def _value_set(self, name: str) -> str:
        return self._environ.get(self._setting_of(name), "").strip()

    def _variable_value(self, name: str, server: JsonObject) -> str:
        setting = self._setting_of(name)
        variable = server.get("variables", {}).get(name, {})
        value = self._value_set(name) or str(variable.get("default", ""))
        if not value:
            raise ConfigurationError(
                f"the base URL needs a value for `{name}`: set {setting}", setting=setting
            )
        self._check_choice(name, value, server)
        return value

    def _check_choice(self, name: str, value: str, server: JsonObject) -> None:
        """Check a value of a server variable against its `enum`; "" is not a value."""
        setting = self._setting_of(name)
        allowed = server.get("variables", {}).get(name, {}).get("enum", ())
        if value and allowed and value not in allowed:
            raise ConfigurationError(
                f"{setting} must be one of {', '.join(map(str, allowed))}", setting=setting
            )


def _folded(name: str) -> str:
    """The letters and digits of a name: "myRegion" and "MY_REGION" are the same setting."""
    return "".join(filter(str.isalnum, name)).upper()


def _checked(url: str, variable: str) -> str:
    """Give a base URL back in the form that every request starts with.

    Raises:
        ConfigurationError: it is relative, not http(s), or has a user, a query or a fragment.
    """
    if url.startswith("/") or not url:
        raise ConfigurationError(
            f"the document gives no host for the API: set {variable}", setting=variable
        )
    try:
        parts = urlsplit(url)
        is_url = bool(_URL.match(url) and parts.hostname and (parts.port or parts.port is None))
    except ValueError:  # a port that is no number or too large, an unfinished IPv6 address
        parts, is_url = urlsplit(""), False
    if "@" in re.split(r"[/?#]", url.partition("://")[2], maxsplit=1)[0]:
        raise ConfigurationError(
            f"{variable} must not have a user or a password in it: credentials have variables"
            " of their own",
            setting=variable,
        )
    if not is_url:
        raise ConfigurationError(
            f"{variable} must be like https://api.example.com/v1: http or https, a host, "
            "and perhaps a path",
            setting=variable,
        )
    if any(segment in {".", ".."} for segment in parts.path.split("/")):
        raise ConfigurationError(
            f"{variable} must not have `.` or `..` in its path", setting=variable
        )
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
