"""Settings of the HTTP server about the clients that may use it."""

from __future__ import annotations

from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.option_values import parse_allowed_host, parse_allowed_origin
from mcpgen.runtime.startup.server_settings import ServerSettings


class AccessSettings(NamedTuple):
    """Machines, host names and web pages that may use the server."""

    allows_remote: bool
    allowed_hosts: tuple[str, ...]
    """Includes the host of PUBLIC_URL."""
    allowed_origins: tuple[str, ...]


def read_access_settings(prefix: str, environ: Mapping[str, str]) -> AccessSettings:
    """Read ALLOW_REMOTE, ALLOWED_HOSTS and ALLOWED_ORIGINS of the server with this prefix.

    Raises:
        ConfigurationError: a value is invalid.
    """
    settings = ServerSettings(prefix, environ)

    def read_list(name: str, parse: Callable[[str], str]) -> tuple[str, ...]:
        try:
            return tuple(map(parse, settings.get(name) or ()))
        except ArgumentTypeError as error:
            name = prefix + name
            raise ConfigurationError(f"invalid {name}: {error}", setting=name) from None

    hosts = read_list("ALLOWED_HOSTS", parse_allowed_host)
    public = urlsplit(settings.get("PUBLIC_URL") or "").hostname
    if public:
        hosts += (f"[{public}]" if ":" in public else public,)
    return AccessSettings(
        settings.get("ALLOW_REMOTE"), hosts, read_list("ALLOWED_ORIGINS", parse_allowed_origin)
    )
