"""Where an API lives: from the operator's configuration, else as the document says."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.hosts import is_private

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
        raise ConfigurationError(f"the API has no base URL: set {self._variable}")

    def _public(self, url: str) -> str:
        """Give a URL of the document back, unless it leads into the operator's own network.

        Raises:
            ConfigurationError: it does, which only the operator may want.
        """
        if is_private(urlsplit(url).hostname or ""):
            raise ConfigurationError(
                "the document puts the API on this machine or in a private network, which whoever "
                f"runs the server has to confirm: set {self._variable}, for example to {url}"
            )
        return url

    def _filled_in(self, server: JsonObject) -> str:
        url: str = server["url"]
        return _PLACEHOLDER.sub(lambda match: self._variable_value(match[1], server), url)

    def _variable_value(self, name: str, server: JsonObject) -> str:
        setting = self._settings.get(_folded(name), f"{self._variable_prefix}{name.upper()}")
        variable = server.get("variables", {}).get(name, {})
        value: str = self._environ.get(setting, "").strip() or str(variable.get("default", ""))
        allowed = variable.get("enum", ())
        if not value:
            raise ConfigurationError(f"the base URL needs a value for `{name}`: set {setting}")
        if allowed and value not in allowed:
            raise ConfigurationError(f"{setting} must be one of {', '.join(map(str, allowed))}")
        return value


def _folded(name: str) -> str:
    """The letters and digits of a name: "myRegion" and "MY_REGION" are the same setting."""
    return "".join(filter(str.isalnum, name)).upper()


def _checked(url: str, variable: str) -> str:
    """Give a base URL back in the form that every request starts with.

    Raises:
        ConfigurationError: it is relative, not http(s), or has a user, a query or a fragment.
    """
    if url.startswith("/") or not url:
        raise ConfigurationError(f"the document gives no host for the API: set {variable}")
    parts = urlsplit(url)
    if "@" in parts.netloc:
        raise ConfigurationError(
            f"{variable} must not have a user or a password in it: credentials have variables"
            " of their own"
        )
    if not _URL.match(url) or not parts.hostname:
        raise ConfigurationError(
            f"{variable} must be like https://api.example.com/v1: http or https, a host, "
            "and perhaps a path"
        )
    if any(segment in {".", ".."} for segment in parts.path.split("/")):
        raise ConfigurationError(f"{variable} must not have `.` or `..` in its path")
    return f"{parts.scheme.lower()}://{parts.netloc.lower()}{parts.path.rstrip('/')}"
