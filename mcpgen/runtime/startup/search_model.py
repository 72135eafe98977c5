"""The setting SEARCH_MODEL: the folder of the search's embedding model, and its check at start."""

from __future__ import annotations

from collections.abc import Mapping

from mcpgen.runtime.errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from mcpgen.runtime.content import JsonObject

_NAME = "SEARCH_MODEL"


def find_model(contract: JsonObject, environ: Mapping[str, str]) -> str:
    """Return the folder of the model; "" if the server has no search, or no model for it.

    Raises:
        ConfigurationError: the setting has characters that no path has.
    """
    variable = f"{contract.get('env_prefix', '')}{_NAME}"
    if "search" not in contract or not environ.get(variable, "").strip():
        return ""
    from mcpgen.runtime.startup.server_settings import ServerSettings

    return ServerSettings.from_contract(contract, environ).get(_NAME) or ""


def check_model(contract: JsonObject, folder: str) -> None:
    """Try the model out in a process of its own, which takes about a second.

    Raises:
        MissingExtraError: `mcpgen[embeddings]` is not installed.
        ConfigurationError: the model cannot be used.
    """
    from mcpgen.contract.extras import MissingExtraError, is_installed
    from mcpgen.runtime.embeddings.folder import ModelError
    from mcpgen.runtime.embeddings.trial import try_model

    variable = f"{contract.get('env_prefix', '')}{_NAME}"
    if not is_installed("embeddings"):
        raise MissingExtraError("embeddings", needed_by=variable)
    try:
        try_model(folder)
    except ModelError as error:
        raise ConfigurationError(f"invalid {variable}: {error}", setting=variable) from None
