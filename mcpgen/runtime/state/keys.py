"""Check of the keys for encrypted request state, which several processes must share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from mcpgen.contract.extras import ASKING_METHODS, is_installed
from mcpgen.runtime.errors import ConfigurationError

if TYPE_CHECKING:
    from mcpgen.runtime.package import ServerPackage

_ASKING_CALL: Final = re.compile(rf"\bctx\.(?:{'|'.join(ASKING_METHODS)})\(".encode())


def find_asking_handlers(package: ServerPackage) -> list[str]:
    """Return the modules of `handlers/` that ask clients for input, by path in the package."""
    sources = package.read_handler_sources()
    return [path for path, source in sources.items() if _ASKING_CALL.search(source)]


def check_shared_keys(
    package: ServerPackage, environ: Mapping[str, str], *, is_shared: bool
) -> str:
    """Return a notice for the operator about the keys of request state, or "".

    `is_shared`: several processes serve the same clients.

    Raises:
        ConfigurationError: they do, and have no common keys.
    """
    if not (package.definition.modern and is_installed("seal")):
        return ""  # the server encrypts no state
    if "seal" not in package.contract.get("extras", {}) and not find_asking_handlers(package):
        return ""
    prefix = package.contract.get("env_prefix", "")
    name = f"{prefix}STATE_KEYS"
    if environ.get(name, "").strip():
        if not is_shared:
            return ""
        from mcpgen.runtime.state.open_store import has_shared_store  # a server without it is done

        if has_shared_store(prefix, environ):
            return ""
        return (
            f"each process with these {name} accepts an answer of a user once, so that a client can"
            f" repeat it at another process; {prefix}STATE_URL makes them share what they accepted"
        )
    if is_shared:
        raise ConfigurationError(
            f"{name} must be set with --no-sessions: the server asks users, and no process could"
            " continue a call that another one began; `openssl rand -base64 32` makes a key",
            setting=name,
        )
    return (
        f"{name} is not set: a call that waits for its user can only be continued by this process;"
        " set it where several processes serve"
    )
