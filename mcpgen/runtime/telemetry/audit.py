"""Audit file: one line of JSON for each call that changes something."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
from contextlib import suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

from mcpgen.runtime.errors import ConfigurationError, ProtocolError
from mcpgen.runtime.process.log import log
from mcpgen.runtime.protocol.jsonrpc import INTERNAL_ERROR

if TYPE_CHECKING:
    from mcpgen.runtime.protocol.jsonrpc import JsonObject

MAX_TEXT: Final = 300  # characters of a value
_MODE: Final = 0o600


class AuditFile:
    """A file to which several processes append, and which may be moved away at any time.

    Each line is written with one call of `write` in append mode, without `fsync`: it survives the
    end of the process, not that of the machine.
    """

    def __init__(self, path: str, keys: str = "", *, setting: str = "") -> None:
        """Open the file; the first of `keys` (`P_STATE_KEYS`) makes hashes of arguments.

        Raises:
            ConfigurationError: the file cannot be written.
        """
        self._path = path
        self._fd = -1
        self._unwritten = b""  # lines of calls that were in flight when the file failed
        key = keys.split(",", maxsplit=1)[0].strip().encode()
        # Without a key of the operator, equal arguments have equal hashes within this process.
        self._key = (
            hashlib.blake2b(key, digest_size=32, person=b"mcpgen-audit").digest()
            if key
            else secrets.token_bytes(32)
        )
        try:
            self._open()
        except OSError as error:
            raise ConfigurationError(
                f"invalid {setting}: cannot write the file: {error.strerror}", setting=setting
            ) from None

    def check(self) -> None:
        """Check that the next line can be written, before the API is called.

        Raises:
            ProtocolError: it cannot. The call must be refused.
        """
        try:
            self._open()
            if self._unwritten:
                self._write_waiting()
        except OSError as error:
            log("error", f"the audit file cannot be written: {error.strerror}")
            raise ProtocolError(
                INTERNAL_ERROR, "not called: the audit file of this server cannot be written"
            ) from None

    def write(self, entry: JsonObject, arguments: Any) -> None:
        """Append a line, with the time and a keyed hash of the arguments."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        line = {"time": now, **{name: _shorten(value) for name, value in entry.items()}}
        line["arguments_hmac_sha256"] = self._hash(arguments)
        self._unwritten += json.dumps(line, separators=(",", ":")).encode() + b"\n"
        try:
            self._open()
            self._write_waiting()
        except OSError as error:
            # The call has taken effect: its result is sent, and later calls are refused.
            log("error", f"a line of the audit file was not written yet: {error.strerror}")

    def _hash(self, arguments: Any) -> str:
        # A hash without a key would reveal short arguments to anyone who tries them all.
        text = json.dumps(arguments, sort_keys=True, separators=(",", ":"))
        return hmac.new(self._key, text.encode(), hashlib.sha256).hexdigest()

    def _open(self) -> None:
        """Open the file, again if it was moved or deleted."""
        if self._fd >= 0:
            with suppress(FileNotFoundError):
                if os.path.samestat(os.stat(self._path), os.fstat(self._fd)):  # noqa: PTH116
                    return
            os.close(self._fd)
            self._fd = -1
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
        self._fd = os.open(self._path, flags, _MODE)

    def _write_waiting(self) -> None:
        """Write the waiting lines in one call; keep what the disk did not take."""
        written = os.write(self._fd, self._unwritten)
        self._unwritten = self._unwritten[written:]
        if self._unwritten:
            raise OSError(0, "the disk is full")


def _shorten(value: Any) -> Any:
    return value[:MAX_TEXT] if type(value) is str else value
