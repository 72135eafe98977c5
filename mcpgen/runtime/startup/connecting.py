"""Check of the settings that a server needs if users connect their accounts at the API."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.server_settings import ServerSettings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject


def has_user_schemes(contract: JsonObject) -> bool:
    """Return whether users connect accounts (`credentials: {SCHEME: {from: user}}`)."""
    return any(source["from"] == "user" for source in contract.get("credentials", {}).values())


def find_connect_problems(
    contract: JsonObject, environ: Mapping[str, str]
) -> list[ConfigurationError]:
    """Return which settings are missing so that users can connect accounts over HTTP."""
    if not has_user_schemes(contract):
        return []
    prefix = contract.get("env_prefix", "")
    settings = ServerSettings.from_contract(contract, environ)
    why = "users connect their accounts at the API"
    problems: list[ConfigurationError] = []

    def require(name: str, reason: str) -> None:
        if not settings.is_set(name):
            text = f"{prefix}{name} must be set: {reason}"
            problems.append(ConfigurationError(text, setting=f"{prefix}{name}"))

    if settings.is_set("AUTH_ISSUER"):
        require(
            "CONNECT_CLIENT_ID",
            f"{why} on pages of this server, which sign them in at {prefix}AUTH_ISSUER",
        )
    elif not settings.is_set("AUTH_TOKENS_FILE"):
        text = (
            f"{prefix}AUTH_ISSUER or {prefix}AUTH_TOKENS_FILE must be set: {why}, so this"
            " server must know its callers"
        )
        problems.append(ConfigurationError(text, setting=f"{prefix}AUTH_ISSUER"))
    require("PUBLIC_URL", f"{why}, and their browsers are redirected to this URL")
    require("STATE_KEYS", f"{why}, and their tokens are stored encrypted")
    if not is_installed("seal"):
        problems.append(MissingExtraError("seal"))
    return problems
