"""Secrets from files: `<SETTING>_FILE` names a file with the value, as containers mount them.

The files are read when the server starts; restart it after a rotation. Only cheap modules are
imported here, since every start looks for such settings.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping

from mcpgen.runtime.errors import ConfigurationError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Final

    from mcpgen.runtime.content import JsonObject

SUFFIX: Final = "_FILE"
MAX_SECRET_BYTES: Final = 64 * 1024


class ResolvedEnvironment:
    """The environment of a server, including the secrets in files."""

    def __init__(self, contract: JsonObject, environ: Mapping[str, str]) -> None:
        """Read the files; `problems` has an error for each that cannot be used."""
        self.environ: Mapping[str, str] = environ
        self.from_files: frozenset[str] = frozenset()
        """Names of the settings whose values are in files."""
        self.problems: list[ConfigurationError] = []
        values: dict[str, str] = {}
        for name in _find_secrets_in_files(contract, environ):
            try:
                values[name] = read_secret(name, environ)
            except ConfigurationError as error:
                self.problems.append(error)
        if values:
            files = {name + SUFFIX for name in values}
            others = {name: value for name, value in environ.items() if name not in files}
            self.environ = others | values
            self.from_files = frozenset(values)


def _find_secrets_in_files(contract: JsonObject, environ: Mapping[str, str]) -> list[str]:
    """Return the secret settings whose `<SETTING>_FILE` is set and is not a setting itself."""
    settings = contract.get("environment", ())
    declared = {setting["name"] for setting in settings}
    names = [setting["name"] for setting in settings if setting.get("secret")]
    prefix = contract.get("env_prefix", "")
    if prefix and any(it.startswith(prefix) and it.endswith(SUFFIX) for it in environ):
        from mcpgen.contract.server_settings import SERVER_SETTINGS  # few servers get here

        names += [prefix + row.name for row in SERVER_SETTINGS if row.secret]
    return [
        name
        for name in dict.fromkeys(names)
        if environ.get(name + SUFFIX, "").strip() and name + SUFFIX not in declared
    ]


def read_secret(name: str, environ: Mapping[str, str]) -> str:
    """Return the value of a secret setting, from the environment or from its file; "" for none.

    Raises:
        ConfigurationError: both are set, or the file cannot be used. The message contains neither
            the value nor the path.
    """
    value, path = environ.get(name, ""), environ.get(name + SUFFIX, "").strip()
    if not path:
        return value
    if value.strip():
        raise ConfigurationError(
            f"{name} and {name}{SUFFIX} are both set: remove one of them", setting=name + SUFFIX
        )
    try:
        data, _ = read_regular_file(path, MAX_SECRET_BYTES + 1)
        text = data.decode()
    except (OSError, ValueError):  # a NUL in the path, bytes that are not UTF-8
        raise ConfigurationError(
            f"{name}{SUFFIX} must name a readable file with text in UTF-8", setting=name + SUFFIX
        ) from None
    if len(data) > MAX_SECRET_BYTES:
        raise ConfigurationError(
            f"the file of {name}{SUFFIX} is longer than {MAX_SECRET_BYTES} bytes",
            setting=name + SUFFIX,
        )
    text = text.removesuffix("\n").removesuffix("\r")
    if not text:
        raise ConfigurationError(f"the file of {name}{SUFFIX} is empty", setting=name + SUFFIX)
    return text


def read_regular_file(path: str, max_bytes: int) -> tuple[bytes, int]:
    """Return at most `max_bytes` of a file, and its mode.

    Raises:
        OSError: it cannot be read, or is not a regular file: a pipe could block for ever.
        ValueError: the path has a NUL.
    """
    # O_NONBLOCK: opening a named pipe would wait for its writer. Windows has neither.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            raise OSError("not a regular file")
        parts, left = [], max_bytes
        while left and (part := os.read(descriptor, left)):
            parts.append(part)
            left -= len(part)
        return b"".join(parts), mode
    finally:
        os.close(descriptor)
