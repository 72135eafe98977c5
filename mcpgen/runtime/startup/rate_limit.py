"""The rate limit that the environment sets."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject
    from mcpgen.runtime.handlers.rate_limit import RateLimiter
    from mcpgen.runtime.state.store import Store


def read_rate_limiter(
    contract: JsonObject, environ: Mapping[str, str], store: Store | None = None
) -> RateLimiter | None:
    """Return the limiter of the calls of each caller; None if there is no limit.

    All replicas that share the `store` count together.

    Raises:
        ConfigurationError: the setting has an invalid value.
    """
    prefix = contract.get("env_prefix", "")
    if not prefix or f"{prefix}RATE_LIMIT" not in environ:
        return None
    from mcpgen.runtime.handlers.rate_limit import RateLimiter
    from mcpgen.runtime.startup.server_settings import ServerSettings

    rate = ServerSettings.from_contract(contract, environ).get("RATE_LIMIT")
    return None if rate is None else RateLimiter(rate, store=store)
