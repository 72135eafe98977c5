"""Limits of a server: from the environment, else from its manifest, else the defaults."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.contract.limits import DEFAULT_LIMITS, LIMIT_NAMES, Limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject


def read_limits(contract: JsonObject, environ: Mapping[str, str]) -> Limits:
    """Return the limits of the server with this contract.

    Raises:
        ConfigurationError: a setting has an invalid value.
    """
    prefix = contract.get("env_prefix", "")
    values = dict(contract.get("limits", {}))
    names = [name for name in LIMIT_NAMES if prefix and prefix + name.upper() in environ]
    if names:
        from mcpgen.runtime.startup.server_settings import ServerSettings  # most servers set none

        settings = ServerSettings.from_contract(contract, environ)
        values |= {name: settings.get(name.upper()) for name in names}
    return Limits(values) if values else DEFAULT_LIMITS
