"""Secrets of the runtime's own settings, for redaction."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.startup_checks import has_other_variables

PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy")


def list_server_secrets(contract: JsonObject, environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the secrets in settings other than the API's credentials: keys, passwords in URLs."""
    found: tuple[str, ...] = ()
    has_keys = f"{contract.get('env_prefix', '')}STATE_KEYS" in environ
    has_own = has_keys or has_other_variables(contract, environ)
    # Modules are imported only if there is something to find.
    if has_own:
        from mcpgen.runtime.startup.server_settings import ServerSettings

        found += ServerSettings.from_contract(contract, environ).list_secrets()
    if has_own or not environ.keys().isdisjoint(PROXY_VARIABLES):
        from mcpgen.runtime.upstream.http.proxies import read_proxies

        with suppress(ConfigurationError):  # reported at start, and by the first request
            proxies = read_proxies(contract, environ)
            found += proxies.secrets if proxies is not None else ()
    return found
