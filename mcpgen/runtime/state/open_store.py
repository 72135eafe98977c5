"""Open the store in `STATE_URL`; only its backend is imported."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mcpgen.contract.extras import MissingExtraError, is_installed
from mcpgen.runtime.content import JsonObject
from mcpgen.runtime.errors import ConfigurationError
from mcpgen.runtime.startup.server_settings import ServerSettings

if TYPE_CHECKING:
    from mcpgen.runtime.state.store import Store

_REMOTE_SCHEMES: Final = ("redis://", "rediss://", "valkey://", "valkeys://")
_SQLITE: Final = "sqlite:///"


def open_store(url: str, *, server: str = "") -> Store:
    """Return the store of a URL, for one event loop and process.

    `server` is the name under which the keys of this server are stored: several servers can share
    a file or a database. A remote store is not connected before its first use.

    Raises:
        ConfigurationError: the URL is invalid, or the file cannot be used.
        MissingExtraError: the extra of the backend is not installed.
    """
    if url == "memory:":
        from mcpgen.runtime.state.memory_store import MemoryStore

        return MemoryStore()
    if url.startswith(_SQLITE) and url != _SQLITE:
        from mcpgen.runtime.state.sqlite_store import SqliteStore

        return SqliteStore(url.removeprefix(_SQLITE), prefix=f"{server}:")
    if url.startswith(_REMOTE_SCHEMES):
        if not is_installed("redis"):
            raise MissingExtraError("redis")
        from mcpgen.runtime.state.redis_store import RedisStore

        return RedisStore(url, prefix=f"{server}:")
    raise ConfigurationError("expected memory:, sqlite:///PATH, redis://HOST or valkey://HOST")


def open_shared_store(contract: JsonObject, environ: Mapping[str, str]) -> Store | None:
    """Open the store in STATE_URL; None without one, or with `memory:`.

    Raises:
        ConfigurationError: as `open_store`, with the name of the setting.
    """
    prefix = contract.get("env_prefix", "")
    if not has_shared_store(prefix, environ):
        return None
    url: str = ServerSettings(prefix, environ).get("STATE_URL")
    with _name_setting(f"{prefix}STATE_URL"):
        return open_store(url, server=contract["name"])


def check_state_url(prefix: str, environ: Mapping[str, str]) -> None:
    """Check STATE_URL without connecting, and without creating a file.

    Raises:
        ConfigurationError: as `open_shared_store`.
    """
    url: str = ServerSettings(prefix, environ).get("STATE_URL")
    with _name_setting(f"{prefix}STATE_URL"):
        if url.startswith(_REMOTE_SCHEMES):
            open_store(url)


def has_shared_store(prefix: str, environ: Mapping[str, str]) -> bool:
    """Return whether STATE_URL is set to a store that several processes can share."""
    return environ.get(f"{prefix}STATE_URL", "").strip() not in {"", "memory:"}


@contextmanager
def _name_setting(setting: str) -> Generator[None]:
    """Add the name of the setting to errors."""
    try:
        yield
    except MissingExtraError as error:
        raise ConfigurationError(f"{setting}: {error}", setting=setting) from None
    except ConfigurationError as error:
        raise ConfigurationError(f"invalid {setting}: {error}", setting=setting) from None
